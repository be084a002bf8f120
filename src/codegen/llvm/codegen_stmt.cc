// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
// Statements, except memory accesses and parallel loops.
#include <llvm/IR/MDBuilder.h>
#include <tvm/ffi/error.h>
#include <tvm/ir/scalar_op.h>

#include "codegen/llvm/codegen_llvm.h"

namespace tvm {
namespace codegen {
namespace {

/// Largest alloca we make for one buffer; LowerTVMBuiltin turns big ones into workspaces.
constexpr int64_t kMaxAllocaBytes = int64_t{4} << 20;
/// Alignment that the stack gives for free.
constexpr int kMaxAllocaAlign = 64;

bool HasLoop(const tirx::Stmt& stmt) {
  return tirx::ContainsNode<tirx::ForNode>(stmt) || tirx::ContainsNode<tirx::WhileNode>(stmt);
}

bool HasVectors(const tirx::Stmt& stmt) {
  return tirx::ContainsNode<tirx::RampNode>(stmt) || tirx::ContainsNode<tirx::BroadcastNode>(stmt);
}

}  // namespace

void CodeGenLLVM::VisitStmt_(const tirx::BindNode* op) {
  llvm::Value* value = Emit(op->value);
  if (!llvm::isa<llvm::Constant>(value) && !value->hasName() && !value->getType()->isVoidTy()) {
    value->setName(std::string(op->var->name));
  }
  values_[op->var.get()] = value;
  depths_[op->var.get()] = static_cast<int>(loops_.size());
  if (!value->getType()->isPointerTy()) return;
  // A pointer name stands for the memory it came from.
  const auto* call = op->value.as<CallNode>();
  if (call != nullptr && call->op.same_as(tirx::builtin::TVMBackendAllocWorkspace())) {
    BindStorage(op->var.get(), {value, NewAlias(op->var->name), runtime::kAllocAlignment, false});
  } else if (const Storage* root = AliasRoot(op->value)) {
    Storage view = *root;
    if (view.base != value) view.align = 1;
    view.base = value;
    BindStorage(op->var.get(), view);
  }
}

/// Memory that a pointer expression is derived from, when this function has seen its origin. Views
/// of one allocation must share its alias class: they may overlap.
const CodeGenLLVM::Storage* CodeGenLLVM::AliasRoot(const Expr& pointer) {
  if (const auto* var = pointer.as<VarNode>()) {
    auto it = storage_.find(var);
    return it == storage_.end() ? nullptr : &it->second;
  }
  const auto* call = pointer.as<CallNode>();
  if (call == nullptr || call->args.empty()) return nullptr;
  using namespace tirx::builtin;  // NOLINT
  if (call->op.same_as(tvm_access_ptr())) return AliasRoot(call->args[1]);
  if (call->op.same_as(address_of())) {
    const auto* load = call->args[0].as<tirx::BufferLoadNode>();
    return load != nullptr ? AliasRoot(load->buffer) : AliasRoot(call->args[0]);
  }
  if (call->op.same_as(buffer_data()) || call->op.same_as(handle_add_byte_offset()) ||
      call->op.same_as(ptr_byte_offset()) || call->op.same_as(reinterpret())) {
    return AliasRoot(call->args[0]);
  }
  return nullptr;
}

void CodeGenLLVM::VisitStmt_(const tirx::AttrStmtNode* op) {
  const std::string key(op->attr_key);
  if (key == tirx::attr::storage_alignment) {
    if (auto var = op->node.as<Var>()) {
      if (const int64_t* align = as_const_int(op->value)) {
        alignment_[(*var).get()] = static_cast<int>(*align);
        auto it = storage_.find((*var).get());
        if (it != storage_.end()) it->second.align = static_cast<int>(*align);
      }
    }
  } else if (key == tirx::attr::volatile_scope) {
    if (auto var = op->node.as<Var>()) {
      StorageOf((*var).get()).is_volatile = true;
      EmitStmt(op->body);
      StorageOf((*var).get()).is_volatile = false;
      return;
    }
  } else if (key == "pragma_parallel_stride_pattern") {
    const bool saved = parallel_.stride_pattern;
    parallel_.stride_pattern = true;
    EmitStmt(op->body);
    parallel_.stride_pattern = saved;
    return;
  } else if (key == "pragma_parallel_launch_point") {
    EmitParallelRegion(op->body, Int32(0), [&] { EmitStmt(op->body); });
    return;
  } else if (key == "pragma_parallel_barrier_when_finish") {
    TVM_FFI_CHECK(parallel_.env != nullptr, ValueError)
        << "pragma_parallel_barrier_when_finish needs an enclosing pragma_parallel_launch_point";
    EmitStmt(op->body);
    CheckStatus(builder_->CreateCall(GlueFunction("__tvm_parallel_barrier"),
                                     {parallel_.task_id, parallel_.env}));
    return;
  } else if (key == tirx::attr::thread_extent || key == tirx::attr::virtual_thread) {
    TVM_FFI_THROW(ValueError)
        << "a thread binding reached the CPU code generator; bind threads only "
           "for a GPU target";
  } else if (key == tirx::attr::pragma_import_llvm || key == tirx::attr::pragma_import_c) {
    TVM_FFI_THROW(ValueError) << "pragma `" << key
                              << "` is not supported by the LLVM target; link the "
                              << "code as an external module";
  }
  EmitStmt(op->body);
}

void CodeGenLLVM::VisitStmt_(const tirx::AssertStmtNode* op) {
  std::vector<std::string> parts;
  for (const tirx::StringImm& part : op->message_parts) parts.emplace_back(part->value);
  RaiseUnless(Emit(op->condition), op->error_kind->value, parts);
}

void CodeGenLLVM::VisitStmt_(const tirx::AllocBufferNode* op) {
  const tirx::BufferTypeNode* type = op->buffer.type();
  int64_t elements = 1;
  for (const PrimExpr& extent : type->shape) {
    const int64_t* known = as_const_int(extent);
    TVM_FFI_CHECK(known != nullptr, ValueError)
        << "buffer `" << op->buffer->name
        << "` of variable size cannot live on the stack; allocate it "
        << "in scope `global`";
    elements *= *known;
  }
  const int64_t bytes = elements * runtime::GetVectorBytes(type->dtype);
  TVM_FFI_CHECK(elements >= 0 && bytes <= kMaxAllocaBytes, ValueError)
      << "buffer `" << op->buffer->name << "` takes " << bytes << " bytes of stack; at most "
      << kMaxAllocaBytes << " are allowed, use scope `global`";
  int align = type->data_alignment;
  auto noted = alignment_.find(op->buffer.get());
  if (noted != alignment_.end()) align = noted->second;
  align = std::min(align, kMaxAllocaAlign);
  const DataType scalar = type->dtype.element_of();
  llvm::AllocaInst* slot =
      EntryAlloca(MemoryTypeOf(scalar), std::max<int64_t>(elements * type->dtype.lanes(), 1),
                  std::max(align, scalar.bytes()), op->buffer->name);
  values_[op->buffer.get()] = slot;
  BindStorage(op->buffer.get(), {slot, NewAlias(op->buffer->name),
                                 static_cast<int>(slot->getAlign().value()), false});
}

void CodeGenLLVM::VisitStmt_(const tirx::DeclBufferNode* op) {
  const tirx::BufferTypeNode* type = op->buffer.type();
  Storage storage;
  const auto* var = op->data.as<VarNode>();
  if (const Storage* root = AliasRoot(op->data)) {
    storage = *root;
    llvm::Value* base = Emit(op->data);
    if (base != storage.base) storage.align = type->dtype.element_of().bytes();
    storage.base = base;
  } else {
    storage.base = Emit(op->data);
    storage.alias = noalias_ ? NewAlias(op->buffer->name) : shared_alias_;
    storage.align = type->dtype.element_of().bytes();
    if (var != nullptr) BindStorage(var, storage);
  }
  auto noted = alignment_.find(op->buffer.get());
  if (noted != alignment_.end()) storage.align = std::max(storage.align, noted->second);
  values_[op->buffer.get()] = storage.base;
  BindStorage(op->buffer.get(), storage);
}

void CodeGenLLVM::VisitStmt_(const tirx::SeqStmtNode* op) {
  for (const tirx::Stmt& stmt : op->seq) {
    if (!BlockIsOpen()) return;  // behind a return, break or continue
    EmitStmt(stmt);
  }
}

void CodeGenLLVM::VisitStmt_(const tirx::EvaluateNode* op) {
  if (op->value.as<IntImmNode>() || op->value.as<VarNode>()) return;
  Emit(op->value);
}

void CodeGenLLVM::VisitStmt_(const tirx::IfThenElseNode* op) {
  llvm::Value* condition = Emit(op->condition);
  llvm::BasicBlock* then_block = NewBlock("then");
  llvm::BasicBlock* else_block = op->else_case.has_value() ? NewBlock("else") : nullptr;
  llvm::BasicBlock* join = NewBlock("join");
  const auto* call = op->condition.as<CallNode>();
  llvm::MDNode* weights = nullptr;
  if (call != nullptr && call->op.same_as(tirx::builtin::likely())) {
    weights = llvm::MDBuilder(*context_).createBranchWeights(1 << 20, 1);
  }
  builder_->CreateCondBr(condition, then_block, else_block ? else_block : join, weights);
  builder_->SetInsertPoint(then_block);
  EmitStmt(op->then_case);
  if (BlockIsOpen()) builder_->CreateBr(join);
  if (else_block != nullptr) {
    builder_->SetInsertPoint(else_block);
    EmitStmt(*op->else_case);
    if (BlockIsOpen()) builder_->CreateBr(join);
  }
  builder_->SetInsertPoint(join);
}

void CodeGenLLVM::BindLoopVar(const Var& var, llvm::Value* wide) {
  wide_values_[var.get()] = wide;
  llvm::Type* type = TypeOf(var->dtype());
  // In range by construction: the loop bounds are values of the variable's type.
  values_[var.get()] =
      type->isIntegerTy(64) ? wide : builder_->CreateTrunc(wide, type, std::string(var->name));
}

void CodeGenLLVM::VisitStmt_(const tirx::ForNode* op) {
  const int64_t* extent = as_const_int(op->extent);
  const int64_t* begin = as_const_int(op->min);
  const int64_t* step = op->step.has_value() ? as_const_int(*op->step) : nullptr;
  const int64_t unit = 1;
  if (!op->step.has_value()) step = &unit;
  switch (op->kind) {
    case tirx::ForKind::kParallel:
      EmitParallelLoop(op);
      return;
    case tirx::ForKind::kUnrolled:
      if (extent && begin && step && *extent <= 4096) {
        EmitUnrolled(op, *begin, *extent, *step);
        return;
      }
      break;
    case tirx::ForKind::kSerial:
      break;
    default:
      TVM_FFI_THROW(ValueError) << "loop `" << op->loop_var->name << "` of kind "
                                << tirx::ForKind2String(op->kind)
                                << " must be lowered before CPU code generation";
  }
  llvm::Value* first = EmitIndex(op->min);
  llvm::Value* last = builder_->CreateNSWAdd(first, EmitIndex(op->extent));
  llvm::Value* stride = op->step.has_value() ? EmitIndex(*op->step) : Int64(1);
  if (step && *step == 1 && extent && *extent == 1) {
    // One iteration, but break and continue need their targets.
    if (!HasLoop(op->body) && !tirx::ContainsNode<tirx::BreakNode>(op->body) &&
        !tirx::ContainsNode<tirx::ContinueNode>(op->body)) {
      BindLoopVar(op->loop_var, first);
      EmitStmt(op->body);
      return;
    }
  }
  EmitLoop64(op->loop_var, first, last, stride, extent != nullptr && *extent > 0, op->body, op);
}

/// Metadata of a loop that LLVM shall not unroll.
llvm::MDNode* CodeGenLLVM::NotUnrolled() {
  llvm::MDNode* option =
      llvm::MDNode::get(*context_, {llvm::MDString::get(*context_, "llvm.loop.unroll.disable")});
  // Distinct, and named by itself first, as each loop has an identity.
  llvm::MDNode* loop = llvm::MDNode::getDistinct(*context_, {nullptr, option});
  loop->replaceOperandWith(0, loop);
  return loop;
}

CodeGenLLVM::LoopKind CodeGenLLVM::KindOf(const tirx::Stmt& body) {
  constexpr int64_t kFewNodes = 96;  // of a body that costs about as much as its loop
  const bool vectors = HasVectors(body);
  if (HasLoop(body)) return vectors ? LoopKind::kOuterVectors : LoopKind::kOuter;
  if (!vectors) return LoopKind::kScalar;
  int64_t nodes = 0;
  tirx::PostOrderVisit(body, [&](const ffi::ObjectRef&) { ++nodes; });
  return nodes <= kFewNodes ? LoopKind::kShort : LoopKind::kLong;
}

void CodeGenLLVM::EmitLoop64(const Var& var, llvm::Value* begin, llvm::Value* end,
                             llvm::Value* step, bool runs_once, const tirx::Stmt& body,
                             const tirx::ForNode* loop) {
  llvm::BasicBlock* header = NewBlock("loop");
  llvm::BasicBlock* latch = NewBlock("latch");
  llvm::BasicBlock* exit = NewBlock("exit");
  llvm::BasicBlock* before = builder_->GetInsertBlock();
  if (runs_once) {
    builder_->CreateBr(header);
  } else {
    builder_->CreateCondBr(builder_->CreateICmpSLT(begin, end), header, exit);
  }
  builder_->SetInsertPoint(header);
  llvm::PHINode* phi = builder_->CreatePHI(builder_->getInt64Ty(), 2, std::string(var->name));
  phi->addIncoming(begin, before);
  BindLoopVar(var, phi);
  loops_.push_back({exit, latch});
  depths_[var.get()] = static_cast<int>(loops_.size());
  const LoopKind kind = KindOf(body);
  const auto* stride = llvm::dyn_cast<llvm::ConstantInt>(step);
  if (kind == LoopKind::kLong && stride != nullptr && begin == Int64(0)) {
    OpenLoop& open = loops_.back();
    open.counter = phi;
    open.step = stride->getSExtValue();
    open.before = before;
  }
  if (parallel_.task_id != nullptr) ++parallel_.loops;
  EmitStmt(body);
  if (parallel_.task_id != nullptr) --parallel_.loops;
  const auto pointers = std::move(loops_.back().pointers);
  loops_.pop_back();
  if (BlockIsOpen()) builder_->CreateBr(latch);
  builder_->SetInsertPoint(latch);
  for (const auto& [first, bytes, pointer] : pointers) {
    pointer->addIncoming(builder_->CreateGEP(builder_->getInt8Ty(), pointer, Int64(bytes)), latch);
  }
  llvm::Value* next = builder_->CreateNSWAdd(phi, step);
  phi->addIncoming(next, latch);
  llvm::Instruction* back =
      builder_->CreateCondBr(builder_->CreateICmpSLT(next, end), header, exit);
  builder_->SetInsertPoint(exit);
  has_scalar_loops_ = has_scalar_loops_ || (kind == LoopKind::kScalar && loop != nullptr);
  has_short_loops_ = has_short_loops_ || kind == LoopKind::kShort;
  if (kind == LoopKind::kLong || kind == LoopKind::kOuterVectors) {
    back->setMetadata(llvm::LLVMContext::MD_loop, NotUnrolled());
  }
}

void CodeGenLLVM::EmitUnrolled(const tirx::ForNode* op, int64_t begin, int64_t extent,
                               int64_t step) {
  llvm::BasicBlock* exit = NewBlock("exit");
  for (int64_t i = begin; i < begin + extent && BlockIsOpen(); i += step) {
    llvm::BasicBlock* next = NewBlock("next");
    BindLoopVar(op->loop_var, Int64(i));
    loops_.push_back({exit, next});
    EmitStmt(op->body);
    loops_.pop_back();
    if (BlockIsOpen()) builder_->CreateBr(next);
    builder_->SetInsertPoint(next);
  }
  builder_->CreateBr(exit);
  builder_->SetInsertPoint(exit);
}

void CodeGenLLVM::VisitStmt_(const tirx::WhileNode* op) {
  llvm::BasicBlock* header = NewBlock("while");
  llvm::BasicBlock* body = NewBlock("while_body");
  llvm::BasicBlock* exit = NewBlock("exit");
  builder_->CreateBr(header);
  builder_->SetInsertPoint(header);
  builder_->CreateCondBr(Emit(op->condition), body, exit);
  builder_->SetInsertPoint(body);
  loops_.push_back({exit, header});
  if (parallel_.task_id != nullptr) ++parallel_.loops;
  EmitStmt(op->body);
  if (parallel_.task_id != nullptr) --parallel_.loops;
  loops_.pop_back();
  if (BlockIsOpen()) builder_->CreateBr(header);
  builder_->SetInsertPoint(exit);
}

void CodeGenLLVM::VisitStmt_(const tirx::ReturnNode* op) {
  TVM_FFI_CHECK(parallel_.task_id == nullptr, ValueError) << "return inside a parallel loop";
  llvm::Value* value = Emit(op->value);
  EmitReturn(value->getType()->isVoidTy() ? nullptr : value);
}

void CodeGenLLVM::VisitStmt_(const tirx::BreakNode*) {
  TVM_FFI_CHECK(!loops_.empty(), ValueError) << "break outside of a serial loop";
  builder_->CreateBr(loops_.back().on_break);
}

void CodeGenLLVM::VisitStmt_(const tirx::ContinueNode*) {
  TVM_FFI_CHECK(!loops_.empty(), ValueError) << "continue outside of a serial loop";
  builder_->CreateBr(loops_.back().on_continue);
}

void CodeGenLLVM::VisitStmtDefault_(const ffi::Object* op) {
  TVM_FFI_THROW(ValueError) << "statement " << op->GetTypeKey()
                            << " must be lowered before LLVM code generation";
}

}  // namespace codegen
}  // namespace tvm
