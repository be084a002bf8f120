// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "relax/backend/vm/signature.h"

#include <tvm/ffi/extra/json.h>
#include <tvm/relax/expr.h>
#include <tvm/relax/type.h>

#include <string>

namespace tvm {
namespace relax {

namespace {

/// Name, element type and extents of a tensor; nullopt for any other type.
std::optional<Map<ffi::Any, ffi::Any>> Describe(const String& name, const Type& type) {
  const auto* tensor = type.as<TensorTypeNode>();
  if (tensor == nullptr || tensor->IsUnknownDtype()) return std::nullopt;
  auto shape = tensor->GetShape();
  if (!shape.has_value()) return std::nullopt;
  Array<ffi::Any> extents;
  for (const PrimExpr& extent : shape.value()) {
    const auto* literal = extent.as<IntImmNode>();
    extents.push_back(literal != nullptr ? ffi::Any(literal->value) : ffi::Any(nullptr));
  }
  return Map<ffi::Any, ffi::Any>{{String("name"), name},
                                 {String("dtype"), tensor->ElementType().ToString()},
                                 {String("shape"), extents}};
}

std::optional<String> Signature(const Function& func) {
  Array<ffi::Any> inputs, outputs;
  for (const Var& param : func->params) {
    auto spec = Describe(param->name, param->ty);
    if (!spec) return std::nullopt;
    inputs.push_back(*spec);
  }
  Array<Type> results{func->ret_ty};
  if (const auto* tuple = func->ret_ty.as<TupleTypeNode>()) results = tuple->fields;
  auto names = func->GetAttr<Array<String>>("output_names");
  for (size_t i = 0; i < results.size(); ++i) {
    const bool named = names.has_value() && names.value().size() == results.size();
    auto spec =
        Describe(named ? names.value()[i] : String("output" + std::to_string(i)), results[i]);
    if (!spec) return std::nullopt;
    outputs.push_back(*spec);
  }
  return ffi::json::Stringify(
      Map<ffi::Any, ffi::Any>{{String("inputs"), inputs}, {String("outputs"), outputs}});
}

}  // namespace

void EmitSignatures(const ExecBuilder& builder, const IRModule& mod) {
  for (const auto& [gv, base] : mod->SortedFunctions()) {
    auto func = base.as<Function>();
    if (!func.has_value() || !func.value()->GetAttr<String>("global_symbol").has_value()) continue;
    auto text = Signature(func.value());
    if (!text) continue;
    const std::string name = "__tvm_signature_" + std::string(gv->name_hint);
    builder->BeginFunction(name, 0, {});
    builder->EmitCall("vm.builtin.copy", {builder->ConvertConstant(*text)}, 0);
    builder->EmitRet(Instruction::Arg::Register(0));
    builder->EndFunction(name);
  }
}

}  // namespace relax
}  // namespace tvm
