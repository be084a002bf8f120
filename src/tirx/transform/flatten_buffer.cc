// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Turns buffers of any rank into one-dimensional ones.
///
///   def f(A: Buffer((4, 8))):        ==>    def f(A: Buffer((4, 8))):
///     B = alloc_buffer((4, 8))                A_1 = decl_buffer((32,), data=A.data)
///     B[i, j] = A[i, j]                       B = alloc_buffer((32,))
///                                             B[i * 8 + j] = A_1[i * 8 + j]
///
/// Parameters keep their type, which states what callers must pass. Element offset and strides are
/// folded into the index.
#include <tvm/tirx/builtin.h>
#include <tvm/tirx/op.h>
#include <tvm/tirx/stmt_functor.h>
#include <tvm/tirx/transform.h>

#include <limits>
#include <unordered_map>
#include <vector>

#include "tirx/transform/with_body.h"

namespace tvm {
namespace tirx {

namespace {

bool IsFlat(const Buffer& buffer) {
  const BufferTypeNode* type = buffer.type();
  if (type->shape.size() != 1 || (type->elem_offset.defined() && !is_zero(type->elem_offset))) {
    return false;
  }
  return type->strides.empty() || (type->strides.size() == 1 && is_one(type->strides[0]));
}

/// Number of elements from the first to the last, in an index type that can count them.
PrimExpr FlatExtent(const Buffer& buffer) {
  const BufferTypeNode* type = buffer.type();
  DataType dtype = buffer.DefaultIndexType();
  if (type->shape.empty()) return make_const(dtype, 1);
  if (type->strides.empty()) {
    PrimExpr extent = type->shape[0];
    for (size_t i = 1; i < type->shape.size(); ++i) extent = extent * type->shape[i];
    return extent;
  }
  PrimExpr last = make_const(type->shape[0].dtype(), 1);
  for (size_t i = 0; i < type->shape.size(); ++i) {
    last = last + (type->shape[i] - 1) * type->strides[i];
  }
  return last;
}

/// Whether some offset of a buffer of constant shape does not fit in int32.
bool NeedsWideIndex(const Buffer& buffer) {
  double elements = 1;
  for (const PrimExpr& extent : buffer.shape()) {
    const int64_t* value = as_const_int(extent);
    if (value == nullptr) return false;
    elements *= static_cast<double>(*value);
  }
  return elements > static_cast<double>(std::numeric_limits<int32_t>::max());
}

class BufferFlattener final : public StmtExprMutator {
 public:
  explicit BufferFlattener(const PrimFunc& func) {
    for (const Var& param : func->params) {
      if (!IsBuffer(param.get())) continue;
      Buffer buffer(param);
      if (!IsFlat(buffer)) params_.emplace(buffer.get(), Buffer());
    }
  }

  Stmt Rewrite(const Stmt& body) {
    Stmt result = VisitStmt(body);
    if (declarations_.empty()) return result;
    return SeqStmt::Flatten(declarations_, result);
  }

 private:
  static Buffer Flat(const Buffer& buffer) {
    PrimExpr extent = FlatExtent(buffer);
    if (NeedsWideIndex(buffer)) {
      PrimExpr wide = make_const(DataType::Int(64), 1);
      for (const PrimExpr& e : buffer.shape()) wide = wide * cast(DataType::Int(64), e);
      extent = wide;
    }
    BufferType type = buffer.buffer_type();
    BufferTypeNode* node = type.CopyOnWrite();
    node->shape = {extent};
    node->strides = {};
    node->elem_offset = make_zero(extent.dtype());
    node->layout = std::nullopt;
    return buffer.WithType(type);
  }

  Buffer VisitBufferDef(const Buffer& buffer) final {
    Buffer visited = StmtExprMutator::VisitBufferDef(buffer);
    if (IsFlat(visited)) return visited;
    Buffer flat = Flat(visited);
    originals_[flat.get()] = visited;
    buffer_remap_[buffer.get()] = flat;
    return flat;
  }

  Buffer VisitBufferUse(const Buffer& buffer) final {
    auto it = params_.find(buffer.get());
    if (it == params_.end()) return StmtExprMutator::VisitBufferUse(buffer);
    if (!it->second.defined()) {
      it->second = Flat(buffer);
      originals_[it->second.get()] = buffer;
      declarations_.push_back(DeclBuffer(it->second, tirx::buffer_data(buffer)));
    }
    return it->second;
  }

  /// Index of the element in the flat buffer that stands for `flat`.
  ffi::Array<PrimExpr> FlatIndices(const Buffer& flat, const ffi::Array<PrimExpr>& indices) {
    auto it = originals_.find(flat.get());
    if (it == originals_.end()) return indices;
    const Buffer& original = it->second;
    if (indices.empty()) {
      PrimExpr offset = original.elem_offset();
      return {offset.defined() ? offset : make_zero(flat.shape()[0].dtype())};
    }
    ffi::Array<PrimExpr> wide = indices;
    if (NeedsWideIndex(original)) {
      for (size_t i = 0; i < wide.size(); ++i) {
        DataType dtype = wide[i].dtype();
        wide.Set(i, cast(DataType::Int(64).with_lanes(dtype.lanes()), wide[i]));
      }
    }
    return {original.ElemOffset(wide)};
  }

  Stmt VisitStmt_(const BufferStoreNode* op) final {
    Stmt visited = StmtExprMutator::VisitStmt_(op);
    const auto* store = visited.as<BufferStoreNode>();
    ffi::Array<PrimExpr> indices = FlatIndices(store->buffer, store->indices);
    if (indices.same_as(store->indices)) return visited;
    return BufferStore(store->buffer, store->value, indices, store->predicate, store->span);
  }

  Expr VisitExpr_(const BufferLoadNode* op) final {
    // The load is rebuilt once, because a flat buffer with the old indices would be ill-formed.
    Buffer buffer = VisitBufferUse(op->buffer);
    ffi::Array<PrimExpr> visited = VisitExprs(op->indices);
    ffi::Optional<PrimExpr> predicate = op->predicate;
    if (predicate.has_value()) predicate = VisitPrimExpr(predicate.value());
    if (buffer.same_as(op->buffer) && visited.same_as(op->indices) &&
        (!predicate.has_value() || predicate.value().same_as(op->predicate.value()))) {
      return ffi::GetRef<Expr>(op);
    }
    return BufferLoad(buffer, FlatIndices(buffer, visited), predicate, op->span);
  }

  /// Flat buffer -> the buffer whose indices are still used.
  std::unordered_map<const ffi::Object*, Buffer> originals_;
  /// Parameters to flatten, with their flat buffer once something uses them.
  std::unordered_map<const ffi::Object*, Buffer> params_;
  ffi::Array<Stmt> declarations_;
};

const transform::PrimFuncPassRegistration kPass{{
    .name = "tirx.FlattenBuffer",
    .summary = "Make buffers one-dimensional",
    .run =
        [](PrimFunc func, const transform::PassContext&) {
          Stmt body = BufferFlattener(func).Rewrite(func->body);
          return WithBody(std::move(func), std::move(body));
        },
}};

}  // namespace

namespace transform {
Pass FlattenBuffer() { return kPass.Create(); }
}  // namespace transform

}  // namespace tirx
}  // namespace tvm
