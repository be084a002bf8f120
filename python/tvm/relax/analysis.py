# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Questions about types and functions of the graph level."""

from __future__ import annotations

from enum import IntEnum

from tvm._lazy import FFINamespace

_api = FFINamespace("relax.analysis")


class BaseCheckResult(IntEnum):
    """How sure it is that every value of one type is a value of another."""

    FAIL_L0 = 0
    FAIL_L1 = 1
    FAIL_L2 = 2
    PASS = 3


def type_base_check(base, derived) -> BaseCheckResult:
    """Check whether `derived` is a kind of `base`."""
    return BaseCheckResult(_api.TypeBaseCheck(base, derived))


def type_lca(lhs, rhs):
    """Narrowest known type of which both are."""
    return _api.TypeLCA(lhs, rhs)


def get_static_type(ty):
    """Type without dimensions."""
    return _api.GetStaticType(ty)


def derive_call_ret_type(func_ty, call, ctx):
    """Return type of a call to a function of type `func_ty`."""
    return _api.DeriveCallRetType(func_ty, call, ctx)


def erase_to_well_defined(ty, shape_var_map=None, var_map=None):
    """Drop shapes that use variables outside of the maps; substitute the others."""
    return _api.EraseToWellDefined(ty, shape_var_map or {}, var_map or {})


def tir_vars_in_type(ty):
    """Symbolic variables of a type."""
    return _api.SymbolicVarsInType(ty)


def definable_tir_vars_in_type(ty):
    """Symbolic variables that the type defines where it is matched."""
    return _api.DefinableSymbolicVarsInType(ty)


def well_formed(obj, check_ty: bool = True) -> None:
    """Raise TypeError or ValueError at the first broken rule."""
    _api.well_formed(obj, check_ty)


def check_well_formed(obj, check_ty: bool = True) -> bool:
    """Tell whether a program is well-formed."""
    return _api.check_well_formed(obj, check_ty)


def contains_impure_call(expr, own_name=None) -> bool:
    """Tell whether an expression calls something with effects."""
    return _api.contains_impure_call(expr, own_name)


def name_to_binding(func):
    """Name -> bindings of that name."""
    result = {}
    for block in func.body.blocks:
        for binding in block.bindings:
            result.setdefault(str(binding.var.name), []).append(binding)
    return result


def __getattr__(name):
    if name.startswith("_"):
        raise AttributeError(name)
    return getattr(_api, name)
