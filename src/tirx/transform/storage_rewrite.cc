// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Lets allocations share memory when they are not alive at the same time.
///
///   T = alloc_buffer((4096,))        ==>    T = alloc_buffer((4096,))
///   ... T ...                               ... T ...
///   U = alloc_buffer((4096,))               ... T ...
///   ... U ...
///
/// Only allocations of one sequence, one element type and one scope share, and only those that come
/// from a workspace: small ones live on the stack, where registers replace them anyway. The
/// accesses name the shared buffer itself, so that no two names alias.
#include <tvm/tirx/builtin.h>
#include <tvm/tirx/op.h>
#include <tvm/tirx/stmt_functor.h>
#include <tvm/tirx/transform.h>

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "tirx/transform/with_body.h"

namespace tvm {
namespace tirx {

namespace {

constexpr int64_t kSmallestShared = 1024;  // bytes
/// A much larger block is better kept for a later allocation of its size.
constexpr int64_t kLargestRatio = 16;

class StorageSharer final : public StmtExprMutator {
 private:
  static constexpr size_t kForever = static_cast<size_t>(-1);

  struct Block {
    Buffer buffer;
    int64_t elements;
    size_t last_use;
  };

  /// Statements of `seq` in which each of the given buffers is used.
  static std::unordered_map<const ffi::Object*, size_t> LastUses(
      const SeqStmtNode* seq, const std::unordered_map<const ffi::Object*, size_t>& allocs) {
    std::unordered_map<const ffi::Object*, size_t> last;
    for (size_t i = 0; i < seq->seq.size(); ++i) {
      if (seq->seq[i].as<AllocBufferNode>() != nullptr) continue;
      UseRecorder recorder(allocs, i, &last);
      recorder(seq->seq[i]);
    }
    return last;
  }

  class UseRecorder final : public StmtExprVisitor {
   public:
    UseRecorder(const std::unordered_map<const ffi::Object*, size_t>& allocs, size_t index,
                std::unordered_map<const ffi::Object*, size_t>* last)
        : allocs_(allocs), index_(index), last_(*last) {}

   private:
    void VisitBufferUse(const Buffer& buffer) final {
      if (allocs_.count(buffer.get()) == 0) return;
      size_t& use = last_[buffer.get()];
      if (use != kForever) use = index_;
    }
    void VisitExpr_(const VarNode* op) final {
      // Seen through a pointer, it may be used as long as the sequence runs.
      if (allocs_.count(op) != 0) last_[op] = kForever;
    }

    const std::unordered_map<const ffi::Object*, size_t>& allocs_;
    size_t index_;
    std::unordered_map<const ffi::Object*, size_t>& last_;
  };

  /// Number of elements of an allocation that may share; 0 for others.
  static int64_t SharedElements(const AllocBufferNode* alloc) {
    const Buffer& buffer = alloc->buffer;
    if (buffer.ndim() != 1 || !buffer.strides().empty() || !alloc->annotations.empty()) return 0;
    if (buffer.scope() != "global") return 0;
    const int64_t* extent = as_const_int(buffer.shape()[0]);
    if (extent == nullptr) return 0;
    int64_t bytes = *extent * ((buffer.dtype().bits() * buffer.dtype().lanes() + 7) / 8);
    return bytes >= kSmallestShared ? *extent : 0;
  }

  Stmt VisitStmt_(const SeqStmtNode* op) final {
    std::unordered_map<const ffi::Object*, size_t> allocs;
    for (size_t i = 0; i < op->seq.size(); ++i) {
      const auto* alloc = op->seq[i].as<AllocBufferNode>();
      if (alloc != nullptr && SharedElements(alloc) > 0) allocs.emplace(alloc->buffer.get(), i);
    }
    if (allocs.size() < 2) return StmtExprMutator::VisitStmt_(op);
    auto last = LastUses(op, allocs);
    auto first = FirstUses(op, allocs);
    // In the order in which they start to be used, each takes the smallest free block that fits.
    std::vector<const AllocBufferNode*> order;
    for (const auto& [buffer, index] : allocs)
      order.push_back(op->seq[index].as<AllocBufferNode>());
    std::sort(order.begin(), order.end(), [&](const auto* a, const auto* b) {
      size_t fa = first[a->buffer.get()], fb = first[b->buffer.get()];
      return fa != fb ? fa < fb : allocs[a->buffer.get()] < allocs[b->buffer.get()];
    });
    std::vector<Block> blocks;
    for (const AllocBufferNode* alloc : order) {
      const Buffer& buffer = alloc->buffer;
      int64_t elements = SharedElements(alloc);
      size_t begin = first[buffer.get()];
      Block* best = nullptr;
      for (Block& block : blocks) {
        bool fits = block.last_use < begin && block.elements >= elements &&
                    block.elements <= elements * kLargestRatio &&
                    block.buffer.dtype() == buffer.dtype();
        // The block must be declared before its new use.
        fits = fits && allocs[block.buffer.get()] < begin;
        if (fits && (best == nullptr || block.elements < best->elements)) best = &block;
      }
      size_t end = last.count(buffer.get()) != 0 ? last[buffer.get()] : begin;
      if (best != nullptr && end != kForever) {
        best->last_use = end;
        shared_[buffer.get()] = best->buffer;
      } else {
        blocks.push_back({buffer, elements, end});
      }
    }
    return StmtExprMutator::VisitStmt_(op);
  }

  static std::unordered_map<const ffi::Object*, size_t> FirstUses(
      const SeqStmtNode* seq, const std::unordered_map<const ffi::Object*, size_t>& allocs) {
    std::unordered_map<const ffi::Object*, size_t> first;
    for (size_t i = seq->seq.size(); i-- > 0;) {
      if (seq->seq[i].as<AllocBufferNode>() != nullptr) continue;
      std::unordered_map<const ffi::Object*, size_t> here;
      UseRecorder recorder(allocs, i, &here);
      recorder(seq->seq[i]);
      for (const auto& [buffer, index] : here) first[buffer] = i;
    }
    return first;
  }

  Stmt VisitStmt_(const AllocBufferNode* op) final {
    if (shared_.count(op->buffer.get()) != 0) return Evaluate(0);
    return StmtExprMutator::VisitStmt_(op);
  }

  Buffer VisitBufferUse(const Buffer& buffer) final {
    auto it = shared_.find(buffer.get());
    return it == shared_.end() ? StmtExprMutator::VisitBufferUse(buffer) : it->second;
  }

  std::unordered_map<const ffi::Object*, Buffer> shared_;
};

const transform::PrimFuncPassRegistration kPass{{
    .name = "tirx.StorageRewrite",
    .summary = "Share the memory of allocations that are not alive together",
    .run =
        [](PrimFunc func, const transform::PassContext&) {
          Stmt body = StorageSharer()(func->body);
          return WithBody(std::move(func), std::move(body));
        },
}};

}  // namespace

namespace transform {
Pass StorageRewrite() { return kPass.Create(); }
}  // namespace transform

}  // namespace tirx
}  // namespace tvm
