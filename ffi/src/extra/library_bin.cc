// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "library_bin.h"

#include <string>
#include <utility>

namespace tvm {
namespace ffi {
namespace {

/// Reads forward and never past the end; the first failure is kept and later reads do nothing.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}

  bool ok() const { return error_.empty(); }
  const std::string& error() const { return error_; }
  size_t position() const { return position_; }
  size_t left() const { return bytes_.size() - position_; }

  void Fail(const std::string& what, size_t position) {
    if (ok())
      error_ =
          what + " at byte " + std::to_string(position) + " of " + std::to_string(bytes_.size());
  }

  uint64_t ReadWord(const char* what) {
    if (!ok()) return 0;
    if (left() < 8) {
      Fail(std::string("expected the 8 bytes of ") + what + ", found " + std::to_string(left()),
           position_);
      return 0;
    }
    uint64_t word = 0;
    for (int i = 0; i < 8; ++i) {
      word |=
          static_cast<uint64_t>(static_cast<uint8_t>(bytes_[position_ + static_cast<size_t>(i)]))
          << (8 * i);
    }
    position_ += 8;
    return word;
  }

  std::vector<uint64_t> ReadWords(const char* what) {
    const size_t start = position_;
    const uint64_t count = ReadWord(what);
    std::vector<uint64_t> words;
    if (!ok()) return words;
    if (count > left() / 8) {
      Fail(std::string("length of ") + what + " is " + std::to_string(count) + " words, but only " +
               std::to_string(left()) + " bytes follow",
           start);
      return words;
    }
    words.reserve(count);
    for (uint64_t i = 0; i < count; ++i) words.push_back(ReadWord(what));
    return words;
  }

  std::string_view ReadBytes(const char* what) {
    const size_t start = position_;
    const uint64_t size = ReadWord(what);
    if (!ok()) return {};
    if (size > left()) {
      Fail(std::string("length of ") + what + " is " + std::to_string(size) + ", but only " +
               std::to_string(left()) + " bytes follow",
           start);
      return {};
    }
    std::string_view content = bytes_.substr(position_, size);
    position_ += size;
    return content;
  }

 private:
  std::string_view bytes_;
  size_t position_ = 0;
  std::string error_;
};

/// Rows must cover the indices in order, indices must name modules.
void CheckImportTree(const LibraryBin& bin, ByteReader* reader, size_t indices_start) {
  const auto& indptr = bin.import_indptr;
  const uint64_t num_modules = indptr.size() - 1;
  for (size_t i = 0; i < indptr.size(); ++i) {
    const uint64_t lower = i == 0 ? 0 : indptr[i - 1];
    const bool bad_end = i + 1 == indptr.size() && indptr[i] != bin.import_indices.size();
    if (indptr[i] < lower || indptr[i] > bin.import_indices.size() || (i == 0 && indptr[i] != 0) ||
        bad_end) {
      reader->Fail("import row bound " + std::to_string(i) + " is " + std::to_string(indptr[i]) +
                       ", expected non-decreasing bounds from 0 to " +
                       std::to_string(bin.import_indices.size()),
                   8 + 8 * i);
      return;
    }
  }
  for (size_t i = 0; i < bin.import_indices.size(); ++i) {
    if (bin.import_indices[i] >= num_modules) {
      reader->Fail("imported module number is " + std::to_string(bin.import_indices[i]) +
                       ", expected less than " + std::to_string(num_modules),
                   indices_start + 8 + 8 * i);
      return;
    }
  }
}

}  // namespace

bool ParseLibraryBin(std::string_view bytes, LibraryBin* bin, std::string* error) {
  ByteReader reader(bytes);
  bin->import_indptr = reader.ReadWords("the import row bounds");
  const size_t indices_start = reader.position();
  bin->import_indices = reader.ReadWords("the imported module numbers");
  if (reader.ok() && bin->import_indptr.size() < 2) {
    reader.Fail("the import row bounds describe no module", 0);
  }
  if (reader.ok()) CheckImportTree(*bin, &reader, indices_start);
  for (size_t i = 0; reader.ok() && i + 1 < bin->import_indptr.size(); ++i) {
    LibraryBinModule module;
    module.kind = reader.ReadBytes("a module kind");
    if (module.kind != kLibraryBinSelf) module.body = reader.ReadBytes("a module body");
    bin->modules.push_back(module);
  }
  if (reader.ok() && reader.left() != 0) {
    reader.Fail(std::to_string(reader.left()) + " unexpected bytes after the last module",
                reader.position());
  }
  *error = reader.error();
  return reader.ok();
}

}  // namespace ffi
}  // namespace tvm
