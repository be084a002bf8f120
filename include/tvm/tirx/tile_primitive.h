// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Execution scopes and tile primitive calls of hand-written device kernels.
#ifndef TVM_TIRX_TILE_PRIMITIVE_H_
#define TVM_TIRX_TILE_PRIMITIVE_H_

#include <tvm/ir/op.h>
#include <tvm/tirx/stmt.h>

namespace tvm {
namespace tirx {

/// The set of threads that executes something together. Values are stored in files: keep them.
enum class ScopeKind : int {
  kCluster = 2,
  kCta = 3,
  kWarpgroup = 4,
  kWarp = 5,
  kThread = 6,
};

/// Parent and child of a scope id. Values are stored in files: keep them.
enum class ScopeBinding : int {
  kKernelCluster = 0,
  kKernelCta = 1,
  kClusterCta = 2,
  kCtaWarpgroup = 3,
  kCtaWarp = 4,
  kWarpgroupWarp = 5,
  kWarpThread = 6,
  kCtaThread = 7,
  kWarpgroupThread = 8,
  kClusterCtaPair = 9,
};

class ExecScopeNode : public ffi::Object {
 public:
  ScopeKind kind = ScopeKind::kThread;

  static void RegisterReflection();
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tirx.ExecScope", ExecScopeNode, ffi::Object);
};

class ExecScope : public ffi::ObjectRef {
 public:
  TVM_DLL explicit ExecScope(ScopeKind kind);
  /// Looks a scope up by its script name, e.g. "warp" or "wg"; ValueError for another name.
  TVM_DLL static ExecScope FromName(const ffi::String& name);
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(ExecScope, ffi::ObjectRef, ExecScopeNode);
};

/// Defines the ids of one level of the execution hierarchy.
class ScopeIdDefNode : public ffi::Object {
 public:
  ffi::Array<Var> def_ids;
  ffi::Optional<ffi::Array<PrimExpr>> extents;
  ScopeBinding scope = ScopeBinding::kKernelCta;
  ffi::Optional<ffi::Array<PrimExpr>> preferred_extents;

  static void RegisterReflection();
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tirx.ScopeIdDef", ScopeIdDefNode, ffi::Object);
};

class ScopeIdDef : public ffi::ObjectRef {
 public:
  TVM_DLL ScopeIdDef(ffi::Array<Var> def_ids, ffi::Optional<ffi::Array<PrimExpr>> extents,
                     ScopeBinding scope,
                     ffi::Optional<ffi::Array<PrimExpr>> preferred_extents = std::nullopt);
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(ScopeIdDef, ffi::ObjectRef, ScopeIdDefNode);
};

class ScopeIdDefStmtNode : public StmtNode {
 public:
  ScopeIdDef def;

  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tirx.ScopeIdDefStmt", ScopeIdDefStmtNode, StmtNode);
};

class ScopeIdDefStmt : public Stmt {
 public:
  TVM_DLL explicit ScopeIdDefStmt(ScopeIdDef def, Span span = Span());
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(ScopeIdDefStmt, Stmt, ScopeIdDefStmtNode);
  TVM_DEFINE_OBJECT_REF_COW_METHOD(ScopeIdDefStmtNode);
};

/// An operation on whole tiles that the threads of `scope` carry out together. `dispatch` names
/// one registered variant; without it the registry chooses.
class TilePrimitiveCallNode : public StmtNode {
 public:
  Op op;
  ffi::Array<ffi::Any> args;
  ffi::Map<ffi::String, Buffer> workspace;
  ffi::Map<ffi::String, ffi::Any> config;
  ffi::Optional<ffi::String> dispatch;
  ExecScope scope;

  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tirx.TilePrimitiveCall", TilePrimitiveCallNode, StmtNode);
};

class TilePrimitiveCall : public Stmt {
 public:
  TVM_DLL TilePrimitiveCall(Op op, ffi::Array<ffi::Any> args,
                            ffi::Map<ffi::String, Buffer> workspace,
                            ffi::Map<ffi::String, ffi::Any> config,
                            ffi::Optional<ffi::String> dispatch, ExecScope scope,
                            Span span = Span());
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(TilePrimitiveCall, Stmt, TilePrimitiveCallNode);
  TVM_DEFINE_OBJECT_REF_COW_METHOD(TilePrimitiveCallNode);
};

}  // namespace tirx
}  // namespace tvm

#endif  // TVM_TIRX_TILE_PRIMITIVE_H_
