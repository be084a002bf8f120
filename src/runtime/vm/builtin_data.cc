// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file builtin_data.cc
/// Operators whose result has a shape that depends on data, or an effect: `relax.run.*`.
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/dataclass.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/runtime/logging.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "runtime/vm/host_tensor.h"
#include "runtime/vm/vm_impl.h"

namespace tvm {
namespace runtime {
namespace vm {

namespace {

constexpr DLDataType kInt64{kDLInt, 64, 1};

Tensor HostTensor(const std::vector<int64_t>& shape, DLDataType dtype) {
  return Tensor::Empty(ffi::Shape(shape.begin(), shape.end()), dtype, Device{kDLCPU, 0});
}
Tensor HostInts(const std::vector<int64_t>& values) {
  Tensor t = HostTensor({static_cast<int64_t>(values.size())}, kInt64);
  std::copy(values.begin(), values.end(), static_cast<int64_t*>(t->data));
  return t;
}
/// A result goes where the operand is.
ffi::Tensor Onto(Tensor result, Device device) {
  if (device.device_type == kDLCPU) return result;
  return result.CopyTo(device);
}

ffi::Tensor ShapeToTensor(const ffi::Shape& shape) {
  return HostInts(std::vector<int64_t>(shape.begin(), shape.end()));
}

/// Positions of the elements that are not 0, one column each; NaN is not 0.
ffi::Tensor Nonzero(const ffi::Tensor& x) {
  Tensor host = ToCompactHost(Tensor(x));
  const DLTensor* t = host.GetDLTensorPtr();
  ElementKeys keys(host);
  int64_t count = 1;
  for (int i = 0; i < t->ndim; ++i) count *= t->shape[i];
  std::vector<int64_t> found;
  for (int64_t i = 0; i < count; ++i) {
    if (keys[i] != keys.zero()) found.push_back(i);
  }
  const auto n = static_cast<int64_t>(found.size());
  Tensor out = HostTensor({t->ndim, n}, kInt64);
  auto* data = static_cast<int64_t*>(out->data);
  int64_t stride = 1;
  for (int axis = t->ndim - 1; axis >= 0; --axis) {
    for (int64_t j = 0; j < n; ++j) {
      data[axis * n + j] = found[static_cast<size_t>(j)] / stride % t->shape[axis];
    }
    stride *= t->shape[axis];
  }
  return Onto(out, x.device());
}

// ---- unique ----------------------------------------------------------------------------------

/// The slices of a tensor along an axis, or its elements.
struct Slices {
  int64_t count = 0;
  int64_t outer = 1;
  int64_t inner = 1;
  int64_t size() const { return outer * inner; }
  /// Position in the tensor of element k of slice i, of `n` slices.
  int64_t At(int64_t i, int64_t k, int64_t n) const {
    return (k / inner * n + i) * inner + k % inner;
  }
};

struct Groups {
  /// First slice of each group, in the order of the result.
  std::vector<int64_t> first;
  std::vector<int64_t> counts;
  std::vector<int64_t> inverse;
};

Groups GroupEqual(const Slices& s, const ElementKeys& keys, bool sorted) {
  auto compare = [&](int64_t a, int64_t b) -> int {
    for (int64_t k = 0; k < s.size(); ++k) {
      int64_t x = keys[s.At(a, k, s.count)], y = keys[s.At(b, k, s.count)];
      if (x != y) return x < y ? -1 : 1;
    }
    return 0;
  };
  std::vector<int64_t> order(static_cast<size_t>(s.count));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return compare(a, b) < 0; });
  std::vector<int64_t> group_of(order.size());
  std::vector<int64_t> first, counts;
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || compare(order[i - 1], order[i]) != 0) {
      first.push_back(order[i]);  // stable: the first of its equals
      counts.push_back(0);
    }
    ++counts.back();
    group_of[static_cast<size_t>(order[i])] = static_cast<int64_t>(first.size()) - 1;
  }
  std::vector<int64_t> rank(first.size());
  std::iota(rank.begin(), rank.end(), 0);
  if (!sorted) {
    std::sort(rank.begin(), rank.end(), [&](int64_t a, int64_t b) {
      return first[static_cast<size_t>(a)] < first[static_cast<size_t>(b)];
    });
  }
  Groups groups;
  std::vector<int64_t> position(first.size());
  for (size_t i = 0; i < rank.size(); ++i) {
    auto g = static_cast<size_t>(rank[i]);
    groups.first.push_back(first[g]);
    groups.counts.push_back(counts[g]);
    position[g] = static_cast<int64_t>(i);
  }
  for (int64_t g : group_of) groups.inverse.push_back(position[static_cast<size_t>(g)]);
  return groups;
}

bool Flag(ffi::AnyView value) { return value.cast<int64_t>() != 0; }

/// unique(x, sorted, return_index, return_inverse, return_counts, [axis])
void Unique(ffi::PackedArgs args, ffi::Any* rv) {
  TVM_REQUIRE(args.size() == 5 || args.size() == 6, TypeError)
      << "relax.run.unique expects 5 or 6 arguments, got " << args.size();
  auto x = args[0].cast<ffi::Tensor>();
  Tensor host = ToCompactHost(Tensor(x));
  const DLTensor* t = host.GetDLTensorPtr();
  std::optional<int64_t> axis;
  if (args.size() == 6 && args[5] != nullptr) axis = args[5].cast<int64_t>();
  Slices slices;
  std::vector<int64_t> shape;
  if (axis.has_value()) {
    int64_t a = *axis < 0 ? *axis + t->ndim : *axis;
    TVM_REQUIRE(a >= 0 && a < t->ndim, ValueError)
        << "the axis " << *axis << " of unique is outside of a tensor of rank " << t->ndim;
    for (int64_t k = 0; k < a; ++k) slices.outer *= t->shape[k];
    for (int64_t k = a + 1; k < t->ndim; ++k) slices.inner *= t->shape[k];
    slices.count = t->shape[a];
    shape.assign(t->shape, t->shape + t->ndim);
    axis = a;
  } else {
    slices.count = 1;
    for (int k = 0; k < t->ndim; ++k) slices.count *= t->shape[k];
    shape = {slices.count};
  }
  Groups groups = GroupEqual(slices, ElementKeys(host), Flag(args[1]));
  const auto n = static_cast<int64_t>(groups.first.size());
  shape[static_cast<size_t>(axis.value_or(0))] = n;
  Tensor values = HostTensor(shape, t->dtype);
  const size_t width = ffi::GetDataSize(1, t->dtype);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t k = 0; k < slices.size(); ++k) {
      const int64_t from = slices.At(groups.first[static_cast<size_t>(i)], k, slices.count);
      std::memcpy(
          static_cast<char*>(values->data) + static_cast<size_t>(slices.At(i, k, n)) * width,
          static_cast<const char*>(t->data) + static_cast<size_t>(from) * width, width);
    }
  }
  ffi::Array<ffi::Any> results{Onto(values, x.device())};
  const std::vector<int64_t>* extra[] = {&groups.first, &groups.inverse, &groups.counts};
  for (int i = 0; i < 3; ++i) {
    if (Flag(args[2 + i])) results.push_back(Onto(HostInts(*extra[i]), x.device()));
  }
  if (results.size() == 1) {
    *rv = results[0];
  } else {
    *rv = results;
  }
}

// ---- print, assert ---------------------------------------------------------------------------

std::string ValueText(ffi::AnyView value) {
  if (auto tensor = value.as<ffi::Tensor>()) return TensorToText(Tensor(*tensor));
  if (auto text = value.try_cast<ffi::String>()) return std::string(text->data(), text->size());
  ffi::String repr = ffi::ReprPrint(ffi::Any(value));
  return std::string(repr.data(), repr.size());
}

/// Replaces `{}` and `{i}` by values; `{{` and `}}` stand for braces.
std::string Format(const std::string& format, ffi::PackedArgs args) {
  std::string out;
  int next = 0;
  for (size_t i = 0; i < format.size(); ++i) {
    const char c = format[i];
    if (c != '{' && c != '}') {
      out += c;
      continue;
    }
    if (i + 1 < format.size() && format[i + 1] == c) {
      out += c;
      ++i;
      continue;
    }
    const size_t end = c == '{' ? format.find('}', i) : std::string::npos;
    TVM_REQUIRE(end != std::string::npos, ValueError)
        << "the format \"" << format << "\" has a single '" << c << "' at byte " << i;
    const std::string field = format.substr(i + 1, end - i - 1);
    const bool number = field.size() <= 4 && field.find_first_not_of("0123456789") == field.npos;
    TVM_REQUIRE(number, ValueError) << "the format \"" << format << "\" has the field {" << field
                                    << "}; only {} and {number} are supported";
    const int index = field.empty() ? next++ : std::stoi(field);
    TVM_REQUIRE(index < args.size(), IndexError)
        << "the format \"" << format << "\" asks for value " << index << " of " << args.size();
    out += ValueText(args[index]);
    i = end;
  }
  return out;
}

/// print(format, values...): an empty format puts blanks between the values.
void Print(ffi::PackedArgs args, ffi::Any*) {
  TVM_REQUIRE(args.size() >= 1, TypeError) << "relax.run.print expects a format";
  auto format = args[0].cast<ffi::String>();
  std::string line;
  if (format.empty()) {
    for (int i = 1; i < args.size(); ++i) line += (i > 1 ? " " : "") + ValueText(args[i]);
  } else {
    line = Format(std::string(format.data(), format.size()), args.Slice(1));
  }
  line += "\n";
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);
}

/// assert_op(condition, format, values...)
void Assert(ffi::PackedArgs args, ffi::Any*) {
  TVM_REQUIRE(args.size() >= 2, TypeError)
      << "relax.run.assert_op expects a condition and a format, got " << args.size()
      << " arguments";
  if (builtin::ReadIfCond(args[0])) return;
  auto format = args[1].cast<ffi::String>();
  std::string message = "Assertion Failed";
  if (!format.empty()) {
    message += ": " + Format(std::string(format.data(), format.size()), args.Slice(2));
  }
  TVM_FFI_THROW(AssertionError) << message;
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::GlobalDef()
      .def("relax.run.shape_to_tensor", ShapeToTensor)
      .def("relax.run.nonzero", Nonzero)
      .def_packed("relax.run.unique", Unique)
      .def_packed("relax.run.print", Print)
      .def_packed("relax.run.assert_op", Assert);
}

}  // namespace vm
}  // namespace runtime
}  // namespace tvm
