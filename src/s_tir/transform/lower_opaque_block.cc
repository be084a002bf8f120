// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Removes blocks: allocations become statements, predicates conditions, thread-bound loops
/// thread_extent attributes, pragma annotations attributes, and loops of one iteration vanish.
///
///   for i in range(1):                          ==>    B = alloc_buffer(...)
///     with sblock("b"): where(p(i)); alloc B            if p(0): B[0] = 0
///       B[i] = 0
#include <tvm/s_tir/transform.h>
#include <tvm/tirx/op.h>
#include <tvm/tirx/stmt_functor.h>

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "s_tir/transform/blocks.h"

namespace tvm {
namespace s_tir {

using namespace tirx;  // NOLINT(build/namespaces)

namespace {

/// Annotations sorted by key into attributes (pragmas) and the rest, which loops keep.
struct SplitAnnotations {
  std::vector<std::pair<ffi::String, ffi::Any>> pragmas;
  ffi::Map<ffi::String, ffi::Any> kept;

  explicit SplitAnnotations(const ffi::Map<ffi::String, ffi::Any>& annotations) {
    for (const auto& [key, value] : annotations) {
      if (tirx::attr::IsPragmaKey(key)) {
        pragmas.emplace_back(key, value);
      } else {
        kept.Set(key, value);
      }
    }
    std::sort(pragmas.begin(), pragmas.end(), [](const auto& a, const auto& b) {
      return std::string(a.first) < std::string(b.first);
    });
  }

  Stmt Wrap(const ffi::Any& node, Stmt body) const {
    for (auto it = pragmas.rbegin(); it != pragmas.rend(); ++it) {
      body = AttrStmt(node, it->first, ConvertAttrValue(it->second), std::move(body));
    }
    return body;
  }
};

class BlockRemover final : public StmtExprMutator {
  Expr VisitExpr_(const VarNode* op) final {
    auto it = unit_loop_values_.find(op);
    if (it != unit_loop_values_.end()) return it->second;
    return StmtExprMutator::VisitExpr_(op);
  }

  Stmt VisitStmt_(const SBlockRealizeNode* op) final {
    const SBlockNode* block = op->block.get();
    TVM_FFI_CHECK(block->iter_vars.empty(), InternalError)
        << "LowerOpaqueBlock: block " << block->name_hint
        << " still has iteration variables; run ConvertBlocksToOpaque first";
    TVM_FFI_CHECK(!block->init.has_value(), InternalError)
        << "LowerOpaqueBlock: block " << block->name_hint
        << " still has an init statement; run LowerInitBlock first";
    PrimExpr predicate = VisitPrimExpr(op->predicate);
    ffi::Array<Stmt> seq;
    for (const Buffer& buffer : block->alloc_buffers) {
      seq.push_back(AllocBuffer(VisitBufferDef(buffer)));
    }
    Stmt body = VisitStmt(block->body);
    if (!is_one(predicate)) body = IfThenElse(predicate, body);
    seq.push_back(SplitAnnotations(block->annotations).Wrap(0, std::move(body)));
    return SeqStmt::Flatten(seq);
  }

  Stmt VisitStmt_(const ForNode* op) final {
    PrimExpr min = VisitPrimExpr(op->min);
    PrimExpr extent = VisitPrimExpr(op->extent);
    SplitAnnotations annotations(op->annotations);
    bool unit = is_one(extent) && annotations.kept.empty() && op->kind != ForKind::kThreadBinding &&
                op->HasTrivialStep();
    if (unit) {
      unit_loop_values_[op->loop_var.get()] = cast(op->loop_var->dtype(), min);
      return annotations.Wrap(op->loop_var, VisitStmt(op->body));
    }
    if (op->kind == ForKind::kThreadBinding) {
      Stmt body = VisitStmt(op->body);
      const IterVar& thread = op->thread_binding.value();
      ffi::String tag = thread->thread_tag;
      IterVar axis(Range::FromMinExtent(min, extent), op->loop_var, kThreadIndex, tag);
      bool is_virtual = tag == "vthread" || std::string(tag).rfind("vthread.", 0) == 0;
      return annotations.Wrap(
          op->loop_var,
          AttrStmt(axis, is_virtual ? tirx::attr::virtual_thread : tirx::attr::thread_extent,
                   extent, body));
    }
    Stmt body = VisitStmt(op->body);
    Stmt loop = ffi::GetRef<Stmt>(op);
    if (!min.same_as(op->min) || !extent.same_as(op->extent) || !body.same_as(op->body) ||
        !annotations.pragmas.empty()) {
      For copy = ffi::GetRef<For>(op);
      ForNode* node = copy.CopyOnWrite();
      node->min = min;
      node->extent = extent;
      node->body = body;
      node->annotations = annotations.kept;
      loop = copy;
    }
    return annotations.Wrap(op->loop_var, std::move(loop));
  }

  std::unordered_map<const VarNode*, PrimExpr> unit_loop_values_;
};

const tirx::transform::PrimFuncPassRegistration kPass{{
    .name = "s_tir.LowerOpaqueBlock",
    .summary = "Remove blocks, thread-bound loops and loops of one iteration",
    .run =
        [](PrimFunc func, const tirx::transform::PassContext&) {
          if (!HasBlocks(func)) return func;
          Stmt body = BlockRemover()(func->body);
          return WithBody(std::move(func), std::move(body));
        },
}};

}  // namespace

namespace transform {
Pass LowerOpaqueBlock() { return kPass.Create(); }
}  // namespace transform

}  // namespace s_tir
}  // namespace tvm
