// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file elf_reader.h
/// Reads a 64-bit little-endian ELF shared library without executing or mapping its code. Any
/// input gives either an image or an error; nothing outside the given bytes is read.
#ifndef TVM_RUNTIME_ELF_READER_H_
#define TVM_RUNTIME_ELF_READER_H_

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tvm {
namespace runtime {

struct ElfSegment {
  uint32_t type;
  uint32_t flags;
  uint64_t offset;
  uint64_t vaddr;
  uint64_t file_size;
  uint64_t mem_size;
  uint64_t align;
};

struct ElfSymbol {
  std::string_view name;
  uint64_t value;
  uint64_t size;
  bool defined;
};

/// Content of the note that exported libraries carry; see tvm/runtime/library_note.h.
struct ElfLibraryNote {
  uint32_t format_version = 0;
  uint32_t abi_version = 0;
  std::array<uint8_t, 16> digest{};
  /// Where the digest lies in the file.
  uint64_t digest_offset = 0;
  std::string_view features;
  std::string_view target;
};

class ElfImage {
 public:
  /// Views into bytes, which must outlive the image. On failure writes what is wrong and where.
  static bool Parse(std::string_view bytes, ElfImage* image, std::string* error);

  uint16_t machine() const { return machine_; }
  const std::vector<ElfSegment>& segments() const { return segments_; }
  /// Names of the libraries that this one needs.
  const std::vector<std::string_view>& needed() const { return needed_; }
  /// The dynamic symbol table.
  const std::vector<ElfSymbol>& symbols() const { return symbols_; }
  const ElfSymbol* FindSymbol(std::string_view name) const;
  bool has_note() const { return has_note_; }
  const ElfLibraryNote& note() const { return note_; }
  /// File bytes of [vaddr, end of its segment's file part); false if none map there.
  bool BytesAt(uint64_t vaddr, std::string_view* out) const;
  /// What the note's digest must be. `done` is told each range of the file that was read.
  std::array<uint8_t, 16> ComputeDigest(
      const std::function<void(uint64_t begin, uint64_t end)>& done = nullptr) const;

 private:
  friend class ElfParser;
  std::string_view bytes_;
  uint16_t machine_ = 0;
  std::vector<ElfSegment> segments_;
  std::vector<std::string_view> needed_;
  std::vector<ElfSymbol> symbols_;
  bool has_note_ = false;
  ElfLibraryNote note_;
};

/// The machine code that this process runs, as ELF numbers it; 0 if unknown.
uint16_t HostElfMachine();
std::string ElfMachineName(uint16_t machine);

/// A file's bytes, mapped for reading. Raises RuntimeError.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::string_view bytes() const { return bytes_; }
  /// Lets go of the memory of a range; it is read from the file again when needed.
  void Release(uint64_t begin, uint64_t end) const;

 private:
  std::string_view bytes_;
};

}  // namespace runtime
}  // namespace tvm

#endif  // TVM_RUNTIME_ELF_READER_H_
