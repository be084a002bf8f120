// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Forward declarations of the Relax layer.
#ifndef TVM_RELAX_FWD_H_
#define TVM_RELAX_FWD_H_

namespace tvm {
namespace relax {
class AnyType;
class ShapeType;
class TensorType;
class FuncType;
class Constant;
class ShapeExpr;
class StringImm;
class DataTypeImm;
class Tuple;
class TupleGetItem;
class DataflowVar;
class If;
class SeqExpr;
class Binding;
class VarBinding;
class MatchCast;
class BindingBlock;
class DataflowBlock;
class Function;
class ExternFunc;
class BlockBuilder;
struct OpRow;
}  // namespace relax
}  // namespace tvm

#endif  // TVM_RELAX_FWD_H_
