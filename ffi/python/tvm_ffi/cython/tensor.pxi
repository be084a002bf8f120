# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Tensors and their exchange with other frameworks through DLPack."""

__dlpack_version__ = (DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION)

cdef const char* kCapsule = "dltensor"
cdef const char* kCapsuleUsed = "used_dltensor"
cdef const char* kCapsuleVersioned = "dltensor_versioned"
cdef const char* kCapsuleVersionedUsed = "used_dltensor_versioned"
cdef const char* kExchangeCapsule = "dlpack_exchange_api"


cdef void _delete_capsule(object capsule) noexcept:
    cdef DLManagedTensor* managed
    if PyCapsule_IsValid(capsule, kCapsule):
        managed = <DLManagedTensor*>PyCapsule_GetPointer(capsule, kCapsule)
        if managed.deleter != NULL:
            managed.deleter(managed)


cdef void _delete_capsule_versioned(object capsule) noexcept:
    cdef DLManagedTensorVersioned* managed
    if PyCapsule_IsValid(capsule, kCapsuleVersioned):
        managed = <DLManagedTensorVersioned*>PyCapsule_GetPointer(capsule, kCapsuleVersioned)
        if managed.deleter != NULL:
            managed.deleter(managed)


cdef void* _tensor_from_capsule(object capsule, int alignment, int contiguous) except NULL:
    """Tensor handle for a DLPack capsule, which is consumed."""
    cdef void* out = NULL
    cdef DLManagedTensor* managed
    cdef DLManagedTensorVersioned* versioned
    if PyCapsule_IsValid(capsule, kCapsuleVersioned):
        versioned = <DLManagedTensorVersioned*>PyCapsule_GetPointer(capsule, kCapsuleVersioned)
        if versioned.version.major != DLPACK_MAJOR_VERSION:
            raise BufferError(
                f"DLPack major version {versioned.version.major} is not supported, expected "
                f"{DLPACK_MAJOR_VERSION}")
        _check(TVMFFITensorFromDLPackVersioned(versioned, alignment, contiguous, &out))
        PyCapsule_SetName(capsule, kCapsuleVersionedUsed)
        return out
    if PyCapsule_IsValid(capsule, kCapsule):
        managed = <DLManagedTensor*>PyCapsule_GetPointer(capsule, kCapsule)
        _check(TVMFFITensorFromDLPack(managed, alignment, contiguous, &out))
        PyCapsule_SetName(capsule, kCapsuleUsed)
        return out
    name = PyCapsule_GetName(capsule) if PyCapsule_CheckExact(capsule) else NULL
    raise ValueError(
        "expected a DLPack capsule that was not used before, got "
        + (f"capsule {(<bytes>name).decode()!r}" if name != NULL else type(capsule).__name__))


cdef object _export_capsule(object array):
    """The DLPack capsule of a foreign array, versioned if it can."""
    try:
        return array.__dlpack__(max_version=__dlpack_version__)
    except TypeError:  # protocol older than max_version
        return array.__dlpack__()


cdef void* _tensor_from_foreign(object array, int alignment, int contiguous) except NULL:
    if PyCapsule_CheckExact(array):
        return _tensor_from_capsule(array, alignment, contiguous)
    return _tensor_from_capsule(_export_capsule(array), alignment, contiguous)


def from_dlpack(ext_tensor, *, require_alignment=0, require_contiguous=False):
    """Share a tensor of another framework without a copy.

    Args:
        ext_tensor: Object with ``__dlpack__``, or a DLPack capsule of either version.
        require_alignment: Needed alignment of the data in bytes; 0 for none.
        require_contiguous: Refuse a tensor that is not compact and row-major.

    Returns:
        A Tensor that keeps the memory alive.

    Raises:
        RuntimeError: The memory is not aligned or not contiguous as asked.
    """
    cdef void* handle = NULL
    cdef PyObject* fast
    if require_alignment == 0 and not require_contiguous:
        fast = WrapNumpy(<PyObject*>ext_tensor)
        if fast != NULL:
            result = <object>fast
            Py_XDECREF(fast)
            return result
        if PyErr_Occurred() != NULL:
            _raise_pending("")
    if hasattr(ext_tensor, "__dlpack__") or PyCapsule_CheckExact(ext_tensor):
        handle = _tensor_from_foreign(ext_tensor, require_alignment, bool(require_contiguous))
        return _wrap_tensor(handle)
    raise TypeError(
        f"expected an object with __dlpack__ or a DLPack capsule, got {type(ext_tensor).__name__}")


cdef object _wrap_tensor(void* handle):
    """Python tensor for an owned handle, in the class set by `_set_class_tensor`."""
    cdef Tensor tensor = Tensor.__new__(_CLASS_TENSOR)
    tensor.chandle = handle
    return tensor


cdef tuple _int_tuple(const int64_t* values, Py_ssize_t n):
    cdef Py_ssize_t i
    return tuple([values[i] for i in range(n)])


# --- exchange API ----------------------------------------------------------------------------
# Other frameworks read the capsule below to convert our tensors without Python calls; we read
# theirs in `_exchange_api_of`.

cdef extern from *:
    """
    #include <dlpack/dlpack.h>
    static int tvm_ffi_py_fail(int status) {
      tvm_ffi_py::hooks().raise_ffi_error(status);
      return -1;
    }
    static int tvm_ffi_py_from_object(void* py_object, DLManagedTensorVersioned** out) {
      auto* self = static_cast<tvm_ffi_py::CObjectLayout*>(py_object);
      if (!PyObject_TypeCheck((PyObject*)py_object, tvm_ffi_py::hooks().tensor_type) ||
          self->handle == nullptr) {
        PyErr_SetString(PyExc_TypeError, "expected a tvm_ffi.Tensor with a value");
        return -1;
      }
      const int status = TVMFFITensorToDLPackVersioned(self->handle, out);
      return status == 0 ? 0 : tvm_ffi_py_fail(status);
    }
    static int tvm_ffi_py_to_object(DLManagedTensorVersioned* tensor, void** out) {
      TVMFFIAny value;
      value.type_index = kTVMFFITensor;
      value.zero_padding = 0;
      value.v_int64 = 0;
      const int status = TVMFFITensorFromDLPackVersioned(tensor, 0, 0, &value.v_ptr);
      if (status != 0) return tvm_ffi_py_fail(status);
      *out = tvm_ffi_py::ToPython(value, nullptr);
      return *out == nullptr ? -1 : 0;
    }
    static int tvm_ffi_py_view(void* py_object, DLTensor* out) {
      auto* self = static_cast<tvm_ffi_py::CObjectLayout*>(py_object);
      if (!PyObject_TypeCheck((PyObject*)py_object, tvm_ffi_py::hooks().tensor_type) ||
          self->handle == nullptr) {
        PyErr_SetString(PyExc_TypeError, "expected a tvm_ffi.Tensor with a value");
        return -1;
      }
      *out = *TVMFFITensorGetDLTensorPtr(self->handle);
      return 0;
    }
    static int tvm_ffi_py_allocate(DLTensor* prototype, DLManagedTensorVersioned** out,
                                   void* context,
                                   void (*set_error)(void*, const char*, const char*)) {
      if (TVMFFIEnvGetDLPackManagedTensorAllocator() == tvm_ffi_py_allocate) {
        set_error(context, "RuntimeError", "no allocator is set for tensors of this thread");
        return -1;  // the environment would only lead back here
      }
      void* handle = nullptr;
      int status = TVMFFIEnvTensorAlloc(prototype, &handle);
      if (status == 0) {
        status = TVMFFITensorToDLPackVersioned(handle, out);
        TVMFFIObjectDecRef(handle);
      }
      if (status != 0) {
        void* error = nullptr;
        TVMFFIErrorMoveFromRaised(&error);
        if (error != nullptr) {
          const TVMFFIErrorCell* cell = TVMFFIErrorGetCellPtr(error);
          set_error(context, std::string(cell->kind.data, cell->kind.size).c_str(),
                    std::string(cell->message.data, cell->message.size).c_str());
          TVMFFIObjectDecRef(error);
        }
        return -1;
      }
      return 0;
    }
    static int tvm_ffi_py_stream(DLDeviceType device_type, int32_t device_id, void** out) {
      *out = TVMFFIEnvGetStream(static_cast<int32_t>(device_type), device_id);
      return 0;
    }
    static int tvm_ffi_py_from_wrapper(void* py_object, DLManagedTensorVersioned** out) {
      PyObject* inner = PyObject_GetAttrString((PyObject*)py_object, "tensor");
      if (inner == nullptr) return -1;
      const int status = tvm_ffi_py_from_object(inner, out);
      Py_DECREF(inner);
      return status;
    }
    static int tvm_ffi_py_view_wrapper(void* py_object, DLTensor* out) {
      PyObject* inner = PyObject_GetAttrString((PyObject*)py_object, "tensor");
      if (inner == nullptr) return -1;
      const int status = tvm_ffi_py_view(inner, out);
      Py_DECREF(inner);
      return status;
    }
    static void* tvm_ffi_py_wrapper_api() {
      static DLPackExchangeAPI api = [] {
        DLPackExchangeAPI out{};
        out.header.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
        out.managed_tensor_from_py_object_no_sync = tvm_ffi_py_from_wrapper;
        out.managed_tensor_to_py_object_no_sync = tvm_ffi_py_to_object;
        out.dltensor_from_py_object_no_sync = tvm_ffi_py_view_wrapper;
        out.current_work_stream = tvm_ffi_py_stream;
        return out;
      }();
      return &api;
    }
    static void* tvm_ffi_py_exchange_api() {
      static DLPackExchangeAPI api = [] {
        DLPackExchangeAPI out{};
        out.header.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
        out.managed_tensor_allocator = tvm_ffi_py_allocate;
        out.managed_tensor_from_py_object_no_sync = tvm_ffi_py_from_object;
        out.managed_tensor_to_py_object_no_sync = tvm_ffi_py_to_object;
        out.dltensor_from_py_object_no_sync = tvm_ffi_py_view;
        out.current_work_stream = tvm_ffi_py_stream;
        return out;
      }();
      return &api;
    }
    """
    void* _own_exchange_api "tvm_ffi_py_exchange_api"()
    void* _wrapper_exchange_api "tvm_ffi_py_wrapper_api"()


cdef inline DLTensor* _tensor_view(CObject tensor) except NULL:
    return TVMFFITensorGetDLTensorPtr(_handle_of(tensor))


cdef class Tensor(CObject):
    """An n-dimensional array on some device."""

    __dlpack_c_exchange_api__ = PyCapsule_New(_own_exchange_api(), kExchangeCapsule, NULL)

    @property
    def shape(self):
        """Extent per axis, as a tuple."""
        cdef DLTensor* view = _tensor_view(self)
        return _int_tuple(view.shape, view.ndim)

    @property
    def strides(self):
        """Elements between neighbours, per axis."""
        cdef DLTensor* view = _tensor_view(self)
        return _int_tuple(view.strides, view.ndim)

    @property
    def ndim(self):
        """Number of axes."""
        return _tensor_view(self).ndim

    @property
    def dtype(self):
        """Element type."""
        return _dtype_to_python(_tensor_view(self).dtype)

    @property
    def device(self):
        """Device that holds the data."""
        return _device_to_python(_tensor_view(self).device)

    @property
    def byte_offset(self):
        """Bytes from ``data_ptr()`` base to the first element."""
        return _tensor_view(self).byte_offset

    def size(self, idx):
        """Extent of one axis; negative counts from the back."""
        cdef DLTensor* view = _tensor_view(self)
        cdef int64_t position
        axis = _index(idx)
        if axis < -view.ndim or axis >= view.ndim:
            raise IndexError(
                f"Dimension {idx} out of range for tensor with {view.ndim} dimensions")
        position = axis
        return view.shape[position + view.ndim if position < 0 else position]

    def numel(self):
        """Number of elements."""
        cdef DLTensor* view = _tensor_view(self)
        cdef int64_t count = 1
        cdef int32_t i
        for i in range(view.ndim):
            count *= view.shape[i]
        return count

    def data_ptr(self):
        """Address of the first element."""
        cdef DLTensor* view = _tensor_view(self)
        return <uintptr_t>view.data + view.byte_offset

    def is_contiguous(self):
        """True if the elements are compact in row-major order."""
        cdef DLTensor* view = _tensor_view(self)
        cdef int64_t expected = 1
        cdef int32_t i
        if self.numel() == 0:
            return True
        for i in range(view.ndim - 1, -1, -1):
            if view.shape[i] != 1 and view.strides[i] != expected:
                return False
            expected *= view.shape[i]
        return True

    def numpy(self):
        """Numpy array on the same memory.

        Raises:
            TypeError: Numpy has no such element type.
            ValueError: The tensor is not in the memory of the host.
        """
        cdef int device_type = _tensor_view(self).device.device_type
        cdef PyObject* array
        if device_type != kDLCPU and device_type != kDLCUDAHost and device_type != kDLROCMHost:
            raise ValueError(f"expected a tensor in the memory of the host, got one on {self.device}")
        if not HasNumpyApi():
            _load_numpy_api()
        array = NumpyFromTensor(<PyObject*>self)
        if array == NULL:
            if PyErr_Occurred() != NULL:
                _raise_pending("")
            raise TypeError(f"numpy has no element type for {self.dtype}")
        result = <object>array
        Py_XDECREF(array)
        return result

    def __repr__(self):
        if self.chandle == NULL:
            return f"{type(self).__name__}(chandle=None)"
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]@{self.device}"

    def __dlpack_device__(self):
        """DLPack device type and index."""
        cdef DLTensor* view = _tensor_view(self)
        return (<int>view.device.device_type, view.device.device_id)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        """Export as a DLPack capsule; versioned if `max_version` is at least (1, 0)."""
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            raise BufferError(
                f"cannot export a tensor of device {self.__dlpack_device__()} to {dl_device}")
        if copy:
            raise BufferError("cannot export a copy; copy the tensor first")
        if max_version is not None and max_version[0] >= 1:
            return self._to_dlpack_versioned()
        return self._to_dlpack()

    def _to_dlpack(self):
        cdef DLManagedTensor* managed = NULL
        _check(TVMFFITensorToDLPack(_handle_of(self), &managed))
        return PyCapsule_New(managed, kCapsule, _delete_capsule)

    def _to_dlpack_versioned(self):
        cdef DLManagedTensorVersioned* managed = NULL
        _check(TVMFFITensorToDLPackVersioned(_handle_of(self), &managed))
        return PyCapsule_New(managed, kCapsuleVersioned, _delete_capsule_versioned)


_CLASS_TENSOR = Tensor


def _set_class_tensor(cls):
    """Set the Tensor subclass in which tensors are handed out."""
    global _CLASS_TENSOR
    if not issubclass(cls, Tensor):
        raise TypeError(f"expected a subclass of Tensor, got {cls!r}")
    _CLASS_TENSOR = cls
    MakePlain(<PyTypeObject*><PyObject*>cls, False)
    hooks().tensor_fast_type = <PyTypeObject*><PyObject*>cls


def _enable_numpy(numpy):
    """Read numpy arrays directly if their memory layout is the one that py_numpy.h knows."""
    cdef list kinds = [("bool", 6, 8), ("float16", 2, 16), ("float32", 2, 32), ("float64", 2, 64),
                       ("complex64", 5, 64), ("complex128", 5, 128)]
    for bits in (8, 16, 32, 64):
        kinds += [(f"int{bits}", 0, bits), (f"uint{bits}", 1, bits)]
    numbers = [numpy.dtype(name).num for name, _, _ in kinds]
    # C has more names than sizes for integers: numpy numbers all of them.
    for char in "bhilqBHILQ":
        other = numpy.dtype(char)
        kinds.append((char, 0 if char.islower() else 1, 8 * other.itemsize))
        numbers.append(other.num)
    base = numpy.zeros((4, 6), "float32")
    frozen = numpy.zeros(3, "int64")
    frozen.flags.writeable = False
    for array in (base, base[1:, ::2], base[:0], numpy.zeros((), "uint8"), frozen,
                  numpy.zeros(2, ">i4"), numpy.zeros(9, "int8")[1:].view("float64")):
        flags = 0x100 * array.flags.aligned + 0x400 * array.flags.writeable
        told = (array.ctypes.data, array.ndim, list(zip(array.shape, array.strides)),
                id(array.dtype), array.dtype.byteorder.encode(), array.dtype.num, flags)
        if DescribeNumpy(array) != told:
            return False
    for (name, code, bits), number in zip(kinds, numbers):
        if numpy.dtype(name).itemsize * 8 != bits:
            return False
        SetNumpyType(number, code, bits)
    hooks().ndarray_type = <PyTypeObject*><PyObject*>numpy.ndarray
    return True


def _load_numpy_api():
    import numpy
    try:
        from numpy._core import _multiarray_umath
    except ImportError:  # numpy 1
        from numpy.core import _multiarray_umath
    if hooks().ndarray_type == NULL and not _enable_numpy(numpy):
        raise RuntimeError(f"numpy {numpy.__version__} lays arrays out in an unknown way")
    SetNumpyApi(_multiarray_umath._ARRAY_API)


cdef const DLPackExchangeAPI* _exchange_api_of(object cls) except? NULL:
    """Exchange table of a tensor class, or NULL."""
    cdef const DLPackExchangeAPI* api
    capsule = getattr(cls, "__dlpack_c_exchange_api__", None)
    if capsule is None:
        capsule = getattr(cls, "__c_dlpack_exchange_api__", None)
    if capsule is None:
        return NULL
    if isinstance(capsule, int):
        api = <const DLPackExchangeAPI*><uintptr_t>capsule
    elif PyCapsule_IsValid(capsule, kExchangeCapsule):
        api = <const DLPackExchangeAPI*>PyCapsule_GetPointer(capsule, kExchangeCapsule)
    else:
        raise TypeError(
            f"{cls.__name__}.__dlpack_c_exchange_api__ must be a capsule named "
            f"'dlpack_exchange_api' or an address, got {capsule!r}")
    while api != NULL and api.header.version.major != DLPACK_MAJOR_VERSION:
        api = <const DLPackExchangeAPI*>api.header.prev_api
    return api


class DLTensorTestWrapper:
    """Foreign tensor class around a Tensor; tests use it in place of a framework."""

    __dlpack_c_exchange_api__ = PyCapsule_New(_wrapper_exchange_api(), kExchangeCapsule, NULL)

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack__(self, **kwargs):
        return self.tensor.__dlpack__(**kwargs)

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()
