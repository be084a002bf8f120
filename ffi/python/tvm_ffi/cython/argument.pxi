# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Python value -> argument view.

`PackArg` in py_call.h handles exact built-in classes. Everything else finds the converter of its
exact class here; which one that is gets decided once per class.
"""

ctypedef int (*_convert_fn)(PyObject* arg, TVMFFIAny* out, void** owned, CallFrame* frame,
                            void* state) except -1

# Exact class -> fn(obj) -> address, for handle classes of other libraries.
_OPAQUE_PTR_HANDLERS = {}

cdef dict _CONVERTERS = {}
cdef Py_ssize_t _MAX_CONVERTERS = 8192  # classes made in a loop must not pile up here
cdef bint _USE_EXCHANGE_API = os.environ.get("TVM_FFI_SKIP_DLPACK_C_EXCHANGE_API", "0") != "1"


cdef class _Converter:
    cdef _convert_fn function
    cdef void* state

    @staticmethod
    cdef _Converter make(_convert_fn function, void* state):
        cdef _Converter out = _Converter.__new__(_Converter)
        out.function = function
        out.state = state
        return out


cdef int _pack_slow(PyObject* arg, TVMFFIAny* out, void** owned, CallFrame* frame) except -1:
    cdef object cls = <object><PyObject*>Py_TYPE(arg)
    cdef PyObject* found = PyDict_GetItemWithError(_CONVERTERS, cls)
    cdef _Converter converter
    if found != NULL:
        converter = <_Converter><object>found
    else:
        converter = _resolve_converter(<object>arg, cls)
        if len(_CONVERTERS) >= _MAX_CONVERTERS:
            _CONVERTERS.clear()
        _CONVERTERS[cls] = converter
    return converter.function(arg, out, owned, frame, converter.state)


cdef inline void _set_object(TVMFFIAny* out, void* handle) noexcept:
    out.type_index = (<TVMFFIObject*>handle).type_index
    out.v_ptr = handle


cdef inline void _set_owned_any(TVMFFIAny* out, void** owned, TVMFFIAny value) noexcept:
    out[0] = value
    if value.type_index >= kTVMFFIStaticObjectBegin:
        owned[0] = value.v_obj


cdef int _convert_object(PyObject* arg, TVMFFIAny* out, void** owned, CallFrame* frame,
                         void* state) except -1:
    cdef void* handle = (<CObject>arg).chandle
    if handle == NULL:
        if type(<object>arg) is not Object and isinstance(<object>arg, CObject):
            raise ValueError(
                f"cannot pass an empty {type(<object>arg).__name__}: its value was moved away or "
                "never built")
        out.type_index = kTVMFFINone
        return 0
    _set_object(out, handle)
    return 0


cdef int _convert_container(PyObject* arg, TVMFFIAny* out, void** owned, CallFrame* frame,
                            void* state) except -1:
    if (<_ContainerState>arg).api != NULL:
        frame.api = (<_ContainerState>arg).api
    return _convert_object(arg, out, owned, frame, NULL)


cdef int _convert_rvalue(PyObject* arg, TVMFFIAny* out, void** owned, CallFrame* frame,
                         void* state) except -1:
    cdef CObject obj = (<object>arg).obj
    _handle_of(obj)
    out.type_index = kTVMFFIObjectRValueRef
    out.v_ptr = &obj.chandle
    return 0


cdef int _convert_via_method(PyObject* arg, TVMFFIAny* out, void** owned, CallFrame* frame,
                             str name) except -1:
    """Pack what `arg.name()` returns."""
    value = getattr(<object>arg, name)()
    if value is <object>arg:
        raise TypeError(f"{type(value).__name__}.{name}() returned the object itself")
    return _pack_temporary(value, out, owned, frame)


cdef int _pack_temporary(object value, TVMFFIAny* out, void** owned, CallFrame* frame) except -1:
    """Pack a value that nobody else keeps alive during the call."""
    Py_EnterRecursiveCall(" while converting an argument to an FFI value")
    try:
        PackArg(<PyObject*>value, out, owned, frame)
        if owned[0] == NULL and out.type_index in (
                kTVMFFIRawStr, kTVMFFIByteArrayPtr, kTVMFFIObjectRValueRef):
            _own_view(out, owned)
        elif owned[0] == NULL and out.type_index >= kTVMFFIStaticObjectBegin:
            TVMFFIObjectIncRef(out.v_ptr)
            owned[0] = out.v_ptr
    finally:
        Py_LeaveRecursiveCall()
    return 0


cdef int _own_view(TVMFFIAny* out, void** owned) except -1:
    cdef TVMFFIAny value = _none_any()
    _check(TVMFFIAnyViewToOwnedAny(out, &value))
    _set_owned_any(out, owned, value)
    return 0


cdef int _convert_ffi_object_protocol(PyObject* arg, TVMFFIAny* out, void** owned,
                                      CallFrame* frame, void* state) except -1:
    value = (<object>arg).__tvm_ffi_object__
    if callable(value) and not isinstance(value, CObject):
        value = value()
    if not isinstance(value, (CObject, PyNativeObject)):
        raise TypeError(
            f"{type(<object>arg).__name__}.__tvm_ffi_object__ must give an FFI object, got "
            f"{type(value).__name__}")
    return _pack_temporary(value, out, owned, frame)


cdef int _use_stream(CallFrame* frame, int device_type, int device_id, void* stream) except -1:
    if device_type != kDLCPU and frame.stream_device_type < 0:
        frame.stream_device_type = device_type
        frame.stream_device_id = device_id
        frame.stream = stream
    return 0


cdef int _convert_exchange(PyObject* arg, TVMFFIAny* out, void** owned, CallFrame* frame,
                           void* state) except -1:
    """Tensor of a framework that offers the C exchange table."""
    cdef const DLPackExchangeAPI* api = <const DLPackExchangeAPI*>state
    cdef DLManagedTensorVersioned* managed = NULL
    cdef void* handle = NULL
    cdef void* stream = NULL
    cdef DLTensor* view
    if api.managed_tensor_from_py_object_no_sync(arg, &managed) != 0:
        _raise_pending(f"cannot export {type(<object>arg).__name__} through DLPack")
    _check(TVMFFITensorFromDLPackVersioned(managed, 0, 0, &handle))
    owned[0] = handle
    _set_object(out, handle)
    if frame.api == NULL:
        frame.api = api
    view = TVMFFITensorGetDLTensorPtr(handle)
    if view.device.device_type != kDLCPU and frame.stream_device_type < 0 \
            and api.current_work_stream != NULL:
        if api.current_work_stream(view.device.device_type, view.device.device_id, &stream) != 0:
            _raise_pending("cannot read the framework's current stream")
        _use_stream(frame, <int>view.device.device_type, view.device.device_id, stream)
    return 0


cdef extern from *:
    """
    /// -1 with the pending exception, or a RuntimeError if a callee forgot to set one.
    static inline int tvm_ffi_py_raise_pending(const char* fallback) {
      if (PyErr_Occurred() == nullptr) PyErr_SetString(PyExc_RuntimeError, fallback);
      return -1;
    }
    """
    int _raise_pending_c "tvm_ffi_py_raise_pending"(const char*) except -1


cdef int _raise_pending(str fallback) except -1:
    return _raise_pending_c(fallback.encode())


cdef int _convert_cuda_stream(PyObject* arg, TVMFFIAny* out, void** owned, CallFrame* frame,
                              void* state) except -1:
    _, handle = (<object>arg).__cuda_stream__()
    out.type_index = kTVMFFIOpaquePtr
    out.v_ptr = <void*><uintptr_t>int(handle)
    return 0


cdef int _convert_address(PyObject* arg, TVMFFIAny* out, void** owned, CallFrame* frame,
                          void* state) except -1:
    """Objects whose int() is an address."""
    out.type_index = kTVMFFIOpaquePtr
    out.v_ptr = <void*><uintptr_t>int(<object>arg)
    return 0


cdef int _convert_torch_tensor(PyObject* arg, TVMFFIAny* out, void** owned, CallFrame* frame,
                               void* state) except -1:
    """A torch tensor of a version without the exchange table."""
    tensor = <object>arg
    handle = _tensor_from_capsule(tensor.detach().__dlpack__(), 0, 0)
    owned[0] = handle
    _set_object(out, handle)
    if tensor.is_cuda and frame.stream_device_type < 0:
        torch = sys.modules["torch"]
        stream = torch.cuda.current_stream(tensor.device).cuda_stream
        _use_stream(frame, 10 if torch.version.hip else 2, tensor.device.index or 0,
                    <void*><uintptr_t>stream)
    return 0


cdef int _convert_dlpack(PyObject* arg, TVMFFIAny* out, void** owned, CallFrame* frame,
                         void* state) except -1:
    cdef void* handle = _tensor_from_foreign(<object>arg, 0, 0)
    owned[0] = handle
    _set_object(out, handle)
    stream = getattr(<object>arg, "__tvm_ffi_env_stream__", None)
    if stream is not None:
        device = TVMFFITensorGetDLTensorPtr(handle).device
        _use_stream(frame, <int>device.device_type, device.device_id,
                    <void*><uintptr_t>int(stream()))
    return 0


cdef int _convert_int(PyObject* arg, TVMFFIAny* out, void** owned, CallFrame* frame,
                      void* state) except -1:
    """Integral values that are no plain int, and ints beyond 64 bits."""
    return _pack_int(int(<object>arg), out, owned)


cdef int _pack_int(object value, TVMFFIAny* out, void** owned) except -1:
    cdef TVMFFIByteArray words
    cdef TVMFFIAny made = _none_any()
    if -0x8000000000000000 <= value <= 0x7FFFFFFFFFFFFFFF:
        out.type_index = kTVMFFIInt
        out.v_int64 = value
        return 0
    count = value.bit_length() // 64 + 1  # one bit for the sign
    content = value.to_bytes(count * 8, "little", signed=True)  # the ABI is little-endian
    words.data = <const char*><bytes>content
    words.size = len(content)
    _check(TVMFFIBigIntFromByteArray(&words, &made))
    _set_owned_any(out, owned, made)
    return 0


cdef int _convert_bool(PyObject* arg, TVMFFIAny* out, void** owned, CallFrame* frame,
                       void* state) except -1:
    out.type_index = kTVMFFIBool
    out.v_int64 = bool(<object>arg)
    return 0


cdef int _convert_float(PyObject* arg, TVMFFIAny* out, void** owned, CallFrame* frame,
                        void* state) except -1:
    out.type_index = kTVMFFIFloat
    out.v_float64 = float(<object>arg)
    return 0


cdef int _convert_datatype(PyObject* arg, TVMFFIAny* out, void** owned, CallFrame* frame,
                           void* state) except -1:
    out.type_index = kTVMFFIDataType
    out.v_dtype = (<DataType>arg).value
    return 0


cdef int _convert_dtype(PyObject* arg, TVMFFIAny* out, void** owned, CallFrame* frame,
                        void* state) except -1:
    out.type_index = kTVMFFIDataType
    out.v_dtype = (<DataType?>(<object>arg)._tvm_ffi_dtype).value
    return 0


cdef int _convert_foreign_dtype(PyObject* arg, TVMFFIAny* out, void** owned, CallFrame* frame,
                                void* state) except -1:
    """torch.dtype, numpy.dtype."""
    out.type_index = kTVMFFIDataType
    out.v_dtype = (<DataType?>_CLASS_DTYPE(<object>arg)._tvm_ffi_dtype).value
    return 0


cdef int _convert_dlpack_dtype(PyObject* arg, TVMFFIAny* out, void** owned, CallFrame* frame,
                               void* state) except -1:
    code, bits, lanes = (<object>arg).__dlpack_data_type__()
    out.type_index = kTVMFFIDataType
    out.v_dtype.code = code
    out.v_dtype.bits = bits
    out.v_dtype.lanes = _lanes_of(lanes)
    return 0


cdef int _convert_device(PyObject* arg, TVMFFIAny* out, void** owned, CallFrame* frame,
                         void* state) except -1:
    out.type_index = kTVMFFIDevice
    out.v_device = (<Device>arg).value
    return 0


cdef int _convert_dlpack_device(PyObject* arg, TVMFFIAny* out, void** owned, CallFrame* frame,
                                void* state) except -1:
    kind, index = (<object>arg).__dlpack_device__()
    out.type_index = kTVMFFIDevice
    out.v_device.device_type = <_CDLDeviceType><int>int(kind)
    out.v_device.device_id = int(index)
    return 0


cdef int _convert_native(PyObject* arg, TVMFFIAny* out, void** owned, CallFrame* frame,
                         void* state) except -1:
    """String, Bytes and Shape: the FFI object they keep, else their plain content."""
    value = <object>arg
    kept = getattr(value, "_tvm_ffi_cached_object", None)
    if isinstance(kept, CObject) and (<CObject>kept).chandle != NULL:
        _set_object(out, (<CObject>kept).chandle)
        return 0
    if isinstance(value, str):
        return _convert_str(arg, out, owned, frame, NULL)
    if isinstance(value, bytes):
        return _convert_bytes(arg, out, owned, frame, NULL)
    return _build_from_items(_global("ffi.Shape"), value, out, owned, frame)


cdef int _convert_str(PyObject* arg, TVMFFIAny* out, void** owned, CallFrame* frame,
                      void* state) except -1:
    cdef Py_ssize_t size = 0
    cdef TVMFFIByteArray bytes
    cdef TVMFFIAny made = _none_any()
    bytes.data = PyUnicode_AsUTF8AndSize(<object>arg, &size)
    bytes.size = size
    _check(TVMFFIStringFromByteArray(&bytes, &made))
    _set_owned_any(out, owned, made)
    return 0


cdef int _convert_bytes(PyObject* arg, TVMFFIAny* out, void** owned, CallFrame* frame,
                        void* state) except -1:
    cdef char* data = NULL
    cdef Py_ssize_t size = 0
    cdef TVMFFIByteArray view
    cdef TVMFFIAny made = _none_any()
    content = <object>arg
    if not isinstance(content, bytes):
        content = bytes(content)
    PyBytes_AsStringAndSize(content, &data, &size)
    view.data = data
    view.size = size
    _check(TVMFFIBytesFromByteArray(&view, &made))
    _set_owned_any(out, owned, made)
    return 0


cdef int _convert_byte_array_arg(PyObject* arg, TVMFFIAny* out, void** owned, CallFrame* frame,
                                 void* state) except -1:
    out.type_index = kTVMFFIByteArrayPtr
    out.v_ptr = &(<ByteArrayArg>arg).view
    return 0


cdef int _build_from_items(object constructor, object items, TVMFFIAny* out, void** owned,
                           CallFrame* outer) except -1:
    """Pack `constructor(*items)` for a tuple or list of items."""
    cdef CallFrame frame
    cdef Py_ssize_t n = len(items)
    cdef Py_ssize_t i
    Py_EnterRecursiveCall(" while converting nested containers to FFI values")
    try:
        frame.stream_device_type = outer.stream_device_type
        frame.api = outer.api
        if not frame.Reserve(n):
            raise MemoryError
        for i in range(n):
            item = items[i]
            frame.owned[i] = NULL
            frame.size = i + 1
            _pack_temporary(item, &frame.args[i], &frame.owned[i], &frame)
        outer.api = frame.api
        if outer.stream_device_type < 0:
            outer.stream_device_type = frame.stream_device_type
            outer.stream_device_id = frame.stream_device_id
            outer.stream = frame.stream
        _check(TVMFFIFunctionCall((<Function>constructor).chandle, frame.args, frame.size,
                                  &frame.result))
        _set_owned_any(out, owned, frame.TakeResult())
    finally:
        Py_LeaveRecursiveCall()
    return 0


cdef int _convert_sequence(PyObject* arg, TVMFFIAny* out, void** owned, CallFrame* frame,
                           void* state) except -1:
    return _build_from_items(_global("ffi.Array"), tuple(<object>arg), out, owned, frame)


cdef int _convert_dict(PyObject* arg, TVMFFIAny* out, void** owned, CallFrame* frame,
                       void* state) except -1:
    cdef list flat = []
    for key, value in (<object>arg).items():
        flat.append(key)
        flat.append(value)
    return _build_from_items(_global("ffi.Map"), flat, out, owned, frame)


cdef int _convert_void_p(PyObject* arg, TVMFFIAny* out, void** owned, CallFrame* frame,
                         void* state) except -1:
    address = (<object>arg).value
    out.type_index = kTVMFFIOpaquePtr
    out.v_ptr = <void*><uintptr_t>(0 if address is None else address)
    return 0


cdef int _convert_opaque_ptr_protocol(PyObject* arg, TVMFFIAny* out, void** owned,
                                      CallFrame* frame, void* state) except -1:
    address = (<object>arg).__tvm_ffi_opaque_ptr__()
    out.type_index = kTVMFFIOpaquePtr
    out.v_ptr = <void*><uintptr_t>(0 if address is None else int(address))
    return 0


cdef int _convert_opaque_handler(PyObject* arg, TVMFFIAny* out, void** owned, CallFrame* frame,
                                 void* state) except -1:
    value = <object>arg
    address = _OPAQUE_PTR_HANDLERS[type(value)](value)
    out.type_index = kTVMFFIOpaquePtr
    out.v_ptr = <void*><uintptr_t>(0 if address is None else int(address))
    return 0


cdef int _convert_callable(PyObject* arg, TVMFFIAny* out, void** owned, CallFrame* frame,
                           void* state) except -1:
    cdef void* handle = NewCallback(arg, NULL)
    if handle == NULL:
        _check(-1)
    owned[0] = handle
    _set_object(out, handle)
    return 0


cdef int _convert_int_protocol(PyObject* arg, TVMFFIAny* out, void** owned, CallFrame* frame,
                               void* state) except -1:
    return _pack_int(int((<object>arg).__tvm_ffi_int__()), out, owned)


cdef int _convert_float_protocol(PyObject* arg, TVMFFIAny* out, void** owned, CallFrame* frame,
                                 void* state) except -1:
    out.type_index = kTVMFFIFloat
    out.v_float64 = float((<object>arg).__tvm_ffi_float__())
    return 0


cdef int _convert_value_protocol(PyObject* arg, TVMFFIAny* out, void** owned, CallFrame* frame,
                                 void* state) except -1:
    return _convert_via_method(arg, out, owned, frame, "__tvm_ffi_value__")


cdef int _convert_exception(PyObject* arg, TVMFFIAny* out, void** owned, CallFrame* frame,
                            void* state) except -1:
    cdef void* handle = _new_error(<object>arg)
    owned[0] = handle
    _set_object(out, handle)
    return 0


cdef int _convert_asobject(PyObject* arg, TVMFFIAny* out, void** owned, CallFrame* frame,
                           void* state) except -1:
    return _convert_via_method(arg, out, owned, frame, "asobject")


cdef int _convert_opaque(PyObject* arg, TVMFFIAny* out, void** owned, CallFrame* frame,
                         void* state) except -1:
    cdef void* handle = _new_opaque(arg)
    owned[0] = handle
    _set_object(out, handle)
    return 0


cdef object _module_class(str module, str name):
    """`module.name` if that module is imported already."""
    found = sys.modules.get(module)
    return None if found is None else getattr(found, name, None)


cdef bint _is_instance(object value, str module, str name) except -1:
    cls = _module_class(module, name)
    return isinstance(cls, type) and isinstance(value, cls)


cdef bint _TRY_TORCH_EXTENSION = os.environ.get("TVM_FFI_DISABLE_TORCH_C_DLPACK", "0") != "1"


cdef int _load_torch_extension() except -1:
    """Releases of torch without an exchange table get one from a package of its own, if installed."""
    global _TRY_TORCH_EXTENSION
    _TRY_TORCH_EXTENSION = False
    if hasattr(_module_class("torch", "Tensor"), "__dlpack_c_exchange_api__"):
        return 0
    try:
        import torch_c_dlpack_ext
    except ModuleNotFoundError:
        pass
    except Exception as error:  # such as a build for another torch
        import warnings
        warnings.warn(f"torch tensors take a slower way: torch_c_dlpack_ext fails with {error!r}")
    return 0


cdef bint _is_cuda_driver_stream(object cls) except -1:
    return cls.__name__ == "CUstream" and cls.__module__.partition(".")[0] == "cuda"


cdef _Converter _resolve_converter(object value, object cls):
    """Decide how values of class `cls` become FFI values; the order is contract."""
    cdef const DLPackExchangeAPI* api = NULL
    if cls is int:
        return _Converter.make(_convert_int, NULL)
    if isinstance(value, Tensor):
        return _Converter.make(_convert_object, NULL)
    if isinstance(value, _ContainerState):
        return _Converter.make(_convert_container, NULL)
    if isinstance(value, CObject):
        return _Converter.make(_convert_object, NULL)
    if isinstance(value, ObjectRValueRef):
        return _Converter.make(_convert_rvalue, NULL)
    if hasattr(cls, "__tvm_ffi_object__"):
        return _Converter.make(_convert_ffi_object_protocol, NULL)
    if _USE_EXCHANGE_API:
        if _TRY_TORCH_EXTENSION and _is_instance(value, "torch", "Tensor"):
            _load_torch_extension()
        api = _exchange_api_of(cls)
        if api != NULL:
            return _Converter.make(_convert_exchange, <void*>api)
    if hasattr(cls, "__cuda_stream__"):
        return _Converter.make(_convert_cuda_stream, NULL)
    if _is_cuda_driver_stream(cls):
        return _Converter.make(_convert_address, NULL)
    if _is_instance(value, "torch", "Tensor"):
        return _Converter.make(_convert_torch_tensor, NULL)
    if hasattr(cls, "__dlpack__"):
        if cls is _module_class("numpy", "ndarray") and hooks().ndarray_type == NULL:
            _enable_numpy(sys.modules["numpy"])
        return _Converter.make(_convert_dlpack, NULL)
    if isinstance(value, bool):
        return _Converter.make(_convert_bool, NULL)
    if isinstance(value, Integral):
        return _Converter.make(_convert_int, NULL)
    if isinstance(value, Real):
        return _Converter.make(_convert_float, NULL)
    if isinstance(value, DataType):
        return _Converter.make(_convert_datatype, NULL)
    if _CLASS_DTYPE is not None and isinstance(value, _CLASS_DTYPE):
        return _Converter.make(_convert_dtype, NULL)
    if isinstance(value, Device):
        return _Converter.make(_convert_device, NULL)
    if isinstance(value, PyNativeObject):
        return _Converter.make(_convert_native, NULL)
    if isinstance(value, ByteArrayArg):
        return _Converter.make(_convert_byte_array_arg, NULL)
    if isinstance(value, str):
        return _Converter.make(_convert_str, NULL)
    if isinstance(value, (bytes, bytearray)):
        return _Converter.make(_convert_bytes, NULL)
    if isinstance(value, (tuple, list)):
        return _Converter.make(_convert_sequence, NULL)
    if isinstance(value, dict):
        return _Converter.make(_convert_dict, NULL)
    if isinstance(value, ctypes.c_void_p):
        return _Converter.make(_convert_void_p, NULL)
    if hasattr(cls, "__tvm_ffi_opaque_ptr__"):
        return _Converter.make(_convert_opaque_ptr_protocol, NULL)
    if cls in _OPAQUE_PTR_HANDLERS:
        return _Converter.make(_convert_opaque_handler, NULL)
    if callable(value):
        return _Converter.make(_convert_callable, NULL)
    if _is_instance(value, "torch", "dtype") or _is_instance(value, "numpy", "dtype"):
        return _Converter.make(_convert_foreign_dtype, NULL)
    if hasattr(cls, "__dlpack_data_type__"):
        return _Converter.make(_convert_dlpack_dtype, NULL)
    if hasattr(cls, "__dlpack_device__"):
        return _Converter.make(_convert_dlpack_device, NULL)
    if hasattr(cls, "__tvm_ffi_int__"):
        return _Converter.make(_convert_int_protocol, NULL)
    if hasattr(cls, "__tvm_ffi_float__"):
        return _Converter.make(_convert_float_protocol, NULL)
    if hasattr(cls, "__tvm_ffi_value__"):
        return _Converter.make(_convert_value_protocol, NULL)
    if isinstance(value, Exception):
        return _Converter.make(_convert_exception, NULL)
    if isinstance(value, ObjectConvertible):
        return _Converter.make(_convert_asobject, NULL)
    return _Converter.make(_convert_opaque, NULL)
