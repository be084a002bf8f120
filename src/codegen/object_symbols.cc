// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "codegen/object_symbols.h"

#include <elf.h>
#include <tvm/ffi/error.h>

#include <cstring>

namespace tvm {
namespace codegen {
namespace {

/// Copies of the two tables that names live in are appended to the object; everything else stays
/// where it is, and relocations keep their symbol numbers.
class Renamer {
 public:
  explicit Renamer(std::string_view object) : out_(object) {
    if (!IsElfObject(object)) Malformed("no little-endian relocatable ELF64");
    header_ = Read<Elf64_Ehdr>(0);
    if (header_.e_shentsize != sizeof(Elf64_Shdr)) Malformed("section headers");
    for (uint64_t i = 0; i < header_.e_shnum; ++i) {
      if (Read<Elf64_Shdr>(HeaderAt(i)).sh_type == SHT_SYMTAB) table_at_ = HeaderAt(i);
    }
    if (table_at_ == 0) Malformed("no symbol table");
    table_ = Read<Elf64_Shdr>(table_at_);
    if (table_.sh_link >= header_.e_shnum) Malformed("symbol names");
    strings_at_ = HeaderAt(table_.sh_link);
    strings_ = Read<Elf64_Shdr>(strings_at_);
    symbols_ = Content(table_);
    names_ = Content(strings_);
    if (names_.empty() || names_.back() != '\0') Malformed("symbol names");
  }

  std::string Run(std::string_view from, const std::vector<std::string>& names) {
    TVM_FFI_ICHECK(!names.empty());
    const uint64_t at = Find(from);
    Elf64_Sym symbol;
    std::memcpy(&symbol, symbols_.data() + at, sizeof(symbol));
    for (size_t i = 0; i < names.size(); ++i) {
      symbol.st_name = static_cast<uint32_t>(names_.size());
      names_.append(names[i].c_str(), names[i].size() + 1);
      if (i == 0) {
        std::memcpy(symbols_.data() + at, &symbol, sizeof(symbol));
      } else {
        symbols_.append(reinterpret_cast<const char*>(&symbol), sizeof(symbol));
      }
    }
    Append(symbols_, 8, table_at_, &table_);
    Append(names_, 1, strings_at_, &strings_);
    return std::move(out_);
  }

 private:
  [[noreturn]] static void Malformed(const char* what) {
    TVM_FFI_THROW(ValueError) << "cannot rename a function in an object: " << what;
    TVM_FFI_UNREACHABLE();
  }
  template <typename T>
  T Read(uint64_t at) const {
    if (at > out_.size() || sizeof(T) > out_.size() - at) Malformed("out of bounds");
    T value;
    std::memcpy(&value, out_.data() + at, sizeof(T));
    return value;
  }
  uint64_t HeaderAt(uint64_t index) const {
    if (header_.e_shoff > out_.size()) Malformed("out of bounds");
    return header_.e_shoff + index * sizeof(Elf64_Shdr);
  }
  std::string Content(const Elf64_Shdr& section) const {
    if (section.sh_offset > out_.size() || section.sh_size > out_.size() - section.sh_offset) {
      Malformed("out of bounds");
    }
    return out_.substr(section.sh_offset, section.sh_size);
  }
  /// Offset in the table of the one definition of a global symbol.
  uint64_t Find(std::string_view name) const {
    for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= symbols_.size(); at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      std::memcpy(&symbol, symbols_.data() + at, sizeof(symbol));
      const bool defined = symbol.st_shndx != SHN_UNDEF && symbol.st_shndx < SHN_LORESERVE;
      if (!defined || ELF64_ST_BIND(symbol.st_info) == STB_LOCAL) continue;
      if (symbol.st_name < names_.size() && name == names_.c_str() + symbol.st_name) return at;
    }
    TVM_FFI_THROW(ValueError) << "the object defines no symbol `" << std::string(name) << "`";
    TVM_FFI_UNREACHABLE();
  }
  void Append(const std::string& content, uint64_t align, uint64_t header_at, Elf64_Shdr* header) {
    out_.resize((out_.size() + align - 1) / align * align, '\0');
    header->sh_offset = out_.size();
    header->sh_size = content.size();
    out_ += content;
    std::memcpy(out_.data() + header_at, header, sizeof(*header));
  }

  std::string out_;
  Elf64_Ehdr header_;
  uint64_t table_at_ = 0, strings_at_ = 0;
  Elf64_Shdr table_, strings_;
  std::string symbols_, names_;
};

}  // namespace

bool IsElfObject(std::string_view object) {
  if (object.size() < sizeof(Elf64_Ehdr)) return false;
  Elf64_Ehdr header;
  std::memcpy(&header, object.data(), sizeof(header));
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
         header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_ident[EI_DATA] == ELFDATA2LSB &&
         header.e_type == ET_REL;
}

std::string RenameSymbol(std::string_view object, std::string_view from,
                         const std::vector<std::string>& names) {
  return Renamer(object).Run(from, names);
}

}  // namespace codegen
}  // namespace tvm
