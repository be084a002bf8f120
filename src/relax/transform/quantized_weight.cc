// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "relax/transform/quantized_weight.h"

#include <tvm/kernels/low_bit.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "relax/ir/mapped_tensor.h"
#include "relax/ir/utils.h"

namespace tvm {
namespace relax {

namespace {

/// The constant's data in host memory, compact and aligned.
std::optional<ffi::Tensor> HostData(const Expr& e) {
  const auto* c = e.as<ConstantNode>();
  if (c == nullptr || c->data.device().device_type != kDLCPU || !c->data.IsContiguous()) {
    return std::nullopt;
  }
  return AlignedTensor(c->data);
}

/// Calls f(element, channel) for all elements of a tensor with channels along `axis`.
template <typename F>
void ForEachChannel(const ffi::Tensor& t, int axis, const F& f) {
  int64_t outer = 1, inner = 1;
  for (int d = 0; d < t.ndim(); ++d) {
    if (d < axis) outer *= t.shape()[d];
    if (d > axis) inner *= t.shape()[d];
  }
  const int64_t channels = t.shape()[axis];
  int64_t at = 0;
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t i = 0; i < inner; ++i) f(at++, c);
    }
  }
}

template <typename T>
Expr MakeChannelConstant(const std::vector<T>& values, int rank, int axis, DataType dtype) {
  const bool same = std::all_of(values.begin(), values.end(),
                                [&](const T& value) { return value == values.front(); });
  const int64_t count = same ? 1 : static_cast<int64_t>(values.size());
  std::vector<int64_t> shape;
  if (!same) {
    shape.assign(rank, 1);
    shape[axis] = count;
  }
  ffi::Tensor t = NewHostTensor(shape, dtype);
  for (int64_t i = 0; i < count; ++i) {
    char* at = TensorBytes(t) + i * dtype.bytes();
    if constexpr (std::is_floating_point_v<T>) {
      StoreScalar(at, dtype, static_cast<double>(values[i]));
    } else {
      StoreScalar(at, dtype, values[i]);
    }
  }
  return Constant(t);
}

}  // namespace

std::optional<std::vector<double>> NumbersOf(const Expr& e) {
  auto data = HostData(e);
  if (!data) return std::nullopt;
  const DataType dtype(data->dtype());
  if (!dtype.is_any_float() && !dtype.is_int() && !dtype.is_uint()) return std::nullopt;
  if (dtype.is_float8() || dtype.bits() < 8 || dtype.lanes() != 1) return std::nullopt;
  std::vector<double> values(static_cast<size_t>(data->numel()));
  for (size_t i = 0; i < values.size(); ++i) {
    const char* at = TensorBytes(*data) + static_cast<int64_t>(i) * dtype.bytes();
    values[i] = LoadScalarAsDouble(at, dtype);
  }
  return values;
}

std::optional<std::vector<int64_t>> IntegersOf(const Expr& e) {
  const auto* c = e.as<ConstantNode>();
  if (c == nullptr || DataType(c->data.dtype()).is_any_float()) return std::nullopt;
  auto numbers = NumbersOf(e);
  if (!numbers) return std::nullopt;
  return std::vector<int64_t>(numbers->begin(), numbers->end());
}

std::optional<IntegerWeight> PrepareWeight(const Expr& q, const std::vector<int64_t>& zeros,
                                           int axis, bool may_leave_zeros) {
  auto data = HostData(q);
  if (!data || data->ndim() <= axis || zeros.empty()) return std::nullopt;
  const DataType dtype(data->dtype()), i8 = DataType::Int(8);
  if (dtype != i8 && dtype != DataType::UInt(8)) return std::nullopt;
  const auto channels = static_cast<size_t>(data->shape()[axis]);
  if (channels == 0 || (zeros.size() != 1 && zeros.size() != channels)) return std::nullopt;
  auto zero = [&](int64_t c) { return zeros.size() == 1 ? zeros[0] : zeros[c]; };
  const char* bytes = TensorBytes(*data);
  auto element = [&](int64_t at) -> int64_t {
    return dtype == i8 ? static_cast<int8_t>(bytes[at]) : static_cast<uint8_t>(bytes[at]);
  };
  bool fits = true;
  ForEachChannel(*data, axis, [&](int64_t at, int64_t c) {
    const int64_t value = element(at) - zero(c);
    fits = fits && value >= -128 && value <= 127;
  });
  if (!fits && !may_leave_zeros) return std::nullopt;
  // What does not fit keeps its zero point; uint8 is moved into the range of int8.
  const int64_t shift = dtype == i8 ? 0 : 128;
  IntegerWeight result;
  result.sums.assign(channels, 0);
  const bool as_is = dtype == i8 && (!fits || std::all_of(zeros.begin(), zeros.end(),
                                                          [](int64_t z) { return z == 0; }));
  ffi::Tensor out = *data;
  if (!as_is) {
    out = NewHostTensor(std::vector<int64_t>(data->shape().begin(), data->shape().end()), i8);
  }
  char* to = TensorBytes(out);
  ForEachChannel(*data, axis, [&](int64_t at, int64_t c) {
    const int64_t value = element(at) - (fits ? zero(c) : shift);
    if (!as_is) to[at] = static_cast<char>(value);
    result.sums[c] += value;
  });
  if (!fits) {
    for (size_t c = 0; c < channels; ++c) {
      result.zeros.push_back(zero(static_cast<int64_t>(c)) - shift);
    }
  }
  result.value = as_is ? q : Expr(Constant(out));
  return result;
}

std::optional<Expr> CenterWeight(const Expr& q, const std::vector<int64_t>& zeros, int axis) {
  if (auto bytes = PrepareWeight(q, zeros, axis, false)) return bytes->value;
  auto data = HostData(q);
  if (!data || !PrepareWeight(q, zeros, axis, true)) return std::nullopt;
  const bool is_signed = DataType(data->dtype()).is_int();
  ffi::Tensor out = NewHostTensor(std::vector<int64_t>(data->shape().begin(), data->shape().end()),
                                  DataType::Int(16));
  const char* from = TensorBytes(*data);
  auto* to = reinterpret_cast<int16_t*>(TensorBytes(out));
  ForEachChannel(*data, axis, [&](int64_t at, int64_t c) {
    const int64_t value =
        is_signed ? static_cast<int8_t>(from[at]) : static_cast<uint8_t>(from[at]);
    to[at] = static_cast<int16_t>(value - zeros[zeros.size() == 1 ? 0 : static_cast<size_t>(c)]);
  });
  return Constant(out);
}

namespace {

/// The least and the largest number of a tensor of bytes.
std::pair<int64_t, int64_t> RangeOf(const ffi::Tensor& t) {
  const char* bytes = TensorBytes(t);
  const bool is_signed = DataType(t.dtype()).is_int();
  int64_t low = 255, high = -128;
  for (int64_t i = 0; i < t.numel(); ++i) {
    const int64_t value =
        is_signed ? static_cast<int8_t>(bytes[i]) : static_cast<uint8_t>(bytes[i]);
    low = std::min(low, value);
    high = std::max(high, value);
  }
  return {low, high};
}

/// q - base, of so many bits, in the rows of bytes that low_bit.h tells of.
Expr LowBitBytes(const ffi::Tensor& q, int64_t base, int bits) {
  const int64_t k = q.shape()[0], n = q.shape()[1];
  ffi::Tensor out = NewHostTensor({kernels::LowBitRows(k, bits), n}, DataType::UInt(8));
  std::memset(TensorBytes(out), 0, static_cast<size_t>(TensorByteSize(out)));
  const auto* from = reinterpret_cast<const uint8_t*>(TensorBytes(q));
  auto* to = reinterpret_cast<uint8_t*>(TensorBytes(out));
  for (int64_t r = 0; r < k; ++r) {
    uint8_t* row = to + kernels::LowBitRow(r, bits) * n;
    const int shift = kernels::LowBitShift(r, bits);
    for (int64_t c = 0; c < n; ++c) {
      // Modulo 256, signed bytes are no case of their own.
      const auto value = static_cast<uint8_t>(from[r * n + c] - static_cast<uint8_t>(base));
      row[c] = static_cast<uint8_t>(row[c] | value << shift);
    }
  }
  return Constant(out);
}

/// A scalar where all numbers are the same, else a matrix of n columns.
template <typename T>
Expr BlockConstant(const std::vector<T>& values, int64_t n, DataType dtype) {
  if (std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end()) {
    return MakeChannelConstant(std::vector<T>{values[0]}, 0, 0, dtype);
  }
  const auto count = static_cast<int64_t>(values.size());
  ffi::Tensor t = NewHostTensor({count / n, n}, dtype);
  for (int64_t i = 0; i < count; ++i) {
    StoreScalar(TensorBytes(t) + i * dtype.bytes(), dtype, values[static_cast<size_t>(i)]);
  }
  return Constant(t);
}

}  // namespace

std::optional<LowBitWeight> PackLowBits(const Expr& q, const std::vector<double>& scales,
                                        const std::vector<int64_t>& zeros, int64_t block) {
  auto data = HostData(q);
  if (!data || data->ndim() != 2 || data->numel() == 0) return std::nullopt;
  const int64_t k = data->shape()[0], n = data->shape()[1];
  const int64_t blocks = block > 0 ? (k + block - 1) / block : 1;
  auto fits = [&](size_t count) { return count == 1 || count == static_cast<size_t>(blocks * n); };
  if (!fits(scales.size()) || !fits(zeros.size())) return std::nullopt;
  if (block == 0) {
    constexpr int64_t kRun = 128;  // one scale for all of a column: any multiple of a word will do
    block = (k + kRun - 1) / kRun * kRun;
  }
  const auto [low, high] = RangeOf(*data);
  const auto [least, most] = std::minmax_element(zeros.begin(), zeros.end());
  for (int bits : {4, 8}) {
    // What the type of 4 bits begins with, where that will do.
    int64_t base = low >= 0 && high <= 15 ? 0 : low >= -8 && high <= 7 ? -8 : low;
    if (bits == 8) base = DataType(data->dtype()).is_int() ? -128 : 0;
    if (high - base >= int64_t{1} << bits || *least < base || *most - base > 255) continue;
    if (block % kernels::WordElements(bits) != 0) continue;
    std::vector<int64_t> moved;
    for (int64_t zero : zeros) moved.push_back(zero - base);
    return LowBitWeight{LowBitBytes(*data, base, bits),
                        BlockConstant(scales, n, DataType::Float(32)),
                        BlockConstant(moved, n, DataType::UInt(8)), bits, block};
  }
  return std::nullopt;
}

Expr ChannelConstant(const std::vector<int64_t>& values, int rank, int axis) {
  return MakeChannelConstant(values, rank, axis, DataType::Int(32));
}
Expr ChannelConstant(const std::vector<float>& values, int rank, int axis) {
  return MakeChannelConstant(values, rank, axis, DataType::Float(32));
}

Expr InsideOf(const Expr& image, const ffi::Array<int64_t>& padding) {
  ffi::Array<int64_t> dims = image->ty.as<TensorTypeNode>()->GetStaticShape().value();
  const int64_t rows = dims[2] + padding[0] + padding[2], cols = dims[3] + padding[1] + padding[3];
  ffi::Tensor inside = NewHostTensor({1, 1, rows, cols}, DataType::Bool());
  for (int64_t i = 0; i < rows * cols; ++i) {
    const int64_t row = i / cols - padding[0], col = i % cols - padding[1];
    TensorBytes(inside)[i] = row >= 0 && row < dims[2] && col >= 0 && col < dims[3] ? 1 : 0;
  }
  return Constant(inside);
}

}  // namespace relax
}  // namespace tvm
