# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Traversals of statements and expressions."""

from __future__ import annotations

import tvm_ffi

from . import _ffi_api


def ir_transform(stmt, preorder, postorder, only_enable=None):
    """Rewrite a statement.

    Args:
        stmt: The statement.
        preorder: ``fn(node)``; a node it returns replaces the node without further descent.
        postorder: ``fn(node)`` after the parts; None keeps the node.
        only_enable: Type keys to call the functions for.
    """
    return _ffi_api.IRTransform(stmt, preorder, postorder, only_enable)


def post_order_visit(stmt, fvisit) -> None:
    """Call a function on every node, parts first."""
    _ffi_api.PostOrderVisit(stmt, fvisit)


def pre_order_visit(stmt, fvisit) -> None:
    """Call a function on every node, parts last; it returns whether to descend."""
    _ffi_api.PreOrderVisit(stmt, fvisit)


def substitute(node, vmap):
    """Replace variables.

    Args:
        node: Statement or expression.
        vmap: Variable -> expression.
    """
    return _ffi_api.Substitute(node, tvm_ffi.Map(list(vmap.items())))


def renew_defs(func):
    """Copy of a function with fresh variables and buffers."""
    return _ffi_api.RenewDefs(func)
