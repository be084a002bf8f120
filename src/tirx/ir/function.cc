// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/tirx/function.h>

#include <mutex>
#include <string>
#include <unordered_map>

#include "tirx/ir/check.h"

namespace tvm {
namespace tirx {

PrimFunc::PrimFunc(ffi::Array<Var> params, Stmt body, ffi::Optional<Type> ret_type, DictAttrs attrs,
                   Span span) {
  RequireDefined(body, "PrimFunc", "body");
  // The shapes of buffers mention variables that only `params` defines: in the function's own type
  // a buffer is a pointer to its elements.
  ffi::Array<Type> param_types;
  for (const Var& param : params) {
    RequireDefined(param, "PrimFunc", "params");
    if (IsBuffer(param.get())) {
      Buffer buffer(param);
      param_types.push_back(PointerType(PrimType(buffer.dtype()), buffer.scope()));
    } else {
      param_types.push_back(param->ty);
    }
  }
  auto node = ffi::make_object<PrimFuncNode>();
  node->params = std::move(params);
  node->body = std::move(body);
  node->ret_type =
      ret_type.has_value() && !ret_type.value().IsMissing() ? ret_type.value() : TupleType::Empty();
  node->attrs = std::move(attrs);
  node->ty = FuncType(std::move(param_types), node->ret_type);
  node->span = std::move(span);
  data_ = std::move(node);
}

bool ReturnsValue(const PrimFuncNode* func) { return !IsVoidType(func->ret_type); }

void PrimFuncNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<PrimFuncNode>()
      .def_ro("params", &PrimFuncNode::params, refl::AttachFieldFlag::SEqHashDefPattern())
      .def_ro("ret_type", &PrimFuncNode::ret_type)
      .def_ro("body", &PrimFuncNode::body);
}

TensorIntrin::TensorIntrin(PrimFunc desc, PrimFunc impl) {
  if (desc->params.size() != impl->params.size()) {
    TVM_FFI_THROW(ValueError) << "TensorIntrin: desc has " << desc->params.size()
                              << " parameters, but impl has " << impl->params.size();
  }
  for (size_t i = 0; i < desc->params.size(); ++i) {
    const Var& lhs = desc->params[i];
    const Var& rhs = impl->params[i];
    if (IsBuffer(lhs.get()) != IsBuffer(rhs.get())) {
      TVM_FFI_THROW(ValueError) << "TensorIntrin: parameter " << i << " is "
                                << (IsBuffer(lhs.get()) ? "a buffer" : "no buffer")
                                << " in desc, unlike in impl";
    }
  }
  auto node = ffi::make_object<TensorIntrinNode>();
  node->desc = std::move(desc);
  node->impl = std::move(impl);
  data_ = std::move(node);
}

namespace {

struct IntrinRegistry {
  std::mutex mutex;
  std::unordered_map<std::string, TensorIntrin> table;

  static IntrinRegistry& Global() {
    static auto* registry = new IntrinRegistry();
    return *registry;
  }
};

}  // namespace

void TensorIntrin::Register(ffi::String name, TensorIntrin intrin, bool allow_override) {
  IntrinRegistry& registry = IntrinRegistry::Global();
  std::lock_guard<std::mutex> lock(registry.mutex);
  auto [it, inserted] = registry.table.emplace(std::string(name), intrin);
  if (inserted) return;
  if (!allow_override) {
    TVM_FFI_THROW(ValueError) << "TensorIntrin '" << name << "' has already been registered";
  }
  it->second = std::move(intrin);
}

ffi::Optional<TensorIntrin> TensorIntrin::Get(ffi::String name, bool allow_missing) {
  IntrinRegistry& registry = IntrinRegistry::Global();
  std::lock_guard<std::mutex> lock(registry.mutex);
  auto it = registry.table.find(std::string(name));
  if (it != registry.table.end()) return it->second;
  if (!allow_missing) {
    TVM_FFI_THROW(ValueError) << "TensorIntrin '" << name << "' is not registered";
  }
  return std::nullopt;
}

void TensorIntrinNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<TensorIntrinNode>()
      .def_ro("desc", &TensorIntrinNode::desc)
      .def_ro("impl", &TensorIntrinNode::impl);
}

TVM_FFI_STATIC_INIT_BLOCK() {
  PrimFuncNode::RegisterReflection();
  TensorIntrinNode::RegisterReflection();

  namespace refl = ffi::reflection;
  refl::GlobalDef()
      .def("tirx.PrimFunc",
           [](ffi::Array<Var> params, Stmt body, ffi::Optional<Type> ret_type,
              ffi::Optional<DictAttrs> attrs, Span span) {
             return PrimFunc(params, body, ret_type, attrs.value_or(DictAttrs()), span);
           })
      .def("tirx.PrimFuncWithBody",
           [](PrimFunc func, Stmt body) {
             if (!body.same_as(func->body)) func.CopyOnWrite()->body = std::move(body);
             return func;
           })
      .def("tirx.Specialize",
           [](PrimFunc func, ffi::Map<Var, ffi::Any> params) {
             return Specialize(std::move(func), params);
           })
      .def("tirx.TensorIntrin",
           [](const PrimFuncNode* desc, const PrimFuncNode* impl) {
             return TensorIntrin(ffi::GetRef<PrimFunc>(desc), ffi::GetRef<PrimFunc>(impl));
           })
      .def("tirx.TensorIntrinRegister",
           [](ffi::String name, TensorIntrin intrin, bool allow_override) {
             TensorIntrin::Register(name, intrin, allow_override);
           })
      .def("tirx.TensorIntrinGet", [](ffi::String name, bool allow_missing) {
        return TensorIntrin::Get(name, allow_missing);
      });
}

}  // namespace tirx
}  // namespace tvm
