// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Fields and constructors of the scalar nodes, as other languages see them.
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ir/scalar.h>
#include <tvm/ir/scalar_op.h>

namespace tvm::tirx {

namespace refl = ffi::reflection;

void StringImmNode::RegisterReflection() {
  refl::ObjectDef<StringImmNode>().def_ro("value", &StringImmNode::value);
}

void CastNode::RegisterReflection() {
  refl::ObjectDef<CastNode>().def_ro("value", &CastNode::value);
}

#define TVM_REFLECT_BINARY(Name)                                                           \
  void Name##Node::RegisterReflection() {                                                  \
    refl::ObjectDef<Name##Node>().def_ro("a", &Name##Node::a).def_ro("b", &Name##Node::b); \
  }
// clang-format off: the formatter takes chains of macros for casts
#define TVM_FOR_EACH_BINARY(X) \
  X(Add) X(Sub) X(Mul) X(Div) X(Mod) X(FloorDiv) X(FloorMod) X(Min) X(Max) X(EQ) X(NE) X(LT) \
  X(LE) X(GT) X(GE) X(And) X(Or)
// clang-format on
TVM_FOR_EACH_BINARY(TVM_REFLECT_BINARY)
#undef TVM_REFLECT_BINARY

void NotNode::RegisterReflection() { refl::ObjectDef<NotNode>().def_ro("a", &NotNode::a); }

void SelectNode::RegisterReflection() {
  refl::ObjectDef<SelectNode>()
      .def_ro("condition", &SelectNode::condition)
      .def_ro("true_value", &SelectNode::true_value)
      .def_ro("false_value", &SelectNode::false_value);
}

void RampNode::RegisterReflection() {
  refl::ObjectDef<RampNode>()
      .def_ro("base", &RampNode::base)
      .def_ro("stride", &RampNode::stride)
      .def_ro("lanes", &RampNode::lanes);
}

void BroadcastNode::RegisterReflection() {
  refl::ObjectDef<BroadcastNode>()
      .def_ro("value", &BroadcastNode::value)
      .def_ro("lanes", &BroadcastNode::lanes);
}

void LetNode::RegisterReflection() {
  refl::ObjectDef<LetNode>()
      .def_ro("var", &LetNode::var, refl::AttachFieldFlag::SEqHashDefSimple())
      .def_ro("value", &LetNode::value)
      .def_ro("body", &LetNode::body);
}

void ShuffleNode::RegisterReflection() {
  refl::ObjectDef<ShuffleNode>()
      .def_ro("vectors", &ShuffleNode::vectors)
      .def_ro("indices", &ShuffleNode::indices);
}

void IterVarNode::RegisterReflection() {
  refl::ObjectDef<IterVarNode>()
      .def_ro("dom", &IterVarNode::dom)
      .def_ro("var", &IterVarNode::var, refl::AttachFieldFlag::SEqHashDefSimple())
      .def_ro("iter_type", &IterVarNode::iter_type)
      .def_ro("thread_tag", &IterVarNode::thread_tag)
      .def_ro("span", &IterVarNode::span, refl::default_value(nullptr),
              refl::AttachFieldFlag::SEqHashIgnore());
}

void CommReducerNode::RegisterReflection() {
  refl::ObjectDef<CommReducerNode>()
      .def_ro("lhs", &CommReducerNode::lhs, refl::AttachFieldFlag::SEqHashDefSimple())
      .def_ro("rhs", &CommReducerNode::rhs, refl::AttachFieldFlag::SEqHashDefSimple())
      .def_ro("result", &CommReducerNode::result)
      .def_ro("identity_element", &CommReducerNode::identity_element)
      .def_ro("span", &CommReducerNode::span, refl::default_value(nullptr),
              refl::AttachFieldFlag::SEqHashIgnore());
}

void ReduceNode::RegisterReflection() {
  // The axes come before what uses them: they define their variables.
  refl::ObjectDef<ReduceNode>()
      .def_ro("combiner", &ReduceNode::combiner)
      .def_ro("axis", &ReduceNode::axis)
      .def_ro("source", &ReduceNode::source)
      .def_ro("init", &ReduceNode::init)
      .def_ro("condition", &ReduceNode::condition)
      .def_ro("value_index", &ReduceNode::value_index);
}

void DataProducerNode::RegisterReflection() {
  refl::ObjectDef<DataProducerNode>()
      .def_ro("shape", &DataProducerNode::shape)
      .def_ro("dtype", &DataProducerNode::dtype);
}

void ProducerLoadNode::RegisterReflection() {
  refl::ObjectDef<ProducerLoadNode>()
      .def_ro("producer", &ProducerLoadNode::producer)
      .def_ro("indices", &ProducerLoadNode::indices);
}

TVM_FFI_STATIC_INIT_BLOCK() {
  StringImmNode::RegisterReflection();
  CastNode::RegisterReflection();
#define TVM_CALL_REFLECT(Name) Name##Node::RegisterReflection();
  TVM_FOR_EACH_BINARY(TVM_CALL_REFLECT)
#undef TVM_CALL_REFLECT
  NotNode::RegisterReflection();
  SelectNode::RegisterReflection();
  RampNode::RegisterReflection();
  BroadcastNode::RegisterReflection();
  LetNode::RegisterReflection();
  ShuffleNode::RegisterReflection();
  IterVarNode::RegisterReflection();
  CommReducerNode::RegisterReflection();
  ReduceNode::RegisterReflection();
  DataProducerNode::RegisterReflection();
  ProducerLoadNode::RegisterReflection();

  refl::GlobalDef def;
#define TVM_DEF_BINARY(Name) \
  def.def("tirx." #Name, [](PrimExpr a, PrimExpr b, Span span) { return Name(a, b, span); });
  TVM_FOR_EACH_BINARY(TVM_DEF_BINARY)
#undef TVM_DEF_BINARY
  def.def("tirx.StringImm", [](ffi::String value, Span span) { return StringImm(value, span); })
      .def("tirx.Cast", [](DLDataType dtype, PrimExpr value,
                           Span span) { return Cast(DataType(dtype), value, span); })
      .def("tirx.Not", [](PrimExpr a, Span span) { return Not(a, span); })
      .def("tirx.Select", [](PrimExpr cond, PrimExpr t, PrimExpr f,
                             Span span) { return Select(cond, t, f, span); })
      .def("tirx.Ramp", [](PrimExpr base, PrimExpr stride, PrimExpr lanes,
                           Span span) { return Ramp(base, stride, lanes, span); })
      .def("tirx.Broadcast",
           [](PrimExpr value, PrimExpr lanes, Span span) { return Broadcast(value, lanes, span); })
      .def("tirx.Let",
           [](Var var, Expr value, Expr body, Span span) { return Let(var, value, body, span); })
      .def("tirx.Shuffle", [](ffi::Array<PrimExpr> vectors, ffi::Array<PrimExpr> indices,
                              Span span) { return Shuffle(vectors, indices, span); })
      .def("tirx.IterVar",
           [](Range dom, Var var, int iter_type, ffi::String thread_tag, Span span) {
             return IterVar(dom, var, static_cast<IterVarType>(iter_type), thread_tag, span);
           })
      .def("tirx.CommReducer",
           [](ffi::Array<Var> lhs, ffi::Array<Var> rhs, ffi::Array<PrimExpr> result,
              ffi::Array<PrimExpr> identity,
              Span span) { return CommReducer(lhs, rhs, result, identity, span); })
      .def("tirx.CommReducerCombine", [](CommReducer reducer, ffi::Array<PrimExpr> a,
                                         ffi::Array<PrimExpr> b) { return (*reducer.get())(a, b); })
      .def("tirx.Reduce",
           [](CommReducer combiner, ffi::Array<PrimExpr> source, ffi::Array<IterVar> axis,
              PrimExpr condition, int value_index, ffi::Array<PrimExpr> init, Span span) {
             return Reduce(combiner, source, axis, condition, value_index, init, span);
           })
      .def("tirx.ProducerLoad", [](DataProducer producer, ffi::Array<PrimExpr> indices, Span span) {
        return ProducerLoad(producer, indices, span);
      });

  RegisterPrimExprConversion(IterVarNode::RuntimeTypeIndex(), [](const ffi::Object* obj) {
    return PrimExpr(static_cast<const IterVarNode*>(obj)->var);
  });
}

}  // namespace tvm::tirx
