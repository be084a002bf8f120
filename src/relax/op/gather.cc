// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Gather, scatter, one-hot, image sampling.
#include "relax/op/common.h"
#include "relax/op/lower.h"
#include "relax/op/lower_rules.h"

namespace tvm {
namespace relax {

namespace {

void CheckIndex(const Call& call, int i) {
  const auto* t = TensorArg(call, i);
  TVM_FFI_CHECK(t->IsUnknownDtype() || t->ElementType().is_int() || t->ElementType().is_uint(),
                TypeError)
      << OpName(call) << " requires its indices to have integer dtype, but the given dtype is "
      << t->ElementType();
}

/// Indices must not be longer than the data but along the axis.
void CheckIndexExtents(const Call& call, int axis, const Array<PrimExpr>& data,
                       const Array<PrimExpr>& index) {
  for (int i = 0; i < static_cast<int>(data.size()); ++i) {
    auto n = AsInt(data[i]), m = AsInt(index[i]);
    TVM_FFI_CHECK(i == axis || !n || !m || *m <= *n, ValueError)
        << OpName(call) << " requires the indices to have at most the extents of the data, but in "
        << "dimension " << i << " they have " << *m << " and the data has " << *n;
  }
}

Type InferGatherElements(const Call& call, const BlockBuilder&) {
  const auto* x = TensorArg(call, 0);
  const auto* idx = TensorArg(call, 1);
  CheckIndex(call, 1);
  if (!x->IsUnknownNdim()) {
    NormalizeAxis(call, AttrsOf<GatherElementsAttrs>(call.get())->axis, x->ndim);
    CheckRank(call, 1, idx, x->ndim);
  }
  auto xd = x->GetShape(), id = idx->GetShape();
  if (xd.has_value() && id.has_value()) {
    const int axis = NormalizeAxis(call, AttrsOf<GatherElementsAttrs>(call.get())->axis, x->ndim);
    CheckIndexExtents(call, axis, xd.value(), id.value());
    CheckReadable(call, xd.value()[axis], id.value());
  }
  return WithDtype(idx, x->ElementType());
}
Type InferGatherND(const Call& call, const BlockBuilder&) {
  const auto* x = TensorArg(call, 0);
  const auto* idx = TensorArg(call, 1);
  CheckIndex(call, 1);
  int64_t batch = AttrsOf<GatherNDAttrs>(call.get())->batch_dims;
  auto xd = x->GetShape(), id = idx->GetShape();
  if (!xd.has_value() || !id.has_value()) return TensorType(x->ElementType(), kUnknownNDim);
  TVM_FFI_CHECK(idx->ndim >= 1, ValueError)
      << "relax.gather_nd requires indices of at least one dimension";
  auto depth = AsInt(id.value().back());
  if (!depth) return TensorType(x->ElementType(), kUnknownNDim);
  TVM_FFI_CHECK(batch + *depth <= x->ndim, ValueError)
      << "relax.gather_nd: batch_dims (" << batch << ") plus the length of an index (" << *depth
      << ") exceed the rank " << x->ndim;
  TVM_FFI_CHECK(batch >= 0 && batch < idx->ndim, ValueError)
      << "relax.gather_nd: batch_dims is " << batch << ", but the indices have " << idx->ndim
      << " dimensions";
  for (int i = 0; i < batch; ++i) {
    CheckSameDim(call, "the data and the indices", xd.value()[i], id.value()[i], i);
  }
  Array<PrimExpr> out(id.value().begin(), id.value().end() - 1);
  for (int i = 0; i < *depth; ++i) CheckReadable(call, xd.value()[batch + i], out);
  for (int i = static_cast<int>(batch + *depth); i < x->ndim; ++i) out.push_back(xd.value()[i]);
  return TensorType(ShapeExpr(out), x->ElementType(), x->vdevice);
}
Type InferIndexTensor(const Call& call, const BlockBuilder& ctx) {
  const auto* x = TensorArg(call, 0);
  auto fields = TupleArg(call, 1);
  TVM_FFI_CHECK(!fields.empty(), ValueError) << "relax.index_tensor needs at least one index";
  TVM_FFI_CHECK(x->IsUnknownNdim() || static_cast<int>(fields.size()) <= x->ndim, ValueError)
      << "relax.index_tensor has more indices than the tensor has dimensions";
  auto xd = x->GetShape();
  Optional<Array<PrimExpr>> dims = Array<PrimExpr>();
  for (const auto* f : fields) {
    TVM_FFI_CHECK(f->ElementType().is_int() || f->ElementType().is_uint(), TypeError)
        << "relax.index_tensor requires integer indices, but got " << f->ElementType();
    if (!dims.has_value() || !f->GetShape().has_value()) {
      dims = std::nullopt;
      continue;
    }
    dims = BroadcastDims(call, ctx, dims.value(), f->GetShape().value());
  }
  if (!xd.has_value() || !dims.has_value()) return TensorType(x->ElementType(), kUnknownNDim);
  Array<PrimExpr> out = dims.value();
  for (int i = static_cast<int>(fields.size()); i < x->ndim; ++i) out.push_back(xd.value()[i]);
  return TensorType(ShapeExpr(out), x->ElementType(), x->vdevice);
}
/// What all scatters ask of their operands.
void CheckScatter(const Call& call, const String& how) {
  const auto *x = TensorArg(call, 0), *updates = TensorArg(call, 2);
  CheckIndex(call, 1);
  TVM_FFI_CHECK(x->IsUnknownDtype() || updates->IsUnknownDtype() ||
                    x->ElementType() == updates->ElementType(),
                TypeError)
      << OpName(call) << " requires the updates to have the dtype of the data, but got "
      << updates->ElementType() << " and " << x->ElementType();
  TVM_FFI_CHECK(how == "update" || how == "add" || how == "mul" || how == "max" || how == "min",
                ValueError)
      << OpName(call)
      << " expects reduction to be 'update', 'add', 'mul', 'max' or 'min', but got '" << how << "'";
}
Type InferScatterElements(const Call& call, const BlockBuilder&) {
  const auto* attrs = AttrsOf<ScatterElementsAttrs>(call.get());
  CheckScatter(call, attrs->reduction);
  const auto *x = TensorArg(call, 0), *idx = TensorArg(call, 1), *up = TensorArg(call, 2);
  if (x->IsUnknownNdim()) return call->args[0]->ty;
  const int axis = NormalizeAxis(call, attrs->axis, x->ndim);
  CheckRank(call, 1, idx, x->ndim);
  CheckRank(call, 2, up, x->ndim);
  auto xd = x->GetShape(), id = idx->GetShape(), ud = up->GetShape();
  if (xd.has_value() && id.has_value()) CheckIndexExtents(call, axis, xd.value(), id.value());
  for (int i = 0; id.has_value() && ud.has_value() && i < x->ndim; ++i) {
    CheckSameDim(call, "the indices and the updates", id.value()[i], ud.value()[i], i);
  }
  return call->args[0]->ty;
}
/// data [d0 .. dn), indices [b.., k], updates [b.., dk .. dn).
Type InferScatterND(const Call& call, const BlockBuilder&) {
  CheckScatter(call, AttrsOf<ScatterNDAttrs>(call.get())->reduction);
  const auto *x = TensorArg(call, 0), *idx = TensorArg(call, 1), *up = TensorArg(call, 2);
  auto xd = x->GetShape(), id = idx->GetShape(), ud = up->GetShape();
  if (!xd.has_value() || !id.has_value() || !ud.has_value()) return call->args[0]->ty;
  TVM_FFI_CHECK(idx->ndim >= 1, ValueError)
      << "relax.scatter_nd requires indices of at least one dimension";
  auto depth = AsInt(id.value().back());
  if (!depth) return call->args[0]->ty;
  const int lead = idx->ndim - 1;
  TVM_FFI_CHECK(*depth <= x->ndim, ValueError)
      << "relax.scatter_nd: an index of " << *depth << " numbers exceeds the rank " << x->ndim;
  CheckRank(call, 2, up, lead + x->ndim - static_cast<int>(*depth));
  for (int i = 0; i < up->ndim; ++i) {
    const bool outer = i < lead;
    CheckSameDim(call, outer ? "the indices and the updates" : "the data and the updates",
                 outer ? id.value()[i] : xd.value()[i - lead + *depth], ud.value()[i], i);
  }
  return call->args[0]->ty;
}
/// Values broadcast to the shape of the indices followed by what they leave of the data.
Type InferIndexPut(const Call& call, const BlockBuilder& ctx) {
  const auto *x = TensorArg(call, 0), *values = TensorArg(call, 2);
  auto fields = TupleArg(call, 1);
  TVM_FFI_CHECK(x->IsUnknownNdim() || static_cast<int>(fields.size()) <= x->ndim, ValueError)
      << "relax.index_put has more indices than the tensor has dimensions";
  Optional<Array<PrimExpr>> dims = Array<PrimExpr>();
  for (const auto* f : fields) {
    if (!dims.has_value() || !f->GetShape().has_value()) return call->args[0]->ty;
    dims = BroadcastDims(call, ctx, dims.value(), f->GetShape().value());
  }
  auto xd = x->GetShape(), vd = values->GetShape();
  if (!xd.has_value() || !vd.has_value() || !dims.has_value()) return call->args[0]->ty;
  Array<PrimExpr> want = dims.value();
  for (int i = static_cast<int>(fields.size()); i < x->ndim; ++i) want.push_back(xd.value()[i]);
  TVM_FFI_CHECK(vd.value().size() <= want.size(), ValueError)
      << "relax.index_put: the values have " << vd.value().size()
      << " dimensions, the indexed part has " << want.size();
  const size_t lead = want.size() - vd.value().size();
  for (size_t i = 0; i < vd.value().size(); ++i) {
    if (IsConstInt(vd.value()[i], 1)) continue;
    CheckSameDim(call, "the indexed part and the values", want[lead + i], vd.value()[i],
                 static_cast<int>(lead + i));
  }
  return call->args[0]->ty;
}
Type InferSliceScatter(const Call& call, const BlockBuilder&) {
  const auto *x = TensorArg(call, 0), *src = TensorArg(call, 1);
  if (x->IsUnknownNdim()) return call->args[0]->ty;
  const int axis = NormalizeAxis(call, AttrsOf<SliceScatterAttrs>(call.get())->axis, x->ndim);
  CheckRank(call, 1, src, x->ndim);
  auto xd = x->GetShape(), sd = src->GetShape();
  for (int i = 0; xd.has_value() && sd.has_value() && i < x->ndim; ++i) {
    if (i != axis) CheckSameDim(call, "the data and the source", xd.value()[i], sd.value()[i], i);
  }
  auto step = AsInt(PrimArg(call, 4));
  TVM_FFI_CHECK(step.value_or(1) > 0, ValueError)
      << "relax.slice_scatter expects a positive step, but got " << *step;
  return call->args[0]->ty;
}
Type InferMeshgrid(const Call& call, const BlockBuilder&) {
  auto fields = TupleArg(call, 0);
  Array<PrimExpr> dims;
  bool known = true;
  for (const auto* f : fields) {
    TVM_FFI_CHECK(f->IsUnknownNdim() || f->ndim == 1, ValueError)
        << "relax.meshgrid requires 1-D tensors, but got " << f->ndim << " dimensions";
    auto d = f->GetShape();
    known = known && d.has_value();
    if (d.has_value()) dims.push_back(d.value()[0]);
  }
  const OptString& indexing = AttrsOf<MeshgridAttrs>(call.get())->indexing;
  if (known && indexing.has_value() && indexing.value() == "xy" && dims.size() >= 2) {
    PrimExpr d0 = dims[0];
    dims.Set(0, dims[1]);
    dims.Set(1, d0);
  }
  Array<Type> out;
  for (const auto* f : fields) {
    out.push_back(known ? Type(TensorType(dims, f->ElementType()))
                        : Type(TensorType(f->ElementType(), static_cast<int>(fields.size()))));
  }
  return TupleType(out);
}
Type InferOneHot(const Call& call, const BlockBuilder&) {
  const auto* idx = TensorArg(call, 0);
  CheckIndex(call, 0);
  const auto* attrs = AttrsOf<OneHotAttrs>(call.get());
  TVM_FFI_CHECK(attrs->depth > 0, ValueError)
      << "relax.one_hot expects a positive depth, but got " << attrs->depth;
  DataType dtype = call->args[1].dtype();
  auto dims = idx->GetShape();
  if (!dims.has_value()) {
    return TensorType(dtype, idx->IsUnknownNdim() ? kUnknownNDim : idx->ndim + 1, idx->vdevice);
  }
  int axis = NormalizeAxis(call, attrs->axis, idx->ndim + 1);
  Array<PrimExpr> out = dims.value();
  out.insert(out.begin() + axis, Int64(attrs->depth));
  return TensorType(ShapeExpr(out), dtype, idx->vdevice);
}

template <typename A, int D>
Type InferResize(const Call& call, const BlockBuilder&) {
  const auto* x = TensorArg(call, 0);
  const auto* a = AttrsOf<A>(call.get());
  CheckRank(call, 0, x, D + 2);
  DataType dtype = a->out_dtype.is_void() ? x->ElementType() : a->out_dtype;
  auto size = ShapeArg(call, 1);
  auto dims = x->GetShape();
  if (!dims.has_value() || !size.has_value()) return TensorType(dtype, D + 2, x->vdevice);
  TVM_FFI_CHECK(size.value().size() == D, ValueError)
      << OpName(call) << " expects a size of " << D << " values, but got " << size.value().size();
  Array<PrimExpr> out = dims.value();
  const char* axes = D == 2 ? "HW" : "DHW";
  for (int i = 0; i < D; ++i) {
    const PrimExpr& extent = size.value()[i];
    TVM_FFI_CHECK(AsInt(extent).value_or(0) >= 0, ValueError)
        << OpName(call) << " expects sizes of at least 0, but got " << *AsInt(extent);
    CheckReadable(call, out[LayoutAxis(a->layout, axes[i])], {extent});
    out.Set(LayoutAxis(a->layout, axes[i]), extent);
  }
  return TensorType(ShapeExpr(out), dtype, x->vdevice);
}
Type InferGridSample(const Call& call, const BlockBuilder&) {
  const auto* x = TensorArg(call, 0);
  const auto* g = TensorArg(call, 1);
  CheckRank(call, 0, x, 4);
  CheckRank(call, 1, g, 4);
  auto xd = x->GetShape(), gd = g->GetShape();
  if (!xd.has_value() || !gd.has_value()) return TensorType(x->ElementType(), 4, x->vdevice);
  // The grid is [N, 2, H, W].
  return TensorType({xd.value()[0], xd.value()[1], gd.value()[2], gd.value()[3]}, x->ElementType(),
                    x->vdevice);
}

}  // namespace

#define RX_RESIZE_ATTRS(LAYOUT)                                                               \
  "roi=[], layout='" LAYOUT                                                                   \
  "', method='linear', "                                                                      \
  "coordinate_transformation_mode='half_pixel', rounding_method='round', cubic_alpha=-0.75, " \
  "cubic_exclude=0, extrapolation_value=0.0, out_dtype=None"

static const OpRow kGatherRows[] = {
    {.name = "gather_elements",
     .args = "data, indices",
     .attrs = "axis=0",
     .attrs_key = "relax.attrs.GatherElementsAttrs",
     .infer = InferGatherElements,
     .pattern = OpPattern::kInjective,
     .lower = LowerGatherElements,
     .doc = "Element at the index along the axis; negative ones count from the end."},
    {.name = "gather_nd",
     .args = "data, indices",
     .attrs = "batch_dims=0",
     .attrs_key = "relax.attrs.GatherNDAttrs",
     .infer = InferGatherND,
     .pattern = OpPattern::kInjective,
     .lower = LowerGatherND,
     .doc = "Slices at index tuples in the last dimension of indices."},
    {.name = "index_tensor",
     .args = "data, indices:tuple",
     .infer = InferIndexTensor,
     .pattern = OpPattern::kInjective,
     .lower = LowerIndexTensor,
     .doc = "Advanced indexing of the leading dimensions."},
    {.name = "index_put",
     .args = "data, indices:tuple, values",
     .attrs = "accumulate=False",
     .attrs_key = "relax.attrs.IndexPutAttrs",
     .infer = InferIndexPut,
     .lower = LowerIndexPut,
     .doc = "Copy with elements at the indices replaced by (or increased by) values."},
    {.name = "meshgrid",
     .args = "tensors:tuple",
     .attrs = "indexing='ij'",
     .attrs_key = "relax.attrs.MeshgridAttrs",
     .infer = InferMeshgrid,
     .pattern = OpPattern::kInjective,
     .lower = LowerMeshgrid,
     .doc = "Coordinate grids of 1-D tensors."},
    {.name = "scatter_elements",
     .args = "data, indices, updates",
     .attrs = "axis=0, reduction='update'",
     .attrs_key = "relax.attrs.ScatterElementsAttrs",
     .infer = InferScatterElements,
     .lower = LowerScatterElements,
     .doc = "Copy with updates written or combined at the indices along an axis."},
    {.name = "scatter_nd",
     .args = "data, indices, updates",
     .attrs = "reduction='update'",
     .attrs_key = "relax.attrs.ScatterNDAttrs",
     .infer = InferScatterND,
     .lower = LowerScatterND,
     .doc = "Copy with slices written or combined at index tuples."},
    {.name = "slice_scatter",
     .args = "input_tensor, src, start:prim, end:prim, step:prim",
     .attrs = "axis=0",
     .attrs_key = "relax.attrs.SliceScatterAttrs",
     .infer = InferSliceScatter,
     .pattern = OpPattern::kInjective,
     .lower = LowerSliceScatter,
     .doc = "Copy with a slice replaced by src."},
    {.name = "one_hot",
     .args = "indices, on_value:prim, off_value:prim",
     .attrs = "depth, axis=-1",
     .attrs_key = "relax.attrs.OneHotAttrs",
     .infer = InferOneHot,
     .pattern = OpPattern::kBroadcast,
     .lower = LowerOneHot,
     .doc = "on_value where the position equals the index, else off_value."},
    {.name = "image.resize2d",
     .args = "data, size:shape",
     .attrs = RX_RESIZE_ATTRS("NCHW"),
     .attrs_key = "relax.attrs.Resize2DAttrs",
     .infer = InferResize<Resize2DAttrs, 2>,
     .pattern = OpPattern::kInjective,
     .lower = LowerResize,
     .layout = LayoutRule::kDataLayout,
     .doc = "Image of another size by nearest neighbour, linear or cubic interpolation."},
    {.name = "image.resize3d",
     .args = "data, size:shape",
     .attrs = RX_RESIZE_ATTRS("NCDHW"),
     .attrs_key = "relax.attrs.Resize3DAttrs",
     .infer = InferResize<Resize3DAttrs, 3>,
     .pattern = OpPattern::kInjective,
     .lower = LowerResize,
     .doc = "Volume of another size."},
    {.name = "image.grid_sample",
     .args = "data, grid",
     .attrs = "method='bilinear', layout='NCHW', padding_mode='zeros', align_corners=True",
     .attrs_key = "relax.attrs.GridSampleAttrs",
     .infer = InferGridSample,
     .pattern = OpPattern::kInjective,
     .lower = LowerGridSample,
     .doc = "Samples at the positions of a grid in [-1, 1]."},
};
TVM_RELAX_REGISTER_OPS(kGatherRows)

}  // namespace relax
}  // namespace tvm
