// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "relax/transform/utils.h"

#include <tvm/ffi/reflection/registry.h>

#include <string>

namespace tvm {
namespace relax {
namespace transform {

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
