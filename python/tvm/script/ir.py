# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""``from tvm.script import ir as I``."""

from tvm.script.parser import ir as _parser
from tvm.script.parser.ir import *  # noqa: F403

ir_module = _parser.ir_module
pyfunc = _parser.pyfunc
