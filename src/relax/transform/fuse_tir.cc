// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief FuseTIR: a primitive function of kernel calls becomes one kernel.
///
///   def fused(x): lv = call_tir(add, (x, c)); gv = call_tir(exp, (lv,)); return gv
///     =>  PrimFunc fused(x, gv): block root: lv = alloc_buffer; (add's blocks); (exp's blocks)
///
/// Values inside of the function become buffers of the root block. Tuples are flattened.
#include <tvm/ffi/extra/visit_error_context.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/relax/analysis.h>
#include <tvm/relax/expr_functor.h>
#include <tvm/tirx/function.h>
#include <tvm/tirx/op.h>
#include <tvm/tirx/sblock.h>
#include <tvm/tirx/stmt_functor.h>

#include <unordered_map>
#include <unordered_set>

#include "relax/ir/utils.h"
#include "relax/op/call_like.h"
#include "relax/transform/utils.h"

namespace tvm {
namespace relax {
namespace transform {

namespace {

using tirx::Buffer;
using tirx::PrimFunc;
using tirx::Stmt;

/// Tensors and scalars of a type, tuples spliced.
void Flatten(const Type& ty, std::vector<Type>* out) {
  if (const auto* tuple = ty.as<TupleTypeNode>()) {
    for (const Type& f : tuple->fields) Flatten(f, out);
  } else {
    out->push_back(ty);
  }
}
std::vector<Type> Flatten(const Type& ty) {
  std::vector<Type> out;
  Flatten(ty, &out);
  return out;
}

Buffer BufferFor(const Type& ty, const String& name) {
  const auto* tensor = ty.as<TensorTypeNode>();
  auto shape = tensor != nullptr ? tensor->GetShape() : std::nullopt;
  TVM_FFI_CHECK(shape.has_value() && !tensor->IsUnknownDtype(), ValueError)
      << "FuseTIR needs a tensor of known shape and dtype for `" << name << "`, but it is " << ty;
  return tirx::decl_buffer(shape.value(), tensor->ElementType(), name);
}

class KernelMerger {
 public:
  KernelMerger(const IRModule& mod, const GlobalVar& name, const Function& func)
      : mod_(mod), name_(name->name_hint), func_(func) {}

  PrimFunc Run() {
    for (const Var& p : func_->params) AddParam(p);
    std::vector<Buffer> results = MakeResults();
    for (const BindingBlock& block : func_->body->blocks) {
      for (const Binding& b : block->bindings) {
        TVM_FFI_VISIT_BEGIN();
        const auto* vb = b.as<VarBindingNode>();
        if (vb == nullptr) Unsupported("a match_cast");
        values_[vb->var.get()] = Evaluate(vb->var, vb->value);
        TVM_FFI_VISIT_END(b);
      }
    }
    Array<Var> params;
    for (const Buffer& b : inputs_) params.push_back(b);
    for (const Buffer& b : results) params.push_back(b);
    for (const Var& v : scalars_) params.push_back(v);
    tirx::SBlock root({}, {}, {}, "root", tirx::SeqStmt::Flatten(body_), std::nullopt, allocated_);
    Stmt body = tirx::SBlockRealize({}, Bool(true), root);
    PrimFunc merged(params, body);
    merged = tvm::WithAttr(merged, tirx::attr::kNoAlias, ffi::Any(true));
    merged = tvm::WithAttr(merged, tirx::attr::kSTir, ffi::Any(true));
    return tirx::RenewDefs(merged);
  }

 private:
  [[noreturn]] void Unsupported(const std::string& what) const {
    TVM_FFI_THROW(ValueError) << "FuseTIR: the primitive function `" << name_ << "` holds " << what
                              << ", which cannot become part of a kernel";
  }

  void AddParam(const Var& p) {
    if (const auto* shape = p->ty.as<ShapeTypeNode>()) {
      TVM_FFI_CHECK(shape->values.has_value(), ValueError)
          << "FuseTIR: the shape parameter `" << p->name << "` of `" << name_
          << "` names no dimensions";
      for (const PrimExpr& v : shape->values.value()) {
        auto var = v.as<Var>();
        if (!var.has_value()) Unsupported("a shape parameter with a compound dimension");
        scalars_.push_back(var.value());
      }
      return;
    }
    if (p->ty.as<PrimTypeNode>()) {
      scalars_.push_back(p);
      return;
    }
    std::vector<Buffer> buffers;
    int index = 0;
    for (const Type& ty : Flatten(p->ty)) {
      String name = p->ty.as<TupleTypeNode>() ? p->name + ("_" + std::to_string(index++)) : p->name;
      buffers.push_back(BufferFor(ty, name));
      inputs_.push_back(buffers.back());
    }
    values_[p.get()] = buffers;
  }

  /// Variables whose value the function returns write into its output buffers.
  std::vector<Buffer> MakeResults() {
    std::vector<const VarNode*> order;
    CollectOutputs(func_->body->body, &order);
    std::vector<Buffer> results;
    for (const VarNode* v : order) {
      if (values_.count(v)) Unsupported("a result that is a parameter");
      auto [it, fresh] = outputs_.emplace(v, std::vector<Buffer>());
      if (!fresh) Unsupported("one value as two results");
      int index = 0;
      const bool tuple = v->ty.as<TupleTypeNode>() != nullptr;
      for (const Type& ty : Flatten(v->ty)) {
        String name = tuple ? v->name + ("_" + std::to_string(index++)) : v->name;
        it->second.push_back(BufferFor(ty, name));
        results.push_back(it->second.back());
      }
    }
    return results;
  }

  /// The calls behind the result, through aliases and tuples.
  void CollectOutputs(const Expr& e, std::vector<const VarNode*>* order) {
    if (const auto* tuple = e.as<TupleNode>()) {
      for (const Expr& f : tuple->fields) CollectOutputs(f, order);
      return;
    }
    const auto* var = e.as<VarNode>();
    if (var == nullptr) Unsupported("a result that is no variable");
    Expr value = BoundTo(var);
    if (value.defined() && (value.as<VarNode>() || value.as<TupleNode>())) {
      CollectOutputs(value, order);
    } else if (value.defined() && value.as<TupleGetItemNode>()) {
      Unsupported("a field of a tuple as a result");
    } else {
      order->push_back(var);
    }
  }
  Expr BoundTo(const VarNode* var) const {
    for (const BindingBlock& block : func_->body->blocks) {
      for (const Binding& b : block->bindings) {
        const auto* vb = b.as<VarBindingNode>();
        if (vb != nullptr && vb->var.get() == var) return vb->value;
      }
    }
    return Expr();
  }

  std::vector<Buffer> Operand(const Expr& e) {
    if (const auto* tuple = e.as<TupleNode>()) {
      std::vector<Buffer> all;
      for (const Expr& f : tuple->fields) {
        for (const Buffer& b : Operand(f)) all.push_back(b);
      }
      return all;
    }
    const auto* var = e.as<VarNode>();
    auto it = var == nullptr ? values_.end() : values_.find(var);
    if (it == values_.end()) Unsupported("an operand of kind " + std::string(e->GetTypeKey()));
    return it->second;
  }

  std::vector<Buffer> Evaluate(const Var& var, const Expr& value) {
    if (value.as<VarNode>() || value.as<TupleNode>()) return Operand(value);
    if (const auto* item = value.as<TupleGetItemNode>()) {
      std::vector<Buffer> all = Operand(item->tuple);
      const auto* tuple = item->tuple->ty.as<TupleTypeNode>();
      TVM_FFI_ICHECK(tuple != nullptr) << "a field of a value that is no tuple";
      size_t begin = 0;
      for (int i = 0; i < item->index; ++i) begin += Flatten(tuple->fields[i]).size();
      const size_t count = Flatten(tuple->fields[item->index]).size();
      return {all.begin() + begin, all.begin() + begin + count};
    }
    const auto* call = value.as<CallNode>();
    if (call == nullptr || !call->op.same_as(TVM_RX_OP("call_tir"))) {
      Unsupported("an expression other than call_tir: " + std::string(value->GetTypeKey()));
    }
    return Inline(var, call);
  }

  std::vector<Buffer> Inline(const Var& var, const CallNode* call) {
    auto gv = call->args[0].as<GlobalVar>();
    auto found = gv.has_value() ? mod_->Lookup(gv.value()).as<PrimFunc>() : std::nullopt;
    if (!found.has_value()) Unsupported("a call_tir of something other than a PrimFunc");
    PrimFunc callee = tirx::RenewDefs(found.value());
    std::vector<Buffer> buffers = Operand(call->args[1]);
    std::vector<Buffer> outs;
    auto output = outputs_.find(var.get());
    if (output != outputs_.end()) {
      outs = output->second;
    } else {
      int index = 0;
      std::vector<Type> types = Flatten(call->ty);
      for (const Type& ty : types) {
        String name = types.size() > 1 ? var->name + ("_" + std::to_string(index++)) : var->name;
        outs.push_back(BufferFor(ty, name));
        allocated_.push_back(outs.back());
      }
    }
    buffers.insert(buffers.end(), outs.begin(), outs.end());
    Array<PrimExpr> scalars;
    if (call->args.size() > 2) {
      const auto* shape = call->args[2].as<ShapeExprNode>();
      if (shape == nullptr) Unsupported("a call_tir whose scalar arguments are not literal");
      scalars = shape->values;
    }
    TVM_FFI_CHECK(callee->params.size() == buffers.size() + scalars.size(), ValueError)
        << "FuseTIR: `" << gv.value()->name_hint << "` has " << callee->params.size()
        << " parameters, but " << name_ << " passes " << buffers.size() + scalars.size();
    Map<Var, ffi::Any> given;
    for (size_t i = 0; i < buffers.size(); ++i) given.Set(callee->params[i], buffers[i]);
    for (size_t i = 0; i < scalars.size(); ++i) {
      const Var& param = callee->params[buffers.size() + i];
      PrimExpr scalar = tvm::cast(param->dtype(), scalars[i]);
      if (!scalar.same_as(param)) given.Set(param, scalar);
    }
    Append(tirx::Specialize(callee, given)->body);
    return outs;
  }

  /// A root block gives its buffers and its body; anything else is taken whole.
  void Append(const Stmt& body) {
    const auto* realize = body.as<tirx::SBlockRealizeNode>();
    const bool root = realize != nullptr && realize->iter_values.empty() &&
                      realize->block->iter_vars.empty() && !realize->block->init.has_value() &&
                      realize->block->match_buffers.empty();
    if (!root) {
      body_.push_back(body);
      return;
    }
    for (const Buffer& b : realize->block->alloc_buffers) allocated_.push_back(b);
    body_.push_back(realize->block->body);
  }

  const IRModule& mod_;
  String name_;
  const Function& func_;
  std::vector<Buffer> inputs_;
  std::vector<Var> scalars_;
  Array<Buffer> allocated_;
  Array<Stmt> body_;
  std::unordered_map<const VarNode*, std::vector<Buffer>> values_;
  std::unordered_map<const VarNode*, std::vector<Buffer>> outputs_;
};

class CallReplacer : public ExprMutator {
 public:
  using Merged = std::unordered_map<const GlobalVarNode*, GlobalVar>;
  CallReplacer(const IRModule& mod, const Merged& merged) : ExprMutator(mod), merged_(merged) {}

  using ExprMutator::VisitExpr_;
  Expr VisitExpr_(const CallNode* op) override {
    Call call = Downcast<Call>(VisitExprPostOrder(op));
    const auto* gv = call->op.as<GlobalVarNode>();
    auto kernel_var = gv == nullptr ? merged_.end() : merged_.find(gv);
    if (kernel_var == merged_.end()) return call;
    Array<Expr> tensors;
    Array<PrimExpr> scalars;
    for (const Expr& a : call->args) Spread(a, &tensors, &scalars);
    std::vector<Type> types = Flatten(call->ty);
    Type flat =
        types.size() == 1 ? types[0] : Type(TupleType(Array<Type>(types.begin(), types.end())));
    Optional<Expr> extra;
    if (!scalars.empty()) extra = ShapeExpr(scalars);
    Call kernel = MakeCallTIR(kernel_var->second, tensors, flat, extra);
    const auto* tuple = call->ty.as<TupleTypeNode>();
    if (tuple == nullptr || (types.size() > 1 && tuple->fields.size() == types.size())) {
      return kernel;
    }
    Var all = builder_->Emit(kernel);
    size_t next = 0;
    return Rebuild(call->ty, all, types.size(), &next);
  }

 private:
  void Spread(const Expr& e, Array<Expr>* tensors, Array<PrimExpr>* scalars) {
    if (const auto* shape = e.as<ShapeExprNode>()) {
      for (const PrimExpr& v : shape->values) scalars->push_back(v);
    } else if (e->ty.as<PrimTypeNode>()) {
      scalars->push_back(Downcast<PrimExpr>(e));
    } else if (const auto* ty = e->ty.as<TupleTypeNode>()) {
      const auto* literal = e.as<TupleNode>();
      for (size_t i = 0; i < ty->fields.size(); ++i) {
        Spread(literal != nullptr ? literal->fields[i]
                                  : Expr(builder_->Emit(TupleGetItem(e, static_cast<int>(i)))),
               tensors, scalars);
      }
    } else {
      tensors->push_back(e);
    }
  }
  /// The flat results in the shape of the type.
  Expr Rebuild(const Type& ty, const Var& all, size_t count, size_t* next) {
    if (const auto* tuple = ty.as<TupleTypeNode>()) {
      Array<Expr> fields;
      for (const Type& f : tuple->fields) fields.push_back(Rebuild(f, all, count, next));
      return builder_->Normalize(Tuple(fields));
    }
    if (count == 1) return all;
    return builder_->Emit(TupleGetItem(all, static_cast<int>((*next)++)));
  }

  const Merged& merged_;
};

IRModule Run(IRModule mod, const PassContext&) {
  CallReplacer::Merged merged;
  std::vector<std::pair<GlobalVar, PrimFunc>> kernels;
  std::vector<GlobalVar> replaced;
  for (const auto& [gv, base] : mod->SortedFunctions()) {
    auto func = base.as<Function>();
    if (!func.has_value() || !func.value()->HasNonzeroAttr(attr::kPrimitive)) continue;
    if (func.value()->GetAttr<String>(attr::kCodegen).has_value() ||
        func.value()->GetAttr<String>(attr::kComposite).has_value()) {
      continue;  // another compiler's
    }
    PrimFunc kernel;
    TVM_FFI_VISIT_BEGIN();
    kernel = KernelMerger(mod, gv, func.value()).Run();
    TVM_FFI_VISIT_END(gv);
    GlobalVar var(gv->name_hint, kernel->ty);
    merged.emplace(gv.get(), var);
    kernels.emplace_back(var, kernel);
    replaced.push_back(gv);
  }
  if (merged.empty()) return mod;
  CallReplacer replacer(mod, merged);
  std::vector<std::pair<GlobalVar, BaseFunc>> updates;
  for (const auto& [gv, base] : mod->SortedFunctions()) {
    auto func = base.as<Function>();
    if (!func.has_value() || merged.count(gv.get())) continue;
    updates.emplace_back(gv, Downcast<BaseFunc>(replacer.VisitExpr(func.value())));
  }
  auto* node = mod.CopyOnWrite();
  for (const GlobalVar& gv : replaced) node->Remove(gv);
  for (const auto& [gv, f] : kernels) node->Add(gv, f);
  for (const auto& [gv, f] : updates) node->Update(gv, f);
  return mod;
}

}  // namespace

Pass FuseTIR() {
  // Kernels that only took part in merged ones are gone afterwards.
  return tvm::transform::Sequential(
      {tvm::transform::CreateModulePass(Run, 0, "FuseTIRInner"), DeadCodeElimination({})},
      "FuseTIR");
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::GlobalDef().def("relax.transform.FuseTIR", FuseTIR);
}

}  // namespace transform
}  // namespace relax
}  // namespace tvm
