# cython: language_level=3, binding=True
# cython: embedsignature=False, annotation_typing=False, freethreading_compatible=True
# distutils: language=c++
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Native core of tvm_ffi."""
include "./base.pxi"
include "./object.pxi"
include "./error.pxi"
include "./string.pxi"
include "./dtype.pxi"
include "./schema.pxi"
include "./type_info.pxi"
include "./tensor.pxi"
include "./argument.pxi"
include "./function.pxi"
include "./container.pxi"
include "./typed_convert.pxi"
include "./py_class.pxi"


cdef int _start() except -1:
    """Connect the C++ hot path and enter the core's own classes into the type table."""
    cdef Function probe = Function.__new__(Function)
    cdef FieldGetter getter = FieldGetter.__new__(FieldGetter)
    cdef Py_ssize_t function_slot = <char*>&probe.vectorcall - <char*><void*><PyObject*>probe
    cdef Py_ssize_t getter_slot = <char*>&getter.vectorcall - <char*><void*><PyObject*>getter
    cdef Py_ssize_t handle_slot = <char*>&probe.chandle - <char*><void*><PyObject*>probe
    cdef _ContainerState container = _ContainerState.__new__(_ContainerState)
    cdef Py_ssize_t api_slot = <char*>&container.api - <char*><void*><PyObject*>container
    if handle_slot != _offset_of_handle() or function_slot != _offset_of_function() \
            or getter_slot != _offset_of_getter() or api_slot != _offset_of_api():
        raise ImportError("tvm_ffi.core: class layout differs from py_call.h")
    hooks().tensor_type = <PyTypeObject*><PyObject*>Tensor
    hooks().tensor_fast_type = hooks().tensor_type
    hooks().function_type = <PyTypeObject*><PyObject*>Function
    hooks().object_type = <PyTypeObject*><PyObject*>CObject
    hooks().error_type = <PyTypeObject*><PyObject*>Error
    hooks().pack_slow = _pack_slow
    hooks().to_python = _to_python
    hooks().raise_ffi_error = _raise_ffi_error
    hooks().set_raised_from_python = _set_raised_from_python
    for cls in (_SequenceState, _MappingState, Tensor, Error):
        AddPlainConstructor(<PyTypeObject*><PyObject*>cls)
    MakePlain(<PyTypeObject*><PyObject*>Tensor, False)
    MakePlain(<PyTypeObject*><PyObject*>Error, False)
    EnableClassVectorcall(_ObjectSlotsMeta)
    EnableVectorcall(hooks().function_type, function_slot)
    EnableVectorcall(<PyTypeObject*><PyObject*>FieldGetter, getter_slot)
    _check(TVMFFIEnvRegisterCAPI("PyErr_CheckSignals", <void*>PyErr_CheckSignals))
    _check(TVMFFIEnvRegisterCAPI("PyGILState_Ensure", <void*>PyGILState_Ensure))
    _check(TVMFFIEnvRegisterCAPI("PyGILState_Release", <void*>PyGILState_Release))
    for index, cls in ((kTVMFFIError, Error), (kTVMFFIFunction, Function),
                       (kTVMFFITensor, Tensor), (kTVMFFIOpaquePyObject, OpaquePyObject),
                       (kTVMFFIStr, String), (kTVMFFIBytes, Bytes)):
        info = _info_of_index(index)
        info.type_cls = cls
        _CLASS_TO_INFO[cls] = info
        _TYPE_CLASSES[index] = cls
    _set_class(_info_of_index(kTVMFFIObject), Object)
    return 0


cdef extern from *:
    """
    static Py_ssize_t tvm_ffi_py_handle_offset() {
      return offsetof(tvm_ffi_py::CObjectLayout, handle);
    }
    static Py_ssize_t tvm_ffi_py_api_offset() {
      return offsetof(tvm_ffi_py::ContainerLayout, api);
    }
    static Py_ssize_t tvm_ffi_py_function_offset() {
      return offsetof(tvm_ffi_py::FunctionLayout, vectorcall);
    }
    static Py_ssize_t tvm_ffi_py_getter_offset() {
      return offsetof(tvm_ffi_py::FieldGetterLayout, vectorcall);
    }
    """
    Py_ssize_t _offset_of_handle "tvm_ffi_py_handle_offset"()
    Py_ssize_t _offset_of_api "tvm_ffi_py_api_offset"()
    Py_ssize_t _offset_of_function "tvm_ffi_py_function_offset"()
    Py_ssize_t _offset_of_getter "tvm_ffi_py_getter_offset"()


_start()
