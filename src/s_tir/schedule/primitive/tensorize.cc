// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// tensorize: a block that computes what an intrinsic describes is replaced by its implementation.
#include "s_tir/schedule/primitive/blockize.h"
#include "s_tir/schedule/primitive/intrin_match.h"
#include "s_tir/schedule/primitive/loop_checks.h"

namespace tvm {
namespace s_tir {

using namespace tirx;  // NOLINT(build/namespaces)

namespace {

const SBlockNode* RootBlock(const PrimFunc& func, const char* what, const std::string& intrin) {
  const auto* realize = func->body.as<SBlockRealizeNode>();
  TVM_FFI_CHECK(realize != nullptr, ValueError)
      << "the " << what << " of the tensor intrinsic " << intrin << " has to be a function of "
      << "blocks, with a root block";
  return realize->block.get();
}

/// The part of `matched` that the intrinsic's buffer `formal` stands for.
BufferRegion ActualRegion(const Buffer& formal, const IntrinMatch::Binding& binding) {
  ffi::Array<Range> region;
  const size_t extra = binding.buffer.ndim() - formal.ndim();
  for (size_t d = 0; d < binding.buffer.ndim(); ++d) {
    const PrimExpr& begin = binding.offsets[d];
    PrimExpr extent =
        d < extra ? make_const(begin.dtype(), 1) : cast(begin.dtype(), formal.shape()[d - extra]);
    region.push_back(Range::FromMinExtent(begin, extent));
  }
  return BufferRegion(binding.buffer, region);
}

void Tensorize(State* state, StmtSRef target, const std::string& name, bool preserve_unit_iters) {
  const TensorIntrin intrin = TensorIntrin::Get(name).value();
  if (target->StmtAs<ForNode>() != nullptr) {
    target = Blockize(state, target, preserve_unit_iters);
  }
  const SBlock block = Downcast<SBlock>(target->stmt.value());
  const SBlockNode* desc = RootBlock(intrin->desc, "description", name);
  arith::Analyzer analyzer = AnalyzerAt(*state, target);
  IntrinMatch match(intrin->desc, analyzer);
  SCHEDULE_CHECK(match.Match(desc->body, block->body), target)
      << "The block {0} does not compute what the tensor intrinsic " << name
      << " describes: " << match.error();

  const PrimFunc impl = RenewDefs(intrin->impl);
  const SBlockNode* impl_root = RootBlock(impl, "implementation", name);
  TVM_FFI_CHECK(impl->params.size() == intrin->desc->params.size(), ValueError)
      << "the description and the implementation of the tensor intrinsic " << name
      << " have to have the same parameters";
  ffi::Array<MatchBufferRegion> matches = impl_root->match_buffers;
  ffi::Array<MatchBufferRegion> views;
  for (size_t i = 0; i < impl->params.size(); ++i) {
    if (!IsBuffer(impl->params[i].get())) continue;
    const Buffer formal(impl->params[i]);
    const auto* binding = match.Find(Buffer(intrin->desc->params[i]));
    SCHEDULE_CHECK(binding != nullptr, target)
        << "The buffer " << formal->name << " of the tensor intrinsic " << name
        << " is not used by its description";
    SCHEDULE_CHECK(formal.scope() == binding->buffer.scope() || formal.scope() == "global", target)
        << "The tensor intrinsic " << name << " works on a buffer " << formal->name
        << " in the scope " << formal.scope() << ", but " << binding->buffer->name
        << " of the block {0} is in the scope " << binding->buffer.scope();
    Buffer view = formal;
    if (formal.scope() != binding->buffer.scope()) {
      BufferType type = formal.buffer_type();
      type.CopyOnWrite()->storage_scope = binding->buffer.scope();
      view = formal.WithType(type);
    }
    views.push_back(MatchBufferRegion(view, ActualRegion(formal, *binding)));
  }
  ffi::Map<Buffer, Buffer> renamed;
  for (size_t i = 0, v = 0; i < impl->params.size(); ++i) {
    if (IsBuffer(impl->params[i].get())) renamed.Set(Buffer(impl->params[i]), views[v++]->buffer);
  }
  Substituter rename({}, renamed);
  SBlock body_holder({}, {}, {}, "", impl_root->body, std::nullopt, {}, matches);
  body_holder = Downcast<SBlock>(rename.Run(body_holder));
  for (const MatchBufferRegion& own : body_holder->match_buffers) views.push_back(own);
  SBlock changed = block;
  SBlockNode* node = changed.CopyOnWrite();
  node->body = body_holder->body;
  node->match_buffers = views;
  node->alloc_buffers = impl_root->alloc_buffers;
  for (const auto& [key, value] : impl_root->annotations) node->annotations.Set(key, value);
  state->Replace(target, changed, {{block, changed}});
}

const PrimitiveRegistration kTensorize{{
    .name = "Tensorize",
    .method = "tensorize",
    .params = "block_or_loop=i0 tensor_intrin=a0 preserve_unit_iters=a1:bool",
    .run = [](PrimitiveCall& call) -> ffi::Array<ffi::Any> {
      Tensorize(call.state, call.BlockOrLoop(0), std::string(call.Attr<ffi::String>(0)),
                call.Flag(1));
      return {};
    },
}};

}  // namespace

}  // namespace s_tir
}  // namespace tvm
