// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <tvm/arith/int_set.h>
#include <tvm/arith/iter_affine_map.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/tirx/index_map.h>
#include <tvm/tirx/op.h>

#include <string>

namespace tvm {
namespace tirx {

IndexMap::IndexMap(ffi::Array<Var> initial_indices, ffi::Array<PrimExpr> final_indices,
                   ffi::Optional<IndexMap> inverse_index_map) {
  auto node = ffi::make_object<IndexMapNode>();
  node->initial_indices = std::move(initial_indices);
  node->final_indices = std::move(final_indices);
  if (inverse_index_map.has_value()) node->inverse_index_map = inverse_index_map.value();
  data_ = std::move(node);
}

IndexMap IndexMap::FromFunc(int ndim,
                            const std::function<ffi::Array<PrimExpr>(ffi::Array<Var>)>& func,
                            ffi::Optional<IndexMap> inverse_index_map, DataType index_dtype) {
  ffi::Array<Var> indices;
  for (int i = 0; i < ndim; ++i) indices.push_back(Var("i" + std::to_string(i), index_dtype));
  return IndexMap(indices, func(indices), std::move(inverse_index_map));
}

ffi::Array<PrimExpr> IndexMapNode::MapIndices(const ffi::Array<PrimExpr>& indices,
                                              const arith::Analyzer& analyzer) const {
  if (indices.size() != initial_indices.size()) {
    TVM_FFI_THROW(ValueError) << "IndexMap takes " << initial_indices.size() << " indices, got "
                              << indices.size();
  }
  ffi::Map<Var, PrimExpr> values;
  for (size_t i = 0; i < indices.size(); ++i) {
    values.Set(initial_indices[i], cast(initial_indices[i]->dtype(), indices[i]));
  }
  ffi::Array<PrimExpr> result;
  for (const PrimExpr& index : final_indices) {
    result.push_back(analyzer->Simplify(Substitute(index, values)));
  }
  return result;
}

ffi::Array<Range> IndexMapNode::MapRanges(const ffi::Array<Range>& ranges,
                                          const arith::Analyzer& analyzer) const {
  if (ranges.size() != initial_indices.size()) {
    TVM_FFI_THROW(ValueError) << "IndexMap takes " << initial_indices.size() << " ranges, got "
                              << ranges.size();
  }
  ffi::Map<Var, Range> iters;
  ffi::Map<Var, arith::IntSet> doms;
  for (size_t i = 0; i < ranges.size(); ++i) {
    iters.Set(initial_indices[i], ranges[i]);
    doms.Set(initial_indices[i], arith::IntSet::FromRange(ranges[i]));
  }
  arith::Analyzer local = analyzer.Clone();
  local->Bind(iters, /*allow_override=*/true);
  // An affine map has an exact image; bounds by intervals cover every other one.
  arith::IterMapResult detected = arith::DetectIterMap(
      final_indices, iters, Bool(true), arith::kNoCheck, local, /*simplify_trivial=*/false);
  ffi::Array<Range> result;
  for (size_t i = 0; i < final_indices.size(); ++i) {
    if (i < detected->indices.size() && detected->indices[i]->args.size() == 1) {
      const arith::IterSumExpr& sum = detected->indices[i];
      const arith::IterSplitExpr& split = sum->args[0];
      if (is_one(split->scale)) {
        result.push_back(Range::FromMinExtent(sum->base, local->Simplify(split->extent)));
        continue;
      }
    }
    arith::IntSet set = arith::EvalSet(final_indices[i], doms);
    TVM_FFI_CHECK(set.HasLowerBound() && set.HasUpperBound(), ValueError)
        << "IndexMap: index " << final_indices[i] << " has no bounds";
    PrimExpr min = local->Simplify(set.min());
    result.push_back(Range::FromMinExtent(min, local->Simplify(set.max() - min + 1)));
  }
  return result;
}

ffi::Array<PrimExpr> IndexMapNode::MapShape(const ffi::Array<PrimExpr>& shape,
                                            const arith::Analyzer& analyzer) const {
  ffi::Array<Range> ranges;
  for (const PrimExpr& extent : shape) {
    ranges.push_back(Range::FromMinExtent(make_zero(extent.dtype()), extent));
  }
  ffi::Array<PrimExpr> result;
  for (const Range& range : MapRanges(ranges, analyzer)) {
    result.push_back(analyzer->Simplify(range->min + range->extent));
  }
  return result;
}

namespace {

std::pair<IndexMap, PrimExpr> Invert(const IndexMap& map, const ffi::Array<Range>& ranges,
                                     arith::IterMapLevel level, const arith::Analyzer& analyzer) {
  TVM_FFI_CHECK(ranges.size() == map->initial_indices.size(), ValueError)
      << "IndexMap takes " << map->initial_indices.size() << " ranges, got " << ranges.size();
  ffi::Map<Var, Range> iters;
  for (size_t i = 0; i < ranges.size(); ++i) iters.Set(map->initial_indices[i], ranges[i]);
  arith::IterMapResult detected =
      arith::DetectIterMap(map->final_indices, iters, Bool(true), level, analyzer);
  if (detected->indices.size() != map->final_indices.size()) {
    std::string reasons;
    for (const ffi::String& error : detected->errors) reasons += "\n  " + std::string(error);
    TVM_FFI_THROW(ValueError) << "IndexMap: the map has no inverse over the given ranges:"
                              << reasons;
  }
  ffi::Array<Var> outputs;
  ffi::Array<PrimExpr> output_exprs;
  for (size_t i = 0; i < map->final_indices.size(); ++i) {
    Var out("i" + std::to_string(i), map->final_indices[i].dtype());
    outputs.push_back(out);
    output_exprs.push_back(out);
  }
  ffi::Map<Var, PrimExpr> inverse = arith::InverseAffineIterMap(detected->indices, output_exprs);
  ffi::Array<PrimExpr> inverse_exprs;
  for (size_t i = 0; i < map->initial_indices.size(); ++i) {
    const Var& var = map->initial_indices[i];
    auto it = inverse.find(var);
    // A variable of one value does not appear in the map.
    PrimExpr value = it != inverse.end() ? (*it).second : ranges[i]->min;
    inverse_exprs.push_back(analyzer->Simplify(value));
  }
  PrimExpr padding = Substitute(detected->padding_predicate, inverse);
  return {IndexMap(outputs, inverse_exprs), analyzer->Simplify(padding)};
}

}  // namespace

IndexMap IndexMap::Inverse(ffi::Array<Range> initial_ranges,
                           const arith::Analyzer& analyzer) const {
  if (get()->inverse_index_map.has_value()) {
    return Downcast<IndexMap>(get()->inverse_index_map.value());
  }
  auto [inverse, padding] = Invert(*this, initial_ranges, arith::kBijective, analyzer);
  if (!is_zero(padding)) {
    TVM_FFI_THROW(ValueError) << "IndexMap: the map is not bijective, it needs padding where "
                              << padding;
  }
  return inverse;
}

std::pair<IndexMap, PrimExpr> IndexMap::NonSurjectiveInverse(
    ffi::Array<Range> initial_ranges, const arith::Analyzer& analyzer) const {
  return Invert(*this, initial_ranges, arith::kNoCheck, analyzer);
}

void IndexMapNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<IndexMapNode>()
      .def_ro("initial_indices", &IndexMapNode::initial_indices,
              refl::AttachFieldFlag::SEqHashDefSimple())
      .def_ro("final_indices", &IndexMapNode::final_indices)
      .def_ro("inverse_index_map", &IndexMapNode::inverse_index_map,
              refl::AttachFieldFlag::SEqHashIgnore());
}

TVM_FFI_STATIC_INIT_BLOCK() {
  IndexMapNode::RegisterReflection();
  namespace refl = ffi::reflection;
  refl::GlobalDef()
      .def(
          "tirx.IndexMap",
          [](ffi::Array<Var> initial, ffi::Array<PrimExpr> final_indices,
             ffi::Optional<IndexMap> inverse) { return IndexMap(initial, final_indices, inverse); })
      .def("tirx.IndexMapMapIndices",
           [](IndexMap map, ffi::Array<PrimExpr> indices, ffi::Optional<arith::Analyzer> analyzer) {
             return map->MapIndices(indices, analyzer.value_or(arith::Analyzer()));
           })
      .def("tirx.IndexMapMapShape",
           [](IndexMap map, ffi::Array<PrimExpr> shape, ffi::Optional<arith::Analyzer> analyzer) {
             return map->MapShape(shape, analyzer.value_or(arith::Analyzer()));
           })
      .def("tirx.IndexMapInverse",
           [](IndexMap map, ffi::Array<Range> ranges) {
             return map.Inverse(ranges, arith::Analyzer());
           })
      .def("tirx.IndexMapNonSurjectiveInverse",
           [](IndexMap map, ffi::Array<Range> ranges) -> ffi::Array<ffi::ObjectRef> {
             auto [inverse, padding] = map.NonSurjectiveInverse(ranges, arith::Analyzer());
             return {inverse, padding};
           });
}

}  // namespace tirx
}  // namespace tvm
