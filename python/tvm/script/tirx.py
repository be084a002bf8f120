# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""``from tvm.script import tirx as T``."""

from tvm.script.ir_builder import tirx as _builder
from tvm.script.ir_builder.tirx import *  # noqa: F403
from tvm.script.parser import tirx as _parser

# The decorators come from the parser: they hide the builder's frames of the same name.
Optional = _parser.Optional
constexpr = _parser.constexpr
inline = _parser.inline
jit = _parser.jit
macro = _parser.macro
meta_class = _parser.meta_class
prim_func = _parser.prim_func


def __getattr__(name):
    return getattr(_builder, name)


def __dir__():
    return sorted({*globals(), *dir(_builder)} - {"_builder", "_parser"})
