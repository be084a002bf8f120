// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Walks and rewrites of graphs of operations.
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ir/expr_functor.h>
#include <tvm/te/operation.h>

#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace tvm {
namespace te {

namespace {

/// Replaces reads of tensors by what a callback gives (null: keep).
class ReadRewriter final : public ExprMutator {
 public:
  using Rewrite = std::function<Expr(const Tensor&, const ffi::Array<PrimExpr>&)>;
  explicit ReadRewriter(Rewrite rewrite) : rewrite_(std::move(rewrite)) {}

 private:
  Expr VisitExpr_(const tirx::ProducerLoadNode* op) final {
    ffi::Array<PrimExpr> indices;
    bool same = true;
    for (const PrimExpr& index : op->indices) {
      indices.push_back(VisitPrimExpr(index));
      same = same && indices.back().same_as(index);
    }
    Expr replaced = rewrite_(Downcast<Tensor>(op->producer), indices);
    if (replaced.defined()) return replaced;
    if (same) return ffi::GetRef<Expr>(op);
    return tirx::ProducerLoad(op->producer, std::move(indices), op->span);
  }

  Rewrite rewrite_;
};

}  // namespace

ffi::Array<Operation> PostDFSOrder(const ffi::Array<Tensor>& outputs) {
  ffi::Array<Operation> order;
  std::unordered_set<const ffi::Object*> seen;
  struct Frame {
    Operation op;
    ffi::Array<Tensor> inputs;
    size_t next = 0;
  };
  std::vector<Frame> stack;
  auto enter = [&](const Operation& op) {
    if (seen.insert(op.get()).second) stack.push_back({op, op->InputTensors()});
  };
  for (const Tensor& output : outputs) {
    enter(output->op);
    while (!stack.empty()) {
      Frame& top = stack.back();
      if (top.next < top.inputs.size()) {
        Operation input = top.inputs[top.next++]->op;
        enter(input);
      } else {
        order.push_back(top.op);
        stack.pop_back();
      }
    }
  }
  return order;
}

Operation ReplaceInputs(const Operation& op, const ffi::Map<Tensor, Tensor>& replace) {
  std::unordered_map<Tensor, Tensor> table;
  for (const auto& [from, to] : replace) table.emplace(from, to);
  auto lookup = [&](const Tensor& tensor) -> const Tensor* {
    auto it = table.find(tensor);
    return it == table.end() ? nullptr : &it->second;
  };
  if (const auto* compute = op.as<ComputeOpNode>()) {
    ReadRewriter rewriter([&](const Tensor& tensor, const ffi::Array<PrimExpr>& indices) -> Expr {
      const Tensor* to = lookup(tensor);
      return to == nullptr ? Expr() : Expr((*to)(indices));
    });
    // Outputs of one reduction must keep sharing their parts, so they are rebuilt from the first.
    ffi::Array<PrimExpr> body;
    if (compute->body[0].as<tirx::ReduceNode>() != nullptr) {
      PrimExpr first = rewriter.VisitPrimExpr(compute->body[0]);
      if (first.same_as(compute->body[0])) return op;
      const auto* reduce = first.as<tirx::ReduceNode>();
      for (size_t i = 0; i < compute->body.size(); ++i) {
        body.push_back(tirx::Reduce(reduce->combiner, reduce->source, reduce->axis,
                                    reduce->condition, static_cast<int>(i), reduce->init));
      }
    } else {
      bool same = true;
      for (const PrimExpr& expr : compute->body) {
        body.push_back(rewriter.VisitPrimExpr(expr));
        same = same && body.back().same_as(expr);
      }
      if (same) return op;
    }
    return ComputeOp(compute->name, compute->tag, compute->attrs, compute->axis, body);
  }
  if (const auto* ext = op.as<ExternOpNode>()) {
    ffi::Array<Tensor> inputs;
    bool same = true;
    for (const Tensor& input : ext->inputs) {
      const Tensor* to = lookup(input);
      same = same && to == nullptr;
      inputs.push_back(to == nullptr ? input : *to);
    }
    if (same) return op;
    return ExternOp(ext->name, ext->tag, ext->attrs, inputs, ext->input_placeholders,
                    ext->output_placeholders, ext->body);
  }
  if (op.as<PlaceholderOpNode>() != nullptr) return op;
  TVM_FFI_THROW(TypeError) << "ReplaceInputs does not support operation " << op->name << " of type "
                           << op->GetTypeKey();
  TVM_FFI_UNREACHABLE();
}

PrimExpr InlineInto(const PrimExpr& expr, const Operation& op) {
  const auto* compute = op.as<ComputeOpNode>();
  TVM_FFI_CHECK(compute != nullptr && compute->reduce_axis.empty(), ValueError)
      << "only a compute without reduction can be inlined, not " << op->name;
  ReadRewriter rewriter([&](const Tensor& tensor, const ffi::Array<PrimExpr>& indices) -> Expr {
    if (!tensor->op.same_as(op)) return Expr();
    ffi::Map<Var, PrimExpr> values;
    for (size_t i = 0; i < indices.size(); ++i) {
      const Var& axis = compute->axis[i]->var;
      values.Set(axis, cast(axis->dtype(), indices[i]));
    }
    return Substitute(compute->body[tensor->value_index], values);
  });
  return rewriter.VisitPrimExpr(expr);
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = ffi::reflection;
  refl::GlobalDef()
      .def("te.PostDFSOrder", [](ffi::Array<Tensor> outputs) { return PostDFSOrder(outputs); })
      .def("te.ReplaceInputs", [](Operation op, ffi::Map<Tensor, Tensor> replace) {
        return ReplaceInputs(op, replace);
      });
}

}  // namespace te
}  // namespace tvm
