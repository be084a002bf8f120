// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Lowering of contractions: matrix products, einsum, convolutions and their transposes.
///
/// The block that sums carries `tile_op`; how the kernel layer recognises operands is its business.
/// A weight that was packed while compiling is read as KernelPlan says.
#include <tvm/kernels/rule.h>
#include <tvm/kernels/winograd.h>

#include <array>

#include "relax/op/common.h"
#include "relax/op/lower.h"
#include "relax/op/lower_rules.h"

namespace tvm {
namespace relax {

namespace {

using Attr = Map<String, ffi::Any>;

tirx::IterVar ReduceAxis(PrimExpr extent, const char* name) {
  return te::reduce_axis(Range::FromMinExtent(Int64(0), extent), name);
}

/// Type in which products are summed.
DataType AccType(DataType out) {
  bool half = out.is_float16() || out.is_bfloat16() || out.is_float8();
  return half ? DataType::Float(32) : out;
}

/// The sum as a block of its own, converted to the output type afterwards when it is narrower.
te::Tensor SumBlock(const LowerArgs& a, const Array<PrimExpr>& shape, DataType out, Attr attrs,
                    const std::function<PrimExpr(const Array<Var>&)>& f) {
  for (const auto& [k, v] : a.anchor_attrs) attrs.Set(k, v);
  te::Tensor t = te::compute(shape, te::FCompute(f), a.BlockName(), "contraction", attrs);
  if (t.dtype() == out) return t;
  return te::compute(shape, te::FCompute([&](const Array<Var>& i) { return tvm::cast(out, t(i)); }),
                     "cast", "elemwise");
}

int64_t PanelOf(const LowerArgs& a) {
  auto it = a.anchor_attrs.find("panel");
  return it == a.anchor_attrs.end() ? 0 : (*it).second.cast<int64_t>();
}

/// Row `k` of column `col` of a weight in panels; `group` is undefined when there is but one.
PrimExpr ReadPacked(const LowerArgs& a, const te::Tensor& packed, const PrimExpr& k,
                    const PrimExpr& col, const PrimExpr& group = PrimExpr()) {
  const PrimExpr panel = Int64(PanelOf(a));
  Array<PrimExpr> at{tvm::floordiv(col, panel), k, tvm::floormod(col, panel)};
  auto it = a.anchor_attrs.find(kernels::kKGroup);
  if (it != a.anchor_attrs.end()) {
    const PrimExpr words = Int64((*it).second.cast<int64_t>());
    const bool sums_first = a.anchor_attrs.count(kernels::kColumnSums) != 0;
    at.Set(1, tvm::floordiv(k, words) + Int64(sums_first ? 1 : 0));
    at.push_back(tvm::floormod(k, words));
  }
  if (group.defined()) at.insert(at.begin(), group);
  return packed(at);
}

}  // namespace

void LowerMatmul(LowerArgs& a) {
  const te::Tensor& x = a[0];
  const te::Tensor& y = a[1];
  const auto* yt = a.call->args[1]->ty.as<TensorTypeNode>();
  Array<PrimExpr> y_shape = yt->GetShape().value();
  size_t xn = x.ndim(), yn = y_shape.size();
  DataType out = a.OutDtype(), acc = AccType(out);
  int64_t panel = PanelOf(a);
  auto k = ReduceAxis(x.shape()[xn - 1], "k");
  // Output dimensions: batch, then a row unless x is a vector, then a column unless y is one.
  Array<PrimExpr> shape = a.OutShape();
  size_t batch = shape.size() - (xn > 1) - (yn > 1);
  auto batch_index = [&](const Array<Var>& i, const Array<PrimExpr>& s, size_t dims) {
    Array<PrimExpr> at;
    for (size_t d = 0; d < dims; ++d) {
      const Var& v = i[batch - dims + d];
      at.push_back(IsConstInt(s[d], 1) ? Int64(0) : PrimExpr(v));
    }
    return at;
  };
  a.out = {SumBlock(a, shape, out, {{"tile_op", String("gemm")}}, [&](const Array<Var>& i) {
    Array<PrimExpr> xi = batch_index(i, x.shape(), xn > 2 ? xn - 2 : 0);
    if (xn > 1) xi.push_back(PrimExpr(i[batch]));
    xi.push_back(PrimExpr(k->var));
    PrimExpr b;
    if (panel > 0) {
      b = ReadPacked(a, y, k->var, i[i.size() - 1]);
    } else {
      Array<PrimExpr> yi = batch_index(i, y_shape, yn > 2 ? yn - 2 : 0);
      yi.push_back(PrimExpr(k->var));
      if (yn > 1) yi.push_back(PrimExpr(i[i.size() - 1]));
      b = y(yi);
    }
    return te::sum(tvm::cast(acc, x(xi)) * tvm::cast(acc, b), {k});
  })};
}

void LowerEinsum(LowerArgs& a) {
  Array<te::Tensor> in = a.Tuple(0);
  std::vector<int> ndims;
  for (const te::Tensor& t : in) ndims.push_back(static_cast<int>(t.ndim()));
  const String& text = a.Attrs<EinsumAttrs>().subscripts;
  EinsumSpec spec = ParseEinsum(std::string_view(text.data(), text.size()), ndims);
  std::array<PrimExpr, 256> extent, index;
  for (size_t k = 0; k < in.size(); ++k) {
    for (size_t d = 0; d < spec.inputs[k].size(); ++d) {
      PrimExpr& e = extent[static_cast<unsigned char>(spec.inputs[k][d])];
      if (!e.defined() || IsConstInt(e, 1)) e = in[k].shape()[d];
    }
  }
  Array<tirx::IterVar> axes;
  for (int c = 0; c < 256; ++c) {
    if (!extent[c].defined() || spec.output.find(static_cast<char>(c)) != std::string::npos)
      continue;
    axes.push_back(ReduceAxis(extent[c], "k"));
    index[c] = axes.back()->var;
  }
  DataType out = a.OutDtype(), acc = AccType(out);
  Attr attrs;
  if (!axes.empty() && in.size() == 2) attrs.Set("tile_op", String("gemm"));
  a.out = {SumBlock(a, a.OutShape(), out, attrs, [&](const Array<Var>& i) {
    for (size_t d = 0; d < spec.output.size(); ++d) {
      index[static_cast<unsigned char>(spec.output[d])] = i[d];
    }
    PrimExpr product;
    for (size_t k = 0; k < in.size(); ++k) {
      Array<PrimExpr> at;
      for (size_t d = 0; d < spec.inputs[k].size(); ++d) {
        bool unit = IsConstInt(in[k].shape()[d], 1);
        at.push_back(unit ? Int64(0) : index[static_cast<unsigned char>(spec.inputs[k][d])]);
      }
      PrimExpr v = tvm::cast(acc, in[k](at));
      product = product.defined() ? product * v : v;
    }
    return axes.empty() ? product : te::sum(product, axes);
  })};
}

void LowerOuter(LowerArgs& a) {
  a.out = {te::compute(a.OutShape(), te::FCompute([&](const Array<Var>& i) {
                         return a[0](PrimExpr(i[0])) * a[1](PrimExpr(i[1]));
                       }),
                       a.BlockName(), "broadcast")};
}

namespace {

/// Fields that convolutions of all ranks share.
struct ConvSpec {
  int dims;
  Ints strides, padding, dilation, output_padding;
  int64_t groups;
  String data_layout, kernel_layout, out_layout;
  std::string axes;
};

template <typename A>
ConvSpec ReadSpec(const A& attrs, int dims) {
  ConvSpec s{dims,         attrs.strides,     attrs.padding,       attrs.dilation,   {},
             attrs.groups, attrs.data_layout, attrs.kernel_layout, attrs.out_layout, ""};
  if constexpr (requires { attrs.output_padding; }) s.output_padding = attrs.output_padding;
  s.axes = dims == 1 ? "W" : dims == 2 ? "HW" : "DHW";
  return s;
}

ConvSpec SpecOf(const LowerArgs& a) {
  const BaseAttrsNode* n = a.call->attrs.get();
  if (n->IsInstance<Conv1DAttrs>()) return ReadSpec(a.Attrs<Conv1DAttrs>(), 1);
  if (n->IsInstance<Conv2DAttrs>()) return ReadSpec(a.Attrs<Conv2DAttrs>(), 2);
  if (n->IsInstance<Conv3DAttrs>()) return ReadSpec(a.Attrs<Conv3DAttrs>(), 3);
  if (n->IsInstance<Conv1DTransposeAttrs>()) return ReadSpec(a.Attrs<Conv1DTransposeAttrs>(), 1);
  if (n->IsInstance<Conv2DTransposeAttrs>()) return ReadSpec(a.Attrs<Conv2DTransposeAttrs>(), 2);
  return ReadSpec(a.Attrs<Conv3DTransposeAttrs>(), 3);
}

/// Index tuple in a layout from its channel-like, batch-like and spatial parts.
Array<PrimExpr> Place(const String& layout, char first, const PrimExpr& x, char second,
                      const PrimExpr& y, const std::string& axes,
                      const std::vector<PrimExpr>& spatial) {
  std::vector<PrimExpr> at(layout.size());
  at[LayoutAxis(layout, first)] = x;
  at[LayoutAxis(layout, second)] = y;
  for (size_t d = 0; d < axes.size(); ++d) at[LayoutAxis(layout, axes[d])] = spatial[d];
  return Array<PrimExpr>(at.begin(), at.end());
}

/// What the border of a convolution holds: 0, or what the planner merged into it.
PrimExpr BorderOf(const LowerArgs& a) {
  const DataType dtype = a[0].dtype();
  auto it = a.anchor_attrs.find(kBorder);
  return it == a.anchor_attrs.end() ? make_zero(dtype)
                                    : make_const(dtype, (*it).second.cast<double>());
}

/// The input with borders of `value` added; itself when there are none.
te::Tensor PadSpatial(const te::Tensor& x, const ConvSpec& s, const std::string& layout,
                      const PrimExpr& value) {
  bool none = true;
  for (int64_t p : s.padding) none = none && p == 0;
  if (none) return x;
  std::vector<PrimExpr> shape(x.shape().begin(), x.shape().end());
  std::vector<int64_t> before(shape.size(), 0);
  std::vector<bool> padded(shape.size(), false);
  for (int d = 0; d < s.dims; ++d) {
    int at = LayoutAxis(layout, s.axes[d]);
    before[at] = s.padding[d];
    padded[at] = s.padding[d] + s.padding[s.dims + d] != 0;
    shape[at] = shape[at] + Int64(s.padding[d] + s.padding[s.dims + d]);
  }
  return te::compute(Array<PrimExpr>(shape.begin(), shape.end()),
                     te::FCompute([&](const Array<Var>& i) {
                       Array<PrimExpr> at;
                       PrimExpr inside = const_true();
                       for (size_t d = 0; d < i.size(); ++d) {
                         PrimExpr p = before[d] == 0 ? PrimExpr(i[d]) : i[d] - Int64(before[d]);
                         if (padded[d]) inside = inside && p >= Int64(0) && p < x.shape()[d];
                         at.push_back(p);
                       }
                       return tvm::if_then_else(inside, x(at), value);
                     }),
                     "pad", "injective,pad");
}

/// A convolution while it is lowered.
struct ConvBody {
  const LowerArgs& a;
  ConvSpec s;
  te::Tensor x;               ///< the image, with its border
  Array<PrimExpr> weight;     ///< shape of the weight, not packed
  Array<tirx::IterVar> axes;  ///< the taps, then the channels of a group unless there is but one
  DataType acc;

  PrimExpr Extent(char axis) const { return weight[LayoutAxis(s.kernel_layout, axis)]; }
  /// Channels that a group computes.
  PrimExpr Columns() const { return tvm::floordiv(Extent('O'), Int64(s.groups)); }
  bool HasOneChannel() const { return IsConstInt(Extent('I'), 1); }
  bool IsDepthwise() const {
    auto out = AsInt(Extent('O'));
    return s.groups > 1 && HasOneChannel() && out && *out == s.groups;
  }
  /// Whether the channels of the result are computed as (group, column), as the rules for products
  /// want it.
  bool SplitsGroups() const {
    return s.groups > 1 && s.dims == 2 && !IsDepthwise() && s.data_layout == "NHWC" &&
           s.out_layout == "NHWC" && s.kernel_layout == "HWIO";
  }

  /// The sum for channel `c` at a place of picture `n`: channel `column` of `group`, which is
  /// undefined where channels are not split. Its input channels begin at `first`.
  PrimExpr Sum(const PrimExpr& n, const std::vector<PrimExpr>& place, const PrimExpr& first,
               const PrimExpr& c, const PrimExpr& column, const PrimExpr& group) const {
    const te::Tensor& w = a[1];
    const int64_t panel = PanelOf(a);
    std::vector<PrimExpr> pos, tap;
    for (int d = 0; d < s.dims; ++d) {
      tap.push_back(axes[d]->var);
      pos.push_back(place[d] * Int64(s.strides[d]) + tap[d] * Int64(s.dilation[d]));
    }
    PrimExpr ic = HasOneChannel() ? Int64(0) : PrimExpr(axes[s.dims]->var);
    PrimExpr xv = x(Place(s.data_layout, 'N', n, 'C', first + ic, s.axes, pos));
    PrimExpr wv;
    if (a.anchor_attrs.count(kernels::kWinograd)) {
      wv = kernels::WinogradTap(tap[0], tap[1], [&](const PrimExpr& point) {
        return w(Array<PrimExpr>{tvm::floordiv(c, Int64(panel)), point, ic,
                                 tvm::floormod(c, Int64(panel))});
      });
    } else if (panel > 0) {
      PrimExpr row = Int64(0);
      for (int d = 0; d < s.dims; ++d) row = row * Extent(s.axes[d]) + tap[d];
      wv = ReadPacked(a, w, row * Extent('I') + ic, column, group);
    } else {
      wv = w(Place(s.kernel_layout, 'O', c, 'I', ic, s.axes, tap));
    }
    return te::sum(tvm::cast(acc, xv) * tvm::cast(acc, wv), axes);
  }
};

/// What the rule for windows wants to know of a depthwise convolution; nothing in other layouts.
Attr DepthwiseAttrs(const LowerArgs& a, const ConvSpec& s) {
  Attr attrs;
  if (s.dims != 2 || s.out_layout != "NHWC" || s.data_layout != "NHWC") return attrs;
  attrs.Set("tile_op", String("window"));
  for (int d = 0; d < 2; ++d) {
    std::string axis = d == 0 ? "h" : "w";
    PrimExpr in = a[0].shape()[LayoutAxis(s.data_layout, s.axes[d])];
    attrs.Set("in_" + axis, AsInt(in).value_or(0));
    attrs.Set("stride_" + axis, s.strides[d]);
    attrs.Set("pad_" + axis, s.padding[d]);
    attrs.Set("dilation_" + axis, s.dilation[d]);
  }
  return attrs;
}

}  // namespace

void LowerConv(LowerArgs& a) {
  ConvBody body{a,  SpecOf(a),
                {}, a.call->args[1]->ty.as<TensorTypeNode>()->GetShape().value(),
                {}, AccType(a.OutDtype())};
  const ConvSpec& s = body.s;
  body.x =
      PadSpatial(a[0], s, std::string(s.data_layout.data(), s.data_layout.size()), BorderOf(a));
  for (char c : s.axes) {
    body.axes.push_back(ReduceAxis(body.Extent(c), c == 'W' ? "kw" : c == 'H' ? "kh" : "kd"));
  }
  if (!body.HasOneChannel()) body.axes.push_back(ReduceAxis(body.Extent('I'), "ic"));
  const Attr product{{"tile_op", String("conv" + std::to_string(s.dims) + "d")}};
  if (body.SplitsGroups()) {
    const Array<PrimExpr> shape = a.OutShape();
    const PrimExpr columns = body.Columns();
    te::Tensor sums = SumBlock(a, {shape[0], shape[1], shape[2], Int64(s.groups), columns},
                               a.OutDtype(), product, [&](const Array<Var>& i) {
                                 return body.Sum(i[0], {i[1], i[2]}, i[3] * body.Extent('I'),
                                                 i[3] * columns + i[4], i[4], i[3]);
                               });
    a.out = {te::compute(shape, te::FCompute([&](const Array<Var>& i) {
                           return sums(i[0], i[1], i[2], tvm::floordiv(i[3], columns),
                                       tvm::floormod(i[3], columns));
                         }),
                         "channels", "injective")};
    return;
  }
  const bool depthwise = body.IsDepthwise();
  a.out = {SumBlock(a, a.OutShape(), a.OutDtype(), depthwise ? DepthwiseAttrs(a, s) : product,
                    [&](const Array<Var>& i) {
                      PrimExpr n = i[LayoutAxis(s.out_layout, 'N')],
                               c = i[LayoutAxis(s.out_layout, 'C')];
                      std::vector<PrimExpr> place;
                      for (char axis : s.axes) place.push_back(i[LayoutAxis(s.out_layout, axis)]);
                      PrimExpr first = depthwise ? c
                                       : s.groups > 1
                                           ? tvm::floordiv(c, body.Columns()) * body.Extent('I')
                                           : Int64(0);
                      return body.Sum(n, place, first, c, c, PrimExpr());
                    })};
}

void LowerConvTranspose(LowerArgs& a) {
  ConvSpec s = SpecOf(a);
  const te::Tensor& x = a[0];
  const te::Tensor& w = a[1];
  auto W = [&](char c) { return w.shape()[LayoutAxis(s.kernel_layout, c)]; };
  Array<tirx::IterVar> axes;
  for (char c : s.axes) axes.push_back(ReduceAxis(W(c), c == 'W' ? "kw" : c == 'H' ? "kh" : "kd"));
  PrimExpr in_per_group = tvm::floordiv(W('I'), Int64(s.groups));
  axes.push_back(ReduceAxis(in_per_group, "ic"));
  DataType out = a.OutDtype(), acc = AccType(out);
  a.out = {SumBlock(
      a, a.OutShape(), out, {{"tile_op", String("conv2d_transpose")}}, [&](const Array<Var>& i) {
        PrimExpr n = i[LayoutAxis(s.out_layout, 'N')], c = i[LayoutAxis(s.out_layout, 'C')];
        std::vector<PrimExpr> pos, tap;
        PrimExpr hit = const_true();
        for (int d = 0; d < s.dims; ++d) {
          PrimExpr o = i[LayoutAxis(s.out_layout, s.axes[d])];
          PrimExpr k = axes[d]->var;
          tap.push_back(k);
          // Input position p contributes to o = p * stride - padding + k * dilation.
          PrimExpr t = o + Int64(s.padding[d]) - k * Int64(s.dilation[d]);
          PrimExpr stride = Int64(s.strides[d]);
          PrimExpr p = tvm::floordiv(t, stride);
          if (s.strides[d] != 1) hit = hit && tvm::equal(tvm::floormod(t, stride), Int64(0));
          hit = hit && p >= Int64(0) && p < x.shape()[LayoutAxis(s.data_layout, s.axes[d])];
          pos.push_back(p);
        }
        PrimExpr ic = axes[s.dims]->var, group = Int64(0), oc = c;
        if (s.groups > 1) {
          group = tvm::floordiv(c, W('O'));
          oc = tvm::floormod(c, W('O'));
        }
        PrimExpr channel = group * in_per_group + ic;
        PrimExpr xv = tvm::if_then_else(
            hit, x(Place(s.data_layout, 'N', n, 'C', channel, s.axes, pos)), make_zero(x.dtype()));
        PrimExpr wv = w(Place(s.kernel_layout, 'O', oc, 'I', channel, s.axes, tap));
        return te::sum(tvm::cast(acc, xv) * tvm::cast(acc, wv), axes);
      })};
}

}  // namespace relax
}  // namespace tvm
