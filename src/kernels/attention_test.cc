// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Rule `attention` against plain loops: lengths around its blocks, layouts, masks, special values.
#include <gtest/gtest.h>
#include <tvm/kernels/rule.h>
#include <tvm/tirx/op.h>

#include <cmath>
#include <limits>

#include "kernels/names.h"
#include "kernels/rule_groups.h"
#include "kernels/rule_testing.h"

namespace tvm {
namespace kernels {
namespace {

using te::Tensor;
using testing::AttentionOf;
using testing::AttentionSizes;
using testing::Attrs;
using testing::Axis;
using testing::Check;
using testing::CheckOptions;
using testing::Data;
using testing::I;
using testing::Input;
using testing::Plain;
using testing::Read;
using testing::Shape;

const DataType kFloat = DataType::Float(32);
constexpr float kInf = std::numeric_limits<float>::infinity();

PrimExpr Scaled(const PrimExpr& product) { return product * make_const(kFloat, 0.37); }

/// Operands and result compact in [head, position, channel].
void CheckPlain(const AttentionSizes& z, const CheckOptions& options = {.tolerance = 1e-5}) {
  SCOPED_TRACE(::testing::Message() << z.heads << " heads, " << z.queries << " x " << z.keys << ", "
                                    << z.depth << " to " << z.columns);
  Tensor q = Input({z.heads, z.queries, z.depth}, "Q"), k = Input({z.heads, z.keys, z.depth}, "K"),
         v = Input({z.heads, z.keys, z.columns}, "V");
  Tensor out = AttentionOf(z, Plain(q), Plain(k), Plain(v),
                           [](const PrimExpr& x, const Array<PrimExpr>&) { return Scaled(x); });
  Check({q, k, v, out}, "attention", options);
}

TEST(Attention, LengthsAroundPanelsAndBlocks) {
  for (int64_t queries : {1, 3, 5, 16, 17, 32, 33, 70}) {
    for (int64_t keys : {1, 15, 128, 300}) CheckPlain({2, queries, keys, 20, 24});
  }
}

TEST(Attention, AnyHeadSize) {
  for (int64_t depth : {1, 16, 100}) {
    for (int64_t columns : {1, 7, 33, 130}) {
      CheckPlain({1, 3, 40, depth, columns});
      CheckPlain({1, 37, 150, depth, columns});
    }
  }
}

TEST(Attention, LongSequencesShareKeysAmongPanels) {
  CheckPlain({3, 700, 4096, 64, 64});
  CheckPlain({1, 1, 4097, 64, 64});
}

TEST(Attention, SameResultEveryRunWithOneAndTwoThreads) {
  const CheckOptions options{.tolerance = 1e-5, .threads = {1, 2}, .runs = 20};
  CheckPlain({4, 128, 128, 64, 64}, options);
  CheckPlain({5, 67, 333, 32, 32}, options);
  CheckPlain({12, 1, 129, 64, 64}, options);
}

/// [position, head * channel] as a projection writes it, and the result back into that form.
TEST(Attention, HeadsInsideOfRows) {
  for (int64_t queries : {1, 3, 21, 40}) {
    const AttentionSizes z{3, queries, 45, 16, 16};
    Tensor q = Input({queries, 48}, "Q"), k = Input({z.keys, 48}, "K"),
           v = Input({z.keys, 48}, "V");
    auto heads = [](const Tensor& t) -> Read {
      return [=](const PrimExpr& h, const PrimExpr& s, const PrimExpr& c) {
        return t(s, h * I(16) + c);
      };
    };
    Tensor out = AttentionOf(z, heads(q), heads(k), heads(v),
                             [](const PrimExpr& x, const Array<PrimExpr>&) { return Scaled(x); });
    Tensor turned = te::compute(
        Shape({queries, 3, 16}),
        te::FCompute([&](const Array<Var>& i) { return out(i[1], i[0], i[2]); }), "turned");
    SCOPED_TRACE(queries);
    Check({q, k, v, turned}, "attention", {.tolerance = 1e-5});
  }
}

/// Q and K with the channel first, V with the position last.
TEST(Attention, TransposedOperands) {
  for (int64_t queries : {2, 40}) {
    const AttentionSizes z{2, queries, 50, 20, 18};
    Tensor q = Input({2, 20, queries}, "Q"), k = Input({2, 20, 50}, "K"),
           v = Input({2, 18, 50}, "V");
    auto turned = [](const Tensor& t) -> Read {
      return [=](const PrimExpr& h, const PrimExpr& s, const PrimExpr& c) { return t(h, c, s); };
    };
    Tensor out = AttentionOf(z, turned(q), turned(k), turned(v),
                             [](const PrimExpr& x, const Array<PrimExpr>&) { return Scaled(x); });
    SCOPED_TRACE(queries);
    Check({q, k, v, out}, "attention", {.tolerance = 1e-5});
  }
}

/// The fourth argument is a mask; some of its entries become `hidden`, all of row 1.
CheckOptions Hiding(float hidden, int64_t keys, bool by_row) {
  CheckOptions options{.tolerance = 1e-5};
  options.prepare = [=](size_t argument, Data* data) {
    if (argument != 3) return;
    for (int64_t i = 0; i < data->count; ++i) {
      // Whole blocks of keys at the beginning are hidden for most rows.
      const int64_t row = by_row ? i / keys : 0, key = i % keys;
      const bool hides = (by_row && row == 1) || key % 3 == 1 || (key < 140 && row % 2 == 0);
      if (hides) data->data[i] = hidden;
    }
  };
  return options;
}

TEST(Attention, AdditiveMasks) {
  for (float hidden : {-1e4f, std::numeric_limits<float>::lowest(), -kInf}) {
    for (int64_t queries : {1, 3, 35}) {
      const AttentionSizes z{2, queries, 300, 16, 16};
      Tensor q = Input({2, queries, 16}, "Q"), k = Input({2, 300, 16}, "K"),
             v = Input({2, 300, 16}, "V");
      SCOPED_TRACE(::testing::Message() << queries << " queries, hidden by " << hidden);
      Tensor row = Input({300}, "mask");
      Tensor out = AttentionOf(
          z, Plain(q), Plain(k), Plain(v),
          [&](const PrimExpr& x, const Array<PrimExpr>& at) { return Scaled(x) + row(at[2]); });
      Check({q, k, v, row, out}, "attention", Hiding(hidden, 300, false));
      // A row that sees no key is NaN with -inf, and even with finite masks.
      Tensor full = Input({queries, 300}, "mask");
      out = AttentionOf(z, Plain(q), Plain(k), Plain(v),
                        [&](const PrimExpr& x, const Array<PrimExpr>& at) {
                          return Scaled(x) + full(at[1], at[2]);
                        });
      Check({q, k, v, full, out}, "attention", Hiding(hidden, 300, true));
    }
  }
}

TEST(Attention, CausalMasksWithShiftsAndWindows) {
  struct Case {
    int64_t queries, keys, shift, window;
  };
  for (const Case& t :
       {Case{300, 300, 0, 0}, Case{40, 300, 260, 0}, Case{300, 140, -160, 0}, Case{70, 20, 0, 0},
        Case{300, 300, 0, 50}, Case{2, 300, 298, 0}, Case{140, 400, 260, 33}}) {
    const AttentionSizes z{1, t.queries, t.keys, 16, 16};
    Tensor q = Input({1, t.queries, 16}, "Q"), k = Input({1, t.keys, 16}, "K"),
           v = Input({1, t.keys, 16}, "V");
    Tensor out = AttentionOf(z, Plain(q), Plain(k), Plain(v),
                             [&](const PrimExpr& x, const Array<PrimExpr>& at) {
                               PrimExpr visible = at[2] <= at[1] + I(t.shift);
                               if (t.window > 0)
                                 visible = visible && at[1] + I(t.shift) - at[2] < I(t.window);
                               return select(visible, Scaled(x), PrimExpr(FloatImm(kFloat, -kInf)));
                             });
    SCOPED_TRACE(::testing::Message()
                 << t.queries << " x " << t.keys << " shift " << t.shift << " window " << t.window);
    Check({q, k, v, out}, "attention", {.tolerance = 1e-5});
  }
}

TEST(Attention, SpecialValuesStayInTheirRow) {
  for (int64_t queries : {3, 40}) {
    for (float special : {NAN, kInf, -kInf, 1e-40f, 3e37f}) {
      CheckOptions options{.tolerance = 1e-5};
      options.prepare = [=](size_t argument, Data* data) {
        if (argument == 0) data->data[data->shape[2] + 1] = special;  // of row 1 of head 0
      };
      SCOPED_TRACE(special);
      CheckPlain({2, queries, 150, 16, 16}, options);
      options.prepare = [=](size_t argument, Data* data) {
        if (argument == 2) data->data[5] = special;  // one column of all rows
      };
      CheckPlain({2, queries, 150, 16, 16}, options);
    }
  }
}

/// A head size that is no whole number of vectors: the last one reads elements again, which must
/// not turn infinities into NaN. The score of the key is -inf, its weight 0.
TEST(Attention, InfiniteKeysThatAreReadTwice) {
  for (int64_t depth : {20, 40}) {
    for (int64_t step = 1; step < depth; step += 7) {
      CheckOptions options{.tolerance = 1e-5};
      options.prepare = [=](size_t argument, Data* data) {
        if (argument == 0) data->data[step] = 0.5F;
        if (argument == 1) data->data[7 * depth + step] = -kInf;
      };
      SCOPED_TRACE(step);
      CheckPlain({1, 1, 50, depth, 16}, options);
    }
  }
}

TEST(Attention, DeclinesWhatIsNoSoftmax) {
  const Target target("llvm");
  Tensor q = Input({2, 20, 16}, "Q"), k = Input({2, 30, 16}, "K"), v = Input({2, 30, 16}, "V");
  Tensor product = te::compute(Shape({2, 20, 30}), te::FCompute([&](const Array<Var>& i) {
                                 IterVar d = Axis(16, "d");
                                 return te::sum(q(i[0], i[1], d->var) * k(i[0], i[2], d->var), {d});
                               }),
                               "product");
  IterVar c = Axis(30, "k");
  Tensor out =
      te::compute(Shape({2, 20, 16}), te::FCompute([&](const Array<Var>& i) {
                    return te::sum(product(i[0], i[1], c->var) * v(i[0], c->var, i[2]), {c});
                  }),
                  "out", "", Attrs{{kTileOp, ffi::String("attention")}});
  tirx::PrimFunc group = te::CreatePrimFunc({q, k, v, out});
  std::string why;
  for (const KernelRule& rule : AllRules()) {
    if (rule.name == "attention") EXPECT_FALSE(rule.emit(group, target, {}, &why).has_value());
  }
  EXPECT_EQ(why, "no operand is divided by its sum");
}

}  // namespace
}  // namespace kernels
}  // namespace tvm
