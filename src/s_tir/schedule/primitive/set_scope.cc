// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// set_scope, unsafe_set_dtype: another type for a buffer that the program allocates.
/// storage_align: how the rows of one are spaced.
#include <tvm/tirx/op.h>

#include "s_tir/schedule/primitive_registry.h"
#include "s_tir/schedule/rewrite.h"

namespace tvm {
namespace s_tir {

using namespace tirx;  // NOLINT(build/namespaces)

namespace {

/// Gives a buffer another type where it is allocated and used. Elements are converted where they
/// are loaded and stored if their type changes.
class BufferRetyper final : public BlockMutator {
 public:
  BufferRetyper(const Buffer& from, const Buffer& to) : from_(from), to_(to) {
    buffer_remap_[from.get()] = to;
  }
  Stmt Run(const Stmt& stmt) { return VisitStmt(stmt); }

 private:
  Buffer VisitBufferDef(const Buffer& buffer) final {
    if (buffer.same_as(from_)) return to_;
    return BlockMutator::VisitBufferDef(buffer);
  }
  Stmt VisitStmt_(const SBlockNode* op) final {
    Stmt visited = BlockMutator::VisitStmt_(op);
    // A view of a region has the scope and element type of what it views.
    SBlock block = Downcast<SBlock>(visited);
    for (const MatchBufferRegion& match : block->match_buffers) {
      SCHEDULE_CHECK(!match->source->buffer.same_as(to_), ffi::GetRef<ffi::ObjectRef>(op))
          << "The block {0} matches a buffer to a region of " << from_->name
          << ", whose type would no longer fit";
    }
    return visited;
  }
  Stmt VisitStmt_(const BufferStoreNode* op) final {
    Stmt visited = BlockMutator::VisitStmt_(op);
    BufferStore store = Downcast<BufferStore>(visited);
    if (!store->buffer.same_as(to_) || from_.dtype() == to_.dtype()) return visited;
    store.CopyOnWrite()->value = cast(to_.dtype(), store->value);
    return store;
  }
  Expr VisitExpr_(const BufferLoadNode* op) final {
    Expr visited = BlockMutator::VisitExpr_(op);
    const auto* load = visited.as<BufferLoadNode>();
    if (!load->buffer.same_as(to_) || from_.dtype() == to_.dtype()) return visited;
    return cast(from_.dtype(), BufferLoad(to_, load->indices, load->predicate));
  }

  Buffer from_, to_;
};

StmtSRef RequireAllocation(const StmtSRef& block, const Buffer& buffer) {
  StmtSRef site = AllocationSite(block, buffer);
  SCHEDULE_CHECK(site.defined(), block)
      << "The buffer " << buffer->name << " that the block {0} writes is a parameter of the "
      << "function; the buffer has to be allocated in the function";
  return site;
}

void Retype(State* state, const StmtSRef& site, const Buffer& from, const Buffer& to) {
  BufferRetyper retyper(from, to);
  Stmt block = retyper.Run(site->stmt.value());
  state->Replace(site, block, retyper.reuse);
}

void CheckScope(const std::string& scope) {
  const size_t dot = scope.find('.');
  const std::string head = scope.substr(0, dot);
  for (const char* known : {"global", "shared", "local", "warp", "wmma", "m16n8k8", "tmem", "trn",
                            "texture", "metal", "vtcm"}) {
    if (head == known || head.rfind("texture", 0) == 0) return;
  }
  TVM_FFI_THROW(ValueError) << "unknown storage scope \"" << scope << "\"";
}

const PrimitiveRegistration kSetScope{{
    .name = "SetScope",
    .method = "set_scope",
    .params = "block=i0 buffer_index=a0 storage_scope=a1",
    .run = [](PrimitiveCall& call) -> ffi::Array<ffi::Any> {
      const StmtSRef block = call.Block(0);
      const std::string scope(call.Attr<ffi::String>(1));
      CheckScope(scope);
      const Buffer buffer = NthBuffer(block, call.Int(0), /*is_write=*/true);
      const StmtSRef site = RequireAllocation(block, buffer);
      if (buffer.scope() == scope) return {};
      BufferType type = buffer.buffer_type();
      type.CopyOnWrite()->storage_scope = scope;
      Retype(call.state, site, buffer, buffer.WithType(type));
      return {};
    },
}};

const PrimitiveRegistration kUnsafeSetDType{{
    .name = "UnsafeSetDType",
    .method = "unsafe_set_dtype",
    .params = "block=i0 buffer_index=a0 dtype=a1",
    .run = [](PrimitiveCall& call) -> ffi::Array<ffi::Any> {
      const StmtSRef block = call.Block(0);
      const DataType dtype(ffi::StringToDLDataType(call.Attr<ffi::String>(1)));
      const Buffer buffer = NthBuffer(block, call.Int(0), /*is_write=*/true);
      const StmtSRef site = RequireAllocation(block, buffer);
      if (buffer.dtype() == dtype) return {};
      BufferType type = buffer.buffer_type();
      type.CopyOnWrite()->dtype = dtype;
      Retype(call.state, site, buffer, buffer.WithType(type));
      return {};
    },
}};

using AlignEntry = ffi::Array<int64_t>;  // buffer index, axis, factor, offset

const PrimitiveRegistration kStorageAlign{{
    .name = "StorageAlign",
    .method = "storage_align",
    .params = "block=i0 buffer_index=a0 axis=a1 factor=a2 offset=a3",
    .run = [](PrimitiveCall& call) -> ffi::Array<ffi::Any> {
      const StmtSRef block = call.Block(0);
      int64_t axis = call.Int(1);
      const int64_t factor = call.Int(2), offset = call.Int(3);
      const Buffer buffer = NthBuffer(block, call.Int(0), /*is_write=*/true);
      RequireAllocation(block, buffer);
      const int64_t ndim = static_cast<int64_t>(buffer.ndim());
      SCHEDULE_CHECK(axis >= -ndim && axis < ndim, block)
          << "The axis of the buffer " << buffer->name << " that the block {0} writes has to be in "
          << "[" << -ndim << ", " << ndim << "), but is " << axis;
      if (axis < 0) axis += ndim;
      SCHEDULE_CHECK(factor > 0, block)
          << "The alignment factor for {0} has to be positive, but is " << factor;
      SBlock old_block = Downcast<SBlock>(block->stmt.value());
      ffi::Array<AlignEntry> entries;
      if (auto it = old_block->annotations.find(tirx::attr::buffer_dim_align);
          it != old_block->annotations.end()) {
        for (const AlignEntry& entry : (*it).second.cast<ffi::Array<AlignEntry>>()) {
          if (entry[0] != call.Int(0) || entry[1] != axis) entries.push_back(entry);
        }
      }
      entries.push_back({call.Int(0), axis, factor, offset});
      SBlock new_block = old_block;
      new_block.CopyOnWrite()->annotations.Set(tirx::attr::buffer_dim_align, entries);
      call.state->Replace(block, new_block, {{old_block, new_block}});
      return {};
    },
}};

}  // namespace

}  // namespace s_tir
}  // namespace tvm
