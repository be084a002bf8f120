// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Rule `cross_row`: reductions over a dimension that is not the innermost, and what is computed of
/// them along it, e.g. softmax or a norm over the channels of NCHW.
///
///   M[n, i] = max over k of X[n, k, i]; S[n, i] = sum over k of exp(X[n, k, i] - M[n, i]);
///   Y[n, k, i] = exp(X[n, k, i] - M[n, i]) / S[n, i]
///
/// One task does all stages of some neighbouring columns i. Reduced values stay in registers, what
/// is dear to compute and used twice in a scratch block [k, columns]. Each step along k reads a
/// few vectors side by side, so that whole cache lines are used.
#include <tvm/ir/expr_functor.h>
#include <tvm/kernels/rule.h>
#include <tvm/target/cpu_features.h>
#include <tvm/tirx/builtin.h>
#include <tvm/tirx/op.h>
#include <tvm/tirx/stmt_functor.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "kernels/contraction_plan.h"
#include "kernels/group.h"
#include "kernels/names.h"

namespace tvm {
namespace kernels {
namespace {

constexpr int64_t kGrain = 16384;  // elements that are worth a thread
constexpr int64_t kMostVectors = 4;
constexpr int64_t kScratchBytes = 1 << 17;  // of all scratch blocks of a task

/// A stage that is computed, not inlined.
struct CrossStage {
  size_t index;
  /// Iterations that the reductions keep, in one order for all stages, and all others.
  std::vector<Iter> kept, inner;
  PrimExpr value;
};

class CrossPlanner {
 public:
  CrossPlanner(const Group& group, std::string* why) : group_(group), why_(why) {}

  std::optional<std::vector<CrossStage>> Plan() {
    std::vector<CrossStage> plan;
    std::vector<Buffer> keep;
    for (size_t i = 0; i < group_.stages.size(); ++i) {
      const Stage& stage = group_.stages[i];
      if (!IsComputed(stage)) continue;
      CrossStage cross{i, {}, {}, InlineProducers(group_, stage.value, static_cast<int>(i), keep)};
      const bool known = !stage.reduce.empty() || group_.IsParam(stage.output);
      if (!known && !ReadsReduced(plan, cross.value)) continue;  // nothing tells its columns
      const bool sorted = stage.reduce.empty() ? SortMap(plan, &cross) : SortReduction(&cross);
      if (!sorted || !ReadsAreOwn(plan, cross)) return std::nullopt;
      plan.push_back(std::move(cross));
      keep.push_back(stage.output);
    }
    if (extents_.empty()) return Decline("no reduction that keeps a dimension"), std::nullopt;
    return plan;
  }

 private:
  bool Decline(const char* reason) {
    *why_ = reason;
    return false;
  }

  bool IsComputed(const Stage& stage) const {
    if (!stage.reduce.empty() || group_.IsParam(stage.output)) return true;
    int readers = 0;
    for (const Stage& other : group_.stages) {
      for (const Buffer& read : ReadBuffers(other.value)) readers += read.same_as(stage.output);
    }
    return readers > 1 && IsDear(stage.value);
  }

  bool ReadsReduced(const std::vector<CrossStage>& plan, const PrimExpr& value) const {
    const std::vector<Buffer> reads = ReadBuffers(value);
    return std::any_of(reads.begin(), reads.end(), [&](const Buffer& read) {
      const CrossStage* writer = WriterOf(plan, read);
      return writer != nullptr && !group_.stages[writer->index].reduce.empty();
    });
  }

  bool KeepsSame(const std::vector<Iter>& kept) {
    std::vector<int64_t> extents;
    for (const Iter& iter : kept) extents.push_back(iter.extent);
    if (extents_.empty()) extents_ = extents;
    return extents == extents_ || Decline("reductions of different dimensions");
  }

  bool SortReduction(CrossStage* cross) {
    const Stage& stage = group_.stages[cross->index];
    cross->kept = NonUnit(stage.spatial);
    cross->inner = NonUnit(stage.reduce);
    if (cross->kept.empty()) return Decline("a reduction to a single value");
    return KeepsSame(cross->kept);
  }

  /// What a stage without a reduction keeps shows in how it reads reduced values.
  bool SortMap(const std::vector<CrossStage>& plan, CrossStage* cross) {
    const Stage& stage = group_.stages[cross->index];
    bool ok = true;
    PostOrderVisitExpr(cross->value, [&](const Expr& node) {
      const auto* load = node.as<BufferLoadNode>();
      const CrossStage* writer = load == nullptr ? nullptr : WriterOf(plan, load->buffer);
      if (writer == nullptr || group_.stages[writer->index].reduce.empty()) return;
      std::vector<Iter> kept;
      for (size_t d = 0; d < load->indices.size(); ++d) {
        if (is_one(load->buffer.shape()[d])) continue;
        const Iter* iter = Find(stage.spatial, load->indices[d]);
        ok = ok && iter != nullptr;
        if (iter != nullptr) kept.push_back(*iter);
      }
      if (cross->kept.empty()) cross->kept = kept;
      ok = ok && kept.size() == cross->kept.size();
      for (size_t d = 0; ok && d < kept.size(); ++d) {
        ok = kept[d].var.same_as(cross->kept[d].var);
      }
    });
    if (!ok) return Decline("a stage reads another column");
    if (cross->kept.empty()) return Decline("a stage reads no reduced value");
    for (const Iter& iter : NonUnit(stage.spatial)) {
      if (Find(cross->kept, iter.var) == nullptr) cross->inner.push_back(iter);
    }
    return KeepsSame(cross->kept);
  }

  /// Every read of a computed stage must be of the same column.
  bool ReadsAreOwn(const std::vector<CrossStage>& plan, const CrossStage& cross) {
    bool ok = true;
    PostOrderVisitExpr(cross.value, [&](const Expr& node) {
      const auto* load = node.as<BufferLoadNode>();
      if (load == nullptr) return;
      const CrossStage* writer = WriterOf(plan, load->buffer);
      ok = ok && (writer != nullptr || group_.IsParam(load->buffer));
      if (writer == nullptr || !ok) return;
      const Stage& stage = group_.stages[writer->index];
      for (size_t d = 0; d < load->indices.size(); ++d) {
        if (is_one(load->buffer.shape()[d])) continue;
        const auto* place = stage.indices[d].as<VarNode>();
        ok = ok && place != nullptr;
        for (size_t p = 0; ok && p < writer->kept.size(); ++p) {
          if (writer->kept[p].var.get() == place) ok = load->indices[d].same_as(cross.kept[p].var);
        }
      }
    });
    return ok || Decline("a stage reads another column");
  }

  const CrossStage* WriterOf(const std::vector<CrossStage>& plan, const Buffer& buffer) const {
    for (const CrossStage& stage : plan) {
      if (group_.stages[stage.index].output.same_as(buffer)) return &stage;
    }
    return nullptr;
  }

  static const Iter* Find(const std::vector<Iter>& iters, const PrimExpr& var) {
    for (const Iter& iter : iters) {
      if (var.same_as(iter.var)) return &iter;
    }
    return nullptr;
  }

  const Group& group_;
  std::string* why_;
  std::vector<int64_t> extents_;
};

class CrossEmitter {
 public:
  CrossEmitter(const Group& group, std::vector<CrossStage> plan, const Target& target,
               const KernelKnobs& knobs)
      : group_(group), plan_(std::move(plan)), target_(target), knobs_(knobs) {
    for (const CrossStage& stage : plan_) {
      for (const auto* iters : {&stage.kept, &stage.inner}) {
        for (const Iter& iter : *iters) access_.Bind(iter.var, iter.extent);
      }
    }
  }

  /// False when no kept dimension is contiguous in all operands.
  bool FindColumns() {
    for (fused_ = plan_[0].kept.size(); fused_ > 0; --fused_) {
      if (std::all_of(plan_.begin(), plan_.end(),
                      [&](const CrossStage& stage) { return IsContiguous(stage); })) {
        return true;
      }
    }
    return false;
  }

  Stmt Emit() {
    ChooseVectors();
    const std::vector<Iter>& kept = plan_[0].kept;
    std::vector<Iter> outer(kept.begin(), kept.end() - static_cast<int64_t>(fused_));
    const int64_t columns = Columns(), width = vectors_ * lanes_;
    const int64_t blocks = CeilDiv(columns, width), rest = columns % width;
    const int64_t tasks = Product(outer) * blocks;
    Var task = IndexVar("task");
    access_.Bind(task, tasks);
    access_.Bind(base_, columns);
    const PrimExpr block = access_.Simplify(floormod(task, Index(blocks)));
    const auto digits = Digits(outer, access_.Simplify(floordiv(task, Index(blocks))));
    for (const Iter& iter : outer) digits_.push_back(access_.Simplify(digits[iter.var]));
    Stmt body = blocks == 1 ? Block(columns) : Block(width);
    if (blocks > 1 && rest > 0) body = IfThenElse(block < Index(blocks - 1), body, Block(rest));
    body = SeqStmt::Flatten(Bind(base_, block * Index(width)), body);
    int64_t work = 0;
    for (const CrossStage& stage : plan_) work = std::max(work, Columns() * Depth(stage));
    const bool parallel = Knob(knobs_, "parallel", work * Product(outer) >= kGrain) != 0;
    return access_.Wrap(parallel ? ParallelLoop(task, tasks, body) : Loop(task, tasks, body));
  }

 private:
  std::vector<Iter> Fused(const CrossStage& stage) const {
    return {stage.kept.end() - static_cast<int64_t>(fused_), stage.kept.end()};
  }
  int64_t Columns() const { return Product(Fused(plan_[0])); }
  static int64_t Depth(const CrossStage& stage) { return Product(stage.inner); }

  bool IsContiguous(const CrossStage& stage) {
    const std::vector<Iter> run = Fused(stage);
    const Stage& from = group_.stages[stage.index];
    if (group_.IsParam(from.output)) {
      auto step = access_.FusedCoefficient(access_.Offset(from.output, from.indices), run);
      if (step != 1) return false;
    }
    bool ok = true;
    for (const Iter& iter : run) {
      ok = ok && (fused_ == 1 || !UsesOutsideOfLoads(stage.value, iter.var));
    }
    PostOrderVisitExpr(stage.value, [&](const Expr& node) {
      if (const auto* load = node.as<BufferLoadNode>()) {
        for (const PrimExpr& index : load->indices) ok = ok && ReadBuffers(index).empty();
        if (!ok || !group_.IsParam(load->buffer)) return;
        auto step = access_.FusedCoefficient(access_.Offset(load->buffer, load->indices), run);
        ok = ok && step && (*step == 0 || *step == 1);
      } else if (const auto* call = node.as<CallNode>()) {
        if (!call->op.same_as(tirx::builtin::if_then_else())) return;
        for (const Iter& iter : run) ok = ok && !UsesVar(call->args[0], iter.var);
      }
    });
    return ok;
  }

  void ChooseVectors() {
    int bits = 8;
    int64_t scratch = 0;  // bytes of one column
    for (const CrossStage& stage : plan_) {
      const Stage& from = group_.stages[stage.index];
      bits = std::max(bits, from.output.dtype().bits());
      for (const Buffer& read : ReadBuffers(stage.value)) {
        bits = std::max(bits, read.dtype().bits());
      }
      if (IsScratch(from)) scratch += Depth(stage) * from.output.dtype().bytes();
    }
    lanes_ = VectorLanes(DataType::Int(bits), target_);
    const int64_t fit = scratch == 0 ? kMostVectors : kScratchBytes / (scratch * lanes_);
    const int64_t most = std::min({CeilDiv(Columns(), lanes_), fit, kMostVectors});
    vectors_ = Knob(knobs_, "vectors", std::max<int64_t>(1, most));
  }

  bool IsScratch(const Stage& stage) const {
    return stage.reduce.empty() && !group_.IsParam(stage.output);
  }

  /// All stages of the `width` columns from base_ on.
  Stmt Block(int64_t width) {
    Array<Stmt> seq;
    held_.clear();
    pitch_ = CeilDiv(width, lanes_) * lanes_;
    for (const CrossStage& stage : plan_) {
      // Loops of a block have variables of their own.
      CrossStage own = stage;
      Map<Var, PrimExpr> fresh;
      for (Iter& iter : own.inner) {
        Var var = IndexVar("k");
        access_.Bind(var, iter.extent);
        fresh.Set(iter.var, var);
        iter.var = var;
      }
      own.value = Substitute(own.value, fresh);
      group_.stages[stage.index].reduce.empty() ? EmitMap(own, fresh, width, &seq)
                                                : EmitReduction(own, width, &seq);
    }
    return SeqStmt::Flatten(seq);
  }

  /// `body` for each vector of `width` columns, given the column of a lane in its block.
  template <typename F>
  Stmt EachVector(int64_t width, F body) {
    Array<Stmt> seq;
    for (int64_t at = 0; at < width; at += lanes_) {
      Var lane = IndexVar("lane");
      const int64_t valid = std::min(lanes_, width - at);
      access_.Bind(lane, valid);
      seq.push_back(VectorLoop(lane, valid, body(Index(at) + lane)));
    }
    return SeqStmt::Flatten(seq);
  }

  static Stmt Nest(const std::vector<Iter>& loops, Stmt body) {
    for (size_t i = loops.size(); i-- > 0;) body = Loop(loops[i].var, loops[i].extent, body);
    return body;
  }

  void EmitReduction(const CrossStage& stage, int64_t width, Array<Stmt>* seq) {
    const Stage& from = group_.stages[stage.index];
    Buffer acc = FlatAccess::Scratch("acc", pitch_, from.output.dtype(), "local");
    access_.UseAsIs(acc);
    seq->push_back(tirx::AllocBuffer(acc));
    seq->push_back(
        EachVector(width, [&](const PrimExpr& c) { return BufferStore(acc, from.init, {c}); }));
    seq->push_back(Nest(stage.inner, EachVector(width, [&](const PrimExpr& c) {
                          PrimExpr sum = BufferLoad(acc, {c});
                          return BufferStore(acc, Combine(from.kind, sum, Value(stage, c)), {c});
                        })));
    held_.push_back({&from, acc, {}});
    if (!group_.IsParam(from.output)) return;
    seq->push_back(EachVector(width, [&](const PrimExpr& c) {
      return BufferStore(access_.Alias(from.output), BufferLoad(acc, {c}),
                         {Offset(stage, access_.Offset(from.output, from.indices), c)});
    }));
  }

  void EmitMap(const CrossStage& stage, const Map<Var, PrimExpr>& fresh, int64_t width,
               Array<Stmt>* seq) {
    const Stage& from = group_.stages[stage.index];
    if (IsScratch(from)) {
      Buffer block =
          FlatAccess::Scratch("block", Depth(stage) * pitch_, from.output.dtype(), "global");
      access_.UseAsIs(block);
      seq->push_back(tirx::AllocBuffer(block));
      PrimExpr k = Index(0);
      for (const Iter& iter : stage.inner) k = k * Index(iter.extent) + iter.var;
      seq->push_back(Nest(stage.inner, EachVector(width, [&](const PrimExpr& c) {
                            return BufferStore(block, Value(stage, c),
                                               {access_.Simplify(k * Index(pitch_) + c)});
                          })));
      std::vector<Iter> written;
      for (const CrossStage& own : plan_) {
        if (own.index == stage.index) written = own.inner;
      }
      held_.push_back({&from, block, written});
      return;
    }
    Array<PrimExpr> indices =
        from.indices.Map([&](const PrimExpr& index) { return Substitute(index, fresh); });
    const PrimExpr offset = access_.Offset(from.output, indices);
    seq->push_back(Nest(stage.inner, EachVector(width, [&](const PrimExpr& c) {
                          return BufferStore(access_.Alias(from.output), Value(stage, c),
                                             {Offset(stage, offset, c)});
                        })));
  }

  /// Values of the kept iterations that tasks share out; unit iterations are 0.
  Map<Var, PrimExpr> OuterValues(const CrossStage& stage) const {
    Map<Var, PrimExpr> values;
    for (const auto* iters :
         {&group_.stages[stage.index].spatial, &group_.stages[stage.index].reduce}) {
      for (const Iter& iter : *iters) {
        if (iter.extent == 1) values.Set(iter.var, Index(0));
      }
    }
    for (size_t i = 0; i < digits_.size(); ++i) values.Set(stage.kept[i].var, digits_[i]);
    return values;
  }

  /// A flat offset in column base_ + c.
  PrimExpr Offset(const CrossStage& stage, const PrimExpr& offset, const PrimExpr& c) {
    const std::vector<Iter> run = Fused(stage);
    const int64_t step = access_.FusedCoefficient(offset, run).value();
    PrimExpr first = Substitute(Substitute(offset, Zeros(run)), OuterValues(stage));
    return access_.Simplify(first + (PrimExpr(base_) + c) * Index(step));
  }

  /// What a stage computes in column base_ + c.
  PrimExpr Value(const CrossStage& stage, const PrimExpr& c) {
    class Placer : public ExprMutator {
     public:
      Placer(CrossEmitter* self, const CrossStage& stage, const PrimExpr& c)
          : self_(self), stage_(stage), c_(c), outer_(self->OuterValues(stage)) {}

     private:
      Expr VisitExpr_(const BufferLoadNode* op) final {
        for (const Held& held : self_->held_) {
          if (!held.stage->output.same_as(op->buffer)) continue;
          return held.At(op->indices.Map([this](const PrimExpr& i) { return VisitPrimExpr(i); }),
                         self_->pitch_, c_);
        }
        PrimExpr offset = self_->access_.Offset(op->buffer, op->indices);
        return BufferLoad(self_->access_.Alias(op->buffer), {self_->Offset(stage_, offset, c_)});
      }
      Expr VisitExpr_(const VarNode* op) final {
        const Var var = ffi::GetRef<Var>(op);
        if (auto value = outer_.Get(var)) return *value;
        // The only one that is used so: see IsContiguous.
        if (self_->fused_ == 1 && var.same_as(stage_.kept.back().var)) {
          return PrimExpr(self_->base_) + c_;
        }
        return var;
      }
      CrossEmitter* self_;
      const CrossStage& stage_;
      const PrimExpr& c_;
      Map<Var, PrimExpr> outer_;
    };
    return PrimExpr(Placer(this, stage, c)(stage.value));
  }

  /// What a stage left for those after it: [inner, column].
  struct Held {
    const Stage* stage;
    Buffer buffer;
    std::vector<Iter> inner;

    PrimExpr At(const Array<PrimExpr>& indices, int64_t pitch, const PrimExpr& c) const {
      PrimExpr k = Index(0);
      for (const Iter& iter : inner) {
        for (size_t d = 0; d < indices.size(); ++d) {
          if (stage->indices[d].same_as(iter.var)) k = k * Index(iter.extent) + indices[d];
        }
      }
      return BufferLoad(buffer, {k * Index(pitch) + c});
    }
  };

  const Group& group_;
  std::vector<CrossStage> plan_;
  const Target& target_;
  const KernelKnobs& knobs_;
  FlatAccess access_;
  size_t fused_ = 0;  // innermost kept dimensions that make up the columns
  int64_t lanes_ = 1, vectors_ = 1, pitch_ = 1;
  std::vector<PrimExpr> digits_;
  Var base_ = IndexVar("c0");
  std::vector<Held> held_;
};

std::optional<tirx::PrimFunc> EmitCross(const tirx::PrimFunc& func, const Target& target,
                                        const KernelKnobs& knobs, std::string* why) {
  auto group = ParseGroup(func, why);
  if (!group) return std::nullopt;
  auto plan = CrossPlanner(*group, why).Plan();
  if (!plan) return std::nullopt;
  CrossEmitter emitter(*group, *std::move(plan), target, knobs);
  if (!emitter.FindColumns()) {
    *why = "the innermost kept dimension is not contiguous";
    return std::nullopt;
  }
  return ScheduledFunc(func, emitter.Emit());
}

std::vector<KernelCandidate> CrossCandidates(const tirx::PrimFunc&, const Target& target) {
  std::vector<KernelCandidate> list;
  for (int64_t vectors : {1, 2, 4}) list.push_back({{{"vectors", vectors}}, 1});
  if (CpuFeaturesOf(target).num_cores <= 1) return list;
  for (int64_t parallel : {0, 1}) list.push_back({{{"parallel", parallel}}, 2});
  return list;
}

const bool kRegistered = RegisterRule({"cross_row", 58, nullptr, EmitCross, CrossCandidates});

}  // namespace
}  // namespace kernels
}  // namespace tvm
