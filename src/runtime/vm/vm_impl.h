// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file vm_impl.h
/// The implementation behind VirtualMachine.
#ifndef TVM_RUNTIME_VM_VM_IMPL_H_
#define TVM_RUNTIME_VM_VM_IMPL_H_

#include <tvm/runtime/vm/vm.h>

#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/vm/frame.h"

namespace tvm {
namespace runtime {
namespace vm {

/// Time that one call site took.
struct SiteTime {
  const VMFunc* func;
  int32_t pc;
  int64_t calls = 0;
  int64_t nanos = 0;
  std::string args;
};

class VirtualMachineImpl final : public VirtualMachine {
 public:
  const char* kind() const final { return "relax.VirtualMachine"; }
  int GetPropertyMask() const final { return ffi::Module::kRunnable; }
  ffi::Optional<ffi::Function> GetFunction(const ffi::String& name) final;

  void Init(const std::vector<Device>& devices,
            const std::vector<AllocatorType>& alloc_types) final;
  void LoadExecutable(ffi::ObjectPtr<VMExecutable> exec) final;
  VMClosure GetClosure(const ffi::String& func_name) final;
  void InvokeClosurePacked(const ffi::ObjectRef& closure_or_packedfunc, ffi::PackedArgs args,
                           ffi::Any* rv) final;
  void SetInstrument(ffi::Function instrument) final { instrument_ = std::move(instrument); }

  // ---- running (interpreter.cc) ----
  /// Runs a function on arguments from outside, which are checked and brought into shape.
  void Invoke(VMFunc* func, const TVMFFIAny* args, int32_t num_args, ffi::Any* rv);
  /// Runs it and returns the time of each call site as JSON text.
  ffi::String Profile(VMFunc* func, const TVMFFIAny* args, int32_t num_args);

  // ---- module functions (vm.cc) ----
  void InitFromArgs(ffi::PackedArgs args);
  void SaveFunction(const ffi::String& func_name, const ffi::String& save_name, bool include_return,
                    ffi::PackedArgs args);
  void SetInput(const std::string& func_name, ffi::PackedArgs args);
  void SetInputWithParamModule(const std::string& func_name, ffi::PackedArgs args);
  void InvokeStateful(const std::string& func_name);
  ffi::Any GetOutput(const std::string& func_name, ffi::PackedArgs path);
  int64_t GetOutputArity(const std::string& func_name, ffi::PackedArgs path);

  // ---- builtins that keep what they made at a call site (sites.cc) ----
  /// Arguments (shape, device index, dtype, [scope]) of alloc_storage.
  ffi::Any AllocStorage(StorageSite* site, ffi::PackedArgs args);
  ffi::Any MakeTuple(TupleSite* site, ffi::PackedArgs args);
  ffi::Any AllocShapeHeap(ffi::Any* memo, int64_t size);
  static ffi::Any MakeShape(ffi::Any* memo, ffi::PackedArgs args);
  static ffi::Any ShapeOf(ffi::Any* memo, ffi::AnyView tensor);
  /// The function of that name; raises ValueError `Unknown function: F`.
  VMFunc* Lookup(const std::string& func_name);

 private:
  void LoadConstants();
  void LinkFunctions();
  ffi::Function FindPacked(const std::string& name);
  ffi::Any FuncValue(Index index);
  void Decode(VMFunc* func);
  void DecodeCall(VMFunc* func, const Instruction& instr, Op* op);
  void ReadArgs(VMFunc* func, const Instruction& instr, Op* op);

  /// A tensor argument on the machine's device, compact and aligned; others as they are.
  ffi::Any ConvertArg(ffi::AnyView arg);
  void CheckArity(const VMFunc* func, int64_t given);

  template <bool kObserved>
  void RunLoop(Frame* frame, ffi::Any* rv, std::vector<SiteTime>* times);
  void RunFrames(Frame* frame, ffi::Any* rv, std::vector<SiteTime>* times);
  void RunNative(VMFunc* func, Frame* frame, ffi::Any* rv);
  void RunStep(Frame* frame, const Op& op, const TVMFFIAny* args, ffi::Any* result);
  void RunObserved(Frame* frame, const Op& op, const TVMFFIAny* args, ffi::Any* result,
                   std::vector<SiteTime>* times);
  bool Instrumented() const { return instrument_ != nullptr && instrument_.defined(); }
  /// True if the instrument asks to skip the call.
  bool CallInstrument(const Op& op, const TVMFFIAny* args, bool before, const ffi::Any& result);

  ffi::ObjectPtr<VMExecutable> exec_;
  std::vector<ffi::Any> constants_;
  /// What each entry of the function table is as a value: a Function or a VMClosure.
  std::vector<ffi::Any> func_values_;
  /// One for each entry; packed functions have none.
  std::vector<std::unique_ptr<VMFunc>> funcs_;
  ffi::Function instrument_{nullptr};
  std::unordered_map<std::string, ffi::Function> saved_;
  std::unordered_map<std::string, std::vector<ffi::Any>> inputs_;
  std::unordered_map<std::string, ffi::Any> outputs_;
  /// Sites keep what they made; off where an allocator is the naive one, which frees at once.
  bool reuse_ = true;
};

/// Builtins that share code with the interpreter's own steps (builtin.cc).
namespace builtin {
/// Fills out with the n dimensions that make_shape describes.
void MakeShapeDims(ffi::PackedArgs args, int64_t* out);
int64_t MakeShapeRank(ffi::PackedArgs args);
size_t StorageBytes(ffi::AnyView shape, DLDataType dtype);
/// True if a boolean, an integer or a one-element tensor is not zero.
bool ReadIfCond(ffi::AnyView cond);
/// alloc_tensor(storage, offset, shape, dtype)
ffi::Any AllocTensor(const TVMFFIAny* args);
/// The same elements in another shape. Views of host memory are recycled.
ffi::Tensor Reshape(const ffi::Tensor& tensor, const ffi::Shape& shape);
}  // namespace builtin

}  // namespace vm
}  // namespace runtime
}  // namespace tvm

#endif  // TVM_RUNTIME_VM_VM_IMPL_H_
