// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "relax/backend/vm/exec_builder.h"

#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/runtime/logging.h>

#include <set>

#include "relax/ir/mapped_tensor.h"

namespace tvm {
namespace relax {

using runtime::vm::Opcode;

ExecBuilderNode::ExecBuilderNode() : exec_(ffi::make_object<VMExecutable>()) {}

Index ExecBuilderNode::FuncIndex(const std::string& name) {
  auto it = exec_->func_map.find(name);
  if (it != exec_->func_map.end()) return it->second;
  DeclareFunction(name, VMFuncInfo::FuncKind::kPackedFunc);
  return exec_->func_map.at(name);
}

void ExecBuilderNode::DeclareFunction(const std::string& name, VMFuncInfo::FuncKind kind) {
  auto it = exec_->func_map.find(name);
  if (it != exec_->func_map.end()) {
    TVM_FFI_CHECK(exec_->func_table[it->second].kind == kind, ValueError)
        << "function " << name << " is declared twice with different kinds";
    return;
  }
  VMFuncInfo info;
  info.kind = kind;
  info.name = name;
  exec_->func_map[name] = static_cast<Index>(exec_->func_table.size());
  exec_->func_table.push_back(std::move(info));
}

VMFuncInfo::FuncKind ExecBuilderNode::KindOf(const std::string& name) const {
  auto it = exec_->func_map.find(name);
  return it == exec_->func_map.end() ? VMFuncInfo::FuncKind::kPackedFunc
                                     : exec_->func_table[it->second].kind;
}

void ExecBuilderNode::BeginFunction(const std::string& name, int64_t num_inputs,
                                    const std::vector<std::string>& param_names,
                                    VMFuncInfo::FuncKind kind, int64_t init_register_size) {
  TVM_FFI_CHECK(current_.empty(), ValueError)
      << "function " << name << " starts before " << current_ << " has ended";
  TVM_FFI_CHECK(param_names.empty() || static_cast<int64_t>(param_names.size()) == num_inputs,
                ValueError)
      << "function " << name << " has " << num_inputs << " inputs, but " << param_names.size()
      << " parameter names";
  DeclareFunction(name, kind);
  VMFuncInfo& info = exec_->func_table[exec_->func_map[name]];
  TVM_FFI_CHECK(info.end_instr == 0, ValueError) << "function " << name << " is defined twice";
  info.start_instr = NumInstructions();
  info.num_args = num_inputs;
  info.param_names = param_names;
  info.register_file_size = std::max(init_register_size, num_inputs);
  current_ = name;
}

void ExecBuilderNode::EndFunction(const std::string& name) {
  TVM_FFI_CHECK(current_ == name, ValueError)
      << "function " << name << " ends, but the open one is " << current_;
  exec_->func_table[exec_->func_map[name]].end_instr = NumInstructions();
  current_.clear();
}

namespace {
void CheckScope(const std::string& current) {
  TVM_FFI_CHECK(!current.empty(), ValueError) << "emit should happen in a function scope";
}
}  // namespace

void ExecBuilderNode::EmitCall(const std::string& func, const std::vector<Instruction::Arg>& args,
                               RegName dst) {
  CheckScope(current_);
  Index callee = FuncIndex(func);
  exec_->instr_offset.push_back(static_cast<Index>(exec_->instr_data.size()));
  std::vector<ExecWord>& data = exec_->instr_data;
  data.push_back(static_cast<ExecWord>(Opcode::Call));
  data.push_back(dst);
  data.push_back(callee);
  data.push_back(static_cast<ExecWord>(args.size()));
  for (const Instruction::Arg& a : args) data.push_back(a.data());
}
void ExecBuilderNode::EmitRet(Instruction::Arg result) {
  CheckScope(current_);
  TVM_FFI_CHECK(result.kind() == Instruction::ArgKind::kRegister, ValueError)
      << "ret takes a register";
  exec_->instr_offset.push_back(static_cast<Index>(exec_->instr_data.size()));
  exec_->instr_data.push_back(static_cast<ExecWord>(Opcode::Ret));
  exec_->instr_data.push_back(result.value());
}
void ExecBuilderNode::EmitGoto(Index offset) {
  CheckScope(current_);
  exec_->instr_offset.push_back(static_cast<Index>(exec_->instr_data.size()));
  exec_->instr_data.push_back(static_cast<ExecWord>(Opcode::Goto));
  exec_->instr_data.push_back(offset);
}
void ExecBuilderNode::EmitIf(Instruction::Arg cond, Index false_offset) {
  CheckScope(current_);
  TVM_FFI_CHECK(cond.kind() == Instruction::ArgKind::kRegister, ValueError)
      << "if takes a register";
  exec_->instr_offset.push_back(static_cast<Index>(exec_->instr_data.size()));
  exec_->instr_data.push_back(static_cast<ExecWord>(Opcode::If));
  exec_->instr_data.push_back(cond.value());
  exec_->instr_data.push_back(false_offset);
}

Instruction::Arg ExecBuilderNode::ConvertConstant(const ffi::Any& value) {
  if (value.type_index() == ffi::TypeIndex::kTVMFFIInt) {
    int64_t v = value.cast<int64_t>();
    if (Instruction::Arg::FitsImmediate(v)) return Instruction::Arg::Immediate(v);
  }
  // Equal strings, shapes, types and numbers share an entry; tensors by identity.
  ffi::Any key = value;
  if (auto shape = value.as<ffi::Shape>()) {
    ffi::Array<ffi::Any> dims;
    std::string text = "\x01shape";
    for (int64_t d : shape.value()) text += "," + std::to_string(d);
    key = ffi::String(text);
  } else if (value.type_index() == ffi::TypeIndex::kTVMFFIStr ||
             value.type_index() == ffi::TypeIndex::kTVMFFISmallStr) {
    ffi::String s = value.cast<ffi::String>();
    key = ffi::String("\x02" + std::string(s.data(), s.size()));
  }
  auto it = pool_.find(key);
  if (it != pool_.end()) return Instruction::Arg::ConstIdx(it->second);
  Index index = static_cast<Index>(exec_->constants.size());
  // Kernels read constants as vectors, so views into a file at odd offsets become copies.
  const bool is_tensor = value.type_index() == ffi::TypeIndex::kTVMFFITensor;
  exec_->constants.push_back(is_tensor ? ffi::Any(AlignedTensor(value.cast<ffi::Tensor>()))
                                       : value);
  pool_.emplace(key, index);
  return Instruction::Arg::ConstIdx(index);
}

Instruction::Arg ExecBuilderNode::FunctionArg(const std::string& name) {
  return Instruction::Arg::FuncIdx(FuncIndex(name));
}

void ExecBuilderNode::SetMemoryScope(Instruction::Arg constant, const std::string& scope) {
  exec_->memory_scopes[constant.value()] = scope;
}

/// Every register that is read must have been written before, in program order.
void ExecBuilderNode::CheckRegisters() const {
  for (const VMFuncInfo& info : exec_->func_table) {
    if (info.kind != VMFuncInfo::FuncKind::kVMFunc) continue;
    std::set<RegName> defined;
    for (Index i = 0; i < info.num_args; ++i) defined.insert(i);
    auto check = [&](RegName r) {
      if (r >= Instruction::kBeginSpecialReg) return;
      TVM_FFI_CHECK(defined.count(r), RuntimeError) << "register %" << r << " of VM function "
                                                    << info.name << " is read before it is written";
    };
    for (Index i = info.start_instr; i < info.end_instr; ++i) {
      Instruction instr = exec_->GetInstruction(i);
      switch (instr.op) {
        case Opcode::Call:
          for (Index k = 0; k < instr.num_args; ++k) {
            auto arg = Instruction::Arg::FromData(instr.args[k]);
            if (arg.kind() == Instruction::ArgKind::kRegister) check(arg.value());
          }
          if (instr.dst < Instruction::kBeginSpecialReg) defined.insert(instr.dst);
          break;
        case Opcode::Ret:
          check(instr.result);
          break;
        case Opcode::If:
          check(instr.cond);
          break;
        case Opcode::Goto:
          break;
      }
    }
  }
}

ffi::ObjectPtr<VMExecutable> ExecBuilderNode::Get() {
  TVM_FFI_CHECK(current_.empty(), ValueError) << "function " << current_ << " has not ended";
  for (VMFuncInfo& info : exec_->func_table) {
    if (info.kind != VMFuncInfo::FuncKind::kVMFunc) continue;
    Index regs = info.register_file_size;
    for (Index i = info.start_instr; i < info.end_instr; ++i) {
      Instruction instr = exec_->GetInstruction(i);
      if (instr.op == Opcode::Call && instr.dst < Instruction::kBeginSpecialReg) {
        regs = std::max(regs, instr.dst + 1);
      }
    }
    info.register_file_size = regs;
  }
  CheckRegisters();
  return exec_;
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  using Arg = Instruction::Arg;
  refl::ObjectDef<ExecBuilderNode>(refl::init(false));
  refl::GlobalDef()
      .def("relax.ExecBuilderCreate", [] { return ExecBuilder::Create(); })
      .def("relax.ExecBuilderConvertConstant",
           [](ExecBuilder b, ffi::Any v) {
             if (auto imm = v.try_cast<double>(); v.type_index() == ffi::TypeIndex::kTVMFFIFloat) {
               return b->ConvertConstant(*imm).data();
             }
             return b->ConvertConstant(v).data();
           })
      .def("relax.ExecBuilderDeclareFunction",
           [](ExecBuilder b, ffi::String name, int32_t kind) {
             b->DeclareFunction(std::string(name), static_cast<VMFuncInfo::FuncKind>(kind));
           })
      .def("relax.ExecBuilderFunction",
           [](ExecBuilder b, ffi::String name, int64_t n,
              ffi::Optional<ffi::Array<ffi::String>> params) {
             std::vector<std::string> names;
             if (params.has_value()) {
               for (const ffi::String& p : params.value()) names.push_back(std::string(p));
             }
             b->BeginFunction(std::string(name), n, names);
           })
      .def("relax.ExecBuilderEndFunction",
           [](ExecBuilder b, ffi::String name) { b->EndFunction(std::string(name)); })
      .def("relax.ExecBuilderEmitCall",
           [](ExecBuilder b, ffi::String name, ffi::Array<int64_t> args, int64_t dst) {
             std::vector<Arg> list;
             for (int64_t a : args) list.push_back(Arg::FromData(a));
             auto d = Arg::FromData(dst);
             b->EmitCall(std::string(name), list, d.value());
           })
      .def("relax.ExecBuilderEmitRet",
           [](ExecBuilder b, int64_t data) { b->EmitRet(Arg::FromData(data)); })
      .def("relax.ExecBuilderEmitGoto", [](ExecBuilder b, int64_t off) { b->EmitGoto(off); })
      .def("relax.ExecBuilderEmitIf",
           [](ExecBuilder b, int64_t c, int64_t off) { b->EmitIf(Arg::FromData(c), off); })
      .def("relax.ExecBuilderR", [](ExecBuilder, int64_t v) { return Arg::Register(v).data(); })
      .def("relax.ExecBuilderImm", [](ExecBuilder, int64_t v) { return Arg::Immediate(v).data(); })
      .def("relax.ExecBuilderC", [](ExecBuilder, int64_t v) { return Arg::ConstIdx(v).data(); })
      .def("relax.ExecBuilderF",
           [](ExecBuilder b, ffi::String v) { return b->FunctionArg(std::string(v)).data(); })
      .def("relax.ExecBuilderVoidArg",
           [](ExecBuilder) { return Arg::Register(Instruction::kVoidRegister).data(); })
      .def("relax.ExecBuilderVMState",
           [](ExecBuilder) { return Arg::Register(Instruction::kVMRegister).data(); })
      .def("relax.ExecBuilderGet",
           [](ExecBuilder b) { return ffi::Module(ffi::ObjectPtr<ffi::ModuleObj>(b->Get())); });
}

}  // namespace relax
}  // namespace tvm
