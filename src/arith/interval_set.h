// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Arithmetic on intervals with symbolic ends.
#ifndef TVM_SRC_ARITH_INTERVAL_SET_H_
#define TVM_SRC_ARITH_INTERVAL_SET_H_

#include <tvm/arith/analyzer.h>

#include "ir/const_fold.h"

namespace tvm::arith {

/// Interval that covers { x op y }. Both sides are not empty.
IntervalSet CombineIntervals(const Analyzer& analyzer, BinaryKind kind, const IntervalSet& a,
                             const IntervalSet& b, DataType dtype);
IntervalSet UnionIntervals(const Analyzer& analyzer, const IntervalSet& a, const IntervalSet& b);
IntervalSet IntersectIntervals(const Analyzer& analyzer, const IntervalSet& a,
                               const IntervalSet& b);
/// The set as an interval; everything when it is of another kind.
IntervalSet ToInterval(const IntSet& set);

}  // namespace tvm::arith
#endif  // TVM_SRC_ARITH_INTERVAL_SET_H_
