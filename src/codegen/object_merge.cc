// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "codegen/object_merge.h"

#include <elf.h>
#include <tvm/ffi/error.h>

#include <cstring>
#include <unordered_map>

#include "codegen/object_writer.h"

namespace tvm {
namespace codegen {
namespace {

constexpr uint32_t kAddressSignificance = 0x6fff4c03;  // SHT_LLVM_ADDRSIG: a hint, dropped

/// Bounds-checked view of one input.
class InputObject {
 public:
  explicit InputObject(std::string_view bytes) : bytes_(bytes) {
    header_ = Read<Elf64_Ehdr>(0);
    if (header_.e_shentsize != sizeof(Elf64_Shdr)) Malformed("section header size");
    for (size_t i = 0; i < header_.e_shnum; ++i) {
      sections_.push_back(Read<Elf64_Shdr>(header_.e_shoff + i * sizeof(Elf64_Shdr)));
    }
    if (header_.e_shstrndx >= sections_.size()) Malformed("section name table index");
    for (size_t i = 0; i < sections_.size(); ++i) {
      if (sections_[i].sh_type == SHT_SYMTAB_SHNDX) Malformed("too many sections");
      if (sections_[i].sh_type == SHT_SYMTAB) symtab_ = i;
    }
  }

  const Elf64_Ehdr& header() const { return header_; }
  const std::vector<Elf64_Shdr>& sections() const { return sections_; }
  size_t symtab() const { return symtab_; }

  std::string_view Content(size_t index) const {
    const Elf64_Shdr& section = sections_.at(index);
    if (section.sh_type == SHT_NOBITS) return {};
    Require(section.sh_offset, section.sh_size);
    return bytes_.substr(section.sh_offset, section.sh_size);
  }
  std::string SectionName(size_t index) const {
    return StringAt(header_.e_shstrndx, sections_.at(index).sh_name);
  }
  std::string StringAt(size_t table, uint64_t offset) const {
    const std::string_view strings = Content(table);
    const size_t end = offset < strings.size() ? strings.find('\0', offset) : strings.npos;
    if (end == strings.npos) Malformed("string table");
    return std::string(strings.substr(offset, end - offset));
  }
  template <typename T>
  T Read(uint64_t offset) const {
    Require(offset, sizeof(T));
    T value;
    memcpy(&value, bytes_.data() + offset, sizeof(T));
    return value;
  }
  [[noreturn]] static void Malformed(const char* what) {
    TVM_FFI_THROW(ValueError) << "malformed or unsupported ELF object: " << what;
    TVM_FFI_UNREACHABLE();
  }

 private:
  void Require(uint64_t offset, uint64_t nbytes) const {
    if (offset > bytes_.size() || nbytes > bytes_.size() - offset) Malformed("out of bounds");
  }

  std::string_view bytes_;
  Elf64_Ehdr header_;
  std::vector<Elf64_Shdr> sections_;
  size_t symtab_ = 0;
};

struct OutSection {
  std::string name;
  Elf64_Shdr header;
  std::string content;  // empty for NOBITS
};

class Merger {
 public:
  std::string Run(const std::vector<std::string_view>& objects) {
    for (std::string_view bytes : objects) {
      const ObjectMachine machine = ObjectMachine::FromObject(bytes);
      if (inputs_.empty()) {
        machine_ = machine;
      } else if (machine.machine != machine_.machine) {
        TVM_FFI_THROW(ValueError) << "cannot merge objects for different processors (ELF machine "
                                  << machine_.machine << " and " << machine.machine << ")";
      }
      inputs_.emplace_back(bytes);
    }
    section_of_.resize(inputs_.size());
    symbol_of_.resize(inputs_.size());
    for (size_t i = 0; i < inputs_.size(); ++i) CollectSections(i);
    for (size_t i = 0; i < inputs_.size(); ++i) CollectSymbols(i, /*local=*/true);
    num_locals_ = symbols_.size();
    for (size_t i = 0; i < inputs_.size(); ++i) CollectSymbols(i, /*local=*/false);
    for (size_t i = 0; i < inputs_.size(); ++i) Relocate(i);
    return Write();
  }

 private:
  // Section numbers in the output: 0 null, 1.. sections_, then symtab, strtab.
  void CollectSections(size_t input) {
    const InputObject& object = inputs_[input];
    std::vector<uint32_t>& map = section_of_[input];
    map.assign(object.sections().size(), 0);
    for (size_t i = 1; i < object.sections().size(); ++i) {
      const Elf64_Shdr& header = object.sections()[i];
      switch (header.sh_type) {
        case SHT_NULL:
        case SHT_SYMTAB:
        case SHT_STRTAB:
        case kAddressSignificance:
          continue;
        default:
          break;
      }
      std::string name = object.SectionName(i);
      if (name == ".note.GNU-stack") {
        if (stack_note_ != 0) continue;
        stack_note_ = static_cast<uint32_t>(sections_.size() + 1);
      }
      map[i] = static_cast<uint32_t>(sections_.size() + 1);
      sections_.push_back({std::move(name), header, std::string(object.Content(i))});
      if (sections_.size() >= SHN_LORESERVE - 4) InputObject::Malformed("too many sections");
    }
  }

  void CollectSymbols(size_t input, bool local) {
    const InputObject& object = inputs_[input];
    if (object.symtab() == 0) return;
    const Elf64_Shdr& table = object.sections()[object.symtab()];
    const size_t count = table.sh_size / sizeof(Elf64_Sym);
    symbol_of_[input].resize(count, 0);
    for (size_t i = 1; i < count; ++i) {
      Elf64_Sym symbol = object.Read<Elf64_Sym>(table.sh_offset + i * sizeof(Elf64_Sym));
      if ((ELF64_ST_BIND(symbol.st_info) == STB_LOCAL) != local) continue;
      const bool special = symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= SHN_LORESERVE;
      if (!special) {
        if (symbol.st_shndx >= section_of_[input].size()) InputObject::Malformed("symbol section");
        const uint32_t mapped = section_of_[input][symbol.st_shndx];
        if (mapped == 0) continue;  // section symbol of a dropped section
        symbol.st_shndx = static_cast<uint16_t>(mapped);
      }
      std::string name = object.StringAt(table.sh_link, symbol.st_name);
      symbol_of_[input][i] = local ? AddSymbol(std::move(name), symbol) : Unite(name, symbol);
    }
  }

  uint32_t AddSymbol(std::string name, const Elf64_Sym& symbol) {
    if (symbols_.empty()) symbols_.emplace_back("", Elf64_Sym{});
    symbols_.emplace_back(std::move(name), symbol);
    return static_cast<uint32_t>(symbols_.size() - 1);
  }

  uint32_t Unite(const std::string& name, const Elf64_Sym& incoming) {
    auto [it, fresh] = global_.try_emplace(name, 0);
    if (fresh) return it->second = AddSymbol(name, incoming);
    Elf64_Sym& known = symbols_[it->second].second;
    const unsigned char visibility = Stricter(known.st_other, incoming.st_other);
    const bool known_defined = known.st_shndx != SHN_UNDEF;
    const bool incoming_defined = incoming.st_shndx != SHN_UNDEF;
    const bool known_weak = ELF64_ST_BIND(known.st_info) == STB_WEAK;
    const bool incoming_weak = ELF64_ST_BIND(incoming.st_info) == STB_WEAK;
    if (known_defined && incoming_defined && !known_weak && !incoming_weak) {
      TVM_FFI_THROW(ValueError) << "symbol `" << name << "` is defined by two functions";
    }
    const bool take = (incoming_defined && (!known_defined || (known_weak && !incoming_weak))) ||
                      (!incoming_defined && !known_defined && known_weak);
    if (take) known = incoming;
    known.st_other = visibility;
    return it->second;
  }

  static unsigned char Stricter(unsigned char a, unsigned char b) {
    a &= 3;
    b &= 3;
    if (a == STV_DEFAULT) return b;
    if (b == STV_DEFAULT) return a;
    return a < b ? a : b;
  }

  void Relocate(size_t input) {
    const InputObject& object = inputs_[input];
    const uint32_t symtab = static_cast<uint32_t>(sections_.size() + 1);
    for (size_t i = 1; i < object.sections().size(); ++i) {
      const uint32_t mapped = section_of_[input][i];
      if (mapped == 0) continue;
      OutSection& section = sections_[mapped - 1];
      Elf64_Shdr& header = section.header;
      if (header.sh_type == SHT_RELA) {
        header.sh_link = symtab;
        header.sh_info = Section(input, header.sh_info);
        MapRelocations(input, &section.content);
      } else if (header.sh_type == SHT_GROUP) {
        header.sh_link = symtab;
        header.sh_info = Symbol(input, header.sh_info);
        MapGroup(input, &section.content);
      } else if (header.sh_type == SHT_REL) {
        InputObject::Malformed("relocations without addends");
      } else if (header.sh_flags & SHF_LINK_ORDER) {
        header.sh_link = Section(input, header.sh_link);
      }
    }
  }

  void MapRelocations(size_t input, std::string* content) {
    for (size_t at = 0; at + sizeof(Elf64_Rela) <= content->size(); at += sizeof(Elf64_Rela)) {
      Elf64_Rela entry;
      memcpy(&entry, content->data() + at, sizeof(entry));
      const uint64_t symbol = Symbol(input, ELF64_R_SYM(entry.r_info));
      entry.r_info = ELF64_R_INFO(symbol, ELF64_R_TYPE(entry.r_info));
      memcpy(content->data() + at, &entry, sizeof(entry));
    }
  }

  void MapGroup(size_t input, std::string* content) {
    for (size_t at = 4; at + 4 <= content->size(); at += 4) {
      uint32_t member;
      memcpy(&member, content->data() + at, 4);
      member = Section(input, member);
      memcpy(content->data() + at, &member, 4);
    }
  }

  uint32_t Section(size_t input, uint64_t index) const {
    if (index >= section_of_[input].size()) InputObject::Malformed("section index");
    return section_of_[input][index];
  }
  uint32_t Symbol(size_t input, uint64_t index) const {
    if (index >= symbol_of_[input].size() && index != 0) InputObject::Malformed("symbol index");
    return index == 0 ? 0 : symbol_of_[input][index];
  }

  std::string Write() {
    std::string strings(1, '\0');
    auto intern = [&](const std::string& text) {
      const size_t at = strings.size();
      strings.append(text.c_str(), text.size() + 1);
      return static_cast<uint32_t>(at);
    };
    std::string out(sizeof(Elf64_Ehdr), '\0');
    std::vector<Elf64_Shdr> headers(1, Elf64_Shdr{});
    auto place = [&](Elf64_Shdr header, std::string_view content) {
      const uint64_t align = header.sh_addralign == 0 ? 1 : header.sh_addralign;
      out.resize((out.size() + align - 1) / align * align, '\0');
      header.sh_offset = out.size();
      out.append(content);
      headers.push_back(header);
    };
    for (OutSection& section : sections_) {
      section.header.sh_name = intern(section.name);
      place(section.header, section.content);
    }
    if (symbols_.empty()) symbols_.emplace_back("", Elf64_Sym{});
    std::string table;
    for (auto& [name, symbol] : symbols_) {
      symbol.st_name = name.empty() ? 0 : intern(name);
      table.append(reinterpret_cast<const char*>(&symbol), sizeof(symbol));
    }
    Elf64_Shdr symtab{};
    symtab.sh_name = intern(".symtab");
    symtab.sh_type = SHT_SYMTAB;
    symtab.sh_size = table.size();
    symtab.sh_link = static_cast<uint32_t>(headers.size() + 1);
    symtab.sh_info = static_cast<uint32_t>(num_locals_ == 0 ? 1 : num_locals_);
    symtab.sh_addralign = 8;
    symtab.sh_entsize = sizeof(Elf64_Sym);
    place(symtab, table);
    Elf64_Shdr strtab{};
    strtab.sh_name = intern(".strtab");
    strtab.sh_type = SHT_STRTAB;
    strtab.sh_size = strings.size();
    strtab.sh_addralign = 1;
    place(strtab, strings);
    out.resize((out.size() + 7) / 8 * 8, '\0');
    Elf64_Ehdr header = inputs_[0].header();
    header.e_shoff = out.size();
    header.e_shnum = static_cast<uint16_t>(headers.size());
    header.e_shstrndx = static_cast<uint16_t>(headers.size() - 1);
    memcpy(out.data(), &header, sizeof(header));
    out.append(reinterpret_cast<const char*>(headers.data()), headers.size() * sizeof(Elf64_Shdr));
    return out;
  }

  std::vector<InputObject> inputs_;
  ObjectMachine machine_;
  std::vector<OutSection> sections_;
  std::vector<std::vector<uint32_t>> section_of_;
  std::vector<std::vector<uint32_t>> symbol_of_;
  std::vector<std::pair<std::string, Elf64_Sym>> symbols_;
  std::unordered_map<std::string, uint32_t> global_;
  size_t num_locals_ = 0;
  uint32_t stack_note_ = 0;
};

}  // namespace

std::string MergeObjects(const std::vector<std::string_view>& objects) {
  if (objects.empty()) TVM_FFI_THROW(ValueError) << "no objects to merge";
  if (objects.size() == 1) return std::string(objects[0]);
  return Merger().Run(objects);
}

}  // namespace codegen
}  // namespace tvm
