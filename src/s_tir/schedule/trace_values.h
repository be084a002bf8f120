// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Random variables inside the values of instructions.
#ifndef TVM_SRC_S_TIR_SCHEDULE_TRACE_VALUES_H_
#define TVM_SRC_S_TIR_SCHEDULE_TRACE_VALUES_H_

#include <tvm/s_tir/schedule/trace.h>

#include <functional>
#include <unordered_map>

namespace tvm {
namespace s_tir {

/// Random variable of a trace -> what stands for it now.
using RVMap = std::unordered_map<const ffi::Object*, ffi::Any>;

void VisitRandomVariables(const ffi::Any& value,
                          const std::function<void(const ffi::ObjectRef&)>& visit);
/// ValueError if a block or loop variable has no entry.
ffi::Array<ffi::Any> MapRandomVariables(const ffi::Array<ffi::Any>& values, const RVMap& map);
/// Notes what the outputs of an instruction are now. ValueError if their number differs.
void BindOutputs(const Instruction& inst, const ffi::Array<ffi::Any>& outputs, RVMap* map);

}  // namespace s_tir
}  // namespace tvm

#endif  // TVM_SRC_S_TIR_SCHEDULE_TRACE_VALUES_H_
