# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Parser of TVMScript: Python syntax, the meaning of IR.

A dialect registers what its statements do with :py:mod:`.core.dispatch`.
"""

from . import core, ir
from .core.entry import parse, register_dialect
from .ir import ir_module

from_source = parse
