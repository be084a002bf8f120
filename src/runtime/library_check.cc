// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file library_check.cc
/// Decides, before a shared library is opened and its code can run, whether it is whole and made
/// for this machine; and lists what it contains.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/runtime/library_note.h>
#include <tvm/runtime/logging.h>
#include <tvm/runtime/vm/executable.h>
#include <tvm/support/byte_io.h>
#include <tvm/support/hash.h>
#include <tvm/support/str_util.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <utility>

#include "runtime/cpu/cpu_features.h"
#include "runtime/elf_reader.h"

namespace tvm {
namespace runtime {

MappedFile::MappedFile(const std::string& path) {
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  TVM_REQUIRE(fd >= 0, RuntimeError)
      << "cannot open library " << path << ": " << std::strerror(errno);
  struct stat st{};
  void* data = MAP_FAILED;
  int error = 0;
  if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
    error = EINVAL;
  } else if (st.st_size > 0) {
    data = mmap(nullptr, static_cast<size_t>(st.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) error = errno;
  }
  close(fd);
  TVM_REQUIRE(error == 0, RuntimeError)
      << "cannot read library " << path << ": " << std::strerror(error);
  if (data != MAP_FAILED) {
    bytes_ = std::string_view(static_cast<const char*>(data), static_cast<size_t>(st.st_size));
  }
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<char*>(bytes_.data()), bytes_.size());
}

void MappedFile::Release(uint64_t begin, uint64_t end) const {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  begin = begin / page * page;
  if (end <= begin || end > bytes_.size()) return;
  madvise(const_cast<char*>(bytes_.data()) + begin, end - begin, MADV_DONTNEED);
}

namespace {

/// Digest of a library without keeping all of it in memory.
std::array<uint8_t, 16> DigestOf(const MappedFile& file, const ElfImage& image) {
  return image.ComputeDigest([&](uint64_t begin, uint64_t end) { file.Release(begin, end); });
}

std::string ToStd(const ffi::String& s) { return std::string(s.data(), s.size()); }

ElfImage ParseLibrary(const std::string& path, std::string_view bytes) {
  ElfImage image;
  std::string error;
  TVM_REQUIRE(ElfImage::Parse(bytes, &image, &error), RuntimeError)
      << "Cannot load library " << path << ": " << error;
  return image;
}

bool IsFFISymbol(const ElfSymbol& s) {
  return s.defined && support::StartsWith(s.name, ffi::symbol::tvm_ffi_symbol_prefix);
}

/// A library of the extension kind: it exports FFI functions or links the FFI library.
bool LooksLikeExtension(const ElfImage& image) {
  for (std::string_view name : image.needed()) {
    if (support::StartsWith(name, "libtvm_ffi")) return true;
  }
  return std::any_of(image.symbols().begin(), image.symbols().end(), IsFFISymbol);
}

std::vector<std::string> MissingFeatures(std::string_view features) {
  std::vector<std::string> missing;
  for (const std::string& name : support::Split(features, ',')) {
    if (name.empty()) continue;
    auto has = HostHasCpuFeature(name);
    // A feature this runtime has never heard of cannot be promised.
    if (!has.has_value() || !*has) missing.push_back(name);
  }
  return missing;
}

bool IsSealed(const ElfLibraryNote& note) {
  return std::any_of(note.digest.begin(), note.digest.end(), [](uint8_t b) { return b != 0; });
}

void CheckLibrary(const ffi::String& path_arg) {
  std::string path = ToStd(path_arg);
  MappedFile file(path);
  ElfImage image = ParseLibrary(path, file.bytes());
  TVM_REQUIRE(image.machine() == HostElfMachine(), RuntimeError)
      << "Cannot load library " << path << ": it is for " << ElfMachineName(image.machine())
      << ", but this machine is " << ElfMachineName(HostElfMachine());
  if (!image.has_note()) {
    TVM_REQUIRE(LooksLikeExtension(image), RuntimeError)
        << "Cannot load library " << path << ": expected a library that this compiler exported "
        << "(with section " << kLibraryNoteSection << ") or an extension library that exports `"
        << ffi::symbol::tvm_ffi_symbol_prefix << "*` functions or links libtvm_ffi, found neither";
    return;
  }
  const ElfLibraryNote& note = image.note();
  TVM_REQUIRE(note.format_version == kLibraryNoteVersion, RuntimeError)
      << "Cannot load library " << path << ": its note has version " << note.format_version
      << ", expected " << kLibraryNoteVersion;
  TVM_REQUIRE(note.abi_version == kLibraryAbiVersion, RuntimeError)
      << "Cannot load library " << path << ": it was exported for runtime ABI " << note.abi_version
      << ", but this runtime has ABI " << kLibraryAbiVersion << "; export it again";
  std::vector<std::string> missing = MissingFeatures(note.features);
  TVM_REQUIRE(missing.empty(), RuntimeError)
      << "Cannot load library " << path << ": this CPU lacks " << support::Join(missing, ", ")
      << ", which the library was compiled for (" << std::string(note.features)
      << "); compile it for this CPU or for a baseline";
  TVM_REQUIRE(!IsSealed(note) || DigestOf(file, image) == note.digest, RuntimeError)
      << "Cannot load library " << path
      << ": its content does not match the digest in its note; the file is damaged or was changed "
         "after the export";
}

// ---- inspection ------------------------------------------------------------------------------

using Dict = ffi::Map<ffi::String, ffi::Any>;

ffi::String Text(std::string_view s) { return ffi::String(s.data(), s.size()); }

/// Functions of the compiler's own whose result describes another: `__tvm_signature_<f>`.
constexpr std::string_view kSignaturePrefix = "__tvm_signature_";

/// The text that such a function returns, read off its bytecode: a copy of one constant.
ffi::Optional<ffi::String> SignatureText(const vm::VMExecutable& exec, const vm::VMFuncInfo& func) {
  using vm::Instruction;
  if (func.kind != vm::VMFuncInfo::FuncKind::kVMFunc || func.end_instr - func.start_instr != 2) {
    return std::nullopt;
  }
  const Instruction call = exec.GetInstruction(func.start_instr);
  if (call.op != vm::Opcode::Call || call.num_args != 1) return std::nullopt;
  const auto arg = Instruction::Arg::FromData(call.args[0]);
  if (arg.kind() != Instruction::ArgKind::kConstIdx) return std::nullopt;
  return exec.constants.at(static_cast<size_t>(arg.value())).as<ffi::String>();
}

void DescribeExecutable(std::string_view bytes, Dict* out) {
  ffi::Module mod = vm::VMExecutable::LoadFromBytes(ffi::Bytes(bytes.data(), bytes.size()));
  const auto* exec = static_cast<const vm::VMExecutable*>(mod.get());
  ffi::Array<ffi::Any> functions, constants;
  std::map<std::string_view, ffi::String> signatures;
  for (const vm::VMFuncInfo& f : exec->func_table) {
    if (!support::StartsWith(f.name, kSignaturePrefix)) continue;
    if (auto text = SignatureText(*exec, f); text.has_value()) {
      signatures[std::string_view(f.name).substr(kSignaturePrefix.size())] = *text;
    }
  }
  for (const vm::VMFuncInfo& f : exec->func_table) {
    if (f.kind == vm::VMFuncInfo::FuncKind::kPackedFunc) continue;
    if (support::StartsWith(f.name, kSignaturePrefix)) continue;
    ffi::Array<ffi::Any> params;
    for (const std::string& p : f.param_names) params.push_back(ffi::String(p));
    Dict info;
    info.Set("name", ffi::String(f.name));
    info.Set("num_args", f.num_args);
    info.Set("params", params);
    info.Set("kind",
             ffi::String(f.kind == vm::VMFuncInfo::FuncKind::kVMFunc ? "bytecode" : "native"));
    if (auto it = signatures.find(f.name); it != signatures.end()) {
      info.Set("signature", it->second);
    }
    functions.push_back(info);
  }
  auto add = [&constants](ffi::Shape shape, DLDataType dtype, size_t nbytes, bool in_library) {
    Dict info;
    info.Set("shape", shape);
    info.Set("dtype", ffi::String(runtime::DataType(dtype).ToString()));
    info.Set("nbytes", static_cast<int64_t>(nbytes));
    info.Set("in_library", in_library);
    constants.push_back(info);
  };
  for (size_t i = 0; i < exec->constants.size(); ++i) {
    if (auto it = exec->blob_constants.find(static_cast<vm::Index>(i));
        it != exec->blob_constants.end()) {
      add(ffi::Shape(it->second.shape.begin(), it->second.shape.end()), it->second.dtype,
          static_cast<size_t>(it->second.nbytes), true);
    } else if (auto t = exec->constants[i].as<ffi::Tensor>(); t.has_value() && t->defined()) {
      const DLTensor* dl = t->GetDLTensorPtr();
      add(ffi::Shape(dl->shape, dl->shape + dl->ndim), dl->dtype, ffi::GetDataSize(*dl), false);
    }
  }
  out->Set("vm_functions", functions);
  out->Set("constants", constants);
}

/// Lists the modules of a library_bin blob: u64 size, import tree, then kinds and contents.
void DescribeModules(const std::string& path, std::string_view blob, Dict* out) {
  auto need = [&path](bool ok) {
    TVM_REQUIRE(ok, RuntimeError) << "library " << path << " has a damaged list of modules";
  };
  support::ByteReader head(blob);
  uint64_t size = 0;
  std::string_view body;
  need(head.Read(&size) && size <= head.remaining() &&
       head.ReadView(static_cast<size_t>(size), &body));
  support::ByteReader r(body);
  std::vector<uint64_t> indptr, children;
  need(r.ReadVector(&indptr) && r.ReadVector(&children));
  ffi::Array<ffi::Any> modules;
  for (size_t i = 0; i + 1 < indptr.size(); ++i) {
    std::string kind;
    need(r.ReadString(&kind));
    modules.push_back(ffi::String(kind == "_lib" ? "library" : kind));
    if (kind == "_lib") continue;
    std::string_view content;
    need(r.ReadStringView(&content));
    if (kind == "relax.VMExecutable") DescribeExecutable(content, out);
  }
  out->Set("modules", modules);
}

Dict InspectLibrary(const ffi::String& path_arg) {
  std::string path = ToStd(path_arg);
  MappedFile file(path);
  ElfImage image = ParseLibrary(path, file.bytes());
  Dict out;
  out.Set("path", path_arg);
  out.Set("file_size", static_cast<int64_t>(file.bytes().size()));
  out.Set("machine", ffi::String(ElfMachineName(image.machine())));
  ffi::Array<ffi::Any> needed, symbols, functions;
  for (std::string_view name : image.needed()) needed.push_back(Text(name));
  for (const ElfSymbol& s : image.symbols()) {
    if (!s.defined) continue;
    symbols.push_back(Text(s.name));
    std::string_view prefix = ffi::symbol::tvm_ffi_symbol_prefix;
    // Names with a further underscore are the library's own tables.
    if (IsFFISymbol(s) && !support::StartsWith(s.name, "__tvm_ffi__library_") &&
        !support::StartsWith(s.name, ffi::symbol::tvm_ffi_metadata_prefix) &&
        !support::StartsWith(s.name, ffi::symbol::tvm_ffi_doc_prefix)) {
      functions.push_back(Text(s.name.substr(prefix.size())));
    }
  }
  out.Set("needed", needed);
  out.Set("symbols", symbols);
  out.Set("functions", functions);
  if (image.has_note()) {
    const ElfLibraryNote& note = image.note();
    out.Set("abi_version", static_cast<int64_t>(note.abi_version));
    ffi::Array<ffi::Any> features;
    for (const std::string& f : support::Split(note.features, ',')) {
      features.push_back(ffi::String(f));
    }
    out.Set("features", features);
    out.Set("target", Text(note.target));
    out.Set("digest", ffi::String(support::ToHex(note.digest)));
    out.Set("digest_ok",
            IsSealed(note) ? ffi::Any(DigestOf(file, image) == note.digest) : ffi::Any(nullptr));
  }
  if (const ElfSymbol* bin = image.FindSymbol(ffi::symbol::tvm_ffi_library_bin)) {
    std::string_view blob;
    TVM_REQUIRE(image.BytesAt(bin->value, &blob), RuntimeError)
        << "library " << path << " has no bytes where its list of modules should be";
    DescribeModules(path, blob, &out);
  }
  return out;
}

}  // namespace

void SealLibrary(const std::string& path) {
  std::array<uint8_t, 16> digest;
  uint64_t offset = 0;
  {
    MappedFile file(path);
    ElfImage image = ParseLibrary(path, file.bytes());
    TVM_REQUIRE(image.has_note(), RuntimeError)
        << "library " << path << " has no section " << kLibraryNoteSection;
    digest = DigestOf(file, image);
    offset = image.note().digest_offset;
  }
  int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  TVM_REQUIRE(fd >= 0, RuntimeError)
      << "cannot write library " << path << ": " << std::strerror(errno);
  ssize_t written = pwrite(fd, digest.data(), digest.size(), static_cast<off_t>(offset));
  int error = errno;
  close(fd);
  TVM_REQUIRE(written == static_cast<ssize_t>(digest.size()), RuntimeError)
      << "cannot write library " << path << ": " << std::strerror(error);
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::GlobalDef()
      .def("ffi.Module.check_library", CheckLibrary)
      .def("runtime.InspectLibrary", InspectLibrary)
      .def("runtime.SealLibrary", [](const ffi::String& path) { SealLibrary(ToStd(path)); });
}

}  // namespace runtime
}  // namespace tvm
