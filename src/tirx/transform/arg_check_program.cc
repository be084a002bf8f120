// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "tirx/transform/arg_check_program.h"

#include <tvm/runtime/device_api.h>
#include <tvm/support/argcheck.h>
#include <tvm/tirx/builtin.h>
#include <tvm/tirx/op.h>

#include <optional>

namespace tvm {
namespace tirx {

namespace {

/// Expressions of shapes as people write them: infix, with few parentheses.
std::string ExprText(const PrimExpr& expr, int outer_precedence = 0) {
  auto binary = [&](const char* op, const auto* node, int precedence) {
    std::string text =
        ExprText(node->a, precedence) + " " + op + " " + ExprText(node->b, precedence + 1);
    return precedence < outer_precedence ? "(" + text + ")" : text;
  };
  if (const auto* imm = expr.as<IntImmNode>()) return std::to_string(imm->value);
  if (const auto* var = expr.as<VarNode>()) return std::string(var->name);
  if (const auto* cast = expr.as<CastNode>()) return ExprText(cast->value, outer_precedence);
  if (const auto* node = expr.as<AddNode>()) return binary("+", node, 1);
  if (const auto* node = expr.as<SubNode>()) return binary("-", node, 1);
  if (const auto* node = expr.as<MulNode>()) return binary("*", node, 2);
  if (const auto* node = expr.as<FloorDivNode>()) return binary("//", node, 2);
  if (const auto* node = expr.as<FloorModNode>()) return binary("%", node, 2);
  return std::string(DebugText(expr));
}

bool IsConcrete(const PrimExpr& expr) { return as_const_int(expr) != nullptr; }

}  // namespace

std::string SignatureText(const PrimFunc& func, const ffi::String& name) {
  std::string text = std::string(name) + "(";
  bool first = true;
  for (const Var& param : func->params) {
    if (!first) text += ", ";
    first = false;
    text += std::string(param->name) + ": ";
    if (IsBuffer(param.get())) {
      Buffer buffer(param);
      text += "Tensor([";
      for (size_t i = 0; i < buffer.ndim(); ++i) {
        if (i != 0) text += ", ";
        text += ExprText(buffer.shape()[i]);
      }
      text += "], " + buffer.dtype().ToString() + ")";
    } else {
      DataType dtype = param->dtype();
      text += dtype.is_handle() ? std::string("handle") : dtype.ToString();
    }
  }
  return text + ")";
}

ArgCheckProgram::ArgCheckProgram(const PrimFunc& func, const ffi::String& name, int device_type)
    : func_(func) {
  Str(SignatureText(func, name));
  Emit({kArgCheckCount, static_cast<int64_t>(func->params.size())});
  CheckKinds();
  CheckTensorHeads(device_type);
  CheckLayouts();
  CheckShapes();
  Emit({kArgCheckEnd});
}

int64_t ArgCheckProgram::Str(const std::string& text) {
  auto [it, inserted] = string_index_.emplace(text, static_cast<int64_t>(strings_.size()));
  if (inserted) strings_.push_back(text);
  return it->second;
}

ffi::Array<Expr> ArgCheckProgram::CallArgs() const {
  ffi::Array<Expr> args;
  for (const std::string& text : strings_) args.push_back(StringImm(text));
  for (int64_t word : words_) args.push_back(IntImm::Int64(word));
  return args;
}

int ArgCheckProgram::SlotOf(const PrimExpr& expr) const {
  const auto* var = expr.as<VarNode>();
  if (var == nullptr) return -1;
  auto it = slot_of_.find(var);
  return it == slot_of_.end() ? -1 : it->second;
}

bool ArgCheckProgram::DefineSymbol(const PrimExpr& expr, int slot, const std::string& origin) {
  const auto* var = expr.as<VarNode>();
  if (!slot_of_.emplace(var, slot).second) return false;
  origin_.emplace(var, origin);
  symbols_.emplace_back(ffi::GetRef<Var>(var), slot);
  return true;
}

bool ArgCheckProgram::Compile(const PrimExpr& expr, Words* out, int depth) const {
  if (depth >= kArgExprMaxDepth) return false;
  if (const auto* imm = expr.as<IntImmNode>()) {
    out->insert(out->end(), {kArgExprConst, imm->value});
    return true;
  }
  if (expr.as<VarNode>() != nullptr) {
    int slot = SlotOf(expr);
    if (slot < 0) return false;
    out->insert(out->end(), {kArgExprSlot, slot});
    return true;
  }
  if (const auto* cast = expr.as<CastNode>()) {
    DataType dtype = cast->dtype();
    bool exact = dtype.is_int() && dtype.bits() >= 32 && dtype.is_scalar();
    return exact && Compile(cast->value, out, depth);
  }
  auto binary = [&](const auto* node, int op) {
    if (!Compile(node->a, out, depth) || !Compile(node->b, out, depth + 1)) return false;
    out->push_back(op);
    return true;
  };
  if (const auto* node = expr.as<AddNode>()) return binary(node, kArgExprAdd);
  if (const auto* node = expr.as<SubNode>()) return binary(node, kArgExprSub);
  if (const auto* node = expr.as<MulNode>()) return binary(node, kArgExprMul);
  if (const auto* node = expr.as<FloorDivNode>()) return binary(node, kArgExprFloorDiv);
  if (const auto* node = expr.as<FloorModNode>()) return binary(node, kArgExprFloorMod);
  if (const auto* node = expr.as<MinNode>()) return binary(node, kArgExprMin);
  if (const auto* node = expr.as<MaxNode>()) return binary(node, kArgExprMax);
  if (const auto* node = expr.as<DivNode>()) return binary(node, kArgExprTruncDiv);
  if (const auto* node = expr.as<ModNode>()) return binary(node, kArgExprTruncMod);
  return false;
}

bool ArgCheckProgram::EmitExpr(const PrimExpr& expr) {
  Words words;
  if (!Compile(expr, &words, 0)) return false;
  words_.push_back(static_cast<int64_t>(words.size()));
  words_.insert(words_.end(), words.begin(), words.end());
  return true;
}

void ArgCheckProgram::CheckKinds() {
  for (size_t i = 0; i < func_->params.size(); ++i) {
    const Var& param = func_->params[i];
    int64_t index = static_cast<int64_t>(i);
    int slot = NewSlot();
    params_.push_back({slot, -1});
    int64_t name = Str(std::string(param->name));
    if (IsBuffer(param.get())) {
      Emit({kArgCheckTensor, index, slot, name});
      continue;
    }
    DataType dtype = param->dtype();
    if (dtype.is_handle()) {
      Emit({kArgCheckPointer, index, slot, name});
      continue;
    }
    if (dtype.is_bool()) {
      Emit({kArgCheckBool, index, slot, name});
    } else if (dtype.is_int() || dtype.is_uint()) {
      Emit({kArgCheckInt, index, slot, name, dtype.bits(), dtype.is_uint() ? 1 : 0});
    } else if (dtype.is_any_float()) {
      Emit({kArgCheckFloat, index, slot, name});
    } else {
      TVM_FFI_THROW(TypeError) << "MakePackedAPI: parameter " << param->name << " of dtype "
                               << dtype << " cannot be passed to a packed function";
    }
    slot_of_.emplace(param.get(), slot);
    origin_.emplace(param.get(), std::string(param->name));
  }
}

void ArgCheckProgram::CheckTensorHeads(int device_type) {
  for (size_t i = 0; i < params_.size(); ++i) {
    const Var& param = func_->params[i];
    if (!IsBuffer(param.get())) continue;
    Buffer buffer(param);
    int tensor = params_[i].value;
    std::string name(param->name);
    Emit({kArgCheckNdim, tensor, static_cast<int64_t>(buffer.ndim())});
    DataType dtype = buffer.dtype();
    // Sub-byte integers are stored in different ways by different producers.
    bool sub_byte = (dtype.is_int() && (dtype.bits() == 1 || dtype.bits() == 4)) ||
                    (dtype.is_uint() && dtype.bits() == 4);
    if (!sub_byte) {
      Emit({kArgCheckDType, tensor, dtype.code(), dtype.bits(), dtype.lanes(),
            Str(dtype.ToString())});
    }
    for (size_t k = 0; k < buffer.ndim(); ++k) {
      const PrimExpr& extent = buffer.shape()[k];
      if (extent.as<VarNode>() == nullptr) continue;
      std::string origin = name + ".shape[" + std::to_string(k) + "]";
      int known = SlotOf(extent);
      if (known >= 0) {
        Emit({kArgCheckMatchShape, tensor, static_cast<int64_t>(k), known,
              Str("to match " + origin_.at(extent.as<VarNode>()))});
      } else {
        int slot = NewSlot();
        DefineSymbol(extent, slot, origin);
        Emit({kArgCheckBindShape, tensor, static_cast<int64_t>(k), slot, extent.dtype().bits(),
              extent.dtype().is_uint() ? 1 : 0});
      }
    }
    Emit({kArgCheckDeviceType, tensor, device_type, Str(runtime::DeviceTypeName(device_type))});
  }
}

void ArgCheckProgram::CheckLayouts() {
  int device_slot = -1;
  std::string device_origin;
  for (size_t i = 0; i < params_.size(); ++i) {
    const Var& param = func_->params[i];
    if (!IsBuffer(param.get())) continue;
    Buffer buffer(param);
    int tensor = params_[i].value;
    std::string name(param->name);
    if (buffer.strides().empty()) {
      Emit({kArgCheckCompact, tensor, static_cast<int64_t>(buffer.ndim())});
      bool complete = true;
      for (const PrimExpr& extent : buffer.shape()) complete = complete && EmitExpr(extent);
      if (!complete) {
        TVM_FFI_THROW(ValueError) << "MakePackedAPI: the shape of " << name << " uses symbols that "
                                  << "no parameter defines";
      }
    } else {
      for (size_t k = 0; k < buffer.strides().size(); ++k) {
        const PrimExpr& stride = buffer.strides()[k];
        std::string origin = name + ".strides[" + std::to_string(k) + "]";
        if (stride.as<VarNode>() != nullptr && SlotOf(stride) < 0) {
          int slot = NewSlot();
          DefineSymbol(stride, slot, origin);
          Emit({kArgCheckBindStride, tensor, static_cast<int64_t>(k), slot, stride.dtype().bits()});
          continue;
        }
        Emit({kArgCheckStride, tensor, static_cast<int64_t>(k)});
        if (!EmitExpr(stride)) {
          TVM_FFI_THROW(ValueError) << "MakePackedAPI: stride " << stride << " of " << name
                                    << " uses symbols that no parameter defines";
        }
        words_.push_back(Str(ExprText(stride)));
      }
    }
    if (device_slot < 0) {
      device_slot = NewSlot();
      device_origin = name + ".device_id";
      Emit({kArgCheckBindDeviceId, tensor, device_slot});
    } else {
      Emit({kArgCheckMatchDeviceId, tensor, device_slot, Str("to match " + device_origin)});
    }
    params_[i].data = NewSlot();
    Emit({kArgCheckData, tensor, params_[i].data, 0});
  }
}

void ArgCheckProgram::CheckShapes() {
  for (size_t i = 0; i < params_.size(); ++i) {
    const Var& param = func_->params[i];
    if (!IsBuffer(param.get())) continue;
    Buffer buffer(param);
    int tensor = params_[i].value;
    for (size_t k = 0; k < buffer.ndim(); ++k) {
      const PrimExpr& extent = buffer.shape()[k];
      if (extent.as<VarNode>() != nullptr) continue;
      Emit({kArgCheckShape, tensor, static_cast<int64_t>(k)});
      EmitExpr(extent);  // CheckLayouts or a stride check proved that it has a form
      words_.push_back(Str(ExprText(extent)));
    }
    const PrimExpr& offset = buffer.elem_offset();
    int64_t elem_bytes = (buffer.dtype().bits() * buffer.dtype().lanes() + 7) / 8;
    if (!offset.defined() || IsConcrete(offset)) {
      int64_t bytes = offset.defined() ? *as_const_int(offset) * elem_bytes : 0;
      Emit({kArgCheckByteOffset, tensor});
      EmitExpr(IntImm::Int64(bytes));
      words_.push_back(Str(std::to_string(bytes)));
    } else if (offset.as<VarNode>() != nullptr && SlotOf(offset) < 0) {
      int slot = NewSlot();
      DefineSymbol(offset, slot, std::string(param->name) + ".elem_offset");
      Emit({kArgCheckBindElemOffset, tensor, slot, elem_bytes, buffer.offset_factor()});
    } else {
      PrimExpr bytes = cast(DataType::Int(64), offset) * IntImm::Int64(elem_bytes);
      Emit({kArgCheckByteOffset, tensor});
      if (!EmitExpr(bytes)) {
        TVM_FFI_THROW(ValueError) << "MakePackedAPI: element offset " << offset << " of "
                                  << param->name << " uses symbols that no parameter defines";
      }
      words_.push_back(Str(ExprText(bytes)));
    }
  }
}

}  // namespace tirx
}  // namespace tvm
