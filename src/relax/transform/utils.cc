// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "relax/transform/utils.h"

#include <tvm/ffi/reflection/registry.h>
#include <tvm/relax/analysis.h>
#include <tvm/relax/op_row.h>

#include <string>

namespace tvm {
namespace relax {
namespace transform {

Expr TypeKeepingMutator::VisitExpr(const Expr& e) {
  Expr result = ExprMutatorBase::VisitExpr(e);
  if (result->ty.IsMissing() && !e->ty.IsMissing()) UpdateType(result, e->ty);
  return result;
}

Pass CreateFunctionPass(std::function<Function(Function, IRModule, PassContext)> body,
                        int opt_level, String name, Array<String> required) {
  return tvm::transform::CreateModulePass(
      [body = std::move(body)](IRModule mod, const PassContext& ctx) {
        return tvm::transform::MapFunctions<Function>(
            std::move(mod), [&](const IRModule& m, const GlobalVar&, const Function& f) {
              return body(f, m, ctx);
            });
      },
      opt_level, name, required);
}

FunctionPassRegistration::FunctionPassRegistration(FunctionPassSpec spec) : spec_(spec) {
  std::string name(spec_.name);
  // `relax.Name` is made by `relax.transform.Name`.
  tvm::transform::RegisterPassFactory(name, spec_.summary,
                                      [spec] { return FunctionPassRegistration::Create(spec); });
}

Pass FunctionPassRegistration::Create(const FunctionPassSpec& spec) {
  std::string name(spec.name);
  auto run = spec.run;
  return CreateFunctionPass(
      [run](Function f, IRModule m, PassContext ctx) { return run(f, m, ctx); }, spec.opt_level,
      name.substr(name.rfind('.') + 1));
}

Optional<Expr> CallPackedFallback(const Call& call) {
  const auto* op = call->op.as<OpNode>();
  if (op == nullptr) return std::nullopt;
  Optional<String> symbol;
  const OpRow* row = RowOfCall(call);
  static const OpAttrTable* table = Op::GetAttrTable("FCallPacked");
  if (row != nullptr && row->packed != nullptr) {
    symbol = String(row->packed);
  } else if (const ffi::Any* name = table->Find(op->index)) {
    symbol = name->cast<String>();
  }
  if (!symbol.has_value()) return std::nullopt;
  if (IsImpureCall(call)) {
    return Call(call->ty, ExternFunc(symbol.value()), call->args, Attrs(), {call->ty});
  }
  Array<Expr> args{ExternFunc(symbol.value())};
  for (const Expr& a : call->args) args.push_back(a);
  static const Op& pure = *new Op(Op::Get("relax.call_pure_packed"));
  return Call(call->ty, pure, args, Attrs(), {call->ty});
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::GlobalDef().def("relax.transform.MakeFunctionPass",
                        [](ffi::Function f, int opt_level, String name, Array<String> required) {
                          return CreateFunctionPass(
                              [f](Function func, IRModule mod, PassContext ctx) {
                                return f(func, mod, ctx).cast<Function>();
                              },
                              opt_level, name, required);
                        });
}

}  // namespace transform
}  // namespace relax
}  // namespace tvm
