// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "thread_local_model.h"

#include <llvm/BinaryFormat/ELF.h>
#include <llvm/Object/ELF.h>
#include <llvm/Support/Endian.h>
#include <llvm/Support/Error.h>

#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace tvm {
namespace ffi {
namespace orcjit {
namespace {

namespace elf = llvm::ELF;
using ElfFile = llvm::object::ELFFile<llvm::object::ELF64LE>;
using Section = ElfFile::Elf_Shdr;
using Symbol = ElfFile::Elf_Sym;
using Relocation = ElfFile::Elf_Rela;

class Rewriter {
 public:
  Rewriter(const ElfFile& file, llvm::MutableArrayRef<char> object)
      : file_(file), object_(object), sections_(llvm::cantFail(file.sections())) {}

  std::string Run() {
    for (const Section& table : sections_) {
      if (table.sh_type != elf::SHT_RELA || sections_[table.sh_info].sh_type == elf::SHT_NOBITS ||
          (sections_[table.sh_info].sh_flags & elf::SHF_ALLOC) == 0) {
        continue;
      }
      symbols_ = llvm::cantFail(file_.symbols(&sections_[table.sh_link]));
      names_ = llvm::cantFail(file_.getStringTableForSymtab(sections_[table.sh_link]));
      for (const Relocation& relocation : llvm::cantFail(file_.relas(table))) {
        std::string problem = Rewrite(sections_[table.sh_info], Mutable(relocation));
        if (!problem.empty()) return problem;
      }
    }
    return "";
  }

 private:
  Relocation* Mutable(const Relocation& relocation) {
    const auto offset = reinterpret_cast<const char*>(&relocation) - object_.data();
    return reinterpret_cast<Relocation*>(object_.data() + offset);
  }

  std::string Rewrite(const Section& target, Relocation* relocation) {
    const uint32_t type = relocation->getType(false);
    if (type != elf::R_X86_64_TLSLD && type != elf::R_X86_64_DTPOFF32) return "";
    const uint32_t index = relocation->getSymbol(false);
    if (!base_) base_ = index;
    if (type == elf::R_X86_64_TLSLD) {
      relocation->setSymbolAndType(*base_, elf::R_X86_64_TLSGD, false);
      return "";
    }
    const std::optional<int64_t> offset = OffsetOf(symbols_[index]);
    const std::optional<int64_t> base = OffsetOf(symbols_[*base_]);
    const std::string name = llvm::cantFail(symbols_[index].getName(names_)).str();
    if (!offset || !base || relocation->r_offset + sizeof(int32_t) > target.sh_size) {
      return "thread-local variable " + name + " is used by an unknown form of access";
    }
    if (symbols_[index].getBinding() == elf::STB_WEAK) {
      return "thread-local variable " + name +
             " is hidden but may be defined by several objects; compile with -fvisibility=default";
    }
    char* place = object_.data() + target.sh_offset + relocation->r_offset;
    llvm::support::endian::write32le(place,
                                     static_cast<uint32_t>(*offset - *base + relocation->r_addend));
    relocation->setSymbolAndType(0, elf::R_X86_64_NONE, false);
    return "";
  }

  std::optional<int64_t> OffsetOf(const Symbol& symbol) {
    if (offsets_.empty()) MakeLayout();
    auto it = offsets_.find(symbol.st_shndx);
    if (it == offsets_.end()) return std::nullopt;
    return static_cast<int64_t>(it->second + symbol.st_value);
  }

  void MakeLayout() {
    std::map<std::pair<std::string, size_t>, const Section*> by_name;
    for (size_t i = 0; i < sections_.size(); ++i) {
      const std::string name = llvm::cantFail(file_.getSectionName(sections_[i])).str();
      if (IsThreadLocalSection(name)) by_name[{name, i}] = &sections_[i];
    }
    ThreadLocalLayout layout;
    std::string last;
    for (const auto& [name, section] : by_name) {
      if (name.first == last) return offsets_.clear();  // the linker may order them otherwise
      last = name.first;
      const uint64_t alignment = section->sh_addralign == 0 ? 1 : section->sh_addralign;
      offsets_[static_cast<uint32_t>(name.second)] = layout.Add(section->sh_size, alignment);
    }
  }

  const ElfFile& file_;
  const llvm::MutableArrayRef<char> object_;
  const llvm::ArrayRef<Section> sections_;
  llvm::ArrayRef<Symbol> symbols_;
  llvm::StringRef names_;
  std::optional<uint32_t> base_;          ///< symbol that stands for the whole object
  std::map<uint32_t, uint64_t> offsets_;  ///< of sections, by index
};

}  // namespace

bool IsThreadLocalSection(llvm::StringRef name) {
  return name == ".tdata" || name == ".tbss" || name.starts_with(".tdata.") ||
         name.starts_with(".tbss.");
}

std::string RewriteLocalDynamic(llvm::MutableArrayRef<char> object) {
  auto file = ElfFile::create(llvm::StringRef(object.data(), object.size()));
  if (!file) return llvm::toString(file.takeError());
  if (file->getHeader().e_machine != elf::EM_X86_64) return "";
  return Rewriter(*file, object).Run();
}

}  // namespace orcjit
}  // namespace ffi
}  // namespace tvm
