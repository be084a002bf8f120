// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Largest and smallest values of the machine data types, for range checks and constants.
#ifndef TVM_SRC_IR_DTYPE_RANGE_H_
#define TVM_SRC_IR_DTYPE_RANGE_H_

#include <tvm/runtime/data_type.h>

#include <cstdint>
#include <limits>

namespace tvm {

/// Largest value of an integer type (of a bool: 1). A uint64's is cut to 2^63-1, the largest that
/// an IntImm can hold.
inline int64_t MaxIntOf(DataType dtype) {
  if (dtype.is_bool()) return 1;
  int bits = dtype.bits();
  if (dtype.is_uint()) {
    return bits >= 63 ? std::numeric_limits<int64_t>::max() : (int64_t{1} << bits) - 1;
  }
  return bits >= 64 ? std::numeric_limits<int64_t>::max() : (int64_t{1} << (bits - 1)) - 1;
}

inline int64_t MinIntOf(DataType dtype) {
  if (dtype.is_bool() || dtype.is_uint()) return 0;
  int bits = dtype.bits();
  return bits >= 64 ? std::numeric_limits<int64_t>::min() : -(int64_t{1} << (bits - 1));
}

/// Largest finite value of a float type. Formats per the OCP FP8 and MX specifications and IEEE
/// 754.
inline double MaxFiniteOf(DataType dtype) {
  switch (dtype.code()) {
    case DataType::kFloat:
      if (dtype.bits() == 16) return 65504.0;
      if (dtype.bits() == 32) return std::numeric_limits<float>::max();
      return std::numeric_limits<double>::max();
    case DataType::kBFloat:
      return 0x1.FEp127;
    case DataType::kFloat8_e3m4:
      return 15.5;
    case DataType::kFloat8_e4m3:
      return 240.0;
    case DataType::kFloat8_e4m3b11fnuz:
      return 30.0;
    case DataType::kFloat8_e4m3fn:
      return 448.0;
    case DataType::kFloat8_e4m3fnuz:
      return 240.0;
    case DataType::kFloat8_e5m2:
    case DataType::kFloat8_e5m2fnuz:
      return 57344.0;
    case DataType::kFloat8_e8m0fnu:
      return 0x1p127;
    case DataType::kFloat6_e2m3fn:
      return 7.5;
    case DataType::kFloat6_e3m2fn:
      return 28.0;
    case DataType::kFloat4_e2m1fn:
      return 6.0;
    default:
      return std::numeric_limits<double>::max();
  }
}

/// Smallest (most negative) finite value.
inline double MinFiniteOf(DataType dtype) {
  if (dtype.code() == DataType::kFloat8_e8m0fnu) return 0x1p-127;
  return -MaxFiniteOf(dtype);
}

/// True for the formats without a sign.
inline bool IsUnsignedFloat(DataType dtype) { return dtype.code() == DataType::kFloat8_e8m0fnu; }

}  // namespace tvm
#endif  // TVM_SRC_IR_DTYPE_RANGE_H_
