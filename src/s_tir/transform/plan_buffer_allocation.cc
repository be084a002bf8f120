// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Moves each allocation of a block to the innermost loop or block around all of its accesses.
///
///   with sblock("root"): B = alloc(...)      ==>    with sblock("root"):
///     for i: ...B[i]... ; ...B[i]...                  for i: with sblock(""): B = alloc(...) ...
#include <tvm/s_tir/transform.h>
#include <tvm/tirx/analysis.h>
#include <tvm/tirx/op.h>
#include <tvm/tirx/stmt_functor.h>

#include <unordered_map>
#include <unordered_set>

#include "s_tir/transform/blocks.h"

namespace tvm {
namespace s_tir {

using namespace tirx;  // NOLINT(build/namespaces)

namespace {

class AllocationPlanner final : public StmtMutator {
 public:
  explicit AllocationPlanner(const PrimFunc& func) {
    std::unordered_set<const ffi::Object*> allocated;
    PreOrderVisit(func->body, [&](const ffi::ObjectRef& node) {
      if (const auto* block = node.as<SBlockNode>()) {
        for (const Buffer& buffer : block->alloc_buffers) allocated.insert(buffer.get());
      }
      return node.as<ExprNode>() == nullptr;
    });
    if (allocated.empty()) return;
    for (const auto& [buffer, stmt] : DetectBufferAccessLCA(func)) {
      if (allocated.count(buffer.get()) == 0) continue;
      // Accesses spread over the whole function belong to its root block.
      const ffi::Object* scope = stmt.has_value()
                                     ? static_cast<const ffi::Object*>(stmt.value().get())
                                     : func->body.as<SBlockRealizeNode>()->block.get();
      placed_[scope].push_back(buffer);
      planned_.insert(buffer.get());
    }
  }

  bool HasWork() const { return !planned_.empty(); }

 private:
  Stmt VisitStmt_(const SBlockNode* op) final {
    Stmt rewritten = StmtMutator::VisitStmt_(op);
    ffi::Array<Buffer> allocs;
    bool same = true;
    for (const Buffer& buffer : op->alloc_buffers) {
      // A buffer that nothing accesses has no place, and stays.
      if (planned_.count(buffer.get()) == 0) allocs.push_back(buffer);
    }
    auto it = placed_.find(op);
    if (it != placed_.end()) {
      for (const Buffer& buffer : it->second) allocs.push_back(buffer);
    }
    same = allocs.size() == op->alloc_buffers.size();
    for (size_t i = 0; same && i < allocs.size(); ++i) {
      bool found = false;
      for (const Buffer& other : op->alloc_buffers) found = found || other.same_as(allocs[i]);
      same = found;
    }
    if (same) return rewritten;
    SBlock block = ffi::GetRef<SBlock>(rewritten.as<SBlockNode>());
    block.CopyOnWrite()->alloc_buffers = std::move(allocs);
    return block;
  }

  Stmt VisitStmt_(const ForNode* op) final {
    Stmt rewritten = StmtMutator::VisitStmt_(op);
    auto it = placed_.find(op);
    if (it == placed_.end()) return rewritten;
    For loop = ffi::GetRef<For>(rewritten.as<ForNode>());
    ffi::Array<Buffer> allocs;
    for (const Buffer& buffer : it->second) allocs.push_back(buffer);
    SBlock holder({}, {}, {}, "", loop->body, std::nullopt, allocs);
    holder = WithDetectedRegions(std::move(holder));
    loop.CopyOnWrite()->body = SBlockRealize({}, Bool(true), holder);
    return loop;
  }

  std::unordered_map<const ffi::Object*, std::vector<Buffer>> placed_;
  std::unordered_set<const ffi::Object*> planned_;
};

const tirx::transform::PrimFuncPassRegistration kPass{{
    .name = "s_tir.PlanAndUpdateBufferAllocationLocation",
    .summary = "Allocate buffers in the innermost scope around their accesses",
    .run =
        [](PrimFunc func, const tirx::transform::PassContext&) {
          if (!HasBlocks(func)) return func;
          AllocationPlanner planner(func);
          if (!planner.HasWork()) return func;
          Stmt body = planner(func->body);
          return WithBody(std::move(func), std::move(body));
        },
}};

}  // namespace

namespace transform {
Pass PlanAndUpdateBufferAllocationLocation() { return kPass.Create(); }
}  // namespace transform

}  // namespace s_tir
}  // namespace tvm
