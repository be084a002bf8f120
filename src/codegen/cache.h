// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Compiled code kept on disk, found by a digest of everything that it was made from.
///
/// One folder, one file an entry: a header (magic, key, sizes, digest), then the payload at byte
/// 128, so that a mapped entry holds data aligned for vectors. An entry appears by renaming a
/// finished temporary file: a reader sees all of it or nothing, and writers of one key replace each
/// other's equal work. What does not match its digest counts as absent and is removed.
#ifndef TVM_CODEGEN_CACHE_H_
#define TVM_CODEGEN_CACHE_H_

#include <tvm/runtime/base.h>

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace tvm {
namespace codegen {

/// SHA-256 of all that a piece of compiled code depends on.
using CacheKey = std::array<uint8_t, 32>;

/// What the caches of this process did so far.
struct CacheStats {
  int64_t hits = 0;
  int64_t misses = 0;
  int64_t stores = 0;
  int64_t evictions = 0;
  /// Entries that did not match their digest.
  int64_t damaged = 0;
  /// Entries that could not be written.
  int64_t failures = 0;
};

/// An entry mapped into memory; it stays whole when the file is replaced or removed.
class TVM_DLL CacheEntry {
 public:
  CacheEntry(const char* mapping, size_t size) : mapping_(mapping), size_(size) {}
  ~CacheEntry();
  CacheEntry(const CacheEntry&) = delete;
  CacheEntry& operator=(const CacheEntry&) = delete;
  /// The payload; its address is a multiple of 64.
  std::string_view bytes() const;

 private:
  const char* mapping_;
  size_t size_;
};

class TVM_DLL CompileCache {
 public:
  /// The cache that the environment asks for, null when it is off:
  ///
  ///   TVM_CACHE_DIR    absolute folder; empty or `off` for none; by default `opentvm` in
  ///                    $XDG_CACHE_HOME or ~/.cache
  ///   TVM_CACHE_LIMIT  bytes, with K, M or G; 4G by default. What was not used for longest goes
  ///                    first.
  ///
  /// A folder that another user owns or may write in is not used; that is logged once.
  static std::shared_ptr<CompileCache> Current();

  /// Opens a folder and makes it if need be. Null, with the reason in `*why`, when it is no folder
  /// of this user alone.
  static std::shared_ptr<CompileCache> Open(const std::string& folder, uint64_t limit_bytes,
                                            std::string* why);
  ~CompileCache();
  CompileCache(const CompileCache&) = delete;
  CompileCache& operator=(const CompileCache&) = delete;

  /// Null for a miss. `kind` is a short word that ends the entry's file name.
  std::shared_ptr<const CacheEntry> Lookup(const CacheKey& key, const char* kind);
  /// Writes an entry made of `chunks`. A failure (disk full, ...) only means that it is not kept.
  void Store(const CacheKey& key, const char* kind, const std::vector<std::string_view>& chunks);
  void Store(const CacheKey& key, const char* kind, std::string_view payload) {
    Store(key, kind, std::vector<std::string_view>{payload});
  }
  /// Removes an entry that its reader could not use.
  void Discard(const CacheKey& key, const char* kind);

  const std::string& folder() const { return folder_; }
  static CacheStats Stats();

 private:
  CompileCache(std::string folder, int fd, uint64_t limit)
      : folder_(std::move(folder)), fd_(fd), limit_(limit) {}
  /// Bytes in the folder; removes the entries used longest ago until they are under `target`.
  uint64_t Shrink(uint64_t target);

  std::string folder_;
  int fd_;
  uint64_t limit_;
  std::mutex mutex_;
  /// Estimate that other processes make stale; measured anew when it passes the limit.
  uint64_t used_ = UINT64_MAX;
};

}  // namespace codegen
}  // namespace tvm
#endif  // TVM_CODEGEN_CACHE_H_
