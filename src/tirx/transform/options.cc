// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "tirx/transform/options.h"

#include <tvm/ffi/reflection/registry.h>
#include <tvm/ir/expr.h>

namespace tvm {
namespace tirx {

void StmtSimplifyOptionsNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  using Node = StmtSimplifyOptionsNode;
  refl::ObjectDef<Node>()
      .def_ro("transitively_prove_inequalities", &Node::transitively_prove_inequalities,
              "Chain known inequalities", refl::default_value(false))
      .def_ro("convert_boolean_to_and_of_ors", &Node::convert_boolean_to_and_of_ors,
              "Bring conditions to conjunctive form", refl::default_value(false))
      .def_ro("apply_constraints_to_boolean_branches", &Node::apply_constraints_to_boolean_branches,
              "Simplify each operand of and/or assuming the other", refl::default_value(false));
}

void UnrollLoopOptionsNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  using Node = UnrollLoopOptionsNode;
  refl::ObjectDef<Node>()
      .def_ro("auto_max_step", &Node::auto_max_step, "Most statements made automatically",
              refl::default_value(static_cast<int64_t>(0)))
      .def_ro("auto_max_depth", &Node::auto_max_depth, "Deepest nest unrolled automatically",
              refl::default_value(static_cast<int64_t>(8)))
      .def_ro("auto_max_extent", &Node::auto_max_extent, "Longest loop unrolled automatically",
              refl::default_value(static_cast<int64_t>(0)))
      .def_ro("explicit_unroll", &Node::explicit_unroll, "Replicate bodies",
              refl::default_value(true))
      .def_ro("unroll_local_access", &Node::unroll_local_access, "Unroll loops over local buffers",
              refl::default_value(false));
}

void RemoveNoOpOptionsNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  using Node = RemoveNoOpOptionsNode;
  refl::ObjectDef<Node>()
      .def_ro("max_simplification_steps", &Node::max_simplification_steps,
              "Limit of the simplifier", refl::default_value(static_cast<int64_t>(0)))
      .def_ro("ignore_profiler_call", &Node::ignore_profiler_call,
              "Treat profiling calls as no-ops", refl::default_value(false));
}

TVM_FFI_STATIC_INIT_BLOCK() {
  StmtSimplifyOptionsNode::RegisterReflection();
  UnrollLoopOptionsNode::RegisterReflection();
  RemoveNoOpOptionsNode::RegisterReflection();
}

TVM_REGISTER_PASS_CONFIG_OPTION("tirx.StmtSimplify", StmtSimplifyOptions);
TVM_REGISTER_PASS_CONFIG_OPTION("tirx.UnrollLoop", UnrollLoopOptions);
TVM_REGISTER_PASS_CONFIG_OPTION("tirx.RemoveNoOp", RemoveNoOpOptions);
TVM_REGISTER_PASS_CONFIG_OPTION("tirx.is_entry_func", bool);
TVM_REGISTER_PASS_CONFIG_OPTION("tirx.noalias", bool);
TVM_REGISTER_PASS_CONFIG_OPTION("tirx.disable_assert", bool);
TVM_REGISTER_PASS_CONFIG_OPTION("tirx.disable_vectorize", bool);
TVM_REGISTER_PASS_CONFIG_OPTION("tirx.enable_buffer_level_predication", bool);
TVM_REGISTER_PASS_CONFIG_OPTION("tirx.disable_cse_tir", bool);
TVM_REGISTER_PASS_CONFIG_OPTION("tirx.disable_storage_rewrite", bool);
TVM_REGISTER_PASS_CONFIG_OPTION("tirx.enable_debug", bool);
TVM_REGISTER_PASS_CONFIG_OPTION("tirx.enable_fast_math", bool);
TVM_REGISTER_PASS_CONFIG_OPTION("tirx.instrument_bound_checkers", bool);
TVM_REGISTER_PASS_CONFIG_OPTION("tirx.instrument_lwp", bool);
TVM_REGISTER_PASS_CONFIG_OPTION("tirx.debug_keep_trivial_loop", bool);
TVM_REGISTER_PASS_CONFIG_OPTION("tirx.use_async_copy", bool);
TVM_REGISTER_PASS_CONFIG_OPTION("tirx.merge_static_smem", bool);
TVM_REGISTER_PASS_CONFIG_OPTION("tirx.s_tir.ldg32", bool);
TVM_REGISTER_PASS_CONFIG_OPTION("tirx.vtcm_capacity", int64_t);
TVM_REGISTER_PASS_CONFIG_OPTION("tirx.add_lower_pass", ffi::Array<ffi::Array<ffi::ObjectRef>>);

}  // namespace tirx
}  // namespace tvm
