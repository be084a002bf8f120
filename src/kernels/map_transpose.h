// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// The part of rule `map` for outputs along whose innermost dimension operands are not contiguous.
#ifndef TVM_KERNELS_MAP_TRANSPOSE_H_
#define TVM_KERNELS_MAP_TRANSPOSE_H_

#include <tvm/kernels/rule.h>

#include <vector>

#include "kernels/group.h"

namespace tvm {
namespace kernels {

/// One output of a map: `output[offset] = value` for all `outer` and `inner` iterations, all
/// accesses flat. The output is contiguous along `inner`.
struct MapLoops {
  tirx::Buffer output;
  PrimExpr value, offset;
  std::vector<Iter> outer;
  Iter inner;
};

/// Loops that turn squares of elements in registers, so that both sides are read and written in
/// vectors:
///
///   Y[t, i] = f(X[i, t])  =>  parallel block of t and i: for i0: for t0:
///                               L vectors X[i0 + r, t0 .. t0 + L]; turned;
///                               L vectors Y[t0 + r, i0 .. i0 + L] = f(..)
///
/// With 2 or 3 positions of i or t only, vectors of the other one are interleaved or taken apart.
/// Undefined where no outer dimension is contiguous in all operands that `inner` is not.
tirx::Stmt TransposedLoops(const MapLoops& loops, const Target& target, const KernelKnobs& knobs,
                           FlatAccess* access);

}  // namespace kernels
}  // namespace tvm

#endif  // TVM_KERNELS_MAP_TRANSPOSE_H_
