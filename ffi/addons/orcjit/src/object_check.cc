// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "object_check.h"

#include <llvm/BinaryFormat/ELF.h>
#include <llvm/BinaryFormat/Magic.h>
#include <llvm/Object/ELF.h>
#include <llvm/Support/Error.h>

#include <cstdint>
#include <utility>

#include "frame_check.h"

namespace tvm {
namespace ffi {
namespace orcjit {
namespace {

namespace elf = llvm::ELF;
using ElfFile = llvm::object::ELFFile<llvm::object::ELF64LE>;

std::string KindOfFile(llvm::StringRef bytes) {
  using llvm::file_magic;
  switch (llvm::identify_magic(bytes)) {
    case file_magic::archive:
      return "an archive; extract its members and give those";
    case file_magic::bitcode:
      return "LLVM bitcode; compile it without -flto";
    case file_magic::elf_shared_object:
      return "a shared library; load it with tvm_ffi.load_module";
    case file_magic::elf_executable:
      return "a program";
    case file_magic::macho_object:
      return "a Mach-O object";
    case file_magic::coff_object:
      return "a COFF object";
    case file_magic::elf_relocatable:
      return "";
    default:
      return bytes.empty() ? "empty" : "no object file";
  }
}

std::string MachineName(unsigned machine) {
  switch (machine) {
    case elf::EM_X86_64:
      return "x86-64";
    case elf::EM_AARCH64:
      return "AArch64";
    case elf::EM_386:
      return "x86";
    case elf::EM_ARM:
      return "ARM";
    case elf::EM_RISCV:
      return "RISC-V";
    default:
      return "ELF machine " + std::to_string(machine);
  }
}

unsigned MachineOf(const llvm::Triple& host) {
  if (host.getArch() == llvm::Triple::x86_64) return elf::EM_X86_64;
  if (host.getArch() == llvm::Triple::aarch64) return elf::EM_AARCH64;
  return elf::EM_NONE;
}

class Checker {
 public:
  explicit Checker(const ElfFile& file) : file_(file) {}

  llvm::Error Run() {
    auto sections = file_.sections();
    if (!sections) return sections.takeError();
    sections_ = *sections;
    for (const auto& section : sections_) {
      if (llvm::Error error = CheckSection(section)) return error;
    }
    for (const auto& section : sections_) {
      const bool relocates = section.sh_type == elf::SHT_RELA || section.sh_type == elf::SHT_REL;
      llvm::Error error = section.sh_type == elf::SHT_SYMTAB ? CheckSymbols(section)
                          : relocates                        ? CheckRelocations(section)
                                                             : llvm::Error::success();
      if (error) return error;
    }
    return llvm::Error::success();
  }

 private:
  using Section = ElfFile::Elf_Shdr;

  template <typename... Args>
  llvm::Error Bad(const Section& section, const char* format, Args... args) {
    std::string where = "section " + std::to_string(&section - sections_.begin()) + ": ";
    return llvm::createStringError(std::errc::invalid_argument, (where + format).c_str(), args...);
  }

  llvm::Error CheckSection(const Section& section) {
    auto name = file_.getSectionName(section);
    if (!name) return name.takeError();
    if ((section.sh_addralign & (section.sh_addralign - 1)) != 0) {
      return Bad(section, "alignment %llu is no power of two", Wide(section.sh_addralign));
    }
    if ((section.sh_flags & elf::SHF_ALLOC) != 0 && section.sh_addralign > kMaxAlignment) {
      return Bad(section, "alignment %llu is above %llu", Wide(section.sh_addralign),
                 Wide(kMaxAlignment));
    }
    if (section.sh_type == elf::SHT_NOBITS) {
      if (section.sh_size > kMaxSize) return Bad(section, "size %llu", Wide(section.sh_size));
      if (section.sh_size == 0 || (section.sh_flags & elf::SHF_ALLOC) != 0) {
        return llvm::Error::success();
      }
      return Bad(section, "neither in the file nor in memory");
    }
    auto content = file_.getSectionContents(section);
    if (!content) return content.takeError();
    if (*name != ".eh_frame") return llvm::Error::success();
    const std::string problem = CheckFrames(*content);
    return problem.empty() ? llvm::Error::success() : Bad(section, "%s", problem.c_str());
  }

  llvm::Error CheckSymbols(const Section& table) {
    auto symbols = file_.symbols(&table);
    if (!symbols) return symbols.takeError();
    auto strings = file_.getStringTableForSymtab(table);
    if (!strings) return strings.takeError();
    for (const auto& symbol : *symbols) {
      auto name = symbol.getName(*strings);
      if (!name) return name.takeError();
      const unsigned index = symbol.st_shndx;
      if (index == elf::SHN_COMMON && (symbol.st_value == 0 || symbol.st_value > kMaxAlignment ||
                                       (symbol.st_value & (symbol.st_value - 1)) != 0)) {
        return Bad(table, "common symbol %s has alignment %llu", name->str().c_str(),
                   Wide(symbol.st_value));
      }
      if (index == elf::SHN_UNDEF || index >= elf::SHN_LORESERVE) continue;
      if (index >= sections_.size()) {
        return Bad(table, "symbol %s lies in section %u of %llu", name->str().c_str(), index,
                   Wide(sections_.size()));
      }
      const uint64_t size = sections_[index].sh_size;
      if (symbol.st_value > size || symbol.st_size > size - symbol.st_value) {
        return Bad(table, "symbol %s ends behind its section", name->str().c_str());
      }
    }
    return llvm::Error::success();
  }

  llvm::Error CheckRelocations(const Section& table) {
    if (table.sh_type == elf::SHT_REL) return Bad(table, "relocations without addends");
    if (table.sh_info >= sections_.size() || table.sh_link >= sections_.size() ||
        sections_[table.sh_link].sh_type != elf::SHT_SYMTAB) {
      return Bad(table, "names sections that are not there");
    }
    auto relocations = file_.relas(table);
    if (!relocations) return relocations.takeError();
    auto symbols = file_.symbols(&sections_[table.sh_link]);
    if (!symbols) return symbols.takeError();
    const bool is_x86 = file_.getHeader().e_machine == elf::EM_X86_64;
    for (const auto& relocation : *relocations) {
      // The linker has no symbol of index 0, and reads it to say so; it skips what does nothing.
      const bool skipped = is_x86 && relocation.getType(false) == elf::R_X86_64_NONE;
      if (relocation.getSymbol(false) == 0 && !skipped) {
        return Bad(table, "relocation at %llu against no symbol", Wide(relocation.r_offset));
      }
      if (relocation.r_offset >= sections_[table.sh_info].sh_size) {
        return Bad(table, "relocation at %llu, behind the end of its section",
                   Wide(relocation.r_offset));
      }
      if (relocation.getSymbol(false) >= symbols->size()) {
        return Bad(table, "relocation against symbol %u of %llu", relocation.getSymbol(false),
                   Wide(symbols->size()));
      }
    }
    return llvm::Error::success();
  }

  static unsigned long long Wide(uint64_t value) { return value; }  // NOLINT

  static constexpr uint64_t kMaxAlignment = 4096;  // memory comes in pages
  static constexpr uint64_t kMaxSize = uint64_t{1} << 31;

  const ElfFile& file_;
  llvm::ArrayRef<Section> sections_;
};

}  // namespace

std::string CheckObject(llvm::StringRef bytes, const llvm::Triple& host) {
  if (std::string kind = KindOfFile(bytes); !kind.empty()) return "it is " + kind;
  if (bytes.size() < sizeof(elf::Elf64_Ehdr)) return "its ELF header is cut off";
  const auto* header = reinterpret_cast<const unsigned char*>(bytes.data());
  const unsigned machine = header[18] | header[19] << 8;
  if (header[elf::EI_CLASS] != elf::ELFCLASS64 || header[elf::EI_DATA] != elf::ELFDATA2LSB ||
      machine != MachineOf(host)) {
    return "it is for " + MachineName(machine) + ", expected " + MachineName(MachineOf(host));
  }
  auto file = ElfFile::create(bytes);
  llvm::Error error = file ? Checker(*file).Run() : file.takeError();
  return error ? "it is damaged: " + llvm::toString(std::move(error)) : "";
}

}  // namespace orcjit
}  // namespace ffi
}  // namespace tvm
