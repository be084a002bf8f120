// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Rule `attention`: softmax(Q K^T ..) V of float32 without the matrix of scores.
///
/// A task owns some panels of queries of one head and walks over the keys block by block. Of each
/// query it keeps the largest score so far, the sum of exponentials, and the sum of rows of V that
/// they weigh; a new maximum scales both sums down (online softmax):
///
///   parallel task: pack Q of its panels
///     for block of keys: for panel:
///       s = score(Q K^T); m' = max(m, s); w = exp(m - m'); e = exp(s - m')
///       l = l * w + sum(e); O = O * w + e V; m = m'
///     out = O / l
///
/// With many queries vectors run along them: K and V are read in place, element by element, and
/// only Q is transposed. With few queries (decoding) they run along the head size, and products of
/// a register's worth of keys are added up by a tree of shuffles.
///
/// Special values: a NaN or +inf among the scores of a row, or a row hidden from all keys, gives
/// NaN, as softmax does by itself. Keys that a causal mask hides from a whole panel are not read.
/// Rows of V are added up before the division: magnitudes near the largest float can overflow.
///
/// Longer than usual: both forms share the buffers, the walk over blocks, and the last product.
#include <tvm/ir/expr_functor.h>
#include <tvm/ir/transform.h>
#include <tvm/kernels/rule.h>
#include <tvm/tirx/builtin.h>
#include <tvm/tirx/op.h>
#include <tvm/tirx/stmt_functor.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "kernels/attention_match.h"
#include "kernels/attention_plan.h"
#include "kernels/attention_tile.h"
#include "kernels/contraction_plan.h"
#include "kernels/epilogue.h"
#include "kernels/group.h"
#include "kernels/register_tile.h"

namespace tvm {
namespace kernels {
namespace {

using ffi::Array;
using ffi::Map;
using tirx::Bind;
using tirx::Buffer;
using tirx::BufferLoad;
using tirx::BufferLoadNode;
using tirx::BufferStore;
using tirx::For;
using tirx::ForKind;
using tirx::IfThenElse;
using tirx::SeqStmt;
using tirx::Stmt;

const DataType kFloat = DataType::Float(32);
constexpr const char* kRuleName = "attention";
constexpr const char* kOption = "kernels.attention";
constexpr int64_t kReuse = 64;  // queries of a task that pay for a copy of keys and values
/// The maximum to begin with. Not -inf: exp(-inf - -inf) would be NaN for a row whose first keys
/// are hidden.
constexpr float kLowest = std::numeric_limits<float>::lowest();

/// A load of the scores that is turned first.
struct TurnedMask {
  PrimExpr load;
  Var value;  ///< in its place
  Buffer turned;
};

class AttentionEmitter {
 public:
  AttentionEmitter(const Group& group, Attention a, Epilogue epilogue, const Target& target)
      : anchor_(group.stages[group.anchor]),
        a_(std::move(a)),
        epilogue_(std::move(epilogue)),
        target_(target),
        lanes_(VectorLanes(kFloat, target)),
        plan_(PlanAttention(Product(a_.batch), a_.queries(), a_.key.extent, Product(a_.depth),
                            a_.columns(), target)) {
    for (const auto* iters : {&a_.batch, &a_.rows, &a_.cols, &a_.depth}) {
      for (const Iter& iter : *iters) access_.Bind(iter.var, iter.extent);
    }
    access_.Bind(a_.key.var, a_.key.extent);
    visible_ = ReadCausalMask(a_, &access_);
    const auto* v = a_.v.as<BufferLoadNode>();
    value_step_ = access_.FusedCoefficient(access_.Offset(v->buffer, v->indices), a_.cols);
    if (plan_.few) return;
    const bool reused = std::min(plan_.group * plan_.width, a_.queries()) >= kReuse;
    copies_k_ = reused && IsFar(a_.k);
    copies_v_ = reused && IsFar(a_.v);
    TurnMasks();
  }

  /// Whether columns of V lie at equal distances, so that vectors can run along them.
  bool CanEmit() const { return value_step_.has_value(); }

  Stmt Emit() {
    const int64_t groups = CeilDiv(plan_.panels, plan_.group);
    const int64_t tasks = Product(a_.batch) * groups;
    Var task = IndexVar("task"), group = IndexVar("group");
    access_.Bind(task, tasks);
    access_.Bind(group, groups);
    Array<Stmt> seq{Bind(group, access_.Simplify(floormod(task, Index(groups))))};
    PrimExpr rest = access_.Simplify(floordiv(task, Index(groups)));
    for (size_t i = a_.batch.size(); i-- > 0;) {
      const Iter& iter = a_.batch[i];
      Var digit = IndexVar("batch");
      access_.Bind(digit, iter.extent);
      PrimExpr value = i == 0 ? rest : floormod(rest, Index(iter.extent));
      seq.push_back(Bind(digit, iter.extent == 1 ? Index(0) : access_.Simplify(value)));
      values_.Set(iter.var, iter.extent == 1 ? Index(0) : PrimExpr(digit));
      rest = floordiv(rest, Index(iter.extent));
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

 private:
  /// Whether results gather over several blocks of keys.
  bool Online() const { return plan_.blocks > 1; }

  /// Rows of a page apart cost a TLB entry each and fall on each other in the caches: worth a copy
  /// of each block.
  bool IsFar(const PrimExpr& operand) {
    const auto* load = operand.as<BufferLoadNode>();
    auto step = access_.Coefficient(access_.Offset(load->buffer, load->indices), a_.key.var);
    return step && std::abs(*step) * kFloat.bytes() > 1024;
  }

  /// What the scores read along keys, e.g. a mask of its own for each row, is turned block by block
  /// for vectors along queries.
  void TurnMasks() {
    std::vector<PrimExpr> loads;
    PostOrderVisitExpr(a_.score, [&](const Expr& node) {
      const auto* load = node.as<BufferLoadNode>();
      if (load == nullptr || load->dtype() != kFloat || a_.rows.empty()) return;
      PrimExpr at = access_.Offset(load->buffer, load->indices);
      auto by_row = access_.Coefficient(at, a_.rows[0].var);
      auto by_key = access_.Coefficient(at, a_.key.var);
      if (by_row && *by_row > 1 && by_key == 1) loads.push_back(ffi::GetRef<PrimExpr>(load));
    });
    for (const PrimExpr& load : loads) {
      const Buffer& buffer = load.as<BufferLoadNode>()->buffer;
      const bool known = std::any_of(turned_.begin(), turned_.end(), [&](const TurnedMask& t) {
        return t.load.as<BufferLoadNode>()->buffer.same_as(buffer);
      });
      if (known) continue;  // other reads of the same buffer stay as they are
      turned_.push_back({load, Var("mask", kFloat), Buffer()});
      a_.score = ReplaceEqual(a_.score, load, turned_.back().value);
    }
  }

  Buffer Scratch(const char* name, int64_t size, Array<Stmt>* seq) {
    Buffer buffer = FlatAccess::Scratch(name, size, kFloat, "global");
    access_.UseAsIs(buffer);
    seq->push_back(tirx::AllocBuffer(buffer));
    return buffer;
  }

  void Allocate(Array<Stmt>* seq) {
    const int64_t depth = Product(a_.depth), rows = plan_.group * plan_.width;
    pitch_ = CeilDiv(a_.columns(), lanes_) * lanes_;
    if (!plan_.few) packed_q_ = Scratch("packed_q", rows * depth, seq);
    // Scores of a block: [key, query] along queries, [query, key] along keys.
    score_pitch_ = plan_.few ? CeilDiv(plan_.block, lanes_) * lanes_ : plan_.width;
    scores_ = Scratch("scores", score_pitch_ * (plan_.few ? plan_.width : plan_.block), seq);
    max_ = Scratch("max", rows, seq);
    sum_ = Scratch("sum", rows, seq);
    scale_ = Scratch("scale", plan_.width, seq);
    if (Online()) out_ = Scratch("out", rows * pitch_, seq);
    if (copies_k_) k_block_ = Scratch("k_block", plan_.block * depth, seq);
    if (copies_v_) v_block_ = Scratch("v_block", plan_.block * pitch_, seq);
    for (TurnedMask& mask : turned_) {
      mask.turned = Scratch("mask", plan_.block * plan_.width, seq);
    }
  }

  /// `make` for each panel of the task; the last panel of a head may have fewer queries.
  void ForEachPanel(Array<Stmt>* seq, const std::function<Stmt(const AttentionPanel&)>& make) {
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

  /// An expression in the iterations of the anchor, at a row, key and column.
  PrimExpr At(const PrimExpr& expr, const PrimExpr& row, const PrimExpr& key,
              const PrimExpr& col = Index(0)) {
    Map<Var, PrimExpr> values = values_;
    if (!a_.rows.empty()) values.Set(a_.rows[0].var, row);
    if (!a_.cols.empty()) values.Set(a_.cols[0].var, col);
    values.Set(a_.key.var, key);
    return access_.Loads(Substitute(expr, values));
  }

  /// An operand of the scores at one step of the depth.
  PrimExpr AtStep(const PrimExpr& operand, const PrimExpr& row, const PrimExpr& key,
                  const PrimExpr& step) {
    Map<Var, PrimExpr> digits;
    PrimExpr rest = step;
    for (size_t i = a_.depth.size(); i-- > 0;) {
      digits.Set(a_.depth[i].var, i == 0 ? rest : floormod(rest, Index(a_.depth[i].extent)));
      rest = floordiv(rest, Index(a_.depth[i].extent));
    }
    return At(Substitute(operand, digits), row, key);
  }

  /// Row `key` of V from a column on.
  PrimExpr LoadValues(const PrimExpr& key, const PrimExpr& col, int64_t width) {
    PrimExpr load = At(a_.v, Index(0), key, col);
    const auto* node = load.as<BufferLoadNode>();
    if (width == 1) return load;
    return BufferLoad(node->buffer,
                      {tirx::Ramp(node->indices[0], Index(*value_step_), IntImm::Int32(width))});
  }

  /// One loop of vectors over all places of a row of `width` values.
  Stmt OverWidth(int64_t width, const std::function<Stmt(const PrimExpr&)>& body) {
    Iter iter{IndexVar("i"), width};
    return VectorRun(iter, lanes_, body(PrimExpr(iter.var)));
  }

  /// Places of a panel's queries in per-query buffers, whole vectors unless there are few.
  int64_t Places(int64_t queries) const {
    return plan_.few ? queries : CeilDiv(queries, lanes_) * lanes_;
  }
  PrimExpr StateAt(const AttentionPanel& panel, const PrimExpr& query) {
    return access_.Simplify(PrimExpr(panel.slot) * Index(plan_.width) + query);
  }

  Stmt Begin(const AttentionPanel& panel) {
    Array<Stmt> seq;
    if (!plan_.few) {
      AttentionPacker packer{&access_, lanes_, plan_.width, Product(a_.depth), packed_q_};
      PrimExpr base = PrimExpr(panel.slot) * Index(plan_.width * packer.depth);
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

  /// Blocks that some row of the task sees; the last one may be shorter.
  void Blocks(Array<Stmt>* seq) {
    const int64_t rest = a_.key.extent - (plan_.blocks - 1) * plan_.block;
    PrimExpr first = Index(0), end = Index(plan_.blocks);
    if (visible_ && Online()) {
      PrimExpr top = first_panel_ * Index(plan_.width);
      if (visible_->window) {
        PrimExpr key = top + Index(visible_->shift - *visible_->window + 1);
        first = access_.Simplify(max(Index(0), floordiv(key, Index(plan_.block))));
      }
      PrimExpr bottom =
          min(top + Index(plan_.group * plan_.width), Index(a_.queries())) + Index(visible_->shift);
      end =
          access_.Simplify(min(end, floordiv(bottom + Index(plan_.block - 1), Index(plan_.block))));
    }
    auto block = [&](const PrimExpr& index, int64_t keys) {
      Var key = IndexVar("key0");
      access_.Bind(key, a_.key.extent);
      Array<Stmt> body{Bind(key, index * Index(plan_.block))};
      CopyBlock(key, keys, &body);
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

  void CopyBlock(const Var& key0, int64_t keys, Array<Stmt>* seq) {
    auto copy = [&](const Buffer& to, int64_t width, int64_t pitch, auto source) {
      Var key = IndexVar("key");
      Iter element{IndexVar("i"), width};
      access_.Bind(key, keys);
      access_.Bind(element.var, width);
      PrimExpr at = PrimExpr(key) * Index(pitch) + element.var;
      Stmt store = BufferStore(to, source(PrimExpr(key0) + key, PrimExpr(element.var)), {at});
      seq->push_back(Loop(key, keys, VectorRun(element, lanes_, store)));
    };
    const int64_t depth = Product(a_.depth);
    if (copies_k_) {
      copy(k_block_, depth, depth, [&](const PrimExpr& key, const PrimExpr& step) {
        return AtStep(a_.k, Index(0), key, step);
      });
    }
    if (copies_v_) {
      copy(v_block_, a_.columns(), pitch_,
           [&](const PrimExpr& key, const PrimExpr& col) { return At(a_.v, Index(0), key, col); });
    }
  }

  /// One block of keys for one panel.
  Stmt Step(const AttentionPanel& panel, const Var& key0, int64_t keys) {
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

  /// scale_ = 1 / sum_
  Stmt Reciprocals(const AttentionPanel& panel) {
    return OverWidth(Places(panel.queries), [&](const PrimExpr& i) {
      PrimExpr one = make_const(kFloat, 1.0);
      return BufferStore(scale_, tirx::Div(one, BufferLoad(sum_, {StateAt(panel, i)})), {i});
    });
  }

  Stmt RaiseMax(const PrimExpr& at, const PrimExpr& value) {
    return BufferStore(max_, max(BufferLoad(max_, {at}), value), {at});
  }

  PrimExpr Score(const PrimExpr& product, const PrimExpr& row, const PrimExpr& key) {
    PrimExpr score = At(a_.score, row, key);
    return Substitute(score, Map<Var, PrimExpr>{{a_.product, product}});
  }

  Stmt TurnMask(const TurnedMask& mask, const AttentionPanel& panel, const Var& key0,
                int64_t keys) {
    AttentionPacker packer{&access_, lanes_, plan_.width, keys, mask.turned};
    return packer.Pack(panel, Index(0), [&](const PrimExpr& row, const PrimExpr& key) {
      return At(mask.load, row, PrimExpr(key0) + key);
    });
  }

  // --- many queries: vectors along them ---------------------------------------------------------

  Stmt ManyScores(const AttentionPanel& panel, const Var& key0, int64_t keys) {
    const int64_t most = TileRows(keys, plan_.width, kFloat, target_);
    Var tile = IndexVar("tile");
    access_.Bind(tile, std::max<int64_t>(1, keys / most));
    Array<Stmt> seq;
    for (const TurnedMask& mask : turned_) seq.push_back(TurnMask(mask, panel, key0, keys));
    seq.push_back(
        Loop(tile, keys / most, ManyScoreTile(panel, key0, PrimExpr(tile) * Index(most), most)));
    if (keys % most != 0) {
      seq.push_back(ManyScoreTile(panel, key0, Index(keys / most * most), keys % most));
    }
    return SeqStmt::Flatten(seq);
  }

  /// Scores of keys [key0 + start, + rows) with all queries of a panel.
  Stmt ManyScoreTile(const AttentionPanel& panel, const Var& key0, const PrimExpr& start,
                     int64_t rows) {
    const int64_t vectors = CeilDiv(panel.queries, lanes_), depth = Product(a_.depth);
    std::vector<int64_t> widths(static_cast<size_t>(vectors), lanes_);
    RegisterTile tile(&access_, kFloat, lanes_, rows, widths);
    PrimExpr packed = PrimExpr(panel.slot) * Index(plan_.width * depth);
    auto load_k = [&](int64_t i, const PrimExpr& step) {
      if (copies_k_) {
        return PrimExpr(
            BufferLoad(k_block_, {access_.Simplify((start + Index(i)) * Index(depth) + step)}));
      }
      return AtStep(a_.k, Index(0), PrimExpr(key0) + start + Index(i), step);
    };
    auto load_q = [&](size_t v, const PrimExpr& step) {
      PrimExpr at = packed + step * Index(plan_.width) + Index(static_cast<int64_t>(v) * lanes_);
      return BufferLoad(packed_q_, {Consecutive(access_.Simplify(at), lanes_)});
    };
    Array<Stmt> seq{tile.Sum(depth, load_k, load_q)};
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t v = 0; v < vectors; ++v) {
        const int64_t valid = std::min(lanes_, panel.queries - v * lanes_);
        auto store = [&](int64_t width, bool real) {
          Var lane = IndexVar("lane");
          access_.Bind(lane, lanes_);
          PrimExpr query = Index(v * lanes_) + lane;
          PrimExpr key = PrimExpr(key0) + start + Index(i);
          PrimExpr product = BufferLoad(tile.acc(), {Index(tile.Slot(i, v)) + lane});
          PrimExpr at = access_.Simplify((start + Index(i)) * Index(plan_.width) + query);
          PrimExpr value = real ? Score(product, PrimExpr(panel.row) + query, key) : product;
          for (const TurnedMask& mask : turned_) {
            Map<Var, PrimExpr> turned{{mask.value, BufferLoad(mask.turned, {at})}};
            value = Substitute(value, turned);
          }
          Stmt body = BufferStore(scores_, value, {at});
          if (real) {
            body =
                SeqStmt::Flatten(body, RaiseMax(StateAt(panel, query), BufferLoad(scores_, {at})));
          }
          return VectorLoop(lane, width, body);
        };
        // Places past the last query must hold numbers: they run along in every vector.
        if (valid < lanes_) seq.push_back(store(lanes_, false));
        seq.push_back(store(valid, true));
      }
    }
    return SeqStmt::Flatten(seq);
  }

  Stmt ManyExponentials(const AttentionPanel& panel, int64_t keys) {
    Var key = IndexVar("key");
    access_.Bind(key, keys);
    Stmt body = OverWidth(Places(panel.queries), [&](const PrimExpr& i) {
      PrimExpr at = PrimExpr(key) * Index(plan_.width) + i, state = StateAt(panel, i);
      PrimExpr e = exp(BufferLoad(scores_, {at}) - BufferLoad(max_, {state}));
      return SeqStmt::Flatten(
          BufferStore(scores_, e, {at}),
          BufferStore(sum_, BufferLoad(sum_, {state}) + BufferLoad(scores_, {at}), {state}));
    });
    return Loop(key, keys, body);
  }

  // --- few queries: vectors along the head size, then along keys ---------------------------------

  Stmt FewScores(const AttentionPanel& panel, const Var& key0, int64_t keys) {
    Var tile = IndexVar("tile");
    access_.Bind(tile, std::max<int64_t>(1, keys / lanes_));
    Array<Stmt> seq;
    if (keys >= lanes_) {
      seq.push_back(Loop(tile, keys / lanes_,
                         FewScoreTile(panel, key0, PrimExpr(tile) * Index(lanes_), lanes_)));
    }
    if (keys % lanes_ != 0) {
      seq.push_back(FewScoreTile(panel, key0, Index(keys / lanes_ * lanes_), keys % lanes_));
    }
    for (int64_t r = 0; r < panel.queries; ++r) {
      Buffer most = FlatAccess::Scratch("most", lanes_, kFloat, "local");
      access_.UseAsIs(most);
      seq.push_back(tirx::AllocBuffer(most));
      seq.push_back(ReduceKeys(most, keys, FloatImm(kFloat, kLowest), [&](const PrimExpr& at) {
        return BufferLoad(scores_, {Index(r * score_pitch_) + at});
      }));
      for (int64_t i = 0; i < lanes_; ++i) {
        seq.push_back(RaiseMax(StateAt(panel, Index(r)), BufferLoad(most, {Index(i)})));
      }
    }
    return SeqStmt::Flatten(seq);
  }

  /// lane-wise maximum of value(key) over all keys
  Stmt ReduceKeys(const Buffer& into, int64_t keys, const PrimExpr& init,
                  const std::function<PrimExpr(const PrimExpr&)>& value) {
    Var lane = IndexVar("lane"), run = IndexVar("run");
    Array<Stmt> seq{VectorLoop(lane, lanes_, BufferStore(into, init, {PrimExpr(lane)}))};
    auto piece = [&](const PrimExpr& start, int64_t width) {
      PrimExpr next = max(BufferLoad(into, {PrimExpr(lane)}), value(start + lane));
      return VectorLoop(lane, width, BufferStore(into, next, {PrimExpr(lane)}));
    };
    if (keys >= lanes_) {
      seq.push_back(Loop(run, keys / lanes_, piece(PrimExpr(run) * Index(lanes_), lanes_)));
    }
    if (keys % lanes_ != 0) seq.push_back(piece(Index(keys / lanes_ * lanes_), keys % lanes_));
    return SeqStmt::Flatten(seq);
  }

  /// Scores of keys [key0 + start, + count), each query in turn.
  Stmt FewScoreTile(const AttentionPanel& panel, const Var& key0, const PrimExpr& start,
                    int64_t count) {
    Array<Stmt> seq;
    for (int64_t r = 0; r < panel.queries; ++r) {
      PrimExpr row = PrimExpr(panel.row) + Index(r);
      AttentionDots dots(&access_, lanes_, count, Product(a_.depth));
      seq.push_back(
          dots.Sum([&](const PrimExpr& step) { return AtStep(a_.q, row, Index(0), step); },
                   [&](int64_t key, const PrimExpr& step) {
                     return AtStep(a_.k, Index(0), PrimExpr(key0) + start + Index(key), step);
                   }));
      Var lane = IndexVar("lane");
      access_.Bind(lane, lanes_);
      PrimExpr product = BufferLoad(dots.result(), {PrimExpr(lane)});
      PrimExpr at = access_.Simplify(Index(r * score_pitch_) + start + lane);
      PrimExpr score = Score(product, row, PrimExpr(key0) + start + lane);
      seq.push_back(VectorLoop(lane, count, BufferStore(scores_, score, {at})));
    }
    return SeqStmt::Flatten(seq);
  }

  Stmt FewExponentials(const AttentionPanel& panel, int64_t keys) {
    Array<Stmt> seq;
    for (int64_t r = 0; r < panel.queries; ++r) {
      Buffer sums = FlatAccess::Scratch("sums", lanes_, kFloat, "local");
      access_.UseAsIs(sums);
      seq.push_back(tirx::AllocBuffer(sums));
      PrimExpr state = StateAt(panel, Index(r));
      Var lane = IndexVar("lane"), run = IndexVar("run");
      seq.push_back(
          VectorLoop(lane, lanes_, BufferStore(sums, make_zero(kFloat), {PrimExpr(lane)})));
      auto piece = [&](const PrimExpr& start, int64_t width) {
        PrimExpr at = Index(r * score_pitch_) + start + lane;
        PrimExpr e = exp(BufferLoad(scores_, {at}) - BufferLoad(max_, {state}));
        PrimExpr sum = BufferLoad(sums, {PrimExpr(lane)}) + BufferLoad(scores_, {at});
        return VectorLoop(lane, width,
                          SeqStmt::Flatten(BufferStore(scores_, e, {at}),
                                           BufferStore(sums, sum, {PrimExpr(lane)})));
      };
      if (keys >= lanes_) {
        seq.push_back(Loop(run, keys / lanes_, piece(PrimExpr(run) * Index(lanes_), lanes_)));
      }
      if (keys % lanes_ != 0) seq.push_back(piece(Index(keys / lanes_ * lanes_), keys % lanes_));
      for (int64_t i = 0; i < lanes_; ++i) {
        PrimExpr sum = BufferLoad(sum_, {state}) + BufferLoad(sums, {Index(i)});
        seq.push_back(BufferStore(sum_, sum, {state}));
      }
    }
    return SeqStmt::Flatten(seq);
  }

  // --- exponentials times V, vectors along its columns -------------------------------------------

  Stmt WeighValues(const AttentionPanel& panel, const Var& key0, int64_t keys) {
    const int64_t columns = a_.columns();
    const int64_t width = PanelColumns(panel.queries, columns, kFloat, target_);
    const int64_t rows = TileRows(panel.queries, width, kFloat, target_);
    auto all_rows = [&](const PrimExpr& col, int64_t valid) {
      Var tile = IndexVar("tile");
      access_.Bind(tile, std::max<int64_t>(1, panel.queries / rows));
      Array<Stmt> seq{
          Loop(tile, panel.queries / rows,
               ValueTile(panel, key0, keys, PrimExpr(tile) * Index(rows), rows, col, valid))};
      if (const int64_t rest = panel.queries % rows; rest != 0) {
        seq.push_back(ValueTile(panel, key0, keys, Index(panel.queries - rest), rest, col, valid));
      }
      return SeqStmt::Flatten(seq);
    };
    Array<Stmt> seq;
    if (columns >= width) {
      Var part = IndexVar("part");
      access_.Bind(part, columns / width);
      seq.push_back(Loop(part, columns / width, all_rows(PrimExpr(part) * Index(width), width)));
    }
    if (columns % width != 0) {
      seq.push_back(all_rows(Index(columns / width * width), columns % width));
    }
    return SeqStmt::Flatten(seq);
  }

  /// Rows [first, + rows) of a panel, columns [col, + cols).
  Stmt ValueTile(const AttentionPanel& panel, const Var& key0, int64_t keys, const PrimExpr& first,
                 int64_t rows, const PrimExpr& col, int64_t cols) {
    std::vector<int64_t> widths;
    for (int64_t at = 0; at < cols; at += lanes_) widths.push_back(std::min(lanes_, cols - at));
    RegisterTile tile(&access_, kFloat, lanes_, rows, widths);
    auto load_e = [&](int64_t i, const PrimExpr& key) {
      PrimExpr query = first + Index(i);
      PrimExpr at =
          plan_.few ? query * Index(score_pitch_) + key : key * Index(score_pitch_) + query;
      return BufferLoad(scores_, {access_.Simplify(at)});
    };
    auto load_v = [&](size_t v, const PrimExpr& key) {
      PrimExpr at = col + Index(static_cast<int64_t>(v) * lanes_);
      if (copies_v_) {
        PrimExpr place = access_.Simplify(key * Index(pitch_) + at);
        return PrimExpr(BufferLoad(v_block_, {Consecutive(place, widths[v])}));
      }
      return LoadValues(PrimExpr(key0) + key, at, widths[v]);
    };
    Array<Stmt> seq{tile.Sum(keys, load_e, load_v)};
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t v = 0; v < tile.vectors(); ++v) {
        Var lane = IndexVar("lane");
        access_.Bind(lane, lanes_);
        PrimExpr query = first + Index(i), column = col + Index(v * lanes_) + lane;
        PrimExpr sum = BufferLoad(tile.acc(), {Index(tile.Slot(i, v)) + lane});
        PrimExpr scale = BufferLoad(scale_, {access_.Simplify(query)});
        Stmt store;
        if (Online()) {
          PrimExpr at = OutAt(panel, query, column);
          store = BufferStore(out_, BufferLoad(out_, {at}) * scale + sum, {at});
        } else {
          store = StoreResult(sum * scale, PrimExpr(panel.row) + query, column);
        }
        seq.push_back(VectorLoop(lane, widths[static_cast<size_t>(v)], store));
      }
    }
    return SeqStmt::Flatten(seq);
  }

  PrimExpr OutAt(const AttentionPanel& panel, const PrimExpr& query, const PrimExpr& column) {
    PrimExpr row = PrimExpr(panel.slot) * Index(plan_.width) + query;
    return access_.Simplify(row * Index(pitch_) + column);
  }

  Stmt StoreResult(const PrimExpr& result, const PrimExpr& row, const PrimExpr& column) {
    PrimExpr value = result;
    const Buffer& output = epilogue_.stage->output;
    if (epilogue_.value.defined()) {
      Var stand_in("result", kFloat);
      value = At(ReplaceLoads(epilogue_.value, anchor_.output, stand_in), row, Index(0), column);
      value = Substitute(value, Map<Var, PrimExpr>{{stand_in, result}});
    }
    PrimExpr at = At(BufferLoad(output, epilogue_.indices), row, Index(0), column);
    const auto* place = at.as<BufferLoadNode>();
    return BufferStore(place->buffer, value, place->indices);
  }

  Stmt Finish(const AttentionPanel& panel) {
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

  const Stage& anchor_;
  Attention a_;
  Epilogue epilogue_;
  const Target& target_;
  int64_t lanes_;
  AttentionPlan plan_;
  FlatAccess access_;
  std::optional<VisibleKeys> visible_;
  std::optional<int64_t> value_step_;
  Map<Var, PrimExpr> values_;  // batch iterations of the task
  PrimExpr first_panel_;
  int64_t pitch_ = 0, score_pitch_ = 0;  // of out_ and scores_
  bool copies_k_ = false, copies_v_ = false;
  std::vector<TurnedMask> turned_;
  Buffer packed_q_, scores_, max_, sum_, scale_, out_, k_block_, v_block_;
};

/// All shapes: with one query it reads keys and values once, with many it spares the scores' way
/// through memory and the copies of K.
std::optional<KernelPlan> QueryAttention(const KernelQuery& query, const Target&) {
  if (query.tile_op != kRuleName) return std::nullopt;
  if (!transform::PassContext::Current()->GetConfig<bool>(kOption, true).value()) {
    return std::nullopt;
  }
  for (DataType dtype : {query.a_dtype, query.b_dtype, query.out_dtype}) {
    if (dtype != DataType::Float(32)) return std::nullopt;
  }
  if (query.batch * query.m * query.n * query.k == 0) return std::nullopt;
  KernelPlan plan;
  plan.rule = kRuleName;
  plan.cost = 4.0 * query.batch * query.m * query.n * query.k / 1e11;
  return plan;
}

std::optional<tirx::PrimFunc> EmitAttention(const tirx::PrimFunc& func, const Target& target,
                                            std::string* why) {
  auto group = ParseGroup(func, why);
  if (!group) return std::nullopt;
  if (group->anchor < 0 || group->stages[group->anchor].Text(kTileOp) != kRuleName) {
    *why = "no attention";
    return std::nullopt;
  }
  auto attention = MatchAttention(*group, why);
  if (!attention) return std::nullopt;
  auto epilogue = ReadEpilogue(*group, why);
  if (!epilogue) return std::nullopt;
  AttentionEmitter emitter(*group, *std::move(attention), *std::move(epilogue), target);
  if (!emitter.CanEmit()) {
    *why = "columns of V are not evenly spaced";
    return std::nullopt;
  }
  return ScheduledFunc(func, emitter.Emit());
}

TVM_REGISTER_PASS_CONFIG_OPTION(kOption, bool);
const bool kRegistered = RegisterRule({kRuleName, 110, QueryAttention, EmitAttention});

}  // namespace
}  // namespace kernels
}  // namespace tvm
