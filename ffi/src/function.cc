// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

/// Function objects of C callees and the table of global functions.
#include <tvm/ffi/any.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/memory.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ffi/string.h>

#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "src/library_init.h"
#include "src/registrations.h"

namespace tvm {
namespace ffi {
namespace {

/// Function with a C entry point and its context.
class ExternCFunctionObj : public FunctionObj {
 public:
  ExternCFunctionObj(void* self, TVMFFISafeCallType call, void (*deleter)(void*))
      : self_(self), call_(call), deleter_(deleter) {
    this->safe_call = Forward;
  }
  ~ExternCFunctionObj() {
    if (deleter_ != nullptr) deleter_(self_);
  }

 private:
  static int Forward(void* function, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
    const auto* impl = static_cast<const ExternCFunctionObj*>(static_cast<Object*>(function));
    return impl->call_(impl->self_, args, num_args, result);
  }

  void* self_;
  TVMFFISafeCallType call_;
  void (*deleter_)(void*);
};

Function MakeExternC(void* self, TVMFFISafeCallType safe_call, void (*deleter)(void*)) {
  return Function(
      ObjectPtr<FunctionObj>(make_object<ExternCFunctionObj>(self, safe_call, deleter)));
}

class GlobalFunctionTable {
 public:
  struct Entry {
    Function function;
    String doc;
    String metadata;
  };

  static GlobalFunctionTable* Global() {
    // Never destroyed: functions are called and removed until the very end of the process.
    static GlobalFunctionTable* table = new GlobalFunctionTable();
    return table;
  }

  void Set(std::string_view name, Entry entry, bool allow_override) {
    std::unique_ptr<Entry> replaced;  // dies after the lock: its destructor may run user code
    std::unique_lock lock(mutex_);
    auto slot = entries_.find(std::string(name));
    if (slot == entries_.end()) {
      slot = entries_.emplace(std::string(name), nullptr).first;
    } else if (!allow_override) {
      lock.unlock();
      TVM_FFI_THROW(RuntimeError) << "Global Function `" << name << "` is already registered";
    }
    CountRegistration();
    replaced = std::move(slot->second);
    slot->second = std::make_unique<Entry>(std::move(entry));
  }

  /// Null pointer when missing.
  ObjectPtr<FunctionObj> Find(std::string_view name) const {
    std::shared_lock lock(mutex_);
    const auto found = entries_.find(std::string(name));
    if (found == entries_.end()) return nullptr;
    return detail::ObjectUnsafe::ObjectPtrFromObjectRef<FunctionObj>(found->second->function);
  }

  bool Remove(std::string_view name) {
    std::unique_ptr<Entry> removed;
    std::unique_lock lock(mutex_);
    const auto found = entries_.find(std::string(name));
    if (found == entries_.end()) return false;
    removed = std::move(found->second);
    entries_.erase(found);
    return true;
  }

  Array<String> Names() const {
    std::shared_lock lock(mutex_);
    Array<String> names;
    names.reserve(static_cast<int64_t>(entries_.size()));
    for (const auto& [name, entry] : entries_) names.push_back(String(name));
    return names;
  }

  String Metadata(const String& name) const {
    std::shared_lock lock(mutex_);
    const auto found = entries_.find(std::string(name.view()));
    if (found == entries_.end()) {
      lock.unlock();
      TVM_FFI_THROW(RuntimeError) << "Global Function `" << name << "` is not found";
    }
    return found->second->metadata;
  }

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<std::string, std::unique_ptr<Entry>> entries_;
};

/// Snapshot of the names: f(-1) counts, f(i) yields.
Function ListGlobalNamesFunctor() {
  return Function::FromTyped([names = GlobalFunctionTable::Global()->Names()](int64_t i) -> Any {
    if (i < 0) return static_cast<int64_t>(names.size());
    return names[i];
  });
}

TVM_FFI_LIBRARY_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::GlobalDef()
      .def("ffi.FunctionRemoveGlobal",
           [](const String& name) { return GlobalFunctionTable::Global()->Remove(name.view()); })
      .def("ffi.FunctionListGlobalNamesFunctor", ListGlobalNamesFunctor)
      .def("ffi.FunctionFromExternC",
           [](void* self, void* safe_call, void* deleter) {
             return MakeExternC(self, reinterpret_cast<TVMFFISafeCallType>(safe_call),
                                reinterpret_cast<void (*)(void*)>(deleter));
           })
      .def("ffi.GetGlobalFuncMetadata",
           [](const String& name) { return GlobalFunctionTable::Global()->Metadata(name); });
}

/// Owned form of the three kinds that exist in views only, and of objects.
Any OwnedFromView(const TVMFFIAny& view) {
  switch (view.type_index) {
    case kTVMFFIRawStr:
      return String(view.v_c_str);
    case kTVMFFIByteArrayPtr:
      return Bytes(*static_cast<const TVMFFIByteArray*>(view.v_ptr));
    case kTVMFFIObjectRValueRef: {
      auto* slot = static_cast<TVMFFIObject**>(view.v_ptr);
      if (*slot == nullptr) TVM_FFI_THROW(InternalError) << "RValueRef already moved";
      TVMFFIAny taken;
      detail::StoreObject(std::exchange(*slot, nullptr), &taken);
      return detail::AnyUnsafe::MoveTVMFFIAnyRawToAny(taken);
    }
    default:
      return Any(AnyView::CopyFromTVMFFIAny(view));
  }
}

}  // namespace
}  // namespace ffi
}  // namespace tvm

using tvm::ffi::Function;
using tvm::ffi::GlobalFunctionTable;
using tvm::ffi::ObjectPtr;
using tvm::ffi::String;
using tvm::ffi::detail::AnyUnsafe;
using tvm::ffi::detail::ObjectUnsafe;

int TVMFFIFunctionCreate(void* self, TVMFFISafeCallType safe_call, void (*deleter)(void* self),
                         TVMFFIObjectHandle* out) {
  TVM_FFI_SAFE_CALL_BEGIN();
  *out =
      ObjectUnsafe::MoveObjectRefToTVMFFIObjectPtr(tvm::ffi::MakeExternC(self, safe_call, deleter));
  TVM_FFI_SAFE_CALL_END();
}

int TVMFFIFunctionGetGlobal(const TVMFFIByteArray* name, TVMFFIObjectHandle* out) {
  TVM_FFI_SAFE_CALL_BEGIN();
  *out = ObjectUnsafe::MoveObjectPtrToTVMFFIObjectPtr(
      GlobalFunctionTable::Global()->Find(std::string_view(name->data, name->size)));
  TVM_FFI_SAFE_CALL_END();
}

int TVMFFIFunctionSetGlobal(const TVMFFIByteArray* name, TVMFFIObjectHandle f, int allow_override) {
  TVM_FFI_SAFE_CALL_BEGIN();
  Function function(
      ObjectUnsafe::ObjectPtrFromUnowned<tvm::ffi::FunctionObj>(static_cast<TVMFFIObject*>(f)));
  GlobalFunctionTable::Global()->Set(std::string_view(name->data, name->size),
                                     {std::move(function), String(), String("{}")},
                                     allow_override != 0);
  TVM_FFI_SAFE_CALL_END();
}

int TVMFFIFunctionSetGlobalFromMethodInfo(const TVMFFIMethodInfo* method_info, int allow_override) {
  TVM_FFI_SAFE_CALL_BEGIN();
  const tvm::ffi::AnyView method = tvm::ffi::AnyView::CopyFromTVMFFIAny(method_info->method);
  GlobalFunctionTable::Global()->Set(
      std::string_view(method_info->name.data, method_info->name.size),
      {method.cast<Function>(), String(method_info->doc),
       method_info->metadata.size == 0 ? String("{}") : String(method_info->metadata)},
      allow_override != 0);
  TVM_FFI_SAFE_CALL_END();
}

int TVMFFIFunctionCall(TVMFFIObjectHandle func, TVMFFIAny* args, int32_t num_args,
                       TVMFFIAny* result) {
  // The cell's own entry already reports errors the C way.
  return TVMFFIFunctionGetCellPtr(func)->safe_call(func, args, num_args, result);
}

int TVMFFIAnyViewToOwnedAny(const TVMFFIAny* any_view, TVMFFIAny* out) {
  TVM_FFI_SAFE_CALL_BEGIN();
  *out = AnyUnsafe::MoveAnyToTVMFFIAny(tvm::ffi::OwnedFromView(*any_view));
  TVM_FFI_SAFE_CALL_END();
}
