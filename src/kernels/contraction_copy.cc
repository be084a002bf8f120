// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Copies of operands that cannot be read in place: rows of A, panels of B, as they are multiplied.
#include <tvm/ir/expr_functor.h>
#include <tvm/tirx/builtin.h>
#include <tvm/tirx/op.h>
#include <tvm/tirx/stmt_functor.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "kernels/contraction_emitter.h"
#include "kernels/names.h"
#include "kernels/register_tile.h"

namespace tvm {
namespace kernels {

Stmt ContractionEmitter::CopyRows(const PrimExpr& rows_here) {
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
  PrimExpr first = PrimExpr(row) * Index(a_pitch_);
  digits.push_back(CopyRuns(a_buffer_, first, Index(1), c_.a, c_.depth));
  for (int64_t k = c_.k; k < c_.words * step_.group; ++k) {
    digits.push_back(BufferStore(a_buffer_, make_zero(step_.a), {first + Index(k)}));
  }
  values_ = saved;
  return For(row, Index(0), rows_here, ForKind::kSerial, SeqStmt::Flatten(digits));
}

PrimExpr ContractionEmitter::AsA(const PrimExpr& value) const {
  if (!step_.shifts_a) return cast(step_.a, value);
  return cast(step_.a, value) + make_const(step_.a, 128);
}

int64_t ContractionEmitter::CopyLanes(const PrimExpr& source, DataType target) const {
  if (lanes_ == 1) return 1;
  int bits = std::max(source.dtype().bits(), target.bits());
  for (const Buffer& buffer : ReadBuffers(source)) bits = std::max(bits, buffer.dtype().bits());
  return std::max<int64_t>(1, lanes_ * dtype_.bits() / bits);
}

Stmt PowersOfTwoRun(const Iter& iter, int64_t lanes, const Stmt& body) {
  Array<Stmt> seq;
  auto run = [&](int64_t first, int64_t width, int64_t extent) {
    Var piece = IndexVar("k");
    const Map<Var, Expr> place{{iter.var, PrimExpr(piece) + Index(first)}};
    seq.push_back(VectorRun({piece, extent}, width, tirx::Substitute(body, place)));
  };
  int64_t at = 0;
  for (int64_t width = lanes; at < iter.extent; width /= 2) {
    const int64_t rest = iter.extent - at;
    const auto whole = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(rest)));
    if (whole <= std::min(at, lanes)) {
      run(iter.extent - whole, whole, whole);
      break;
    }
    if (rest < width) continue;
    run(at, width, rest / width * width);
    at += rest / width * width;
  }
  return SeqStmt::Flatten(seq);
}

Stmt ContractionEmitter::CopyRuns(const Buffer& target, PrimExpr base, PrimExpr step,
                                  const PrimExpr& source, const std::vector<Iter>& iters) {
  const auto* call = source.as<CallNode>();
  if (call == nullptr || !call->op.same_as(tirx::builtin::if_then_else())) {
    return CopyEach(target, base, step, source, iters);
  }
  // Most windows of a convolution do not touch the border: one test is enough for these.
  const PrimExpr inside = HoldsForAll(PrimExpr(call->args[0]), iters);
  if (!inside.defined()) return CopyEach(target, base, step, source, iters);
  Stmt plain = CopyEach(target, base, step, PrimExpr(call->args[1]), iters);
  return IfThenElse(inside, plain, CopyEach(target, base, step, source, iters));
}

PrimExpr ContractionEmitter::HoldsForAll(const PrimExpr& condition,
                                         const std::vector<Iter>& iters) {
  std::vector<PrimExpr> corners{condition};
  for (const Iter& iter : iters) {
    if (!UsesVar(condition, iter.var)) continue;
    if (!IsRange(condition, iter.var)) return PrimExpr();
    std::vector<PrimExpr> next;
    for (const PrimExpr& corner : corners) {
      for (int64_t at : {int64_t{0}, iter.extent - 1}) {
        next.push_back(Substitute(corner, Map<Var, PrimExpr>{{iter.var, Index(at)}}));
      }
    }
    corners = std::move(next);
  }
  PrimExpr all = corners[0];
  for (size_t i = 1; i < corners.size(); ++i) all = all && corners[i];
  return access_.Simplify(access_.Loads(Substitute(all, values_)));
}

Stmt ContractionEmitter::CopyEach(const Buffer& target, PrimExpr base, PrimExpr step,
                                  const PrimExpr& source, const std::vector<Iter>& iters) {
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
  const bool is_a = target.same_as(a_buffer_);
  auto store = [&](const PrimExpr& what) {
    PrimExpr converted = is_a ? AsA(what) : cast(step_.b, what);
    return BufferStore(target, converted, {access_.Simplify(base + fused * step)});
  };
  const int64_t lanes = CopyLanes(source, target.dtype());
  if (loops.empty()) return store(access_.Loads(value));
  const Iter inner = loops.back();
  auto run = [&](const PrimExpr& what) {
    return VectorRun(inner, lanes, store(access_.Loads(what)));
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
  size_t left = loops.size() - 1;
  bool is_short = false;  // few instructions without a test between them
  if (left > 0 && inner.extent % lanes != 0 && as_const_int(step) && *as_const_int(step) == 1) {
    const Iter& outer = loops[left - 1];
    if (auto joined = JoinedRead(value, outer, inner)) {
      Iter all{IndexVar("k"), outer.extent * inner.extent};
      access_.Bind(all.var, all.extent);
      const Map<Var, PrimExpr> zeros = Zeros({outer, inner});
      PrimExpr at = access_.Simplify(Substitute(base + fused, zeros) + all.var);
      PrimExpr from = access_.Simplify(joined->offset + all.var);
      PrimExpr element = BufferLoad(access_.Alias(joined->buffer), {from});
      element = is_a ? AsA(element) : cast(step_.b, element);
      Stmt whole = PowersOfTwoRun(all, lanes, BufferStore(target, element, {at}));
      body = Loop(outer.var, outer.extent, body);
      is_short = !joined->inside.defined() && all.extent <= 2 * lanes;
      body = joined->inside.defined() ? IfThenElse(joined->inside, whole, body) : whole;
      --left;
    }
  }
  constexpr int64_t kShortLoop = 4;
  for (size_t i = left; i-- > 0;) {
    is_short = is_short && loops[i].extent <= kShortLoop;
    body = For(loops[i].var, Index(0), Index(loops[i].extent),
               is_short ? ForKind::kUnrolled : ForKind::kSerial, body);
  }
  return body;
}

bool ContractionEmitter::IsRange(const PrimExpr& condition, const Var& var) {
  auto both = [&](const auto* node) { return IsRange(node->a, var) && IsRange(node->b, var); };
  auto linear = [&](const auto* node) {
    return access_.Coefficient(node->a - node->b, var).has_value();
  };
  if (const auto* node = condition.as<tirx::AndNode>()) return both(node);
  if (const auto* node = condition.as<tirx::LTNode>()) return linear(node);
  if (const auto* node = condition.as<tirx::LENode>()) return linear(node);
  if (const auto* node = condition.as<tirx::GTNode>()) return linear(node);
  if (const auto* node = condition.as<tirx::GENode>()) return linear(node);
  return false;
}

std::optional<ContractionEmitter::Joined> ContractionEmitter::JoinedRead(const PrimExpr& value,
                                                                         const Iter& outer,
                                                                         const Iter& inner) {
  PrimExpr read = value, condition;
  if (const auto* call = value.as<CallNode>()) {
    if (!call->op.same_as(tirx::builtin::if_then_else())) return std::nullopt;
    condition = PrimExpr(call->args[0]);
    read = PrimExpr(call->args[1]);
  }
  const auto* load = read.as<BufferLoadNode>();
  if (load == nullptr) return std::nullopt;
  const PrimExpr offset = access_.Offset(load->buffer, load->indices);
  if (access_.Coefficient(offset, inner.var) != 1 ||
      access_.Coefficient(offset, outer.var) != inner.extent) {
    return std::nullopt;
  }
  Joined result{load->buffer, Substitute(offset, Zeros({outer, inner})), PrimExpr()};
  if (!condition.defined()) return result;
  if (UsesVar(condition, inner.var)) return std::nullopt;
  result.inside = HoldsForAll(condition, {outer});
  if (!result.inside.defined()) return std::nullopt;
  return result;
}

Stmt ContractionEmitter::CopyPanel(int64_t cols) {
  if (c_.weight_bits > 0) return ExpandPanel(cols);
  Map<Var, PrimExpr> saved = values_;
  Array<Stmt> seq;
  Var col = IndexVar("col");
  access_.Bind(col, cols);
  if (!c_.cols.empty()) {
    values_.Set(c_.cols[0].var, access_.Simplify(PrimExpr(tile_) * Index(panel_) + col));
  }
  if (step_.group > 1) {
    seq.push_back(CopyWords(col, cols));
    if (step_.shifts_a) seq.push_back(SumColumns());
    values_ = saved;
    return SeqStmt::Flatten(seq);
  }
  if (ReadsAlongColumns()) {
    seq.push_back(CopyAlongColumns(col, cols));
  } else {
    Stmt body = CopyRuns(b_buffer_, col, Index(panel_), c_.b, c_.depth);
    seq.push_back(Loop(col, cols, body));
  }
  if (cols < panel_) {
    Var k = IndexVar("k"), pad = IndexVar("pad");
    PrimExpr at = PrimExpr(k) * Index(panel_) + Index(cols) + pad;
    Stmt zero = BufferStore(b_buffer_, make_zero(step_.b), {at});
    seq.push_back(Loop(k, c_.k, VectorLoop(pad, panel_ - cols, zero)));
  }
  values_ = saved;
  return SeqStmt::Flatten(seq);
}

bool ContractionEmitter::ReadsAlongColumns() {
  const auto* load = c_.b.as<BufferLoadNode>();
  if (load == nullptr || c_.cols.empty()) return false;
  auto col = access_.Coefficient(access_.Offset(load->buffer, load->indices), c_.cols[0].var);
  return col && *col == 1;
}

Stmt ContractionEmitter::CopyAlongColumns(const Var& col, int64_t cols) {
  std::vector<Iter> loops;
  PrimExpr fused = Index(0);
  for (const Iter& iter : c_.depth) {
    loops.push_back({IndexVar("k"), iter.extent});
    access_.Bind(loops.back().var, iter.extent);
    values_.Set(iter.var, loops.back().var);
    fused = fused * Index(iter.extent) + loops.back().var;
  }
  PrimExpr value = cast(step_.b, access_.Loads(Substitute(c_.b, values_)));
  Stmt store = BufferStore(b_buffer_, value, {access_.Simplify(fused * Index(panel_) + col)});
  Stmt body = VectorRun({col, cols}, lanes_, store);
  for (size_t i = loops.size(); i-- > 0;) body = Loop(loops[i].var, loops[i].extent, body);
  return body;
}

Stmt ContractionEmitter::CopyWords(const Var& col, int64_t cols) {
  Array<Stmt> seq;
  const int64_t group = step_.group;
  if (cols < panel_ || c_.k % group != 0) {
    Var at = IndexVar("at");
    Stmt zero = BufferStore(b_buffer_, make_zero(step_.b), {at});
    seq.push_back(VectorRun({at, c_.words * group * panel_}, lanes_ * group, zero));
  }
  std::vector<Iter> loops;
  for (const Iter& iter : c_.depth) {
    values_.Set(iter.var, Index(0));
    if (iter.extent != 1) loops.push_back(iter);
  }
  if (loops.size() == 1 && ReadsAlongColumns()) {
    seq.push_back(Interleave(loops[0].var, col, cols));
  } else {
    seq.push_back(Loop(col, cols, CopyColumn(col, loops)));
  }
  return SeqStmt::Flatten(seq);
}

Stmt ContractionEmitter::CopyColumn(const Var& col, const std::vector<Iter>& loops) {
  const int64_t group = step_.group;
  auto store = [&](const PrimExpr& word, const PrimExpr& element) {
    PrimExpr at = (word * Index(panel_) + col) * Index(group) + element;
    return BufferStore(b_buffer_, cast(step_.b, access_.Loads(Substitute(c_.b, values_))),
                       {access_.Simplify(at)});
  };
  if (loops.size() == 1) {
    Var word = IndexVar("word"), element = IndexVar("element");
    access_.Bind(word, c_.words);
    access_.Bind(element, group);
    values_.Set(loops[0].var, PrimExpr(word) * Index(group) + element);
    Array<Stmt> seq;
    if (c_.k >= group) {
      Stmt whole = VectorLoop(element, group, store(word, element));
      seq.push_back(Loop(word, c_.k / group, whole));
    }
    for (int64_t k = c_.k / group * group; k < c_.k; ++k) {
      values_.Set(loops[0].var, Index(k));
      seq.push_back(store(Index(k / group), Index(k % group)));
    }
    return SeqStmt::Flatten(seq);
  }
  PrimExpr fused = Index(0);
  std::vector<Iter> fresh;
  for (const Iter& iter : loops) {
    fresh.push_back({IndexVar("k"), iter.extent});
    access_.Bind(fresh.back().var, iter.extent);
    values_.Set(iter.var, fresh.back().var);
    fused = fused * Index(iter.extent) + fresh.back().var;
  }
  Stmt body = store(floordiv(fused, Index(group)), floormod(fused, Index(group)));
  for (size_t i = fresh.size(); i-- > 0;) body = Loop(fresh[i].var, fresh[i].extent, body);
  return body;
}

Stmt ContractionEmitter::Interleave(const Var& k, const Var& col, int64_t cols) {
  const int64_t group = step_.group;
  auto part = [&](const PrimExpr& word, int64_t rows, const PrimExpr& first, int64_t width) {
    Buffer temp = FlatAccess::Scratch("rows", group * width, step_.b, "local");
    access_.UseAsIs(temp);
    Array<Stmt> seq{tirx::AllocBuffer(temp)};
    Array<PrimExpr> vectors;
    for (int64_t j = 0; j < group; ++j) {
      Var lane = IndexVar("lane");
      access_.Bind(lane, width);
      Map<Var, PrimExpr> saved = values_;
      values_.Set(k, word * Index(group) + Index(j));
      PrimExpr value =
          Substitute(Substitute(c_.b, values_), Map<Var, PrimExpr>{{col, first + lane}});
      value = j < rows ? cast(step_.b, access_.Loads(value)) : make_zero(step_.b);
      values_ = saved;
      seq.push_back(VectorLoop(lane, width, BufferStore(temp, value, {Index(j * width) + lane})));
      vectors.push_back(BufferLoad(temp, {Consecutive(Index(j * width), width)}));
    }
    PrimExpr at = (word * Index(panel_) + first) * Index(group);
    seq.push_back(BufferStore(b_buffer_, Interleaved(vectors),
                              {Consecutive(access_.Simplify(at), width * group)}));
    return SeqStmt::Flatten(seq);
  };
  auto row = [&](const PrimExpr& word, int64_t rows) {
    Array<Stmt> seq;
    for (int64_t at = 0; at < cols; at += lanes_) {
      seq.push_back(part(word, rows, Index(at), std::min(lanes_, cols - at)));
    }
    return SeqStmt::Flatten(seq);
  };
  Var word = IndexVar("word");
  access_.Bind(word, c_.words);
  Array<Stmt> seq;
  if (c_.k >= group) seq.push_back(Loop(word, c_.k / group, row(word, group)));
  if (c_.k % group != 0) seq.push_back(row(Index(c_.words - 1), c_.k % group));
  return SeqStmt::Flatten(seq);
}

Stmt ContractionEmitter::SumColumns() {
  RegisterTile ones(&access_, step_, lanes_, 1, Widths(panel_, true));
  auto load_a = [&](int64_t, const PrimExpr&) {
    return tirx::Broadcast(make_const(step_.a, 128), IntImm::Int32(step_.group));
  };
  auto load_b = [&](size_t v, const PrimExpr& k) {
    return ColumnsOfB(static_cast<int64_t>(v) * lanes_, k, lanes_);
  };
  Array<Stmt> seq{ones.Sum(c_.words, load_a, load_b)};
  for (int64_t v = 0; v < ones.vectors(); ++v) {
    PrimExpr sum = BufferLoad(ones.acc(), {ones.Lanes(0, v)});
    seq.push_back(BufferStore(b_sums_, make_zero(sum.dtype()) - sum,
                              {Consecutive(Index(v * lanes_), lanes_)}));
  }
  return SeqStmt::Flatten(seq);
}

}  // namespace kernels
}  // namespace tvm
