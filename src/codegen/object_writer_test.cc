// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "codegen/object_writer.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <tvm/ffi/error.h>

#include <cstring>

#include "codegen/object_merge.h"
#include "codegen/object_symbols.h"

namespace tvm {
namespace codegen {
namespace {

/// A minimal reader, independent of the writer's code.
struct ReadBack {
  explicit ReadBack(const std::string& bytes) : bytes(bytes) {
    memcpy(&header, bytes.data(), sizeof(header));
    for (int i = 0; i < header.e_shnum; ++i) {
      Elf64_Shdr section;
      memcpy(&section, bytes.data() + header.e_shoff + i * sizeof(section), sizeof(section));
      sections.push_back(section);
    }
  }
  std::string Name(const Elf64_Shdr& section) const {
    return bytes.c_str() + sections[header.e_shstrndx].sh_offset + section.sh_name;
  }
  const Elf64_Shdr* Section(const std::string& name) const {
    for (const Elf64_Shdr& section : sections) {
      if (Name(section) == name) return &section;
    }
    return nullptr;
  }
  /// Number of definitions of a symbol; the last one's bytes.
  int Symbol(const std::string& name, std::string* content) const {
    const Elf64_Shdr* table = Section(".symtab");
    int found = 0;
    for (size_t at = 0; at < table->sh_size; at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      memcpy(&symbol, bytes.data() + table->sh_offset + at, sizeof(symbol));
      if (name != bytes.c_str() + sections[table->sh_link].sh_offset + symbol.st_name) continue;
      const Elf64_Shdr& home = sections[symbol.st_shndx];
      *content = bytes.substr(home.sh_offset + symbol.st_value, symbol.st_size);
      EXPECT_EQ(home.sh_offset % home.sh_addralign, 0u);
      ++found;
    }
    return found;
  }

  const std::string& bytes;
  Elf64_Ehdr header;
  std::vector<Elf64_Shdr> sections;
};

TEST(ObjectWriter, PlacesBorrowedChunksAligned) {
  const std::string first = "abc", second = "constants";
  ObjectWriter writer(ObjectMachine::FromTriple("x86_64-unknown-linux-gnu"));
  const int section = writer.AddSection(".rodata.tvm", 64, /*large=*/true);
  EXPECT_EQ(writer.Append(section, first.data(), first.size(), 64), 0u);
  EXPECT_EQ(writer.Append(section, second.data(), second.size(), 64), 64u);
  writer.AddSymbol("blob", section, 64, second.size());
  const std::string bytes = writer.ToBytes();
  ReadBack read(bytes);
  EXPECT_EQ(read.header.e_machine, EM_X86_64);
  std::string content;
  EXPECT_EQ(read.Symbol("blob", &content), 1);
  EXPECT_EQ(content, second);
  const Elf64_Shdr* home = read.Section(".rodata.tvm");
  ASSERT_NE(home, nullptr);
  EXPECT_EQ(home->sh_size, 64 + second.size());
  EXPECT_EQ(home->sh_flags, SHF_ALLOC | 0x10000000u);
  EXPECT_NE(read.Section(".note.GNU-stack"), nullptr);
}

TEST(ObjectWriter, RejectsUnknownProcessorAndForeignBytes) {
  EXPECT_THROW(ObjectMachine::FromTriple("z80-unknown"), ffi::Error);
  EXPECT_THROW(ObjectMachine::FromObject("\x7f"
                                         "ELF"),
               ffi::Error);
  EXPECT_THROW(ObjectMachine::FromObject(std::string(200, 'x')), ffi::Error);
}

std::string ObjectWith(const char* symbol, const std::string& content) {
  ObjectWriter writer(ObjectMachine::FromTriple("x86_64"));
  const int section = writer.AddSection(".rodata", 16);
  const uint64_t at = writer.AppendOwned(section, content);
  writer.AddSymbol(symbol, section, at, content.size());
  return writer.ToBytes();
}

TEST(MergeObjects, UnitesSymbolTables) {
  const std::string a = ObjectWith("a", "first"), b = ObjectWith("b", "second");
  const std::string merged = MergeObjects({a, b});
  ReadBack read(merged);
  std::string content;
  EXPECT_EQ(read.Symbol("a", &content), 1);
  EXPECT_EQ(content, "first");
  EXPECT_EQ(read.Symbol("b", &content), 1);
  EXPECT_EQ(content, "second");
}

TEST(MergeObjects, RejectsTwoStrongDefinitionsAndDamage) {
  const std::string a = ObjectWith("a", "first");
  EXPECT_THROW(MergeObjects({a, a}), ffi::Error);
  const std::string b = ObjectWith("b", "second");
  for (size_t cut : {size_t{10}, size_t{63}, size_t{100}, b.size() - 1}) {
    EXPECT_THROW(MergeObjects({a, std::string_view(b).substr(0, cut)}), ffi::Error) << cut;
  }
}

TEST(ObjectSymbols, OneDefinitionUnderOtherNames) {
  ObjectWriter writer(ObjectMachine::FromTriple("x86_64-unknown-linux-gnu"));
  const int section = writer.AddSection(".rodata.x", 16);
  const std::string bytes = "first second";
  writer.Append(section, bytes.data(), bytes.size());
  writer.AddSymbol("one", section, 0, 5);
  writer.AddSymbol("two", section, 6, 6);
  const std::string object = writer.ToBytes();
  const std::string renamed = RenameSymbol(object, "two", {"a_much_longer_name", "another"});
  const ReadBack read(renamed);
  std::string content;
  for (const char* name : {"a_much_longer_name", "another"}) {
    EXPECT_EQ(read.Symbol(name, &content), 1) << name;
    EXPECT_EQ(content, "second");
  }
  EXPECT_EQ(read.Symbol("two", &content), 0);
  EXPECT_EQ(read.Symbol("one", &content), 1);
  EXPECT_EQ(content, "first");
  EXPECT_THROW(RenameSymbol(object, "three", {"x"}), ffi::Error);
  EXPECT_THROW(RenameSymbol("no object", "two", {"x"}), ffi::Error);
  // A cut object is an error, never a read past its end.
  for (size_t size = 0; size < object.size(); ++size) {
    try {
      RenameSymbol(std::string_view(object).substr(0, size), "two", {"x"});
    } catch (const ffi::Error&) {
    }
  }
}

}  // namespace
}  // namespace codegen
}  // namespace tvm
