// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// The recorded steps of a schedule.
#ifndef TVM_S_TIR_SCHEDULE_TRACE_H_
#define TVM_S_TIR_SCHEDULE_TRACE_H_

#include <tvm/s_tir/schedule/instruction.h>

#include <functional>

namespace tvm {
namespace s_tir {

class Schedule;
class Trace;

/// Chooses the decision of a sampling instruction while a trace is applied: from the instruction,
/// its inputs and attributes, and the recorded decision.
using FTraceDecisionProvider =
    std::function<ffi::Any(const Instruction& inst, const ffi::Array<ffi::Any>& inputs,
                           const ffi::Array<ffi::Any>& attrs, const ffi::Any& decision)>;

class TraceNode : public ffi::Object {
 public:
  ffi::Array<Instruction> insts;
  /// What sampling instructions decided.
  ffi::Map<Instruction, ffi::Any> decisions;

  /// The decision of an instruction; None if there is none.
  TVM_DLL ffi::Any GetDecision(const Instruction& inst) const;
  TVM_DLL void Append(Instruction inst);
  TVM_DLL void Append(Instruction inst, ffi::Any decision);
  /// Removes and returns the last instruction; null when there is none.
  TVM_DLL Instruction Pop();

  /// Runs all instructions on a schedule, with random variables of its own.
  TVM_DLL void ApplyToSchedule(const Schedule& sch, bool remove_postproc,
                               FTraceDecisionProvider decision_provider = nullptr) const;
  /// [[[kind, inputs, attrs, outputs]..], [[index, decision]..]]
  TVM_DLL ffi::Any AsJSON(bool remove_postproc) const;
  /// Lines of Python.
  TVM_DLL ffi::Array<ffi::String> AsPython(bool remove_postproc) const;
  TVM_DLL Trace WithDecision(const Instruction& inst, const ffi::Any& decision,
                             bool remove_postproc) const;
  /// Without pure instructions whose results are not used.
  TVM_DLL Trace Simplified(bool remove_postproc) const;
  /// ValueError for JSON that is no trace.
  TVM_DLL static void ApplyJSONToSchedule(const ffi::Any& json, const Schedule& sch);

  static void RegisterReflection();
  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("s_tir.Trace", TraceNode, ffi::Object);

 private:
  /// How many instructions come before the postproc marker (all of them if it is kept).
  size_t Length(bool remove_postproc) const;
};

class Trace : public ffi::ObjectRef {
 public:
  TVM_DLL Trace(ffi::Array<Instruction> insts, ffi::Map<Instruction, ffi::Any> decisions);
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Trace, ffi::ObjectRef, TraceNode);
};

}  // namespace s_tir
}  // namespace tvm

#endif  // TVM_S_TIR_SCHEDULE_TRACE_H_
