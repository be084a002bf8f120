// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Rules `row` and `column`: groups with reductions, e.g. softmax, layer norm, mean, global
/// pooling.
///
/// row: every reduction runs over the innermost elements of one row. One task does all stages of a
/// row while it lies in the cache; reduced values stay in scalars, rows that are dear to compute
/// and used twice (the exponentials of softmax) in a scratch row.
///
///   parallel row: max = reduce(x[row, :]); e[:] = exp(x[row, :] - max); s = reduce(e[:]);
///                 y[row, :] = e[:] / s
///
/// column: one reduction over outer dimensions; vectors run along the innermost kept dimension.
#include <tvm/ir/expr_functor.h>
#include <tvm/kernels/rule.h>
#include <tvm/target/cpu_features.h>
#include <tvm/tirx/builtin.h>
#include <tvm/tirx/op.h>
#include <tvm/tirx/stmt_functor.h>

#include <algorithm>
#include <utility>

#include "kernels/contraction_plan.h"
#include "kernels/epilogue.h"
#include "kernels/group.h"
#include "kernels/names.h"

namespace tvm {
namespace kernels {
namespace {

constexpr int64_t kGrain = 16384;
/// Independent partial results of a reduction, in vectors: they hide the latency of one.
constexpr int64_t kUnroll = 4;

/// How the stages of a group share their rows.
struct RowPlan {
  std::vector<int64_t> rows;  ///< extents of the row dimensions
  std::vector<bool> kept;     ///< stages that are computed, the others are inlined
};

class RowPlanner {
 public:
  RowPlanner(const Group& group, std::string* why) : group_(group), why_(why) {}

  std::optional<RowPlan> Plan() {
    RowPlan plan;
    bool found = false;
    for (const Stage& stage : group_.stages) {
      if (stage.reduce.empty()) continue;
      std::vector<int64_t> rows;
      for (const Iter& iter : NonUnit(stage.spatial)) rows.push_back(iter.extent);
      if (found && rows != plan.rows) return Decline("reductions of different rows");
      plan.rows = rows;
      found = true;
    }
    if (!found) return Decline("no reduction");
    for (size_t i = 0; i < group_.stages.size(); ++i) {
      const Stage& stage = group_.stages[i];
      plan.kept.push_back(!stage.reduce.empty() || group_.IsParam(stage.output) ||
                          (Readers(stage.output) > 1 && IsDear(stage.value)));
      std::vector<Iter> iters = NonUnit(stage.spatial);
      const size_t depth = plan.rows.size();
      if (plan.kept.back() && iters.size() < depth) return Decline("a stage lacks rows");
      for (size_t j = 0; plan.kept.back() && j < depth; ++j) {
        if (iters[j].extent != plan.rows[j]) return Decline("rows do not line up");
      }
    }
    return CheckReads(plan) ? std::optional<RowPlan>(plan) : std::nullopt;
  }

 private:
  std::nullopt_t Decline(const char* reason) {
    *why_ = reason;
    return std::nullopt;
  }

  int Readers(const Buffer& buffer) const {
    int count = 0;
    for (const Stage& stage : group_.stages) {
      for (const Buffer& read : ReadBuffers(stage.value)) count += read.same_as(buffer);
    }
    return count;
  }

  /// Every read of a computed stage must be of the same row.
  bool CheckReads(const RowPlan& plan) {
    std::vector<Buffer> keep;
    for (size_t i = 0; i < group_.stages.size(); ++i) {
      const Stage& stage = group_.stages[i];
      if (plan.kept[i]) {
        PrimExpr value = InlineProducers(group_, stage.value, static_cast<int>(i), keep);
        std::vector<Iter> rows = NonUnit(stage.spatial);
        bool ok = true;
        PostOrderVisitExpr(value, [&](const Expr& node) {
          const auto* load = node.as<BufferLoadNode>();
          const int writer = load == nullptr ? -1 : group_.Writer(load->buffer);
          if (writer >= 0) ok = ok && SameRow(*load, group_.stages[writer], rows, plan);
        });
        if (!ok) {
          *why_ = "a stage reads another row";
          return false;
        }
        keep.push_back(stage.output);
      }
    }
    return true;
  }

  static bool SameRow(const BufferLoadNode& load, const Stage& writer,
                      const std::vector<Iter>& rows, const RowPlan& plan) {
    size_t row = 0;
    for (size_t i = 0; i < load.indices.size() && row < plan.rows.size(); ++i) {
      const auto* var = writer.indices[i].as<VarNode>();
      if (var == nullptr || is_one(writer.output.shape()[i])) continue;
      if (!load.indices[i].same_as(rows[row].var)) return false;
      ++row;
    }
    return row == plan.rows.size();
  }

  const Group& group_;
  std::string* why_;
};

class RowEmitter {
 public:
  RowEmitter(const Group& group, RowPlan plan, const Target& target, const KernelKnobs& knobs)
      : group_(group), plan_(std::move(plan)), target_(target), knobs_(knobs) {}

  Stmt Emit() {
    int64_t rows = 1, work = 0;
    for (int64_t extent : plan_.rows) rows *= extent;
    for (const Stage& stage : group_.stages) {
      work = std::max(work, Product(stage.spatial) * Product(stage.reduce));
    }
    Var task = IndexVar("row");
    access_.Bind(task, rows);
    PrimExpr rest = task;
    digits_.resize(plan_.rows.size());
    for (size_t i = plan_.rows.size(); i-- > 0;) {
      digits_[i] = access_.Simplify(i == 0 ? rest : floormod(rest, Index(plan_.rows[i])));
      rest = floordiv(rest, Index(plan_.rows[i]));
    }
    Array<Stmt> seq;
    for (size_t i = 0; i < group_.stages.size(); ++i) {
      if (!plan_.kept[i]) continue;
      const Stage& stage = group_.stages[i];
      stage.reduce.empty() ? EmitMap(i, &seq) : EmitReduction(i, &seq);
      keep_.push_back(stage.output);
    }
    Stmt body = SeqStmt::Flatten(seq);
    const bool parallel = Knob(knobs_, "parallel", work >= kGrain) != 0;
    return access_.Wrap(parallel ? ParallelLoop(task, rows, body) : Loop(task, rows, body));
  }

 private:
  /// Values of the row iterations of a stage; unit iterations are 0.
  Map<Var, PrimExpr> RowValues(const Stage& stage) {
    Map<Var, PrimExpr> values;
    size_t row = 0;
    for (const Iter& iter : stage.spatial) {
      if (iter.extent == 1) {
        values.Set(iter.var, Index(0));
      } else if (row < digits_.size()) {
        values.Set(iter.var, digits_[row++]);
      }
    }
    return values;
  }

  /// Iterations of a stage inside of a row.
  std::vector<Iter> InnerIters(const Stage& stage) const {
    std::vector<Iter> iters = NonUnit(stage.spatial);
    iters.erase(iters.begin(), iters.begin() + static_cast<int64_t>(plan_.rows.size()));
    for (const Iter& iter : stage.reduce) {
      if (iter.extent != 1) iters.push_back(iter);
    }
    return iters;
  }

  /// The value of a stage with rows fixed, loads flat, and its inner iterations as one index.
  PrimExpr RowValue(size_t index, const std::vector<Iter>& inner, const Iter& fused) {
    const Stage& stage = group_.stages[index];
    PrimExpr value = InlineProducers(group_, stage.value, static_cast<int>(index), keep_);
    value = Substitute(value, RowValues(stage));
    for (const Iter& iter : stage.reduce) {
      if (iter.extent == 1) value = Substitute(value, Map<Var, PrimExpr>{{iter.var, Index(0)}});
    }
    class Placer : public ExprMutator {
     public:
      Placer(RowEmitter* self, const std::vector<Iter>& inner, const Iter& fused)
          : self_(self), inner_(inner), fused_(fused) {}

     private:
      Expr VisitExpr_(const BufferLoadNode* op) final {
        Array<PrimExpr> indices =
            op->indices.Map([this](const PrimExpr& index) { return VisitPrimExpr(index); });
        const int writer = self_->group_.Writer(op->buffer);
        if (writer >= 0 && !self_->group_.stages[writer].reduce.empty()) {
          return BufferLoad(self_->local_.at(op->buffer.get()), {Index(0)});
        }
        PrimExpr offset = self_->access_.Offset(op->buffer, op->indices);
        auto local = self_->local_.find(op->buffer.get());
        if (local != self_->local_.end()) {  // only the position inside of the row counts
          offset = self_->InnerOffset(self_->group_.stages[writer], op->indices);
          return BufferLoad(local->second, {self_->Fuse(offset, inner_, fused_)});
        }
        return BufferLoad(self_->access_.Alias(op->buffer), {self_->Fuse(offset, inner_, fused_)});
      }
      Expr VisitExpr_(const VarNode* op) final {
        Var var = ffi::GetRef<Var>(op);
        if (auto digit = Digits(inner_, fused_.var).Get(var)) return *digit;
        return var;
      }
      RowEmitter* self_;
      const std::vector<Iter>& inner_;
      const Iter& fused_;
    };
    for (const Iter& iter : inner) access_.Bind(iter.var, iter.extent);
    return PrimExpr(Placer(this, inner, fused)(value));
  }

  /// Position inside of a row of the stage that wrote the buffer.
  PrimExpr InnerOffset(const Stage& writer, const Array<PrimExpr>& indices) {
    PrimExpr offset = Index(0);
    size_t row = 0;
    for (size_t i = 0; i < indices.size(); ++i) {
      const int64_t extent = *as_const_int(writer.output.shape()[i]);
      if (extent == 1) continue;
      if (row++ < plan_.rows.size()) continue;
      offset = offset * Index(extent) + indices[i];
    }
    return access_.Simplify(offset);
  }

  PrimExpr Fuse(const PrimExpr& offset, const std::vector<Iter>& inner, const Iter& fused) {
    if (auto step = access_.FusedCoefficient(offset, inner)) {
      return access_.Simplify(Substitute(offset, Zeros(inner)) +
                              PrimExpr(fused.var) * Index(*step));
    }
    return access_.Simplify(Substitute(offset, Digits(inner, fused.var)));
  }

  int64_t Lanes(const PrimExpr& value, const Iter& fused, DataType dtype) {
    bool ok = true;
    int bits = dtype.bits();
    PostOrderVisitExpr(value, [&](const Expr& node) {
      if (const auto* load = node.as<BufferLoadNode>()) {
        auto c = access_.Coefficient(load->indices[0], fused.var);
        ok = ok && c && (*c == 0 || *c == 1);
        bits = std::max(bits, load->dtype().bits());
      } else if (const auto* call = node.as<CallNode>()) {
        if (call->op.same_as(tirx::builtin::if_then_else())) {
          ok = ok && !UsesVar(call->args[0], fused.var);
        }
      }
    });
    return ok ? VectorLanes(DataType::Int(std::max(bits, 8)), target_) : 1;
  }

  void EmitReduction(size_t index, Array<Stmt>* seq) {
    const Stage& stage = group_.stages[index];
    std::vector<Iter> inner = InnerIters(stage);
    const DataType dtype = stage.output.dtype();
    Iter fused{IndexVar("k"), Product(inner)};
    access_.Bind(fused.var, fused.extent);
    PrimExpr value = RowValue(index, inner, fused);
    Buffer result = FlatAccess::Scratch("reduced", 1, dtype, "local");
    access_.UseAsIs(result);
    local_.emplace(stage.output.get(), result);
    seq->push_back(tirx::AllocBuffer(result));
    seq->push_back(BufferStore(result, stage.init, {Index(0)}));
    PrimExpr so_far = BufferLoad(result, {Index(0)});
    auto at = [&](const PrimExpr& k) {
      return Substitute(value, Map<Var, PrimExpr>{{fused.var, k}});
    };
    const int64_t lanes = Lanes(value, fused, dtype);
    const int64_t unroll = Knob(knobs_, "unroll", kUnroll);
    const int64_t step = lanes * (fused.extent >= unroll * lanes ? unroll : 1);
    const int64_t whole = lanes == 1 ? 0 : fused.extent / step;
    if (whole > 0) {
      Buffer acc = FlatAccess::Scratch("acc", step, dtype, "local");
      access_.UseAsIs(acc);
      Var lane = IndexVar("lane"), outer = IndexVar("step");
      auto slot = [&](int64_t u) { return Index(u * lanes) + lane; };
      seq->push_back(tirx::AllocBuffer(acc));
      Array<Stmt> body;
      for (int64_t u = 0; u < step / lanes; ++u) {
        seq->push_back(VectorLoop(lane, lanes, BufferStore(acc, stage.init, {slot(u)})));
        PrimExpr k = PrimExpr(outer) * Index(step) + Index(u * lanes) + lane;
        PrimExpr next = Combine(stage.kind, BufferLoad(acc, {slot(u)}), at(k));
        body.push_back(VectorLoop(lane, lanes, BufferStore(acc, next, {slot(u)})));
      }
      seq->push_back(Loop(outer, whole, SeqStmt::Flatten(body)));
      for (int64_t u = 1; u < step / lanes; ++u) {
        PrimExpr next =
            Combine(stage.kind, BufferLoad(acc, {Index(0) + lane}), BufferLoad(acc, {slot(u)}));
        seq->push_back(VectorLoop(lane, lanes, BufferStore(acc, next, {Index(0) + lane})));
      }
      for (int64_t i = 0; i < lanes; ++i) {
        seq->push_back(BufferStore(result, Combine(stage.kind, so_far, BufferLoad(acc, {Index(i)})),
                                   {Index(0)}));
      }
    }
    const int64_t rest = fused.extent - whole * step;
    if (rest > 0) {
      Var k = IndexVar("k");
      PrimExpr next = Combine(stage.kind, so_far, at(Index(whole * step) + k));
      seq->push_back(Loop(k, rest, BufferStore(result, next, {Index(0)})));
    }
    if (group_.IsParam(stage.output)) {
      Array<PrimExpr> indices =
          stage.indices.Map([&](const PrimExpr& i) { return Substitute(i, RowValues(stage)); });
      seq->push_back(BufferStore(access_.Alias(stage.output), so_far,
                                 {access_.Offset(stage.output, indices)}));
    }
  }

  void EmitMap(size_t index, Array<Stmt>* seq) {
    const Stage& stage = group_.stages[index];
    std::vector<Iter> inner = InnerIters(stage);
    Iter fused{IndexVar("i"), Product(inner)};
    access_.Bind(fused.var, fused.extent);
    PrimExpr value = RowValue(index, inner, fused);
    Buffer target;
    PrimExpr offset = fused.var;
    if (group_.IsParam(stage.output)) {
      target = access_.Alias(stage.output);
      Array<PrimExpr> indices =
          stage.indices.Map([&](const PrimExpr& i) { return Substitute(i, RowValues(stage)); });
      offset = Fuse(access_.Offset(stage.output, indices), inner, fused);
    } else {
      target = FlatAccess::Scratch("row", fused.extent, stage.output.dtype(), "global");
      access_.UseAsIs(target);
      local_.emplace(stage.output.get(), target);
      seq->push_back(tirx::AllocBuffer(target));
    }
    const int64_t lanes = Lanes(value, fused, stage.output.dtype());
    Stmt store = BufferStore(target, value, {offset});
    seq->push_back(lanes == 1 ? Loop(fused.var, fused.extent, store)
                              : VectorRun(fused, lanes, store));
  }

  const Group& group_;
  RowPlan plan_;
  const Target& target_;
  const KernelKnobs& knobs_;
  FlatAccess access_;
  std::vector<PrimExpr> digits_;
  std::vector<Buffer> keep_;
  std::unordered_map<const ffi::Object*, Buffer> local_;
};

std::optional<tirx::PrimFunc> EmitRow(const tirx::PrimFunc& func, const Target& target,
                                      const KernelKnobs& knobs, std::string* why) {
  auto group = ParseGroup(func, why);
  if (!group) return std::nullopt;
  auto plan = RowPlanner(*group, why).Plan();
  if (!plan) return std::nullopt;
  return ScheduledFunc(func, RowEmitter(*group, *std::move(plan), target, knobs).Emit());
}

std::vector<KernelCandidate> ParallelOrNot(const tirx::PrimFunc&, const Target& target) {
  if (CpuFeaturesOf(target).num_cores <= 1) return {};
  return {{{{"parallel", 0}}, 1}, {{{"parallel", 1}}, 1}};
}

std::vector<KernelCandidate> RowCandidates(const tirx::PrimFunc& func, const Target& target) {
  std::vector<KernelCandidate> list = ParallelOrNot(func, target);
  for (int64_t unroll : {2, 8}) list.push_back({{{"unroll", unroll}}, 2});
  return list;
}

/// column: C[rows.., c] (+)= f(X[rows.., k.., c]) with c contiguous.
std::optional<tirx::PrimFunc> EmitColumn(const tirx::PrimFunc& func, const Target& target,
                                         const KernelKnobs& knobs, std::string* why) {
  auto group = ParseGroup(func, why);
  if (!group) return std::nullopt;
  const auto decline = Decliner(why);
  int reduction = -1;
  for (size_t i = 0; i < group->stages.size(); ++i) {
    if (group->stages[i].reduce.empty()) continue;
    if (reduction >= 0) return decline("several reductions");
    reduction = static_cast<int>(i);
  }
  if (reduction < 0) return decline("no reduction");
  group->anchor = reduction;
  const Stage& stage = group->stages[reduction];
  std::vector<Iter> kept = NonUnit(stage.spatial);
  if (kept.empty()) return decline("nothing but a scalar is kept");
  auto epilogue = ReadEpilogue(*group, why);
  if (!epilogue) return std::nullopt;
  FlatAccess access;
  for (const auto* iters : {&stage.spatial, &stage.reduce}) {
    for (const Iter& iter : *iters) access.Bind(iter.var, iter.extent);
  }
  Map<Var, PrimExpr> unit;
  for (const Iter& iter : stage.spatial) {
    if (iter.extent == 1) unit.Set(iter.var, Index(0));
  }
  PrimExpr value = access.Loads(Substitute(InlineProducers(*group, stage.value, reduction), unit));
  const Iter channel = kept.back();
  bool contiguous = true;
  PostOrderVisitExpr(value, [&](const Expr& node) {
    if (const auto* load = node.as<BufferLoadNode>()) {
      auto c = access.Coefficient(load->indices[0], channel.var);
      contiguous = contiguous && c && (*c == 0 || *c == 1);
    }
  });
  if (!contiguous) return decline("the innermost kept dimension is not contiguous");
  const DataType dtype = stage.output.dtype();
  const int64_t lanes = VectorLanes(dtype, target);
  const int64_t blocks = (channel.extent + lanes - 1) / lanes;
  kept.pop_back();
  Var task = IndexVar("task"), base = IndexVar("c0");
  const int64_t tasks = Product(kept) * blocks;
  access.Bind(task, tasks);
  auto body = [&](int64_t width) {
    Buffer acc = FlatAccess::Scratch("acc", lanes, dtype, "local");
    access.UseAsIs(acc);
    Var lane = IndexVar("lane");
    auto at = [&](const PrimExpr& expr) {
      return Substitute(expr, Map<Var, PrimExpr>{{channel.var, PrimExpr(base) + lane}});
    };
    PrimExpr sum = BufferLoad(acc, {PrimExpr(lane)});
    Stmt update = VectorLoop(
        lane, width, BufferStore(acc, Combine(stage.kind, sum, at(value)), {PrimExpr(lane)}));
    for (size_t i = stage.reduce.size(); i-- > 0;) {
      update = Loop(stage.reduce[i].var, stage.reduce[i].extent, update);
    }
    PrimExpr result = sum;
    if (epilogue->value.defined()) {
      Var stand_in("result", dtype);
      result = access.Loads(ReplaceLoads(epilogue->value, stage.output, PrimExpr(stand_in)));
      result = at(Substitute(Substitute(result, unit), Map<Var, PrimExpr>{{stand_in, sum}}));
    }
    Array<PrimExpr> indices =
        epilogue->indices.Map([&](const PrimExpr& index) { return Substitute(index, unit); });
    PrimExpr offset = at(access.Offset(epilogue->stage->output, indices));
    return SeqStmt::Flatten(
        tirx::AllocBuffer(acc),
        VectorLoop(lane, width, BufferStore(acc, stage.init, {PrimExpr(lane)})), update,
        VectorLoop(lane, width,
                   BufferStore(access.Alias(epilogue->stage->output), result, {offset})));
  };
  PrimExpr block = access.Simplify(floormod(task, Index(blocks)));
  const int64_t rest = channel.extent % lanes;
  Stmt inner = rest == 0     ? body(lanes)
               : blocks == 1 ? body(rest)
                             : tirx::IfThenElse(block < Index(blocks - 1), body(lanes), body(rest));
  inner = SeqStmt::Flatten(tirx::Bind(base, block * Index(lanes)), inner);
  Map<Var, Expr> digits;
  for (const auto& [var, digit] : Digits(kept, access.Simplify(floordiv(task, Index(blocks))))) {
    digits.Set(var, access.Simplify(digit));
  }
  inner = tirx::Substitute(inner, digits);
  const int64_t work = Product(stage.spatial) * Product(stage.reduce);
  const bool parallel = Knob(knobs, "parallel", work >= kGrain) != 0;
  return ScheduledFunc(
      func, access.Wrap(parallel ? ParallelLoop(task, tasks, inner) : Loop(task, tasks, inner)));
}

/// Columns come first: they decline when the kept dimension is not contiguous.
const bool kColumn = RegisterRule({"column", 60, nullptr, EmitColumn, ParallelOrNot});
const bool kRow = RegisterRule({"row", 55, nullptr, EmitRow, RowCandidates});

}  // namespace
}  // namespace kernels
}  // namespace tvm
