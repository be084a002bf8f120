// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// How long random tests run.
#ifndef TVM_SUPPORT_TEST_ROUNDS_H_
#define TVM_SUPPORT_TEST_ROUNDS_H_

#include <algorithm>
#include <cstdlib>

namespace tvm {

/// Rounds of a random test: `standard`, times `TVM_TEST_LONG` where `./dev test --long` sets it.
inline int TestRounds(int standard) {
  const char* factor = std::getenv("TVM_TEST_LONG");
  return factor == nullptr ? standard : standard * std::max(1, std::atoi(factor));
}

}  // namespace tvm

#endif  // TVM_SUPPORT_TEST_ROUNDS_H_
