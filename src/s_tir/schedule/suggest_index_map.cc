// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// suggest_index_map: a layout that follows the loops.
///
///   for i_0, k, i_1: .. A[i_0 * 4 + i_1, k]   ==>   i, k -> i // 4, k, i % 4
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/s_tir/schedule/tensorize.h>

#include <algorithm>
#include <unordered_map>

#include "s_tir/schedule/analysis.h"

namespace tvm {
namespace s_tir {

using namespace tirx;  // NOLINT(build/namespaces)

namespace {

/// One part of the flat index: floormod(flat // stride, extent), and the loop it comes from.
struct Part {
  size_t loop;
  PrimExpr stride, extent;
};

}  // namespace

ffi::Optional<IndexMap> SuggestIndexMap(const Buffer& buffer, const ffi::Array<PrimExpr>& indices,
                                        const ffi::Array<For>& loops, const PrimExpr& predicate,
                                        const arith::Analyzer& analyzer) {
  ffi::Map<Var, Range> domains;
  std::unordered_map<const VarNode*, size_t> position;
  for (size_t i = 0; i < loops.size(); ++i) {
    domains.Set(loops[i]->loop_var, Range::FromMinExtent(loops[i]->min, loops[i]->extent));
    position[loops[i]->loop_var.get()] = i;
  }
  PrimExpr flat = make_zero(indices.empty() ? DataType::Int(32) : indices[0].dtype());
  for (size_t d = 0; d < indices.size(); ++d) {
    flat = flat * cast(flat.dtype(), buffer.shape()[d]) + indices[d];
  }
  arith::IterSumExpr sum = arith::NormalizeToIterSum(analyzer->Simplify(flat), domains, analyzer);
  std::vector<Part> parts;
  for (const arith::IterSplitExpr& split : sum->args) {
    const auto* var = split->source->source.as<VarNode>();
    // A loop that a division cuts, or a stride that is no number, has no place in a layout.
    if (var == nullptr || position.count(var) == 0 || !is_one(split->lower_factor) ||
        !is_const_int(split->scale) || !is_const_int(split->extent)) {
      return std::nullopt;
    }
    if (!is_one(split->extent)) parts.push_back({position[var], split->scale, split->extent});
  }
  // The parts have to tile the buffer: each stride is the product of the finer ones.
  std::vector<Part> by_stride = parts;
  std::sort(by_stride.begin(), by_stride.end(), [](const Part& a, const Part& b) {
    return *as_const_int(a.stride) < *as_const_int(b.stride);
  });
  int64_t expected = 1;
  for (const Part& part : by_stride) {
    if (*as_const_int(part.stride) != expected) return std::nullopt;
    expected *= *as_const_int(part.extent);
  }
  int64_t total = 1;
  for (const PrimExpr& extent : buffer.shape()) {
    const int64_t* value = as_const_int(extent);
    if (value == nullptr) return std::nullopt;
    total *= *value;
  }
  if (!is_zero(sum->base) || expected != total) return std::nullopt;
  std::sort(parts.begin(), parts.end(),
            [](const Part& a, const Part& b) { return a.loop < b.loop; });
  return IndexMap::FromFunc(
      static_cast<int>(buffer.ndim()),
      [&](const ffi::Array<Var>& old_indices) {
        arith::Analyzer inner;
        PrimExpr place =
            make_zero(old_indices.empty() ? DataType::Int(32) : old_indices[0]->dtype());
        for (size_t d = 0; d < old_indices.size(); ++d) {
          const PrimExpr extent = cast(old_indices[d]->dtype(), buffer.shape()[d]);
          inner->Bind(old_indices[d], Range::FromMinExtent(make_zero(extent.dtype()), extent));
          place = place * extent + old_indices[d];
        }
        ffi::Array<PrimExpr> result;
        for (const Part& part : parts) {
          PrimExpr index = floormod(floordiv(place, cast(place.dtype(), part.stride)),
                                    cast(place.dtype(), part.extent));
          result.push_back(inner->Simplify(index));
        }
        return result;
      },
      std::nullopt, indices.empty() ? DataType::Int(32) : indices[0].dtype());
}

TVM_FFI_STATIC_INIT_BLOCK() {
  ffi::reflection::GlobalDef().def(
      "s_tir.schedule.SuggestIndexMap",
      [](Buffer buffer, ffi::Array<PrimExpr> indices, ffi::Array<For> loops, PrimExpr predicate) {
        arith::Analyzer analyzer;
        return SuggestIndexMap(buffer, indices, loops, predicate, analyzer);
      });
}

}  // namespace s_tir
}  // namespace tvm
