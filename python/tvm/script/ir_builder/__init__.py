# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Building IR by nested scopes, without text.

Frames of a dialect live in ``tvm.script.ir_builder.<dialect>``.
"""

from tvm._lazy import attach as _attach

from .base import IRBuilder, IRBuilderFrame, meta_var, name, name_many

__getattr__, __dir__ = _attach(__name__, globals(), modules=("ir", "tirx", "relax"))
