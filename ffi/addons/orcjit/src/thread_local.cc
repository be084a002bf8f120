// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "thread_local.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "process_symbols.h"

namespace tvm {
namespace ffi {
namespace orcjit {
namespace {

class ThreadState;

/// Initial values and the copies that threads made of them.
struct Image {
  std::vector<ThreadLocalSegment> segments;
  size_t size;
  size_t alignment;
  std::map<ThreadState*, void*> copies;

  ~Image() {
    for (auto& [thread, copy] : copies) std::free(copy);
  }
};

struct Destructor {
  void (*function)(void*);
  void* object;
  void* dso_handle;
  uint64_t owner;  ///< tells a library from a later one at the same address
};

struct Registry {
  std::mutex mutex;
  /// By begin of the segment, with its number.
  std::map<uintptr_t, std::pair<std::shared_ptr<Image>, size_t>> images;
  std::unordered_map<uint64_t, std::string> names;  ///< of entries
  std::unordered_map<void*, uint64_t> owners;       ///< by __dso_handle
  uint64_t next_id = 1;

  static Registry* Global() {
    static auto* registry = new Registry();  // threads may end after static destructors ran
    return registry;
  }

  /// Image that holds the address, and its offset there.
  std::pair<std::shared_ptr<Image>, size_t> FindImage(uintptr_t address) {
    auto it = images.upper_bound(address);
    if (it == images.begin()) return {};
    const auto& [image, number] = std::prev(it)->second;
    const ThreadLocalSegment& segment = image->segments[number];
    // One past the end is where an empty variable lies.
    if (address - segment.begin > segment.size) return {};
    return {image, address - segment.begin + segment.offset};
  }

  bool IsOwner(void* dso_handle, uint64_t owner) {
    std::lock_guard<std::mutex> guard(mutex);
    auto it = owners.find(dso_handle);
    return it != owners.end() && it->second == owner;
  }
};

class ThreadState {
 public:
  ~ThreadState() {
    while (!destructors_.empty()) RunLast();
    std::lock_guard<std::mutex> guard(Registry::Global()->mutex);
    for (const std::weak_ptr<Image>& weak : images_) {
      std::shared_ptr<Image> image = weak.lock();
      if (image == nullptr) continue;
      auto it = image->copies.find(this);
      if (it == image->copies.end()) continue;
      std::free(it->second);
      image->copies.erase(it);
    }
  }

  void* Address(const ThreadLocalEntry* entry) {
    auto it = addresses_.find(entry->id);
    if (it != addresses_.end()) return it->second;
    void* address = Find(*entry);
    addresses_.emplace(entry->id, address);
    return address;
  }

  void Add(const Destructor& destructor) { destructors_.push_back(destructor); }

  void RunAll(void* dso_handle) {
    for (size_t i = destructors_.size(); i-- > 0;) {
      if (i >= destructors_.size() || destructors_[i].dso_handle != dso_handle) continue;
      const Destructor last = destructors_[i];
      destructors_.erase(destructors_.begin() + static_cast<std::ptrdiff_t>(i));
      Run(last);
    }
  }

 private:
  static void Run(const Destructor& destructor) {
    if (Registry::Global()->IsOwner(destructor.dso_handle, destructor.owner)) {
      destructor.function(destructor.object);
    }
  }

  void RunLast() {
    const Destructor last = destructors_.back();
    destructors_.pop_back();
    Run(last);
  }

  void* Find(const ThreadLocalEntry& entry) {
    Registry* registry = Registry::Global();
    std::lock_guard<std::mutex> guard(registry->mutex);
    if (auto [image, offset] = registry->FindImage(entry.address); image != nullptr) {
      return static_cast<char*>(Copy(image)) + offset;
    }
    // The address that linking found is that of the linking thread; this thread has its own.
    const std::string& name = registry->names[entry.id];
    void* address = FindProcessSymbol(name.c_str());
    if (address == nullptr) {
      std::fprintf(stderr, "[tvm_ffi_orcjit] thread-local variable %s is gone\n", name.c_str());
      std::abort();  // generated code cannot take an error here
    }
    return address;
  }

  void* Copy(const std::shared_ptr<Image>& image) {
    void*& copy = image->copies[this];
    if (copy == nullptr) {
      const size_t alignment = image->alignment < sizeof(void*) ? sizeof(void*) : image->alignment;
      if (posix_memalign(&copy, alignment, image->size) != 0) std::abort();
      std::memset(copy, 0, image->size);
      for (const ThreadLocalSegment& segment : image->segments) {
        std::memcpy(static_cast<char*>(copy) + segment.offset,
                    reinterpret_cast<const void*>(segment.begin), segment.size);
      }
      images_.push_back(image);
    }
    return copy;
  }

  std::unordered_map<uint64_t, void*> addresses_;  ///< by entry id; ids are never reused
  std::vector<std::weak_ptr<Image>> images_;
  std::vector<Destructor> destructors_;
};

ThreadState* CurrentThread() {
  static thread_local ThreadState state;
  return &state;
}

}  // namespace

void RegisterThreadLocalImage(std::vector<ThreadLocalSegment> segments, size_t size,
                              size_t alignment) {
  Registry* registry = Registry::Global();
  std::lock_guard<std::mutex> guard(registry->mutex);
  auto image = std::make_shared<Image>(Image{std::move(segments), size, alignment, {}});
  for (size_t i = 0; i < image->segments.size(); ++i) {
    registry->images[image->segments[i].begin] = {image, i};
  }
}

void DropThreadLocalImages(uintptr_t begin, uintptr_t end) {
  Registry* registry = Registry::Global();
  std::lock_guard<std::mutex> guard(registry->mutex);
  registry->images.erase(registry->images.lower_bound(begin), registry->images.lower_bound(end));
}

uint64_t RegisterThreadLocal(std::string name) {
  Registry* registry = Registry::Global();
  std::lock_guard<std::mutex> guard(registry->mutex);
  const uint64_t id = registry->next_id++;
  if (!name.empty()) registry->names.emplace(id, std::move(name));
  return id;
}

void* ThreadLocalAddress(const ThreadLocalEntry* entry) { return CurrentThread()->Address(entry); }

void AddThreadLocalOwner(void* dso_handle) {
  Registry* registry = Registry::Global();
  std::lock_guard<std::mutex> guard(registry->mutex);
  registry->owners[dso_handle] = registry->next_id++;
}

void RemoveThreadLocalOwner(void* dso_handle) {
  CurrentThread()->RunAll(dso_handle);
  Registry* registry = Registry::Global();
  std::lock_guard<std::mutex> guard(registry->mutex);
  registry->owners.erase(dso_handle);
}

int ThreadAtExit(void (*destructor)(void*), void* object, void* dso_handle) {
  Registry* registry = Registry::Global();
  uint64_t owner = 0;
  {
    std::lock_guard<std::mutex> guard(registry->mutex);
    auto it = registry->owners.find(dso_handle);
    if (it != registry->owners.end()) owner = it->second;
  }
  CurrentThread()->Add({destructor, object, dso_handle, owner});
  return 0;
}

}  // namespace orcjit
}  // namespace ffi
}  // namespace tvm
