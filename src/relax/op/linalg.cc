// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Matrix products and contractions.
#include <array>
#include <map>

#include "relax/op/common.h"
#include "relax/op/lower.h"
#include "relax/op/lower_rules.h"

namespace tvm {
namespace relax {

namespace {

Type InferMatmul(const Call& call, const BlockBuilder& ctx) {
  const auto* a = TensorArg(call, 0);
  const auto* b = TensorArg(call, 1);
  DataType out = AttrsOf<MatmulAttrs>(call.get())->out_dtype;
  if (out.is_void()) {
    if (!a->IsUnknownDtype() && !b->IsUnknownDtype()) {
      TVM_FFI_CHECK(a->ElementType() == b->ElementType(), TypeError)
          << "relax.matmul requires operands of the same dtype when out_dtype is not given, but "
             "got "
          << a->ElementType() << " and " << b->ElementType();
      out = a->ElementType();
    }
  }
  TVM_FFI_CHECK(a->ndim != 0 && b->ndim != 0, ValueError)
      << "relax.matmul requires both operands to have at least one dimension";
  if (a->IsUnknownNdim() || b->IsUnknownNdim()) return TensorType(out, kUnknownNDim, a->vdevice);
  int na = std::max(a->ndim, 2), nb = std::max(b->ndim, 2);
  int ndim = std::max(na, nb) - (a->ndim == 1) - (b->ndim == 1);
  auto ad = a->GetShape(), bd = b->GetShape();
  if (!ad.has_value() || !bd.has_value()) return TensorType(out, ndim, a->vdevice);
  std::vector<PrimExpr> x(ad.value().begin(), ad.value().end());
  std::vector<PrimExpr> y(bd.value().begin(), bd.value().end());
  if (a->ndim == 1) x.insert(x.begin(), Int64(1));
  if (b->ndim == 1) y.push_back(Int64(1));
  const PrimExpr& ka = x.back();
  const PrimExpr& kb = y[y.size() - 2];
  std::optional<bool> same = DimsEqual(ctx, ka, kb);
  TVM_FFI_CHECK(same.value_or(true) || !(AsInt(ka) && AsInt(kb)), ValueError)
      << "relax.matmul requires the reduction lengths of its operands to be equal, but they are "
      << ka << " and " << kb;
  auto batch = BroadcastDims(call, ctx, Array<PrimExpr>(x.begin(), x.end() - 2),
                             Array<PrimExpr>(y.begin(), y.end() - 2));
  if (!batch.has_value()) return TensorType(out, ndim, a->vdevice);
  Array<PrimExpr> dims = batch.value();
  if (a->ndim != 1) dims.push_back(x[x.size() - 2]);
  if (b->ndim != 1) dims.push_back(y.back());
  return TensorType(ShapeExpr(dims), out, a->vdevice);
}

}  // namespace

EinsumSpec ParseEinsum(std::string_view text, const std::vector<int>& ndims) {
  std::string s;
  for (char c : text) {
    if (c != ' ') s.push_back(c);
  }
  size_t arrow = s.find("->");
  std::string lhs = s.substr(0, arrow);
  std::vector<std::string> terms;
  size_t start = 0;
  while (true) {
    size_t comma = lhs.find(',', start);
    terms.push_back(lhs.substr(start, comma == std::string::npos ? comma : comma - start));
    if (comma == std::string::npos) break;
    start = comma + 1;
  }
  TVM_FFI_CHECK(terms.size() == ndims.size(), ValueError)
      << "relax.einsum: the formula '" << s << "' names " << terms.size()
      << " operands, but there are " << ndims.size();
  // An ellipsis becomes as many upper-case placeholder labels as it covers.
  size_t ellipsis = 0;
  for (size_t i = 0; i < terms.size(); ++i) {
    size_t dots = terms[i].find("...");
    size_t labels = terms[i].size() - (dots == std::string::npos ? 0 : 3);
    if (dots == std::string::npos) {
      TVM_FFI_CHECK(static_cast<int>(labels) == ndims[i], ValueError)
          << "relax.einsum: operand " << i << " has " << ndims[i] << " dimensions, but '"
          << terms[i] << "' names " << labels;
    } else {
      TVM_FFI_CHECK(static_cast<int>(labels) <= ndims[i], ValueError)
          << "relax.einsum: operand " << i << " has fewer dimensions than '" << terms[i] << "'";
      ellipsis = std::max(ellipsis, static_cast<size_t>(ndims[i]) - labels);
    }
  }
  auto expand = [&](const std::string& term, size_t count) {
    size_t dots = term.find("...");
    if (dots == std::string::npos) return term;
    std::string labels;
    for (size_t k = ellipsis - count; k < ellipsis; ++k) {
      labels.push_back(static_cast<char>(1 + k));
    }
    return term.substr(0, dots) + labels + term.substr(dots + 3);
  };
  EinsumSpec spec;
  std::map<char, int> uses;
  for (size_t i = 0; i < terms.size(); ++i) {
    size_t dots = terms[i].find("...");
    size_t named = terms[i].size() - (dots == std::string::npos ? 0 : 3);
    spec.inputs.push_back(expand(terms[i], ndims[i] - named));
    for (char c : spec.inputs.back()) ++uses[c];
  }
  if (arrow != std::string::npos) {
    spec.output = expand(s.substr(arrow + 2), ellipsis);
  } else {
    for (auto [c, n] : uses) {
      if (n == 1 || c <= static_cast<char>(ellipsis)) spec.output.push_back(c);
    }
  }
  for (char c : spec.output) {
    TVM_FFI_CHECK(uses.count(c), ValueError)
        << "relax.einsum: the output label '" << c << "' appears in no operand of '" << s << "'";
  }
  return spec;
}

namespace {

Type InferEinsum(const Call& call, const BlockBuilder& ctx) {
  auto fields = TupleArg(call, 0);
  TVM_FFI_CHECK(!fields.empty(), ValueError) << "relax.einsum needs at least one operand";
  DataType dtype = fields[0]->ElementType();
  std::vector<int> ndims;
  for (const auto* f : fields) {
    TVM_FFI_CHECK(f->ElementType() == dtype, TypeError)
        << "relax.einsum requires operands of one dtype, but got " << dtype << " and "
        << f->ElementType();
    if (f->IsUnknownNdim()) return TensorType(dtype, kUnknownNDim);
    ndims.push_back(f->ndim);
  }
  String text = AttrsOf<EinsumAttrs>(call.get())->subscripts;
  EinsumSpec spec = ParseEinsum(std::string_view(text.data(), text.size()), ndims);
  std::array<PrimExpr, 256> extent;
  for (size_t i = 0; i < fields.size(); ++i) {
    auto dims = fields[i]->GetShape();
    if (!dims.has_value()) return TensorType(dtype, static_cast<int>(spec.output.size()));
    for (size_t d = 0; d < spec.inputs[i].size(); ++d) {
      PrimExpr& e = extent[static_cast<unsigned char>(spec.inputs[i][d])];
      const PrimExpr& dim = dims.value()[d];
      if (!e.defined() || IsConstInt(e, 1)) {
        e = dim;
      } else if (!IsConstInt(dim, 1)) {
        TVM_FFI_CHECK(DimsEqual(ctx, e, dim).value_or(true), ValueError)
            << "relax.einsum: a label of '" << text << "' stands for extents " << e << " and "
            << dim;
      }
    }
  }
  Array<PrimExpr> out;
  for (char c : spec.output) out.push_back(extent[static_cast<unsigned char>(c)]);
  return TensorType(out, dtype);
}

Type InferOuter(const Call& call, const BlockBuilder&) {
  const auto* a = TensorArg(call, 0);
  const auto* b = TensorArg(call, 1);
  CheckRank(call, 0, a, 1);
  CheckRank(call, 1, b, 1);
  auto ad = a->GetShape(), bd = b->GetShape();
  if (!ad.has_value() || !bd.has_value()) return TensorType(a->ElementType(), 2);
  return TensorType({ad.value()[0], bd.value()[0]}, a->ElementType());
}

}  // namespace

static const OpRow kLinalgRows[] = {
    {.name = "matmul",
     .args = "x1, x2",
     .attrs = "out_dtype=None",
     .attrs_key = "relax.attrs.MatmulAttrs",
     .infer = InferMatmul,
     .pattern = OpPattern::kOutEWiseFusable,
     .lower = LowerMatmul,
     .samples = "f32[5,7] f32[7,3] | f32[2,5,7] f32[7,3] | f32[2,1,5,7] f32[3,7,2] | "
                "f32[7] f32[7,3] | f32[5,7] f32[7]",
     .doc = "Matrix product with numpy's broadcasting of leading dimensions."},
    {.name = "einsum",
     .args = "operands:tuple",
     .attrs = "subscripts",
     .attrs_key = "relax.attrs.EinsumAttrs",
     .infer = InferEinsum,
     .pattern = OpPattern::kOutEWiseFusable,
     .lower = LowerEinsum,
     .samples = "(f32[2,3] f32[3,4]); subscripts='ij,jk->ik'",
     .doc = "Einstein summation."},
    {.name = "outer",
     .args = "x1, x2",
     .infer = InferOuter,
     .pattern = OpPattern::kBroadcast,
     .lower = LowerOuter,
     .samples = "f32[3] f32[4]",
     .doc = "Outer product of vectors."},
};
TVM_RELAX_REGISTER_OPS(kLinalgRows)

}  // namespace relax
}  // namespace tvm
