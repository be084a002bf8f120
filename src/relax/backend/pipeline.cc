// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief The pipelines: one readable list each, made of shared lists.
#include "relax/backend/pipeline.h"

#include <string>

namespace tvm {
namespace relax {

using transform::Pass;

namespace {

void Append(Array<Pass>* list, const Array<Pass>& more) {
  for (const Pass& p : more) list->push_back(p);
}

/// Graph clean-up that holds for every target.
Array<Pass> Simplification() {
  return {
      transform::Normalize(),
      transform::LambdaLift(),
      transform::DecomposeOpsForInference(),
      transform::CanonicalizeBindings(),
      transform::FoldConstant(),
      transform::EliminateCommonSubexpr(),
      transform::DeadCodeElimination(),
  };
}

/// From operators to groups that are one kernel each.
Array<Pass> Fusion(const Target& target) {
  return {
      transform::SimplifyInference(),   transform::PlanLayout(target),
      transform::FoldConstant(),        transform::CanonicalizeBindings(),
      transform::DeadCodeElimination(), transform::LowerGroups(target),
      transform::DeadCodeElimination(), transform::DispatchKernels(target),
  };
}

/// From kernel calls to what the virtual machine runs.
Array<Pass> Lowering() {
  return {
      transform::ToNonDataflow(),         transform::RemovePurityChecking(),
      transform::CallTIRRewrite(),        transform::CanonicalizeBindings(),
      transform::StaticPlanBlockMemory(), transform::LowerAllocTensor(),
      transform::KillAfterLastUse(),      transform::LowerRuntimeBuiltin(),
      transform::ComputePrimValue(),      transform::VMShapeLower(),
      transform::AttachGlobalSymbol(),
  };
}

Array<Pass> DefaultPipeline(const Target& target) {
  Array<Pass> list = Simplification();
  Append(&list, Fusion(target));
  Append(&list, Lowering());
  return list;
}

/// Every operator a kernel of its own: the oracle of the default pipeline.
Array<Pass> PlainPipeline(const Target&) {
  Array<Pass> list{transform::Normalize(), transform::LambdaLift(), transform::LegalizeOps()};
  Append(&list, Lowering());
  return list;
}

/// Operators to fused kernels, without the lowering for the virtual machine.
Array<Pass> ZeroPipeline(const Target& target) {
  Array<Pass> list = Simplification();
  Append(&list, Fusion(target));
  return list;
}

struct Named {
  const char* name;
  Array<Pass> (*make)(const Target& target);
};
constexpr Named kPipelines[] = {
    {"default", DefaultPipeline},
    {"default_build", DefaultPipeline},
    {"plain", PlainPipeline},
    {"zero", ZeroPipeline},
};

}  // namespace

Array<String> ListPipelines() {
  Array<String> names;
  for (const Named& p : kPipelines) names.push_back(p.name);
  return names;
}

Array<Pass> GetPipeline(const String& name, const Target& target) {
  for (const Named& p : kPipelines) {
    if (name == p.name) return p.make(target);
  }
  std::string candidates;
  for (const Named& p : kPipelines) {
    candidates += (candidates.empty() ? "" : ", ") + ("'" + std::string(p.name) + "'");
  }
  TVM_FFI_THROW(ValueError) << "Unknown pre-built pipeline " << name << ",candidates are ["
                            << candidates << "]";
}

}  // namespace relax
}  // namespace tvm
