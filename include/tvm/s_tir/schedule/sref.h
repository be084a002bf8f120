// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// References to loops and blocks that survive rewrites, and the dependencies between blocks.
#ifndef TVM_S_TIR_SCHEDULE_SREF_H_
#define TVM_S_TIR_SCHEDULE_SREF_H_

#include <tvm/ir/module.h>
#include <tvm/s_tir/stmt.h>

#include <unordered_map>

namespace tvm {
namespace s_tir {

/// One node of the tree of loops and blocks of a function. The statement it stands for changes
/// when the program is rewritten; it becomes null when the statement is gone.
class StmtSRefNode : public ffi::Object {
 public:
  /// A For or an SBlock; null once it is no longer part of the program.
  ffi::Optional<tirx::Stmt> stmt;
  /// The enclosing loop or block, a StmtSRef; null for a root block.
  ffi::Optional<ffi::ObjectRef> parent_ref;
  /// Position in the sequence that is the body of the parent; -1 if the body is no sequence.
  int64_t seq_index = -1;

  const tirx::StmtNode* get_stmt() const {
    return stmt.has_value() ? static_cast<const tirx::StmtNode*>(stmt.value().get()) : nullptr;
  }
  /// The parent node, or null.
  StmtSRefNode* parent() const {
    if (!parent_ref.has_value()) return nullptr;
    return const_cast<StmtSRefNode*>(static_cast<const StmtSRefNode*>(parent_ref.value().get()));
  }
  /// The statement as a loop or block; null if it is the other or gone.
  template <typename Node>
  const Node* StmtAs() const {
    return stmt.has_value() ? stmt.value().as<Node>() : nullptr;
  }

  static void RegisterReflection();
  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("s_tir.StmtSRef", StmtSRefNode, ffi::Object);
};

class StmtSRef : public ffi::ObjectRef {
 public:
  TVM_DLL StmtSRef(ffi::Optional<tirx::Stmt> stmt, StmtSRefNode* parent, int64_t seq_index);
  /// Stands for "compute it inline" where a loop is expected.
  TVM_DLL static StmtSRef InlineMark();
  /// Stands for "compute it at the root" where a loop is expected.
  TVM_DLL static StmtSRef RootMark();
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(StmtSRef, ffi::ObjectRef, StmtSRefNode);
};

enum class DepKind : int32_t { kRAW = 0, kWAW = 1, kWAR = 2, kOpaque = 3 };

/// The block `dst` has to run after the block `src`.
class DependencyNode : public ffi::Object {
 public:
  StmtSRef src;
  StmtSRef dst;
  DepKind kind = DepKind::kRAW;

  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("s_tir.Dependency", DependencyNode, ffi::Object);
};

class Dependency : public ffi::ObjectRef {
 public:
  TVM_DLL Dependency(StmtSRef src, StmtSRef dst, DepKind kind);
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Dependency, ffi::ObjectRef, DependencyNode);
};

/// Dependencies among the child blocks of one block, by buffer.
class SBlockScopeNode : public ffi::Object {
 public:
  /// Child blocks in program order.
  ffi::Array<StmtSRef> blocks;
  std::unordered_map<const ffi::Object*, ffi::Array<Dependency>> src2deps;
  std::unordered_map<const ffi::Object*, ffi::Array<Dependency>> dst2deps;
  std::unordered_map<const ffi::Object*, ffi::Array<StmtSRef>> buffer_writers;

  TVM_DLL ffi::Array<Dependency> GetDepsBySrc(const StmtSRef& block) const;
  TVM_DLL ffi::Array<Dependency> GetDepsByDst(const StmtSRef& block) const;
  /// Child blocks that write `buffer`, in program order.
  TVM_DLL ffi::Array<StmtSRef> WritersOf(const tirx::Buffer& buffer) const;

  static void RegisterReflection();
  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("s_tir.SBlockScope", SBlockScopeNode, ffi::Object);
};

class SBlockScope : public ffi::ObjectRef {
 public:
  /// The dependencies among `child_blocks`, given in program order.
  TVM_DLL explicit SBlockScope(const ffi::Array<StmtSRef>& child_blocks);
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(SBlockScope, ffi::ObjectRef, SBlockScopeNode);
};

/// Scopes of all blocks of a module, without the machinery of a schedule.
class SBlockDependenceInfoNode : public ffi::Object {
 public:
  std::unordered_map<const tirx::StmtNode*, StmtSRef> stmt2ref;
  std::unordered_map<const StmtSRefNode*, SBlockScope> sref2scope;

  static void RegisterReflection();
  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("s_tir.SBlockDependenceInfo", SBlockDependenceInfoNode,
                                    ffi::Object);
};

class SBlockDependenceInfo : public ffi::ObjectRef {
 public:
  TVM_DLL explicit SBlockDependenceInfo(const IRModule& mod);
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(SBlockDependenceInfo, ffi::ObjectRef,
                                             SBlockDependenceInfoNode);
};

}  // namespace s_tir
}  // namespace tvm

#endif  // TVM_S_TIR_SCHEDULE_SREF_H_
