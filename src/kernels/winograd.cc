// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Rule `winograd`: 3x3 convolutions of stride 1 in NHWC as F(4, 3).
///
/// The picture is cut into tiles of 4x4 outputs. A task owns some tiles:
///
///   V[36, tile, ic] = B^T X B                      6x6 inputs of each tile
///   for panel of output channels:
///     for point < 36: M[point, tile, :] = V[point, tile, :] * U[panel, point, :, :]
///     D[4x4 outputs of each tile] = epilogue(A^T M A)
///
/// An input in bfloat16 is widened as it is read: fewer multiplications in float32 can cost less
/// than all of them in bfloat16, and are more exact.
///
/// The anchor states the plain convolution, with its taps recovered from U (WinogradTap), so plain
/// loops give the same result up to rounding. PassContext option `kernels.winograd` = false turns
/// the rule off.
#include <tvm/ir/transform.h>
#include <tvm/kernels/rule.h>
#include <tvm/kernels/winograd.h>
#include <tvm/target/cpu_features.h>
#include <tvm/tirx/builtin.h>
#include <tvm/tirx/op.h>
#include <tvm/tirx/stmt_functor.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "kernels/contraction_plan.h"
#include "kernels/dot_step.h"
#include "kernels/epilogue.h"
#include "kernels/group.h"
#include "kernels/names.h"
#include "kernels/register_tile.h"

namespace tvm {
namespace kernels {

namespace {

constexpr const char* kRuleName = "winograd";
constexpr const char* kOption = "kernels.winograd";
constexpr int64_t kPoints = kWinogradPoints, kTile = kWinogradTile;
constexpr int64_t kAllPoints = kPoints * kPoints;

/// G: rows are the points 0, 1, -1, 2, -2, infinity, scaled.
constexpr double kG[6][3] = {{1.0 / 4, 0, 0},
                             {-1.0 / 6, -1.0 / 6, -1.0 / 6},
                             {-1.0 / 6, 1.0 / 6, -1.0 / 6},
                             {1.0 / 24, 1.0 / 12, 1.0 / 6},
                             {1.0 / 24, -1.0 / 12, 1.0 / 6},
                             {0, 0, 1}};

/// B^T applied to six values. `name` gives each intermediate a variable.
template <typename F>
std::array<PrimExpr, 6> InputTransform(const std::array<PrimExpr, 6>& x, F name) {
  auto times = [](double c, const PrimExpr& v) { return make_const(v.dtype(), c) * v; };
  PrimExpr even = name(x[4] - times(4, x[2])), odd = name(x[3] - times(4, x[1]));
  PrimExpr far = name(x[4] - x[2]), twice = name(times(2, x[3] - x[1]));
  return {name(times(4, x[0]) + (x[4] - times(5, x[2]))),
          name(even + odd),
          name(even - odd),
          name(far + twice),
          name(far - twice),
          name(times(4, x[1]) + (x[5] - times(5, x[3])))};
}

/// A^T applied to six values.
template <typename F>
std::array<PrimExpr, 4> OutputTransform(const std::array<PrimExpr, 6>& m, F name) {
  auto times = [](double c, const PrimExpr& v) { return make_const(v.dtype(), c) * v; };
  PrimExpr p = name(m[1] + m[2]), q = name(m[1] - m[2]);
  PrimExpr r = name(m[3] + m[4]), s = name(m[3] - m[4]);
  return {name(m[0] + p + r), name(q + times(2, s)), name(p + times(4, r)),
          name(q + times(8, s) + m[5])};
}

/// How the work is shared out: a task owns some tiles and some panels of output channels.
struct WinogradCut {
  int64_t per_task;     ///< tiles of a task, a multiple of `rows`
  int64_t rows;         ///< tiles of a register tile
  int64_t tile_tasks;   ///< tasks along the tiles
  int64_t panel_tasks;  ///< tasks along the panels; each transforms its tiles' inputs again
  double cost;          ///< estimated cycles of all cores together
};

/// Bytes a cycle at which weights arrive, by the cache that may keep them.
double StreamSpeed(double bytes, const CpuFeatures& cpu) {
  if (bytes <= static_cast<double>(cpu.l2) / 2) return 32;
  // Systems report the sum over a package as well as one cluster's cache.
  constexpr int64_t kShare = int64_t{16} << 20;
  const int64_t third = std::min(cpu.l3, kShare * std::max(1, cpu.num_cores));
  return bytes <= static_cast<double>(third) / 2 ? 10 : 5;
}

/// Every cut worth a thought, with its cost.
template <typename F>
void ForEachCut(int64_t tiles, int64_t ic, int64_t oc, int64_t panel, const Target& target,
                F visit) {
  const CpuFeatures cpu = CpuFeaturesOf(target);
  const DataType dtype = DataType::Float(32);
  const int64_t lanes = VectorLanes(dtype, target), cores = std::max(1, cpu.num_cores);
  const int64_t panels = CeilDiv(oc, panel), most_rows = MostTileRows(panel, dtype, target);
  // What a task transforms stays in half of the second-level cache.
  const int64_t cached = cpu.l2 / 2 / (kAllPoints * ic * dtype.bytes());
  const int64_t most = std::min(tiles, std::clamp<int64_t>(cached, 4, 2 * most_rows));
  const double panel_bytes = static_cast<double>(kAllPoints * ic * panel * dtype.bytes());
  const double speed = StreamSpeed(panel_bytes * static_cast<double>(panels), cpu);
  auto cycles = [&](int64_t rows, int64_t per_task, int64_t panel_tasks) {
    const double mine = static_cast<double>(CeilDiv(panels, panel_tasks));
    const double step = static_cast<double>(std::max(rows * (panel / lanes), int64_t{4}));
    const double product = static_cast<double>(kAllPoints * ic * (per_task / rows)) * step * mine;
    const double stream = panel_bytes * mine / speed;
    const double inputs = static_cast<double>(per_task * CeilDiv(ic, lanes) * 250);
    const double outputs = static_cast<double>(per_task * (panel / lanes) * 220) * mine;
    return std::max(product, stream) + 0.3 * std::min(product, stream) + inputs + outputs;
  };
  for (int64_t t = std::min<int64_t>(most, 4); t <= most; ++t) {
    const int64_t rows = CeilDiv(t, CeilDiv(t, most_rows)), per_task = CeilDiv(t, rows) * rows;
    const int64_t tile_tasks = CeilDiv(tiles, per_task);
    for (int64_t parts = 1; parts <= std::min(panels, 2 * cores); ++parts) {
      const double tasks = static_cast<double>(tile_tasks * parts),
                   all = static_cast<double>(cores);
      const double rounds = std::ceil(tasks / all);
      const double cost = (rounds * all + 0.5 * tasks) / 1.5 * cycles(rows, per_task, parts);
      visit(WinogradCut{per_task, rows, tile_tasks, parts, cost});
    }
  }
}

WinogradCut PlanWinograd(int64_t tiles, int64_t ic, int64_t oc, int64_t panel,
                         const Target& target) {
  WinogradCut best{0, 0, 0, 0, 0};
  ForEachCut(tiles, ic, oc, panel, target, [&](const WinogradCut& cut) {
    if (best.rows == 0 || cut.cost < best.cost) best = cut;
  });
  return best;
}

/// The convolution as this rule sees it.
struct WinogradAnchor {
  Buffer x, u;
  int64_t pad_h, pad_w;
  int64_t panel;
};

std::optional<WinogradAnchor> Match(const Group& group, std::string* why) {
  const auto decline = Decliner(why);
  if (group.anchor < 0) return decline("no anchor");
  const Stage& stage = group.stages[group.anchor];
  if (stage.Int(kWinograd, 0) != 1) return decline("the weight is not transformed");
  if (stage.kind != ReduceKind::kSum || stage.spatial.size() != 4 || stage.reduce.size() != 3 ||
      stage.output.dtype() != DataType::Float(32)) {
    return decline("not a float32 convolution in NHWC");
  }
  PrimExpr value = InlineProducers(group, stage.value, group.anchor);
  const auto* mul = value.as<tirx::MulNode>();
  if (mul == nullptr) return decline("the summand is not a product");
  PrimExpr a = mul->a, b = mul->b;
  if (UsesVar(a, stage.spatial[3].var)) std::swap(a, b);
  if (const auto* cast = a.as<tirx::CastNode>()) {
    if (cast->value.dtype() != DataType::BFloat(16)) return decline("an unknown type of input");
    a = cast->value;
  }
  if (const auto* call = a.as<CallNode>()) {
    if (!call->op.same_as(tirx::builtin::if_then_else())) return decline("an unknown input");
    a = PrimExpr(call->args[1]);
  }
  const auto* x = a.as<BufferLoadNode>();
  std::vector<Buffer> weights = ReadBuffers(b);
  if (x == nullptr || x->indices.size() != 4) return decline("the input is not read plainly");
  if (weights.size() != 1 || weights[0].ndim() != 4) return decline("no transformed weight");
  FlatAccess access;
  Map<Var, PrimExpr> zeros;
  for (const auto* iters : {&stage.spatial, &stage.reduce}) {
    for (const Iter& iter : *iters) zeros.Set(iter.var, Index(0));
  }
  auto border = [&](size_t d) -> std::optional<int64_t> {
    PrimExpr first = access.Simplify(Substitute(x->indices[d], zeros));
    const int64_t* known = as_const_int(first);
    const bool steps = (stage.spatial[d].extent == 1 ||
                        access.Coefficient(x->indices[d], stage.spatial[d].var) == 1) &&
                       access.Coefficient(x->indices[d], stage.reduce[d - 1].var) == 1;
    if (known == nullptr || !steps) return std::nullopt;
    return -*known;
  };
  auto pad_h = border(1), pad_w = border(2);
  if (!pad_h || !pad_w) return decline("another stride");
  return WinogradAnchor{x->buffer, weights[0], *pad_h, *pad_w,
                        *as_const_int(weights[0].shape()[3])};
}

class WinogradEmitter {
 public:
  WinogradEmitter(const Group& group, WinogradAnchor anchor, Epilogue epilogue,
                  const Target& target, const KernelKnobs& knobs)
      : stage_(group.stages[group.anchor]),
        a_(std::move(anchor)),
        epilogue_(std::move(epilogue)),
        lanes_(VectorLanes(kFloat, target)) {
    height_ = *as_const_int(a_.x.shape()[1]);
    width_ = *as_const_int(a_.x.shape()[2]);
    ic_ = *as_const_int(a_.x.shape()[3]);
    batch_ = stage_.spatial[0].extent;
    out_h_ = stage_.spatial[1].extent;
    out_w_ = stage_.spatial[2].extent;
    oc_ = stage_.spatial[3].extent;
    tiles_h_ = CeilDiv(out_h_, kTile);
    tiles_w_ = CeilDiv(out_w_, kTile);
    tiles_ = batch_ * tiles_h_ * tiles_w_;
    plan_ = PlanWinograd(tiles_, ic_, oc_, a_.panel, target);
    plan_.per_task = Knob(knobs, "tiles", plan_.per_task);
    plan_.rows = Knob(knobs, "rows", plan_.rows);
    plan_.panel_tasks = Knob(knobs, "panel_tasks", plan_.panel_tasks);
    plan_.tile_tasks = CeilDiv(tiles_, plan_.per_task);
    pitch_ = CeilDiv(ic_, lanes_) * lanes_;
    // Rows must not all fall on the same cache sets.
    if (pitch_ * kFloat.bytes() % 1024 == 0) pitch_ += lanes_;
    parallel_ = CpuFeaturesOf(target).num_cores > 1 && tiles_ * ic_ * oc_ >= 10000;
  }

  /// Cuts besides the own one that may well be as good.
  std::vector<KernelCandidate> Candidates(const Target& target) const {
    std::vector<KernelCandidate> list;
    ForEachCut(tiles_, ic_, oc_, a_.panel, target, [&](const WinogradCut& cut) {
      const bool own = cut.per_task == plan_.per_task && cut.rows == plan_.rows &&
                       cut.panel_tasks == plan_.panel_tasks;
      if (own || cut.cost > 1.5 * plan_.cost) return;
      list.push_back(
          {{{"tiles", cut.per_task}, {"rows", cut.rows}, {"panel_tasks", cut.panel_tasks}},
           cut.cost});
    });
    return list;
  }

  Stmt Emit() {
    Var task = IndexVar("task"), panel = IndexVar("panel"), step = IndexVar("step");
    const int64_t tasks = plan_.tile_tasks * plan_.panel_tasks;
    access_.Bind(task, tasks);
    first_ = IndexVar("tile0");
    access_.Bind(first_, plan_.tile_tasks * plan_.per_task);
    const int64_t panels = CeilDiv(oc_, a_.panel), mine = CeilDiv(panels, plan_.panel_tasks);
    access_.Bind(panel, panels);
    v_ = FlatAccess::Scratch("v", kAllPoints * plan_.per_task * pitch_, kFloat, "global");
    m_ = FlatAccess::Scratch("m", kAllPoints * plan_.per_task * a_.panel, kFloat, "global");
    access_.UseAsIs(v_);
    access_.UseAsIs(m_);
    here_ = Index(plan_.per_task);
    if (tiles_ % plan_.per_task != 0) here_ = min(here_, Index(tiles_) - first_);
    Stmt each = SeqStmt::Flatten(Products(panel), Outputs(panel));
    if (mine * plan_.panel_tasks != panels) each = IfThenElse(panel < Index(panels), each);
    PrimExpr part = access_.Simplify(floormod(task, Index(plan_.panel_tasks)));
    PrimExpr tile = access_.Simplify(floordiv(task, Index(plan_.panel_tasks)));
    each = SeqStmt::Flatten(Bind(panel, part * Index(mine) + step), each);
    Stmt body = SeqStmt::Flatten(Bind(first_, tile * Index(plan_.per_task)), tirx::AllocBuffer(v_),
                                 tirx::AllocBuffer(m_), Inputs(), Loop(step, mine, each));
    return access_.Wrap(parallel_ ? ParallelLoop(task, tasks, body) : Loop(task, tasks, body));
  }

 private:
  static inline const DataType kFloat = DataType::Float(32);

  /// Position of one tile of the task: its number, picture, and first output.
  struct TilePlace {
    Var image, top, left;
    Array<Stmt> bind;
  };

  TilePlace PlaceOf(const Var& tile) {
    TilePlace place{IndexVar("n"), IndexVar("oh0"), IndexVar("ow0"), {}};
    Var index = IndexVar("index");
    access_.Bind(index, tiles_);
    access_.Bind(place.image, batch_);
    access_.Bind(place.top, tiles_h_ * kTile);
    access_.Bind(place.left, tiles_w_ * kTile);
    auto define = [&](const Var& var, const PrimExpr& value) {
      place.bind.push_back(Bind(var, access_.Simplify(value)));
    };
    define(index, PrimExpr(first_) + tile);
    define(place.image, floordiv(index, Index(tiles_h_ * tiles_w_)));
    define(place.top, floormod(floordiv(index, Index(tiles_w_)), Index(tiles_h_)) * Index(kTile));
    define(place.left, floormod(index, Index(tiles_w_)) * Index(kTile));
    return place;
  }

  /// A variable for a vector, bound at the end of `seq`.
  static auto Namer(Array<Stmt>* seq) {
    return [seq](const PrimExpr& value) -> PrimExpr {
      Var var("t", value.dtype());
      seq->push_back(Bind(var, value));
      return var;
    };
  }

  // --- inputs ---

  Stmt Inputs() {
    Var tile = IndexVar("tile");
    access_.Bind(tile, plan_.per_task);
    TilePlace place = PlaceOf(tile);
    Var row = IndexVar("ih0"), col = IndexVar("iw0"), base = IndexVar("base");
    access_.BindRange(row, -a_.pad_h, tiles_h_ * kTile + a_.pad_h);
    access_.BindRange(col, -a_.pad_w, tiles_w_ * kTile + a_.pad_w);
    Array<Stmt> seq = place.bind;
    seq.push_back(Bind(row, PrimExpr(place.top) - Index(a_.pad_h)));
    seq.push_back(Bind(col, PrimExpr(place.left) - Index(a_.pad_w)));
    PrimExpr pixel = (PrimExpr(place.image) * Index(height_) + row) * Index(width_) + col;
    seq.push_back(Bind(base, pixel * Index(ic_)));
    Stmt inside = Channels([&](const PrimExpr& c, int64_t width) {
      return Transform(tile, c, width, [&](int64_t i, int64_t j) {
        return LoadInput(PrimExpr(base) + Index((i * width_ + j) * ic_) + c, width);
      });
    });
    const bool never_leaves = a_.pad_h == 0 && a_.pad_w == 0 && tiles_h_ * kTile + 2 <= height_ &&
                              tiles_w_ * kTile + 2 <= width_;
    if (never_leaves) {
      seq.push_back(inside);
    } else {
      PrimExpr whole = PrimExpr(row) >= Index(0) && PrimExpr(row) <= Index(height_ - kPoints) &&
                       PrimExpr(col) >= Index(0) && PrimExpr(col) <= Index(width_ - kPoints);
      seq.push_back(IfThenElse(whole, inside, BorderTile(tile, row, col, base)));
    }
    return For(tile, Index(0), here_, ForKind::kSerial, SeqStmt::Flatten(seq));
  }

  PrimExpr LoadInput(const PrimExpr& at, int64_t width) {
    PrimExpr x = BufferLoad(access_.Alias(a_.x), {Consecutive(access_.Simplify(at), width)});
    return cast(kFloat.with_lanes(static_cast<int>(width)), x);
  }

  template <typename F>
  Stmt Channels(F body) {
    const int64_t whole = ic_ / lanes_, rest = ic_ % lanes_;
    Array<Stmt> seq;
    if (whole > 0) {
      Var block = IndexVar("c_block");
      access_.Bind(block, whole);
      seq.push_back(Loop(block, whole, body(PrimExpr(block) * Index(lanes_), lanes_)));
    }
    if (rest > 0) seq.push_back(body(Index(whole * lanes_), rest));
    return SeqStmt::Flatten(seq);
  }

  PrimExpr Lanes(const PrimExpr& slot, int64_t width) {
    return Consecutive(access_.Simplify(slot * Index(lanes_)), width);
  }

  /// V[:, tile, c..c + width) from the 6x6 vectors that `load` gives.
  template <typename F>
  Stmt Transform(const Var& tile, const PrimExpr& c, int64_t width, F load) {
    Array<Stmt> seq;
    auto name = Namer(&seq);
    std::array<std::array<PrimExpr, 6>, 6> half;  // [row of the transform][column]
    for (int64_t j = 0; j < kPoints; ++j) {
      std::array<PrimExpr, 6> column;
      for (int64_t i = 0; i < kPoints; ++i) column[i] = name(load(i, j));
      std::array<PrimExpr, 6> out = InputTransform(column, name);
      for (int64_t i = 0; i < kPoints; ++i) half[i][j] = out[i];
    }
    for (int64_t i = 0; i < kPoints; ++i) {
      std::array<PrimExpr, 6> out = InputTransform(half[i], name);
      for (int64_t j = 0; j < kPoints; ++j) {
        PrimExpr at = (Index((i * kPoints + j) * plan_.per_task) + tile) * Index(pitch_) + c;
        seq.push_back(BufferStore(v_, out[j], {Consecutive(access_.Simplify(at), width)}));
      }
    }
    return SeqStmt::Flatten(seq);
  }

  /// A tile that reaches over the border, where inputs are zero outside. Loops over columns and
  /// rows keep each test and its load in one place, and the code short.
  Stmt BorderTile(const Var& tile, const Var& row, const Var& col, const Var& base) {
    Buffer half = FlatAccess::Scratch("half", kAllPoints * lanes_, kFloat, "local");
    access_.UseAsIs(half);
    Stmt body = Channels([&](const PrimExpr& c, int64_t width) {
      Var i = IndexVar("i"), j = IndexVar("j");
      access_.Bind(i, kPoints);
      access_.Bind(j, kPoints);
      PrimExpr zero = make_zero(kFloat.with_lanes(static_cast<int>(width)));
      std::array<PrimExpr, 6> x;
      Array<Stmt> down, across;
      auto name = Namer(&down);
      for (int64_t r = 0; r < kPoints; ++r) {
        PrimExpr h = PrimExpr(row) + Index(r), w = PrimExpr(col) + j;
        PrimExpr inside = h >= Index(0) && h < Index(height_) && w >= Index(0) && w < Index(width_);
        PrimExpr from = PrimExpr(base) + (Index(r * width_) + j) * Index(ic_) + c;
        x[r] = name(if_then_else(inside, LoadInput(from, width), zero));
      }
      std::array<PrimExpr, 6> out = InputTransform(x, name);
      for (int64_t r = 0; r < kPoints; ++r) {
        down.push_back(BufferStore(half, out[r], {Lanes(Index(r * kPoints) + j, width)}));
      }
      auto name_across = Namer(&across);
      for (int64_t s = 0; s < kPoints; ++s) {
        PrimExpr slot = PrimExpr(i) * Index(kPoints) + Index(s);
        x[s] = name_across(BufferLoad(half, {Lanes(slot, width)}));
      }
      out = InputTransform(x, name_across);
      for (int64_t s = 0; s < kPoints; ++s) {
        PrimExpr point = PrimExpr(i) * Index(kPoints) + Index(s);
        PrimExpr at = (point * Index(plan_.per_task) + tile) * Index(pitch_) + c;
        across.push_back(BufferStore(v_, out[s], {Consecutive(access_.Simplify(at), width)}));
      }
      return SeqStmt::Flatten(Loop(j, kPoints, SeqStmt::Flatten(down)),
                              Loop(i, kPoints, SeqStmt::Flatten(across)));
    });
    return SeqStmt::Flatten(tirx::AllocBuffer(half), body);
  }

  // --- products ---

  Stmt Products(const Var& panel) {
    Var point = IndexVar("point"), part = IndexVar("part");
    const int64_t parts = plan_.per_task / plan_.rows;
    access_.Bind(point, kAllPoints);
    access_.Bind(part, parts);
    const int64_t vectors = a_.panel / lanes_;
    RegisterTile sums(&access_, kFloat, lanes_, plan_.rows,
                      std::vector<int64_t>(static_cast<size_t>(vectors), lanes_));
    Buffer u = access_.Alias(a_.u);
    PrimExpr plane = (PrimExpr(panel) * Index(kAllPoints) + point) * Index(ic_ * a_.panel);
    PrimExpr row0 = PrimExpr(point) * Index(plan_.per_task) + PrimExpr(part) * Index(plan_.rows);
    auto load_a = [&](int64_t i, const PrimExpr& k) {
      return BufferLoad(v_, {access_.Simplify((row0 + Index(i)) * Index(pitch_) + k)});
    };
    auto load_b = [&](size_t v, const PrimExpr& k) {
      PrimExpr at = plane + k * Index(a_.panel) + Index(static_cast<int64_t>(v) * lanes_);
      return BufferLoad(u, {Consecutive(access_.Simplify(at), lanes_)});
    };
    // The next point's weights, or the next panel's first ones.
    auto prefetch = [&](const PrimExpr& group, int64_t steps) {
      const int64_t line = 64 / kFloat.bytes();
      const int64_t lines = CeilDiv(steps * a_.panel / line, parts);
      PrimExpr next = plane + Index(ic_ * a_.panel) +
                      (PrimExpr(part) * Index(ic_ / steps) + group) * Index(lines * line);
      Array<Stmt> seq;
      for (int64_t i = 0; i < lines; ++i) {
        seq.push_back(PrefetchLine(u, access_.Simplify(next + Index(i * line))));
      }
      return SeqStmt::Flatten(seq);
    };
    Array<Stmt> seq{
        sums.Sum(ic_, load_a, load_b, parts > 1 ? RegisterTile::Extra(prefetch) : nullptr)};
    for (int64_t i = 0; i < plan_.rows; ++i) {
      for (int64_t v = 0; v < vectors; ++v) {
        PrimExpr at = (row0 + Index(i)) * Index(a_.panel) + Index(v * lanes_);
        seq.push_back(BufferStore(m_, BufferLoad(sums.acc(), {sums.Lanes(i, v)}),
                                  {Consecutive(access_.Simplify(at), lanes_)}));
      }
    }
    return Loop(point, kAllPoints, Loop(part, parts, SeqStmt::Flatten(seq)));
  }

  // --- outputs ---

  Stmt Outputs(const Var& panel) {
    Var tile = IndexVar("tile"), vector = IndexVar("vector");
    access_.Bind(tile, plan_.per_task);
    TilePlace place = PlaceOf(tile);
    const int64_t per_panel = a_.panel / lanes_, all = CeilDiv(oc_, lanes_);
    access_.Bind(vector, per_panel);
    PrimExpr count = Index(std::min(per_panel, all));
    if (all % per_panel != 0) count = min(count, Index(all) - PrimExpr(panel) * Index(per_panel));
    Var column = IndexVar("column");
    access_.Bind(column, all * lanes_);
    PrimExpr first = PrimExpr(panel) * Index(a_.panel) + PrimExpr(vector) * Index(lanes_);
    auto body = [&](int64_t width) { return OutputVector(place, tile, vector, column, width); };
    Stmt store = body(std::min(lanes_, oc_));
    if (oc_ > lanes_ && oc_ % lanes_ != 0) {
      store = IfThenElse(PrimExpr(column) <= Index(oc_ - lanes_), store, body(oc_ % lanes_));
    }
    Stmt vectors = For(vector, Index(0), count, ForKind::kSerial,
                       SeqStmt::Flatten(Bind(column, first), store));
    Array<Stmt> seq = place.bind;
    seq.push_back(vectors);
    return For(tile, Index(0), here_, ForKind::kSerial, SeqStmt::Flatten(seq));
  }

  Stmt OutputVector(const TilePlace& place, const Var& tile, const Var& vector, const Var& channel,
                    int64_t width) {
    Array<Stmt> seq;
    auto name = Namer(&seq);
    std::array<std::array<PrimExpr, 6>, 4> half;
    for (int64_t j = 0; j < kPoints; ++j) {
      std::array<PrimExpr, 6> points;
      for (int64_t i = 0; i < kPoints; ++i) {
        PrimExpr row = Index((i * kPoints + j) * plan_.per_task) + tile;
        PrimExpr at = row * Index(a_.panel) + PrimExpr(vector) * Index(lanes_);
        points[i] = name(BufferLoad(m_, {Consecutive(access_.Simplify(at), lanes_)}));
      }
      std::array<PrimExpr, 4> out = OutputTransform(points, name);
      for (int64_t i = 0; i < kTile; ++i) half[i][j] = out[i];
    }
    Buffer result = FlatAccess::Scratch("result", kTile * kTile * lanes_, kFloat, "local");
    access_.UseAsIs(result);
    for (int64_t i = 0; i < kTile; ++i) {
      std::array<PrimExpr, 4> out = OutputTransform(half[i], name);
      for (int64_t j = 0; j < kTile; ++j) {
        seq.push_back(BufferStore(result, out[j], {Lanes(Index(i * kTile + j), lanes_)}));
      }
    }
    Var i = IndexVar("i"), j = IndexVar("j");
    access_.Bind(i, kTile);
    access_.Bind(j, kTile);
    PrimExpr rows = Index(kTile), cols = Index(kTile);
    if (out_h_ % kTile != 0) rows = min(rows, Index(out_h_) - place.top);
    if (out_w_ % kTile != 0) cols = min(cols, Index(out_w_) - place.left);
    Stmt store = StoreOutput(place, result, i, j, channel, width);
    store = For(j, Index(0), cols, ForKind::kSerial, store);
    seq.push_back(For(i, Index(0), rows, ForKind::kSerial, store));
    return SeqStmt::Flatten(tirx::AllocBuffer(result), SeqStmt::Flatten(seq));
  }

  Stmt StoreOutput(const TilePlace& place, const Buffer& result, const Var& i, const Var& j,
                   const Var& column, int64_t width) {
    Var lane = IndexVar("lane");
    access_.Bind(lane, width);
    Map<Var, PrimExpr> values{{stage_.spatial[0].var, PrimExpr(place.image)},
                              {stage_.spatial[1].var, PrimExpr(place.top) + i},
                              {stage_.spatial[2].var, PrimExpr(place.left) + j},
                              {stage_.spatial[3].var, PrimExpr(column) + lane}};
    PrimExpr sum = BufferLoad(result, {(PrimExpr(i) * Index(kTile) + j) * Index(lanes_) + lane});
    PrimExpr value = sum;
    if (epilogue_.value.defined()) {
      // The sum is flat already: stand in a variable while the rest is made flat.
      Var here("sum", kFloat);
      value = ReplaceLoads(epilogue_.value, stage_.output, PrimExpr(here));
      value = access_.Loads(Substitute(value, values));
      value = Substitute(value, Map<Var, PrimExpr>{{here, sum}});
    }
    const Buffer& output = epilogue_.stage->output;
    Array<PrimExpr> indices =
        epilogue_.indices.Map([&](const PrimExpr& index) { return Substitute(index, values); });
    return VectorLoop(lane, width,
                      BufferStore(access_.Alias(output), value, {access_.Offset(output, indices)}));
  }

  const Stage& stage_;
  WinogradAnchor a_;
  Epilogue epilogue_;
  int64_t lanes_;
  int64_t height_, width_, ic_, batch_, out_h_, out_w_, oc_, tiles_h_, tiles_w_, tiles_, pitch_;
  bool parallel_;
  WinogradCut plan_;
  FlatAccess access_;
  Var first_;
  PrimExpr here_;  // tiles of this task
  Buffer v_, m_;
};

/// Whether the algorithm is worth it: fewer multiplications against transforms and larger weights.
std::optional<KernelPlan> QueryWinograd(const KernelQuery& query, const Target& target) {
  const DataType f32 = DataType::Float(32);
  const std::vector<int64_t> three{3, 3}, one{1, 1};
  if (query.tile_op != "conv2d" || !query.constant_b || query.groups != 1) return std::nullopt;
  const DataType narrow = DataType::BFloat(16);
  if (query.a_dtype != f32 && query.a_dtype != narrow) return std::nullopt;
  if (query.b_dtype != f32 || query.out_dtype != f32) return std::nullopt;
  if (query.kernel != three || query.strides != one || query.dilation != one) return std::nullopt;
  if (query.out.size() != 2 || query.m == 0 || query.n == 0 || query.k == 0) return std::nullopt;
  if (!transform::PassContext::Current()->GetConfig<bool>(kOption, true).value()) {
    return std::nullopt;
  }
  const int64_t ic = query.k / 9, pixels = query.out[0] * query.out[1];
  const int64_t tiles =
      query.m / pixels * CeilDiv(query.out[0], kTile) * CeilDiv(query.out[1], kTile);
  KernelPlan plan;
  plan.rule = kRuleName;
  plan.data_layout = "NHWC";
  plan.weight_form = kWinograd;
  plan.panel = PanelColumns(tiles, query.n, f32, target);
  const int64_t lanes = VectorLanes(f32, target);
  const WinogradCut cut = PlanWinograd(tiles, ic, query.n, plan.panel, target);
  // Against an input in bfloat16 stand products in it.
  const auto step = ChooseDotStep(query.a_dtype, query.a_dtype, f32, target);
  const double direct = static_cast<double>(query.m * query.k * CeilDiv(query.n, lanes)) /
                        static_cast<double>(step->group);
  // Where it is measured the estimate may be wrong by as much the other way. Products in float32
  // instead of bfloat16 are worth having at a smaller gain.
  const double gain = query.measured ? 0.8 : step->group > 1 ? 1.1 : 1.25;
  if (direct < gain * cut.cost) return std::nullopt;
  plan.cost = cut.cost / 3e9;
  return plan;
}

std::optional<tirx::PrimFunc> EmitWinograd(const tirx::PrimFunc& func, const Target& target,
                                           const KernelKnobs& knobs, std::string* why) {
  auto group = ParseGroup(func, why);
  if (!group) return std::nullopt;
  auto anchor = Match(*group, why);
  if (!anchor) return std::nullopt;
  auto epilogue = ReadEpilogue(*group, why);
  if (!epilogue) return std::nullopt;
  WinogradEmitter emitter(*group, *std::move(anchor), *std::move(epilogue), target, knobs);
  return ScheduledFunc(func, emitter.Emit());
}

std::vector<KernelCandidate> WinogradCandidates(const tirx::PrimFunc& func, const Target& target) {
  std::string why;
  auto group = ParseGroup(func, &why);
  auto anchor = group ? Match(*group, &why) : std::nullopt;
  auto epilogue = group ? ReadEpilogue(*group, &why) : std::nullopt;
  if (!anchor || !epilogue) return {};
  const KernelKnobs none;
  return WinogradEmitter(*group, *std::move(anchor), *std::move(epilogue), target, none)
      .Candidates(target);
}

const bool kRegistered =
    RegisterRule({kRuleName, 110, QueryWinograd, EmitWinograd, WinogradCandidates});
TVM_REGISTER_PASS_CONFIG_OPTION(kOption, bool);

}  // namespace

void WinogradPack(const float* from, int64_t ic, int64_t oc, int64_t panel, float* to) {
  const int64_t panels = CeilDiv(oc, panel);
  std::memset(to, 0, static_cast<size_t>(panels * kAllPoints * ic * panel) * sizeof(float));
  // Columns side by side, which the compiler takes in vectors.
  constexpr int64_t kSide = 16;
  double half[6][3][kSide];
  for (int64_t c = 0; c < ic; ++c) {
    for (int64_t o = 0; o < oc;) {
      const int64_t width = std::min({kSide, panel - o % panel, oc - o});
      for (int64_t p = 0; p < kPoints; ++p) {
        for (int64_t s = 0; s < 3; ++s) {
          const float* tap = from + (s * ic + c) * oc + o;
          for (int64_t i = 0; i < width; ++i) {
            half[p][s][i] = kG[p][0] * static_cast<double>(tap[i]) +
                            kG[p][1] * static_cast<double>(tap[3 * ic * oc + i]) +
                            kG[p][2] * static_cast<double>(tap[6 * ic * oc + i]);
          }
        }
      }
      float* at = to + (o / panel * kAllPoints * ic + c) * panel + o % panel;
      for (int64_t p = 0; p < kPoints; ++p) {
        for (int64_t q = 0; q < kPoints; ++q) {
          float* point = at + (p * kPoints + q) * ic * panel;
          for (int64_t i = 0; i < width; ++i) {
            point[i] = static_cast<float>(half[p][0][i] * kG[q][0] + half[p][1][i] * kG[q][1] +
                                          half[p][2][i] * kG[q][2]);
          }
        }
      }
      o += width;
    }
  }
}

PrimExpr WinogradTap(const PrimExpr& kh, const PrimExpr& kw,
                     const std::function<PrimExpr(const PrimExpr& point)>& point) {
  // g0 = 4 u0, g1 = 3 (u2 - u1), g2 = u5: a first and, for the middle tap, a second term.
  auto pick = [](const PrimExpr& k, const PrimExpr& first, const PrimExpr& middle,
                 const PrimExpr& last) {
    return select(equal(k, Index(0)), first, select(equal(k, Index(1)), middle, last));
  };
  auto real = [](double value) { return PrimExpr(make_const(DataType::Float(32), value)); };
  auto where = [&](const PrimExpr& k, bool second) {
    return second ? Index(1) : pick(k, Index(0), Index(2), Index(5));
  };
  auto weight = [&](const PrimExpr& k, bool second) {
    return second ? pick(k, real(0), real(-3), real(0)) : pick(k, real(4), real(3), real(1));
  };
  PrimExpr sum;
  for (bool p : {false, true}) {
    for (bool q : {false, true}) {
      PrimExpr u = point(where(kh, p) * Index(kPoints) + where(kw, q));
      PrimExpr term = weight(kh, p) * weight(kw, q) * u;
      sum = sum.defined() ? sum + term : term;
    }
  }
  return sum;
}

}  // namespace kernels
}  // namespace tvm
