// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <tvm/arith/analyzer.h>
#include <tvm/ffi/extra/structural_equal.h>
#include <tvm/ir/expr_functor.h>
#include <tvm/kernels/low_bit.h>
#include <tvm/kernels/rule.h>
#include <tvm/tirx/op.h>
#include <tvm/tirx/stmt_functor.h>

#include "kernels/contraction_form.h"
#include "kernels/names.h"

namespace tvm {
namespace kernels {

PrimExpr LowBitElement(const PrimExpr& k, int bits,
                       const std::function<PrimExpr(const PrimExpr& row)>& byte) {
  if (bits == 8) return byte(k);
  const PrimExpr four = Index(4), eight = Index(8);
  PrimExpr both = byte(floordiv(k, eight) * four + floormod(k, four));
  PrimExpr shift = cast(DataType::UInt(8), floordiv(floormod(k, eight), four) * four);
  return bitwise_and(right_shift(both, shift), make_const(DataType::UInt(8), 15));
}

namespace {

bool Reads(const PrimExpr& expr, const tirx::Buffer& buffer) {
  for (const tirx::Buffer& read : ReadBuffers(expr)) {
    if (read.same_as(buffer)) return true;
  }
  return false;
}

/// Takes (q - zero) * scale apart, where only q reads the packed buffer; false for anything else.
bool TakeApart(const PrimExpr& b, const tirx::Buffer& packed, PrimExpr* q, Contraction* c) {
  *q = b;
  if (const auto* mul = b.as<tirx::MulNode>()) {
    const bool left = Reads(mul->a, packed);
    if (left == Reads(mul->b, packed)) return false;
    *q = left ? mul->a : mul->b;
    c->block_scale = left ? mul->b : mul->a;
  }
  const auto* in_float = q->as<tirx::CastNode>();
  if (in_float == nullptr) return false;
  *q = in_float->value;
  if (const auto* sub = q->as<tirx::SubNode>()) {
    if (Reads(sub->b, packed) || sub->a.dtype() != DataType::Int(32)) return false;
    *q = sub->a;
    c->block_zero = sub->b;
  } else if (const auto* add = q->as<tirx::AddNode>()) {  // as a difference to a constant may be
    if (!add->b.as<IntImmNode>()) return false;
    *q = add->a;
    c->block_zero = make_zero(add->b.dtype()) - add->b;
  }
  if (const auto* cast = q->as<tirx::CastNode>()) *q = cast->value;
  return q->dtype() == DataType::UInt(8);
}

/// Whether an expression has one value for all of a block.
bool IsOfBlock(const PrimExpr& expr, const Var& k, int64_t block) {
  if (!expr.defined()) return true;
  Var which("which", k.dtype()), inner("inner", k.dtype());
  arith::Analyzer analyzer;
  analyzer->Bind(which, Range::FromMinExtent(Index(0), Index(int64_t{1} << 32)));
  analyzer->Bind(inner, Range::FromMinExtent(Index(0), Index(block)));
  PrimExpr at = PrimExpr(which) * Index(block) + inner;
  bool varies = false;
  PostOrderVisitExpr(expr, [&](const Expr& node) {
    const auto* load = node.as<BufferLoadNode>();
    if (load == nullptr) return;
    for (const PrimExpr& index : load->indices) {
      PrimExpr placed = analyzer->Simplify(Substitute(index, ffi::Map<Var, PrimExpr>{{k, at}}));
      varies = varies || UsesVar(placed, inner);
    }
  });
  return !varies;
}

}  // namespace

bool ReadLowBits(const Stage& stage, Contraction* c, std::string* why) {
  auto decline = [&](const char* reason) {
    *why = reason;
    return false;
  };
  const DataType f32 = DataType::Float(32);
  c->weight_bits = static_cast<int>(stage.Int(kWeightBits, 0));
  c->scale_block = stage.Int(kScaleBlock, 0);
  c->step = DotStep{f32, f32, f32, 1, false};
  c->words = c->k;
  if (c->weight_bits != 4 && c->weight_bits != 8)
    return decline("a weight of neither 4 nor 8 bits");
  if (c->scale_block <= 0 || c->scale_block % WordElements(c->weight_bits) != 0) {
    return decline("a scale for part of a word");
  }
  if (c->packed == nullptr || stage.output.dtype() != f32 || !c->a.dtype().is_any_float()) {
    return decline("a weight of a few bits that is no packed operand of a float32 product");
  }
  // Without several columns, which a panel needs, plain loops do as well.
  if (Product(c->batch) != 1 || c->cols.size() != 1 || c->depth.size() != 1) {
    return decline("a weight of a few bits with other dimensions than rows and columns");
  }
  const tirx::Buffer& packed = c->packed->buffer;
  PrimExpr q;
  if (!TakeApart(c->b, packed, &q, c)) return decline("no dequantization of a packed weight");
  const Var k = c->depth[0].var, col = c->cols[0].var;
  arith::Analyzer analyzer;
  for (const Iter* iter : {&c->depth[0], &c->cols[0]}) {
    analyzer->Bind(iter->var, Range::FromMinExtent(Index(0), Index(iter->extent)));
  }
  const PrimExpr panel = Index(c->panel), word = Index(kWordBytes);
  PrimExpr expected = LowBitElement(k, c->weight_bits, [&](const PrimExpr& row) -> PrimExpr {
    return tirx::BufferLoad(packed, {floordiv(col, panel), floordiv(row, word),
                                     floormod(col, panel), floormod(row, word)});
  });
  if (!ffi::StructuralEqual::Equal(analyzer->Simplify(q), analyzer->Simplify(expected))) {
    return decline("the bits of a weight lie elsewhere");
  }
  if (!IsOfBlock(c->block_scale, k, c->scale_block) ||
      !IsOfBlock(c->block_zero, k, c->scale_block)) {
    return decline("scales change within a block");
  }
  const int64_t words = (c->k + WordElements(c->weight_bits) - 1) / WordElements(c->weight_bits);
  if (!is_const_int(packed.shape()[1], words)) return decline("a packed weight of another length");
  c->panel_words = words;
  return true;
}

}  // namespace kernels
}  // namespace tvm
