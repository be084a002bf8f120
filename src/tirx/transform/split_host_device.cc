// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Checks that functions for a CPU hold no device code. (Splitting kernels off belongs to the
/// device backends; this build has none.)
#include <tvm/target/target.h>
#include <tvm/tirx/stmt_functor.h>
#include <tvm/tirx/transform.h>

namespace tvm {
namespace tirx {

namespace {

const AttrStmtNode* FindDeviceRegion(const Stmt& stmt) {
  const AttrStmtNode* found = nullptr;
  PreOrderVisit(stmt, [&](const ffi::ObjectRef& node) {
    const auto* attr_stmt = node.as<AttrStmtNode>();
    if (attr_stmt != nullptr &&
        (attr_stmt->attr_key == attr::thread_extent || attr_stmt->attr_key == attr::device_entry)) {
      found = attr_stmt;
    }
    return found == nullptr && node.as<ExprNode>() == nullptr;
  });
  return found;
}

const transform::PrimFuncPassRegistration kPass{{
    .name = "tirx.SplitHostDevice",
    .summary = "Separate device kernels from host functions",
    .run =
        [](PrimFunc func, const transform::PassContext&) {
          if (const AttrStmtNode* region = FindDeviceRegion(func->body)) {
            auto target = func->GetAttr<Target>(attr::kTarget);
            TVM_FFI_THROW(ValueError)
                << "SplitHostDevice: function "
                << func->GetAttr<ffi::String>(attr::kGlobalSymbol, ffi::String("<private>")).value()
                << " holds device code (attribute " << region->attr_key << "), but target "
                << (target.has_value() ? std::string(target.value()->kind->name) : "<none>")
                << " has no device";
          }
          return func;
        },
}};

}  // namespace

namespace transform {
Pass SplitHostDevice() { return kPass.Create(); }
}  // namespace transform

}  // namespace tirx
}  // namespace tvm
