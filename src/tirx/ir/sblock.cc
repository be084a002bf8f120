// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/tirx/sblock.h>

#include "tirx/ir/check.h"

namespace tvm {
namespace tirx {

MatchBufferRegion::MatchBufferRegion(Buffer buffer, BufferRegion source) {
  RequireDefined(buffer, "MatchBufferRegion", "buffer");
  RequireDefined(source, "MatchBufferRegion", "source");
  const Buffer& outer = source->buffer;
  auto mismatch = [&](const char* what, const auto& expected, const auto& found) {
    TVM_FFI_THROW(ValueError) << "MatchBufferRegion: " << what << " of " << buffer->name
                              << " must be that of " << outer->name << " (" << expected
                              << "), but is " << found;
  };
  if (buffer.scope() != outer.scope()) mismatch("the scope", outer.scope(), buffer.scope());
  if (buffer.dtype() != outer.dtype()) mismatch("the dtype", outer.dtype(), buffer.dtype());
  if (buffer.data_alignment() > outer.data_alignment() &&
      outer.data_alignment() % buffer.data_alignment() != 0) {
    mismatch("the data alignment", outer.data_alignment(), buffer.data_alignment());
  }
  // The view keeps the trailing dimensions; leading ones it drops must have extent 1.
  size_t source_ndim = source->region.size();
  size_t ndim = buffer.ndim();
  if (ndim > source_ndim) mismatch("the number of dimensions", source_ndim, ndim);
  for (size_t i = 0; i < source_ndim - ndim; ++i) {
    const auto* extent = source->region[i]->extent.as<IntImmNode>();
    if (extent == nullptr || extent->value != 1) {
      TVM_FFI_THROW(ValueError) << "MatchBufferRegion: dimension " << i << " of the region of "
                                << outer->name << " is dropped by " << buffer->name
                                << " and must have extent 1, but has " << source->region[i]->extent;
    }
  }
  for (size_t i = 0; i < ndim; ++i) {
    const PrimExpr& expected = source->region[source_ndim - ndim + i]->extent;
    const auto* lhs = expected.as<IntImmNode>();
    const auto* rhs = buffer.shape()[i].as<IntImmNode>();
    if (lhs != nullptr && rhs != nullptr && lhs->value != rhs->value) {
      mismatch("an extent", lhs->value, rhs->value);
    }
  }
  auto node = ffi::make_object<MatchBufferRegionNode>();
  node->buffer = std::move(buffer);
  node->source = std::move(source);
  data_ = std::move(node);
}

void MatchBufferRegionNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<MatchBufferRegionNode>()
      .def_ro("buffer", &MatchBufferRegionNode::buffer, refl::AttachFieldFlag::SEqHashDefPattern())
      .def_ro("source", &MatchBufferRegionNode::source);
}

SBlock::SBlock(ffi::Array<IterVar> iter_vars, ffi::Array<BufferRegion> reads,
               ffi::Array<BufferRegion> writes, ffi::String name_hint, Stmt body,
               ffi::Optional<Stmt> init, ffi::Array<Buffer> alloc_buffers,
               ffi::Array<MatchBufferRegion> match_buffers,
               ffi::Map<ffi::String, ffi::Any> annotations, Span span) {
  RequireDefined(body, "SBlock", "body");
  auto node = ffi::make_object<SBlockNode>();
  node->iter_vars = std::move(iter_vars);
  node->reads = std::move(reads);
  node->writes = std::move(writes);
  node->name_hint = std::move(name_hint);
  node->body = std::move(body);
  node->init = std::move(init);
  node->alloc_buffers = std::move(alloc_buffers);
  node->match_buffers = std::move(match_buffers);
  node->annotations = std::move(annotations);
  node->span = std::move(span);
  data_ = std::move(node);
}

void SBlockNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<SBlockNode>()
      .def_ro("iter_vars", &SBlockNode::iter_vars, refl::AttachFieldFlag::SEqHashDefSimple())
      .def_ro("reads", &SBlockNode::reads)
      .def_ro("writes", &SBlockNode::writes)
      .def_ro("name_hint", &SBlockNode::name_hint, refl::AttachFieldFlag::SEqHashIgnore())
      .def_ro("alloc_buffers", &SBlockNode::alloc_buffers,
              refl::AttachFieldFlag::SEqHashDefSimple())
      .def_ro("match_buffers", &SBlockNode::match_buffers)
      .def_ro("annotations", &SBlockNode::annotations)
      .def_ro("init", &SBlockNode::init)
      .def_ro("body", &SBlockNode::body);
}

SBlockRealize::SBlockRealize(ffi::Array<PrimExpr> iter_values, PrimExpr predicate, SBlock block,
                             Span span) {
  RequireDefined(block, "SBlockRealize", "block");
  RequireBool(predicate, "SBlockRealize");
  if (iter_values.size() != block->iter_vars.size()) {
    TVM_FFI_THROW(ValueError) << "SBlockRealize: block " << block->name_hint << " has "
                              << block->iter_vars.size() << " iteration variables, but "
                              << iter_values.size() << " values were given";
  }
  auto node = ffi::make_object<SBlockRealizeNode>();
  node->iter_values = std::move(iter_values);
  node->predicate = std::move(predicate);
  node->block = std::move(block);
  node->span = std::move(span);
  data_ = std::move(node);
}

void SBlockRealizeNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<SBlockRealizeNode>()
      .def_ro("iter_values", &SBlockRealizeNode::iter_values)
      .def_ro("predicate", &SBlockRealizeNode::predicate)
      .def_ro("block", &SBlockRealizeNode::block);
}

TVM_FFI_STATIC_INIT_BLOCK() {
  MatchBufferRegionNode::RegisterReflection();
  SBlockNode::RegisterReflection();
  SBlockRealizeNode::RegisterReflection();

  namespace refl = ffi::reflection;
  refl::GlobalDef()
      .def("tirx.MatchBufferRegion",
           [](Buffer buffer, BufferRegion source) { return MatchBufferRegion(buffer, source); })
      .def("tirx.SBlock",
           [](ffi::Array<IterVar> iter_vars, ffi::Array<BufferRegion> reads,
              ffi::Array<BufferRegion> writes, ffi::String name_hint, Stmt body,
              ffi::Optional<Stmt> init, ffi::Array<Buffer> alloc_buffers,
              ffi::Array<MatchBufferRegion> match_buffers,
              ffi::Map<ffi::String, ffi::Any> annotations, Span span) {
             return SBlock(iter_vars, reads, writes, name_hint, body, init, alloc_buffers,
                           match_buffers, annotations, span);
           })
      .def("tirx.SBlockRealize",
           [](ffi::Array<PrimExpr> iter_values, PrimExpr predicate, SBlock block, Span span) {
             return SBlockRealize(iter_values, predicate, block, span);
           });
}

}  // namespace tirx
}  // namespace tvm
