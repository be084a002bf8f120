// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file storage_rank.h
/// Memory scopes by name: "global", "shared.dyn", "local", ...
#ifndef TVM_RUNTIME_STORAGE_RANK_H_
#define TVM_RUNTIME_STORAGE_RANK_H_

#include <tvm/runtime/base.h>

#include <string>
#include <string_view>

namespace tvm {
namespace runtime {

enum class StorageRank : int {
  kGlobal = 0,
  kShared = 1,
  kWarp = 2,
  kLocal = 3,
  kWMMAMatrixA = 4,
  kWMMAMatrixB = 5,
  kWMMAAccumulator = 6,
  kTexture = 7,
  kAMXTMM = 8,
  kMMAMatrixA = 9,
  kMMAMatrixB = 10,
  kMMAMatrixC = 11,
  kMetalSimdGroup = 12,
  kMetalCooperativeTensor = 13,
  kTRNSBuf = 14,
  kTRNPsum = 15,
};

/// A rank and the rest of the scope's name, e.g. ".dyn".
struct StorageScope {
  StorageRank rank = StorageRank::kGlobal;
  std::string tag;

  bool operator==(const StorageScope& o) const { return rank == o.rank && tag == o.tag; }
  bool operator!=(const StorageScope& o) const { return !(*this == o); }
  TVM_RUNTIME_DLL std::string to_string() const;
  /// The empty name stands for "global". Raises InternalError for an unknown scope.
  TVM_RUNTIME_DLL static StorageScope Create(std::string_view name);
};

}  // namespace runtime
}  // namespace tvm

#endif  // TVM_RUNTIME_STORAGE_RANK_H_
