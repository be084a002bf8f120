// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Regions of buffers that a statement touches, with its loops run through.
#include <tvm/arith/int_set.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ir/scalar_op.h>
#include <tvm/tirx/analysis.h>

#include <unordered_map>
#include <vector>

namespace tvm {
namespace tirx {

namespace {

using Region = ffi::Array<arith::IntSet>;

/// Every access of a buffer, as the set of its indices on each axis.
struct Accesses {
  std::vector<Region> loads;
  std::vector<Region> stores;
};

class TouchFinder final : public StmtExprVisitor {
 public:
  std::unordered_map<const VarNode*, Accesses> found;
  std::vector<Buffer> order;

  void Run(const Stmt& stmt) { VisitStmt(stmt); }

 private:
  using StmtExprVisitor::VisitExpr_;
  using StmtExprVisitor::VisitStmt_;

  void VisitStmt_(const ForNode* op) final {
    domain_.Set(op->loop_var, arith::IntSet::FromMinExtent(op->min, op->extent));
    StmtExprVisitor::VisitStmt_(op);
    domain_.erase(op->loop_var);
  }
  void VisitStmt_(const SBlockRealizeNode* op) final {
    for (size_t i = 0; i < op->iter_values.size(); ++i) {
      domain_.Set(op->block->iter_vars[i]->var, arith::EvalSet(op->iter_values[i], domain_));
    }
    StmtExprVisitor::VisitStmt_(op);
    for (const IterVar& iter : op->block->iter_vars) domain_.erase(iter->var);
  }
  void VisitExpr_(const BufferLoadNode* op) final {
    Of(op->buffer).loads.push_back(SetsOf(op->indices));
    StmtExprVisitor::VisitExpr_(op);
  }
  void VisitStmt_(const BufferStoreNode* op) final {
    Of(op->buffer).stores.push_back(SetsOf(op->indices));
    StmtExprVisitor::VisitStmt_(op);
  }

  Accesses& Of(const Buffer& buffer) {
    auto [it, fresh] = found.emplace(buffer.get(), Accesses());
    if (fresh) order.push_back(buffer);
    return it->second;
  }
  Region SetsOf(const ffi::Array<PrimExpr>& indices) {
    Region region;
    for (const PrimExpr& index : indices) region.push_back(arith::EvalSet(index, domain_));
    return region;
  }

  ffi::Map<Var, arith::IntSet> domain_;
};

/// What all accesses together cover; an axis without a bound is the buffer's whole axis.
ffi::Array<Range> Cover(const Buffer& buffer, const std::vector<Region>& regions) {
  ffi::Array<Range> result;
  if (regions.empty()) return result;
  for (size_t axis = 0; axis < regions[0].size(); ++axis) {
    ffi::Array<arith::IntSet> sets;
    for (const Region& r : regions) sets.push_back(r[axis]);
    const PrimExpr& extent = buffer.shape()[axis];
    Range whole = Range::FromMinExtent(make_zero(extent.dtype()), extent);
    result.push_back(arith::Union(sets).CoverRange(whole));
  }
  return result;
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = ffi::reflection;
  refl::GlobalDef()
      .def("arith.DomainTouched",
           [](Stmt stmt, Buffer buffer, bool loads, bool stores) {
             TouchFinder finder;
             finder.Run(stmt);
             std::vector<Region> regions;
             Accesses& a = finder.found[buffer.get()];
             if (loads) regions.insert(regions.end(), a.loads.begin(), a.loads.end());
             if (stores) regions.insert(regions.end(), a.stores.begin(), a.stores.end());
             return Cover(buffer, regions);
           })
      .def("arith.DomainTouchedAccessMap", [](const PrimFuncNode* func) {
        // Buffer -> [regions of loads, of stores, of both].
        TouchFinder finder;
        finder.Run(func->body);
        ffi::Map<Buffer, ffi::Array<ffi::Array<Region>>> result;
        for (const Buffer& buffer : finder.order) {
          const Accesses& a = finder.found[buffer.get()];
          ffi::Array<Region> loads(a.loads.begin(), a.loads.end());
          ffi::Array<Region> stores(a.stores.begin(), a.stores.end());
          ffi::Array<Region> both = loads;
          for (const Region& r : a.stores) both.push_back(r);
          result.Set(buffer, {loads, stores, both});
        }
        return result;
      });
}

}  // namespace tirx
}  // namespace tvm
