// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Traces as JSON and as Python. Random variables are named b#, l#, v# (blocks, loops, integers) by
/// the order in which they are made.
#include <tvm/ffi/extra/json.h>
#include <tvm/ir/module.h>
#include <tvm/s_tir/schedule/schedule.h>
#include <tvm/tirx/index_map.h>

#include <unordered_map>
#include <utility>

#include "s_tir/schedule/primitive_registry.h"
#include "s_tir/schedule/trace_values.h"

namespace tvm {
namespace s_tir {

using namespace tirx;  // NOLINT(build/namespaces)

namespace {

class Names {
 public:
  std::string Define(const ffi::Any& rv) {
    const char* prefix = "v";
    if (rv.as<SBlockRVNode>() != nullptr) prefix = "b";
    if (rv.as<LoopRVNode>() != nullptr) prefix = "l";
    std::string name = prefix + std::to_string(names_.size());
    names_[rv.cast<ffi::ObjectRef>().get()] = name;
    return name;
  }
  const std::string* Find(const ffi::Any& rv) const {
    if (rv.as<SBlockRVNode>() == nullptr && rv.as<LoopRVNode>() == nullptr &&
        rv.as<VarNode>() == nullptr) {
      return nullptr;
    }
    auto it = names_.find(rv.cast<ffi::ObjectRef>().get());
    return it == names_.end() ? nullptr : &it->second;
  }

 private:
  std::unordered_map<const ffi::Object*, std::string> names_;
};

std::string Quoted(const ffi::String& text) {
  return std::string(ffi::json::Stringify(ffi::Any(text)));
}

// ---- Python ----

std::string ValueText(const ffi::Any& value, const Names& names);

std::string ListText(const ffi::Array<ffi::Any>& list, const Names& names) {
  std::string text = "[";
  for (size_t i = 0; i < list.size(); ++i) text += (i ? ", " : "") + ValueText(list[i], names);
  return text + "]";
}

std::string IndexMapText(const IndexMapNode* map) {
  std::string text = "lambda ";
  for (size_t i = 0; i < map->initial_indices.size(); ++i) {
    text += (i ? ", " : "") + std::string(map->initial_indices[i]->name);
  }
  text += ": (";
  for (const PrimExpr& index : map->final_indices) text += std::string(DebugText(index)) + ", ";
  if (!map->final_indices.empty()) text.pop_back();
  return text + ")";
}

std::string ValueText(const ffi::Any& value, const Names& names) {
  if (value == nullptr) return "None";
  if (const std::string* name = names.Find(value)) return *name;
  if (auto flag = value.as<bool>()) return *flag ? "True" : "False";
  if (auto number = value.as<int64_t>()) return std::to_string(*number);
  if (value.as<double>().has_value()) return std::string(ffi::json::Stringify(value));
  if (auto text = value.as<ffi::String>()) return Quoted(*text);
  if (const auto* map = value.as<IndexMapNode>()) return IndexMapText(map);
  if (const auto* imm = value.as<IntImmNode>()) {
    if (imm->dtype().is_bool()) return imm->value != 0 ? "True" : "False";
    return std::to_string(imm->value);
  }
  if (const auto* imm = value.as<FloatImmNode>()) {
    return std::string(ffi::json::Stringify(ffi::Any(imm->value)));
  }
  if (auto list = value.as<ffi::Array<ffi::Any>>()) return ListText(*list, names);
  if (auto map = value.as<ffi::Map<ffi::Any, ffi::Any>>()) {
    std::string text = "{";
    for (const auto& [key, part] : *map) {
      text += (text.size() > 1 ? ", " : "") + ValueText(key, names) + ": " + ValueText(part, names);
    }
    return text + "}";
  }
  return std::string(DebugText(value));
}

std::string OutputText(const Primitive& primitive, const ffi::Array<ffi::Any>& outputs,
                       Names* names) {
  std::string text;
  for (const ffi::Any& output : outputs) text += (text.empty() ? "" : ", ") + names->Define(output);
  if (text.empty()) return text;
  // A list of one is unpacked by a trailing comma.
  if (primitive.spec.result == Result::kList && outputs.size() == 1) text += ",";
  return text + " = ";
}

// ---- JSON ----

ffi::Any PlainJSON(const ffi::Any& value) {
  if (const auto* imm = value.as<IntImmNode>()) return ffi::Any(imm->value);
  if (const auto* imm = value.as<FloatImmNode>()) return ffi::Any(imm->value);
  if (value.as<IndexMapNode>() != nullptr) return ffi::Any(SaveJSON(value));
  if (auto list = value.as<ffi::Array<ffi::Any>>()) {
    ffi::Array<ffi::Any> result;
    for (const ffi::Any& part : *list) result.push_back(PlainJSON(part));
    return result;
  }
  if (auto map = value.as<ffi::Map<ffi::Any, ffi::Any>>()) {
    ffi::Map<ffi::Any, ffi::Any> result;
    for (const auto& [key, part] : *map) result.Set(key, PlainJSON(part));
    return result;
  }
  if (value.as<ExprNode>() != nullptr) {
    TVM_FFI_THROW(ValueError) << "a trace with the expression " << DebugText(value)
                              << " cannot be written as JSON: only random variables and literals "
                                 "can";
  }
  return value;
}

/// Inputs mix names of variables and values, so strings are quoted there.
ffi::Any InputJSON(const ffi::Any& value, const Names& names) {
  if (value == nullptr) return ffi::String("None");
  if (const std::string* name = names.Find(value)) return ffi::String(*name);
  if (auto text = value.as<ffi::String>()) return ffi::String(Quoted(*text));
  if (auto list = value.as<ffi::Array<ffi::Any>>()) {
    ffi::Array<ffi::Any> result;
    for (const ffi::Any& part : *list) result.push_back(InputJSON(part, names));
    return result;
  }
  if (auto map = value.as<ffi::Map<ffi::Any, ffi::Any>>()) {
    ffi::Map<ffi::Any, ffi::Any> result;
    for (const auto& [key, part] : *map) result.Set(key, InputJSON(part, names));
    return result;
  }
  return PlainJSON(value);
}

using NamedRVs = std::unordered_map<std::string, ffi::Any>;

bool LooksLikeIndexMap(const std::string& text) { return !text.empty() && text[0] == '{'; }

ffi::Any LoadIndexMap(const std::string& text) {
  ffi::Any value = LoadJSON(text);
  TVM_FFI_CHECK(value.as<IndexMapNode>() != nullptr, ValueError)
      << "expected an IndexMap in the trace, but found " << DebugText(value);
  return value;
}

ffi::Any InputFromJSON(const ffi::Any& json, const NamedRVs& rvs) {
  if (auto list = json.as<ffi::Array<ffi::Any>>()) {
    ffi::Array<ffi::Any> result;
    for (const ffi::Any& part : *list) result.push_back(InputFromJSON(part, rvs));
    return result;
  }
  if (auto map = json.as<ffi::Map<ffi::Any, ffi::Any>>()) {
    ffi::Map<ffi::Any, ffi::Any> result;
    for (const auto& [key, part] : *map) result.Set(key, InputFromJSON(part, rvs));
    return result;
  }
  auto string = json.as<ffi::String>();
  if (!string.has_value()) return json;
  const std::string text(*string);
  if (text == "None") return ffi::Any();
  if (!text.empty() && text[0] == '"') return ffi::json::Parse(*string);
  if (LooksLikeIndexMap(text)) return LoadIndexMap(text);
  auto it = rvs.find(text);
  TVM_FFI_CHECK(it != rvs.end(), ValueError)
      << "the trace uses the random variable " << text << " before it defines it";
  return it->second;
}

ffi::Array<ffi::Any> ListAt(const ffi::Any& json, const char* what) {
  auto list = json.as<ffi::Array<ffi::Any>>();
  TVM_FFI_CHECK(list.has_value(), ValueError)
      << "expected a list of " << what << " in the JSON of a trace, but found "
      << json.GetTypeKey();
  return *list;
}

struct JSONInstruction {
  std::string kind;
  ffi::Array<ffi::Any> inputs, attrs, outputs;
};

JSONInstruction ParseInstruction(const ffi::Any& json) {
  ffi::Array<ffi::Any> parts = ListAt(json, "the parts of an instruction");
  TVM_FFI_CHECK(parts.size() == 4, ValueError)
      << "expected [kind, inputs, attrs, outputs] in the JSON of a trace, but found a list of "
      << parts.size();
  auto kind = parts[0].as<ffi::String>();
  TVM_FFI_CHECK(kind.has_value(), ValueError) << "the kind of an instruction has to be a string";
  JSONInstruction result{std::string(*kind), ListAt(parts[1], "inputs"), ListAt(parts[2], "attrs"),
                         ListAt(parts[3], "outputs")};
  return result;
}

}  // namespace

ffi::Array<ffi::String> TraceNode::AsPython(bool remove_postproc) const {
  Names names;
  ffi::Array<ffi::String> lines;
  const size_t n = Length(remove_postproc);
  for (size_t i = 0; i < n; ++i) {
    const Instruction& inst = insts[i];
    const Primitive& primitive = Primitive::Get(std::string(inst->kind->name));
    std::string call =
        primitive.CallText(inst->inputs, inst->attrs, GetDecision(inst),
                           [&](const ffi::Any& value) { return ValueText(value, names); });
    lines.push_back(OutputText(primitive, inst->outputs, &names) + "sch." + call);
  }
  return lines;
}

ffi::Any TraceNode::AsJSON(bool remove_postproc) const {
  Names names;
  ffi::Array<ffi::Any> json_insts, json_decisions;
  const size_t n = Length(remove_postproc);
  for (size_t i = 0; i < n; ++i) {
    const Instruction& inst = insts[i];
    ffi::Array<ffi::Any> inputs, attrs, outputs;
    for (const ffi::Any& input : inst->inputs) inputs.push_back(InputJSON(input, names));
    for (const ffi::Any& attr : inst->attrs) attrs.push_back(PlainJSON(attr));
    for (const ffi::Any& output : inst->outputs) {
      outputs.push_back(ffi::String(names.Define(output)));
    }
    json_insts.push_back(ffi::Array<ffi::Any>{inst->kind->name, inputs, attrs, outputs});
    ffi::Any decision = GetDecision(inst);
    if (decision != nullptr) {
      json_decisions.push_back(ffi::Array<ffi::Any>{static_cast<int64_t>(i), PlainJSON(decision)});
    }
  }
  return ffi::Array<ffi::Any>{json_insts, json_decisions};
}

void TraceNode::ApplyJSONToSchedule(const ffi::Any& json, const Schedule& sch) {
  ffi::Array<ffi::Any> top = ListAt(json, "[instructions, decisions]");
  TVM_FFI_CHECK(top.size() == 2, ValueError)
      << "expected [instructions, decisions] as the JSON of a trace, but found a list of "
      << top.size();
  ffi::Array<ffi::Any> json_insts = ListAt(top[0], "instructions");
  std::unordered_map<int64_t, ffi::Any> decisions;
  for (const ffi::Any& entry : ListAt(top[1], "decisions")) {
    ffi::Array<ffi::Any> pair = ListAt(entry, "[index, decision]");
    TVM_FFI_CHECK(pair.size() == 2, ValueError)
        << "expected [index, decision] in the JSON of a trace, but found a list of " << pair.size();
    auto index = pair[0].as<int64_t>();
    TVM_FFI_CHECK(
        index.has_value() && *index >= 0 && *index < static_cast<int64_t>(json_insts.size()),
        ValueError)
        << "a decision in the JSON of a trace is for no instruction";
    decisions[*index] = pair[1];
  }
  NamedRVs rvs;
  for (size_t i = 0; i < json_insts.size(); ++i) {
    JSONInstruction inst = ParseInstruction(json_insts[i]);
    const Primitive& primitive = Primitive::Get(inst.kind);
    ffi::Array<ffi::Any> inputs, attrs;
    for (const ffi::Any& input : inst.inputs) inputs.push_back(InputFromJSON(input, rvs));
    for (size_t a = 0; a < inst.attrs.size(); ++a) {
      auto text = inst.attrs[a].as<ffi::String>();
      const bool map = static_cast<int>(a) == primitive.spec.index_map_attr && text.has_value();
      attrs.push_back(map ? LoadIndexMap(std::string(*text)) : inst.attrs[a]);
    }
    ffi::Any decision;
    if (auto it = decisions.find(static_cast<int64_t>(i)); it != decisions.end()) {
      decision = it->second;
    }
    ffi::Array<ffi::Any> outputs = sch->Run(inst.kind, inputs, attrs, decision);
    TVM_FFI_CHECK(outputs.size() == inst.outputs.size(), ValueError)
        << "instruction " << inst.kind << " of the trace has " << inst.outputs.size()
        << " outputs, but applied to this schedule it gives " << outputs.size();
    for (size_t o = 0; o < outputs.size(); ++o) {
      auto name = inst.outputs[o].as<ffi::String>();
      TVM_FFI_CHECK(name.has_value(), ValueError)
          << "the outputs of an instruction have to be names";
      rvs[std::string(*name)] = outputs[o];
    }
  }
}

}  // namespace s_tir
}  // namespace tvm
