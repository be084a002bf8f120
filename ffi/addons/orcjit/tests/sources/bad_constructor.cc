// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
// A library whose static constructor fails.
#include <tvm/ffi/error.h>

namespace {
struct Bad {
  Bad() { TVM_FFI_THROW(ValueError) << "constructor failed"; }
} bad;
}  // namespace
