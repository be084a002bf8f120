// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Statements of a vectorized loop.
#include <tvm/tirx/builtin.h>
#include <tvm/tirx/op.h>

#include "tirx/transform/folding_mutator.h"
#include "tirx/transform/vectorizer.h"
#include "tirx/transform/vectorizer_mask.h"

namespace tvm {
namespace tirx {

namespace {

/// One lane of a statement: the loop variable is a scalar, widened buffers are indexed by it.
class LaneMutator final : public FoldingMutator {
 public:
  LaneMutator(const std::unordered_map<const ffi::Object*, Buffer>& wide_buffers, PrimExpr lane,
              int lanes)
      : wide_buffers_(wide_buffers), lane_(std::move(lane)), lanes_(lanes) {}

 private:
  ffi::Array<PrimExpr> LaneIndices(ffi::Array<PrimExpr> indices) const {
    size_t last = indices.size() - 1;
    DataType dtype = indices[last].dtype();
    indices.Set(last, indices[last] * make_const(dtype, lanes_) + cast(dtype, lane_));
    return indices;
  }

  Expr VisitExpr_(const BufferLoadNode* op) final {
    Expr visited = FoldingMutator::VisitExpr_(op);
    auto it = wide_buffers_.find(op->buffer.get());
    if (it == wide_buffers_.end()) return visited;
    const auto* load = visited.as<BufferLoadNode>();
    return BufferLoad(it->second, LaneIndices(load->indices), load->predicate, load->span);
  }

  Stmt VisitStmt_(const BufferStoreNode* op) final {
    Stmt visited = FoldingMutator::VisitStmt_(op);
    auto it = wide_buffers_.find(op->buffer.get());
    if (it == wide_buffers_.end()) return visited;
    const auto* store = visited.as<BufferStoreNode>();
    return BufferStore(it->second, store->value, LaneIndices(store->indices), store->predicate,
                       store->span);
  }

  const std::unordered_map<const ffi::Object*, Buffer>& wide_buffers_;
  PrimExpr lane_;
  int lanes_;
};

}  // namespace

Vectorizer::Vectorizer(Var loop_var, int lanes, bool use_masks, arith::Analyzer analyzer)
    : loop_var_(std::move(loop_var)),
      lanes_(lanes),
      use_masks_(use_masks),
      analyzer_(std::move(analyzer)) {
  DataType dtype = loop_var_->dtype();
  ramp_ = Ramp(make_zero(dtype), make_const(dtype, 1), lanes_);
}

Stmt Vectorizer::Vectorize(const Stmt& body) { return VisitStmt(body); }

Stmt Vectorizer::Scalarize(const Stmt& stmt) {
  Var lane = loop_var_.copy_with_suffix(".s");
  LaneMutator mutator(wide_buffers_, lane, lanes_);
  mutator.SetValue(loop_var_, lane);
  Stmt body = mutator(stmt);
  return For(lane, make_zero(lane->dtype()), make_const(lane->dtype(), lanes_), ForKind::kSerial,
             body);
}

Stmt Vectorizer::VisitStmt(const Stmt& stmt) {
  Stmt result = StmtExprMutator::VisitStmt(stmt);
  if (!give_up_) return result;
  // Under a mask, or where vector names are in reach, a larger statement has to become the loop;
  // and a definition must not end up inside of a loop of its own.
  bool defines = stmt.as<BindNode>() != nullptr || stmt.as<AllocBufferNode>() != nullptr ||
                 stmt.as<DeclBufferNode>() != nullptr;
  if (mask_.defined() || wide_names_ > 0 || defines) return stmt;
  give_up_ = false;
  return Scalarize(stmt);
}

Stmt Vectorizer::VisitStmt_(const SeqStmtNode* op) {
  int names_before = wide_names_;
  size_t widened_before = widened_.size();
  ffi::Array<Stmt> seq;
  for (const Stmt& stmt : op->seq) {
    seq.push_back(VisitStmt(stmt));
    if (give_up_) break;
  }
  wide_names_ = names_before;
  if (!give_up_) return SeqStmt::Flatten(seq);
  // The sequence becomes a loop over the lanes: its own buffers keep one element each.
  while (widened_.size() > widened_before) {
    wide_buffers_.erase(widened_.back());
    widened_.pop_back();
  }
  return ffi::GetRef<Stmt>(op);
}

Stmt Vectorizer::VisitStmt_(const BindNode* op) {
  Expr value = VisitExpr(op->value);
  if (give_up_ || value.same_as(op->value)) return ffi::GetRef<Stmt>(op);
  if (value->dtype() == op->value->dtype()) return Bind(op->var, value, op->span);
  if (!IsPrimExpr(op->value)) return GiveUpStmt(op);
  Var wide = op->var.copy_with_dtype(value->dtype());
  wide_vars_[op->var.get()] = wide;
  ++wide_names_;
  return Bind(wide, value, op->span);
}

Stmt Vectorizer::VisitStmt_(const AttrStmtNode* op) {
  Expr value = VisitExpr(op->value);
  if (give_up_) return ffi::GetRef<Stmt>(op);
  if (!value.same_as(op->value) && value->dtype() != op->value->dtype()) return GiveUpStmt(op);
  Stmt body = VisitStmt(op->body);
  if (give_up_) return ffi::GetRef<Stmt>(op);
  return AttrStmt(op->node, op->attr_key, value, body, op->span);
}

Stmt Vectorizer::VisitStmt_(const AssertStmtNode* op) {
  PrimExpr condition = VisitPrimExpr(op->condition);
  if (give_up_ || condition.same_as(op->condition)) return ffi::GetRef<Stmt>(op);
  return GiveUpStmt(op);
}

Stmt Vectorizer::VisitStmt_(const BufferStoreNode* op) {
  Buffer buffer = VisitBufferUse(op->buffer);
  auto wide = wide_buffers_.find(op->buffer.get());
  bool is_wide_buffer = wide != wide_buffers_.end();
  if (is_wide_buffer) buffer = wide->second;
  ffi::Array<PrimExpr> indices;
  for (const PrimExpr& index : op->indices) indices.push_back(VisitIndex(index));
  PrimExpr value = VisitPrimExpr(op->value);
  if (give_up_) return ffi::GetRef<Stmt>(op);
  bool changed = !value.same_as(op->value) || is_wide_buffer || mask_.defined();
  for (size_t i = 0; i < indices.size(); ++i) {
    changed = changed || !indices[i].same_as(op->indices[i]);
  }
  if (!changed) return ffi::GetRef<Stmt>(op);
  if (indices.empty()) return GiveUpStmt(op);
  size_t last = indices.size() - 1;
  for (size_t i = 0; i < last; ++i) {
    if (!indices[i].dtype().is_scalar()) return GiveUpStmt(op);
  }
  if (is_wide_buffer) {
    DataType dtype = indices[last].dtype();
    PrimExpr lane = Ramp(make_zero(dtype.element_of()), make_const(dtype.element_of(), 1), lanes_);
    indices.Set(last, indices[last] * make_const(dtype, lanes_) + lane);
  }
  // All lanes write one element: only their order gives the right value.
  if (indices[last].dtype().is_scalar() || indices[last].as<BroadcastNode>() != nullptr) {
    return GiveUpStmt(op);
  }
  if (!op->value.dtype().is_scalar() || !buffer.dtype().is_scalar()) return GiveUpStmt(op);
  ffi::Optional<PrimExpr> predicate;
  if (op->predicate.has_value()) predicate = Widen(VisitPrimExpr(op->predicate.value()));
  if (mask_.defined()) {
    predicate = predicate.has_value() ? logical_and(predicate.value(), mask_) : mask_;
  }
  return BufferStore(buffer, Widen(value), indices, predicate, op->span);
}

Stmt Vectorizer::VisitStmt_(const AllocBufferNode* op) {
  const Buffer& buffer = op->buffer;
  if (buffer.ndim() == 0 || !buffer.dtype().is_scalar() || !buffer.strides().empty()) {
    return GiveUpStmt(op);
  }
  BufferType type = buffer.buffer_type();
  BufferTypeNode* node = type.CopyOnWrite();
  size_t last = node->shape.size() - 1;
  PrimExpr extent = node->shape[last];
  node->shape.Set(last, extent * make_const(extent.dtype(), lanes_));
  Buffer wide = buffer.WithType(type);
  wide_buffers_[buffer.get()] = wide;
  widened_.push_back(buffer.get());
  return AllocBuffer(wide, op->annotations, op->span);
}

Stmt Vectorizer::VisitStmt_(const DeclBufferNode* op) {
  Expr data = VisitExpr(op->data);
  if (give_up_ || data.same_as(op->data)) return StmtExprMutator::VisitStmt_(op);
  return GiveUpStmt(op);
}

Stmt Vectorizer::VisitStmt_(const EvaluateNode* op) {
  Expr value = VisitExpr(op->value);
  if (give_up_) return ffi::GetRef<Stmt>(op);
  bool has_effect = SideEffect(op->value) > CallEffectKind::kReadState;
  // Under a mask the effect belongs to some lanes only.
  if (has_effect && (mask_.defined() || !value.same_as(op->value))) return GiveUpStmt(op);
  if (value.same_as(op->value)) return ffi::GetRef<Stmt>(op);
  return Evaluate(value, op->span);
}

Stmt Vectorizer::VisitStmt_(const IfThenElseNode* op) {
  PrimExpr condition = VisitPrimExpr(op->condition);
  if (give_up_) return ffi::GetRef<Stmt>(op);
  if (condition.dtype().is_scalar()) {
    Stmt then_case = VisitStmt(op->then_case);
    if (give_up_) return ffi::GetRef<Stmt>(op);
    ffi::Optional<Stmt> else_case = op->else_case;
    if (else_case.has_value()) else_case = VisitStmt(else_case.value());
    if (give_up_) return ffi::GetRef<Stmt>(op);
    return IfThenElse(condition, then_case, else_case, op->span);
  }
  if (!use_masks_) return GiveUpStmt(op);
  // The hint that a condition is mostly true has no use on lanes.
  const auto* call = condition.as<CallNode>();
  if (call != nullptr && call->op.same_as(builtin::likely())) condition = PrimExpr(call->args[0]);
  Stmt then_case = UnderMask(condition, [&] { return VisitStmt(op->then_case); });
  if (give_up_) return ffi::GetRef<Stmt>(op);
  if (!op->else_case.has_value()) return then_case;
  // The first branch may change what the condition reads: hold it in a variable.
  Var held("lanes", condition.dtype());
  then_case = UnderMask(held, [&] { return VisitStmt(op->then_case); });
  Stmt else_case = UnderMask(logical_not(held), [&] { return VisitStmt(op->else_case.value()); });
  if (give_up_) return ffi::GetRef<Stmt>(op);
  return SeqStmt::Flatten(Bind(held, condition), then_case, else_case);
}

Stmt Vectorizer::VisitStmt_(const ForNode* op) {
  PrimExpr min = VisitPrimExpr(op->min);
  PrimExpr extent = VisitPrimExpr(op->extent);
  if (give_up_) return ffi::GetRef<Stmt>(op);
  if (!min.dtype().is_scalar() || !extent.dtype().is_scalar()) return GiveUpStmt(op);
  analyzer_->Bind(op->loop_var, Range::FromMinExtent(min, extent), /*allow_override=*/true);
  Stmt body = VisitStmt(op->body);
  if (give_up_) return ffi::GetRef<Stmt>(op);
  if (min.same_as(op->min) && extent.same_as(op->extent) && body.same_as(op->body)) {
    return ffi::GetRef<Stmt>(op);
  }
  For loop = ffi::GetRef<For>(op);
  ForNode* node = loop.CopyOnWrite();
  node->min = min;
  node->extent = extent;
  node->body = body;
  return loop;
}

Stmt Vectorizer::VisitStmt_(const WhileNode*) {
  TVM_FFI_THROW(ValueError) << "VectorizeLoop: a while loop inside of vectorized loop "
                            << loop_var_->name << " is not supported";
  TVM_FFI_UNREACHABLE();
}

Stmt Vectorizer::VisitStmt_(const ReturnNode* op) { return GiveUpStmt(op); }
Stmt Vectorizer::VisitStmt_(const BreakNode* op) { return GiveUpStmt(op); }
Stmt Vectorizer::VisitStmt_(const ContinueNode* op) { return GiveUpStmt(op); }

}  // namespace tirx
}  // namespace tvm
