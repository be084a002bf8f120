# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""``I.*``: modules."""

from tvm.script.ir_builder.ir import *

from . import parser as _parser
from .entry import ir_module, pyfunc
