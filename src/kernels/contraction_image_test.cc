// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Convolutions that read windows where they lie, against plain loops.
#include "kernels/contraction_image.h"

#include <gtest/gtest.h>
#include <tvm/te/operation.h>
#include <tvm/tirx/op.h>

#include <cstring>
#include <set>
#include <string>

#include "kernels/names.h"
#include "kernels/narrow_testing.h"

namespace tvm {
namespace kernels {
namespace {

using namespace testing::narrow;  // NOLINT(build/namespaces)
using te::Tensor;
using testing::Axis;
using testing::I;

/// [batch, height, width, in] * [down, across, in, out], the border having one value.
struct Conv {
  DataType a, b, acc;
  int64_t batch, height, width, in, out, down, across;
  int64_t stride = 1, pad = 0, border = 0, dilation = 1;

  int64_t rows() const { return (height + 2 * pad - (down - 1) * dilation - 1) / stride + 1; }
  int64_t columns() const { return (width + 2 * pad - (across - 1) * dilation - 1) / stride + 1; }
  Array<Tensor> Tensors() const {
    Tensor x = Input({batch, height, width, in}, a, "X");
    Tensor w = Input({down, across, in, out}, b, "W");
    IterVar ky = Axis(down, "ky"), kx = Axis(across, "kx"), c = Axis(in, "c");
    Tensor y = te::compute(
        Shape({batch, rows(), columns(), out}), te::FCompute([&](const Array<Var>& i) {
          PrimExpr row = i[1] * I(stride) + ky->var * I(dilation) - I(pad),
                   col = i[2] * I(stride) + kx->var * I(dilation) - I(pad);
          PrimExpr value = x(i[0], row, col, c->var);
          if (pad > 0) {
            PrimExpr inside = row >= I(0) && row < I(height) && col >= I(0) && col < I(width);
            value = if_then_else(inside, value, make_const(a, border));
          }
          return te::sum(cast(acc, value) * cast(acc, w(ky->var, kx->var, c->var, i[3])),
                         {ky, kx, c});
        }),
        "Y", "", testing::Attrs{{kTileOp, ffi::String("conv2d")}});
    return {x, w, y};
  }
};

Conv Bytes(int64_t height, int64_t width, int64_t in, int64_t kernel, int64_t stride, int64_t pad,
           int64_t border = 0) {
  return {kU8, kS8, kS32, 1, height, width, in, 40, kernel, kernel, stride, pad, border};
}

/// Names of the scratch arrays of the emitted loops.
std::set<std::string> Scratch(const Conv& conv, const Target& target) {
  auto func = testing::EmitBy("contraction", te::CreatePrimFunc(conv.Tensors()), target);
  return func ? testing::Scratch(*func) : std::set<std::string>();
}

std::optional<WindowedImage> Image(const Conv& conv) {
  return ReadImage(te::CreatePrimFunc(conv.Tensors()), Target("llvm"));
}

TEST(Image, FormOfABorderedConvolution) {
  auto image = Image(Bytes(14, 20, 16, 3, 2, 1));
  ASSERT_TRUE(image.has_value());
  EXPECT_EQ(image->height, 7);
  EXPECT_EQ(image->width, 10);
  EXPECT_EQ(image->pitch, 20 * 16);
  EXPECT_EQ(image->step_y, 2);
  EXPECT_EQ(image->step_x, 2 * 16);
  EXPECT_EQ(image->runs, 3);
  EXPECT_EQ(image->run, 3 * 16);
  EXPECT_EQ(image->top, 1);
  EXPECT_EQ(image->bottom, 15);
  EXPECT_EQ(image->left, 16);
  EXPECT_EQ(image->right, 16 + 20 * 16);
  EXPECT_EQ(image->rows(), 15);
  EXPECT_EQ(image->columns(), 21 * 16);
  EXPECT_TRUE(image->Fits(5));
  EXPECT_TRUE(image->Fits(20));
  EXPECT_FALSE(image->Fits(15));
}

TEST(Image, WhatIsNone) {
  EXPECT_TRUE(Image(Bytes(9, 9, 16, 1, 2, 0)).has_value());
  Conv dilated = Bytes(9, 9, 16, 3, 1, 0);
  dilated.dilation = 2;
  EXPECT_FALSE(Image(dilated).has_value());
  // Columns outside cannot be told from the columns of windows of one pixel.
  EXPECT_FALSE(Image(Bytes(9, 9, 16, 1, 1, 1)).has_value());
}

TEST(Image, ReadInPlaceOrFromACopyWithABorder) {
  const Target target("llvm");
  if (CpuFeaturesOf(target).vector_bits < 256) GTEST_SKIP() << "tiles of other sizes";
  using Names = std::set<std::string>;
  auto has = [](const Names& names, const char* name) { return names.count(name) != 0; };
  const Names bordered = Scratch({kF32, kF32, kF32, 1, 8, 8, 16, 40, 3, 3, 1, 1}, target);
  EXPECT_TRUE(has(bordered, "a_image") && !has(bordered, "a_rows"));
  const Names strided = Scratch({kF32, kF32, kF32, 1, 15, 15, 16, 40, 1, 1, 2, 0}, target);
  EXPECT_FALSE(has(strided, "a_image") || has(strided, "a_rows"));
  // No tile of a prime number of windows: these are copied.
  const Names prime = Scratch({kF32, kF32, kF32, 1, 23, 23, 16, 40, 3, 3, 1, 1}, target);
  EXPECT_TRUE(has(prime, "a_rows") && !has(prime, "a_image"));
  // Of windows a page apart, few fit a cache at once.
  const Names paged = Scratch({kF32, kF32, kF32, 1, 14, 14, 1024, 40, 3, 3, 1, 1}, target);
  EXPECT_TRUE(has(paged, "a_image") && !has(paged, "a_rows"));
  const Names far = Scratch({kF32, kF32, kF32, 1, 11, 11, 1024, 40, 3, 3, 1, 1}, target);
  EXPECT_TRUE(has(far, "a_rows") && !has(far, "a_image"));
}

TEST(Image, ConvolutionsOfBytes) {
  const Conv convs[] = {
      Bytes(14, 14, 16, 3, 1, 1),      // tiles of a row
      Bytes(7, 7, 20, 3, 1, 1),        // of one or two rows
      Bytes(3, 4, 16, 3, 1, 1),        // all of it
      Bytes(9, 28, 16, 3, 1, 1),       // two to a row
      Bytes(9, 28, 16, 3, 2, 1, 200),  // a border that cannot be left out
      Bytes(6, 8, 16, 3, 1, 5),        // windows that have nothing but border
      Bytes(8, 8, 16, 5, 3, 2),        // gaps
      Bytes(28, 28, 16, 1, 2, 0),      // no border, not every pixel
      Bytes(14, 14, 18, 2, 1, 0),      // whole words only where two pixels meet
      Bytes(14, 14, 7, 3, 1, 1),       // no whole words
  };
  for (const Target& target : Targets()) {
    for (Conv conv : convs) {
      for (DataType a : {kU8, kS8}) {
        conv.a = a;
        if (a == kS8 && conv.border > 127) conv.border = -5;
        SCOPED_TRACE(::testing::Message()
                     << target->str() << " " << a << " " << conv.height << "x" << conv.width
                     << " by " << conv.down << ", pad " << conv.pad << " of " << conv.border);
        Check(conv.Tensors(), target, 0);
      }
    }
  }
}

TEST(Image, ConvolutionsOfFloatsAndBatches) {
  Conv convs[] = {
      {kF32, kF32, kF32, 3, 7, 7, 16, 40, 3, 3, 1, 1},     // the batch is no row
      {kF32, kF32, kF32, 1, 20, 20, 8, 70, 3, 3, 2, 1},    // several tasks
      {kF32, kF32, kF32, 1, 33, 40, 16, 130, 3, 5, 1, 2},  // blocks that end within a row
      {kF32, kF32, kF32, 2, 12, 12, 16, 24, 3, 3, 1, 0},   // no border
      {kF32, kF32, kF32, 1, 26, 26, 3, 33, 7, 7, 2, 3},    // few channels
      {kBF16, kBF16, kF32, 2, 14, 14, 16, 24, 3, 3, 1, 1},
  };
  for (const Target& target : Targets()) {
    for (Conv& conv : convs) {
      for (int64_t border : {0, 3}) {
        conv.border = border;
        SCOPED_TRACE(::testing::Message() << target->str() << " " << conv.a << " " << conv.height
                                          << "x" << conv.width << ", border " << border);
        Check(conv.Tensors(), target, 1e-5);
      }
    }
  }
}

/// Any knobs give the same: other rows may need copies.
TEST(Image, Candidates) {
  const Target target("llvm");
  for (const Conv& conv : {Bytes(14, 14, 16, 3, 1, 1), Bytes(28, 28, 16, 1, 2, 0)}) {
    const Array<Tensor> args = conv.Tensors();
    const tirx::PrimFunc group = te::CreatePrimFunc(args);
    const KernelCandidates all = Candidates(group, target);
    ASSERT_EQ(all.rule, "contraction");
    std::vector<std::unique_ptr<Data>> want;
    for (const Tensor& t : args) want.push_back(std::make_unique<Data>(t, 1));
    testing::narrow::Run(group, target, want);
    for (const KernelCandidate& each : all.list) {
      std::vector<std::unique_ptr<Data>> got;
      for (const Tensor& t : args) got.push_back(std::make_unique<Data>(t, 1));
      testing::narrow::Run(EmitWith(group, target, all.rule, each.knobs), target, got);
      EXPECT_EQ(std::memcmp(want[2]->bytes, got[2]->bytes, static_cast<size_t>(4 * got[2]->count)),
                0)
          << KnobsText(each.knobs);
    }
  }
}

}  // namespace
}  // namespace kernels
}  // namespace tvm
