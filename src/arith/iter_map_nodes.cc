// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <tvm/arith/iter_affine_map.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>

namespace tvm::arith {

void IterMapExprNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<IterMapExprNode>(refl::init(false));
}

void IterMarkNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<IterMarkNode>()
      .def_ro("source", &IterMarkNode::source)
      .def_ro("extent", &IterMarkNode::extent);
}

void IterSplitExprNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<IterSplitExprNode>()
      .def_ro("source", &IterSplitExprNode::source)
      .def_ro("lower_factor", &IterSplitExprNode::lower_factor)
      .def_ro("extent", &IterSplitExprNode::extent)
      .def_ro("scale", &IterSplitExprNode::scale);
}

void IterSumExprNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<IterSumExprNode>()
      .def_ro("args", &IterSumExprNode::args)
      .def_ro("base", &IterSumExprNode::base);
}

void IterMapResultNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<IterMapResultNode>()
      .def_ro("indices", &IterMapResultNode::indices)
      .def_ro("errors", &IterMapResultNode::errors)
      .def_ro("padding_predicate", &IterMapResultNode::padding_predicate);
}

IterMark::IterMark(PrimExpr source, PrimExpr extent) {
  TVM_FFI_CHECK(source.defined() && extent.defined(), ValueError)
      << "IterMark needs a source and an extent";
  auto node = ffi::make_object<IterMarkNode>();
  node->source = std::move(source);
  node->extent = std::move(extent);
  data_ = std::move(node);
}

IterSplitExpr::IterSplitExpr(IterMark source)
    : IterSplitExpr(source, make_const(source->source.dtype(), 1)) {}

IterSplitExpr::IterSplitExpr(IterMark source, PrimExpr scale)
    : IterSplitExpr(source, make_const(source->source.dtype(), 1), source->extent, scale) {}

IterSplitExpr::IterSplitExpr(IterMark source, PrimExpr lower_factor, PrimExpr extent,
                             PrimExpr scale) {
  auto node = ffi::make_object<IterSplitExprNode>();
  node->ty = source->source->ty;
  node->source = std::move(source);
  node->lower_factor = std::move(lower_factor);
  node->extent = std::move(extent);
  node->scale = std::move(scale);
  data_ = std::move(node);
}

IterSumExpr::IterSumExpr(ffi::Array<IterSplitExpr> args, PrimExpr base) {
  TVM_FFI_CHECK(base.defined(), ValueError) << "IterSumExpr needs a base";
  auto node = ffi::make_object<IterSumExprNode>();
  node->ty = base->ty;
  node->args = std::move(args);
  node->base = std::move(base);
  data_ = std::move(node);
}

IterMapResult::IterMapResult() : ffi::ObjectRef(ffi::UnsafeInit{}) {
  auto node = ffi::make_object<IterMapResultNode>();
  node->padding_predicate = const_false();
  data_ = std::move(node);
}

namespace {

Analyzer OrNew(const ffi::Optional<Analyzer>& analyzer) {
  return analyzer.has_value() ? analyzer.value() : Analyzer();
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = ffi::reflection;
  IterMapExprNode::RegisterReflection();
  IterMarkNode::RegisterReflection();
  IterSplitExprNode::RegisterReflection();
  IterSumExprNode::RegisterReflection();
  IterMapResultNode::RegisterReflection();
  refl::GlobalDef()
      .def("arith.IterMark",
           [](PrimExpr source, PrimExpr extent) { return IterMark(source, extent); })
      .def("arith.IterSplitExpr",
           [](const IterMarkNode* source, PrimExpr lower, PrimExpr extent, PrimExpr scale) {
             return IterSplitExpr(ffi::GetRef<IterMark>(source), lower, extent, scale);
           })
      .def("arith.IterSumExpr",
           [](ffi::Array<IterSplitExpr> args, PrimExpr base) { return IterSumExpr(args, base); })
      .def("arith.DetectIterMap",
           [](ffi::Array<PrimExpr> indices, ffi::Map<Var, Range> iters, PrimExpr predicate,
              int level, bool simplify_trivial, ffi::Optional<Analyzer> analyzer) {
             return DetectIterMap(indices, iters, predicate, static_cast<IterMapLevel>(level),
                                  OrNew(analyzer), simplify_trivial);
           })
      .def("arith.NormalizeToIterSum",
           [](PrimExpr index, ffi::Map<Var, Range> iters, ffi::Optional<Analyzer> analyzer) {
             return NormalizeToIterSum(index, iters, OrNew(analyzer));
           })
      .def("arith.IterMapSimplify",
           [](ffi::Array<PrimExpr> indices, ffi::Map<Var, Range> iters, PrimExpr predicate,
              int level, bool simplify_trivial, ffi::Optional<Analyzer> analyzer) {
             return IterMapSimplify(indices, iters, predicate, static_cast<IterMapLevel>(level),
                                    OrNew(analyzer), simplify_trivial);
           })
      .def("arith.NormalizeIterMapToExpr",
           [](PrimExpr expr) { return NormalizeIterMapToExpr(expr); })
      .def("arith.SubspaceDivide",
           [](ffi::Array<PrimExpr> bindings, ffi::Map<Var, Range> iters, ffi::Array<Var> sub_iters,
              PrimExpr predicate, int level, bool simplify_trivial,
              ffi::Optional<Analyzer> analyzer) {
             return SubspaceDivide(bindings, iters, sub_iters, predicate,
                                   static_cast<IterMapLevel>(level), OrNew(analyzer),
                                   simplify_trivial);
           })
      .def("arith.InverseAffineIterMap", InverseAffineIterMap)
      .def("arith.EstimateRegionStrictBound",
           [](ffi::Array<Range> region, ffi::Map<Var, Range> dom, PrimExpr predicate,
              ffi::Optional<Analyzer> analyzer) {
             return EstimateRegionStrictBound(region, dom, predicate, OrNew(analyzer));
           })
      .def("arith.EstimateRegionLowerBound",
           [](ffi::Array<Range> region, ffi::Map<Var, Range> dom, PrimExpr predicate,
              ffi::Optional<Analyzer> analyzer) {
             return EstimateRegionLowerBound(region, dom, predicate, OrNew(analyzer));
           })
      .def("arith.EstimateRegionUpperBound",
           [](ffi::Array<Range> region, ffi::Map<Var, Range> dom, PrimExpr predicate,
              ffi::Optional<Analyzer> analyzer) {
             return EstimateRegionUpperBound(region, dom, predicate, OrNew(analyzer));
           });
}

}  // namespace tvm::arith
