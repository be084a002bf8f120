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
      // Before constants are folded, which would make floats of quantised weights.
      transform::LowerQuantization(),
      transform::DecomposeOpsForInference(),
      transform::CanonicalizeBindings(),
      transform::FoldConstant(),
      transform::EliminateCommonSubexpr(),
      transform::DeadCodeElimination(),
  };
}

/// What a precision asks for. ValueError for an unknown one.
Array<Pass> Precision(const String& precision) {
  if (precision == "float32") return {};
  TVM_FFI_CHECK(precision == "bf16", ValueError)
      << "precision must be float32 or bf16, got " << precision;
  // Products that nothing reads must not count beside the others.
  return {transform::DeadCodeElimination(), transform::NarrowProducts()};
}

/// From operators to groups that are one kernel each.
Array<Pass> Fusion(const Target& target, const String& precision) {
  Array<Pass> list{transform::SimplifyInference()};
  Append(&list, Precision(precision));
  Append(&list, {transform::PlanLayout(target), transform::FoldConstant(/*weights_later=*/true),
                 transform::CanonicalizeBindings(), transform::DeadCodeElimination(),
                 transform::LowerGroups(target), transform::DeadCodeElimination()});
  if (precision == "bf16") list.push_back(transform::FlushSubnormals());
  list.push_back(transform::DispatchKernels(target));
  return list;
}

/// From kernel calls to what the virtual machine runs.
Array<Pass> Lowering() {
  return {
      transform::ToNonDataflow(),
      transform::RemovePurityChecking(),
      transform::CallTIRRewrite(),
      transform::CanonicalizeBindings(),
      // Tuples of several results, of which only the elements are used.
      transform::DeadCodeElimination(),
      transform::StaticPlanBlockMemory(),
      transform::LowerAllocTensor(),
      transform::KillAfterLastUse(),
      transform::LowerRuntimeBuiltin(),
      transform::ComputePrimValue(),
      transform::VMShapeLower(),
      transform::AttachGlobalSymbol(),
  };
}

Array<Pass> DefaultPipeline(const Target& target, const String& precision) {
  Array<Pass> list = Simplification();
  Append(&list, Fusion(target, precision));
  Append(&list, Lowering());
  return list;
}

/// Every operator a kernel of its own: the oracle of the default pipeline.
Array<Pass> PlainPipeline(const Target&, const String& precision) {
  Array<Pass> list{transform::Normalize(), transform::LambdaLift()};
  Append(&list, Precision(precision));
  list.push_back(transform::LegalizeOps());
  Append(&list, Lowering());
  return list;
}

/// Operators to fused kernels, without the lowering for the virtual machine.
Array<Pass> ZeroPipeline(const Target& target, const String& precision) {
  Array<Pass> list = Simplification();
  Append(&list, Fusion(target, precision));
  return list;
}

struct Named {
  const char* name;
  Array<Pass> (*make)(const Target& target, const String& precision);
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

Array<Pass> GetPipeline(const String& name, const Target& target, const String& precision) {
  for (const Named& p : kPipelines) {
    if (name == p.name) return p.make(target, precision);
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
