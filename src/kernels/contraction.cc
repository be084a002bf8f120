// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Rule `contraction`: matrix products, batched ones, and convolutions as implicit products.
///
///   C[b, m, n] = sum_k A[b, m, k] * B[b, k, n]
///
/// A task owns a block of rows and some panels of columns. If rows of A are not plain runs of
/// memory (a convolution with its border, a transposed operand), the task first copies its rows
/// into a scratch block; likewise B, unless it was packed while compiling or its rows are plain.
/// The register tile keeps rows x panel sums in registers over all of k and applies the epilogue to
/// them before the one store:
///
///   parallel task: copy rows of A
///     for panel: [copy panel of B]
///       for tile of rows: acc = 0; for k: acc[i, :] += A[i, k] * B[k, :]; D[i, :] = epilogue(acc)
#include <tvm/ir/expr_functor.h>
#include <tvm/kernels/rule.h>
#include <tvm/tirx/builtin.h>
#include <tvm/tirx/op.h>
#include <tvm/tirx/stmt_functor.h>

#include <algorithm>
#include <utility>

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
using tirx::Ramp;
using tirx::SeqStmt;
using tirx::Stmt;

constexpr const char* kRuleName = "contraction";

/// The anchor, its iterations sorted by the operands that use them.
struct Contraction {
  PrimExpr a, b;
  std::vector<Iter> batch, rows, cols, depth;
  int64_t panel = 0;  // of B packed while compiling; 0 when it is not
  int64_t m, n, k;
};

bool IsZero(const PrimExpr& expr) {
  if (const auto* imm = expr.as<FloatImmNode>()) return imm->value == 0;
  return is_zero(expr);
}

/// Whether the operand reads packed panels: [.., k, panel].
bool IsPacked(const PrimExpr& operand, int64_t panel) {
  const auto* load = operand.as<BufferLoadNode>();
  return load != nullptr && load->indices.size() >= 3 &&
         is_const_int(load->buffer.shape().back(), panel);
}

std::optional<Contraction> Classify(const Group& group, std::string* why) {
  const Stage& stage = group.stages[group.anchor];
  auto decline = [&](const char* reason) {
    *why = reason;
    return std::nullopt;
  };
  if (stage.kind != ReduceKind::kSum || !IsZero(stage.init)) return decline("not a sum from zero");
  PrimExpr value = InlineProducers(group, stage.value, group.anchor);
  const auto* mul = value.as<tirx::MulNode>();
  if (mul == nullptr) return decline("the summand is not a product");
  Contraction result{mul->a, mul->b, {}, {}, {}, {}, stage.Int(kPanel, 0), 1, 1, 1};
  const Iter* last = nullptr;
  for (const Iter& iter : stage.spatial) {
    if (iter.extent != 1) last = &iter;
  }
  if (result.panel > 0) {
    // With a single column the innermost dimension left is one of the rows.
    if (!IsPacked(result.b, result.panel)) std::swap(result.a, result.b);
    if (!IsPacked(result.b, result.panel)) return decline("no operand is packed as annotated");
    if (last != nullptr && !UsesVar(result.b, last->var)) last = nullptr;
  } else if (last != nullptr && !UsesVar(result.b, last->var)) {
    std::swap(result.a, result.b);
  }
  for (const Iter& iter : stage.spatial) {
    const bool in_a = UsesVar(result.a, iter.var), in_b = UsesVar(result.b, iter.var);
    if (&iter == last && in_a) return decline("the innermost output dimension is in both operands");
    if (iter.extent == 1) {
      result.batch.push_back(iter);
    } else {
      (in_a && in_b ? result.batch : in_b ? result.cols : result.rows).push_back(iter);
    }
  }
  for (const Iter& iter : stage.reduce) {
    if (iter.extent != 1 && !UsesVar(result.a, iter.var) && !UsesVar(result.b, iter.var)) {
      return decline("a reduction that neither operand uses");
    }
    result.depth.push_back(iter);
  }
  // Only the innermost column dimension is tiled; further ones are walked like a batch.
  while (result.cols.size() > 1) {
    if (result.panel > 0) return decline("packed B with several column dimensions");
    result.batch.push_back(result.cols.front());
    result.cols.erase(result.cols.begin());
  }
  result.m = Product(result.rows);
  result.n = Product(result.cols);
  result.k = Product(result.depth);
  const DataType dtype = stage.output.dtype();
  if (!dtype.is_float() || dtype.bits() < 32) return decline("accumulates in another type");
  if (result.a.dtype() != dtype || result.b.dtype() != dtype) return decline("mixed types");
  if (result.m * result.n * result.k == 0) return decline("an empty contraction");
  return result;
}

class ContractionEmitter {
 public:
  ContractionEmitter(const Group& group, Contraction c, Epilogue epilogue, const Target& target)
      : anchor_(group.stages[group.anchor]),
        c_(std::move(c)),
        epilogue_(std::move(epilogue)),
        target_(target),
        dtype_(anchor_.output.dtype()) {
    lanes_ = VectorLanes(dtype_, target);
    panel_ = c_.panel > 0 ? c_.panel : PanelColumns(c_.m, c_.n, dtype_, target);
    rows_ = TileRows(c_.m, panel_, dtype_, target);
    for (const auto* iters : {&c_.batch, &c_.rows, &c_.cols, &c_.depth}) {
      for (const Iter& iter : *iters) access_.Bind(iter.var, iter.extent);
    }
  }

  Stmt Emit() {
    FindOperandAccess();
    const int64_t batch = Product(c_.batch);
    t_ =
        PlanTiles({batch, c_.m, c_.n, c_.k, rows_, panel_, !a_direct_, CopiesB()}, dtype_, target_);
    const int64_t tasks = batch * t_.row_blocks * t_.col_tasks;
    task_ = IndexVar("task");
    access_.Bind(task_, tasks);
    col_task_ = access_.Simplify(floormod(task_, Index(t_.col_tasks)));
    block_ = access_.Simplify(floormod(floordiv(task_, Index(t_.col_tasks)), Index(t_.row_blocks)));
    SetDigits(c_.batch, access_.Simplify(floordiv(task_, Index(t_.col_tasks * t_.row_blocks))));
    Stmt body = TaskBody();
    return access_.Wrap(t_.parallel ? ParallelLoop(task_, tasks, body) : Loop(task_, tasks, body));
  }

 private:
  /// Fixes the digits of a row-major fused index.
  void SetDigits(const std::vector<Iter>& iters, const PrimExpr& fused) {
    PrimExpr rest = fused;
    for (size_t i = iters.size(); i-- > 0;) {
      PrimExpr digit = i == 0 ? rest : floormod(rest, Index(iters[i].extent));
      values_.Set(iters[i].var, iters[i].extent == 1 ? Index(0) : access_.Simplify(digit));
      rest = floordiv(rest, Index(iters[i].extent));
    }
  }

  /// Whether each panel of B is copied before it is used.
  bool CopiesB() const { return c_.panel == 0 && !b_direct_; }

  void FindOperandAccess() {
    if (const auto* load = c_.a.as<BufferLoadNode>()) {
      PrimExpr offset = access_.Offset(load->buffer, load->indices);
      auto row = access_.FusedCoefficient(offset, c_.rows),
           step = access_.FusedCoefficient(offset, c_.depth);
      if (row && step && (*step == 1 || c_.k == 1 || c_.m == 1)) {
        a_direct_ = true;
        a_buffer_ = access_.Alias(load->buffer);
        a_row_ = *row;
        a_step_ = *step;
        a_base_ = Substitute(Substitute(offset, Zeros(c_.rows)), Zeros(c_.depth));
      }
      // Rows a multiple of a page apart fall on each other in the first-level cache.
      const int64_t bytes = std::abs(a_row_) * dtype_.bytes();
      if (a_direct_ && c_.m > 4 && c_.k >= 512 && c_.n >= 64 && bytes % 4096 == 0)
        a_direct_ = false;
    }
    const auto* load = c_.b.as<BufferLoadNode>();
    if (c_.panel > 0) {
      b_buffer_ = access_.Alias(load->buffer);
      return;
    }
    if (load == nullptr) return;
    PrimExpr offset = access_.Offset(load->buffer, load->indices);
    auto col = access_.FusedCoefficient(offset, c_.cols),
         step = access_.FusedCoefficient(offset, c_.depth);
    // Rows of B far apart cost a page each: worth a copy when many tiles of rows reuse it.
    const bool far = step && *step * dtype_.bytes() > 1024 && c_.m > 2 * rows_;
    if (col && step && (*col == 1 || c_.n == 1) && !far) {
      b_direct_ = true;
      b_buffer_ = access_.Alias(load->buffer);
      b_step_ = *step;
      b_base_ = Substitute(Substitute(offset, Zeros(c_.cols)), Zeros(c_.depth));
    }
  }

  PrimExpr Place(const PrimExpr& expr) { return access_.Simplify(Substitute(expr, values_)); }

  Stmt TaskBody() {
    Array<Stmt> seq;
    Var start = IndexVar("row0");
    seq.push_back(Bind(start, block_ * Index(t_.block_rows)));
    access_.Bind(start, c_.m);
    row0_ = start;
    const int64_t last_rows = c_.m - (t_.row_blocks - 1) * t_.block_rows;
    const bool even = last_rows == t_.block_rows;
    PrimExpr here = even ? Index(t_.block_rows) : min(Index(t_.block_rows), Index(c_.m) - start);
    if (!a_direct_) {
      a_pitch_ = RoundUp(c_.k, lanes_);
      // Rows of the copy must not all fall on the same cache sets.
      if (a_pitch_ * dtype_.bytes() % 1024 == 0) a_pitch_ += lanes_;
      a_buffer_ = FlatAccess::Scratch("a_rows", a_pitch_ * t_.block_rows, dtype_, "global");
      access_.UseAsIs(a_buffer_);
      seq.push_back(tirx::AllocBuffer(a_buffer_));
      seq.push_back(CopyRows(here));
    }
    if (CopiesB()) {
      b_buffer_ = FlatAccess::Scratch("b_panel", c_.k * panel_, dtype_, "global");
      access_.UseAsIs(b_buffer_);
      seq.push_back(tirx::AllocBuffer(b_buffer_));
    }
    seq.push_back(PanelLoop(here, last_rows));
    return SeqStmt::Flatten(seq);
  }

  static int64_t RoundUp(int64_t value, int64_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
  }

  /// Copies the rows of a block: runs along the innermost reduction, zero where the operand is.
  Stmt CopyRows(const PrimExpr& rows_here) {
    Var row = IndexVar("row");
    access_.Bind(row, t_.block_rows);
    Map<Var, PrimExpr> saved = values_;
    SetDigits(c_.rows, access_.Simplify(PrimExpr(row0_) + row));
    Array<Stmt> digits;  // evaluated once a row, not once an element
    for (const Iter& iter : c_.rows) {
      PrimExpr value = values_[iter.var];
      if (value.as<VarNode>() || value.as<IntImmNode>()) continue;
      Var digit = IndexVar("digit");
      access_.Bind(digit, iter.extent);
      digits.push_back(Bind(digit, value));
      values_.Set(iter.var, digit);
    }
    Stmt body = CopyRuns(a_buffer_, PrimExpr(row) * Index(a_pitch_), Index(1), c_.a, c_.depth);
    values_ = saved;
    digits.push_back(body);
    return For(row, Index(0), rows_here, ForKind::kSerial, SeqStmt::Flatten(digits));
  }

  /// target[base + step * k] = source for all k of the fused `iters`.
  Stmt CopyRuns(const Buffer& target, PrimExpr base, PrimExpr step, const PrimExpr& source,
                const std::vector<Iter>& iters) {
    std::vector<Iter> loops;
    for (const Iter& iter : iters) {
      if (iter.extent == 1) {
        values_.Set(iter.var, Index(0));
      } else {
        loops.push_back({IndexVar("k"), iter.extent});
        access_.Bind(loops.back().var, iter.extent);
        values_.Set(iter.var, loops.back().var);
      }
    }
    PrimExpr fused = Index(0);
    for (const Iter& loop : loops) fused = fused * Index(loop.extent) + loop.var;
    PrimExpr value = Substitute(source, values_);
    auto store = [&](const PrimExpr& what) {
      return BufferStore(target, what, {access_.Simplify(base + fused * step)});
    };
    if (loops.empty()) return store(access_.Loads(value));
    const Iter inner = loops.back();
    auto run = [&](const PrimExpr& what) {
      return VectorRun(inner, lanes_, store(access_.Loads(what)));
    };
    Stmt body;
    const auto* call = value.as<CallNode>();
    if (call != nullptr && call->op.same_as(tirx::builtin::if_then_else()) &&
        !UsesVar(call->args[0], inner.var)) {
      body = IfThenElse(access_.Loads(PrimExpr(call->args[0])), run(PrimExpr(call->args[1])),
                        run(PrimExpr(call->args[2])));
    } else {
      body = run(value);
    }
    for (size_t i = loops.size() - 1; i-- > 0;) body = Loop(loops[i].var, loops[i].extent, body);
    return body;
  }

  Stmt PanelLoop(const PrimExpr& rows_here, int64_t last_rows) {
    Var step = IndexVar("panel");
    Var tile = IndexVar("col_tile");
    access_.Bind(tile, t_.col_tiles);
    tile_ = tile;
    const int64_t rest = c_.n - (t_.col_tiles - 1) * panel_;
    Stmt body = PanelBody(rows_here, last_rows, panel_);
    if (rest != panel_) {
      Stmt partial = PanelBody(rows_here, last_rows, rest);
      body = t_.col_tiles == 1 ? partial
                               : IfThenElse(PrimExpr(tile) < Index(t_.col_tiles - 1),
                                            std::move(body), std::move(partial));
    }
    if (t_.col_tasks * t_.tiles_per_task != t_.col_tiles) {
      body = IfThenElse(PrimExpr(tile) < Index(t_.col_tiles), std::move(body));
    }
    PrimExpr index = access_.Simplify(col_task_ * Index(t_.tiles_per_task) + step);
    return Loop(step, t_.tiles_per_task, SeqStmt::Flatten(Bind(tile, index), body));
  }

  /// Everything of one panel whose first `cols` columns exist.
  Stmt PanelBody(const PrimExpr& rows_here, int64_t last_rows, int64_t cols) {
    Array<Stmt> seq;
    if (CopiesB()) seq.push_back(CopyPanel(cols));
    Var tile_row = IndexVar("tile");
    access_.Bind(tile_row, std::max<int64_t>(1, t_.block_rows / rows_));
    Var row = IndexVar("m");
    access_.Bind(row, c_.m);
    const int64_t rest = last_rows % rows_;
    Stmt full = SeqStmt::Flatten(Bind(row, PrimExpr(row0_) + PrimExpr(tile_row) * Index(rows_)),
                                 TileBody(row, tile_row, rows_, cols));
    PrimExpr count = floordiv(rows_here, Index(rows_));
    if (as_const_int(rows_here)) count = Index(*as_const_int(rows_here) / rows_);
    if (last_rows >= rows_ || t_.row_blocks > 1) {
      seq.push_back(For(tile_row, Index(0), count, ForKind::kSerial, full));
    }
    if (rest > 0) {
      Var tail = IndexVar("m");
      access_.Bind(tail, c_.m);
      Stmt body = SeqStmt::Flatten(Bind(tail, Index(c_.m - rest)),
                                   TileBody(tail, Index(last_rows / rows_), rest, cols));
      if (t_.row_blocks > 1) body = IfThenElse(block_ == Index(t_.row_blocks - 1), body);
      seq.push_back(body);
    }
    return SeqStmt::Flatten(seq);
  }

  /// b_panel[k, col] = B[k, n]; columns past the last one are zero.
  Stmt CopyPanel(int64_t cols) {
    Map<Var, PrimExpr> saved = values_;
    Array<Stmt> seq;
    Var col = IndexVar("col");
    access_.Bind(col, cols);
    if (!c_.cols.empty()) {
      values_.Set(c_.cols[0].var, access_.Simplify(PrimExpr(tile_) * Index(panel_) + col));
    }
    const bool along_cols = ReadsAlongColumns();
    if (along_cols) {
      seq.push_back(CopyAlongColumns(col, cols));
    } else {
      Stmt body = CopyRuns(b_buffer_, col, Index(panel_), c_.b, c_.depth);
      seq.push_back(Loop(col, cols, body));
    }
    if (cols < panel_) {
      Var k = IndexVar("k"), pad = IndexVar("pad");
      PrimExpr at = PrimExpr(k) * Index(panel_) + Index(cols) + pad;
      Stmt zero = BufferStore(b_buffer_, make_zero(dtype_), {at});
      seq.push_back(Loop(k, c_.k, VectorLoop(pad, panel_ - cols, zero)));
    }
    values_ = saved;
    return SeqStmt::Flatten(seq);
  }

  bool ReadsAlongColumns() {
    const auto* load = c_.b.as<BufferLoadNode>();
    if (load == nullptr || c_.cols.empty()) return false;
    auto col = access_.Coefficient(access_.Offset(load->buffer, load->indices), c_.cols[0].var);
    return col && *col == 1;
  }

  Stmt CopyAlongColumns(const Var& col, int64_t cols) {
    std::vector<Iter> loops;
    PrimExpr fused = Index(0);
    for (const Iter& iter : c_.depth) {
      loops.push_back({IndexVar("k"), iter.extent});
      access_.Bind(loops.back().var, iter.extent);
      values_.Set(iter.var, loops.back().var);
      fused = fused * Index(iter.extent) + loops.back().var;
    }
    PrimExpr value = access_.Loads(Substitute(c_.b, values_));
    Stmt store = BufferStore(b_buffer_, value, {access_.Simplify(fused * Index(panel_) + col)});
    Stmt body = VectorRun({col, cols}, lanes_, store);
    for (size_t i = loops.size(); i-- > 0;) body = Loop(loops[i].var, loops[i].extent, body);
    return body;
  }

  /// Widths of the vectors of a tile row: all full where B is padded, else the last one shorter.
  std::vector<int64_t> Widths(int64_t cols, bool padded) const {
    std::vector<int64_t> widths;
    for (int64_t at = 0; at < cols; at += lanes_) {
      widths.push_back(padded ? lanes_ : std::min(lanes_, cols - at));
    }
    return widths;
  }

  PrimExpr LoadA(const Var& row, int64_t i, const PrimExpr& k) {
    PrimExpr offset;
    if (a_direct_) {
      offset = Place(a_base_) + (PrimExpr(row) + Index(i)) * Index(a_row_) + k * Index(a_step_);
    } else {
      offset = (PrimExpr(row) - row0_ + Index(i)) * Index(a_pitch_) + k;
    }
    return BufferLoad(a_buffer_, {access_.Simplify(offset)});
  }

  /// Flat offset of the first column of B's panel `tile` in row k.
  PrimExpr LoadOffsetB(const PrimExpr& tile, const PrimExpr& k) {
    if (c_.panel > 0) {
      const auto* load = c_.b.as<BufferLoadNode>();
      PrimExpr offset = (tile * Index(c_.k) + k) * Index(panel_);
      if (load->indices.size() == 4) {  // one packed matrix a group
        offset = offset + Place(load->indices[0]) * Index(t_.col_tiles * c_.k * panel_);
      }
      return offset;
    }
    if (b_direct_) return Place(b_base_) + tile * Index(panel_) + k * Index(b_step_);
    return k * Index(panel_);
  }

  /// Hints for the next panel's lines, `steps` of k's worth, shared out among the row tiles of a
  /// block: the first tile of a panel then finds it in the second-level cache.
  Stmt PrefetchPanel(const PrimExpr& tile_row, const PrimExpr& group, int64_t steps) {
    const int64_t line = 64 / dtype_.bytes();
    const int64_t tiles = std::max<int64_t>(1, (t_.block_rows + rows_ - 1) / rows_);
    const int64_t lines = (steps * panel_ / line + tiles - 1) / tiles;
    PrimExpr next = LoadOffsetB(PrimExpr(tile_) + Index(1), Index(0));
    PrimExpr first = (tile_row * Index(c_.k / steps) + group) * Index(lines * line);
    Array<Stmt> seq;
    for (int64_t i = 0; i < lines; ++i) {
      seq.push_back(PrefetchLine(b_buffer_, access_.Simplify(next + first + Index(i * line))));
    }
    return SeqStmt::Flatten(seq);
  }

  Stmt TileBody(const Var& row, const PrimExpr& tile_row, int64_t rows, int64_t cols) {
    RegisterTile tile(&access_, dtype_, lanes_, rows, Widths(cols, c_.panel > 0 || !b_direct_));
    RegisterTile::Extra prefetch;
    if (c_.panel > 0 && t_.col_tiles > 1 && c_.m > rows_) {
      prefetch = [&](const PrimExpr& group, int64_t steps) {
        return PrefetchPanel(tile_row, group, steps);
      };
    }
    auto load_a = [&](int64_t i, const PrimExpr& k) { return LoadA(row, i, k); };
    auto load_b = [&](size_t v, const PrimExpr& k) {
      const int64_t width = Widths(cols, c_.panel > 0 || !b_direct_)[v];
      PrimExpr at = LoadOffsetB(tile_, k) + Index(static_cast<int64_t>(v) * lanes_);
      return BufferLoad(b_buffer_, {Consecutive(access_.Simplify(at), width)});
    };
    Array<Stmt> seq{tile.Sum(c_.k, load_a, load_b, prefetch)};
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t v = 0; v < tile.vectors(); ++v) {
        const int64_t valid = std::min(lanes_, cols - v * lanes_);
        seq.push_back(StoreVector(tile.acc(), row, i, v, tile.Slot(i, v), valid));
      }
    }
    return SeqStmt::Flatten(seq);
  }

  /// The epilogue on `valid` lanes of one accumulator.
  Stmt StoreVector(const Buffer& acc, const Var& row, int64_t i, int64_t v, int64_t slot,
                   int64_t valid) {
    Var lane = IndexVar("lane");
    access_.Bind(lane, lanes_);
    PrimExpr sum = BufferLoad(acc, {Index(slot) + lane});
    PrimExpr column = PrimExpr(tile_) * Index(panel_) + Index(v * lanes_) + lane;
    PrimExpr m = PrimExpr(row) + Index(i);
    PrimExpr value = epilogue_.value.defined() ? Value(epilogue_.value, sum, m, column) : sum;
    const Buffer& output = epilogue_.stage->output;
    Stmt store =
        BufferStore(access_.Alias(output), value, {Position(output, epilogue_.indices, m, column)});
    return VectorLoop(lane, valid, store);
  }

  /// Flat offset of indices that are written in the anchor's iterations. Rows stay fused where the
  /// buffer lets them, so that no division is left in the address.
  PrimExpr Position(const Buffer& buffer, const Array<PrimExpr>& indices, const PrimExpr& m,
                    const PrimExpr& column) {
    PrimExpr offset = access_.Offset(buffer, indices);
    Map<Var, PrimExpr> values = values_;
    if (auto c = access_.FusedCoefficient(offset, c_.rows)) {
      offset = Substitute(offset, Zeros(c_.rows)) + m * Index(*c);
    } else {
      PrimExpr rest = m;
      for (size_t i = c_.rows.size(); i-- > 0;) {
        values.Set(c_.rows[i].var, i == 0 ? rest : floormod(rest, Index(c_.rows[i].extent)));
        rest = floordiv(rest, Index(c_.rows[i].extent));
      }
    }
    if (!c_.cols.empty()) values.Set(c_.cols[0].var, column);
    return access_.Simplify(Substitute(offset, values));
  }

  PrimExpr Value(const PrimExpr& expr, const PrimExpr& sum, const PrimExpr& m,
                 const PrimExpr& column) {
    class Rewriter : public ExprMutator {
     public:
      Rewriter(ContractionEmitter* self, const PrimExpr& sum, const PrimExpr& m,
               const PrimExpr& column)
          : self_(self), sum_(sum), m_(m), column_(column) {}

     private:
      Expr VisitExpr_(const BufferLoadNode* op) final {
        if (op->buffer.same_as(self_->anchor_.output)) return sum_;
        return BufferLoad(self_->access_.Alias(op->buffer),
                          {self_->Position(op->buffer, op->indices, m_, column_)});
      }
      Expr VisitExpr_(const VarNode* op) final {
        Var var = ffi::GetRef<Var>(op);
        for (size_t i = 0; i < self_->c_.rows.size(); ++i) {
          if (!self_->c_.rows[i].var.same_as(var)) continue;
          PrimExpr rest = m_;
          for (size_t j = self_->c_.rows.size() - 1; j > i; --j) {
            rest = floordiv(rest, Index(self_->c_.rows[j].extent));
          }
          return i == 0 ? rest : floormod(rest, Index(self_->c_.rows[i].extent));
        }
        if (!self_->c_.cols.empty() && self_->c_.cols[0].var.same_as(var)) return column_;
        auto it = self_->values_.find(var);
        return it == self_->values_.end() ? Expr(var) : Expr((*it).second);
      }
      ContractionEmitter* self_;
      const PrimExpr &sum_, &m_, &column_;
    };
    return PrimExpr(Rewriter(this, sum, m, column)(expr));
  }

  const Stage& anchor_;
  Contraction c_;
  Epilogue epilogue_;
  const Target& target_;
  DataType dtype_;
  int64_t lanes_, panel_, rows_;  // elements of a vector, columns and rows of a register tile
  ContractionTiles t_;
  FlatAccess access_;
  Map<Var, PrimExpr> values_;  // iterations fixed so far
  Var task_, row0_, tile_;
  PrimExpr col_task_, block_;
  bool a_direct_ = false, b_direct_ = false;
  Buffer a_buffer_, b_buffer_;
  int64_t a_row_ = 0, a_step_ = 1, a_pitch_ = 0, b_step_ = 0;
  PrimExpr a_base_, b_base_;
};

std::optional<KernelPlan> QueryContraction(const KernelQuery& query, const Target& target) {
  if (query.tile_op != "gemm" && query.tile_op != "conv2d") return std::nullopt;
  const DataType dtype = query.out_dtype;
  if (dtype != query.a_dtype || dtype != query.b_dtype) return std::nullopt;
  if (!dtype.is_float() || dtype.bits() < 32) return std::nullopt;
  KernelPlan plan;
  plan.rule = kRuleName;
  if (query.tile_op == "conv2d") plan.data_layout = "NHWC";
  if (query.constant_b) plan.panel = PanelColumns(query.m, query.n, dtype, target);
  const double flops = 2.0 * query.batch * query.groups * query.m * query.n * query.k;
  plan.cost = flops / 1e11;
  return plan;
}

std::optional<tirx::PrimFunc> EmitContraction(const tirx::PrimFunc& func, const Target& target,
                                              std::string* why) {
  auto group = ParseGroup(func, why);
  if (!group) return std::nullopt;
  if (group->anchor < 0) {
    *why = "no anchor";
    return std::nullopt;
  }
  auto contraction = Classify(*group, why);
  if (!contraction) return std::nullopt;
  auto epilogue = ReadEpilogue(*group, why);
  if (!epilogue) return std::nullopt;
  if (!contraction->cols.empty() && contraction->panel > 0 &&
      !contraction->b.as<BufferLoadNode>()) {
    *why = "packed B is not read plainly";
    return std::nullopt;
  }
  ContractionEmitter emitter(*group, *std::move(contraction), *std::move(epilogue), target);
  return ScheduledFunc(func, emitter.Emit());
}

const bool kRegistered = RegisterRule({kRuleName, 100, QueryContraction, EmitContraction});

}  // namespace
}  // namespace kernels
}  // namespace tvm
