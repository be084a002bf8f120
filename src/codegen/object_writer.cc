// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "codegen/object_writer.h"

#include <elf.h>
#include <fcntl.h>
#include <tvm/ffi/error.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace tvm {
namespace codegen {
namespace {

constexpr uint64_t kLargeSectionFlag = 0x10000000;  // SHF_X86_64_LARGE

uint64_t AlignUp(uint64_t value, uint64_t align) { return (value + align - 1) / align * align; }

struct MachineName {
  std::string_view prefix;
  uint16_t machine;
  uint32_t flags;
};
constexpr MachineName kMachines[] = {
    {"x86_64", EM_X86_64, 0}, {"amd64", EM_X86_64, 0},    {"aarch64", EM_AARCH64, 0},
    {"arm64", EM_AARCH64, 0}, {"riscv64", EM_RISCV, 0x5},  // compressed instructions, double-float
                                                           // ABI: the Linux default
};

class FileSink {
 public:
  explicit FileSink(const std::string& path) : path_(path) {
    fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd_ < 0) Fail("cannot create");
  }
  ~FileSink() {
    if (fd_ >= 0) ::close(fd_);
  }
  void operator()(const void* data, uint64_t nbytes) {
    const char* at = static_cast<const char*>(data);
    while (nbytes > 0) {
      const size_t piece = nbytes < (uint64_t{1} << 30) ? nbytes : (uint64_t{1} << 30);
      const ssize_t written = ::write(fd_, at, piece);
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) Fail("cannot write");
      at += written;
      nbytes -= static_cast<uint64_t>(written);
    }
  }
  void Close() {
    const int fd = fd_;
    fd_ = -1;
    if (::close(fd) != 0) Fail("cannot close");
  }

 private:
  void Fail(const char* what) const {
    TVM_FFI_THROW(RuntimeError) << what << " object file `" << path_ << "`: " << strerror(errno);
  }
  std::string path_;
  int fd_ = -1;
};

}  // namespace

ObjectMachine ObjectMachine::FromTriple(std::string_view triple) {
  const std::string_view arch = triple.substr(0, triple.find('-'));
  for (const MachineName& known : kMachines) {
    if (arch == known.prefix) return {known.machine, known.flags};
  }
  TVM_FFI_THROW(ValueError) << "no ELF64 object format is known for target triple `"
                            << std::string(triple) << "`; expected x86_64, aarch64 or riscv64";
  TVM_FFI_UNREACHABLE();
}

ObjectMachine ObjectMachine::FromObject(std::string_view object) {
  Elf64_Ehdr header;
  if (object.size() < sizeof(header) || memcmp(object.data(), ELFMAG, SELFMAG) != 0) {
    TVM_FFI_THROW(ValueError) << "not an ELF object file";
  }
  memcpy(&header, object.data(), sizeof(header));
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_type != ET_REL) {
    TVM_FFI_THROW(ValueError) << "expected a little-endian relocatable ELF64 object";
  }
  return {header.e_machine, header.e_flags};
}

int ObjectWriter::AddSection(std::string name, uint64_t align, bool large, bool note) {
  large = large && machine_.machine == EM_X86_64;
  sections_.push_back({std::move(name), align, 0, large, note, {}});
  return static_cast<int>(sections_.size()) - 1;
}

uint64_t ObjectWriter::Append(int section, const void* data, uint64_t nbytes, uint64_t align) {
  Section& into = sections_.at(section);
  const uint64_t offset = AlignUp(into.size, align);
  if (align > into.align) into.align = align;
  if (nbytes > 0) into.chunks.push_back({data, nbytes, offset});
  into.size = offset + nbytes;
  return offset;
}

uint64_t ObjectWriter::AppendOwned(int section, std::string bytes, uint64_t align) {
  owned_.push_back(std::move(bytes));
  return Append(section, owned_.back().data(), owned_.back().size(), align);
}

void ObjectWriter::AddSymbol(std::string name, int section, uint64_t offset, uint64_t size,
                             SymbolVisibility visibility) {
  symbols_.push_back({std::move(name), section, offset, size, visibility});
}

/// Section headers, tables and file offsets; data first, then the tables.
class ObjectWriter::Layout {
 public:
  explicit Layout(const ObjectWriter& writer) {
    strings_.push_back('\0');
    headers_.resize(1);
    memset(&headers_[0], 0, sizeof(Elf64_Shdr));
    uint64_t at = sizeof(Elf64_Ehdr);
    for (const Section& section : writer.sections_) {
      at = AlignUp(at, section.align);
      Elf64_Shdr header{};
      header.sh_name = Intern(section.name);
      header.sh_type = section.note ? SHT_NOTE : SHT_PROGBITS;
      header.sh_flags = SHF_ALLOC | (section.large ? kLargeSectionFlag : 0);
      header.sh_offset = at;
      header.sh_size = section.size;
      header.sh_addralign = section.align;
      headers_.push_back(header);
      at += section.size;
    }
    AddTable(".note.GNU-stack", SHT_PROGBITS, 0, 1, &at);
    AddSymbols(writer, &at);
    // Interned before the table's own size is fixed.
    const uint32_t name = Intern(".strtab");
    Elf64_Shdr header{};
    header.sh_name = name;
    header.sh_type = SHT_STRTAB;
    header.sh_offset = at;
    header.sh_size = strings_.size();
    header.sh_addralign = 1;
    headers_.push_back(header);
    table_offset_ = AlignUp(at + strings_.size(), 8);
  }

  Elf64_Ehdr Header(ObjectMachine machine) const {
    Elf64_Ehdr header{};
    memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_REL;
    header.e_machine = machine.machine;
    header.e_version = EV_CURRENT;
    header.e_flags = machine.flags;
    header.e_shoff = table_offset_;
    header.e_ehsize = sizeof(Elf64_Ehdr);
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = static_cast<uint16_t>(headers_.size());
    header.e_shstrndx = static_cast<uint16_t>(headers_.size() - 1);
    return header;
  }

  const std::vector<Elf64_Shdr>& headers() const { return headers_; }
  const std::vector<Elf64_Sym>& symbols() const { return symbols_; }
  const std::string& strings() const { return strings_; }
  uint64_t table_offset() const { return table_offset_; }

 private:
  uint32_t Intern(const std::string& text) {
    const uint32_t at = static_cast<uint32_t>(strings_.size());
    strings_.append(text.c_str(), text.size() + 1);
    return at;
  }

  Elf64_Shdr& AddTable(const char* name, uint32_t type, uint64_t size, uint64_t align,
                       uint64_t* at) {
    *at = AlignUp(*at, align);
    Elf64_Shdr header{};
    header.sh_name = Intern(name);
    header.sh_type = type;
    header.sh_offset = *at;
    header.sh_size = size;
    header.sh_addralign = align;
    headers_.push_back(header);
    *at += size;
    return headers_.back();
  }

  void AddSymbols(const ObjectWriter& writer, uint64_t* at) {
    symbols_.resize(1);
    memset(&symbols_[0], 0, sizeof(Elf64_Sym));
    for (const Symbol& symbol : writer.symbols_) {
      Elf64_Sym entry{};
      entry.st_name = Intern(symbol.name);
      entry.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
      entry.st_other = static_cast<unsigned char>(symbol.visibility);
      entry.st_shndx = static_cast<uint16_t>(symbol.section + 1);
      entry.st_value = symbol.offset;
      entry.st_size = symbol.size;
      symbols_.push_back(entry);
    }
    Elf64_Shdr& table = AddTable(".symtab", SHT_SYMTAB, symbols_.size() * sizeof(Elf64_Sym), 8, at);
    table.sh_link = static_cast<uint32_t>(headers_.size());  // .strtab follows
    table.sh_info = 1;                                       // first global symbol
    table.sh_entsize = sizeof(Elf64_Sym);
  }

  std::vector<Elf64_Shdr> headers_;
  std::vector<Elf64_Sym> symbols_;
  std::string strings_;
  uint64_t table_offset_ = 0;
};

template <typename Sink>
void ObjectWriter::Emit(Sink&& sink) const {
  const Layout layout(*this);
  uint64_t at = 0;
  auto put = [&](const void* data, uint64_t nbytes) {
    sink(data, nbytes);
    at += nbytes;
  };
  auto pad_to = [&](uint64_t offset) {
    static const char kZeros[4096] = {};
    while (at < offset) put(kZeros, offset - at < sizeof(kZeros) ? offset - at : sizeof(kZeros));
  };
  const Elf64_Ehdr header = layout.Header(machine_);
  put(&header, sizeof(header));
  for (size_t i = 0; i < sections_.size(); ++i) {
    const uint64_t base = layout.headers()[i + 1].sh_offset;
    for (const Chunk& chunk : sections_[i].chunks) {
      pad_to(base + chunk.offset);
      put(chunk.data, chunk.nbytes);
    }
    pad_to(base + sections_[i].size);
  }
  const size_t symtab = sections_.size() + 2;
  pad_to(layout.headers()[symtab].sh_offset);
  put(layout.symbols().data(), layout.symbols().size() * sizeof(Elf64_Sym));
  pad_to(layout.headers()[symtab + 1].sh_offset);
  put(layout.strings().data(), layout.strings().size());
  pad_to(layout.table_offset());
  put(layout.headers().data(), layout.headers().size() * sizeof(Elf64_Shdr));
}

void ObjectWriter::WriteFile(const std::string& path) const {
  FileSink sink(path);
  Emit(sink);
  sink.Close();
}

std::string ObjectWriter::ToBytes() const {
  std::string bytes;
  Emit([&](const void* data, uint64_t nbytes) {
    bytes.append(static_cast<const char*>(data), nbytes);
  });
  return bytes;
}

}  // namespace codegen
}  // namespace tvm
