// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Execution scopes and tile primitives.
#include <tvm/ffi/extra/structural_equal.h>
#include <tvm/tirx/tile_primitive.h>

#include <string>
#include <string_view>

#include "tirx/script/printer/utils.h"

namespace tvm::script::printer {

using namespace tirx;  // NOLINT(build/namespaces): the nodes

namespace {

/// Script function that defines the ids of one level.
const char* ScopeFunction(ScopeBinding binding) {
  switch (binding) {
    case ScopeBinding::kKernelCluster:
      return "cluster_id";
    case ScopeBinding::kKernelCta:
      return "cta_id";
    case ScopeBinding::kClusterCta:
      return "cta_id_in_cluster";
    case ScopeBinding::kCtaWarpgroup:
      return "warpgroup_id";
    case ScopeBinding::kCtaWarp:
      return "warp_id";
    case ScopeBinding::kWarpgroupWarp:
      return "warp_id_in_wg";
    case ScopeBinding::kWarpThread:
      return "lane_id";
    case ScopeBinding::kCtaThread:
      return "thread_id";
    case ScopeBinding::kWarpgroupThread:
      return "thread_id_in_wg";
    case ScopeBinding::kClusterCtaPair:
      return "cta_id_in_pair";
  }
  TVM_FFI_THROW(ValueError) << "cannot print scope ids of binding " << static_cast<int>(binding);
  TVM_FFI_UNREACHABLE();
}

/// Namespace of the tile primitives of a scope.
const char* ScopeNamespace(ScopeKind kind) {
  switch (kind) {
    case ScopeKind::kCluster:
      return "cluster";
    case ScopeKind::kCta:
      return "cta";
    case ScopeKind::kWarpgroup:
      return "wg";
    case ScopeKind::kWarp:
      return "warp";
    case ScopeKind::kThread:
      return "tile";
  }
  TVM_FFI_THROW(ValueError) << "cannot print a scope of kind " << static_cast<int>(kind);
  TVM_FFI_UNREACHABLE();
}

Doc PrintScopeIdDef(const ScopeIdDefStmtNode* node, const AccessPath& path, IRDocsifier& d) {
  const ScopeIdDef& def = node->def;
  AccessPath def_path = path->Attr("def");
  Array<ExprDoc> args;
  Kwargs kwargs;
  if (def->extents.has_value()) {
    args.push_back(ListDoc(d.AsExprs(def->extents.value(), def_path->Attr("extents"))));
  }
  if (def->preferred_extents.has_value()) {
    kwargs.Add("preferred", ListDoc(d.AsExprs(def->preferred_extents.value(),
                                              def_path->Attr("preferred_extents"))));
  }
  if (!def->def_ids.empty() && def->def_ids[0]->dtype() != DataType::Int(32)) {
    kwargs.Add("dtype", LiteralDoc::DType(def->def_ids[0]->dtype()));
  }
  ExprDoc call = T(d, ScopeFunction(def->scope)).Call(args, kwargs.keys, kwargs.values);
  Array<ExprDoc> names;
  AccessPath ids_path = def_path->Attr("def_ids");
  for (size_t i = 0; i < def->def_ids.size(); ++i) {
    const Var& id = def->def_ids[i];
    names.push_back(Doc::At(d.Define(id, std::string_view(id->name)),
                            ids_path->ArrayItem(static_cast<int64_t>(i))));
  }
  if (names.size() == 1) return AssignDoc(names[0], call);
  return AssignDoc(TupleDoc(names), call);
}

Doc PrintExecScope(const ExecScopeNode* node, const AccessPath& path, IRDocsifier& d) {
  const char* name = node->kind == ScopeKind::kThread ? "thread" : ScopeNamespace(node->kind);
  return T(d, "ExecScope").Call({LiteralDoc::Str(name, path->Attr("kind"))});
}

/// Unary primitives that work in place when no source is given.
bool WorksInPlace(std::string_view name) {
  for (std::string_view op : {"zero", "sqrt", "exp", "exp2", "log2"}) {
    if (name == op) return true;
  }
  return false;
}

Doc PrintTilePrimitive(const TilePrimitiveCallNode* node, const AccessPath& path, IRDocsifier& d) {
  constexpr std::string_view kPrefix = "tirx.tile.";
  std::string_view name(node->op->name);
  if (name.substr(0, kPrefix.size()) == kPrefix) name.remove_prefix(kPrefix.size());
  size_t count = node->args.size();
  while (count > 0 && node->args[count - 1] == nullptr) --count;
  if (count == 2 && WorksInPlace(name) && ffi::StructuralEqual()(node->args[0], node->args[1])) {
    count = 1;
  }
  const bool was_any = std::exchange(d.in_any, true);
  Array<ExprDoc> args;
  AccessPath args_path = path->Attr("args");
  for (size_t i = 0; i < count; ++i) {
    d.in_any = true;
    args.push_back(d.AsExpr(node->args[i], args_path->ArrayItem(static_cast<int64_t>(i))));
  }
  d.in_any = was_any;
  Optional<ExprDoc> workspace, config, dispatch;
  if (!node->workspace.empty()) workspace = d.AsExpr(node->workspace, path->Attr("workspace"));
  if (!node->config.empty()) config = DictOf(node->config, path->Attr("config"), d);
  if (node->dispatch.has_value()) {
    dispatch = LiteralDoc::Str(*node->dispatch, path->Attr("dispatch"));
  }
  ExprDoc callee = T(d, ScopeNamespace(node->scope->kind)).Attr(String(std::string(name)));
  return OpCallDoc(callee, args, workspace, config, dispatch);
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  RegisterPrinter<ScopeIdDefStmtNode, PrintScopeIdDef>("");
  RegisterPrinter<ExecScopeNode, PrintExecScope>("");
  RegisterPrinter<TilePrimitiveCallNode, PrintTilePrimitive>("");
}

}  // namespace tvm::script::printer
