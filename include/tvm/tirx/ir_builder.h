// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Frames of the script builder that make primitive functions and their statements.
#ifndef TVM_TIRX_IR_BUILDER_H_
#define TVM_TIRX_IR_BUILDER_H_

#include <tvm/script/ir_builder/base.h>
#include <tvm/tirx/function.h>
#include <tvm/tirx/sblock.h>
#include <tvm/tirx/tile_primitive.h>

namespace tvm::tirx::ir_builder {

using script::ir_builder::IRBuilder;
using script::ir_builder::IRBuilderFrame;
using script::ir_builder::IRBuilderFrameNode;

#define TVM_TIRX_DEFINE_FRAME(Name, Parent, ParentFrame, key)                                 \
  static void RegisterReflection();                                                           \
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("script.ir_builder.tirx." key, Name##Node, Parent##Node); \
  }                                                                                           \
  ;                                                                                           \
  class Name : public ParentFrame {                                                           \
   public:                                                                                    \
    TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Name, ParentFrame, Name##Node);

/// A scope that collects statements.
class TVM_DLL TIRFrameNode : public IRBuilderFrameNode {
 public:
  ffi::Array<Stmt> stmts;

  static void RegisterReflection();
  static constexpr uint32_t _type_child_slots = 20;
  TVM_FFI_DECLARE_OBJECT_INFO("script.ir_builder.tirx.TIRFrame", TIRFrameNode, IRBuilderFrameNode);
};

class TIRFrame : public IRBuilderFrame {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(TIRFrame, IRBuilderFrame, TIRFrameNode);
};

class TVM_DLL PrimFuncFrameNode : public TIRFrameNode {
 public:
  ffi::Optional<ffi::String> name;
  ffi::Array<Var> args;
  /// Unset: the function returns nothing.
  ffi::Optional<Type> ret_type;
  ffi::Map<ffi::String, ffi::Any> attrs;
  /// No global_symbol: the function is not visible outside of its module.
  bool is_private = false;
  bool s_tir = false;
  bool persistent = false;
  /// Thread axes that T.env_thread made, by their variables.
  ffi::Map<Var, IterVar> env_threads;
  /// Buffers of the root block of an s_tir function.
  ffi::Array<Buffer> root_alloc_buffers;

  void ExitWithScope() final;
  TVM_TIRX_DEFINE_FRAME(PrimFuncFrame, TIRFrame, TIRFrame, "PrimFuncFrame")
};

class TVM_DLL SBlockFrameNode : public TIRFrameNode {
 public:
  ffi::String name;
  ffi::Array<IterVar> iter_vars;
  /// Unset: found from what the body accesses.
  ffi::Optional<ffi::Array<BufferRegion>> reads;
  ffi::Optional<ffi::Array<BufferRegion>> writes;
  ffi::Optional<Stmt> init;
  ffi::Array<Buffer> alloc_buffers;
  ffi::Array<MatchBufferRegion> match_buffers;
  ffi::Optional<ffi::Map<ffi::String, ffi::Any>> annotations;
  ffi::Array<PrimExpr> iter_values;
  ffi::Optional<PrimExpr> predicate;
  /// Make the block alone, not its realization.
  bool no_realize = false;

  void ExitWithScope() final;
  TVM_TIRX_DEFINE_FRAME(SBlockFrame, TIRFrame, TIRFrame, "SSBlockFrame")
};

class TVM_DLL SBlockInitFrameNode : public TIRFrameNode {
 public:
  void EnterWithScope() final;
  void ExitWithScope() final;
  TVM_TIRX_DEFINE_FRAME(SBlockInitFrame, TIRFrame, TIRFrame, "SBlockInitFrame")
};

/// One loop, or a nest of serial loops (grid).
class TVM_DLL ForFrameNode : public TIRFrameNode {
 public:
  ffi::Array<Var> vars;
  ffi::Array<Range> doms;
  ForKind kind = ForKind::kSerial;
  ffi::Optional<ffi::String> thread;
  ffi::Map<ffi::String, ffi::Any> annotations;
  ffi::Optional<PrimExpr> step;

  void ExitWithScope() final;
  TVM_TIRX_DEFINE_FRAME(ForFrame, TIRFrame, TIRFrame, "ForFrame")
};

class TVM_DLL AssertFrameNode : public TIRFrameNode {
 public:
  PrimExpr condition;
  StringImm error_kind;
  ffi::Array<StringImm> message_parts;

  void ExitWithScope() final;
  TVM_TIRX_DEFINE_FRAME(AssertFrame, TIRFrame, TIRFrame, "AssertFrame")
};

class TVM_DLL LaunchThreadFrameNode : public TIRFrameNode {
 public:
  PrimExpr extent;
  ffi::String attr_key;
  IterVar iter_var;

  void ExitWithScope() final;
  TVM_TIRX_DEFINE_FRAME(LaunchThreadFrame, TIRFrame, TIRFrame, "LaunchThreadFrame")
};

/// One or more attributes of the statements inside, outermost first.
class TVM_DLL AttrFrameNode : public TIRFrameNode {
 public:
  ffi::Any node;
  ffi::Array<ffi::String> attr_keys;
  ffi::Array<Expr> values;

  void ExitWithScope() final;
  TVM_TIRX_DEFINE_FRAME(AttrFrame, TIRFrame, TIRFrame, "AttrFrame")
};

class TVM_DLL HintFrameNode : public TIRFrameNode {
 public:
  ffi::String message;
  ffi::Map<ffi::String, ffi::Any> attrs;

  void ExitWithScope() final;
  TVM_TIRX_DEFINE_FRAME(HintFrame, TIRFrame, TIRFrame, "HintFrame")
};

class TVM_DLL WhileFrameNode : public TIRFrameNode {
 public:
  PrimExpr condition;

  void ExitWithScope() final;
  TVM_TIRX_DEFINE_FRAME(WhileFrame, TIRFrame, TIRFrame, "WhileFrame")
};

class TVM_DLL IfFrameNode : public TIRFrameNode {
 public:
  PrimExpr condition;
  ffi::Optional<ffi::Array<Stmt>> then_stmts;
  ffi::Optional<ffi::Array<Stmt>> else_stmts;

  void ExitWithScope() final;
  TVM_TIRX_DEFINE_FRAME(IfFrame, TIRFrame, TIRFrame, "IfFrame")
};

class TVM_DLL ThenFrameNode : public TIRFrameNode {
 public:
  void EnterWithScope() final;
  void ExitWithScope() final;
  TVM_TIRX_DEFINE_FRAME(ThenFrame, TIRFrame, TIRFrame, "ThenFrame")
};

class TVM_DLL ElseFrameNode : public TIRFrameNode {
 public:
  void EnterWithScope() final;
  void ExitWithScope() final;
  TVM_TIRX_DEFINE_FRAME(ElseFrame, TIRFrame, TIRFrame, "ElseFrame")
};

/// A declared buffer and the statements that use it, written as a scope.
class TVM_DLL DeclBufferFrameNode : public TIRFrameNode {
 public:
  Buffer buffer;
  /// Unset: the buffer is allocated.
  ffi::Optional<Expr> data;

  void ExitWithScope() final;
  TVM_TIRX_DEFINE_FRAME(DeclBufferFrame, TIRFrame, TIRFrame, "DeclBufferFrame")
};

/// An allocated buffer and the statements that use it, written as a scope.
class TVM_DLL AllocBufferFrameNode : public TIRFrameNode {
 public:
  Buffer buffer;
  ffi::Map<ffi::String, ffi::Any> annotations;

  void ExitWithScope() final;
  TVM_TIRX_DEFINE_FRAME(AllocBufferFrame, TIRFrame, TIRFrame, "AllocBufferFrame")
};

/// A tile primitive whose operands are the statements inside.
class TVM_DLL ComposeOpFrameNode : public TIRFrameNode {
 public:
  ffi::Map<ffi::String, Buffer> workspace;
  ffi::Map<ffi::String, ffi::Any> config;
  ffi::Optional<ffi::String> dispatch;
  ExecScope scope;

  void ExitWithScope() final;
  TVM_TIRX_DEFINE_FRAME(ComposeOpFrame, TIRFrame, TIRFrame, "ComposeOpFrame")
};

#undef TVM_TIRX_DEFINE_FRAME

/// Appends a statement to the innermost frame; without a frame it is the builder's result.
TVM_DLL void AddToParent(Stmt stmt);
/// Several statements as one: none make an empty Evaluate.
TVM_DLL Stmt AsStmt(const ffi::Array<Stmt>& stmts);
/// Innermost function; ValueError that names `who` outside of one.
TVM_DLL PrimFuncFrame RequireFunc(const ffi::String& who);
/// Innermost frame if it is a block; ValueError that names `who` otherwise.
TVM_DLL SBlockFrame RequireSBlock(const ffi::String& who);
/// The same value in another data type: literals are converted, other values cast, a scalar is
/// repeated where lanes are asked for. TypeError if the lanes cannot agree.
TVM_DLL PrimExpr ConvertTo(DataType dtype, PrimExpr value, const ffi::String& what);

}  // namespace tvm::tirx::ir_builder

#endif  // TVM_TIRX_IR_BUILDER_H_
