// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Products of float32 and a weight of 4 or 8 bits (low_bit.h), which is never written out in
/// float32 unless many rows share it. k is cut into runs within which scales do not change; the
/// sums of a run are scaled once.
///
/// With an instruction that multiplies bytes, rows of A are split into bytes first: see
/// contraction_digits.cc; AVX2 has one for 4 bits, which pays for a few rows. Without one, q - zero
/// is exact in float32 and multiplied as it is: for few rows in registers, for many after a panel
/// of the weight has been copied as float32.
#include <tvm/kernels/low_bit.h>
#include <tvm/target/cpu_features.h>

#include <algorithm>
#include <utility>

#include "kernels/contraction_emitter.h"
#include "kernels/names.h"
#include "kernels/vector_exprs.h"

namespace tvm {
namespace kernels {

namespace {

constexpr int64_t kMostRun = 256;  // sums of bytes are exact in float32 up to 514
const DataType kS32 = DataType::Int(32), kF32 = DataType::Float(32);

/// The longest run of whole words that cuts a block evenly.
int64_t RunLength(int64_t block, int64_t word) {
  for (int64_t run = std::min(block, kMostRun) / word * word; run > word; run -= word) {
    if (block % run == 0) return run;
  }
  return word;
}

/// Rows whose sums fit the registers beside what a step needs.
int64_t MostLowBitRows(int64_t vectors, ByteProducts products, const Target& target) {
  const bool bytes = products != ByteProducts::kNone;
  // Halves of a word, a digit of A, a mask; or the word, zero points and masks.
  const int64_t spare = bytes ? 5 : 2 * vectors + 4;
  const int64_t sums = bytes ? kLowBitDigits * vectors : vectors;
  return std::max<int64_t>(1, (CpuFeaturesOf(target).num_vector_registers - spare) / sums);
}

}  // namespace

ByteProducts ByteProductsOf(int64_t m, int bits, const Target& target) {
  auto step = ChooseDotStep(DataType::UInt(8), DataType::Int(8), kS32, target);
  if (step && step->group == kWordBytes && !step->shifts_a) return ByteProducts::kWords;
  const CpuFeatures cpu = CpuFeaturesOf(target);
  const bool pairs = cpu.arch == "x86_64" && ((cpu.vector_bits == 256 && cpu.avx2) ||
                                              (cpu.vector_bits == 512 && cpu.avx512bw));
  // From four rows on, three products of bytes cost more than one of float32 and what it widens.
  constexpr int64_t kFewRows = 3;
  return pairs && bits == 4 && m <= kFewRows ? ByteProducts::kPairs : ByteProducts::kNone;
}

int64_t LowBitPanel(int64_t m, int64_t n, int bits, const Target& target) {
  const ByteProducts products = ByteProductsOf(m, bits, target);
  if (products == ByteProducts::kNone) return PanelColumns(m, n, kF32, target);
  const int64_t lanes = VectorLanes(kF32, target);
  // Pairs need both halves of a word at once, and have half the registers on most processors.
  int64_t vectors = products == ByteProducts::kPairs ? 2 : 4;
  while (vectors > 1 && MostLowBitRows(vectors, products, target) < std::min<int64_t>(m, 4)) {
    vectors /= 2;
  }
  return lanes * std::clamp<int64_t>(CeilDiv(n, lanes), 1, vectors);
}

void ContractionEmitter::PlanLowBits() {
  low_.word = WordElements(c_.weight_bits);
  low_.run = RunLength(c_.scale_block, low_.word);
  low_.runs = CeilDiv(c_.k, low_.run);
  low_.products = ByteProductsOf(c_.m, c_.weight_bits, target_);
  low_.packed = access_.Alias(c_.packed->buffer);
  const int64_t most = MostLowBitRows(panel_ / lanes_, low_.products, target_);
  rows_ = Knob(knobs_, "rows", CeilDiv(c_.m, CeilDiv(c_.m, most)));
  // Where tiles of rows are many, each would take the panel's words apart anew.
  constexpr int64_t kFewTiles = 2;
  if (!SplitsRows() && c_.m > kFewTiles * most) {
    rows_ = Knob(knobs_, "rows", OwnRows());
    c_.panel = 0;  // so panels are copied, in float32
  }
}

int64_t ContractionEmitter::MostRows() const {
  if (HasLowBitTiles()) return MostLowBitRows(panel_ / lanes_, low_.products, target_);
  return MostTileRows(panel_, dtype_, target_);
}

PrimExpr ContractionEmitter::LowBitWord(int64_t v, const PrimExpr& word) {
  PrimExpr at = (PrimExpr(tile_) * Index(c_.panel_words) + word) * Index(panel_ * kWordBytes) +
                Index(v * lanes_ * kWordBytes);
  return VectorAt(low_.packed, access_.Simplify(at), lanes_ * kWordBytes);
}

PrimExpr ContractionEmitter::LowBitFloats(const LowBitTile& t, int64_t v, const PrimExpr& word,
                                          int64_t element) {
  const DataType ints = kS32.with_lanes(static_cast<int>(lanes_));
  // Little-endian: byte r of a word is its bits 8 r and up.
  const int64_t shift =
      8 * LowBitRow(element, c_.weight_bits) + LowBitShift(element, c_.weight_bits);
  PrimExpr q = SameBits(ints, word);
  if (shift > 0) q = right_shift(q, AllLanes(ints, static_cast<double>(shift)));
  q = bitwise_and(q, AllLanes(ints, (1 << c_.weight_bits) - 1));
  if (c_.block_zero.defined()) q = q - VectorAt(t.zeros, Index(v * lanes_), lanes_);
  return cast(kF32.with_lanes(static_cast<int>(lanes_)), q);
}

Stmt ContractionEmitter::LowBitScales(const LowBitTile& t, const PrimExpr& run, int64_t cols) {
  Map<Var, PrimExpr> saved = values_;
  values_.Set(c_.depth[0].var, access_.Simplify(run * Index(low_.run)));
  Array<Stmt> seq;
  auto load = [&](const Buffer& to, const PrimExpr& value) {
    if (!value.defined()) return;
    for (int64_t at = 0; at < cols; at += lanes_) {
      Var lane = IndexVar("lane");
      access_.Bind(lane, lanes_);
      PrimExpr place = Index(at) + lane;
      PrimExpr one = Value(value, PrimExpr(), t.row, PrimExpr(tile_) * Index(panel_) + place);
      seq.push_back(VectorLoop(lane, std::min(lanes_, cols - at), BufferStore(to, one, {place})));
    }
  };
  load(t.scales, c_.block_scale);
  load(t.zeros, c_.block_zero);
  values_ = saved;
  return SeqStmt::Flatten(seq);
}

Stmt ContractionEmitter::ForEachRun(const RunBody& body) {
  const int64_t whole = c_.k / low_.run, rest = c_.k % low_.run;
  Array<Stmt> seq;
  if (whole > 0) {
    Var run = IndexVar("run");
    access_.Bind(run, whole);
    seq.push_back(Loop(run, whole, body(run, low_.run / low_.word, low_.word)));
  }
  if (rest > 0) {
    const int64_t words = CeilDiv(rest, low_.word);
    seq.push_back(body(Index(whole), words, rest - (words - 1) * low_.word));
  }
  return SeqStmt::Flatten(seq);
}

Stmt ContractionEmitter::ForEachWord(const PrimExpr& run, int64_t words, int64_t last,
                                     const WordBody& body) {
  const PrimExpr first = run * Index(low_.run / low_.word);
  const int64_t whole = last == low_.word ? words : words - 1;
  Array<Stmt> seq;
  if (whole > 0) {
    Var word = IndexVar("word");
    access_.Bind(word, whole);
    seq.push_back(Loop(word, whole, body(first + word, low_.word)));
  }
  if (whole < words) seq.push_back(body(first + Index(whole), last));
  return SeqStmt::Flatten(seq);
}

Stmt ContractionEmitter::LowBitTileBody(const Var& row, int64_t rows, int64_t cols) {
  const int64_t vectors = CeilDiv(cols, lanes_), sums = rows * vectors;
  auto scratch = [&](const char* name, int64_t count, DataType dtype) {
    Buffer buffer = FlatAccess::Scratch(name, count * lanes_, dtype, "local");
    access_.UseAsIs(buffer);
    return buffer;
  };
  LowBitTile t{row, rows, vectors};
  t.acc = scratch("acc", sums, kF32);
  t.part = SplitsRows() ? scratch("part", kLowBitDigits * sums, kS32) : scratch("part", sums, kF32);
  t.scales = scratch("scales", vectors, kF32);
  t.zeros = scratch("zeros", vectors, kS32);
  Array<Stmt> seq;
  for (const Buffer& buffer : {t.acc, t.part, t.scales, t.zeros}) {
    seq.push_back(tirx::AllocBuffer(buffer));
  }
  for (int64_t i = 0; i < sums; ++i) {
    seq.push_back(StoreAt(t.acc, Index(i * lanes_), Splat(make_zero(kF32), lanes_)));
  }
  seq.push_back(ForEachRun([&](const PrimExpr& run, int64_t words, int64_t last) {
    Stmt products = SplitsRows() ? DigitRun(t, run, words) : FloatRun(t, run, words, last);
    return SeqStmt::Flatten(LowBitScales(t, run, cols), products);
  }));
  const std::vector<int64_t> widths(static_cast<size_t>(vectors), lanes_);
  seq.push_back(StoreTile(t.acc, row, rows, widths, cols));
  return SeqStmt::Flatten(seq);
}

Stmt ContractionEmitter::FloatRun(const LowBitTile& t, const PrimExpr& run, int64_t words,
                                  int64_t last) {
  Array<Stmt> seq;
  auto slot = [&](int64_t i, int64_t v) { return Index((i * t.vectors + v) * lanes_); };
  for (int64_t i = 0; i < t.rows * t.vectors; ++i) {
    seq.push_back(StoreAt(t.part, Index(i * lanes_), Splat(make_zero(kF32), lanes_)));
  }
  seq.push_back(ForEachWord(run, words, last, [&](const PrimExpr& word, int64_t elements) {
    Array<Stmt> body;
    std::vector<PrimExpr> bytes;
    for (int64_t v = 0; v < t.vectors; ++v) {
      bytes.push_back(Named("word", LowBitWord(v, word), &body));
    }
    for (int64_t e = 0; e < elements; ++e) {
      std::vector<PrimExpr> a;
      for (int64_t i = 0; i < t.rows; ++i) {
        a.push_back(Named("a", LoadA(t.row, i, word * Index(low_.word) + Index(e)), &body));
      }
      for (int64_t v = 0; v < t.vectors; ++v) {
        PrimExpr b = Named("b", LowBitFloats(t, v, bytes[static_cast<size_t>(v)], e), &body);
        for (int64_t i = 0; i < t.rows; ++i) {
          PrimExpr all = Splat(a[static_cast<size_t>(i)], lanes_);
          PrimExpr sum = VectorAt(t.part, slot(i, v), lanes_);
          body.push_back(StoreAt(t.part, slot(i, v), MultiplyAdd(all, b, sum)));
        }
      }
    }
    return SeqStmt::Flatten(body);
  }));
  for (int64_t i = 0; i < t.rows; ++i) {
    for (int64_t v = 0; v < t.vectors; ++v) {
      seq.push_back(AddScaled(t, i, v, VectorAt(t.part, slot(i, v), lanes_)));
    }
  }
  return SeqStmt::Flatten(seq);
}

Stmt ContractionEmitter::AddScaled(const LowBitTile& t, int64_t i, int64_t v,
                                   const PrimExpr& value) {
  const PrimExpr at = Index((i * t.vectors + v) * lanes_);
  PrimExpr acc = VectorAt(t.acc, at, lanes_);
  if (!c_.block_scale.defined()) return StoreAt(t.acc, at, acc + value);
  return StoreAt(t.acc, at, MultiplyAdd(value, VectorAt(t.scales, Index(v * lanes_), lanes_), acc));
}

Stmt ContractionEmitter::ExpandPanel(int64_t cols) {
  LowBitTile t{IndexVar("row"), 0, panel_ / lanes_};  // scales depend on no row
  t.scales = FlatAccess::Scratch("scales", panel_, kF32, "local");
  t.zeros = FlatAccess::Scratch("zeros", panel_, kS32, "local");
  Array<Stmt> seq;
  for (const Buffer& buffer : {t.scales, t.zeros}) {
    access_.UseAsIs(buffer);
    seq.push_back(tirx::AllocBuffer(buffer));
    for (int64_t v = 0; v < t.vectors; ++v) {  // columns past the last one have none
      seq.push_back(StoreAt(buffer, Index(v * lanes_), Splat(make_zero(buffer.dtype()), lanes_)));
    }
  }
  auto expand = [&](const PrimExpr& word, int64_t elements) {
    Array<Stmt> body;
    for (int64_t v = 0; v < t.vectors; ++v) {
      PrimExpr bytes = Named("word", LowBitWord(v, word), &body);
      for (int64_t e = 0; e < elements; ++e) {
        PrimExpr b = LowBitFloats(t, v, bytes, e);
        if (c_.block_scale.defined()) b = b * VectorAt(t.scales, Index(v * lanes_), lanes_);
        PrimExpr k = word * Index(low_.word) + Index(e);
        body.push_back(
            StoreAt(b_buffer_, access_.Simplify(k * Index(panel_) + Index(v * lanes_)), b));
      }
    }
    return SeqStmt::Flatten(body);
  };
  seq.push_back(ForEachRun([&](const PrimExpr& run, int64_t words, int64_t last) {
    return SeqStmt::Flatten(LowBitScales(t, run, cols), ForEachWord(run, words, last, expand));
  }));
  return SeqStmt::Flatten(seq);
}

}  // namespace kernels
}  // namespace tvm
