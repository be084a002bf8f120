// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#ifndef TVM_TARGET_FWD_H_
#define TVM_TARGET_FWD_H_

namespace tvm {
class TargetKind;
class TargetNode;
class Target;
class VirtualDevice;
struct CpuFeatures;
}  // namespace tvm
#endif  // TVM_TARGET_FWD_H_
