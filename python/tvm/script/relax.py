# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""``from tvm.script import relax as R``: functions, annotations and operators of scripts."""

from tvm.script.ir_builder import relax as _builder
from tvm.script.ir_builder.relax import *  # noqa: F403
from tvm.script.parser.relax import *  # noqa: F403
from tvm.script.parser.relax import __all__ as _PARSER


def __getattr__(name):
    value = getattr(_builder, name)
    globals()[name] = value
    return value


def __dir__():
    return sorted({*_PARSER, *dir(_builder)})
