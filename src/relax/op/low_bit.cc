// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Products with weights of 4 or 8 bits that are dequantized where they are multiplied.
///
///   nn.low_bit_matmul(x, W, s, z)[.., n] = sum_k x[.., k] * (q[k, n] - z[k // block, n]) *
///                                          s[k // block, n]
///
/// Made by LowerQuantization of a product with a dequantized constant. W holds the bits of q as
/// tvm/kernels/low_bit.h says; a scalar s or z holds for all of the weight.
#include <tvm/kernels/low_bit.h>
#include <tvm/kernels/rule.h>

#include "relax/ir/utils.h"
#include "relax/op/common.h"
#include "relax/op/lower.h"

namespace tvm {
namespace relax {

namespace {

const DataType kF32 = DataType::Float(32), kI32 = DataType::Int(32), kU8 = DataType::UInt(8);

/// Length k and columns of the weight, and how many blocks k has.
struct Extents {
  std::optional<int64_t> k, n;
  int64_t blocks(int64_t block) const { return (*k + block - 1) / block; }
};

void CheckBlocks(const Call& call, int arg, DataType dtype, const Extents& e, int64_t block) {
  const auto* t = TensorArg(call, arg);
  TVM_FFI_CHECK(t->IsUnknownDtype() || t->ElementType() == dtype, TypeError)
      << OpName(call) << " expects operand " << arg << " to be " << dtype << ", but it is "
      << t->ElementType();
  if (t->ndim == 0 || t->IsUnknownNdim()) return;
  CheckRank(call, arg, t, 2);
  auto shape = t->GetStaticShape();
  if (!shape.has_value() || !e.k || !e.n) return;
  const Array<int64_t>& dims = shape.value();
  TVM_FFI_CHECK(dims[0] == e.blocks(block) && dims[1] == *e.n, ValueError)
      << OpName(call) << " expects operand " << arg << " to be a scalar or of shape ["
      << e.blocks(block) << ", " << *e.n << "], but got [" << dims[0] << ", " << dims[1] << "]";
}

Type InferLowBitMatmul(const Call& call, const BlockBuilder&) {
  const auto* x = TensorArg(call, 0);
  const auto* w = TensorArg(call, 1);
  const auto& attrs = *AttrsOf<LowBitMatmulAttrs>(call.get());
  CheckFloat(call, x);
  TVM_FFI_CHECK(attrs.bits == 4 || attrs.bits == 8, ValueError)
      << OpName(call) << " takes weights of 4 or 8 bits, got bits=" << attrs.bits;
  const auto bits = static_cast<int>(attrs.bits);
  TVM_FFI_CHECK(attrs.block_size > 0 && attrs.block_size % kernels::WordElements(bits) == 0,
                ValueError)
      << OpName(call) << " expects block_size to be a multiple of " << kernels::WordElements(bits)
      << ", but got " << attrs.block_size;
  TVM_FFI_CHECK(w->IsUnknownDtype() || w->ElementType() == kU8, TypeError)
      << OpName(call) << " expects a weight of uint8, but got " << w->ElementType();
  CheckRank(call, 1, w, 2);
  TVM_FFI_CHECK(x->ndim != 0, ValueError) << OpName(call) << " expects data of some dimensions";
  auto xs = x->GetShape(), ws = w->GetShape();
  Extents e;
  if (xs.has_value()) e.k = AsInt(xs.value().back());
  if (ws.has_value()) e.n = AsInt(ws.value()[1]);
  auto rows = ws.has_value() ? AsInt(ws.value()[0]) : std::nullopt;
  TVM_FFI_CHECK(!e.k || !rows || *rows == kernels::LowBitRows(*e.k, bits), ValueError)
      << OpName(call) << " expects a weight of " << kernels::LowBitRows(*e.k, bits)
      << " rows for data of length " << *e.k << ", but got " << *rows;
  CheckBlocks(call, 2, kF32, e, attrs.block_size);
  CheckBlocks(call, 3, kU8, e, attrs.block_size);
  if (!xs.has_value() || !ws.has_value()) return TensorType(kF32, x->ndim, x->vdevice);
  Array<PrimExpr> dims(xs.value().begin(), xs.value().end() - 1);
  dims.push_back(ws.value()[1]);
  return TensorType(ShapeExpr(dims), kF32, x->vdevice);
}

void LowerLowBitMatmul(LowerArgs& a) {
  const auto& attrs = a.Attrs<LowBitMatmulAttrs>();
  const auto bits = static_cast<int>(attrs.bits);
  const te::Tensor &x = a[0], &w = a[1];
  const PrimExpr length = x.shape()[x.ndim() - 1], block = Int64(attrs.block_size);
  const PrimExpr word = Int64(kernels::kWordBytes);
  auto it = a.anchor_attrs.find(kernels::kPanel);
  const int64_t columns = it == a.anchor_attrs.end() ? 0 : (*it).second.cast<int64_t>();
  const PrimExpr panel = Int64(std::max<int64_t>(1, columns));
  auto k = te::reduce_axis(Range::FromMinExtent(Int64(0), length), "k");
  /// A row of a matrix, which may be packed in panels.
  auto read = [&](const te::Tensor& t, const PrimExpr& row, const PrimExpr& col) -> PrimExpr {
    if (t.ndim() == 0) return t(Array<PrimExpr>());
    if (columns == 0) return t(row, col);
    return t(tvm::floordiv(col, panel), row, tvm::floormod(col, panel));
  };
  auto sum = [&](const Array<Var>& i) {
    const PrimExpr col = i[i.size() - 1];
    Array<PrimExpr> at(i.begin(), i.end() - 1);
    at.push_back(k->var);
    PrimExpr q = kernels::LowBitElement(k->var, bits, [&](const PrimExpr& row) -> PrimExpr {
      if (columns == 0) return w(row, col);
      return w(tvm::floordiv(col, panel), tvm::floordiv(row, word), tvm::floormod(col, panel),
               tvm::floormod(row, word));
    });
    const PrimExpr which = tvm::floordiv(k->var, block);
    q = tvm::cast(kI32, q) - tvm::cast(kI32, read(a[3], which, col));
    return te::sum(tvm::cast(kF32, x(at)) * (tvm::cast(kF32, q) * read(a[2], which, col)), {k});
  };
  Map<String, ffi::Any> anchor{{kernels::kTileOp, String("gemm")}};
  for (const auto& [key, value] : a.anchor_attrs) anchor.Set(key, value);
  a.out = {te::compute(a.OutShape(), te::FCompute(sum), a.BlockName(), "contraction", anchor)};
}

}  // namespace

static const OpRow kLowBitRows[] = {
    {.name = "nn.low_bit_matmul",
     .args = "data, weight, scale, zero_point",
     .attrs = "bits, block_size",
     .attrs_key = "relax.attrs.LowBitMatmulAttrs",
     .infer = InferLowBitMatmul,
     .pattern = OpPattern::kOutEWiseFusable,
     .lower = LowerLowBitMatmul,
     .samples = "f32[2,19] u8[12,5] f32[3,5] u8[3,5]; bits=4, block_size=8 | "
                "f32[2,3,9] u8[9,5] f32[] u8[]; bits=8, block_size=16",
     .doc = "data times (q - zero_point) * scale, with q the 4 or 8 bits of a weight; block_size "
            "elements of a column share a scale and a zero point."},
};
TVM_RELAX_REGISTER_OPS(kLowBitRows)

}  // namespace relax
}  // namespace tvm
