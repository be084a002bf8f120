// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// split: one loop becomes a nest of several.
///
///   for i in range(n):          ==>   for i_0, i_1 in grid(ceildiv(n, 4), 4):
///     block(v = i)                      block(v = i_0 * 4 + i_1) where i_0 * 4 + i_1 < n
#include "s_tir/schedule/primitive/loop_checks.h"

namespace tvm {
namespace s_tir {

using namespace tirx;  // NOLINT(build/namespaces)

namespace {

struct Parts {
  std::vector<Var> vars;
  std::vector<Range> ranges;
  /// The old variable, from its minimum.
  PrimExpr offset;
  /// Whether the parts run over more than the loop did.
  bool overruns = false;
};

Parts MakeParts(const StmtSRef& sref, const ffi::Array<ffi::Optional<PrimExpr>>& factors,
                const arith::Analyzer& analyzer) {
  const ForNode* loop = LoopOf(sref);
  const DataType dtype = loop->loop_var->dtype();
  const int open = CheckFactors(sref, factors, analyzer);
  std::vector<PrimExpr> extents(factors.size());
  PrimExpr product = make_const(dtype, 1);
  for (size_t i = 0; i < factors.size(); ++i) {
    if (!factors[i].has_value()) continue;
    extents[i] = cast(dtype, factors[i].value());
    product = product * extents[i];
  }
  if (open >= 0) {
    extents[open] = analyzer->Simplify(ceildiv(loop->extent, product));
    product = analyzer->Simplify(product * extents[open]);
  } else {
    SCHEDULE_CHECK(analyzer->CanProve(product >= loop->extent), sref)
        << "The product of the factors has to be at least the extent of the loop {0}, but "
        << product << " < " << loop->extent << " or that cannot be decided";
  }
  Parts parts;
  parts.overruns = !analyzer->CanProve(product == loop->extent);
  parts.offset = make_zero(dtype);
  for (size_t i = 0; i < extents.size(); ++i) {
    Var var = loop->loop_var.copy_with_suffix("_" + std::to_string(i));
    Range range = Range::FromMinExtent(make_zero(dtype), extents[i]);
    analyzer->Bind(var, range);
    parts.offset = parts.offset * extents[i] + var;
    parts.vars.push_back(std::move(var));
    parts.ranges.push_back(std::move(range));
  }
  return parts;
}

ffi::Array<StmtSRef> Split(State* state, const StmtSRef& sref,
                           const ffi::Array<ffi::Optional<PrimExpr>>& factors,
                           bool preserve_unit_iters, bool disable_predication) {
  CheckPlainLoop(sref);
  const ForNode* loop = LoopOf(sref);
  arith::Analyzer analyzer = AnalyzerAt(*state, ffi::GetRef<StmtSRef>(sref->parent()));
  Parts parts = MakeParts(sref, factors, analyzer);
  Substituter substituter({{loop->loop_var, analyzer->Simplify(loop->min + parts.offset)}});
  Stmt body = substituter.Run(loop->body);
  BindingOptions options{.outer_loops = LoopDomains(sref),
                         .preserve_unit_iters = preserve_unit_iters};
  if (parts.overruns && !disable_predication) options.predicate = parts.offset < loop->extent;
  Stmt nest =
      SimplifyBindings(NestLoops(parts.vars, parts.ranges, std::move(body)), options, analyzer);
  // The reference of the split loop ends here: its parts are new loops.
  state->Replace(sref, nest, substituter.reuse);
  return NestSRefs(*state, nest, parts.vars.size());
}

const PrimitiveRegistration kSplit{{
    .name = "Split",
    .method = "split",
    .params = "loop=i0 factors=i1* preserve_unit_iters=a0:bool disable_predication=a1:bool",
    .result = Result::kList,
    .run = [](PrimitiveCall& call) -> ffi::Array<ffi::Any> {
      return call.LoopRVs(
          Split(call.state, call.Loop(0), call.FactorsFrom(1), call.Flag(0), call.Flag(1)));
    },
}};

}  // namespace

}  // namespace s_tir
}  // namespace tvm
