// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Gives every function the target it is compiled for.
///
/// An exported function gets the target as it is, a function that only others call gets it without
/// host, and one marked tirx.is_host_func the host. A target that a function has already is kept.
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/target/target.h>
#include <tvm/tirx/transform.h>

namespace tvm {
namespace tirx {
namespace transform {

Pass BindTarget(Target target) {
  return CreatePrimFuncPass(
      [target](PrimFunc func, const IRModule&, const PassContext&) {
        Target bound = target;
        if (auto own = func->GetAttr<Target>(attr::kTarget)) {
          auto host = target->GetHost();
          if (own.value()->host.has_value() || !host.has_value()) return func;
          bound = Target::WithHost(own.value(), host.value());
        } else if (func->HasNonzeroAttr(attr::kIsHostFunc)) {
          auto host = target->GetHost();
          if (host.has_value()) bound = host.value();
        } else if (!func->GetAttr<ffi::String>(attr::kGlobalSymbol).has_value()) {
          bound = target.WithoutHost();
        }
        return WithAttr(std::move(func), attr::kTarget, bound);
      },
      0, "tirx.BindTarget");
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = ffi::reflection;
  refl::GlobalDef().def("tirx.transform.BindTarget",
                        [](Target target) { return BindTarget(target); });
}

}  // namespace transform
}  // namespace tirx
}  // namespace tvm
