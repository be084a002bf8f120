// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Schedulable blocks.
#include "tirx/script/printer/block.h"

#include <tvm/ir/expr_functor.h>
#include <tvm/ir/scalar_op.h>

#include <string>

#include "tirx/script/printer/utils.h"

namespace tvm::script::printer {

using namespace tirx;  // NOLINT(build/namespaces): the nodes

namespace {

/// `T.axis.<kind>`; the kinds that have a letter can be part of `T.axis.remap`.
struct AxisKind {
  const char* function;
  char letter;
};

AxisKind KindOf(const IterVar& axis) {
  switch (axis->iter_type) {
    case kDataPar:
      return {"spatial", 'S'};
    case kCommReduce:
      return {"reduce", 'R'};
    case kOrdered:
      return {"scan", 0};
    case kOpaque:
      return {"opaque", 0};
    default:
      TVM_FFI_THROW(ValueError) << "cannot print block variable " << axis->var->name
                                << ": no axis function for type "
                                << IterVarTypeToString(axis->iter_type);
      TVM_FFI_UNREACHABLE();
  }
}

/// Whether a block variable is just a loop variable over the same range.
bool IsRemapped(const IterVar& axis, const PrimExpr& value, IRDocsifier& d) {
  if (!d.cfg->syntax_sugar || KindOf(axis).letter == 0) return false;
  const auto* var = value.as<VarNode>();
  if (var == nullptr || var->dtype() != axis->var->dtype()) return false;
  auto it = d.loop_ranges.find(var);
  if (it == d.loop_ranges.end()) return false;
  static const ExprDeepEqual same;
  return same(it->second->min, axis->dom->min) && same(it->second->extent, axis->dom->extent);
}

void EmitAxis(const IterVar& axis, const Optional<PrimExpr>& value, const AccessPath& axis_path,
              const AccessPath& value_path, IRDocsifier& d) {
  AccessPath dom_path = axis_path->Attr("dom");
  TVM_FFI_CHECK(axis->dom.defined(), ValueError)
      << "cannot print block variable " << axis->var->name << ": it has no range";
  Array<ExprDoc> range = LoopRange(axis->dom->min, axis->dom->extent, dom_path, false, nullptr, d);
  Array<ExprDoc> args = {range.size() == 1 ? range[0] : TupleDoc(range)};
  if (value.has_value()) args.push_back(d.AsExpr(*value, value_path));
  Kwargs kwargs;
  // The variable takes the type of the range unless told otherwise.
  if (axis->var->dtype() != axis->dom->extent.dtype()) {
    kwargs.Add("dtype", LiteralDoc::DType(axis->var->dtype()));
  }
  ExprDoc call = T(d, "axis").Attr(KindOf(axis).function).Call(args, kwargs.keys, kwargs.values);
  IdDoc name = d.Define(axis->var, std::string_view(axis->var->name));
  d.Push(Doc::At(AssignDoc(Doc::At(name, axis_path->Attr("var")), call), axis_path));
}

/// Emits the axes [begin, end), all remapped.
void EmitRemap(const SBlockNode* block, const Array<PrimExpr>& values, size_t begin, size_t end,
               const AccessPath& axes_path, const AccessPath& values_path, IRDocsifier& d) {
  std::string letters;
  Array<ExprDoc> loops, names;
  for (size_t i = begin; i < end; ++i) {
    int64_t index = static_cast<int64_t>(i);
    letters += KindOf(block->iter_vars[i]).letter;
    loops.push_back(d.AsExpr(values[i], values_path->ArrayItem(index)));
  }
  for (size_t i = begin; i < end; ++i) {
    const Var& var = block->iter_vars[i]->var;
    names.push_back(Doc::At(d.Define(var, std::string_view(var->name)),
                            axes_path->ArrayItem(static_cast<int64_t>(i))->Attr("var")));
  }
  ExprDoc call = T(d, "axis").Attr("remap").Call({LiteralDoc::Str(letters), ListDoc(loops)});
  d.Push(AssignDoc(TupleDoc(names), call));
}

void EmitAxes(const SBlockNode* block, const Array<PrimExpr>* values, const AccessPath& path,
              const AccessPath& values_path, IRDocsifier& d) {
  AccessPath axes_path = path->Attr("iter_vars");
  const size_t n = block->iter_vars.size();
  for (size_t i = 0; i < n;) {
    size_t end = i;
    while (values != nullptr && end < n && IsRemapped(block->iter_vars[end], (*values)[end], d)) {
      ++end;
    }
    if (end - i >= 2) {
      EmitRemap(block, *values, i, end, axes_path, values_path, d);
      i = end;
      continue;
    }
    int64_t index = static_cast<int64_t>(i);
    Optional<PrimExpr> value;
    if (values != nullptr) value = (*values)[i];
    EmitAxis(block->iter_vars[i], value, axes_path->ArrayItem(index), values_path->ArrayItem(index),
             d);
    ++i;
  }
}

void EmitCall(const char* name, Array<ExprDoc> args, const AccessPath& path, IRDocsifier& d) {
  d.Push(Doc::At(ExprStmtDoc(T(d, name).Call(args)), path));
}

void EmitRegions(const char* name, const Array<BufferRegion>& regions, const AccessPath& path,
                 IRDocsifier& d) {
  Array<ExprDoc> docs;
  for (size_t i = 0; i < regions.size(); ++i) {
    AccessPath p = path->ArrayItem(static_cast<int64_t>(i));
    docs.push_back(d.AsExpr(regions[i], p));
  }
  EmitCall(name, docs, path, d);
}

void EmitAllocs(const SBlockNode* block, const AccessPath& path, IRDocsifier& d) {
  for (size_t i = 0; i < block->alloc_buffers.size(); ++i) {
    const Buffer& buffer = block->alloc_buffers[i];
    AccessPath p = path->Attr("alloc_buffers")->ArrayItem(static_cast<int64_t>(i));
    ExprDoc call = BufferCall(T(d, "sblock_alloc_buffer"), {}, buffer.type(), p->Attr("ty"), {}, d);
    d.Push(Doc::At(AssignDoc(DefineBuffer(buffer, d), call), p));
  }
}

/// Everything inside `with T.sblock(...)`.
void EmitBlockBody(const SBlockNode* block, const SBlockRealizeNode* realize,
                   const AccessPath& path, const AccessPath& realize_path, IRDocsifier& d) {
  EmitAxes(block, realize == nullptr ? nullptr : &realize->iter_values, path,
           realize_path->Attr("iter_values"), d);
  if (realize != nullptr && !is_one(realize->predicate)) {
    AccessPath p = realize_path->Attr("predicate");
    EmitCall("where", {d.AsExpr(realize->predicate, p)}, p, d);
  }
  EmitRegions("reads", block->reads, path->Attr("reads"), d);
  EmitRegions("writes", block->writes, path->Attr("writes"), d);
  if (!block->annotations.empty()) {
    AccessPath p = path->Attr("annotations");
    EmitCall("sblock_attr", {DictOf(block->annotations, p, d)}, p, d);
  }
  EmitAllocs(block, path, d);
  for (size_t i = 0; i < block->match_buffers.size(); ++i) {
    d.Emit(block->match_buffers[i],
           path->Attr("match_buffers")->ArrayItem(static_cast<int64_t>(i)));
  }
  if (block->init.has_value()) {
    AccessPath p = path->Attr("init");
    Array<StmtDoc> init = d.AsBody(d.top().token, *block->init, p);
    d.Push(ScopeDoc(T(d, "init").Call({}), init));
  }
  EmitFunctionBody(block->body, path->Attr("body"), d);
}

Doc BlockDoc(const SBlockNode* block, const SBlockRealizeNode* realize, const AccessPath& path,
             const AccessPath& realize_path, IRDocsifier& d) {
  Array<ExprDoc> args = {LiteralDoc::Str(block->name_hint, path->Attr("name_hint"))};
  Kwargs kwargs;
  if (realize == nullptr) kwargs.Add("no_realize", LiteralDoc::Boolean(true));
  FrameScope frame(d, d.top().token, ffi::GetRef<ffi::ObjectRef>(block));
  EmitBlockBody(block, realize, path, realize_path, d);
  ScopeDoc doc(T(d, "sblock").Call(args, kwargs.keys, kwargs.values), frame->stmts);
  if (realize != nullptr && d.cfg->TracksPaths()) doc->source_paths.push_back(path);
  return doc;
}

Doc PrintSBlockRealize(const SBlockRealizeNode* node, const AccessPath& path, IRDocsifier& d) {
  return BlockDoc(node->block.get(), node, path->Attr("block"), path, d);
}

Doc PrintSBlock(const SBlockNode* node, const AccessPath& path, IRDocsifier& d) {
  return BlockDoc(node, nullptr, path, path, d);
}

}  // namespace

const SBlockRealizeNode* ImplicitRoot(const PrimFuncNode* func) {
  const auto* realize = func->body.as<SBlockRealizeNode>();
  if (realize == nullptr || !realize->iter_values.empty() || !is_one(realize->predicate)) {
    return nullptr;
  }
  const SBlockNode* block = realize->block.get();
  bool bare = block->name_hint == "root" && block->iter_vars.empty() && block->reads.empty() &&
              block->writes.empty() && block->annotations.empty() && block->match_buffers.empty() &&
              !block->init.has_value();
  if (!bare) return nullptr;
  // A reader adds the root block only where it is missed.
  const auto* inner = block->body.as<SBlockRealizeNode>();
  bool missed = !block->alloc_buffers.empty() || inner == nullptr || !inner->iter_values.empty();
  return missed ? realize : nullptr;
}

bool HasRootBlock(const PrimFuncNode* func) {
  const auto* realize = func->body.as<SBlockRealizeNode>();
  return realize != nullptr && realize->iter_values.empty();
}

void EmitImplicitRoot(const SBlockRealizeNode* realize, const AccessPath& path, IRDocsifier& d) {
  AccessPath block_path = path->Attr("block");
  CommentDoc comment("with T.sblock(\"root\"):");
  d.Push(comment);
  EmitAllocs(realize->block.get(), block_path, d);
  EmitFunctionBody(realize->block->body, block_path->Attr("body"), d);
}

TVM_FFI_STATIC_INIT_BLOCK() {
  RegisterPrinter<SBlockRealizeNode, PrintSBlockRealize>("");
  RegisterPrinter<SBlockNode, PrintSBlock>("");
}

}  // namespace tvm::script::printer
