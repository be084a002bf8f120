// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file byte_io.h
/// Little-endian binary writer and bounds-checked reader over memory.
///
/// Every reader of bytes from outside goes through ByteReader: no operation reads past the end,
/// each returns false instead, and a count is checked against what is left before anything of
/// that size is allocated.
#ifndef TVM_SUPPORT_BYTE_IO_H_
#define TVM_SUPPORT_BYTE_IO_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tvm {
namespace support {

static_assert(std::endian::native == std::endian::little,
              "serialized formats are little-endian; a big-endian host needs byte swaps here");

/// Appends values to a string.
class ByteWriter {
 public:
  explicit ByteWriter(std::string* out) : out_(out) {}

  template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
  void Write(T value) {
    out_->append(reinterpret_cast<const char*>(&value), sizeof(T));
  }
  void WriteRaw(const void* data, size_t size) {
    if (size != 0) out_->append(static_cast<const char*>(data), size);
  }
  /// u64 length, then the bytes.
  void WriteString(std::string_view s) {
    Write<uint64_t>(s.size());
    WriteRaw(s.data(), s.size());
  }
  template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
  void WriteVector(const std::vector<T>& v) {
    Write<uint64_t>(v.size());
    WriteRaw(v.data(), v.size() * sizeof(T));
  }
  void WriteStrings(const std::vector<std::string>& v) {
    Write<uint64_t>(v.size());
    for (const std::string& s : v) WriteString(s);
  }
  size_t size() const { return out_->size(); }

 private:
  std::string* out_;
};

/// Reads values from a span; each method returns false at the first byte that is missing.
class ByteReader {
 public:
  ByteReader(const void* data, size_t size) : begin_(static_cast<const char*>(data)), size_(size) {}
  explicit ByteReader(std::string_view s) : ByteReader(s.data(), s.size()) {}

  size_t offset() const { return offset_; }
  size_t remaining() const { return size_ - offset_; }
  bool AtEnd() const { return offset_ == size_; }

  template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
  [[nodiscard]] bool Read(T* value) {
    if (remaining() < sizeof(T)) return false;
    std::memcpy(value, begin_ + offset_, sizeof(T));
    offset_ += sizeof(T);
    return true;
  }
  [[nodiscard]] bool ReadRaw(void* out, size_t size) {
    if (remaining() < size) return false;
    if (size != 0) std::memcpy(out, begin_ + offset_, size);
    offset_ += size;
    return true;
  }
  /// A view into the input, valid as long as the input is.
  [[nodiscard]] bool ReadView(size_t size, std::string_view* out) {
    if (remaining() < size) return false;
    *out = std::string_view(begin_ + offset_, size);
    offset_ += size;
    return true;
  }
  [[nodiscard]] bool ReadStringView(std::string_view* out) {
    uint64_t size;
    return Read(&size) && size <= remaining() && ReadView(static_cast<size_t>(size), out);
  }
  [[nodiscard]] bool ReadString(std::string* out) {
    std::string_view view;
    if (!ReadStringView(&view)) return false;
    out->assign(view.data(), view.size());
    return true;
  }
  /// Reads a u64 count of items that take at least min_item_bytes each.
  [[nodiscard]] bool ReadCount(uint64_t* count, size_t min_item_bytes) {
    return Read(count) && *count <= remaining() / min_item_bytes;
  }
  template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
  [[nodiscard]] bool ReadVector(std::vector<T>* out) {
    uint64_t count;
    if (!ReadCount(&count, sizeof(T))) return false;
    out->resize(static_cast<size_t>(count));
    return ReadRaw(out->data(), out->size() * sizeof(T));
  }
  [[nodiscard]] bool ReadStrings(std::vector<std::string>* out) {
    uint64_t count;
    if (!ReadCount(&count, sizeof(uint64_t))) return false;
    out->resize(static_cast<size_t>(count));
    for (std::string& s : *out) {
      if (!ReadString(&s)) return false;
    }
    return true;
  }
  [[nodiscard]] bool Skip(size_t size) {
    if (remaining() < size) return false;
    offset_ += size;
    return true;
  }

 private:
  const char* begin_;
  size_t size_;
  size_t offset_ = 0;
};

}  // namespace support
}  // namespace tvm

#endif  // TVM_SUPPORT_BYTE_IO_H_
