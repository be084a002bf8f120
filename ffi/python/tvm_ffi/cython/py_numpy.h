// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

/// Tensors on numpy arrays without a DLPack capsule. The structures below are the binary interface
/// that numpy promises to extension modules; `_enable_numpy` still checks them against a few live
/// arrays before it turns this on. Arrays that the fast way does not serve take `__dlpack__`.
#ifndef TVM_FFI_PYTHON_PY_NUMPY_H_
#define TVM_FFI_PYTHON_PY_NUMPY_H_

#include <dlpack/dlpack.h>

#include <cstdlib>

#include "py_call.h"

namespace tvm_ffi_py {

struct NumpyArray {
  PyObject_HEAD char* data;
  int ndim;
  Py_ssize_t* dims;
  Py_ssize_t* strides;  ///< in bytes
  PyObject* base;
  PyObject* descr;
  int flags;

  static constexpr int kAligned = 0x0100;
  static constexpr int kWriteable = 0x0400;
};

struct NumpyDescr {
  PyObject_HEAD PyTypeObject* scalar;
  char kind;
  char type;
  char byteorder;
  char flags;
  int type_num;
};

/// DLPack types by numpy type number; bits 0: not served.
struct NumpyTypes {
  static constexpr int kCount = 32;
  DLDataType of[kCount] = {};
};

inline NumpyTypes& numpy_types() {
  static NumpyTypes types;
  return types;
}

/// Tensor object whose memory belongs to an array. C++ sees a plain ffi.Tensor.
struct NumpyTensor {
  TVMFFIObject header;
  DLTensor tensor;
  PyObject* array;
  int64_t extents[1];  ///< shape, then strides
};

inline void NumpyTensorDeleter(void* self, int flags) {
  auto* object = static_cast<NumpyTensor*>(self);
  if ((flags & kTVMFFIObjectDeleterFlagBitMaskStrong) != 0) ReleasePyObject(object->array);
  if ((flags & kTVMFFIObjectDeleterFlagBitMaskWeak) != 0) std::free(self);
}

/// New tensor object on the memory of an exact ndarray, or NULL (no exception) if it is not served:
/// read-only, misaligned, foreign byte order, structured or object elements.
inline void* NewNumpyTensor(PyObject* arg) {
  auto* array = reinterpret_cast<NumpyArray*>(arg);
  const auto* descr = reinterpret_cast<NumpyDescr*>(array->descr);
  constexpr int kNeeded = NumpyArray::kAligned | NumpyArray::kWriteable;
  if ((array->flags & kNeeded) != kNeeded || descr->byteorder == '>' || descr->type_num < 0 ||
      descr->type_num >= NumpyTypes::kCount) {
    return nullptr;
  }
  const DLDataType dtype = numpy_types().of[descr->type_num];
  if (dtype.bits == 0) return nullptr;
  const Py_ssize_t item = dtype.bits / 8;
  const int ndim = array->ndim;
  auto* object = static_cast<NumpyTensor*>(
      std::malloc(sizeof(NumpyTensor) + 2 * sizeof(int64_t) * static_cast<size_t>(ndim)));
  if (object == nullptr) return nullptr;
  int64_t* shape = object->extents;
  int64_t* strides = shape + ndim;
  for (int i = 0; i < ndim; ++i) {
    shape[i] = array->dims[i];
    if (array->strides[i] % item != 0) {
      std::free(object);
      return nullptr;
    }
    strides[i] = array->strides[i] / item;
  }
  object->header.combined_ref_count = (uint64_t{1} << 32) | 1;
  object->header.type_index = kTVMFFITensor;
  object->header.__padding = 0;
  object->header.deleter = NumpyTensorDeleter;
  object->tensor.data = array->data;
  object->tensor.device = DLDevice{kDLCPU, 0};
  object->tensor.ndim = ndim;
  object->tensor.dtype = dtype;
  object->tensor.shape = shape;
  object->tensor.strides = strides;
  object->tensor.byte_offset = 0;
  Py_INCREF(arg);
  object->array = arg;
  return object;
}

inline bool PackNumpy(PyObject* array, TVMFFIAny* out, void** owned) {
  void* tensor = NewNumpyTensor(array);
  if (tensor == nullptr) return false;
  out->type_index = kTVMFFITensor;
  out->v_ptr = tensor;
  *owned = tensor;
  return true;
}

/// Python tensor on an ndarray, or NULL without an exception if it is not served.
inline PyObject* WrapNumpy(PyObject* array) {
  if (Py_TYPE(array) != hooks().ndarray_type) return nullptr;
  TVMFFIAny value = NoneAny();
  value.v_ptr = NewNumpyTensor(array);
  if (value.v_ptr == nullptr) return nullptr;
  value.type_index = kTVMFFITensor;
  return ToPython(value, nullptr);
}

inline void SetNumpyType(int type_num, int code, int bits) {
  if (type_num >= 0 && type_num < NumpyTypes::kCount) {
    numpy_types().of[type_num] =
        DLDataType{static_cast<uint8_t>(code), static_cast<uint8_t>(bits), 1};
  }
}

/// Functions of numpy's C interface. Their numbers are part of its binary interface.
struct NumpyApi {
  PyTypeObject* array_type = nullptr;
  PyObject* (*descr_from_type)(int) = nullptr;
  PyObject* (*new_from_descr)(PyTypeObject*, PyObject* descr, int ndim, const Py_ssize_t* dims,
                              const Py_ssize_t* strides, void* data, int flags,
                              PyObject*) = nullptr;
  int (*set_base_object)(PyObject* array, PyObject* base) = nullptr;
};

inline NumpyApi& numpy_api() {
  static NumpyApi api;
  return api;
}

inline bool HasNumpyApi() { return numpy_api().array_type != nullptr; }

/// Takes the functions from numpy's `_ARRAY_API` capsule; -1 with an exception set if it is none.
inline int SetNumpyApi(PyObject* capsule) {
  auto** table = static_cast<void**>(PyCapsule_GetPointer(capsule, nullptr));
  if (table == nullptr) return -1;
  NumpyApi& api = numpy_api();
  std::memcpy(&api.descr_from_type, &table[45], sizeof(void*));
  std::memcpy(&api.new_from_descr, &table[94], sizeof(void*));
  std::memcpy(&api.set_base_object, &table[282], sizeof(void*));
  api.array_type = static_cast<PyTypeObject*>(table[2]);
  return 0;
}

inline int NumpyTypeOf(DLDataType dtype) {
  for (int number = 0; number < NumpyTypes::kCount; ++number) {
    const DLDataType other = numpy_types().of[number];
    if (other.bits == dtype.bits && other.code == dtype.code) return dtype.lanes == 1 ? number : -1;
  }
  return -1;
}

/// Array on the memory of a tensor, which it keeps alive. NULL with an exception set, or without
/// one if numpy has no such element type.
inline PyObject* NumpyFromTensor(PyObject* tensor) {
  constexpr int kMaxDims = 64;
  const DLTensor* view =
      TVMFFITensorGetDLTensorPtr(reinterpret_cast<CObjectLayout*>(tensor)->handle);
  const int number = NumpyTypeOf(view->dtype);
  if (number < 0 || view->ndim > kMaxDims) return nullptr;
  const Py_ssize_t item = view->dtype.bits / 8;
  Py_ssize_t dims[kMaxDims];
  Py_ssize_t strides[kMaxDims];
  for (int i = 0; i < view->ndim; ++i) {
    dims[i] = view->shape[i];
    strides[i] = view->strides[i] * item;
  }
  PyObject* descr = numpy_api().descr_from_type(number);
  if (descr == nullptr) return nullptr;
  PyObject* array = numpy_api().new_from_descr(
      numpy_api().array_type, descr, view->ndim, dims, strides,
      static_cast<char*>(view->data) + view->byte_offset, NumpyArray::kWriteable, nullptr);
  if (array == nullptr) return nullptr;
  Py_INCREF(tensor);
  if (numpy_api().set_base_object(array, tensor) != 0) {  // takes the reference in any case
    Py_DECREF(array);
    return nullptr;
  }
  return array;
}

/// What this header reads from an array, to be compared with what numpy says.
inline PyObject* DescribeNumpy(PyObject* arg) {
  auto* array = reinterpret_cast<NumpyArray*>(arg);
  const auto* descr = reinterpret_cast<NumpyDescr*>(array->descr);
  PyObject* extents = PyList_New(0);
  if (extents == nullptr) return nullptr;
  for (int i = 0; i < array->ndim && i < 8; ++i) {
    PyObject* pair = Py_BuildValue("nn", array->dims[i], array->strides[i]);
    if (pair == nullptr || PyList_Append(extents, pair) != 0) {
      Py_XDECREF(pair);
      Py_DECREF(extents);
      return nullptr;
    }
    Py_DECREF(pair);
  }
  return Py_BuildValue("NiNNcii", PyLong_FromVoidPtr(array->data), array->ndim, extents,
                       PyLong_FromVoidPtr(array->descr), descr->byteorder, descr->type_num,
                       array->flags & (NumpyArray::kAligned | NumpyArray::kWriteable));
}

}  // namespace tvm_ffi_py
#endif  // TVM_FFI_PYTHON_PY_NUMPY_H_
