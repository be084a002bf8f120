# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""FFI value -> Python value, functions and the global function table."""

cdef bint _RELEASE_GIL = os.environ.get("TVM_FFI_RELEASE_GIL_BY_DEFAULT", "1") != "0"


# --- results ---------------------------------------------------------------------------------

cdef object _wrap_object(TVMFFIAny value, const DLPackExchangeAPI* api):
    """Python form of an owned object."""
    cdef int32_t index = value.type_index
    cdef CObject obj
    cdef _ContainerState container
    cdef void* handle = value.v_ptr
    cdef PyObject* held
    if index == kTVMFFITensor:
        return _tensor_to_python(handle, api)
    if index == kTVMFFIFunction:
        obj = Function.__new__(Function)
    elif index == kTVMFFIBytes:
        return _bytes_from_handle(handle)
    elif index == kTVMFFIError:
        obj = Error.__new__(Error)
    elif index == kTVMFFIShape:
        return _shape_from_handle(handle)
    elif index == kTVMFFIOpaquePyObject:
        held = <PyObject*>TVMFFIOpaqueObjectGetCellPtr(handle).handle
        result = <object>held
        TVMFFIObjectDecRef(handle)
        return result
    elif index == kTVMFFIBigInt:
        return _big_int_to_python(value)
    else:
        try:
            cls = _class_of_object(index, handle)
        except BaseException:
            TVMFFIObjectDecRef(handle)
            raise
        if index == kTVMFFIArray or index == kTVMFFIMap or index == kTVMFFIList \
                or index == kTVMFFIDict:
            container = _ContainerState.__new__(cls)
            container.chandle = handle
            container.api = api
            return container
        obj = CObject.__new__(cls)
    obj.chandle = handle
    return obj


cdef object _big_int_to_python(TVMFFIAny value):
    cdef TVMFFIByteArray words = TVMFFIBigIntGetContentByteArray(&value)
    result = int.from_bytes(
        PyBytes_FromStringAndSize(words.data, words.size), "little", signed=True)
    TVMFFIObjectDecRef(value.v_obj)
    return result


cdef object _tensor_to_python(void* handle, const DLPackExchangeAPI* api):
    cdef DLManagedTensorVersioned* managed = NULL
    cdef void* out = NULL
    cdef int status
    if api == NULL or api.managed_tensor_to_py_object_no_sync == NULL:
        return _wrap_tensor(handle)
    status = TVMFFITensorToDLPackVersioned(handle, &managed)
    TVMFFIObjectDecRef(handle)
    _check(status)
    if api.managed_tensor_to_py_object_no_sync(managed, &out) != 0:
        _raise_pending("the framework could not import a tensor")
    result = <object><PyObject*>out
    Py_XDECREF(<PyObject*>out)
    return result


_CLASS_SHAPE = None


def _set_class_shape(cls):
    """Set the tuple subclass in which shapes are handed out."""
    global _CLASS_SHAPE
    _CLASS_SHAPE = cls


cdef object _shape_from_handle(void* handle):
    cdef CObject obj = CObject.__new__(Object)
    obj.chandle = handle
    return _CLASS_SHAPE.__from_tvm_ffi_object__(_CLASS_SHAPE, obj)


def _shape_obj_get_py_tuple(obj):
    """Extents of an ffi.Shape object as a plain tuple."""
    cdef TVMFFIShapeCell* cell = TVMFFIShapeGetCellPtr(_handle_of(obj))
    return _int_tuple(cell.data, cell.size)


cdef object _to_python(TVMFFIAny value, const DLPackExchangeAPI* api):
    """Python form of an owned value, which is consumed; what `ToPython` has no fast way for."""
    cdef int32_t index = value.type_index
    if index >= kTVMFFIStaticObjectBegin:
        return _wrap_object(value, api)
    if index == kTVMFFISmallBytes:
        return PyBytes_FromStringAndSize(value.v_bytes, value.small_str_len)
    if index == kTVMFFIDataType:
        return _dtype_to_python(value.v_dtype)
    if index == kTVMFFIDevice:
        return _device_to_python(value.v_device)
    if index == kTVMFFIOpaquePtr:
        return ctypes.c_void_p(<uintptr_t>value.v_ptr)
    return _view_only_to_python(&value, api)


cdef object _view_only_to_python(const TVMFFIAny* view, const DLPackExchangeAPI* api):
    """Forms that occur only as arguments of callbacks."""
    cdef TVMFFIByteArray* bytes
    cdef TVMFFIAny owned = _none_any()
    if view.type_index == kTVMFFIRawStr:
        return PyUnicode_DecodeUTF8(view.v_c_str, strlen(view.v_c_str), "replace")
    if view.type_index == kTVMFFIByteArrayPtr:
        bytes = <TVMFFIByteArray*>view.v_ptr
        return PyBytes_FromStringAndSize(bytes.data, bytes.size)
    if view.type_index == kTVMFFIObjectRValueRef:
        _check(TVMFFIAnyViewToOwnedAny(view, &owned))
        return ToPython(owned, api)
    if view.type_index == kTVMFFIDLTensorPtr:
        return _borrow_tensor(<DLTensor*>view.v_ptr, api)
    raise TypeError(f"cannot convert FFI type `{_type_key(view.type_index)}` to a Python value")


cdef extern from *:
    """
    struct TVMFFIPyBorrowed {
      DLManagedTensor managed;
      int64_t dims[1];
    };
    static void tvm_ffi_py_free_borrowed(DLManagedTensor* self) { std::free(self); }
    /// Managed copy of a borrowed DLTensor: the extents are copied, the data is not.
    static DLManagedTensor* tvm_ffi_py_borrow(const DLTensor* view) {
      const size_t n = static_cast<size_t>(view->ndim);
      auto* out = static_cast<TVMFFIPyBorrowed*>(
          std::malloc(sizeof(TVMFFIPyBorrowed) + 2 * n * sizeof(int64_t)));
      if (out == nullptr) return nullptr;
      out->managed.dl_tensor = *view;
      out->managed.manager_ctx = nullptr;
      out->managed.deleter = tvm_ffi_py_free_borrowed;
      if (n != 0) std::memcpy(out->dims, view->shape, n * sizeof(int64_t));
      out->managed.dl_tensor.shape = out->dims;
      if (view->strides != nullptr) {
        if (n != 0) std::memcpy(out->dims + n, view->strides, n * sizeof(int64_t));
        out->managed.dl_tensor.strides = out->dims + n;
      }
      return &out->managed;
    }
    """
    DLManagedTensor* _borrow "tvm_ffi_py_borrow"(const DLTensor*)


cdef object _borrow_tensor(const DLTensor* view, const DLPackExchangeAPI* api):
    """Tensor over memory that lives only as long as the callback runs."""
    cdef DLManagedTensor* managed = _borrow(view)
    cdef void* handle = NULL
    if managed == NULL:
        raise MemoryError
    if TVMFFITensorFromDLPack(managed, 0, 0, &handle) != 0:
        managed.deleter(managed)
        _check(-1)
    return _tensor_to_python(handle, api)


cdef object _view_to_python(const TVMFFIAny* view, const DLPackExchangeAPI* api):
    """Python form of a borrowed value."""
    return ViewToPython(view, api)


cdef object _borrowed_to_python(void* handle):
    cdef TVMFFIAny view = _none_any()
    _set_object(&view, handle)
    return _view_to_python(&view, NULL)


# --- functions -------------------------------------------------------------------------------

cdef class Function(CObject):
    """A function of the FFI, written in any language.

    Call it with plain Python values; the result comes back as one. Keyword arguments do not exist
    at this level.
    """

    cdef vectorcallfunc vectorcall
    cdef public bint release_gil
    cdef dict __dict__

    def __cinit__(self):
        self.vectorcall = FunctionVectorcall
        self.release_gil = _RELEASE_GIL

    def __call__(self, *args):
        # Replaced by vectorcall at import; kept so that the slot and its doc exist.
        return ToPython(_call_raw(self, args), NULL)

    def __repr__(self):
        return "ffi.Function"

    def __reduce__(self):
        raise TypeError("an ffi.Function cannot be pickled")

    @staticmethod
    def __from_extern_c__(c_symbol, *, keep_alive_object=None):
        """Wrap the address of a safe-call function that ignores its first argument.

        Args:
            c_symbol: Address of ``int(void*, const TVMFFIAny*, int32_t, TVMFFIAny*)``.
            keep_alive_object: Kept alive as long as the function, e.g. the engine that owns it.
        """
        return _function_from_symbol(c_symbol, keep_alive_object, False)

    @staticmethod
    def __from_mlir_packed_safe_call__(mlir_packed_symbol, *, keep_alive_object=None):
        """Wrap the address of an MLIR packed wrapper ``void(void** args)`` of a safe call.

        Args:
            mlir_packed_symbol: Address of the wrapper.
            keep_alive_object: Kept alive as long as the function.
        """
        return _function_from_symbol(mlir_packed_symbol, keep_alive_object, True)


cdef extern from *:
    """
    struct TVMFFIPyMlirClosure {
      void (*packed)(void**);
      PyObject* keep_alive;
    };
    static int tvm_ffi_py_mlir_call(void* self, const TVMFFIAny* args, int32_t n,
                                    TVMFFIAny* result) {
      void* handle = nullptr;
      int status = 0;
      // The wrapper reads pointers to each argument, then a pointer for the result.
      void* packed[5] = {&handle, &args, &n, &result, &status};
      static_cast<TVMFFIPyMlirClosure*>(self)->packed(packed);
      return status;
    }
    static void tvm_ffi_py_mlir_free(void* self) {
      auto* closure = static_cast<TVMFFIPyMlirClosure*>(self);
      tvm_ffi_py::ReleasePyObject(closure->keep_alive);
      delete closure;
    }
    static int tvm_ffi_py_mlir_function(void* symbol, PyObject* keep, void** out) {
      auto* closure = new TVMFFIPyMlirClosure{reinterpret_cast<void (*)(void**)>(symbol), keep};
      Py_INCREF(keep);
      const int status =
          TVMFFIFunctionCreate(closure, tvm_ffi_py_mlir_call, tvm_ffi_py_mlir_free, out);
      if (status != 0) tvm_ffi_py_mlir_free(closure);
      return status;
    }
    static int tvm_ffi_py_extern_function(void* symbol, PyObject* keep, void** out) {
      // `self` only keeps the object alive; the symbol ignores it.
      Py_INCREF(keep);
      const int status =
          TVMFFIFunctionCreate(keep, reinterpret_cast<TVMFFISafeCallType>(symbol),
                               tvm_ffi_py::ReleasePyObject, out);
      if (status != 0) Py_DECREF(keep);
      return status;
    }
    """
    int _mlir_function "tvm_ffi_py_mlir_function"(void*, PyObject*, void**)
    int _extern_function "tvm_ffi_py_extern_function"(void*, PyObject*, void**)


cdef object _function_from_symbol(object address, object keep_alive, bint mlir):
    cdef Function function = Function.__new__(Function)
    cdef void* out = NULL
    cdef void* symbol = <void*><uintptr_t>int(address)
    if symbol == NULL:
        raise ValueError("function address is null")
    if mlir:
        _check(_mlir_function(symbol, <PyObject*>keep_alive, &out))
    else:
        _check(_extern_function(symbol, <PyObject*>keep_alive, &out))
    function.chandle = out
    return function


cdef TVMFFIAny _call_raw(Function function, tuple args) except *:
    """Owned result of a call."""
    cdef CallFrame frame
    cdef Py_ssize_t i
    cdef Py_ssize_t n = len(args)
    if not frame.Reserve(n):
        raise MemoryError
    for i in range(n):
        item = args[i]
        frame.owned[i] = NULL
        frame.size = i + 1
        PackArg(<PyObject*>item, &frame.args[i], &frame.owned[i], &frame)
    _check(Invoke(_handle_of(function), function.release_gil, &frame))
    return frame.TakeResult()


def _convert_to_ffi_func(pyfunc, tensor_cls=None):
    """Function around a Python callable.

    Args:
        pyfunc: Any callable.
        tensor_cls: Class of tensor arguments; needs ``__dlpack_c_exchange_api__``.
    """
    cdef const DLPackExchangeAPI* api = NULL
    cdef Function function = Function.__new__(Function)
    cdef void* handle
    if not callable(pyfunc):
        raise TypeError(f"expected a callable, got {type(pyfunc).__name__}")
    if tensor_cls is not None:
        api = _exchange_api_of(tensor_cls)
        if api == NULL:
            raise TypeError(f"{tensor_cls!r} has no __dlpack_c_exchange_api__")
    handle = NewCallback(<PyObject*>pyfunc, api)
    if handle == NULL:
        _check(-1)
    function.chandle = handle
    return function


def _convert_value(value):
    """The FFI form of any value, opaque objects as their wrapper."""
    cdef TVMFFIAny owned = _none_any()
    cdef OpaquePyObject opaque
    ToOwnedAny(<PyObject*>value, &owned)
    if owned.type_index == kTVMFFIOpaquePyObject:
        opaque = OpaquePyObject.__new__(OpaquePyObject)
        opaque.chandle = owned.v_ptr
        return opaque
    return ToPython(owned, NULL)


# --- global functions ------------------------------------------------------------------------

cdef dict _GLOBAL_CACHE = {}


cdef object _global(str name):
    """A function that the core itself registers; it is never replaced."""
    found = _GLOBAL_CACHE.get(name)
    if found is None:
        found = get_global_func(name)
        _GLOBAL_CACHE[name] = found
    return found


def get_global_func(name, allow_missing=False):
    """Look up a global function.

    Returns:
        The function; None if it is missing and `allow_missing` is true.

    Raises:
        ValueError: It is missing.
    """
    cdef str text = str(name)
    cdef TVMFFIByteArray bytes = _byte_array(text)
    cdef void* handle = NULL
    cdef Function function
    _check(TVMFFIFunctionGetGlobal(&bytes, &handle))
    if handle == NULL:
        if allow_missing:
            return None
        raise ValueError(f"Cannot find global function {name}")
    function = Function.__new__(Function)
    function.chandle = handle
    return function


def _register_global_func(name, pyfunc, override):
    """Put a callable or Function into the global table; returns the Function."""
    cdef str text = str(name)
    cdef TVMFFIByteArray bytes = _byte_array(text)
    cdef Function function
    if isinstance(pyfunc, Function):
        function = pyfunc
    else:
        function = _convert_to_ffi_func(pyfunc)
    _check(TVMFFIFunctionSetGlobal(&bytes, _handle_of(function), bool(override)))
    return function
