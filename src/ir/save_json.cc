// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Saving and loading of IR as graph JSON, with upgrades of names of older releases.
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/json.h>
#include <tvm/ffi/extra/serialization.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ir/module.h>

#include <string>

namespace tvm {

namespace {

namespace json = ffi::json;

/// Older keys of nodes that still exist under another key.
ffi::String UpgradedTypeKey(const ffi::String& key) {
  if (key == "relax.expr.Var" || key == "tirx.Var") return "ir.Var";
  return key;
}

/// Renames type keys and fields in the node table; everything else is passed on.
json::Value UpgradeGraph(const json::Value& root) {
  auto graph = root.as<json::Object>();
  TVM_FFI_CHECK(graph.has_value(), ValueError)
      << "IR JSON must be an object with a node table, found another JSON value";
  TVM_FFI_CHECK(
      graph->count(ffi::String("root_index")) != 0 && graph->count(ffi::String("nodes")) != 0,
      ValueError)
      << "IR JSON has no root_index and nodes: it is malformed or was written by a release before "
         "the graph format, which cannot be read";
  auto nodes = graph->at(ffi::String("nodes")).as<json::Array>();
  TVM_FFI_CHECK(nodes.has_value(), ValueError) << "IR JSON: \"nodes\" is not an array";
  json::Array upgraded;
  bool changed = false;
  const ffi::String type_field = "type", data_field = "data";
  for (const json::Value& item : *nodes) {
    auto node = item.as<json::Object>();
    if (!node.has_value() || node->count(type_field) == 0) {
      upgraded.push_back(item);
      continue;
    }
    auto key = node->at(type_field).as<ffi::String>();
    if (!key.has_value()) {
      upgraded.push_back(item);
      continue;
    }
    ffi::String new_key = UpgradedTypeKey(*key);
    json::Object copy = *node;
    bool node_changed = false;
    if (new_key != *key) {
      copy.Set(type_field, new_key);
      node_changed = true;
    }
    if (new_key == "ir.Var" && node->count(data_field) != 0) {
      auto data = node->at(data_field).as<json::Object>();
      const ffi::String old_name = "name_hint", new_name = "name";
      if (data.has_value() && data->count(old_name) != 0 && data->count(new_name) == 0) {
        json::Object fields = *data;
        fields.Set(new_name, fields.at(old_name));
        fields.erase(old_name);
        copy.Set(data_field, fields);
        node_changed = true;
      }
    }
    upgraded.push_back(node_changed ? json::Value(copy) : item);
    changed |= node_changed;
  }
  if (!changed) return root;
  json::Object result = *graph;
  result.Set(ffi::String("nodes"), upgraded);
  return result;
}

}  // namespace

ffi::String SaveJSON(const ffi::Any& value) {
  json::Object metadata;
  metadata.Set(ffi::String("tvm_version"), ffi::String(TVM_VERSION));
  return json::Stringify(ffi::ToJSONGraph(value, metadata), 2);
}

ffi::Any LoadJSON(const ffi::String& text) {
  return ffi::FromJSONGraph(UpgradeGraph(json::Parse(text)));
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = ffi::reflection;
  refl::GlobalDef().def("node.SaveJSON", SaveJSON).def("node.LoadJSON", LoadJSON);
}

}  // namespace tvm
