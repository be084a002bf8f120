// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief PlanLayout: image operators in the layout that the kernel rules want.
///
///   y = R.nn.conv2d(x, W); z = R.nn.relu(y); p = R.nn.max_pool2d(z)
///     =>  x' = R.permute_dims(x, [0, 2, 3, 1])
///         y' = R.nn.conv2d(x', W', NHWC, HWIO); z' = R.nn.relu(y'); p' = R.nn.max_pool2d(z', NHWC)
///
/// A value made in NHWC stays so as long as its consumers can take it; it is turned back where one
/// cannot. Transposes of such values are composed and vanish when they cancel. A value [N, C, L]
/// that is a view of an image is an image with one column, kept as [N, L, 1, C].
#include <tvm/kernels/rule.h>
#include <tvm/relax/analysis.h>
#include <tvm/relax/expr_functor.h>

#include "relax/ir/utils.h"
#include "relax/op/call_like.h"
#include "relax/op/common.h"
#include "relax/transform/utils.h"
#include "relax/transform/weight_packing.h"

namespace tvm {
namespace relax {
namespace transform {

namespace {

// Dimension d of NHWC is dimension kToNhwc[d] of NCHW, and the reverse.
constexpr int64_t kToNhwc[4] = {0, 2, 3, 1};
constexpr int64_t kToNchw[4] = {0, 3, 1, 2};
/// Where dimension d of NCHW is in NHWC.
int64_t Moved(int64_t d) { return kToNchw[d < 0 ? d + 4 : d]; }

class LayoutPlanner : public ExprMutator {
 public:
  LayoutPlanner(const IRModule& mod, Target target)
      : ExprMutator(mod), target_(std::move(target)) {}

  BindingBlock VisitBindingBlock(const BindingBlock& block) override {
    BindingBlock result = ExprMutator::VisitBindingBlock(block);
    if (block.as<DataflowBlockNode>()) {
      // The turned values are dataflow variables, which later blocks do not see.
      nhwc_.clear();
      turned_.clear();
    }
    return result;
  }

  void VisitVarBinding(const VarBindingNode* b) override {
    if (const auto* call = b->value.as<CallNode>()) {
      if (Optional<Expr> composed = Transpose(call)) {
        ReEmit(b, composed.value());
        return;
      }
      if (Optional<Expr> moved = Convert(call)) {
        Var var = builder_->Emit(moved.value(), b->var->name);
        const auto* made = var->ty.as<TensorTypeNode>();
        if (made != nullptr && made->ndim != 4) {
          // The result has no image layout any more.
          var_remap_[b->var.get()] = var;
        } else {
          nhwc_[b->var.get()] = var;
        }
        if (!b->var.as<DataflowVarNode>() && builder_->CurrentBlockIsDataflow()) {
          // Read outside of the block: made available in the original layout.
          Materialize(b->var);
        }
        return;
      }
    } else if (const auto* item = b->value.as<TupleGetItemNode>()) {
      auto it = nhwc_.find(item->tuple.as<VarNode>());
      if (it != nhwc_.end()) {
        nhwc_[b->var.get()] = builder_->Emit(TupleGetItem(it->second, item->index), b->var->name);
        if (!b->var.as<DataflowVarNode>() && builder_->CurrentBlockIsDataflow()) {
          Materialize(b->var);
        }
        return;
      }
    }
    ExprMutator::VisitVarBinding(b);
  }

  using ExprMutator::VisitExpr_;
  Expr VisitExpr_(const VarNode* op) override {
    if (nhwc_.count(op) && !var_remap_.count(op)) return Materialize(GetRef<Var>(op));
    return ExprMutator::VisitExpr_(op);
  }
  Expr VisitExpr_(const DataflowVarNode* op) override {
    return LayoutPlanner::VisitExpr_(static_cast<const VarNode*>(op));
  }
  Expr VisitExpr_(const IfNode* op) override {
    // Values made inside of a branch are not known outside.
    auto saved = nhwc_;
    auto saved_turned = std::move(turned_);
    auto saved_remap = var_remap_;
    turned_.clear();
    Expr e = ExprMutator::VisitExpr_(op);
    nhwc_ = std::move(saved);
    turned_ = std::move(saved_turned);
    var_remap_ = std::move(saved_remap);
    return e;
  }

 private:
  Expr Emit(const Expr& e) { return builder_->Emit(e); }
  static Expr Permute(const Expr& e, const int64_t (&axes)[4]) {
    return MakeOp("permute_dims", {e}, {{"axes", Ints{axes[0], axes[1], axes[2], axes[3]}}});
  }

  /// The value in its original layout, for consumers that need it.
  Expr Materialize(const Var& var) {
    const auto* tuple = var->ty.as<TupleTypeNode>();
    const Expr& moved = nhwc_.at(var.get());
    Expr back;
    auto emit = [&](const Expr& e) -> Expr {
      bool output = !var.as<DataflowVarNode>() && builder_->CurrentBlockIsDataflow();
      return output ? builder_->EmitOutput(e, var->name) : builder_->Emit(e, var->name);
    };
    const auto* tensor = var->ty.as<TensorTypeNode>();
    if (tensor != nullptr && tensor->ndim == 3) {
      back = emit(MakeOp("reshape", {Emit(Permute(moved, kToNchw)), tensor->shape.value()}));
    } else if (tuple == nullptr) {
      back = emit(Permute(moved, kToNchw));
    } else {
      Array<Expr> fields;
      for (size_t i = 0; i < tuple->fields.size(); ++i) {
        Expr f = Emit(TupleGetItem(moved, static_cast<int>(i)));
        fields.push_back(Emit(Permute(f, kToNchw)));
      }
      back = emit(Tuple(fields));
    }
    var_remap_[var.get()] = back;
    return back;
  }

  bool IsImage(const Expr& e) const {
    const auto* t = e->ty.as<TensorTypeNode>();
    return t != nullptr && t->ndim == 4 && t->GetShape().has_value();
  }
  bool HasMoved(const Expr& e) const {
    const auto* v = e.as<VarNode>();
    return v != nullptr && nhwc_.count(v);
  }
  /// Static shape of a value that is kept in NHWC.
  std::optional<Array<int64_t>> MovedShape(const Expr& e) const {
    if (!HasMoved(e)) return std::nullopt;
    const auto* t = e->ty.as<TensorTypeNode>();
    auto shape = t == nullptr ? std::nullopt : t->GetStaticShape();
    return shape.has_value() ? std::optional(shape.value()) : std::nullopt;
  }

  /// [N, C, H, W] seen as [N, C, H * W], or back.
  Optional<Expr> View(const CallNode* call) {
    const auto* result = call->ty.as<TensorTypeNode>();
    auto in = MovedShape(call->args[0]);
    auto out = result == nullptr ? std::nullopt : result->GetStaticShape();
    if (!in || !out.has_value()) return std::nullopt;
    const Array<int64_t>& to = out.value();
    const bool image = to.size() == 4;
    if ((!image && to.size() != 3) || to[0] != (*in)[0] || to[1] != (*in)[1]) return std::nullopt;
    const Array<int64_t> dims{to[0], to[2], image ? to[3] : 1, to[1]};
    Expr moved = MovedImage(call->args[0]);
    auto now = moved->ty.as<TensorTypeNode>()->GetStaticShape();
    bool same = now.has_value() && now.value().size() == 4;
    for (size_t d = 0; same && d < 4; ++d) same = now.value()[d] == dims[d];
    if (same) return moved;
    return MakeOp("reshape", {moved, ShapeExpr(Dims({dims[0], dims[1], dims[2], dims[3]}))});
  }

  /// The reverse: an image made by turning rows [N, H * W, C].
  Optional<Expr> ImageOfRows(const Expr& e) {
    auto bound = [&](const Expr& x) -> const CallNode* {
      auto var = x.as<Var>();
      if (!var.has_value()) return nullptr;
      auto value = builder_->LookupBinding(var.value());
      return value.has_value() ? value.value().as<CallNode>() : nullptr;
    };
    const CallNode* view = bound(e);
    if (view == nullptr || !view->op.same_as(TVM_RX_OP("reshape"))) return std::nullopt;
    const CallNode* turn = bound(view->args[0]);
    if (turn == nullptr || !turn->op.same_as(TVM_RX_OP("permute_dims"))) return std::nullopt;
    const OptInts& axes = AttrsOf<PermuteDimsAttrs>(turn)->axes;
    auto rows = turn->args[0]->ty.as<TensorTypeNode>()->GetStaticShape();
    auto out = e->ty.as<TensorTypeNode>()->GetStaticShape();
    if (!axes.has_value() || axes.value().size() != 3 || !rows.has_value() || !out.has_value()) {
      return std::nullopt;
    }
    const Ints& a = axes.value();
    bool swaps = a[0] == 0 && (a[1] == 2 || a[1] == -1) && (a[2] == 1 || a[2] == -2);
    const Array<int64_t>& o = out.value();
    if (!swaps || o.size() != 4 || rows.value()[0] != o[0] || rows.value()[2] != o[1]) {
      return std::nullopt;
    }
    return Emit(MakeOp("reshape", {turn->args[0], ShapeExpr(Dims({o[0], o[2], o[3], o[1]}))}));
  }

  /// The operand in NHWC, transposed here if it does not exist yet.
  Expr MovedImage(const Expr& e) {
    if (const auto* v = e.as<VarNode>()) {
      auto it = nhwc_.find(v);
      if (it != nhwc_.end()) return it->second;
      auto again = turned_.find(v);
      if (again != turned_.end()) return again->second;
      Expr original = VisitExpr(e);
      Optional<Expr> rows = ImageOfRows(original);
      Expr t = rows.has_value() ? rows.value() : Emit(TurnedImage(original));
      turned_[v] = t;
      return t;
    }
    return Emit(Permute(VisitExpr(e), kToNhwc));
  }
  /// An image in NHWC; made from what the image itself was turned from, if it was.
  Expr TurnedImage(const Expr& image) {
    auto var = image.as<Var>();
    auto value = var.has_value() ? builder_->LookupBinding(var.value()) : std::nullopt;
    const CallNode* turn = value.has_value() ? value.value().as<CallNode>() : nullptr;
    if (turn != nullptr && turn->op.same_as(TVM_RX_OP("nn.pad"))) {
      // Beside its convolution the border costs nothing.
      return Padded(turn, Emit(TurnedImage(turn->args[0])));
    }
    if (turn == nullptr || !turn->op.same_as(TVM_RX_OP("permute_dims"))) {
      return Permute(image, kToNhwc);
    }
    const OptInts& axes = AttrsOf<PermuteDimsAttrs>(turn)->axes;
    if (!axes.has_value() || axes.value().size() != 4) return Permute(image, kToNhwc);
    Ints composed;
    for (int64_t d : kToNhwc) {
      const int64_t axis = axes.value()[d];
      composed.push_back(axis < 0 ? axis + 4 : axis);
    }
    return MakeOp("permute_dims", {turn->args[0]}, {{"axes", composed}});
  }
  /// A broadcast operand of a result of `rank` dimensions: lower ranks count from the last one.
  Expr MovedOperand(const Expr& e, int rank) {
    const auto* t = e->ty.as<TensorTypeNode>();
    if (t == nullptr || t->ndim == 0) return VisitExpr(e);
    if (t->ndim == 4 || HasMoved(e)) return MovedImage(e);
    Ints axes;
    for (int d = 0; d < rank - t->ndim; ++d) axes.push_back(d);
    if (rank == 3) axes.push_back(3);
    return Emit(Permute(Emit(MakeOp("expand_dims", {VisitExpr(e)}, {{"axis", axes}})), kToNhwc));
  }

  /// The call on NHWC values, or nullopt to leave it.
  Optional<Expr> Convert(const CallNode* call) {
    const OpRow* row = RowOfCall(GetRef<Call>(call));
    if (row == nullptr) return std::nullopt;
    const Expr& op = call->op;
    if (op.same_as(TVM_RX_OP("nn.conv2d"))) return Conv(call);
    if (op.same_as(TVM_RX_OP("nn.conv2d_transpose"))) return ConvTranspose(call);
    bool any = false;
    for (const Expr& a : call->args) {
      any = any || HasMoved(a);
      if (const auto* t = a.as<TupleNode>()) {
        for (const Expr& f : t->fields) any = any || HasMoved(f);
      }
    }
    if (!any) return std::nullopt;
    if (op.same_as(TVM_RX_OP("nn.pad"))) return Pad(call);
    if (op.same_as(TVM_RX_OP("reshape")) || op.same_as(TVM_RX_OP("squeeze")) ||
        op.same_as(TVM_RX_OP("expand_dims"))) {
      return View(call);
    }
    // Scales of blocks have all dimensions of the data.
    if (const auto* q = call->attrs.as<QuantizeAttrs>(); q != nullptr && q->block_size > 0) {
      return std::nullopt;
    }
    switch (row->layout) {
      case LayoutRule::kElemWise:
        return ElementWise(call);
      case LayoutRule::kDataLayout:
        return Image(call);
      case LayoutRule::kAxis:
        return WithAxis(call);
      case LayoutRule::kReduce:
        return Reduce(call);
      case LayoutRule::kConcat:
        return Concat(call);
      case LayoutRule::kFixed:
        break;
    }
    return std::nullopt;
  }

  /// The attributes as a map, to change some.
  static Map<String, ffi::Any> AttrMap(const CallNode* call) {
    Map<String, ffi::Any> m;
    ffi::reflection::ForEachFieldInfo(
        TVMFFIGetTypeInfo(call->attrs->type_index()), [&](const TVMFFIFieldInfo* info) {
          ffi::reflection::FieldGetter getter(info);
          m.Set(String(info->name.data, info->name.size), getter(call->attrs.get()));
        });
    return m;
  }
  static Call WithAttrs(const CallNode* call, const Array<Expr>& args,
                        std::initializer_list<std::pair<const char*, ffi::Any>> changes) {
    Map<String, ffi::Any> m = AttrMap(call);
    for (const auto& [key, value] : changes) m.Set(key, value);
    return Call(call->op, args, MakeAttrs(call->attrs->GetTypeKey(), m));
  }

  /// The convolution with its weight as it was before it was rounded to bfloat16, where a rule
  /// wants to multiply in float32 what it reads in bfloat16 (Winograd, with far fewer products).
  Optional<Call> WithWideWeight(const CallNode* call) {
    auto var = call->args[1].as<Var>();
    auto bound = var.has_value() ? builder_->LookupBinding(var.value()) : std::nullopt;
    const CallNode* rounding = bound.has_value() ? bound.value().as<CallNode>() : nullptr;
    if (rounding == nullptr || !rounding->op.same_as(TVM_RX_OP("astype")) ||
        !rounding->args[0].as<ConstantNode>()) {
      return std::nullopt;
    }
    Call wide(call->ty, call->op, {call->args[0], rounding->args[0]}, call->attrs, call->ty_args,
              call->span);
    auto query = QueryOfConv2d(wide);
    auto plan = query ? kernels::Query(*query, target_) : std::nullopt;
    if (!plan || plan->weight_form.empty()) return std::nullopt;
    return wide;
  }

  Optional<Expr> Conv(const CallNode* call) {
    const auto* a = AttrsOf<Conv2DAttrs>(call);
    Optional<Call> wide = WithWideWeight(call);
    if (wide.has_value()) call = wide.value().get();
    if (a->data_layout != "NCHW" || a->out_layout != "NCHW" || a->kernel_layout != "OIHW") {
      return std::nullopt;
    }
    auto query = QueryOfConv2d(GetRef<Call>(call));
    if (!query) return std::nullopt;
    auto plan = kernels::Query(*query, target_);
    if (!plan || plan->data_layout != "NHWC") return std::nullopt;
    bool depthwise = query->tile_op == "depthwise_conv2d";
    constexpr int64_t kHwio[4] = {2, 3, 1, 0}, kHwoi[4] = {2, 3, 0, 1};
    Expr w = Emit(depthwise ? Permute(VisitExpr(call->args[1]), kHwoi)
                            : Permute(VisitExpr(call->args[1]), kHwio));
    return WithAttrs(call, {MovedImage(call->args[0]), w},
                     {{"data_layout", String("NHWC")},
                      {"out_layout", String("NHWC")},
                      {"kernel_layout", String(depthwise ? "HWOI" : "HWIO")}});
  }

  Optional<Expr> ConvTranspose(const CallNode* call) {
    const auto* a = AttrsOf<Conv2DTransposeAttrs>(call);
    if (a->data_layout != "NCHW" || a->out_layout != "NCHW" || a->kernel_layout != "IOHW" ||
        a->groups != 1 || !IsImage(call->args[0])) {
      return std::nullopt;
    }
    constexpr int64_t kHwio[4] = {2, 3, 0, 1};
    if (Optional<Expr> tiled = TiledTranspose(call)) return tiled;
    return WithAttrs(call,
                     {MovedImage(call->args[0]), Emit(Permute(VisitExpr(call->args[1]), kHwio))},
                     {{"data_layout", String("NHWC")},
                      {"out_layout", String("NHWC")},
                      {"kernel_layout", String("HWIO")}});
  }

  /// Stride equal to the kernel: every input pixel becomes a tile of its own, a matrix product.
  Optional<Expr> TiledTranspose(const CallNode* call) {
    const auto* a = AttrsOf<Conv2DTransposeAttrs>(call);
    auto x = call->args[0]->ty.as<TensorTypeNode>()->GetStaticShape();
    auto w = call->args[1]->ty.as<TensorTypeNode>()->GetStaticShape();
    if (!x.has_value() || !w.has_value()) return std::nullopt;
    int64_t ic = w.value()[0], oc = w.value()[1], kh = w.value()[2], kw = w.value()[3];
    bool tiles = a->strides[0] == kh && a->strides[1] == kw && a->dilation[0] == 1 &&
                 a->dilation[1] == 1 && a->output_padding[0] == 0 && a->output_padding[1] == 0;
    for (int64_t p : a->padding) tiles = tiles && p == 0;
    if (!tiles) return std::nullopt;
    int64_t n = x.value()[0], h = x.value()[2], wd = x.value()[3];
    constexpr int64_t kIhwo[4] = {0, 2, 3, 1};
    Expr weight = Emit(MakeOp("reshape", {Emit(Permute(VisitExpr(call->args[1]), kIhwo)),
                                          ShapeExpr(Dims({ic, kh * kw * oc}))}));
    Expr rows =
        Emit(MakeOp("reshape", {MovedImage(call->args[0]), ShapeExpr(Dims({n * h * wd, ic}))}));
    Expr y = Emit(MakeOp("matmul", {rows, weight}, {{"out_dtype", ffi::Any(a->out_dtype)}}));
    Expr split = Emit(MakeOp("reshape", {y, ShapeExpr(Dims({n, h, wd, kh, kw, oc}))}));
    Expr turned = Emit(MakeOp("permute_dims", {split}, {{"axes", Ints{0, 1, 3, 2, 4, 5}}}));
    return MakeOp("reshape", {turned, ShapeExpr(Dims({n, h * kh, wd * kw, oc}))});
  }

  Optional<Expr> ElementWise(const CallNode* call) {
    const auto* out = call->ty.as<TensorTypeNode>();
    if (out == nullptr || (out->ndim != 4 && out->ndim != 3)) return std::nullopt;
    for (const Expr& a : call->args) {
      const auto* t = a->ty.as<TensorTypeNode>();
      if (t != nullptr && !t->GetShape().has_value()) return std::nullopt;
    }
    Array<Expr> args;
    for (const Expr& a : call->args) args.push_back(MovedOperand(a, out->ndim));
    return CallWithArgs(call, args);
  }

  Optional<Expr> Image(const CallNode* call) {
    Map<String, ffi::Any> m = AttrMap(call);
    if (!m.count("layout") || m["layout"].cast<String>() != "NCHW") return std::nullopt;
    bool pool = m.count("out_layout") != 0;
    if (pool && m["out_layout"].cast<String>() != "NCHW") return std::nullopt;
    Array<Expr> args{MovedImage(call->args[0])};
    for (size_t i = 1; i < call->args.size(); ++i) args.push_back(VisitExpr(call->args[i]));
    if (pool) {
      return WithAttrs(call, args, {{"layout", String("NHWC")}, {"out_layout", String("NHWC")}});
    }
    return WithAttrs(call, args, {{"layout", String("NHWC")}});
  }

  Optional<Expr> WithAxis(const CallNode* call) {
    if (!IsImage(call->args[0])) return std::nullopt;
    Map<String, ffi::Any> m = AttrMap(call);
    auto axis = m["axis"].as<int64_t>();
    if (!axis.has_value()) return std::nullopt;
    Array<Expr> args{MovedImage(call->args[0])};
    for (size_t i = 1; i < call->args.size(); ++i) {
      const auto* t = call->args[i]->ty.as<TensorTypeNode>();
      if (t != nullptr && t->ndim > 1) return std::nullopt;
      args.push_back(VisitExpr(call->args[i]));
    }
    return WithAttrs(call, args, {{"axis", Moved(*axis)}});
  }

  Optional<Expr> Reduce(const CallNode* call) {
    const auto* in = call->args[0]->ty.as<TensorTypeNode>();
    if (!HasMoved(call->args[0]) || in == nullptr) return std::nullopt;
    const auto* a = AttrsOf<StatisticalAttrs>(call);
    if (a == nullptr || !a->axis.has_value()) return std::nullopt;
    Ints axes;
    bool h = false, w = false;
    for (int64_t d : a->axis.value()) {
      int64_t p = d < 0 ? d + in->ndim : d;
      h = h || p == 2;
      w = w || p == 3;
      axes.push_back(Moved(p));
    }
    if (in->ndim == 3 && !a->keepdims) {  // the column that was added goes as well
      axes.push_back(Moved(3));
      w = true;
    }
    // Without kept dimensions the order of what is left must be the same in both layouts.
    if (!a->keepdims && !(h && w)) return std::nullopt;
    return WithAttrs(call, {MovedImage(call->args[0])}, {{"axis", axes}});
  }

  Optional<Expr> Concat(const CallNode* call) {
    const auto* t = call->args[0].as<TupleNode>();
    const OptInt& axis = AttrsOf<ConcatAttrs>(call)->axis;
    if (t == nullptr || !axis.has_value()) return std::nullopt;
    for (const Expr& f : t->fields) {
      if (!IsImage(f)) return std::nullopt;
    }
    Array<Expr> fields;
    for (const Expr& f : t->fields) fields.push_back(MovedImage(f));
    return WithAttrs(call, {Tuple(fields)}, {{"axis", Moved(axis.value())}});
  }

  Optional<Expr> Pad(const CallNode* call) {
    if (!IsImage(call->args[0])) return std::nullopt;
    return Padded(call, MovedImage(call->args[0]));
  }
  /// What `call` does to an image, done to the same image in NHWC.
  static Expr Padded(const CallNode* call, const Expr& moved_image) {
    const Ints& width = AttrsOf<PadAttrs>(call)->pad_width;
    Ints moved;
    for (int64_t d : kToNhwc) {
      moved.push_back(width[2 * d]);
      moved.push_back(width[2 * d + 1]);
    }
    return WithAttrs(call, {moved_image}, {{"pad_width", moved}});
  }

  /// permute(value) of a moved value: composed with the move. The result has its own layout.
  Optional<Expr> Transpose(const CallNode* call) {
    if (!call->op.same_as(TVM_RX_OP("permute_dims"))) return std::nullopt;
    const auto* v = call->args[0].as<VarNode>();
    const OptInts& axes = AttrsOf<PermuteDimsAttrs>(call)->axes;
    if (auto shape = MovedShape(call->args[0]); shape && shape->size() == 3 && axes.has_value()) {
      const Ints& to = axes.value();
      auto axis = [&](int d) { return to[d] < 0 ? to[d] + 3 : to[d]; };
      if (axis(0) != 0 || axis(1) != 2 || axis(2) != 1) return std::nullopt;
      Array<PrimExpr> dims = Dims({(*shape)[0], (*shape)[2], (*shape)[1]});
      return Emit(MakeOp("reshape", {nhwc_.at(v), ShapeExpr(dims)}));
    }
    if (v == nullptr || !nhwc_.count(v) || !axes.has_value() || axes.value().size() != 4) {
      return std::nullopt;
    }
    Ints composed;
    bool identity = true;
    for (int d = 0; d < 4; ++d) {
      composed.push_back(Moved(axes.value()[d]));
      identity = identity && composed[d] == d;
    }
    Expr x = nhwc_.at(v);
    return identity ? x : Emit(MakeOp("permute_dims", {x}, {{"axes", composed}}));
  }

  Target target_;
  std::unordered_map<const VarNode*, Expr> nhwc_;
  std::unordered_map<const VarNode*, Expr> turned_;
};

}  // namespace

Pass PlanLayout(Target target) {
  return CreateFunctionPass(
      [target](Function f, IRModule m, PassContext) {
        return Downcast<Function>(LayoutPlanner(m, target).VisitExpr(f));
      },
      0, "PlanLayout", {});
}

}  // namespace transform
}  // namespace relax
}  // namespace tvm
