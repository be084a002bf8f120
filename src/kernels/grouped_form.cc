// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "kernels/grouped_form.h"

#include <tvm/tirx/builtin.h>
#include <tvm/tirx/op.h>
#include <tvm/tirx/stmt_functor.h>

#include "kernels/names.h"

namespace tvm {
namespace kernels {
namespace {

class FormReader {
 public:
  FormReader(const Group& group, std::string* why)
      : anchor_(group.stages[group.anchor]), why_(why) {
    value_ = InlineProducers(group, anchor_.value, group.anchor);
    for (const auto* iters : {&anchor_.spatial, &anchor_.reduce}) {
      for (const Iter& iter : *iters) access_.Bind(iter.var, iter.extent);
    }
  }

  std::optional<GroupedForm> Read() {
    const std::vector<Iter>&s = anchor_.spatial, &r = anchor_.reduce;
    if (s.size() != 5 || r.size() < 2 || r.size() > 3) return Decline("no convolution in groups");
    if (anchor_.kind != ReduceKind::kSum) return Decline("not a sum");
    GroupedForm form;
    form.value = value_;
    form.batch = s[0].extent;
    form.groups = s[3].extent;
    form.out = s[4].extent;
    form.in = r.size() == 3 ? r[2].extent : 1;
    if (!ReadOperands(&form)) return std::nullopt;
    const auto shape = form.x->buffer.shape();
    const auto at = form.x->indices;
    auto h = ReadDirection(at[1], *as_const_int(shape[1]), s[1], r[0]);
    auto w = ReadDirection(at[2], *as_const_int(shape[2]), s[2], r[1]);
    if (!h || !w || !ReadsChannels(form)) return Decline("not the channels of a group");
    form.h = *h;
    form.w = *w;
    for (const auto* iters : {&s, &r}) {
      for (const Iter& iter : *iters) {
        if (!access_.Coefficient(access_.Offset(form.weight->buffer, form.weight->indices),
                                 iter.var)) {
          return Decline("the weight is not read evenly");
        }
      }
    }
    return form;
  }

 private:
  std::nullopt_t Decline(const char* reason) {
    *why_ = reason;
    return std::nullopt;
  }

  static PrimExpr WithoutCast(const PrimExpr& expr) {
    const auto* cast = expr.as<tirx::CastNode>();
    return cast == nullptr ? expr : cast->value;
  }

  bool ReadOperands(GroupedForm* form) {
    const auto* mul = value_.as<tirx::MulNode>();
    if (mul == nullptr) return Decline("the summand is not a product"), false;
    PrimExpr x = WithoutCast(mul->a), w = WithoutCast(mul->b);
    form->border = make_zero(x.dtype());
    if (const auto* call = x.as<CallNode>()) {
      if (!call->op.same_as(tirx::builtin::if_then_else())) {
        return Decline("the picture is computed"), false;
      }
      x = PrimExpr(call->args[1]);
      form->border = PrimExpr(call->args[2]);
    }
    form->x = x.as<BufferLoadNode>();
    form->weight = w.as<BufferLoadNode>();
    const bool plain = form->x != nullptr && form->weight != nullptr &&
                       (form->border.as<FloatImmNode>() || form->border.as<IntImmNode>());
    if (!plain || form->x->indices.size() != 4) return Decline("operands are computed"), false;
    return true;
  }

  std::optional<Direction> ReadDirection(const PrimExpr& index, int64_t in, const Iter& out,
                                         const Iter& tap) {
    auto step = [&](const Iter& iter) -> std::optional<int64_t> {
      return iter.extent == 1 ? 1 : access_.Coefficient(index, iter.var);
    };
    auto stride = step(out), dilation = step(tap);
    const PrimExpr first =
        access_.Simplify(Substitute(index, Map<Var, PrimExpr>{{out.var, I0()}, {tap.var, I0()}}));
    const int64_t* start = as_const_int(first);
    if (!stride || !dilation || start == nullptr || *stride < 1 || *dilation < 1) {
      return std::nullopt;
    }
    return Direction{in, out.extent, tap.extent, *stride, *dilation, -*start};
  }

  /// Whether X is read in picture n, channel g * in + i, of as many channels.
  bool ReadsChannels(const GroupedForm& form) {
    const auto& s = anchor_.spatial;
    PrimExpr channel = s[3].var * Index(form.in);
    if (anchor_.reduce.size() == 3) channel = channel + anchor_.reduce[2].var;
    const auto at = form.x->indices;
    return is_zero(access_.Simplify(at[0] - s[0].var)) &&
           is_zero(access_.Simplify(at[3] - channel)) &&
           is_const_int(form.x->buffer.shape()[3], form.groups * form.in);
  }

  static PrimExpr I0() { return Index(0); }

  const Stage& anchor_;
  std::string* why_;
  PrimExpr value_;
  FlatAccess access_;
};

}  // namespace

std::optional<GroupedForm> ReadGroupedForm(const Group& group, std::string* why) {
  return FormReader(group, why).Read();
}

}  // namespace kernels
}  // namespace tvm
