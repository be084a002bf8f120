// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// What each frame makes when it is left.
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ir/scalar_op.h>
#include <tvm/script/ir_builder/ir.h>
#include <tvm/tirx/analysis.h>
#include <tvm/tirx/ir_builder.h>
#include <tvm/tirx/stmt_functor.h>

#include <string>

namespace tvm::tirx::ir_builder {

Stmt AsStmt(const ffi::Array<Stmt>& stmts) {
  if (stmts.empty()) return Evaluate(0);
  if (stmts.size() == 1) return stmts[0];
  return SeqStmt(stmts);
}

void AddToParent(Stmt stmt) {
  IRBuilder builder = IRBuilder::Current();
  if (builder->frames.empty()) {
    builder->SetResult(std::move(stmt));
    return;
  }
  TIRFrame frame = builder->LastFrame<TIRFrame>();
  if (!frame.defined()) {
    TVM_FFI_THROW(TypeError) << "a statement cannot stand in a frame of type "
                             << builder->frames.back().GetTypeKey();
  }
  if (const auto* seq = stmt.as<SeqStmtNode>()) {
    for (const Stmt& part : seq->seq) frame->stmts.push_back(part);
    return;
  }
  frame->stmts.push_back(std::move(stmt));
}

PrimFuncFrame RequireFunc(const ffi::String& who) {
  PrimFuncFrame frame = IRBuilder::Current()->FindFrame<PrimFuncFrame>();
  if (!frame.defined()) {
    TVM_FFI_THROW(ValueError) << who << " must be used inside of T.prim_func()";
  }
  return frame;
}

SBlockFrame RequireSBlock(const ffi::String& who) {
  IRBuilder builder = IRBuilder::Current();
  SBlockFrame frame = builder->LastFrame<SBlockFrame>();
  if (frame.defined()) return frame;
  if (builder->FindFrame<SBlockFrame>().defined()) {
    TVM_FFI_THROW(ValueError) << who << " must stand directly in T.sblock(), found inside of "
                              << builder->frames.back().GetTypeKey();
  }
  TVM_FFI_THROW(ValueError) << who << " must be used inside of T.sblock()";
  TVM_FFI_UNREACHABLE();
}

namespace {

bool HasBlock(const Stmt& body) {
  bool found = false;
  PostOrderVisit(body, [&](const ffi::ObjectRef& node) {
    found = found || node.as<SBlockRealizeNode>() != nullptr;
  });
  return found;
}

/// The block around the whole body of a function of the schedulable dialect.
Stmt WithRootBlock(Stmt body, const ffi::Array<Buffer>& alloc_buffers) {
  const auto* realize = body.as<SBlockRealizeNode>();
  bool is_root = realize != nullptr && realize->block->iter_vars.empty();
  if (alloc_buffers.empty() && (is_root || !HasBlock(body))) return body;
  SBlock root({}, {}, {}, "root", std::move(body), std::nullopt, alloc_buffers);
  return SBlockRealize({}, Bool(true), std::move(root));
}

}  // namespace

void PrimFuncFrameNode::ExitWithScope() {
  TIRFrameNode::ExitWithScope();
  Stmt body = AsStmt(stmts);
  if (s_tir) body = WithRootBlock(std::move(body), root_alloc_buffers);
  ffi::Map<ffi::String, ffi::Any> dict = attrs;
  if (is_private) {
    if (dict.count(tvm::attr::kGlobalSymbol) != 0) {
      TVM_FFI_THROW(ValueError) << "a private function cannot have the attribute global_symbol";
    }
  } else if (name.has_value() && dict.count(tvm::attr::kGlobalSymbol) == 0) {
    dict.Set(tvm::attr::kGlobalSymbol, name.value());
  }
  if (s_tir) dict.Set(tvm::attr::kSTir, true);
  if (persistent) dict.Set(tirx::attr::persistent_kernel, true);
  PrimFunc func(args, std::move(body), ret_type, dict.empty() ? DictAttrs() : DictAttrs(dict),
                span);
  IRBuilder builder = IRBuilder::Current();
  if (builder->frames.empty()) {
    builder->SetResult(std::move(func));
    return;
  }
  if (!builder->LastFrame<script::ir_builder::IRModuleFrame>().defined()) {
    TVM_FFI_THROW(ValueError) << "a function cannot be defined in a frame of type "
                              << builder->frames.back().GetTypeKey();
  }
  if (!name.has_value()) TVM_FFI_THROW(ValueError) << "a function of a module needs a name";
  script::ir_builder::DefFunction(name.value(), func);
}

void SBlockFrameNode::ExitWithScope() {
  TIRFrameNode::ExitWithScope();
  SBlock block(iter_vars, reads.value_or({}), writes.value_or({}), name, AsStmt(stmts), init,
               alloc_buffers, match_buffers,
               annotations.value_or(ffi::Map<ffi::String, ffi::Any>()), span);
  if (!reads.has_value() || !writes.has_value()) {
    SBlock detected = WithDetectedRegions(block);
    SBlockNode* node = block.CopyOnWrite();
    if (!reads.has_value()) node->reads = detected->reads;
    if (!writes.has_value()) node->writes = detected->writes;
  }
  if (no_realize) {
    if (!iter_values.empty()) {
      TVM_FFI_THROW(ValueError) << "block " << name
                                << " binds its iteration variables, but is not realized";
    }
    if (predicate.has_value()) {
      TVM_FFI_THROW(ValueError) << "block " << name << " has a predicate, but is not realized";
    }
    AddToParent(block);
    return;
  }
  AddToParent(SBlockRealize(iter_values, predicate.value_or(Bool(true)), block, span));
}

void SBlockInitFrameNode::EnterWithScope() {
  SBlockFrame block = RequireSBlock("T.init");
  if (block->init.has_value()) {
    TVM_FFI_THROW(ValueError) << "Duplicate block init declaration in block " << block->name;
  }
  TIRFrameNode::EnterWithScope();
}

void SBlockInitFrameNode::ExitWithScope() {
  TIRFrameNode::ExitWithScope();
  RequireSBlock("T.init")->init = AsStmt(stmts);
}

void ForFrameNode::ExitWithScope() {
  TIRFrameNode::ExitWithScope();
  Stmt body = AsStmt(stmts);
  for (size_t i = vars.size(); i-- > 0;) {
    ffi::Optional<IterVar> binding;
    if (thread.has_value()) {
      binding = IterVar(Range(), Var("iter", vars[i]->dtype()), IterVarType::kThreadIndex,
                        thread.value());
    }
    body = For(vars[i], doms[i]->min, doms[i]->extent, kind, std::move(body), binding, annotations,
               step, span);
  }
  AddToParent(std::move(body));
}

void AssertFrameNode::ExitWithScope() {
  TIRFrameNode::ExitWithScope();
  AddToParent(AssertStmt(condition, error_kind, message_parts, span));
  for (const Stmt& stmt : stmts) AddToParent(stmt);
}

void LaunchThreadFrameNode::ExitWithScope() {
  TIRFrameNode::ExitWithScope();
  AddToParent(AttrStmt(iter_var, attr_key, extent, AsStmt(stmts), span));
}

void AttrFrameNode::ExitWithScope() {
  TIRFrameNode::ExitWithScope();
  Stmt body = AsStmt(stmts);
  for (size_t i = attr_keys.size(); i-- > 0;) {
    body = AttrStmt(node, attr_keys[i], values[i], std::move(body), span);
  }
  AddToParent(std::move(body));
}

void HintFrameNode::ExitWithScope() {
  TIRFrameNode::ExitWithScope();
  AddToParent(AttrStmt(attrs, tirx::attr::tirx_hint, StringImm(message), AsStmt(stmts), span));
}

void WhileFrameNode::ExitWithScope() {
  TIRFrameNode::ExitWithScope();
  AddToParent(While(condition, AsStmt(stmts), span));
}

void IfFrameNode::ExitWithScope() {
  TIRFrameNode::ExitWithScope();
  if (!stmts.empty()) {
    TVM_FFI_THROW(ValueError) << "statements in T.If() must stand in T.Then() or T.Else()";
  }
  if (!then_stmts.has_value()) {
    TVM_FFI_THROW(ValueError) << "IfThenElse frame should have at least one then branch";
  }
  ffi::Optional<Stmt> orelse;
  if (else_stmts.has_value()) orelse = AsStmt(else_stmts.value());
  AddToParent(IfThenElse(condition, AsStmt(then_stmts.value()), orelse, span));
}

namespace {

IfFrame RequireIf(const char* who) {
  IfFrame frame = IRBuilder::Current()->LastFrame<IfFrame>();
  if (!frame.defined()) {
    TVM_FFI_THROW(ValueError) << who << " must stand directly in T.If()";
  }
  return frame;
}

}  // namespace

void ThenFrameNode::EnterWithScope() {
  if (RequireIf("T.Then")->then_stmts.has_value()) {
    TVM_FFI_THROW(ValueError) << "Duplicate then branch declaration";
  }
  TIRFrameNode::EnterWithScope();
}

void ThenFrameNode::ExitWithScope() {
  TIRFrameNode::ExitWithScope();
  RequireIf("T.Then")->then_stmts = stmts;
}

void ElseFrameNode::EnterWithScope() {
  IfFrame frame = RequireIf("T.Else");
  if (!frame->then_stmts.has_value()) {
    TVM_FFI_THROW(ValueError) << "The else branch should follow then branch";
  }
  if (frame->else_stmts.has_value()) {
    TVM_FFI_THROW(ValueError) << "Duplicate else branch declaration";
  }
  TIRFrameNode::EnterWithScope();
}

void ElseFrameNode::ExitWithScope() {
  TIRFrameNode::ExitWithScope();
  RequireIf("T.Else")->else_stmts = stmts;
}

void DeclBufferFrameNode::ExitWithScope() {
  TIRFrameNode::ExitWithScope();
  AddToParent(data.has_value() ? Stmt(DeclBuffer(buffer, data.value(), span))
                               : Stmt(AllocBuffer(buffer, {}, span)));
  for (const Stmt& stmt : stmts) AddToParent(stmt);
}

void ComposeOpFrameNode::ExitWithScope() {
  TIRFrameNode::ExitWithScope();
  ffi::Array<ffi::Any> operands(stmts.begin(), stmts.end());
  AddToParent(TilePrimitiveCall(Op::Get("tirx.tile.compose_op"), operands, workspace, config,
                                dispatch, scope, span));
}

void AllocBufferFrameNode::ExitWithScope() {
  TIRFrameNode::ExitWithScope();
  AddToParent(AllocBuffer(buffer, annotations, span));
  for (const Stmt& stmt : stmts) AddToParent(stmt);
}

}  // namespace tvm::tirx::ir_builder
