// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <dlfcn.h>
#include <tvm/driver/driver.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/runtime/library_note.h>
#include <tvm/runtime/vm/executable.h>
#include <tvm/target/cpu_features.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>

#include "codegen/object_writer.h"
#include "driver/module_tree.h"
#include "driver/subprocess.h"

namespace tvm {
namespace driver {
namespace {

using codegen::ObjectMachine;
using codegen::ObjectWriter;
using runtime::vm::VMExecutable;

/// Tensors below this many bytes stay in the executable's own bytes.
constexpr int64_t kMinBlobBytes = 1024;
/// Above this a section goes where 32-bit offsets of code need not reach it.
constexpr uint64_t kLargeSectionBytes = uint64_t{1} << 30;

std::string StringOf(const ffi::Module& module, const char* name) {
  ffi::Optional<ffi::Function> query = const_cast<ffi::ModuleObj*>(module.get())->GetFunction(name);
  if (!query.has_value()) return "";
  return std::string((*query)().cast<ffi::String>());
}

/// Target of the code in a library: of its first LLVM module, else of this machine.
struct LibraryTarget {
  std::string triple;
  std::string text;
  bool has_glue = false;
};

LibraryTarget TargetOf(const ModuleTree& tree) {
  LibraryTarget found;
  for (const ffi::Module& module : tree.exportable) {
    if (std::string_view(module->kind()) != "llvm") continue;
    found.triple = StringOf(module, "__tvm_target_triple");
    found.text = StringOf(module, "_get_target_string");
    found.has_glue = true;
    break;
  }
  if (found.triple.empty()) found.triple = DefaultTargetTriple();
  return found;
}

/// Comma-separated LLVM names of what the code needs of the processor.
std::string RequiredFeatures(const std::string& target_text) {
  if (target_text.empty()) return "";
  std::string out;
  for (const std::string& name :
       LLVMFeatureNames(CpuFeaturesOf(Target(ffi::String(target_text))))) {
    if (name.empty() || name[0] == '-') continue;
    if (!out.empty()) out += ',';
    out += name[0] == '+' ? name.substr(1) : name;
  }
  return out;
}

VMExecutable* AsExecutable(const ffi::Optional<ffi::Module>& module) {
  if (!module.has_value() || std::string_view((*module)->kind()) != "relax.VMExecutable") {
    return nullptr;
  }
  return static_cast<VMExecutable*>(const_cast<ffi::ModuleObj*>((*module).get()));
}

/// Moves the large constants of the (first) executable into a blob; puts them back when it dies,
/// so that the module can be exported again, to a path or in another way.
class ConstantPlacement {
 public:
  ConstantPlacement(const ModuleTree& tree, bool enabled) {
    if (!enabled) return;
    for (const ModuleTree::Node& node : tree.nodes) {
      executable_ = AsExecutable(node.module);
      if (executable_ == nullptr) continue;
      tensors_ = executable_->PlaceConstantsInBlob(kMinBlobBytes, &nbytes_);
      return;
    }
  }
  ~ConstantPlacement() {
    if (executable_ != nullptr) executable_->ClearBlobPlacement();
  }
  ConstantPlacement(const ConstantPlacement&) = delete;
  ConstantPlacement& operator=(const ConstantPlacement&) = delete;

  void Write(ObjectWriter* writer) const {
    if (tensors_.empty()) return;
    const bool large = nbytes_ > kLargeSectionBytes;
    const int section = writer->AddSection(large ? ".lrodata.tvm" : ".rodata.tvm", 64, large);
    runtime::ConstBlobHeader header{};
    header.magic = runtime::kConstBlobMagic;
    header.nbytes = nbytes_;
    header.num_constants = tensors_.size();
    writer->AppendOwned(section,
                        std::string(reinterpret_cast<const char*>(&header), sizeof(header)), 64);
    for (const auto& [offset, tensor] : tensors_) {
      const DLTensor* view = tensor.GetDLTensorPtr();
      const uint64_t nbytes = ffi::GetDataSize(*view);
      const uint64_t at = writer->Append(
          section, static_cast<const char*>(view->data) + view->byte_offset, nbytes, 64);
      TVM_FFI_ICHECK_EQ(at, offset) << "constants must be placed in order";
    }
    writer->AppendOwned(section, std::string(nbytes_ - writer->SectionSize(section), '\0'));
    writer->AddSymbol("__tvm_const_blob", section, 0, nbytes_);
  }

 private:
  VMExecutable* executable_ = nullptr;
  uint64_t nbytes_ = 0;
  std::vector<std::pair<uint64_t, ffi::Tensor>> tensors_;
};

std::string CompilerOf(const ExportOptions& options) {
  const char* environment = std::getenv("CC");
  const std::string found = options.cc.empty()
                                ? FindTool({environment != nullptr ? environment : "", "cc",
                                            "clang", "gcc", "clang-22", "c++", "g++", "clang++"})
                                : FindTool({options.cc});
  TVM_FFI_CHECK(!found.empty(), RuntimeError)
      << "no C compiler driver was found to link with"
      << (options.cc.empty() ? ": set CC, or install cc, clang or gcc" : ": " + options.cc);
  return found;
}

std::string FolderOf(const void* address) {
  Dl_info info;
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return "";
  const std::string path = std::filesystem::absolute(info.dli_fname).string();
  return path.substr(0, path.rfind('/'));
}

std::vector<std::string> WriteCode(const ModuleTree& tree, const std::string& folder,
                                   const ExportOptions& options) {
  std::vector<std::string> files;
  for (const ffi::Module& module : tree.exportable) {
    const ffi::Array<ffi::String> formats = module->GetWriteFormats();
    std::string format = "o";
    if (!formats.empty()) format = std::string(formats[0]);
    const std::string stem = folder + "/lib" + std::to_string(files.size());
    if (format == "c" || format == "cc" || format == "cpp" || format == "cu") {
      const std::string source = stem + "." + format;
      module->WriteToFile(source, format);
      RunTool({CompilerOf(options), "-O2", "-fPIC", "-ffp-contract=fast", "-fvisibility=hidden",
               "-c", source, "-o", stem + ".o"});
    } else {
      module->WriteToFile(stem + ".o", format);
    }
    files.push_back(stem + ".o");
  }
  return files;
}

std::vector<std::string> WriteObjects(const ffi::Module& mod, const std::string& folder,
                                      const ExportOptions& options) {
  const ModuleTree tree = BuildModuleTree(mod);
  const LibraryTarget target = TargetOf(tree);
  std::vector<std::string> files = WriteCode(tree, folder, options);
  ObjectWriter writer(ObjectMachine::FromTriple(target.triple));
  const ConstantPlacement constants(tree, target.has_glue);
  constants.Write(&writer);
  const bool plain_library = tree.nodes.size() == 1 && !tree.nodes[0].module.has_value();
  if (!plain_library) {
    const std::string blob = SerializeModuleTree(tree);
    const bool large = blob.size() > kLargeSectionBytes;
    const int section =
        writer.AddSection(large ? ".lrodata.tvm.bin" : ".rodata.tvm.bin", 64, large);
    const uint64_t nbytes = blob.size();
    const uint64_t at = writer.AppendOwned(section, blob, 64);
    writer.AddSymbol(ffi::symbol::tvm_ffi_library_bin, section, at, nbytes);
  }
  const int note =
      writer.AddSection(runtime::kLibraryNoteSection, 4, /*large=*/false, /*note=*/true);
  writer.AppendOwned(note, runtime::BuildLibraryNote(RequiredFeatures(target.text), target.text));
  files.push_back(folder + "/devc.o");
  writer.WriteFile(files.back());
  return files;
}

}  // namespace

std::vector<std::string> ExportObjects(const ffi::Module& mod, const std::string& folder,
                                       const ExportOptions& options) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  TVM_FFI_CHECK(!error, RuntimeError)
      << "cannot make the folder " << folder << ": " << error.message();
  return WriteObjects(mod, folder, options);
}

namespace {

/// ValueError unless a file can be put at `path`: what is there is replaced only if it is a file.
void CheckDestination(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  TVM_FFI_CHECK(!path.empty(), ValueError) << "the path of the library to write is empty";
  TVM_FFI_CHECK(path.find('\0') == std::string::npos, ValueError)
      << "the path of the library to write has a zero byte: " << path.c_str() << "\\0...";
  const fs::file_status status = fs::status(path, error);
  TVM_FFI_CHECK(!fs::exists(status) || fs::is_regular_file(status), ValueError)
      << path << ": expected the path of a file, found "
      << (fs::is_directory(status) ? "a folder" : "a device or something else that is no file");
  const fs::path folder = fs::absolute(path, error).parent_path();
  TVM_FFI_CHECK(fs::is_directory(folder, error), ValueError)
      << path << ": there is no folder " << folder.string();
}

}  // namespace

void ExportLibrary(const ffi::Module& mod, const std::string& path, const ExportOptions& options) {
  CheckDestination(path);
  std::optional<TemporaryFolder> temporary;
  std::string folder = options.workspace_dir;
  if (folder.empty()) folder = temporary.emplace().path();
  std::vector<std::string> command = {CompilerOf(options), "-shared", "-fPIC", "-o"};
  // Linked under another name first: a reader never sees half a library.
  const std::string partial = path + ".part" + std::to_string(::getpid());
  command.push_back(partial);
  for (std::string& file : ExportObjects(mod, folder, options)) command.push_back(std::move(file));
  for (const std::string& file : options.addons) command.push_back(file);
  // Symbols bind inside the library, even where another one in the process has the same.
  for (const char* flag : {"-Wl,-Bsymbolic", "-Wl,-z,noexecstack", "-Wl,--as-needed"}) {
    command.push_back(flag);
  }
  const std::string ffi = FolderOf(reinterpret_cast<void*>(&TVMFFIFunctionCall));
  if (!ffi.empty() && std::filesystem::exists(ffi + "/libtvm_ffi.so")) {
    command.push_back("-L" + ffi);
    command.push_back("-l:libtvm_ffi.so");
  }
  command.push_back("-lm");
  for (const std::string& option : options.options) command.push_back(option);
  try {
    RunTool(command);
    runtime::SealLibrary(partial);
    std::error_code error;
    std::filesystem::rename(partial, path, error);
    TVM_FFI_CHECK(!error, RuntimeError) << path << ": cannot be written: " << error.message();
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove(partial, ignored);
    throw;
  }
}

namespace {

ExportOptions OptionsFrom(const ffi::Map<ffi::String, ffi::Any>& map) {
  ExportOptions options;
  for (const auto& [key, value] : map) {
    auto texts = [&, &value = value] {
      std::vector<std::string> out;
      for (const ffi::String& text : value.cast<ffi::Array<ffi::String>>()) out.emplace_back(text);
      return out;
    };
    if (key == "cc") {
      options.cc = std::string(value.cast<ffi::String>());
    } else if (key == "options") {
      options.options = texts();
    } else if (key == "addons") {
      options.addons = texts();
    } else if (key == "workspace_dir") {
      options.workspace_dir = std::string(value.cast<ffi::String>());
    } else {
      TVM_FFI_THROW(ValueError) << "unknown export option `" << key
                                << "`; expected cc, options, addons or workspace_dir";
    }
  }
  return options;
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = ffi::reflection;
  using OptionMap = ffi::Optional<ffi::Map<ffi::String, ffi::Any>>;
  refl::GlobalDef()
      .def("driver.ExportLibrary",
           [](ffi::Module mod, ffi::String path, OptionMap options) {
             ExportLibrary(mod, std::string(path),
                           options.has_value() ? OptionsFrom(*options) : ExportOptions());
           })
      .def("driver.ExportObjects", [](ffi::Module mod, ffi::String folder, OptionMap options) {
        ffi::Array<ffi::String> files;
        for (const std::string& file :
             ExportObjects(mod, std::string(folder),
                           options.has_value() ? OptionsFrom(*options) : ExportOptions())) {
          files.push_back(file);
        }
        return files;
      });
}

}  // namespace driver
}  // namespace tvm
