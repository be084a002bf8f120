// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Forward declarations of the base IR, so that headers of other layers stay light.
#ifndef TVM_IR_FWD_H_
#define TVM_IR_FWD_H_

namespace tvm {

class SourceNameNode;
class SourceName;
class SpanNode;
class Span;
class SequentialSpan;
class SourceMap;

class TypeNode;
class Type;
class PrimTypeNode;
class PrimType;
class PointerTypeNode;
class PointerType;
class TupleTypeNode;
class TupleType;
class FuncTypeNode;
class FuncType;

class ExprNode;
class Expr;
class PrimExpr;
class VarNode;
class Var;
class GlobalVarNode;
class GlobalVar;
class CallNode;
class Call;
class IntImmNode;
class IntImm;
class FloatImmNode;
class FloatImm;
class RangeNode;
class Range;
class OpNode;
class Op;

class BaseAttrsNode;
class Attrs;
class DictAttrsNode;
class DictAttrs;

class BaseFuncNode;
class BaseFunc;
class IRModuleNode;
class IRModule;
class GlobalInfoNode;
class GlobalInfo;

namespace transform {
class PassInfo;
class PassContextNode;
class PassContext;
class PassNode;
class Pass;
class Sequential;
}  // namespace transform

namespace instrument {
class PassInstrument;
}  // namespace instrument

namespace tirx {
class BufferTypeNode;
class BufferType;
class Buffer;
class BufferRegion;
class IterVarNode;
class IterVar;
}  // namespace tirx

}  // namespace tvm
#endif  // TVM_IR_FWD_H_
