// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file decode.cc
/// Loading an executable: constants, function links, and bytecode into Ops.
#include <tvm/ffi/function.h>
#include <tvm/runtime/device_api.h>
#include <tvm/runtime/library_note.h>
#include <tvm/runtime/logging.h>

#include <limits>
#include <string_view>
#include <utility>

#include "runtime/memory/view_tensor.h"
#include "runtime/vm/vm_impl.h"

namespace tvm {
namespace runtime {
namespace vm {

namespace {

struct BuiltinStep {
  std::string_view name;
  Step step;
  int min_args;
  int max_args;
};
constexpr BuiltinStep kBuiltinSteps[] = {
    {"vm.builtin.alloc_storage", Step::kAllocStorage, 4, 5},
    {"vm.builtin.alloc_tensor", Step::kAllocTensor, 4, 4},
    {"vm.builtin.alloc_shape_heap", Step::kAllocShapeHeap, 2, 2},
    {"vm.builtin.make_tuple", Step::kMakeTuple, 0, std::numeric_limits<int>::max()},
    {"vm.builtin.make_shape", Step::kMakeShape, 2, std::numeric_limits<int>::max()},
    {"vm.builtin.shape_of", Step::kShapeOf, 1, 1},
    {"vm.builtin.reshape", Step::kReshape, 2, 2},
    {"vm.builtin.read_if_cond", Step::kReadCond, 1, 1},
    {"vm.builtin.copy", Step::kCopy, 1, 1},
    {"vm.builtin.null_value", Step::kNull, 0, 0},
};

Step StepOf(const std::string& name, Index num_args) {
  for (const BuiltinStep& b : kBuiltinSteps) {
    if (b.name == name && num_args >= b.min_args && num_args <= b.max_args) return b.step;
  }
  return Step::kCall;
}

/// The tensor that a constant in the library's blob describes.
ffi::Tensor BindBlobConstant(const VMExecutable::BlobConstant& c, Index index, const char* base,
                             const ffi::ObjectPtr<VMExecutable>& exec) {
  ConstBlobHeader header;
  std::memcpy(&header, base, sizeof(header));
  TVM_REQUIRE(header.magic == kConstBlobMagic, RuntimeError)
      << "the library's constants blob has magic number " << header.magic << ", expected "
      << kConstBlobMagic;
  DLTensor proto{};
  proto.ndim = static_cast<int32_t>(c.shape.size());
  proto.dtype = c.dtype;
  int64_t count = 1;
  for (int64_t d : c.shape) {
    TVM_REQUIRE(d >= 0 && !__builtin_mul_overflow(count, d, &count), RuntimeError)
        << "VM constant " << index << " has a bad shape";
  }
  size_t nbytes = ffi::GetDataSize(static_cast<size_t>(count), c.dtype);
  TVM_REQUIRE(nbytes == c.nbytes && c.offset >= sizeof(header) && c.offset <= header.nbytes &&
                  nbytes <= header.nbytes - c.offset && c.offset % kAllocAlignment == 0,
              RuntimeError)
      << "VM constant " << index << " takes bytes [" << c.offset << ", " << c.offset + c.nbytes
      << ") of the library's constants blob, which has " << header.nbytes << " bytes";
  // The executable imports the library, so keeping it keeps the bytes mapped.
  return memory::MakeViewTensor(exec, const_cast<char*>(base) + c.offset, 0, proto.ndim,
                                c.shape.data(), c.dtype, Device{kDLCPU, 0});
}

}  // namespace

void VirtualMachineImpl::LoadExecutable(ffi::ObjectPtr<VMExecutable> exec) {
  exec_ = std::move(exec);
  // An executable built in memory has no map yet.
  if (exec_->func_map.size() != exec_->func_table.size()) exec_->Validate();
}

void VirtualMachineImpl::LoadConstants() {
  Device dev = devices[0];
  constants_.clear();
  const char* base = nullptr;
  for (size_t i = 0; i < exec_->constants.size(); ++i) {
    auto index = static_cast<Index>(i);
    ffi::Any value = exec_->constants[i];
    if (auto it = exec_->blob_constants.find(index); it != exec_->blob_constants.end()) {
      if (base == nullptr) {
        ffi::Module mod(ffi::GetObjectPtr<ffi::ModuleObj>(exec_.get()));
        auto get_base = mod->GetFunction(kConstBaseFunction, true);
        TVM_REQUIRE(get_base.has_value(), RuntimeError)
            << "the executable keeps constants in its library, but no imported module offers "
            << kConstBaseFunction;
        base = static_cast<const char*>((*get_base)().cast<void*>());
      }
      value = BindBlobConstant(it->second, index, base, exec_);
    }
    auto scope = exec_->memory_scopes.find(index);
    bool scoped =
        scope != exec_->memory_scopes.end() && scope->second != "global" && !scope->second.empty();
    if (auto t = value.as<ffi::Tensor>(); t.has_value() && t->defined()) {
      const DLTensor* src = t->GetDLTensorPtr();
      if (scoped || src->device.device_type != dev.device_type ||
          (dev.device_type != kDLCPU && src->device.device_id != dev.device_id)) {
        ffi::Optional<ffi::String> name;
        if (scoped) name = ffi::String(scope->second);
        value = static_cast<ffi::Tensor>(Tensor(*t).CopyTo(dev, name));
        DeviceAPI::Get(dev)->StreamSync(dev, nullptr);
      } else {
        // Kernels rely on compact, aligned data.
        value = ConvertArg(value);
      }
    }
    constants_.push_back(std::move(value));
  }
}

ffi::Function VirtualMachineImpl::FindPacked(const std::string& name) {
  for (const ffi::Any& import : exec_->imports()) {
    auto mod = import.cast<ffi::Module>();
    if (auto f = mod->GetFunction(name, true)) return *f;
  }
  for (const ffi::Any& import : imports()) {
    auto mod = import.cast<ffi::Module>();
    if (auto f = mod->GetFunction(name, true)) return *f;
  }
  if (auto f = ffi::Function::GetGlobal(name)) return *f;
  TVM_FFI_THROW(InternalError) << "Cannot find ffi::Function " << name
                               << ", which the executable calls, in its imported modules or among "
                                  "the global functions.";
  __builtin_unreachable();
}

void VirtualMachineImpl::LinkFunctions() {
  size_t n = exec_->func_table.size();
  funcs_.clear();
  funcs_.resize(n);
  func_values_.assign(n, ffi::Any());
  for (size_t i = 0; i < n; ++i) {
    const VMFuncInfo& info = exec_->func_table[i];
    if (info.kind == VMFuncInfo::FuncKind::kPackedFunc) {
      func_values_[i] = FindPacked(info.name);
      continue;
    }
    auto func = std::make_unique<VMFunc>();
    func->info = &info;
    func->index = static_cast<Index>(i);
    func->num_args = static_cast<int32_t>(info.num_args);
    func->num_regs = static_cast<int32_t>(info.register_file_size);
    for (int32_t reg = 0; reg < func->num_regs; ++reg) func->passing_regs.push_back(reg);
    if (info.kind == VMFuncInfo::FuncKind::kVMTIRFunc) {
      func->native = FindPacked("__vmtir__" + info.name);
    }
    funcs_[i] = std::move(func);
    func_values_[i] = FuncValue(static_cast<Index>(i));
  }
  for (const std::unique_ptr<VMFunc>& func : funcs_) {
    if (func != nullptr && func->info->kind == VMFuncInfo::FuncKind::kVMFunc) Decode(func.get());
  }
}

/// Closure over a function of this machine. It refers to the machine through the context it is
/// called with, so that the machine does not keep itself alive.
ffi::Any VirtualMachineImpl::FuncValue(Index index) {
  const VMFuncInfo& info = exec_->func_table[static_cast<size_t>(index)];
  ffi::Function impl = ffi::Function::FromPacked([index](ffi::PackedArgs args, ffi::Any* rv) {
    TVM_REQUIRE(args.size() >= 1, InternalError) << "a VM closure is called with its machine";
    auto* self = static_cast<VirtualMachineImpl*>(VirtualMachine::GetContextPtr(args[0]));
    self->Invoke(self->funcs_[static_cast<size_t>(index)].get(),
                 reinterpret_cast<const TVMFFIAny*>(args.data()) + 1,
                 static_cast<int32_t>(args.size()) - 1, rv);
  });
  return VMClosure(ffi::String(info.name), std::move(impl));
}

void VirtualMachineImpl::Decode(VMFunc* func) {
  const VMFuncInfo& info = *func->info;
  func->start_instr = info.start_instr;
  for (Index pc = info.start_instr; pc < info.end_instr; ++pc) {
    Instruction instr = exec_->GetInstruction(pc);
    auto local = static_cast<int32_t>(pc - info.start_instr);
    Op op{};
    switch (instr.op) {
      case Opcode::Call:
        DecodeCall(func, instr, &op);
        break;
      case Opcode::Ret:
        op.step = Step::kRet;
        op.reg =
            instr.result == Instruction::kVoidRegister ? -1 : static_cast<int32_t>(instr.result);
        break;
      case Opcode::Goto:
        op.step = Step::kGoto;
        op.target = local + static_cast<int32_t>(instr.pc_offset);
        break;
      case Opcode::If:
        op.step = Step::kIf;
        op.reg = static_cast<int32_t>(instr.cond);
        op.target = local + static_cast<int32_t>(instr.false_offset);
        break;
    }
    func->code.push_back(op);
  }
  if (reuse_) func->PlanResidents();
}

void VirtualMachineImpl::ReadArgs(VMFunc* func, const Instruction& instr, Op* op) {
  op->arg_begin = static_cast<int32_t>(func->arg_template.size());
  op->num_args = static_cast<int32_t>(instr.num_args);
  op->fill_begin = static_cast<int32_t>(func->fills.size());
  for (Index i = 0; i < instr.num_args; ++i) {
    auto arg = Instruction::Arg::FromData(instr.args[i]);
    TVMFFIAny slot{};
    slot.type_index = ffi::TypeIndex::kTVMFFINone;
    switch (arg.kind()) {
      case Instruction::ArgKind::kRegister:
        if (arg.value() == Instruction::kVMRegister) {
          slot.type_index = ffi::TypeIndex::kTVMFFIOpaquePtr;
          slot.v_ptr = static_cast<VirtualMachine*>(this);
        } else if (arg.value() != Instruction::kVoidRegister) {
          func->fills.push_back(Fill{static_cast<int32_t>(func->arg_template.size()),
                                     static_cast<int32_t>(arg.value())});
        }
        break;
      case Instruction::ArgKind::kImmediate:
        slot.type_index = ffi::TypeIndex::kTVMFFIInt;
        slot.v_int64 = arg.value();
        break;
      case Instruction::ArgKind::kConstIdx:
        slot = ViewOf(constants_[static_cast<size_t>(arg.value())]);
        break;
      case Instruction::ArgKind::kFuncIdx:
        slot = ViewOf(func_values_[static_cast<size_t>(arg.value())]);
        break;
    }
    func->arg_template.push_back(slot);
  }
  op->fill_end = static_cast<int32_t>(func->fills.size());
}

void VirtualMachineImpl::DecodeCall(VMFunc* func, const Instruction& instr, Op* op) {
  op->func_idx = instr.func_idx;
  op->reg = instr.dst == Instruction::kVoidRegister ? -1 : static_cast<int32_t>(instr.dst);
  ReadArgs(func, instr, op);
  const VMFuncInfo& callee = exec_->func_table[static_cast<size_t>(instr.func_idx)];
  if (callee.kind != VMFuncInfo::FuncKind::kPackedFunc) {
    op->step = Step::kCallVM;
    op->callee = funcs_[static_cast<size_t>(instr.func_idx)].get();
    CheckArity(op->callee, instr.num_args);
    return;
  }
  op->step = StepOf(callee.name, instr.num_args);
  switch (op->step) {
    case Step::kAllocStorage:
      op->memo = func->num_storages++;
      break;
    case Step::kMakeTuple:
      op->memo = func->num_tuples++;
      break;
    case Step::kMakeShape:
    case Step::kShapeOf:
      op->memo = func->num_shapes++;
      break;
    case Step::kAllocShapeHeap:
      op->memo = func->num_heaps++;
      break;
    default:
      break;
  }
  // The steps of builtins still need the function for an instrument to see.
  TVMFFIObjectHandle handle = ViewOf(func_values_[static_cast<size_t>(instr.func_idx)]).v_obj;
  op->self = handle;
  op->safe_call = TVMFFIFunctionGetCellPtr(handle)->safe_call;
}

}  // namespace vm
}  // namespace runtime
}  // namespace tvm
