// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief FlushSubnormals: kernels may round to bfloat16 by the processor's own instruction.
///
///   @T.prim_func                 =>   the same with attribute tirx.flush_subnormals
///
/// Products in bfloat16 take subnormal operands for zero anyway, so that a program whose operands
/// are rounded on request loses nothing by it, and a conversion costs one instruction, not seven.
/// Nor does it by a shorter polynomial for what is rounded right away, see LowerIntrin.
#include <tvm/ir/transform.h>
#include <tvm/relax/transform.h>
#include <tvm/tirx/function.h>

#include <vector>

namespace tvm {
namespace relax {
namespace transform {

namespace {

IRModule Run(IRModule mod, const PassContext&) {
  std::vector<std::pair<GlobalVar, tirx::PrimFunc>> changed;
  for (const auto& [gv, base] : mod->functions) {
    auto func = base.as<tirx::PrimFunc>();
    if (!func.has_value() || !func.value()->HasNonzeroAttr(tvm::attr::kSTir) ||
        func.value()->HasNonzeroAttr(tirx::attr::kFlushSubnormals)) {
      continue;
    }
    changed.emplace_back(gv,
                         tvm::WithAttr(func.value(), tirx::attr::kFlushSubnormals, ffi::Any(true)));
  }
  if (changed.empty()) return mod;
  auto* node = mod.CopyOnWrite();
  for (const auto& [gv, func] : changed) node->Update(gv, func);
  return mod;
}

}  // namespace

Pass FlushSubnormals() { return tvm::transform::CreateModulePass(Run, 0, "FlushSubnormals"); }

}  // namespace transform
}  // namespace relax
}  // namespace tvm
