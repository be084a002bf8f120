// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/s_tir/schedule/instruction.h>

#include <utility>

#include "s_tir/schedule/primitive_registry.h"

namespace tvm {
namespace s_tir {

bool InstructionKindNode::IsPostproc() const { return name == "EnterPostproc"; }

InstructionKind InstructionKind::Get(const ffi::String& name) {
  return Primitive::Get(std::string(name)).kind;
}

Instruction::Instruction(InstructionKind kind, ffi::Array<ffi::Any> inputs,
                         ffi::Array<ffi::Any> attrs, ffi::Array<ffi::Any> outputs) {
  auto node = ffi::make_object<InstructionNode>();
  node->kind = std::move(kind);
  node->inputs = std::move(inputs);
  node->attrs = std::move(attrs);
  node->outputs = std::move(outputs);
  data_ = std::move(node);
}

void InstructionKindNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<InstructionKindNode>()
      .def_ro("name", &InstructionKindNode::name)
      .def_ro("_is_pure", &InstructionKindNode::is_pure);
}

void InstructionNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<InstructionNode>()
      .def_ro("kind", &InstructionNode::kind)
      .def_ro("inputs", &InstructionNode::inputs)
      .def_ro("attrs", &InstructionNode::attrs)
      .def_ro("outputs", &InstructionNode::outputs);
}

TVM_FFI_STATIC_INIT_BLOCK() {
  InstructionKindNode::RegisterReflection();
  InstructionNode::RegisterReflection();
  ffi::reflection::GlobalDef()
      .def("s_tir.schedule.InstructionKindGet",
           [](ffi::String name) { return InstructionKind::Get(name); })
      .def("s_tir.schedule.Instruction",
           [](InstructionKind kind, ffi::Array<ffi::Any> inputs, ffi::Array<ffi::Any> attrs,
              ffi::Array<ffi::Any> outputs) { return Instruction(kind, inputs, attrs, outputs); });
}

}  // namespace s_tir
}  // namespace tvm
