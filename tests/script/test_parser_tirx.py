# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""What the statements of a primitive function mean."""

import pytest

import tvm
from tvm import tirx
from tvm.error import DiagnosticError
from tvm.ir import assert_structural_equal
from tvm.script import from_source
from tvm.script import tirx as T

HEAD = "@T.prim_func{options}\ndef f(A: T.Buffer((8,), 'float32'), n: T.int32):\n"


def parse(body: str, options: str = "", **kwargs):
    lines = "".join(f"    {line}\n" for line in body.strip("\n").split("\n"))
    return from_source(HEAD.format(options=options) + lines, **kwargs)


def statements(func) -> list:
    return tirx.stmt_list(func.body)


def test_assignment_declares_a_scalar_and_later_stores():
    alloc, first, second, third = statements(parse("x = n + 1\nx = 2.5\nx += 3"))
    assert isinstance(alloc, tirx.AllocBuffer)
    assert alloc.buffer.name == "x" and alloc.buffer.scope() == "local"
    assert [int(dim) for dim in alloc.buffer.shape] == [1]
    assert str(alloc.buffer.dtype) == "int32"
    assert isinstance(first.value, tirx.Add)
    assert int(second.value) == 2  # converted to the type of x
    assert isinstance(third.value.a, tirx.BufferLoad)


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        ("1", "int32"),
        ("2**40", "int64"),
        ("1.0", "float32"),
        ("True", "bool"),
        ("T.float64(2)", "float64"),
        ("A[0]", "float32"),
        ("n > 1", "bool"),
        ("A[0:4]", None),
        ("T.Broadcast(n, 4)", "int32x4"),
    ],
)
def test_type_of_a_scalar_is_that_of_its_value(value, dtype):
    result = statements(parse(f"x = {value}\nT.evaluate(0)"))
    if dtype is None:  # a slice is a region, not a value
        assert not isinstance(result[0], tirx.AllocBuffer)
    else:
        assert str(result[0].buffer.dtype) == dtype


def test_annotated_scalars_and_vectors():
    result = statements(parse("x: T.float32 = 3\ny: T.int64\nv: T.float16[4]\ny = n"))
    assert [str(stmt.buffer.dtype) for stmt in result if isinstance(stmt, tirx.AllocBuffer)] == [
        "float32", "int64", "float16",
    ]  # fmt: skip
    assert float(result[1].value.value) == 3.0
    assert int(result[3].buffer.shape[0]) == 4
    assert isinstance(result[4].value, tirx.Cast)


def test_let_binds():
    first, second, third = statements(
        parse("x: T.let = n + 1\ny: T.let[T.int64] = n\nA[x] = T.float32(y)")
    )
    assert isinstance(first, tirx.Bind) and first.var.name == "x"
    assert str(second.var.dtype) == "int64"
    assert third.indices[0].same_as(first.var)


def test_pointers_are_bound():
    bind, decl, _ = statements(
        parse("p = A.data\nB = T.decl_buffer((4,), 'float32', data=p)\nB[0] = 1.0")
    )
    assert isinstance(bind, tirx.Bind) and bind.var.name == "p"
    assert isinstance(decl, tirx.DeclBuffer) and decl.data.same_as(bind.var)


def test_destructuring_and_python_values():
    func = parse("x, (y, *z) = 1, (2.0, [3], 4)\nk = [1, 2]\nA[k[1]] = y + z[1]")
    allocs = [s.buffer.name for s in statements(func) if isinstance(s, tirx.AllocBuffer)]
    assert allocs == ["x", "y"]
    assert int(statements(func)[-1].indices[0]) == 2


def test_aliases_do_not_rename():
    func = parse("B = A\nB[0] = 1.0")
    assert func.params[0].name == "A" and func.body.buffer.same_as(func.params[0])


def test_augmented_assignment_of_elements():
    store = parse("A[n] *= 2.0").body
    assert isinstance(store.value, tirx.Mul)
    assert store.value.a.indices[0].same_as(store.indices[0])


def test_vector_stores():
    store = parse("A[0:4] = T.Broadcast(1.0, 4)").body
    assert isinstance(store.indices[0], tirx.Ramp) and int(store.indices[0].lanes) == 4
    store = parse("A[0:8:2] = A[4:8]").body
    assert int(store.indices[0].stride) == 2
    assert str(store.value.dtype) == "float32x4"


@pytest.mark.parametrize(
    ("loop", "kind"),
    [
        ("range(8)", 0),
        ("T.serial(8)", 0),
        ("T.parallel(8)", 1),
        ("T.vectorized(8)", 2),
        ("T.unroll(8)", 3),
        ("T.thread_binding(8, thread='threadIdx.x')", 4),
        ("T.thread_binding(0, 8, 'threadIdx.x')", 4),
    ],
)
def test_loop_kinds(loop, kind):
    stmt = parse(f"for i in {loop}:\n    A[i] = 0.0").body
    assert stmt.kind == kind and stmt.loop_var.name == "i"
    assert int(stmt.min) == 0 and int(stmt.extent) == 8
    if kind == 4:
        assert stmt.thread_binding.thread_tag == "threadIdx.x"


def test_loop_bounds_and_annotations():
    stmt = parse("for i in range(n, n + 4):\n    A[i] = 0.0").body
    assert int(stmt.extent) == 4
    stmt = parse("for i in range(2, n):\n    A[i] = 0.0").body
    assert isinstance(stmt.extent, (tirx.Sub, tirx.Add))
    stmt = parse("for i in range(0, 8, 2):\n    A[i] = 0.0").body
    assert int(stmt.step) == 2 and int(stmt.extent) == 8
    stmt = parse("for i in T.serial(8, annotations={'a': 1}, unroll=False):\n    A[i] = 0.0").body
    assert dict(stmt.annotations) == {"a": 1, "disable_unroll": True}
    stmt = parse("for i in T.serial(8, unroll=4):\n    A[i] = 0.0").body
    assert dict(stmt.annotations) == {"pragma_unroll": 4}
    stmt = parse("for i in range(T.int64(8)):\n    A[i] = 0.0").body
    assert str(stmt.loop_var.dtype) == "int64"


def test_grid_nests():
    outer = parse("for i, j in T.grid(2, (1, 4)):\n    A[i * 4 + j] = 0.0").body
    inner = outer.body
    assert outer.loop_var.name == "i" and inner.loop_var.name == "j"
    assert (int(inner.min), int(inner.extent)) == (1, 4)
    nested = parse("for i in range(2):\n    for j in range(1, 5):\n        A[i * 4 + j] = 0.0")
    assert_structural_equal(parse("for i, j in T.grid(2, (1, 4)):\n    A[i * 4 + j] = 0.0"), nested)


def test_branches():
    stmt = parse(
        "if n > 1:\n    A[0] = 1.0\nelif n > 0:\n    A[1] = 1.0\nelse:\n    A[2] = 1.0"
    ).body
    assert isinstance(stmt, tirx.IfThenElse)
    assert isinstance(stmt.else_case, tirx.IfThenElse)
    assert int(stmt.else_case.else_case.indices[0]) == 2
    built = parse(
        "with T.If(n > 1):\n    with T.Then():\n        A[0] = 1.0\n    with T.Else():\n"
        "        with T.If(n > 0):\n            with T.Then():\n                A[1] = 1.0\n"
        "            with T.Else():\n                A[2] = 1.0"
    )
    assert_structural_equal(built.body, stmt, map_free_vars=True)


def test_python_condition_chooses_the_branch():
    func = parse(
        "if flag:\n    x = [1]\nelse:\n    undefined()\nA[x[0]] = 1.0", extra_vars={"flag": 1}
    )
    assert int(func.body.indices[0]) == 1


def test_while_break_continue_return():
    alloc, store, loop, ret = statements(
        parse(
            "x = 0\nwhile x < 4:\n    x += 1\n    if x == 2:\n        break\n    continue\nreturn x"
        )
    )
    kinds = [type(stmt) for stmt in tirx.stmt_list(loop.body)]
    assert kinds == [tirx.BufferStore, tirx.IfThenElse, tirx.Continue]
    assert isinstance(ret, tirx.Return)
    assert isinstance(loop.body.seq[1].then_case, tirx.Break)


def test_assertions():
    stmt = parse("assert n > 0, 'bad'").body
    assert (stmt.error_kind.value, [p.value for p in stmt.message_parts]) == (
        "RuntimeError", ["bad"],
    )  # fmt: skip
    stmt = parse("assert n > 0, ('ValueError', ['a', 'b'])").body
    assert stmt.error_kind.value == "ValueError" and len(stmt.message_parts) == 2


def test_attributes():
    func = parse("with T.attr(A, 'key', 3):\n    T.evaluate(n)")
    assert func.body.node.same_as(func.params[0]) and func.body.attr_key == "key"
    stmt = parse("with T.attr({'a': 1, 'b': 'x'}):\n    T.evaluate(n)").body
    assert (stmt.attr_key, stmt.body.attr_key, stmt.node) == ("a", "b", 0)
    # Without `with` the attribute holds for the rest of the scope.
    flat = parse("T.attr({'a': 1, 'b': 'x'})\nT.evaluate(n)").body
    assert_structural_equal(flat, stmt, map_free_vars=True)


def test_threads():
    stmt = parse("with T.launch_thread('threadIdx.x', 8) as tx:\n    A[tx] = 0.0").body
    assert stmt.attr_key == "thread_extent" and stmt.node.var.name == "tx"
    flat = parse("tx = T.launch_thread('threadIdx.x', 8)\nA[tx] = 0.0").body
    assert_structural_equal(flat, stmt, map_free_vars=True)
    env = parse("tx = T.env_thread('threadIdx.x')\nwith T.launch_thread(tx, 8):\n    A[tx] = 0.0")
    assert_structural_equal(env.body, stmt, map_free_vars=True)
    with pytest.raises(DiagnosticError, match="was 8 before, now it is 4"):
        parse(
            "tx = T.env_thread('threadIdx.x')\nwith T.launch_thread(tx, 8):\n    A[tx] = 0.0\n"
            "with T.launch_thread(tx, 4):\n    A[tx] = 0.0"
        )


def test_scope_ids():
    entry = parse(
        "T.device_entry()\nbx, by = T.cta_id([2, 3])\nt = T.thread_id([32])\nA[t] = 0.0"
    ).body
    assert entry.attr_key == "tirx.device_entry"
    first, second, _ = tirx.stmt_list(entry.body)
    assert [var.name for var in getattr(first, "def").def_ids] == ["bx", "by"]
    assert getattr(second, "def").scope == 7
    deferred = parse("t = T.lane_id()\nA[t] = 0.0", check_well_formed=False).body.seq[0]
    assert getattr(deferred, "def").extents is None


def test_match_buffer_replaces_the_parameter():
    func = from_source(
        "@T.prim_func\ndef f(a: T.handle, k: T.int32):\n    m = T.int64()\n"
        "    A = T.match_buffer(a, (m, 4), 'float16', align=128)\n    A[0, k] = T.float16(0)\n"
    )
    buffer = func.params[0]
    assert tirx.is_buffer(buffer) and buffer.name == "A"
    assert buffer.data_alignment == 128 and str(buffer.shape[0].dtype) == "int64"


def test_parameters_and_result():
    func = from_source(
        "@T.prim_func(private=True)\n"
        "def f(h: T.handle, p: T.handle('float32', 'shared'), b: T.bool, v: T.float32x4,\n"
        "      q: T.Ptr('int8')) -> T.int64:\n"
        "    T.func_attr({'tirx.noalias': True})\n    return T.int64(1)\n"
    )
    kinds = [type(param.ty).__name__ for param in func.params]
    assert kinds == ["PointerType", "PointerType", "PrimType", "PrimType", "PointerType"]
    assert func.params[1].ty.storage_scope == "shared"
    assert str(func.ret_type.dtype) == "int64"
    assert "global_symbol" not in func.attrs and func.attrs["tirx.noalias"]
    assert parse("T.evaluate(n)").attrs["global_symbol"] == "f"
    assert parse("T.evaluate(n)", "(persistent=True)").attrs["tirx.persistent_kernel"]


def test_blocks():
    func = parse(
        """
C = T.sblock_alloc_buffer((8,), 'float32')
for i, j in T.grid(8, 4):
    with T.sblock('update'):
        vi, vj = T.axis.remap('SR', [i, j])
        T.where(i < n)
        T.sblock_attr({'k': 1})
        with T.init():
            C[vi] = 0.0
        C[vi] += A[vi + vj]
""",
        "(s_tir=True)",
    )
    root = func.body.block
    assert root.name_hint == "root" and len(root.alloc_buffers) == 1
    realize = root.body.body.body
    block = realize.block
    assert [int(v.iter_type) for v in block.iter_vars] == [0, 2]
    assert isinstance(realize.predicate, tirx.LT)
    assert [region.buffer.name for region in block.reads] == ["A"]
    assert [region.buffer.name for region in block.writes] == ["C"]
    assert block.annotations["k"] == 1 and block.init is not None
    assert func.attrs["s_tir"]


def test_blocks_with_stated_regions_and_matched_buffers():
    func = parse(
        """
for i in range(4):
    with T.sblock('b'):
        vi = T.axis.spatial((0, 4), i)
        T.reads(A[vi:vi + 2], A[0])
        T.writes([])
        M = T.match_buffer(A[vi:vi + 2], (2,), 'float32', offset_factor=1)
        T.evaluate(M[0])
""",
        "(s_tir=True)",
    )
    block = func.body.block.body.body.block
    assert int(block.reads[0].region[0].extent) == 2
    assert len(block.reads) == 2 and len(block.writes) == 0
    assert block.match_buffers[0].buffer.name == "M"


def test_expression_statements():
    result = statements(
        parse("T.evaluate(n)\nA[0]\nT.exp(A[0])\n3\n'a comment'\nT.call_packed('g', n)")
    )
    assert [type(stmt) for stmt in result] == [tirx.Evaluate] * 5


def test_literals_and_conversions():
    def value(text):
        return parse(f"T.evaluate({text})").body.value

    assert (int(value("T.int8(-3)")), str(value("T.int8(-3)").dtype)) == (-3, "int8")
    assert float(value("T.float32('inf')").value) == float("inf")
    assert value("T.float64('nan')").value != value("T.float64('nan')").value
    assert isinstance(value("T.float32(n)"), tirx.Cast)
    assert str(value("T.f16(1)").dtype) == "float16"
    assert value(f"T.uint64({2**63 + 5})").op.name == "tirx.large_uint_imm"
    assert isinstance(value("T.Add(1, 2)"), tirx.Add)
    assert int(value("1 + 2")) == 3
    assert isinstance(value("T.Cast('int32', n)"), tirx.Cast)
    assert value("T.cast(n, 'int32')").same_as(value("T.cast(n, 'int32')")) is False
    assert value("T.Div(n, 2)").a.name == "n"
    assert isinstance(value("T.truncmod(n, 2)"), tirx.Mod)
    assert value("T.call_extern('int32', 'g', n)").args[0].value == "g"
    assert_structural_equal(
        value("T.call_extern('g', n, dtype='int32')"),
        value("T.call_extern('int32', 'g', n)"),
        map_free_vars=True,
    )
    assert value("T.if_then_else(n > 1, 1.0, 2.0)").op.name == "tirx.if_then_else"
    reduce = value(
        "T.reduce(T.comm_reducer(lambda x, y: x + y, [T.float32(0)]), source=[A[0]], "
        "axis=[T.iter_var('k', T.Range(0, 4), 'CommReduce')])"
    )
    assert isinstance(reduce, tirx.Reduce) and int(reduce.axis[0].iter_type) == 2


def test_scalars_by_builders():
    func = parse(
        "x = T.alloc_scalar('float32')\ny = T.decl_scalar('int32', A.data, elem_offset=2)\n"
        "x = 1.0\ny += 1\nA[y] = x\nT.evaluate(T.address_of(x.buffer[0]))"
    )
    first, second, *_ = statements(func)
    assert first.buffer.name == "x" and isinstance(second, tirx.DeclBuffer)
    assert int(second.buffer.elem_offset) == 2


OFFSET = 1


@T.inline
def store_twice(buffer, index, value=1.0):
    buffer[index] = value
    buffer[index + OFFSET] = value


@T.inline
def count_down(buffer, k):
    if k > 0:
        buffer[k] = T.float32(k)
        count_down(buffer, k - 1)


@T.inline
def twice(x):
    return x * 2


@T.macro(hygienic=False)
def unhygienic(index):
    A[index] = outer_name


@T.macro
def hygienic(index):
    A[index] = 1.0


def test_inline_helpers():
    global OFFSET

    def build():
        @T.prim_func
        def f(A: T.Buffer((8,), "float32"), n: T.int32):
            store_twice(A, n)
            count_down(A, 2)
            A[0] = twice(A[3])

        return f

    result = statements(build())
    assert [len(result), int(result[2].indices[0]), int(result[3].indices[0])] == [5, 2, 1]
    assert isinstance(result[-1].value, tirx.Mul)
    OFFSET = 5  # names are looked up at the call
    try:
        assert int(statements(build())[1].indices[0].b) == 5
    finally:
        OFFSET = 1


def test_local_inline_sees_its_own_scope():
    func = parse(
        """
x = 1
@T.inline
def helper(i):
    x = i
    A[i] = z
z = 2.0
def_scope = [1]
helper(3)
for i in range(4):
    z_inner = [i]
    helper(i)
"""
    )
    stores = [s for s in statements(func) if isinstance(s, tirx.BufferStore)]
    # The assignment in the helper stores to the variable of the function around it.
    assert [s.buffer.name for s in stores] == ["x", "z", "x", "A"]


def test_macros():
    @T.prim_func
    def f(A: T.Buffer((8,), "float32")):
        outer_name = 2.0  # noqa: F841
        unhygienic(1)

    assert statements(f)[-1].buffer.same_as(f.params[0])

    with pytest.raises(DiagnosticError, match="Undefined variable: A"):

        @T.prim_func
        def g(A: T.Buffer((8,), "float32")):
            hygienic(1)


@T.meta_class
class Accumulator:
    """Owns a buffer; its methods are parsed."""

    def __init__(self, count, start):
        self.data = T.alloc_buffer((count,), "float32")
        self.step = start
        self.total = T.alloc_scalar("float32")

    @T.inline
    def add(self, i, value):
        self.data[i] = value
        self.total = self.total + value
        self.step = self.step + 1


def test_meta_classes():
    @T.prim_func
    def f(A: T.Buffer((8,), "float32")):
        acc = Accumulator(4, 1)
        acc.add(acc.step, A[0])
        acc.add(acc.step, A[1])
        A[2] = acc.total

    stores = [s for s in statements(f) if isinstance(s, tirx.BufferStore)]
    assert [int(s.indices[0]) for s in stores] == [1, 0, 2, 0, 2]


def test_block_name_suffix():
    with T.block_name_suffix_context("_x"):

        @T.prim_func(s_tir=True)
        def f(A: T.Buffer((8,), "float32")):
            with T.sblock("b"):
                T.evaluate(A[0])

    assert f.body.block.name_hint == "b_x"


def test_s_tir_is_asked_for_by_the_caller():
    text = "@T.prim_func\ndef f(A: T.Buffer((8,), 'float32')):\n    A[0] = 1.0\n"
    assert from_source(text, s_tir=True).attrs["s_tir"]
    assert "s_tir" not in from_source(text).attrs


def test_all_names_of_the_dialect_exist():
    names = """
    prim_func jit inline macro func_attr func_name func_ret arg match_buffer Buffer Ptr handle ptr
    TensorMap constexpr Optional meta_class meta_var static_assert bool void boolean int8 uint64
    float16 bfloat16 float8_e4m3fn float6_e2m3fn float4_e2m1fn float32x64 i8 u64 f16 f32 f64 bf16
    alloc_buffer alloc_shared alloc_local decl_buffer buffer alloc_scalar decl_scalar local_scalar
    shared_scalar buffer_store buffer_var serial parallel vectorized unroll thread_binding grid
    While If Then Else Assert Break Continue Return evaluate attr hint launch_thread env_thread
    break_loop continue_loop thread_return let Let Bind bind LetAnnotation sblock axis where reads
    writes init sblock_attr sblock_alloc_buffer block_name_suffix_context ExecScope ScopeIdDef abs
    acos acosh asin asinh atan atan2 atanh ceil ceildiv copysign cos cosh erf exp exp10 exp2 fabs
    floor floordiv floormod fma fmod hypot ldexp log log10 log1p log2 nearbyint nextafter pow round
    rsqrt sigmoid sin sinh sqrt tan tanh trunc truncdiv truncmod min max min_value max_value
    infinity popcount isnan isinf isfinite clz bitwise_and bitwise_or bitwise_xor bitwise_not
    shift_left shift_right if_then_else likely reinterpret q_multiply_shift
    q_multiply_shift_per_axis dp4a vscale get_active_lane_mask Add Sub Mul Div Mod FloorDiv FloorMod
    Min Max EQ NE LT LE GT GE And Or Not Select Cast Ramp Broadcast Shuffle BufferLoad Call IntImm
    FloatImm StringImm Reduce CommReducer comm_reducer index_map iter_var Range Var filter selector
    call_packed call_cpacked call_packed_lowered call_cpacked_lowered call_extern call_pure_extern
    call_intrin call_llvm_intrin call_llvm_pure_intrin tvm_stack_alloca tvm_struct_get
    tvm_struct_set tvm_access_ptr tvm_thread_allreduce tvm_storage_sync tvm_tuple address_of
    isnullptr lookup_param ptr_byte_offset handle_add_byte_offset assume undef anylist_getitem
    TVMBackendAllocWorkspace TVMBackendFreeWorkspace vectorlow vectorhigh vectorcombine cuda ptx
    nvshmem ptx_legacy s_tir metal nki webgpu tile thread warp wg warpgroup cta cluster device_entry
    cta_id thread_id scope_id lane_id
    """.split()
    missing = [name for name in names if not hasattr(T, name)]
    assert not missing


def test_missing_parts_are_named():
    with pytest.raises(AttributeError, match=r"tirx\.cuda\.cta_sync is not part of this build"):
        _ = T.cuda.cta_sync
    with pytest.raises(DiagnosticError, match=r"tirx\.tile\.no_such_op"):
        parse("T.cta.no_such_op(A)")
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = T.no_such_name


def test_modules_of_the_builder_and_parser_agree():
    with tvm.script.ir_builder.IRBuilder() as builder:
        with T.prim_func():
            T.func_name("f")
            A = T.arg("A", T.Buffer((8,), "float32"))
            T.arg("n", T.int32)
            with T.serial(8) as i:
                T.buffer_store(A, 1.0, [i])
    assert_structural_equal(builder.get(), parse("for i in range(8):\n    A[i] = 1.0"))
