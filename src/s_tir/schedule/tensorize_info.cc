// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Pairing of blocks with the descriptions of tensor intrinsics, and what is made of it.
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/s_tir/schedule/tensorize.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "s_tir/schedule/analysis.h"
#include "s_tir/schedule/primitive/intrin_match.h"
#include "s_tir/schedule/primitive/loop_checks.h"
#include "s_tir/schedule/reducer.h"

namespace tvm {
namespace s_tir {

using namespace tirx;  // NOLINT(build/namespaces)

namespace {

/// The loops and the innermost block of a description.
struct Description {
  std::vector<For> loops;
  SBlockRealize realize;
};

std::optional<Description> ReadDescription(const PrimFunc& func) {
  const auto* root = func->body.as<SBlockRealizeNode>();
  if (root == nullptr) return std::nullopt;
  Description desc;
  Stmt stmt = root->block->body;
  while (const auto* loop = stmt.as<ForNode>()) {
    desc.loops.push_back(ffi::GetRef<For>(loop));
    stmt = loop->body;
  }
  const auto* realize = stmt.as<SBlockRealizeNode>();
  if (realize == nullptr || realize->iter_values.size() != desc.loops.size()) return std::nullopt;
  for (size_t i = 0; i < desc.loops.size(); ++i) {
    if (!realize->iter_values[i].same_as(desc.loops[i]->loop_var)) return std::nullopt;
  }
  desc.realize = ffi::GetRef<SBlockRealize>(realize);
  return desc;
}

/// Assigns to each variable of the description one of the block, in order and of the same type, so
/// that the bodies agree. Tries all order-preserving choices, the innermost variables first.
class IterPairing {
 public:
  IterPairing(const PrimFunc& func, const SBlockNode* desc, const SBlockNode* block,
              const arith::Analyzer& analyzer)
      : func_(func), desc_(desc), block_(block), analyzer_(analyzer) {}

  std::optional<std::vector<size_t>> Run() {
    chosen_.assign(desc_->iter_vars.size(), 0);
    if (Choose(desc_->iter_vars.size(), block_->iter_vars.size())) return chosen_;
    return std::nullopt;
  }

 private:
  bool Choose(size_t desc_left, size_t block_left) {
    if (desc_left == 0) return Agrees();
    if (++tries_ > 4096) return false;
    for (size_t b = block_left; b >= desc_left; --b) {
      if (block_->iter_vars[b - 1]->iter_type != desc_->iter_vars[desc_left - 1]->iter_type) {
        continue;
      }
      chosen_[desc_left - 1] = b - 1;
      if (Choose(desc_left - 1, b - 1)) return true;
    }
    return false;
  }

  bool Agrees() {
    ffi::Map<Var, PrimExpr> values;
    for (size_t i = 0; i < chosen_.size(); ++i) {
      const Var& var = desc_->iter_vars[i]->var;
      values.Set(var, cast(var->dtype(), block_->iter_vars[chosen_[i]]->var));
    }
    return IntrinMatch(func_, analyzer_).MatchBodies(desc_->body, block_->body, values);
  }

  PrimFunc func_;
  const SBlockNode* desc_;
  const SBlockNode* block_;
  arith::Analyzer analyzer_;
  std::vector<size_t> chosen_;
  int tries_ = 0;
};

/// The innermost loop that a value moves with by one.
StmtSRef UnitStrideLoop(const PrimExpr& value, const ffi::Array<StmtSRef>& loops,
                        const arith::Analyzer& analyzer) {
  for (size_t i = loops.size(); i-- > 0;) {
    if (!UsesLoop(value, loops[i])) continue;
    const Var& var = loops[i]->StmtAs<ForNode>()->loop_var;
    PrimExpr next = Substitute(value, ffi::Map<Var, PrimExpr>{{var, var + 1}});
    if (analyzer->CanProveEqual(next - value, 1)) return loops[i];
    return StmtSRef();
  }
  return StmtSRef();
}

}  // namespace

ffi::Optional<TensorizeInfo> GetTensorizeLoopMapping(const Schedule& sch, const SBlockRV& block_rv,
                                                     const PrimFunc& desc_func,
                                                     bool allow_padding) {
  const StmtSRef sref = sch->GetSRef(block_rv);
  std::optional<Description> desc = ReadDescription(desc_func);
  if (!desc.has_value() || sref->parent() == nullptr) return std::nullopt;
  const State& state = *sch->state().get();
  const SBlockRealize realize = RealizeOf(state, sref);
  arith::Analyzer analyzer = AnalyzerAt(state, sref);
  auto pairs =
      IterPairing(desc_func, desc->realize->block.get(), realize->block.get(), analyzer).Run();
  if (!pairs.has_value()) return std::nullopt;
  auto info = ffi::make_object<TensorizeInfoNode>();
  ffi::Array<int64_t> paddings;
  for (size_t i = 0; i < realize->iter_values.size(); ++i) paddings.push_back(1);
  bool pads = false;
  const ffi::Array<StmtSRef> loops = LoopsAbove(sref);
  for (size_t i = 0; i < desc->loops.size(); ++i) {
    const StmtSRef loop = UnitStrideLoop(realize->iter_values[(*pairs)[i]], loops, analyzer);
    if (!loop.defined() || info->loop_map.count(loop) != 0) return std::nullopt;
    const int64_t* have = as_const_int(loop->StmtAs<ForNode>()->extent);
    const int64_t* want = as_const_int(desc->loops[i]->extent);
    if (have == nullptr || want == nullptr || *want <= 0) return std::nullopt;
    if (*have % *want != 0) {
      if (!allow_padding) return std::nullopt;
      paddings.Set((*pairs)[i], *want);
      pads = true;
    }
    info->loop_map.Set(loop, desc->loops[i]);
    info->desc_loop_indexer.Set(desc->loops[i], static_cast<int64_t>(i));
  }
  if (pads) info->block_iter_paddings = paddings;
  return TensorizeInfo(std::move(info));
}

ffi::Optional<LoopRV> TileWithTensorIntrin(const Schedule& sch, const SBlockRV& block,
                                           const ffi::String& intrin_name, bool allow_padding) {
  const TensorIntrin intrin = TensorIntrin::Get(intrin_name).value();
  auto info = GetTensorizeLoopMapping(sch, block, intrin->desc, allow_padding);
  if (!info.has_value()) return std::nullopt;
  if (info.value()->block_iter_paddings.has_value()) {
    sch->PadEinsum(block, info.value()->block_iter_paddings.value());
    info = GetTensorizeLoopMapping(sch, block, intrin->desc, false);
    if (!info.has_value()) return std::nullopt;
  }
  const size_t count = info.value()->desc_loop_indexer.size();
  std::vector<LoopRV> outer(count), inner(count);
  const ffi::Array<LoopRV> loops = sch->GetLoops(block);
  ffi::Array<LoopRV> order;
  for (const LoopRV& loop : loops) {
    const StmtSRef sref = sch->GetSRef(loop);
    auto it = info.value()->loop_map.find(sref);
    if (it == info.value()->loop_map.end()) {
      order.push_back(loop);
      continue;
    }
    const For desc_loop = (*it).second;
    const int64_t position = info.value()->desc_loop_indexer[desc_loop];
    const int64_t total = *as_const_int(sch->Get(loop)->extent);
    const int64_t length = *as_const_int(desc_loop->extent);
    ffi::Array<LoopRV> parts = sch->Split(
        loop, {ExprRV(static_cast<int>(total / length)), ExprRV(static_cast<int>(length))});
    order.push_back(parts[0]);
    inner[position] = parts[1];
  }
  for (const LoopRV& loop : inner) order.push_back(loop);
  sch->Reorder(order);
  return inner[0];
}

namespace {

struct Access {
  Buffer buffer;
  ffi::Array<PrimExpr> indices;
};

/// The accesses of a block, its output first, then inputs in the order they occur.
std::vector<Access> AccessesOf(const SBlockNode* block) {
  std::vector<Access> result;
  auto add = [&](const Buffer& buffer, const ffi::Array<PrimExpr>& indices) {
    for (const Access& known : result) {
      if (known.buffer.same_as(buffer)) return;
    }
    result.push_back({buffer, indices});
  };
  PreOrderVisit(block->body, [&](const ffi::ObjectRef& node) {
    if (const auto* store = node.as<BufferStoreNode>()) add(store->buffer, store->indices);
    if (const auto* load = node.as<BufferLoadNode>()) add(load->buffer, load->indices);
    return true;
  });
  return result;
}

/// Which accesses a variable takes part in.
std::vector<bool> Signature(const Var& var, const std::vector<Access>& accesses) {
  std::vector<bool> result;
  for (const Access& access : accesses) {
    bool used = false;
    for (const PrimExpr& index : access.indices) used = used || UsesVar(index, var);
    result.push_back(used);
  }
  return result;
}

}  // namespace

ffi::Optional<ffi::ObjectRef> GetAutoTensorizeMappingInfo(const Schedule& sch,
                                                          const SBlockRV& block_rv,
                                                          const PrimFunc& desc_func) {
  const SBlock block = sch->Get(block_rv);
  std::optional<Description> desc = ReadDescription(desc_func);
  if (!desc.has_value()) return std::nullopt;
  const std::vector<Access> lhs = AccessesOf(block.get());
  const std::vector<Access> rhs = AccessesOf(desc->realize->block.get());
  if (lhs.size() != rhs.size()) return std::nullopt;
  auto info = ffi::make_object<AutoTensorizeMappingInfoNode>();
  for (size_t i = 0; i < lhs.size(); ++i) {
    if (lhs[i].buffer.dtype() != rhs[i].buffer.dtype()) return std::nullopt;
    info->lhs_buffer_map.Set(rhs[i].buffer, lhs[i].buffer);
    info->rhs_buffer_indices.Set(rhs[i].buffer, rhs[i].indices);
  }
  info->lhs_iters = block->iter_vars;
  info->rhs_iters = desc->realize->block->iter_vars;
  // Variables with the same role are fused to one; those in every operand are a batch in front.
  ffi::Array<PrimExpr> batch, fused;
  ffi::Array<Var> vars;
  std::map<std::vector<bool>, std::vector<const IterVarNode*>> by_role;
  for (const IterVar& iter : block->iter_vars) {
    vars.push_back(iter->var);
    by_role[Signature(iter->var, lhs)].push_back(iter.get());
  }
  std::unordered_set<const IterVarNode*> placed;
  for (const IterVar& wanted : desc->realize->block->iter_vars) {
    auto it = by_role.find(Signature(wanted->var, rhs));
    if (it == by_role.end()) return std::nullopt;
    PrimExpr value;
    for (const IterVarNode* iter : it->second) {
      if (iter->iter_type != wanted->iter_type || !placed.insert(iter).second) return std::nullopt;
      value = value.defined() ? value * iter->dom->extent + iter->var : PrimExpr(iter->var);
    }
    fused.push_back(value);
  }
  for (const IterVar& iter : block->iter_vars) {
    if (placed.count(iter.get()) != 0) continue;
    const std::vector<bool> role = Signature(iter->var, lhs);
    if (!std::all_of(role.begin(), role.end(), [](bool used) { return used; })) return std::nullopt;
    batch.push_back(iter->var);
  }
  for (const PrimExpr& value : fused) batch.push_back(value);
  info->mappings = {IndexMap(vars, batch)};
  return ffi::ObjectRef(ffi::ObjectPtr<ffi::Object>(std::move(info)));
}

void TensorizeInfoNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<TensorizeInfoNode>()
      .def_ro("loop_map", &TensorizeInfoNode::loop_map)
      .def_ro("desc_loop_indexer", &TensorizeInfoNode::desc_loop_indexer)
      .def_ro("block_iter_paddings", &TensorizeInfoNode::block_iter_paddings);
}

void AutoTensorizeMappingInfoNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<AutoTensorizeMappingInfoNode>()
      .def_ro("mappings", &AutoTensorizeMappingInfoNode::mappings)
      .def_ro("lhs_buffer_map", &AutoTensorizeMappingInfoNode::lhs_buffer_map)
      .def_ro("rhs_buffer_indices", &AutoTensorizeMappingInfoNode::rhs_buffer_indices)
      .def_ro("lhs_iters", &AutoTensorizeMappingInfoNode::lhs_iters)
      .def_ro("rhs_iters", &AutoTensorizeMappingInfoNode::rhs_iters);
}

TVM_FFI_STATIC_INIT_BLOCK() {
  TensorizeInfoNode::RegisterReflection();
  AutoTensorizeMappingInfoNode::RegisterReflection();
  namespace refl = ffi::reflection;
  refl::GlobalDef()
      .def("s_tir.schedule.GetTensorizeLoopMapping", GetTensorizeLoopMapping)
      .def("s_tir.schedule.GetAutoTensorizeMappingInfo", GetAutoTensorizeMappingInfo)
      .def("s_tir.schedule.TileWithTensorIntrin", TileWithTensorIntrin)
      .def("s_tir.schedule.HasBlock",
           [](Schedule sch, ffi::String name) {
             TVM_FFI_CHECK(sch->func_working_on().has_value(), ValueError)
                 << "it is not clear in which function to look: call work_on first";
             return !BlocksNamed(*sch->state().get(), std::string(name),
                                 sch->func_working_on().value())
                         .empty();
           })
      .def("s_tir.schedule.IsOutputBlock",
           [](Schedule sch, SBlockRV block) {
             const StmtSRef sref = sch->GetSRef(block);
             return IsOutputBlock(sch->state().get(), sref, ScopeRootOf(sref));
           })
      .def("s_tir.schedule.IsReductionBlock",
           [](Schedule sch, SBlockRV block) {
             return IsReductionBlock(sch->state().get(), sch->GetSRef(block));
           })
      .def("s_tir.schedule.IsTrivialBinding",
           [](Schedule sch, SBlockRV block) {
             return IsTrivialBinding(*sch->state().get(), sch->GetSRef(block));
           })
      .def("s_tir.schedule.GetSBlockRealize",
           [](Schedule sch, SBlockRV block) {
             return RealizeOf(*sch->state().get(), sch->GetSRef(block));
           })
      .def("s_tir.schedule.GetLoopIterType", [](Schedule sch, LoopRV loop) -> ffi::String {
        const StmtSRef sref = sch->GetSRef(loop);
        LoopOf(sref);
        bool spatial = false, reduce = false, other = false;
        const State& state = *sch->state().get();
        for (const StmtSRef& block : ChildBlocks(state, sref)) {
          const SBlockRealize realize = RealizeOf(state, block);
          for (size_t i = 0; i < realize->iter_values.size(); ++i) {
            if (!UsesLoop(realize->iter_values[i], sref)) continue;
            const IterVarType type = realize->block->iter_vars[i]->iter_type;
            (type == kDataPar ? spatial : type == kCommReduce ? reduce : other) = true;
          }
        }
        if (other || (spatial && reduce)) return "O";
        return reduce ? "R" : "S";
      });
}

}  // namespace s_tir
}  // namespace tvm
