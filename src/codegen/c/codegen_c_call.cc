// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
// Operators behind calls, the packed ABI included.
#include <tvm/ffi/error.h>
#include <tvm/ir/scalar_op.h>
#include <tvm/tirx/builtin.h>

#include "codegen/c/codegen_c.h"

namespace tvm {
namespace codegen {
namespace {

/// Functions of math.h by operator; `f` is appended for float.
const std::unordered_map<std::string, std::string>& MathFunctions() {
  static const std::unordered_map<std::string, std::string> table = [] {
    std::unordered_map<std::string, std::string> t;
    for (const char* name :
         {"exp",   "exp2",  "exp10",     "log",  "log2",     "log10", "log1p", "pow",       "sin",
          "cos",   "tan",   "sinh",      "cosh", "tanh",     "asin",  "acos",  "atan",      "asinh",
          "acosh", "atanh", "atan2",     "erf",  "erfc",     "hypot", "fmod",  "nextafter", "floor",
          "ceil",  "trunc", "nearbyint", "sqrt", "copysign", "fma",   "ldexp"}) {
      t[std::string("tirx.") + name] = name;
    }
    t["tirx.round"] = "nearbyint";
    return t;
  }();
  return table;
}

int64_t ConstantArgument(const CallNode* op, size_t index, const char* what) {
  const int64_t* value = as_const_int(op->args[index]);
  TVM_FFI_CHECK(value != nullptr, ValueError) << what << " must be an integer constant";
  return *value;
}

std::string StringArgument(const CallNode* op, size_t index) {
  const auto* text = op->args[index].as<tirx::StringImmNode>();
  TVM_FFI_CHECK(text != nullptr, TypeError) << "a call by name needs a string";
  return text->value;
}

struct FieldRow {
  int kind;
  const char* structure;
  const char* field;
  DataType type;
};

}  // namespace

std::string CodeGenC::MathCall(const CallNode* op, const std::string& name) {
  const DataType dtype = op->dtype();
  std::string args;
  for (const Expr& arg : op->args) args += (args.empty() ? "" : ", ") + Emit(arg);
  if (!dtype.is_float()) {
    if (op->args.size() == 1) return args;
    if (name == "fma") {
      const std::string a = Emit(op->args[0]), b = Emit(op->args[1]);
      return Wrap(dtype, Wrap(dtype, a, "*", b), "+", Emit(op->args[2]));
    }
    TVM_FFI_THROW(TypeError) << "operator tirx." << name << " has no integer form";
  }
  const std::string call = name + (dtype.bits() == 64 ? "(" : "f(") + args + ")";
  return dtype.bits() == 16 ? "((_Float16)" + call + ")" : call;
}

std::string CodeGenC::Reinterpret(const CallNode* op) {
  const std::string from = TypeName(op->args[0]->ty), to = TypeName(op->ty);
  const std::string value = Emit(op->args[0]);
  if (from == to) return value;
  return "({ " + from + " in_ = " + value + "; " + to +
         " out_ = 0; memcpy(&out_, &in_, sizeof(in_) < sizeof(out_) ? sizeof(in_) : sizeof(out_)); "
         "out_; })";
}

std::string CodeGenC::StructField(const CallNode* op, DataType* type) {
  using namespace tirx::builtin;  // NOLINT
  static const FieldRow kRows[] = {
      {kDLTensorData, "DLTensor", ".data", DataType::Handle()},
      {kDLTensorShape, "DLTensor", ".shape", DataType::Handle()},
      {kDLTensorStrides, "DLTensor", ".strides", DataType::Handle()},
      {kDLTensorNDim, "DLTensor", ".ndim", DataType::Int(32)},
      {kDLTensorTypeCode, "DLTensor", ".dtype.code", DataType::UInt(8)},
      {kDLTensorTypeBits, "DLTensor", ".dtype.bits", DataType::UInt(8)},
      {kDLTensorTypeLanes, "DLTensor", ".dtype.lanes", DataType::UInt(16)},
      {kDLTensorByteOffset, "DLTensor", ".byte_offset", DataType::UInt(64)},
      {kDLTensorDeviceId, "DLTensor", ".device.device_id", DataType::Int(32)},
      {kDLTensorDeviceType, "DLTensor", ".device.device_type", DataType::Int(32)},
      {kTVMFFIAnyTypeIndex, "TVMFFIAny", ".type_index", DataType::Int(32)},
      {kTVMFFIAnyZeroPadding, "TVMFFIAny", ".zero_padding", DataType::UInt(32)},
      {kTVMFFIAnyUnionValue, "TVMFFIAny", ".v_int64", DataType::Int(64)},
      {kInt64ArrayElem, "int64_t", "", DataType::Int(64)},
  };
  const int64_t kind = ConstantArgument(op, 2, "struct field");
  const std::string base = Emit(op->args[0]);
  const std::string index = Emit(op->args[1]);
  if (kind == kDLTensorAddr) {
    *type = DataType::Handle();
    return "((void*)((DLTensor*)" + base + " + " + index + "))";
  }
  for (const FieldRow& row : kRows) {
    if (row.kind != kind) continue;
    *type = row.type;
    return "((" + std::string(row.structure) + "*)" + base + ")[" + index + "]" + row.field;
  }
  TVM_FFI_THROW(ValueError) << "unknown struct field " << kind;
  TVM_FFI_UNREACHABLE();
}

std::string CodeGenC::StackAlloca(const CallNode* op) {
  const std::string kind = StringArgument(op, 0);
  const int64_t count = std::max<int64_t>(ConstantArgument(op, 1, "stack size"), 1);
  const char* type = kind == "shape" ? "int64_t" : kind == "array" ? "DLTensor" : "TVMFFIAny";
  const std::string name = Fresh("stack");
  Line(std::string(type) + " " + name + "[" + std::to_string(count) + "];");
  return "((void*)" + name + ")";
}

std::string CodeGenC::PackedCall(const CallNode* op, bool by_symbol) {
  TVM_FFI_CHECK(fails_with_status_, ValueError)
      << "a packed call in a function that returns a value cannot report its error";
  const bool by_handle = !by_symbol && op->args[0].as<tirx::StringImmNode>() == nullptr;
  std::string name = by_handle ? "" : StringArgument(op, 0);
  const std::string stack = "((TVMFFIAny*)" + Emit(op->args[1]) + ")";
  const int64_t begin = ConstantArgument(op, 2, "first argument slot");
  const int64_t end = ConstantArgument(op, 3, "result slot");
  const std::string result = stack + "[" + std::to_string(end) + "]";
  const std::string tail =
      stack + " + " + std::to_string(begin) + ", " + std::to_string(end - begin) + ", &" + result;
  Line("memset(&" + result + ", 0, sizeof(TVMFFIAny));");
  if (by_symbol) {
    if (!symbols_.count(name) && symbols_.count("__tvm_ffi_" + name)) name = "__tvm_ffi_" + name;
    if (!symbols_.count(name)) {
      externs_[name] = "int " + name + "(void*, const TVMFFIAny*, int32_t, TVMFFIAny*);";
    }
    Line("if (" + name + "(NULL, " + tail + ") != 0) return -1;");
  } else if (by_handle) {
    Line("if (TVMFFIFunctionCall(" + Emit(op->args[0]) + ", " + tail + ") != 0) return -1;");
  } else {
    const std::string handle = Fresh("handle");
    Line("static void* " + handle + " = NULL;");
    Line("if (" + handle + " == NULL && TVMFFIEnvModLookupFromImports(__tvm_ffi__library_ctx, " +
         Quote(name) + ", &" + handle + ") != 0) return -1;");
    Line("if (TVMFFIFunctionCall(" + handle + ", " + tail + ") != 0) return -1;");
  }
  if (IsVoidType(op->ty)) {
    Line("if (" + result + ".type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectDecRef(" + result +
         ".v_obj);");
    return "";
  }
  const DataType want = op->dtype();
  const std::string value = Fresh("value");
  if (want.is_handle()) {
    Line("void* " + value + " = " + result + ".v_ptr;");
  } else if (want.is_float()) {
    Line(TypeName(want) + " " + value + " = (" + TypeName(want) + ")" + result + ".v_float64;");
  } else {
    Line(TypeName(want) + " " + value + " = (" + TypeName(want) + ")" + result + ".v_int64;");
  }
  return value;
}

std::string CodeGenC::CheckArgs(const CallNode* op) {
  uses_check_ = true;
  std::string words, texts;
  for (size_t i = 3; i < op->args.size(); ++i) {
    if (const auto* text = op->args[i].as<tirx::StringImmNode>()) {
      texts += (texts.empty() ? "" : ", ") + Quote(text->value);
    } else {
      words += (words.empty() ? "" : ", ") +
               std::to_string(ConstantArgument(op, i, "a word of check_args")) + "LL";
    }
  }
  const std::string program = Fresh("check"), strings = Fresh("check_text");
  Line("static const int64_t " + program + "[] = {" + words + "};");
  Line("static const char* const " + strings + "[] = {" + texts + "};");
  Line("if (__tvm_check_args((const TVMFFIAny*)" + Emit(op->args[0]) + ", " + Emit(op->args[1]) +
       ", (int64_t*)" + Emit(op->args[2]) + ", " + program + ", " + strings + ") != 0) return -1;");
  return "";
}

std::string CodeGenC::MultiplyShift(const CallNode* op, bool per_axis) {
  std::vector<std::string> a;
  for (const Expr& arg : op->args) a.push_back("(int64_t)" + Emit(arg));
  const std::string left =
      per_axis ? "(" + a[5] + " ? " + a[2] + " : 0)" : "(" + a[3] + " < 0 ? -" + a[3] + " : 0)";
  const std::string right = per_axis ? a[4] + " + (" + a[6] + " ? " + a[3] + " : 0)"
                                     : a[2] + " + (" + a[3] + " > 0 ? " + a[3] + " : 0)";
  return "((" + TypeName(op->dtype()) + ")tvm_multiply_shift(" + a[0] + ", " + a[1] + ", " + left +
         ", " + right + "))";
}

std::string CodeGenC::CallOp(const CallNode* op, const std::string& name) {
  auto arg = [&](size_t i) { return Emit(op->args[i]); };
  auto it = MathFunctions().find(name);
  if (it != MathFunctions().end()) return MathCall(op, it->second);
  const DataType dtype = op->dtype();
  if (name == "tirx.if_then_else") return "(" + arg(0) + " ? " + arg(1) + " : " + arg(2) + ")";
  if (name == "tirx.likely" || name == "tirx.ignore_loop_partition" ||
      name == "tirx.tvm_thread_invariant") {
    return arg(0);
  }
  if (name == "tirx.rsqrt") {
    return "((" + TypeName(dtype) + ")(1 / " + (dtype.bits() == 64 ? "sqrt(" : "sqrtf(") + arg(0) +
           ")))";
  }
  if (name == "tirx.sigmoid") {
    return "((" + TypeName(dtype) + ")(1 / (1 + " + (dtype.bits() == 64 ? "exp(-" : "expf(-") +
           arg(0) + "))))";
  }
  if (name == "tirx.fabs" || name == "tirx.abs") {
    if (dtype.is_float()) return "((" + TypeName(dtype) + ")fabs(" + arg(0) + "))";
    if (dtype.is_uint()) return arg(0);
    return Wrap(dtype, "((" + arg(0) + ") < 0 ? -1 : 1)", "*", arg(0));
  }
  if (name == "tirx.isnan" || name == "tirx.isinf") {
    return "tvm_" + name.substr(5) + "(" + arg(0) + ")";
  }
  if (name == "tirx.isfinite") {
    return "(!tvm_isnan(" + arg(0) + ") && !tvm_isinf(" + arg(0) + "))";
  }
  if (name == "tirx.popcount") {
    const int bits = op->args[0].dtype().bits();
    return "((" + TypeName(dtype) + ")__builtin_popcountll((uint" + std::to_string(bits) + "_t)" +
           arg(0) + "))";
  }
  if (name == "tirx.clz") {
    const int bits = op->args[0].dtype().bits();
    return "({ uint" + std::to_string(bits) + "_t in_ = " + arg(0) + "; (" + TypeName(dtype) +
           ")(in_ ? __builtin_clzll(in_) - " + std::to_string(64 - bits) + " : " +
           std::to_string(bits) + "); })";
  }
  if (name == "tirx.bitwise_not") return "((" + TypeName(dtype) + ")~" + arg(0) + ")";
  for (auto [key, symbol] :
       {std::pair{"tirx.bitwise_and", "&"}, {"tirx.bitwise_or", "|"}, {"tirx.bitwise_xor", "^"}}) {
    if (name == key) {
      return "((" + TypeName(dtype) + ")(" + arg(0) + " " + symbol + " " + arg(1) + "))";
    }
  }
  if (name == "tirx.shift_left") return Helper("shl", dtype, {arg(0), arg(1)});
  if (name == "tirx.shift_right") return Helper("shr", dtype, {arg(0), arg(1)});
  if (name == "tirx.q_multiply_shift") return MultiplyShift(op, false);
  if (name == "tirx.q_multiply_shift_per_axis") return MultiplyShift(op, true);
  if (name == "tirx.large_uint_imm") {
    const uint64_t low = static_cast<uint64_t>(ConstantArgument(op, 0, "low word")) & 0xffffffffu;
    const uint64_t high = static_cast<uint64_t>(ConstantArgument(op, 1, "high word"));
    return "((" + TypeName(dtype) + ")" + std::to_string(high << 32 | low) + "ULL)";
  }
  if (name == "tirx.reinterpret") return Reinterpret(op);
  if (name == "tirx.buffer_data") return "((void*)" + arg(0) + ")";
  if (name == "tirx.address_of") {
    const auto* load = op->args[0].as<tirx::BufferLoadNode>();
    return load ? "((void*)&" + Element(load->buffer, load->indices) + ")" : arg(0);
  }
  if (name == "tirx.tvm_access_ptr") {
    return "((void*)((char*)" + arg(1) + " + (int64_t)" + arg(2) + " * " +
           std::to_string(runtime::GetVectorBytes(op->args[0].dtype())) + "))";
  }
  if (name == "tirx.isnullptr") return "(" + arg(0) + " == NULL)";
  if (name == "tirx.ptr_byte_offset" || name == "tirx.handle_add_byte_offset") {
    return "((void*)((char*)" + arg(0) + " + " + arg(1) + "))";
  }
  if (name == "tirx.mem_copy") return "memcpy(" + arg(0) + ", " + arg(1) + ", " + arg(2) + ")";
  if (name == "tirx.prefetch" || name == "tirx.assume" || name == "tirx.tvm_storage_sync")
    return "";
  if (name == "tirx.tvm_struct_get") {
    DataType type;
    std::string field = StructField(op, &type);
    if (ConstantArgument(op, 2, "struct field") == tirx::builtin::kTVMFFIAnyUnionValue) {
      if (dtype.is_float()) {
        field.replace(field.rfind("v_int64"), 7, "v_float64");
        type = DataType::Float(64);
      } else if (dtype.is_handle()) {
        field.replace(field.rfind("v_int64"), 7, "v_ptr");
        type = DataType::Handle();
      }
    }
    return CastTo(type, dtype, type.is_handle() ? "(void*)" + field : field);
  }
  if (name == "tirx.tvm_struct_set") {
    DataType type;
    std::string field = StructField(op, &type);
    const bool text = op->args[3].as<tirx::StringImmNode>() != nullptr;
    const DataType have = text ? DataType::Handle() : op->args[3].dtype();
    std::string value = arg(3);
    if (ConstantArgument(op, 2, "struct field") == tirx::builtin::kTVMFFIAnyUnionValue) {
      if (have.is_float()) field.replace(field.rfind("v_int64"), 7, "v_float64");
      if (have.is_handle()) {
        field.replace(field.rfind("v_int64"), 7, "v_ptr");
        value = "(void*)" + value;
      }
    } else if (type.is_handle()) {
      value = "(void*)" + value;
    }
    Line(field + " = " + value + ";");
    return "";
  }
  if (name == "tirx.tvm_stack_alloca") return StackAlloca(op);
  if (name == "tirx.tvm_call_packed_lowered") return PackedCall(op, /*by_symbol=*/false);
  if (name == "tirx.tvm_call_cpacked_lowered") return PackedCall(op, /*by_symbol=*/true);
  if (name == "tirx.check_args") return CheckArgs(op);
  if (name == "tirx.anylist_move") {
    return "tvm_anylist_move((TVMFFIAny*)" + arg(0) + ", " + arg(1) + ", (TVMFFIAny*)" + arg(2) +
           " + " + arg(3) + ")";
  }
  if (name == "tirx.anylist_resetitem") {
    return "tvm_anylist_move((TVMFFIAny*)" + arg(0) + ", " + arg(1) + ", NULL)";
  }
  if (name == "tirx.TVMBackendAllocWorkspace") {
    return "TVMBackendAllocWorkspace(" + arg(0) + ", " + arg(1) + ", (uint64_t)" + arg(2) + ", " +
           arg(3) + ", " + arg(4) + ")";
  }
  if (name == "tirx.TVMBackendFreeWorkspace") {
    return "TVMBackendFreeWorkspace(" + arg(0) + ", " + arg(1) + ", " + arg(2) + ")";
  }
  if (name == "tirx.tvm_throw_last_error") {
    Line("return -1;");
    return "";
  }
  if (name == "tirx.ret") {
    Line("return " + arg(0) + ";");
    return "";
  }
  if (name == "tirx.break_loop" || name == "tirx.continue_loop") {
    Line(name == "tirx.break_loop" ? "break;" : "continue;");
    return "";
  }
  if (name == "tirx.call_extern" || name == "tirx.call_pure_extern") {
    const std::string symbol = StringArgument(op, 0);
    std::string args, types;
    for (size_t i = 1; i < op->args.size(); ++i) {
      args += (i > 1 ? ", " : "") + arg(i);
      types +=
          (i > 1 ? ", " : "") + (op->args[i].as<tirx::StringImmNode>() ? std::string("const char*")
                                                                       : TypeName(op->args[i]->ty));
    }
    if (!symbols_.count(symbol)) {
      externs_[symbol] =
          TypeName(op->ty) + " " + symbol + "(" + (types.empty() ? "void" : types) + ");";
    }
    const std::string call = symbol + "(" + args + ")";
    if (!IsVoidType(op->ty)) return call;
    Line(call + ";");
    return "";
  }
  TVM_FFI_THROW(ValueError) << "operator `" << name << "` has no lowering for the C target";
  TVM_FFI_UNREACHABLE();
}

}  // namespace codegen
}  // namespace tvm
