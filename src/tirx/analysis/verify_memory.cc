// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Functions for a device must touch device memory inside of its threads only; and the passes that
/// turn the analyses of this folder into errors.
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/runtime/device_api.h>
#include <tvm/target/target.h>
#include <tvm/tirx/analysis.h>
#include <tvm/tirx/transform.h>

#include <string>
#include <unordered_set>

namespace tvm {
namespace tirx {

namespace {

class HostAccessFinder final : public StmtExprVisitor {
 public:
  explicit HostAccessFinder(const PrimFunc& func) {
    for (const Var& param : func->params) params_.insert(param.get());
    VisitStmt(func->body);
  }
  ffi::Array<ffi::String> errors;

 private:
  void VisitStmt_(const AttrStmtNode* op) final {
    bool device = op->attr_key == attr::thread_extent || op->attr_key == attr::device_entry;
    if (device) ++device_depth_;
    StmtExprVisitor::VisitStmt_(op);
    if (device) --device_depth_;
  }
  void VisitStmt_(const ForNode* op) final {
    bool device = op->kind == ForKind::kThreadBinding;
    if (device) ++device_depth_;
    StmtExprVisitor::VisitStmt_(op);
    if (device) --device_depth_;
  }
  void VisitBufferUse(const Buffer& buffer) final {
    if (device_depth_ > 0 || params_.count(buffer.get()) == 0) return;
    if (!reported_.insert(buffer.get()).second) return;
    errors.push_back("Variable `" + std::string(buffer->name) +
                     "` is directly accessed by host memory (it is not contained in a thread "
                     "environment or in the function arguments.");
  }

  int device_depth_ = 0;
  std::unordered_set<const ffi::Object*> params_;
  std::unordered_set<const ffi::Object*> reported_;
};

bool RunsOnDevice(const PrimFunc& func) {
  auto target = func->GetAttr<Target>(attr::kTarget);
  return target.has_value() && (target.value()->HasKey("gpu"));
}

}  // namespace

ffi::Array<ffi::String> VerifyMemoryErrors(const PrimFunc& func) {
  auto conv = func->GetAttr<int64_t>(attr::kCallingConv, static_cast<int64_t>(0)).value();
  if (!RunsOnDevice(func) || conv != static_cast<int64_t>(CallingConv::kDefault)) return {};
  return HostAccessFinder(func).errors;
}

namespace {

const transform::PrimFuncPassRegistration kVerifyMemory{{
    .name = "tirx.VerifyMemory",
    .summary = "Reject host accesses to device memory",
    .run =
        [](PrimFunc func, const transform::PassContext&) {
          ffi::Array<ffi::String> errors = VerifyMemoryErrors(func);
          if (!errors.empty()) {
            std::string text = "Memory verification failed with the following errors:\n";
            for (const ffi::String& error : errors) text += "  " + std::string(error) + "\n";
            TVM_FFI_THROW(RuntimeError) << text << "  Did you forget to bind?";
          }
          return func;
        },
}};

const transform::PrimFuncPassRegistration kVerifySSA{{
    .name = "tirx.VerifySSA",
    .summary = "Reject functions that define a variable twice",
    .run =
        [](PrimFunc func, const transform::PassContext&) {
          if (!VerifySSA(func)) TVM_FFI_THROW(RuntimeError) << "IR is not in SSA form";
          return func;
        },
}};

}  // namespace

namespace transform {
Pass VerifyMemory() { return kVerifyMemory.Create(); }
Pass VerifySSA() { return kVerifySSA.Create(); }
}  // namespace transform

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = ffi::reflection;
  refl::GlobalDef().def("tirx.analysis.verify_memory", [](const PrimFuncNode* func) {
    return VerifyMemoryErrors(ffi::GetRef<PrimFunc>(func)).empty();
  });
}

}  // namespace tirx
}  // namespace tvm
