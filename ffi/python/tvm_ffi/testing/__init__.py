# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Functions and classes for tests; loads libtvm_ffi_testing."""

from .. import libinfo as _libinfo

_LIB = _libinfo.load_lib_ctypes(_libinfo._PACKAGE_NAME, "tvm_ffi_testing", "RTLD_GLOBAL")

from .testing import *  # noqa: E402,F403
