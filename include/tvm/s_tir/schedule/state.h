// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// The program a schedule works on, with the tree of its loops and blocks.
#ifndef TVM_S_TIR_SCHEDULE_STATE_H_
#define TVM_S_TIR_SCHEDULE_STATE_H_

#include <tvm/s_tir/schedule/sref.h>

#include <optional>
#include <unordered_map>
#include <vector>

namespace tvm {
namespace s_tir {

/// What to verify after each rewrite.
enum ScheduleDebugMask : int {
  kVerifySRefTree = 1,
  kVerifyCachedFlags = 2,
};

/// What is known about one block. Everything is found on demand and forgotten when a rewrite may
/// have changed it. The two flags that a rewrite cannot make false (it keeps what the program
/// computes) stay once they were found true: the arithmetic may be too weak to find them again.
struct SBlockInfo {
  std::optional<SBlockScope> scope;
  std::optional<bool> affine_binding;
  std::optional<bool> region_cover;
  std::optional<bool> stage_pipeline;
};

class ScheduleState;

class ScheduleStateNode : public ffi::Object {
 public:
  IRModule mod;
  int debug_mask = 0;
  bool enable_check = true;

  /// The reference to a loop or block of the program; null if it is not part of it.
  TVM_DLL StmtSRef GetSRef(const tirx::StmtNode* stmt) const;
  /// Whether a reference still stands for a statement of this program.
  TVM_DLL bool IsAlive(const StmtSRef& sref) const;

  /// Puts `tgt` in the place of the statement of `src`: block for block, loop for loop, or the
  /// realize of a block for a loop. Loops keep their references by loop variable, blocks by
  /// identity or as `reuse` (old block -> new block) says; all others below `src` expire.
  TVM_DLL void Replace(const StmtSRef& src, const tirx::Stmt& tgt,
                       const ffi::Map<tirx::SBlock, tirx::SBlock>& reuse);

  /// Dependencies among the children of a block.
  TVM_DLL SBlockScope GetSBlockScope(const StmtSRef& block);
  /// The values bound to the block's iteration variables are a quasi-affine map of its loops.
  TVM_DLL bool IsAffineBlockBinding(const StmtSRef& block);
  /// What the block reads of its scope's buffers was written in full before.
  TVM_DLL bool IsRegionCoveredConsumer(const StmtSRef& block);
  /// The children of the block can be seen as stages of a pipeline.
  TVM_DLL bool IsStagePipeline(const StmtSRef& block);
  /// Forgets all flags: for edits that change what accesses mean.
  TVM_DLL void ForgetFlags();
  /// The function that holds a root block.
  TVM_DLL GlobalVar FunctionOf(const StmtSRef& sref) const;
  /// Raises InternalError unless references and program agree (as debug_mask asks).
  TVM_DLL void DebugVerify();

  /// All that Replace changes, to take a failed primitive back.
  struct Snapshot {
    struct Entry {
      StmtSRef sref;
      ffi::Optional<tirx::Stmt> stmt;
      ffi::Optional<ffi::ObjectRef> parent;
      int64_t seq_index;
    };
    IRModule mod{nullptr};
    std::vector<Entry> entries;
    std::unordered_map<const StmtSRefNode*, SBlockInfo> infos;
    std::unordered_map<const StmtSRefNode*, GlobalVar> roots;
  };
  TVM_DLL Snapshot Save() const;
  TVM_DLL void Restore(const Snapshot& snapshot);

  /// An independent state of the same program; `srefs` gets old -> new references.
  TVM_DLL ScheduleState Clone(std::unordered_map<const ffi::Object*, StmtSRef>* srefs) const;

  /// Makes references for all functions of `mod` whose body is a root block.
  void Build();

  static void RegisterReflection();
  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("s_tir.ScheduleState", ScheduleStateNode, ffi::Object);

 private:
  struct Splice;
  void SetFunctionBody(const StmtSRefNode* root, const tirx::SBlock& block);
  void UpdateAncestors(StmtSRefNode* parent, const tirx::StmtNode* old_child, tirx::Stmt child);
  void ForgetAround(const StmtSRefNode* scope_root);

  std::unordered_map<const tirx::StmtNode*, StmtSRef> stmt2ref_;
  std::unordered_map<const StmtSRefNode*, SBlockInfo> infos_;
  std::unordered_map<const StmtSRefNode*, GlobalVar> roots_;
};

class ScheduleState : public ffi::ObjectRef {
 public:
  TVM_DLL explicit ScheduleState(IRModule mod, int debug_mask = 0, bool enable_check = true);
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(ScheduleState, ffi::ObjectRef, ScheduleStateNode);
};

}  // namespace s_tir
}  // namespace tvm

#endif  // TVM_S_TIR_SCHEDULE_STATE_H_
