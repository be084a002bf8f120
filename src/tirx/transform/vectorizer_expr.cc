// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Expressions of a vectorized loop.
#include <tvm/tirx/builtin.h>
#include <tvm/tirx/op.h>

#include <type_traits>

#include "tirx/transform/vectorizer.h"
#include "tirx/transform/vectorizer_mask.h"

namespace tvm {
namespace tirx {

PrimExpr Vectorizer::Widen(const PrimExpr& value) const {
  DataType dtype = value.dtype();
  if (dtype.is_scalar()) return Broadcast(value, lanes_);
  TVM_FFI_ICHECK_EQ(dtype.lanes(), lanes_)
      << "VectorizeLoop: " << value << " has other lanes than loop " << loop_var_->name;
  return value;
}

bool Vectorizer::IsWide(const PrimExpr& value, const PrimExpr& scalar_form) const {
  return value.dtype().raw_lanes() != scalar_form.dtype().raw_lanes();
}

PrimExpr Vectorizer::VisitIndex(const PrimExpr& index) {
  PrimExpr visited = VisitPrimExpr(index);
  if (visited.same_as(index) || visited.dtype().is_scalar()) return visited;
  if (visited.as<RampNode>() != nullptr || visited.as<BroadcastNode>() != nullptr) return visited;
  // Divisions of ramps often turn out to be ramps or broadcasts, e.g. (x * 8 + ramp(0, 1, 8)) // 8.
  return analyzer_->Simplify(visited);
}

Expr Vectorizer::VisitExpr_(const VarNode* op) {
  if (op == loop_var_.get()) return ramp_;
  auto it = wide_vars_.find(op);
  if (it != wide_vars_.end()) return it->second;
  return StmtExprMutator::VisitExpr_(op);
}

namespace {

/// Integer divisions trap on a zero divisor, which a lane that is off may hold.
template <typename Node>
bool MayTrap(const Node* op) {
  constexpr bool kDivides = std::is_same_v<Node, DivNode> || std::is_same_v<Node, ModNode> ||
                            std::is_same_v<Node, FloorDivNode> ||
                            std::is_same_v<Node, FloorModNode>;
  if constexpr (!kDivides) return false;
  return (op->dtype().is_int() || op->dtype().is_uint()) && !is_const_int(op->b);
}

}  // namespace

template <typename Ref, typename Node>
Expr Vectorizer::Binary(const Node* op) {
  PrimExpr a = VisitPrimExpr(op->a);
  PrimExpr b = VisitPrimExpr(op->b);
  if (mask_.defined() && MayTrap(op)) return GiveUp(op);
  if (a.same_as(op->a) && b.same_as(op->b)) return ffi::GetRef<Expr>(op);
  if (give_up_) return ffi::GetRef<Expr>(op);
  // A vector that the program holds already cannot get a second set of lanes.
  if (!op->a.dtype().is_scalar()) return GiveUp(op);
  return Ref(Widen(a), Widen(b), op->span);
}

template <typename Ref, typename Node>
Expr Vectorizer::AddSub(const Node* op, bool subtract) {
  PrimExpr a = VisitPrimExpr(op->a);
  PrimExpr b = VisitPrimExpr(op->b);
  if (a.same_as(op->a) && b.same_as(op->b)) return ffi::GetRef<Expr>(op);
  if (give_up_) return ffi::GetRef<Expr>(op);
  if (!op->a.dtype().is_scalar()) {
    // The base of a vector moved by a scalar amount per lane of another loop has no vector form.
    return GiveUp(op);
  }
  auto combine = [&](const PrimExpr& x, const PrimExpr& y) { return subtract ? x - y : x + y; };
  const auto* ramp_a = a.as<RampNode>();
  const auto* ramp_b = b.as<RampNode>();
  if (ramp_a != nullptr && b.dtype().is_scalar()) {
    return Ramp(combine(ramp_a->base, b), ramp_a->stride, ramp_a->lanes);
  }
  if (ramp_b != nullptr && a.dtype().is_scalar()) {
    PrimExpr stride = subtract ? neg(ramp_b->stride) : ramp_b->stride;
    return Ramp(combine(a, ramp_b->base), stride, ramp_b->lanes);
  }
  if (ramp_a != nullptr && ramp_b != nullptr) {
    return Ramp(combine(ramp_a->base, ramp_b->base), combine(ramp_a->stride, ramp_b->stride),
                ramp_a->lanes);
  }
  return Ref(Widen(a), Widen(b), op->span);
}

Expr Vectorizer::VisitExpr_(const AddNode* op) { return AddSub<Add>(op, false); }
Expr Vectorizer::VisitExpr_(const SubNode* op) { return AddSub<Sub>(op, true); }

Expr Vectorizer::VisitExpr_(const MulNode* op) {
  PrimExpr a = VisitPrimExpr(op->a);
  PrimExpr b = VisitPrimExpr(op->b);
  if (a.same_as(op->a) && b.same_as(op->b)) return ffi::GetRef<Expr>(op);
  if (give_up_) return ffi::GetRef<Expr>(op);
  if (!op->a.dtype().is_scalar()) return GiveUp(op);
  const auto* ramp_a = a.as<RampNode>();
  const auto* ramp_b = b.as<RampNode>();
  if (ramp_a != nullptr && b.dtype().is_scalar()) {
    return Ramp(ramp_a->base * b, ramp_a->stride * b, ramp_a->lanes);
  }
  if (ramp_b != nullptr && a.dtype().is_scalar()) {
    return Ramp(ramp_b->base * a, ramp_b->stride * a, ramp_b->lanes);
  }
  return Mul(Widen(a), Widen(b), op->span);
}

#define TVM_TIRX_VECTORIZE_BINARY(Name) \
  Expr Vectorizer::VisitExpr_(const Name##Node* op) { return Binary<Name>(op); }
TVM_TIRX_VECTORIZE_BINARY(Div)
TVM_TIRX_VECTORIZE_BINARY(Mod)
TVM_TIRX_VECTORIZE_BINARY(FloorDiv)
TVM_TIRX_VECTORIZE_BINARY(FloorMod)
TVM_TIRX_VECTORIZE_BINARY(Min)
TVM_TIRX_VECTORIZE_BINARY(Max)
TVM_TIRX_VECTORIZE_BINARY(EQ)
TVM_TIRX_VECTORIZE_BINARY(NE)
TVM_TIRX_VECTORIZE_BINARY(LT)
TVM_TIRX_VECTORIZE_BINARY(LE)
TVM_TIRX_VECTORIZE_BINARY(GT)
TVM_TIRX_VECTORIZE_BINARY(GE)
TVM_TIRX_VECTORIZE_BINARY(And)
TVM_TIRX_VECTORIZE_BINARY(Or)
#undef TVM_TIRX_VECTORIZE_BINARY

Expr Vectorizer::VisitExpr_(const NotNode* op) {
  PrimExpr a = VisitPrimExpr(op->a);
  if (a.same_as(op->a) || give_up_) return ffi::GetRef<Expr>(op);
  return Not(a, op->span);
}

Expr Vectorizer::VisitExpr_(const CastNode* op) {
  PrimExpr value = VisitPrimExpr(op->value);
  if (value.same_as(op->value) || give_up_) return ffi::GetRef<Expr>(op);
  if (!IsWide(value, op->value)) return Cast(op->dtype(), value, op->span);
  if (!op->dtype().is_scalar()) return GiveUp(op);
  return Cast(op->dtype().with_lanes(lanes_), value, op->span);
}

Expr Vectorizer::VisitExpr_(const SelectNode* op) {
  PrimExpr condition = VisitPrimExpr(op->condition);
  PrimExpr true_value = VisitPrimExpr(op->true_value);
  PrimExpr false_value = VisitPrimExpr(op->false_value);
  if (condition.same_as(op->condition) && true_value.same_as(op->true_value) &&
      false_value.same_as(op->false_value)) {
    return ffi::GetRef<Expr>(op);
  }
  if (give_up_) return ffi::GetRef<Expr>(op);
  if (!op->dtype().is_scalar()) return GiveUp(op);
  return Select(Widen(condition), Widen(true_value), Widen(false_value), op->span);
}

Expr Vectorizer::VisitExpr_(const RampNode* op) {
  PrimExpr base = VisitPrimExpr(op->base);
  PrimExpr stride = VisitPrimExpr(op->stride);
  if (base.same_as(op->base) && stride.same_as(op->stride)) return ffi::GetRef<Expr>(op);
  if (give_up_) return ffi::GetRef<Expr>(op);
  return GiveUp(op);
}

Expr Vectorizer::VisitExpr_(const BroadcastNode* op) {
  PrimExpr value = VisitPrimExpr(op->value);
  if (value.same_as(op->value) || give_up_) return ffi::GetRef<Expr>(op);
  return GiveUp(op);
}

Expr Vectorizer::VisitExpr_(const ShuffleNode* op) {
  Expr visited = StmtExprMutator::VisitExpr_(op);
  if (visited.same_as(ffi::GetRef<Expr>(op)) || give_up_) return ffi::GetRef<Expr>(op);
  return GiveUp(op);
}

Expr Vectorizer::VisitExpr_(const LetNode* op) {
  Expr value = VisitExpr(op->value);
  if (give_up_) return ffi::GetRef<Expr>(op);
  if (value.same_as(op->value) || value->dtype() == op->value->dtype()) {
    Expr body = VisitExpr(op->body);
    if (value.same_as(op->value) && body.same_as(op->body)) return ffi::GetRef<Expr>(op);
    return Let(op->var, value, body, op->span);
  }
  Var wide = op->var.copy_with_dtype(value->dtype());
  wide_vars_[op->var.get()] = wide;
  Expr body = VisitExpr(op->body);
  wide_vars_.erase(op->var.get());
  if (give_up_) return ffi::GetRef<Expr>(op);
  return Let(wide, value, body, op->span);
}

Expr Vectorizer::VisitExpr_(const BufferLoadNode* op) {
  Buffer buffer = VisitBufferUse(op->buffer);
  auto wide = wide_buffers_.find(op->buffer.get());
  bool is_wide_buffer = wide != wide_buffers_.end();
  if (is_wide_buffer) buffer = wide->second;
  bool changed = !buffer.same_as(op->buffer);
  ffi::Array<PrimExpr> indices;
  for (const PrimExpr& index : op->indices) {
    indices.push_back(VisitIndex(index));
    changed = changed || !indices.back().same_as(index);
  }
  if (give_up_) return ffi::GetRef<Expr>(op);
  if (!changed && !op->predicate.has_value()) {
    // One element for all lanes. It is read even if no lane is on, so a mask has to cover it.
    if (!mask_.defined() || !op->dtype().is_scalar()) return ffi::GetRef<Expr>(op);
    size_t last = indices.size() - 1;
    if (indices.empty()) return ffi::GetRef<Expr>(op);
    indices.Set(last, Broadcast(indices[last], lanes_));
    return BufferLoad(buffer, indices, mask_, op->span);
  }
  size_t last = indices.size() - 1;
  for (size_t i = 0; i < last; ++i) {
    if (!indices[i].dtype().is_scalar()) return GiveUp(op);
  }
  if (is_wide_buffer) {
    PrimExpr lane = Ramp(make_zero(indices[last].dtype().element_of()),
                         make_const(indices[last].dtype().element_of(), 1), lanes_);
    indices.Set(last, indices[last] * make_const(indices[last].dtype(), lanes_) + lane);
  }
  bool vector_index = !indices[last].dtype().is_scalar();
  if (vector_index && (!op->dtype().is_scalar() || !buffer.dtype().is_scalar())) return GiveUp(op);
  ffi::Optional<PrimExpr> predicate;
  if (op->predicate.has_value()) {
    predicate = Widen(VisitPrimExpr(op->predicate.value()));
    if (mask_.defined()) predicate = logical_and(predicate.value(), mask_);
  } else if (mask_.defined()) {
    predicate = mask_;
  }
  if (predicate.has_value() && !vector_index) {
    indices.Set(last, Broadcast(indices[last], lanes_));
  }
  return BufferLoad(buffer, indices, predicate, op->span);
}

Expr Vectorizer::IfThenElseCall(const CallNode* op) {
  PrimExpr condition = VisitPrimExpr(PrimExpr(op->args[0]));
  if (give_up_) return ffi::GetRef<Expr>(op);
  PrimExpr then_arg(op->args[1]), else_arg(op->args[2]);
  if (condition.dtype().is_scalar()) {
    PrimExpr then_value = VisitPrimExpr(then_arg);
    PrimExpr else_value = VisitPrimExpr(else_arg);
    if (give_up_) return ffi::GetRef<Expr>(op);
    if (condition.same_as(op->args[0]) && then_value.same_as(then_arg) &&
        else_value.same_as(else_arg)) {
      return ffi::GetRef<Expr>(op);
    }
    if (IsWide(then_value, then_arg) || IsWide(else_value, else_arg)) {
      then_value = Widen(then_value);
      else_value = Widen(else_value);
    }
    return Call(then_value->ty, op->op, {condition, then_value, else_value});
  }
  if (!use_masks_ || !op->dtype().is_scalar()) return GiveUp(op);
  PrimExpr then_value = UnderMask(condition, [&] { return Widen(VisitPrimExpr(then_arg)); });
  if (give_up_) return ffi::GetRef<Expr>(op);
  PrimExpr else_value =
      UnderMask(logical_not(condition), [&] { return Widen(VisitPrimExpr(else_arg)); });
  if (give_up_) return ffi::GetRef<Expr>(op);
  return Select(condition, then_value, else_value, op->span);
}

Expr Vectorizer::VisitExpr_(const CallNode* op) {
  if (op->op.same_as(builtin::if_then_else())) return IfThenElseCall(op);
  if (op->op.same_as(builtin::address_of())) {
    Expr visited = StmtExprMutator::VisitExpr_(op);
    if (visited.same_as(ffi::GetRef<Expr>(op)) && wide_buffers_.empty()) return visited;
    return visited.same_as(ffi::GetRef<Expr>(op)) ? visited : GiveUp(op);
  }
  ffi::Array<Expr> args;
  bool wide = false;
  bool changed = false;
  for (const Expr& arg : op->args) {
    Expr visited = VisitExpr(arg);
    changed = changed || !visited.same_as(arg);
    wide = wide || (IsPrimExpr(arg) && visited.dtype().raw_lanes() != arg.dtype().raw_lanes());
    args.push_back(std::move(visited));
  }
  if (give_up_ || !changed) return ffi::GetRef<Expr>(op);
  if (!wide) return Call(op->ty, op->op, args, op->attrs, op->ty_args, op->span);
  static const OpAttrMap<TVectorizable> vectorizable =
      Op::GetAttrMap<TVectorizable>("TVectorizable");
  bool has_vector_form =
      vectorizable.get(op->op, false) || op->op.same_as(builtin::call_llvm_pure_intrin());
  if (!has_vector_form || !IsPrimExpr(op) || !op->dtype().is_scalar()) return GiveUp(op);
  // The number of an LLVM intrinsic stays a scalar.
  size_t first = op->op.same_as(builtin::call_llvm_pure_intrin()) ? 1 : 0;
  for (size_t i = first; i < args.size(); ++i) {
    if (!IsPrimExpr(args[i])) return GiveUp(op);
    args.Set(i, Widen(PrimExpr(args[i])));
  }
  return Call(PrimType(op->dtype().with_lanes(lanes_)), op->op, args, op->attrs, op->ty_args,
              op->span);
}

}  // namespace tirx
}  // namespace tvm
