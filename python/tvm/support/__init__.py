# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Tools around the compiler: system compilers, archives, temporary folders, processes."""

from tvm._lazy import attach as _attach

from .libinfo import describe, libinfo

__getattr__, __dir__ = _attach(__name__, globals(), modules=("cc", "tar", "utils", "libinfo"))
