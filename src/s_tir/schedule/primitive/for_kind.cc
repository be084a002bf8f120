// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// parallel, vectorize, bind, unroll: how the iterations of a loop run.
#include "s_tir/schedule/primitive/loop_checks.h"

namespace tvm {
namespace s_tir {

using namespace tirx;  // NOLINT(build/namespaces)

namespace {

bool IsThreadAxis(const std::string& tag) {
  for (const char* known : {"blockIdx.x", "blockIdx.y", "blockIdx.z", "threadIdx.x", "threadIdx.y",
                            "threadIdx.z", "vthread.x", "vthread.y", "vthread.z", "vthread"}) {
    if (tag == known) return true;
  }
  return false;
}

/// The iterations may run at once: they touch different elements, or (for the threads of a block,
/// which can reduce among each other) add to the same.
void CheckIndependentIterations(State* state, const StmtSRef& loop, ForKind kind,
                                const std::string& tag) {
  CheckSubtreeCompactDataflow(state, loop);
  const bool reduces = kind == ForKind::kThreadBinding && tag.rfind("threadIdx", 0) == 0;
  for (const StmtSRef& block : ChildBlocks(*state, loop)) {
    CheckAffineBinding(state, block);
    const SBlockRealize realize = RealizeOf(*state, block);
    for (size_t i = 0; i < realize->iter_values.size(); ++i) {
      if (!UsesLoop(realize->iter_values[i], loop)) continue;
      const IterVar& iter = realize->block->iter_vars[i];
      SCHEDULE_CHECK(iter->iter_type == kDataPar || (reduces && iter->iter_type == kCommReduce),
                     loop, block)
          << "The loop {0} is bound to the iteration variable " << iter->var->name
          << " of the block {1}, which is " << IterVarTypeToString(iter->iter_type)
          << ": a loop that runs as " << ForKind2String(kind)
          << " may only be bound to data parallel variables"
          << (kind == ForKind::kThreadBinding ? ", a loop bound to threadIdx also to reductions"
                                              : "");
    }
  }
}

void SetKind(State* state, const StmtSRef& sref, ForKind kind, const std::string& tag = "") {
  const ForNode* old_loop = LoopOf(sref);
  SCHEDULE_CHECK(old_loop->HasTrivialStep(), sref) << "The loop {0} has a step";
  // The order of iterations is kept by unrolling, nothing needs to hold.
  if (kind != ForKind::kUnrolled) CheckIndependentIterations(state, sref, kind, tag);
  For loop = ffi::GetRef<For>(old_loop);
  ForNode* node = loop.CopyOnWrite();
  node->kind = kind;
  node->thread_binding = std::nullopt;
  if (kind == ForKind::kThreadBinding) {
    node->thread_binding = IterVar(Range(), Var(tag, node->loop_var->dtype()), kThreadIndex, tag);
  }
  state->Replace(sref, loop, {});
}

template <ForKind kKind>
ffi::Array<ffi::Any> RunSetKind(PrimitiveCall& call) {
  SetKind(call.state, call.Loop(0), kKind);
  return {};
}

const PrimitiveRegistration kParallel{{
    .name = "Parallel",
    .method = "parallel",
    .params = "loop=i0",
    .run = RunSetKind<ForKind::kParallel>,
}};

const PrimitiveRegistration kVectorize{{
    .name = "Vectorize",
    .method = "vectorize",
    .params = "loop=i0",
    .run = RunSetKind<ForKind::kVectorized>,
}};

const PrimitiveRegistration kUnroll{{
    .name = "Unroll",
    .method = "unroll",
    .params = "loop=i0",
    .run = RunSetKind<ForKind::kUnrolled>,
}};

const PrimitiveRegistration kBind{{
    .name = "Bind",
    .method = "bind",
    .params = "loop=i0 thread_axis=a0",
    .run = [](PrimitiveCall& call) -> ffi::Array<ffi::Any> {
      const std::string tag(call.Attr<ffi::String>(0));
      TVM_FFI_CHECK(IsThreadAxis(tag), ValueError)
          << "\"" << tag << "\" is no thread axis: expected blockIdx, threadIdx or vthread with "
          << ".x, .y or .z";
      SetKind(call.state, call.Loop(0), ForKind::kThreadBinding, tag);
      return {};
    },
}};

}  // namespace

}  // namespace s_tir
}  // namespace tvm
