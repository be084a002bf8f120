// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Memory of a session: slabs of address space from which linked objects get whole pages.
#ifndef TVM_FFI_ORCJIT_MEMORY_POOL_H_
#define TVM_FFI_ORCJIT_MEMORY_POOL_H_

#include <llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h>

#include <cstddef>
#include <map>
#include <mutex>
#include <vector>

namespace tvm {
namespace ffi {
namespace orcjit {

/// Code refers to data and to other objects of its library by 32-bit distances, so a library should
/// lie close together; scattered mmaps do not promise that. Freed pages go back to the system at
/// once, their addresses to the slab. Pages are never writable and executable together.
class MemoryPool final : public llvm::jitlink::JITLinkMemoryManager {
 public:
  static constexpr size_t kDefaultSlabSize = size_t{64} << 20;

  /// `slab_size`: bytes of address space per slab, rounded up to pages; 0 maps each object by
  /// itself and unmaps it when it is freed.
  explicit MemoryPool(size_t slab_size);
  ~MemoryPool() override;

  using JITLinkMemoryManager::allocate;
  using JITLinkMemoryManager::deallocate;
  void allocate(const llvm::jitlink::JITLinkDylib* library, llvm::jitlink::LinkGraph& graph,
                OnAllocatedFunction on_allocated) override;
  void deallocate(std::vector<FinalizedAlloc> allocations,
                  OnDeallocatedFunction on_deallocated) override;

  /// Unmaps slabs of which nothing is in use; returns how many.
  size_t ClearFreeSlabs();

 private:
  class InFlight;
  struct Finalized;
  struct Range {
    char* begin = nullptr;
    size_t size = 0;
  };
  struct Slab {
    size_t size;
    std::map<char*, size_t> free;  ///< by address; neighbours are merged
  };

  /// Pages without access rights; begin is NULL if the system has no address space left.
  Range Reserve(size_t size);
  void Release(const Range& range);
  char* MapSlab(size_t size);
  static bool IsFree(const Slab& slab);

  const size_t page_size_;
  const size_t slab_size_;
  const bool pooled_;
  std::mutex mutex_;
  std::map<char*, Slab> slabs_;  ///< by address
};

}  // namespace orcjit
}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_ORCJIT_MEMORY_POOL_H_
