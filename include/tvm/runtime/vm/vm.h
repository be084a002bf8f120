// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file vm.h
/// VirtualMachine: runs the functions of a VMExecutable.
#ifndef TVM_RUNTIME_VM_VM_H_
#define TVM_RUNTIME_VM_VM_H_

#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/string.h>
#include <tvm/runtime/memory/memory_manager.h>
#include <tvm/runtime/vm/bytecode.h>
#include <tvm/runtime/vm/executable.h>

#include <string>
#include <unordered_map>
#include <vector>

namespace tvm {
namespace runtime {
namespace vm {

using memory::Allocator;
using memory::AllocatorType;
using memory::Storage;
using memory::StorageObj;

/// A function of the machine as a value. Its implementation takes the machine first.
class VMClosureObj : public ffi::Object {
 public:
  ffi::String func_name;
  /// Called as impl(OpaquePtr vm, args...).
  ffi::Function impl;

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("relax.vm.Closure", VMClosureObj, ffi::Object);
};

class VMClosure : public ffi::ObjectRef {
 public:
  TVM_RUNTIME_DLL VMClosure(ffi::String func_name, ffi::Function impl);
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(VMClosure, ffi::ObjectRef, VMClosureObj);

  /// Function f(ctx, args...) -> func(ctx, args..., last_args...).
  TVM_RUNTIME_DLL static ffi::Function BindLastArgs(ffi::Function func,
                                                    std::vector<ffi::Any> last_args);
};

/// What an instrument function tells the machine.
enum class VMInstrumentReturnKind : int { kNoOp = 0, kSkipRun = 1 };

/// Base of machine state that builtins keep between calls.
class VMExtension : public ffi::Object {
 public:
  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO("runtime.VMExtension", VMExtension, ffi::Object);
};

/// Interface that builtins see. Functions may run in several threads at once after Init;
/// the stateful ones (set_input, invoke_stateful, get_output, save_function, set_instrument) serve
/// one thread.
class VirtualMachine : public ffi::ModuleObj {
 public:
  virtual void Init(const std::vector<Device>& devices,
                    const std::vector<AllocatorType>& alloc_types) = 0;
  virtual void LoadExecutable(ffi::ObjectPtr<VMExecutable> exec) = 0;
  virtual VMClosure GetClosure(const ffi::String& func_name) = 0;
  virtual void InvokeClosurePacked(const ffi::ObjectRef& closure_or_packedfunc,
                                   ffi::PackedArgs args, ffi::Any* rv) = 0;
  virtual void SetInstrument(ffi::Function instrument) = 0;

  /// Devices in the caller's order; the CPU is always the last.
  std::vector<Device> devices;
  std::vector<Allocator*> allocators;

  TVM_RUNTIME_DLL static ffi::ObjectPtr<VirtualMachine> Create();
  /// The machine behind the first argument of a builtin.
  static VirtualMachine* GetContextPtr(ffi::AnyView arg) {
    auto* vm = static_cast<VirtualMachine*>(arg.cast<void*>());
    if (vm == nullptr) TVM_FFI_THROW(TypeError) << "expected a virtual machine, got None";
    return vm;
  }
};

}  // namespace vm
}  // namespace runtime
}  // namespace tvm

#endif  // TVM_RUNTIME_VM_VM_H_
