# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""The command ``tvm`` (``python -m tvm``): compile, run, bench and inspect models."""

from .main import main

__all__ = ["main"]
