# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""How the libraries were built."""

from __future__ import annotations

import os
import platform
import sys


def libinfo() -> dict:
    """Build options of the loaded libraries; only the runtime's in runtime-only mode."""
    from tvm_ffi import get_global_func

    function = get_global_func("support.GetLibInfo", allow_missing=True)
    return dict(function().items()) if function is not None else {}


def describe() -> None:
    """Print versions, build options and the environment for a problem report."""
    from tvm import base
    from tvm import libinfo as tvm_libinfo

    print(f"tvm {tvm_libinfo.__version__}")
    print(f"Python {sys.version.split()[0]} on {platform.platform()}")
    print(f"os.uname(): {' '.join(os.uname()) if hasattr(os, 'uname') else ''}")
    print(f"libraries: {', '.join(sorted(base._LOADED_LIBS))}")
    for name, value in sorted(libinfo().items()):
        print(f"  {name}: {value}")
