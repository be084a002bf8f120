// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief ConvertToDataflow: runs of pure bindings become dataflow blocks.
///
///   a = f(x); b = g(a); print(b)  =>  with dataflow: a = f(x); b = g(a); output(b)
///                                     print(b)
#include <tvm/ffi/reflection/registry.h>
#include <tvm/relax/analysis.h>
#include <tvm/relax/expr_functor.h>

#include <unordered_map>
#include <unordered_set>

#include "relax/transform/utils.h"

namespace tvm {
namespace relax {
namespace transform {

namespace {

class UseCounter : public ExprVisitor {
 public:
  std::unordered_map<const VarNode*, int> uses;
  using ExprVisitor::VisitExpr_;
  void VisitExpr_(const VarNode* op) override { ++uses[op]; }
};

class Converter : public TypeKeepingMutator {
 public:
  Converter(const Function& func, int64_t min_size) : min_size_(min_size) {
    UseCounter counter;
    counter.VisitExpr(func);
    total_ = std::move(counter.uses);
  }

  using ExprMutatorBase::VisitExpr_;
  Expr VisitExpr_(const VarNode* op) override {
    auto it = renamed_.find(op);
    return it == renamed_.end() ? GetRef<Expr>(op) : it->second;
  }
  Expr VisitExpr_(const SeqExprNode* op) override {
    Array<BindingBlock> blocks;
    bool same = true;
    for (const BindingBlock& block : op->blocks) {
      if (block.as<DataflowBlockNode>()) {
        blocks.push_back(VisitBindingBlock(block));
        same = same && blocks[blocks.size() - 1].same_as(block);
        continue;
      }
      const size_t before = blocks.size();
      Split(block, &blocks);
      same = same && blocks.size() == before + 1 && blocks[before].same_as(block);
    }
    Expr body = VisitExpr(op->body);
    if (same && body.same_as(op->body)) return GetRef<Expr>(op);
    return SeqExpr(blocks, body, op->span);
  }

 private:
  static bool Movable(const Binding& b) {
    const auto* vb = b.as<VarBindingNode>();
    if (vb == nullptr) return true;  // a match_cast
    if (vb->value.as<IfNode>() || vb->value.as<FunctionNode>()) return false;
    return !ContainsImpureCall(vb->value);
  }

  void Split(const BindingBlock& block, Array<BindingBlock>* blocks) {
    Array<Binding> rest, run;
    auto close_rest = [&] {
      if (!rest.empty()) blocks->push_back(BindingBlock(rest));
      rest = Array<Binding>();
    };
    auto close_run = [&] {
      if (static_cast<int64_t>(run.size()) < min_size_) {
        for (const Binding& b : run) rest.push_back(Rebuild(b, b->var));
      } else {
        close_rest();
        blocks->push_back(Wrap(run));
      }
      run = Array<Binding>();
    };
    bool any = false;
    int64_t length = 0;
    for (const Binding& b : block->bindings) {
      length = Movable(b) ? length + 1 : 0;
      any = any || length >= min_size_;
    }
    if (!any) {
      blocks->push_back(VisitBindingBlock(block));
      return;
    }
    for (const Binding& b : block->bindings) {
      if (Movable(b)) {
        run.push_back(b);
        continue;
      }
      close_run();
      rest.push_back(Rebuild(b, b->var));
    }
    close_run();
    close_rest();
  }

  DataflowBlock Wrap(const Array<Binding>& run) {
    UseCounter inside;
    for (const Binding& b : run) inside.VisitBinding(b);
    Array<Binding> bindings;
    for (const Binding& b : run) {
      const VarNode* v = b->var.get();
      Var var = b->var;
      // Read by nothing outside: visible in the block only.
      if (total_[v] == inside.uses[v] && total_[v] > 0) {
        var = DataflowVar(v->name, v->ty, v->span);
        renamed_.emplace(v, var);
      }
      bindings.push_back(Rebuild(b, var));
    }
    return DataflowBlock(bindings);
  }

  Binding Rebuild(const Binding& b, const Var& var) {
    if (const auto* mc = b.as<MatchCastNode>()) {
      return MatchCast(var, VisitExpr(mc->value), mc->ty, mc->span);
    }
    const auto* vb = b.as<VarBindingNode>();
    Expr value = VisitExpr(vb->value);
    if (value.same_as(vb->value) && var.same_as(b->var)) return b;
    return VarBinding(var, value, vb->span);
  }

  int64_t min_size_;
  std::unordered_map<const VarNode*, int> total_;
  std::unordered_map<const VarNode*, Var> renamed_;
};

}  // namespace

Pass ConvertToDataflow(int64_t min_size) {
  TVM_FFI_CHECK(min_size >= 1, ValueError)
      << "ConvertToDataflow: min_size must be at least 1, got " << min_size;
  return CreateFunctionPass(
      [min_size](Function func, IRModule mod, PassContext) {
        Function converted = Downcast<Function>(Converter(func, min_size).VisitExpr(func));
        if (converted.same_as(func)) return func;
        return Downcast<Function>(BlockBuilder::Create(mod)->Normalize(converted));
      },
      0, "ConvertToDataflow");
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::GlobalDef().def("relax.transform.ConvertToDataflow", ConvertToDataflow);
}

}  // namespace transform
}  // namespace relax
}  // namespace tvm
