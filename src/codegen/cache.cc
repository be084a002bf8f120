// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "codegen/cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <tvm/runtime/logging.h>
#include <tvm/support/hash.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <optional>

namespace tvm {
namespace codegen {
namespace {

constexpr char kMagic[8] = {'O', 'T', 'V', 'M', 'C', 'A', 'C', 'H'};
constexpr uint32_t kVersion = 1;
constexpr size_t kPayloadOffset = 128;
constexpr uint64_t kDefaultLimit = uint64_t{4} << 30;
/// A temporary file that nobody finished for so long belongs to a process that died.
constexpr time_t kStaleSeconds = 3600;

struct EntryHeader {
  char magic[8];
  uint32_t version;
  uint32_t payload_offset;
  uint64_t payload_size;
  uint8_t key[32];
  uint8_t digest[16];  // of the header with zeros here, then the payload
  uint8_t reserved[56];
};
static_assert(sizeof(EntryHeader) == kPayloadOffset);

struct Counters {
  std::atomic<int64_t> hits{0}, misses{0}, stores{0}, evictions{0}, damaged{0}, failures{0};
};
Counters& Count() {
  static auto* counters = new Counters();
  return *counters;
}

std::string NameOf(const CacheKey& key, const char* kind) {
  return support::ToHex(key) + "." + kind;
}

bool IsEntryName(std::string_view name) { return name.size() > 65 && name[64] == '.'; }

std::array<uint8_t, 16> DigestOf(EntryHeader header, const std::vector<std::string_view>& chunks) {
  std::memset(header.digest, 0, sizeof(header.digest));
  support::Hasher128 hasher;
  hasher.Update(&header, sizeof(header));
  for (std::string_view chunk : chunks) hasher.Update(chunk);
  return hasher.Finish();
}

/// Whether the mapped file is the whole entry of `key`.
bool IsWhole(const char* data, size_t size, const CacheKey& key) {
  if (size < kPayloadOffset) return false;
  EntryHeader header;
  std::memcpy(&header, data, sizeof(header));
  if (std::memcmp(header.magic, kMagic, sizeof(kMagic)) != 0 || header.version != kVersion ||
      header.payload_offset != kPayloadOffset || header.payload_size != size - kPayloadOffset ||
      std::memcmp(header.key, key.data(), key.size()) != 0) {
    return false;
  }
  const auto digest = DigestOf(header, {std::string_view(data, size).substr(kPayloadOffset)});
  return std::memcmp(digest.data(), header.digest, digest.size()) == 0;
}

bool WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), std::min(bytes.size(), size_t{1} << 30));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

/// Makes a folder and its missing parents, for this user only.
bool MakeFolders(const std::string& path) {
  for (size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    if (mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) return false;
    if (slash == std::string::npos) return true;
  }
}

std::string DefaultFolder() {
  const char* base = std::getenv("XDG_CACHE_HOME");
  if (base != nullptr && base[0] == '/') return std::string(base) + "/opentvm";
  const char* home = std::getenv("HOME");
  if (home != nullptr && home[0] == '/') return std::string(home) + "/.cache/opentvm";
  return "";
}

/// Bytes of a text such as `512M`; nullopt for anything else.
std::optional<uint64_t> ParseBytes(const std::string& text) {
  char* end = nullptr;
  errno = 0;
  if (text.empty() || text[0] < '0' || text[0] > '9') return std::nullopt;
  const uint64_t number = std::strtoull(text.c_str(), &end, 10);
  std::string unit(end);
  const size_t shift = unit.empty()  ? 0
                       : unit == "K" ? 10
                       : unit == "M" ? 20
                       : unit == "G" ? 30
                                     : 64;
  if (errno != 0 || shift == 64 || (shift != 0 && number >> (64 - shift) != 0)) return std::nullopt;
  return number << shift;
}

uint64_t LimitFromEnvironment() {
  const char* text = std::getenv("TVM_CACHE_LIMIT");
  if (text == nullptr || text[0] == '\0') return kDefaultLimit;
  if (auto bytes = ParseBytes(text)) return *bytes;
  LOG(WARNING) << "TVM_CACHE_LIMIT=" << text << " is no number of bytes (K, M, G); using 4G";
  return kDefaultLimit;
}

}  // namespace

CacheEntry::~CacheEntry() { munmap(const_cast<char*>(mapping_), size_); }

std::string_view CacheEntry::bytes() const {
  return std::string_view(mapping_, size_).substr(kPayloadOffset);
}

std::shared_ptr<CompileCache> CompileCache::Current() {
  static auto* mutex = new std::mutex();
  static auto* known = new std::map<std::string, std::shared_ptr<CompileCache>>();
  const char* asked = std::getenv("TVM_CACHE_DIR");
  const std::string folder = asked != nullptr ? asked : DefaultFolder();
  if (folder.empty() || folder == "off") return nullptr;
  const char* limit_text = std::getenv("TVM_CACHE_LIMIT");
  const std::string id = folder + '\n' + (limit_text != nullptr ? limit_text : "");
  std::lock_guard<std::mutex> lock(*mutex);
  auto [it, fresh] = known->try_emplace(id);
  if (fresh) {
    std::string why;
    it->second = Open(folder, LimitFromEnvironment(), &why);
    if (it->second == nullptr) {
      LOG(WARNING) << "the compile cache is off: " << why
                   << "; name a folder of your own in TVM_CACHE_DIR, or set it to `off`";
    }
  }
  return it->second;
}

std::shared_ptr<CompileCache> CompileCache::Open(const std::string& folder, uint64_t limit_bytes,
                                                 std::string* why) {
  // A relative path would mean another folder with each working directory, foreign ones too.
  if (folder.empty() || folder[0] != '/') {
    *why = "`" + folder + "` is no absolute path";
    return nullptr;
  }
  if (!MakeFolders(folder)) {
    *why = "cannot make " + folder + ": " + std::strerror(errno);
    return nullptr;
  }
  // All later access goes through this descriptor: what was checked is what is used.
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  struct stat info{};
  if (fd < 0 || fstat(fd, &info) != 0) {
    *why = "cannot open " + folder + " as a folder: " + std::strerror(errno);
    if (fd >= 0) close(fd);
    return nullptr;
  }
  if (info.st_uid != geteuid() || (info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    *why = folder + (info.st_uid != geteuid() ? " belongs to another user"
                                              : " can be written by other users");
    close(fd);
    return nullptr;
  }
  return std::shared_ptr<CompileCache>(new CompileCache(folder, fd, limit_bytes));
}

CompileCache::~CompileCache() { close(fd_); }

std::shared_ptr<const CacheEntry> CompileCache::Lookup(const CacheKey& key, const char* kind) {
  const std::string name = NameOf(key, kind);
  const int fd = openat(fd_, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) {
    ++Count().misses;
    return nullptr;
  }
  struct stat info{};
  std::shared_ptr<CacheEntry> entry;
  bool whole = false;
  if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid() &&
      info.st_size > 0) {
    const auto size = static_cast<size_t>(info.st_size);
    // All of it is read at once, for the digest.
    void* mapping = mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
    if (mapping != MAP_FAILED) {
      entry = std::make_shared<CacheEntry>(static_cast<const char*>(mapping), size);
      whole = IsWhole(static_cast<const char*>(mapping), size, key);
    }
  }
  if (whole) {
    futimens(fd, nullptr);  // the time of last use, for eviction
    ++Count().hits;
  } else {
    unlinkat(fd_, name.c_str(), 0);
    ++Count().damaged;
    ++Count().misses;
    entry = nullptr;
  }
  close(fd);
  return entry;
}

void CompileCache::Discard(const CacheKey& key, const char* kind) {
  unlinkat(fd_, NameOf(key, kind).c_str(), 0);
  ++Count().damaged;
}

void CompileCache::Store(const CacheKey& key, const char* kind,
                         const std::vector<std::string_view>& chunks) {
  static std::atomic<uint64_t> serial{0};
  EntryHeader header{};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  header.version = kVersion;
  header.payload_offset = kPayloadOffset;
  for (std::string_view chunk : chunks) header.payload_size += chunk.size();
  std::memcpy(header.key, key.data(), key.size());
  const uint64_t size = header.payload_size + kPayloadOffset;
  if (size > limit_) return;
  const auto digest = DigestOf(header, chunks);
  std::memcpy(header.digest, digest.data(), digest.size());

  // The number differs within this process, its id among those alive, O_EXCL among all.
  const std::string part = ".part-" + std::to_string(getpid()) + "-" + std::to_string(serial++) +
                           "-" + std::to_string(std::time(nullptr));
  const int fd = openat(fd_, part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  bool written =
      fd >= 0 && WriteAll(fd, std::string_view(reinterpret_cast<char*>(&header), sizeof(header)));
  for (size_t i = 0; written && i < chunks.size(); ++i) written = WriteAll(fd, chunks[i]);
  if (fd >= 0) written = close(fd) == 0 && written;
  if (!written || renameat(fd_, part.c_str(), fd_, NameOf(key, kind).c_str()) != 0) {
    if (fd >= 0) unlinkat(fd_, part.c_str(), 0);
    ++Count().failures;
    return;
  }
  ++Count().stores;
  std::lock_guard<std::mutex> lock(mutex_);
  used_ = used_ == UINT64_MAX ? Shrink(UINT64_MAX) : used_ + size;
  if (used_ <= limit_) return;
  used_ = Shrink(UINT64_MAX);
  // Somewhat below the limit, so that not every store has to look through the folder.
  if (used_ > limit_) used_ = Shrink(limit_ - limit_ / 8);
}

uint64_t CompileCache::Shrink(uint64_t target) {
  struct File {
    std::string name;
    uint64_t size;
    timespec used;
  };
  std::vector<File> files;
  uint64_t total = 0;
  const int copy = openat(fd_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* folder = copy >= 0 ? fdopendir(copy) : nullptr;
  if (folder == nullptr) {
    if (copy >= 0) close(copy);
    return 0;
  }
  while (const dirent* item = readdir(folder)) {
    const std::string name = item->d_name;
    struct stat info{};
    if (fstatat(fd_, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(info.st_mode)) {
      continue;
    }
    if (name.rfind(".part-", 0) == 0) {
      if (info.st_mtime + kStaleSeconds < std::time(nullptr)) unlinkat(fd_, name.c_str(), 0);
      continue;
    }
    if (!IsEntryName(name)) continue;  // not ours
    files.push_back({name, static_cast<uint64_t>(info.st_size), info.st_mtim});
    total += files.back().size;
  }
  closedir(folder);
  if (total <= target) return total;
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) {
    return a.used.tv_sec != b.used.tv_sec ? a.used.tv_sec < b.used.tv_sec
                                          : a.used.tv_nsec < b.used.tv_nsec;
  });
  for (const File& file : files) {
    if (total <= target) break;
    if (unlinkat(fd_, file.name.c_str(), 0) == 0) ++Count().evictions;
    total -= file.size;
  }
  return total;
}

CacheStats CompileCache::Stats() {
  Counters& c = Count();
  return {c.hits, c.misses, c.stores, c.evictions, c.damaged, c.failures};
}

}  // namespace codegen
}  // namespace tvm
