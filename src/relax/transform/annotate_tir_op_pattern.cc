// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief AnnotateTIROpPattern: how a kernel's output elements depend on its inputs, as attribute
/// `op_pattern`, found from the accesses of its blocks.
///
///   B[i, j] = A[i, j] + 1      0 element-wise         C[i, j] += A[i, k] * B[k, j]   4 product
///   B[i, j] = A[j]             1 broadcast            B[i] += A[i, k]                3 reduction
///   B[i, j] = A[j, i // 2]     2 injective            anything else                  8 opaque
#include <tvm/relax/op_row.h>
#include <tvm/tirx/function.h>
#include <tvm/tirx/op.h>
#include <tvm/tirx/stmt_functor.h>

#include <algorithm>
#include <unordered_set>

#include "relax/transform/utils.h"

namespace tvm {
namespace relax {
namespace transform {

namespace {

using VarSet = std::unordered_set<const VarNode*>;

/// Dimensions of extent 1 say nothing about an access.
std::vector<PrimExpr> Significant(const tirx::Buffer& buffer, const Array<PrimExpr>& indices) {
  std::vector<PrimExpr> kept;
  for (size_t i = 0; i < indices.size(); ++i) {
    if (!is_one(buffer.shape()[i])) kept.push_back(indices[i]);
  }
  return kept;
}

class AccessFinder final : public tirx::StmtExprVisitor {
 public:
  std::vector<const tirx::BufferLoadNode*> loads;
  std::vector<const tirx::BufferStoreNode*> stores;
  bool opaque = false;

  void Run(const tirx::Stmt& body) { VisitStmt(body); }

 private:
  using StmtExprVisitor::VisitExpr_;
  using StmtExprVisitor::VisitStmt_;
  void VisitExpr_(const tirx::BufferLoadNode* op) final {
    loads.push_back(op);
    StmtExprVisitor::VisitExpr_(op);
  }
  void VisitStmt_(const tirx::BufferStoreNode* op) final {
    stores.push_back(op);
    StmtExprVisitor::VisitStmt_(op);
  }
  void VisitExpr_(const CallNode* op) final {
    // A call that does more than compute its value reads or writes what is not seen here.
    if (const auto* callee = op->op.as<OpNode>()) {
      static const auto effects = Op::GetAttrMap<TCallEffectKind>("TCallEffectKind");
      const int kind = effects.get(GetRef<Op>(callee), static_cast<int>(CallEffectKind::kOpaque));
      opaque = opaque || kind > static_cast<int>(CallEffectKind::kPure);
    } else {
      opaque = true;
    }
    StmtExprVisitor::VisitExpr_(op);
  }
  void VisitStmt_(const tirx::SBlockNode*) final { opaque = true; }
};

/// Variables of an index that belong to a set; whether it is one of them and nothing else.
bool IsBareVar(const PrimExpr& index, const VarSet& vars) {
  const auto* var = index.as<VarNode>();
  return var != nullptr && vars.count(var);
}
bool Mentions(const PrimExpr& index, const VarSet& vars) {
  return tvm::UsesVar(index, [&](const VarNode* v) { return vars.count(v) != 0; });
}

OpPattern ClassifyLoad(const std::vector<PrimExpr>& store, const std::vector<PrimExpr>& load,
                       const VarSet& spatial) {
  size_t matched = 0;
  bool bare = true;
  for (const PrimExpr& index : load) {
    if (!IsBareVar(index, spatial)) {
      bare = false;
      break;
    }
    // Indices must appear in the order of the store.
    while (matched < store.size() && !store[matched].same_as(index)) ++matched;
    if (matched == store.size()) {
      bare = false;
      break;
    }
    ++matched;
  }
  if (!bare) return OpPattern::kInjective;
  return load.size() == store.size() ? OpPattern::kElemWise : OpPattern::kBroadcast;
}

bool IsProduct(const PrimExpr& update, const tirx::BufferStoreNode* store) {
  // c = c + a * b, casts aside.
  const auto* sum = update.as<tirx::AddNode>();
  if (sum == nullptr) return false;
  auto reads_target = [&](const PrimExpr& e) {
    const auto* load = e.as<tirx::BufferLoadNode>();
    return load != nullptr && load->buffer.same_as(store->buffer);
  };
  PrimExpr term;
  if (reads_target(sum->a)) {
    term = sum->b;
  } else if (reads_target(sum->b)) {
    term = sum->a;
  } else {
    return false;
  }
  const auto* product = term.as<tirx::MulNode>();
  if (product == nullptr) return false;
  auto operand = [](PrimExpr e) {
    while (const auto* c = e.as<tirx::CastNode>()) e = c->value;
    return e.as<tirx::BufferLoadNode>() != nullptr;
  };
  return operand(product->a) && operand(product->b);
}

OpPattern ClassifyBlock(const tirx::SBlockNode* block) {
  VarSet spatial, reduced;
  for (const tirx::IterVar& iter : block->iter_vars) {
    auto& set = iter->iter_type == tirx::kCommReduce ? reduced : spatial;
    set.insert(iter->var.get());
  }
  AccessFinder found;
  found.Run(block->body);
  if (found.opaque || found.stores.size() != 1 || !block->match_buffers.empty()) {
    return OpPattern::kOpaque;
  }
  const tirx::BufferStoreNode* store = found.stores[0];
  std::vector<PrimExpr> target = Significant(store->buffer, store->indices);
  for (const PrimExpr& index : target) {
    if (!IsBareVar(index, spatial)) return OpPattern::kOpaque;
  }
  if (!reduced.empty()) {
    bool windowed = false;
    for (const tirx::BufferLoadNode* load : found.loads) {
      if (load->buffer.same_as(store->buffer)) continue;
      for (const PrimExpr& index : Significant(load->buffer, load->indices)) {
        if (!index.as<VarNode>() && Mentions(index, reduced)) windowed = true;
      }
    }
    const bool product = IsProduct(store->value, store);
    return product || windowed ? OpPattern::kOutEWiseFusable : OpPattern::kCommReduce;
  }
  bool element_wise = found.loads.empty(), injective = false;
  for (const tirx::BufferLoadNode* load : found.loads) {
    std::vector<PrimExpr> indices = Significant(load->buffer, load->indices);
    for (const PrimExpr& index : indices) {
      AccessFinder inner;  // an index that depends on data
      inner.Run(tirx::Evaluate(index));
      if (!inner.loads.empty()) return OpPattern::kOpaque;
    }
    OpPattern p = ClassifyLoad(target, indices, spatial);
    element_wise = element_wise || p == OpPattern::kElemWise;
    injective = injective || p == OpPattern::kInjective;
  }
  if (injective) return OpPattern::kInjective;
  return element_wise ? OpPattern::kElemWise : OpPattern::kBroadcast;
}

/// The leaf blocks in program order.
class BlockFinder final : public tirx::StmtVisitor {
 public:
  std::vector<const tirx::SBlockNode*> leaves;
  void Run(const tirx::Stmt& body) { VisitStmt(body); }

 private:
  using StmtVisitor::VisitStmt_;
  void VisitStmt_(const tirx::SBlockNode* op) final {
    const size_t before = leaves.size();
    StmtVisitor::VisitStmt_(op);
    if (leaves.size() == before && !op->iter_vars.empty()) leaves.push_back(op);
    if (leaves.size() == before && op->iter_vars.empty() && !IsRoot(op)) leaves.push_back(op);
  }
  static bool IsRoot(const tirx::SBlockNode* op) { return op->name_hint == "root"; }
};

OpPattern ClassifyFunction(const tirx::PrimFunc& func) {
  BlockFinder blocks;
  blocks.Run(func->body);
  if (blocks.leaves.empty()) return OpPattern::kOpaque;
  OpPattern whole = OpPattern::kElemWise;
  for (const tirx::SBlockNode* block : blocks.leaves) {
    OpPattern p = ClassifyBlock(block);
    if (p == OpPattern::kOpaque) return p;
    whole = std::max(whole, p);
  }
  return whole;
}

IRModule Run(IRModule mod, const PassContext&) {
  return tvm::transform::MapFunctions<tirx::PrimFunc>(
      std::move(mod), [](const IRModule&, const GlobalVar&, tirx::PrimFunc func) {
        if (func->GetAttr<ffi::Any>("op_pattern").has_value()) return func;
        const auto pattern = static_cast<int64_t>(ClassifyFunction(func));
        return tvm::WithAttr(std::move(func), "op_pattern", ffi::Any(pattern));
      });
}

const tvm::transform::ModulePassRegistration kPass{
    {"relax.AnnotateTIROpPattern", "Classifies kernels by their accesses.", Run}};

}  // namespace

Pass AnnotateTIROpPattern() {
  return tvm::transform::CreateModulePass(Run, 0, "AnnotateTIROpPattern");
}

}  // namespace transform
}  // namespace relax
}  // namespace tvm
