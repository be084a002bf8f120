# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Evaluation of expressions: Python's semantics, except where an operand is IR.

``and``, ``or``, ``not``, chained comparisons and ``a if c else b`` decide on Python values as
Python does and build nodes for IR values, which have no truth value while a program is parsed.
"""

from __future__ import annotations

import ast
import operator
from typing import TYPE_CHECKING, Any

from tvm.ir.expr import EqualOp, Expr, IntImm, _prim_api, is_prim_expr

from . import dispatch
from .diagnostics import ErrorsAt
from .scope import UndefinedVariable

if TYPE_CHECKING:
    from .parser import Parser

_BINARY = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.BitAnd: operator.and_,
    ast.MatMult: operator.matmul,
    ast.Pow: operator.pow,
}
_COMPARE = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}
_COMPARE_NODES = {
    ast.Eq: "_OpEQ",
    ast.NotEq: "_OpNE",
    ast.Lt: "_OpLT",
    ast.LtE: "_OpLE",
    ast.Gt: "_OpGT",
    ast.GtE: "_OpGE",
}
_UNARY = {ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert}

# Integers in source text are bounded so that `10 ** 10 ** 10` is an error, not a hang.
_MAX_SHIFT = 1 << 16


def _plain(value: Any) -> Any:
    """Comparison results as expressions."""
    return value.asobject() if isinstance(value, EqualOp) else value


class Evaluator:
    """Evaluates expressions of one program; names come from the parser's table."""

    def __init__(self, parser: Parser) -> None:
        self.parser = parser

    def eval(self, node: ast.expr) -> Any:
        """Value of an expression.

        Raises:
            DiagnosticError: It raised an error; the message shows the innermost expression.
            UndefinedVariable: It names a variable that does not exist.
        """
        method = getattr(self, f"_{type(node).__name__}", None)
        if method is None:
            raise self.parser.diagnostics.error(
                node, f"Expression of kind {type(node).__name__} is not supported"
            )
        with self._errors_at(node):
            return method(node)

    def _errors_at(self, node: ast.expr) -> ErrorsAt:
        """Undefined names are reported at the statement; other errors at the expression."""
        return ErrorsAt(self.parser.error_at, node, (UndefinedVariable, RecursionError))

    # --- leaves -------------------------------------------------------------------------------

    def _Constant(self, node):  # noqa: N802
        return node.value

    def _Name(self, node):  # noqa: N802
        value = self.parser.var_table.lookup(node.id)
        load = dispatch.get_load(type(value))
        return value if load is None else self.parser.annotate(load(self.parser, value), node)

    def _JoinedStr(self, node):  # noqa: N802
        return "".join(str(self.eval(part)) for part in node.values)

    def _FormattedValue(self, node):  # noqa: N802
        value = self.eval(node.value)
        if node.conversion != -1:
            value = {"s": str, "r": repr, "a": ascii}[chr(node.conversion)](value)
        return format(value, self.eval(node.format_spec) if node.format_spec else "")

    # --- containers ---------------------------------------------------------------------------

    def _items(self, nodes) -> list:
        values = []
        for item in nodes:
            if isinstance(item, ast.Starred):
                values.extend(self.eval(item.value))
            else:
                values.append(self.eval(item))
        return values

    def _Tuple(self, node):  # noqa: N802
        return tuple(self._items(node.elts))

    def _List(self, node):  # noqa: N802
        return self._items(node.elts)

    def _Set(self, node):  # noqa: N802
        return set(self._items(node.elts))

    def _Dict(self, node):  # noqa: N802
        result = {}
        for key, value in zip(node.keys, node.values):
            if key is None:
                result.update(self.eval(value))
            else:
                result[self.eval(key)] = self.eval(value)
        return result

    def _Slice(self, node):  # noqa: N802
        return slice(
            *(None if x is None else self.eval(x) for x in (node.lower, node.upper, node.step))
        )

    # --- access and calls ---------------------------------------------------------------------

    def _Attribute(self, node):  # noqa: N802
        return getattr(self.eval(node.value), node.attr)

    def _Subscript(self, node):  # noqa: N802
        return self.parser.annotate(self.eval(node.value)[self.eval(node.slice)], node)

    def _Call(self, node):  # noqa: N802
        function = self.eval(node.func)
        args = self._items(node.args)
        kwargs = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                kwargs.update(self.eval(keyword.value))
            elif keyword.arg in kwargs:
                raise TypeError(f"got multiple values for keyword argument {keyword.arg!r}")
            else:
                kwargs[keyword.arg] = self.eval(keyword.value)
        return self.parser.call(node, function, args, kwargs)

    # --- operators ----------------------------------------------------------------------------

    def _BinOp(self, node):  # noqa: N802
        # `a + b + c + ..` is one deep spine to the left: walk it without recursion.
        spine = [node]
        while isinstance(spine[-1].left, ast.BinOp):
            spine.append(spine[-1].left)
        value = self.eval(spine[-1].left)
        for step in reversed(spine):
            right = self.eval(step.right)
            with self._errors_at(step):
                value = self.parser.annotate(self._binary(step.op, value, right), step)
        return value

    def _binary(self, op: ast.operator, left: Any, right: Any) -> Any:
        method = self._registered(op, left, right)
        if method is not None:
            return method(left, right)
        if (
            isinstance(op, (ast.Pow, ast.LShift))
            and isinstance(left, int)
            and isinstance(right, int)
        ):
            size = left.bit_length() * right if isinstance(op, ast.Pow) else right
            if size > _MAX_SHIFT:
                raise OverflowError("the result is too large")
        return _BINARY[type(op)](_plain(left), _plain(right))

    def _UnaryOp(self, node):  # noqa: N802
        value = self.eval(node.operand)
        method = dispatch.get_op(value, node.op, 0)
        if method is not None:
            return self.parser.annotate(method(value), node)
        if isinstance(node.op, ast.Not):
            return self.parser.annotate(self._negate(value), node)
        return self.parser.annotate(_UNARY[type(node.op)](_plain(value)), node)

    @staticmethod
    def _negate(value: Any) -> Any:
        value = _plain(value)
        if isinstance(value, Expr):
            from tvm.tirx import Not

            return Not(value)
        return not value

    def _BoolOp(self, node):  # noqa: N802
        is_and = isinstance(node.op, ast.And)
        value = self.eval(node.values[0])
        for operand in node.values[1:]:
            value = _plain(value)
            if not isinstance(value, Expr):
                # Python decides; the operands after this one are evaluated only if it must.
                if bool(value) != is_and:
                    return value
                value = self.eval(operand)
                continue
            other = _plain(self.eval(operand))
            value = self.parser.annotate(self._logical(node.op, value, other), node)
        return _plain(value)

    @staticmethod
    def _registered(op: ast.AST, left: Any, right: Any) -> Any:
        """What a dialect registered for an operator, by its first operand or else its second."""
        method = dispatch.get_op(left, op, 0)
        return dispatch.get_op(right, op, 1) if method is None else method

    def _logical(self, op: ast.boolop, left: Any, right: Any) -> Any:
        method = self._registered(op, left, right)
        if method is not None:
            return method(left, right)
        from tvm import tirx

        if not isinstance(right, Expr):
            right = IntImm("bool", bool(right))
        build = tirx.And if isinstance(op, ast.And) else tirx.Or
        if left.dtype.lanes != right.dtype.lanes:
            left, right = _same_lanes(left, right)
        return build(left, right)

    def _Compare(self, node):  # noqa: N802
        result = None
        left = self.eval(node.left)
        for op, comparator in zip(node.ops, node.comparators):
            right = self.eval(comparator)
            value = _plain(self._compare(op, left, right))
            if isinstance(value, Expr):
                self.parser.annotate(value, node)
            if result is None or not isinstance(result, Expr):
                result = value  # a false Python value has returned already
            else:
                result = self._logical(ast.And(), result, value)
            if not isinstance(result, Expr) and not result:
                return result
            left = right
        return result

    def _compare(self, op: ast.cmpop, left: Any, right: Any) -> Any:
        method = self._registered(op, left, right)
        if method is not None:
            return method(left, right)
        left, right = _plain(left), _plain(right)
        name = _COMPARE_NODES.get(type(op))
        if name is not None and isinstance(left, (int, float)) and is_prim_expr(right):
            # Python would turn `1 < x` into `x > 1`.
            return getattr(_prim_api, name)(left, right, None)
        return _COMPARE[type(op)](left, right)

    def _IfExp(self, node):  # noqa: N802
        condition = _plain(self.eval(node.test))
        if isinstance(condition, Expr) and is_prim_expr(condition):
            from tvm.tirx import if_then_else

            body, orelse = _plain(self.eval(node.body)), _plain(self.eval(node.orelse))
            return self.parser.annotate(if_then_else(condition, body, orelse), node)
        return self.eval(node.body if condition else node.orelse)

    # --- functions and comprehensions -----------------------------------------------------------

    def _Lambda(self, node):  # noqa: N802
        """Python function whose body this evaluator computes, where the lambda stands."""
        frames = list(self.parser.var_table.frames)
        arguments = node.args
        names = [
            arg.arg
            for arg in (
                *arguments.posonlyargs,
                *arguments.args,
                *([arguments.vararg] if arguments.vararg else []),
                *arguments.kwonlyargs,
                *([arguments.kwarg] if arguments.kwarg else []),
            )
        ]

        def run(bound: dict[str, Any]) -> Any:
            with self.parser.with_frames([*frames, bound]):
                return self.eval(node.body)

        env: dict[str, Any] = {"__run__": run}
        shell = ast.Lambda(args=self._argument_shell(arguments, env), body=_call_with(names))
        expression = ast.fix_missing_locations(ast.Expression(shell))
        return eval(compile(expression, "<lambda>", "eval"), env)

    def _argument_shell(self, arguments: ast.arguments, env: dict[str, Any]) -> ast.arguments:
        """The same parameters, their defaults evaluated."""

        def default(item):
            if item is None:
                return None
            name = f"__default_{len(env)}__"
            env[name] = self.eval(item)
            return ast.Name(name, ast.Load())

        return ast.arguments(
            posonlyargs=arguments.posonlyargs,
            args=arguments.args,
            vararg=arguments.vararg,
            kwonlyargs=arguments.kwonlyargs,
            kw_defaults=[default(item) for item in arguments.kw_defaults],
            kwarg=arguments.kwarg,
            defaults=[default(item) for item in arguments.defaults],
        )

    def _comprehend(self, generators, produce) -> list:
        results: list = []

        def run(depth: int) -> None:
            if depth == len(generators):
                results.append(produce())
                return
            generator = generators[depth]
            if generator.is_async:
                raise SyntaxError("asynchronous comprehensions are not supported")
            for item in self.eval(generator.iter):
                self.parser.bind_target(generator.target, item, self.parser.var_table.add)
                if all(self._is_true(test) for test in generator.ifs):
                    run(depth + 1)

        with self.parser.var_table.with_frame():
            run(0)
        return results

    def _is_true(self, node) -> bool:
        return bool(_plain(self.eval(node)))

    def _ListComp(self, node):  # noqa: N802
        return self._comprehend(node.generators, lambda: self.eval(node.elt))

    def _GeneratorExp(self, node):  # noqa: N802
        return iter(self._ListComp(node))

    def _SetComp(self, node):  # noqa: N802
        return set(self._ListComp(node))

    def _DictComp(self, node):  # noqa: N802
        return dict(
            self._comprehend(node.generators, lambda: (self.eval(node.key), self.eval(node.value)))
        )

    def _NamedExpr(self, node):  # noqa: N802
        value = self.eval(node.value)
        self.parser.var_table.add(node.target.id, value)
        return value

    def _Starred(self, node):  # noqa: N802
        raise SyntaxError("can't use starred expression here")


def _same_lanes(left: Expr, right: Expr) -> tuple[Expr, Expr]:
    from tvm.tirx import Broadcast

    if left.dtype.lanes == 1:
        return Broadcast(left, right.dtype.lanes), right
    if right.dtype.lanes == 1:
        return left, Broadcast(right, left.dtype.lanes)
    return left, right


def _call_with(names: list[str]) -> ast.expr:
    """The call ``__run__({"x": x, ..})``."""
    load = ast.Load()
    bound = ast.Dict(
        keys=[ast.Constant(name) for name in names], values=[ast.Name(name, load) for name in names]
    )
    return ast.Call(func=ast.Name("__run__", load), args=[bound], keywords=[])
