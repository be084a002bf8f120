// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Replaces accesses to matched buffers by accesses to the regions they stand for.
///
///   S = match_buffer(A[8 * i : 8 * i + 8, j])    ==>    A[8 * i + k, j] = 0
///   S[k] = 0
///
/// Symbols in the type of the matched buffer (shape, strides, element offset) are bound to what the
/// region implies; a constant that contradicts it is an error.
#include <tvm/arith/analyzer.h>
#include <tvm/s_tir/transform.h>
#include <tvm/tirx/builtin.h>
#include <tvm/tirx/op.h>
#include <tvm/tirx/stmt_functor.h>

#include <unordered_map>

#include "s_tir/transform/blocks.h"

namespace tvm {
namespace s_tir {

using namespace tirx;  // NOLINT(build/namespaces)

namespace {

class MatchLowerer final : public StmtExprMutator {
  Stmt VisitStmt_(const SBlockNode* op) final {
    if (op->match_buffers.empty()) return StmtExprMutator::VisitStmt_(op);
    for (const MatchBufferRegion& match : op->match_buffers) {
      // The source may itself be a matched buffer of an outer block.
      BufferRegion source = ResolveSource(VisitRegion(match->source));
      BindSymbols(match->buffer, source);
      matched_[match->buffer.get()] = source;
    }
    SBlock block = ffi::GetRef<SBlock>(op);
    block.CopyOnWrite()->match_buffers = ffi::Array<MatchBufferRegion>();
    return StmtExprMutator::VisitStmt_(block.get());
  }

  BufferRegion ResolveSource(const BufferRegion& region) {
    auto it = matched_.find(region->buffer.get());
    if (it == matched_.end()) return region;
    const BufferRegion& outer = it->second;
    size_t dropped = outer->region.size() - region->region.size();
    ffi::Array<Range> ranges;
    for (size_t i = 0; i < outer->region.size(); ++i) {
      if (i < dropped) {
        ranges.push_back(Range::FromMinExtent(outer->region[i]->min,
                                              make_const(outer->region[i]->min.dtype(), 1)));
      } else {
        const Range& inner = region->region[i - dropped];
        ranges.push_back(Range::FromMinExtent(outer->region[i]->min + inner->min, inner->extent));
      }
    }
    return BufferRegion(outer->buffer, ranges);
  }

  void BindValue(const PrimExpr& pattern, const PrimExpr& value, const Buffer& buffer,
                 const char* what) {
    if (const auto* var = pattern.as<VarNode>()) {
      auto [it, inserted] = symbols_.emplace(var, cast(var->dtype(), value));
      if (inserted || analyzer_->CanProveEqual(it->second, cast(var->dtype(), value))) return;
    } else if (analyzer_->CanProveEqual(pattern, value) || !is_const_int(pattern) ||
               !is_const_int(analyzer_->Simplify(value))) {
      return;
    }
    TVM_FFI_THROW(ValueError) << "LowerMatchBuffer: " << what << " of " << buffer->name << " is "
                              << pattern << ", but the matched region has " << value;
  }

  void BindSymbols(const Buffer& buffer, const BufferRegion& source) {
    const Buffer& outer = source->buffer;
    size_t dropped = source->region.size() - buffer.ndim();
    for (size_t i = 0; i < buffer.ndim(); ++i) {
      BindValue(buffer.shape()[i], source->region[dropped + i]->extent, buffer, "an extent");
    }
    ffi::Array<PrimExpr> outer_strides = outer.ComputedStrides();
    for (size_t i = 0; i < buffer.strides().size(); ++i) {
      BindValue(buffer.strides()[i], outer_strides[dropped + i], buffer, "a stride");
    }
    if (buffer.elem_offset().as<VarNode>() != nullptr) {
      ffi::Array<PrimExpr> begin;
      for (const Range& range : source->region) begin.push_back(range->min);
      BindValue(buffer.elem_offset(), outer.ElemOffset(begin), buffer, "the element offset");
    }
  }

  ffi::Array<PrimExpr> SourceIndices(const BufferRegion& source,
                                     const ffi::Array<PrimExpr>& indices) {
    size_t dropped = source->region.size() - indices.size();
    ffi::Array<PrimExpr> result;
    for (size_t i = 0; i < source->region.size(); ++i) {
      const PrimExpr& begin = source->region[i]->min;
      result.push_back(i < dropped ? begin : begin + indices[i - dropped]);
    }
    return result;
  }

  Expr VisitExpr_(const BufferLoadNode* op) final {
    Expr visited = StmtExprMutator::VisitExpr_(op);
    const auto* load = visited.as<BufferLoadNode>();
    auto it = matched_.find(load->buffer.get());
    if (it == matched_.end()) return visited;
    return BufferLoad(it->second->buffer, SourceIndices(it->second, load->indices), load->predicate,
                      load->span);
  }

  Stmt VisitStmt_(const BufferStoreNode* op) final {
    Stmt visited = StmtExprMutator::VisitStmt_(op);
    const auto* store = visited.as<BufferStoreNode>();
    auto it = matched_.find(store->buffer.get());
    if (it == matched_.end()) return visited;
    return BufferStore(it->second->buffer, store->value, SourceIndices(it->second, store->indices),
                       store->predicate, store->span);
  }

  BufferRegion VisitRegion(const BufferRegion& region) final {
    return ResolveSource(StmtExprMutator::VisitRegion(region));
  }

  Expr VisitExpr_(const CallNode* op) final {
    if (op->op.same_as(builtin::buffer_data())) {
      auto it = matched_.find(op->args[0].get());
      if (it != matched_.end()) return tirx::buffer_data(it->second->buffer);
    }
    return StmtExprMutator::VisitExpr_(op);
  }

  Expr VisitExpr_(const VarNode* op) final {
    auto it = symbols_.find(op);
    if (it != symbols_.end()) return it->second;
    return StmtExprMutator::VisitExpr_(op);
  }

  arith::Analyzer analyzer_;
  std::unordered_map<const ffi::Object*, BufferRegion> matched_;
  std::unordered_map<const VarNode*, PrimExpr> symbols_;
};

const tirx::transform::PrimFuncPassRegistration kPass{{
    .name = "s_tir.LowerMatchBuffer",
    .summary = "Replace matched buffers by the regions they stand for",
    .run =
        [](PrimFunc func, const tirx::transform::PassContext&) {
          if (!HasBlocks(func)) return func;
          Stmt body = MatchLowerer()(func->body);
          return WithBody(std::move(func), std::move(body));
        },
}};

}  // namespace

namespace transform {
Pass LowerMatchBuffer() { return kPass.Create(); }
}  // namespace transform

}  // namespace s_tir
}  // namespace tvm
