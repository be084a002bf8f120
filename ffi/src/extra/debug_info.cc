// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

/// Reader of ELF symbol tables and DWARF line tables (versions 2 to 5). It takes what the file
/// says with suspicion: every read is bounded, and anything unknown ends in "no line known".
#include "debug_info.h"

#include <dlfcn.h>

#ifdef __ELF__
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>
#endif

namespace tvm {
namespace ffi {
namespace {

#if defined(__ELF__) && defined(__LP64__)

/// Bounded little-endian reads; past the end everything is zero and `ok` false.
class Reader {
 public:
  Reader() = default;
  explicit Reader(std::string_view bytes) : at_(bytes.data()), end_(at_ + bytes.size()) {}

  bool ok() const { return ok_; }
  bool Done() const { return !ok_ || at_ >= end_; }
  const char* at() const { return at_; }

  template <typename T>
  T Read() {
    T value{};
    if (Take(sizeof(T))) std::memcpy(&value, at_ - sizeof(T), sizeof(T));
    return value;
  }
  uint64_t Unsigned(size_t size) {
    uint64_t value = 0;
    if (size <= 8 && Take(size)) std::memcpy(&value, at_ - size, size);
    return value;
  }
  uint64_t Leb() {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = Read<uint8_t>();
      if (shift < 64) value |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if ((byte & 0x80) == 0 || !ok_) return value;
    }
  }
  int64_t SignedLeb() {
    uint64_t value = 0;
    for (int shift = 0;;) {
      const auto byte = Read<uint8_t>();
      if (shift < 64) value |= static_cast<uint64_t>(byte & 0x7F) << shift;
      shift += 7;
      if ((byte & 0x80) == 0 || !ok_) {
        if (shift < 64 && (byte & 0x40) != 0) value |= ~uint64_t{0} << shift;
        return static_cast<int64_t>(value);
      }
    }
  }
  std::string_view Text() {
    if (Done()) {
      ok_ = false;
      return {};
    }
    const void* zero = std::memchr(at_, 0, static_cast<size_t>(end_ - at_));
    if (zero == nullptr) {
      ok_ = false;
      return {};
    }
    std::string_view text(at_, static_cast<size_t>(static_cast<const char*>(zero) - at_));
    at_ += text.size() + 1;
    return text;
  }
  /// The next `size` bytes as a reader of their own.
  Reader Part(uint64_t size) {
    Reader part;
    part.ok_ = Take(size);
    if (part.ok_) {
      part.at_ = at_ - size;
      part.end_ = at_;
    }
    return part;
  }
  void Skip(uint64_t size) { Take(size); }

 private:
  bool Take(uint64_t size) {
    if (!ok_ || size > static_cast<uint64_t>(end_ - at_)) {
      ok_ = false;
      return false;
    }
    at_ += size;
    return true;
  }

  const char* at_ = nullptr;
  const char* end_ = nullptr;
  bool ok_ = true;
};

std::string_view TextAt(std::string_view section, uint64_t offset) {
  if (offset >= section.size()) return {};
  return Reader(section.substr(offset)).Text();
}

struct LineSections {
  std::string_view lines;
  std::string_view line_text;
  std::string_view text;
};

/// Header of one unit of the line table and its program.
struct LineUnit {
  struct File {
    std::string_view name;
    uint64_t directory = 0;
  };
  int version = 0;
  uint8_t min_length = 1;
  int8_t line_base = 0;
  uint8_t line_range = 1;
  uint8_t opcode_base = 1;
  std::vector<uint8_t> operands;  ///< of the standard opcodes
  std::vector<std::string_view> directories;
  std::vector<File> files;
  Reader program;
  uint64_t length = 0;  ///< of the whole unit, its length field included

  std::string PathOf(uint64_t file) const {
    // Files and directories count from 0 since version 5; before, 0 is the unit's own directory.
    const uint64_t first = version >= 5 ? 0 : 1;
    if (file < first || file - first >= files.size()) return {};
    const File& found = files[file - first];
    std::string path(found.name);
    if (!path.empty() && path[0] == '/') return path;
    std::string_view directory;
    if (version >= 5) {
      if (found.directory < directories.size()) directory = directories[found.directory];
    } else if (found.directory >= 1 && found.directory - 1 < directories.size()) {
      directory = directories[found.directory - 1];
    }
    if (directory.empty()) return path;
    path = std::string(directory) + "/" + path;
    if (path[0] != '/' && version >= 5 && !directories.empty() && found.directory != 0) {
      path = std::string(directories[0]) + "/" + path;
    }
    return path;
  }
};

/// One form of a version 5 entry; false for forms that line tables do not use.
bool ReadForm(uint64_t form, bool wide, const LineSections& sections, Reader* in,
              std::string_view* text, uint64_t* number) {
  switch (form) {
    case 0x08:  // string
      *text = in->Text();
      return in->ok();
    case 0x1F:  // line_strp
      *text = TextAt(sections.line_text, in->Unsigned(wide ? 8 : 4));
      return in->ok();
    case 0x0E:  // strp
      *text = TextAt(sections.text, in->Unsigned(wide ? 8 : 4));
      return in->ok();
    case 0x0B:  // data1
      *number = in->Read<uint8_t>();
      return in->ok();
    case 0x05:  // data2
      *number = in->Read<uint16_t>();
      return in->ok();
    case 0x06:  // data4
      *number = in->Read<uint32_t>();
      return in->ok();
    case 0x07:  // data8
      *number = in->Read<uint64_t>();
      return in->ok();
    case 0x0F:  // udata
      *number = in->Leb();
      return in->ok();
    case 0x1E:  // data16: a checksum
      in->Skip(16);
      return in->ok();
    case 0x09:  // block
      in->Skip(in->Leb());
      return in->ok();
    default:
      return false;
  }
}

/// A version 5 table of directories or files.
bool ReadEntries(bool wide, const LineSections& sections, Reader* in,
                 std::vector<LineUnit::File>* out) {
  std::vector<std::pair<uint64_t, uint64_t>> format;
  const auto width = in->Read<uint8_t>();
  for (int i = 0; i < width; ++i) {
    const uint64_t content = in->Leb();
    format.emplace_back(content, in->Leb());
  }
  const uint64_t count = in->Leb();
  for (uint64_t i = 0; i < count && in->ok(); ++i) {
    LineUnit::File entry;
    for (const auto& [content, form] : format) {
      std::string_view text;
      uint64_t number = 0;
      if (!ReadForm(form, wide, sections, in, &text, &number)) return false;
      if (content == 1) entry.name = text;
      if (content == 2) entry.directory = number;
    }
    out->push_back(entry);
  }
  return in->ok();
}

/// Reads the header at `offset`; false at the end and for versions that are not known, whose
/// `length` is still set.
bool ReadUnit(const LineSections& sections, uint64_t offset, LineUnit* unit) {
  unit->length = 0;
  Reader in(sections.lines.substr(std::min<uint64_t>(offset, sections.lines.size())));
  uint64_t length = in.Read<uint32_t>();
  const bool wide = length == 0xFFFFFFFF;
  if (wide) length = in.Read<uint64_t>();
  if (!in.ok() || length == 0 || length > sections.lines.size()) return false;
  unit->length = length + (wide ? 12 : 4);
  Reader body = in.Part(length);
  unit->version = body.Read<uint16_t>();
  if (unit->version < 2 || unit->version > 5) return false;
  if (unit->version >= 5) {
    if (body.Read<uint8_t>() != sizeof(void*)) return false;
    body.Skip(1);
  }
  const uint64_t header_length = body.Unsigned(wide ? 8 : 4);
  Reader header = body.Part(header_length);
  unit->program = body;
  unit->min_length = header.Read<uint8_t>();
  if (unit->version >= 4) header.Skip(1);
  header.Skip(1);  // every row is good enough, statement or not
  unit->line_base = header.Read<int8_t>();
  unit->line_range = header.Read<uint8_t>();
  unit->opcode_base = header.Read<uint8_t>();
  if (unit->line_range == 0 || unit->opcode_base == 0) return false;
  for (int i = 1; i < unit->opcode_base; ++i) unit->operands.push_back(header.Read<uint8_t>());
  if (unit->version >= 5) {
    std::vector<LineUnit::File> directories;
    if (!ReadEntries(wide, sections, &header, &directories)) return false;
    for (const LineUnit::File& entry : directories) unit->directories.push_back(entry.name);
    return ReadEntries(wide, sections, &header, &unit->files);
  }
  for (std::string_view name; !(name = header.Text()).empty();) unit->directories.push_back(name);
  for (std::string_view name; !(name = header.Text()).empty();) {
    LineUnit::File file;
    file.name = name;
    file.directory = header.Leb();
    header.Leb();  // time
    header.Leb();  // size
    unit->files.push_back(file);
  }
  return header.ok();
}

struct LineRow {
  uint64_t address = 0;
  uint64_t file = 1;
  int64_t line = 1;
  bool end = false;
};

/// Runs the line program; `visit` sees every row in order.
template <typename Visit>
void RunLines(const LineUnit& unit, Visit visit) {
  Reader in = unit.program;
  LineRow row;
  auto advance = [&](uint64_t steps) { row.address += steps * unit.min_length; };
  while (!in.Done()) {
    const auto opcode = in.Read<uint8_t>();
    if (opcode >= unit.opcode_base) {
      const int adjusted = opcode - unit.opcode_base;
      advance(static_cast<uint64_t>(adjusted / unit.line_range));
      row.line += unit.line_base + adjusted % unit.line_range;
      visit(row);
      continue;
    }
    switch (opcode) {
      case 0: {  // extended
        Reader extended = in.Part(in.Leb());
        const auto kind = extended.Read<uint8_t>();
        if (kind == 1) {  // end of sequence
          row.end = true;
          visit(row);
          row = LineRow();
        } else if (kind == 2) {
          row.address = extended.Read<uint64_t>();
        }
        break;
      }
      case 1:
        visit(row);
        break;
      case 2:
        advance(in.Leb());
        break;
      case 3:
        row.line += in.SignedLeb();
        break;
      case 4:
        row.file = in.Leb();
        break;
      case 8:
        advance(static_cast<uint64_t>((255 - unit.opcode_base) / unit.line_range));
        break;
      case 9:
        row.address += in.Read<uint16_t>();
        break;
      default:
        for (int i = 0; i < unit.operands[opcode - 1]; ++i) in.Leb();
    }
  }
}

/// The tables of one loaded file.
class Module {
 public:
  explicit Module(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    struct stat info;
    if (::fstat(fd, &info) == 0 && info.st_size > 0) {
      const auto size = static_cast<size_t>(info.st_size);
      void* memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
      if (memory != MAP_FAILED) file_ = std::string_view(static_cast<char*>(memory), size);
    }
    ::close(fd);
    if (!file_.empty()) ReadSections();
  }
  ~Module() {
    if (!file_.empty()) ::munmap(const_cast<char*>(file_.data()), file_.size());
  }
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  /// Name of the function around an address of the file, from the full symbol table.
  std::string_view FunctionAt(uint64_t address) {
    if (!symbols_read_) ReadSymbols();
    auto next = std::upper_bound(
        functions_.begin(), functions_.end(), address,
        [](uint64_t wanted, const Function& function) { return wanted < function.begin; });
    if (next == functions_.begin()) return {};
    const Function& found = *(next - 1);
    return address < found.end ? TextAt(symbol_text_, found.name) : std::string_view();
  }

  bool LineAt(uint64_t address, CodeLocation* out) {
    if (sections_.lines.empty()) return false;
    if (!sequences_read_) ReadSequences();
    auto next = std::upper_bound(
        sequences_.begin(), sequences_.end(), address,
        [](uint64_t wanted, const Sequence& sequence) { return wanted < sequence.begin; });
    if (next == sequences_.begin() || address >= (next - 1)->end) return false;
    LineUnit unit;
    if (!ReadUnit(sections_, (next - 1)->unit, &unit)) return false;
    LineRow before;
    bool have_before = false;
    bool found = false;
    RunLines(unit, [&](const LineRow& row) {
      if (!found && have_before && before.address <= address && address < row.address) {
        found = true;
        out->file = unit.PathOf(before.file);
        out->line = static_cast<int>(before.line);
      }
      before = row;
      have_before = !row.end;
    });
    return found && !out->file.empty();
  }

 private:
  struct Function {
    uint64_t begin;
    uint64_t end;
    uint64_t name;
  };
  struct Sequence {
    uint64_t begin;
    uint64_t end;
    uint64_t unit;
  };

  void ReadSections() {
    Elf64_Ehdr header;
    if (file_.size() < sizeof(header)) return;
    std::memcpy(&header, file_.data(), sizeof(header));
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
        header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shstrndx >= header.e_shnum) {
      return;
    }
    if (header.e_shoff > file_.size() ||
        uint64_t{header.e_shnum} * sizeof(Elf64_Shdr) > file_.size() - header.e_shoff) {
      return;
    }
    std::vector<Elf64_Shdr> sections(header.e_shnum);
    std::memcpy(sections.data(), file_.data() + header.e_shoff,
                sections.size() * sizeof(Elf64_Shdr));
    const std::string_view names = Content(sections[header.e_shstrndx]);
    for (const Elf64_Shdr& section : sections) {
      const std::string_view name = TextAt(names, section.sh_name);
      if (name == ".debug_line") sections_.lines = Content(section);
      if (name == ".debug_line_str") sections_.line_text = Content(section);
      if (name == ".debug_str") sections_.text = Content(section);
      if (section.sh_type == SHT_SYMTAB && section.sh_link < sections.size()) {
        symbols_ = Content(section);
        symbol_text_ = Content(sections[section.sh_link]);
      }
    }
  }

  /// Bytes of a section; none if they are compressed or outside of the file.
  std::string_view Content(const Elf64_Shdr& section) const {
    if (section.sh_type == SHT_NOBITS || (section.sh_flags & SHF_COMPRESSED) != 0 ||
        section.sh_offset > file_.size() || section.sh_size > file_.size() - section.sh_offset) {
      return {};
    }
    return file_.substr(section.sh_offset, section.sh_size);
  }

  void ReadSymbols() {
    symbols_read_ = true;
    for (size_t at = 0; at + sizeof(Elf64_Sym) <= symbols_.size(); at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      std::memcpy(&symbol, symbols_.data() + at, sizeof(symbol));
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_size == 0) continue;
      functions_.push_back({symbol.st_value, symbol.st_value + symbol.st_size, symbol.st_name});
    }
    std::sort(functions_.begin(), functions_.end(),
              [](const Function& a, const Function& b) { return a.begin < b.begin; });
  }

  void ReadSequences() {
    sequences_read_ = true;
    for (uint64_t offset = 0; offset < sections_.lines.size();) {
      LineUnit unit;
      if (ReadUnit(sections_, offset, &unit)) {
        uint64_t begin = 0;
        bool open = false;
        RunLines(unit, [&](const LineRow& row) {
          if (!open) begin = row.address;
          open = !row.end;
          // Sequences at 0 belong to functions that the linker dropped.
          if (row.end && begin != 0 && row.address > begin) {
            sequences_.push_back({begin, row.address, offset});
          }
        });
      }
      if (unit.length == 0) break;
      offset += unit.length;
    }
    std::sort(sequences_.begin(), sequences_.end(),
              [](const Sequence& a, const Sequence& b) { return a.begin < b.begin; });
  }

  std::string_view file_;
  LineSections sections_;
  std::string_view symbols_;
  std::string_view symbol_text_;
  bool symbols_read_ = false;
  bool sequences_read_ = false;
  std::vector<Function> functions_;
  std::vector<Sequence> sequences_;
};

void FillFromFile(uintptr_t address, const Dl_info& info, const link_map* map, CodeLocation* out) {
  // Both live as long as the process: errors occur in static destructors too.
  static auto* mutex = new std::mutex;
  static auto* modules = new std::map<std::string, std::unique_ptr<Module>>;
  std::string path = map->l_name != nullptr ? map->l_name : "";
  if (path.empty()) path = "/proc/self/exe";
  std::lock_guard<std::mutex> lock(*mutex);
  std::unique_ptr<Module>& module = (*modules)[path];
  if (module == nullptr) module = std::make_unique<Module>(path);
  const uint64_t in_file = address - map->l_addr;
  if (info.dli_sname == nullptr) out->function = module->FunctionAt(in_file);
  module->LineAt(in_file, out);
}

#endif  // __ELF__

}  // namespace

CodeLocation FindCodeLocation(uintptr_t address) {
  CodeLocation out;
  Dl_info info;
#if defined(__ELF__) && defined(__LP64__)
  link_map* map = nullptr;
  if (dladdr1(reinterpret_cast<void*>(address), &info, reinterpret_cast<void**>(&map),
              RTLD_DL_LINKMAP) == 0) {
    return out;
  }
  if (info.dli_sname != nullptr) out.function = info.dli_sname;
  if (map != nullptr) FillFromFile(address, info, map, &out);
#else
  if (dladdr(reinterpret_cast<void*>(address), &info) == 0) return out;
  if (info.dli_sname != nullptr) out.function = info.dli_sname;
#endif
  return out;
}

}  // namespace ffi
}  // namespace tvm
