# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Functions and classes for tests; loads libtvm_ffi_testing."""

from .. import libinfo as _libinfo

_LIB = _libinfo.load_lib_ctypes(_libinfo._PACKAGE_NAME, "tvm_ffi_testing", "RTLD_GLOBAL")

from ._ffi_api import *  # noqa: E402,F403
from ._locking import run_with_gpu_lock  # noqa: E402,F401
from .testing import *  # noqa: E402,F403
from .testing import add_one, create_object, make_unregistered_object  # noqa: E402,F401
