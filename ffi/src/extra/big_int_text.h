// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Big integers as decimal text and in order; works on their words, so Int values fit too.
#ifndef TVM_FFI_SRC_EXTRA_BIG_INT_TEXT_H_
#define TVM_FFI_SRC_EXTRA_BIG_INT_TEXT_H_

#include <tvm/ffi/any.h>

#include <string>
#include <string_view>

namespace tvm {
namespace ffi {

/// Decimal digits of an Int or BigInt.
std::string BigIntText(const Any& value);

/// Int or BigInt from `-?[0-9]+`; ValueError for anything else.
Any BigIntFromText(std::string_view text);

/// Negative, zero or positive, for Int and BigInt values.
int CompareBigInts(const Any& lhs, const Any& rhs);

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_SRC_EXTRA_BIG_INT_TEXT_H_
