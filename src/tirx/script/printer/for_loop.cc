// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Loops.
#include <tvm/arith/analyzer.h>
#include <tvm/ir/expr_functor.h>
#include <tvm/ir/scalar_op.h>

#include "tirx/script/printer/utils.h"

namespace tvm::script::printer {

using namespace tirx;  // NOLINT(build/namespaces): the nodes

namespace {

/// Whether a reader finds the extent again by `stop - start`.
bool ExtentIsDifference(const PrimExpr& start, const PrimExpr& stop, const PrimExpr& extent) {
  const auto* sum = stop.as<AddNode>();
  if (sum != nullptr && sum->a.same_as(start) && sum->b.same_as(extent)) return true;
  if (start.as<IntImmNode>() != nullptr && stop.as<IntImmNode>() != nullptr) return true;
  static const ExprDeepEqual same;
  try {
    arith::Analyzer analyzer;
    return same(analyzer->Simplify(stop - start), extent);
  } catch (const ffi::Error&) {
    return false;  // e.g. a division by zero, which a program may contain
  }
}

bool IsZeroOf(const PrimExpr& value, DataType dtype) {
  return is_zero(value) && value.dtype() == dtype;
}

/// A loop that can be a dimension of `T.grid`.
bool IsGridLoop(const ForNode* loop) {
  return loop->kind == ForKind::kSerial && !loop->step.has_value() && loop->annotations.empty() &&
         !loop->thread_binding.has_value() && IsZeroOf(loop->min, loop->loop_var->dtype());
}

/// The nest of loops below `loop` that prints as one T.grid, at least `loop` itself.
std::vector<const ForNode*> GridNest(const ForNode* loop, IRDocsifier& d) {
  std::vector<const ForNode*> nest = {loop};
  if (!d.cfg->syntax_sugar || !IsGridLoop(loop)) return nest;
  while (true) {
    const auto* inner = nest.back()->body.as<ForNode>();
    if (inner == nullptr || !IsGridLoop(inner)) return nest;
    bool depends = UsesVar(inner->extent, [&](const VarNode* var) {
      for (const ForNode* outer : nest) {
        if (outer->loop_var.get() == var) return true;
      }
      return false;
    });
    if (depends) return nest;
    nest.push_back(inner);
  }
}

/// Defines the loop variable in the current frame and remembers its range.
IdDoc DefineLoopVar(const ForNode* loop, const AccessPath& path, IRDocsifier& d) {
  d.loop_ranges[loop->loop_var.get()] = Range::FromMinExtent(loop->min, loop->extent);
  return Doc::At(d.Define(loop->loop_var, std::string_view(loop->loop_var->name)),
                 path->Attr("loop_var"));
}

Doc PrintGrid(const std::vector<const ForNode*>& nest, const AccessPath& path, IRDocsifier& d) {
  Array<ExprDoc> extents, vars;
  AccessPath p = path;
  for (const ForNode* loop : nest) {
    extents.push_back(d.AsExpr(loop->extent, p->Attr("extent")));
    p = p->Attr("body");
  }
  FrameScope frame(d, d.top().token);
  p = path;
  for (const ForNode* loop : nest) {
    vars.push_back(DefineLoopVar(loop, p, d));
    p = p->Attr("body");
  }
  d.Emit(nest.back()->body, p);
  for (const ForNode* loop : nest) d.loop_ranges.erase(loop->loop_var.get());
  return ForDoc(TupleDoc(vars), T(d, "grid").Call(extents), frame->stmts);
}

/// `unroll=` stands for two annotations of serial loops.
void AddAnnotations(const ForNode* loop, const AccessPath& path, Kwargs* kwargs, IRDocsifier& d) {
  Map<String, ffi::Any> rest = loop->annotations;
  if (rest.empty()) return;
  if (loop->kind == ForKind::kSerial && rest.size() == 1 && d.cfg->syntax_sugar) {
    auto disable = rest.find(tirx::attr::disable_unroll);
    auto count = rest.find(tirx::attr::pragma_unroll);
    if (disable != rest.end() && (*disable).second.type_index() == ffi::TypeIndex::kTVMFFIBool &&
        (*disable).second.cast<bool>()) {
      return kwargs->Add("unroll", LiteralDoc::Boolean(false));
    }
    if (count != rest.end() && (*count).second.type_index() == ffi::TypeIndex::kTVMFFIInt) {
      return kwargs->Add("unroll", LiteralDoc::Int((*count).second.cast<int64_t>()));
    }
  }
  kwargs->Add("annotations", DictOf(rest, path->Attr("annotations"), d));
}

/// A thread-bound loop's axis is rebuilt from its tag; anything more cannot be written.
void CheckThreadBinding(const ForNode* loop) {
  const IterVar& axis = loop->thread_binding.value();
  TVM_FFI_CHECK(axis->iter_type == kThreadIndex, ValueError)
      << "cannot print loop " << loop->loop_var->name << ": its thread binding is of type "
      << IterVarTypeToString(axis->iter_type) << ", expected ThreadIndex";
}

Doc PrintFor(const ForNode* loop, const AccessPath& path, IRDocsifier& d) {
  std::vector<const ForNode*> nest = GridNest(loop, d);
  if (nest.size() > 1) return PrintGrid(nest, path, d);
  Kwargs kwargs;
  const bool serial = loop->kind == ForKind::kSerial;
  const bool has_step = loop->step.has_value();
  Array<ExprDoc> range =
      LoopRange(loop->min, loop->extent, path, /*always_start=*/has_step, &kwargs, d);
  if (loop->kind == ForKind::kThreadBinding) {
    CheckThreadBinding(loop);
    kwargs.Add("thread", LiteralDoc::Str(loop->thread_binding.value()->thread_tag,
                                         path->Attr("thread_binding")));
  }
  AddAnnotations(loop, path, &kwargs, d);
  ExprDoc call;
  if (serial && kwargs.keys.empty()) {
    if (has_step) range.push_back(d.AsExpr(*loop->step, path->Attr("step")));
    call = IdDoc("range").Call(range);
  } else {
    if (has_step) kwargs.Add("step", d.AsExpr(*loop->step, path->Attr("step")));
    call = T(d, ForKind2String(loop->kind)).Call(range, kwargs.keys, kwargs.values);
  }
  FrameScope frame(d, d.top().token);
  IdDoc var = DefineLoopVar(loop, path, d);
  d.Emit(loop->body, path->Attr("body"));
  d.loop_ranges.erase(loop->loop_var.get());
  return ForDoc(var, call, frame->stmts);
}

}  // namespace

Array<ExprDoc> LoopRange(const PrimExpr& min, const PrimExpr& extent, const AccessPath& path,
                         bool always_start, Kwargs* kwargs, IRDocsifier& d) {
  AccessPath extent_path = path->Attr("extent");
  if (IsZeroOf(min, extent.dtype())) {
    ExprDoc stop = d.AsExpr(extent, extent_path);
    if (!always_start) return {stop};
    return {d.AsExpr(min, path->Attr("min")), stop};
  }
  PrimExpr end = min + extent;
  ExprDoc start = d.AsExpr(min, path->Attr("min"));
  ExprDoc stop = d.AsExpr(end, extent_path);
  if (kwargs != nullptr && !ExtentIsDifference(min, end, extent)) {
    kwargs->Add("extent", d.AsExpr(extent, extent_path));
  }
  return {start, stop};
}

TVM_FFI_STATIC_INIT_BLOCK() { RegisterPrinter<ForNode, PrintFor>(""); }

}  // namespace tvm::script::printer
