// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file elf_reader.cc
/// Parser of ELF headers, segments, dynamic section and notes (System V ABI, gABI 4.1).
#include "runtime/elf_reader.h"

#include <tvm/runtime/library_note.h>
#include <tvm/support/hash.h>

#include <algorithm>
#include <cstring>

namespace tvm {
namespace runtime {

namespace {

// File layout: offsets and sizes of the structures of ELFCLASS64.
constexpr size_t kHeaderSize = 64;
constexpr size_t kProgramHeaderSize = 56;
constexpr size_t kDynamicSize = 16;
constexpr size_t kSymbolSize = 24;
constexpr uint16_t kTypeShared = 3;
constexpr uint32_t kLoad = 1;
constexpr uint32_t kDynamic = 2;
constexpr uint32_t kNote = 4;
/// Libraries have a dozen; the limit only stops nonsense.
constexpr size_t kMaxSegments = 256;

constexpr int64_t kTagNeeded = 1;
constexpr int64_t kTagHash = 4;
constexpr int64_t kTagStrTab = 5;
constexpr int64_t kTagSymTab = 6;
constexpr int64_t kTagStrSize = 10;
constexpr int64_t kTagSymEntry = 11;
constexpr int64_t kTagGnuHash = 0x6ffffef5;

}  // namespace

class ElfParser {
 public:
  ElfParser(std::string_view bytes, ElfImage* image, std::string* error)
      : bytes_(bytes), image_(image), error_(error) {}

  bool Run() {
    image_->bytes_ = bytes_;
    return Header() && Segments() && Dynamic() && Notes();
  }

 private:
  bool Fail(const std::string& what) {
    *error_ = what;
    return false;
  }

  template <typename T>
  static bool ReadAt(std::string_view data, uint64_t offset, T* out) {
    if (offset > data.size() || data.size() - offset < sizeof(T)) return false;
    std::memcpy(out, data.data() + offset, sizeof(T));
    return true;
  }

  bool Range(uint64_t offset, uint64_t size, std::string_view* out) const {
    if (offset > bytes_.size() || size > bytes_.size() - offset) return false;
    *out = bytes_.substr(static_cast<size_t>(offset), static_cast<size_t>(size));
    return true;
  }

  bool Header() {
    if (bytes_.size() < kHeaderSize) {
      return Fail("expected an ELF header of 64 bytes, found a file of " +
                  std::to_string(bytes_.size()) + " bytes");
    }
    if (bytes_.substr(0, 4) != std::string_view("\x7f"
                                                "ELF",
                                                4)) {
      return Fail("expected an ELF file, found other content at byte 0");
    }
    if (bytes_[4] != 2) return Fail("expected a 64-bit ELF file at byte 4");
    if (bytes_[5] != 1) return Fail("expected a little-endian ELF file at byte 5");
    if (bytes_[6] != 1) return Fail("expected ELF version 1 at byte 6");
    uint16_t type = 0, machine = 0, ph_size = 0, ph_count = 0;
    uint64_t ph_offset = 0;
    ReadAt(bytes_, 16, &type);
    ReadAt(bytes_, 18, &machine);
    ReadAt(bytes_, 32, &ph_offset);
    ReadAt(bytes_, 54, &ph_size);
    ReadAt(bytes_, 56, &ph_count);
    if (type != kTypeShared) {
      return Fail("expected a shared library (ELF type 3) at byte 16, found type " +
                  std::to_string(type));
    }
    image_->machine_ = machine;
    if (ph_size != kProgramHeaderSize) {
      return Fail("expected program headers of 56 bytes, found " + std::to_string(ph_size));
    }
    if (ph_count == 0 || ph_count > kMaxSegments) {
      return Fail("expected between 1 and 256 segments, found " + std::to_string(ph_count));
    }
    if (!Range(ph_offset, ph_size * static_cast<uint64_t>(ph_count), &program_headers_)) {
      return Fail("the program headers at byte " + std::to_string(ph_offset) +
                  " lie outside the file");
    }
    return SectionTable();
  }

  /// Sections are not loaded, but a table past the end tells a file that was cut short.
  bool SectionTable() {
    uint64_t offset = 0;
    uint16_t size = 0, count = 0;
    ReadAt(bytes_, 40, &offset);
    ReadAt(bytes_, 58, &size);
    ReadAt(bytes_, 60, &count);
    std::string_view table;
    if (offset != 0 && !Range(offset, static_cast<uint64_t>(size) * count, &table)) {
      return Fail("the file is cut short: its section headers at byte " + std::to_string(offset) +
                  " lie outside of the " + std::to_string(bytes_.size()) + " bytes that it has");
    }
    return true;
  }

  bool Segments() {
    uint64_t previous_end = 0;
    bool any_load = false;
    for (size_t at = 0; at < program_headers_.size(); at += kProgramHeaderSize) {
      ElfSegment s{};
      ReadAt(program_headers_, at + 0, &s.type);
      ReadAt(program_headers_, at + 4, &s.flags);
      ReadAt(program_headers_, at + 8, &s.offset);
      ReadAt(program_headers_, at + 16, &s.vaddr);
      ReadAt(program_headers_, at + 32, &s.file_size);
      ReadAt(program_headers_, at + 40, &s.mem_size);
      ReadAt(program_headers_, at + 48, &s.align);
      std::string name = "segment " + std::to_string(at / kProgramHeaderSize);
      std::string_view content;
      if (!Range(s.offset, s.file_size, &content)) {
        return Fail(name + " takes bytes from " + std::to_string(s.offset) +
                    " to past the end of "
                    "the file, which has " +
                    std::to_string(bytes_.size()) + " bytes");
      }
      if (s.type == kLoad) {
        if (s.mem_size < s.file_size || s.vaddr + s.mem_size < s.vaddr) {
          return Fail(name + " has a wrong size in memory");
        }
        bool power_of_two = (s.align & (s.align - 1)) == 0;
        if (!power_of_two || (s.align > 1 && s.offset % s.align != s.vaddr % s.align)) {
          return Fail(name + " has a wrong alignment");
        }
        if (any_load && s.vaddr < previous_end) {
          return Fail(name + " overlaps the one before, or is out of order");
        }
        previous_end = s.vaddr + s.mem_size;
        any_load = true;
      }
      image_->segments_.push_back(s);
    }
    return any_load || Fail("the library has no segment to load");
  }

  bool Dynamic() {
    const ElfSegment* dynamic = nullptr;
    for (const ElfSegment& s : image_->segments_) {
      if (s.type == kDynamic) dynamic = &s;
    }
    if (dynamic == nullptr) return Fail("the library has no dynamic section");
    std::string_view table = bytes_.substr(static_cast<size_t>(dynamic->offset),
                                           static_cast<size_t>(dynamic->file_size));
    std::vector<uint64_t> needed;
    uint64_t str_addr = 0, str_size = 0, sym_addr = 0, hash_addr = 0, gnu_hash_addr = 0;
    for (size_t at = 0; at + kDynamicSize <= table.size(); at += kDynamicSize) {
      int64_t tag = 0;
      uint64_t value = 0;
      ReadAt(table, at, &tag);
      ReadAt(table, at + 8, &value);
      if (tag == 0) break;
      if (tag == kTagNeeded) needed.push_back(value);
      if (tag == kTagStrTab) str_addr = value;
      if (tag == kTagStrSize) str_size = value;
      if (tag == kTagSymTab) sym_addr = value;
      if (tag == kTagHash) hash_addr = value;
      if (tag == kTagGnuHash) gnu_hash_addr = value;
      if (tag == kTagSymEntry && value != kSymbolSize) {
        return Fail("expected dynamic symbols of 24 bytes, found " + std::to_string(value));
      }
    }
    if (!image_->BytesAt(str_addr, &strings_) || strings_.size() < str_size) {
      return Fail("the dynamic string table lies outside the file");
    }
    strings_ = strings_.substr(0, static_cast<size_t>(str_size));
    for (uint64_t at : needed) {
      std::string_view name;
      if (!String(at, &name)) return Fail("the name of a needed library lies outside its table");
      image_->needed_.push_back(name);
    }
    size_t count = 0;
    if (hash_addr != 0) {
      if (!CountByHash(hash_addr, &count)) return Fail("the symbol hash table is damaged");
    } else if (gnu_hash_addr != 0) {
      if (!CountByGnuHash(gnu_hash_addr, &count)) {
        return Fail("the GNU symbol hash table is damaged");
      }
    }
    return count == 0 || Symbols(sym_addr, count);
  }

  bool String(uint64_t at, std::string_view* out) const {
    if (at >= strings_.size()) return false;
    size_t end = strings_.find('\0', static_cast<size_t>(at));
    if (end == std::string_view::npos) return false;
    *out = strings_.substr(static_cast<size_t>(at), end - static_cast<size_t>(at));
    return true;
  }

  bool CountByHash(uint64_t addr, size_t* count) const {
    std::string_view table;
    uint32_t chains = 0;
    if (!image_->BytesAt(addr, &table) || !ReadAt(table, 4, &chains)) return false;
    *count = chains;
    return true;
  }

  /// The GNU table does not store the count: it ends with the last chain's end mark.
  bool CountByGnuHash(uint64_t addr, size_t* count) const {
    std::string_view table;
    uint32_t num_buckets = 0, first = 0, bloom = 0;
    if (!image_->BytesAt(addr, &table) || !ReadAt(table, 0, &num_buckets) ||
        !ReadAt(table, 4, &first) || !ReadAt(table, 8, &bloom)) {
      return false;
    }
    uint64_t buckets = 16 + uint64_t{8} * bloom;
    uint64_t chains = buckets + uint64_t{4} * num_buckets;
    uint32_t last = 0;
    if (chains > table.size()) return false;
    for (uint32_t i = 0; i < num_buckets; ++i) {
      uint32_t head = 0;
      ReadAt(table, buckets + uint64_t{4} * i, &head);
      last = std::max(last, head);
    }
    if (last < first) {
      *count = first;
      return true;
    }
    for (;; ++last) {
      uint32_t hash = 0;
      if (!ReadAt(table, chains + uint64_t{4} * (last - first), &hash)) return false;
      if ((hash & 1) != 0) break;
    }
    *count = size_t{last} + 1;
    return true;
  }

  bool Symbols(uint64_t addr, size_t count) {
    std::string_view table;
    if (!image_->BytesAt(addr, &table) || table.size() / kSymbolSize < count) {
      return Fail("the dynamic symbol table lies outside the file");
    }
    image_->symbols_.reserve(count);
    // Symbol 0 is the undefined one.
    for (size_t i = 1; i < count; ++i) {
      uint32_t name = 0;
      uint16_t section = 0;
      ElfSymbol symbol{};
      ReadAt(table, i * kSymbolSize, &name);
      ReadAt(table, i * kSymbolSize + 6, &section);
      ReadAt(table, i * kSymbolSize + 8, &symbol.value);
      ReadAt(table, i * kSymbolSize + 16, &symbol.size);
      symbol.defined = section != 0;
      if (!String(name, &symbol.name)) {
        return Fail("the name of symbol " + std::to_string(i) + " lies outside its table");
      }
      image_->symbols_.push_back(symbol);
    }
    return true;
  }

  bool Notes() {
    for (const ElfSegment& s : image_->segments_) {
      if (s.type == kNote && !NotesOf(s)) return false;
    }
    return true;
  }

  bool NotesOf(const ElfSegment& s) {
    std::string_view data =
        bytes_.substr(static_cast<size_t>(s.offset), static_cast<size_t>(s.file_size));
    uint64_t align = s.align == 8 ? 8 : 4;
    auto round_up = [align](uint64_t n) { return (n + align - 1) / align * align; };
    uint64_t at = 0;
    while (at + 12 <= data.size()) {
      uint32_t name_size = 0, desc_size = 0, type = 0;
      ReadAt(data, at, &name_size);
      ReadAt(data, at + 4, &desc_size);
      ReadAt(data, at + 8, &type);
      uint64_t name_at = at + 12;
      uint64_t desc_at = round_up(name_at + name_size);
      uint64_t end = desc_at + desc_size;
      if (end > data.size()) return Fail("a note segment is cut short");
      std::string_view name = data.substr(static_cast<size_t>(name_at), name_size);
      if (name == std::string_view(kLibraryNoteName, sizeof(kLibraryNoteName)) &&
          type == kLibraryNoteType) {
        if (image_->has_note_) return Fail("the library has two notes of OpenTVM");
        if (!LibraryNote(data.substr(static_cast<size_t>(desc_at), desc_size),
                         s.offset + desc_at)) {
          return false;
        }
      }
      at = round_up(end);
    }
    return true;
  }

  bool LibraryNote(std::string_view desc, uint64_t file_offset) {
    ElfLibraryNote& note = image_->note_;
    uint32_t features = 0, target = 0;
    if (desc.size() < kLibraryNoteFixedSize) {
      return Fail("the note of OpenTVM needs at least 32 bytes, found " +
                  std::to_string(desc.size()));
    }
    ReadAt(desc, 0, &note.format_version);
    ReadAt(desc, 4, &note.abi_version);
    std::memcpy(note.digest.data(), desc.data() + kLibraryNoteDigestOffset, kLibraryDigestSize);
    ReadAt(desc, 24, &features);
    ReadAt(desc, 28, &target);
    note.digest_offset = file_offset + kLibraryNoteDigestOffset;
    if (note.format_version == kLibraryNoteVersion) {
      size_t left = desc.size() - kLibraryNoteFixedSize;
      if (features > left || target > left - features) {
        return Fail("the texts of the note of OpenTVM lie outside it");
      }
      note.features = desc.substr(kLibraryNoteFixedSize, features);
      note.target = desc.substr(kLibraryNoteFixedSize + features, target);
    }
    image_->has_note_ = true;
    return true;
  }

  std::string_view bytes_;
  ElfImage* image_;
  std::string* error_;
  std::string_view program_headers_;
  std::string_view strings_;
};

bool ElfImage::Parse(std::string_view bytes, ElfImage* image, std::string* error) {
  *image = ElfImage();
  return ElfParser(bytes, image, error).Run();
}

bool ElfImage::BytesAt(uint64_t vaddr, std::string_view* out) const {
  for (const ElfSegment& s : segments_) {
    if (s.type != kLoad || vaddr < s.vaddr || vaddr - s.vaddr >= s.file_size) continue;
    uint64_t into = vaddr - s.vaddr;
    *out = bytes_.substr(static_cast<size_t>(s.offset + into),
                         static_cast<size_t>(s.file_size - into));
    return true;
  }
  return false;
}

const ElfSymbol* ElfImage::FindSymbol(std::string_view name) const {
  for (const ElfSymbol& s : symbols_) {
    if (s.defined && s.name == name) return &s;
  }
  return nullptr;
}

std::array<uint8_t, 16> ElfImage::ComputeDigest(
    const std::function<void(uint64_t, uint64_t)>& done) const {
  // What is resident at once: a compilation has its largest memory when it writes the library.
  constexpr uint64_t kChunk = uint64_t{512} << 10;
  support::Hasher128 hasher;
  static constexpr char kZeros[kHeaderSize] = {};
  // Zeroed ranges of the file, in order.
  const uint64_t holes[2][2] = {{0, kHeaderSize},
                                {note_.digest_offset, note_.digest_offset + kLibraryDigestSize}};
  for (const ElfSegment& s : segments_) {
    if (s.type != kLoad) continue;
    hasher.Update(&s.vaddr, sizeof(s.vaddr));
    hasher.Update(&s.mem_size, sizeof(s.mem_size));
    hasher.Update(&s.flags, sizeof(s.flags));
    uint64_t at = s.offset, end = s.offset + s.file_size;
    for (const auto& hole : holes) {
      uint64_t lo = std::max(at, hole[0]), hi = std::min(end, hole[1]);
      if (lo >= hi) continue;
      hasher.Update(bytes_.data() + at, static_cast<size_t>(lo - at));
      hasher.Update(kZeros, static_cast<size_t>(hi - lo));
      at = hi;
    }
    for (uint64_t next; at < end; at = next) {
      next = std::min(end, at + kChunk);
      hasher.Update(bytes_.data() + at, static_cast<size_t>(next - at));
      if (done) done(at, next);
    }
  }
  return hasher.Finish();
}

uint16_t HostElfMachine() {
#if defined(__x86_64__)
  return 62;
#elif defined(__aarch64__)
  return 183;
#elif defined(__riscv)
  return 243;
#else
  return 0;
#endif
}

std::string ElfMachineName(uint16_t machine) {
  switch (machine) {
    case 3:
      return "i386";
    case 40:
      return "arm";
    case 62:
      return "x86-64";
    case 183:
      return "aarch64";
    case 243:
      return "riscv";
    case 164:
      return "hexagon";
    default:
      return "machine " + std::to_string(machine);
  }
}

}  // namespace runtime
}  // namespace tvm
