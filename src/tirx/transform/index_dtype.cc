// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Narrower or wider index arithmetic.
///
///   for i: int64 in range(64): A[i + 1] = 0    ==>    for i: int32 in range(64): A[i + 1] = 0
///
/// NarrowDataType(bits) does it where bounds prove that every intermediate value fits,
/// ForceNarrowIndexToInt32 for all functions, with an error where a constant does not fit.
#include "tirx/transform/index_dtype.h"

#include <tvm/arith/analyzer.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/tirx/op.h>
#include <tvm/tirx/stmt_functor.h>
#include <tvm/tirx/transform.h>

#include <limits>
#include <string>
#include <unordered_map>

#include "tirx/ir/map_array.h"
#include "tirx/transform/with_body.h"

namespace tvm {
namespace tirx {

namespace {

bool IsIndexType(DataType dtype) {
  return dtype.is_int() && (dtype.bits() == 32 || dtype.bits() == 64);
}

class IndexDtypeMutator final : public StmtExprMutator {
 public:
  explicit IndexDtypeMutator(DataType dtype) : dtype_(dtype) {}

  /// Parameters keep their identity where nothing in their type changes.
  Var ConvertParam(const Var& param) {
    if (IsBuffer(param.get())) return VisitBufferDef(Buffer(param));
    return param;
  }

  using StmtExprMutator::VisitStmt;

 private:
  /// `expr` as an index: in the index type throughout.
  PrimExpr ToIndex(const PrimExpr& expr) {
    if (!IsIndexType(expr.dtype())) return VisitPrimExpr(expr);
    bool outer = in_index_;
    in_index_ = true;
    PrimExpr visited = VisitPrimExpr(expr);
    in_index_ = outer;
    DataType wanted = dtype_.with_lanes(expr.dtype().lanes());
    return visited.dtype() == wanted ? visited : tvm::cast(wanted, visited);
  }

  ffi::Array<PrimExpr> ToIndices(const ffi::Array<PrimExpr>& exprs) {
    return MapArray(exprs, [this](const PrimExpr& e) { return ToIndex(e); });
  }

  Var Convert(const Var& var) {
    if (var->dtype() == dtype_ || !IsIndexType(var->dtype())) return var;
    auto [it, inserted] = vars_.emplace(var.get(), var);
    if (inserted) it->second = var.copy_with_dtype(dtype_);
    return it->second;
  }

  Expr VisitExpr_(const VarNode* op) final {
    auto it = vars_.find(op);
    if (it == vars_.end()) return StmtExprMutator::VisitExpr_(op);
    if (in_index_) return it->second;
    return Cast(op->dtype(), it->second);
  }

  Expr VisitExpr_(const IntImmNode* op) final {
    if (!in_index_ || !IsIndexType(op->dtype()) || op->dtype() == dtype_) {
      return ffi::GetRef<Expr>(op);
    }
    return IntImm(dtype_, op->value, op->span);
  }

#define TVM_TIRX_INDEX_BINARY(Node, Build)                                  \
  Expr VisitExpr_(const Node* op) final {                                   \
    PrimExpr a = VisitPrimExpr(op->a);                                      \
    PrimExpr b = VisitPrimExpr(op->b);                                      \
    if (a.same_as(op->a) && b.same_as(op->b)) return ffi::GetRef<Expr>(op); \
    if (a.dtype() != b.dtype() && IsIndexType(a.dtype().element_of()) &&    \
        IsIndexType(b.dtype().element_of())) {                              \
      DataType wanted = dtype_.with_lanes(op->a.dtype().lanes());           \
      a = tvm::cast(wanted, a);                                             \
      b = tvm::cast(wanted, b);                                             \
    }                                                                       \
    return Build(a, b, op->span);                                           \
  }
  TVM_TIRX_INDEX_BINARY(AddNode, tvm::add)
  TVM_TIRX_INDEX_BINARY(SubNode, tvm::sub)
  TVM_TIRX_INDEX_BINARY(MulNode, tvm::mul)
  TVM_TIRX_INDEX_BINARY(DivNode, tvm::truncdiv)
  TVM_TIRX_INDEX_BINARY(ModNode, tvm::truncmod)
  TVM_TIRX_INDEX_BINARY(FloorDivNode, tvm::floordiv)
  TVM_TIRX_INDEX_BINARY(FloorModNode, tvm::floormod)
  TVM_TIRX_INDEX_BINARY(MinNode, tvm::min)
  TVM_TIRX_INDEX_BINARY(MaxNode, tvm::max)
  TVM_TIRX_INDEX_BINARY(EQNode, tvm::equal)
  TVM_TIRX_INDEX_BINARY(NENode, tvm::not_equal)
  TVM_TIRX_INDEX_BINARY(LTNode, tvm::less)
  TVM_TIRX_INDEX_BINARY(LENode, tvm::less_equal)
  TVM_TIRX_INDEX_BINARY(GTNode, tvm::greater)
  TVM_TIRX_INDEX_BINARY(GENode, tvm::greater_equal)
#undef TVM_TIRX_INDEX_BINARY

  Expr VisitExpr_(const CastNode* op) final {
    // A conversion between index types inside of an index is part of the arithmetic.
    if (in_index_ && IsIndexType(op->dtype()) && IsIndexType(op->value.dtype())) {
      return ToIndex(op->value);
    }
    bool outer = in_index_;
    in_index_ = false;
    Expr visited = StmtExprMutator::VisitExpr_(op);
    in_index_ = outer;
    return visited;
  }

  Expr VisitExpr_(const SelectNode* op) final {
    PrimExpr condition = VisitPrimExpr(op->condition);
    PrimExpr true_value = VisitPrimExpr(op->true_value);
    PrimExpr false_value = VisitPrimExpr(op->false_value);
    if (condition.same_as(op->condition) && true_value.same_as(op->true_value) &&
        false_value.same_as(op->false_value)) {
      return ffi::GetRef<Expr>(op);
    }
    if (in_index_ && true_value.dtype() != false_value.dtype()) {
      true_value = tvm::cast(dtype_, true_value);
      false_value = tvm::cast(dtype_, false_value);
    }
    return Select(condition, true_value, false_value, op->span);
  }

  Expr VisitExpr_(const RampNode* op) final {
    PrimExpr base = VisitPrimExpr(op->base);
    PrimExpr stride = VisitPrimExpr(op->stride);
    if (base.same_as(op->base) && stride.same_as(op->stride)) return ffi::GetRef<Expr>(op);
    return Ramp(base, tvm::cast(base.dtype(), stride), op->lanes, op->span);
  }

  Expr VisitExpr_(const CallNode* op) final {
    // Arguments of calls are values.
    bool outer = in_index_;
    in_index_ = false;
    Expr visited = StmtExprMutator::VisitExpr_(op);
    in_index_ = outer;
    return visited;
  }

  Expr VisitExpr_(const BufferLoadNode* op) final {
    Buffer buffer = VisitBufferUse(op->buffer);
    ffi::Array<PrimExpr> indices = ToIndices(op->indices);
    if (buffer.same_as(op->buffer) && indices.same_as(op->indices)) return ffi::GetRef<Expr>(op);
    ffi::Optional<PrimExpr> predicate = op->predicate;
    if (predicate.has_value()) predicate = VisitPrimExpr(predicate.value());
    return BufferLoad(buffer, indices, predicate, op->span);
  }

  Stmt VisitStmt_(const BufferStoreNode* op) final {
    Buffer buffer = VisitBufferUse(op->buffer);
    PrimExpr value = VisitPrimExpr(op->value);
    ffi::Array<PrimExpr> indices = ToIndices(op->indices);
    ffi::Optional<PrimExpr> predicate = op->predicate;
    if (predicate.has_value()) predicate = VisitPrimExpr(predicate.value());
    return BufferStore(buffer, value, indices, predicate, op->span);
  }

  Buffer VisitBufferDef(const Buffer& buffer) final {
    const BufferTypeNode* type = buffer.type();
    ffi::Array<PrimExpr> shape = ToIndices(type->shape);
    ffi::Array<PrimExpr> strides = ToIndices(type->strides);
    PrimExpr offset = type->elem_offset.defined() ? ToIndex(type->elem_offset) : type->elem_offset;
    if (shape.same_as(type->shape) && strides.same_as(type->strides) &&
        offset.same_as(type->elem_offset)) {
      return buffer;
    }
    BufferType converted = buffer.buffer_type();
    BufferTypeNode* node = converted.CopyOnWrite();
    node->shape = shape;
    node->strides = strides;
    node->elem_offset = offset;
    Buffer result = buffer.WithType(converted);
    buffer_remap_[buffer.get()] = result;
    return result;
  }

  BufferRegion VisitRegion(const BufferRegion& region) final {
    ffi::Array<Range> ranges = MapArray(region->region, [this](const Range& range) {
      PrimExpr min = ToIndex(range->min), extent = ToIndex(range->extent);
      if (min.same_as(range->min) && extent.same_as(range->extent)) return range;
      return Range::FromMinExtent(min, extent, range->span);
    });
    Buffer buffer = VisitBufferUse(region->buffer);
    if (buffer.same_as(region->buffer) && ranges.same_as(region->region)) return region;
    return BufferRegion(buffer, ranges);
  }

  Stmt VisitStmt_(const ForNode* op) final {
    Var loop_var = Convert(op->loop_var);
    if (loop_var.same_as(op->loop_var)) return StmtExprMutator::VisitStmt_(op);
    For loop = ffi::GetRef<For>(op);
    ForNode* node = loop.CopyOnWrite();
    node->loop_var = loop_var;
    node->min = ToIndex(op->min);
    node->extent = ToIndex(op->extent);
    if (op->step.has_value()) node->step = ToIndex(op->step.value());
    node->body = VisitStmt(op->body);
    return loop;
  }

  Stmt VisitStmt_(const SBlockNode* op) final {
    SBlock block = ffi::GetRef<SBlock>(op);
    ffi::Array<IterVar> iters = MapArray(op->iter_vars, [this](const IterVar& iter) {
      Var var = Convert(iter->var);
      if (var.same_as(iter->var)) return iter;
      Range dom = Range::FromMinExtent(ToIndex(iter->dom->min), ToIndex(iter->dom->extent));
      return IterVar(dom, var, iter->iter_type, iter->thread_tag, iter->span);
    });
    if (!iters.same_as(op->iter_vars)) block.CopyOnWrite()->iter_vars = iters;
    return StmtExprMutator::VisitStmt_(block.get());
  }

  Stmt VisitStmt_(const SBlockRealizeNode* op) final {
    ffi::Array<PrimExpr> values = ToIndices(op->iter_values);
    PrimExpr predicate = VisitPrimExpr(op->predicate);
    Stmt block = VisitStmt(op->block);
    if (values.same_as(op->iter_values) && predicate.same_as(op->predicate) &&
        block.same_as(op->block)) {
      return ffi::GetRef<Stmt>(op);
    }
    return SBlockRealize(values, predicate, ffi::GetRef<SBlock>(block.as<SBlockNode>()), op->span);
  }

  DataType dtype_;
  bool in_index_ = false;
  std::unordered_map<const VarNode*, Var> vars_;
};

/// Whether all index arithmetic of a function stays within `bits`.
class IndexBoundCheck final : public StmtExprVisitor {
 public:
  explicit IndexBoundCheck(int bits) : limit_((int64_t{1} << (bits - 1)) - 1) {}
  bool fits = true;

  void CheckBuffer(const Buffer& buffer) {
    double elements = 1;
    for (const PrimExpr& extent : buffer.shape()) {
      const int64_t* value = as_const_int(extent);
      if (value == nullptr) {
        fits = false;
        return;
      }
      elements *= static_cast<double>(*value);
    }
    if (elements > static_cast<double>(limit_)) fits = false;
  }

 private:
  void CheckIndex(const PrimExpr& index) {
    PostOrderVisitExpr(index, [this](const Expr& e) {
      if (!fits || !IsPrimExpr(e) || !IsIndexType(e.dtype())) return;
      arith::ConstIntBound bound = analyzer_->GetConstIntBound(PrimExpr(e));
      if (bound->max_value > limit_ || bound->min_value < -limit_ - 1) fits = false;
    });
  }
  void VisitBufferDef(const Buffer& buffer) final { CheckBuffer(buffer); }
  void VisitStmt_(const ForNode* op) final {
    CheckIndex(op->min);
    CheckIndex(op->extent);
    CheckIndex(op->min + op->extent);
    analyzer_->Bind(op->loop_var, Range::FromMinExtent(op->min, op->extent), true);
    StmtExprVisitor::VisitStmt_(op);
  }
  void VisitStmt_(const SBlockNode* op) final {
    for (const IterVar& iter : op->iter_vars) analyzer_->Bind(iter->var, iter->dom, true);
    StmtExprVisitor::VisitStmt_(op);
  }
  void VisitExpr_(const BufferLoadNode* op) final {
    for (const PrimExpr& index : op->indices) CheckIndex(index);
    StmtExprVisitor::VisitExpr_(op);
  }
  void VisitStmt_(const BufferStoreNode* op) final {
    for (const PrimExpr& index : op->indices) CheckIndex(index);
    StmtExprVisitor::VisitStmt_(op);
  }

  int64_t limit_;
  arith::Analyzer analyzer_;
};

}  // namespace

PrimFunc ConvertIndexDtype(PrimFunc func, DataType dtype) {
  if (!IsIndexType(dtype)) {
    TVM_FFI_THROW(ValueError) << "the index dtype must be int32 or int64, got " << dtype;
  }
  IndexDtypeMutator mutator(dtype);
  ffi::Array<Var> params =
      MapArray(func->params, [&](const Var& param) { return mutator.ConvertParam(param); });
  Stmt body = mutator.VisitStmt(func->body);
  if (params.same_as(func->params) && body.same_as(func->body)) return func;
  return PrimFunc(params, body, func->ret_type, func->attrs, func->span);
}

namespace transform {

Pass NarrowDataType(int target_bits) {
  TVM_FFI_CHECK(target_bits == 32 || target_bits == 64, ValueError)
      << "NarrowDataType: target_bits must be 32 or 64, got " << target_bits;
  return CreatePrimFuncPass(
      [target_bits](PrimFunc func, const IRModule&, const PassContext&) {
        if (target_bits == 64) return func;
        IndexBoundCheck check(target_bits);
        for (const Var& param : func->params) {
          if (IsBuffer(param.get())) check.CheckBuffer(Buffer(param));
        }
        if (check.fits) check(func->body);
        if (!check.fits) return func;
        return ConvertIndexDtype(std::move(func), DataType::Int(target_bits));
      },
      0, "tirx.NarrowDataType");
}

namespace {

const PrimFuncPassRegistration kForceNarrow{{
    .name = "tirx.ForceNarrowIndexToInt32",
    .summary = "Compute all indices in int32",
    .run = [](PrimFunc func,
              const PassContext&) { return ConvertIndexDtype(std::move(func), DataType::Int(32)); },
}};

}  // namespace

Pass ForceNarrowIndexToInt32() { return kForceNarrow.Create(); }

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = ffi::reflection;
  refl::GlobalDef().def("tirx.transform.NarrowDataType",
                        [](int target_bits) { return NarrowDataType(target_bits); });
}

}  // namespace transform

}  // namespace tirx
}  // namespace tvm
