// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "s_tir/schedule/primitive_registry.h"

#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>

#include <algorithm>
#include <map>
#include <memory>

namespace tvm {
namespace s_tir {

namespace {

using Registry = std::map<std::string, std::unique_ptr<Primitive>>;
/// Filled by static initialisers only, so that reading needs no lock.
Registry& Table() {
  static Registry* table = new Registry();
  return *table;
}

PrimitiveParam ParseParam(const std::string& text) {
  PrimitiveParam param;
  std::string slot = text;
  if (size_t at = slot.find('='); at != std::string::npos) {
    param.name = slot.substr(0, at);
    slot = slot.substr(at + 1);
  }
  if (slot.back() == '?') {
    param.optional = true;
    slot.pop_back();
  }
  if (size_t at = slot.find(':'); at != std::string::npos) {
    param.format = slot.substr(at + 1);
    slot = slot.substr(0, at);
  }
  if (slot == "decision") {
    param.name = slot;
    param.slot = PrimitiveParam::Slot::kDecision;
    return param;
  }
  if (slot.back() == '*') {
    param.variadic = true;
    slot.pop_back();
  }
  param.slot = slot[0] == 'i' ? PrimitiveParam::Slot::kInput : PrimitiveParam::Slot::kAttr;
  param.index = static_cast<size_t>(std::stoul(slot.substr(1)));
  return param;
}

std::vector<PrimitiveParam> ParseParams(const std::string& text) {
  std::vector<PrimitiveParam> params;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find(' ', begin), text.size());
    params.push_back(ParseParam(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return params;
}

/// Booleans are recorded as 0 or 1.
ffi::Any AsRecorded(const PrimitiveParam& param, const ffi::AnyView& value) {
  if (param.format == "bool") return ffi::Any(static_cast<int64_t>(value.cast<bool>()));
  return ffi::Any(value);
}

/// Sorts the arguments of the global function into inputs and attributes.
ffi::Any CallFromFFI(const Primitive& primitive, const ffi::PackedArgs& args) {
  size_t expected = 1;
  for (const PrimitiveParam& param : primitive.params) {
    expected += param.format == "access" ? 2 : 1;
  }
  TVM_FFI_CHECK(static_cast<size_t>(args.size()) == expected, TypeError)
      << "s_tir.schedule.Schedule" << primitive.spec.name << " takes " << expected
      << " arguments, but got " << args.size();
  Schedule sch = args[0].cast<Schedule>();
  std::vector<ffi::Any> inputs(primitive.num_inputs), attrs(primitive.num_attrs);
  ffi::Any decision;
  int next = 1;
  for (const PrimitiveParam& param : primitive.params) {
    ffi::AnyView value = args[next++];
    if (param.slot == PrimitiveParam::Slot::kDecision) {
      decision = ffi::Any(value);
    } else if (param.variadic) {
      inputs.resize(param.index);
      for (const ffi::Any& part : value.cast<ffi::Array<ffi::Any>>()) inputs.push_back(part);
    } else if (param.slot == PrimitiveParam::Slot::kInput) {
      inputs[param.index] = AsRecorded(param, value);
    } else {
      attrs[param.index] = AsRecorded(param, value);
      if (param.format == "access") attrs[param.index + 1] = ffi::Any(args[next++]);
    }
  }
  ffi::Array<ffi::Any> outputs =
      sch->Run(primitive.spec.name, ffi::Array<ffi::Any>(inputs.begin(), inputs.end()),
               ffi::Array<ffi::Any>(attrs.begin(), attrs.end()), decision);
  switch (primitive.spec.result) {
    case Result::kNone:
      return ffi::Any();
    case Result::kOne:
      return outputs[0];
    case Result::kList:
      return outputs;
  }
  TVM_FFI_UNREACHABLE();
}

bool IsEmptyList(const ffi::Any& value) {
  auto list = value.as<ffi::Array<ffi::Any>>();
  return value == nullptr || (list.has_value() && list->empty());
}

}  // namespace

Primitive::Primitive(PrimitiveSpec spec_arg)
    : spec(std::move(spec_arg)), params(ParseParams(spec.params)) {
  for (const PrimitiveParam& param : params) {
    if (param.slot == PrimitiveParam::Slot::kInput) {
      variadic = variadic || param.variadic;
      num_inputs = std::max(num_inputs, param.index + 1);
    } else if (param.slot == PrimitiveParam::Slot::kAttr) {
      num_attrs = std::max(num_attrs, param.index + (param.format == "access" ? 2 : 1));
    }
  }
  auto node = ffi::make_object<InstructionKindNode>();
  node->name = spec.name;
  node->is_pure = spec.pure;
  kind = InstructionKind(std::move(node));
}

void Primitive::Register(PrimitiveSpec spec) {
  const std::string name = spec.name;
  auto primitive = std::make_unique<Primitive>(std::move(spec));
  const Primitive* raw = primitive.get();
  TVM_FFI_ICHECK(Table().emplace(name, std::move(primitive)).second)
      << "the primitive " << name << " is registered twice";
  ffi::reflection::GlobalDef().def_packed(
      ("s_tir.schedule.Schedule" + name).c_str(),
      [raw](ffi::PackedArgs args, ffi::Any* result) { *result = CallFromFFI(*raw, args); });
}

const Primitive& Primitive::Get(const std::string& name) {
  auto it = Table().find(name);
  if (it != Table().end()) return *it->second;
  std::string known;
  for (const auto& [other, primitive] : Table()) known += (known.empty() ? "" : ", ") + other;
  TVM_FFI_THROW(ValueError) << "there is no instruction kind \"" << name << "\"; known are "
                            << known;
  TVM_FFI_UNREACHABLE();
}

void Primitive::CheckArity(size_t inputs, size_t attrs) const {
  const bool ok = variadic ? inputs + 1 >= num_inputs : inputs == num_inputs;
  TVM_FFI_CHECK(ok, ValueError) << "instruction " << spec.name << " takes "
                                << (variadic ? "at least " : "")
                                << (variadic ? num_inputs - 1 : num_inputs) << " inputs, but got "
                                << inputs;
  TVM_FFI_CHECK(attrs == num_attrs, ValueError)
      << "instruction " << spec.name << " takes " << num_attrs << " attributes, but got " << attrs;
}

std::string Primitive::CallText(const ffi::Array<ffi::Any>& inputs,
                                const ffi::Array<ffi::Any>& attrs, const ffi::Any& decision,
                                const std::function<std::string(const ffi::Any&)>& text) const {
  std::string result = std::string(spec.method) + "(";
  bool first = true;
  auto add = [&](const std::string& name, const std::string& value) {
    result += (first ? "" : ", ") + (name.empty() ? "" : name + "=") + value;
    first = false;
  };
  for (const PrimitiveParam& param : params) {
    if (param.slot == PrimitiveParam::Slot::kDecision) {
      if (decision != nullptr) add(param.name, text(decision));
      continue;
    }
    if (param.variadic) {
      std::string list;
      for (size_t i = param.index; i < inputs.size(); ++i) {
        if (param.name.empty()) {
          add("", text(inputs[i]));
        } else {
          list += (i == param.index ? "" : ", ") + text(inputs[i]);
        }
      }
      if (!param.name.empty()) add(param.name, "[" + list + "]");
      continue;
    }
    const ffi::Array<ffi::Any>& from = param.slot == PrimitiveParam::Slot::kInput ? inputs : attrs;
    const ffi::Any value = from[param.index];
    if (param.optional && IsEmptyList(value)) continue;
    auto kind_text = [&](const ffi::Any& kind) {
      return std::string(kind.cast<int64_t>() == 0 ? "\"read\"" : "\"write\"");
    };
    if (param.format == "bool") {
      add(param.name, value.cast<int64_t>() != 0 ? "True" : "False");
    } else if (param.format == "access") {
      add(param.name, "(" + kind_text(from[param.index + 1]) + ", " + text(value) + ")");
    } else if (param.format == "kind") {
      add(param.name, kind_text(value));
    } else {
      add(param.name, text(value));
    }
  }
  return result + ")";
}

ffi::Array<ffi::Optional<PrimExpr>> PrimitiveCall::FactorsFrom(size_t i) const {
  ffi::Array<ffi::Optional<PrimExpr>> factors;
  for (; i < inputs.size(); ++i) {
    if (inputs[i] == nullptr) {
      factors.push_back(std::nullopt);
      continue;
    }
    PrimExpr factor = inputs[i].cast<PrimExpr>();
    // A sampled value is used as the integer it is; a symbolic shape stays an expression.
    if (auto value = sch->TryGet(factor)) {
      factor = *value >= INT32_MIN && *value <= INT32_MAX ? PrimExpr(IntImm::Int32(*value))
                                                          : PrimExpr(IntImm::Int64(*value));
    }
    factors.push_back(factor);
  }
  return factors;
}

}  // namespace s_tir
}  // namespace tvm
