// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// unsafe_hide_buffer_access, annotate_buffer_access: what a block states to read and write.
#include <algorithm>

#include "s_tir/schedule/primitive_registry.h"
#include "s_tir/schedule/rewrite.h"

namespace tvm {
namespace s_tir {

using namespace tirx;  // NOLINT(build/namespaces)

namespace {

void ReplaceBlock(State* state, const StmtSRef& sref, const SBlock& block) {
  const SBlock old_block = Downcast<SBlock>(sref->stmt.value());
  state->Replace(sref, block, {{old_block, block}});
  // What was found out about regions need not hold any more.
  state->ForgetFlags();
}

const PrimitiveRegistration kUnsafeHideBufferAccess{{
    .name = "UnsafeHideBufferAccess",
    .method = "unsafe_hide_buffer_access",
    .params = "block=i0 buf_type=i1 buf_index_array=i2",
    .run = [](PrimitiveCall& call) -> ffi::Array<ffi::Any> {
      const StmtSRef sref = call.Block(0);
      const std::string kind(call.inputs[1].cast<ffi::String>());
      TVM_FFI_CHECK(kind == "read" || kind == "write", ValueError)
          << "buf_type has to be \"read\" or \"write\", but is \"" << kind << "\"";
      const bool is_write = kind == "write";
      std::vector<int64_t> hidden;
      for (int64_t index : call.inputs[2].cast<ffi::Array<int64_t>>()) {
        NthRegion(sref, index, is_write);
        hidden.push_back(index);
      }
      SBlock block = Downcast<SBlock>(sref->stmt.value());
      SBlockNode* node = block.CopyOnWrite();
      ffi::Array<BufferRegion>& regions = is_write ? node->writes : node->reads;
      ffi::Array<BufferRegion> kept;
      for (size_t i = 0; i < regions.size(); ++i) {
        if (std::count(hidden.begin(), hidden.end(), static_cast<int64_t>(i)) == 0) {
          kept.push_back(regions[i]);
        }
      }
      regions = kept;
      ReplaceBlock(call.state, sref, block);
      return {};
    },
}};

const PrimitiveRegistration kAnnotateBufferAccess{{
    .name = "AnnotateBufferAccess",
    .method = "annotate_buffer_access",
    .params = "block=i0 buffer_index=i1 buf_type=i2:kind gen_new_ranges=i3",
    .run = [](PrimitiveCall& call) -> ffi::Array<ffi::Any> {
      const StmtSRef sref = call.Block(0);
      const int64_t index = call.inputs[1].cast<int64_t>();
      const bool is_write = call.inputs[2].cast<int64_t>() != 0;
      const IndexMap map = call.inputs[3].cast<IndexMap>();
      const Buffer buffer = NthBuffer(sref, index, is_write);
      SBlock block = Downcast<SBlock>(sref->stmt.value());
      SCHEDULE_CHECK(map->initial_indices.size() == block->iter_vars.size() &&
                         map->final_indices.size() == 2 * buffer.ndim(),
                     sref)
          << "The new region of " << buffer->name << " has to give the begin and end of "
          << buffer.ndim() << " axes from " << block->iter_vars.size()
          << " iteration variables of the block {0}";
      ffi::Array<PrimExpr> vars;
      for (const IterVar& iter : block->iter_vars) vars.push_back(iter->var);
      ffi::Array<PrimExpr> bounds = map->MapIndices(vars, arith::Analyzer());
      ffi::Array<Range> region;
      arith::Analyzer analyzer;
      for (size_t d = 0; d < buffer.ndim(); ++d) {
        region.push_back(Range::FromMinExtent(
            bounds[2 * d], analyzer->Simplify(bounds[2 * d + 1] - bounds[2 * d])));
      }
      SBlockNode* node = block.CopyOnWrite();
      (is_write ? node->writes : node->reads).Set(index, BufferRegion(buffer, region));
      // Passes that look at accesses anew have to take this one as it is stated.
      const char* key =
          is_write ? tirx::attr::explicit_write_region : tirx::attr::explicit_read_region;
      ffi::Array<int64_t> stated;
      if (auto it = node->annotations.find(key); it != node->annotations.end()) {
        stated = (*it).second.cast<ffi::Array<int64_t>>();
      }
      if (std::count(stated.begin(), stated.end(), index) == 0) stated.push_back(index);
      node->annotations.Set(key, stated);
      ReplaceBlock(call.state, sref, block);
      return {};
    },
}};

}  // namespace

}  // namespace s_tir
}  // namespace tvm
