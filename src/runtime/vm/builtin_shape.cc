// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file builtin_shape.cc
/// Builtins that build and match shapes on the shape heap, and check the kinds of values.
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/runtime/data_type.h>
#include <tvm/runtime/logging.h>

#include <cstring>
#include <string>

#include "runtime/vm/vm_impl.h"

namespace tvm {
namespace runtime {
namespace vm {

namespace {

enum class MatchCode : int64_t {
  kAssertEqualToImm = 0,
  kStoreToHeap = 1,
  kNoOp = 2,
  kAssertEqualToLoad = 3,
};
enum class MakeCode : int64_t { kUseImm = 0, kLoad = 1 };

/// The cells of a shape heap, an int64 host tensor; none for None.
struct Heap {
  explicit Heap(ffi::AnyView arg) {
    if (arg.type_index() == ffi::TypeIndex::kTVMFFINone) return;
    const DLTensor* t = arg.cast<DLTensor*>();
    TVM_REQUIRE(t->ndim == 1 && t->dtype.code == kDLInt && t->dtype.bits == 64 &&
                    t->device.device_type == kDLCPU,
                TypeError)
        << "a shape heap is a one-dimensional int64 tensor on the cpu";
    data = reinterpret_cast<int64_t*>(static_cast<char*>(t->data) + t->byte_offset);
    size = t->shape[0];
  }
  int64_t& At(int64_t index) const {
    TVM_REQUIRE(index >= 0 && index < size, InternalError)
        << "shape heap cell " << index << " is out of bounds, there are " << size;
    return data[index];
  }
  int64_t* data = nullptr;
  int64_t size = 0;
};

std::string Context(ffi::AnyView ctx) {
  if (ctx.type_index() == ffi::TypeIndex::kTVMFFINone) return "";
  auto s = ctx.cast<ffi::String>();
  return s.empty() ? "" : std::string(s.data(), s.size()) + " ";
}

std::string KindOf(ffi::AnyView value) { return std::string(value.GetTypeKey()); }

/// One dimension, or one integer, against what a code asks for.
bool MatchOne(const Heap& heap, MatchCode code, int64_t reg, int64_t actual) {
  switch (code) {
    case MatchCode::kAssertEqualToImm:
      return reg == actual;
    case MatchCode::kStoreToHeap:
      heap.At(reg) = actual;
      return true;
    case MatchCode::kNoOp:
      return true;
    case MatchCode::kAssertEqualToLoad:
      return heap.At(reg) == actual;
  }
  TVM_FFI_THROW(InternalError) << "unknown match code " << static_cast<int64_t>(code);
  __builtin_unreachable();
}

const char* MismatchText(MatchCode code) {
  return code == MatchCode::kAssertEqualToImm ? "mismatch to specified constant."
                                              : "mismatch to a previous populated value.";
}

/// match_shape(x, heap, n, (code, value) * n, ctx)
void MatchShape(ffi::PackedArgs args, ffi::Any* rv) {
  TVM_REQUIRE(args.size() >= 3, TypeError) << "vm.builtin.match_shape expects a value, a heap "
                                              "and a rank";
  const int64_t* dims = nullptr;
  int64_t ndim = 0;
  if (args[0].type_index() == ffi::TypeIndex::kTVMFFIShape) {
    const TVMFFIShapeCell* shape = TVMFFIShapeGetCellPtr(args[0].CopyToTVMFFIAny().v_obj);
    dims = shape->data;
    ndim = static_cast<int64_t>(shape->size);
  } else {
    const DLTensor* t = args[0].cast<DLTensor*>();
    dims = t->shape;
    ndim = t->ndim;
  }
  Heap heap(args[1]);
  auto n = args[2].cast<int64_t>();
  constexpr int kBegin = 3;
  TVM_REQUIRE(n >= 0 && args.size() == kBegin + 2 * n + 1, InternalError)
      << "match_shape of rank " << n << " got " << args.size() << " arguments";
  ffi::AnyView ctx = args[args.size() - 1];
  TVM_REQUIRE(ndim == n, RuntimeError)
      << Context(ctx) << "match_cast shape size mismatch. Expected rank " << n << ", got " << ndim;
  for (int i = 0; i < static_cast<int>(n); ++i) {
    auto code = static_cast<MatchCode>(args[kBegin + 2 * i].cast<int64_t>());
    auto reg = args[kBegin + 2 * i + 1].cast<int64_t>();
    if (MatchOne(heap, code, reg, dims[i])) continue;
    int64_t expected = code == MatchCode::kAssertEqualToImm ? reg : heap.At(reg);
    TVM_FFI_THROW(RuntimeError) << Context(ctx) << "match_cast error,  shape[" << i << "] "
                                << MismatchText(code) << " Expected " << expected << ", got "
                                << dims[i];
  }
}

/// match_prim_value(v, heap, code, reg, ctx)
void MatchPrimValue(ffi::AnyView value, ffi::AnyView heap_arg, int64_t code_arg, int64_t reg,
                    ffi::AnyView ctx) {
  Heap heap(heap_arg);
  auto code = static_cast<MatchCode>(code_arg);
  auto actual = value.cast<int64_t>();
  TVM_REQUIRE(MatchOne(heap, code, reg, actual), RuntimeError)
      << Context(ctx) << "match_cast error,  PrimValue " << MismatchText(code) << " Got " << actual;
}

int64_t MakeOne(const Heap& heap, int64_t code, int64_t reg) {
  switch (static_cast<MakeCode>(code)) {
    case MakeCode::kUseImm:
      return reg;
    case MakeCode::kLoad:
      return heap.At(reg);
  }
  TVM_FFI_THROW(InternalError) << "unknown make_shape code " << code;
  __builtin_unreachable();
}

void CheckTensorInfo(ffi::PackedArgs args, ffi::Any* rv) {
  // Older executables leave the data type out.
  TVM_REQUIRE(args.size() == 3 || args.size() == 4, TypeError)
      << "vm.builtin.check_tensor_info expects 3 or 4 arguments, got " << args.size();
  ffi::AnyView ctx = args[args.size() - 1];
  int32_t index = args[0].type_index();
  TVM_REQUIRE(index == ffi::TypeIndex::kTVMFFITensor || index == ffi::TypeIndex::kTVMFFIDLTensorPtr,
              TypeError)
      << Context(ctx) << "expect a Tensor but get " << KindOf(args[0]);
  const DLTensor* t = args[0].cast<DLTensor*>();
  auto ndim = args[1].cast<int64_t>();
  TVM_REQUIRE(ndim == -1 || t->ndim == ndim, ValueError)
      << Context(ctx) << "expect Tensor with ndim " << ndim << " but get " << t->ndim;
  if (args.size() == 4 && args[2].type_index() != ffi::TypeIndex::kTVMFFINone) {
    runtime::DataType dtype(args[2].cast<DLDataType>());
    TVM_REQUIRE(dtype.is_void() || dtype == runtime::DataType(t->dtype), ValueError)
        << Context(ctx) << "expect Tensor with dtype " << dtype << " but get "
        << runtime::DataType(t->dtype);
  }
}

void CheckShapeInfo(ffi::AnyView value, int64_t ndim, ffi::AnyView ctx) {
  TVM_REQUIRE(value.type_index() == ffi::TypeIndex::kTVMFFIShape, TypeError)
      << Context(ctx) << "expect a Shape but get " << KindOf(value);
  auto actual = static_cast<int64_t>(value.cast<ffi::Shape>().size());
  TVM_REQUIRE(ndim == -1 || actual == ndim, ValueError)
      << Context(ctx) << "expect Shape with ndim " << ndim << " but get " << actual;
}

void CheckPrimValueInfo(ffi::AnyView value, DLDataType dtype_arg, ffi::AnyView ctx) {
  runtime::DataType dtype(dtype_arg);
  int32_t index = value.type_index();
  bool is_bool = index == ffi::TypeIndex::kTVMFFIBool;
  bool is_int = is_bool || index == ffi::TypeIndex::kTVMFFIInt;
  bool ok = dtype.is_bool()                        ? is_int
            : dtype.is_int() || dtype.is_uint()    ? is_int
            : dtype.is_any_float()                 ? is_int || index == ffi::TypeIndex::kTVMFFIFloat
            : dtype.is_handle() || dtype.is_void() ? true
                                                   : false;
  TVM_REQUIRE(ok, TypeError) << Context(ctx) << "expect a value of type " << dtype << " but get "
                             << KindOf(value);
}

void CheckTupleInfo(ffi::AnyView value, int64_t size, ffi::AnyView ctx) {
  TVM_REQUIRE(value.type_index() == ffi::TypeIndex::kTVMFFIArray, TypeError)
      << Context(ctx) << "expect a Tuple but get " << KindOf(value);
  auto actual = static_cast<int64_t>(value.cast<ffi::Array<ffi::Any>>().size());
  TVM_REQUIRE(actual == size, ValueError)
      << Context(ctx) << "expect a Tuple with " << size << " elements but get " << actual;
}

void CheckFuncInfo(ffi::AnyView value, ffi::AnyView ctx) {
  bool ok = value.type_index() == ffi::TypeIndex::kTVMFFIFunction ||
            value.as<VMClosure>().value_or(VMClosure()).defined();
  TVM_REQUIRE(ok, TypeError) << Context(ctx) << "expect a Function but get " << KindOf(value);
}

/// The integers of a one-dimensional tensor as a Shape.
ffi::Shape TensorToShape(ffi::Tensor arg) {
  Tensor tensor(std::move(arg));
  if (tensor->device.device_type != kDLCPU) tensor = tensor.CopyTo(Device{kDLCPU, 0});
  const DLTensor* t = tensor.GetDLTensorPtr();
  TVM_REQUIRE(t->ndim == 1, ValueError)
      << "tensor_to_shape expects a one-dimensional tensor, got rank " << t->ndim;
  runtime::DataType dtype(t->dtype);
  TVM_REQUIRE(dtype.is_int() && dtype.is_scalar() &&
                  (dtype.bits() == 16 || dtype.bits() == 32 || dtype.bits() == 64),
              ValueError)
      << "tensor_to_shape expects int16, int32 or int64, got " << dtype;
  std::vector<int64_t> dims(static_cast<size_t>(t->shape[0]));
  const char* data = static_cast<const char*>(t->data) + t->byte_offset;
  int64_t stride = t->strides != nullptr ? t->strides[0] : 1;
  int64_t step = stride * dtype.bytes();
  for (size_t i = 0; i < dims.size(); ++i) {
    const char* p = data + static_cast<int64_t>(i) * step;
    if (dtype.bits() == 64) {
      std::memcpy(&dims[i], p, 8);
    } else if (dtype.bits() == 32) {
      int32_t v;
      std::memcpy(&v, p, 4);
      dims[i] = v;
    } else {
      int16_t v;
      std::memcpy(&v, p, 2);
      dims[i] = v;
    }
  }
  return ffi::Shape(dims.begin(), dims.end());
}

}  // namespace

namespace builtin {

int64_t MakeShapeRank(ffi::PackedArgs args) {
  TVM_REQUIRE(args.size() >= 2, TypeError)
      << "vm.builtin.make_shape expects a heap and a rank, got " << args.size() << " arguments";
  auto n = args[1].cast<int64_t>();
  TVM_REQUIRE(n >= 0 && args.size() == 2 + 2 * n, InternalError)
      << "make_shape of rank " << n << " got " << args.size() << " arguments";
  return n;
}

void MakeShapeDims(ffi::PackedArgs args, int64_t* out) {
  Heap heap(args[0]);
  auto n = args[1].cast<int64_t>();
  for (int i = 0; i < static_cast<int>(n); ++i) {
    out[i] = MakeOne(heap, args[2 + 2 * i].cast<int64_t>(), args[3 + 2 * i].cast<int64_t>());
  }
}

}  // namespace builtin

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::GlobalDef()
      .def("vm.builtin.alloc_shape_heap",
           [](ffi::AnyView vm, int64_t n) -> ffi::Tensor {
             TVM_REQUIRE(n >= 0, ValueError) << "alloc_shape_heap of size " << n;
             return Tensor::Empty(ffi::Shape{n}, DLDataType{kDLInt, 64, 1},
                                  VirtualMachine::GetContextPtr(vm)->devices.back());
           })
      .def_packed("vm.builtin.match_shape", MatchShape)
      .def("vm.builtin.match_prim_value", MatchPrimValue)
      .def_packed("vm.builtin.make_shape",
                  [](ffi::PackedArgs args, ffi::Any* rv) {
                    std::vector<int64_t> dims(static_cast<size_t>(builtin::MakeShapeRank(args)));
                    builtin::MakeShapeDims(args, dims.data());
                    *rv = ffi::Shape(dims.begin(), dims.end());
                  })
      .def("vm.builtin.make_prim_value", [](ffi::AnyView heap, int64_t code,
                                            int64_t reg) { return MakeOne(Heap(heap), code, reg); })
      .def_packed("vm.builtin.check_tensor_info", CheckTensorInfo)
      .def("vm.builtin.check_shape_info", CheckShapeInfo)
      .def("vm.builtin.check_prim_value_info", CheckPrimValueInfo)
      .def("vm.builtin.check_tuple_info", CheckTupleInfo)
      .def("vm.builtin.check_func_info", CheckFuncInfo)
      .def("vm.builtin.shape_of",
           [](DLTensor* t) { return ffi::Shape(t->shape, t->shape + t->ndim); })
      .def("vm.builtin.tensor_to_shape", TensorToShape);
}

}  // namespace vm
}  // namespace runtime
}  // namespace tvm
