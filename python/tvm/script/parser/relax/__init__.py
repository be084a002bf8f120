# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Statements, decorators and annotations of the graph dialect."""

from . import functions as _functions
from . import statements as _statements
from .entry import function, macro
from .markers import match_cast
from .types import Any, Callable, Object, PackedFunc, Prim, Shape, Tensor, Tuple

__all__ = [
    "Any",
    "Callable",
    "Object",
    "PackedFunc",
    "Prim",
    "Shape",
    "Tensor",
    "Tuple",
    "function",
    "macro",
    "match_cast",
]
