// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Rule `grouped`: convolutions in NHWC with many groups of a few channels each, e.g. depthwise
/// ones with several outputs a channel.
///
///   C[n, oh, ow, g, j] = sum over kh, kw, i of X[n, ih, iw, g * I + i] * W[kh, kw, i, g * J + j]
///
/// Vectors run along the groups. A task copies the rows of the picture that its rows of C need,
/// with their border, so that channel i of all groups lies side by side; a weight with J > 1 is
/// sorted once in the same way. No sum then needs a test or a shuffle; only results of J > 1 are
/// interleaved before the epilogue:
///
///   parallel task: x[ih, iw, i, g] = X[n, ih, iw, g * I + i], border included
///     for oh, tile of ow, vector of g: acc[ow, j] += x[ih, iw, i, g] * w[kh, kw, i, j, g]
#include <tvm/ir/expr_functor.h>
#include <tvm/kernels/rule.h>
#include <tvm/target/cpu_features.h>
#include <tvm/tirx/op.h>
#include <tvm/tirx/stmt_functor.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "kernels/contraction_plan.h"
#include "kernels/epilogue.h"
#include "kernels/group.h"
#include "kernels/grouped_form.h"
#include "kernels/names.h"
#include "kernels/vector_exprs.h"

namespace tvm {
namespace kernels {
namespace {

constexpr const char* kRuleName = "grouped";
/// Channels of a group, read and computed, that shuffles still sort cheaply.
constexpr int64_t kMostChannels = 8;
constexpr int64_t kMostUnrolled = 48;  // products of a body

class GroupedEmitter {
 public:
  GroupedEmitter(const Stage& anchor, GroupedForm form, Epilogue epilogue, const Target& target,
                 const KernelKnobs& knobs)
      : anchor_(anchor),
        f_(std::move(form)),
        epilogue_(std::move(epilogue)),
        dtype_(anchor.output.dtype()),
        lanes_(VectorLanes(dtype_, target)) {
    const CpuFeatures cpu = CpuFeaturesOf(target);
    const int64_t cores = std::max(1, cpu.num_cores);
    pitch_ = CeilDiv(f_.groups, lanes_) * lanes_;
    // Sums of a tile, one vector of x and as many of w as a group has results, in registers.
    const int64_t spare = cpu.num_vector_registers - f_.out - 1;
    const int64_t most = std::max<int64_t>(1, spare / f_.out);
    tile_ = Knob(knobs, "columns", std::min({most, f_.w.out, int64_t{6}}));
    tile_ = std::clamp<int64_t>(tile_, 1, f_.w.out);
    constexpr int64_t kMostRows = 8;
    const int64_t share = f_.batch * f_.h.out / (4 * cores);
    rows_ = Knob(knobs, "rows", std::clamp<int64_t>(share, 1, kMostRows));
    rows_ = std::clamp<int64_t>(rows_, 1, f_.h.out);
    const int64_t work = Product(anchor.spatial) * Product(anchor.reduce);
    parallel_ = Knob(knobs, "parallel", cores > 1 && work >= 100000) != 0;
  }

  Stmt Emit() {
    Array<Stmt> seq;
    SortWeight(&seq);
    Var task = IndexVar("task"), row = IndexVar("oh0");
    const int64_t blocks = CeilDiv(f_.h.out, rows_), tasks = f_.batch * blocks;
    access_.Bind(task, tasks);
    access_.Bind(row, f_.h.out);
    Set(anchor_.spatial[0], access_.Simplify(floordiv(task, Index(blocks))));
    row0_ = row;
    x_ = Scratch("x_rows", f_.h.Reads(rows_) * f_.w.Reads(f_.w.out) * f_.in * pitch_, "global");
    Array<Stmt> body{Bind(row, access_.Simplify(floormod(task, Index(blocks))) * Index(rows_)),
                     tirx::AllocBuffer(x_), CopyRows()};
    Var r = IndexVar("r"), oh = IndexVar("oh");
    access_.Bind(r, rows_);
    access_.Bind(oh, f_.h.out);
    Set(anchor_.spatial[1], oh);
    PrimExpr count = Index(rows_);
    if (f_.h.out % rows_ != 0) count = min(count, Index(f_.h.out) - row);
    body.push_back(For(r, Index(0), count, ForKind::kSerial,
                       SeqStmt::Flatten(Bind(oh, PrimExpr(row) + r), RowBody(r))));
    Stmt all = SeqStmt::Flatten(body);
    seq.push_back(parallel_ ? ParallelLoop(task, tasks, all) : Loop(task, tasks, all));
    return access_.Wrap(SeqStmt::Flatten(seq));
  }

 private:
  void Set(const Iter& iter, const PrimExpr& value) { values_.Set(iter.var, value); }

  Buffer Scratch(const char* name, int64_t size, const char* scope) {
    Buffer buffer = FlatAccess::Scratch(name, size, dtype_, scope);
    access_.UseAsIs(buffer);
    return buffer;
  }

  /// By how much the weight's offset grows with an iteration; 0 where there is no such iteration.
  int64_t WeightStep(const Iter& iter) {
    if (iter.extent == 1) return 0;
    const PrimExpr offset = access_.Offset(f_.weight->buffer, f_.weight->indices);
    return access_.Coefficient(offset, iter.var).value();
  }

  /// w[kh, kw, i, j, g], unless the weight lies so already.
  void SortWeight(Array<Stmt>* seq) {
    const std::vector<Iter>&s = anchor_.spatial, &r = anchor_.reduce;
    const int64_t taps = f_.h.kernel * f_.w.kernel;
    std::vector<Iter> loops;
    PrimExpr from = Index(0), to = Index(0);
    auto walk = [&](const char* name, int64_t extent, int64_t step, int64_t pitch) {
      loops.push_back({IndexVar(name), extent});
      access_.Bind(loops.back().var, extent);
      from = from + loops.back().var * Index(step);
      to = to + loops.back().var * Index(pitch);
    };
    const int64_t in_pitch = f_.out * pitch_, kw_pitch = f_.in * in_pitch;
    walk("kh", f_.h.kernel, WeightStep(r[0]), f_.w.kernel * kw_pitch);
    walk("kw", f_.w.kernel, WeightStep(r[1]), kw_pitch);
    walk("i", f_.in, r.size() == 3 ? WeightStep(r[2]) : 0, in_pitch);
    walk("j", f_.out, WeightStep(s[4]), pitch_);
    walk("g", f_.groups, WeightStep(s[3]), 1);
    const PrimExpr first = access_.Offset(f_.weight->buffer, f_.weight->indices);
    PrimExpr base = first;
    for (const auto* iters : {&s, &r}) base = Substitute(base, Zeros(*iters));
    from = access_.Simplify(from + base);
    to = access_.Simplify(to);
    const Buffer weight = access_.Alias(f_.weight->buffer);
    if (weight.dtype() == dtype_ && is_zero(access_.Simplify(from - to))) {
      w_ = weight;
      return;
    }
    w_ = Scratch("w_sorted", taps * kw_pitch, "global");
    seq->push_back(tirx::AllocBuffer(w_));
    Stmt body = BufferStore(w_, cast(dtype_, BufferLoad(weight, {from})), {to});
    for (size_t i = loops.size(); i-- > 0;) body = Loop(loops[i].var, loops[i].extent, body);
    seq->push_back(body);
  }

  /// Elements of one position of the copied picture.
  int64_t Position() const { return f_.in * pitch_; }

  Stmt Fill(const PrimExpr& first, int64_t positions) {
    Iter k{IndexVar("k"), positions * Position()};
    access_.Bind(k.var, k.extent);
    return VectorRun(k, lanes_, BufferStore(x_, cast(dtype_, f_.border), {first + k.var}));
  }

  Stmt CopyRows() {
    Var row = IndexVar("row"), ih = IndexVar("ih");
    const int64_t count = f_.h.Reads(rows_), width = f_.w.Reads(f_.w.out);
    access_.Bind(row, count);
    const int64_t left = std::clamp<int64_t>(f_.w.pad, 0, width);
    const int64_t skipped = std::max<int64_t>(0, -f_.w.pad);  // columns that no sum reads
    const int64_t inside = std::clamp<int64_t>(f_.w.in - skipped, 0, width - left);
    const PrimExpr first = PrimExpr(row) * Index(width * Position());
    Array<Stmt> copy;
    if (left > 0) copy.push_back(Fill(first, left));
    if (inside > 0) {
      Var iw = IndexVar("iw");
      access_.Bind(iw, inside);
      PrimExpr to = first + (PrimExpr(iw) + Index(left)) * Index(Position());
      copy.push_back(Loop(iw, inside, CopyPosition(ih, PrimExpr(iw) + Index(skipped), to)));
    }
    if (left + inside < width) {
      copy.push_back(Fill(first + Index((left + inside) * Position()), width - left - inside));
    }
    PrimExpr at = PrimExpr(row0_) * Index(f_.h.stride) + row - Index(f_.h.pad);
    PrimExpr exists = PrimExpr(ih) >= Index(0) && PrimExpr(ih) < Index(f_.h.in);
    return Loop(row, count,
                SeqStmt::Flatten(Bind(ih, at),
                                 IfThenElse(exists, SeqStmt::Flatten(copy), Fill(first, width))));
  }

  /// x[to + (i, g)] = X[n, ih, iw, g * in + i].
  Stmt CopyPosition(const PrimExpr& ih, const PrimExpr& iw, const PrimExpr& to) {
    const Buffer x = access_.Alias(f_.x->buffer);
    const PrimExpr from =
        access_.Offset(f_.x->buffer, {values_.at(anchor_.spatial[0].var), ih, iw, Index(0)});
    const int64_t whole = f_.groups / lanes_, rest = f_.groups % lanes_;
    Array<Stmt> seq;
    if (whole > 0) {
      Var block = IndexVar("block");
      access_.Bind(block, whole);
      Array<Stmt> body;
      Array<PrimExpr> parts;
      const PrimExpr at = from + PrimExpr(block) * Index(lanes_ * f_.in);
      for (int64_t p = 0; p < f_.in; ++p) {
        PrimExpr part = VectorAt(x, access_.Simplify(at + Index(p * lanes_)), lanes_);
        part = cast(dtype_.with_lanes(static_cast<int>(lanes_)), part);
        parts.push_back(Named("part", part, &body));
      }
      for (int64_t i = 0; i < f_.in; ++i) {
        Array<PrimExpr> picks;
        for (int64_t g = 0; g < lanes_; ++g) picks.push_back(IntImm::Int32(g * f_.in + i));
        PrimExpr channel = f_.in == 1 || lanes_ == 1 ? parts[static_cast<size_t>(i)]
                                                     : PrimExpr(tirx::Shuffle(parts, picks));
        PrimExpr place = to + Index(i * pitch_) + PrimExpr(block) * Index(lanes_);
        body.push_back(StoreAt(x_, access_.Simplify(place), channel));
      }
      seq.push_back(Loop(block, whole, SeqStmt::Flatten(body)));
    }
    if (rest > 0) {
      Var g = IndexVar("g");
      access_.Bind(g, rest);
      const PrimExpr group = Index(whole * lanes_) + g;
      Array<Stmt> body;
      for (int64_t i = 0; i < f_.in; ++i) {
        PrimExpr value = BufferLoad(x, {from + group * Index(f_.in) + Index(i)});
        body.push_back(BufferStore(x_, cast(dtype_, value), {to + Index(i * pitch_) + group}));
      }
      seq.push_back(Loop(g, rest, SeqStmt::Flatten(body)));
    }
    return SeqStmt::Flatten(seq);
  }

  /// One row of results, whose first row of x is `r` * stride.
  Stmt RowBody(const Var& r) {
    Var step = IndexVar("step"), ow = IndexVar("ow");
    access_.Bind(ow, f_.w.out);
    PrimExpr first = PrimExpr(step) * Index(tile_);
    // The last tile begins early enough to be whole.
    if (f_.w.out % tile_ != 0) first = min(first, Index(f_.w.out - tile_));
    const int64_t whole = f_.groups / lanes_, rest = f_.groups % lanes_;
    Array<Stmt> seq;
    if (whole > 0) {
      Var block = IndexVar("block");
      access_.Bind(block, whole);
      seq.push_back(Loop(block, whole, Tile(r, ow, PrimExpr(block) * Index(lanes_), lanes_)));
    }
    if (rest > 0) seq.push_back(Tile(r, ow, Index(whole * lanes_), rest));
    return Loop(step, CeilDiv(f_.w.out, tile_),
                SeqStmt::Flatten(Bind(ow, first), SeqStmt::Flatten(seq)));
  }

  Stmt Tile(const Var& r, const Var& ow, const PrimExpr& group, int64_t width) {
    Buffer acc = Scratch("acc", tile_ * f_.out * lanes_, "local");
    auto slot = [&](int64_t t, int64_t j) {
      return Consecutive(Index((t * f_.out + j) * lanes_), width);
    };
    Array<Stmt> seq{tirx::AllocBuffer(acc)};
    for (int64_t t = 0; t < tile_; ++t) {
      for (int64_t j = 0; j < f_.out; ++j) {
        seq.push_back(BufferStore(acc, Splat(cast(dtype_, anchor_.init), width), {slot(t, j)}));
      }
    }
    Var kh = IndexVar("kh"), kw = IndexVar("kw"), i = IndexVar("i");
    access_.Bind(kh, f_.h.kernel);
    access_.Bind(kw, f_.w.kernel);
    access_.Bind(i, f_.in);
    Array<Stmt> body;
    std::vector<PrimExpr> weights;
    for (int64_t j = 0; j < f_.out; ++j) {
      PrimExpr tap = (PrimExpr(kh) * Index(f_.w.kernel) + kw) * Index(f_.in) + i;
      PrimExpr at = (tap * Index(f_.out) + Index(j)) * Index(pitch_) + group;
      weights.push_back(Named("w", VectorAt(w_, access_.Simplify(at), width), &body));
    }
    for (int64_t t = 0; t < tile_; ++t) {
      PrimExpr row = PrimExpr(r) * Index(f_.h.stride) + PrimExpr(kh) * Index(f_.h.dilation);
      PrimExpr column =
          (PrimExpr(ow) + Index(t)) * Index(f_.w.stride) + PrimExpr(kw) * Index(f_.w.dilation);
      PrimExpr at = (row * Index(f_.w.Reads(f_.w.out)) + column) * Index(Position()) +
                    PrimExpr(i) * Index(pitch_) + group;
      PrimExpr x = Named("x", VectorAt(x_, access_.Simplify(at), width), &body);
      for (int64_t j = 0; j < f_.out; ++j) {
        PrimExpr sum = BufferLoad(acc, {slot(t, j)});
        PrimExpr w = weights[static_cast<size_t>(j)];
        PrimExpr next = dtype_.is_float() ? MultiplyAdd(x, w, sum) : sum + x * w;
        body.push_back(BufferStore(acc, next, {slot(t, j)}));
      }
    }
    // Short loops are unrolled as long as they take about as many products as a long body.
    int64_t products = tile_ * f_.out;
    auto loop = [&](const Var& var, int64_t extent, Stmt inner) {
      products *= extent;
      const bool unroll = products <= kMostUnrolled && extent > 1;
      return unroll ? For(var, Index(0), Index(extent), ForKind::kUnrolled, inner)
                    : Loop(var, extent, inner);
    };
    Stmt taps = loop(kw, f_.w.kernel, loop(i, f_.in, SeqStmt::Flatten(body)));
    seq.push_back(Loop(kh, f_.h.kernel, taps));
    for (int64_t t = 0; t < tile_; ++t) StoreColumn(acc, t, ow, group, width, &seq);
    return SeqStmt::Flatten(seq);
  }

  /// The epilogue on the channels of one column, side by side as they are stored.
  void StoreColumn(const Buffer& acc, int64_t t, const Var& ow, const PrimExpr& group,
                   int64_t width, Array<Stmt>* seq) {
    Buffer sums = acc;
    PrimExpr first = Index(t * f_.out * lanes_);
    if (f_.out > 1) {
      sums = Scratch("sums", f_.out * lanes_, "local");
      seq->push_back(tirx::AllocBuffer(sums));
      Array<PrimExpr> vectors;
      for (int64_t j = 0; j < f_.out; ++j) {
        vectors.push_back(VectorAt(acc, Index((t * f_.out + j) * lanes_), width));
      }
      seq->push_back(StoreAt(sums, Index(0), Interleaved(vectors)));
      first = Index(0);
    }
    for (int64_t done = 0; done < width * f_.out; done += lanes_) {
      Var lane = IndexVar("lane");
      const int64_t valid = std::min(lanes_, width * f_.out - done);
      access_.Bind(lane, valid);
      const PrimExpr channel = group * Index(f_.out) + Index(done) + lane;
      PrimExpr sum = BufferLoad(sums, {first + Index(done) + lane});
      PrimExpr value = sum;
      if (epilogue_.value.defined()) {
        // The sums are flat already: stand in a variable while the rest is made flat.
        Var result("result", dtype_);
        value = ReplaceLoads(epilogue_.value, anchor_.output, PrimExpr(result));
        value = access_.Loads(At(value, ow, t, channel));
        value = Substitute(value, Map<Var, PrimExpr>{{result, sum}});
      }
      const Buffer& output = epilogue_.stage->output;
      Array<PrimExpr> indices =
          epilogue_.indices.Map([&](const PrimExpr& index) { return At(index, ow, t, channel); });
      seq->push_back(
          VectorLoop(lane, valid,
                     BufferStore(access_.Alias(output), value, {access_.Offset(output, indices)})));
    }
  }

  PrimExpr At(const PrimExpr& expr, const Var& ow, int64_t t, const PrimExpr& channel) {
    Map<Var, PrimExpr> values = values_;
    values.Set(anchor_.spatial[2].var, PrimExpr(ow) + Index(t));
    values.Set(anchor_.spatial[3].var, f_.out == 1 ? channel : floordiv(channel, Index(f_.out)));
    values.Set(anchor_.spatial[4].var, f_.out == 1 ? Index(0) : floormod(channel, Index(f_.out)));
    return access_.Simplify(Substitute(expr, values));
  }

  const Stage& anchor_;
  GroupedForm f_;
  Epilogue epilogue_;
  DataType dtype_;  // of the sums, and of the copies
  int64_t lanes_, pitch_ = 1, tile_ = 1, rows_ = 1;
  bool parallel_ = false;
  FlatAccess access_;
  Map<Var, PrimExpr> values_;
  Var row0_;
  Buffer x_, w_;
};

std::optional<KernelPlan> QueryGrouped(const KernelQuery& query, const Target& target) {
  const bool fits = query.tile_op == "conv2d" && query.groups > 1 && query.kernel.size() == 2 &&
                    query.a_dtype.is_any_float() && query.out_dtype.is_any_float();
  if (!fits) return std::nullopt;
  const int64_t in = query.k / std::max<int64_t>(1, query.kernel[0] * query.kernel[1]);
  const int64_t lanes = VectorLanes(DataType::Float(32), target);
  if (in > kMostChannels || query.n > kMostChannels || query.groups < lanes || lanes == 1) {
    return std::nullopt;
  }
  KernelPlan plan;
  plan.rule = kRuleName;
  plan.data_layout = "NHWC";
  plan.cost = 2.0 * query.batch * query.groups * query.m * query.n * query.k / 5e10;
  return plan;
}

std::optional<tirx::PrimFunc> EmitGrouped(const tirx::PrimFunc& func, const Target& target,
                                          const KernelKnobs& knobs, std::string* why) {
  auto group = ParseGroup(func, why);
  if (!group) return std::nullopt;
  const auto decline = Decliner(why);
  const Stage* anchor = group->Anchor("conv2d");
  if (anchor == nullptr || anchor->Int(kPanel, 0) > 0) {
    return decline("the anchor is no convolution with a plain weight");
  }
  auto form = ReadGroupedForm(*group, why);
  if (!form) return std::nullopt;
  if (form->in > kMostChannels || form->out > kMostChannels) return decline("too many channels");
  auto epilogue = ReadEpilogue(*group, why);
  if (!epilogue) return std::nullopt;
  GroupedEmitter emitter(*anchor, *std::move(form), *std::move(epilogue), target, knobs);
  return ScheduledFunc(func, emitter.Emit());
}

std::vector<KernelCandidate> GroupedCandidates(const tirx::PrimFunc&, const Target& target) {
  std::vector<KernelCandidate> list;
  for (int64_t columns : {1, 2, 4, 8}) list.push_back({{{"columns", columns}}, 1});
  for (int64_t rows : {1, 2, 4, 16}) list.push_back({{{"rows", rows}}, 1.5});
  if (CpuFeaturesOf(target).num_cores > 1) {
    for (int64_t parallel : {0, 1}) list.push_back({{{"parallel", parallel}}, 2});
  }
  return list;
}

const bool kRegistered =
    RegisterRule({kRuleName, 105, QueryGrouped, EmitGrouped, GroupedCandidates});

}  // namespace
}  // namespace kernels
}  // namespace tvm
