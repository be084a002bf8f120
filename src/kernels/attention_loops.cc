// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Tasks, panels of queries and blocks of keys: the loops around scores and values.
#include <tvm/ir/expr_functor.h>
#include <tvm/tirx/builtin.h>
#include <tvm/tirx/op.h>
#include <tvm/tirx/stmt_functor.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "kernels/attention_emitter.h"
#include "kernels/contraction_plan.h"
#include "kernels/names.h"

namespace tvm {
namespace kernels {

namespace {

const DataType kFloat = DataType::Float(32);
constexpr int64_t kReuse = 64;  // queries of a task that pay for a copy of keys and values
/// The maximum to begin with. Not -inf: exp(-inf - -inf) would be NaN for a row whose first keys
/// are hidden.
constexpr float kLowest = std::numeric_limits<float>::lowest();

DotStep StepOf(bool narrow, const Target& target) {
  const DataType type = narrow ? DataType::BFloat(16) : kFloat;
  return *ChooseDotStep(type, type, kFloat, target);
}

}  // namespace

AttentionShape ShapeOf(const Attention& a) {
  return {Product(a.batch), a.queries(), a.key.extent, Product(a.depth), a.columns()};
}

AttentionEmitter::AttentionEmitter(const Group& group, Attention a, Epilogue epilogue,
                                   const Target& target, const KernelKnobs& knobs)
    : anchor_(group.stages[group.anchor]),
      a_(std::move(a)),
      epilogue_(std::move(epilogue)),
      target_(target),
      lanes_(VectorLanes(kFloat, target)),
      plan_(PlanAttention(ShapeOf(a_), target, knobs)),
      score_step_(StepOf(a_.narrow_scores && !plan_.few, target)),
      value_step_(StepOf(a_.narrow_values && !plan_.few, target)) {
  for (const auto* iters : {&a_.batch, &a_.rows, &a_.cols, &a_.depth}) {
    for (const Iter& iter : *iters) access_.Bind(iter.var, iter.extent);
  }
  access_.Bind(a_.key.var, a_.key.extent);
  visible_ = ReadCausalMask(a_, &access_);
  const auto* v = a_.v.as<BufferLoadNode>();
  column_stride_ = access_.FusedCoefficient(access_.Offset(v->buffer, v->indices), a_.cols);
  if (plan_.few) return;
  const bool reused = std::min(plan_.group * plan_.width, a_.queries()) >= kReuse;
  copies_k_ = CopiesKeys(reused);
  copies_v_ = value_step_.group > 1 || (reused && (IsFar(a_.v) || v->dtype() != value_step_.b));
  TurnMasks();
}

bool AttentionEmitter::CopiesKeys(bool reused) {
  const auto* load = a_.k.as<BufferLoadNode>();
  if (reused && (IsFar(a_.k) || load->dtype() != score_step_.a)) return true;
  if (score_step_.group == 1) return false;
  // Only whole words that lie in one run can be read as they are.
  const int64_t dims = std::count_if(a_.depth.begin(), a_.depth.end(),
                                     [](const Iter& iter) { return iter.extent > 1; });
  auto step = access_.FusedCoefficient(access_.Offset(load->buffer, load->indices), a_.depth);
  return load->dtype() != score_step_.a || dims != 1 || step != 1 ||
         Product(a_.depth) % score_step_.group != 0;
}

/// Rows of a page apart cost a TLB entry each and fall on each other in the caches: worth a copy of
/// each block.
bool AttentionEmitter::IsFar(const PrimExpr& operand) {
  const auto* load = operand.as<BufferLoadNode>();
  auto step = access_.Coefficient(access_.Offset(load->buffer, load->indices), a_.key.var);
  return step && std::abs(*step) * load->dtype().bytes() > 1024;
}

Stmt AttentionEmitter::Emit() {
  const int64_t groups = CeilDiv(plan_.panels, plan_.group);
  const int64_t tasks = Product(a_.batch) * groups;
  Var task = IndexVar("task"), group = IndexVar("group");
  access_.Bind(task, tasks);
  access_.Bind(group, groups);
  Array<Stmt> seq{Bind(group, access_.Simplify(floormod(task, Index(groups))))};
  const auto digits = Digits(a_.batch, access_.Simplify(floordiv(task, Index(groups))));
  for (const Iter& iter : a_.batch) {
    Var digit = IndexVar("batch");
    access_.Bind(digit, iter.extent);
    seq.push_back(Bind(digit, access_.Simplify(digits[iter.var])));
    values_.Set(iter.var, iter.extent == 1 ? Index(0) : PrimExpr(digit));
  }
  Allocate(&seq);
  first_panel_ = access_.Simplify(PrimExpr(group) * Index(plan_.group));
  ForEachPanel(&seq, [&](const AttentionPanel& panel) { return Begin(panel); });
  Blocks(&seq);
  if (Online()) {
    ForEachPanel(&seq, [&](const AttentionPanel& panel) { return Finish(panel); });
  }
  Stmt body = SeqStmt::Flatten(seq);
  return access_.Wrap(plan_.parallel ? ParallelLoop(task, tasks, body) : Loop(task, tasks, body));
}

Buffer AttentionEmitter::Scratch(const char* name, int64_t size, DataType dtype, Array<Stmt>* seq) {
  Buffer buffer = FlatAccess::Scratch(name, size, dtype, "global");
  access_.UseAsIs(buffer);
  seq->push_back(tirx::AllocBuffer(buffer));
  return buffer;
}

void AttentionEmitter::Allocate(Array<Stmt>* seq) {
  const int64_t depth = DepthWords() * score_step_.group, rows = plan_.group * plan_.width;
  pitch_ = CeilDiv(a_.columns(), lanes_) * lanes_;
  if (!plan_.few) packed_q_ = Scratch("packed_q", rows * depth, score_step_.b, seq);
  // Scores of a block: [key, query] along queries, [query, key] along keys.
  score_pitch_ = plan_.few ? CeilDiv(plan_.block, lanes_) * lanes_ : plan_.width;
  scores_ = Scratch("scores", score_pitch_ * (plan_.few ? plan_.width : plan_.block), kFloat, seq);
  const int64_t keys = KeyWords(plan_.block) * value_step_.group;
  weights_ = value_step_.group > 1 ? Scratch("weights", score_pitch_ * keys, value_step_.a, seq)
                                   : Buffer(scores_);
  max_ = Scratch("max", rows, kFloat, seq);
  sum_ = Scratch("sum", rows, kFloat, seq);
  scale_ = Scratch("scale", plan_.width, kFloat, seq);
  if (Online()) out_ = Scratch("out", rows * pitch_, kFloat, seq);
  if (copies_k_) k_block_ = Scratch("k_block", plan_.block * depth, score_step_.a, seq);
  if (copies_v_) v_block_ = Scratch("v_block", keys * pitch_, value_step_.b, seq);
  for (TurnedMask& mask : turned_) {
    mask.turned = Scratch("mask", plan_.block * plan_.width, kFloat, seq);
  }
}

void AttentionEmitter::ForEachPanel(Array<Stmt>* seq,
                                    const std::function<Stmt(const AttentionPanel&)>& make) {
  Var slot = IndexVar("slot"), row = IndexVar("row0");
  access_.Bind(slot, plan_.group);
  access_.Bind(row, a_.queries());
  PrimExpr index = access_.Simplify(first_panel_ + slot);
  const int64_t rest = a_.queries() - (plan_.panels - 1) * plan_.width;
  Stmt body = make({slot, row, plan_.width});
  if (rest != plan_.width) {
    Stmt last = make({slot, row, rest});
    body = plan_.panels == 1 ? last : IfThenElse(index < Index(plan_.panels - 1), body, last);
  }
  body = SeqStmt::Flatten(Bind(row, index * Index(plan_.width)), body);
  if (plan_.panels % plan_.group != 0) body = IfThenElse(index < Index(plan_.panels), body);
  seq->push_back(Loop(slot, plan_.group, body));
}

PrimExpr AttentionEmitter::At(const PrimExpr& expr, const PrimExpr& row, const PrimExpr& key,
                              const PrimExpr& col) {
  Map<Var, PrimExpr> values = values_;
  if (!a_.rows.empty()) values.Set(a_.rows[0].var, row);
  if (!a_.cols.empty()) values.Set(a_.cols[0].var, col);
  values.Set(a_.key.var, key);
  return access_.Loads(Substitute(expr, values));
}

PrimExpr AttentionEmitter::AtStep(const PrimExpr& operand, const PrimExpr& row, const PrimExpr& key,
                                  const PrimExpr& step) {
  return At(Substitute(operand, Digits(a_.depth, step)), row, key);
}

Stmt AttentionEmitter::OverWidth(int64_t width, const std::function<Stmt(const PrimExpr&)>& body) {
  Iter iter{IndexVar("i"), width};
  return VectorRun(iter, lanes_, body(PrimExpr(iter.var)));
}

int64_t AttentionEmitter::Places(int64_t queries) const {
  return plan_.few ? queries : CeilDiv(queries, lanes_) * lanes_;
}

PrimExpr AttentionEmitter::StateAt(const AttentionPanel& panel, const PrimExpr& query) {
  return access_.Simplify(PrimExpr(panel.slot) * Index(plan_.width) + query);
}

Stmt AttentionEmitter::Begin(const AttentionPanel& panel) {
  Array<Stmt> seq;
  if (!plan_.few) {
    AttentionPacker packer{&access_,          lanes_,   plan_.width, Product(a_.depth),
                           score_step_.group, packed_q_};
    PrimExpr base = PrimExpr(panel.slot) * Index(plan_.width * DepthWords() * score_step_.group);
    seq.push_back(packer.Pack(panel, base, [&](const PrimExpr& row, const PrimExpr& step) {
      return AtStep(a_.q, row, Index(0), step);
    }));
  }
  seq.push_back(OverWidth(Places(panel.queries), [&](const PrimExpr& i) {
    return SeqStmt::Flatten(BufferStore(max_, FloatImm(kFloat, kLowest), {StateAt(panel, i)}),
                            BufferStore(sum_, make_zero(kFloat), {StateAt(panel, i)}));
  }));
  if (Online()) {
    Stmt clear = OverWidth(panel.queries * pitch_, [&](const PrimExpr& i) {
      PrimExpr at = PrimExpr(panel.slot) * Index(plan_.width * pitch_) + i;
      return BufferStore(out_, make_zero(kFloat), {at});
    });
    seq.push_back(clear);
  }
  return SeqStmt::Flatten(seq);
}

std::pair<PrimExpr, PrimExpr> AttentionEmitter::VisibleBlocks() {
  PrimExpr first = Index(0), end = Index(plan_.blocks);
  if (!visible_ || !Online()) return {first, end};
  PrimExpr top = first_panel_ * Index(plan_.width);
  if (visible_->window) {
    PrimExpr key = top + Index(visible_->shift - *visible_->window + 1);
    first = access_.Simplify(max(Index(0), floordiv(key, Index(plan_.block))));
  }
  PrimExpr bottom =
      min(top + Index(plan_.group * plan_.width), Index(a_.queries())) + Index(visible_->shift);
  return {first, access_.Simplify(
                     min(end, floordiv(bottom + Index(plan_.block - 1), Index(plan_.block))))};
}

void AttentionEmitter::Blocks(Array<Stmt>* seq) {
  const int64_t rest = a_.key.extent - (plan_.blocks - 1) * plan_.block;
  const auto [first, end] = VisibleBlocks();
  auto block = [&](const PrimExpr& index, int64_t keys) {
    Var key = IndexVar("key0");
    access_.Bind(key, a_.key.extent);
    Array<Stmt> body{Bind(key, index * Index(plan_.block))};
    if (copies_k_) body.push_back(CopyKeys(key, keys));
    if (copies_v_) body.push_back(CopyValues(key, keys));
    ForEachPanel(&body, [&](const AttentionPanel& panel) { return Step(panel, key, keys); });
    return SeqStmt::Flatten(body);
  };
  const int64_t whole = rest == plan_.block ? plan_.blocks : plan_.blocks - 1;
  if (whole > 0) {
    Var index = IndexVar("block");
    access_.Bind(index, plan_.blocks);
    PrimExpr stop = access_.Simplify(min(end, Index(whole)));
    seq->push_back(For(index, first, access_.Simplify(max(Index(0), stop - first)),
                       ForKind::kSerial, block(index, plan_.block)));
  }
  if (whole < plan_.blocks) {
    Stmt tail = block(Index(whole), rest);
    const bool always = is_const_int(end, plan_.blocks);
    seq->push_back(always ? tail : IfThenElse(end == Index(plan_.blocks), tail));
  }
}

Stmt AttentionEmitter::Step(const AttentionPanel& panel, const Var& key0, int64_t keys) {
  Array<Stmt> seq;
  // The new maximum takes shape while scores are stored; the old one waits in scale_.
  const int64_t places = Places(panel.queries);
  if (Online()) {
    seq.push_back(OverWidth(places, [&](const PrimExpr& i) {
      return BufferStore(scale_, BufferLoad(max_, {StateAt(panel, i)}), {i});
    }));
  }
  seq.push_back(plan_.few ? FewScores(panel, key0, keys) : ManyScores(panel, key0, keys));
  if (Online()) {
    seq.push_back(OverWidth(places, [&](const PrimExpr& i) {
      PrimExpr at = StateAt(panel, i), old = BufferLoad(scale_, {i});
      PrimExpr scale = BufferLoad(scale_, {i});
      return SeqStmt::Flatten(BufferStore(scale_, exp(old - BufferLoad(max_, {at})), {i}),
                              BufferStore(sum_, BufferLoad(sum_, {at}) * scale, {at}));
    }));
  }
  seq.push_back(plan_.few ? FewExponentials(panel, keys) : ManyExponentials(panel, keys));
  if (!Online()) seq.push_back(Reciprocals(panel));
  seq.push_back(WeighValues(panel, key0, keys));
  return SeqStmt::Flatten(seq);
}

Stmt AttentionEmitter::Reciprocals(const AttentionPanel& panel) {
  return OverWidth(Places(panel.queries), [&](const PrimExpr& i) {
    PrimExpr one = make_const(kFloat, 1.0);
    return BufferStore(scale_, tirx::Div(one, BufferLoad(sum_, {StateAt(panel, i)})), {i});
  });
}

Stmt AttentionEmitter::Finish(const AttentionPanel& panel) {
  Var query = IndexVar("query");
  access_.Bind(query, panel.queries);
  Iter column{IndexVar("column"), a_.columns()};
  access_.Bind(column.var, column.extent);
  PrimExpr scale = BufferLoad(scale_, {PrimExpr(query)});
  PrimExpr result = BufferLoad(out_, {OutAt(panel, query, column.var)}) * scale;
  Stmt store = StoreResult(result, PrimExpr(panel.row) + query, column.var);
  return SeqStmt::Flatten(Reciprocals(panel),
                          Loop(query, panel.queries, VectorRun(column, lanes_, store)));
}

}  // namespace kernels
}  // namespace tvm
