// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file frame.h
/// A VM function in the form the interpreter runs, and the frames of its activations.
///
/// A call that repeats makes no heap call: frames return to their function, each call
/// site has its argument array with constants already in place, and the sites that make storages,
/// tuples, shapes and shape heaps keep what they made for as long as nobody else refers to it.
/// What a static memory plan makes is made once a frame (resident.cc).
#ifndef TVM_RUNTIME_VM_FRAME_H_
#define TVM_RUNTIME_VM_FRAME_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/function.h>
#include <tvm/runtime/vm/vm.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace tvm {
namespace runtime {
namespace vm {

static_assert(sizeof(ffi::Any) == sizeof(TVMFFIAny));

/// What an instruction does. Calls of some builtins have steps of their own.
enum class Step : uint8_t {
  kCall,
  kCallVM,
  kRet,
  kGoto,
  kIf,
  kAllocStorage,
  kAllocTensor,
  kAllocShapeHeap,
  kMakeTuple,
  kMakeShape,
  kShapeOf,
  kReshape,
  kReadCond,
  kCopy,
  kNull,
  /// A step whose result stays in its register from call to call; Op::made says which.
  kResident,
};

class VMFunc;

struct Op {
  Step step;
  /// Register that takes the result; -1 drops it. The register read, for kRet and kIf.
  int32_t reg = -1;
  int32_t arg_begin = 0;
  int32_t num_args = 0;
  int32_t fill_begin = 0;
  int32_t fill_end = 0;
  /// Index of the site's memo in the frame.
  int32_t memo = -1;
  /// Where kGoto, kIf on false, and the first kResident of a run that is all made go.
  int32_t target = 0;
  /// kResident: what makes the value, and its entry among the function's residents.
  Step made = Step::kNull;
  int32_t resident = -1;
  /// The register that the last step of the run fills; -1 if this is not the run's first.
  int32_t run_reg = -1;
  /// kCall: the function's own entry.
  TVMFFISafeCallType safe_call = nullptr;
  void* self = nullptr;
  /// kCallVM.
  VMFunc* callee = nullptr;
  /// Entry in the function table.
  Index func_idx = -1;
};

/// An argument that is read from a register before each call.
struct Fill {
  int32_t slot;
  int32_t reg;
};

/// A value that depends on constants only and is seen by kernels only: a storage of the static
/// memory plan, a tensor in it, or a view of such a tensor.
struct Resident {
  int32_t reg = -1;
  /// The resident that it is a part of; -1 for a storage.
  int32_t parent = -1;
  /// Argument slots that take it, in VMFunc::resident_slots.
  int32_t slot_begin = 0;
  int32_t slot_end = 0;
};

/// Storages made by one site. The second is used while the caller still holds the first, as
/// the output of the call before.
struct StorageSite {
  struct Entry {
    ffi::ObjectPtr<StorageObj> storage;
    size_t size = 0;
  };
  Entry entries[2];
  int victim = 0;
};

struct TupleSite {
  ffi::ObjectPtr<ffi::ArrayObj> entries[2];
  int victim = 0;
};

/// What a call site of native code made. It stays in a register of its own between calls.
class NativeSite : public ffi::Object {
 public:
  StorageSite storages;
  TupleSite tuples;
  ffi::Any value;

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("relax.vm.NativeSite", NativeSite, ffi::Object);
};

struct Frame {
  VMFunc* func = nullptr;
  Frame* caller = nullptr;
  int32_t return_pc = 0;
  Frame* next = nullptr;
  std::vector<ffi::Any> regs;
  std::vector<TVMFFIAny> args;
  std::vector<StorageSite> storages;
  std::vector<TupleSite> tuples;
  std::vector<ffi::Any> shapes;
  std::vector<ffi::Any> heaps;
  /// References that the frame itself holds to each resident; 0 before it is made.
  std::vector<uint32_t> resident_refs;
};

/// One function of the executable, ready to run.
class VMFunc {
 public:
  VMFunc() = default;
  VMFunc(const VMFunc&) = delete;
  ~VMFunc();

  Frame* Acquire();
  void Release(Frame* frame);

  const VMFuncInfo* info = nullptr;
  Index index = -1;
  /// First instruction in the executable, for messages.
  Index start_instr = 0;
  int32_t num_args = 0;
  int32_t num_regs = 0;
  std::vector<Op> code;
  std::vector<Fill> fills;
  std::vector<TVMFFIAny> arg_template;
  int32_t num_storages = 0;
  int32_t num_tuples = 0;
  int32_t num_shapes = 0;
  int32_t num_heaps = 0;
  std::vector<Resident> residents;
  std::vector<int32_t> resident_slots;
  /// Registers that a call leaves empty.
  std::vector<int32_t> passing_regs;
  /// Native code of a kVMTIRFunc.
  ffi::Function native;

  /// Finds the residents among the decoded steps; called once, after the code is complete.
  void PlanResidents();
  /// Accounts for the resident whose register has just been filled and hands it to its users.
  static void SettleResident(Frame* frame, const Op& op);

 private:
  static constexpr size_t kNumHot = 16;
  Frame* NewFrame();
  /// Lets go of the residents if anyone else still refers to one of them.
  void CheckResidents(Frame* frame) const;

  /// A frame a thread used last waits here; the list takes what more there is.
  std::atomic<Frame*> hot_[kNumHot] = {};
  std::mutex mu_;
  Frame* free_ = nullptr;
};

/// A raw view of a register or constant.
inline TVMFFIAny ViewOf(const ffi::Any& value) {
  TVMFFIAny raw;
  std::memcpy(&raw, &value, sizeof(raw));
  return raw;
}

/// Takes ownership of what a safe call returned.
inline ffi::Any TakeResult(const TVMFFIAny& raw) {
  ffi::Any value;
  std::memcpy(static_cast<void*>(&value), &raw, sizeof(raw));
  return value;
}

}  // namespace vm
}  // namespace runtime
}  // namespace tvm

#endif  // TVM_RUNTIME_VM_FRAME_H_
