// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <pthread.h>
#include <tvm/ffi/error.h>
#include <tvm/ir/expr_functor.h>

#include <vector>

namespace tvm {

using namespace tirx;  // NOLINT(build/namespaces): the scalar nodes

// ---------------------------------------------------------------------------------------------
// Stack depth

namespace {

/// Lowest address of this thread's stack that walks may still use.
const char* StackLimit() {
  static thread_local const char* limit = [] {
    // Kept for the frames below the last check, e.g. of an error being built.
    constexpr size_t kReserve = 256 * 1024;
    constexpr size_t kAssumedSize = 1024 * 1024;
    char here;
    const char* lowest = &here - kAssumedSize;
#if defined(__linux__)
    pthread_attr_t attr;
    if (pthread_getattr_np(pthread_self(), &attr) == 0) {
      void* base = nullptr;
      size_t size = 0;
      if (pthread_attr_getstack(&attr, &base, &size) == 0 && size > 2 * kReserve) {
        lowest = static_cast<const char*>(base);
      }
      pthread_attr_destroy(&attr);
    }
#endif
    return lowest + kReserve;
  }();
  return limit;
}

}  // namespace

void CheckStackDepth() {
  char here;
  if (&here < StackLimit()) {
    TVM_FFI_THROW(RuntimeError)
        << "expression or statement is nested too deeply: the stack of this thread is used up";
  }
}

// ---------------------------------------------------------------------------------------------
// Visitor

#define TVM_VISIT_LEAF(Node) \
  void ExprVisitor::VisitExpr_(const Node*) {}
TVM_VISIT_LEAF(VarNode)
TVM_VISIT_LEAF(GlobalVarNode)
TVM_VISIT_LEAF(OpNode)
TVM_VISIT_LEAF(IntImmNode)
TVM_VISIT_LEAF(FloatImmNode)
TVM_VISIT_LEAF(StringImmNode)
#undef TVM_VISIT_LEAF

// clang-format off: the formatter takes chains of macros for casts
#define TVM_FOR_EACH_BINARY_NODE(X) \
  X(AddNode) X(SubNode) X(MulNode) X(DivNode) X(ModNode) X(FloorDivNode) X(FloorModNode) \
  X(MinNode) X(MaxNode) X(EQNode) X(NENode) X(LTNode) X(LENode) X(GTNode) X(GENode) \
  X(AndNode) X(OrNode)
// clang-format on
#define TVM_VISIT_BINARY(Node)                     \
  void ExprVisitor::VisitExpr_(const Node* node) { \
    VisitExpr(node->a);                            \
    VisitExpr(node->b);                            \
  }
TVM_FOR_EACH_BINARY_NODE(TVM_VISIT_BINARY)
#undef TVM_VISIT_BINARY

void ExprVisitor::VisitExpr_(const CallNode* node) {
  VisitExpr(node->op);
  for (const Expr& arg : node->args) VisitExpr(arg);
}
void ExprVisitor::VisitExpr_(const CastNode* node) { VisitExpr(node->value); }
void ExprVisitor::VisitExpr_(const NotNode* node) { VisitExpr(node->a); }
void ExprVisitor::VisitExpr_(const SelectNode* node) {
  VisitExpr(node->condition);
  VisitExpr(node->true_value);
  VisitExpr(node->false_value);
}
void ExprVisitor::VisitExpr_(const RampNode* node) {
  VisitExpr(node->base);
  VisitExpr(node->stride);
  VisitExpr(node->lanes);
}
void ExprVisitor::VisitExpr_(const BroadcastNode* node) {
  VisitExpr(node->value);
  VisitExpr(node->lanes);
}
void ExprVisitor::VisitExpr_(const LetNode* node) {
  VisitExpr(node->value);
  VisitExpr(node->body);
}
void ExprVisitor::VisitExpr_(const ShuffleNode* node) {
  for (const PrimExpr& vector : node->vectors) VisitExpr(vector);
  for (const PrimExpr& index : node->indices) VisitExpr(index);
}
void ExprVisitor::VisitExpr_(const ReduceNode* node) {
  for (const IterVar& iter : node->axis) {
    if (!iter->dom.defined()) continue;
    VisitExpr(iter->dom->min);
    VisitExpr(iter->dom->extent);
  }
  for (const PrimExpr& source : node->source) VisitExpr(source);
  for (const PrimExpr& init : node->init) VisitExpr(init);
  VisitExpr(node->condition);
}
void ExprVisitor::VisitExpr_(const BufferLoadNode* node) {
  VisitExpr(node->buffer);
  for (const PrimExpr& index : node->indices) VisitExpr(index);
  if (node->predicate.has_value()) VisitExpr(node->predicate.value());
}
void ExprVisitor::VisitExpr_(const ProducerLoadNode* node) {
  for (const PrimExpr& index : node->indices) VisitExpr(index);
}

// ---------------------------------------------------------------------------------------------
// Mutator

namespace {

/// Maps every element; the same array comes back when no element changed.
template <typename T, typename F>
ffi::Array<T> MapArray(const ffi::Array<T>& array, F&& visit) {
  ffi::Array<T> result;
  bool changed = false;
  for (size_t i = 0; i < array.size(); ++i) {
    T before = array[i];
    T after = visit(before);
    if (!changed && !after.same_as(before)) {
      changed = true;
      for (size_t k = 0; k < i; ++k) result.push_back(array[k]);
    }
    if (changed) result.push_back(std::move(after));
  }
  return changed ? result : array;
}

}  // namespace

#define TVM_MUTATE_LEAF(Node) \
  Expr ExprMutator::VisitExpr_(const Node* node) { return ffi::GetRef<Expr>(node); }
TVM_MUTATE_LEAF(VarNode)
TVM_MUTATE_LEAF(GlobalVarNode)
TVM_MUTATE_LEAF(OpNode)
TVM_MUTATE_LEAF(IntImmNode)
TVM_MUTATE_LEAF(FloatImmNode)
TVM_MUTATE_LEAF(StringImmNode)
#undef TVM_MUTATE_LEAF

#define TVM_MUTATE_BINARY(Name)                                                   \
  Expr ExprMutator::VisitExpr_(const Name##Node* node) {                          \
    PrimExpr a = VisitPrimExpr(node->a), b = VisitPrimExpr(node->b);              \
    if (a.same_as(node->a) && b.same_as(node->b)) return ffi::GetRef<Expr>(node); \
    return Name(std::move(a), std::move(b), node->span);                          \
  }
TVM_MUTATE_BINARY(Add)
TVM_MUTATE_BINARY(Sub)
TVM_MUTATE_BINARY(Mul)
TVM_MUTATE_BINARY(Div)
TVM_MUTATE_BINARY(Mod)
TVM_MUTATE_BINARY(FloorDiv)
TVM_MUTATE_BINARY(FloorMod)
TVM_MUTATE_BINARY(Min)
TVM_MUTATE_BINARY(Max)
TVM_MUTATE_BINARY(EQ)
TVM_MUTATE_BINARY(NE)
TVM_MUTATE_BINARY(LT)
TVM_MUTATE_BINARY(LE)
TVM_MUTATE_BINARY(GT)
TVM_MUTATE_BINARY(GE)
TVM_MUTATE_BINARY(And)
TVM_MUTATE_BINARY(Or)
#undef TVM_MUTATE_BINARY

Expr ExprMutator::VisitExpr_(const CallNode* node) {
  Expr op = VisitExpr(node->op);
  ffi::Array<Expr> args = MapArray(node->args, [this](const Expr& arg) { return VisitExpr(arg); });
  if (op.same_as(node->op) && args.same_as(node->args)) return ffi::GetRef<Expr>(node);
  return Call(node->ty, std::move(op), std::move(args), node->attrs, node->ty_args, node->span);
}

Expr ExprMutator::VisitExpr_(const CastNode* node) {
  PrimExpr value = VisitPrimExpr(node->value);
  if (value.same_as(node->value)) return ffi::GetRef<Expr>(node);
  return Cast(node->dtype(), std::move(value), node->span);
}

Expr ExprMutator::VisitExpr_(const NotNode* node) {
  PrimExpr a = VisitPrimExpr(node->a);
  if (a.same_as(node->a)) return ffi::GetRef<Expr>(node);
  return Not(std::move(a), node->span);
}

Expr ExprMutator::VisitExpr_(const SelectNode* node) {
  PrimExpr condition = VisitPrimExpr(node->condition);
  PrimExpr true_value = VisitPrimExpr(node->true_value);
  PrimExpr false_value = VisitPrimExpr(node->false_value);
  if (condition.same_as(node->condition) && true_value.same_as(node->true_value) &&
      false_value.same_as(node->false_value)) {
    return ffi::GetRef<Expr>(node);
  }
  return Select(std::move(condition), std::move(true_value), std::move(false_value), node->span);
}

Expr ExprMutator::VisitExpr_(const RampNode* node) {
  PrimExpr base = VisitPrimExpr(node->base), stride = VisitPrimExpr(node->stride);
  PrimExpr lanes = VisitPrimExpr(node->lanes);
  if (base.same_as(node->base) && stride.same_as(node->stride) && lanes.same_as(node->lanes)) {
    return ffi::GetRef<Expr>(node);
  }
  return Ramp(std::move(base), std::move(stride), std::move(lanes), node->span);
}

Expr ExprMutator::VisitExpr_(const BroadcastNode* node) {
  PrimExpr value = VisitPrimExpr(node->value), lanes = VisitPrimExpr(node->lanes);
  if (value.same_as(node->value) && lanes.same_as(node->lanes)) return ffi::GetRef<Expr>(node);
  return Broadcast(std::move(value), std::move(lanes), node->span);
}

Expr ExprMutator::VisitExpr_(const LetNode* node) {
  Expr value = VisitExpr(node->value);
  Var var = VisitVarDef_(node->var);
  Expr body = VisitExpr(node->body);
  if (value.same_as(node->value) && var.same_as(node->var) && body.same_as(node->body)) {
    return ffi::GetRef<Expr>(node);
  }
  return Let(std::move(var), std::move(value), std::move(body), node->span);
}

Expr ExprMutator::VisitExpr_(const ShuffleNode* node) {
  auto visit = [this](const PrimExpr& expr) { return VisitPrimExpr(expr); };
  ffi::Array<PrimExpr> vectors = MapArray(node->vectors, visit);
  ffi::Array<PrimExpr> indices = MapArray(node->indices, visit);
  if (vectors.same_as(node->vectors) && indices.same_as(node->indices)) {
    return ffi::GetRef<Expr>(node);
  }
  return Shuffle(std::move(vectors), std::move(indices), node->span);
}

Expr ExprMutator::VisitExpr_(const ReduceNode* node) {
  auto visit = [this](const PrimExpr& expr) { return VisitPrimExpr(expr); };
  ffi::Array<IterVar> axis = MapArray(node->axis, [this](const IterVar& iter) {
    Range dom = iter->dom;
    if (dom.defined()) {
      PrimExpr min = VisitPrimExpr(dom->min), extent = VisitPrimExpr(dom->extent);
      if (!min.same_as(dom->min) || !extent.same_as(dom->extent)) {
        dom = Range::FromMinExtent(min, extent, dom->span);
      }
    }
    Var var = VisitVarDef_(iter->var);
    if (dom.same_as(iter->dom) && var.same_as(iter->var)) return iter;
    return IterVar(dom, var, iter->iter_type, iter->thread_tag, iter->span);
  });
  ffi::Array<PrimExpr> source = MapArray(node->source, visit);
  ffi::Array<PrimExpr> init = MapArray(node->init, visit);
  PrimExpr condition = VisitPrimExpr(node->condition);
  if (axis.same_as(node->axis) && source.same_as(node->source) && init.same_as(node->init) &&
      condition.same_as(node->condition)) {
    return ffi::GetRef<Expr>(node);
  }
  return Reduce(node->combiner, std::move(source), std::move(axis), std::move(condition),
                node->value_index, std::move(init), node->span);
}

Expr ExprMutator::VisitExpr_(const BufferLoadNode* node) {
  Expr buffer = VisitExpr(node->buffer);
  ffi::Array<PrimExpr> indices =
      MapArray(node->indices, [this](const PrimExpr& index) { return VisitPrimExpr(index); });
  ffi::Optional<PrimExpr> predicate = node->predicate;
  if (predicate.has_value()) predicate = VisitPrimExpr(predicate.value());
  if (buffer.same_as(node->buffer) && indices.same_as(node->indices) &&
      predicate.same_as(node->predicate)) {
    return ffi::GetRef<Expr>(node);
  }
  return BufferLoad(Downcast<Buffer>(buffer), std::move(indices), std::move(predicate), node->span);
}

Expr ExprMutator::VisitExpr_(const ProducerLoadNode* node) {
  ffi::Array<PrimExpr> indices =
      MapArray(node->indices, [this](const PrimExpr& index) { return VisitPrimExpr(index); });
  if (indices.same_as(node->indices)) return ffi::GetRef<Expr>(node);
  return ProducerLoad(node->producer, std::move(indices), node->span);
}

}  // namespace tvm
