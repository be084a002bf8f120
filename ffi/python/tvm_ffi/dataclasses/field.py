# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Field descriptions of FFI dataclasses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from .. import core
from ..core import MISSING

_T = TypeVar("_T")


def _field_converter(value: Any) -> Any:
    """Tell type checkers that a field takes whatever the FFI converts to its type."""
    return value


class Field:
    """Description of one field.

    :py:func:`field` makes it without name and type; the class decorator fills both in.

    Args:
        name: Field name.
        _ty_schema: FFI type of the field.
        default: Default value.
        default_factory: Function that makes the default value.
        frozen: Read-only after construction.
        init: Takes part in ``__init__``.
        repr: Shown by ``repr``.
        hash: Takes part in hashing; None does as `compare` does.
        compare: Takes part in comparisons.
        kw_only: Keyword-only in ``__init__``; None does as the decorator says.
        metadata: For extensions; copied into a dict of its own.
        structural_eq: Role in structural equality: None, ``"ignore"``, ``"def-pattern"`` (or
            ``"def"``) or ``"def-simple"``.
        doc: Doc text of the attribute.
        converter: Read by type checkers only; the FFI converts by the field's type.
        extra_kwargs: Options for extensions, which take what they know out of ``extra_kwargs``.

    Raises:
        ValueError: Both kinds of default, or an unknown role.
        TypeError: The factory cannot be called.
    """

    __slots__ = (
        "_ty_schema",
        "compare",
        "converter",
        "default",
        "default_factory",
        "doc",
        "extra_kwargs",
        "frozen",
        "hash",
        "init",
        "kw_only",
        "metadata",
        "name",
        "repr",
        "structural_eq",
        "type",
    )

    _VALID_STRUCTURAL_EQ_VALUES = frozenset((None, "def", "def-pattern", "def-simple", "ignore"))
    # Older spellings of the definition roles.
    _ROLE_ALIASES = {
        "def": "def-pattern",
        "def-recursive": "def-pattern",
        "def-non-recursive": "def-simple",
    }

    def __init__(
        self,
        name: str | None = None,
        _ty_schema: core.TypeSchema | None = None,
        *,
        default: object = MISSING,
        default_factory: Callable[[], object] | None = MISSING,
        frozen: bool = False,
        init: bool = True,
        repr: bool = True,
        hash: bool | None = True,
        compare: bool = False,
        kw_only: bool | None = False,
        metadata: Mapping[str, Any] | None = None,
        structural_eq: str | None = None,
        doc: str | None = None,
        converter: Callable[[Any], Any] = _field_converter,
        **extra_kwargs: Any,
    ) -> None:
        if default_factory is None:
            default_factory = MISSING
        if default is not MISSING and default_factory is not MISSING:
            raise ValueError("cannot specify both default and default_factory")
        if default_factory is not MISSING and not callable(default_factory):
            raise TypeError(
                f"default_factory must be a callable, got {type(default_factory).__name__}"
            )
        if structural_eq not in self._VALID_STRUCTURAL_EQ_VALUES | self._ROLE_ALIASES.keys():
            names = sorted(self._VALID_STRUCTURAL_EQ_VALUES, key=lambda v: (v is not None, v))
            raise ValueError(f"structural_eq must be one of {names}, got {structural_eq!r}")
        self.name = name
        self._ty_schema = _ty_schema
        self.type = None
        self.default = default
        self.default_factory = default_factory
        self.frozen = frozen
        self.init = init
        self.repr = repr
        self.hash = hash
        self.compare = compare
        self.kw_only = kw_only
        self.metadata = dict(metadata or {})
        self.structural_eq = self._ROLE_ALIASES.get(structural_eq or "", structural_eq)
        self.doc = doc
        self.converter = converter
        self.extra_kwargs = extra_kwargs

    def __copy__(self) -> Field:
        made = Field.__new__(Field)
        for slot in Field.__slots__:
            setattr(made, slot, getattr(self, slot))
        made.metadata = dict(self.metadata)
        made.extra_kwargs = dict(self.extra_kwargs)
        return made

    def __repr__(self) -> str:
        parts = [f"name={self.name!r}", f"type={self.type!r}"]
        if self.default is not MISSING:
            parts.append(f"default={self.default!r}")
        if self.default_factory is not MISSING:
            parts.append(f"default_factory={self.default_factory!r}")
        return f"Field({', '.join(parts)})"


def field(
    *,
    default: object = MISSING,
    default_factory: Callable[[], object] | None = MISSING,
    frozen: bool = False,
    init: bool = True,
    repr: bool = True,
    hash: bool | None = None,
    compare: bool = True,
    kw_only: bool | None = None,
    metadata: Mapping[str, Any] | None = None,
    structural_eq: str | None = None,
    doc: str | None = None,
    converter: Callable[[Any], Any] = _field_converter,
    **extra_kwargs: Any,
) -> Any:
    """Describe a field in a class body; arguments as for :py:class:`Field`.

    Example:
        >>> @py_class
        ... class Point(Object):
        ...     x: float
        ...     tags: list[str] = field(default_factory=list, repr=False)
    """
    return Field(
        default=default,
        default_factory=default_factory,
        frozen=frozen,
        init=init,
        repr=repr,
        hash=hash,
        compare=compare,
        kw_only=kw_only,
        metadata=metadata,
        structural_eq=structural_eq,
        doc=doc,
        converter=converter,
        **extra_kwargs,
    )


class init_property(Generic[_T]):  # noqa: N801 - used as a decorator
    """Method that runs once, after construction, and whose result becomes a hidden field.

    The field is left out of ``__init__``, ``repr``, comparisons and structural equality. The return
    annotation is its type; Any if there is none.
    """

    def __init__(self, func: Callable[[Any], _T]) -> None:
        self.func = func
        self.__doc__ = func.__doc__
        self.name = func.__name__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, obj: object | None, objtype: type | None = None) -> Any:
        return self if obj is None else self.func(obj)

    def _as_field(self) -> Field:
        made = Field(
            self.name,
            init=False,
            repr=False,
            hash=False,
            compare=False,
            structural_eq="ignore",
            doc=self.__doc__,
        )
        return made
