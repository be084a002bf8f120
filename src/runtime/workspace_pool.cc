// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file workspace_pool.cc
/// Workspaces: best fit among free blocks kept sorted by size; frees mostly come in reverse order.
#include "runtime/workspace_pool.h"

#include <algorithm>

namespace tvm {
namespace runtime {

namespace {
constexpr size_t kPageSize = 4096;
}

class WorkspacePool::Pool {
 public:
  void* Alloc(Device dev, DeviceAPI* device, size_t nbytes) {
    nbytes = std::max<size_t>((nbytes + (kPageSize - 1)) / kPageSize * kPageSize, kPageSize);
    auto it = std::lower_bound(free_.begin(), free_.end(), nbytes,
                               [](const Block& b, size_t n) { return b.size < n; });
    Block block;
    if (it != free_.end()) {
      block = *it;
      free_.erase(it);
    } else {
      // Growing the largest free block by replacing it keeps the total near the peak.
      if (!free_.empty()) {
        device->FreeDataSpace(dev, free_.back().data);
        free_.pop_back();
      }
      block.size = nbytes;
      block.data =
          device->AllocDataSpace(dev, nbytes, kTempAllocaAlignment, DLDataType{kDLUInt, 8, 1});
    }
    used_.push_back(block);
    return block.data;
  }

  void Free(void* data) {
    size_t i = used_.size();
    while (i > 0 && used_[i - 1].data != data) --i;
    ICHECK_NE(i, 0u) << "trying to free things that has not been allocated";
    Block block = used_[i - 1];
    used_.erase(used_.begin() + static_cast<std::ptrdiff_t>(i - 1));
    auto it = std::upper_bound(free_.begin(), free_.end(), block.size,
                               [](size_t n, const Block& b) { return n < b.size; });
    free_.insert(it, block);
  }

  void Release(Device dev, DeviceAPI* device) {
    for (const Block& b : free_) device->FreeDataSpace(dev, b.data);
    free_.clear();
  }

 private:
  struct Block {
    void* data;
    size_t size;
  };
  std::vector<Block> free_;
  std::vector<Block> used_;
};

WorkspacePool::WorkspacePool(DLDeviceType device_type, DeviceAPI* device)
    : device_type_(device_type), device_(device) {}

WorkspacePool::~WorkspacePool() { Release(); }

WorkspacePool::Pool* WorkspacePool::Of(Device dev) {
  ICHECK_GE(dev.device_id, 0) << "invalid device " << DeviceToString(dev);
  size_t id = static_cast<size_t>(dev.device_id);
  if (pools_.size() <= id) pools_.resize(id + 1);
  if (pools_[id] == nullptr) pools_[id] = std::make_unique<Pool>();
  return pools_[id].get();
}

void* WorkspacePool::AllocWorkspace(Device dev, size_t nbytes) {
  return Of(dev)->Alloc(dev, device_, nbytes);
}

void WorkspacePool::FreeWorkspace(Device dev, void* ptr) { Of(dev)->Free(ptr); }

void WorkspacePool::Release() {
  for (size_t i = 0; i < pools_.size(); ++i) {
    if (pools_[i] == nullptr) continue;
    pools_[i]->Release(Device{device_type_, static_cast<int32_t>(i)}, device_);
  }
}

}  // namespace runtime
}  // namespace tvm
