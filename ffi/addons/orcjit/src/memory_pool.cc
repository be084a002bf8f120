// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "memory_pool.h"

#include <llvm/ADT/BitmaskEnum.h>
#include <llvm/ExecutionEngine/JITLink/JITLink.h>
#include <llvm/Support/Error.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

namespace tvm {
namespace ffi {
namespace orcjit {
namespace {

LLVM_ENABLE_BITMASK_ENUMS_IN_NAMESPACE();

using llvm::jitlink::BasicLayout;
using llvm::orc::shared::WrapperFunctionCall;

int NativeProtection(llvm::orc::MemProt protection) {
  int native = PROT_NONE;
  if ((protection & llvm::orc::MemProt::Read) != llvm::orc::MemProt::None) native |= PROT_READ;
  if ((protection & llvm::orc::MemProt::Write) != llvm::orc::MemProt::None) native |= PROT_WRITE;
  if ((protection & llvm::orc::MemProt::Exec) != llvm::orc::MemProt::None) native |= PROT_EXEC;
  return native;
}

llvm::Error SystemError(const char* operation) {
  return llvm::createStringError(std::error_code(errno, std::generic_category()),
                                 "%s of JIT memory failed: %s", operation, std::strerror(errno));
}

size_t RoundUp(size_t size, size_t granule) { return (size + granule - 1) / granule * granule; }

}  // namespace

/// What the linker keeps of memory that is in use.
struct MemoryPool::Finalized {
  Range range;
  std::vector<WrapperFunctionCall> dealloc_actions;
};

class MemoryPool::InFlight final : public InFlightAlloc {
 public:
  InFlight(MemoryPool* pool, BasicLayout layout, Range standard, Range temporary)
      : pool_(pool), layout_(std::move(layout)), standard_(standard), temporary_(temporary) {}

  void abandon(OnAbandonedFunction on_abandoned) override {
    ReleaseAll();
    on_abandoned(llvm::Error::success());
  }

  void finalize(OnFinalizedFunction on_finalized) override {
    if (llvm::Error error = Protect()) {
      ReleaseAll();
      return on_finalized(std::move(error));
    }
    auto actions = llvm::orc::shared::runFinalizeActions(layout_.graphAllocActions());
    if (!actions) {
      ReleaseAll();
      return on_finalized(actions.takeError());
    }
    pool_->Release(temporary_);
    auto* finalized = new Finalized{standard_, std::move(*actions)};
    on_finalized(FinalizedAlloc(llvm::orc::ExecutorAddr::fromPtr(finalized)));
  }

 private:
  void ReleaseAll() {
    pool_->Release(standard_);
    pool_->Release(temporary_);
  }

  llvm::Error Protect() {
    for (auto& [group, segment] : layout_.segments()) {
      const size_t size = RoundUp(segment.ContentSize + segment.ZeroFillSize, pool_->page_size_);
      if (size == 0) continue;
      const int protection = NativeProtection(group.getMemProt());
      if (mprotect(segment.WorkingMem, size, protection) != 0) return SystemError("protection");
      if ((protection & PROT_EXEC) != 0) {
        __builtin___clear_cache(segment.WorkingMem, segment.WorkingMem + size);
      }
    }
    return llvm::Error::success();
  }

  MemoryPool* pool_;
  BasicLayout layout_;
  Range standard_;
  Range temporary_;  ///< needed only while linking
};

MemoryPool::MemoryPool(size_t slab_size)
    : page_size_(static_cast<size_t>(sysconf(_SC_PAGESIZE))),
      slab_size_(RoundUp(slab_size, page_size_)),
      pooled_(slab_size != 0) {}

bool MemoryPool::IsFree(const Slab& slab) {
  return slab.free.size() == 1 && slab.free.begin()->second == slab.size;
}

MemoryPool::~MemoryPool() {
  for (auto& [begin, slab] : slabs_) munmap(begin, slab.size);
}

char* MemoryPool::MapSlab(size_t size) {
  // A wish for the place behind the last slab keeps slabs within reach of each other.
  char* wish = slabs_.empty() ? nullptr : slabs_.rbegin()->first + slabs_.rbegin()->second.size;
  void* memory = mmap(wish, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<char*>(memory);
}

MemoryPool::Range MemoryPool::Reserve(size_t size) {
  if (size == 0) return {};
  std::lock_guard<std::mutex> guard(mutex_);
  for (auto& [begin, slab] : slabs_) {
    for (auto it = slab.free.begin(); it != slab.free.end(); ++it) {
      if (it->second < size) continue;
      const Range range{it->first, size};
      const size_t rest = it->second - size;
      slab.free.erase(it);
      if (rest != 0) slab.free[range.begin + size] = rest;
      return range;
    }
  }
  const size_t slab_size = size > slab_size_ ? size : slab_size_;
  char* memory = MapSlab(slab_size);
  if (memory == nullptr) return {};
  Slab& slab = slabs_[memory];
  slab.size = slab_size;
  if (slab_size > size) slab.free[memory + size] = slab_size - size;
  return {memory, size};
}

void MemoryPool::Release(const Range& range) {
  if (range.size == 0) return;
  madvise(range.begin, range.size, MADV_DONTNEED);  // zero again, so that reuse finds fresh pages
  mprotect(range.begin, range.size, PROT_NONE);
  std::lock_guard<std::mutex> guard(mutex_);
  auto slab = std::prev(slabs_.upper_bound(range.begin));
  std::map<char*, size_t>& free = slab->second.free;
  auto it = free.emplace(range.begin, range.size).first;
  if (auto next = std::next(it); next != free.end() && it->first + it->second == next->first) {
    it->second += next->second;
    free.erase(next);
  }
  if (it != free.begin()) {
    auto previous = std::prev(it);
    if (previous->first + previous->second == it->first) {
      previous->second += it->second;
      free.erase(it);
    }
  }
  if (!pooled_ && IsFree(slab->second)) {
    munmap(slab->first, slab->second.size);
    slabs_.erase(slab);
  }
}

size_t MemoryPool::ClearFreeSlabs() {
  std::lock_guard<std::mutex> guard(mutex_);
  size_t cleared = 0;
  for (auto it = slabs_.begin(); it != slabs_.end();) {
    if (IsFree(it->second)) {
      munmap(it->first, it->second.size);
      it = slabs_.erase(it);
      ++cleared;
    } else {
      ++it;
    }
  }
  return cleared;
}

void MemoryPool::allocate(const llvm::jitlink::JITLinkDylib*, llvm::jitlink::LinkGraph& graph,
                          OnAllocatedFunction on_allocated) {
  BasicLayout layout(graph);
  auto sizes = layout.getContiguousPageBasedLayoutSizes(page_size_);
  if (!sizes) return on_allocated(sizes.takeError());
  Range standard = Reserve(sizes->StandardSegs);
  Range temporary = Reserve(sizes->FinalizeSegs);
  auto fail = [&](const char* operation) {
    llvm::Error error = SystemError(operation);
    Release(standard);
    Release(temporary);
    on_allocated(std::move(error));
  };
  if (standard.size != sizes->StandardSegs || temporary.size != sizes->FinalizeSegs) {
    return fail("reservation");
  }
  for (const Range& range : {standard, temporary}) {
    if (range.size != 0 && mprotect(range.begin, range.size, PROT_READ | PROT_WRITE) != 0) {
      return fail("allocation");
    }
  }
  char* standard_next = standard.begin;
  char* temporary_next = temporary.begin;
  for (auto& [group, segment] : layout.segments()) {
    char*& next =
        group.getMemLifetime() == llvm::orc::MemLifetime::Standard ? standard_next : temporary_next;
    segment.WorkingMem = next;
    segment.Addr = llvm::orc::ExecutorAddr::fromPtr(next);
    next += RoundUp(segment.ContentSize + segment.ZeroFillSize, page_size_);
  }
  if (llvm::Error error = layout.apply()) {
    Release(standard);
    Release(temporary);
    return on_allocated(std::move(error));
  }
  on_allocated(std::make_unique<InFlight>(this, std::move(layout), standard, temporary));
}

void MemoryPool::deallocate(std::vector<FinalizedAlloc> allocations,
                            OnDeallocatedFunction on_deallocated) {
  llvm::Error errors = llvm::Error::success();
  for (auto it = allocations.rbegin(); it != allocations.rend(); ++it) {
    std::unique_ptr<Finalized> finalized(it->release().toPtr<Finalized*>());
    errors = llvm::joinErrors(std::move(errors),
                              llvm::orc::shared::runDeallocActions(finalized->dealloc_actions));
    Release(finalized->range);
  }
  on_deallocated(std::move(errors));
}

}  // namespace orcjit
}  // namespace ffi
}  // namespace tvm
