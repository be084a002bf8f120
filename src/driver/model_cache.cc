// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "driver/model_cache.h"

#include <tvm/codegen/codegen.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/runtime/library_note.h>
#include <tvm/runtime/vm/executable.h>
#include <tvm/support/byte_io.h>

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "codegen/cache.h"
#include "codegen/content_key.h"
#include "driver/kernel_reuse.h"
#include "tune/session.h"

namespace tvm {
namespace driver {
namespace {

using codegen::CacheEntry;
using codegen::CacheKey;
using codegen::CompileCache;
using runtime::vm::VMExecutable;

constexpr char kKind[] = "model";
/// Constants below this many bytes stay among the bytecode.
constexpr int64_t kMinBlobBytes = 1024;
constexpr size_t kAlignment = 64;

/// nullopt when what compilation depends on cannot be told, or a pass is being watched.
std::optional<CacheKey> KeyOf(const std::string& description, const Target& target) {
  const std::string options = PassOptionsText();
  if (options.empty()) return std::nullopt;
  support::Sha256 digest;
  for (const std::string& part :
       {codegen::CompilerIdentity(), codegen::RelevantEnvironment(), options,
        std::string(target->str()), description, tune::DatabaseDigest()}) {
    const uint64_t size = part.size();
    digest.Update(&size, sizeof(size));
    digest.Update(part);
  }
  return digest.Finish();
}

/// Memory of a constant inside a mapped entry.
struct EntryView {
  void AllocData(DLTensor* tensor, const char* data) { tensor->data = const_cast<char*>(data); }
  void FreeData(DLTensor*) {}
  std::shared_ptr<const CacheEntry> entry;
};

VMExecutable* AsExecutable(const ffi::Module& module) {
  if (std::string_view(module->kind()) != "relax.VMExecutable") return nullptr;
  return static_cast<VMExecutable*>(const_cast<ffi::ModuleObj*>(module.get()));
}

/// The one LLVM module below an executable; nullopt when there is anything else.
std::optional<ffi::Module> KernelsOf(const ffi::Module& executable) {
  const auto& imports = executable->imports();
  if (imports.size() != 1) return std::nullopt;
  const auto kernels = imports[0].cast<ffi::Module>();
  if (std::string_view(kernels->kind()) != "llvm" || !kernels->imports().empty()) {
    return std::nullopt;
  }
  return kernels;
}

template <typename T>
T Ask(const ffi::Module& module, const char* what) {
  auto function = const_cast<ffi::ModuleObj*>(module.get())->GetFunction(what);
  TVM_FFI_ICHECK(function.has_value()) << "a module of kernels has no `" << what << "`";
  return (*function)().cast<T>();
}

/// Makes the constants that lie in the entry tensors of the executable; false when they do not fit.
bool BindConstants(VMExecutable* executable, const std::shared_ptr<const CacheEntry>& entry,
                   std::string_view blob) {
  for (const auto& [index, constant] : executable->blob_constants) {
    if (constant.offset > blob.size() || constant.nbytes > blob.size() - constant.offset) {
      return false;
    }
    executable->constants[static_cast<size_t>(index)] = ffi::Tensor::FromNDAlloc(
        EntryView{entry}, ffi::Shape(constant.shape.begin(), constant.shape.end()), constant.dtype,
        DLDevice{kDLCPU, 0}, blob.data() + constant.offset);
  }
  executable->blob_constants.clear();
  return true;
}

/// Reads an entry; nullopt when it is not what this version writes.
std::optional<ffi::Module> Decode(const std::shared_ptr<const CacheEntry>& entry,
                                  const Target& target) {
  support::ByteReader reader(entry->bytes());
  std::string_view bytecode;
  std::vector<std::string> names;
  uint64_t count = 0;
  if (!reader.ReadStringView(&bytecode) || !reader.ReadStrings(&names) ||
      !reader.ReadCount(&count, sizeof(uint64_t))) {
    return std::nullopt;
  }
  codegen::CodeReuse reuse;
  for (uint64_t i = 0; i < count; ++i) {
    codegen::CodeReuse::Ready ready;
    if (!reader.ReadString(&ready.object)) return std::nullopt;
    if (i == 0) ready.names = names;
    reuse.ready.push_back(std::move(ready));
  }
  const size_t blob_at = (reader.offset() + kAlignment - 1) / kAlignment * kAlignment;
  if (blob_at > entry->bytes().size()) return std::nullopt;
  ffi::Module module = VMExecutable::LoadFromBytes(ffi::Bytes(bytecode.data(), bytecode.size()));
  if (!BindConstants(AsExecutable(module), entry, entry->bytes().substr(blob_at))) {
    return std::nullopt;
  }
  if (count != 0) {
    reuse.whole = []() -> IRModule {
      TVM_FFI_THROW(RuntimeError) << "this code came out of the compile cache, which keeps no "
                                     "source; compile with TVM_CACHE_DIR=off to see it";
      TVM_FFI_UNREACHABLE();
    };
    module->ImportModule(codegen::Build(IRModule(), target.WithoutHost(), reuse));
  }
  return module;
}

}  // namespace

ffi::Optional<ffi::Module> LoadCachedModel(const std::string& description, const Target& target) {
  auto cache = CompileCache::Current();
  if (cache == nullptr || target->kind->name != "llvm" || tune::IsMeasuring()) return std::nullopt;
  const auto key = KeyOf(description, target);
  if (!key) return std::nullopt;
  std::shared_ptr<const CacheEntry> entry = cache->Lookup(*key, kKind);
  if (entry == nullptr) return std::nullopt;
  if (auto module = Decode(entry, target)) return *module;
  cache->Discard(*key, kKind);
  return std::nullopt;
}

bool StoreCachedModel(const std::string& description, const Target& target,
                      const ffi::Module& module) {
  auto cache = CompileCache::Current();
  if (cache == nullptr || target->kind->name != "llvm") return false;
  const auto key = KeyOf(description, target);
  VMExecutable* executable = AsExecutable(module);
  const auto kernels = KernelsOf(module);
  const bool alone = module->imports().empty();
  if (!key || executable == nullptr || (!kernels && !alone)) return false;

  uint64_t blob_size = 0;
  const auto constants = executable->PlaceConstantsInBlob(kMinBlobBytes, &blob_size);
  const ffi::Bytes bytecode = executable->SaveToBytes();
  executable->ClearBlobPlacement();
  std::vector<std::string> names;
  ffi::Array<ffi::Bytes> objects;
  if (kernels) {
    for (const ffi::String& name : Ask<ffi::Array<ffi::String>>(*kernels, "get_func_names")) {
      names.emplace_back(name);
    }
    objects = Ask<ffi::Array<ffi::Bytes>>(*kernels, "__tvm_objects");
  }
  std::string head;
  support::ByteWriter writer(&head);
  writer.WriteString({bytecode.data(), bytecode.size()});
  writer.WriteStrings(names);
  writer.Write<uint64_t>(objects.size());
  for (const ffi::Bytes& object : objects) writer.WriteString({object.data(), object.size()});
  head.resize((head.size() + kAlignment - 1) / kAlignment * kAlignment, '\0');

  static constexpr char kZeros[kAlignment] = {};
  std::vector<std::string_view> chunks{head};
  uint64_t at = 0;
  auto pad_to = [&](uint64_t offset) {
    for (; at < offset; at += chunks.back().size()) {
      chunks.emplace_back(kZeros, std::min<uint64_t>(kAlignment, offset - at));
    }
  };
  for (const auto& [offset, tensor] : constants) {
    pad_to(offset);
    const DLTensor* view = tensor.GetDLTensorPtr();
    chunks.emplace_back(static_cast<const char*>(view->data) + view->byte_offset,
                        ffi::GetDataSize(*view));
    at += chunks.back().size();
  }
  pad_to(blob_size);
  cache->Store(*key, kKind, chunks);
  return true;
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = ffi::reflection;
  refl::GlobalDef()
      .def("driver.LoadCachedModel",
           [](ffi::String description, Target target) {
             return LoadCachedModel(std::string(description), target);
           })
      .def("driver.StoreCachedModel", [](ffi::String description, Target target, ffi::Module mod) {
        return StoreCachedModel(std::string(description), target, mod);
      });
}

}  // namespace driver
}  // namespace tvm
