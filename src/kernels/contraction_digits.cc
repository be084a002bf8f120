// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Products of float32 and a weight of a few bits by an instruction that multiplies bytes. Before
/// the tasks, each run of a row of A becomes
///
///   x = unit * (65536 d0 + 256 d1 + d2) + e,  |e| <= unit / 2,  unit = max |x| / (127 * 65536)
///
/// with signed bytes d. Sums of d q are exact in int32, and in float32 too, as are the sums of d
/// that zero points need: sum of d (q - zero) = sum of d q - zero * sum of d. What is lost is e, at
/// most 2^-23.98 of the largest element of the run, which is less than rounding in a sum of float32
/// loses. A run that holds an infinity or NaN gives NaN; elements below 2^-124 may count as 0.
#include <tvm/kernels/low_bit.h>

#include <numeric>
#include <utility>

#include "kernels/contraction_emitter.h"
#include "kernels/names.h"
#include "kernels/vector_exprs.h"

namespace tvm {
namespace kernels {

namespace {

constexpr double kLargest = 127.0 * 65536;
constexpr int kLeastBits = 27 << 23;  // 2^-100: a smaller unit would have no inverse
const DataType kS8 = DataType::Int(8), kU8 = DataType::UInt(8), kS32 = DataType::Int(32),
               kF32 = DataType::Float(32);

/// All lanes of a vector in one; their count is a power of two.
template <typename F>
PrimExpr Fold(PrimExpr vector, const F& combine, Array<Stmt>* seq) {
  for (int width = vector.dtype().lanes() / 2; width >= 1; width /= 2) {
    Array<PrimExpr> low, high;
    for (int i = 0; i < width; ++i) {
      low.push_back(IntImm::Int32(i));
      high.push_back(IntImm::Int32(width + i));
    }
    PrimExpr half = combine(tirx::Shuffle({vector}, low), tirx::Shuffle({vector}, high));
    vector = Named("half", half, seq);
  }
  return vector;
}

}  // namespace

Stmt ContractionEmitter::SplitRows() {
  const int64_t pitch = low_.runs * low_.run;
  auto scratch = [&](const char* name, int64_t size, DataType dtype) {
    Buffer buffer = FlatAccess::Scratch(name, size, dtype, "global");
    access_.UseAsIs(buffer);
    return buffer;
  };
  low_.digit = scratch("digits", c_.m * kLowBitDigits * pitch, kS8);
  low_.sum = scratch("digit_sums", c_.m * kLowBitDigits * low_.runs, kS32);
  low_.unit = scratch("units", c_.m * low_.runs, kF32);
  a_buffer_ = scratch("a_row", pitch, kF32);
  Var row = IndexVar("row"), run = IndexVar("run");
  access_.Bind(row, c_.m);
  access_.Bind(run, low_.runs);
  Map<Var, PrimExpr> saved = values_;
  SetDigits(c_.rows, row);
  Array<Stmt> body{tirx::AllocBuffer(a_buffer_),
                   CopyRuns(a_buffer_, Index(0), Index(1), c_.a, c_.depth)};
  values_ = saved;
  if (c_.k < pitch) {
    Var pad = IndexVar("pad");
    body.push_back(VectorRun({pad, pitch - c_.k}, lanes_,
                             BufferStore(a_buffer_, make_zero(kF32), {Index(c_.k) + pad})));
  }
  body.push_back(Loop(run, low_.runs, SplitRun(row, run)));
  Stmt all = SeqStmt::Flatten(body);
  constexpr int64_t kWorthThreads = 1 << 17;
  const bool parallel = t_.parallel && c_.m > 1 && c_.m * c_.k >= kWorthThreads;
  Array<Stmt> seq;
  for (const Buffer& buffer : {low_.digit, low_.sum, low_.unit}) {
    seq.push_back(tirx::AllocBuffer(buffer));
  }
  seq.push_back(parallel ? ParallelLoop(row, c_.m, all) : Loop(row, c_.m, all));
  return SeqStmt::Flatten(seq);
}

Stmt ContractionEmitter::SplitRun(const Var& row, const Var& run) {
  // Runs are whole words, but not always whole registers.
  const int64_t width = std::gcd(low_.run, lanes_), parts = low_.run / width;
  const DataType ints = kS32.with_lanes(static_cast<int>(width));
  Buffer most = FlatAccess::Scratch("most", width, kS32, "local");
  access_.UseAsIs(most);
  Var part = IndexVar("part");
  access_.Bind(part, parts);
  const PrimExpr first = PrimExpr(run) * Index(low_.run) + PrimExpr(part) * Index(width);
  Array<Stmt> seq{tirx::AllocBuffer(most), StoreAt(most, Index(0), AllLanes(ints, kLeastBits))};
  // Without a sign, larger bits are larger numbers; those of infinity and NaN are the largest.
  PrimExpr magnitude =
      bitwise_and(SameBits(ints, VectorAt(a_buffer_, first, width)), AllLanes(ints, 0x7fffffff));
  seq.push_back(
      Loop(part, parts, StoreAt(most, Index(0), max(VectorAt(most, Index(0), width), magnitude))));
  PrimExpr largest = Fold(
      Named("most", VectorAt(most, Index(0), width), &seq),
      [](const PrimExpr& a, const PrimExpr& b) { return max(a, b); }, &seq);
  largest = Named("largest", SameBits(kF32, largest), &seq);
  seq.push_back(BufferStore(low_.unit, largest * make_const(kF32, 1 / kLargest),
                            {PrimExpr(row) * Index(low_.runs) + run}));
  PrimExpr inverse = Named("inverse", div(make_const(kF32, kLargest), largest), &seq);
  seq.push_back(SplitDigits(row, run, inverse, width));
  return SeqStmt::Flatten(seq);
}

Stmt ContractionEmitter::SplitDigits(const Var& row, const Var& run, const PrimExpr& inverse,
                                     int64_t width) {
  const DataType ints = kS32.with_lanes(static_cast<int>(width));
  Buffer sums = FlatAccess::Scratch("sums", kLowBitDigits * width, kS32, "local");
  access_.UseAsIs(sums);
  Var part = IndexVar("part");
  access_.Bind(part, low_.run / width);
  const PrimExpr first = PrimExpr(run) * Index(low_.run) + PrimExpr(part) * Index(width);
  Array<Stmt> seq{tirx::AllocBuffer(sums)}, body;
  PrimExpr scaled = VectorAt(a_buffer_, first, width) * Splat(inverse, width);
  PrimExpr rest = Named("whole", cast(ints, nearbyint(scaled)), &body);
  for (int d = kLowBitDigits - 1; d >= 0; --d) {
    const PrimExpr slot = Index(d * width);
    seq.push_back(StoreAt(sums, slot, AllLanes(ints, 0)));
    PrimExpr digit = Named("digit", cast(kS8.with_lanes(static_cast<int>(width)), rest), &body);
    body.push_back(
        StoreAt(low_.digit, DigitRow(row, d) * Index(low_.runs * low_.run) + first, digit));
    PrimExpr wide = Named("wide", cast(ints, digit), &body);
    body.push_back(StoreAt(sums, slot, VectorAt(sums, slot, width) + wide));
    if (d > 0) rest = Named("rest", right_shift(rest - wide, AllLanes(ints, 8)), &body);
  }
  seq.push_back(Loop(part, low_.run / width, SeqStmt::Flatten(body)));
  for (int d = 0; d < kLowBitDigits; ++d) {
    PrimExpr sum = Fold(
        Named("sum", VectorAt(sums, Index(d * width), width), &seq),
        [](const PrimExpr& a, const PrimExpr& b) { return a + b; }, &seq);
    seq.push_back(BufferStore(low_.sum, sum, {DigitRow(row, d) * Index(low_.runs) + run}));
  }
  return SeqStmt::Flatten(seq);
}

PrimExpr ContractionEmitter::DigitRow(const PrimExpr& row, int d) {
  return row * Index(kLowBitDigits) + Index(d);
}

Stmt ContractionEmitter::DigitRun(const LowBitTile& t, const PrimExpr& run, int64_t words) {
  Array<Stmt> seq;
  auto part = [&](int64_t i, int64_t v, int d) {
    return Index(((i * t.vectors + v) * kLowBitDigits + d) * lanes_);
  };
  for (int64_t i = 0; i < t.rows; ++i) {
    for (int d = 0; d < kLowBitDigits; ++d) {
      PrimExpr start = Splat(make_zero(kS32), lanes_);
      if (c_.block_zero.defined()) {
        PrimExpr at = DigitRow(PrimExpr(t.row) + Index(i), d) * Index(low_.runs) + run;
        start = Named("sum", Splat(BufferLoad(low_.sum, {at}), lanes_), &seq);
      }
      for (int64_t v = 0; v < t.vectors; ++v) {
        PrimExpr value = start;
        if (c_.block_zero.defined()) {
          value = make_zero(start.dtype()) - VectorAt(t.zeros, Index(v * lanes_), lanes_) * start;
        }
        seq.push_back(StoreAt(t.part, part(i, v, d), value));
      }
    }
  }
  // Past the end of k all digits are 0.
  seq.push_back(ForEachWord(run, words, low_.word,
                            [&](const PrimExpr& word, int64_t) { return DigitWord(t, word); }));
  const DataType floats = kF32.with_lanes(static_cast<int>(lanes_));
  for (int64_t i = 0; i < t.rows; ++i) {
    PrimExpr at = (PrimExpr(t.row) + Index(i)) * Index(low_.runs) + run;
    PrimExpr unit = Named("unit", Splat(BufferLoad(low_.unit, {at}), lanes_), &seq);
    for (int64_t v = 0; v < t.vectors; ++v) {
      auto digit = [&](int d) { return cast(floats, VectorAt(t.part, part(i, v, d), lanes_)); };
      PrimExpr total = MultiplyAdd(digit(1), AllLanes(floats, 256), digit(2));
      total = MultiplyAdd(digit(0), AllLanes(floats, 65536), total);
      seq.push_back(AddScaled(t, i, v, total * unit));
    }
  }
  return SeqStmt::Flatten(seq);
}

std::vector<PrimExpr> ContractionEmitter::Halves(const PrimExpr& bytes, Array<Stmt>* seq) {
  const DataType type = bytes.dtype();
  const DataType words = DataType::UInt(32, static_cast<int>(lanes_));
  const int64_t halves = low_.word / kWordBytes;
  std::vector<PrimExpr> result;
  for (int64_t half = 0; half < halves; ++half) {
    PrimExpr some = bytes;
    // A shift of bytes would take the units that multiply.
    if (half > 0) some = SameBits(type, right_shift(SameBits(words, some), AllLanes(words, 4)));
    if (halves > 1) some = bitwise_and(some, AllLanes(type, 15));
    result.push_back(Named("q", some, seq));
  }
  return result;
}

PrimExpr ContractionEmitter::DigitsOf(const LowBitTile& t, int64_t i, int d, const PrimExpr& word,
                                      int64_t half, Array<Stmt>* seq) {
  PrimExpr at = DigitRow(PrimExpr(t.row) + Index(i), d) * Index(low_.runs * low_.run) +
                word * Index(low_.word) + Index(half * kWordBytes);
  PrimExpr four = VectorAt(low_.digit, access_.Simplify(at), kWordBytes);
  PrimExpr x = Named("x", SameBits(DataType::UInt(32), four), seq);
  return SameBits(kS8.with_lanes(static_cast<int>(lanes_ * kWordBytes)), Splat(x, lanes_));
}

PrimExpr ContractionEmitter::MultiplyBytes(const std::vector<PrimExpr>& q,
                                           const std::vector<PrimExpr>& x, PrimExpr part) {
  const DataType sums = part.dtype();
  auto dot = [&](const PrimExpr& a, const PrimExpr& b) {
    part = tirx::CallBuiltin(sums, tirx::builtin::dot_lanes(), {a, b, part});
  };
  if (low_.products == ByteProducts::kWords) {
    for (size_t half = 0; half < q.size(); ++half) dot(q[half], x[half]);
    return part;
  }
  // Both halves together stay within 4 * 15 * 128, far from what 16 bits hold.
  const DataType pairs = DataType::Int(16, 2 * sums.lanes());
  const char* name =
      pairs.lanes() == 16 ? "llvm.x86.avx2.pmadd.ub.sw" : "llvm.x86.avx512.pmaddubs.w.512";
  PrimExpr sum;
  for (size_t half = 0; half < q.size(); ++half) {
    PrimExpr product = tirx::CallBuiltin(pairs, tirx::builtin::call_llvm_pure_intrin(),
                                         {tirx::StringImm(name), q[half], x[half]});
    sum = sum.defined() ? sum + product : product;
  }
  dot(sum, AllLanes(pairs, 1));
  return part;
}

Stmt ContractionEmitter::DigitWord(const LowBitTile& t, const PrimExpr& word) {
  Array<Stmt> seq;
  std::vector<std::vector<PrimExpr>> q;  // [vector][half]
  std::vector<PrimExpr> loaded;
  for (int64_t v = 0; v < t.vectors; ++v) {
    loaded.push_back(Named("word", LowBitWord(v, word), &seq));
  }
  for (const PrimExpr& bytes : loaded) q.push_back(Halves(bytes, &seq));
  // A product of pairs takes both halves at once, one of words a half at a time.
  const size_t halves = q[0].size(), each = low_.products == ByteProducts::kPairs ? halves : 1;
  for (size_t first = 0; first < halves; first += each) {
    for (int64_t i = 0; i < t.rows; ++i) {
      for (int d = 0; d < kLowBitDigits; ++d) {
        std::vector<PrimExpr> x;
        for (size_t half = first; half < first + each; ++half) {
          x.push_back(DigitsOf(t, i, d, word, static_cast<int64_t>(half), &seq));
        }
        for (int64_t v = 0; v < t.vectors; ++v) {
          const auto begin = q[static_cast<size_t>(v)].begin() + static_cast<std::ptrdiff_t>(first);
          const std::vector<PrimExpr> some(begin, begin + static_cast<std::ptrdiff_t>(each));
          PrimExpr slot = Index(((i * t.vectors + v) * kLowBitDigits + d) * lanes_);
          PrimExpr sum = MultiplyBytes(some, x, VectorAt(t.part, slot, lanes_));
          seq.push_back(StoreAt(t.part, slot, sum));
        }
      }
    }
  }
  return SeqStmt::Flatten(seq);
}

}  // namespace kernels
}  // namespace tvm
