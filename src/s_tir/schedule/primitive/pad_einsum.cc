// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// pad_einsum: the domains of an einsum are padded to multiples; its operands are copied to padded
/// buffers first, its result back from one.
#include <tvm/tirx/op.h>

#include <unordered_map>

#include "s_tir/schedule/primitive/inline_util.h"
#include "s_tir/schedule/primitive/loop_checks.h"
#include "s_tir/schedule/reducer.h"

namespace tvm {
namespace s_tir {

using namespace tirx;  // NOLINT(build/namespaces)

namespace {

class EinsumPadder {
 public:
  EinsumPadder(State* state, const StmtSRef& block, const ffi::Array<int64_t>& padding)
      : state_(state), block_(block), padding_(padding) {}

  void Run() {
    Check();
    PadDomains();
    if (!NeedsPadding()) return;
    const SBlock old_block = realize_->block;
    SBlock new_block = PaddedBlock();
    Stmt nest = SBlockRealize(realize_->iter_values, Bool(true), new_block);
    for (size_t i = loops_.size(); i-- > 0;) {
      For loop = ffi::GetRef<For>(LoopOf(loops_[i]));
      ForNode* node = loop.CopyOnWrite();
      node->extent = extents_[i];
      node->body = nest;
      nest = loop;
    }
    ffi::Array<Stmt> before, after;
    for (const BufferRegion& read : old_block->reads) {
      if (IsPadded(read->buffer)) before.push_back(CopyIn(read->buffer));
    }
    for (const BufferRegion& write : old_block->writes) {
      if (IsPadded(write->buffer)) after.push_back(CopyOut(write->buffer));
    }
    const SBlock root = Downcast<SBlock>(scope_root_->stmt.value());
    BlockReuse reuse;
    SBlock changed =
        WithBody(root, ReplaceStmt(root->body, MemberTowards(*state_, scope_root_, block_).get(),
                                   SeqStmt::Flatten(before, nest, after), &reuse));
    for (const BufferRegion& read : old_block->reads) {
      if (IsPadded(read->buffer)) changed = WithAlloc(changed, padded_[read->buffer.get()]);
    }
    for (const BufferRegion& write : old_block->writes) {
      if (IsPadded(write->buffer)) changed = WithAlloc(changed, padded_[write->buffer.get()]);
    }
    reuse.Set(root, changed);
    reuse.Set(old_block, new_block);
    state_->Replace(scope_root_, changed, reuse);
  }

 private:
  void Check() {
    scope_root_ = ScopeRootOf(block_);
    CheckReductionBlock(state_, block_);
    realize_ = RealizeOf(*state_, block_);
    loops_ = LoopsAbove(block_);
    const SBlock& block = realize_->block;
    SCHEDULE_CHECK(padding_.size() == block->iter_vars.size(), block_)
        << "The block {0} has " << block->iter_vars.size() << " iteration variables, but there are "
        << padding_.size() << " paddings";
    for (int64_t multiple : padding_) {
      SCHEDULE_CHECK(multiple > 0, block_)
          << "The paddings for {0} have to be positive, but one is " << multiple;
    }
    SCHEDULE_CHECK(IsTrivialBinding(*state_, block_) && is_one(realize_->predicate), block_)
        << "Each iteration variable of the block {0} has to be bound to one loop, in order";
    CheckChainToBlock(*state_, loops_, block_);
    auto step = MatchReduction(block->init.value(), block->body);
    bool products = step.has_value() && step->sources.size() == 1 && block->writes.size() == 1 &&
                    step->combiner->result[0].as<AddNode>() != nullptr &&
                    IsZeroValue(step->init[0]);
    if (products) CollectFactors(step->sources[0], &products);
    SCHEDULE_CHECK(products, block_)
        << "The block {0} is no einsum: it has to add up products of elements, each indexed by "
           "distinct iteration variables";
    NoteAccess(step->buffers[0], step->indices, &products);
    SCHEDULE_CHECK(products, block_)
        << "The output of the block {0} has to be indexed by distinct iteration variables";
  }

  static bool IsZeroValue(const PrimExpr& value) {
    if (const auto* imm = value.as<FloatImmNode>()) return imm->value == 0;
    return is_zero(value);
  }

  void CollectFactors(const PrimExpr& value, bool* ok) {
    if (const auto* op = value.as<MulNode>()) {
      CollectFactors(op->a, ok);
      CollectFactors(op->b, ok);
    } else if (const auto* op = value.as<CastNode>()) {
      CollectFactors(op->value, ok);
    } else if (const auto* load = value.as<BufferLoadNode>()) {
      NoteAccess(load->buffer, load->indices, ok);
    } else {
      *ok = false;
    }
  }

  void NoteAccess(const Buffer& buffer, const ffi::Array<PrimExpr>& indices, bool* ok) {
    for (size_t d = 0; d < indices.size(); ++d) {
      *ok = *ok && indices[d].as<VarNode>() != nullptr;
      for (size_t e = 0; e < d; ++e) *ok = *ok && !indices[d].same_as(indices[e]);
    }
    auto [it, fresh] = accesses_.emplace(buffer.get(), indices);
    for (size_t d = 0; !fresh && d < indices.size(); ++d) {
      *ok = *ok && it->second[d].same_as(indices[d]);
    }
  }

  void PadDomains() {
    arith::Analyzer analyzer = AnalyzerAt(*state_, scope_root_);
    for (size_t i = 0; i < padding_.size(); ++i) {
      const IterVar& iter = realize_->block->iter_vars[i];
      PrimExpr multiple = make_const(iter->var->dtype(), padding_[i]);
      PrimExpr padded = analyzer->Simplify(ceildiv(iter->dom->extent, multiple) * multiple);
      SCHEDULE_CHECK(is_zero(iter->dom->min), block_)
          << "The domains of the block {0} have to start at 0";
      grown_.push_back(!analyzer->CanProveEqual(padded, iter->dom->extent));
      extents_.push_back(padded);
    }
  }

  bool NeedsPadding() const {
    for (bool grown : grown_) {
      if (grown) return true;
    }
    return false;
  }

  size_t IterIndex(const PrimExpr& var) const {
    const auto& iters = realize_->block->iter_vars;
    for (size_t i = 0; i < iters.size(); ++i) {
      if (var.same_as(iters[i]->var)) return i;
    }
    TVM_FFI_THROW(InternalError) << "an index of the einsum is no iteration variable";
    TVM_FFI_UNREACHABLE();
  }

  /// Every operand is copied, so that all of the padded part is defined. (Products with what the
  /// buffer happens to hold there could be NaN.)
  bool IsPadded(const Buffer& buffer) {
    const ffi::Array<PrimExpr>& indices = accesses_.at(buffer.get());
    bool grown = false;
    for (const PrimExpr& index : indices) grown = grown || grown_[IterIndex(index)];
    if (!grown) return false;
    if (padded_.count(buffer.get()) == 0) {
      ffi::Array<PrimExpr> shape;
      for (const PrimExpr& index : indices) shape.push_back(extents_[IterIndex(index)]);
      padded_.emplace(buffer.get(), BufferWithShape(buffer, std::string(buffer->name) + "_pad",
                                                    std::string(buffer.scope()), shape));
    }
    return true;
  }

  SBlock PaddedBlock() {
    SBlock block = realize_->block;
    ffi::Map<Buffer, Buffer> renamed;
    for (const auto& [key, indices] : accesses_) {
      Buffer buffer(ffi::GetRef<Var>(static_cast<const VarNode*>(key)));
      if (IsPadded(buffer)) renamed.Set(buffer, padded_[key]);
    }
    block = Downcast<SBlock>(Substituter({}, renamed).Run(block));
    ffi::Array<IterVar> iters;
    for (size_t i = 0; i < extents_.size(); ++i) {
      IterVar iter = block->iter_vars[i];
      iter.CopyOnWrite()->dom = Range::FromMinExtent(iter->dom->min, extents_[i]);
      iters.push_back(iter);
    }
    block.CopyOnWrite()->iter_vars = iters;
    return block;
  }

  struct Nest {
    std::vector<Var> loops;
    std::vector<Range> ranges;
    ffi::Array<IterVar> iters;
    ffi::Array<PrimExpr> values, indices;
  };
  static Nest NestOver(const Buffer& buffer) {
    Nest nest;
    for (const PrimExpr& extent : buffer.shape()) {
      const std::string d = std::to_string(nest.loops.size());
      Var loop("i" + d, extent.dtype()), var("v" + d, extent.dtype());
      Range range = Range::FromMinExtent(make_zero(extent.dtype()), extent);
      nest.loops.push_back(loop);
      nest.ranges.push_back(range);
      nest.iters.push_back(IterVar(range, var, kDataPar));
      nest.values.push_back(loop);
      nest.indices.push_back(var);
    }
    return nest;
  }

  Stmt CopyIn(const Buffer& buffer) {
    const Buffer& padded = padded_[buffer.get()];
    Nest nest = NestOver(padded);
    PrimExpr inside = Bool(true);
    for (size_t d = 0; d < nest.indices.size(); ++d) {
      if (!ExprDeepEqual()(padded.shape()[d], buffer.shape()[d])) {
        inside = Conjoin(inside, nest.indices[d] < buffer.shape()[d]);
      }
    }
    PrimExpr value =
        if_then_else(inside, BufferLoad(buffer, nest.indices), make_zero(buffer.dtype()));
    SBlock block(nest.iters, {BufferRegion::FromPoint(buffer, nest.indices)},
                 {BufferRegion::FromPoint(padded, nest.indices)}, padded->name,
                 BufferStore(padded, value, nest.indices));
    return NestLoops(nest.loops, nest.ranges, SBlockRealize(nest.values, Bool(true), block));
  }

  Stmt CopyOut(const Buffer& buffer) {
    const Buffer& padded = padded_[buffer.get()];
    Nest nest = NestOver(buffer);
    SBlock block(nest.iters, {BufferRegion::FromPoint(padded, nest.indices)},
                 {BufferRegion::FromPoint(buffer, nest.indices)}, padded->name,
                 BufferStore(buffer, BufferLoad(padded, nest.indices), nest.indices));
    return NestLoops(nest.loops, nest.ranges, SBlockRealize(nest.values, Bool(true), block));
  }

  State* state_;
  StmtSRef block_, scope_root_;
  ffi::Array<int64_t> padding_;
  SBlockRealize realize_;
  ffi::Array<StmtSRef> loops_;
  std::unordered_map<const ffi::Object*, ffi::Array<PrimExpr>> accesses_;
  std::unordered_map<const ffi::Object*, Buffer> padded_;
  std::vector<bool> grown_;
  std::vector<PrimExpr> extents_;
};

const PrimitiveRegistration kPadEinsum{{
    .name = "PadEinsum",
    .method = "pad_einsum",
    .params = "block=i0 padding=a0",
    .run = [](PrimitiveCall& call) -> ffi::Array<ffi::Any> {
      EinsumPadder(call.state, call.Block(0), call.Attr<ffi::Array<int64_t>>(0)).Run();
      return {};
    },
}};

}  // namespace

}  // namespace s_tir
}  // namespace tvm
