// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// What each kind derives from the options that were given.
#ifndef TVM_SRC_TARGET_CANONICALIZE_H_
#define TVM_SRC_TARGET_CANONICALIZE_H_

#include <tvm/target/target.h>

namespace tvm {

TargetConfig CanonicalizeLLVM(TargetConfig config);
TargetConfig CanonicalizeC(TargetConfig config);
TargetConfig CanonicalizeCUDA(TargetConfig config);
TargetConfig CanonicalizeNVPTX(TargetConfig config);
TargetConfig CanonicalizeROCm(TargetConfig config);
TargetConfig CanonicalizeWebGPU(TargetConfig config);
TargetConfig CanonicalizeTest(TargetConfig config);

}  // namespace tvm
#endif  // TVM_SRC_TARGET_CANONICALIZE_H_
