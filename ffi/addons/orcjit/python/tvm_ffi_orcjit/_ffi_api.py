# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""The global functions ``tvm_ffi_orcjit.*`` of the native library."""

import tvm_ffi

tvm_ffi.init_ffi_api("tvm_ffi_orcjit", __name__)
