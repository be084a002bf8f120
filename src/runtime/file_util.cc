// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file file_util.cc
/// File access through the C library.
#include "runtime/file_util.h"

#include <sys/stat.h>
#include <tvm/runtime/logging.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace tvm {
namespace runtime {

namespace {
struct FileCloser {
  void operator()(std::FILE* f) const { std::fclose(f); }
};
using File = std::unique_ptr<std::FILE, FileCloser>;

/// The C library would take such a path for the one before its first zero byte.
void CheckPath(const std::string& path) {
  TVM_REQUIRE(path.find('\0') == std::string::npos, ValueError)
      << "the path of a file has a zero byte: " << path.c_str() << "\\0...";
}

bool IsFolder(const std::string& path) {
  struct stat info{};
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

}  // namespace

std::string ReadFile(const std::string& path) {
  CheckPath(path);
  TVM_REQUIRE(!IsFolder(path), ValueError) << "cannot read " << path << ": it is a folder";
  File file(std::fopen(path.c_str(), "rb"));
  TVM_REQUIRE(file != nullptr, ValueError)
      << "cannot open file " << path << ": " << std::strerror(errno);
  std::string out;
  // A regular file's size is known; anything else grows as it comes.
  if (std::fseek(file.get(), 0, SEEK_END) == 0) {
    long size = std::ftell(file.get());  // NOLINT(runtime/int)
    if (size > 0) out.reserve(static_cast<size_t>(size) + 1);
    std::rewind(file.get());
  }
  constexpr size_t kChunk = size_t{1} << 20;
  for (;;) {
    size_t at = out.size();
    out.resize(at + kChunk > out.capacity() && at < out.capacity() ? out.capacity() : at + kChunk);
    size_t got = std::fread(out.data() + at, 1, out.size() - at, file.get());
    bool end = got < out.size() - at;
    out.resize(at + got);
    if (end) break;
  }
  TVM_REQUIRE(std::ferror(file.get()) == 0, ValueError)
      << "cannot read file " << path << ": " << std::strerror(errno);
  return out;
}

void WriteFile(const std::string& path, std::string_view data) {
  CheckPath(path);
  struct stat info{};
  TVM_REQUIRE(stat(path.c_str(), &info) != 0 || S_ISREG(info.st_mode), ValueError)
      << "cannot write " << path << ": it is a folder or a device, expected a file";
  std::string temp = path + ".tmp" + std::to_string(getpid());
  File file(std::fopen(temp.c_str(), "wb"));
  TVM_REQUIRE(file != nullptr, ValueError)
      << "cannot create file " << temp << ": " << std::strerror(errno);
  bool ok = std::fwrite(data.data(), 1, data.size(), file.get()) == data.size();
  ok = std::fclose(file.release()) == 0 && ok;
  ok = ok && std::rename(temp.c_str(), path.c_str()) == 0;
  if (!ok) {
    int error = errno;
    std::remove(temp.c_str());
    TVM_FFI_THROW(ValueError) << "cannot write file " << path << ": " << std::strerror(error);
  }
}

}  // namespace runtime
}  // namespace tvm
