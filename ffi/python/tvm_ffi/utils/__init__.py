# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Helpers for packages built on tvm_ffi."""

from .lockfile import FileLock

__all__ = ["FileLock"]
