# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Enumerations whose entries are FFI objects that exist once per process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, cast

from .. import _ffi_api, core
from ..container import Dict
from ..core import MISSING, Object
from ._resolve_fields import _is_class_var, _looks_like_class_var, own_annotations
from .c_class import _bind_class, c_class
from .py_class import py_class

ENUM_STATE_ATTR = "__ffi_enum__"
_INT64_MIN = -(1 << 63)
_INT64_MAX = (1 << 63) - 1


@c_class("ffi.EnumState")
class EnumState(Object):
    """Entries of an enum type: in order, by number and name, and their attributes."""

    entries: Any
    indexes: Any
    attrs: Any


class _EnumEntry:
    """An entry that a class body declares."""

    __slots__ = ("args", "kwargs")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.args = args
        self.kwargs = kwargs

    def __repr__(self) -> str:
        parts = [repr(a) for a in self.args] + [f"{k}={v!r}" for k, v in self.kwargs.items()]
        return f"entry({', '.join(parts)})"


def entry(*args: Any, **kwargs: Any) -> Any:
    """Declare an enum entry with field values.

    Example:
        >>> class Op(Enum, type_key="demo.Op"):
        ...     arity: int
        ...     add = entry(arity=2)
    """
    return _EnumEntry(*args, **kwargs)


def auto() -> Any:
    """Declare an enum entry without field values; its number is its position."""
    return _EnumEntry()


class EnumAttrMap:
    """One attribute of all entries of an enum; not a field, so extensions may add it later.

    Args:
        enum_cls: The enum.
        name: Name of the attribute.
        default: Value of entries that have none; without it they raise KeyError.
    """

    __slots__ = ("_default", "_enum_cls", "_name")

    def __init__(self, enum_cls: type, name: str, *, default: Any = MISSING) -> None:
        self._enum_cls = enum_cls
        self._name = name
        self._default = default

    @property
    def name(self) -> str:
        """Name of the attribute."""
        return self._name

    def _check(self, variant: object) -> None:
        if not isinstance(variant, self._enum_cls):
            raise TypeError(f"expected {self._enum_cls.__name__}, got {type(variant).__name__}")

    def _column(self, create: bool) -> Any:
        state = _state(self._enum_cls, create=create)
        if state is None:
            return None
        column = state.attrs.get(self._name)
        if column is None and create:
            column = Dict({})
            state.attrs[self._name] = column
        return column

    def __contains__(self, variant: object) -> bool:
        self._check(variant)
        column = self._column(False)
        return column is not None and variant in column

    def __getitem__(self, variant: object) -> Any:
        self._check(variant)
        column = self._column(False)
        found = MISSING if column is None else column.get(variant, MISSING)
        if not _is_missing(found):
            return found
        if _is_missing(self._default):
            raise KeyError(f"{variant!r} has no extensible attribute {self._name!r}")
        return self._default

    def __setitem__(self, variant: object, value: Any) -> None:
        self._check(variant)
        self._column(True)[variant] = value

    def get(self, variant: object, default: Any = None) -> Any:
        """Value of an entry, or `default` if none was set."""
        self._check(variant)
        column = self._column(False)
        return default if column is None else column.get(variant, default)


def _is_missing(value: Any) -> bool:
    return isinstance(value, core.CObject) and MISSING.same_as(value)


def _state(cls: Any, *, create: bool = False) -> Any:
    """The EnumState of an enum type; None before its first entry unless created."""
    info = cls.__tvm_ffi_type_info__
    found = core._lookup_type_attr(info.type_index, ENUM_STATE_ATTR)
    if found is None and create:
        make: Any = EnumState  # all fields have defaults, which a view of a C++ class cannot tell
        found = make()
        core._register_type_attr(info.type_index, ENUM_STATE_ATTR, found)
    return found


class _ClassProperty:
    """Read-only property of a class."""

    __slots__ = ("fget",)

    def __init__(self, fget: Callable[[type], Any]) -> None:
        self.fget = fget

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self.fget(type(instance) if owner is None else owner)


class _EnumMeta(core._ObjectSlotsMeta):
    """Makes an enum class iterable, and a call of it a lookup."""

    def __iter__(cls) -> Iterator[Any]:
        state = _state(cls)
        return iter(()) if state is None else iter(list(state.entries))

    def __len__(cls) -> int:
        state = _state(cls)
        return 0 if state is None else len(state.entries)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs:
            return cast(Any, cls)._find(args[0])
        return super().__call__(*args, **kwargs)


@c_class("ffi.Enum", init=False)
class Enum(Object, metaclass=_EnumMeta):
    """Base of enums. A subclass with a type key defines its entries in its body.

    ``name = auto()`` and ``name: ClassVar[Cls]`` declare entries without field values,
    ``name = entry(field=value)`` with. For a type that C++ defines, the names bind to its entries.

    Example:
        >>> class Color(Enum, type_key="demo.Color"):
        ...     red = auto()
        ...     green = auto()
    """

    _int_index: int
    _str_index: str

    def __init_subclass__(cls, *, type_key: str | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if type_key is not None:
            _define(cls, type_key)

    @classmethod
    def _find(cls, value: Any) -> Any:
        """Entry that `value` stands for; ValueError if there is none."""
        if isinstance(value, cls):
            return value
        try:
            return cls.get(value)
        except (KeyError, TypeError):
            raise ValueError(f"{value!r} is not a valid {cls.__name__}") from None

    @classmethod
    def get(cls, index: int | str) -> Any:
        """Entry by number or name.

        Raises:
            KeyError: There is none.
            TypeError: `index` is neither.
        """
        if not isinstance(index, (int, str)):
            raise TypeError(f"enum index must be int or str, got {type(index).__name__}")
        state = _state(cls)
        key = str(index) if isinstance(index, str) else int(index)
        found = MISSING if state is None else state.indexes.get(key, MISSING)
        if _is_missing(found):
            raise KeyError(index)
        return found

    @classmethod
    def all_entries(cls) -> Iterator[Any]:
        """Entries in order of definition."""
        return iter(cls)

    @classmethod
    def def_attr(cls, name: str, *, default: Any = MISSING) -> EnumAttrMap:
        """Define an attribute of the entries; see :py:class:`EnumAttrMap`."""
        return EnumAttrMap(cls, name, default=default)

    attr_dict: ClassVar[Any] = _ClassProperty(lambda cls: _state(cls, create=True).attrs)

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any = None) -> Any:
        return self


@c_class("ffi.IntEnum", init=False)
class IntEnum(Enum):
    """Enum whose entries stand for ints and compare equal to them."""

    value: int
    _payload_type: ClassVar[type] = int


@c_class("ffi.StrEnum", init=False)
class StrEnum(Enum):
    """Enum whose entries stand for strings and compare equal to them."""

    value: str
    _payload_type: ClassVar[type] = str


# --- definition of a subclass ----------------------------------------------------------------


def _define(cls: Any, type_key: str) -> None:
    """Register an enum class and resolve the entries of its body."""
    payload_type = getattr(cls, "_payload_type", None)
    binders, declarations = _take_declarations(cls)
    if payload_type is not None and "value" in own_annotations(cls):
        base = "IntEnum" if payload_type is int else "StrEnum"
        raise TypeError(f"{base} reserves `value` as its canonical index alias")
    if payload_type is not None:
        _install_payload_behavior(cls, payload_type)
    exists = core._object_type_key_to_index(type_key) is not None
    user_repr = "__repr__" in cls.__dict__
    if exists:
        _bind_class(cls, type_key, repr=not user_repr)
    else:
        if payload_type is not None:
            cls.__ffi_convert__ = staticmethod(lambda value: cls._find(value))
        py_class(type_key, frozen=True, repr=not user_repr, structural_eq="singleton")(cls)
    if "__copy__" in cls.__dict__:
        del cls.__copy__, cls.__deepcopy__  # entries are never copied: use those of Enum
    for alias in binders:
        setattr(cls, alias, _bind(cls, alias, type_key, exists, payload_type))
    for alias, declaration in declarations.items():
        setattr(cls, alias, _declare(cls, alias, declaration, payload_type))


def _take_declarations(cls: type) -> tuple[list[str], dict[str, _EnumEntry]]:
    """Names to bind and entries to make, taken out of the class body."""
    declarations = {
        name: value for name, value in cls.__dict__.items() if isinstance(value, _EnumEntry)
    }
    binders = []
    for name, annotation in own_annotations(cls).items():
        if name in declarations or name in cls.__dict__:
            continue
        if _looks_like_class_var(annotation) or _is_class_var(annotation):
            binders.append(name)
    for name in declarations:
        delattr(cls, name)
    return binders, declarations


def _bind(cls: Any, alias: str, type_key: str, exists: bool, payload_type: type | None) -> Any:
    """Entry for a name that is only annotated."""
    state = _state(cls)
    found = MISSING if state is None else state.indexes.get(alias, MISSING)
    if not _is_missing(found):
        return found
    if exists:
        raise RuntimeError(f"{type_key!r} has no enum at string index {alias!r}")
    return _declare(cls, alias, _EnumEntry(), payload_type)


def _declare(cls: Any, alias: str, declaration: _EnumEntry, payload_type: type | None) -> Any:
    """Entry for a declaration: an existing one of that number or name, or a new one."""
    state = _state(cls, create=True)
    kwargs: dict[str, Any] = dict(declaration.kwargs)
    int_index, str_index = len(state.entries), alias
    while payload_type is None and int_index in state.indexes and alias not in state.indexes:
        int_index += 1
    if payload_type is not None:
        if "value" not in kwargs:
            raise TypeError(f"{cls.__name__}.{alias} requires a {payload_type.__name__} value")
        value: Any = kwargs.pop("value")
        if not isinstance(value, cast(Any, payload_type)):
            raise TypeError(f"{cls.__name__}.{alias} value must be {payload_type.__name__}")
        if payload_type is int:
            if not _INT64_MIN <= value <= _INT64_MAX:
                raise OverflowError(f"enum integer index {value} is outside int64")
            int_index = int(value)
        else:
            str_index = value
    for key in (str_index, int_index):
        found = state.indexes.get(key, MISSING)
        if not _is_missing(found):
            return found
    made = _create(cls, int_index, str_index, declaration.args, kwargs)
    state.entries.append(made)
    state.indexes[int_index] = made
    state.indexes[str_index] = made
    return made


def _create(cls: Any, int_index: int, str_index: str, args: tuple, kwargs: dict) -> Any:
    made = cls.__new__(cls)
    named = {"_int_index": int_index, "_str_index": str_index, **kwargs}
    try:
        if core._constructor_function(cls.__tvm_ffi_type_info__) is not None:
            cls.__ffi_init__(made, *args, **named)
        else:
            pairs = [part for pair in named.items() for part in pair]
            make = _ffi_api.MakeObjectFromPackedArgs
            made.__init_handle_by_constructor__(make, cls.__tvm_ffi_type_info__.type_index, *pairs)
        post_init = getattr(made, "__post_init__", None)
        if post_init is not None:
            post_init()
    except TypeError as error:
        raise TypeError(f"{cls.__name__}.{str_index}: invalid enum entry: {error}") from None
    return made


def _install_payload_behavior(cls: Any, payload_type: type) -> None:
    """Let entries compare, hash and print as the values they stand for."""
    body = cls.__dict__

    def __eq__(self: Any, other: object) -> Any:
        if isinstance(other, Enum):
            return self.same_as(other)
        if isinstance(other, payload_type):
            return self.value == other
        return NotImplemented

    def __ne__(self: Any, other: object) -> Any:
        equal = __eq__(self, other)
        return equal if equal is NotImplemented else not equal

    def __hash__(self: Any) -> int:
        return hash(self.value)

    def __repr__(self: Any) -> str:
        return f"{type(self).__name__}.{self._str_index}"

    def __str__(self: Any) -> str:
        return str(self.value)

    user_eq = "__eq__" in body
    for function in (__eq__, __ne__, __repr__, __str__):
        if function.__name__ not in body:
            setattr(cls, function.__name__, function)
    if body.get("__hash__") is None and not user_eq:
        cls.__hash__ = __hash__
    if "name" not in body:
        cls.name = property(lambda self: self._str_index, doc="Name of the entry.")


__all__ = [
    "Enum",
    "EnumAttrMap",
    "EnumState",
    "IntEnum",
    "StrEnum",
    "auto",
    "entry",
]
