// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Regions that a block accesses, relaxed over the loops inside of it.
#include <tvm/arith/analyzer.h>
#include <tvm/arith/int_set.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/tirx/analysis.h>
#include <tvm/tirx/builtin.h>
#include <tvm/tirx/op.h>

#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace tvm {
namespace tirx {

namespace {

using arith::IntSet;

/// Regions of buffers in the order of their first access.
class RegionList {
 public:
  void Add(const Buffer& buffer, ffi::Array<Range> region) {
    auto [it, inserted] = index_.emplace(buffer.get(), entries_.size());
    if (inserted) entries_.push_back({buffer, {}});
    entries_[it->second].regions.push_back(std::move(region));
  }

  ffi::Array<BufferRegion> Collect(const std::unordered_set<const ffi::Object*>& excluded) const {
    ffi::Array<BufferRegion> result;
    for (const Entry& entry : entries_) {
      if (excluded.count(entry.buffer.get()) != 0) continue;
      result.push_back(BufferRegion(entry.buffer, Merge(entry)));
    }
    return result;
  }

 private:
  struct Entry {
    Buffer buffer;
    std::vector<ffi::Array<Range>> regions;
  };

  static bool SameRange(const Range& a, const Range& b) {
    ExprDeepEqual equal;
    return equal(a->min, b->min) && equal(a->extent, b->extent);
  }

  /// The box around all regions of one buffer, dimension by dimension.
  static ffi::Array<Range> Merge(const Entry& entry) {
    ffi::Array<Range> result = entry.regions[0];
    for (size_t r = 1; r < entry.regions.size(); ++r) {
      for (size_t d = 0; d < result.size(); ++d) {
        const Range& other = entry.regions[r][d];
        if (SameRange(result[d], other)) continue;
        const PrimExpr& extent = entry.buffer.shape()[d];
        Range whole = Range::FromMinExtent(make_zero(extent.dtype()), extent);
        if (SameRange(result[d], whole) || SameRange(other, whole)) {
          result.Set(d, whole);
          continue;
        }
        IntSet both = arith::Union({IntSet::FromRange(result[d]), IntSet::FromRange(other)});
        result.Set(d, both.CoverRange(whole));
      }
    }
    return result;
  }

  std::vector<Entry> entries_;
  std::unordered_map<const ffi::Object*, size_t> index_;
};

class AccessCollector final : public StmtExprVisitor {
 public:
  explicit AccessCollector(const ffi::Map<Var, Buffer>& buffer_var_map) {
    for (const auto& [var, buffer] : buffer_var_map) by_pointer_.emplace(var.get(), buffer);
  }

  void Visit(const SBlock& block) {
    for (const Buffer& buffer : block->alloc_buffers) local_.insert(buffer.get());
    for (const MatchBufferRegion& match : block->match_buffers) {
      matched_.emplace(match->buffer.get(), match->source);
    }
    if (block->init.has_value()) VisitStmt(block->init.value());
    VisitStmt(block->body);
  }

  ffi::Array<BufferRegion> Reads() const { return reads_.Collect(local_); }
  ffi::Array<BufferRegion> Writes() const { return writes_.Collect(local_); }
  ffi::Array<BufferRegion> Opaques() const { return opaques_.Collect(local_); }

 private:
  void VisitStmt_(const ForNode* op) final {
    VisitExpr(op->min);
    VisitExpr(op->extent);
    doms_[op->loop_var] = IntSet::FromRange(Range::FromMinExtent(op->min, op->extent));
    VisitStmt(op->body);
    doms_.erase(op->loop_var);
  }

  void VisitStmt_(const BindNode* op) final {
    VisitExpr(op->value);
    if (IsPrimExpr(op->value)) binds_.emplace(op->var.get(), PrimExpr(op->value));
  }

  void VisitStmt_(const AllocBufferNode* op) final {
    local_.insert(op->buffer.get());
    StmtExprVisitor::VisitStmt_(op);
  }

  void VisitStmt_(const DeclBufferNode* op) final {
    local_.insert(op->buffer.get());
    StmtExprVisitor::VisitStmt_(op);
  }

  void VisitStmt_(const BufferStoreNode* op) final {
    Record(&writes_, op->buffer, op->indices);
    StmtExprVisitor::VisitStmt_(op);
  }

  void VisitExpr_(const BufferLoadNode* op) final {
    Record(&reads_, op->buffer, op->indices);
    StmtExprVisitor::VisitExpr_(op);
  }

  void VisitExpr_(const CallNode* op) final {
    if (op->op.same_as(builtin::tvm_access_ptr()) && op->args.size() == 5) {
      Buffer buffer = BufferOf(op->args[1]);
      const int64_t* mask = as_const_int(op->args[4]);
      if (buffer.defined()) {
        if (mask == nullptr) {
          RecordFull(&opaques_, buffer);
        } else {
          if (*mask & 1) RecordFull(&reads_, buffer);
          if (*mask & 2) RecordFull(&writes_, buffer);
        }
        VisitExpr(op->args[2]);
        VisitExpr(op->args[3]);
        return;
      }
    }
    if (op->op.same_as(builtin::address_of()) && op->args.size() == 1) {
      if (const auto* load = op->args[0].as<BufferLoadNode>()) {
        RecordFull(&opaques_, load->buffer);
        VisitExprs(load->indices);
        return;
      }
    }
    if (op->op.same_as(builtin::buffer_data()) && op->args.size() == 1) {
      Buffer buffer = BufferOf(op->args[0]);
      if (buffer.defined()) RecordFull(&opaques_, buffer);
      return;
    }
    StmtExprVisitor::VisitExpr_(op);
  }

  void VisitExpr_(const VarNode* op) final {
    auto it = by_pointer_.find(op);
    if (it != by_pointer_.end()) {
      RecordFull(&opaques_, it->second);
    } else if (IsBuffer(op)) {
      RecordFull(&opaques_, Buffer(ffi::GetRef<Var>(op)));
    }
  }

  void VisitStmt_(const SBlockRealizeNode* op) final {
    // A nested block states its regions in its own iteration variables.
    VisitExprs(op->iter_values);
    ffi::Map<Var, PrimExpr> values;
    for (size_t i = 0; i < op->iter_values.size(); ++i) {
      values.Set(op->block->iter_vars[i]->var, op->iter_values[i]);
    }
    auto record = [&](RegionList* list, const BufferRegion& region) {
      ffi::Array<Range> ranges;
      for (size_t d = 0; d < region->region.size(); ++d) {
        ranges.push_back(Relax(Substitute(region->region[d], values), region->buffer, d));
      }
      AddMatched(list, region->buffer, std::move(ranges));
    };
    for (const BufferRegion& region : op->block->reads) record(&reads_, region);
    for (const BufferRegion& region : op->block->writes) record(&writes_, region);
  }

  Buffer BufferOf(const Expr& pointer) const {
    if (const auto* call = pointer.as<CallNode>()) {
      if (call->op.same_as(builtin::buffer_data())) return BufferOf(call->args[0]);
      return Buffer();
    }
    if (auto buffer = pointer.as<Buffer>()) return *buffer;
    if (const auto* var = pointer.as<VarNode>()) {
      auto it = by_pointer_.find(var);
      if (it != by_pointer_.end()) return it->second;
    }
    return Buffer();
  }

  void Record(RegionList* list, const Buffer& buffer, const ffi::Array<PrimExpr>& indices) {
    ffi::Array<Range> region;
    for (size_t d = 0; d < indices.size(); ++d) {
      PrimExpr index = InlineBinds(indices[d]);
      region.push_back(
          Relax(Range::FromMinExtent(index, make_const(index.dtype().element_of(), 1)), buffer, d));
    }
    AddMatched(list, buffer, std::move(region));
  }

  void RecordFull(RegionList* list, const Buffer& buffer) {
    AddMatched(list, buffer, BufferRegion::FullRegion(buffer)->region);
  }

  void AddMatched(RegionList* list, const Buffer& buffer, ffi::Array<Range> region) {
    auto it = matched_.find(buffer.get());
    if (it != matched_.end()) {
      list->Add(it->second->buffer, it->second->region);
    } else {
      list->Add(buffer, std::move(region));
    }
  }

  PrimExpr InlineBinds(const PrimExpr& index) const {
    if (binds_.empty()) return index;
    return Substitute(index, [this](const Var& var) -> ffi::Optional<Expr> {
      auto it = binds_.find(var.get());
      if (it == binds_.end()) return std::nullopt;
      return Expr(InlineBinds(it->second));
    });
  }

  /// `range` over all iterations of the loops entered; the whole dimension where it depends on
  /// data.
  Range Relax(const Range& range, const Buffer& buffer, size_t dim) const {
    auto whole = [&] {
      const PrimExpr& extent = buffer.shape()[dim];
      return Range::FromMinExtent(make_zero(extent.dtype()), extent);
    };
    bool depends_on_data = false;
    bool depends_on_loop = !range->min.dtype().is_scalar();
    auto inspect = [&](const Expr& expr) {
      if (expr.as<BufferLoadNode>() != nullptr) depends_on_data = true;
      if (const auto* var = expr.as<VarNode>()) {
        if (doms_.count(ffi::GetRef<Var>(var)) != 0) depends_on_loop = true;
      }
    };
    PostOrderVisitExpr(range->min, inspect);
    PostOrderVisitExpr(range->extent, inspect);
    if (depends_on_data) return whole();
    if (!depends_on_loop) return range;
    ffi::Map<Var, IntSet> doms;
    for (const auto& [var, set] : doms_) doms.Set(var, set);
    return arith::EvalSet(range, doms).CoverRange(whole());
  }

  RegionList reads_, writes_, opaques_;
  arith::IntSetMap doms_;
  std::unordered_map<const ffi::Object*, PrimExpr> binds_;
  std::unordered_map<const ffi::Object*, Buffer> by_pointer_;
  std::unordered_map<const ffi::Object*, BufferRegion> matched_;
  std::unordered_set<const ffi::Object*> local_;
};

}  // namespace

ffi::Array<ffi::Array<BufferRegion>> GetSBlockAccessRegion(
    const SBlock& block, const ffi::Map<Var, Buffer>& buffer_var_map) {
  AccessCollector collector(buffer_var_map);
  collector.Visit(block);
  return {collector.Reads(), collector.Writes(), collector.Opaques()};
}

ffi::Array<ffi::Array<BufferRegion>> GetSBlockReadWriteRegion(
    const SBlock& block, const ffi::Map<Var, Buffer>& buffer_var_map) {
  AccessCollector collector(buffer_var_map);
  collector.Visit(block);
  ffi::Array<BufferRegion> opaques = collector.Opaques();
  auto with_opaques = [&](ffi::Array<BufferRegion> regions) {
    std::unordered_set<const ffi::Object*> opaque_buffers;
    for (const BufferRegion& region : opaques) opaque_buffers.insert(region->buffer.get());
    ffi::Array<BufferRegion> result;
    for (const BufferRegion& region : regions) {
      if (opaque_buffers.count(region->buffer.get()) == 0) result.push_back(region);
    }
    for (const BufferRegion& region : opaques) result.push_back(region);
    return result;
  };
  return {with_opaques(collector.Reads()), with_opaques(collector.Writes())};
}

SBlock WithDetectedRegions(SBlock block) {
  ffi::Array<ffi::Array<BufferRegion>> regions = GetSBlockReadWriteRegion(block);
  ffi::Array<BufferRegion> reads = regions[0];
  if (block->init.has_value()) {
    ffi::Array<BufferRegion> others;
    for (const BufferRegion& read : reads) {
      bool own = false;
      for (const BufferRegion& write : regions[1]) own = own || write->buffer.same_as(read->buffer);
      if (!own) others.push_back(read);
    }
    reads = std::move(others);
  }
  SBlockNode* node = block.CopyOnWrite();
  node->reads = std::move(reads);
  node->writes = regions[1];
  return block;
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = ffi::reflection;
  using BufferVarMap = ffi::Map<Var, Buffer>;
  refl::GlobalDef()
      .def("s_tir.analysis.GetSBlockAccessRegion",
           [](SBlock block, BufferVarMap map) { return GetSBlockAccessRegion(block, map); })
      .def("s_tir.analysis.GetSBlockReadWriteRegion",
           [](SBlock block, BufferVarMap map) { return GetSBlockReadWriteRegion(block, map); });
}

}  // namespace tirx
}  // namespace tvm
