// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <tvm/ffi/reflection/registry.h>
#include <tvm/tirx/ir_builder.h>

namespace tvm::tirx::ir_builder {

namespace refl = ffi::reflection;

void TIRFrameNode::RegisterReflection() {
  refl::ObjectDef<TIRFrameNode>().def_ro("stmts", &TIRFrameNode::stmts);
}

void PrimFuncFrameNode::RegisterReflection() {
  refl::ObjectDef<PrimFuncFrameNode>()
      .def_ro("name", &PrimFuncFrameNode::name)
      .def_ro("args", &PrimFuncFrameNode::args)
      .def_ro("ret_type", &PrimFuncFrameNode::ret_type)
      .def_ro("attrs", &PrimFuncFrameNode::attrs)
      .def_ro("is_private", &PrimFuncFrameNode::is_private)
      .def_ro("s_tir", &PrimFuncFrameNode::s_tir)
      .def_ro("persistent", &PrimFuncFrameNode::persistent)
      .def_ro("env_threads", &PrimFuncFrameNode::env_threads)
      .def_ro("root_alloc_buffers", &PrimFuncFrameNode::root_alloc_buffers);
}

void SBlockFrameNode::RegisterReflection() {
  refl::ObjectDef<SBlockFrameNode>()
      .def_ro("name", &SBlockFrameNode::name)
      .def_ro("iter_vars", &SBlockFrameNode::iter_vars)
      .def_ro("reads", &SBlockFrameNode::reads)
      .def_ro("writes", &SBlockFrameNode::writes)
      .def_ro("init", &SBlockFrameNode::init)
      .def_ro("alloc_buffers", &SBlockFrameNode::alloc_buffers)
      .def_ro("match_buffers", &SBlockFrameNode::match_buffers)
      .def_ro("annotations", &SBlockFrameNode::annotations)
      .def_ro("iter_values", &SBlockFrameNode::iter_values)
      .def_ro("predicate", &SBlockFrameNode::predicate)
      .def_ro("no_realize", &SBlockFrameNode::no_realize);
}

void SBlockInitFrameNode::RegisterReflection() { refl::ObjectDef<SBlockInitFrameNode>(); }

void ForFrameNode::RegisterReflection() {
  refl::ObjectDef<ForFrameNode>()
      .def_ro("vars", &ForFrameNode::vars)
      .def_ro("doms", &ForFrameNode::doms)
      .def_ro("kind", &ForFrameNode::kind)
      .def_ro("thread", &ForFrameNode::thread)
      .def_ro("annotations", &ForFrameNode::annotations)
      .def_ro("step", &ForFrameNode::step);
}

void AssertFrameNode::RegisterReflection() {
  refl::ObjectDef<AssertFrameNode>()
      .def_ro("condition", &AssertFrameNode::condition)
      .def_ro("error_kind", &AssertFrameNode::error_kind)
      .def_ro("message_parts", &AssertFrameNode::message_parts);
}

void LaunchThreadFrameNode::RegisterReflection() {
  refl::ObjectDef<LaunchThreadFrameNode>()
      .def_ro("extent", &LaunchThreadFrameNode::extent)
      .def_ro("attr_key", &LaunchThreadFrameNode::attr_key)
      .def_ro("iter_var", &LaunchThreadFrameNode::iter_var);
}

void AttrFrameNode::RegisterReflection() {
  refl::ObjectDef<AttrFrameNode>()
      .def_ro("node", &AttrFrameNode::node)
      .def_ro("attr_keys", &AttrFrameNode::attr_keys)
      .def_ro("values", &AttrFrameNode::values);
}

void HintFrameNode::RegisterReflection() {
  refl::ObjectDef<HintFrameNode>()
      .def_ro("message", &HintFrameNode::message)
      .def_ro("attrs", &HintFrameNode::attrs);
}

void WhileFrameNode::RegisterReflection() {
  refl::ObjectDef<WhileFrameNode>().def_ro("condition", &WhileFrameNode::condition);
}

void IfFrameNode::RegisterReflection() {
  refl::ObjectDef<IfFrameNode>()
      .def_ro("condition", &IfFrameNode::condition)
      .def_ro("then_stmts", &IfFrameNode::then_stmts)
      .def_ro("else_stmts", &IfFrameNode::else_stmts);
}

void ThenFrameNode::RegisterReflection() { refl::ObjectDef<ThenFrameNode>(); }
void ElseFrameNode::RegisterReflection() { refl::ObjectDef<ElseFrameNode>(); }

void DeclBufferFrameNode::RegisterReflection() {
  refl::ObjectDef<DeclBufferFrameNode>()
      .def_ro("buffer", &DeclBufferFrameNode::buffer)
      .def_ro("data", &DeclBufferFrameNode::data);
}

void AllocBufferFrameNode::RegisterReflection() {
  refl::ObjectDef<AllocBufferFrameNode>()
      .def_ro("buffer", &AllocBufferFrameNode::buffer)
      .def_ro("annotations", &AllocBufferFrameNode::annotations);
}

void ComposeOpFrameNode::RegisterReflection() {
  refl::ObjectDef<ComposeOpFrameNode>()
      .def_ro("workspace", &ComposeOpFrameNode::workspace)
      .def_ro("config", &ComposeOpFrameNode::config)
      .def_ro("dispatch", &ComposeOpFrameNode::dispatch)
      .def_ro("scope", &ComposeOpFrameNode::scope);
}

TVM_FFI_STATIC_INIT_BLOCK() {
  ComposeOpFrameNode::RegisterReflection();
  TIRFrameNode::RegisterReflection();
  PrimFuncFrameNode::RegisterReflection();
  SBlockFrameNode::RegisterReflection();
  SBlockInitFrameNode::RegisterReflection();
  ForFrameNode::RegisterReflection();
  AssertFrameNode::RegisterReflection();
  LaunchThreadFrameNode::RegisterReflection();
  AttrFrameNode::RegisterReflection();
  HintFrameNode::RegisterReflection();
  WhileFrameNode::RegisterReflection();
  IfFrameNode::RegisterReflection();
  ThenFrameNode::RegisterReflection();
  ElseFrameNode::RegisterReflection();
  DeclBufferFrameNode::RegisterReflection();
  AllocBufferFrameNode::RegisterReflection();
}

}  // namespace tvm::tirx::ir_builder
