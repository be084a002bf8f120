// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "kernels/map_transpose.h"

#include <tvm/ir/expr_functor.h>
#include <tvm/target/cpu_features.h>
#include <tvm/tirx/builtin.h>
#include <tvm/tirx/op.h>
#include <tvm/tirx/stmt_functor.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "kernels/names.h"
#include "kernels/vector_exprs.h"
#include "kernels/vector_transpose.h"

namespace tvm {
namespace kernels {
namespace {

constexpr int64_t kGrain = 16384;     // elements that are worth a thread
constexpr int64_t kBlockBytes = 256;  // of a block along either side
constexpr int64_t kLeastSquare = 4;   // lanes
constexpr int64_t kMostStrands = 3;   // vectors that are interleaved

enum class Form {
  kSquares,     ///< both sides are long enough for squares
  kInterleave,  ///< few positions of the inner dimension, which with the outer one make one run
  kTakeApart,   ///< few positions of the outer dimension, which with the inner one make one run
};

class Transposer {
 public:
  Transposer(MapLoops loops, const Target& target, const KernelKnobs& knobs, FlatAccess* access)
      : loops_(std::move(loops)), target_(target), knobs_(knobs), access_(access) {}

  Stmt Emit() {
    if (!Collect() || !FindTurned() || !ChooseForm()) return Stmt();
    const int64_t t_blocks = Blocks(turned_.extent, t_tile_);
    const int64_t i_blocks = Blocks(loops_.inner.extent, i_tile_);
    const int64_t tasks = Product(loops_.outer) * t_blocks * i_blocks;
    Var task = IndexVar("task");
    access_->Bind(task, tasks);
    PrimExpr rest = access_->Simplify(floordiv(PrimExpr(task), Index(i_blocks)));
    PrimExpr i_block = access_->Simplify(floormod(PrimExpr(task), Index(i_blocks)));
    PrimExpr t_block = access_->Simplify(floormod(rest, Index(t_blocks)));
    Map<Var, Expr> digits;
    for (const auto& [var, digit] : Digits(loops_.outer, floordiv(rest, Index(t_blocks)))) {
      digits.Set(var, access_->Simplify(digit));
    }
    // Runs of the output are written from end to end.
    Stmt body = Walk(loops_.inner.extent, i_tile_, i_block, i0_, Tile());
    body = Walk(turned_.extent, t_tile_, t_block, t0_, std::move(body));
    body = tirx::Substitute(body, digits);
    const int64_t total = Product(loops_.outer) * turned_.extent * loops_.inner.extent;
    const bool threads = CpuFeaturesOf(target_).num_cores > 1 && total >= 2 * kGrain;
    const bool parallel = Knob(knobs_, "parallel", threads) != 0;
    return parallel ? ParallelLoop(task, tasks, body) : Loop(task, tasks, body);
  }

 private:
  static bool IsEven(const std::optional<int64_t>& step) {
    return step && (*step == 0 || *step == 1);
  }
  std::optional<int64_t> Step(const PrimExpr& offset, const Var& var) {
    return access_->Coefficient(offset, var);
  }

  /// Sorts the reads; false when there is a condition, whose reads must not be moved out of it.
  bool Collect() {
    bool ok = true;
    PostOrderVisitExpr(loops_.value, [&](const Expr& node) {
      const auto* call = node.as<CallNode>();
      ok = ok && !(call != nullptr && call->op.same_as(tirx::builtin::if_then_else()));
      const auto* load = node.as<BufferLoadNode>();
      if (load == nullptr) return;
      const DataType dtype = load->dtype();
      ok = ok && !dtype.is_bool() && dtype.bits() % 8 == 0;
      const bool even = IsEven(Step(load->indices[0], loops_.inner.var));
      std::vector<BufferLoad>& list = even ? even_ : turned_loads_;
      for (const BufferLoad& known : list) {
        if (ExprDeepEqual()(known, ffi::GetRef<BufferLoad>(load))) return;
      }
      list.push_back(ffi::GetRef<BufferLoad>(load));
    });
    const DataType out = loops_.output.dtype();
    return ok && !turned_loads_.empty() && !out.is_bool() && out.bits() % 8 == 0;
  }

  /// The outer dimensions, as one, along which all reads are contiguous that `inner` is not.
  bool FindTurned() {
    std::vector<PrimExpr> offsets{loops_.offset};
    for (const auto* list : {&even_, &turned_loads_}) {
      for (const BufferLoad& load : *list) offsets.push_back(load->indices[0]);
    }
    std::vector<Iter>& outer = loops_.outer;
    for (size_t last = outer.size(); last-- > 0;) {
      bool found = true;
      for (const BufferLoad& load : turned_loads_) {
        found = found && Step(load->indices[0], outer[last].var) == 1;
      }
      if (!found) continue;
      size_t first = last;
      auto joins = [&](size_t from) {
        const std::vector<Iter> run(outer.begin() + static_cast<int64_t>(from),
                                    outer.begin() + static_cast<int64_t>(last) + 1);
        return std::all_of(offsets.begin(), offsets.end(), [&](const PrimExpr& offset) {
          return access_->FusedCoefficient(offset, run).has_value();
        });
      };
      while (first > 0 && !UsesOutsideOfLoads(loops_.value, outer[last].var) &&
             !UsesOutsideOfLoads(loops_.value, outer[first - 1].var) && joins(first - 1)) {
        --first;
      }
      Join(first, last + 1);
      return true;
    }
    return false;
  }

  /// Outer dimensions [first, last) become the one variable of `turned_`.
  void Join(size_t first, size_t last) {
    std::vector<Iter>& outer = loops_.outer;
    const auto begin = outer.begin() + static_cast<int64_t>(first),
               end = outer.begin() + static_cast<int64_t>(last);
    const std::vector<Iter> run(begin, end);
    outer.erase(begin, end);
    if (run.size() == 1) {
      turned_ = run[0];
      return;
    }
    turned_ = {IndexVar("t"), Product(run)};
    access_->Bind(turned_.var, turned_.extent);
    auto joined = [&](const PrimExpr& offset) {
      const int64_t step = access_->FusedCoefficient(offset, run).value();
      return access_->Simplify(Substitute(offset, Zeros(run)) +
                               PrimExpr(turned_.var) * Index(step));
    };
    class Joiner : public ExprMutator {
     public:
      explicit Joiner(const std::function<PrimExpr(const PrimExpr&)>& joined) : joined_(joined) {}

     private:
      Expr VisitExpr_(const BufferLoadNode* op) final {
        return BufferLoad(op->buffer, {joined_(op->indices[0])});
      }
      const std::function<PrimExpr(const PrimExpr&)>& joined_;
    };
    const std::function<PrimExpr(const PrimExpr&)> rewrite = joined;
    loops_.value = PrimExpr(Joiner(rewrite)(loops_.value));
    loops_.offset = joined(loops_.offset);
    even_.clear();
    turned_loads_.clear();
    Collect();
  }

  bool ChooseForm() {
    const CpuFeatures cpu = CpuFeaturesOf(target_);
    int bits = loops_.output.dtype().bits();
    for (const BufferLoad& load : turned_loads_) bits = std::max(bits, load->dtype().bits());
    const int64_t t = turned_.extent, i = loops_.inner.extent;
    const uint64_t lanes = static_cast<uint64_t>(
        std::min<int64_t>(cpu.vector_bits / bits, cpu.num_vector_registers / 2));
    const uint64_t square = std::min(lanes, static_cast<uint64_t>(std::min(t, i)));
    if (square >= kLeastSquare) {
      form_ = Form::kSquares;
      lanes_ = t_tile_ = i_tile_ = static_cast<int64_t>(std::bit_floor(square));
      return true;
    }
    if (lanes < kLeastSquare) return false;
    lanes_ = static_cast<int64_t>(std::bit_floor(lanes));
    if (i <= kMostStrands && t >= lanes_ && Interleaves()) {
      form_ = Form::kInterleave;
      t_tile_ = lanes_;
      i_tile_ = i;
      return true;
    }
    if (t <= kMostStrands && i >= lanes_ && TakesApart()) {
      form_ = Form::kTakeApart;
      t_tile_ = t;
      i_tile_ = lanes_;
      return true;
    }
    return false;
  }

  /// Whether the output is one run over (turned, inner), and no read skips along the outer one.
  bool Interleaves() {
    if (Step(loops_.offset, turned_.var) != loops_.inner.extent) return false;
    return std::all_of(even_.begin(), even_.end(), [&](const BufferLoad& load) {
      return IsEven(Step(load->indices[0], turned_.var));
    });
  }

  /// Whether all turned reads are one run over (inner, turned).
  bool TakesApart() {
    return std::all_of(turned_loads_.begin(), turned_loads_.end(), [&](const BufferLoad& load) {
      return Step(load->indices[0], loops_.inner.var) == turned_.extent;
    });
  }

  /// Tiles of a block along a side.
  int64_t PerBlock(int64_t extent, int64_t tile) const {
    if (extent == tile) return 1;
    return std::max<int64_t>(1, kBlockBytes / loops_.output.dtype().bytes() / tile);
  }
  /// Blocks along a side; the last one also has what is left over, so that it is no smaller than a
  /// tile and only tiles of one block overlap.
  int64_t Blocks(int64_t extent, int64_t tile) const {
    return std::max<int64_t>(1, extent / (PerBlock(extent, tile) * tile));
  }

  /// `body` for each tile of a block; the last tile of a side begins early enough to be whole.
  Stmt Walk(int64_t extent, int64_t tile, const PrimExpr& block, const Var& at, Stmt body) {
    const int64_t blocks = Blocks(extent, tile), per = PerBlock(extent, tile);
    const int64_t last = CeilDiv(extent - (blocks - 1) * per * tile, tile);
    PrimExpr count = Index(blocks == 1 ? last : per);
    if (blocks > 1 && last != per) {
      count = if_then_else(block < Index(blocks - 1), Index(per), Index(last));
    }
    Var step = IndexVar("step");
    PrimExpr start = block * Index(per * tile) + PrimExpr(step) * Index(tile);
    if (extent % tile != 0) start = min(start, Index(extent - tile));
    body = SeqStmt::Flatten(Bind(at, start), std::move(body));
    if (is_one(count)) return tirx::Substitute(body, Map<Var, Expr>{{step, Index(0)}});
    return For(step, Index(0), count, ForKind::kSerial, body);
  }

  /// `expr` where the outer dimension is at `t` and the inner one at `i`.
  PrimExpr At(const PrimExpr& expr, const PrimExpr& t, const PrimExpr& i) const {
    return Substitute(expr, Map<Var, PrimExpr>{{turned_.var, t}, {loops_.inner.var, i}});
  }

  Stmt Tile() {
    access_->Bind(t0_, turned_.extent);
    access_->Bind(i0_, loops_.inner.extent);
    Array<Stmt> seq;
    if (form_ == Form::kInterleave) {
      Interleave(&seq);
      return SeqStmt::Flatten(seq);
    }
    for (const BufferLoad& load : turned_loads_) {
      // Row r of the square, as the output has it.
      Buffer square = FlatAccess::Scratch("square", t_tile_ * lanes_, load->dtype(), "local");
      access_->UseAsIs(square);
      squares_.push_back(square);
      seq.push_back(tirx::AllocBuffer(square));
      const std::vector<Var> rows =
          form_ == Form::kSquares ? Turn(load, &seq) : TakeApart(load, &seq);
      for (int64_t r = 0; r < t_tile_; ++r) {
        seq.push_back(StoreAt(square, Index(r * lanes_), rows[static_cast<size_t>(r)]));
      }
    }
    for (int64_t r = 0; r < t_tile_; ++r) {
      Var lane = IndexVar("lane");
      access_->Bind(lane, lanes_);
      const PrimExpr t = PrimExpr(t0_) + Index(r), i = PrimExpr(i0_) + lane;
      PrimExpr value = At(ReadSquares(Index(r * lanes_) + lane), t, i);
      PrimExpr offset = access_->Simplify(At(loops_.offset, t, i));
      seq.push_back(VectorLoop(lane, lanes_, BufferStore(loops_.output, value, {offset})));
    }
    return SeqStmt::Flatten(seq);
  }

  PrimExpr Read(const BufferLoad& load, const PrimExpr& t, const PrimExpr& i, int64_t width) {
    return VectorAt(load->buffer, access_->Simplify(At(load->indices[0], t, i)), width);
  }

  std::vector<Var> Turn(const BufferLoad& load, Array<Stmt>* seq) {
    std::vector<Var> rows;
    for (int64_t r = 0; r < lanes_; ++r) {
      PrimExpr row = Read(load, t0_, PrimExpr(i0_) + Index(r), lanes_);
      rows.emplace_back("row", row.dtype());
      seq->push_back(Bind(rows.back(), row));
    }
    TransposeVectors(&rows, seq);
    return rows;
  }

  std::vector<Var> TakeApart(const BufferLoad& load, Array<Stmt>* seq) {
    const int64_t strands = turned_.extent;
    Array<PrimExpr> parts;
    for (int64_t p = 0; p < strands; ++p) {
      PrimExpr at = access_->Simplify(At(load->indices[0], Index(0), i0_) + Index(p * lanes_));
      parts.push_back(Named("part", VectorAt(load->buffer, at, lanes_), seq));
    }
    std::vector<Var> rows;
    for (int64_t s = 0; s < strands; ++s) {
      Array<PrimExpr> picks;
      for (int64_t lane = 0; lane < lanes_; ++lane) {
        picks.push_back(IntImm::Int32(lane * strands + s));
      }
      PrimExpr row = tirx::Shuffle(parts, picks);
      rows.emplace_back("row", row.dtype());
      seq->push_back(Bind(rows.back(), row));
    }
    return rows;
  }

  void Interleave(Array<Stmt>* seq) {
    const int64_t strands = loops_.inner.extent;
    const DataType dtype = loops_.output.dtype();
    Buffer rows = FlatAccess::Scratch("rows", strands * lanes_, dtype, "local");
    access_->UseAsIs(rows);
    seq->push_back(tirx::AllocBuffer(rows));
    Array<PrimExpr> vectors;
    for (int64_t s = 0; s < strands; ++s) {
      Var lane = IndexVar("lane");
      access_->Bind(lane, lanes_);
      PrimExpr value = At(loops_.value, PrimExpr(t0_) + lane, Index(s));
      seq->push_back(
          VectorLoop(lane, lanes_, BufferStore(rows, value, {Index(s * lanes_) + lane})));
      vectors.push_back(VectorAt(rows, Index(s * lanes_), lanes_));
    }
    PrimExpr at = access_->Simplify(At(loops_.offset, t0_, Index(0)));
    seq->push_back(StoreAt(loops_.output, at, Interleaved(vectors)));
  }

  /// The value with each turned read taken out of its square at `at`.
  PrimExpr ReadSquares(const PrimExpr& at) {
    class Replacer : public ExprMutator {
     public:
      Replacer(const Transposer* self, const PrimExpr& at) : self_(self), at_(at) {}

     private:
      Expr VisitExpr_(const BufferLoadNode* op) final {
        for (size_t i = 0; i < self_->turned_loads_.size(); ++i) {
          if (ExprDeepEqual()(ffi::GetRef<BufferLoad>(op), self_->turned_loads_[i])) {
            return BufferLoad(self_->squares_[i], {at_});
          }
        }
        return ffi::GetRef<BufferLoad>(op);
      }
      const Transposer* self_;
      const PrimExpr& at_;
    };
    return PrimExpr(Replacer(this, at)(loops_.value));
  }

  MapLoops loops_;
  const Target& target_;
  const KernelKnobs& knobs_;
  FlatAccess* access_;
  std::vector<BufferLoad> even_, turned_loads_;
  std::vector<Buffer> squares_;
  Iter turned_{Var(), 0};
  Form form_ = Form::kSquares;
  int64_t lanes_ = 1, t_tile_ = 1, i_tile_ = 1;
  Var t0_ = IndexVar("t0"), i0_ = IndexVar("i0");
};

}  // namespace

Stmt TransposedLoops(const MapLoops& loops, const Target& target, const KernelKnobs& knobs,
                     FlatAccess* access) {
  return Transposer(loops, target, knobs, access).Emit();
}

}  // namespace kernels
}  // namespace tvm
