// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "s_tir/schedule/primitive/intrin_match.h"

#include <utility>

#include "s_tir/schedule/rewrite.h"

namespace tvm {
namespace s_tir {

using namespace tirx;  // NOLINT(build/namespaces)

namespace {
std::string Text(const ffi::Any& value) { return std::string(DebugText(value)); }
}  // namespace

IntrinMatch::IntrinMatch(const PrimFunc& desc, const arith::Analyzer& analyzer)
    : analyzer_(analyzer.Clone()) {
  for (const Var& param : desc->params) formals_[param.get()] = true;
}

bool IntrinMatch::Fail(const std::string& message) {
  if (error_.empty()) error_ = message;
  return false;
}

const IntrinMatch::Binding* IntrinMatch::Find(const Buffer& formal) const {
  auto it = buffers_.find(formal.get());
  return it == buffers_.end() ? nullptr : &it->second;
}

bool IntrinMatch::Match(const Stmt& desc, const Stmt& target) { return MatchStmt(desc, target); }

bool IntrinMatch::MatchBodies(const Stmt& desc, const Stmt& target,
                              const ffi::Map<Var, PrimExpr>& values) {
  desc_values_ = values;
  return MatchStmt(desc, target);
}

PrimExpr IntrinMatch::InTarget(const PrimExpr& desc) const {
  return Substituter(desc_values_).Run(desc);
}

PrimExpr IntrinMatch::Resolve(const PrimExpr& target) const {
  return Substituter(target_values_).Run(target);
}

bool IntrinMatch::MatchStmt(const Stmt& desc, const Stmt& target) {
  if (const auto* loop = desc.as<ForNode>()) {
    const auto* other = target.as<ForNode>();
    // A loop of one iteration may be missing.
    if (other == nullptr && is_one(loop->extent)) {
      desc_values_.Set(loop->loop_var, loop->min);
      return MatchStmt(loop->body, target);
    }
    if (other == nullptr) return Fail("a loop is expected, but found " + Text(target));
    return MatchLoop(loop, other);
  }
  if (const auto* loop = target.as<ForNode>(); loop != nullptr && is_one(loop->extent)) {
    target_values_.Set(loop->loop_var, loop->min);
    return MatchStmt(desc, loop->body);
  }
  if (desc->type_index() != target->type_index()) {
    return Fail("expected " + Text(desc) + ", but found " + Text(target));
  }
  if (const auto* realize = desc.as<SBlockRealizeNode>()) {
    return MatchRealize(realize, target.as<SBlockRealizeNode>());
  }
  if (const auto* seq = desc.as<SeqStmtNode>()) {
    const auto* other = target.as<SeqStmtNode>();
    if (seq->size() != other->size()) return Fail("the numbers of statements differ");
    for (size_t i = 0; i < seq->size(); ++i) {
      if (!MatchStmt(seq->seq[i], other->seq[i])) return false;
    }
    return true;
  }
  if (const auto* store = desc.as<BufferStoreNode>()) {
    const auto* other = target.as<BufferStoreNode>();
    return MatchAccess(store->buffer, store->indices, other->buffer, other->indices) &&
           MatchExpr(store->value, other->value);
  }
  if (const auto* branch = desc.as<IfThenElseNode>()) {
    const auto* other = target.as<IfThenElseNode>();
    if (branch->else_case.has_value() != other->else_case.has_value()) {
      return Fail("one branch has an else case, the other has none");
    }
    return MatchExpr(branch->condition, other->condition) &&
           MatchStmt(branch->then_case, other->then_case) &&
           (!branch->else_case.has_value() ||
            MatchStmt(branch->else_case.value(), other->else_case.value()));
  }
  if (const auto* evaluate = desc.as<EvaluateNode>()) {
    const auto* other = target.as<EvaluateNode>();
    return IsPrimExpr(evaluate->value) && IsPrimExpr(other->value) &&
           MatchExpr(PrimExpr(evaluate->value), PrimExpr(other->value));
  }
  return Fail("the description holds a " + std::string(desc->GetTypeKey()) +
              ", which cannot be compared");
}

bool IntrinMatch::MatchLoop(const ForNode* desc, const ForNode* target) {
  PrimExpr min = InTarget(desc->min), extent = InTarget(desc->extent);
  if (!analyzer_->CanProveEqual(extent, target->extent)) {
    return Fail("the loop " + std::string(target->loop_var->name) + " has the extent " +
                Text(target->extent) + ", but " + Text(extent) + " is described");
  }
  analyzer_->Bind(target->loop_var, Range::FromMinExtent(target->min, target->extent), true);
  PrimExpr value =
      analyzer_->Simplify(cast(desc->loop_var->dtype(), target->loop_var - target->min) + min);
  desc_values_.Set(desc->loop_var, value);
  return MatchStmt(desc->body, target->body);
}

bool IntrinMatch::MatchRealize(const SBlockRealizeNode* desc, const SBlockRealizeNode* target) {
  const SBlockNode* a = desc->block.get();
  const SBlockNode* b = target->block.get();
  if (a->init.has_value() != b->init.has_value()) {
    return Fail("one block has an init, the other has none");
  }
  for (size_t i = 0; i < a->iter_vars.size(); ++i) {
    desc_values_.Set(a->iter_vars[i]->var, InTarget(desc->iter_values[i]));
  }
  for (size_t i = 0; i < b->iter_vars.size(); ++i) {
    target_values_.Set(b->iter_vars[i]->var, Resolve(target->iter_values[i]));
  }
  if (!MatchExpr(desc->predicate, target->predicate)) return Fail("the predicates differ");
  if (a->init.has_value() && !MatchStmt(a->init.value(), b->init.value())) return false;
  return MatchStmt(a->body, b->body);
}

bool IntrinMatch::MatchAccess(const Buffer& desc, const ffi::Array<PrimExpr>& desc_indices,
                              const Buffer& target, const ffi::Array<PrimExpr>& target_indices) {
  if (formals_.count(desc.get()) == 0) {
    return Fail("the description uses the buffer " + std::string(desc->name) +
                ", which is no parameter");
  }
  if (desc.dtype() != target.dtype()) {
    return Fail("the buffer " + std::string(target->name) + " holds " + target.dtype().ToString() +
                ", but " + desc.dtype().ToString() + " is described");
  }
  if (target_indices.size() < desc_indices.size()) {
    return Fail("the buffer " + std::string(target->name) + " has fewer axes than described");
  }
  const size_t extra = target_indices.size() - desc_indices.size();
  ffi::Array<PrimExpr> offsets;
  for (size_t d = 0; d < target_indices.size(); ++d) {
    PrimExpr offset = Resolve(target_indices[d]);
    if (d >= extra) offset = offset - cast(offset.dtype(), InTarget(desc_indices[d - extra]));
    offsets.push_back(analyzer_->Simplify(offset));
  }
  // A loop that was paired must not be left in the difference.
  for (const PrimExpr& offset : offsets) {
    for (const auto& [var, value] : desc_values_) {
      for (const Var& used : FreeVars(value)) {
        if (UsesVar(offset, used)) {
          return Fail("the buffer " + std::string(target->name) +
                      " is accessed at another place "
                      "than described: the difference is " +
                      Text(offset));
        }
      }
    }
  }
  auto [it, fresh] = buffers_.emplace(desc.get(), Binding{target, offsets});
  if (fresh) return true;
  if (!it->second.buffer.same_as(target)) {
    return Fail("the described buffer " + std::string(desc->name) + " would be both " +
                std::string(it->second.buffer->name) + " and " + std::string(target->name));
  }
  for (size_t d = 0; d < offsets.size(); ++d) {
    if (!analyzer_->CanProveEqual(offsets[d], it->second.offsets[d])) {
      return Fail("the buffer " + std::string(target->name) + " is accessed at differing offsets");
    }
  }
  return true;
}

bool IntrinMatch::MatchExpr(const PrimExpr& desc, const PrimExpr& target) {
  if (const auto* load = desc.as<BufferLoadNode>()) {
    const auto* other = target.as<BufferLoadNode>();
    if (other == nullptr) {
      return Fail("expected an element of " + std::string(load->buffer->name) + ", but found " +
                  Text(target));
    }
    return MatchAccess(load->buffer, load->indices, other->buffer, other->indices);
  }
  auto mismatch = [&] { return Fail("expected " + Text(desc) + ", but found " + Text(target)); };
  if (desc.dtype() != target.dtype()) return mismatch();
  bool has_load = false;
  PostOrderVisitExpr(desc, [&](const Expr& e) { has_load |= e.as<BufferLoadNode>() != nullptr; });
  if (!has_load && (desc.dtype().is_int() || desc.dtype().is_bool())) {
    // Index arithmetic may be written in many ways.
    PrimExpr a = InTarget(desc), b = Resolve(target);
    return ExprDeepEqual()(analyzer_->Simplify(a), analyzer_->Simplify(b)) ||
                   (desc.dtype().is_int() && analyzer_->CanProveEqual(a, b))
               ? true
               : mismatch();
  }
  if (desc->type_index() != target->type_index()) return mismatch();
#define TVM_S_TIR_MATCH_BINARY(Name)                       \
  if (const auto* a = desc.as<Name##Node>()) {             \
    const auto* b = target.as<Name##Node>();               \
    return MatchExpr(a->a, b->a) && MatchExpr(a->b, b->b); \
  }
  TVM_S_TIR_MATCH_BINARY(Add)
  TVM_S_TIR_MATCH_BINARY(Sub)
  TVM_S_TIR_MATCH_BINARY(Mul)
  TVM_S_TIR_MATCH_BINARY(Div)
  TVM_S_TIR_MATCH_BINARY(Mod)
  TVM_S_TIR_MATCH_BINARY(FloorDiv)
  TVM_S_TIR_MATCH_BINARY(FloorMod)
  TVM_S_TIR_MATCH_BINARY(Min)
  TVM_S_TIR_MATCH_BINARY(Max)
  TVM_S_TIR_MATCH_BINARY(EQ)
  TVM_S_TIR_MATCH_BINARY(NE)
  TVM_S_TIR_MATCH_BINARY(LT)
  TVM_S_TIR_MATCH_BINARY(LE)
  TVM_S_TIR_MATCH_BINARY(GT)
  TVM_S_TIR_MATCH_BINARY(GE)
  TVM_S_TIR_MATCH_BINARY(And)
  TVM_S_TIR_MATCH_BINARY(Or)
#undef TVM_S_TIR_MATCH_BINARY
  if (const auto* a = desc.as<NotNode>()) return MatchExpr(a->a, target.as<NotNode>()->a);
  if (const auto* a = desc.as<CastNode>()) return MatchExpr(a->value, target.as<CastNode>()->value);
  if (const auto* a = desc.as<SelectNode>()) {
    const auto* b = target.as<SelectNode>();
    return MatchExpr(a->condition, b->condition) && MatchExpr(a->true_value, b->true_value) &&
           MatchExpr(a->false_value, b->false_value);
  }
  if (const auto* a = desc.as<CallNode>()) {
    const auto* b = target.as<CallNode>();
    if (!a->op.same_as(b->op) || a->args.size() != b->args.size()) return mismatch();
    for (size_t i = 0; i < a->args.size(); ++i) {
      if (!IsPrimExpr(a->args[i]) || !IsPrimExpr(b->args[i])) return mismatch();
      if (!MatchExpr(PrimExpr(a->args[i]), PrimExpr(b->args[i]))) return false;
    }
    return true;
  }
  return ExprDeepEqual()(InTarget(desc), Resolve(target)) ? true : mismatch();
}

}  // namespace s_tir
}  // namespace tvm
