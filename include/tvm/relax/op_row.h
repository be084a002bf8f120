// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief The operator table: one row an operator, from which everything else is generated.
///
/// A row fills the Op registry (`FInferType`, `FLegalize`, `FPurity`, `TOpPattern`), the global
/// maker `relax.op.<name>`, the Python wrapper and the generic operator tests.
#ifndef TVM_RELAX_OP_ROW_H_
#define TVM_RELAX_OP_ROW_H_

#include <tvm/ir/attrs.h>
#include <tvm/relax/block_builder.h>
#include <tvm/relax/expr.h>

#include <initializer_list>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace tvm {
namespace relax {

/// How an operator's output elements depend on its inputs; decides what may be fused.
enum class OpPattern : int {
  kElemWise = 0,
  kBroadcast = 1,
  kInjective = 2,
  kCommReduce = 3,
  kOutEWiseFusable = 4,
  kTuple = 7,
  kOpaque = 8,
};

/// How an operator behaves when the layout of its first operand changes.
enum class LayoutRule : int {
  kFixed = 0,       ///< needs its inputs as written
  kElemWise = 1,    ///< any layout, all tensor operands and the output alike (broadcast included)
  kDataLayout = 2,  ///< has a `layout`/`data_layout` attribute: convolution, pooling, resize
  kAxis = 3,        ///< attribute `axis` (or `axes`) names dimensions; renumbered with the layout
  kReduce = 4,      ///< as kAxis; output keeps the layout only when `keepdims`
  kConcat = 5,      ///< tuple operand, attribute `axis`
};

struct OpRow;
struct LowerArgs;
/// Type of the call's result; throws TypeError or ValueError for a wrong call.
using FInferType = Type (*)(const Call& call, const BlockBuilder& ctx);
/// The operator as tensor expressions of its operands (tuple operands spliced), one per output.
using FLower = void (*)(LowerArgs& args);
/// Completes the attributes after they were set from arguments (expands paddings, defaults).
using FPrepare = Expr (*)(Array<Expr> args, Attrs attrs, const OpRow& row);

struct OpRow {
  /// Name without the prefix `relax.`, e.g. `nn.conv2d`.
  const char* name;
  /// Operands: `name[:kind][?]`, comma separated. Kinds: tensor (default), tuple, shape, prim,
  /// any; `?` marks an optional trailing operand.
  const char* args = "";
  /// Attributes with Python literals as defaults: `axis=None, keepdims=False`; no default means
  /// required. Names and order are the fields of the attribute structure.
  const char* attrs = "";
  /// Type key of the attribute structure, or nullptr.
  const char* attrs_key = nullptr;
  FInferType infer = nullptr;
  OpPattern pattern = OpPattern::kOpaque;
  /// nullptr: not computed by a kernel (a builtin or packed function takes its place).
  FLower lower = nullptr;
  FPrepare prepare = nullptr;
  bool pure = true;
  LayoutRule layout = LayoutRule::kFixed;
  /// Packed runtime function called as `f(args.., outs..)` when there is no `lower`.
  const char* packed = nullptr;
  /// Result shape depends on operand values.
  bool data_dependent = false;
  /// Sample calls for the generic tests: `f32[2,3] f32[3]; axis=1`, `|` separated.
  const char* samples = "";
  const char* doc = "";
};

/// Register a static table of rows.
TVM_DLL void RegisterOpRows(std::span<const OpRow> rows);
/// The row of a registered operator, or nullptr (`op` is the full name or the Op itself).
TVM_DLL const OpRow* FindOpRow(const Op& op);
TVM_DLL const OpRow* FindOpRow(std::string_view name_without_prefix);
/// The row of the operator that `expr` calls, or nullptr.
TVM_DLL const OpRow* RowOfCall(const Expr& expr);
TVM_DLL const std::vector<const OpRow*>& AllOpRows();

/// A call of row `name`; attributes not given take the row's defaults.
TVM_DLL Expr MakeOp(std::string_view name, Array<Expr> args,
                    std::initializer_list<std::pair<const char*, ffi::Any>> attrs = {});
/// The same call with other operands (attributes kept, type missing).
TVM_DLL Call CallWithArgs(const CallNode* call, Array<Expr> args);
/// The same call with operands of the same types: its type stays.
TVM_DLL Call CallWithSameTypes(const CallNode* call, Array<Expr> args);

/// Attribute structure of a call as T.
template <typename T>
const T* AttrsOf(const CallNode* call) {
  return call->attrs.as<T>();
}

#define TVM_RELAX_REGISTER_OPS(rows) \
  TVM_FFI_STATIC_INIT_BLOCK() { ::tvm::relax::RegisterOpRows(rows); }

}  // namespace relax
}  // namespace tvm

#endif  // TVM_RELAX_OP_ROW_H_
