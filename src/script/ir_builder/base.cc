// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ir/scalar.h>
#include <tvm/script/ir_builder/base.h>

#include <string>
#include <unordered_map>

namespace tvm::script::ir_builder {

namespace {

std::vector<IRBuilder>& BuilderStack() {
  thread_local std::vector<IRBuilder> stack;
  return stack;
}

std::unordered_map<int32_t, IRBuilder::Namer>& Namers() {
  static auto* table = new std::unordered_map<int32_t, IRBuilder::Namer>();
  return *table;
}

}  // namespace

void IRBuilderFrameNode::EnterWithScope() {
  IRBuilder builder = IRBuilder::Current();
  if (!span.defined()) span = IRBuilder::CurrentSpan();
  builder->frames.push_back(ffi::GetRef<IRBuilderFrame>(this));
}

void IRBuilderFrameNode::ExitWithScope() {
  // Callbacks still see the frame; they may register more of their kind on outer frames.
  while (!callbacks.empty()) {
    ffi::TypedFunction<void()> callback = std::move(callbacks.back());
    callbacks.pop_back();
    callback();
  }
  IRBuilder builder = IRBuilder::Current();
  if (builder->frames.empty() || builder->frames.back().get() != this) {
    TVM_FFI_THROW(ValueError) << "frame " << GetTypeKey()
                              << " is left, but it is not the innermost open frame";
  }
  builder->frames.pop_back();
}

void IRBuilderFrameNode::AddCallback(ffi::TypedFunction<void()> callback) {
  IRBuilder builder = IRBuilder::Current();
  if (builder->frames.empty()) {
    TVM_FFI_THROW(ValueError) << "No frames in Builder to add callback";
  }
  builder->frames.back()->callbacks.push_back(std::move(callback));
}

void IRBuilderNode::SetResult(ffi::ObjectRef value) {
  if (result.has_value()) {
    TVM_FFI_THROW(ValueError) << "Builder.result has already been set: it holds a "
                              << result.value().GetTypeKey() << ", now built was a "
                              << value.GetTypeKey();
  }
  result = std::move(value);
}

IRBuilder IRBuilder::Create() { return IRBuilder(ffi::make_object<IRBuilderNode>()); }

IRBuilder IRBuilder::Current() {
  if (BuilderStack().empty()) TVM_FFI_THROW(ValueError) << "No builder in current scope";
  return BuilderStack().back();
}

bool IRBuilder::IsInScope() { return !BuilderStack().empty(); }

Span IRBuilder::CurrentSpan() {
  if (BuilderStack().empty() || BuilderStack().back()->spans.empty()) return Span();
  return BuilderStack().back()->spans.back();
}

void IRBuilder::Enter() const {
  IRBuilderNode* self = operator->();
  if (!self->frames.empty()) {
    TVM_FFI_THROW(ValueError) << "There are frame(s) left in the builder: " << self->frames.size()
                              << ". Please use a fresh new builder every time building IRs";
  }
  self->result = std::nullopt;
  BuilderStack().push_back(*this);
}

void IRBuilder::Exit() const {
  if (BuilderStack().empty() || !BuilderStack().back().same_as(*this)) {
    TVM_FFI_THROW(ValueError) << "the builder that is left is not the current one";
  }
  BuilderStack().pop_back();
}

void IRBuilder::RegisterNamer(int32_t type_index, Namer namer) { Namers()[type_index] = namer; }

void IRBuilder::NameObject(const ffi::String& name, const ffi::Any& value) {
  if (auto array = value.as<ffi::Array<ffi::Any>>()) {
    for (size_t i = 0; i < array->size(); ++i) {
      NameObject(std::string(name) + "_" + std::to_string(i), (*array)[i]);
    }
    return;
  }
  const auto* object = value.as<ffi::Object>();
  if (object == nullptr) return;
  if (const auto* var = value.as<VarNode>()) {
    const_cast<VarNode*>(var)->name = name;
    return;
  }
  if (const auto* iter = value.as<tirx::IterVarNode>()) {
    const_cast<VarNode*>(iter->var.get())->name = name;
    return;
  }
  auto it = Namers().find(object->type_index());
  if (it != Namers().end()) it->second(object, name);
}

void IRBuilderFrameNode::RegisterReflection() { ffi::reflection::ObjectDef<IRBuilderFrameNode>(); }

void IRBuilderNode::RegisterReflection() {
  ffi::reflection::ObjectDef<IRBuilderNode>()
      .def_ro("frames", &IRBuilderNode::frames)
      .def_ro("result", &IRBuilderNode::result);
}

namespace {

/// Takes a frame, and what was opened inside of it, off the stack after an error.
void AbandonFrame(const IRBuilderFrame& frame) {
  if (!IRBuilder::IsInScope()) return;
  IRBuilder builder = IRBuilder::Current();
  bool open = false;
  for (const IRBuilderFrame& entry : builder->frames) open = open || entry.same_as(frame);
  while (open && !builder->frames.empty()) {
    IRBuilderFrame last = builder->frames.back();
    last->callbacks.clear();
    builder->frames.pop_back();
    if (last.same_as(frame)) break;
  }
}

/// Gives a node its place in the source unless it has one.
void SetSpan(const ffi::ObjectRef& node, const Span& span) {
  if (const auto* expr = node.as<ExprNode>()) {
    if (!expr->span.defined()) expr->span = span;
  }
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = ffi::reflection;
  IRBuilderFrameNode::RegisterReflection();
  IRBuilderNode::RegisterReflection();
  refl::GlobalDef()
      .def("script.ir_builder.IRBuilder", IRBuilder::Create)
      .def("script.ir_builder.IRBuilderEnter", [](const IRBuilder& b) { b.Enter(); })
      .def("script.ir_builder.IRBuilderExit", [](const IRBuilder& b) { b.Exit(); })
      .def("script.ir_builder.IRBuilderCurrent", IRBuilder::Current)
      .def("script.ir_builder.IRBuilderIsInScope", IRBuilder::IsInScope)
      .def("script.ir_builder.IRBuilderGet",
           [](const IRBuilder& builder) -> ffi::ObjectRef {
             if (!builder->result.has_value()) {
               TVM_FFI_THROW(ValueError) << "the builder has built nothing yet";
             }
             return builder->result.value();
           })
      .def("script.ir_builder.IRBuilderName",
           [](const ffi::String& name, ffi::Any value) {
             IRBuilder::NameObject(name, value);
             return value;
           })
      .def("script.ir_builder.IRBuilderPushSpan",
           [](const IRBuilder& builder, Span span) { builder->spans.push_back(std::move(span)); })
      .def("script.ir_builder.IRBuilderPopSpan",
           [](const IRBuilder& builder) {
             if (!builder->spans.empty()) builder->spans.pop_back();
           })
      .def("script.ir_builder.IRBuilderCurrentSpan", IRBuilder::CurrentSpan)
      .def("script.ir_builder.IRBuilderSetSpan", SetSpan)
      .def("script.ir_builder.IRBuilderFrameEnter",
           [](const IRBuilderFrame& frame) { frame->EnterWithScope(); })
      .def("script.ir_builder.IRBuilderFrameExit",
           [](const IRBuilderFrame& frame) { frame->ExitWithScope(); })
      .def("script.ir_builder.IRBuilderFrameAbandon", AbandonFrame)
      .def("script.ir_builder.IRBuilderFrameAddExit",
           [](const IRBuilderFrame& frame, ffi::TypedFunction<void()> callback) {
             frame->callbacks.push_back(std::move(callback));
           })
      .def("script.ir_builder.IRBuilderFrameAddCallback",
           [](const IRBuilderFrame& frame, ffi::TypedFunction<void()> callback) {
             frame->AddCallback(std::move(callback));
           });
}

}  // namespace tvm::script::ir_builder
