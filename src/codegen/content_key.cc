// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "codegen/content_key.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <tvm/codegen/codegen.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/reflection/accessor.h>
#include <tvm/ir/expr.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <unordered_map>

extern char** environ;

namespace tvm {
namespace codegen {
namespace {

class ContentWriter {
 public:
  ContentWriter(support::Sha256* digest, std::vector<std::string>* globals)
      : digest_(digest), globals_(globals) {}

  bool Run(const ffi::Any& value) {
    Value(value);
    while (ok_ && !pending_.empty()) {
      // Objects come in the order in which they were first met, so no recursion is needed.
      ffi::Any object = std::move(pending_.front());
      pending_.pop_front();
      Object(object);
      alive_.push_back(std::move(object));
    }
    Flush();
    return ok_;
  }

 private:
  void Put(const void* data, size_t size) {
    if (text_.size() + size > kBuffer) Flush();
    if (size > kBuffer) {
      digest_->Update(data, size);
    } else {
      text_.append(static_cast<const char*>(data), size);
    }
  }
  void Flush() {
    digest_->Update(text_);
    text_.clear();
  }
  /// Seven bits a byte, the last one marked: most words are small, and hashing is what takes time.
  void Word(uint64_t word) {
    char bytes[10];
    size_t size = 0;
    for (; word >= 0x80; word >>= 7) bytes[size++] = static_cast<char>(word & 0x7f);
    bytes[size++] = static_cast<char>(word | 0x80);
    Put(bytes, size);
  }
  void Text(std::string_view text) {
    Word(text.size());
    Put(text.data(), text.size());
  }

  void Value(const ffi::Any& value) {
    const int32_t type = value.type_index();
    const TVMFFIAny raw = ffi::AnyView(value).CopyToTVMFFIAny();
    if (type == ffi::TypeIndex::kTVMFFISmallStr || type == ffi::TypeIndex::kTVMFFIStr) {
      Word(ffi::TypeIndex::kTVMFFIStr);
      const ffi::String text = value.cast<ffi::String>();
      Text({text.data(), text.size()});
    } else if (type == ffi::TypeIndex::kTVMFFISmallBytes || type == ffi::TypeIndex::kTVMFFIBytes) {
      Word(ffi::TypeIndex::kTVMFFIBytes);
      const ffi::Bytes bytes = value.cast<ffi::Bytes>();
      Text({bytes.data(), bytes.size()});
    } else if (type < ffi::TypeIndex::kTVMFFIStaticObjectBegin) {
      // A raw pointer means something in this process only.
      if (type == ffi::TypeIndex::kTVMFFIOpaquePtr && raw.v_ptr != nullptr) ok_ = false;
      Word(static_cast<uint64_t>(type));
      Word(type == ffi::TypeIndex::kTVMFFINone ? 0 : raw.v_uint64);
    } else {
      auto [it, fresh] = numbers_.try_emplace(raw.v_obj, numbers_.size());
      Word(ffi::TypeIndex::kTVMFFIStaticObjectBegin);  // that it is an object, whatever its type
      Word(it->second);
      if (fresh) pending_.push_back(value);
    }
  }

  void Object(const ffi::Any& value) {
    const int32_t type = value.type_index();
    const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(type);
    Text({info->type_key.data, info->type_key.size});
    switch (type) {
      case ffi::TypeIndex::kTVMFFIArray: {
        const auto items = value.cast<ffi::Array<ffi::Any>>();
        Word(items.size());
        for (const ffi::Any& item : items) Value(item);
        return;
      }
      case ffi::TypeIndex::kTVMFFIMap: {
        const auto items = value.cast<ffi::Map<ffi::Any, ffi::Any>>();
        Word(items.size());
        for (const auto& [key, item] : items) {
          Value(key);
          Value(item);
        }
        return;
      }
      case ffi::TypeIndex::kTVMFFIShape: {
        const auto shape = value.cast<ffi::Shape>();
        Word(shape.size());
        for (int64_t extent : shape) Word(static_cast<uint64_t>(extent));
        return;
      }
      case ffi::TypeIndex::kTVMFFITensor:
        return TensorContent(value.cast<ffi::Tensor>());
      default:
        return Fields(value, info);
    }
  }

  void TensorContent(const ffi::Tensor& tensor) {
    const DLTensor* view = tensor.GetDLTensorPtr();
    if (view->device.device_type != kDLCPU || !ffi::IsContiguous(*view)) {
      ok_ = false;
      return;
    }
    Put(&view->dtype, sizeof(view->dtype));
    Word(static_cast<uint64_t>(view->ndim));
    for (int i = 0; i < view->ndim; ++i) Word(static_cast<uint64_t>(view->shape[i]));
    Put(static_cast<const char*>(view->data) + view->byte_offset, ffi::GetDataSize(*view));
  }

  void Fields(const ffi::Any& value, const TVMFFITypeInfo* info) {
    const auto kind = info->metadata == nullptr ? kTVMFFISEqHashKindUnsupported
                                                : info->metadata->structural_eq_hash_kind;
    if (kind == kTVMFFISEqHashKindUnsupported) {
      ok_ = false;
      return;
    }
    // What is registered once in a process counts by its name.
    const bool by_name = kind == kTVMFFISEqHashKindUniqueInstance;
    bool named = false;
    const char* object = reinterpret_cast<const char*>(ffi::AnyView(value).CopyToTVMFFIAny().v_obj);
    ffi::reflection::ForEachFieldInfo(info, [&](const TVMFFIFieldInfo* field) {
      const std::string_view name(field->name.data, field->name.size);
      if (by_name && name != "name" && name != "name_hint") return;
      if (!by_name && (field->flags & kTVMFFIFieldFlagBitMaskSEqHashIgnore) != 0) return;
      ffi::Any item;
      TVM_FFI_CHECK_SAFE_CALL(field->getter(const_cast<char*>(object) + field->offset,
                                            reinterpret_cast<TVMFFIAny*>(&item)));
      Value(item);
      named = true;
    });
    if (by_name && !named) ok_ = false;
    if (const auto* var = value.as<GlobalVarNode>()) globals_->emplace_back(var->name_hint);
  }

  static constexpr size_t kBuffer = 1 << 14;
  support::Sha256* digest_;
  std::vector<std::string>* globals_;
  std::string text_;
  bool ok_ = true;
  std::unordered_map<const void*, uint64_t> numbers_;
  std::deque<ffi::Any> pending_;
  std::vector<ffi::Any> alive_;  // a field's getter may make objects; none may take another's place
};

/// Digest of a library's file; of its name, size and time when it is not one of ours.
std::string LibraryIdentity(const void* address, bool read) {
  Dl_info info;
  struct stat file{};
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr ||
      stat(info.dli_fname, &file) != 0) {
    return "unknown";
  }
  if (!read) {
    return std::to_string(file.st_size) + "." + std::to_string(file.st_mtim.tv_sec) + "." +
           std::to_string(file.st_mtim.tv_nsec);
  }
  support::Hasher128 hasher;
  const int fd = open(info.dli_fname, O_RDONLY | O_CLOEXEC);
  std::string buffer(1 << 18, '\0');
  for (ssize_t n; fd >= 0 && (n = ::read(fd, buffer.data(), buffer.size())) > 0;) {
    hasher.Update(buffer.data(), static_cast<size_t>(n));
  }
  if (fd >= 0) close(fd);
  return support::ToHex(hasher.Finish());
}

}  // namespace

bool AddContent(const ffi::Any& value, support::Sha256* digest, std::vector<std::string>* globals) {
  return ContentWriter(digest, globals).Run(value);
}

const std::string& CompilerIdentity() {
  static const auto* identity = new std::string([] {
    std::string text = "compiler " + LibraryIdentity(reinterpret_cast<void*>(&AddContent), true);
    text += " ffi " + LibraryIdentity(reinterpret_cast<void*>(&TVMFFIFunctionCall), true);
    const LLVMHooks* hooks = TryGetLLVMHooks();
    if (hooks == nullptr) return text + " no llvm";
    text += " llvm " + std::to_string(hooks->version_major);
    text += " " + LibraryIdentity(reinterpret_cast<const void*>(hooks->build), true);
    if (hooks->llvm_address != nullptr) text += " " + LibraryIdentity(hooks->llvm_address, false);
    text += " cpu " + hooks->host_cpu();
    std::vector<std::string> features;
    for (const auto& [name, on] : hooks->host_features()) {
      if (on) features.emplace_back(name);
    }
    std::sort(features.begin(), features.end());
    for (const std::string& name : features) text += "," + name;
    return text;
  }());
  return *identity;
}

std::string RelevantEnvironment() {
  // These only say where things go, what is shown, or how the result is run. What the tuner's file
  // says is part of the keys, or of the kernels.
  static constexpr std::string_view kNeutral[] = {
      "TVM_CACHE_DIR=",   "TVM_CACHE_LIMIT=",  "TVM_TIME_PASSES=",
      "TVM_LOG_DEBUG=",   "TVM_LIBRARY_PATH=", "TVM_BIND_THREADS=",
      "TVM_NUM_THREADS=", "TVM_PRESET=",       "TVM_THREAD_POOL_SPIN_COUNT=",
      "TVM_TUNE_DB=",     "TVM_FFI_BACKTRACE="};
  std::vector<std::string> found;
  for (char** item = environ; item != nullptr && *item != nullptr; ++item) {
    const std::string_view text(*item);
    if (text.rfind("TVM_", 0) != 0) continue;
    const bool neutral =
        std::any_of(std::begin(kNeutral), std::end(kNeutral),
                    [&](std::string_view name) { return text.rfind(name, 0) == 0; });
    if (!neutral) found.emplace_back(text);
  }
  std::sort(found.begin(), found.end());
  std::string joined;
  for (const std::string& item : found) joined += item + '\n';
  return joined;
}

}  // namespace codegen
}  // namespace tvm
