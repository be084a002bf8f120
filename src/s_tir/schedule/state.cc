// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// The tree of references, and Replace: new statements are grafted in, references are carried over,
/// and the path up to the function is rebuilt (statements are never changed in place, so that a
/// program somebody else holds stays as it is).
#include <tvm/ffi/reflection/registry.h>
#include <tvm/s_tir/schedule/state.h>

#include <unordered_set>
#include <utility>

#include "s_tir/schedule/analysis.h"

namespace tvm {
namespace s_tir {

using namespace tirx;  // NOLINT(build/namespaces)

namespace {

/// Calls `enter` on loops and blocks in program order, with the enclosing one's result and the
/// position in the parent's sequence.
class TreeWalker final : public StmtVisitor {
 public:
  using Enter = std::function<StmtSRefNode*(const StmtNode*, StmtSRefNode*, int64_t)>;
  explicit TreeWalker(Enter enter) : enter_(std::move(enter)) {}

  /// Walks `stmt` itself and all below.
  void Walk(const Stmt& stmt, StmtSRefNode* parent, int64_t seq_index) {
    parent_ = parent;
    seq_index_ = seq_index;
    VisitStmt(stmt);
  }

 private:
  void Descend(const StmtNode* op, const Stmt& body) {
    StmtSRefNode* entered = enter_(op, parent_, seq_index_);
    if (entered == nullptr) return;  // not interested in what is below
    StmtSRefNode* outer = std::exchange(parent_, entered);
    int64_t outer_index = std::exchange(seq_index_, -1);
    VisitStmt(body);
    parent_ = outer;
    seq_index_ = outer_index;
  }
  void VisitStmt_(const ForNode* op) final { Descend(op, op->body); }
  void VisitStmt_(const SBlockNode* op) final { Descend(op, op->body); }
  void VisitStmt_(const SBlockRealizeNode* op) final { VisitStmt(op->block); }
  void VisitStmt_(const SeqStmtNode* op) final {
    int64_t outer_index = seq_index_;
    for (size_t i = 0; i < op->seq.size(); ++i) {
      seq_index_ = static_cast<int64_t>(i);
      VisitStmt(op->seq[i]);
    }
    seq_index_ = outer_index;
  }

  Enter enter_;
  StmtSRefNode* parent_ = nullptr;
  int64_t seq_index_ = -1;
};

/// Puts one loop or block in the place of another, directly below a parent's body.
class ChildReplacer final : public StmtMutator {
 public:
  ChildReplacer(const StmtNode* from, Stmt to) : from_(from), to_(std::move(to)) {}
  Stmt Run(const Stmt& body) { return VisitStmt(body); }
  bool found() const { return found_; }

 private:
  Stmt Swap(const StmtNode* op) {
    if (op != from_) return ffi::GetRef<Stmt>(op);
    found_ = true;
    return to_;
  }
  Stmt VisitStmt_(const ForNode* op) final { return Swap(op); }
  Stmt VisitStmt_(const SBlockNode* op) final { return Swap(op); }
  Stmt VisitStmt_(const SBlockRealizeNode* op) final {
    if (op->block.get() != from_) return ffi::GetRef<Stmt>(op);
    found_ = true;
    SBlockRealize copy = ffi::GetRef<SBlockRealize>(op);
    copy.CopyOnWrite()->block = Downcast<SBlock>(to_);
    return copy;
  }

  const StmtNode* from_;
  Stmt to_;
  bool found_ = false;
};

Stmt BodyOf(const StmtNode* stmt) {
  if (const auto* loop = NodeAs<ForNode>(stmt)) return loop->body;
  return NodeAs<SBlockNode>(stmt)->body;
}

Stmt WithChild(const StmtNode* parent, const StmtNode* old_child, const Stmt& child) {
  ChildReplacer replacer(old_child, child);
  Stmt body = replacer.Run(BodyOf(parent));
  TVM_FFI_ICHECK(replacer.found()) << "the replaced statement is not below its parent";
  if (const auto* op = NodeAs<ForNode>(parent)) {
    For loop = ffi::GetRef<For>(op);
    loop.CopyOnWrite()->body = std::move(body);
    return loop;
  }
  SBlock block = ffi::GetRef<SBlock>(NodeAs<SBlockNode>(parent));
  block.CopyOnWrite()->body = std::move(body);
  return block;
}

}  // namespace

ScheduleState::ScheduleState(IRModule mod, int debug_mask, bool enable_check) {
  auto node = ffi::make_object<ScheduleStateNode>();
  node->mod = std::move(mod);
  node->debug_mask = debug_mask;
  node->enable_check = enable_check;
  node->Build();
  data_ = std::move(node);
}

void ScheduleStateNode::Build() {
  stmt2ref_.clear();
  infos_.clear();
  roots_.clear();
  for (const auto& [gvar, base] : mod->SortedFunctions()) {
    const auto* func = base.as<PrimFuncNode>();
    if (func == nullptr || func->body.as<SBlockRealizeNode>() == nullptr) continue;
    TreeWalker walker([this](const StmtNode* op, StmtSRefNode* parent, int64_t seq_index) {
      StmtSRef sref(ffi::GetRef<Stmt>(op), parent, seq_index);
      TVM_FFI_CHECK(stmt2ref_.emplace(op, sref).second, ValueError)
          << "a loop or block occurs twice in the module, so it cannot be scheduled; renew the "
             "definitions of one function";
      return sref.get();
    });
    walker.Walk(func->body, nullptr, -1);
    roots_.emplace(GetSRef(func->body.as<SBlockRealizeNode>()->block.get()).get(), gvar);
  }
  // Flags are looked for now, while the program is simple: see SBlockInfo.
  std::vector<StmtSRef> blocks;
  for (const auto& [stmt, sref] : stmt2ref_) {
    if (sref->StmtAs<SBlockNode>() != nullptr) blocks.push_back(sref);
  }
  for (const StmtSRef& block : blocks) {
    IsAffineBlockBinding(block);
    IsRegionCoveredConsumer(block);
  }
}

StmtSRef ScheduleStateNode::GetSRef(const StmtNode* stmt) const {
  auto it = stmt2ref_.find(stmt);
  return it == stmt2ref_.end() ? StmtSRef() : it->second;
}

bool ScheduleStateNode::IsAlive(const StmtSRef& sref) const {
  return sref.defined() && sref->stmt.has_value() && GetSRef(sref->get_stmt()).same_as(sref);
}

GlobalVar ScheduleStateNode::FunctionOf(const StmtSRef& sref) const {
  const StmtSRefNode* node = sref.get();
  while (node->parent() != nullptr) node = node->parent();
  auto it = roots_.find(node);
  TVM_FFI_ICHECK(it != roots_.end()) << "a reference is not below the root of a function";
  return it->second;
}

/// Carries references from the statement that goes to the one that comes.
struct ScheduleStateNode::Splice {
  ScheduleStateNode* state;
  std::unordered_map<const VarNode*, StmtSRef> loops;
  std::unordered_map<const StmtNode*, StmtSRef> blocks;
  std::unordered_map<const StmtNode*, StmtSRef> renamed;  // by new block

  Splice(ScheduleStateNode* state, const StmtSRef& src, const ffi::Map<SBlock, SBlock>& reuse)
      : state(state) {
    TreeWalker walker([&](const StmtNode* op, StmtSRefNode*, int64_t) {
      StmtSRef sref = state->GetSRef(op);
      TVM_FFI_ICHECK(sref.defined()) << "a statement of the program has no reference";
      if (const auto* loop = NodeAs<ForNode>(op)) {
        loops.emplace(loop->loop_var.get(), sref);
      } else {
        blocks.emplace(op, sref);
      }
      state->stmt2ref_.erase(op);
      return sref.get();
    });
    walker.Walk(src->stmt.value(), src->parent(), src->seq_index);
    for (const auto& [from, to] : reuse) {
      auto it = blocks.find(from.get());
      TVM_FFI_CHECK(it != blocks.end(), ValueError)
          << "block_sref_reuse names the block " << from->name_hint
          << ", which is not below the statement that is replaced";
      renamed.emplace(to.get(), it->second);
    }
  }

  StmtSRef Take(const StmtNode* op) {
    StmtSRef sref;
    if (const auto* loop = NodeAs<ForNode>(op)) {
      if (auto it = loops.find(loop->loop_var.get()); it != loops.end()) {
        sref = it->second;
        loops.erase(it);
      }
      return sref;
    }
    if (auto it = renamed.find(op); it != renamed.end()) {
      sref = it->second;
      renamed.erase(it);
    } else if (auto same = blocks.find(op); same != blocks.end()) {
      sref = same->second;
    }
    if (!sref.defined()) return sref;
    for (auto it = blocks.begin(); it != blocks.end(); ++it) {
      if (it->second.same_as(sref)) {
        blocks.erase(it);
        return sref;
      }
    }
    return StmtSRef();  // taken before
  }

  void Graft(const Stmt& tgt, StmtSRefNode* parent, int64_t seq_index) {
    TreeWalker walker([this](const StmtNode* op, StmtSRefNode* above, int64_t index) {
      StmtSRef sref = Take(op);
      if (sref.defined()) {
        sref->stmt = ffi::GetRef<Stmt>(op);
        sref->seq_index = index;
        sref->parent_ref = above == nullptr ? ffi::Optional<ffi::ObjectRef>(std::nullopt)
                                            : ffi::GetRef<ffi::ObjectRef>(above);
      } else {
        sref = StmtSRef(ffi::GetRef<Stmt>(op), above, index);
      }
      TVM_FFI_ICHECK(state->stmt2ref_.emplace(op, sref).second)
          << "a loop or block occurs twice in the rewritten program";
      return sref.get();
    });
    walker.Walk(tgt, parent, seq_index);
  }

  void Expire() {
    auto expire = [this](const StmtSRef& sref) {
      sref->stmt = std::nullopt;
      sref->parent_ref = std::nullopt;
      sref->seq_index = -1;
      state->infos_.erase(sref.get());
    };
    for (auto& [var, sref] : loops) expire(sref);
    for (auto& [stmt, sref] : blocks) expire(sref);
  }
};

void ScheduleStateNode::Replace(const StmtSRef& src, const Stmt& tgt,
                                const ffi::Map<SBlock, SBlock>& reuse) {
  TVM_FFI_CHECK(IsAlive(src), ValueError)
      << "the statement to replace is not part of the program any more";
  const bool from_block = src->StmtAs<SBlockNode>() != nullptr;
  const bool fits = from_block
                        ? tgt.as<SBlockNode>() != nullptr
                        : tgt.as<ForNode>() != nullptr || tgt.as<SBlockRealizeNode>() != nullptr;
  TVM_FFI_CHECK(fits, TypeError) << "a " << src->get_stmt()->GetTypeKey()
                                 << " cannot be replaced by a " << tgt->GetTypeKey();
  if (tgt.get() == src->get_stmt()) return;
  const Stmt old_stmt = src->stmt.value();
  StmtSRefNode* parent = src->parent();
  const bool is_root = parent == nullptr;
  const GlobalVar gvar = FunctionOf(src);
  const StmtSRefNode* scope_root = parent;
  while (scope_root != nullptr && scope_root->StmtAs<SBlockNode>() == nullptr) {
    scope_root = scope_root->parent();
  }
  Splice splice(this, src, reuse);
  splice.Graft(tgt, parent, src->seq_index);
  if (is_root) {
    const StmtSRef root = GetSRef(tgt.get());
    roots_.erase(src.get());
    roots_.emplace(root.get(), gvar);
    SetFunctionBody(root.get(), Downcast<SBlock>(tgt));
    scope_root = root.get();
  } else {
    UpdateAncestors(parent, old_stmt.get(), tgt);
  }
  splice.Expire();
  ForgetAround(scope_root);
  if (debug_mask != 0) DebugVerify();
}

void ScheduleStateNode::UpdateAncestors(StmtSRefNode* parent, const StmtNode* old_child,
                                        Stmt child) {
  ffi::ObjectRef keep_old;  // old_child must not die before its parent is rebuilt
  for (StmtSRefNode* node = parent; node != nullptr; node = node->parent()) {
    Stmt old_stmt = node->stmt.value();
    Stmt new_stmt = WithChild(old_stmt.get(), old_child, child);
    auto it = stmt2ref_.find(old_stmt.get());
    StmtSRef sref = it->second;
    stmt2ref_.erase(it);
    node->stmt = new_stmt;
    stmt2ref_.emplace(new_stmt.get(), sref);
    if (node == parent) {
      // A sequence may have got more or fewer members.
      TreeWalker([this](const StmtNode* op, StmtSRefNode*, int64_t index) -> StmtSRefNode* {
        GetSRef(op)->seq_index = index;
        return nullptr;
      }).Walk(BodyOf(new_stmt.get()), node, -1);
    }
    if (node->parent() == nullptr) SetFunctionBody(node, Downcast<SBlock>(new_stmt));
    keep_old = old_stmt;
    old_child = old_stmt.get();
    child = new_stmt;
  }
}

void ScheduleStateNode::SetFunctionBody(const StmtSRefNode* root, const SBlock& block) {
  const GlobalVar& gvar = roots_.at(root);
  PrimFunc func = Downcast<PrimFunc>(mod->Lookup(gvar));
  SBlockRealize realize = Downcast<SBlockRealize>(func->body);
  realize.CopyOnWrite()->block = block;
  func.CopyOnWrite()->body = std::move(realize);
  mod.CopyOnWrite()->Update(gvar, func);
}

void ScheduleStateNode::ForgetAround(const StmtSRefNode* scope_root) {
  auto refresh = [this](const StmtSRefNode* sref) {
    auto it = infos_.find(sref);
    if (it == infos_.end()) return;
    SBlockInfo& info = it->second;
    info.scope.reset();
    info.stage_pipeline.reset();
    if (info.affine_binding == false) info.affine_binding.reset();
    if (info.region_cover == false) info.region_cover.reset();
  };
  for (const StmtSRefNode* node = scope_root; node != nullptr; node = node->parent()) refresh(node);
  TreeWalker([&](const StmtNode* op, StmtSRefNode*, int64_t) {
    StmtSRef sref = GetSRef(op);
    refresh(sref.get());
    return sref.get();
  }).Walk(scope_root->stmt.value(), nullptr, -1);
}

void ScheduleStateNode::ForgetFlags() { infos_.clear(); }

ScheduleStateNode::Snapshot ScheduleStateNode::Save() const {
  Snapshot snapshot;
  snapshot.mod = mod;
  snapshot.entries.reserve(stmt2ref_.size());
  for (const auto& [stmt, sref] : stmt2ref_) {
    snapshot.entries.push_back({sref, sref->stmt, sref->parent_ref, sref->seq_index});
  }
  snapshot.infos = infos_;
  snapshot.roots = roots_;
  return snapshot;
}

void ScheduleStateNode::Restore(const Snapshot& snapshot) {
  for (auto& [stmt, sref] : stmt2ref_) {
    sref->stmt = std::nullopt;
    sref->parent_ref = std::nullopt;
  }
  stmt2ref_.clear();
  for (const Snapshot::Entry& entry : snapshot.entries) {
    entry.sref->stmt = entry.stmt;
    entry.sref->parent_ref = entry.parent;
    entry.sref->seq_index = entry.seq_index;
    stmt2ref_.emplace(entry.sref->get_stmt(), entry.sref);
  }
  mod = snapshot.mod;
  infos_ = snapshot.infos;
  roots_ = snapshot.roots;
}

ScheduleState ScheduleStateNode::Clone(
    std::unordered_map<const ffi::Object*, StmtSRef>* srefs) const {
  auto node = ffi::make_object<ScheduleStateNode>();
  node->mod = mod;
  node->debug_mask = debug_mask;
  node->enable_check = enable_check;
  for (const auto& [stmt, sref] : stmt2ref_) {
    StmtSRef copy(sref->stmt, nullptr, sref->seq_index);
    node->stmt2ref_.emplace(stmt, copy);
    srefs->emplace(sref.get(), copy);
  }
  for (const auto& [stmt, sref] : stmt2ref_) {
    if (sref->parent() == nullptr) continue;
    (*srefs)[sref.get()]->parent_ref = ffi::ObjectRef((*srefs)[sref->parent()]);
  }
  for (const auto& [sref, info] : infos_) {
    auto it = srefs->find(sref);
    if (it == srefs->end()) continue;
    SBlockInfo copy = info;
    copy.scope.reset();  // holds references of this state
    node->infos_.emplace(it->second.get(), copy);
  }
  for (const auto& [sref, gvar] : roots_) node->roots_.emplace(srefs->at(sref).get(), gvar);
  return ScheduleState(ffi::ObjectPtr<ScheduleStateNode>(node));
}

void ScheduleStateNode::DebugVerify() {
  if ((debug_mask & kVerifySRefTree) != 0) {
    size_t count = 0;
    for (const auto& [gvar, base] : mod->functions) {
      const auto* func = base.as<PrimFuncNode>();
      if (func == nullptr || func->body.as<SBlockRealizeNode>() == nullptr) continue;
      TreeWalker([&](const StmtNode* op, StmtSRefNode* parent, int64_t index) {
        StmtSRef sref = GetSRef(op);
        TVM_FFI_ICHECK(sref.defined()) << "a statement of the program has no reference";
        TVM_FFI_ICHECK(sref->get_stmt() == op) << "a reference stands for another statement";
        TVM_FFI_ICHECK(sref->parent() == parent) << "a reference has the wrong parent";
        TVM_FFI_ICHECK_EQ(sref->seq_index, index) << "a reference has the wrong position";
        ++count;
        return sref.get();
      }).Walk(func->body, nullptr, -1);
    }
    TVM_FFI_ICHECK_EQ(count, stmt2ref_.size()) << "references to statements that are gone";
  }
  if ((debug_mask & kVerifyCachedFlags) == 0) return;
  // A scope that is cached has to be what the program says.
  for (const auto& [node, info] : infos_) {
    if (!info.scope.has_value()) continue;
    SBlockScope fresh(ChildBlocks(*this, ffi::GetRef<StmtSRef>(node)));
    TVM_FFI_ICHECK_EQ(fresh->blocks.size(), info.scope.value()->blocks.size())
        << "the cached scope of a block is stale";
    for (size_t i = 0; i < fresh->blocks.size(); ++i) {
      TVM_FFI_ICHECK(fresh->blocks[i].same_as(info.scope.value()->blocks[i]))
          << "the cached scope of a block is stale";
    }
  }
}

void ScheduleStateNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<ScheduleStateNode>()
      .def_ro("mod", &ScheduleStateNode::mod)
      .def_ro("debug_mask", &ScheduleStateNode::debug_mask)
      .def_ro("enable_check", &ScheduleStateNode::enable_check);
}

TVM_FFI_STATIC_INIT_BLOCK() {
  ScheduleStateNode::RegisterReflection();
  namespace refl = ffi::reflection;
  refl::GlobalDef()
      .def("s_tir.schedule.ScheduleState",
           [](IRModule mod, int debug_mask, bool enable_check) {
             return ScheduleState(mod, debug_mask, enable_check);
           })
      .def("s_tir.schedule.ScheduleStateGetSBlockScope",
           [](ScheduleState state, StmtSRef block) { return state->GetSBlockScope(block); })
      .def("s_tir.schedule.ScheduleStateReplace",
           [](ScheduleState state, StmtSRef src, Stmt tgt, ffi::Map<SBlock, SBlock> reuse) {
             state->Replace(src, tgt, reuse);
           })
      .def("s_tir.schedule.ScheduleStateGetSRef",
           [](ScheduleState state, Stmt stmt) -> ffi::Optional<StmtSRef> {
             StmtSRef sref = state->GetSRef(stmt.get());
             if (!sref.defined()) return std::nullopt;
             return sref;
           })
      .def("s_tir.schedule.ScheduleStateGetCachedFlags", [](ScheduleState state, StmtSRef block) {
        return ffi::Array<bool>{state->IsAffineBlockBinding(block),
                                state->IsRegionCoveredConsumer(block),
                                state->IsStagePipeline(block)};
      });
}

}  // namespace s_tir
}  // namespace tvm
