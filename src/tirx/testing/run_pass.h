// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Helpers of pass tests. Test code only.
#ifndef TVM_SRC_TIRX_TESTING_RUN_PASS_H_
#define TVM_SRC_TIRX_TESTING_RUN_PASS_H_

#include <tvm/tirx/stmt_functor.h>
#include <tvm/tirx/transform.h>

#include <functional>
#include <utility>

namespace tvm {
namespace tirx {
namespace testing {

/// Runs a pass on one function, as the only one of its module.
inline PrimFunc RunPass(const tvm::transform::Pass& pass, PrimFunc func) {
  if (!func->GetAttr<ffi::String>(attr::kGlobalSymbol).has_value()) {
    func = WithAttr(std::move(func), attr::kGlobalSymbol, ffi::String("f"));
  }
  IRModule mod = pass(IRModule::FromExpr(func));
  return mod->Lookup(mod->GetGlobalVars()[0]).as<PrimFunc>().value();
}

/// The same under pass options.
inline PrimFunc RunPassWith(ffi::Map<ffi::String, ffi::Any> config,
                            const tvm::transform::Pass& pass, PrimFunc func) {
  auto context = tvm::transform::PassContext::Create();
  const_cast<tvm::transform::PassContextNode*>(context.get())->config =
      tvm::transform::PassContext::ResolveConfig(config);
  tvm::transform::PassContextScope scope(context);
  return RunPass(pass, std::move(func));
}

/// Number of nodes for which `test` holds.
inline int Count(const PrimFunc& func, const std::function<bool(const ffi::ObjectRef&)>& test) {
  int count = 0;
  PostOrderVisit(func->body, [&](const ffi::ObjectRef& node) { count += test(node); });
  return count;
}

template <typename Node>
int CountNodes(const PrimFunc& func) {
  return Count(func, [](const ffi::ObjectRef& node) { return node.as<Node>() != nullptr; });
}

}  // namespace testing
}  // namespace tirx
}  // namespace tvm

#endif  // TVM_SRC_TIRX_TESTING_RUN_PASS_H_
