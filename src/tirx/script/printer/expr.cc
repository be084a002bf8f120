// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Scalar expressions other than calls and buffer accesses.
#include <tvm/ir/scalar_op.h>
#include <tvm/tirx/index_map.h>

#include <string>

#include "tirx/script/printer/utils.h"

namespace tvm::script::printer {

using namespace tirx;  // NOLINT(build/namespaces): the scalar nodes

ExprDoc FreeVarDoc(const VarNode* node, const AccessPath& path, IRDocsifier& d) {
  Var var = ffi::GetRef<Var>(node);
  if (const auto* buffer = node->ty.as<BufferTypeNode>()) {
    return d.DeclareFree(var, std::string_view(node->name), [&] {
      return BufferCall(T(d, "Buffer"), {}, buffer, path->Attr("ty"), {}, d);
    });
  }
  if (!TypeDeclDoc(node->ty, path, d).defined()) {
    return d.Define(var, std::string_view(node->name), d.FreeVarFrame());
  }
  return d.DeclareFree(var, std::string_view(node->name),
                       [&] { return TypeDeclDoc(node->ty, path->Attr("ty"), d); });
}

namespace {

Doc PrintVar(const VarNode* node, const AccessPath& path, IRDocsifier& d) {
  if (auto doc = d.VarDoc(ffi::GetRef<Var>(node))) return *doc;
  return FreeVarDoc(node, path, d);
}

Doc PrintStringImm(const StringImmNode* node, const AccessPath& path, IRDocsifier& d) {
  std::string_view text(node->value);
  if (text.find('\n') != std::string_view::npos) {
    return d.AddMetadata(ffi::GetRef<StringImm>(node));
  }
  ExprDoc literal = LiteralDoc::Str(node->value, path->Attr("value"));
  return d.in_any ? T(d, "StringImm").Call({literal}) : literal;
}

Doc PrintCast(const CastNode* node, const AccessPath& path, IRDocsifier& d) {
  return T(d, "Cast").Call({LiteralDoc::DType(node->dtype(), path->Attr("ty")),
                            d.AsExpr(node->value, path->Attr("value"))});
}

/// How one binary node prints: `a op b` where Python's operator builds the node again, else
/// `T.function(a, b)` if that does, else `T.Node(a, b)`.
struct BinaryForm {
  OperationKind op;
  /// Function that may fold, null if there is none.
  const char* function;
  const char* node;
  PrimExpr (*build)(PrimExpr, PrimExpr, Span);
};

/// Whether building from the operands gives the node and not something folded.
template <typename NodeType>
bool Rebuilds(const NodeType* node, const BinaryForm& form) {
  try {
    PrimExpr built = form.build(node->a, node->b, Span());
    const auto* same = built.as<NodeType>();
    return same != nullptr && same->a.same_as(node->a) && same->b.same_as(node->b);
  } catch (const ffi::Error&) {
    return false;
  }
}

bool IsBareLiteral(const ExprDoc& doc) { return doc->IsInstance<LiteralDocNode>(); }

bool IsComparison(OperationKind op) {
  return op >= OperationKind::kLt && op <= OperationKind::kGtE;
}

template <typename NodeType>
Doc PrintBinary(const NodeType* node, const BinaryForm& form, const AccessPath& path,
                IRDocsifier& d) {
  ExprDoc a = d.AsExpr(node->a, path->Attr("a"));
  ExprDoc b = d.AsExpr(node->b, path->Attr("b"));
  if (!Rebuilds(node, form)) return T(d, form.node).Call({a, b});
  if (form.function != nullptr) return T(d, form.function).Call({a, b});
  // Python asks the right side to compare when the left one is a plain number.
  if (IsComparison(form.op) && IsBareLiteral(a)) return T(d, form.node).Call({a, b});
  if (IsBareLiteral(a) && IsBareLiteral(b)) return T(d, form.node).Call({a, b});
  return OperationDoc(form.op, {a, b});
}

#define TVM_PRINT_BINARY(Name, Kind, Function, Build)                               \
  Doc Print##Name(const Name##Node* node, const AccessPath& path, IRDocsifier& d) { \
    static constexpr BinaryForm form = {                                            \
        OperationKind::Kind, Function, #Name,                                       \
        static_cast<PrimExpr (*)(PrimExpr, PrimExpr, Span)>(Build)};                \
    return PrintBinary(node, form, path, d);                                        \
  }
TVM_PRINT_BINARY(Add, kAdd, nullptr, tvm::add)
TVM_PRINT_BINARY(Sub, kSub, nullptr, tvm::sub)
TVM_PRINT_BINARY(Mul, kMult, nullptr, tvm::mul)
TVM_PRINT_BINARY(FloorDiv, kFloorDiv, nullptr, tvm::floordiv)
TVM_PRINT_BINARY(FloorMod, kMod, nullptr, tvm::floormod)
TVM_PRINT_BINARY(Mod, kMod, "truncmod", tvm::truncmod)
TVM_PRINT_BINARY(Min, kLt, "min", tvm::min)
TVM_PRINT_BINARY(Max, kLt, "max", tvm::max)
TVM_PRINT_BINARY(EQ, kEq, nullptr, tvm::equal)
TVM_PRINT_BINARY(NE, kNotEq, nullptr, tvm::not_equal)
TVM_PRINT_BINARY(LT, kLt, nullptr, tvm::less)
TVM_PRINT_BINARY(LE, kLtE, nullptr, tvm::less_equal)
TVM_PRINT_BINARY(GT, kGt, nullptr, tvm::greater)
TVM_PRINT_BINARY(GE, kGtE, nullptr, tvm::greater_equal)
TVM_PRINT_BINARY(And, kAnd, nullptr, tvm::logical_and)
TVM_PRINT_BINARY(Or, kOr, nullptr, tvm::logical_or)
#undef TVM_PRINT_BINARY

Doc PrintDiv(const DivNode* node, const AccessPath& path, IRDocsifier& d) {
  static constexpr BinaryForm form = {OperationKind::kDiv, nullptr, "Div", tvm::div};
  if (node->dtype().is_any_float()) return PrintBinary(node, form, path, d);
  return T(d, "Div").Call({d.AsExpr(node->a, path->Attr("a")), d.AsExpr(node->b, path->Attr("b"))});
}

Doc PrintNot(const NotNode* node, const AccessPath& path, IRDocsifier& d) {
  ExprDoc a = d.AsExpr(node->a, path->Attr("a"));
  if (is_const_int(node->a)) return T(d, "Not").Call({a});
  return OperationDoc(OperationKind::kNot, {a});
}

Doc PrintSelect(const SelectNode* node, const AccessPath& path, IRDocsifier& d) {
  return T(d, "Select")
      .Call({d.AsExpr(node->condition, path->Attr("condition")),
             d.AsExpr(node->true_value, path->Attr("true_value")),
             d.AsExpr(node->false_value, path->Attr("false_value"))});
}

Doc PrintRamp(const RampNode* node, const AccessPath& path, IRDocsifier& d) {
  return T(d, "Ramp").Call({d.AsExpr(node->base, path->Attr("base")),
                            d.AsExpr(node->stride, path->Attr("stride")),
                            d.AsExpr(node->lanes, path->Attr("lanes"))});
}

Doc PrintBroadcast(const BroadcastNode* node, const AccessPath& path, IRDocsifier& d) {
  return T(d, "Broadcast")
      .Call(
          {d.AsExpr(node->value, path->Attr("value")), d.AsExpr(node->lanes, path->Attr("lanes"))});
}

Doc PrintShuffle(const ShuffleNode* node, const AccessPath& path, IRDocsifier& d) {
  return T(d, "Shuffle")
      .Call({ListDoc(d.AsExprs(node->vectors, path->Attr("vectors"))),
             ListDoc(d.AsExprs(node->indices, path->Attr("indices")))});
}

Doc PrintLet(const LetNode* node, const AccessPath& path, IRDocsifier& d) {
  ExprDoc var = d.AsExpr(node->var, path->Attr("var"));
  ExprDoc value = d.AsExpr(node->value, path->Attr("value"));
  ExprDoc body = d.AsExpr(node->body, path->Attr("body"));
  return T(d, "Let").Call({body}, {"where"}, {DictDoc({var}, {value})});
}

Doc PrintProducerLoad(const ProducerLoadNode* node, const AccessPath& path, IRDocsifier& d) {
  ExprDoc producer = d.AsExpr(node->producer, path->Attr("producer"));
  return producer[IndicesDoc(node->indices, path->Attr("indices"), d)];
}

Doc PrintIterVar(const IterVarNode* node, const AccessPath& path, IRDocsifier& d) {
  ExprDoc var = d.AsExpr(node->var, path->Attr("var"));
  ExprDoc dom = LiteralDoc::None(path->Attr("dom"));
  if (node->dom.defined()) {
    AccessPath dom_path = path->Attr("dom");
    dom = T(d, "Range")
              .Call(LoopRange(node->dom->min, node->dom->extent, dom_path, true, nullptr, d));
  }
  return T(d, "iter_var")
      .Call({var, dom,
             LiteralDoc::Str(IterVarTypeToString(node->iter_type), path->Attr("iter_type")),
             LiteralDoc::Str(node->thread_tag, path->Attr("thread_tag"))});
}

/// lambda vars: (results,)
LambdaDoc VarsLambda(const Array<Var>& vars, const AccessPath& vars_path,
                     const Array<PrimExpr>& results, const AccessPath& results_path,
                     bool single_bare, IRDocsifier& d) {
  Array<IdDoc> args;
  for (size_t i = 0; i < vars.size(); ++i) {
    args.push_back(d.Define(vars[i], std::string_view(vars[i]->name)));
  }
  Array<ExprDoc> docs = d.AsExprs(results, results_path);
  if (single_bare && docs.size() == 1) return LambdaDoc(args, docs[0]);
  return LambdaDoc(args, TupleDoc(docs));
}

Doc PrintCommReducer(const CommReducerNode* node, const AccessPath& path, IRDocsifier& d) {
  ExprDoc identity = ListDoc(d.AsExprs(node->identity_element, path->Attr("identity_element")));
  FrameScope frame(d, d.frames().empty() ? "" : d.top().token);
  Array<Var> vars = node->lhs;
  for (const Var& var : node->rhs) vars.push_back(var);
  LambdaDoc combine = VarsLambda(vars, path->Attr("lhs"), node->result, path->Attr("result"),
                                 /*single_bare=*/true, d);
  return T(d, "comm_reducer").Call({combine, identity});
}

Doc PrintReduce(const ReduceNode* node, const AccessPath& path, IRDocsifier& d) {
  Kwargs kwargs;
  kwargs.Add("source", ListDoc(d.AsExprs(node->source, path->Attr("source"))));
  kwargs.Add("init", ListDoc(d.AsExprs(node->init, path->Attr("init"))));
  kwargs.Add("axis", ListDoc(d.AsExprs(node->axis, path->Attr("axis"))));
  kwargs.Add("condition", d.AsExpr(node->condition, path->Attr("condition")));
  kwargs.Add("value_index", LiteralDoc::Int(node->value_index, path->Attr("value_index")));
  return T(d, "reduce")
      .Call({d.AsExpr(node->combiner, path->Attr("combiner"))}, kwargs.keys, kwargs.values);
}

Doc PrintIndexMap(const IndexMapNode* node, const AccessPath& path, IRDocsifier& d) {
  Kwargs kwargs;
  if (node->inverse_index_map.has_value()) {
    kwargs.Add("inverse_index_map",
               d.AsExpr(*node->inverse_index_map, path->Attr("inverse_index_map")));
  }
  // The indices are int64 unless something else is said.
  if (!node->initial_indices.empty() && node->initial_indices[0]->dtype() != DataType::Int(64)) {
    kwargs.Add("index_dtype", LiteralDoc::DType(node->initial_indices[0]->dtype()));
  }
  FrameScope frame(d, d.frames().empty() ? "" : d.top().token);
  LambdaDoc map = VarsLambda(node->initial_indices, path->Attr("initial_indices"),
                             node->final_indices, path->Attr("final_indices"),
                             /*single_bare=*/false, d);
  return T(d, "index_map").Call({map}, kwargs.keys, kwargs.values);
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  RegisterPrinterAndRepr<VarNode, PrintVar>("");
  RegisterPrinterAndRepr<StringImmNode, PrintStringImm>("");
  RegisterPrinterAndRepr<CastNode, PrintCast>("");
  RegisterPrinterAndRepr<AddNode, PrintAdd>("");
  RegisterPrinterAndRepr<SubNode, PrintSub>("");
  RegisterPrinterAndRepr<MulNode, PrintMul>("");
  RegisterPrinterAndRepr<DivNode, PrintDiv>("");
  RegisterPrinterAndRepr<ModNode, PrintMod>("");
  RegisterPrinterAndRepr<FloorDivNode, PrintFloorDiv>("");
  RegisterPrinterAndRepr<FloorModNode, PrintFloorMod>("");
  RegisterPrinterAndRepr<MinNode, PrintMin>("");
  RegisterPrinterAndRepr<MaxNode, PrintMax>("");
  RegisterPrinterAndRepr<EQNode, PrintEQ>("");
  RegisterPrinterAndRepr<NENode, PrintNE>("");
  RegisterPrinterAndRepr<LTNode, PrintLT>("");
  RegisterPrinterAndRepr<LENode, PrintLE>("");
  RegisterPrinterAndRepr<GTNode, PrintGT>("");
  RegisterPrinterAndRepr<GENode, PrintGE>("");
  RegisterPrinterAndRepr<AndNode, PrintAnd>("");
  RegisterPrinterAndRepr<OrNode, PrintOr>("");
  RegisterPrinterAndRepr<NotNode, PrintNot>("");
  RegisterPrinterAndRepr<SelectNode, PrintSelect>("");
  RegisterPrinterAndRepr<RampNode, PrintRamp>("");
  RegisterPrinterAndRepr<BroadcastNode, PrintBroadcast>("");
  RegisterPrinterAndRepr<ShuffleNode, PrintShuffle>("");
  RegisterPrinterAndRepr<LetNode, PrintLet>("");
  RegisterPrinter<ProducerLoadNode, PrintProducerLoad>("");
  RegisterPrinterAndRepr<IterVarNode, PrintIterVar>("");
  RegisterPrinter<CommReducerNode, PrintCommReducer>("");
  RegisterPrinter<ReduceNode, PrintReduce>("");
  RegisterPrinter<IndexMapNode, PrintIndexMap>("");
}

}  // namespace tvm::script::printer
