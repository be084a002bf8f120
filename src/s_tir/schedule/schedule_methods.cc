// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// The typed methods of a schedule: each passes its arguments on as the instruction holds them.
#include <tvm/s_tir/schedule/schedule.h>

namespace tvm {
namespace s_tir {

using tirx::IndexMap;
using Anys = ffi::Array<ffi::Any>;

namespace {

template <typename T>
ffi::Array<T> ListOf(const Anys& values) {
  ffi::Array<T> result;
  for (const ffi::Any& value : values) result.push_back(value.cast<T>());
  return result;
}

template <typename T>
Anys Flat(const ffi::Array<T>& values, Anys front = {}) {
  for (const auto& value : values) front.push_back(ffi::Any(value));
  return front;
}

int64_t Int(bool flag) { return flag ? 1 : 0; }

}  // namespace

using S = ScheduleNode;

ExprRV S::SampleCategorical(const Ints& candidates, const ffi::Array<double>& probs,
                            ffi::Any decision) {
  return Run("SampleCategorical", {}, {candidates, probs}, decision)[0].cast<ExprRV>();
}
RVList<ExprRV> S::SamplePerfectTile(const LoopRV& loop, int64_t n, int64_t max_innermost_factor,
                                    ffi::Any decision) {
  return ListOf<ExprRV>(Run("SamplePerfectTile", {loop}, {n, max_innermost_factor}, decision));
}
RVList<ExprRV> S::SamplePartitionedTile(const LoopRV& loop, int64_t n, int64_t partition_pos,
                                        int64_t innerpart_factor, ffi::Any decision) {
  return ListOf<ExprRV>(
      Run("SamplePartitionedTile", {loop}, {n, partition_pos, innerpart_factor}, decision));
}
LoopRV S::SampleComputeLocation(const SBlockRV& block, ffi::Any decision) {
  return Run("SampleComputeLocation", {block}, {}, decision)[0].cast<LoopRV>();
}
SBlockRV S::GetSBlock(const Str& name, ffi::Optional<Str> func_name) {
  return Run("GetSBlock", {}, {name, func_name})[0].cast<SBlockRV>();
}
S::Loops S::GetLoops(const SBlockRV& block) { return ListOf<LoopRV>(Run("GetLoops", {block}, {})); }
S::Blocks S::GetChildBlocks(const SBlockRV& block) {
  return ListOf<SBlockRV>(Run("GetChildBlocks", {block}, {}));
}
S::Blocks S::GetChildBlocks(const LoopRV& loop) {
  return ListOf<SBlockRV>(Run("GetChildBlocks", {loop}, {}));
}
S::Blocks S::GetProducers(const SBlockRV& block) {
  return ListOf<SBlockRV>(Run("GetProducers", {block}, {}));
}
S::Blocks S::GetConsumers(const SBlockRV& block) {
  return ListOf<SBlockRV>(Run("GetConsumers", {block}, {}));
}
S::Blocks S::GetOutputBlocks(const SBlockRV& scope_block) {
  return ListOf<SBlockRV>(Run("GetOutputBlocks", {scope_block}, {}));
}
LoopRV S::Merge(const Loops& loops) { return Run("Merge", Flat(loops), {})[0].cast<LoopRV>(); }
LoopRV S::Fuse(const Loops& loops, bool preserve_unit_iters) {
  return Run("Fuse", Flat(loops), {Int(preserve_unit_iters)})[0].cast<LoopRV>();
}
S::Loops S::Split(const LoopRV& loop, const Factors& factors, bool preserve_unit_iters,
                  bool disable_predication) {
  return ListOf<LoopRV>(
      Run("Split", Flat(factors, {loop}), {Int(preserve_unit_iters), Int(disable_predication)}));
}
S::Loops S::LoopPartition(const LoopRV& loop, const Factors& factors, bool preserve_unit_iters) {
  return ListOf<LoopRV>(Run("LoopPartition", Flat(factors, {loop}), {Int(preserve_unit_iters)}));
}
void S::Reorder(const Loops& loops) { Run("Reorder", Flat(loops), {}); }
void S::ReorderBlockIterVar(const SBlockRV& block, const Ints& new_order) {
  Run("ReorderBlockIterVar", {block, new_order}, {});
}
LoopRV S::AddUnitLoop(const SBlockRV& block) {
  return Run("AddUnitLoop", {block}, {})[0].cast<LoopRV>();
}
LoopRV S::AddUnitLoop(const LoopRV& loop) {
  return Run("AddUnitLoop", {loop}, {})[0].cast<LoopRV>();
}
void S::Parallel(const LoopRV& loop) { Run("Parallel", {loop}, {}); }
void S::Vectorize(const LoopRV& loop) { Run("Vectorize", {loop}, {}); }
void S::Bind(const LoopRV& loop, const Str& thread_axis) { Run("Bind", {loop}, {thread_axis}); }
void S::Unroll(const LoopRV& loop) { Run("Unroll", {loop}, {}); }
SBlockRV S::CacheRead(const SBlockRV& block, int64_t index, const Str& scope,
                      const Blocks& consumer_blocks) {
  return Run("CacheRead", {block, consumer_blocks}, {index, scope})[0].cast<SBlockRV>();
}
SBlockRV S::CacheWrite(const SBlockRV& block, int64_t index, const Str& scope,
                       const Blocks& consumer_blocks) {
  return Run("CacheWrite", {block, consumer_blocks}, {index, scope})[0].cast<SBlockRV>();
}
SBlockRV S::ReindexCacheRead(const SBlockRV& block, int64_t index, const Str& scope,
                             const IndexMap& index_map) {
  return Run("ReindexCacheRead", {block, index_map}, {index, scope})[0].cast<SBlockRV>();
}
SBlockRV S::ReindexCacheWrite(const SBlockRV& block, int64_t index, const Str& scope,
                              const IndexMap& index_map) {
  return Run("ReindexCacheWrite", {block, index_map}, {index, scope})[0].cast<SBlockRV>();
}
S::Blocks S::CacheInplace(const SBlockRV& block, int64_t index, const Str& scope) {
  return ListOf<SBlockRV>(Run("CacheInplace", {block}, {index, scope}));
}
S::Blocks S::CacheIndex(const SBlockRV& block, const Str& scope, int64_t cse_thresh) {
  return ListOf<SBlockRV>(Run("CacheIndex", {block}, {scope, cse_thresh}));
}
SBlockRV S::ReIndex(const SBlockRV& block, int64_t buffer_index, bool is_write) {
  return Run("ReIndex", {block}, {buffer_index, Int(is_write)})[0].cast<SBlockRV>();
}
SBlockRV S::ReadAt(const LoopRV& loop, const SBlockRV& block, int64_t index, const Str& scope) {
  return Run("ReadAt", {loop, block}, {index, scope})[0].cast<SBlockRV>();
}
SBlockRV S::WriteAt(const LoopRV& loop, const SBlockRV& block, int64_t index, const Str& scope) {
  return Run("WriteAt", {loop, block}, {index, scope})[0].cast<SBlockRV>();
}
void S::ComputeAt(const SBlockRV& block, const LoopRV& loop, bool preserve_unit_loops,
                  int64_t index) {
  Run("ComputeAt", {block, loop}, {Int(preserve_unit_loops), index});
}
void S::ReverseComputeAt(const SBlockRV& block, const LoopRV& loop, bool preserve_unit_loops,
                         int64_t index) {
  Run("ReverseComputeAt", {block, loop}, {Int(preserve_unit_loops), index});
}
void S::ComputeInline(const SBlockRV& block) { Run("ComputeInline", {block}, {}); }
void S::ReverseComputeInline(const SBlockRV& block) { Run("ReverseComputeInline", {block}, {}); }
void S::FuseReductionEpilogue(const SBlockRV& reduction, const SBlockRV& epilogue) {
  Run("FuseReductionEpilogue", {reduction, epilogue}, {});
}
SBlockRV S::DecomposeReduction(const SBlockRV& block, const LoopRV& loop) {
  return Run("DecomposeReduction", {block, loop}, {})[0].cast<SBlockRV>();
}
SBlockRV S::RFactor(const LoopRV& loop, int64_t factor_axis) {
  return Run("RFactor", {loop}, {factor_axis})[0].cast<SBlockRV>();
}
void S::StorageAlign(const SBlockRV& block, int64_t buffer_index, int64_t axis, int64_t factor,
                     int64_t offset) {
  Run("StorageAlign", {block}, {buffer_index, axis, factor, offset});
}
void S::SetScope(const SBlockRV& block, int64_t buffer_index, const Str& scope) {
  Run("SetScope", {block}, {buffer_index, scope});
}
void S::UnsafeSetDType(const SBlockRV& block, int64_t buffer_index, const Str& dtype) {
  Run("UnsafeSetDType", {block}, {buffer_index, dtype});
}
SBlockRV S::Blockize(const LoopRV& loop, bool preserve_unit_iters) {
  return Run("Blockize", {loop}, {Int(preserve_unit_iters)})[0].cast<SBlockRV>();
}
SBlockRV S::Blockize(const Blocks& blocks, bool preserve_unit_iters) {
  return Run("Blockize", {blocks}, {Int(preserve_unit_iters)})[0].cast<SBlockRV>();
}
void S::Tensorize(const LoopRV& loop, const Str& intrin, bool preserve_unit_iters) {
  Run("Tensorize", {loop}, {intrin, Int(preserve_unit_iters)});
}
void S::Tensorize(const SBlockRV& block, const Str& intrin, bool preserve_unit_iters) {
  Run("Tensorize", {block}, {intrin, Int(preserve_unit_iters)});
}
void S::Annotate(const LoopRV& loop, const Str& key, const ffi::Any& value) {
  Run("Annotate", {loop, value}, {key});
}
void S::Annotate(const SBlockRV& block, const Str& key, const ffi::Any& value) {
  Run("Annotate", {block, value}, {key});
}
void S::Unannotate(const LoopRV& loop, const Str& key) { Run("Unannotate", {loop}, {key}); }
void S::Unannotate(const SBlockRV& block, const Str& key) { Run("Unannotate", {block}, {key}); }
void S::TransformLayout(const SBlockRV& block, int64_t buffer_index, bool is_write,
                        const IndexMap& index_map, ffi::Optional<IndexMap> pad_value,
                        bool assume_injective_transform) {
  Run("TransformLayout", {block, index_map},
      {buffer_index, Int(is_write), pad_value, Int(assume_injective_transform)});
}
void S::TransformBlockLayout(const SBlockRV& block, const IndexMap& index_map) {
  Run("TransformBlockLayout", {block}, {index_map});
}
SBlockRV S::DecomposePadding(const SBlockRV& block, const LoopRV& loop) {
  return Run("DecomposePadding", {block, loop}, {})[0].cast<SBlockRV>();
}
void S::PadEinsum(const SBlockRV& block, const Ints& padding) {
  Run("PadEinsum", {block}, {padding});
}
void S::RollingBuffer(const SBlockRV& block, int64_t write_buffer_index) {
  Run("RollingBuffer", {block}, {write_buffer_index});
}
void S::EnterPostproc() { Run("EnterPostproc", {}, {}); }
void S::UnsafeHideBufferAccess(const SBlockRV& block, const Str& buf_type,
                               const Ints& buf_index_array) {
  Run("UnsafeHideBufferAccess", {block, buf_type, buf_index_array}, {});
}
void S::AnnotateBufferAccess(const SBlockRV& block, int64_t buffer_index, bool is_write,
                             const IndexMap& index_map) {
  Run("AnnotateBufferAccess", {block, buffer_index, Int(is_write), index_map}, {});
}

}  // namespace s_tir
}  // namespace tvm
