// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "runtime/vm/host_tensor.h"

#include <tvm/ffi/container/tensor.h>
#include <tvm/runtime/data_type.h>
#include <tvm/runtime/logging.h>

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

namespace tvm {
namespace runtime {
namespace vm {

Tensor ToCompactHost(const Tensor& tensor) {
  const DLTensor* t = tensor.operator->();
  const bool host = t->device.device_type == kDLCPU;
  if (host && t->byte_offset == 0 && ffi::IsContiguous(*t)) return tensor;
  Tensor copy =
      Tensor::Empty(ffi::Shape(t->shape, t->shape + t->ndim), t->dtype, Device{kDLCPU, 0});
  copy.CopyFrom(t);
  return copy;
}

namespace {

template <typename T>
T Load(const char* data, int64_t i) {
  T value;
  std::memcpy(&value, data + static_cast<size_t>(i) * sizeof(T), sizeof(T));
  return value;
}

float HalfToFloat(uint16_t bits) {
  const int exponent = bits >> 10 & 0x1f;
  const int fraction = bits & 0x3ff;
  float magnitude;
  if (exponent == 0x1f) {
    magnitude = fraction != 0 ? std::numeric_limits<float>::quiet_NaN()
                              : std::numeric_limits<float>::infinity();
  } else if (exponent == 0) {
    magnitude = std::ldexp(static_cast<float>(fraction), -24);
  } else {
    magnitude = std::ldexp(static_cast<float>(fraction | 0x400), exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

float BFloatToFloat(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof(value));
  return value;
}

/// The bits of a double order as integers once those of negative numbers are inverted.
int64_t FloatKey(double value) {
  if (std::isnan(value)) return std::numeric_limits<int64_t>::max();
  if (value == 0) return 0;
  int64_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits >= 0 ? bits : std::numeric_limits<int64_t>::min() - bits;
}

template <typename T>
int64_t IntKeyAt(const char* data, int64_t i) {
  return static_cast<int64_t>(Load<T>(data, i));
}
/// The sign bit flipped keeps the order.
int64_t UInt64KeyAt(const char* data, int64_t i) {
  return static_cast<int64_t>(Load<uint64_t>(data, i) ^ (uint64_t{1} << 63));
}
int64_t BoolKeyAt(const char* data, int64_t i) { return data[i] != 0 ? 1 : 0; }
template <typename T>
int64_t FloatKeyAt(const char* data, int64_t i) {
  return FloatKey(static_cast<double>(Load<T>(data, i)));
}
int64_t HalfKeyAt(const char* data, int64_t i) {
  return FloatKey(HalfToFloat(Load<uint16_t>(data, i)));
}
int64_t BFloatKeyAt(const char* data, int64_t i) {
  return FloatKey(BFloatToFloat(Load<uint16_t>(data, i)));
}

using Reader = int64_t (*)(const char*, int64_t);

Reader ReaderFor(DLDataType dtype) {
  if (dtype.lanes != 1) return nullptr;
  switch (dtype.code) {
    case kDLBool:
      return dtype.bits <= 8 ? BoolKeyAt : nullptr;
    case kDLInt:
      return dtype.bits == 8    ? IntKeyAt<int8_t>
             : dtype.bits == 16 ? IntKeyAt<int16_t>
             : dtype.bits == 32 ? IntKeyAt<int32_t>
             : dtype.bits == 64 ? IntKeyAt<int64_t>
                                : nullptr;
    case kDLUInt:
      return dtype.bits == 1    ? BoolKeyAt
             : dtype.bits == 8  ? IntKeyAt<uint8_t>
             : dtype.bits == 16 ? IntKeyAt<uint16_t>
             : dtype.bits == 32 ? IntKeyAt<uint32_t>
             : dtype.bits == 64 ? UInt64KeyAt
                                : nullptr;
    case kDLFloat:
      return dtype.bits == 16   ? HalfKeyAt
             : dtype.bits == 32 ? FloatKeyAt<float>
             : dtype.bits == 64 ? FloatKeyAt<double>
                                : nullptr;
    case kDLBfloat:
      return dtype.bits == 16 ? BFloatKeyAt : nullptr;
    default:
      return nullptr;
  }
}

template <typename T>
std::string NumberText(T value) {
  char text[64];
  auto end = std::to_chars(text, text + sizeof(text), value).ptr;
  return std::string(text, end);
}

}  // namespace

ElementKeys::ElementKeys(const Tensor& compact)
    : data_(static_cast<const char*>(compact->data)), read_(ReaderFor(compact->dtype)) {
  TVM_REQUIRE(read_ != nullptr, TypeError)
      << "elements of type " << DataType(compact->dtype).ToString() << " cannot be compared";
  if (read_ == UInt64KeyAt) zero_ = std::numeric_limits<int64_t>::min();
}

std::string ElementToText(const char* data, int64_t i, DLDataType dtype) {
  if (dtype.code == kDLFloat && dtype.bits == 64) return NumberText(Load<double>(data, i));
  if (dtype.code == kDLFloat && dtype.bits == 32) return NumberText(Load<float>(data, i));
  if (dtype.code == kDLFloat && dtype.bits == 16) {
    return NumberText(HalfToFloat(Load<uint16_t>(data, i)));
  }
  if (dtype.code == kDLBfloat && dtype.bits == 16) {
    return NumberText(BFloatToFloat(Load<uint16_t>(data, i)));
  }
  Reader read = ReaderFor(dtype);
  if (read == nullptr) return "?";
  if (read == UInt64KeyAt) return NumberText(Load<uint64_t>(data, i));
  if (read == BoolKeyAt) return read(data, i) != 0 ? "True" : "False";
  return NumberText(read(data, i));
}

namespace {

constexpr int64_t kMaxPrinted = 1000;
constexpr int64_t kEdge = 3;

void PrintAxis(const DLTensor* t, int axis, int64_t begin, bool abridge, std::string* out) {
  if (axis == t->ndim) {
    *out += ElementToText(static_cast<const char*>(t->data), begin, t->dtype);
    return;
  }
  int64_t inner = 1;
  for (int k = axis + 1; k < t->ndim; ++k) inner *= t->shape[k];
  *out += "[";
  const int64_t n = t->shape[axis];
  for (int64_t i = 0; i < n; ++i) {
    if (i != 0) *out += ", ";
    if (abridge && n > 2 * kEdge && i == kEdge) {
      *out += "...";
      i = n - kEdge - 1;
      continue;
    }
    PrintAxis(t, axis + 1, begin + i * inner, abridge, out);
  }
  *out += "]";
}

}  // namespace

std::string TensorToText(const Tensor& tensor) {
  Tensor host = ToCompactHost(tensor);
  const DLTensor* t = host.GetDLTensorPtr();
  int64_t count = 1;
  for (int i = 0; i < t->ndim; ++i) count *= t->shape[i];
  std::string out;
  PrintAxis(t, 0, 0, count > kMaxPrinted, &out);
  return out;
}

}  // namespace vm
}  // namespace runtime
}  // namespace tvm
