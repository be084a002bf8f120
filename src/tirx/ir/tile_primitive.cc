// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/tirx/tile_primitive.h>

#include <string_view>

#include "tirx/ir/check.h"

namespace tvm {
namespace tirx {

namespace {

struct ScopeName {
  const char* name;
  ScopeKind kind;
};

constexpr ScopeName kScopeNames[] = {
    {"cluster", ScopeKind::kCluster},     {"cta", ScopeKind::kCta},
    {"warpgroup", ScopeKind::kWarpgroup}, {"wg", ScopeKind::kWarpgroup},
    {"warp", ScopeKind::kWarp},           {"thread", ScopeKind::kThread},
};

}  // namespace

ExecScope::ExecScope(ScopeKind kind) {
  auto node = ffi::make_object<ExecScopeNode>();
  node->kind = kind;
  data_ = std::move(node);
}

ExecScope ExecScope::FromName(const ffi::String& name) {
  for (const ScopeName& entry : kScopeNames) {
    if (std::string_view(name.data(), name.size()) == entry.name) return ExecScope(entry.kind);
  }
  TVM_FFI_THROW(ValueError) << "unknown execution scope \"" << name
                            << "\", expected cluster, cta, warpgroup, warp or thread";
  TVM_FFI_UNREACHABLE();
}

void ExecScopeNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<ExecScopeNode>().def_ro("kind", &ExecScopeNode::kind);
}

ScopeIdDef::ScopeIdDef(ffi::Array<Var> def_ids, ffi::Optional<ffi::Array<PrimExpr>> extents,
                       ScopeBinding scope, ffi::Optional<ffi::Array<PrimExpr>> preferred_extents) {
  for (const Var& id : def_ids) {
    DataType dtype = id->dtype();
    if (dtype != DataType::Int(32) && dtype != DataType::UInt(32)) {
      TVM_FFI_THROW(TypeError) << "ScopeIdDef: id " << id->name
                               << " must be int32 or uint32, but has dtype " << dtype;
    }
  }
  if (extents.has_value() && extents.value().size() != def_ids.size()) {
    TVM_FFI_THROW(ValueError) << "ScopeIdDef: " << def_ids.size() << " ids but "
                              << extents.value().size() << " extents";
  }
  if (!extents.has_value() && def_ids.size() != 1) {
    TVM_FFI_THROW(ValueError) << "ScopeIdDef: without extents exactly one id is defined, got "
                              << def_ids.size();
  }
  if (preferred_extents.has_value() && scope != ScopeBinding::kClusterCta) {
    TVM_FFI_THROW(ValueError) << "preferred_extents is only valid for cluster->cta scope";
  }
  auto node = ffi::make_object<ScopeIdDefNode>();
  node->def_ids = std::move(def_ids);
  node->extents = std::move(extents);
  node->scope = scope;
  node->preferred_extents = std::move(preferred_extents);
  data_ = std::move(node);
}

void ScopeIdDefNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<ScopeIdDefNode>()
      .def_ro("def_ids", &ScopeIdDefNode::def_ids, refl::AttachFieldFlag::SEqHashDefSimple())
      .def_ro("extents", &ScopeIdDefNode::extents)
      .def_ro("scope", &ScopeIdDefNode::scope)
      .def_ro("preferred_extents", &ScopeIdDefNode::preferred_extents);
}

ScopeIdDefStmt::ScopeIdDefStmt(ScopeIdDef def, Span span) {
  RequireDefined(def, "ScopeIdDefStmt", "def");
  auto node = ffi::make_object<ScopeIdDefStmtNode>();
  node->def = std::move(def);
  node->span = std::move(span);
  data_ = std::move(node);
}

void ScopeIdDefStmtNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<ScopeIdDefStmtNode>().def_ro("def", &ScopeIdDefStmtNode::def);
}

TilePrimitiveCall::TilePrimitiveCall(Op op, ffi::Array<ffi::Any> args,
                                     ffi::Map<ffi::String, Buffer> workspace,
                                     ffi::Map<ffi::String, ffi::Any> config,
                                     ffi::Optional<ffi::String> dispatch, ExecScope scope,
                                     Span span) {
  RequireDefined(op, "TilePrimitiveCall", "op");
  RequireDefined(scope, "TilePrimitiveCall", "scope");
  auto node = ffi::make_object<TilePrimitiveCallNode>();
  node->op = std::move(op);
  node->args = std::move(args);
  node->workspace = std::move(workspace);
  node->config = std::move(config);
  node->dispatch = std::move(dispatch);
  node->scope = std::move(scope);
  node->span = std::move(span);
  data_ = std::move(node);
}

void TilePrimitiveCallNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<TilePrimitiveCallNode>()
      .def_ro("op", &TilePrimitiveCallNode::op)
      .def_ro("args", &TilePrimitiveCallNode::args)
      .def_ro("workspace", &TilePrimitiveCallNode::workspace)
      .def_ro("config", &TilePrimitiveCallNode::config)
      .def_ro("dispatch", &TilePrimitiveCallNode::dispatch)
      .def_ro("scope", &TilePrimitiveCallNode::scope);
}

TVM_FFI_STATIC_INIT_BLOCK() {
  ExecScopeNode::RegisterReflection();
  ScopeIdDefNode::RegisterReflection();
  ScopeIdDefStmtNode::RegisterReflection();
  TilePrimitiveCallNode::RegisterReflection();

  namespace refl = ffi::reflection;
  refl::GlobalDef()
      .def("tirx.ExecScope", [](ffi::String name) { return ExecScope::FromName(name); })
      .def("tirx.ScopeIdDef",
           [](ffi::Array<Var> ids, ffi::Optional<ffi::Array<PrimExpr>> extents, int scope,
              ffi::Optional<ffi::Array<PrimExpr>> preferred) {
             return ScopeIdDef(ids, extents, static_cast<ScopeBinding>(scope), preferred);
           })
      .def("tirx.ScopeIdDefStmt",
           [](ScopeIdDef def, Span span) { return ScopeIdDefStmt(def, span); })
      .def("tirx.TilePrimitiveCall",
           [](Op op, ffi::Array<ffi::Any> args, ffi::Map<ffi::String, Buffer> workspace,
              ffi::Map<ffi::String, ffi::Any> config, ffi::Optional<ffi::String> dispatch,
              ExecScope scope, Span span) {
             return TilePrimitiveCall(op, args, workspace, config, dispatch, scope, span);
           });
}

}  // namespace tirx
}  // namespace tvm
