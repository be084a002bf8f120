// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "tune/database.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <tvm/ffi/error.h>
#include <tvm/runtime/logging.h>
#include <tvm/support/hash.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <utility>

namespace tvm {
namespace tune {
namespace {

constexpr size_t kMaxFile = size_t{256} << 20;
/// Damaged lines that are named one by one.
constexpr size_t kMaxNamed = 5;

/// An open file, with a lock on it that ends with this object.
class LockedFile {
 public:
  LockedFile(const std::string& path, int flags, int lock) : path_(path) {
    // Without O_NONBLOCK the open of a pipe would wait for its other end.
    fd_ = open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK, 0644);
    if (fd_ < 0) return;
    if (fstat(fd_, &info_) != 0 || !S_ISREG(info_.st_mode)) Fail("is no regular file");
    // A file system without locks still appends whole lines, as each is one write.
    while (flock(fd_, lock) != 0 && errno == EINTR) {
    }
    // Another process may have added to it while this one waited.
    if (fstat(fd_, &info_) != 0) Fail(std::strerror(errno));
  }
  ~LockedFile() {
    if (fd_ >= 0) close(fd_);
  }
  LockedFile(const LockedFile&) = delete;

  bool is_open() const { return fd_ >= 0; }
  int fd() const { return fd_; }
  size_t size() const { return static_cast<size_t>(info_.st_size); }
  const struct stat& info() const { return info_; }

  [[noreturn]] void Fail(const std::string& why) {
    // The constructor fails as well, and then there is no destructor.
    if (fd_ >= 0) close(std::exchange(fd_, -1));
    TVM_FFI_THROW(RuntimeError) << path_ << ": tuning records: " << why;
    TVM_FFI_UNREACHABLE();
  }

 private:
  const std::string& path_;
  int fd_ = -1;
  struct stat info_{};
};

std::string ReadAll(LockedFile* file) {
  if (file->size() > kMaxFile) {
    file->Fail("larger than " + std::to_string(kMaxFile >> 20) + " MiB");
  }
  std::string text(file->size(), '\0');
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = read(file->fd(), text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) file->Fail(std::strerror(errno));
    if (n == 0) break;
    done += static_cast<size_t>(n);
  }
  text.resize(done);
  return text;
}

/// What tells a file from its later states.
using Identity = std::array<int64_t, 5>;

Identity IdentityOf(const struct stat& info) {
  return {static_cast<int64_t>(info.st_dev), static_cast<int64_t>(info.st_ino),
          static_cast<int64_t>(info.st_size), static_cast<int64_t>(info.st_mtim.tv_sec),
          static_cast<int64_t>(info.st_mtim.tv_nsec)};
}

}  // namespace

Database Database::FromText(std::string_view text, const std::string& name) {
  Database result;
  size_t number = 0;
  while (!text.empty()) {
    ++number;
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.empty()) continue;
    TuneRecord record;
    std::string why;
    switch (ReadRecord(line, &record, &why)) {
      case ReadResult::kRecord: {
        const std::string key = record.key;
        if (record.error.empty()) {
          result.records_[key] = std::move(record);
        } else {
          result.failed_[key].insert(kernels::KnobsText(record.knobs));
        }
        break;
      }
      case ReadResult::kOtherVersion:
        ++result.other_versions_;
        break;
      case ReadResult::kDamaged:
        if (++result.damaged_ <= kMaxNamed) {
          LOG(WARNING) << name << ":" << number << ": a damaged tuning record is skipped: " << why;
        }
    }
  }
  if (result.damaged_ > kMaxNamed) {
    LOG(WARNING) << name << ": " << result.damaged_ << " damaged tuning records in all";
  }
  if (result.other_versions_ > 0) {
    LOG(WARNING) << name << ": " << result.other_versions_
                 << " tuning records of another version than " << kRecordVersion << " are skipped";
  }
  return result;
}

std::shared_ptr<const Database> Database::Read(const std::string& path) {
  static std::mutex mutex;
  static auto* last = new std::pair<Identity, std::shared_ptr<const Database>>();
  LockedFile file(path, O_RDONLY, LOCK_SH);
  if (!file.is_open()) {
    if (errno == ENOENT) return std::make_shared<Database>();
    file.Fail(std::strerror(errno));
  }
  const Identity identity = IdentityOf(file.info());
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (last->second != nullptr && last->first == identity) return last->second;
  }
  auto database = std::make_shared<const Database>(FromText(ReadAll(&file), path));
  std::lock_guard<std::mutex> lock(mutex);
  *last = {identity, database};
  return database;
}

const TuneRecord* Database::Find(const std::string& key) const {
  auto it = records_.find(key);
  return it == records_.end() ? nullptr : &it->second;
}

const std::set<std::string>& Database::Failed(const std::string& key) const {
  static const auto* none = new std::set<std::string>();
  auto it = failed_.find(key);
  return it == failed_.end() ? *none : it->second;
}

std::string Database::Digest() const {
  support::Sha256 digest;
  bool any = false;
  for (const auto& [key, record] : records_) {
    if (record.knobs.empty()) continue;
    any = true;
    digest.Update(key + " " + record.rule + " " + kernels::KnobsText(record.knobs) + "\n");
  }
  return any ? support::ToHex(digest.Finish()) : "";
}

void AppendRecord(const std::string& path, const TuneRecord& record) {
  std::string line = WriteRecord(record);
  LockedFile file(path, O_RDWR | O_APPEND | O_CREAT, LOCK_EX);
  if (!file.is_open()) file.Fail(std::strerror(errno));
  // What a crash of another program left half written stays a line of its own.
  char last = '\n';
  if (file.size() > 0 && pread(file.fd(), &last, 1, file.info().st_size - 1) != 1) {
    file.Fail(std::strerror(errno));
  }
  if (last != '\n') line.insert(line.begin(), '\n');
  ssize_t written = 0;
  do {
    written = write(file.fd(), line.data(), line.size());
  } while (written < 0 && errno == EINTR);
  if (written == static_cast<ssize_t>(line.size())) return;
  const std::string why = written < 0 ? std::strerror(errno) : "the disk is full";
  // A part of a line is of no use to anyone.
  if (written > 0 && ftruncate(file.fd(), file.info().st_size) != 0) file.Fail(why);
  file.Fail(why);
}

}  // namespace tune
}  // namespace tvm
