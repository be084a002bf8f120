# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Structural equality, hashing, walks and rewrites over object graphs."""

from __future__ import annotations

from enum import IntEnum

from . import _ffi_api, core
from .core import Object
from .registry import register_object


class WalkResult(IntEnum):
    """What a walk callback may return besides None and a VisitInterrupt."""

    ADVANCE = 0
    SKIP = 1


class WalkOrder(IntEnum):
    """When a callback runs: before or after the parts of a value."""

    PREORDER = 0
    POSTORDER = 1


class InplaceMode(IntEnum):
    """Whether a mutate callback may change a value it owns alone."""

    DISALLOW = 0
    ALLOW = 1


class DefRegionKind(IntEnum):
    """How variables that are met are treated: as uses, or as definitions."""

    NONE = 0
    DEF_PATTERN = 1
    DEF_SIMPLE = 2


_ORDER_NAMES = {"pre": WalkOrder.PREORDER, "post": WalkOrder.POSTORDER}

# Type indices of plain values; -1 matches anything.
_ANY_INDEX = -1
_PLAIN_TYPES = {
    object: _ANY_INDEX,
    type(None): 0,
    int: 1,
    bool: 2,
    float: 3,
    str: 65,
    bytes: 66,
    list: 75,
    dict: 76,
}


@register_object("ffi.VisitInterrupt")
class VisitInterrupt(Object):
    """Ends a walk or visit; ``value`` is for the caller.

    Args:
        value: Any value.
    """

    def __init__(self, value=None):
        self.__init_handle_by_constructor__(_ffi_api.VisitInterrupt, value)


@register_object("ffi.StructuralKey")
class StructuralKey(Object):
    """Wrapper that compares and hashes a value by structure, for use as a key.

    Args:
        key: The value.
    """

    hash_i64: int

    def __init__(self, key):
        self.__init_handle_by_constructor__(_ffi_api.StructuralKey, key)

    def __eq__(self, other):
        if not isinstance(other, StructuralKey):
            return NotImplemented
        return _ffi_api.StructuralKeyEqual(self, other)

    def __ne__(self, other):
        if not isinstance(other, StructuralKey):
            return NotImplemented
        return not _ffi_api.StructuralKeyEqual(self, other)

    def __hash__(self):
        return hash(self.hash_i64)


@register_object("ffi.StructuralVisitor")
class StructuralVisitor(Object):
    """Handed to visit callbacks; valid during the traversal only."""

    def visit(self, value):
        """Visit a part with the callbacks."""
        return _ffi_api.StructuralVisitorVisit(self, value)

    def default_visit(self, value):
        """Visit the parts of a value, not the value itself."""
        return _ffi_api.StructuralVisitorDefaultVisit(self, value)

    def def_region_kind(self) -> DefRegionKind:
        """Kind of the region the traversal is in."""
        return DefRegionKind(_ffi_api.StructuralVisitorDefRegionKind(self))

    def with_def_region_kind(self, kind: int, callback):
        """Run `callback` inside a region of a kind and return its result."""
        return _ffi_api.StructuralVisitorWithDefRegionKind(self, int(kind), callback)


@register_object("ffi.StructuralMutator")
class StructuralMutator(Object):
    """Handed to mutate callbacks; valid during the traversal only."""

    def mutate(self, value):
        """Rewrite a part with the callbacks."""
        return _ffi_api.StructuralMutatorMutate(self, value)

    def default_mutate(self, value):
        """Rewrite the parts of a value, not the value itself."""
        return _ffi_api.StructuralMutatorDefaultMutate(self, value)

    def var_remap_get(self, var):
        """What a variable was mapped to; None if it was not."""
        return _ffi_api.StructuralMutatorVarRemapGet(self, var)

    def var_remap_set(self, var, mapped_value) -> None:
        """Map a variable for the rest of the traversal."""
        _ffi_api.StructuralMutatorVarRemapSet(self, var, mapped_value)

    def def_region_kind(self) -> DefRegionKind:
        """Kind of the region the traversal is in."""
        return DefRegionKind(_ffi_api.StructuralMutatorDefRegionKind(self))

    def with_def_region_kind(self, kind: int, callback):
        """Run `callback` inside a region of a kind and return its result."""
        return _ffi_api.StructuralMutatorWithDefRegionKind(self, int(kind), callback)


def structural_equal(
    lhs, rhs, map_free_vars: bool = False, skip_tensor_content: bool = False
) -> bool:
    """Compare two values by structure.

    Args:
        lhs: First value.
        rhs: Second value.
        map_free_vars: Let free variables of one side stand for those of the other.
        skip_tensor_content: Compare tensors by shape and dtype only.
    """
    return _ffi_api.StructuralEqual(lhs, rhs, map_free_vars, skip_tensor_content)


def structural_hash(value, map_free_vars: bool = False, skip_tensor_content: bool = False) -> int:
    """Hash that agrees with :py:func:`structural_equal`."""
    return _ffi_api.StructuralHash(value, map_free_vars, skip_tensor_content)


def get_first_structural_mismatch(
    lhs, rhs, map_free_vars: bool = False, skip_tensor_content: bool = False
):
    """Paths of the first difference: a pair of AccessPath, or None if the values are equal."""
    return _ffi_api.GetFirstStructuralMismatch(lhs, rhs, map_free_vars, skip_tensor_content)


def _type_index_of(cls, api: str) -> int:
    if getattr(cls, "__module__", None) == "typing" and str(cls) == "typing.Any":
        return _ANY_INDEX
    try:
        index = _PLAIN_TYPES.get(cls)
    except TypeError:
        index = None
    if index is not None:
        return index
    info = core._type_cls_to_type_info(cls) if isinstance(cls, type) else None
    if info is None and isinstance(cls, type):
        if issubclass(cls, core.Device):
            return 6
        if issubclass(cls, str):
            return 5 if hasattr(cls, "_tvm_ffi_dtype") else 65
        info = cls.__dict__.get("__tvm_ffi_type_info__")
    if info is None:
        raise TypeError(
            f"{api} callback type must be a supported builtin, typing.Any/object, or an "
            f"FFI-registered object class, got {cls!r}"
        )
    return info.type_index


def _is_typed_entry(entry) -> bool:
    return (
        isinstance(entry, tuple)
        and len(entry) == 2
        and callable(entry[1])
        and (isinstance(entry[0], (type, tuple)) or not callable(entry[0]))
    )


def _normalize_callbacks(callbacks, api: str) -> list[tuple[int, object]]:
    """(type index, function) entries in the order they are tried."""
    message = (
        f"{api} callbacks must be callbacks, (type, callback) entries, "
        "((type1, type2, ...), callback) entries, or sequences of tuple entries"
    )
    if callbacks is None:
        return []
    if callable(callbacks):
        return [(_ANY_INDEX, callbacks)]
    entries = [callbacks] if _is_typed_entry(callbacks) else callbacks
    if not isinstance(entries, (list, tuple)):
        raise TypeError(message)
    out = []
    for entry in entries:
        if callable(entry) and not isinstance(entry, tuple):
            out.append((_ANY_INDEX, entry))
            continue
        if not (isinstance(entry, tuple) and len(entry) == 2 and callable(entry[1])):
            raise TypeError(message)
        types = entry[0] if isinstance(entry[0], tuple) else (entry[0],)
        out.extend((_type_index_of(cls, api), entry[1]) for cls in types)
    return out


_REGION_KINDS = tuple(DefRegionKind)


def _with_region_enum(entries):
    """The same entries, for functions that expect a DefRegionKind as second argument."""

    def wrap(function):
        return lambda value, kind: function(value, _REGION_KINDS[kind])

    return [(index, wrap(function)) for index, function in entries]


def _order(order, what: str) -> int:
    found = _ORDER_NAMES.get(order) if isinstance(order, str) else order
    if found not in (0, 1):
        raise ValueError(f"Unknown structural {what} order: {order!r}")
    return int(found)


def structural_walk(root, callbacks=(), with_def_region_kind=(), order="post"):
    """Call functions on every value of a graph.

    Args:
        root: Where to start.
        callbacks: ``fn(value)``; a callable, ``(type or types, fn)``, or a sequence of these. The
            first one whose type fits is called.
        with_def_region_kind: The same for ``fn(value, kind)``.
        order: ``"pre"``, ``"post"`` or a WalkOrder.

    Returns:
        The VisitInterrupt that ended the walk, or None.
    """
    return _ffi_api.StructuralWalk(
        root,
        _normalize_callbacks(callbacks, "structural_walk"),
        _with_region_enum(_normalize_callbacks(with_def_region_kind, "structural_walk")),
        _order(order, "walk"),
    )


def structural_map(root, callbacks=(), with_def_region_kind=(), order="post"):
    """Rewrite a graph value by value; arguments as in :py:func:`structural_walk`.

    Callbacks return the replacement. Parts that do not change keep their identity.
    """
    return _ffi_api.StructuralMap(
        root,
        _normalize_callbacks(callbacks, "structural_map"),
        _with_region_enum(_normalize_callbacks(with_def_region_kind, "structural_map")),
        _order(order, "map"),
    )


def structural_visit(root, callbacks=()):
    """Walk a graph with callbacks ``fn(value, visitor)`` that decide how to go on themselves."""
    return _ffi_api.StructuralVisit(root, _normalize_callbacks(callbacks, "structural_visit"))


def _takes_inplace_mode(function) -> bool:
    import inspect

    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return False
    for count in (3, 2):
        try:
            signature.bind(*(None,) * count)
        except TypeError:
            continue
        return count == 3
    raise TypeError(
        "structural_mutate callback must accept (value, mutator) or (value, mutator, inplace_mode)"
    )


def structural_mutate(root, callbacks=()):
    """Rewrite a graph with callbacks that own the recursion.

    Args:
        root: Value to rewrite; ``obj._move()`` permits reuse in place.
        callbacks: ``fn(value, mutator)`` or ``fn(value, mutator, inplace_mode)``, given as in
            :py:func:`structural_walk`. What a callback returns is final.
    """
    entries = [
        (index, function, _takes_inplace_mode(function))
        for index, function in _normalize_callbacks(callbacks, "structural_mutate")
    ]
    return _ffi_api.StructuralMutate(root, entries)
