# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Device code: execution scopes, tile primitives, operators of devices."""

from __future__ import annotations

from typing import Any

from tvm import tirx
from tvm.ir import Op, Var

from . import _ffi_api, exprs, frame
from .values import DType, as_value

_BINDINGS = {
    ("kernel", "cluster"): 0,
    ("kernel", "cta"): 1,
    ("cluster", "cta"): 2,
    ("cta", "warpgroup"): 3,
    ("cta", "warp"): 4,
    ("warpgroup", "warp"): 5,
    ("warp", "thread"): 6,
    ("cta", "thread"): 7,
    ("warpgroup", "thread"): 8,
    ("cluster", "cta_pair"): 9,
}

_NAMED = {
    "cluster_id": ("kernel", "cluster"),
    "cta_id": ("kernel", "cta"),
    "cta_id_in_cluster": ("cluster", "cta"),
    "cta_id_in_pair": ("cluster", "cta_pair"),
    "warpgroup_id": ("cta", "warpgroup"),
    "warp_id": ("cta", "warp"),
    "warp_id_in_wg": ("warpgroup", "warp"),
    "lane_id": ("warp", "thread"),
    "thread_id": ("cta", "thread"),
    "thread_id_in_wg": ("warpgroup", "thread"),
}


def device_entry() -> frame.AttrFrame:
    """Start of device code: what follows in this scope runs on the device."""
    return _ffi_api.Attr(0, ["tirx.device_entry"], [tirx.const(True, "bool")])


def scope_id(
    extents: Any = None,
    parent: str = "kernel",
    cur: str = "cta",
    *,
    preferred: Any = None,
    dtype: Any = "int32",
) -> Any:
    """Number of this instance of an execution scope within another.

    Args:
        extents: Instances per axis; left out, there is one id whose extent is inferred.
        parent: Outer scope.
        cur: Inner scope.
        preferred: Preferred extents, for thread blocks of a cluster.
        dtype: ``"int32"`` or ``"uint32"``.

    Returns:
        One variable, or a tuple of them.
    """
    binding = _BINDINGS.get((parent, cur))
    if binding is None:
        known = ", ".join(f"{outer}->{inner}" for outer, inner in _BINDINGS)
        raise ValueError(f"unknown scope binding {parent}->{cur}, expected one of {known}")
    dtype = dtype.dtype if isinstance(dtype, DType) else str(dtype)
    if dtype not in ("int32", "uint32"):
        raise ValueError(f"a scope id is an int32 or uint32, not {dtype}")
    dims = None if extents is None else [as_value(item) for item in _listed(extents)]
    ids = [Var("v", dtype) for _ in range(1 if dims is None else len(dims))]
    wanted = None if preferred is None else [as_value(item) for item in _listed(preferred)]
    _ffi_api.ScopeIdDef(tirx.ScopeIdDef(ids, dims, binding, wanted))
    return ids[0] if len(ids) == 1 else tuple(ids)


def _listed(values: Any) -> list:
    return [values] if getattr(values, "__iter__", None) is None else list(values)


def _named_scope(name: str, parent: str, cur: str):
    def build(extents: Any = None, preferred: Any = None, *, dtype: Any = "int32") -> Any:
        return scope_id(extents, parent, cur, preferred=preferred, dtype=dtype)

    build.__name__ = name
    build.__doc__ = f"Number of the {cur} in its {parent}; arguments as of ``T.scope_id``."
    return build


for _name, (_parent, _cur) in _NAMED.items():
    globals()[_name] = _named_scope(_name, _parent, _cur)


class TileScope:
    """Tile primitives carried out by one execution scope, e.g. ``T.cta.copy(dst, src)``.

    Args:
        name: The scope.
        nested: Scopes reachable as attributes.
    """

    def __init__(self, name: str, nested: dict[str, TileScope] | None = None) -> None:
        self._name = name
        self._nested = nested or {}

    def __getattr__(self, op: str) -> Any:
        if op.startswith("_"):
            raise AttributeError(op)
        if op in self._nested:
            return self._nested[op]
        try:
            Op.get(f"tirx.tile.{op}")
        except AttributeError:
            raise AttributeError(
                f"the tile primitive tirx.tile.{op} is not part of this build"
            ) from None

        def build(*args: Any, workspace=None, dispatch=None, **config: Any) -> Any:
            scope = tirx.ExecScope(self._name)
            if op == "compose_op":
                return _ffi_api.ComposeOp(workspace or {}, config, dispatch, scope)
            if not args or not _is_tile(args[0]):
                raise TypeError(
                    f"Tx.{op} is tile-only and expects `dst` to be a Buffer or BufferRegion; "
                    f"use T.{op} for expression/builtin calls"
                )
            return tirx.TilePrimitiveCall(
                *args,
                op=f"tirx.tile.{op}",
                workspace=workspace,
                config=config,
                dispatch=dispatch,
                scope=scope,
            )

        build.__name__ = op
        return build


def _is_tile(value: Any) -> bool:
    return tirx.is_buffer(value) or isinstance(value, tirx.BufferRegion)


thread = TileScope("thread")
warp = TileScope("warp")
warpgroup = wg = TileScope("warpgroup")
cta = TileScope("cta")
cluster = TileScope("cluster")
tile = TileScope(
    "thread",
    {
        "thread": thread,
        "warp": warp,
        "wg": wg,
        "warpgroup": wg,
        "cta": cta,
        "cluster": cluster,
    },
)
tile_namespace = tile


class OperatorNamespace:
    """Operators ``tirx.<name>.*`` as functions.

    Args:
        name: The prefix.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, op: str) -> Any:
        if op.startswith("_"):
            raise AttributeError(op)
        full = f"{self._name}.{op}"
        function = exprs.operator_function(full) or exprs.operator_function(f"{self._name}_{op}")
        if function is None:
            raise AttributeError(f"the operator tirx.{full} is not part of this build")
        return function


NAMESPACES: dict[str, Any] = {
    name: OperatorNamespace(name)
    for name in ("cuda", "ptx", "nvshmem", "ptx_legacy", "s_tir", "metal", "nki", "webgpu")
}


def register_script_namespace(name: str, obj: Any) -> None:
    """Offer an object of a backend as ``T.<name>``."""
    NAMESPACES[name] = obj


__all__ = [
    *_NAMED, "cluster", "cta", "device_entry", "register_script_namespace", "scope_id", "thread",
    "tile", "warp", "warpgroup", "wg",
]  # fmt: skip
