// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "te/lower_compute.h"

#include <tvm/arith/analyzer.h>
#include <tvm/ir/expr_functor.h>
#include <tvm/tirx/analysis.h>
#include <tvm/tirx/sblock.h>
#include <tvm/tirx/stmt_functor.h>

#include <string>
#include <vector>

namespace tvm {
namespace te {

using tirx::Bind;
using tirx::Buffer;
using tirx::BufferLoad;
using tirx::BufferRegion;
using tirx::BufferStore;
using tirx::For;
using tirx::ForKind;
using tirx::ReduceNode;
using tirx::SBlock;
using tirx::SBlockRealize;
using tirx::SeqStmt;
using tirx::Stmt;

namespace {

/// Turns reads of tensors into loads and axis variables into block variables.
class BodyRewriter final : public ExprMutator {
 public:
  BodyRewriter(const LowerEnv& env, const ffi::String& op_name) : env_(env), op_name_(op_name) {}

  void Map(const Var& from, PrimExpr to) { vars_.emplace(from.get(), std::move(to)); }

 private:
  Expr VisitExpr_(const VarNode* op) final {
    auto it = vars_.find(op);
    return it == vars_.end() ? ffi::GetRef<Expr>(op) : Expr(it->second);
  }

  Expr VisitExpr_(const tirx::ProducerLoadNode* op) final {
    Tensor tensor = Downcast<Tensor>(op->producer);
    auto it = env_.buffers.find(tensor);
    TVM_FFI_CHECK(it != env_.buffers.end(), ValueError)
        << "compute " << op_name_ << " reads tensor " << tensor->GetNameHint()
        << ", which is computed nowhere";
    ffi::Array<PrimExpr> indices;
    for (const PrimExpr& index : op->indices) indices.push_back(VisitPrimExpr(index));
    return BufferLoad(it->second, std::move(indices), std::nullopt, op->span);
  }

  const LowerEnv& env_;
  const ffi::String& op_name_;
  std::unordered_map<const VarNode*, PrimExpr> vars_;
};

/// The axes of a compute as loops outside and iteration variables inside of its block.
struct Axes {
  std::vector<Var> loop_vars;
  std::vector<Range> loop_ranges;
  ffi::Array<IterVar> iter_vars;
  ffi::Array<PrimExpr> iter_values;
};

class ComputeLowering {
 public:
  ComputeLowering(const ComputeOpNode* op, const ffi::Array<Buffer>& outputs, const LowerEnv& env)
      : op_(op), outputs_(outputs), in_block_(env, op->name), in_loops_(env, op->name) {
    for (const IterVar& iter : op->axis) AddAxis(iter);
    for (const IterVar& iter : op->reduce_axis) AddAxis(iter);
    for (size_t i = 0; i < op->axis.size(); ++i) {
      store_indices_.push_back(axes_.iter_vars[i]->var);
    }
  }

  Stmt Lower(const ffi::String& block_name, const ffi::Map<ffi::String, ffi::Any>& annotations) {
    ffi::Optional<Stmt> init;
    Stmt body;
    if (op_->body[0].as<ReduceNode>() != nullptr) {
      if (ReducesNothing()) {
        // The reduction loops would not run even once: the neutral element is the result.
        DropReduceAxes();
        body = ReduceInit();
      } else {
        init = ReduceInit();
        body = ReduceUpdate();
      }
    } else {
      ffi::Array<Stmt> stores;
      for (size_t i = 0; i < outputs_.size(); ++i) {
        stores.push_back(BufferStore(outputs_[i], Value(op_->body[i]), store_indices_));
      }
      body = SeqStmt::Flatten(stores);
    }
    SBlock block(axes_.iter_vars, {}, {}, block_name, body, init, {}, {}, annotations);
    block = tirx::WithDetectedRegions(std::move(block));
    Stmt nest = SBlockRealize(axes_.iter_values, Bool(true), std::move(block));
    for (size_t i = axes_.loop_vars.size(); i-- > 0;) {
      nest = For(axes_.loop_vars[i], axes_.loop_ranges[i]->min, axes_.loop_ranges[i]->extent,
                 ForKind::kSerial, std::move(nest));
    }
    return nest;
  }

 private:
  void AddAxis(const IterVar& iter) {
    const std::string& name = iter->var->name;
    DataType dtype = iter->var->dtype();
    // A domain may use the axes before it: once as loop variables, once as block variables.
    auto in = [&](BodyRewriter& rewriter) {
      PrimExpr min = rewriter.VisitPrimExpr(iter->dom->min);
      PrimExpr extent = rewriter.VisitPrimExpr(iter->dom->extent);
      return Range::FromMinExtent(cast(dtype, min), cast(dtype, extent));
    };
    Range outside = in(in_loops_);
    Range inside = in(in_block_);
    Var loop_var(name, dtype);
    Var block_var("v_" + name, dtype);
    axes_.loop_vars.push_back(loop_var);
    axes_.loop_ranges.push_back(outside);
    axes_.iter_vars.push_back(IterVar(inside, block_var, iter->iter_type));
    axes_.iter_values.push_back(loop_var);
    in_loops_.Map(iter->var, loop_var);
    in_block_.Map(iter->var, block_var);
    analyzer_->Bind(block_var, inside);
  }

  bool ReducesNothing() const {
    for (const IterVar& iter : op_->reduce_axis) {
      if (is_zero(iter->dom->extent)) return true;
    }
    return false;
  }

  void DropReduceAxes() {
    size_t n = op_->axis.size();
    axes_.loop_vars.erase(axes_.loop_vars.begin() + n, axes_.loop_vars.end());
    axes_.loop_ranges.erase(axes_.loop_ranges.begin() + n, axes_.loop_ranges.end());
    axes_.iter_vars.resize(n);
    axes_.iter_values.resize(n);
  }

  PrimExpr Value(const PrimExpr& expr) {
    return analyzer_->Simplify(in_block_.VisitPrimExpr(expr));
  }

  Stmt ReduceInit() {
    const auto* reduce = op_->body[0].as<ReduceNode>();
    ffi::Array<Stmt> stores;
    for (size_t i = 0; i < outputs_.size(); ++i) {
      int k = op_->body[i].as<ReduceNode>()->value_index;
      PrimExpr value =
          reduce->init.empty() ? reduce->combiner->identity_element[k] : Value(reduce->init[k]);
      stores.push_back(BufferStore(outputs_[i], value, store_indices_));
    }
    return SeqStmt::Flatten(stores);
  }

  /// Combines the accumulators with the sources. With several outputs every new value is computed
  /// before the first is stored, because each may depend on all old ones.
  Stmt ReduceUpdate() {
    const auto* reduce = op_->body[0].as<ReduceNode>();
    size_t n = reduce->source.size();
    TVM_FFI_CHECK(outputs_.size() == n, ValueError)
        << "compute " << op_->name << " reduces " << n << " values, but has " << outputs_.size()
        << " outputs";
    ffi::Array<PrimExpr> lhs, rhs;
    for (size_t k = 0; k < n; ++k) {
      lhs.push_back(BufferLoad(outputs_[OutputOf(k)], store_indices_));
      rhs.push_back(Value(reduce->source[k]));
    }
    ffi::Array<PrimExpr> values = (*reduce->combiner.get())(lhs, rhs);
    ffi::Array<Stmt> stmts;
    if (n > 1) {
      ffi::Array<PrimExpr> names;
      for (size_t k = 0; k < n; ++k) {
        Var v("v_" + std::string(outputs_[OutputOf(k)]->name), values[k].dtype());
        stmts.push_back(Bind(v, values[k]));
        names.push_back(v);
      }
      values = names;
    }
    for (size_t k = 0; k < n; ++k) {
      stmts.push_back(BufferStore(outputs_[OutputOf(k)], values[k], store_indices_));
    }
    Stmt update = SeqStmt::Flatten(stmts);
    PrimExpr condition = Value(reduce->condition);
    if (is_one(condition)) return update;
    return tirx::IfThenElse(condition, update);
  }

  /// Which output holds value k of the reduction.
  size_t OutputOf(size_t k) const {
    for (size_t i = 0; i < op_->body.size(); ++i) {
      if (op_->body[i].as<ReduceNode>()->value_index == static_cast<int>(k)) return i;
    }
    TVM_FFI_THROW(ValueError) << "compute " << op_->name << ": value " << k
                              << " of the reduction is no output";
    TVM_FFI_UNREACHABLE();
  }

  const ComputeOpNode* op_;
  const ffi::Array<Buffer>& outputs_;
  BodyRewriter in_block_;
  BodyRewriter in_loops_;
  Axes axes_;
  ffi::Array<PrimExpr> store_indices_;
  arith::Analyzer analyzer_;
};

}  // namespace

Stmt LowerCompute(const ComputeOpNode* op, const ffi::String& block_name,
                  const ffi::Array<Buffer>& outputs,
                  const ffi::Map<ffi::String, ffi::Any>& annotations, const LowerEnv& env) {
  return ComputeLowering(op, outputs, env).Lower(block_name, annotations);
}

Stmt LowerExtern(const ExternOpNode* op, const ffi::String& block_name,
                 const ffi::Array<Buffer>& outputs,
                 const ffi::Map<ffi::String, ffi::Any>& annotations, const LowerEnv& env) {
  ffi::Map<Var, Expr> replace;
  ffi::Array<BufferRegion> reads, writes;
  for (size_t i = 0; i < op->inputs.size(); ++i) {
    auto it = env.buffers.find(op->inputs[i]);
    TVM_FFI_CHECK(it != env.buffers.end(), ValueError)
        << "extern " << op->name << " reads tensor " << op->inputs[i]->GetNameHint()
        << ", which is computed nowhere";
    replace.Set(op->input_placeholders[i], it->second);
    reads.push_back(BufferRegion::FullRegion(it->second));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    replace.Set(op->output_placeholders[i], outputs[i]);
    writes.push_back(BufferRegion::FullRegion(outputs[i]));
  }
  Stmt body = tirx::Substitute(op->body, replace);
  SBlock block({}, reads, writes, block_name, body, std::nullopt, {}, {}, annotations);
  return SBlockRealize({}, Bool(true), block);
}

}  // namespace te
}  // namespace tvm
