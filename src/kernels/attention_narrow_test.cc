// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Rule `attention` with operands rounded to bfloat16, against plain loops that round them too.
#include <gtest/gtest.h>
#include <tvm/kernels/rule.h>
#include <tvm/target/cpu_features.h>
#include <tvm/tirx/op.h>

#include <cmath>
#include <limits>

#include "kernels/dot_step.h"
#include "kernels/names.h"
#include "kernels/rule_groups.h"
#include "kernels/rule_testing.h"

namespace tvm {
namespace kernels {
namespace {

using te::Tensor;
using testing::AttentionOf;
using testing::AttentionSizes;
using testing::Check;
using testing::CheckOptions;
using testing::Data;
using testing::I;
using testing::Input;
using testing::Plain;
using testing::Read;
using testing::Rounded;
using testing::Shape;

const DataType kFloat = DataType::Float(32), kNarrow = DataType::BFloat(16);
constexpr float kInf = std::numeric_limits<float>::infinity();
/// The rule rounds exponentials, plain loops what they are divided by their sum: 2^-8 of a weight.
constexpr double kTolerance = 6e-3;

/// This machine, and one without products of bfloat16.
std::vector<Target> Targets() {
  std::vector<Target> targets{Target("llvm")};
  if (HostCpuFeatures().avx2) {
    targets.push_back(Target(R"({"kind": "llvm", "mcpu": "x86-64-v3"})"));
  }
  return targets;
}

PrimExpr Scaled(const PrimExpr& product, const Array<PrimExpr>&) {
  return product * make_const(kFloat, 0.37);
}

/// Operands compact in [head, position, channel], rounded where they are made or where they are
/// read.
void CheckRounded(const AttentionSizes& z, DataType dtype, CheckOptions options = {}) {
  options.tolerance = kTolerance;
  SCOPED_TRACE(::testing::Message()
               << z.heads << " heads, " << z.queries << " x " << z.keys << ", " << z.depth << " to "
               << z.columns << " in " << dtype << " on " << options.target->str());
  Tensor q = Input({z.heads, z.queries, z.depth}, "Q", dtype),
         k = Input({z.heads, z.keys, z.depth}, "K", dtype),
         v = Input({z.heads, z.keys, z.columns}, "V", dtype);
  Tensor out =
      AttentionOf(z, Rounded(Plain(q)), Rounded(Plain(k)), Rounded(Plain(v)), Scaled, true);
  Check({q, k, v, out}, "attention", options);
}

TEST(AttentionNarrow, LengthsAroundPanelsBlocksAndWords) {
  for (const Target& target : Targets()) {
    for (int64_t queries : {1, 17, 70}) {
      for (int64_t keys : {1, 15, 301}) {
        CheckRounded({2, queries, keys, 20, 24}, kNarrow, {.target = target});
      }
    }
  }
}

TEST(AttentionNarrow, AnyHeadSize) {
  CheckRounded({1, 3, 40, 33, 7}, kNarrow);
  for (int64_t depth : {1, 33, 64}) {
    for (int64_t columns : {7, 64}) CheckRounded({1, 37, 151, depth, columns}, kNarrow);
  }
}

/// A cache of keys is kept in float32 and rounded where it is read.
TEST(AttentionNarrow, WiderOperandsRoundedWhereTheyAreRead) {
  for (const Target& target : Targets()) {
    for (int64_t queries : {2, 100}) {
      CheckRounded({2, queries, 150, 32, 32}, kFloat, {.target = target});
    }
  }
}

TEST(AttentionNarrow, SharedKeysAndThreadsGiveTheSameResult) {
  const CheckOptions options{.threads = {1, 2}, .runs = 5, .candidates = 3};
  CheckRounded({4, 128, 128, 64, 64}, kNarrow, options);
  CheckRounded({3, 300, 1000, 32, 32}, kNarrow, options);
}

/// [position, head * channel], as a projection writes it, and Q and K with the channel first.
TEST(AttentionNarrow, LayoutsOfOperands) {
  for (int64_t queries : {3, 80}) {
    SCOPED_TRACE(queries);
    const AttentionSizes z{3, queries, 45, 16, 16};
    Tensor q = Input({queries, 48}, "Q", kNarrow), k = Input({45, 48}, "K", kNarrow),
           v = Input({45, 48}, "V", kNarrow);
    auto heads = [](const Tensor& t) -> Read {
      return Rounded([=](const PrimExpr& h, const PrimExpr& s, const PrimExpr& c) {
        return t(s, h * I(16) + c);
      });
    };
    Tensor out = AttentionOf(z, heads(q), heads(k), heads(v), Scaled, true);
    Tensor turned = te::compute(Shape({queries, 3, 16}), te::FCompute([&](const Array<Var>& i) {
                                  return cast(kFloat, out(i[1], i[0], i[2]));
                                }),
                                "turned");
    Check({q, k, v, turned}, "attention", {.tolerance = kTolerance});
    Tensor qt = Input({3, 16, queries}, "Q", kNarrow), kt = Input({3, 16, 45}, "K", kNarrow),
           vt = Input({3, 16, 45}, "V", kNarrow);
    auto first = [](const Tensor& t) -> Read {
      return Rounded(
          [=](const PrimExpr& h, const PrimExpr& s, const PrimExpr& c) { return t(h, c, s); });
    };
    out = AttentionOf(z, first(qt), first(kt), first(vt), Scaled, true);
    Check({qt, kt, vt, out}, "attention", {.tolerance = kTolerance});
  }
}

TEST(AttentionNarrow, MasksOfEachRowAndCausalOnes) {
  const int64_t queries = 75, keys = 301;
  const AttentionSizes z{2, queries, keys, 16, 16};
  Tensor q = Input({2, queries, 16}, "Q", kNarrow), k = Input({2, keys, 16}, "K", kNarrow),
         v = Input({2, keys, 16}, "V", kNarrow), mask = Input({queries, keys}, "mask");
  const Read a = Rounded(Plain(q)), b = Rounded(Plain(k)), c = Rounded(Plain(v));
  Tensor out = AttentionOf(
      z, a, b, c,
      [&](const PrimExpr& x, const Array<PrimExpr>& at) {
        return Scaled(x, at) + mask(at[1], at[2]);
      },
      true);
  CheckOptions options{.tolerance = kTolerance};
  options.prepare = [=](size_t argument, Data* data) {
    if (argument != 3) return;
    for (int64_t i = 0; i < data->count; ++i) {
      // Row 1 sees nothing, even rows see no key of the first block.
      const int64_t row = i / keys, key = i % keys;
      if (row == 1 || key % 3 == 1 || (row % 2 == 0 && key < 140)) data->data[i] = -kInf;
    }
  };
  Check({q, k, v, mask, out}, "attention", options);
  out = AttentionOf(
      z, a, b, c,
      [&](const PrimExpr& x, const Array<PrimExpr>& at) {
        return select(at[2] <= at[1] + I(keys - queries), Scaled(x, at),
                      PrimExpr(FloatImm(kFloat, -kInf)));
      },
      true);
  Check({q, k, v, out}, "attention", {.tolerance = kTolerance});
}

TEST(AttentionNarrow, SpecialValuesStayInTheirRow) {
  for (float special : {NAN, kInf}) {
    CheckOptions options;
    options.prepare = [=](size_t argument, Data* data) {
      if (argument == 0) data->data[data->shape[2] + 1] = special;  // of row 1 of head 0
    };
    CheckRounded({2, 40, 151, 16, 16}, kNarrow, options);
    options.prepare = [=](size_t argument, Data* data) {
      if (argument == 2) data->data[5] = special;  // one column of all rows
    };
    CheckRounded({2, 40, 151, 16, 16}, kNarrow, options);
  }
}

/// Scores of such a size that rounding Q and K would show.
PrimExpr Steep(const PrimExpr& product, const Array<PrimExpr>&) {
  return product * make_const(kFloat, 8.0);
}

/// Exact scores of rounded values, and the other way round.
TEST(AttentionNarrow, EitherProductAlone) {
  const int64_t keys = 151;
  for (const Target& target : Targets()) {
    const bool has_pairs = ChooseDotStep(kNarrow, kNarrow, kFloat, target)->group > 1;
    for (int64_t queries : {2, 37}) {
      SCOPED_TRACE(::testing::Message() << queries << " queries on " << target->str());
      const AttentionSizes z{2, queries, keys, 21, 24};
      CheckOptions options{.tolerance = kTolerance, .target = target};
      Tensor q = Input({2, queries, 21}, "Q"), k = Input({2, keys, 21}, "K");
      for (DataType dtype : {kFloat, kNarrow}) {
        Tensor v = Input({2, keys, 24}, "V", dtype);
        Check({q, k, v, AttentionOf(z, Plain(q), Plain(k), Rounded(Plain(v)), Steep, true)},
              "attention", options);
      }
      Tensor v = Input({2, keys, 24}, "V");
      // A few queries, or processors without pairs, multiply what was not rounded.
      if (has_pairs && queries > 2) options.tolerance = 1e-5;
      Check({q, k, v, AttentionOf(z, Rounded(Plain(q)), Rounded(Plain(k)), Plain(v), Scaled)},
            "attention", options);
    }
  }
}

/// Pairs are only for what a program rounds: in float32 the result is as exact as ever.
TEST(AttentionNarrow, OperandsThatAreNotRoundedAreNot) {
  const AttentionSizes z{2, 40, 90, 32, 32};
  Tensor q = Input({2, 40, 32}, "Q"), k = Input({2, 90, 32}, "K"), v = Input({2, 90, 32}, "V");
  for (bool rounds_keys : {false, true}) {
    Tensor out = AttentionOf(z, Plain(q), rounds_keys ? Rounded(Plain(k)) : Plain(k), Plain(v),
                             Scaled, false);
    Check({q, k, v, out}, "attention", {.tolerance = rounds_keys ? kTolerance : 1e-5});
  }
}

}  // namespace
}  // namespace kernels
}  // namespace tvm
