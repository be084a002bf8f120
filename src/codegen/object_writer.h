// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Writes relocatable ELF64 objects that hold data: constants, the module tree, notes.
///
/// Chunks are borrowed, so a multi-gigabyte constant goes from its mapped file straight into the
/// object; nothing is copied on the way. See object_merge.h for objects that hold code.
#ifndef TVM_CODEGEN_OBJECT_WRITER_H_
#define TVM_CODEGEN_OBJECT_WRITER_H_

#include <tvm/runtime/base.h>

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace tvm {
namespace codegen {

/// What an ELF header says about the processor.
struct TVM_DLL ObjectMachine {
  uint16_t machine = 0;
  uint32_t flags = 0;

  /// Of the processor named by the first component of an LLVM triple; ValueError if unknown.
  static ObjectMachine FromTriple(std::string_view triple);
  /// Of an existing object file; ValueError unless it is a little-endian relocatable ELF64.
  static ObjectMachine FromObject(std::string_view object);
};

enum class SymbolVisibility : uint8_t { kDefault = 0, kHidden = 2, kProtected = 3 };

class TVM_DLL ObjectWriter {
 public:
  explicit ObjectWriter(ObjectMachine machine) : machine_(machine) {}

  /// Adds a read-only data section. `large` marks data outside the small code model (x86-64 only:
  /// linkers place it behind everything that code reaches with 32-bit offsets).
  int AddSection(std::string name, uint64_t align, bool large = false, bool note = false);

  /// Appends borrowed bytes, which must live until the object is written; returns their offset.
  uint64_t Append(int section, const void* data, uint64_t nbytes, uint64_t align = 1);
  /// Appends bytes that the writer keeps.
  uint64_t AppendOwned(int section, std::string bytes, uint64_t align = 1);

  /// Defines a global symbol.
  void AddSymbol(std::string name, int section, uint64_t offset, uint64_t size,
                 SymbolVisibility visibility = SymbolVisibility::kDefault);

  /// Bytes appended to a section so far.
  uint64_t SectionSize(int section) const { return sections_.at(section).size; }

  /// Writes the object to a file; OSError-like RuntimeError naming the path on failure.
  void WriteFile(const std::string& path) const;
  std::string ToBytes() const;

 private:
  struct Chunk {
    const void* data;
    uint64_t nbytes;
    uint64_t offset;  // within the section
  };
  struct Section {
    std::string name;
    uint64_t align;
    uint64_t size = 0;
    bool large;
    bool note;
    std::vector<Chunk> chunks;
  };
  struct Symbol {
    std::string name;
    int section;
    uint64_t offset;
    uint64_t size;
    SymbolVisibility visibility;
  };
  class Layout;

  template <typename Sink>
  void Emit(Sink&& sink) const;

  ObjectMachine machine_;
  std::vector<Section> sections_;
  std::vector<Symbol> symbols_;
  std::deque<std::string> owned_;
};

}  // namespace codegen
}  // namespace tvm
#endif  // TVM_CODEGEN_OBJECT_WRITER_H_
