// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "library_function.h"

#include <dlfcn.h>
#include <tvm/ffi/any.h>
#include <tvm/ffi/error.h>

#include <atomic>
#include <utility>

#include "src/registrations.h"

namespace tvm {
namespace ffi {
namespace {

const void* LoadAddress(const void* code) {
  Dl_info info;
  return dladdr(code, &info) == 0 ? nullptr : info.dli_fbase;
}

/// Whether the code that destroys the object is in libtvm_ffi.
bool IsDestroyedHere(const TVMFFIObject* object) {
  // Looking an address up is slow, and the objects that a library returns are mostly alike.
  static std::atomic<const void*> last{nullptr};
  const auto* deleter = reinterpret_cast<const void*>(object->deleter);
  if (deleter == last.load(std::memory_order_relaxed)) return true;
  static const void* const own = LoadAddress(reinterpret_cast<const void*>(&TVMFFIObjectDecRef));
  if (own == nullptr || LoadAddress(deleter) != own) return false;
  last.store(deleter, std::memory_order_relaxed);
  return true;
}

/// Values without references to other objects or to code, apart from their own deleter.
bool IsPlain(int32_t type_index) {
  return type_index == kTVMFFIStr || type_index == kTVMFFIBytes || type_index == kTVMFFIShape ||
         type_index == kTVMFFIBigInt;
}

/// Whether the library could put an object of its own into the argument. Tensors only have data.
bool CanHoldObjects(const TVMFFIAny& arg) {
  const TVMFFIObject* object = nullptr;
  if (arg.type_index >= kTVMFFIStaticObjectBegin) {
    object = arg.v_obj;
  } else if (arg.type_index == kTVMFFIObjectRValueRef) {
    object = *static_cast<TVMFFIObject**>(arg.v_ptr);
  }
  if (object == nullptr) return false;
  return !IsPlain(object->type_index) && object->type_index != kTVMFFITensor;
}

/// Whether the raised error may refer to the library: it, or what it carries, was made there.
bool RaisedErrorMayReferToCaller() {
  TVMFFIObjectHandle raised = nullptr;
  TVMFFIErrorMoveFromRaised(&raised);
  if (raised == nullptr) return false;
  bool refers = false;
  const auto* error = static_cast<const TVMFFIObject*>(raised);
  while (error != nullptr && !refers) {
    const TVMFFIErrorCell* cell = TVMFFIErrorGetCellPtr(const_cast<TVMFFIObject*>(error));
    refers = !IsDestroyedHere(error) || cell->extra_context != nullptr;
    error = static_cast<const TVMFFIObject*>(cell->cause_chain);
  }
  TVMFFIErrorSetRaised(raised);
  TVMFFIObjectDecRef(raised);
  return refers;
}

struct Callee {
  TVMFFISafeCallType function;
  std::shared_ptr<Library> library;
  ObjectPtr<ModuleObj> module;
  ObjectPtr<ModuleObj> root;

  static int Call(void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
    auto* callee = static_cast<Callee*>(self);
    Library* library = callee->library.get();
    if (library->stays()) return callee->function(nullptr, args, num_args, result);
    for (int32_t i = 0; i < num_args; ++i) {
      if (CanHoldObjects(args[i])) library->Pin();
    }
    const uint64_t before = num_registrations.load(std::memory_order_relaxed);
    const int status = callee->function(nullptr, args, num_args, result);
    const bool registered = num_registrations.load(std::memory_order_relaxed) != before;
    if (registered ||
        (status == 0 ? ReturnedObjectMayReferTo(*result) : RaisedErrorMayReferToCaller())) {
      library->Pin();
    }
    return status;
  }

  static bool ReturnedObjectMayReferTo(const TVMFFIAny& result) {
    if (result.type_index < kTVMFFIStaticObjectBegin) return false;
    return !IsPlain(result.type_index) || !IsDestroyedHere(result.v_obj);
  }

  static void Delete(void* self) { delete static_cast<Callee*>(self); }
};

}  // namespace

Optional<Function> LibraryFunction(std::shared_ptr<Library> library, const std::string& symbol,
                                   ObjectPtr<ModuleObj> module, ObjectPtr<ModuleObj> root) {
  void* address = library->GetSymbol(symbol.c_str());
  if (address == nullptr) return std::nullopt;
  auto* callee = new Callee{reinterpret_cast<TVMFFISafeCallType>(address), std::move(library),
                            std::move(module), std::move(root)};
  return Function::FromExternC(callee, Callee::Call, Callee::Delete);
}

}  // namespace ffi
}  // namespace tvm
