# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Lets the tests run from a source tree without an installed package."""

import importlib.util
import sys
from pathlib import Path

from hypothesis import settings

settings.register_profile("ffi", deadline=None)  # other work on the machine is no failure
settings.load_profile("ffi")

FFI = Path(__file__).resolve().parents[2]
sys.path.append(str(FFI / "tests"))  # child_process.py
if importlib.util.find_spec("tvm_ffi") is None:
    sys.path.insert(0, str(FFI / "python"))
