// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Traces: recording, replaying and simplifying. Text forms are in trace_text.cc.
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/s_tir/schedule/schedule.h>

#include <unordered_set>
#include <utility>

#include "s_tir/schedule/primitive_registry.h"
#include "s_tir/schedule/trace_values.h"

namespace tvm {
namespace s_tir {

using namespace tirx;  // NOLINT(build/namespaces)

Trace::Trace(ffi::Array<Instruction> insts, ffi::Map<Instruction, ffi::Any> decisions) {
  auto node = ffi::make_object<TraceNode>();
  node->insts = std::move(insts);
  node->decisions = std::move(decisions);
  data_ = std::move(node);
}

ffi::Any TraceNode::GetDecision(const Instruction& inst) const {
  auto it = decisions.find(inst);
  return it == decisions.end() ? ffi::Any() : (*it).second;
}

void TraceNode::Append(Instruction inst) { insts.push_back(std::move(inst)); }

void TraceNode::Append(Instruction inst, ffi::Any decision) {
  decisions.Set(inst, std::move(decision));
  insts.push_back(std::move(inst));
}

Instruction TraceNode::Pop() {
  if (insts.empty()) return Instruction();
  Instruction last = insts.back();
  insts.pop_back();
  decisions.erase(last);
  return last;
}

size_t TraceNode::Length(bool remove_postproc) const {
  if (!remove_postproc) return insts.size();
  size_t n = 0;
  while (n < insts.size() && !insts[n]->kind->IsPostproc()) ++n;
  return n;
}

namespace {

/// Rebuilds a value of an instruction's inputs with each random variable replaced.
ffi::Any MapValue(const ffi::Any& value, const std::function<ffi::Any(const ffi::ObjectRef&)>& rv) {
  if (value.as<SBlockRVNode>() != nullptr || value.as<LoopRVNode>() != nullptr) {
    return rv(value.cast<ffi::ObjectRef>());
  }
  if (auto list = value.as<ffi::Array<ffi::Any>>()) {
    ffi::Array<ffi::Any> result;
    for (const ffi::Any& part : *list) result.push_back(MapValue(part, rv));
    return result;
  }
  if (auto map = value.as<ffi::Map<ffi::Any, ffi::Any>>()) {
    ffi::Map<ffi::Any, ffi::Any> result;
    for (const auto& [key, part] : *map) result.Set(key, MapValue(part, rv));
    return result;
  }
  if (value.as<VarNode>() != nullptr) {
    ffi::Any mapped = rv(value.cast<ffi::ObjectRef>());
    return mapped == nullptr ? value : mapped;
  }
  if (value.as<ExprNode>() != nullptr && IsPrimExpr(value.as<ExprNode>())) {
    return Substitute(value.cast<PrimExpr>(), [&](const Var& var) -> ffi::Optional<Expr> {
      ffi::Any mapped = rv(var);
      if (mapped == nullptr) return std::nullopt;
      return mapped.cast<Expr>();
    });
  }
  return value;
}

}  // namespace

void VisitRandomVariables(const ffi::Any& value,
                          const std::function<void(const ffi::ObjectRef&)>& visit) {
  MapValue(value, [&](const ffi::ObjectRef& rv) {
    visit(rv);
    return ffi::Any(rv);
  });
}

ffi::Array<ffi::Any> MapRandomVariables(const ffi::Array<ffi::Any>& values, const RVMap& map) {
  ffi::Array<ffi::Any> result;
  for (const ffi::Any& value : values) {
    result.push_back(MapValue(value, [&](const ffi::ObjectRef& rv) -> ffi::Any {
      auto it = map.find(rv.get());
      if (it != map.end()) return it->second;
      // A plain variable may be a symbolic shape; blocks and loops must be known.
      if (rv.as<VarNode>() != nullptr) return ffi::Any();
      TVM_FFI_THROW(ValueError) << "the trace uses a random variable before it defines it";
      TVM_FFI_UNREACHABLE();
    }));
  }
  return result;
}

void BindOutputs(const Instruction& inst, const ffi::Array<ffi::Any>& outputs, RVMap* map) {
  TVM_FFI_CHECK(inst->outputs.size() == outputs.size(), ValueError)
      << "instruction " << inst->kind->name << " of the trace has " << inst->outputs.size()
      << " outputs, but applied to this schedule it gives " << outputs.size();
  for (size_t i = 0; i < outputs.size(); ++i) {
    (*map)[inst->outputs[i].cast<ffi::ObjectRef>().get()] = outputs[i];
  }
}

void TraceNode::ApplyToSchedule(const Schedule& sch, bool remove_postproc,
                                FTraceDecisionProvider decision_provider) const {
  RVMap map;
  // The schedule may be the one that records into this very trace.
  const ffi::Array<Instruction> steps = insts;
  const ffi::Map<Instruction, ffi::Any> decided = decisions;
  const size_t n = Length(remove_postproc);
  for (size_t i = 0; i < n; ++i) {
    const Instruction& inst = steps[i];
    ffi::Array<ffi::Any> inputs = MapRandomVariables(inst->inputs, map);
    ffi::Any decision;
    if (auto it = decided.find(inst); it != decided.end()) decision = (*it).second;
    if (decision_provider != nullptr) {
      decision = decision_provider(inst, inputs, inst->attrs, decision);
    }
    BindOutputs(inst, sch->Run(inst->kind->name, inputs, inst->attrs, decision), &map);
  }
}

Trace TraceNode::WithDecision(const Instruction& inst, const ffi::Any& decision,
                              bool remove_postproc) const {
  const size_t n = Length(remove_postproc);
  ffi::Map<Instruction, ffi::Any> changed = decisions;
  changed.Set(inst, decision);
  return Trace(ffi::Array<Instruction>(insts.begin(), insts.begin() + n), changed);
}

Trace TraceNode::Simplified(bool remove_postproc) const {
  std::unordered_set<const ffi::Object*> used;
  std::vector<Instruction> kept;
  ffi::Map<Instruction, ffi::Any> kept_decisions;
  for (size_t i = Length(remove_postproc); i-- > 0;) {
    const Instruction& inst = insts[i];
    bool needed = !inst->kind->is_pure;
    for (const ffi::Any& output : inst->outputs) {
      needed = needed || used.count(output.cast<ffi::ObjectRef>().get()) != 0;
    }
    if (!needed) continue;
    for (const ffi::Any& input : inst->inputs) {
      VisitRandomVariables(input, [&](const ffi::ObjectRef& rv) { used.insert(rv.get()); });
    }
    kept.push_back(inst);
    if (auto it = decisions.find(inst); it != decisions.end()) {
      kept_decisions.Set(inst, (*it).second);
    }
  }
  return Trace(ffi::Array<Instruction>(kept.rbegin(), kept.rend()), kept_decisions);
}

void TraceNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<TraceNode>()
      .def_ro("insts", &TraceNode::insts)
      .def_ro("decisions", &TraceNode::decisions);
}

TVM_FFI_STATIC_INIT_BLOCK() {
  TraceNode::RegisterReflection();
  namespace refl = ffi::reflection;
  refl::GlobalDef()
      .def("s_tir.schedule.Trace",
           [](ffi::Array<Instruction> insts, ffi::Map<Instruction, ffi::Any> decisions) {
             return Trace(insts, decisions);
           })
      .def("s_tir.schedule.TraceGetDecision",
           [](Trace trace, Instruction inst) { return trace->GetDecision(inst); })
      .def("s_tir.schedule.TraceAppend",
           [](Trace trace, Instruction inst, ffi::Any decision) {
             if (decision == nullptr) {
               trace->Append(inst);
             } else {
               trace->Append(inst, decision);
             }
           })
      .def("s_tir.schedule.TracePop",
           [](Trace trace) -> ffi::Optional<Instruction> {
             Instruction last = trace->Pop();
             if (!last.defined()) return std::nullopt;
             return last;
           })
      .def("s_tir.schedule.TraceApplyToSchedule",
           [](Trace trace, Schedule sch, bool remove_postproc,
              ffi::Optional<ffi::Function> provider) {
             FTraceDecisionProvider decide;
             if (provider.has_value()) {
               decide = [f = provider.value()](const Instruction& inst,
                                               const ffi::Array<ffi::Any>& inputs,
                                               const ffi::Array<ffi::Any>& attrs,
                                               const ffi::Any& decision) -> ffi::Any {
                 return f(inst, inputs, attrs, decision);
               };
             }
             trace->ApplyToSchedule(sch, remove_postproc, decide);
           })
      .def("s_tir.schedule.TraceAsJSON",
           [](Trace trace, bool remove_postproc) { return trace->AsJSON(remove_postproc); })
      .def("s_tir.schedule.TraceAsPython",
           [](Trace trace, bool remove_postproc) { return trace->AsPython(remove_postproc); })
      .def("s_tir.schedule.TraceWithDecision",
           [](Trace trace, Instruction inst, ffi::Any decision, bool remove_postproc) {
             return trace->WithDecision(inst, decision, remove_postproc);
           })
      .def("s_tir.schedule.TraceSimplified",
           [](Trace trace, bool remove_postproc) { return trace->Simplified(remove_postproc); })
      .def("s_tir.schedule.TraceApplyJSONToSchedule",
           [](ffi::Any json, Schedule sch) { TraceNode::ApplyJSONToSchedule(json, sch); });
}

}  // namespace s_tir
}  // namespace tvm
