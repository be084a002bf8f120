// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Schedule: changes how a function of blocks runs, never what it computes.
///
///   Schedule sch = Schedule::Traced(mod, /*seed=*/1);
///   SBlockRV block = sch->GetSBlock("C");
///   Array<LoopRV> loops = sch->GetLoops(block);
///   Array<LoopRV> parts = sch->Split(loops[0], {ExprRV(), 32});
///   sch->Parallel(parts[0]);
///
/// A primitive whose precondition does not hold raises an error of kind ScheduleError and leaves
/// the program as it was.
#ifndef TVM_S_TIR_SCHEDULE_SCHEDULE_H_
#define TVM_S_TIR_SCHEDULE_SCHEDULE_H_

#include <tvm/s_tir/schedule/state.h>
#include <tvm/s_tir/schedule/trace.h>
#include <tvm/tirx/index_map.h>

#include <optional>
#include <string>
#include <unordered_map>

namespace tvm {
namespace s_tir {

/// A name for a block of the program of some schedule.
class SBlockRVNode : public ffi::Object {
 public:
  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("s_tir.SBlockRV", SBlockRVNode, ffi::Object);
};
class SBlockRV : public ffi::ObjectRef {
 public:
  TVM_DLL SBlockRV();
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(SBlockRV, ffi::ObjectRef, SBlockRVNode);
};

/// A name for a loop of the program of some schedule.
class LoopRVNode : public ffi::Object {
 public:
  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("s_tir.LoopRV", LoopRVNode, ffi::Object);
};
class LoopRV : public ffi::ObjectRef {
 public:
  TVM_DLL LoopRV();
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(LoopRV, ffi::ObjectRef, LoopRVNode);
};

/// An integer: a literal, a variable that sampling made, or an expression of those. Null stands
/// for "infer it" in factors.
using ExprRV = PrimExpr;
template <typename T>
using RVList = ffi::Array<T>;

class ScheduleNode : public ffi::Object {
 public:
  // ---- the program ----
  const ScheduleState& state() const { return state_; }
  const IRModule& mod() const { return state_->mod; }
  /// The recorded steps; nothing when the schedule does not record.
  const ffi::Optional<Trace>& trace() const { return trace_; }
  const ffi::Optional<GlobalVar>& func_working_on() const { return func_working_on_; }
  /// Blocks are looked up in that function from now on.
  TVM_DLL void WorkOn(const ffi::String& func_name);
  /// An independent schedule in the same state; random variables work in both.
  TVM_DLL Schedule Copy();
  /// 1 .. 2^31 - 1, or -1 for a seed of its own; ValueError otherwise.
  TVM_DLL void Seed(int64_t seed);
  /// A seed for another schedule.
  TVM_DLL int64_t ForkSeed();

  // ---- random variables ----
  TVM_DLL tirx::SBlock Get(const SBlockRV& block) const;
  TVM_DLL tirx::For Get(const LoopRV& loop) const;
  /// The value of an expression over sampled integers.
  TVM_DLL int64_t Get(const ExprRV& expr) const;
  /// The same; nothing if it depends on other variables, e.g. symbolic shapes.
  TVM_DLL std::optional<int64_t> TryGet(const ExprRV& expr) const;
  TVM_DLL StmtSRef GetSRef(const SBlockRV& block) const;
  TVM_DLL StmtSRef GetSRef(const LoopRV& loop) const;
  TVM_DLL void RemoveRV(const ffi::ObjectRef& rv);
  /// A variable for a block or loop reference, or an integer.
  TVM_DLL ffi::Any NewBlockRV(const StmtSRef& block);
  TVM_DLL ffi::Any NewLoopRV(const StmtSRef& loop);
  TVM_DLL ffi::Any NewExprRV(int64_t value);

  /// Runs a primitive by the name of its instruction and records it. `decision` is what a sampling
  /// primitive has to take, or None.
  TVM_DLL ffi::Array<ffi::Any> Run(const ffi::String& kind, const ffi::Array<ffi::Any>& inputs,
                                   const ffi::Array<ffi::Any>& attrs,
                                   const ffi::Any& decision = ffi::Any());
  /// A random integer in [low, high).
  TVM_DLL int64_t RandInt(int64_t low, int64_t high);
  /// A random number in [0, 1).
  TVM_DLL double RandUniform();

  // ---- primitives (schedule_methods.cc; what they demand stands with each in primitive/) ----
  using Str = ffi::String;
  using Ints = ffi::Array<int64_t>;
  using Blocks = ffi::Array<SBlockRV>;
  using Loops = ffi::Array<LoopRV>;
  using Factors = ffi::Array<ffi::Optional<ExprRV>>;
  TVM_DLL ExprRV SampleCategorical(const Ints& candidates, const ffi::Array<double>& probs,
                                   ffi::Any decision = ffi::Any());
  TVM_DLL RVList<ExprRV> SamplePerfectTile(const LoopRV& loop, int64_t n,
                                           int64_t max_innermost_factor = 16,
                                           ffi::Any decision = ffi::Any());
  TVM_DLL RVList<ExprRV> SamplePartitionedTile(const LoopRV& loop, int64_t n,
                                               int64_t partition_pos = 0,
                                               int64_t innerpart_factor = 1,
                                               ffi::Any decision = ffi::Any());
  TVM_DLL LoopRV SampleComputeLocation(const SBlockRV& block, ffi::Any decision = ffi::Any());
  TVM_DLL SBlockRV GetSBlock(const Str& name, ffi::Optional<Str> func_name = std::nullopt);
  TVM_DLL Loops GetLoops(const SBlockRV& block);
  TVM_DLL Blocks GetChildBlocks(const SBlockRV& block);
  TVM_DLL Blocks GetChildBlocks(const LoopRV& loop);
  TVM_DLL Blocks GetProducers(const SBlockRV& block);
  TVM_DLL Blocks GetConsumers(const SBlockRV& block);
  TVM_DLL Blocks GetOutputBlocks(const SBlockRV& scope_block);
  TVM_DLL LoopRV Merge(const Loops& loops);
  TVM_DLL LoopRV Fuse(const Loops& loops, bool preserve_unit_iters = true);
  TVM_DLL Loops Split(const LoopRV& loop, const Factors& factors, bool preserve_unit_iters = true,
                      bool disable_predication = false);
  TVM_DLL Loops LoopPartition(const LoopRV& loop, const Factors& factors,
                              bool preserve_unit_iters = true);
  TVM_DLL void Reorder(const Loops& loops);
  TVM_DLL void ReorderBlockIterVar(const SBlockRV& block, const Ints& new_order);
  TVM_DLL LoopRV AddUnitLoop(const SBlockRV& block);
  TVM_DLL LoopRV AddUnitLoop(const LoopRV& loop);
  TVM_DLL void Parallel(const LoopRV& loop);
  TVM_DLL void Vectorize(const LoopRV& loop);
  TVM_DLL void Bind(const LoopRV& loop, const Str& thread_axis);
  TVM_DLL void Unroll(const LoopRV& loop);
  TVM_DLL SBlockRV CacheRead(const SBlockRV& block, int64_t read_buffer_index, const Str& scope,
                             const Blocks& consumer_blocks = {});
  TVM_DLL SBlockRV CacheWrite(const SBlockRV& block, int64_t write_buffer_index, const Str& scope,
                              const Blocks& consumer_blocks = {});
  TVM_DLL SBlockRV ReindexCacheRead(const SBlockRV& block, int64_t read_buffer_index,
                                    const Str& scope, const tirx::IndexMap& index_map);
  TVM_DLL SBlockRV ReindexCacheWrite(const SBlockRV& block, int64_t write_buffer_index,
                                     const Str& scope, const tirx::IndexMap& index_map);
  TVM_DLL Blocks CacheInplace(const SBlockRV& block, int64_t read_buffer_index, const Str& scope);
  TVM_DLL Blocks CacheIndex(const SBlockRV& block, const Str& scope, int64_t cse_thresh = 0);
  TVM_DLL SBlockRV ReIndex(const SBlockRV& block, int64_t buffer_index, bool is_write);
  TVM_DLL SBlockRV ReadAt(const LoopRV& loop, const SBlockRV& block, int64_t read_buffer_index,
                          const Str& scope);
  TVM_DLL SBlockRV WriteAt(const LoopRV& loop, const SBlockRV& block, int64_t write_buffer_index,
                           const Str& scope);
  TVM_DLL void ComputeAt(const SBlockRV& block, const LoopRV& loop,
                         bool preserve_unit_loops = false, int64_t index = -1);
  TVM_DLL void ReverseComputeAt(const SBlockRV& block, const LoopRV& loop,
                                bool preserve_unit_loops = false, int64_t index = -1);
  TVM_DLL void ComputeInline(const SBlockRV& block);
  TVM_DLL void ReverseComputeInline(const SBlockRV& block);
  TVM_DLL void FuseReductionEpilogue(const SBlockRV& reduction, const SBlockRV& epilogue);
  TVM_DLL SBlockRV DecomposeReduction(const SBlockRV& block, const LoopRV& loop);
  TVM_DLL SBlockRV RFactor(const LoopRV& loop, int64_t factor_axis);
  TVM_DLL void StorageAlign(const SBlockRV& block, int64_t buffer_index, int64_t axis,
                            int64_t factor, int64_t offset);
  TVM_DLL void SetScope(const SBlockRV& block, int64_t buffer_index, const Str& scope);
  TVM_DLL void UnsafeSetDType(const SBlockRV& block, int64_t buffer_index, const Str& dtype);
  TVM_DLL SBlockRV Blockize(const LoopRV& loop, bool preserve_unit_iters = true);
  TVM_DLL SBlockRV Blockize(const Blocks& blocks, bool preserve_unit_iters = true);
  TVM_DLL void Tensorize(const LoopRV& loop, const Str& intrin, bool preserve_unit_iters = true);
  TVM_DLL void Tensorize(const SBlockRV& block, const Str& intrin, bool preserve_unit_iters = true);
  TVM_DLL void Annotate(const LoopRV& loop, const Str& key, const ffi::Any& value);
  TVM_DLL void Annotate(const SBlockRV& block, const Str& key, const ffi::Any& value);
  TVM_DLL void Unannotate(const LoopRV& loop, const Str& key);
  TVM_DLL void Unannotate(const SBlockRV& block, const Str& key);
  TVM_DLL void TransformLayout(const SBlockRV& block, int64_t buffer_index, bool is_write,
                               const tirx::IndexMap& index_map,
                               ffi::Optional<tirx::IndexMap> pad_value = std::nullopt,
                               bool assume_injective_transform = false);
  TVM_DLL void TransformBlockLayout(const SBlockRV& block, const tirx::IndexMap& index_map);
  TVM_DLL SBlockRV DecomposePadding(const SBlockRV& block, const LoopRV& loop);
  TVM_DLL void PadEinsum(const SBlockRV& block, const Ints& padding);
  TVM_DLL void RollingBuffer(const SBlockRV& block, int64_t write_buffer_index);
  TVM_DLL void EnterPostproc();
  TVM_DLL void UnsafeHideBufferAccess(const SBlockRV& block, const Str& buf_type,
                                      const Ints& buf_index_array);
  TVM_DLL void AnnotateBufferAccess(const SBlockRV& block, int64_t buffer_index, bool is_write,
                                    const tirx::IndexMap& index_map);

  static void RegisterReflection();
  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("s_tir.Schedule", ScheduleNode, ffi::Object);

 private:
  friend class Schedule;
  StmtSRef Lookup(const ffi::Object* rv, const char* kind) const;

  ScheduleState state_;
  ffi::Optional<Trace> trace_;
  ffi::Optional<GlobalVar> func_working_on_;
  /// Block and loop variables -> StmtSRef, sampled variables -> int. Holding the variable keeps its
  /// address from being used again.
  struct Value {
    ffi::ObjectRef rv;
    ffi::Any value;
  };
  std::unordered_map<const ffi::Object*, Value> symbols_;
  int error_render_level_ = 0;
  int64_t rand_state_ = 1;
};

class Schedule : public ffi::ObjectRef {
 public:
  /// A schedule that records its steps. `error_render_level`: 0 detail, 1 fast, 2 none.
  TVM_DLL static Schedule Traced(IRModule mod, int64_t seed = -1, int debug_mask = 0,
                                 int error_render_level = 0, bool enable_check = true);
  /// A schedule that does not.
  TVM_DLL static Schedule Concrete(IRModule mod, int64_t seed = -1, int debug_mask = 0,
                                   int error_render_level = 0, bool enable_check = true);
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Schedule, ffi::ObjectRef, ScheduleNode);
};

}  // namespace s_tir
}  // namespace tvm

#endif  // TVM_S_TIR_SCHEDULE_SCHEDULE_H_
