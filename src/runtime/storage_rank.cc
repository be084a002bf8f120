// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file storage_rank.cc
/// Names of memory scopes.
#include <tvm/runtime/logging.h>
#include <tvm/runtime/storage_rank.h>

namespace tvm {
namespace runtime {

namespace {
struct RankName {
  StorageRank rank;
  std::string_view name;
};
// A name that is another's prefix comes after it.
constexpr RankName kRanks[] = {
    {StorageRank::kGlobal, "global"},
    {StorageRank::kShared, "shared"},
    {StorageRank::kWarp, "warp"},
    {StorageRank::kLocal, "local"},
    {StorageRank::kWMMAMatrixA, "wmma.matrix_a"},
    {StorageRank::kWMMAMatrixB, "wmma.matrix_b"},
    {StorageRank::kWMMAAccumulator, "wmma.accumulator"},
    {StorageRank::kTexture, "texture"},
    {StorageRank::kAMXTMM, "amx.tmm"},
    {StorageRank::kMMAMatrixA, "m16n8k8.matrixA"},
    {StorageRank::kMMAMatrixB, "m16n8k8.matrixB"},
    {StorageRank::kMMAMatrixC, "m16n8k8.matrixC"},
    {StorageRank::kMetalSimdGroup, "metal.simdgroup"},
    {StorageRank::kMetalCooperativeTensor, "metal.cooperative_tensor"},
    {StorageRank::kTRNSBuf, "trn.sbuf"},
    {StorageRank::kTRNPsum, "trn.psum"},
};
}  // namespace

std::string StorageScope::to_string() const {
  for (const RankName& r : kRanks) {
    if (r.rank == rank) return std::string(r.name) + tag;
  }
  TVM_FFI_THROW(InternalError) << "unknown storage rank " << static_cast<int>(rank);
  __builtin_unreachable();
}

StorageScope StorageScope::Create(std::string_view name) {
  if (name.empty()) return {};
  for (const RankName& r : kRanks) {
    if (name.substr(0, r.name.size()) == r.name) {
      return {r.rank, std::string(name.substr(r.name.size()))};
    }
  }
  TVM_FFI_THROW(InternalError) << "unknown storage scope " << std::string(name);
  __builtin_unreachable();
}

}  // namespace runtime
}  // namespace tvm
