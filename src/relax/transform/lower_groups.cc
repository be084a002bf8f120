// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief LowerGroups: groups of operators become kernels, views become reshapes.
///
///   lv = R.matmul(x, W); lv1 = R.add(lv, b); lv2 = R.nn.relu(lv1)
///     =>  lv2 = R.call_tir(fused_matmul_add_relu, (x, W packed, b), ...)
///
/// Equal groups share one kernel: it is looked up by what the group computes before any tensor
/// expression is made. Constant weights are packed as the kernel rule asks. What scales or turns a
/// weight before is evaluated here, so that only one weight at a time exists in both forms.
#include <tvm/ffi/extra/structural_equal.h>
#include <tvm/ffi/extra/structural_hash.h>
#include <tvm/kernels/rule.h>
#include <tvm/relax/analysis.h>
#include <tvm/relax/expr_functor.h>
#include <tvm/relax/transform.h>

#include <map>
#include <string>
#include <tuple>

#include "relax/ir/utils.h"
#include "relax/op/call_like.h"
#include "relax/op/common.h"
#include "relax/op/lower.h"
#include "relax/transform/attention_pattern.h"
#include "relax/transform/const_eval.h"
#include "relax/transform/group_partition.h"
#include "relax/transform/kernel_builder.h"
#include "relax/transform/late_constants.h"
#include "relax/transform/utils.h"
#include "relax/transform/weight_packing.h"

namespace tvm {
namespace relax {
namespace transform {

namespace {

/// What a kernel computes, as text and attribute structures; equal keys, equal kernels.
struct GroupKey {
  std::string text;
  std::vector<Attrs> attrs;
  bool symbolic = false;
};

struct CachedKernel {
  std::vector<Attrs> attrs;
  GlobalVar gv{ffi::UnsafeInit()};
  Kernel kernel;
};

class GroupLowering : public ExprMutator {
 public:
  GroupLowering(const IRModule& mod, Target target)
      : ExprMutator(mod), mod_(mod), target_(std::move(target)), packing_(target_, &late_) {}

  IRModule Run() {
    for (const auto& [gv, base] : mod_->SortedFunctions()) {
      auto func = base.as<Function>();
      if (!func.has_value()) continue;
      CollectUses(func.value());
      Expr updated = VisitExpr(func.value());
      if (!updated.same_as(func.value())) {
        builder_->UpdateFunction(gv, Downcast<BaseFunc>(updated));
      }
    }
    return builder_->GetModule();
  }

  BindingBlock VisitBindingBlock(const BindingBlock& given) override {
    const BindingBlock block = WithoutLateConstants(given);
    Partition p = PartitionBlock(block, OutsideUses(block), target_);
    if (block.as<DataflowBlockNode>()) {
      builder_->BeginDataflowBlock();
    } else {
      builder_->BeginBindingBlock();
    }
    for (size_t i = 0; i < p.nodes.size(); ++i) {
      const OpNodeInfo& node = p.nodes[i];
      int g = p.group_of[i];
      if (node.view) {
        EmitView(node);
      } else if (g < 0) {
        VisitBinding(node.binding);
      } else if (p.groups[g].members.back() == static_cast<int>(i)) {
        EmitGroup(p, p.groups[g]);
      }
    }
    return builder_->EndBlock();
  }

  using ExprMutator::VisitExpr_;
  Expr VisitExpr_(const VarNode* op) override {
    Var var = GetRef<Var>(op);
    return late_.Has(var) ? late_.Keep(var) : ExprMutator::VisitExpr_(op);
  }
  Expr VisitExpr_(const DataflowVarNode* op) override {
    Var var = GetRef<Var>(op);
    return late_.Has(var) ? late_.Keep(var) : ExprMutator::VisitExpr_(op);
  }
  Expr VisitExpr_(const CallNode* op) override {
    Call call = Downcast<Call>(VisitExprPostOrder(op));
    return CallPackedFallback(call).value_or(call);
  }

 private:
  /// How often each variable is read anywhere in the function.
  void CollectUses(const Function& func) {
    struct Visitor : public ExprVisitor {
      std::unordered_map<const VarNode*, int>* uses;
      void VisitExpr_(const VarNode* op) override { ++(*uses)[op]; }
    };
    uses_.clear();
    Visitor v;
    v.uses = &uses_;
    v.VisitExpr(func);
  }

  /// Variables of a block that something outside of it reads.
  std::unordered_set<const VarNode*> OutsideUses(const BindingBlock& block) {
    struct Visitor : public ExprVisitor {
      std::unordered_map<const VarNode*, int> uses;
      void VisitExpr_(const VarNode* op) override { ++uses[op]; }
    };
    Visitor inside;
    for (const Binding& b : block->bindings) inside.VisitBinding(b);
    std::unordered_set<const VarNode*> result;
    for (const Binding& b : block->bindings) {
      const VarNode* v = b->var.get();
      auto it = uses_.find(v);
      if (it != uses_.end() && it->second > inside.uses[v]) result.insert(v);
    }
    return result;
  }

  /// The block without bindings that make a large constant, which are remembered.
  BindingBlock WithoutLateConstants(const BindingBlock& block) {
    Array<Binding> rest;
    for (const Binding& b : block->bindings) {
      const auto* bound = b.as<VarBindingNode>();
      auto call = bound == nullptr ? std::nullopt : bound->value.as<Call>();
      if (call.has_value() && late_.Accepts(call.value())) {
        late_.Add(bound->var, call.value());
      } else {
        rest.push_back(b);
      }
    }
    if (rest.size() == block->bindings.size()) return block;
    if (block.as<DataflowBlockNode>()) return DataflowBlock(rest, block->span);
    return BindingBlock(rest, block->span);
  }

  void EmitView(const OpNodeInfo& node) {
    Expr x = VisitExpr(node.call->args[0]);
    const auto* ty = node.binding->var->ty.as<TensorTypeNode>();
    Expr value = Call(node.binding->var->ty, TVM_RX_OP("reshape"), {x, ty->shape.value()});
    ReEmit(node.binding.as<VarBindingNode>(), value);
  }

  void EmitGroup(const Partition& p, const OpGroup& group) {
    std::vector<std::pair<Var, Call>> ops;
    for (int m : group.members) {
      const OpNodeInfo& n = p.nodes[m];
      Array<Expr> args = n.call->args.Map([this](const Expr& a) { return VisitArg(a); });
      Call call(n.call->ty, n.call->op, args, n.call->attrs, n.call->ty_args, n.call->span);
      ops.emplace_back(n.binding->var, call);
    }
    int anchor = -1;
    for (size_t i = 0; i < group.members.size(); ++i) {
      if (group.members[i] == group.anchor) anchor = static_cast<int>(i);
    }
    const double border = MergeBorder(&ops, &anchor);
    PackedWeight packed;
    if (group.attention) {
      packed.anchor_attrs = AttentionAnnotations();
    } else if (anchor >= 0) {
      packed = packing_.Plan(ops[anchor].second);
    }
    if (border != 0) packed.anchor_attrs.Set(kBorder, border);
    for (auto& [var, call] : ops) call = WithConstants(call, packed);

    Expr value = CallGroup(ops, anchor, packed);
    const Binding& last = p.nodes[group.members.back()].binding;
    const auto* tuple = last->var->ty.as<TupleTypeNode>();
    if (tuple != nullptr && tuple->fields.size() == 1) {
      value = Tuple({builder_->Emit(value)});
    }
    ReEmit(last.as<VarBindingNode>(), value);
  }

  /// pad(x) in front of the anchor, a convolution, becomes its own padding. Returns what it holds.
  static double MergeBorder(std::vector<std::pair<Var, Call>>* ops, int* anchor) {
    if (*anchor < 0 || !(*ops)[*anchor].second->op.same_as(TVM_RX_OP("nn.conv2d"))) return 0;
    Call& conv = (*ops)[*anchor].second;
    for (int i = 0; i < *anchor; ++i) {
      const auto& [var, pad] = (*ops)[i];
      if (!conv->args[0].same_as(var) || !pad->op.same_as(TVM_RX_OP("nn.pad"))) continue;
      const auto* attrs = AttrsOf<PadAttrs>(pad.get());
      auto merged = ffi::make_object<Conv2DAttrs>(*AttrsOf<Conv2DAttrs>(conv.get()));
      const int h = 2 * LayoutAxis(merged->data_layout, 'H');
      const int w = 2 * LayoutAxis(merged->data_layout, 'W');
      const Ints& width = attrs->pad_width;
      merged->padding = Ints{width[h], width[w], width[h + 1], width[w + 1]};
      const double value = attrs->pad_value;
      conv = Call(conv->ty, conv->op, {pad->args[0], conv->args[1]}, Attrs(merged), conv->ty_args,
                  conv->span);
      ops->erase(ops->begin() + i);
      --*anchor;
      return value;
    }
    return 0;
  }

  /// Operands keep variables of the group itself, which are not in the remap table, and those of
  /// constants that packing may want to make.
  Expr VisitArg(const Expr& a) { return late_.Has(a) ? a : VisitExpr(a); }

  /// The call with constants in place of what no packed form stands for.
  Call WithConstants(const Call& call, const PackedWeight& packed) {
    bool any = false;
    Array<Expr> args = call->args.Map([&](const Expr& a) {
      bool is_packed = false;
      for (const auto& operand : packed.operands) is_packed = is_packed || operand.first.same_as(a);
      if (is_packed || !late_.Has(a)) return a;
      any = true;
      return late_.Keep(a);
    });
    if (!any) return call;
    return CallWithSameTypes(call.get(), std::move(args));
  }

  Expr CallGroup(const std::vector<std::pair<Var, Call>>& ops, int anchor,
                 const PackedWeight& packed) {
    GroupKey key = MakeKey(ops, anchor, packed);
    Array<Expr> args;
    if (!key.symbolic) {
      for (const CachedKernel& c : cache_[key.text]) {
        if (!SameAttrs(c.attrs, key.attrs)) continue;
        return CallCached(c, ops, anchor, packed);
      }
    }
    Kernel kernel = Build(ops, anchor, packed);
    if (key.symbolic) return CallKernel(builder_, kernel);
    GlobalVar gv = builder_->AddFunction(kernel.func, kernel.name);
    cache_[key.text].push_back({key.attrs, gv, kernel});
    return Call2(gv, kernel, kernel.args);
  }

  Expr Call2(const GlobalVar& gv, const Kernel& kernel, const Array<Expr>& operands) {
    Array<Expr> args = operands.Map([&](const Expr& a) { return builder_->NormalizeArgument(a); });
    return MakeCallTIR(gv, args, kernel.out_ty, kernel.symbols);
  }

  Kernel Build(const std::vector<std::pair<Var, Call>>& ops, int anchor,
               const PackedWeight& packed) {
    KernelBuilder builder(target_);
    for (const auto& [original, value] : packed.operands) {
      const auto* ty = value->ty.as<TensorTypeNode>();
      te::Tensor t = te::placeholder(ty->GetShape().value(), ty->ElementType(), "packed");
      builder.BindInput(original, value, t);
    }
    for (size_t i = 0; i < ops.size(); ++i) {
      Map<String, ffi::Any> attrs;
      if (static_cast<int>(i) == anchor) {
        attrs = packed.anchor_attrs;
      } else if (ops[i].second->op.same_as(TVM_RX_OP("matmul"))) {
        attrs.Set(kernels::kTileOp, String());  // a group has one anchor
      }
      builder.Add(ops[i].first, ops[i].second, attrs);
    }
    return builder.Finish({ops.back().first});
  }

  /// Operands of a cached kernel: the first reads of external values, in the same order as the
  /// kernel builder meets them.
  Expr CallCached(const CachedKernel& c, const std::vector<std::pair<Var, Call>>& ops, int anchor,
                  const PackedWeight& packed) {
    Array<Expr> args;
    ForEachInput(ops, packed, [&](const Expr& e, int) { args.push_back(e); });
    TVM_FFI_ICHECK(args.size() == c.kernel.args.size())
        << "a cached kernel has " << c.kernel.args.size() << " operands, the group " << args.size();
    return Call2(c.gv, c.kernel, args);
  }

  /// External tensor operands in the order of first use. `f(expr, ordinal)`.
  static void ForEachInput(const std::vector<std::pair<Var, Call>>& ops, const PackedWeight& packed,
                           const std::function<void(const Expr&, int)>& f) {
    std::unordered_map<const ffi::Object*, int> seen;
    int next = 0;
    for (const auto& [original, value] : packed.operands) {
      seen[original.get()] = next;
      f(value, next++);
    }
    std::unordered_set<const ffi::Object*> internal;
    std::function<void(const Expr&)> visit = [&](const Expr& a) {
      if (const auto* t = a.as<TupleNode>()) {
        for (const Expr& field : t->fields) visit(field);
        return;
      }
      if (internal.count(a.get()) || seen.count(a.get())) return;
      if (IsInlineScalar(a)) return;
      if (a->ty.as<TensorTypeNode>()) {
        if (!a.as<VarNode>() && !a.as<ConstantNode>()) return;
        seen[a.get()] = next;
        f(a, next++);
      } else if (const auto* tuple = a->ty.as<TupleTypeNode>()) {
        seen[a.get()] = next;
        for (size_t i = 0; i < tuple->fields.size(); ++i) {
          f(TupleGetItem(a, static_cast<int>(i)), next++);
        }
      }
    };
    for (const auto& [var, call] : ops) {
      for (const Expr& a : call->args) visit(a);
      internal.insert(var.get());
    }
  }

  static bool IsInlineScalar(const Expr& e) {
    const auto* c = e.as<ConstantNode>();
    return c != nullptr && c->data.numel() == 1;
  }

  static bool SameAttrs(const std::vector<Attrs>& a, const std::vector<Attrs>& b) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i) {
      if (a[i].same_as(b[i])) continue;
      if (!ffi::StructuralEqual::Equal(a[i], b[i])) return false;
    }
    return true;
  }

  static GroupKey MakeKey(const std::vector<std::pair<Var, Call>>& ops, int anchor,
                          const PackedWeight& packed) {
    GroupKey key;
    std::string& s = key.text;
    std::unordered_map<const ffi::Object*, std::string> names;
    ForEachInput(ops, packed, [&](const Expr& e, int i) {
      std::string name = "p" + std::to_string(i);
      if (const auto* item = e.as<TupleGetItemNode>()) {
        if (item->index == 0) names[item->tuple.get()] = "t" + std::to_string(i);
      } else {
        names[e.get()] = name;
      }
      s += name + ":" + TypeText(e->ty, &key.symbolic) + ";";
    });
    int number = 0;
    for (const auto& [original, value] : packed.operands) {
      names[original.get()] = "p" + std::to_string(number++);
      s += "packed" + std::to_string(anchor) + packed.key + ";";
      s += TypeText(original->ty, &key.symbolic);
    }
    if (auto border = packed.anchor_attrs.find(kBorder); border != packed.anchor_attrs.end()) {
      s += "border" + std::to_string((*border).second.cast<double>()) + ";";
    }
    std::function<void(const Expr&)> operand = [&](const Expr& a) {
      auto it = names.find(a.get());
      if (it != names.end()) {
        s += it->second;
      } else if (const auto* t = a.as<TupleNode>()) {
        s += "(";
        for (const Expr& f : t->fields) {
          operand(f);
          s += ",";
        }
        s += ")";
      } else if (const auto* c = a.as<ConstantNode>()) {
        s += "c" + ScalarText(c) + TypeText(a->ty, &key.symbolic);
      } else if (const auto* sh = a.as<ShapeExprNode>()) {
        s += "[";
        for (const PrimExpr& d : sh->values) DimText(d, &s, &key.symbolic);
        s += "]";
      } else if (const auto* imm = a.as<IntImmNode>()) {
        s += "i" + std::to_string(imm->value) + imm->dtype().ToString();
      } else if (const auto* imm = a.as<FloatImmNode>()) {
        char text[64];
        std::snprintf(text, sizeof(text), "f%a", imm->value);
        s += text + imm->dtype().ToString();
      } else {
        key.symbolic = true;  // not described by the key: no sharing
      }
    };
    int index = 0;
    for (const auto& [var, call] : ops) {
      const auto* op = call->op.as<OpNode>();
      s += std::string(op->name.data(), op->name.size()) + "(";
      for (const Expr& a : call->args) {
        operand(a);
        s += ",";
      }
      s += ")" + TypeText(call->ty, &key.symbolic) + ";";
      key.attrs.push_back(call->attrs);
      names[var.get()] = "v" + std::to_string(index++);
    }
    return key;
  }

  static std::string ScalarText(const ConstantNode* c) {
    std::string text;
    const auto* bytes = reinterpret_cast<const unsigned char*>(TensorBytes(c->data));
    for (int64_t i = 0; i < TensorByteSize(c->data); ++i) {
      text += "0123456789abcdef"[bytes[i] >> 4];
      text += "0123456789abcdef"[bytes[i] & 15];
    }
    return text;
  }
  static void DimText(const PrimExpr& d, std::string* s, bool* symbolic) {
    if (auto v = AsInt(d)) {
      *s += std::to_string(*v) + ",";
    } else {
      *symbolic = true;
    }
  }
  static std::string TypeText(const Type& ty, bool* symbolic) {
    std::string s;
    if (const auto* t = ty.as<TensorTypeNode>()) {
      s = t->ElementType().ToString() + "[";
      auto dims = t->GetShape();
      if (!dims.has_value()) {
        *symbolic = true;
        return s;
      }
      for (const PrimExpr& d : dims.value()) DimText(d, &s, symbolic);
      return s + "]";
    }
    if (const auto* t = ty.as<TupleTypeNode>()) {
      for (const Type& f : t->fields) s += TypeText(f, symbolic);
      return "<" + s + ">";
    }
    *symbolic = true;
    return s;
  }

  IRModule mod_;
  Target target_;
  LateConstants late_;
  WeightPacking packing_;
  std::unordered_map<const VarNode*, int> uses_;
  std::unordered_map<std::string, std::vector<CachedKernel>> cache_;
};

}  // namespace

Pass LowerGroups(Target target) {
  return tvm::transform::CreateModulePass(
      [target](IRModule mod, const PassContext&) { return GroupLowering(mod, target).Run(); }, 0,
      "LowerGroups");
}

}  // namespace transform
}  // namespace relax
}  // namespace tvm
