# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Builds modules of graph-level functions binding by binding."""

from __future__ import annotations

import threading

from tvm.ir import Expr, IRModule
from tvm.ir import Var as IRVar
from tvm_ffi import Object, register_object

from . import _ffi_api
from .expr import Function, SeqExpr, Tuple, Var


class _Current(threading.local):
    def __init__(self) -> None:
        self.stack: list[BlockBuilder] = []


_CURRENT = _Current()


class _FunctionScope:
    def __init__(self, builder, name, params, attrs, pure, private) -> None:
        self.builder = builder
        self.name = name
        self.params = params
        self.attrs = dict(attrs or {})
        self.pure = pure
        self.private = private

    def __enter__(self) -> _FunctionScope:
        self.builder._enter_function(self)
        return self

    def __exit__(self, kind, value, trace) -> None:
        self.builder._exit_function(self, kind is not None)


class _DataflowScope:
    def __init__(self, builder) -> None:
        self.builder = builder

    def __enter__(self) -> None:
        self.builder._end_block()
        _ffi_api.BlockBuilderBeginDataflowBlock(self.builder)

    def __exit__(self, kind, value, trace) -> None:
        block = _ffi_api.BlockBuilderEndBlock(self.builder)
        if kind is None:
            self.builder._keep(block)
        _ffi_api.BlockBuilderBeginBindingBlock(self.builder)


class _TestingScope:
    def __init__(self, builder, def_vars) -> None:
        self.builder = builder
        self.def_vars = list(def_vars)

    def __enter__(self) -> None:
        from .ty import ShapeType

        param = Var("symbols", ShapeType(self.def_vars))
        self.builder.begin_scope([param])
        _ffi_api.BlockBuilderBeginBindingBlock(self.builder)

    def __exit__(self, kind, value, trace) -> None:
        _ffi_api.BlockBuilderEndBlock(self.builder)
        self.builder.end_scope()


class _FunctionState:
    def __init__(self, scope) -> None:
        self.scope = scope
        self.params = None
        self.blocks = []
        self.done = False


@register_object("relax.BlockBuilder")
class BlockBuilder(Object):
    """Builds functions in normal form.

    Args:
        mod: Module to extend.

    Example:
        >>> bb = relax.BlockBuilder()
        >>> x = relax.Var("x", relax.TensorType((2, 3), "float32"))
        >>> with bb.function("main", [x]):
        ...     y = bb.emit(relax.op.add(x, x))
        ...     bb.emit_func_output(y)
        >>> mod = bb.get()
    """

    __slots__ = ("__dict__",)

    def __init__(self, mod: IRModule | None = None) -> None:
        self.__init_handle_by_constructor__(_ffi_api.BlockBuilderCreate, mod)
        self._functions: list[_FunctionState] = []

    @staticmethod
    def current() -> BlockBuilder | None:
        """The builder whose function scope this thread is in."""
        return _CURRENT.stack[-1] if _CURRENT.stack else None

    # ---- scopes ----
    def function(self, name, params=None, attrs=None, pure=True, private=False):
        """Scope in which a function is built.

        Args:
            name: Its name.
            params: Variables, or one; may also be given to :py:meth:`emit_func_output`.
            attrs: Attributes.
            pure: Whether calls have no effect.
            private: Do not give it a global symbol.
        """
        if isinstance(params, IRVar):
            params = [params]
        if params is not None:
            params = list(params)
            for p in params:
                if not isinstance(p, IRVar):
                    raise TypeError(
                        f"each element of function parameters must be a relax.Var, but got: {p}"
                    )
        return _FunctionScope(self, name, params, attrs, pure, private)

    def dataflow(self):
        """Scope of a dataflow block."""
        return _DataflowScope(self)

    def testing_scope(self, def_vars):
        """Scope in which expressions with these symbolic variables may be normalised."""
        return _TestingScope(self, def_vars)

    def begin_scope(self, params=None) -> None:
        """Start a function scope without building a function."""
        _ffi_api.BlockBuilderBeginScope(self, params)

    def end_scope(self) -> None:
        """End what :py:meth:`begin_scope` started."""
        _ffi_api.BlockBuilderEndScope(self)

    def _enter_function(self, scope) -> None:
        _CURRENT.stack.append(self)
        state = _FunctionState(scope)
        state.params = scope.params
        self._functions.append(state)
        self.begin_scope(scope.params)
        _ffi_api.BlockBuilderBeginBindingBlock(self)

    def _exit_function(self, scope, failed: bool) -> None:
        state = self._functions.pop()
        _CURRENT.stack.pop()
        if not state.done:
            _ffi_api.BlockBuilderEndBlock(self)
            self.end_scope()
            if not failed:
                raise RuntimeError("emit_func_output must be called in a relax function.")

    def _keep(self, block) -> None:
        if len(block.bindings) > 0:
            self._functions[-1].blocks.append(block)

    def _end_block(self) -> None:
        self._keep(_ffi_api.BlockBuilderEndBlock(self))

    # ---- emission ----
    def emit(self, expr, name_hint: str = "") -> Var:
        """Bind an expression to a new variable; lists become tuples, None the null value."""
        return _ffi_api.BlockBuilderEmit(self, self._to_expr(expr), name_hint)

    def match_cast(self, value, ty, name_hint: str = "") -> Var:
        """Bind a value after a run-time check of its type."""
        return _ffi_api.BlockBuilderEmitMatchCast(self, self._to_expr(value), ty, name_hint)

    def emit_output(self, output, name_hint: str = "") -> Var:
        """Bind a value that is visible after the dataflow block."""
        return _ffi_api.BlockBuilderEmitOutput(self, self._to_expr(output), name_hint)

    def emit_normalized(self, binding) -> None:
        """Append a binding in normal form."""
        _ffi_api.BlockBuilderEmitNormalized(self, binding)

    def emit_func_output(self, output, params=None):
        """Finish the function.

        Args:
            output: Its result.
            params: Parameters, unless given to :py:meth:`function`.

        Returns:
            GlobalVar of the function.

        Raises:
            RuntimeError: Outside of a function, a second time, or with parameters missing or given
                twice.
            ValueError: The module has another function of that name, or the name is no identifier.
        """
        if not self._functions:
            raise RuntimeError("emit_func_output must be called in a relax function.")
        state = self._functions[-1]
        if state.done:
            raise RuntimeError("emit_func_output must be called exactly once in a relax function.")
        if params is not None:
            if state.params is not None:
                raise RuntimeError(
                    "function parameters have been initialized in the function with scope."
                )
            state.params = [params] if isinstance(params, Expr) else list(params)
        if state.params is None:
            raise RuntimeError("Relax function must have parameter.")
        body = _ffi_api.BlockBuilderNormalizeArgument(self, self._to_expr(output))
        self._end_block()
        state.done = True
        scope = state.scope
        seq = _ffi_api.BlockBuilderNormalize(self, SeqExpr(state.blocks, body))
        self.end_scope()
        attrs = dict(scope.attrs)
        if not scope.private:
            attrs["global_symbol"] = scope.name
        func = Function(state.params, seq, None, scope.pure, attrs)
        gvar = self.add_func(func, scope.name)
        if not scope.private and gvar.name_hint != scope.name:
            raise ValueError(
                f"public function {scope.name!r} would become {gvar.name_hint!r}, which differs from "
                "its symbol: the name is another function's already or is no identifier; choose "
                "another one or make the function private"
            )
        return gvar

    @staticmethod
    def _to_expr(value):
        if isinstance(value, Expr):
            return value
        if value is None:
            from .op import null_value

            return null_value()
        if isinstance(value, (list, tuple)):
            return Tuple([BlockBuilder._to_expr(v) for v in value])
        from .expr import prim_value

        return prim_value(value)

    # ---- tensor expressions ----
    def call_te(self, func, *args, **kwargs):
        """Call of a kernel made by a function over te tensors.

        Args:
            func: Called with the arguments, tensors replaced by placeholders.
            args: Tensors, scalars, shapes, nested lists and dicts of them.
            kwargs: The same by keyword; ``primfunc_name_hint`` and ``primfunc_attrs`` are for the
                kernel.
        """
        from .te_bridge import gen_call_tir_inputs

        name = kwargs.pop("primfunc_name_hint", None)
        attrs = kwargs.pop("primfunc_attrs", None)
        prim, operands, out_ty, symbols = gen_call_tir_inputs(func, *args, **kwargs)
        if attrs:
            prim = prim.with_attrs(attrs)
        from .op import call_tir

        gvar = self.add_func(prim, name or getattr(func, "__name__", "te"))
        return call_tir(gvar, operands, out_ty, symbols)

    def call_te_with_grad(self, func, *args, te_grad_name, te_grad_kwargs=None, **kwargs):
        """:py:meth:`call_te` that names the function making the kernel's gradient.

        Args:
            func: As for :py:meth:`call_te`.
            args: As for :py:meth:`call_te`.
            te_grad_name: Name given to ``register_te_gradient``.
            te_grad_kwargs: Keyword arguments of that function.
            kwargs: As for :py:meth:`call_te`.
        """
        from .op import call_tir_with_grad

        call = self.call_te(func, *args, **kwargs)
        symbols = call.args[2] if len(call.args) > 2 else None
        return call_tir_with_grad(
            call.args[0], call.args[1], call.ty_args[0], te_grad_name, te_grad_kwargs, symbols
        )

    def emit_te(self, func, *args, **kwargs) -> Var:
        """:py:meth:`call_te`, bound to a variable."""
        name_hint = kwargs.pop("name_hint", "")
        return self.emit(self.call_te(func, *args, **kwargs), name_hint)

    # ---- module ----
    def add_func(self, func, func_name: str):
        """Add a function; one that is there already is reused."""
        return _ffi_api.BlockBuilderAddFunction(self, func, func_name)

    def update_func(self, gv, updated_func) -> None:
        """Replace a function."""
        _ffi_api.BlockBuilderUpdateFunction(self, gv, updated_func)

    def get(self) -> IRModule:
        """The module so far."""
        return _ffi_api.BlockBuilderGetContextIRModule(self)

    def finalize(self) -> IRModule:
        """The module, functions named by their global symbols."""
        return _ffi_api.BlockBuilderFinalize(self)

    def normalize(self, expr):
        """Normal form and type of an expression."""
        return _ffi_api.BlockBuilderNormalize(self, expr)

    def lookup_binding(self, var):
        """What a variable is bound to."""
        return _ffi_api.BlockBuilderLookupBinding(self, var)

    def get_unique_name(self, name_prefix: str) -> str:
        """A name not used yet."""
        return _ffi_api.BlockBuilderGetUniqueName(self, name_prefix)

    def current_block_is_dataflow(self) -> bool:
        """Tell whether the open block is a dataflow block."""
        return _ffi_api.BlockBuilderCurrentBlockIsDataFlow(self)


__all__ = ["BlockBuilder"]
