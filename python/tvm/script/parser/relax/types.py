# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Type annotations of scripts: ``R.Tensor``, ``R.Shape``, ``R.Tuple``, ``R.Callable``, ...

What is known at once becomes a type at once. A type with symbolic dimensions given by name (text or
``TypeVar``) waits for the function that owns the symbols.
"""

from __future__ import annotations

import ast
import threading
from contextlib import contextmanager
from typing import TypeVar

from tvm import relax
from tvm.ir import Expr, GlobalInfo, PrimType, TupleType, Type
from tvm.ir.expr import Var as IRVar
from tvm.ir.expr import is_prim_expr


class _Scopes(threading.local):
    def __init__(self) -> None:
        self.stack: list[SymbolScope] = []


_SCOPES = _Scopes()


class SymbolScope:
    """Symbolic dimensions of the function being parsed.

    Args:
        lookup: Finds any other name used in the text of a dimension; raises KeyError.
    """

    def __init__(self, lookup=None) -> None:
        self.symbols: dict[str, IRVar] = {}
        self._is_closed = False
        # Names of the function; a new symbol becomes one of them.
        self.names: dict | None = None
        self._lookup = lookup

    def __enter__(self) -> SymbolScope:
        _SCOPES.stack.append(self)
        return self

    def __exit__(self, kind, value, trace) -> None:
        _SCOPES.stack.pop()

    @contextmanager
    def closed(self):
        """Text of a dimension makes no new symbols for a while."""
        saved, self._is_closed = self._is_closed, True
        try:
            yield
        finally:
            self._is_closed = saved

    def symbol(self, name: str) -> IRVar:
        """The symbol of that name, made if there is none."""
        found = self.symbols.get(name)
        if found is None:
            found = self.symbols[name] = relax.Var(name, PrimType("int64"))
            if self.names is not None:
                self.names.setdefault(name, found)
        return found

    def known(self, name: str):
        """What a name stands for in this function.

        Raises:
            NameError: Nothing.
        """
        if name in self.symbols:
            return self.symbols[name]
        if self._lookup is not None:
            try:
                return self._lookup(name)
            except KeyError:
                pass
        raise NameError(f"name {name!r} is not defined")

    def dim(self, text: str):
        """Value of a dimension written as text; a bare unknown name becomes a symbol."""
        text = text.strip()
        if text.isidentifier():
            try:
                value = self.known(text)
            except NameError:
                if self._is_closed:
                    raise
                return self.symbol(text)
            if isinstance(value, TypeVar):
                return self.symbol(value.__name__)
            # A name that means something else (a function, say) in this place is still a symbol.
            return value if isinstance(value, int) or is_prim_expr(value) else self.symbol(text)
        tree = _parse_dim(text)
        names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
        env = {name: _as_dim_value(self.known(name), self) for name in sorted(names)}
        code = compile(tree, "<dimension>", "eval")
        return eval(code, {"__builtins__": {}}, env)  # noqa: S307 - scripts are code


def _parse_dim(text: str) -> ast.Expression:
    try:
        return ast.parse(text, mode="eval")
    except SyntaxError as err:
        raise ValueError(f"the dimension {text!r} is no expression: {err.msg}") from None
    except (RecursionError, MemoryError):
        raise ValueError("a dimension is nested too deeply") from None


def _as_dim_value(value, scope):
    return scope.symbol(value.__name__) if isinstance(value, TypeVar) else value


def current_scope() -> SymbolScope | None:
    """Symbols of the function being parsed by this thread."""
    return _SCOPES.stack[-1] if _SCOPES.stack else None


def _no_scope(what: str):
    raise ValueError(
        f"the symbolic dimension {what!r} is known only inside a function; outside of one, use a "
        "variable such as T.int64()"
    )


def _is_open(dim) -> bool:
    return isinstance(dim, (str, TypeVar))


def _resolve_dim(dim, scope: SymbolScope | None):
    if isinstance(dim, str):
        if scope is None:
            _no_scope(dim)
        return scope.dim(dim)
    if isinstance(dim, TypeVar):
        if scope is None:
            _no_scope(dim.__name__)
        return scope.symbol(dim.__name__)
    if hasattr(dim, "asobject") and not isinstance(dim, Expr):
        return dim.asobject()
    return dim


def bare_symbols(dims):
    """Names that a sequence of dimensions defines."""
    for dim in dims or ():
        if isinstance(dim, TypeVar):
            yield dim.__name__
        elif isinstance(dim, str) and dim.strip().isidentifier():
            yield dim.strip()


class TypeProxy:
    """Stands for a type until its symbols are known."""

    def as_ty(self, scope: SymbolScope | None = None) -> Type:
        """The type, symbols taken from `scope`."""
        raise NotImplementedError

    def bare(self):
        """Names of the symbols that the annotation defines."""
        return ()

    def asobject(self) -> Type:
        """The type where it needs no symbols."""
        return self.as_ty(current_scope())

    __tvm_ffi_value__ = asobject


class _Deferred(TypeProxy):
    def __init__(self, build, bare) -> None:
        self._build = build
        self._bare = tuple(bare)

    def as_ty(self, scope=None) -> Type:
        return self._build(scope)

    def bare(self):
        return self._bare


def as_type(value, scope=None) -> Type:
    """Type of an annotation.

    Raises:
        TypeError: It is none.
    """
    if isinstance(value, Type):
        return value
    if hasattr(value, "as_ty"):
        return value.as_ty(scope)
    if value is None:
        return TupleType([])
    if isinstance(value, (list, tuple)):
        return TupleType([as_type(v, scope) for v in value])
    prim = _prim_type_of(value)
    if prim is not None:
        return prim
    raise TypeError(f"{value!r} is no type annotation")


def _prim_type_of(value):
    """PrimType of the function ``T.int64`` and the like."""
    if not callable(value):
        return None
    try:
        made = value()
    except Exception:  # not a maker of variables
        return None
    return made.ty if isinstance(made, IRVar) and isinstance(made.ty, PrimType) else None


def annotation_symbols(value):
    """Names of the symbols that an annotation defines."""
    return value.bare() if hasattr(value, "bare") else ()


def _all_bare(values):
    for v in values:
        yield from annotation_symbols(v)


def _ready(values) -> bool:
    return all(isinstance(v, (Type, _Maker)) for v in values)


class _Maker(TypeProxy):
    """An annotation that may be written with or without a call."""

    def __init__(self, name: str, default, make, doc: str) -> None:
        self._name = name
        self._default = default
        self._make = make
        self.__doc__ = doc

    def __call__(self, *args, **kwargs):
        return self._make(*args, **kwargs)

    def as_ty(self, scope=None) -> Type:
        return self._default()

    def __repr__(self) -> str:
        return f"R.{self._name}"


def _make_tensor(shape=None, dtype=None, vdevice=None, ndim: int = -1):
    if isinstance(shape, str) and dtype is None:
        shape, dtype = None, shape
    if isinstance(dtype, PrimType):
        dtype = dtype.dtype
    if isinstance(shape, (int, TypeVar)) and not isinstance(shape, bool):
        raise ValueError(f"shape must be a tuple or list of dimensions, but got {shape!r}")
    if shape is not None and not isinstance(shape, Expr):
        shape = tuple(shape)
    if shape is not None and ndim != -1:
        raise ValueError("Cannot specify both shape and ndim")

    def build(scope):
        dims = shape
        if isinstance(shape, tuple):
            dims = [_resolve_dim(d, scope) for d in shape]
        return relax.TensorType(dims, dtype, _vdevice(vdevice), ndim)

    needs_scope = isinstance(shape, tuple) and any(_is_open(d) for d in shape)
    if needs_scope or (vdevice is not None and not isinstance(vdevice, GlobalInfo)):
        return _Deferred(build, bare_symbols(shape if isinstance(shape, tuple) else ()))
    return build(None)


def _vdevice(value):
    if value is None or isinstance(value, GlobalInfo):
        return value
    from tvm.script.ir_builder.relax.builder import to_vdevice_object

    return to_vdevice_object(value)


def _make_shape(values=None, ndim: int = -1):
    if values is None:
        return relax.ShapeType(None, ndim)
    if ndim != -1:
        raise ValueError("Cannot specify both values and ndim")
    values = tuple(values)

    def build(scope):
        return relax.ShapeType([_resolve_dim(d, scope) for d in values])

    if any(_is_open(d) for d in values):
        return _Deferred(build, bare_symbols(values))
    return build(None)


def _make_tuple(*fields):
    if len(fields) == 1 and isinstance(fields[0], (list, tuple)):
        fields = tuple(fields[0])

    def build(scope):
        return TupleType([as_type(f, scope) for f in fields])

    return build(None) if _ready(fields) else _Deferred(build, _all_bare(fields))


def _make_callable(params=None, ret=None, purity=None, derive_func=None):
    if params is not None and not isinstance(params, (list, tuple)):
        params = (params,)
    if params is not None and ret is None:
        raise ValueError("a callable with parameters needs the type of its result")

    def build(scope):
        ret_ty = None if ret is None else as_type(ret, scope)
        if params is None:
            return relax.FuncType.opaque_func(
                ret=ret_ty, derive_func=derive_func, purity=bool(purity)
            )
        pure = True if purity is None else bool(purity)
        return relax.FuncType([as_type(p, scope) for p in params], ret_ty, pure)

    parts = [*(params or ()), *(() if ret is None else (ret,))]
    return build(None) if _ready(parts) else _Deferred(build, _all_bare(parts))


def _make_prim(dtype=None):
    if dtype is None:
        raise TypeError("R.Prim needs a data type, such as R.Prim('int64')")
    return PrimType(dtype)


Tensor = _Maker(
    "Tensor",
    lambda: relax.TensorType(None, None),
    _make_tensor,
    "Tensor: ``R.Tensor(shape, dtype, vdevice, ndim=..)``; what is left out is unknown.",
)
Shape = _Maker(
    "Shape",
    lambda: relax.ShapeType(),
    _make_shape,
    "Shape: ``R.Shape([n, 4])`` or ``R.Shape(ndim=2)``.",
)
Tuple = _Maker(
    "Tuple", lambda: TupleType([]), _make_tuple, "Tuple: ``R.Tuple(R.Any, R.Tensor(ndim=2))``."
)
Callable = _Maker(
    "Callable",
    lambda: relax.FuncType.opaque_func(ret=relax.AnyType()),
    _make_callable,
    "Function: ``R.Callable((params..), ret, purity)``; without parameters nothing is known of them.",
)
Any = _Maker("Any", relax.AnyType, relax.AnyType, "Any value.")
Object = Any
Prim = _Maker("Prim", _make_prim, _make_prim, 'Scalar: ``R.Prim("int64")``.')
PackedFunc = _Maker("PackedFunc", relax.PackedFuncType, relax.PackedFuncType, "Packed function.")
