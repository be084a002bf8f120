// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Shrinks the allocations of blocks to the region that is accessed.
///
///   for i in range(64):                      ==>    for i in range(64):
///     with sblock(): T = alloc_buffer((64,))          with sblock(): T = alloc_buffer((1,))
///       T[i] = A[i]; B[i] = T[i]                        T[0] = A[i]; B[i] = T[0]
///
/// The region is what all accesses touch while the loops inside of the allocating block run; loops
/// outside of it are fixed. Strict mode never lets a buffer grow beyond its declared shape.
#include <tvm/arith/analyzer.h>
#include <tvm/arith/int_set.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/s_tir/transform.h>
#include <tvm/tirx/builtin.h>
#include <tvm/tirx/op.h>
#include <tvm/tirx/stmt_functor.h>

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "s_tir/transform/blocks.h"

namespace tvm {
namespace s_tir {

using namespace tirx;  // NOLINT(build/namespaces)
using arith::IntSet;

namespace {

/// Accessed region of each buffer that some block allocates.
class RegionCollector final : public StmtExprVisitor {
 public:
  struct Entry {
    Buffer buffer;
    /// Number of loops around the allocation; those stay symbolic.
    size_t outer_loops = 0;
    std::vector<ffi::Array<IntSet>> accesses;
    /// Accessed through a pointer: the shape is fixed.
    bool opaque = false;
  };
  std::unordered_map<const ffi::Object*, Entry> entries;

 private:
  void VisitStmt_(const ForNode* op) final {
    VisitExpr(op->min);
    VisitExpr(op->extent);
    loops_.push_back(op);
    VisitStmt(op->body);
    loops_.pop_back();
  }

  void VisitStmt_(const SBlockNode* op) final {
    for (const Buffer& buffer : op->alloc_buffers) {
      entries[buffer.get()] = {buffer, loops_.size(), {}, false};
    }
    for (const MatchBufferRegion& match : op->match_buffers) {
      // Seen through another buffer: its region counts as it is.
      Record(match->source->buffer, match->source->region);
    }
    if (op->init.has_value()) VisitStmt(op->init.value());
    VisitStmt(op->body);
  }

  void VisitStmt_(const IfThenElseNode* op) final {
    // A condition may bound what its branch touches.
    VisitExpr(op->condition);
    conditions_.push_back(op->condition);
    VisitStmt(op->then_case);
    conditions_.back() = logical_not(op->condition);
    if (op->else_case.has_value()) VisitStmt(op->else_case.value());
    conditions_.pop_back();
  }

  void VisitStmt_(const SBlockRealizeNode* op) final {
    VisitExpr(op->predicate);
    conditions_.push_back(op->predicate);
    VisitStmt(op->block);
    conditions_.pop_back();
  }

  void VisitExpr_(const BufferLoadNode* op) final {
    RecordPoint(op->buffer, op->indices);
    StmtExprVisitor::VisitExpr_(op);
  }
  void VisitStmt_(const BufferStoreNode* op) final {
    RecordPoint(op->buffer, op->indices);
    StmtExprVisitor::VisitStmt_(op);
  }
  void VisitExpr_(const VarNode* op) final {
    auto it = entries.find(op);
    if (it != entries.end()) it->second.opaque = true;
  }

  void RecordPoint(const Buffer& buffer, const ffi::Array<PrimExpr>& indices) {
    if (entries.count(buffer.get()) == 0) return;
    ffi::Array<Range> region;
    for (const PrimExpr& index : indices) {
      if (!index.dtype().is_scalar()) {
        entries[buffer.get()].opaque = true;
        return;
      }
      region.push_back(Range::FromMinExtent(index, make_const(index.dtype(), 1)));
    }
    Record(buffer, region);
  }

  void Record(const Buffer& buffer, const ffi::Array<Range>& region) {
    auto it = entries.find(buffer.get());
    if (it == entries.end()) return;
    Entry& entry = it->second;
    if (entry.opaque) return;
    ffi::Map<Var, Range> inner;
    for (size_t i = entry.outer_loops; i < loops_.size(); ++i) {
      inner.Set(loops_[i]->loop_var, Range::FromMinExtent(loops_[i]->min, loops_[i]->extent));
    }
    PrimExpr condition = Bool(true);
    for (const PrimExpr& c : conditions_) condition = logical_and(condition, c);
    entry.accesses.push_back(arith::EstimateRegionUpperBound(region, inner, condition, analyzer_));
  }

  arith::Analyzer analyzer_;
  std::vector<const ForNode*> loops_;
  std::vector<PrimExpr> conditions_;
};

struct Compacted {
  Buffer buffer;
  ffi::Array<PrimExpr> offset;
};

/// The smallest box around the accesses, inside of the declared shape; nullopt where that is all.
std::optional<Compacted> Compact(const RegionCollector::Entry& entry,
                                 const std::unordered_set<const VarNode*>& visible,
                                 arith::Analyzer* analyzer, bool strict) {
  const Buffer& buffer = entry.buffer;
  if (entry.opaque || entry.accesses.empty() || !buffer.strides().empty()) return std::nullopt;
  ffi::Array<PrimExpr> shape, offset;
  bool smaller = false;
  for (size_t d = 0; d < buffer.ndim(); ++d) {
    const PrimExpr& extent = buffer.shape()[d];
    Range whole = Range::FromMinExtent(make_zero(extent.dtype()), extent);
    ffi::Array<IntSet> sets;
    for (const ffi::Array<IntSet>& access : entry.accesses) sets.push_back(access[d]);
    Range range = arith::Union(sets).CoverRange(whole);
    PrimExpr min = (*analyzer)->Simplify(range->min);
    PrimExpr size = (*analyzer)->Simplify(range->extent);
    auto usable = [&](const PrimExpr& e) {
      return !UsesVar(e, [&](const VarNode* var) { return visible.count(var) == 0; });
    };
    // A size that cannot be compared with the declared one is no improvement.
    bool better = is_const_int(size) && usable(min) && (*analyzer)->CanProve(size < extent) &&
                  (*analyzer)->CanProve(size >= 1);
    if (!strict && usable(min) && usable(size) && !is_const_int(extent)) better = true;
    if (better) {
      smaller = true;
      shape.push_back(cast(extent.dtype(), size));
      offset.push_back(cast(extent.dtype(), min));
    } else {
      shape.push_back(extent);
      offset.push_back(make_zero(extent.dtype()));
    }
  }
  if (!smaller) return std::nullopt;
  BufferType type = buffer.buffer_type();
  type.CopyOnWrite()->shape = shape;
  return Compacted{buffer.WithType(type), offset};
}

class BufferCompactor final : public StmtExprMutator {
 public:
  BufferCompactor(RegionCollector* collector, const PrimFunc& func, bool strict)
      : collector_(*collector), strict_(strict) {
    for (const Var& param : func->params) {
      if (!IsBuffer(param.get())) visible_.insert(param.get());
      if (!IsBuffer(param.get())) continue;
      for (const PrimExpr& extent : Buffer(param).shape()) {
        if (const auto* var = extent.as<VarNode>()) visible_.insert(var);
      }
    }
  }

 private:
  Stmt VisitStmt_(const ForNode* op) final {
    analyzer_->Bind(op->loop_var, Range::FromMinExtent(op->min, op->extent), true);
    visible_.insert(op->loop_var.get());
    Stmt result = StmtExprMutator::VisitStmt_(op);
    visible_.erase(op->loop_var.get());
    return result;
  }

  Stmt VisitStmt_(const SBlockNode* op) final {
    SBlock block = ffi::GetRef<SBlock>(op);
    ffi::Array<Buffer> allocs;
    bool changed = false;
    for (const Buffer& buffer : op->alloc_buffers) {
      auto it = collector_.entries.find(buffer.get());
      auto compacted = Compact(it->second, visible_, &analyzer_, strict_);
      if (!compacted.has_value()) {
        allocs.push_back(buffer);
        continue;
      }
      changed = true;
      allocs.push_back(compacted->buffer);
      compacted_.emplace(buffer.get(), *compacted);
      buffer_remap_[buffer.get()] = compacted->buffer;
    }
    if (changed) block.CopyOnWrite()->alloc_buffers = allocs;
    return StmtExprMutator::VisitStmt_(block.get());
  }

  ffi::Array<PrimExpr> Shift(const Compacted& c, const ffi::Array<PrimExpr>& indices) {
    ffi::Array<PrimExpr> result;
    for (size_t d = 0; d < indices.size(); ++d) {
      result.push_back(analyzer_->Simplify(indices[d] - c.offset[d]));
    }
    return result;
  }

  Expr VisitExpr_(const BufferLoadNode* op) final {
    Expr visited = StmtExprMutator::VisitExpr_(op);
    auto it = compacted_.find(op->buffer.get());
    if (it == compacted_.end()) return visited;
    const auto* load = visited.as<BufferLoadNode>();
    return BufferLoad(load->buffer, Shift(it->second, load->indices), load->predicate, load->span);
  }

  Stmt VisitStmt_(const BufferStoreNode* op) final {
    Stmt visited = StmtExprMutator::VisitStmt_(op);
    auto it = compacted_.find(op->buffer.get());
    if (it == compacted_.end()) return visited;
    const auto* store = visited.as<BufferStoreNode>();
    return BufferStore(store->buffer, store->value, Shift(it->second, store->indices),
                       store->predicate, store->span);
  }

  BufferRegion VisitRegion(const BufferRegion& region) final {
    BufferRegion visited = StmtExprMutator::VisitRegion(region);
    auto it = compacted_.find(region->buffer.get());
    if (it == compacted_.end()) return visited;
    ffi::Array<Range> ranges;
    for (size_t d = 0; d < visited->region.size(); ++d) {
      const Range& range = visited->region[d];
      ranges.push_back(Range::FromMinExtent(analyzer_->Simplify(range->min - it->second.offset[d]),
                                            range->extent));
    }
    return BufferRegion(visited->buffer, ranges);
  }

  RegionCollector& collector_;
  bool strict_;
  arith::Analyzer analyzer_;
  std::unordered_set<const VarNode*> visible_;
  std::unordered_map<const ffi::Object*, Compacted> compacted_;
};

}  // namespace

namespace transform {

Pass CompactBufferAllocation(bool is_strict) {
  return tirx::transform::CreatePrimFuncPass(
      [is_strict](PrimFunc func, const IRModule&, const tirx::transform::PassContext&) {
        if (!HasBlocks(func)) return func;
        RegionCollector collector;
        collector(func->body);
        if (collector.entries.empty()) return func;
        Stmt body = BufferCompactor(&collector, func, is_strict)(func->body);
        return WithBody(std::move(func), std::move(body));
      },
      0, "s_tir.CompactBufferAllocation");
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = ffi::reflection;
  refl::GlobalDef().def("s_tir.transform.CompactBufferAllocation",
                        [](bool is_strict) { return CompactBufferAllocation(is_strict); });
}

}  // namespace transform

}  // namespace s_tir
}  // namespace tvm
