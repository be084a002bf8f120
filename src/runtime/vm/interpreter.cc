// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file interpreter.cc
/// The interpreter's loop, and the way from an outside call into it.
/// Above 500 lines: the steps stay in the same file as the loop, which inlines them.
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/json.h>
#include <tvm/runtime/device_api.h>
#include <tvm/runtime/logging.h>

#include <chrono>
#include <utility>

#include "runtime/vm/vm_impl.h"

namespace tvm {
namespace runtime {
namespace vm {

namespace {

/// Calls between VM functions that may be open at once.
constexpr int kMaxFrames = 100000;
/// Entries into the interpreter (through closures and callbacks) that may be open on one thread.
constexpr int kMaxEntries = 1000;

thread_local int entries = 0;

class EntryGuard {
 public:
  EntryGuard() {
    TVM_REQUIRE(entries < kMaxEntries, RecursionError)
        << "VM functions called each other through closures more than " << kMaxEntries
        << " levels deep";
    ++entries;
  }
  ~EntryGuard() { --entries; }
};

/// Returns every frame of a run when it ends early.
class FrameStack {
 public:
  explicit FrameStack(Frame* frame) : top(frame) {}
  ~FrameStack() {
    while (top != nullptr) Pop();
  }
  void Pop() {
    Frame* done = top;
    top = done->caller;
    done->func->Release(done);
    --depth;
  }
  /// Owns the frame from the start, so that the error for too many leaks none.
  void Push(Frame* frame) {
    frame->caller = top;
    top = frame;
    TVM_REQUIRE(depth++ < kMaxFrames, RecursionError)
        << "VM functions called each other more than " << kMaxFrames << " levels deep";
  }
  Frame* top;
  int depth = 1;
};

/// True if this resident and those that follow it are in their registers.
bool IsMade(const Frame& frame, const Op& op) {
  return op.run_reg >= 0 &&
         frame.regs[static_cast<size_t>(op.run_reg)].type_index() != ffi::TypeIndex::kTVMFFINone;
}

int64_t ConditionOf(const ffi::Any& value) {
  TVMFFIAny raw = ViewOf(value);
  if (raw.type_index == ffi::TypeIndex::kTVMFFIInt ||
      raw.type_index == ffi::TypeIndex::kTVMFFIBool) {
    return raw.v_int64;
  }
  return value.cast<int64_t>();
}

std::string TensorText(const TVMFFIAny& raw) {
  if (raw.type_index != ffi::TypeIndex::kTVMFFITensor) return "";
  const DLTensor* t = TVMFFITensorGetDLTensorPtr(raw.v_obj);
  std::string out = runtime::DataType(t->dtype).ToString() + "[";
  for (int i = 0; i < t->ndim; ++i) out += (i != 0 ? "," : "") + std::to_string(t->shape[i]);
  return out + "]";
}

}  // namespace

// ---- steps ---------------------------------------------------------------------------------

void VirtualMachineImpl::RunStep(Frame* frame, const Op& op, const TVMFFIAny* args,
                                 ffi::Any* result) {
  auto view = [args](int i) { return ffi::AnyView::CopyFromTVMFFIAny(args[i]); };
  auto rest = [&](int begin) {
    return ffi::PackedArgs(reinterpret_cast<const ffi::AnyView*>(args) + begin,
                           op.num_args - begin);
  };
  switch (op.step == Step::kResident ? op.made : op.step) {
    case Step::kCall: {
      TVMFFIAny ret{};
      ret.type_index = ffi::TypeIndex::kTVMFFINone;
      TVM_FFI_CHECK_SAFE_CALL(op.safe_call(op.self, args, op.num_args, &ret));
      *result = TakeResult(ret);
      return;
    }
    case Step::kAllocStorage:
      *result = AllocStorage(&frame->storages[static_cast<size_t>(op.memo)], rest(1));
      return;
    case Step::kAllocTensor:
      *result = builtin::AllocTensor(args);
      return;
    case Step::kAllocShapeHeap:
      *result =
          AllocShapeHeap(&frame->heaps[static_cast<size_t>(op.memo)], view(1).cast<int64_t>());
      return;
    case Step::kMakeTuple:
      *result = MakeTuple(&frame->tuples[static_cast<size_t>(op.memo)], rest(0));
      return;
    case Step::kMakeShape:
      *result = MakeShape(&frame->shapes[static_cast<size_t>(op.memo)], rest(0));
      return;
    case Step::kShapeOf:
      *result = ShapeOf(&frame->shapes[static_cast<size_t>(op.memo)], view(0));
      return;
    case Step::kReshape:
      *result = builtin::Reshape(view(0).cast<ffi::Tensor>(), view(1).cast<ffi::Shape>());
      return;
    case Step::kReadCond:
      *result = builtin::ReadIfCond(view(0));
      return;
    case Step::kCopy:
      *result = view(0);
      return;
    case Step::kNull:
      *result = nullptr;
      return;
    case Step::kCallVM:
      // Reached under an instrument only; the loop itself pushes a frame.
      Invoke(op.callee, args, op.num_args, result);
      return;
    default:
      TVM_FFI_THROW(InternalError) << "a jump is no step";
  }
}

// ---- the loop --------------------------------------------------------------------------------

bool VirtualMachineImpl::CallInstrument(const Op& op, const TVMFFIAny* args, bool before,
                                        const ffi::Any& result) {
  auto index = static_cast<size_t>(op.func_idx);
  std::vector<ffi::AnyView> packed(static_cast<size_t>(op.num_args) + 4);
  ffi::String name(exec_->func_table[index].name);
  packed[0] = func_values_[index];
  packed[1] = name;
  packed[2] = before;
  packed[3] = result;
  for (int i = 0; i < op.num_args; ++i) {
    packed[static_cast<size_t>(i) + 4] = ffi::AnyView::CopyFromTVMFFIAny(args[i]);
  }
  ffi::Any rv;
  instrument_.CallPacked(packed.data(), static_cast<int32_t>(packed.size()), &rv);
  auto code = rv.try_cast<int64_t>();
  return before && code.has_value() &&
         *code == static_cast<int64_t>(VMInstrumentReturnKind::kSkipRun);
}

void VirtualMachineImpl::RunObserved(Frame* frame, const Op& op, const TVMFFIAny* args,
                                     ffi::Any* result, std::vector<SiteTime>* times) {
  const bool instrumented = Instrumented();
  if (instrumented && CallInstrument(op, args, true, ffi::Any())) return;
  if (times == nullptr || op.step == Step::kCallVM) {
    RunStep(frame, op, args, result);
  } else {
    auto begin = std::chrono::steady_clock::now();
    RunStep(frame, op, args, result);
    auto end = std::chrono::steady_clock::now();
    auto pc = static_cast<int32_t>(&op - frame->func->code.data());
    SiteTime* site = nullptr;
    for (SiteTime& s : *times) {
      if (s.func == frame->func && s.pc == pc) site = &s;
    }
    if (site == nullptr) {
      times->push_back(SiteTime{frame->func, pc, 0, 0, ""});
      site = &times->back();
      for (int i = 0; i < op.num_args; ++i) {
        std::string text = TensorText(args[i]);
        if (!text.empty()) site->args += (site->args.empty() ? "" : " ") + text;
      }
    }
    site->calls += 1;
    site->nanos += std::chrono::duration_cast<std::chrono::nanoseconds>(end - begin).count();
  }
  if (instrumented) CallInstrument(op, args, false, *result);
}

template <bool kObserved>
void VirtualMachineImpl::RunLoop(Frame* entry, ffi::Any* rv, std::vector<SiteTime>* times) {
  FrameStack stack(entry);
  Frame* frame = entry;
  const Op* code = frame->func->code.data();
  int32_t pc = 0;
  try {
    for (;;) {
      const Op& op = code[pc];
      switch (op.step) {
        case Step::kRet: {
          ffi::Any result;
          if (op.reg >= 0) result = std::move(frame->regs[static_cast<size_t>(op.reg)]);
          int32_t resume = frame->return_pc;
          stack.Pop();
          frame = stack.top;
          if (frame == nullptr) {
            *rv = std::move(result);
            return;
          }
          code = frame->func->code.data();
          if (int32_t dst = code[resume].reg; dst >= 0) {
            frame->regs[static_cast<size_t>(dst)] = std::move(result);
          }
          pc = resume + 1;
          continue;
        }
        case Step::kGoto:
          pc = op.target;
          continue;
        case Step::kIf:
          pc = ConditionOf(frame->regs[static_cast<size_t>(op.reg)]) != 0 ? pc + 1 : op.target;
          continue;
        case Step::kResident:
          if (IsMade(*frame, op) && !Instrumented()) {
            pc = op.target;
            continue;
          }
          break;
        default:
          break;
      }
      TVMFFIAny* args = frame->args.data() + op.arg_begin;
      for (int32_t i = op.fill_begin; i < op.fill_end; ++i) {
        const Fill& fill = frame->func->fills[static_cast<size_t>(i)];
        frame->args[static_cast<size_t>(fill.slot)] =
            ViewOf(frame->regs[static_cast<size_t>(fill.reg)]);
      }
      if constexpr (kObserved) {
        if (op.step != Step::kCallVM || Instrumented()) {
          ffi::Any result;
          RunObserved(frame, op, args, &result, times);
          if (op.reg >= 0) frame->regs[static_cast<size_t>(op.reg)] = std::move(result);
          if (op.step == Step::kResident) VMFunc::SettleResident(frame, op);
          ++pc;
          continue;
        }
      }
      if (op.step == Step::kCall) {
        TVMFFIAny ret{};
        ret.type_index = ffi::TypeIndex::kTVMFFINone;
        int rc = op.safe_call(op.self, args, op.num_args, &ret);
        if (__builtin_expect(rc != 0, 0)) TVM_FFI_CHECK_SAFE_CALL(rc);
        if (op.reg >= 0) {
          frame->regs[static_cast<size_t>(op.reg)] = TakeResult(ret);
        } else if (ret.type_index >= ffi::TypeIndex::kTVMFFIStaticObjectBegin) {
          TakeResult(ret);
        }
      } else if (op.step == Step::kCallVM && op.callee->native == nullptr) {
        Frame* callee = op.callee->Acquire();
        callee->return_pc = pc;
        for (int32_t i = 0; i < op.num_args; ++i) {
          callee->regs[static_cast<size_t>(i)] = ffi::AnyView::CopyFromTVMFFIAny(args[i]);
        }
        stack.Push(callee);
        frame = callee;
        code = frame->func->code.data();
        pc = 0;
        continue;
      } else {
        ffi::Any result;
        RunStep(frame, op, args, &result);
        if (op.reg >= 0) frame->regs[static_cast<size_t>(op.reg)] = std::move(result);
        if (op.step == Step::kResident) VMFunc::SettleResident(frame, op);
      }
      ++pc;
    }
  } catch (ffi::Error& error) {
    // Names the instruction, so that the user sees which operator failed.
    const Op& op = code[pc];
    std::string line = "  File \"<vm>\", line " + std::to_string(frame->func->start_instr + pc) +
                       ", in " + frame->func->info->name;
    if (op.func_idx >= 0) {
      line += " calling " + exec_->func_table[static_cast<size_t>(op.func_idx)].name;
    }
    line += "\n";
    TVMFFIByteArray text{line.data(), line.size()};
    error.UpdateBacktrace(&text, kTVMFFIBacktraceUpdateModeAppend);
    throw;
  }
}

void VirtualMachineImpl::RunNative(VMFunc* func, Frame* frame, ffi::Any* rv) {
  struct Guard {
    VMFunc* func;
    Frame* frame;
    ~Guard() { func->Release(frame); }
  } guard{func, frame};
  // Each list is an array of TVMFFIAny, which the generated code indexes.
  try {
    func->native(static_cast<void*>(static_cast<VirtualMachine*>(this)),
                 static_cast<void*>(frame->regs.data()), static_cast<void*>(constants_.data()),
                 static_cast<void*>(func_values_.data()));
  } catch (ffi::Error& error) {
    std::string line = "  File \"<vm>\", in " + func->info->name + " (compiled)\n";
    TVMFFIByteArray text{line.data(), line.size()};
    error.UpdateBacktrace(&text, kTVMFFIBacktraceUpdateModeAppend);
    throw;
  }
  *rv = std::move(frame->regs[static_cast<size_t>(func->num_args)]);
}

void VirtualMachineImpl::RunFrames(Frame* frame, ffi::Any* rv, std::vector<SiteTime>* times) {
  VMFunc* func = frame->func;
  if (func->native != nullptr) {
    RunNative(func, frame, rv);
  } else if (times != nullptr || Instrumented()) {
    RunLoop<true>(frame, rv, times);
  } else {
    RunLoop<false>(frame, rv, nullptr);
  }
}

// ---- calls from outside ----------------------------------------------------------------------

void VirtualMachineImpl::CheckArity(const VMFunc* func, int64_t given) {
  if (__builtin_expect(given == func->num_args, 1)) return;
  std::string names;
  for (const std::string& n : func->info->param_names) names += (names.empty() ? "" : ", ") + n;
  TVM_FFI_THROW(InternalError) << "Invoking function " << func->info->name << " expects "
                               << func->num_args << " arguments"
                               << (names.empty() ? "" : " (" + names + ")") << ", but " << given
                               << " arguments were provided.";
}

ffi::Any VirtualMachineImpl::ConvertArg(ffi::AnyView arg) {
  const DLTensor* t = nullptr;
  switch (arg.type_index()) {
    case ffi::TypeIndex::kTVMFFITensor: {
      TVMFFIAny raw = arg.CopyToTVMFFIAny();
      t = TVMFFITensorGetDLTensorPtr(raw.v_obj);
      Device dev = devices[0];
      bool same = t->device.device_type == dev.device_type &&
                  (dev.device_type == kDLCPU || t->device.device_id == dev.device_id);
      bool host = dev.device_type == kDLCPU;
      // Kernels take compact, aligned data from offset 0.
      if (!same ? !(t->device.device_type == kDLCPU && devices.size() > 1)
                : host && (t->byte_offset != 0 ||
                           reinterpret_cast<uintptr_t>(t->data) % kAllocAlignment != 0 ||
                           !ffi::IsContiguous(*t))) {
        break;
      }
      return arg;
    }
    case ffi::TypeIndex::kTVMFFIDLTensorPtr:
      t = arg.cast<DLTensor*>();
      break;
    case ffi::TypeIndex::kTVMFFIArray: {
      auto array = arg.cast<ffi::Array<ffi::Any>>();
      bool changed = false;
      ffi::Array<ffi::Any> converted;
      for (const ffi::Any& item : array) {
        ffi::Any value = ConvertArg(item);
        changed |= !value.same_as(item);
        converted.push_back(std::move(value));
      }
      if (!changed) return arg;
      return converted;
    }
    default:
      return arg;
  }
  bool same_device = t->device.device_type == devices[0].device_type;
  Tensor copy = Tensor::Empty(ffi::Shape(t->shape, t->shape + t->ndim), t->dtype,
                              same_device ? t->device : devices[0]);
  copy.CopyFrom(t);
  return static_cast<ffi::Tensor>(copy);
}

void VirtualMachineImpl::Invoke(VMFunc* func, const TVMFFIAny* args, int32_t num_args,
                                ffi::Any* rv) {
  TVM_REQUIRE(func != nullptr && !devices.empty(), RuntimeError)
      << "the virtual machine must be initialized with its devices before a call";
  CheckArity(func, num_args);
  EntryGuard guard;
  Frame* frame = func->Acquire();
  try {
    for (int32_t i = 0; i < num_args; ++i) {
      frame->regs[static_cast<size_t>(i)] = ConvertArg(ffi::AnyView::CopyFromTVMFFIAny(args[i]));
    }
  } catch (...) {
    func->Release(frame);
    throw;
  }
  RunFrames(frame, rv, nullptr);
}

ffi::String VirtualMachineImpl::Profile(VMFunc* func, const TVMFFIAny* args, int32_t num_args) {
  TVM_REQUIRE(func->native == nullptr, ValueError)
      << "function " << func->info->name << " is native code, which has no call sites to time";
  CheckArity(func, num_args);
  Frame* frame = func->Acquire();
  for (int32_t i = 0; i < num_args; ++i) {
    frame->regs[static_cast<size_t>(i)] = ConvertArg(ffi::AnyView::CopyFromTVMFFIAny(args[i]));
  }
  std::vector<SiteTime> times;
  times.reserve(func->code.size());
  ffi::Any rv;
  auto begin = std::chrono::steady_clock::now();
  RunFrames(frame, &rv, &times);
  auto end = std::chrono::steady_clock::now();
  auto total = std::chrono::duration_cast<std::chrono::nanoseconds>(end - begin).count();
  ffi::Array<ffi::Any> sites;
  for (const SiteTime& t : times) {
    const Op& op = t.func->code[static_cast<size_t>(t.pc)];
    ffi::Map<ffi::String, ffi::Any> site;
    site.Set("function", ffi::String(t.func->info->name));
    site.Set("pc", t.func->start_instr + t.pc);
    site.Set("callee", ffi::String(exec_->func_table[static_cast<size_t>(op.func_idx)].name));
    site.Set("calls", t.calls);
    site.Set("ns", t.nanos);
    site.Set("args", ffi::String(t.args));
    sites.push_back(site);
  }
  ffi::Map<ffi::String, ffi::Any> report;
  report.Set("function", ffi::String(func->info->name));
  report.Set("total_ns", static_cast<int64_t>(total));
  report.Set("sites", sites);
  return ffi::json::Stringify(ffi::json::Value(report));
}

}  // namespace vm
}  // namespace runtime
}  // namespace tvm
