# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Primitives through the Python API, compiled with LLVM and compared with numpy."""

import numpy as np
import programs
import pytest

import tvm
from tvm import s_tir, te, tirx
from tvm.s_tir import Schedule, ScheduleError


def schedule(func, **options):
    return Schedule(tvm.IRModule({"main": func}), debug_mask="all", **options)


def names(sch):
    root = sch.get_sblock("root")
    return [str(sch.get(block).name_hint) for block in sch.get_child_blocks(root)]


def test_split_with_remainder_keeps_the_result():
    sch = schedule(programs.matmul(13, 11, 7))
    i, j, k = sch.get_loops("C")
    parts = [sch.split(loop, [None, 4]) for loop in (i, j, k)]
    assert [len(part) for part in parts] == [2, 2, 2]
    assert int(sch.get(parts[0][0]).extent) == 4
    sch.reorder(parts[0][0], parts[1][0], parts[2][0], parts[2][1], parts[0][1], parts[1][1])
    programs.check_matmul(sch.mod, 13, 11, 7)


def test_fuse_parallel_and_vectorize():
    sch = schedule(programs.matmul(12, 16, 8))
    i, j, _ = sch.get_loops("C")
    i0, i1 = sch.split(i, [3, 4])
    j0, j1 = sch.split(j, factors=[None, 8])
    sch.reorder(i0, j0, i1)
    fused = sch.fuse(i0, j0)
    assert int(sch.get(fused).extent) == 6
    sch.parallel(fused)
    _, _, k, _ = sch.get_loops("C")[-4:]
    sch.unroll(sch.get_loops("C")[1])
    programs.check_matmul(sch.mod, 12, 16, 8)


def test_inlining_leaves_one_block():
    sch = schedule(programs.chain())
    sch.compute_inline("B")
    sch.reverse_compute_inline("D")
    assert names(sch) == ["C"]
    a = programs.random(8, 6)
    np.testing.assert_allclose(
        programs.run(sch.mod, [a], (8, 6)), (a + 2) * 3 - 1, rtol=1e-5, atol=1e-6
    )


def test_compute_at_and_caches():
    sch = schedule(programs.matmul(16, 12, 8, programs.add_one))
    i, j = sch.get_loops("D")
    i0, _ = sch.split(i, [None, 5])
    sch.compute_at("C", i0)
    sch.cache_read("C", "B", "global")
    copy = sch.cache_write("C", 0, "local")
    assert str(sch.get(copy).name_hint) == "C_local"
    programs.check_matmul(sch.mod, 16, 12, 8, plus=1.0)


def test_reverse_compute_at_takes_the_epilogue_into_the_tile():
    sch = schedule(programs.matmul(16, 12, 8, programs.add_one))
    i, j, _ = sch.get_loops("C")
    i0, i1 = sch.split(i, [4, 4])
    sch.reverse_compute_at("D", i0)
    assert len(sch.get_loops("D")) == 3
    programs.check_matmul(sch.mod, 16, 12, 8, plus=1.0)


def test_decompose_reduction_and_rfactor():
    sch = schedule(programs.matmul(8, 9, 21))
    _, _, k = sch.get_loops("C")
    outer, _ = sch.split(k, [None, 4])
    partial = sch.rfactor(outer, 0)
    assert [int(dim) for dim in sch.get(partial).writes[0].buffer.shape] == [6, 8, 9]
    init = sch.decompose_reduction(partial, sch.get_loops(partial)[2])
    assert str(sch.get(init).name_hint) == "C_rf_init"
    programs.check_matmul(sch.mod, 8, 9, 21)


def test_argmax_rfactor():
    n = 40
    values = te.placeholder((n,), name="V")
    index = te.placeholder((n,), dtype="int32", name="I")

    def combine(x, y):
        wins = x[1] >= y[1]
        return tirx.Select(wins, x[0], y[0]), tirx.Select(wins, x[1], y[1])

    def identity(t0, t1):
        return tirx.const(-1, t0), tirx.min_value(t1)

    argmax = te.comm_reducer(combine, identity, name="argmax")
    k = te.reduce_axis((0, n), "k")
    best = te.compute((1,), lambda i: argmax((index[k], values[k]), axis=k), name="best")
    func = te.create_prim_func([index, values, best[0], best[1]])
    sch = schedule(func)
    loop = sch.get_loops("best")[1]
    outer, _ = sch.split(loop, [5, None])
    sch.rfactor(outer, 0)
    compiled = tvm.compile(sch.mod, target="llvm")["main"]
    data = programs.random(n)
    out_index = tvm.runtime.tensor(np.zeros(1, "int32"))
    out_value = tvm.runtime.tensor(np.zeros(1, "float32"))
    compiled(
        tvm.runtime.tensor(np.arange(n, dtype="int32")),
        tvm.runtime.tensor(data),
        out_index,
        out_value,
    )
    assert out_index.numpy()[0] == data.argmax()
    assert out_value.numpy()[0] == data.max()


def test_transform_layout_pads():
    sch = schedule(programs.matmul(16, 16, 16, programs.add_one))
    sch.transform_layout("C", "C", lambda i, j: [i // 3, j, i % 3], pad_value=0.5)
    assert [int(dim) for dim in sch.get(sch.get_sblock("C")).writes[0].buffer.shape] == [6, 16, 3]
    assert len(sch.get(sch.get_sblock("C")).iter_vars) == 4
    programs.check_matmul(sch.mod, 16, 16, 16, plus=1.0)
    with pytest.raises(ScheduleError, match="pad_value"):
        sch.transform_layout("D", ("read", 0), lambda i, j, k: [i, j // 5, k, j % 5])


def test_transform_layout_of_a_parameter_changes_the_signature():
    sch = schedule(programs.chain(8, 6))
    sch.transform_layout("D", ("write", 0), lambda i, j: [j, i])
    assert [int(dim) for dim in sch.mod["main"].params[1].shape] == [6, 8]
    a = programs.random(8, 6)
    np.testing.assert_allclose(
        programs.run(sch.mod, [a], (6, 8)), ((a + 2) * 3 - 1).T, rtol=1e-5, atol=1e-6
    )


def test_reindex_and_block_layout():
    sch = schedule(programs.matmul(6, 10, 4))
    sch.reindex("C", ("read", 0))
    sch.reindex_cache_read("C", 1, "global", lambda i, j, k: [j, k])
    sch.transform_block_layout("C", lambda i, j, k: [i * 10 + j, k])
    sch.reorder_block_iter_var("C", [1, 0])
    assert len(sch.get_loops("C")) == 2
    programs.check_matmul(sch.mod, 6, 10, 4)


def test_pad_einsum():
    sch = schedule(programs.matmul(15, 13, 11, programs.add_one))
    sch.pad_einsum("C", [8, 8, 8])
    assert names(sch) == ["A_pad", "B_pad", "C", "C_pad", "D"]
    assert [int(sch.get(loop).extent) for loop in sch.get_loops("C")] == [16, 16, 16]
    programs.check_matmul(sch.mod, 15, 13, 11, plus=1.0)


def padded(n=14):
    a = te.placeholder((n,), name="A")
    p = te.compute(
        (n + 2,),
        lambda i: tirx.if_then_else(tirx.all(i >= 1, i < n + 1), a[i - 1], 0.0),
        name="P",
    )
    q = te.compute((n,), lambda i: p[i] + p[i + 1] + p[i + 2], name="Q")
    return te.create_prim_func([a, q])


def smooth(a):
    wide = np.concatenate([[0], a, [0]])
    return wide[:-2] + wide[1:-1] + wide[2:]


def test_decompose_padding():
    sch = schedule(padded())
    loop = sch.get_loops("P")[0]
    assert sch.can_decompose_padding("P", loop)
    assert not sch.can_decompose_padding("Q", sch.get_loops("Q")[0])
    fill = sch.decompose_padding("P", loop)
    assert str(sch.get(fill).name_hint) == "P_pad_const"
    assert int(sch.get(sch.get_loops("P")[0]).extent) == 14
    a = programs.random(14)
    np.testing.assert_allclose(programs.run(sch.mod, [a], (14,)), smooth(a), rtol=1e-5, atol=1e-6)


def test_compute_at_of_a_stencil_overlaps():
    sch = schedule(padded())
    outer, _ = sch.split(sch.get_loops("Q")[0], [None, 4])
    sch.compute_at("P", outer)
    assert int(sch.get(sch.get_loops("P")[1]).extent) == 6
    a = programs.random(14)
    np.testing.assert_allclose(programs.run(sch.mod, [a], (14,)), smooth(a), rtol=1e-5, atol=1e-6)


def test_rolling_buffer():
    a = te.placeholder((12, 10), name="A")
    p = te.compute((10, 10), lambda i, j: a[i, j] + a[i + 1, j] + a[i + 2, j], name="P")
    q = te.compute((8, 10), lambda i, j: p[i, j] + p[i + 1, j] + p[i + 2, j], name="Q")
    sch = schedule(te.create_prim_func([a, q]))
    sch.compute_at("P", sch.get_loops("Q")[0])
    sch.rolling_buffer("P", 0)
    buffer = sch.get(sch.get_sblock("P")).writes[0].buffer
    assert [int(dim) for dim in buffer.shape] == [3, 10]
    data = programs.random(12, 10)
    wide = data[:-2] + data[1:-1] + data[2:]
    np.testing.assert_allclose(
        programs.run(sch.mod, [data], (8, 10)),
        wide[:-2] + wide[1:-1] + wide[2:],
        rtol=1e-5,
        atol=1e-5,
    )


def test_loop_partition_and_merge():
    sch = schedule(programs.matmul(16, 8, 4, programs.add_one))
    merged = sch.merge(sch.get_loops("C")[0], sch.get_loops("D")[0])
    assert len(sch.get_child_blocks(merged)) == 2
    parts = sch.loop_partition(sch.get_loops("D")[1], [3, None])
    assert [int(sch.get(part).extent) for part in parts] == [3, 5]
    programs.check_matmul(sch.mod, 16, 8, 4, plus=1.0)


def test_merge_refuses_what_would_read_too_early():
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: a[i] + 1.0, name="B")
    c = te.compute((8,), lambda i: b[7 - i] * 2.0, name="C")
    sch = schedule(te.create_prim_func([a, c]))
    with pytest.raises(ScheduleError, match="other iterations"):
        sch.merge(sch.get_loops("B")[0], sch.get_loops("C")[0])


def test_read_at_write_at():
    sch = schedule(programs.matmul(16, 8, 4))
    i, _, _ = sch.get_loops("C")
    outer, _ = sch.split(i, [4, 4])
    read = sch.read_at(outer, "C", 0, "global")
    write = sch.write_at(outer, "C", 0, "global")
    assert sch.get(read).annotations["auto_copy"]
    assert str(sch.get(write).name_hint) == "C_global"
    programs.check_matmul(sch.mod, 16, 8, 4)


def test_cache_index():
    a = te.placeholder((12, 12), name="A")
    q = te.compute((8, 12), lambda i, j: a[(i * 3 + j) % 12, (i * 3 + j) // 12] + 1.0, name="Q")
    sch = schedule(te.create_prim_func([a, q]))
    blocks = sch.cache_index("Q", "global")
    assert len(blocks) == 2
    data = programs.random(12, 12)
    i, j = np.meshgrid(range(8), range(12), indexing="ij")
    want = data[(i * 3 + j) % 12, (i * 3 + j) // 12] + 1
    np.testing.assert_allclose(programs.run(sch.mod, [data], (8, 12)), want, rtol=1e-6)


def test_fuse_reduction_epilogue():
    sch = schedule(programs.matmul(6, 5, 4, programs.add_one))
    sch.fuse_reduction_epilogue("C", "D")
    assert names(sch) == ["C"]
    programs.check_matmul(sch.mod, 6, 5, 4, plus=1.0)
    scaled = schedule(programs.matmul(6, 5, 4, lambda x: x * 2.0))
    with pytest.raises(ScheduleError, match="scaling"):
        scaled.fuse_reduction_epilogue("C", "D")


def test_set_scope_dtype_and_alignment():
    sch = schedule(programs.matmul(6, 5, 4, programs.add_one))
    sch.set_scope("C", 0, "shared")
    sch.storage_align("C", 0, axis=-2, factor=8, offset=4)
    sch.unsafe_set_dtype("C", 0, "float64")
    block = sch.get(sch.get_sblock("C"))
    assert block.writes[0].buffer.scope() == "shared"
    assert block.writes[0].buffer.dtype == "float64"
    assert [[int(x) for x in row] for row in block.annotations["buffer_dim_align"]] == [
        [0, 0, 8, 4]
    ]


def test_annotations_and_unit_loops():
    sch = schedule(programs.matmul(4, 4, 4))
    loop = sch.add_unit_loop(sch.get_sblock("C"))
    assert int(sch.get(loop).extent) == 1
    value = sch.sample_categorical([3], [1.0])
    sch.annotate(loop, "mark", {"a": [1, "b", 2.5], "c": value})
    found = sch.get(loop).annotations["mark"]
    assert int(found["c"]) == 3 and list(found["a"])[1] == "b"
    sch.unannotate(loop, "mark")
    assert not sch.get(loop).annotations
    with pytest.raises(ScheduleError, match="mark"):
        sch.unannotate(loop, "mark")
    programs.check_matmul(sch.mod, 4, 4, 4)


def test_regions_can_be_edited():
    sch = schedule(programs.matmul(4, 4, 4, programs.add_one))
    sch.unsafe_hide_buffer_access("C", "read", [0])
    assert len(sch.get(sch.get_sblock("C")).reads) == 1
    sch.annotate_buffer_access("D", 0, "read", lambda i, j: [(i, i + 2), j])
    region = sch.get(sch.get_sblock("D")).reads[0].region
    assert [int(part.extent) for part in region] == [2, 1]


def small_intrinsic():
    a = tirx.decl_buffer((4, 4), "float32", name="a")
    b = tirx.decl_buffer((4, 4), "float32", name="b")
    c = tirx.decl_buffer((4, 4), "float32", name="c")

    def body(block_name, value):
        loops = [tirx.Var(name, "int32") for name in "ijk"]
        iters = [
            tirx.IterVar(tvm.ir.Range(0, 4), tirx.Var(name, "int32"), kind)
            for name, kind in zip(["vi", "vj", "vk"], [0, 0, 2])
        ]
        i, j, k = (iter_var.var for iter_var in iters)

        def point(buffer, x, y):
            return tirx.BufferRegion(
                buffer, [tvm.ir.Range.from_min_extent(x, 1), tvm.ir.Range.from_min_extent(y, 1)]
            )

        store = tirx.BufferStore(c, value(c[i, j], a[i, k], b[k, j]), [i, j])
        block = tirx.SBlock(
            iters,
            [point(c, i, j), point(a, i, k), point(b, k, j)],
            [point(c, i, j)],
            block_name,
            store,
        )
        nest = tirx.SBlockRealize(loops, True, block)
        for loop in reversed(loops):
            nest = tirx.For(loop, 0, 4, tirx.ForKind.SERIAL, nest)
        whole = [tvm.ir.Range(0, 4), tvm.ir.Range(0, 4)]
        root = tirx.SBlock(
            [],
            [tirx.BufferRegion(buffer, whole) for buffer in (c, a, b)],
            [tirx.BufferRegion(c, whole)],
            "root",
            nest,
        )
        return tirx.PrimFunc([a, b, c], tirx.SBlockRealize([], True, root), attrs={"s_tir": True})

    desc = body("update", lambda z, x, y: z + x * y)
    impl = body("fast", lambda z, x, y: x * y + z)
    return desc, impl


def test_tensorize_replaces_the_inner_product():
    desc, impl = small_intrinsic()
    tirx.TensorIntrin.register("test.mma4x4x4", desc, impl, override=True)
    sch = schedule(programs.matmul(8, 12, 16))
    tiles = [sch.split(loop, [None, 4]) for loop in sch.get_loops("C")]
    sch.reorder(*(tile[0] for tile in tiles), *(tile[1] for tile in tiles))
    sch.tensorize(tiles[0][1], "test.mma4x4x4")
    block = sch.get(sch.get_sblock("C_o"))
    assert len(block.match_buffers) == 3
    assert s_tir.schedule.analysis.has_block(sch, "fast")
    programs.check_matmul(sch.mod, 8, 12, 16)


def test_tensorize_refuses_another_computation():
    desc, impl = small_intrinsic()
    tirx.TensorIntrin.register("test.mma4x4x4", desc, impl, override=True)
    sch = schedule(programs.matmul(8, 8, 8))
    before = sch.mod
    tiles = [sch.split(loop, [None, 2]) for loop in sch.get_loops("C")]
    sch.reorder(*(tile[0] for tile in tiles), *(tile[1] for tile in tiles))
    scheduled = sch.mod
    with pytest.raises(ScheduleError, match="extent"):
        sch.tensorize(tiles[0][1], "test.mma4x4x4")
    assert sch.mod.same_as(scheduled) and not sch.mod.same_as(before)


def test_tile_with_tensor_intrin():
    desc, impl = small_intrinsic()
    tirx.TensorIntrin.register("test.mma4x4x4", desc, impl, override=True)
    sch = schedule(programs.matmul(8, 10, 16))
    block = sch.get_sblock("C")
    transform = s_tir.schedule.transform
    assert transform.tile_with_tensor_intrin(sch, block, "test.mma4x4x4") is None
    loop = transform.tile_with_tensor_intrin(sch, block, "test.mma4x4x4", allow_padding=True)
    sch.tensorize(loop, "test.mma4x4x4")
    programs.check_matmul(sch.mod, 8, 10, 16)


def test_blockize_blocks():
    sch = schedule(programs.matmul(4, 6, 4, programs.add_one))
    outer = sch.blockize([sch.get_sblock("C"), sch.get_sblock("D")])
    assert [str(sch.get(b).name_hint) for b in sch.get_child_blocks(outer)] == ["C", "D"]
    programs.check_matmul(sch.mod, 4, 6, 4, plus=1.0)


# ---- refusals ----


@pytest.mark.parametrize(
    ("message", "edit"),
    [
        ("only one factor", lambda s: s.split(s.get_loops("C")[0], [None, None])),
        ("product", lambda s: s.split(s.get_loops("C")[0], [2, 2])),
        ("positive", lambda s: s.split(s.get_loops("C")[0], [0, None])),
        ("directly inside", lambda s: s.fuse(*[s.get_loops("C")[i] for i in (0, 2)])),
        ("twice", lambda s: s.reorder(s.get_loops("C")[0], s.get_loops("C")[0])),
        ("data parallel", lambda s: s.parallel(s.get_loops("C")[2])),
        ("output block", lambda s: s.compute_inline("D")),
        ("has no block", lambda s: s.get_sblock("nothing")),
        ("output block", lambda s: s.compute_at("D", s.get_loops("C")[0])),
        ("buffer index", lambda s: s.cache_read("C", 7, "local")),
        (
            "above all reduction",
            lambda s: s.decompose_reduction("C", s.split(s.get_loops("C")[2], [2, None])[1]),
        ),
        ("factor_axis", lambda s: s.rfactor(s.get_loops("C")[2], 5)),
        ("reduction variables", lambda s: s.rfactor(s.get_loops("C")[0], 0)),
        ("permutation", lambda s: s.reorder_block_iter_var("C", [0, 0, 1])),
        ("parameter", lambda s: s.set_scope("D", 0, "local")),
        ("sum of the factors", lambda s: s.loop_partition(s.get_loops("C")[0], [8, 8])),
    ],
)
def test_refusals_say_why_and_change_nothing(message, edit):
    sch = schedule(programs.matmul(8, 8, 8, programs.add_one))
    with pytest.raises(ScheduleError, match="(?i)" + message):
        edit(sch)
    programs.check_matmul(sch.mod, 8, 8, 8, plus=1.0)


def test_parallel_must_precede_decompose_reduction():
    sch = schedule(programs.matmul(8, 8, 8))
    i, _, k = sch.get_loops("C")
    sch.decompose_reduction("C", k)
    with pytest.raises(ScheduleError, match="neither complete nor a reduction"):
        sch.parallel(i)


def test_render_levels():
    def message(level):
        sch = schedule(programs.matmul(), error_render_level=level)
        with pytest.raises(ScheduleError) as error:
            sch.parallel(sch.get_loops("C")[2])
        return str(error.value)

    detail, fast, none = message("detail"), message("fast"), message("none")
    assert "'parallel'" in detail and "Error message: " in detail and "tirx.For#0" in detail
    assert "^^^" in detail
    assert fast.startswith("ScheduleError: ") and "\n" not in fast
    assert none == "ScheduleError: (not rendered)"
    with pytest.raises(ValueError, match="error_render_level"):
        schedule(programs.matmul(), error_render_level="loud")


def test_argument_types():
    sch = schedule(programs.matmul())
    with pytest.raises(TypeError, match="loop"):
        sch.split(3, [None, 2])
    with pytest.raises(TypeError, match="factors"):
        sch.split(sch.get_loops("C")[0], ["x"])
    with pytest.raises(TypeError):
        sch.get_loops(5)
    with pytest.raises(ValueError, match="thread axis"):
        sch.bind(sch.get_loops("C")[0], "lane")
    with pytest.raises(TypeError):
        Schedule(3)


def test_seed_and_functions():
    with pytest.raises(ValueError, match="seed"):
        schedule(programs.matmul(), seed=0)
    sch = schedule(programs.matmul(), seed=7)
    with pytest.raises(ValueError):
        sch.seed(2**31)
    assert 1 <= sch.fork_seed() <= 2**31 - 1
    two = tvm.IRModule({"f": programs.matmul(), "g": programs.chain()})
    sch = Schedule(two)
    assert sch.func_working_on is None
    with pytest.raises(ValueError, match="work_on"):
        sch.get_sblock("B")
    sch.get_sblock("B", func_name="g")
    sch.work_on("g")
    sch.get_sblock("B")
    with pytest.raises(ValueError):
        sch.work_on("h")


def test_removed_variables_are_unknown():
    sch = schedule(programs.matmul())
    block = sch.get_sblock("C")
    loop = sch.get_loops(block)[0]
    sch.remove_rv(block)
    with pytest.raises(IndexError):
        sch.get(block)
    sch.split(loop, [None, 4])
    with pytest.raises(ValueError, match="not part of the program"):
        sch.get(loop)


def test_functions_without_a_root_block_are_refused():
    func = te.create_prim_func(
        [A := te.placeholder((4,), name="A"), te.compute((4,), lambda i: A[i])]
    )
    bare = func.with_body(func.body.block.body)
    with pytest.raises(ValueError, match=r"no root block.*s_tir=True"):
        schedule(bare).get_sblock("compute")
