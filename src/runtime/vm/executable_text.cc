// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file executable_text.cc
/// A VMExecutable for people: statistics, instructions, and the ExecBuilder program that makes it.
#include <tvm/ffi/container/shape.h>
#include <tvm/runtime/data_type.h>
#include <tvm/runtime/vm/executable.h>

#include <iomanip>
#include <sstream>
#include <string>

namespace tvm {
namespace runtime {
namespace vm {

namespace {

std::string RegText(RegName reg) {
  if (reg == Instruction::kVoidRegister) return "%void";
  if (reg == Instruction::kVMRegister) return "%vm";
  return "%" + std::to_string(reg);
}

std::string ArgText(const VMExecutable& exec, Instruction::Arg arg) {
  switch (arg.kind()) {
    case Instruction::ArgKind::kRegister:
      return RegText(arg.value());
    case Instruction::ArgKind::kImmediate:
      return "i" + std::to_string(arg.value());
    case Instruction::ArgKind::kConstIdx:
      return "c[" + std::to_string(arg.value()) + "]";
    case Instruction::ArgKind::kFuncIdx:
      return "f[" + exec.func_table.at(static_cast<size_t>(arg.value())).name + "]";
  }
  return "?";
}

std::string ArgPython(const VMExecutable& exec, Instruction::Arg arg) {
  std::string value = std::to_string(arg.value());
  switch (arg.kind()) {
    case Instruction::ArgKind::kRegister:
      if (arg.value() == Instruction::kVoidRegister) return "ib.void_arg()";
      if (arg.value() == Instruction::kVMRegister) return "ib.vm_state()";
      return "ib.r(" + value + ")";
    case Instruction::ArgKind::kImmediate:
      return "ib.imm(" + value + ")";
    case Instruction::ArgKind::kConstIdx:
      return "ib.c(" + value + ")";
    case Instruction::ArgKind::kFuncIdx:
      return "ib.f(\"" + exec.func_table.at(static_cast<size_t>(arg.value())).name + "\")";
  }
  return "?";
}

template <typename F>
std::string JoinArgs(const Instruction& instr, F text) {
  std::string out;
  for (Index i = 0; i < instr.num_args; ++i) {
    if (i != 0) out += ", ";
    out += text(Instruction::Arg::FromData(instr.args[i]));
  }
  return out;
}

std::string ShapeText(const int64_t* shape, size_t ndim) {
  std::string out = "[";
  for (size_t i = 0; i < ndim; ++i) out += (i != 0 ? ", " : "") + std::to_string(shape[i]);
  return out + "]";
}

std::string ConstantText(const VMExecutable& exec, size_t i) {
  if (auto it = exec.blob_constants.find(static_cast<Index>(i)); it != exec.blob_constants.end()) {
    return ShapeText(it->second.shape.data(), it->second.shape.size());
  }
  const ffi::Any& value = exec.constants[i];
  if (auto t = value.as<ffi::Tensor>(); t.has_value() && t->defined()) {
    return t->ndim() == 0 ? "scalar"
                          : ShapeText(t->GetDLTensorPtr()->shape, static_cast<size_t>(t->ndim()));
  }
  if (auto shape = value.as<ffi::Shape>(); shape.has_value() && shape->defined()) {
    return "shapetuple" + ShapeText(shape->data(), shape->size());
  }
  if (auto s = value.as<ffi::String>()) return "\"" + std::string(s->data(), s->size()) + "\"";
  if (auto v = value.as<int64_t>()) return std::to_string(*v);
  if (auto v = value.as<double>()) return std::to_string(*v);
  if (auto v = value.as<DLDataType>()) return runtime::DataType(*v).ToString();
  return std::string(value.GetTypeKey());
}

}  // namespace

ffi::String VMExecutable::Stats() const {
  std::string globals, packed;
  size_t num_globals = 0, num_packed = 0;
  for (const VMFuncInfo& f : func_table) {
    bool is_packed = f.kind == VMFuncInfo::FuncKind::kPackedFunc;
    std::string& list = is_packed ? packed : globals;
    list += (list.empty() ? "" : ", ") + f.name;
    ++(is_packed ? num_packed : num_globals);
  }
  std::ostringstream os;
  os << "Relax VM executable statistics:\n";
  os << "  Constant pool (# " << constants.size() << "): [";
  for (size_t i = 0; i < constants.size(); ++i)
    os << (i != 0 ? ", " : "") << ConstantText(*this, i);
  os << "]\n";
  os << "  Globals (#" << num_globals << "): [" << globals << "]\n";
  os << "  Packed functions (#" << num_packed << "): [" << packed << "]\n";
  return ffi::String(os.str());
}

ffi::String VMExecutable::AsText() const {
  std::ostringstream os;
  os << std::left;
  for (const VMFuncInfo& f : func_table) {
    if (f.kind == VMFuncInfo::FuncKind::kPackedFunc) {
      os << "@" << f.name << " packed_func;\n\n";
      continue;
    }
    if (f.kind == VMFuncInfo::FuncKind::kVMTIRFunc) {
      os << "@" << f.name << " num_inputs=" << f.num_args << " vm_tir_func;\n\n";
      continue;
    }
    os << "@" << f.name << ":\n";
    for (Index pc = f.start_instr; pc < f.end_instr; ++pc) {
      Instruction instr = GetInstruction(pc);
      os << "  ";
      switch (instr.op) {
        case Opcode::Call:
          os << std::setw(6) << "call" << std::setw(16)
             << func_table[static_cast<size_t>(instr.func_idx)].name << " in: " << std::setw(12)
             << JoinArgs(instr, [this](Instruction::Arg a) { return ArgText(*this, a); })
             << " dst: " << RegText(instr.dst) << "\n";
          break;
        case Opcode::Ret:
          os << std::setw(6) << "ret " << RegText(instr.result) << "\n";
          break;
        case Opcode::Goto:
          os << std::setw(6) << "goto" << instr.pc_offset << "\n";
          break;
        case Opcode::If:
          os << std::setw(6) << "If" << RegText(instr.cond) << ", " << instr.false_offset << "\n";
          break;
      }
    }
    os << "\n";
  }
  return ffi::String(os.str());
}

ffi::String VMExecutable::AsPython() const {
  std::ostringstream os;
  os << "ib = rx.Builder()\n";
  for (const VMFuncInfo& f : func_table) {
    if (f.kind == VMFuncInfo::FuncKind::kPackedFunc) continue;
    if (f.kind == VMFuncInfo::FuncKind::kVMTIRFunc) {
      os << "ib.declare_function(\"" << f.name << "\", kind=2)\n";
      continue;
    }
    os << "with ib.function(\"" << f.name << "\", num_inputs=" << f.num_args << "):\n";
    for (Index pc = f.start_instr; pc < f.end_instr; ++pc) {
      Instruction instr = GetInstruction(pc);
      os << "    ";
      switch (instr.op) {
        case Opcode::Call:
          os << "ib.emit_call(\"" << func_table[static_cast<size_t>(instr.func_idx)].name
             << "\", args=["
             << JoinArgs(instr, [this](Instruction::Arg a) { return ArgPython(*this, a); }) << "]";
          if (instr.dst != Instruction::kVoidRegister) os << ", dst=ib.r(" << instr.dst << ")";
          os << ")\n";
          break;
        case Opcode::Ret:
          os << "ib.emit_ret(ib.r(" << instr.result << "))\n";
          break;
        case Opcode::Goto:
          os << "ib.emit_goto(" << instr.pc_offset << ")\n";
          break;
        case Opcode::If:
          os << "ib.emit_if(ib.r(" << instr.cond << "), " << instr.false_offset << ")\n";
          break;
      }
    }
  }
  return ffi::String(os.str());
}

}  // namespace vm
}  // namespace runtime
}  // namespace tvm
