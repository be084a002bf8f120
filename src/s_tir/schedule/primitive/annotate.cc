// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// annotate, unannotate: marks on loops and blocks. enter_postproc: a mark in the trace.
#include "s_tir/schedule/primitive_registry.h"
#include "s_tir/schedule/rewrite.h"

namespace tvm {
namespace s_tir {

using namespace tirx;  // NOLINT(build/namespaces)

namespace {

/// The value to store: random variables by what they are now.
ffi::Any Resolve(const ScheduleNode* sch, const ffi::Any& value) {
  if (value.as<ffi::String>().has_value() || value.as<double>().has_value()) return value;
  if (const auto* text = value.as<StringImmNode>()) return text->value;
  if (auto list = value.as<ffi::Array<ffi::Any>>()) {
    ffi::Array<ffi::Any> result;
    for (const ffi::Any& part : *list) result.push_back(Resolve(sch, part));
    return result;
  }
  if (auto map = value.as<ffi::Map<ffi::String, ffi::Any>>()) {
    ffi::Map<ffi::String, ffi::Any> result;
    for (const auto& [key, part] : *map) result.Set(key, Resolve(sch, part));
    return result;
  }
  if (value.as<FloatImmNode>() != nullptr) return value;
  if (value.as<ExprNode>() != nullptr) {
    return IntImm(value.cast<PrimExpr>().dtype(), sch->Get(value.cast<PrimExpr>()));
  }
  if (value.as<bool>().has_value() || value.as<int64_t>().has_value()) return value;
  TVM_FFI_THROW(TypeError) << "an annotation has to be a string, a number, an expression, a list "
                           << "or a dict of those, but is " << value.GetTypeKey();
  TVM_FFI_UNREACHABLE();
}

template <typename Edit>
void EditAnnotations(State* state, const StmtSRef& sref, const Edit& edit) {
  if (const auto* op = sref->StmtAs<ForNode>()) {
    For loop = ffi::GetRef<For>(op);
    edit(&loop.CopyOnWrite()->annotations);
    state->Replace(sref, loop, {});
    return;
  }
  SBlock old_block = Downcast<SBlock>(sref->stmt.value());
  SBlock block = old_block;
  edit(&block.CopyOnWrite()->annotations);
  state->Replace(sref, block, {{old_block, block}});
}

bool HasAnnotation(const StmtSRef& sref, const ffi::String& key) {
  const auto* loop = sref->StmtAs<ForNode>();
  return (loop != nullptr ? loop->annotations : sref->StmtAs<SBlockNode>()->annotations)
             .count(key) != 0;
}

using Annotations = ffi::Map<ffi::String, ffi::Any>;

const PrimitiveRegistration kAnnotate{{
    .name = "Annotate",
    .method = "annotate",
    .params = "block_or_loop=i0 ann_key=a0 ann_val=i1",
    .run = [](PrimitiveCall& call) -> ffi::Array<ffi::Any> {
      const ffi::String key = call.Attr<ffi::String>(0);
      const ffi::Any value = Resolve(call.sch, call.inputs[1]);
      EditAnnotations(call.state, call.BlockOrLoop(0),
                      [&](Annotations* annotations) { annotations->Set(key, value); });
      return {};
    },
}};

const PrimitiveRegistration kUnannotate{{
    .name = "Unannotate",
    .method = "unannotate",
    .params = "block_or_loop=i0 ann_key=a0",
    .run = [](PrimitiveCall& call) -> ffi::Array<ffi::Any> {
      const ffi::String key = call.Attr<ffi::String>(0);
      const StmtSRef sref = call.BlockOrLoop(0);
      SCHEDULE_CHECK(HasAnnotation(sref, key), sref) << "{0} has no annotation \"" << key << "\"";
      EditAnnotations(call.state, sref, [&](Annotations* annotations) { annotations->erase(key); });
      return {};
    },
}};

const PrimitiveRegistration kEnterPostproc{{
    .name = "EnterPostproc",
    .method = "enter_postproc",
    .params = "",
    .run = [](PrimitiveCall&) -> ffi::Array<ffi::Any> { return {}; },
}};

}  // namespace

}  // namespace s_tir
}  // namespace tvm
