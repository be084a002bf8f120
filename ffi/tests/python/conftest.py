# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Lets the tests run from a source tree without an installed package."""

import importlib.util
import sys
from pathlib import Path

if importlib.util.find_spec("tvm_ffi") is None:
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))
