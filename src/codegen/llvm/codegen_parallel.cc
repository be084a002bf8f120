// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
// Parallel loops: the body becomes a task function, its free variables a struct on the stack.
#include <tvm/ffi/error.h>
#include <tvm/ir/scalar_op.h>
#include <tvm/tirx/builtin.h>

#include <algorithm>
#include <unordered_set>

#include "codegen/llvm/codegen_llvm.h"

namespace tvm {
namespace codegen {
namespace {

/// Variables (buffers included) that a statement mentions, in order of first mention.
class UsedVars final : private tirx::StmtExprVisitor {
 public:
  static std::vector<const VarNode*> Of(const tirx::Stmt& stmt) {
    UsedVars collector;
    collector(stmt);
    return std::move(collector.order_);
  }

 private:
  void VisitExpr_(const VarNode* op) final { Use(op); }
  void VisitExpr_(const tirx::BufferLoadNode* op) final {
    Use(op->buffer.get());
    StmtExprVisitor::VisitExpr_(op);
  }
  void VisitStmt_(const tirx::BufferStoreNode* op) final {
    Use(op->buffer.get());
    StmtExprVisitor::VisitStmt_(op);
  }
  void Use(const VarNode* var) {
    if (seen_.insert(var).second) order_.push_back(var);
  }

  std::unordered_set<const VarNode*> seen_;
  std::vector<const VarNode*> order_;
};

/// Whether a `break` leaves the loop that has this body; those of loops inside do not.
class FindsBreak final : private tirx::StmtExprVisitor {
 public:
  static bool In(const tirx::Stmt& body) {
    FindsBreak finder;
    finder(body);
    return finder.found_;
  }

 private:
  void VisitStmt_(const tirx::ForNode*) final {}
  void VisitStmt_(const tirx::WhileNode*) final {}
  void VisitStmt_(const tirx::BreakNode*) final { found_ = true; }
  void VisitExpr_(const CallNode* op) final {
    found_ = found_ || op->op.same_as(tirx::builtin::break_loop());
    StmtExprVisitor::VisitExpr_(op);
  }

  bool found_ = false;
};

}  // namespace

void CodeGenLLVM::EmitParallelLoop(const tirx::ForNode* op) {
  TVM_FFI_CHECK(!FindsBreak::In(op->body), ValueError)
      << "break in parallel loop `" << op->loop_var->name
      << "`: its iterations run at the same time; use a serial loop";
  TVM_FFI_CHECK(op->HasTrivialStep(), ValueError)
      << "parallel loop `" << op->loop_var->name << "` must have step 1";
  if (parallel_.task_id != nullptr) {
    // Inside a launch point the loop takes this task's share; elsewhere nesting is an error.
    TVM_FFI_CHECK(!parallel_.in_parallel_loop, ValueError)
        << "parallel loop `" << op->loop_var->name
        << "` lies inside another one; fuse them, then make the result parallel";
    parallel_.in_parallel_loop = true;
    EmitTaskSlice(op);
    parallel_.in_parallel_loop = false;
    return;
  }
  const int64_t* extent = as_const_int(op->extent);
  if (extent != nullptr && *extent <= 1) {
    if (*extent <= 0) return;
    llvm::Value* first = EmitIndex(op->min);
    EmitLoop64(op->loop_var, first, builder_->CreateNSWAdd(first, Int64(1)), Int64(1), true,
               op->body, nullptr);
    return;
  }
  tirx::Stmt whole = ffi::GetRef<tirx::Stmt>(op);
  // A few iterations, or pieces of many, are tasks that threads take as they get free. What is less
  // than that is shared out evenly among the threads there are.
  constexpr int64_t kFewest = 4, kMost = 64;
  const bool dynamic = extent != nullptr && *extent >= kFewest && !parallel_.stride_pattern;
  const int64_t tasks = dynamic ? std::min(*extent, kMost) : 0;
  EmitParallelRegion(whole, Int32(static_cast<int>(tasks)), [&] {
    parallel_.in_parallel_loop = true;
    EmitTaskSlice(op);
  });
}

/// Iterations [begin, end) of this task: contiguous blocks, or strided by the number of tasks.
void CodeGenLLVM::EmitTaskSlice(const tirx::ForNode* op) {
  llvm::Value* min = EmitIndex(op->min);
  llvm::Value* extent = EmitIndex(op->extent);
  llvm::Value* id = builder_->CreateSExt(parallel_.task_id, builder_->getInt64Ty());
  llvm::Value* count = builder_->CreateSExt(parallel_.num_task, builder_->getInt64Ty());
  llvm::Value* last = builder_->CreateNSWAdd(min, extent);
  if (parallel_.stride_pattern) {
    EmitLoop64(op->loop_var, builder_->CreateNSWAdd(min, id), last, count, false, op->body,
               nullptr);
    return;
  }
  // Sizes differ by one at most.
  auto bound = [&](llvm::Value* task) {
    return builder_->CreateSDiv(builder_->CreateNSWMul(task, extent), count);
  };
  llvm::Value* begin = bound(id);
  llvm::Value* end = bound(builder_->CreateNSWAdd(id, Int64(1)));
  EmitLoop64(op->loop_var, builder_->CreateNSWAdd(min, begin), builder_->CreateNSWAdd(min, end),
             Int64(1), false, op->body, nullptr);
}

void CodeGenLLVM::EmitParallelRegion(const tirx::Stmt& body, llvm::Value* num_task,
                                     const std::function<void()>& emit) {
  TVM_FFI_CHECK(parallel_.task_id == nullptr, ValueError)
      << "a parallel region lies inside another one";
  // What the region needs from outside: values by variable, 64-bit loop counters included.
  struct Capture {
    const VarNode* var;
    llvm::Value* value;
  };
  std::vector<Capture> captures;
  for (const VarNode* var : UsedVars::Of(body)) {
    auto wide = wide_values_.find(var);
    auto plain = values_.find(var);
    if (wide != wide_values_.end()) {
      captures.push_back({var, wide->second});
    } else if (plain != values_.end()) {
      captures.push_back({var, plain->second});
    }
  }
  std::vector<llvm::Type*> fields;
  for (const Capture& capture : captures) fields.push_back(capture.value->getType());
  llvm::StructType* closure_type = llvm::StructType::get(*context_, fields);
  llvm::AllocaInst* closure = EntryAlloca(closure_type, 1, 8, "closure");
  for (size_t i = 0; i < captures.size(); ++i) {
    builder_->CreateStore(captures[i].value, builder_->CreateStructGEP(closure_type, closure, i));
  }
  llvm::FunctionType* task_type = llvm::FunctionType::get(
      builder_->getInt32Ty(), {builder_->getInt32Ty(), pointer_, pointer_}, false);
  llvm::Function* task =
      llvm::Function::Create(task_type, llvm::GlobalValue::InternalLinkage,
                             function_->getName().str() + "_task", module_.get());
  SetFunctionAttributes(task);
  CheckStatus(
      builder_->CreateCall(GlueFunction("__tvm_parallel_launch"), {task, closure, num_task}));

  // The task: same variables, loaded from the closure. Everything of the caller is kept aside.
  llvm::BasicBlock* resume = builder_->GetInsertBlock();
  llvm::Function* outer = function_;
  auto values = values_;
  auto wide_values = wide_values_;
  auto storage = storage_;
  auto depths = depths_;
  auto loops = std::move(loops_);
  const ParallelEnv parallel = parallel_;

  BeginFunction(task);
  for (size_t i = 0; i < captures.size(); ++i) {
    const VarNode* var = captures[i].var;
    llvm::Value* value =
        builder_->CreateLoad(fields[i], builder_->CreateStructGEP(closure_type, task->getArg(2), i),
                             std::string(var->name));
    if (wide_values.count(var)) {
      BindLoopVar(ffi::GetRef<Var>(var), value);
    } else {
      values_[var] = value;
    }
    auto known = storage.find(var);
    if (known != storage.end()) {
      Storage moved = known->second;
      moved.base = value;
      BindStorage(var, moved);
    }
  }
  llvm::StructType* env_type = llvm::StructType::get(*context_, {pointer_, builder_->getInt32Ty()});
  parallel_ = ParallelEnv();
  parallel_.stride_pattern = parallel.stride_pattern;
  parallel_.task_id = task->getArg(0);
  parallel_.env = task->getArg(1);
  parallel_.num_task = builder_->CreateLoad(
      builder_->getInt32Ty(), builder_->CreateStructGEP(env_type, parallel_.env, 1), "num_task");
  emit();
  if (BlockIsOpen()) builder_->CreateRet(Int32(0));

  function_ = outer;
  values_ = std::move(values);
  wide_values_ = std::move(wide_values);
  storage_ = std::move(storage);
  depths_ = std::move(depths);
  loops_ = std::move(loops);
  parallel_ = parallel;
  builder_->SetInsertPoint(resume);
}

}  // namespace codegen
}  // namespace tvm
