// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Rule `window`: depthwise convolution and pooling in NHWC.
///
///   C[n, oh, ow, c] (+)= f(X[n, oh*sh - pt + kh*dh, ow*sw - pl + kw*dw, c], W[kh, kw, c])
///
/// Vectors run along the channels, some neighbouring columns are kept in registers together so that
/// they share what they load. Rows of the window that lie outside of the picture are left out by
/// the bounds of the loop over kh; for columns the picture is cut into left border, interior and
/// right border, and only the borders have bounds that depend on the position. A border that is not
/// neutral (the zero point of a quantised picture) is summed by loops over what lies outside.
///
/// Products of 8 bits are summed in float32, which is exact for windows of up to 512 taps, and
/// multiplies and adds in one step where int32 takes three. Maxima of floats below 32 bits are
/// kept in float32 too: few processors compare narrow ones.
///
/// Maxima may take a tap twice, so that theirs outside of the picture become the nearest inside:
/// no loop then depends on the position, and columns are reduced once for all that share them.
#include <tvm/ir/expr_functor.h>
#include <tvm/kernels/rule.h>
#include <tvm/target/cpu_features.h>
#include <tvm/tirx/builtin.h>
#include <tvm/tirx/op.h>
#include <tvm/tirx/stmt_functor.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "kernels/contraction_plan.h"
#include "kernels/dot_step.h"
#include "kernels/epilogue.h"
#include "kernels/group.h"
#include "kernels/names.h"

namespace tvm {
namespace kernels {
namespace {

constexpr const char* kRuleName = "window";

/// One direction of the window.
struct Span1D {
  int64_t out, in, kernel, stride, pad, dilation;
  /// Positions [first, last) at which the whole window lies inside.
  int64_t first() const { return std::clamp<int64_t>(CeilDiv(pad, stride), 0, out); }
  int64_t last() const {
    const int64_t room = in - 1 + pad - (kernel - 1) * dilation;
    return std::clamp<int64_t>(room < 0 ? 0 : room / stride + 1, first(), out);
  }
  /// Whether a tap lies inside at every position.
  bool AlwaysTouches() const {
    for (int64_t at = 0; at < out; ++at) {
      const int64_t start = at * stride - pad;
      const int64_t tap = std::max<int64_t>(0, CeilDiv(-start, dilation));
      if (tap >= kernel || start + tap * dilation >= in) return false;
    }
    return true;
  }
};

PrimExpr CeilDivExpr(const PrimExpr& a, int64_t b) {
  return b == 1 ? a : floordiv(a + Index(b - 1), Index(b));
}

/// Columns whose sums are kept in registers together. What must be converted as it is loaded is
/// worth more columns that share it, as long as few are left over, which share nothing.
int64_t OwnColumns(const Span1D& span, bool converts, const Target& target) {
  if (!converts) return std::clamp<int64_t>(12 / span.kernel, 2, 6);
  constexpr int64_t kConversion = 2;  // instructions beside one multiply-add a tap
  const int64_t inside = span.last() - span.first();
  auto cost = [&](int64_t columns) {
    auto tile = [&](int64_t n) {
      return n * span.kernel +
             kConversion * std::min((n - 1) * span.stride + span.kernel, n * span.kernel);
    };
    return inside / columns * tile(columns) + inside % columns * tile(1);
  };
  int64_t best = 2;
  const int64_t most = CpuFeaturesOf(target).num_vector_registers >= 32 ? 8 : 4;
  for (int64_t columns = 3; columns <= most; ++columns) {
    if (cost(columns) < cost(best)) best = columns;
  }
  return best;
}

class WindowEmitter {
 public:
  WindowEmitter(const Group& group, Epilogue epilogue, const Target& target,
                const KernelKnobs& knobs)
      : anchor_(group.stages[group.anchor]),
        epilogue_(std::move(epilogue)),
        knobs_(knobs),
        dtype_(anchor_.output.dtype()),
        sum_dtype_(SumType(dtype_)),
        lanes_(VectorLanes(sum_dtype_, target)) {
    auto span = [&](const char* axis, int64_t out, int64_t kernel) {
      auto get = [&](const char* what, int64_t otherwise) {
        return anchor_.Int((std::string(what) + "_" + axis).c_str(), otherwise);
      };
      return Span1D{out, get("in", 0), kernel, get("stride", 1), get("pad", 0), get("dilation", 1)};
    };
    h_ = span("h", anchor_.spatial[1].extent, anchor_.reduce[0].extent);
    w_ = span("w", anchor_.spatial[2].extent, anchor_.reduce[1].extent);
    PrimExpr value = InlineProducers(group, anchor_.value, group.anchor);
    if (auto floats = ProductInFloat(value, h_.kernel * w_.kernel)) {
      value = *floats;
      sum_dtype_ = DataType::Float(32);
    }
    value = tvm::cast(sum_dtype_, value);
    value_ = TakeArm(value, 1);
    bool converts = false;
    for (const Buffer& buffer : ReadBuffers(value_)) {
      converts = converts || buffer.dtype().bits() < sum_dtype_.bits();
    }
    columns_ = OwnColumns(w_, converts, target);
    if (anchor_.kind == ReduceKind::kSum) border_ = BorderValue(value);
    constexpr int64_t kMostTaps = 49;  // all of which are unrolled
    repeats_ = anchor_.kind != ReduceKind::kSum && h_.kernel * w_.kernel <= kMostTaps &&
               h_.AlwaysTouches() && w_.AlwaysTouches();
  }

  /// Columns that are kept in registers together unless a knob says otherwise.
  int64_t columns() const { return columns_; }

  Stmt Emit() {
    Var task = IndexVar("task");
    const int64_t tasks = anchor_.spatial[0].extent * h_.out;
    access_.Bind(task, tasks);
    Set(anchor_.spatial[0], access_.Simplify(floordiv(task, Index(h_.out))));
    Var oh = IndexVar("oh");
    access_.Bind(oh, h_.out);
    Set(anchor_.spatial[1], oh);
    PrimExpr top = PrimExpr(oh) * Index(h_.stride) - Index(h_.pad);
    Range kh = Bounds(h_, top);
    Array<Stmt> seq{Bind(oh, access_.Simplify(floormod(task, Index(h_.out))))};
    if (repeats_) row_taps_ = InsideTaps(h_, kh, h_.first() == 0 && h_.last() == h_.out, &seq);
    const int64_t tile = Knob(knobs_, "columns", columns_);
    const int64_t first = w_.first(), last = w_.last();
    Columns(0, first, 1, kh, true, &seq);
    const int64_t whole = (last - first) / tile * tile;
    Columns(first, first + whole, tile, kh, false, &seq);
    Columns(first + whole, last, 1, kh, false, &seq);
    Columns(last, w_.out, 1, kh, true, &seq);
    Stmt body = SeqStmt::Flatten(seq);
    const int64_t work = tasks * w_.out * anchor_.spatial[3].extent * h_.kernel * w_.kernel;
    const bool parallel = Knob(knobs_, "parallel", work >= 100000) != 0;
    return access_.Wrap(parallel ? ParallelLoop(task, tasks, body) : Loop(task, tasks, body));
  }

 private:
  /// Whether a node is if_then_else(inside the picture, x, border).
  bool IsBorderTest(const CallNode* op) const {
    if (!op->op.same_as(tirx::builtin::if_then_else())) return false;
    auto uses = [&](const Iter& iter) { return UsesVar(op->args[0], iter.var); };
    if (std::any_of(anchor_.reduce.begin(), anchor_.reduce.end(), uses)) return true;
    // With a single row or column of taps the test is one of the position.
    return (h_.kernel == 1 && h_.pad > 0 && uses(anchor_.spatial[1])) ||
           (w_.kernel == 1 && w_.pad > 0 && uses(anchor_.spatial[2]));
  }

  /// Border tests decided: arm 1 for the loops that do not leave the picture, 2 for those outside.
  PrimExpr TakeArm(const PrimExpr& value, int arm) {
    class Taker : public ExprMutator {
     public:
      Taker(const WindowEmitter* self, int arm) : self_(self), arm_(arm) {}

     private:
      Expr VisitExpr_(const CallNode* op) final {
        return self_->IsBorderTest(op) ? VisitExpr(op->args[arm_]) : ExprMutator::VisitExpr_(op);
      }
      const WindowEmitter* self_;
      int arm_;
    };
    return PrimExpr(Taker(this, arm)(value));
  }

  /// What a tap outside of the picture adds; null when that is nothing.
  PrimExpr BorderValue(const PrimExpr& value) {
    bool counts = false;
    PostOrderVisitExpr(value, [&](const Expr& node) {
      const auto* call = node.as<CallNode>();
      if (call == nullptr || !IsBorderTest(call)) return;
      const auto* real = call->args[2].as<FloatImmNode>();
      const auto* whole = call->args[2].as<IntImmNode>();
      counts = counts || !((real && real->value == 0) || (whole && whole->value == 0));
    });
    return counts ? TakeArm(value, 2) : PrimExpr();
  }

  /// int32(x) * int32(w) of 8 bits each as a product in float32.
  static std::optional<PrimExpr> ProductInFloat(const PrimExpr& value, int64_t taps) {
    constexpr int64_t kExactTaps = (1 << 24) / (255 * 128);
    const auto* mul = value.as<tirx::MulNode>();
    if (mul == nullptr || value.dtype() != DataType::Int(32) || taps > kExactTaps) {
      return std::nullopt;
    }
    auto side = [](const PrimExpr& e) -> std::optional<PrimExpr> {
      const auto* cast = e.as<tirx::CastNode>();
      if (cast == nullptr || cast->value.dtype().bits() > 8) return std::nullopt;
      return tvm::cast(DataType::Float(32), cast->value);
    };
    auto a = side(mul->a), b = side(mul->b);
    if (!a || !b) return std::nullopt;
    return *a * *b;
  }

  void Set(const Iter& iter, const PrimExpr& value) { values_.Set(iter.var, value); }

  /// Taps of the window that lie inside when its first tap is at `start`.
  Range Bounds(const Span1D& span, const PrimExpr& start) {
    PrimExpr low = access_.Simplify(max(Index(0), CeilDivExpr(Index(0) - start, span.dilation)));
    PrimExpr high = access_.Simplify(
        min(Index(span.kernel), CeilDivExpr(Index(span.in) - start, span.dilation)));
    return Range(low, high);
  }

  /// Columns [begin, end) in tiles of `tile`.
  void Columns(int64_t begin, int64_t end, int64_t tile, const Range& kh, bool border,
               Array<Stmt>* seq) {
    if (begin >= end) return;
    Var step = IndexVar("step"), ow = IndexVar("ow");
    access_.Bind(ow, w_.out);
    PrimExpr left = PrimExpr(ow) * Index(w_.stride) - Index(w_.pad);
    Range kw = border ? Bounds(w_, left) : Range(Index(0), Index(w_.kernel));
    PrimExpr at = Index(begin) + PrimExpr(step) * Index(tile);
    Array<Stmt> body{Bind(ow, at)};
    if (repeats_) col_taps_ = InsideTaps(w_, kw, !border, &body);
    body.push_back(Channels(ow, tile, kh, kw, border));
    seq->push_back(Loop(step, (end - begin) / tile, SeqStmt::Flatten(body)));
  }

  /// The taps of one direction, those outside of the picture replaced by the nearest in `inside`.
  std::vector<PrimExpr> InsideTaps(const Span1D& span, const Range& inside, bool all,
                                   Array<Stmt>* seq) {
    std::vector<PrimExpr> taps;
    for (int64_t k = 0; k < span.kernel; ++k) {
      if (all) {
        taps.push_back(Index(k));
        continue;
      }
      Var tap = IndexVar("tap");
      access_.Bind(tap, span.kernel);
      PrimExpr last = inside->min + inside->extent - Index(1);
      seq->push_back(Bind(tap, access_.Simplify(max(min(Index(k), last), inside->min))));
      taps.push_back(tap);
    }
    return taps;
  }

  Stmt Channels(const Var& ow, int64_t tile, const Range& kh, const Range& kw, bool border) {
    const int64_t channels = anchor_.spatial[3].extent;
    const int64_t whole = channels / lanes_, rest = channels % lanes_;
    Array<Stmt> seq;
    if (whole > 0) {
      Var block = IndexVar("c_block");
      access_.Bind(block, whole);
      seq.push_back(Loop(block, whole,
                         Tile(ow, tile, PrimExpr(block) * Index(lanes_), lanes_, kh, kw, border)));
    }
    if (rest > 0) seq.push_back(Tile(ow, tile, Index(whole * lanes_), rest, kh, kw, border));
    return SeqStmt::Flatten(seq);
  }

  Stmt Tile(const Var& ow, int64_t tile, const PrimExpr& channel, int64_t width, const Range& kh,
            const Range& kw, bool border) {
    Buffer acc = FlatAccess::Scratch("acc", tile * lanes_, sum_dtype_, "local");
    access_.UseAsIs(acc);
    lane_ = IndexVar("lane");
    access_.Bind(lane_, width);
    Array<Stmt> seq{tirx::AllocBuffer(acc)};
    const Place place{ow, channel, width};
    if (repeats_) {
      Maxima(acc, place, tile, &seq);
    } else {
      for (int64_t t = 0; t < tile; ++t) {
        seq.push_back(
            EachLane(width, BufferStore(acc, tvm::cast(sum_dtype_, anchor_.init), {Slot(t)})));
      }
      auto add = [&](const PrimExpr& what) {
        Array<Stmt> step;
        for (int64_t t = 0; t < tile; ++t) {
          PrimExpr sum = BufferLoad(acc, {Slot(t)});
          PrimExpr next = Combine(anchor_.kind, sum, access_.Loads(At(what, place, t)));
          step.push_back(EachLane(width, BufferStore(acc, next, {Slot(t)})));
        }
        return SeqStmt::Flatten(step);
      };
      seq.push_back(Taps(kh, kw, border, [&]() { return add(value_); }));
      if (border_.defined()) OutsideTaps(kh, kw, border, [&]() { return add(border_); }, &seq);
    }
    StoreResults(acc, place, tile, &seq);
    return SeqStmt::Flatten(seq);
  }

  /// Where a tile begins: its first column, and `width` channels.
  struct Place {
    Var ow;
    PrimExpr channel;
    int64_t width;
  };

  PrimExpr Slot(int64_t t) const { return Index(t * lanes_) + lane_; }
  /// `expr` in column t of a tile and the channel of lane_.
  PrimExpr At(const PrimExpr& expr, const Place& place, int64_t t) const {
    Map<Var, PrimExpr> values = values_;
    values.Set(anchor_.spatial[2].var, PrimExpr(place.ow) + Index(t));
    values.Set(anchor_.spatial[3].var, place.channel + lane_);
    return Substitute(expr, values);
  }
  /// Each loop defines a variable of its own, as the script's readers expect.
  Stmt EachLane(int64_t width, const Stmt& store) const {
    Var own = IndexVar("lane");
    return VectorLoop(own, width, Substitute(store, Map<Var, PrimExpr>{{lane_, own}}));
  }

  /// acc = the maxima of a tile: of each column of the picture once, then of a window's columns.
  void Maxima(const Buffer& acc, const Place& place, int64_t tile, Array<Stmt>* seq) {
    std::vector<int64_t> columns;  // in the order of their slots
    auto slot = [&](int64_t t, int64_t kw) {
      const int64_t column = t * w_.stride + kw * w_.dilation;
      auto it = std::find(columns.begin(), columns.end(), column);
      if (it == columns.end()) it = columns.insert(it, column);
      return it - columns.begin();
    };
    for (int64_t t = 0; t < tile; ++t) {
      for (int64_t kw = 0; kw < w_.kernel; ++kw) slot(t, kw);
    }
    Buffer best = FlatAccess::Scratch("columns", static_cast<int64_t>(columns.size()) * lanes_,
                                      sum_dtype_, "local");
    access_.UseAsIs(best);
    seq->push_back(tirx::AllocBuffer(best));
    std::vector<bool> done(columns.size(), false);
    for (int64_t t = 0; t < tile; ++t) {
      PrimExpr all;
      for (int64_t kw = 0; kw < w_.kernel; ++kw) {
        const int64_t at = slot(t, kw);
        if (!done[static_cast<size_t>(at)]) {
          done[static_cast<size_t>(at)] = true;
          Set(anchor_.reduce[1], col_taps_[static_cast<size_t>(kw)]);
          PrimExpr column;
          for (const PrimExpr& kh : row_taps_) {
            Set(anchor_.reduce[0], kh);
            PrimExpr value = access_.Loads(At(value_, place, t));
            column = column.defined() ? Combine(anchor_.kind, column, value) : value;
          }
          seq->push_back(EachLane(place.width, BufferStore(best, column, {Slot(at)})));
        }
        PrimExpr column = BufferLoad(best, {Slot(at)});
        all = all.defined() ? Combine(anchor_.kind, all, column) : column;
      }
      seq->push_back(EachLane(place.width, BufferStore(acc, all, {Slot(t)})));
    }
  }

  /// The epilogue on all sums of a tile.
  void StoreResults(const Buffer& acc, const Place& place, int64_t tile, Array<Stmt>* seq) {
    for (int64_t t = 0; t < tile; ++t) {
      PrimExpr sum = tvm::cast(dtype_, BufferLoad(acc, {Slot(t)}));
      PrimExpr value = sum;
      if (epilogue_.value.defined()) {
        // The accumulator is flat already: stand in a variable while the rest is made flat.
        Var result("result", dtype_);
        value = access_.Loads(
            At(ReplaceLoads(epilogue_.value, anchor_.output, PrimExpr(result)), place, t));
        value = Substitute(value, Map<Var, PrimExpr>{{result, sum}});
      }
      const Buffer& output = epilogue_.stage->output;
      Array<PrimExpr> indices =
          epilogue_.indices.Map([&](const PrimExpr& i) { return At(i, place, t); });
      seq->push_back(EachLane(place.width, BufferStore(access_.Alias(output), value,
                                                       {access_.Offset(output, indices)})));
    }
  }

  /// Loops over the taps outside of the picture around `body`: the rows above and below, then what
  /// is left and right of it in the rows inside.
  template <typename F>
  void OutsideTaps(const Range& kh, const Range& kw, bool border, F body, Array<Stmt>* seq) {
    const Range all(Index(0), Index(w_.kernel));
    for (const Range& rows : Complement(kh, h_.kernel)) Rectangle(rows, all, body, seq);
    if (!border) return;
    for (const Range& cols : Complement(kw, w_.kernel)) Rectangle(kh, cols, body, seq);
  }

  /// What of [0, extent) is not in `inside`, which may be empty or lie elsewhere.
  std::vector<Range> Complement(const Range& inside, int64_t extent) {
    PrimExpr low = access_.Simplify(min(inside->min, Index(extent)));
    PrimExpr high = access_.Simplify(max(inside->min + inside->extent, low));
    return {Range(Index(0), low), Range(high, Index(extent))};
  }

  template <typename F>
  void Rectangle(const Range& rows, const Range& cols, F body, Array<Stmt>* seq) {
    if (is_zero(access_.Simplify(rows->extent)) || is_zero(access_.Simplify(cols->extent))) return;
    Var i = IndexVar("kh"), j = IndexVar("kw");
    access_.Bind(i, anchor_.reduce[0].extent);
    access_.Bind(j, anchor_.reduce[1].extent);
    Set(anchor_.reduce[0], i);
    Set(anchor_.reduce[1], j);
    Stmt inner = For(j, cols->min, cols->extent, ForKind::kSerial, body());
    seq->push_back(For(i, rows->min, rows->extent, ForKind::kSerial, inner));
  }

  /// Loops over the window around `body`; inside of the picture the columns are unrolled.
  template <typename F>
  Stmt Taps(const Range& kh, const Range& kw, bool border, F body) {
    const Iter &row = anchor_.reduce[0], &col = anchor_.reduce[1];
    Var i = IndexVar("kh");
    access_.Bind(i, row.extent);
    Set(row, i);
    Stmt inner;
    if (border || col.extent > 9) {
      Var j = IndexVar("kw");
      access_.Bind(j, col.extent);
      Set(col, j);
      inner = For(j, kw->min, kw->extent, ForKind::kSerial, body());
    } else {
      Array<Stmt> unrolled;
      for (int64_t k = 0; k < col.extent; ++k) {
        Set(col, Index(k));
        unrolled.push_back(body());
      }
      inner = SeqStmt::Flatten(unrolled);
    }
    return For(i, kh->min, kh->extent, ForKind::kSerial, inner);
  }

  const Stage& anchor_;
  Epilogue epilogue_;
  const KernelKnobs& knobs_;
  DataType dtype_, sum_dtype_;  // of the anchor, and in which its sums are kept
  int64_t lanes_, columns_ = 1;
  Span1D h_, w_;
  PrimExpr value_, border_;  // of a tap inside and outside of the picture
  bool repeats_ = false;     // taps outside of the picture are replaced by others
  std::vector<PrimExpr> row_taps_, col_taps_;
  Var lane_ = IndexVar("lane");
  FlatAccess access_;
  Map<Var, PrimExpr> values_;
};

std::optional<KernelPlan> QueryWindow(const KernelQuery& query, const Target&) {
  if (query.tile_op != "depthwise_conv2d" && query.tile_op != "pool") return std::nullopt;
  KernelPlan plan;
  plan.rule = kRuleName;
  plan.data_layout = "NHWC";
  return plan;
}

std::optional<tirx::PrimFunc> EmitWindow(const tirx::PrimFunc& func, const Target& target,
                                         const KernelKnobs& knobs, std::string* why) {
  auto group = ParseGroup(func, why);
  if (!group) return std::nullopt;
  const auto decline = Decliner(why);
  const Stage* found = group->Anchor("window");
  if (found == nullptr) return decline("the anchor is no window");
  const Stage& anchor = *found;
  if (anchor.spatial.size() != 4 || anchor.reduce.size() != 2) return decline("not NHWC");
  if (anchor.kind == ReduceKind::kProd || anchor.kind == ReduceKind::kNone) {
    return decline("reduces in another way");
  }
  for (const Iter& iter : anchor.spatial) {
    if (iter.extent == 0) return decline("empty");
  }
  auto epilogue = ReadEpilogue(*group, why);
  if (!epilogue) return std::nullopt;
  return ScheduledFunc(func, WindowEmitter(*group, *std::move(epilogue), target, knobs).Emit());
}

std::vector<KernelCandidate> WindowCandidates(const tirx::PrimFunc& func, const Target& target) {
  std::string why;
  auto group = ParseGroup(func, &why);
  if (!group) return {};
  auto epilogue = ReadEpilogue(*group, &why);
  if (!epilogue) return {};
  const int64_t own = WindowEmitter(*group, *std::move(epilogue), target, {}).columns();
  std::vector<KernelCandidate> list;
  for (int64_t columns = 1; columns <= 8; ++columns) {
    // Near the rule's own choice first.
    const double cost = static_cast<double>(std::abs(columns - own));
    if (columns != own) list.push_back({{{"columns", columns}}, cost});
  }
  if (CpuFeaturesOf(target).num_cores > 1) {
    for (int64_t parallel : {0, 1}) list.push_back({{{"parallel", parallel}}, 1.5});
  }
  return list;
}

const bool kRegistered = RegisterRule({kRuleName, 90, QueryWindow, EmitWindow, WindowCandidates});

}  // namespace
}  // namespace kernels
}  // namespace tvm
