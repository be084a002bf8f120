# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""``T.*``: primitive functions."""

from tvm.script.ir_builder.tirx import *

from . import parser as _parser
from .entry import inline, macro, meta_class, prim_func
from .jit import Optional, constexpr, jit
