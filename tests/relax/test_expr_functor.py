# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Visitors and mutators written in Python: every hook, inheritance, builder, deep nesting."""

import numpy as np
import pytest

import tvm
from tvm import relax, tirx
from tvm.ir import Call, Op, SourceName, Span
from tvm.relax.expr_functor import PyExprMutator, PyExprVisitor, mutator, visitor
from tvm.script import ir as I
from tvm.script import relax as R

N = tirx.Var("n", "int64")
X = relax.Var("x", relax.TensorType((N, 4), "float32"))
C = relax.Var("c", relax.TensorType((), "bool"))
HOOKS = (
    "constant tuple var dataflow_var shape_expr extern_func global_var function call seq_expr if op "
    "tuple_getitem string_imm data_type_imm expr_fallback var_binding match_cast binding_block "
    "dataflow_block var_def dataflow_var_def"
).split()


def every_node():
    """A function with a node for each hook; not all of it is well-formed."""
    lv, gv = relax.DataflowVar("lv", X.ty), relax.Var("gv", X.ty)
    out = relax.Var("out", X.ty)
    values = [
        relax.op.add(X, relax.const(1.0, "float32")),
        relax.Tuple([lv, relax.StringImm("s"), relax.DataTypeImm("int8")]),
        relax.TupleGetItem(relax.Tuple([lv]), 0),
        relax.ShapeExpr([N, 4]),
        Call(relax.ExternFunc("f"), [lv]),
        Call(relax.GlobalVar("g"), [lv]),
    ]
    dataflow = relax.DataflowBlock([relax.VarBinding(lv, value) for value in values])
    branch = relax.SeqExpr([], X)
    plain = relax.BindingBlock(
        [relax.MatchCast(gv, lv, X.ty), relax.VarBinding(out, relax.If(C, branch, branch))]
    )
    return relax.Function([X, C], relax.SeqExpr([dataflow, plain], out), X.ty)


def recorder(base, calls):
    """A subclass of `base` in which every hook notes its name and walks on."""

    def hook(name):
        def visit(self, node):
            calls.append(name)
            return getattr(super(cls, self), f"visit_{name}_")(node)

        return visit

    cls = type("Recorder", (base,), {f"visit_{name}_": hook(name) for name in HOOKS})
    return cls


def test_every_hook_of_a_visitor_is_called():
    calls = []
    visitor(recorder(PyExprVisitor, calls))().visit_expr(every_node())
    assert set(calls) == set(HOOKS)
    assert calls[:3] == ["function", "var_def", "var_def"]
    assert calls[3:10] == [
        *("seq_expr", "dataflow_block", "var_binding", "call", "op", "var", "constant")
    ]


def test_every_hook_of_a_mutator_is_called_and_changes_nothing():
    calls = []

    def unchecked(self, expr):  # the program is not well-formed: no types to infer
        return super(PyExprMutator, self).visit_expr(expr)

    walker = type("Walker", (recorder(PyExprMutator, calls),), {"visit_expr": unchecked})
    func = every_node()
    assert mutator(walker)().visit_expr(func).same_as(func)
    assert set(calls) == set(HOOKS)


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), c: R.Tensor((), "bool")) -> R.Tensor(
        (4,), "float32"
    ):
        with R.dataflow():
            a = R.exp(x)
            b = R.add(a, R.const(1.0, "float32"))
            R.output(b)
        s = R.sum(b, axis=[0])
        y = R.match_cast(s, R.Tensor((4,), "float32"))
        if c:
            z = R.exp(y)
        else:
            z = R.negative(y)
        return z


def test_a_mutator_that_changes_nothing_returns_the_function():
    @mutator
    class Same(PyExprMutator):
        pass

    assert Same().visit_expr(Module["main"]).same_as(Module["main"])


def is_op(expr, name):
    return isinstance(expr, Call) and isinstance(expr.op, Op) and expr.op.name == name


@mutator
class ExpAsProduct(PyExprMutator):
    """exp(v) ==> half * half with half = exp(v * 0.5), emitted through the builder."""

    def visit_call_(self, op):
        op = self.visit_expr_post_order(op)
        if not is_op(op, "relax.exp"):
            return op
        half = self.builder_.emit(relax.op.multiply(op.args[0], relax.const(0.5, "float32")))
        half = self.builder_.emit(Call(Op.get("relax.exp"), [half]), "half")
        return relax.op.multiply(half, half)


def test_bindings_emitted_by_a_mutator_land_in_their_scope_and_run():
    mutated = ExpAsProduct().visit_expr(Module["main"])
    relax.analysis.well_formed(mutated)
    names = [b.var.name for b in mutated.body.blocks[0].bindings]
    assert names.index("half") < names.index("a")
    assert isinstance(mutated.body.blocks[0], relax.DataflowBlock)
    true_branch = mutated.body.blocks[1].bindings[-1].value.true_branch
    assert [is_op(b.value, "relax.exp") for b in true_branch.blocks[0].bindings].count(True) == 1
    x = np.random.default_rng(0).standard_normal((3, 4)).astype("float32")
    for flag in (True, False):
        args = (tvm.runtime.tensor(x), tvm.runtime.tensor(np.array(flag)))
        outputs = [
            relax.VirtualMachine(tvm.compile(tvm.IRModule({"main": f}), "llvm"), tvm.cpu())["main"](
                *args
            ).numpy()
            for f in (Module["main"], mutated)
        ]
        np.testing.assert_allclose(outputs[1], outputs[0], rtol=1e-5)


def test_types_follow_a_changed_value():
    @mutator
    class Half(PyExprMutator):
        def visit_var_def_(self, var):
            return self.with_type(var, relax.TensorType(var.ty.shape, "float16"))

    func = relax.Function([X], relax.SeqExpr([], X), X.ty)
    half = Half().visit_expr(func)
    assert half.params[0].ty.dtype == "float16"
    assert half.body.body.same_as(half.params[0])


def test_definitions_are_renamed_although_values_stay():
    @mutator
    class Rename(PyExprMutator):
        def visit_dataflow_var_def_(self, var):
            return relax.DataflowVar(f"new_{var.name}", var.ty)

    renamed = Rename().visit_expr(Module["main"])
    relax.analysis.well_formed(renamed)
    assert [b.var.name for b in renamed.body.blocks[0].bindings] == ["new_a", "b"]
    tvm.ir.assert_structural_equal(renamed, Module["main"])


def test_var_remap_and_lookup_binding():
    seen = []

    @mutator
    class Forward(PyExprMutator):
        """Uses of a binding `v = w` become uses of w."""

        def visit_var_binding_(self, binding):
            super().visit_var_binding_(binding)
            seen.append(self.lookup_binding(self.get_var_remap(binding.var)))
            if isinstance(binding.value, relax.Var):
                self.set_var_remap(binding.var, self.get_var_remap(binding.value))

    bb = relax.BlockBuilder()
    with bb.function("main", [X]):
        a = bb.emit(relax.op.exp(X))
        b = bb.emit(a)
        bb.emit_func_output(bb.emit(relax.op.negative(b)))
    func = Forward().visit_expr(bb.get()["main"])
    last = func.body.blocks[0].bindings[-1].value
    assert last.args[0].name == a.name
    assert is_op(seen[0], "relax.exp") and seen[1].same_as(a)


def test_functions_are_added_through_the_builder():
    @mutator
    class Outline(PyExprMutator):
        """exp(v) ==> outlined(v)"""

        def visit_call_(self, op):
            if not is_op(op, "relax.exp"):
                return super().visit_call_(op)
            param = relax.Var("p", op.args[0].ty)
            body = relax.SeqExpr([], param)
            gv = self.builder_.add_func(relax.Function([param], body, param.ty), "outlined")
            return Call(gv, op.args)

    bb = relax.BlockBuilder()
    for name, shape in {"a": [2], "b": [2], "c": [3]}.items():
        x = relax.Var("x", relax.TensorType(shape, "float32"))
        with bb.function(name, [x]):
            bb.emit_func_output(bb.emit(relax.op.exp(x)))
    before = bb.get()
    pass_ = Outline(before)
    for gv, func in before.functions_items():
        pass_.builder_.update_func(gv, pass_.visit_expr(func))
    after = pass_.builder_.get()
    assert sorted(gv.name_hint for gv in after.get_global_vars()) == [
        *("a", "b", "c", "outlined", "outlined1")
    ]
    relax.analysis.well_formed(after)


def test_subclasses_derive_from_the_class_below_the_decorator():
    log = []

    @visitor
    class Base(PyExprVisitor):
        def visit_call_(self, op):
            log.append("base")
            super().visit_call_(op)

        def visit_op_(self, op):
            log.append(op.name)

    @visitor
    class Leaf(Base._cls):
        def visit_call_(self, op):
            log.append("leaf")
            super().visit_call_(op)

    Leaf().visit_expr(relax.op.exp(X))
    assert log == ["leaf", "base", "relax.exp"]
    assert Leaf.__name__ == "Leaf" and isinstance(Leaf(), Base._cls)
    with pytest.raises(TypeError, match="Please inherit from `Base._cls`"):

        class Wrong(Base):
            pass

    with pytest.raises(TypeError, match="expected a subclass of PyExprMutator, found Base"):
        mutator(Base._cls)


def test_spans_are_visited_and_kept():
    span = Span(SourceName("f.py"), 3, 3, 1, 9)
    call = Call(Op.get("relax.exp"), [X], span=span)
    seen = []

    @visitor
    class Spans(PyExprVisitor):
        def visit_span(self, span):
            seen.append(span)

    Spans().visit_expr(call)
    assert [s.line for s in seen if s is not None] == [3]

    @mutator
    class Rename(PyExprMutator):
        pass

    rename = Rename()
    rename.set_var_remap(X, relax.Var("y", X.ty))
    assert rename.visit_expr(call).args[0].name == "y"
    assert rename.visit_expr(call).span.line == 3


@pytest.mark.parametrize("base", [PyExprVisitor, PyExprMutator])
def test_deep_nesting_is_a_recursion_error(base):
    expr = X
    for _ in range(20000):
        expr = Call(Op.get("relax.exp"), [expr])
    with pytest.raises(RecursionError):
        base().visit_expr(expr)


def test_long_chains_of_bindings_are_no_nesting():
    bb = relax.BlockBuilder()
    with bb.function("main", [X]):
        value = X
        for _ in range(3000):
            value = bb.emit(relax.op.exp(value))
        bb.emit_func_output(value)
    func = bb.get()["main"]
    assert PyExprMutator().visit_expr(func).same_as(func)


def test_exceptions_of_hooks_arrive_as_themselves():
    class Odd(Exception):
        pass

    @visitor
    class Raises(PyExprVisitor):
        def visit_op_(self, op):
            raise Odd(op.name)

    with pytest.raises(Odd, match="relax.exp"):
        Raises().visit_expr(Module["main"])
