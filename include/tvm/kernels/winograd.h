// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Weights of Winograd's convolution F(4, 3): a 3x3 filter g becomes U = G g G^T, 6x6, so that four
/// by four outputs take 36 multiplications instead of 144.
#ifndef TVM_KERNELS_WINOGRAD_H_
#define TVM_KERNELS_WINOGRAD_H_

#include <tvm/ir/expr.h>

#include <cstdint>
#include <functional>

namespace tvm {
namespace kernels {

/// KernelPlan::weight_form of the rule, and the key of its block annotation.
inline constexpr const char* kWinograd = "winograd";
/// Points along one side of a transformed filter, and outputs along one side of a tile.
inline constexpr int64_t kWinogradPoints = 6;
inline constexpr int64_t kWinogradTile = 4;

/// float32 filters [3, 3, ic, oc] as panels [ceil(oc / panel), 36, ic, panel]; columns past oc are
/// zero. `to` has room for all of it.
TVM_DLL void WinogradPack(const float* from, int64_t ic, int64_t oc, int64_t panel, float* to);

/// The tap g[kh, kw] out of the transformed filter: `point` gives U at a point in [0, 36). What a
/// convolution in terms of U means, for the loops that know nothing of the algorithm.
TVM_DLL PrimExpr WinogradTap(const PrimExpr& kh, const PrimExpr& kw,
                             const std::function<PrimExpr(const PrimExpr& point)>& point);

}  // namespace kernels
}  // namespace tvm

#endif  // TVM_KERNELS_WINOGRAD_H_
