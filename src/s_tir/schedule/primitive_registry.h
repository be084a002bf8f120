// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Primitives by name. A primitive's file holds one registration, from which come its global
/// function, its instruction in traces, its JSON and its line of Python:
///
///   const PrimitiveRegistration kFuse{{
///       .name = "Fuse", .method = "fuse",
///       .params = "i0* preserve_unit_iters=a0:bool",
///       .result = Result::kOne,
///       .run = [](PrimitiveCall& call) -> ffi::Array<ffi::Any> {...},
///   }};
///
/// `params` lists the arguments in the order of the Python method, each "name=slot", or a bare slot
/// if Python passes it by position. A slot is i<n> (input) or a<n> (attribute); "i0*" takes all
/// inputs from there on; ":bool" prints as True or False, ":access" as the pair
/// ("read" or "write", index) of the attributes a<n> (index) and a<n+1> (kind), ":kind" as "read"
/// or "write"; a final "?" leaves out what is empty; "decision" is the sampling decision.
#ifndef TVM_SRC_S_TIR_SCHEDULE_PRIMITIVE_REGISTRY_H_
#define TVM_SRC_S_TIR_SCHEDULE_PRIMITIVE_REGISTRY_H_

#include <tvm/s_tir/schedule/schedule.h>

#include <functional>
#include <string>
#include <vector>

#include "s_tir/schedule/failure.h"

namespace tvm {
namespace s_tir {

/// One call of a primitive, as it is recorded.
class PrimitiveCall {
 public:
  PrimitiveCall(ScheduleNode* sch, ffi::Array<ffi::Any> inputs, ffi::Array<ffi::Any> attrs,
                ffi::Any decision)
      : sch(sch),
        state(sch->state().get()),
        inputs(std::move(inputs)),
        attrs(std::move(attrs)),
        decision(std::move(decision)) {}

  ScheduleNode* sch;
  ScheduleStateNode* state;
  ffi::Array<ffi::Any> inputs;
  ffi::Array<ffi::Any> attrs;
  /// In: what to decide, or None. Out: what was decided.
  ffi::Any decision;

  StmtSRef Block(size_t i) const { return sch->GetSRef(inputs[i].cast<SBlockRV>()); }
  StmtSRef Loop(size_t i) const { return sch->GetSRef(inputs[i].cast<LoopRV>()); }
  StmtSRef BlockOrLoop(size_t i) const {
    if (auto block = inputs[i].as<SBlockRV>()) return sch->GetSRef(*block);
    return Loop(i);
  }
  /// All inputs from i on, as loops.
  std::vector<StmtSRef> LoopsFrom(size_t i) const {
    std::vector<StmtSRef> loops;
    for (; i < inputs.size(); ++i) loops.push_back(Loop(i));
    return loops;
  }
  /// All inputs from i on, as integers; a null entry for None.
  ffi::Array<ffi::Optional<PrimExpr>> FactorsFrom(size_t i) const;
  template <typename T>
  T Attr(size_t i) const {
    return attrs[i].cast<T>();
  }
  int64_t Int(size_t i) const { return attrs[i].cast<int64_t>(); }
  bool Flag(size_t i) const { return attrs[i].cast<int64_t>() != 0; }

  ffi::Array<ffi::Any> One(const StmtSRef& block) const { return {sch->NewBlockRV(block)}; }
  ffi::Array<ffi::Any> Blocks(const ffi::Array<StmtSRef>& blocks) const {
    ffi::Array<ffi::Any> result;
    for (const StmtSRef& block : blocks) result.push_back(sch->NewBlockRV(block));
    return result;
  }
  ffi::Array<ffi::Any> LoopRVs(const ffi::Array<StmtSRef>& loops) const {
    ffi::Array<ffi::Any> result;
    for (const StmtSRef& loop : loops) result.push_back(sch->NewLoopRV(loop));
    return result;
  }
};

/// What the method returns.
enum class Result { kNone, kOne, kList };

struct PrimitiveSpec {
  const char* name;
  const char* method;
  bool pure = false;
  const char* params = "";
  Result result = Result::kNone;
  /// Attribute that holds an IndexMap or None; -1 = none does. JSON does not tell it from a string.
  int index_map_attr = -1;
  std::function<ffi::Array<ffi::Any>(PrimitiveCall&)> run;
};

/// One argument, from `params`.
struct PrimitiveParam {
  enum class Slot { kInput, kAttr, kDecision };
  std::string name;  // empty: by position
  Slot slot = Slot::kInput;
  size_t index = 0;
  bool variadic = false;
  bool optional = false;
  std::string format;
};

class Primitive {
 public:
  explicit Primitive(PrimitiveSpec spec);

  PrimitiveSpec spec;
  std::vector<PrimitiveParam> params;
  size_t num_inputs = 0;
  size_t num_attrs = 0;
  bool variadic = false;
  InstructionKind kind;

  /// ValueError, with the known names, if there is no such primitive.
  static const Primitive& Get(const std::string& name);
  static void Register(PrimitiveSpec spec);
  /// The call `<method>(...)` from the texts of inputs and attributes.
  std::string CallText(const ffi::Array<ffi::Any>& inputs, const ffi::Array<ffi::Any>& attrs,
                       const ffi::Any& decision,
                       const std::function<std::string(const ffi::Any&)>& text) const;
  /// ValueError unless the numbers of inputs and attributes are right.
  void CheckArity(size_t inputs, size_t attrs) const;
};

struct PrimitiveRegistration {
  explicit PrimitiveRegistration(PrimitiveSpec spec) { Primitive::Register(std::move(spec)); }
};

}  // namespace s_tir
}  // namespace tvm

#endif  // TVM_SRC_S_TIR_SCHEDULE_PRIMITIVE_REGISTRY_H_
