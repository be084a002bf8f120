// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
// Types, functions, statements and plain expressions.
#include "codegen/c/codegen_c.h"

#include <tvm/ffi/error.h>
#include <tvm/ir/scalar_op.h>
#include <tvm/tirx/builtin.h>

#include <cmath>
#include <cstdio>

namespace tvm {
namespace codegen {

// Generated from src/codegen/argcheck.
extern const unsigned char kArgCheckSource[];
extern const unsigned long kArgCheckSourceSize;  // NOLINT(runtime/int)

namespace {

/// The argument check as C text, its own includes left out.
std::string ArgCheckText() {
  const std::string text(reinterpret_cast<const char*>(kArgCheckSource), kArgCheckSourceSize);
  std::string out = "#define TVM_GLUE static\n";
  size_t at = 0;
  while (at < text.size()) {
    size_t end = text.find('\n', at);
    if (end == std::string::npos) end = text.size();
    const std::string line = text.substr(at, end - at);
    if (line.rfind("#include", 0) != 0) out += line + "\n";
    at = end + 1;
  }
  return out;
}

}  // namespace

// --- names and types ---------------------------------------------------------------------------

std::string CodeGenC::TypeName(DataType dtype) const {
  if (dtype.is_void()) return "void";
  TVM_FFI_CHECK(dtype.is_scalar(), ValueError)
      << "the C target takes scalar code, got a value of type " << dtype.ToString()
      << "; build with tirx.disable_vectorize";
  if (dtype.is_handle()) return "void*";
  if (dtype.is_predicate_dtype()) return "bool";
  const int bits = dtype.bits();
  if (dtype.is_float() && bits == 16) return "_Float16";
  if (dtype.is_float() && bits == 32) return "float";
  if (dtype.is_float() && bits == 64) return "double";
  if ((dtype.is_int() || dtype.is_uint()) &&
      (bits == 8 || bits == 16 || bits == 32 || bits == 64)) {
    return (dtype.is_uint() ? "uint" : "int") + std::to_string(bits) + "_t";
  }
  TVM_FFI_THROW(ValueError) << "the C target has no type for " << dtype.ToString();
  TVM_FFI_UNREACHABLE();
}

std::string CodeGenC::TypeName(const Type& type) const {
  if (IsVoidType(type)) return "void";
  return type.as<PrimTypeNode>() ? TypeName(DataTypeOf(type)) : "void*";
}

std::string CodeGenC::Fresh(const std::string& hint) {
  std::string name;
  for (char c : hint) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) name = "v" + name;
  name += "_";  // clear of C keywords and library names
  std::string candidate = name;
  for (int i = 1; !used_names_.insert(candidate).second; ++i) candidate = name + std::to_string(i);
  return candidate;
}

const std::string& CodeGenC::NameOf(const VarNode* var) {
  auto it = names_.find(var);
  TVM_FFI_CHECK(it != names_.end(), InternalError)
      << "variable `" << var->name << "` has no value here";
  return it->second;
}

void CodeGenC::Line(const std::string& text) {
  body_.append(static_cast<size_t>(indent_) * 2, ' ');
  body_ += text;
  body_ += '\n';
}

void CodeGenC::Block(const tirx::Stmt& body) {
  ++indent_;
  VisitStmt(body);
  --indent_;
}

std::string CodeGenC::Quote(const std::string& text) {
  std::string out = "\"";
  for (unsigned char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c == '\n') {
      out += "\\n";
    } else if (c < 32 || c >= 127 || c == '?') {
      char octal[8];
      std::snprintf(octal, sizeof(octal), "\\%03o", c);
      out += octal;
    } else {
      out += static_cast<char>(c);
    }
  }
  return out + "\"";
}

// --- functions ---------------------------------------------------------------------------------

void CodeGenC::Declare(const GlobalVar& var, const tirx::PrimFunc& func, const std::string& symbol,
                       bool exported) {
  names_.clear();
  used_names_.clear();
  std::string params;
  for (const Var& param : func->params) {
    if (!params.empty()) params += ", ";
    params += TypeName(param->ty) + " " + Fresh(param->name);
  }
  const std::string result = tirx::ReturnsValue(func.get()) ? TypeName(func->ret_type) : "int32_t";
  std::string signature =
      result + " " + symbol + "(" + (params.empty() ? std::string("void") : params) + ")";
  prototypes_.push_back((exported ? "TVM_C_EXPORT " : "static ") + signature + ";");
  symbols_.insert(symbol);
  functions_[var.get()] = {func, symbol, signature, exported};
}

void CodeGenC::Define(const GlobalVar& var) {
  const Function& function = functions_.at(var.get());
  names_.clear();
  used_names_.clear();
  for (const Var& param : function.func->params) names_[param.get()] = Fresh(param->name);
  fails_with_status_ = !tirx::ReturnsValue(function.func.get()) ||
                       DataTypeOf(function.func->ret_type) == DataType::Int(32);
  Line("");
  Line(function.signature + " {");
  Block(function.func->body);
  Line("  return 0;");
  Line("}");
}

std::string CodeGenC::Finish(const std::string& target_text) {
  std::string out = "// tvm target: " + target_text + "\n";
  out += kCPreamble;
  if (uses_check_) out += ArgCheckText();
  for (const auto& [name, prototype] : externs_) out += prototype + "\n";
  for (const std::string& prototype : prototypes_) out += prototype + "\n";
  return out + body_;
}

// --- statements --------------------------------------------------------------------------------

void CodeGenC::VisitStmt_(const tirx::BindNode* op) {
  const std::string value = Emit(op->value);
  const std::string name = Fresh(op->var->name);
  names_[op->var.get()] = name;
  Line(TypeName(op->var->ty) + " " + name + " = " + value + ";");
}

void CodeGenC::VisitStmt_(const tirx::AttrStmtNode* op) {
  TVM_FFI_CHECK(op->attr_key != tirx::attr::thread_extent, ValueError)
      << "a thread binding reached the C code generator";
  VisitStmt(op->body);
}

void CodeGenC::VisitStmt_(const tirx::AssertStmtNode* op) {
  TVM_FFI_CHECK(fails_with_status_, ValueError)
      << "an assertion in a function that returns a value cannot report its error";
  std::string parts;
  for (const tirx::StringImm& part : op->message_parts) parts += Quote(part->value) + ", ";
  Line("if (!(" + Emit(op->condition) + ")) {");
  Line("  const char* parts[] = {" + parts + "\"\"};");
  Line("  TVMFFIErrorSetRaisedFromCStrParts(" + Quote(op->error_kind->value) + ", parts, " +
       std::to_string(op->message_parts.size()) + ");");
  Line("  return -1;");
  Line("}");
}

void CodeGenC::VisitStmt_(const tirx::BufferStoreNode* op) {
  std::string value = Emit(op->value);
  if (op->predicate.has_value()) {
    TVM_FFI_THROW(ValueError) << "the C target does not support a predicated store";
  }
  Line(Element(op->buffer, op->indices) + " = " + value + ";");
}

void CodeGenC::VisitStmt_(const tirx::AllocBufferNode* op) {
  int64_t elements = 1;
  for (const PrimExpr& extent : op->buffer.shape()) {
    const int64_t* known = as_const_int(extent);
    TVM_FFI_CHECK(known != nullptr, ValueError)
        << "buffer `" << op->buffer->name << "` of variable size cannot live on the stack";
    elements *= *known;
  }
  const std::string name = Fresh(op->buffer->name);
  names_[op->buffer.get()] = name;
  DataType dtype = op->buffer.dtype();
  Line("__attribute__((aligned(64))) " + TypeName(dtype) + " " + name + "[" +
       std::to_string(std::max<int64_t>(elements, 1)) + "];");
}

void CodeGenC::VisitStmt_(const tirx::DeclBufferNode* op) {
  const std::string data = Emit(op->data);
  const std::string name = Fresh(op->buffer->name);
  names_[op->buffer.get()] = name;
  Line("void* " + name + " = (void*)(" + data + ");");
}

void CodeGenC::VisitStmt_(const tirx::SeqStmtNode* op) {
  for (const tirx::Stmt& stmt : op->seq) VisitStmt(stmt);
}

void CodeGenC::VisitStmt_(const tirx::EvaluateNode* op) {
  if (op->value.as<IntImmNode>() || op->value.as<VarNode>()) return;
  const std::string value = Emit(op->value);
  if (!value.empty()) Line("(void)(" + value + ");");
}

void CodeGenC::VisitStmt_(const tirx::IfThenElseNode* op) {
  Line("if (" + Emit(op->condition) + ") {");
  Block(op->then_case);
  if (op->else_case.has_value()) {
    Line("} else {");
    Block(*op->else_case);
  }
  Line("}");
}

void CodeGenC::VisitStmt_(const tirx::ForNode* op) {
  TVM_FFI_CHECK(op->kind != tirx::ForKind::kVectorized && op->kind != tirx::ForKind::kThreadBinding,
                ValueError)
      << "loop `" << op->loop_var->name << "` of kind " << tirx::ForKind2String(op->kind)
      << " must be lowered before C code generation";
  const std::string type = TypeName(op->loop_var->dtype());
  const std::string begin = Emit(op->min);
  const std::string extent = Emit(op->extent);
  const std::string name = Fresh(op->loop_var->name);
  const std::string end = Fresh(op->loop_var->name + ffi::String("_end"));
  names_[op->loop_var.get()] = name;
  const std::string step = op->step.has_value() ? Emit(*op->step) : "1";
  Line("for (" + type + " " + name + " = " + begin + ", " + end + " = " + name + " + (" + extent +
       "); " + name + " < " + end + "; " + name + " += " + step + ") {");
  Block(op->body);
  Line("}");
}

void CodeGenC::VisitStmt_(const tirx::WhileNode* op) {
  Line("while (" + Emit(op->condition) + ") {");
  Block(op->body);
  Line("}");
}

void CodeGenC::VisitStmt_(const tirx::ReturnNode* op) { Line("return " + Emit(op->value) + ";"); }
void CodeGenC::VisitStmt_(const tirx::BreakNode*) { Line("break;"); }
void CodeGenC::VisitStmt_(const tirx::ContinueNode*) { Line("continue;"); }

void CodeGenC::VisitStmtDefault_(const ffi::Object* op) {
  TVM_FFI_THROW(ValueError) << "statement " << op->GetTypeKey()
                            << " must be lowered before C code generation";
}

// --- expressions -------------------------------------------------------------------------------

std::string CodeGenC::Element(const tirx::Buffer& buffer, const ffi::Array<PrimExpr>& indices) {
  const PrimExpr index = indices.empty() ? PrimExpr(0) : buffer.ElemOffset(indices);
  return "((" + TypeName(buffer.dtype()) + "*)" + NameOf(buffer.get()) + ")[" + Emit(index) + "]";
}

std::string CodeGenC::VisitExpr_(const VarNode* op) { return NameOf(op); }

std::string CodeGenC::VisitExpr_(const IntImmNode* op) {
  if (op->dtype().is_predicate_dtype()) return op->value ? "true" : "false";
  std::string text;
  if (op->value == INT64_MIN) {
    text = "INT64_MIN";
  } else {
    text = std::to_string(op->value) + (op->dtype().bits() > 32 ? "LL" : "");
  }
  return "((" + TypeName(op->dtype()) + ")" + text + ")";
}

std::string CodeGenC::VisitExpr_(const FloatImmNode* op) {
  const std::string type = TypeName(op->dtype());
  if (std::isnan(op->value)) return "((" + type + ")NAN)";
  if (std::isinf(op->value)) return "((" + type + ")" + (op->value < 0 ? "-" : "") + "INFINITY)";
  char text[64];
  std::snprintf(text, sizeof(text), "%a", op->value);  // hexadecimal: exact
  return "((" + type + ")" + text + (op->dtype().bits() == 64 ? "" : "f") + ")";
}

std::string CodeGenC::VisitExpr_(const tirx::StringImmNode* op) { return Quote(op->value); }

std::string CodeGenC::CastTo(DataType from, DataType to, const std::string& value) const {
  if (from == to) return value;
  if (to.is_predicate_dtype()) return "((" + value + ") != 0)";
  if (from.is_handle() != to.is_handle()) {
    return "((" + TypeName(to) + ")(intptr_t)(" + value + "))";
  }
  if (from.is_float() && (to.is_int() || to.is_uint())) {
    return "tvm_saturate_" + to.ToString() + "(" + value + ")";
  }
  return "((" + TypeName(to) + ")(" + value + "))";
}

std::string CodeGenC::VisitExpr_(const tirx::CastNode* op) {
  return CastTo(op->value.dtype(), op->dtype(), Emit(op->value));
}

std::string CodeGenC::Wrap(DataType dtype, const std::string& a, const char* op,
                           const std::string& b) const {
  const std::string type = TypeName(dtype);
  if (!dtype.is_int() && !dtype.is_uint()) {
    return "((" + type + ")(" + a + " " + op + " " + b + "))";
  }
  // Signed overflow is undefined in C; unsigned arithmetic wraps, and small types promote to int.
  const std::string wide = dtype.bits() < 64 ? "(uint32_t)" : "(uint64_t)";
  return "((" + type + ")(" + wide + a + " " + op + " " + wide + b + "))";
}

std::string CodeGenC::Binary(const tirx::BinaryOpNode* op, const char* symbol) {
  const std::string a = Emit(op->a);
  return Wrap(op->dtype(), a, symbol, Emit(op->b));
}
std::string CodeGenC::VisitExpr_(const tirx::AddNode* op) { return Binary(op, "+"); }
std::string CodeGenC::VisitExpr_(const tirx::SubNode* op) { return Binary(op, "-"); }
std::string CodeGenC::VisitExpr_(const tirx::MulNode* op) { return Binary(op, "*"); }

std::string CodeGenC::Helper(const std::string& name, DataType dtype,
                             const std::vector<std::string>& args) {
  // Half precision computes in float.
  std::string suffix = dtype.is_float16() ? "float32" : dtype.ToString();
  std::string call = "tvm_" + name + "_" + suffix + "(";
  for (size_t i = 0; i < args.size(); ++i) call += (i ? ", " : "") + args[i];
  call += ")";
  return dtype.is_float16() ? "((_Float16)" + call + ")" : call;
}

std::string CodeGenC::Divide(const tirx::BinaryOpNode* op, const char* helper,
                             const char* float_form) {
  const std::string a = Emit(op->a);
  const std::string b = Emit(op->b);
  const DataType dtype = op->dtype();
  if (dtype.is_float() && float_form != nullptr) {
    if (float_form[0] == '/') return "(" + a + " / " + b + ")";
    const std::string call = (dtype.bits() == 64 ? "fmod(" : "fmodf(") + a + ", " + b + ")";
    return dtype.bits() == 16 ? "((_Float16)" + call + ")" : call;
  }
  return Helper(helper, dtype, {a, b});
}

std::string CodeGenC::VisitExpr_(const tirx::DivNode* op) { return Divide(op, "truncdiv", "/"); }
std::string CodeGenC::VisitExpr_(const tirx::ModNode* op) { return Divide(op, "truncmod", "%"); }
std::string CodeGenC::VisitExpr_(const tirx::FloorDivNode* op) {
  return Divide(op, "floordiv", nullptr);
}
std::string CodeGenC::VisitExpr_(const tirx::FloorModNode* op) {
  return Divide(op, "floormod", nullptr);
}
std::string CodeGenC::VisitExpr_(const tirx::MinNode* op) {
  const std::string a = Emit(op->a);
  return Helper("min", op->dtype(), {a, Emit(op->b)});
}
std::string CodeGenC::VisitExpr_(const tirx::MaxNode* op) {
  const std::string a = Emit(op->a);
  return Helper("max", op->dtype(), {a, Emit(op->b)});
}

std::string CodeGenC::Compare(const tirx::BinaryOpNode* op, const char* symbol) {
  const std::string a = Emit(op->a);
  return "(" + a + " " + symbol + " " + Emit(op->b) + ")";
}
std::string CodeGenC::VisitExpr_(const tirx::EQNode* op) { return Compare(op, "=="); }
std::string CodeGenC::VisitExpr_(const tirx::NENode* op) { return Compare(op, "!="); }
std::string CodeGenC::VisitExpr_(const tirx::LTNode* op) { return Compare(op, "<"); }
std::string CodeGenC::VisitExpr_(const tirx::LENode* op) { return Compare(op, "<="); }
std::string CodeGenC::VisitExpr_(const tirx::GTNode* op) { return Compare(op, ">"); }
std::string CodeGenC::VisitExpr_(const tirx::GENode* op) { return Compare(op, ">="); }
std::string CodeGenC::VisitExpr_(const tirx::AndNode* op) { return Compare(op, "&&"); }
std::string CodeGenC::VisitExpr_(const tirx::OrNode* op) { return Compare(op, "||"); }
std::string CodeGenC::VisitExpr_(const tirx::NotNode* op) { return "(!" + Emit(op->a) + ")"; }

std::string CodeGenC::VisitExpr_(const tirx::SelectNode* op) {
  const std::string condition = Emit(op->condition);
  const std::string on_true = Emit(op->true_value);
  return "(" + condition + " ? " + on_true + " : " + Emit(op->false_value) + ")";
}

std::string CodeGenC::VisitExpr_(const tirx::LetNode* op) {
  const std::string value = Emit(op->value);
  const std::string name = Fresh(op->var->name);
  names_[op->var.get()] = name;
  return "({ " + TypeName(op->var->ty) + " " + name + " = " + value + "; " + Emit(op->body) +
         "; })";
}

std::string CodeGenC::VisitExpr_(const tirx::BufferLoadNode* op) {
  TVM_FFI_CHECK(!op->predicate.has_value(), ValueError)
      << "the C target does not support a predicated load";
  return Element(op->buffer, op->indices);
}

std::string CodeGenC::VisitExpr_(const CallNode* op) {
  if (const auto* callee = op->op.as<GlobalVarNode>()) {
    auto it = functions_.find(callee);
    TVM_FFI_CHECK(it != functions_.end(), ValueError)
        << "call of `" << callee->name_hint << "`, which this module does not define";
    std::string call = it->second.symbol + "(";
    for (size_t i = 0; i < op->args.size(); ++i) call += (i ? ", " : "") + Emit(op->args[i]);
    call += ")";
    if (!IsVoidType(op->ty)) return call;
    Line("if (" + call + " != 0) return -1;");
    return "";
  }
  const auto* builtin = op->op.as<OpNode>();
  TVM_FFI_CHECK(builtin != nullptr, ValueError)
      << "compiled code can only call operators and functions";
  return CallOp(op, builtin->name);
}

std::string CodeGenC::VisitExprDefault_(const ffi::Object* op) {
  TVM_FFI_THROW(ValueError)
      << "expression " << op->GetTypeKey()
      << " is not supported by the C target; build with tirx.disable_vectorize "
         "if it is a vector";
  TVM_FFI_UNREACHABLE();
}

}  // namespace codegen
}  // namespace tvm
