# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""The walk over a program's statements; what they mean is up to the dialects."""

from __future__ import annotations

import ast
import inspect
import threading
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any, TypeVar

from tvm.error import DiagnosticError
from tvm.ir.base import SequentialSpan, Span
from tvm.ir.expr import EqualOp, Expr, Var
from tvm.script.ir_builder import _ffi_api
from tvm.script.ir_builder.base import IRBuilder, meta_var

from . import dispatch
from .diagnostics import Diagnostics, ErrorsAt
from .evaluator import Evaluator
from .scope import UndefinedVariable, VarTable
from .source import Source

_CURRENT = threading.local()

_FUTURE_ONLY = "Only 'from __future__ import annotations' is supported"


class Parser:
    """State of one program that is being parsed.

    Args:
        source: The program.
        s_tir: Primitive functions without the option are of the schedulable dialect.
        absent_params: Optional parameters that are left out.

    Attributes:
        var_table: Names bound so far.
        dispatch_tokens: Dialects of the functions that are open, innermost last.
        options: What the caller of the parse asked for, by name.
    """

    def __init__(self, source: Source, **options: Any) -> None:
        self.source = source
        self.diagnostics = Diagnostics(source)
        self.dispatch_tokens: list[str] = ["default"]
        self.var_table = VarTable()
        self.evaluator = Evaluator(self)
        self.options = options
        self.inside_function = False
        # Frames that were open where each function that is being inlined was called.
        self.inline_depths: list[int] = []
        self.type_vars: dict[str, Var] | None = None
        self._call_sites: list[Span] = []
        # Where the statements became too deep to visit: source and node.
        self._too_deep: tuple[Diagnostics, ast.AST] | None = None

    # --- entry --------------------------------------------------------------------------------

    def parse(self, extra_vars: dict[str, Any] | None = None) -> None:
        """Walk the whole program, building into the current IRBuilder.

        Args:
            extra_vars: Names that exist outside of the program; the dict itself is used.
        """
        tree = self.source.as_ast()
        with self.as_current(), self.with_frames([{} if extra_vars is None else extra_vars]):
            with self.var_table.with_frame():
                try:
                    self.visit_body(tree.body)
                except RecursionError as err:
                    where, node = self._too_deep or (self.diagnostics, ast.Module([], []))
                    raise where.error(node, "the program is nested too deeply") from err

    @contextmanager
    def as_current(self):
        """Be the parser that works in this thread."""
        stack = _CURRENT.__dict__.setdefault("stack", [])
        stack.append(self)
        try:
            yield
        finally:
            stack.pop()

    @staticmethod
    def current() -> Parser | None:
        """The parser that works in this thread, or None."""
        stack = _CURRENT.__dict__.get("stack")
        return stack[-1] if stack else None

    # --- scopes -------------------------------------------------------------------------------

    @contextmanager
    def with_frames(self, frames: list[dict[str, Any]]):
        """Look names up in other scopes for a while."""
        saved = self.var_table
        self.var_table = VarTable(frames)
        try:
            yield
        finally:
            self.var_table = saved

    @contextmanager
    def with_dispatch_token(self, token: str):
        """Treat statements as those of another dialect."""
        previous = self.dispatch_tokens[-1]
        self.dispatch_tokens.append(token)
        self._token_switched(previous)
        try:
            yield
        finally:
            self.dispatch_tokens.pop()
            self._token_switched(token)

    def _token_switched(self, previous: str) -> None:
        hook = dispatch.get(self.dispatch_tokens[-1], "post_token_switch")
        if hook is not None:
            hook(self, previous)

    @contextmanager
    def with_diag_source(self, source: Source, call_site: Span | None = None):
        """Report places in another source, e.g. that of an inlined function.

        Args:
            source: The other source.
            call_site: Place of the call that led there; spans of what is built contain it.
        """
        saved = self.source, self.diagnostics
        self.source, self.diagnostics = source, Diagnostics(source)
        if call_site is not None:
            self._call_sites.append(call_site)
        try:
            yield
        finally:
            self.source, self.diagnostics = saved
            if call_site is not None:
                self._call_sites.pop()

    @contextmanager
    def with_type_vars(self):
        """Start a function: its shape variables are its own."""
        saved = self.type_vars
        self.type_vars = {}
        try:
            yield self.type_vars
        finally:
            self.type_vars = saved

    def type_var(self, name: str, dtype: str = "int64") -> Var:
        """Shape variable of the current function, made at its first use.

        Args:
            name: Its name.
            dtype: Type it gets if it is new.
        """
        if self.type_vars is None:
            return Var(name, dtype)
        var = self.type_vars.get(name)
        if var is None:
            var = self.type_vars[name] = Var(name, dtype)
        return var

    @contextmanager
    def inlined(self):
        """Visit the body of an inlined function: its ``return`` does not leave the function."""
        self.inline_depths.append(len(IRBuilder.current().frames))
        try:
            yield
        finally:
            self.inline_depths.pop()

    # --- errors and places ----------------------------------------------------------------------

    def report_error(self, node: ast.AST, err: Exception | str) -> None:
        """Raise an error that shows a node.

        Args:
            node: The node.
            err: Message, or an exception; one that shows a place already is raised as it is.

        Raises:
            DiagnosticError: Always.
        """
        if isinstance(err, str):
            raise self.diagnostics.error(node, err)
        raise self.error_at(node, err) from err

    def error_at(self, node: ast.AST, err: Exception) -> DiagnosticError:
        """Turn an exception into one that shows a node."""
        if isinstance(err, DiagnosticError):
            return err
        message = str(err)
        if isinstance(err, KeyError):
            message = f"KeyError: {message}"
        elif not message:
            message = type(err).__name__
        return self.diagnostics.error(node, message)

    def errors_at(self, node: ast.AST) -> ErrorsAt:
        """Let errors that show no place yet show a node."""
        return ErrorsAt(self._statement_error, node)

    def _statement_error(self, node: ast.AST, err: Exception) -> Exception:
        if not isinstance(err, RecursionError):
            return self.error_at(node, err)
        if self._too_deep is None:
            self._too_deep = self.diagnostics, node
        return err

    def span_of(self, node: ast.AST) -> Span:
        """Place of a node; inside inlined functions together with the places of the calls."""
        span = self.source.to_span(node)
        # The innermost call site holds the places of the calls around it already.
        return SequentialSpan([self._call_sites[-1], span]) if self._call_sites else span

    def annotate(self, value: Any, node: ast.AST) -> Any:
        """Give an expression its place unless it has one."""
        if isinstance(value, EqualOp):
            value = value.asobject()
        if isinstance(value, Expr) and value.span is None:
            _ffi_api.IRBuilderSetSpan(value, self.span_of(node))
        return value

    # --- expressions ----------------------------------------------------------------------------

    def eval_expr(self, node: ast.expr, extra_vars: dict[str, Any] | None = None) -> Any:
        """Value of an expression.

        Args:
            node: The expression.
            extra_vars: Further names.
        """
        if extra_vars is None:
            return self.evaluator.eval(node)
        with self.with_frames([*self.var_table.frames, extra_vars]):
            return self.evaluator.eval(node)

    def call(self, node: ast.Call, function: Callable, args: list, kwargs: dict) -> Any:
        """Call a function for a call expression; a dialect may take calls over by its hook."""
        hook = dispatch.get(self.dispatch_tokens[-1], "call")
        span = self.span_of(node)
        with IRBuilder.current().with_source_span(span):
            if hook is not None:
                result = hook(self, node, function, args, kwargs)
            else:
                result = function(*args, **kwargs)
        if isinstance(result, Expr) and result.span is None:
            _ffi_api.IRBuilderSetSpan(result, span)
        return result

    def bind_target(self, target: ast.expr, value: Any, bind: Callable[[str, Any], None]) -> None:
        """Take a value apart as Python's assignment does.

        Args:
            target: Left side: names, tuples, lists, at most one starred name in each.
            value: The value.
            bind: Called with each name and its part.
        """
        if isinstance(target, ast.Name):
            bind(target.id, value)
            return
        if isinstance(target, ast.Starred):
            self.bind_target(target.value, list(value), bind)
            return
        if not isinstance(target, (ast.Tuple, ast.List)):
            self.report_error(target, f"cannot assign to {type(target).__name__}")
        parts = list(value)
        stars = [i for i, item in enumerate(target.elts) if isinstance(item, ast.Starred)]
        count = len(target.elts)
        if stars:
            first, rest = stars[0], count - stars[0] - 1
            if len(parts) < count - 1:
                self.report_error(
                    target,
                    f"not enough values to unpack (expected at least {count - 1}, got {len(parts)})",
                )
            end = len(parts) - rest
            parts = [*parts[:first], parts[first:end], *parts[end:]]
        elif len(parts) != count:
            few = "not enough" if len(parts) < count else "too many"
            got = f", got {len(parts)}" if len(parts) < count else ""
            self.report_error(target, f"{few} values to unpack (expected {count}{got})")
        for item, part in zip(target.elts, parts):
            self.bind_target(item, part, bind)

    def eval_assign(
        self,
        target: ast.expr,
        source: Any,
        bind_value: Callable[[Parser, ast.expr, str, Any], Any],
        allow_shadowing: bool = True,
    ) -> dict[str, Any]:
        """Assign as Python does, and put the bound values into the table of names.

        Args:
            target: Left side.
            source: Value of the right side.
            bind_value: ``fn(parser, node, name, value)`` gives what the name stands for.
            allow_shadowing: Names may exist in this scope already.

        Returns:
            Name -> what it stands for.
        """
        bound: dict[str, Any] = {}

        def bind(name: str, value: Any) -> None:
            if isinstance(value, meta_var):
                value = value.value
            else:
                value = bind_value(self, target, name, value)
            try:
                self.var_table.add(name, value, allow_shadowing)
            except ValueError as err:
                self.report_error(target, err)
            bound[name] = value

        if isinstance(source, meta_var) and isinstance(target, (ast.Tuple, ast.List)):
            source = list(source)
        self.bind_target(target, source, bind)
        return bound

    # --- statements -----------------------------------------------------------------------------

    def visit_body(self, body: list[ast.stmt]) -> None:
        """Visit statements in order."""
        for stmt in body:
            self.visit(stmt)

    def visit(self, node: ast.AST) -> Any:
        """Visit a statement by the method of the current dialect, or the common one.

        Raises:
            DiagnosticError: Something about it is wrong.
        """
        name = type(node).__name__
        method = _DEFINITIONS.get(name) or dispatch.get(self.dispatch_tokens[-1], name)
        if method is None:
            method = dispatch.get("default", name) or _COMMON.get(name)
        if method is None:
            raise self.diagnostics.error(node, f"Visitor of AST node is not implemented: {name}")
        with self.errors_at(node), IRBuilder.current().with_source_span(self.span_of(node)):
            return method(self, node)

    def visit_tvm_annotation(self, node: ast.expr) -> Any:
        """Evaluate an annotation as the current dialect does."""
        method = dispatch.get(self.dispatch_tokens[-1], "tvm_annotation")
        if method is not None:
            return method(self, node)
        return self.eval_expr(node)

    # --- functions ------------------------------------------------------------------------------

    def decorator_of(self, node: ast.FunctionDef | ast.ClassDef) -> tuple[ast.expr | None, Any]:
        """The decorator that makes a definition IR, and its value.

        Returns:
            Its node and what it evaluates to (for a call: what is called); None, None without one.
        """
        found = None, None
        for item in node.decorator_list:
            with self.errors_at(item):
                value = self.eval_expr(item.func if isinstance(item, ast.Call) else item)
            if not hasattr(value, "dispatch_token"):
                continue
            if found[0] is not None:
                self.report_error(item, "a definition has one decorator that makes it IR")
            found = item, value
        return found

    def decorator_options(self, node: ast.FunctionDef | ast.ClassDef) -> dict[str, Any]:
        """Keyword arguments of the decorator that makes a definition IR.

        Raises:
            DiagnosticError: The decorator has no such option.
        """
        item, function = self.decorator_of(node)
        if not isinstance(item, ast.Call):
            return {}
        with self.errors_at(item):
            args = [self.eval_expr(arg) for arg in item.args]
            options = {}
            for key in item.keywords:
                value = self.eval_expr(key.value)
                options.update(value if key.arg is None else {key.arg: value})
            accepted = inspect.signature(function).parameters
            known = [name for name, p in accepted.items() if p.kind is p.KEYWORD_ONLY]
            unknown = sorted(set(options) - set(known))
            if args or unknown:
                what = f"an option {', '.join(unknown)}" if unknown else "positional arguments"
                raise TypeError(
                    f"{function.__name__}() takes no {what.removeprefix('an ')}; its options are "
                    f"{', '.join(known)}"
                )
        return options

    def annotation_of(self, node: ast.expr) -> Any:
        """Value of an annotation, which may be text (PEP 563)."""
        value = self.eval_expr(node)
        if not isinstance(value, str):
            return value
        with self.errors_at(node):
            try:
                tree = ast.parse(value, mode="eval").body
            except SyntaxError as err:
                raise ValueError(f"the annotation {value!r} is no expression: {err.msg}") from err
            for item in ast.walk(tree):
                ast.copy_location(item, node)
            return self.eval_expr(tree)

    def check_params(self, args: list[ast.arg]) -> None:
        """Refuse two parameters of one name, as Python's compiler does."""
        names = set()
        for item in args:
            if item.arg in names:
                self.report_error(item, f"Variable {item.arg} already defined in current scope")
            names.add(item.arg)

    def token_of(self, node: ast.FunctionDef | ast.ClassDef) -> str:
        """Dialect of a definition.

        Raises:
            DiagnosticError: No decorator says so.
        """
        _, value = self.decorator_of(node)
        if value is None:
            kind = "Class" if isinstance(node, ast.ClassDef) else "Function"
            self.report_error(node, f"{kind} must be decorated")
        return value.dispatch_token

    def declare_function(self, node: ast.FunctionDef) -> Any:
        """Declare a function of a module by its dialect; gives its GlobalVar, or None."""
        token = self.token_of(node)
        method = dispatch.get(token, "tvm_declare_function")
        if method is None:
            return None
        with (
            self.with_dispatch_token(token),
            self.errors_at(node),
            IRBuilder.current().with_source_span(self.span_of(node)),
        ):
            return method(self, node)

    visit_tvm_declare_function = declare_function


def _visit_function_def(self: Parser, node: ast.FunctionDef) -> Any:
    """Visit a function by the method of its own dialect."""
    token = self.token_of(node)
    method = dispatch.get(token, "FunctionDef")
    if method is None:
        self.report_error(node, f"functions of kind {token} cannot be defined here")
    is_local = self.inside_function
    outer = self.dispatch_tokens[-1]
    if is_local:
        _run_hook(self, outer, "pre_visit_local_function", node)
    self.inside_function = True
    try:
        result = method(self, node)
    finally:
        self.inside_function = is_local
    if is_local:
        _run_hook(self, outer, "post_visit_local_function", node)
    return result


def _run_hook(self: Parser, token: str, name: str, node: ast.AST) -> None:
    hook = dispatch.get(token, name)
    if hook is not None:
        hook(self, node)


def _visit_class_def(self: Parser, node: ast.ClassDef) -> Any:
    token = self.token_of(node)
    method = dispatch.get(token, "ClassDef")
    if method is None:
        self.report_error(node, f"classes of kind {token} cannot be defined here")
    return method(self, node)


def _visit_import_from(self: Parser, node: ast.ImportFrom) -> None:
    names = [(item.name, item.asname) for item in node.names]
    if node.module != "__future__" or node.level or names != [("annotations", None)]:
        self.report_error(node, _FUTURE_ONLY)


def _visit_import(self: Parser, node: ast.Import) -> None:
    self.report_error(node, _FUTURE_ONLY)


def _visit_pass(self: Parser, node: ast.Pass) -> None:
    del self, node


@dispatch.register_load(TypeVar)
def _load_type_var(self: Parser, value: TypeVar) -> Any:
    """A type variable in a function is the shape variable of that name."""
    return value if self.type_vars is None else self.type_var(value.__name__)


# The decorator of a definition names its dialect, wherever the definition stands.
_DEFINITIONS: dict[str, Callable[[Parser, Any], Any]] = {
    "FunctionDef": _visit_function_def,
    "ClassDef": _visit_class_def,
}
_COMMON: dict[str, Callable[[Parser, Any], Any]] = {
    "ImportFrom": _visit_import_from,
    "Import": _visit_import,
    "Pass": _visit_pass,
}

__all__ = ["Parser", "UndefinedVariable"]
