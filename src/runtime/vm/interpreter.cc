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

#include "runtime/memory/view_tensor.h"
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
  void Push(Frame* frame) {
    TVM_REQUIRE(depth < kMaxFrames, RecursionError)
        << "VM functions called each other more than " << kMaxFrames << " levels deep";
    frame->caller = top;
    top = frame;
    ++depth;
  }
  Frame* top;
  int depth = 1;
};

bool UniqueStorage(const ffi::ObjectPtr<StorageObj>& storage) {
  if (storage.use_count() != 1) return false;
  // Orders our writes after the last use by the thread that let go of it.
  std::atomic_thread_fence(std::memory_order_acquire);
  return true;
}

bool SameShape(const ffi::Any& memo, const int64_t* dims, int64_t ndim) {
  if (memo.type_index() != ffi::TypeIndex::kTVMFFIShape) return false;
  const TVMFFIShapeCell* cell = TVMFFIShapeGetCellPtr(ViewOf(memo).v_obj);
  return static_cast<int64_t>(cell->size) == ndim &&
         (ndim == 0 || std::memcmp(cell->data, dims, sizeof(int64_t) * cell->size) == 0);
}

/// Dimensions on the stack unless there are many.
class DimsBuffer {
 public:
  explicit DimsBuffer(int64_t n) {
    if (n > kInline) heap_.resize(static_cast<size_t>(n));
    data = n > kInline ? heap_.data() : inline_;
  }
  int64_t* data;

 private:
  static constexpr int64_t kInline = 16;
  int64_t inline_[kInline];
  std::vector<int64_t> heap_;
};

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

// ---- steps of builtins -----------------------------------------------------------------------

ffi::Any VirtualMachineImpl::AllocStorage(Frame* frame, const Op& op, const TVMFFIAny* args) {
  auto view = [args](int i) { return ffi::AnyView::CopyFromTVMFFIAny(args[i]); };
  auto dtype = view(3).cast<DLDataType>();
  auto dev_index = view(2).cast<int64_t>();
  if (dev_index == -1) dev_index = static_cast<int64_t>(devices.size()) - 1;
  TVM_REQUIRE(dev_index >= 0 && dev_index < static_cast<int64_t>(devices.size()), ValueError)
      << "alloc_storage asks for device " << dev_index << ", but the machine has " << devices.size()
      << " devices";
  auto index = static_cast<size_t>(dev_index);
  Allocator* alloc = allocators[index];
  bool scoped = false;
  if (op.num_args > 4 && args[4].type_index != ffi::TypeIndex::kTVMFFINone) {
    auto scope = view(4).cast<ffi::String>();
    scoped = !scope.empty() && scope != "global";
    if (scoped) {
      return memory::Storage(alloc->Alloc(devices[index], view(1).cast<ffi::Shape>(), dtype,
                                          std::string(scope.data(), scope.size())),
                             alloc);
    }
  }
  size_t size = builtin::StorageBytes(view(1), dtype);
  auto make = [&] {
    return memory::Storage(alloc->Alloc(devices[index], size, kAllocAlignment, dtype), alloc);
  };
  if (!reuse_ || alloc->type() == memory::kNaive) return make();
  StorageSite& site = frame->storages[static_cast<size_t>(op.memo)];
  int empty = -1;
  for (int i = 0; i < 2; ++i) {
    StorageSite::Entry& e = site.entries[i];
    if (e.storage == nullptr) {
      empty = empty < 0 ? i : empty;
    } else if (UniqueStorage(e.storage)) {
      if (e.size == size && e.storage->allocator == alloc) return e.storage;
      // Nobody uses it and it does not fit: the shapes have changed.
      e.storage.reset();
      empty = empty < 0 ? i : empty;
    }
  }
  int slot = empty >= 0 ? empty : (site.victim ^= 1);
  memory::Storage fresh = make();
  site.entries[slot].storage = ffi::GetObjectPtr<StorageObj>(fresh.get());
  site.entries[slot].size = size;
  return fresh;
}

namespace {

/// alloc_tensor(storage, offset, shape, dtype)
ffi::Any AllocTensor(const TVMFFIAny* args) {
  auto view = [args](int i) { return ffi::AnyView::CopyFromTVMFFIAny(args[i]); };
  TVM_REQUIRE(args[0].type_index == StorageObj::RuntimeTypeIndex(), TypeError)
      << "alloc_tensor expects a Storage, got " << view(0).GetTypeKey();
  auto* storage = ffi::detail::ObjectUnsafe::RawObjectPtrFromUnowned<StorageObj>(args[0].v_obj);
  bool plain = args[1].type_index == ffi::TypeIndex::kTVMFFIInt &&
               args[2].type_index == ffi::TypeIndex::kTVMFFIShape &&
               args[3].type_index == ffi::TypeIndex::kTVMFFIDataType;
  if (plain && storage->buffer.device.device_type == kDLCPU) {
    const TVMFFIShapeCell* shape = TVMFFIShapeGetCellPtr(args[2].v_obj);
    DLDataType dtype = args[3].v_dtype;
    int64_t bits = static_cast<int64_t>(dtype.bits) * dtype.lanes;
    bool fits = args[1].v_int64 >= 0;
    for (size_t i = 0; i < shape->size; ++i) {
      fits &= shape->data[i] >= 0 && !__builtin_mul_overflow(bits, shape->data[i], &bits);
    }
    int64_t end = 0;
    fits = fits && !__builtin_add_overflow(bits / 8 + (bits % 8 != 0), args[1].v_int64, &end) &&
           static_cast<uint64_t>(end) <= storage->buffer.size;
    if (fits) {
      return static_cast<ffi::Tensor>(memory::MakeViewTensor(
          ffi::GetObjectPtr<ffi::Object>(storage),
          static_cast<char*>(storage->buffer.data) + args[1].v_int64, 0,
          static_cast<int>(shape->size), shape->data, dtype, storage->buffer.device));
    }
  }
  // Other devices, and what does not fit and gets its error there.
  return static_cast<ffi::Tensor>(storage->AllocTensor(
      view(1).cast<int64_t>(), view(2).cast<ffi::Shape>(), view(3).cast<DLDataType>()));
}

}  // namespace

ffi::Any VirtualMachineImpl::MakeTuple(Frame* frame, const Op& op, const TVMFFIAny* args) {
  TupleSite& site = frame->tuples[static_cast<size_t>(op.memo)];
  auto n = static_cast<int64_t>(op.num_args);
  int slot = -1;
  for (int i = 0; i < 2 && slot < 0; ++i) {
    if (site.entries[i] != nullptr && site.entries[i].unique()) slot = i;
  }
  if (slot >= 0) {
    ffi::ArrayObj* tuple = site.entries[slot].get();
    for (int64_t i = 0; i < n; ++i) {
      tuple->SetItem(i, ffi::Any(ffi::AnyView::CopyFromTVMFFIAny(args[i])));
    }
    return ffi::Any(ffi::GetRef<ffi::Array<ffi::Any>>(tuple));
  }
  ffi::Array<ffi::Any> fresh;
  fresh.reserve(n);
  for (int64_t i = 0; i < n; ++i) {
    fresh.push_back(ffi::Any(ffi::AnyView::CopyFromTVMFFIAny(args[i])));
  }
  if (reuse_) {
    slot = site.entries[0] == nullptr ? 0 : site.entries[1] == nullptr ? 1 : (site.victim ^= 1);
    site.entries[slot] =
        ffi::GetObjectPtr<ffi::ArrayObj>(const_cast<ffi::ArrayObj*>(fresh.GetArrayObj()));
  }
  return fresh;
}

void VirtualMachineImpl::RunStep(Frame* frame, const Op& op, const TVMFFIAny* args,
                                 ffi::Any* result) {
  auto view = [args](int i) { return ffi::AnyView::CopyFromTVMFFIAny(args[i]); };
  switch (op.step) {
    case Step::kCall: {
      TVMFFIAny ret{};
      ret.type_index = ffi::TypeIndex::kTVMFFINone;
      TVM_FFI_CHECK_SAFE_CALL(op.safe_call(op.self, args, op.num_args, &ret));
      *result = TakeResult(ret);
      return;
    }
    case Step::kAllocStorage:
      *result = AllocStorage(frame, op, args);
      return;
    case Step::kAllocTensor:
      *result = AllocTensor(args);
      return;
    case Step::kAllocShapeHeap: {
      ffi::Any& memo = frame->heaps[static_cast<size_t>(op.memo)];
      auto n = view(1).cast<int64_t>();
      if (memo.type_index() == ffi::TypeIndex::kTVMFFITensor) {
        const DLTensor* heap = TVMFFITensorGetDLTensorPtr(ViewOf(memo).v_obj);
        auto* object = static_cast<TVMFFIObject*>(ViewOf(memo).v_obj);
        if (heap->shape[0] == n && (object->combined_ref_count & 0xFFFFFFFFu) == 1) {
          *result = memo;
          return;
        }
      }
      memo = static_cast<ffi::Tensor>(
          Tensor::Empty(ffi::Shape{n}, DLDataType{kDLInt, 64, 1}, devices.back()));
      *result = memo;
      return;
    }
    case Step::kMakeTuple:
      *result = MakeTuple(frame, op, args);
      return;
    case Step::kMakeShape: {
      ffi::PackedArgs packed(reinterpret_cast<const ffi::AnyView*>(args), op.num_args);
      int64_t ndim = builtin::MakeShapeRank(packed);
      DimsBuffer dims(ndim);
      builtin::MakeShapeDims(packed, dims.data);
      ffi::Any& memo = frame->shapes[static_cast<size_t>(op.memo)];
      if (!SameShape(memo, dims.data, ndim)) memo = ffi::Shape(dims.data, dims.data + ndim);
      *result = memo;
      return;
    }
    case Step::kShapeOf: {
      const DLTensor* t = view(0).cast<DLTensor*>();
      ffi::Any& memo = frame->shapes[static_cast<size_t>(op.memo)];
      if (!SameShape(memo, t->shape, t->ndim)) memo = ffi::Shape(t->shape, t->shape + t->ndim);
      *result = memo;
      return;
    }
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
  bool instrumented = instrument_ != nullptr && instrument_.defined();
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
        if (op.step != Step::kCallVM || (instrument_ != nullptr && instrument_.defined())) {
          ffi::Any result;
          RunObserved(frame, op, args, &result, times);
          if (op.reg >= 0) frame->regs[static_cast<size_t>(op.reg)] = std::move(result);
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
  func->native(static_cast<void*>(static_cast<VirtualMachine*>(this)),
               static_cast<void*>(frame->regs.data()), static_cast<void*>(constants_.data()),
               static_cast<void*>(func_values_.data()));
  *rv = std::move(frame->regs[static_cast<size_t>(func->num_args)]);
}

void VirtualMachineImpl::RunFrames(Frame* frame, ffi::Any* rv, std::vector<SiteTime>* times) {
  VMFunc* func = frame->func;
  if (func->native != nullptr) {
    RunNative(func, frame, rv);
  } else if (times != nullptr || instrument_ != nullptr) {
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
