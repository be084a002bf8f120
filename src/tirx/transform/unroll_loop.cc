// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Replicates the bodies of unrolled loops.
///
///   for i in unroll(2): A[i] = i * 2    ==>    A[0] = 0
///                                              A[1] = 2
///
/// Loops of kind unrolled with a constant extent are always replicated; serial loops when the
/// options (tirx.UnrollLoop) or the pragmas auto_unroll_max_step and unroll_explicit allow it.
#include <tvm/tirx/op.h>
#include <tvm/tirx/stmt_functor.h>
#include <tvm/tirx/transform.h>

#include <unordered_map>
#include <vector>

#include "tirx/transform/folding_mutator.h"
#include "tirx/transform/options.h"
#include "tirx/transform/with_body.h"

namespace tvm {
namespace tirx {

namespace {

bool DefinesNames(const Stmt& stmt) {
  bool found = false;
  PreOrderVisit(stmt, [&](const ffi::ObjectRef& node) {
    found = found || node.as<BindNode>() != nullptr || node.as<AllocBufferNode>() != nullptr ||
            node.as<DeclBufferNode>() != nullptr || node.as<ForNode>() != nullptr;
    return !found && node.as<ExprNode>() == nullptr;
  });
  return found;
}

/// What automatic unrolling needs to know about a statement.
struct Shape {
  int64_t steps = 0;  ///< statements after unrolling what is below
  int64_t depth = 0;  ///< unrolled loops below
  bool serial_below = false;
};

class Unroller final : public FoldingMutator {
 public:
  explicit Unroller(const UnrollLoopOptionsNode* options)
      : max_step_(options->auto_max_step),
        max_depth_(options->auto_max_depth),
        max_extent_(options->auto_max_extent),
        explicit_(options->explicit_unroll),
        local_access_(options->unroll_local_access) {}

  bool duplicated_names = false;

 private:
  Stmt VisitStmt_(const AttrStmtNode* op) final {
    if (op->attr_key == attr::pragma_auto_unroll_max_step) {
      int64_t saved = max_step_;
      if (const int64_t* value = as_const_int(op->value)) max_step_ = *value;
      Stmt body = VisitStmt(op->body);
      max_step_ = saved;
      return body;
    }
    if (op->attr_key == attr::pragma_unroll_explicit) {
      bool saved = explicit_;
      if (const int64_t* value = as_const_int(op->value)) explicit_ = *value != 0;
      Stmt body = VisitStmt(op->body);
      explicit_ = saved;
      return body;
    }
    return FoldingMutator::VisitStmt_(op);
  }

  Stmt VisitStmt_(const ForNode* op) final {
    const int64_t* extent = as_const_int(op->extent);
    if (op->kind == ForKind::kUnrolled && extent != nullptr && explicit_) return Replicate(op);
    Shape outer = shape_;
    shape_ = Shape();
    bool saved_local = touches_local_;
    touches_local_ = false;
    Stmt visited = FoldingMutator::VisitStmt_(op);
    const auto* loop = visited.as<ForNode>();
    extent = as_const_int(loop->extent);
    bool automatic = op->kind == ForKind::kSerial && extent != nullptr && !shape_.serial_below &&
                     *extent >= 0 && shape_.depth < max_depth_ &&
                     (*extent <= max_extent_ || Fits(shape_.steps, *extent) ||
                      (local_access_ && touches_local_ && *extent <= 16)) &&
                     !op->annotations.count(attr::disable_unroll);
    Stmt result = visited;
    if (automatic && explicit_) {
      Shape once = shape_;  // making the copies counts their statements again
      result = Replicate(loop);
      shape_ = {outer.steps + once.steps * *extent, std::max(outer.depth, once.depth + 1),
                outer.serial_below};
    } else {
      if (automatic || op->kind == ForKind::kUnrolled) {
        if (loop->kind != ForKind::kUnrolled) {
          For marked = ffi::GetRef<For>(loop);
          marked.CopyOnWrite()->kind = ForKind::kUnrolled;
          result = marked;
        }
      }
      shape_ = {outer.steps + shape_.steps, outer.depth, true};
    }
    touches_local_ = touches_local_ || saved_local;
    return result;
  }

  bool Fits(int64_t steps, int64_t extent) const {
    return max_step_ > 0 && extent > 0 && steps <= max_step_ / extent;
  }

  Stmt VisitStmt_(const BufferStoreNode* op) final {
    ++shape_.steps;
    if (op->buffer.scope() == "local") touches_local_ = true;
    return FoldingMutator::VisitStmt_(op);
  }
  Stmt VisitStmt_(const EvaluateNode* op) final {
    ++shape_.steps;
    return FoldingMutator::VisitStmt_(op);
  }

  Stmt Replicate(const ForNode* op) {
    PrimExpr min = VisitPrimExpr(op->min);
    int64_t extent = *as_const_int(op->extent);
    PrimExpr step = op->step.has_value() ? op->step.value() : make_const(min.dtype(), 1);
    const int64_t* step_value = as_const_int(step);
    TVM_FFI_CHECK(step_value != nullptr && *step_value > 0, ValueError)
        << "UnrollLoop: loop " << op->loop_var->name << " needs a constant positive step, got "
        << step;
    if (extent > *step_value && DefinesNames(op->body)) duplicated_names = true;
    ffi::Array<Stmt> copies;
    for (int64_t i = 0; i < extent; i += *step_value) {
      SetValue(op->loop_var, min + make_const(min.dtype(), i));
      copies.push_back(VisitStmt(op->body));
    }
    ClearValue(op->loop_var);
    return SeqStmt::Flatten(copies);
  }

  int64_t max_step_, max_depth_, max_extent_;
  bool explicit_, local_access_;
  bool touches_local_ = false;
  Shape shape_;
};

const transform::PrimFuncPassRegistration kPass{{
    .name = "tirx.UnrollLoop",
    .summary = "Replicate the bodies of unrolled loops",
    .run =
        [](PrimFunc func, const transform::PassContext& ctx) {
          UnrollLoopOptions options = GetOptions<UnrollLoopOptions>(ctx, "tirx.UnrollLoop");
          Unroller unroller(options.get());
          Stmt body = unroller(func->body);
          if (unroller.duplicated_names) body = ConvertToSSA(body);
          return WithBody(std::move(func), std::move(body));
        },
}};

}  // namespace

namespace transform {
Pass UnrollLoop() { return kPass.Create(); }
}  // namespace transform

}  // namespace tirx
}  // namespace tvm
