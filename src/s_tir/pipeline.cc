// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// The CPU pipeline: what happens to a function between scheduling and code generation, in order.
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/s_tir/transform.h>

namespace tvm {
namespace s_tir {
namespace transform {

namespace {

using tvm::transform::PassContext;

bool Enabled(const char* disable_key) {
  return !PassContext::Current()->GetConfig<bool>(disable_key, false).value();
}

void Append(ffi::Array<Pass>* list, const ffi::Array<Pass>& more) {
  for (const Pass& pass : more) list->push_back(pass);
}

/// From blocks to plain loops. Functions without blocks pass through untouched.
ffi::Array<Pass> LowerBlocks() {
  return {
      CanonicalizeLoop(),      LowerInitBlock(),          PlanAndUpdateBufferAllocationLocation(),
      ConvertBlocksToOpaque(), CompactBufferAllocation(), LowerMatchBuffer(),
      LowerOpaqueBlock(),
  };
}

/// From plain loops to flat vector code.
ffi::Array<Pass> LowerLoops() {
  ffi::Array<Pass> passes{
      tirx::transform::FlattenBuffer(),
      tirx::transform::VectorizeLoop(Enabled("tirx.disable_vectorize")),
  };
  if (Enabled("tirx.disable_storage_rewrite")) passes.push_back(tirx::transform::StorageRewrite());
  Append(&passes, {
                      tirx::transform::UnrollLoop(),
                      tirx::transform::StmtSimplify(),
                      tirx::transform::RemoveNoOp(),
                      RewriteUnsafeSelect(),
                  });
  return passes;
}

/// From functions with the types of the program to functions with the packed convention.
ffi::Array<Pass> LowerAbi() {
  return {
      tirx::transform::VerifyMemory(),
      tirx::transform::AnnotateEntryFunc(),
      tirx::transform::SplitHostDevice(),
      tirx::transform::MakePackedAPI(),
  };
}

}  // namespace

Pass CpuPipeline() {
  ffi::Array<Pass> passes;
  Append(&passes, LowerBlocks());
  Append(&passes, LowerLoops());
  Append(&passes, LowerAbi());
  return tvm::transform::Sequential(passes, "s_tir.CpuPipeline");
}

Pass FinalizeHost() {
  return tvm::transform::Sequential(
      {
          tirx::transform::LowerTVMBuiltin(),
          tirx::transform::LowerIntrin(),
      },
      "s_tir.FinalizeHost");
}

Pass LowerCpu() {
  return tvm::transform::Sequential({CpuPipeline(), FinalizeHost()}, "s_tir.LowerCpu");
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = ffi::reflection;
  refl::GlobalDef()
      .def("s_tir.transform.CpuPipeline", [] { return CpuPipeline(); })
      .def("s_tir.transform.FinalizeHost", [] { return FinalizeHost(); })
      .def("s_tir.transform.LowerCpu", [] { return LowerCpu(); });
}

}  // namespace transform
}  // namespace s_tir
}  // namespace tvm
