// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#ifndef TVM_ARITH_FWD_H_
#define TVM_ARITH_FWD_H_

namespace tvm::arith {
class Analyzer;
class AnalyzerObj;
class ConstIntBound;
class ModularSet;
class IntSet;
class IterMapResult;
}  // namespace tvm::arith
#endif  // TVM_ARITH_FWD_H_
