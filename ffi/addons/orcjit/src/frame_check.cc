// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "frame_check.h"

#include <llvm/Support/Endian.h>

#include <map>
#include <optional>

namespace tvm {
namespace ffi {
namespace orcjit {
namespace {

// Encodings of pointers, from the Linux Standard Base; those that the linker knows.
constexpr uint8_t kOmit = 0xFF, kIndirect = 0x80, kRelative = 0x10, kFormat = 0x0F;

/// Bytes of a pointer; nothing if the encoding is unknown.
std::optional<size_t> PointerSize(uint8_t encoding) {
  if ((encoding & 0x70 & ~kRelative) != 0) return std::nullopt;
  switch (encoding & kFormat) {
    case 0x00:  // native
    case 0x04:  // udata8
    case 0x0C:  // sdata8
      return 8;
    case 0x03:  // udata4
    case 0x0B:  // sdata4
      return 4;
    default:
      return std::nullopt;
  }
}

class Reader {
 public:
  explicit Reader(llvm::ArrayRef<uint8_t> bytes) : bytes_(bytes) {}

  bool failed() const { return failed_; }
  size_t left() const { return bytes_.size(); }

  uint8_t Byte() {
    if (!Has(1)) return 0;
    const uint8_t value = bytes_[0];
    bytes_ = bytes_.drop_front();
    return value;
  }
  void Leb128() {
    while ((Byte() & 0x80) != 0) {
    }
  }
  uint64_t SmallLeb128() {
    const uint8_t value = Byte();
    if ((value & 0x80) != 0) failed_ = true;
    return value;
  }
  void Skip(size_t n) {
    if (Has(n)) bytes_ = bytes_.drop_front(n);
  }

 private:
  bool Has(size_t n) {
    if (bytes_.size() < n) failed_ = true;
    return !failed_;
  }

  llvm::ArrayRef<uint8_t> bytes_;
  bool failed_ = false;
};

/// What a common record (CIE) says of the records (FDE) that use it.
struct Common {
  bool has_length = false;
  size_t pointer_size = 8;
  uint8_t language_data = kOmit;
};

std::optional<Common> ReadCommon(llvm::ArrayRef<uint8_t> record) {
  Reader reader(record);
  if (reader.Byte() != 1) return std::nullopt;
  std::string augmentation;
  while (const uint8_t letter = reader.Byte()) augmentation.push_back(static_cast<char>(letter));
  reader.Leb128();       // code alignment
  reader.Leb128();       // data alignment
  reader.SmallLeb128();  // return address register
  Common common;
  size_t expected_left = 0;
  for (const char letter : augmentation) {
    std::optional<size_t> size = 0;
    if (letter == 'z') {
      if (common.has_length) return std::nullopt;
      common.has_length = true;
      const uint64_t length = reader.SmallLeb128();
      if (reader.failed() || length > reader.left()) return std::nullopt;
      expected_left = reader.left() - length;
      continue;
    }
    if (!common.has_length) return std::nullopt;
    if (letter == 'R') {
      const uint8_t encoding = reader.Byte();
      size = PointerSize(encoding);
      if (!size || (encoding & kIndirect) != 0) return std::nullopt;
      common.pointer_size = *size;
    } else if (letter == 'L') {
      common.language_data = reader.Byte();
      if (common.language_data != kOmit) size = PointerSize(common.language_data);
    } else if (letter == 'P') {
      size = PointerSize(reader.Byte());
      if (size) reader.Skip(*size);
    } else if (letter != 'S' && letter != 'B') {
      return std::nullopt;
    }
    if (!size) return std::nullopt;
  }
  if (reader.failed() || (common.has_length && reader.left() != expected_left)) return std::nullopt;
  return common;
}

bool CheckRecord(llvm::ArrayRef<uint8_t> record, const Common& common) {
  Reader reader(record);
  reader.Skip(2 * common.pointer_size);  // begin and size of the code
  if (common.has_length) {
    const uint64_t length = reader.SmallLeb128();
    if (common.language_data != kOmit && length != *PointerSize(common.language_data)) return false;
    reader.Skip(length);
  }
  return !reader.failed();
}

}  // namespace

std::string CheckFrames(llvm::ArrayRef<uint8_t> table) {
  std::map<size_t, Common> commons;  // by offset
  size_t at = 0;
  auto bad = [&](const char* what) { return "record at " + std::to_string(at) + ": " + what; };
  while (at < table.size()) {
    if (table.size() - at < 4) return bad("cut off");
    const uint64_t length = llvm::support::endian::read32le(table.data() + at);
    if (length == 0) {
      if (table.size() - at != 4) return bad("the end lies before the end of the section");
      break;
    }
    if (length % 4 != 0 || length < 8 || length > table.size() - at - 4) return bad("wrong length");
    const uint64_t id = llvm::support::endian::read32le(table.data() + at + 4);
    const llvm::ArrayRef<uint8_t> body = table.slice(at + 8, length - 4);
    if (id == 0) {
      const std::optional<Common> common = ReadCommon(body);
      if (!common) return bad("unknown form");
      commons[at] = *common;
    } else {
      auto common = id <= at + 4 ? commons.find(at + 4 - id) : commons.end();
      if (common == commons.end()) return bad("belongs to no common record");
      if (!CheckRecord(body, common->second)) return bad("unknown form");
    }
    at += 4 + length;
  }
  return "";
}

}  // namespace orcjit
}  // namespace ffi
}  // namespace tvm
