# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Tables of what the dialects do for statements and operators.

A *token* names a dialect: ``default``, ``ir``, ``tirx``, ``tir.inline``, ``tir.macro``, ``relax``,
``pyfunc``. While a function is visited its token is on top of the parser's stack.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

ParseMethod = Callable[..., Any]
LoadMethod = Callable[[Any, Any], Any]

_VISIT: dict[tuple[str, str], ParseMethod] = {}
_LOADS: dict[type, LoadMethod] = {}
_OPERATORS: dict[tuple[type, str, int], Callable[..., Any]] = {}


def register(token: str, type_name: str) -> Callable[[ParseMethod], ParseMethod]:
    """Register ``fn(parser, node)`` for a kind of statement.

    Args:
        token: The dialect.
        type_name: Class name of the AST node, or one of the hooks ``tvm_declare_function``,
            ``tvm_annotation``, ``pre_visit_local_function``, ``post_visit_local_function``,
            ``post_token_switch``, ``call``.
    """

    def decorate(method: ParseMethod) -> ParseMethod:
        _VISIT[token, type_name] = method
        return method

    return decorate


def get(token: str, type_name: str, default: ParseMethod | None = None) -> ParseMethod | None:
    """Look up what :py:func:`register` stored."""
    return _VISIT.get((token, type_name), default)


def register_op(operand_type: type, ast_op: type | str, operand_index: int):
    """Register ``fn(*operands)`` for an operator.

    Args:
        operand_type: Class; a value belongs to it if its class attribute ``_dispatch_type`` is it.
        ast_op: Class of the operator in :py:mod:`ast`, e.g. ``ast.Add``, or its name.
        operand_index: Which operand decides: 0 or 1.
    """
    name = ast_op if isinstance(ast_op, str) else ast_op.__name__

    def decorate(method):
        _OPERATORS[operand_type, name, operand_index] = method
        return method

    return decorate


def get_op(operand: Any, ast_op: ast.AST, operand_index: int):
    """Look up what :py:func:`register_op` stored for the class of an operand."""
    kind = getattr(type(operand), "_dispatch_type", None)
    if kind is None:
        return None
    return _OPERATORS.get((kind, type(ast_op).__name__, operand_index))


def register_load(kind: type) -> Callable[[LoadMethod], LoadMethod]:
    """Register ``fn(parser, value)``: what a name means when it is read.

    Args:
        kind: Class of the values that the name is bound to.
    """

    def decorate(method: LoadMethod) -> LoadMethod:
        _LOADS[kind] = method
        return method

    return decorate


def get_load(kind: type) -> LoadMethod | None:
    """Look up what :py:func:`register_load` stored."""
    return _LOADS.get(kind)
