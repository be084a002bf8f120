# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Text form of IR.

``config`` holds the options, ``doc`` the syntax tree that IR is translated to, ``doc_printer`` its
conversion to text.
"""

from tvm._lazy import attach as _attach

from .config import PrinterConfig, script

__all__ = ["PrinterConfig", "doc", "doc_printer", "script"]

__getattr__, __dir__ = _attach(__name__, globals(), modules=("config", "doc", "doc_printer"))
