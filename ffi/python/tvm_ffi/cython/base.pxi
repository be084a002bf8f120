# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Declarations of the C ABI and of the C++ hot path."""
from cpython.bytes cimport PyBytes_AsStringAndSize, PyBytes_FromStringAndSize
from cpython.object cimport PyObject, PyTypeObject
from cpython.pycapsule cimport (
    PyCapsule_CheckExact,
    PyCapsule_GetName,
    PyCapsule_GetPointer,
    PyCapsule_IsValid,
    PyCapsule_New,
    PyCapsule_SetName,
)
from cpython.ref cimport Py_DECREF, Py_INCREF, Py_XDECREF
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, uintptr_t
from libc.string cimport memcpy, strcmp, strlen

import builtins as _builtins
import ctypes
import os
import sys
from _thread import RLock as _RLock
from enum import IntEnum
from numbers import Integral, Real
from operator import index as _index


cdef extern from "dlpack/dlpack.h" nogil:
    ctypedef enum _CDLDeviceType "DLDeviceType":
        kDLCPU
        kDLCUDAHost
        kDLROCMHost

    ctypedef struct DLDevice:
        _CDLDeviceType device_type
        int32_t device_id

    ctypedef struct DLDataType:
        uint8_t code
        uint8_t bits
        uint16_t lanes

    ctypedef struct DLTensor:
        void* data
        DLDevice device
        int32_t ndim
        DLDataType dtype
        int64_t* shape
        int64_t* strides
        uint64_t byte_offset

    ctypedef struct DLManagedTensor:
        DLTensor dl_tensor
        void* manager_ctx
        void (*deleter)(DLManagedTensor*) noexcept

    ctypedef struct DLPackVersion:
        uint32_t major
        uint32_t minor

    ctypedef struct DLManagedTensorVersioned:
        DLPackVersion version
        void* manager_ctx
        void (*deleter)(DLManagedTensorVersioned*) noexcept
        uint64_t flags
        DLTensor dl_tensor

    uint64_t DLPACK_FLAG_BITMASK_IS_COPIED
    uint32_t DLPACK_MAJOR_VERSION
    uint32_t DLPACK_MINOR_VERSION

    ctypedef struct DLPackExchangeAPIHeader:
        DLPackVersion version
        DLPackExchangeAPIHeader* prev_api

    ctypedef int (*DLPackManagedTensorAllocator)(
        DLTensor*, DLManagedTensorVersioned**, void*,
        void (*)(void*, const char*, const char*) noexcept) noexcept

    ctypedef struct DLPackExchangeAPI:
        DLPackExchangeAPIHeader header
        DLPackManagedTensorAllocator managed_tensor_allocator
        int (*managed_tensor_from_py_object_no_sync)(
            void*, DLManagedTensorVersioned**) noexcept
        int (*managed_tensor_to_py_object_no_sync)(
            DLManagedTensorVersioned*, void**) noexcept
        int (*dltensor_from_py_object_no_sync)(void*, DLTensor*) noexcept
        int (*current_work_stream)(_CDLDeviceType, int32_t, void**) noexcept


cdef extern from "tvm/ffi/c_api.h" nogil:
    enum:
        kTVMFFIAny
        kTVMFFINone
        kTVMFFIInt
        kTVMFFIBool
        kTVMFFIFloat
        kTVMFFIOpaquePtr
        kTVMFFIDataType
        kTVMFFIDevice
        kTVMFFIDLTensorPtr
        kTVMFFIRawStr
        kTVMFFIByteArrayPtr
        kTVMFFIObjectRValueRef
        kTVMFFISmallStr
        kTVMFFISmallBytes
        kTVMFFIUnchanged
        kTVMFFIStaticObjectBegin
        kTVMFFIObject
        kTVMFFIStr
        kTVMFFIBytes
        kTVMFFIError
        kTVMFFIFunction
        kTVMFFIShape
        kTVMFFITensor
        kTVMFFIArray
        kTVMFFIMap
        kTVMFFIModule
        kTVMFFIOpaquePyObject
        kTVMFFIList
        kTVMFFIDict
        kTVMFFIBigInt
        kTVMFFIFieldFlagBitMaskWritable
        kTVMFFIFieldFlagBitMaskHasDefault
        kTVMFFIFieldFlagBitMaskIsStaticMethod
        kTVMFFIFieldFlagBitMaskSEqHashIgnore
        kTVMFFIFieldFlagBitMaskSEqHashDefPattern
        kTVMFFIFieldFlagBitMaskDefaultFromFactory
        kTVMFFIFieldFlagBitMaskReprOff
        kTVMFFIFieldFlagBitMaskCompareOff
        kTVMFFIFieldFlagBitMaskHashOff
        kTVMFFIFieldFlagBitMaskInitOff
        kTVMFFIFieldFlagBitMaskKwOnly
        kTVMFFIFieldFlagBitSetterIsFunctionObj
        kTVMFFIFieldFlagBitMaskSEqHashDefSimple

    ctypedef void* TVMFFIObjectHandle

    ctypedef struct TVMFFIObject:
        uint64_t combined_ref_count
        int32_t type_index
        void (*deleter)(void*, int) noexcept

    ctypedef struct TVMFFIAny:
        int32_t type_index
        uint32_t zero_padding
        uint32_t small_str_len
        int64_t v_int64
        double v_float64
        void* v_ptr
        const char* v_c_str
        TVMFFIObject* v_obj
        DLDataType v_dtype
        DLDevice v_device
        char* v_bytes
        uint64_t v_uint64

    ctypedef struct TVMFFIByteArray:
        const char* data
        size_t size

    ctypedef struct TVMFFIShapeCell:
        const int64_t* data
        size_t size

    ctypedef struct TVMFFIErrorCell:
        TVMFFIByteArray kind
        TVMFFIByteArray message
        TVMFFIByteArray backtrace
        TVMFFIObjectHandle cause_chain
        TVMFFIObjectHandle extra_context

    ctypedef struct TVMFFIOpaqueObjectCell:
        void* handle

    ctypedef int (*TVMFFISafeCallType)(void*, const TVMFFIAny*, int32_t, TVMFFIAny*) noexcept
    ctypedef int (*TVMFFIFieldGetter)(void*, TVMFFIAny*) noexcept
    ctypedef int (*TVMFFIFieldSetter)(void*, const TVMFFIAny*) noexcept

    ctypedef struct TVMFFIFieldInfo:
        TVMFFIByteArray name
        TVMFFIByteArray doc
        TVMFFIByteArray metadata
        int64_t flags
        int64_t size
        int64_t alignment
        int64_t offset
        TVMFFIFieldGetter getter
        void* setter
        TVMFFIAny default_value_or_factory
        int32_t field_static_type_index

    ctypedef struct TVMFFIMethodInfo:
        TVMFFIByteArray name
        TVMFFIByteArray doc
        TVMFFIByteArray metadata
        int64_t flags
        TVMFFIAny method

    ctypedef int _StructuralKind "TVMFFISEqHashKind"

    ctypedef struct TVMFFITypeMetadata:
        TVMFFIByteArray doc
        void* creator
        int32_t total_size
        _StructuralKind structural_eq_hash_kind

    ctypedef struct TVMFFITypeInfo:
        int32_t type_index
        int32_t type_depth
        TVMFFIByteArray type_key
        TVMFFITypeInfo** type_ancestors
        int32_t num_fields
        int32_t num_methods
        const TVMFFIFieldInfo* fields
        const TVMFFIMethodInfo* methods
        const TVMFFITypeMetadata* metadata

    ctypedef struct TVMFFITypeAttrColumn:
        const TVMFFIAny* data
        int32_t size
        int32_t begin_index

    int TVMFFIObjectIncRef(void*)
    int TVMFFIObjectDecRef(void*)
    int TVMFFIObjectCreateOpaque(void*, int32_t, void (*)(void*) noexcept, TVMFFIObjectHandle*)
    int TVMFFITypeKeyToIndex(const TVMFFIByteArray*, int32_t*)
    int TVMFFIFunctionCreate(void*, TVMFFISafeCallType, void (*)(void*) noexcept,
                             TVMFFIObjectHandle*)
    int TVMFFIFunctionGetGlobal(const TVMFFIByteArray*, TVMFFIObjectHandle*)
    int TVMFFIFunctionSetGlobal(const TVMFFIByteArray*, TVMFFIObjectHandle, int)
    int TVMFFIFunctionCall(TVMFFIObjectHandle, TVMFFIAny*, int32_t, TVMFFIAny*)
    int TVMFFIAnyViewToOwnedAny(const TVMFFIAny*, TVMFFIAny*)
    void TVMFFIErrorMoveFromRaised(TVMFFIObjectHandle*)
    void TVMFFIErrorSetRaised(TVMFFIObjectHandle)
    void TVMFFIErrorSetRaisedFromCStr(const char*, const char*)
    int TVMFFIErrorCreate(const TVMFFIByteArray*, const TVMFFIByteArray*, const TVMFFIByteArray*,
                          TVMFFIObjectHandle*)
    int TVMFFIErrorCreateWithCauseAndExtraContext(
        const TVMFFIByteArray*, const TVMFFIByteArray*, const TVMFFIByteArray*,
        TVMFFIObjectHandle, TVMFFIObjectHandle, TVMFFIObjectHandle*)
    int TVMFFITensorFromDLPack(DLManagedTensor*, int32_t, int32_t, TVMFFIObjectHandle*)
    int TVMFFITensorToDLPack(TVMFFIObjectHandle, DLManagedTensor**)
    int TVMFFITensorFromDLPackVersioned(DLManagedTensorVersioned*, int32_t, int32_t,
                                        TVMFFIObjectHandle*)
    int TVMFFITensorToDLPackVersioned(TVMFFIObjectHandle, DLManagedTensorVersioned**)
    int TVMFFIStringFromByteArray(const TVMFFIByteArray*, TVMFFIAny*)
    int TVMFFIBytesFromByteArray(const TVMFFIByteArray*, TVMFFIAny*)
    int TVMFFIBigIntFromByteArray(const TVMFFIByteArray*, TVMFFIAny*)
    TVMFFIByteArray TVMFFIBigIntGetContentByteArray(const TVMFFIAny*)
    int TVMFFIDataTypeFromString(const TVMFFIByteArray*, DLDataType*)
    int TVMFFIDataTypeToString(const DLDataType*, TVMFFIAny*)
    int32_t TVMFFITypeGetOrAllocIndex(const TVMFFIByteArray*, int32_t, int32_t, int32_t, int32_t,
                                      int32_t)
    int TVMFFITypeRegisterField(int32_t, const TVMFFIFieldInfo*)
    int TVMFFITypeRegisterMethod(int32_t, const TVMFFIMethodInfo*)
    int TVMFFITypeRegisterMetadata(int32_t, const TVMFFITypeMetadata*)
    int TVMFFITypeRegisterAttr(int32_t, const TVMFFIByteArray*, const TVMFFIAny*)
    const TVMFFITypeAttrColumn* TVMFFIGetTypeAttrColumn(const TVMFFIByteArray*)
    const TVMFFITypeInfo* TVMFFIGetTypeInfo(int32_t)
    const TVMFFIByteArray* TVMFFIBacktrace(const char*, int, const char*, int)
    int32_t TVMFFIObjectGetTypeIndex(void*)
    TVMFFIByteArray* TVMFFIBytesGetByteArrayPtr(void*)
    TVMFFIErrorCell* TVMFFIErrorGetCellPtr(void*)
    TVMFFIOpaqueObjectCell* TVMFFIOpaqueObjectGetCellPtr(void*)
    TVMFFIShapeCell* TVMFFIShapeGetCellPtr(void*)
    DLTensor* TVMFFITensorGetDLTensorPtr(void*)


cdef extern from "tvm/ffi/extra/c_env_api.h" nogil:
    int TVMFFIEnvSetStream(int32_t, int32_t, void*, void**)
    void* TVMFFIEnvGetStream(int32_t, int32_t)
    int TVMFFIEnvTensorAlloc(DLTensor*, TVMFFIObjectHandle*)
    int TVMFFIEnvRegisterCAPI(const char*, void*)


cdef extern from "Python.h":
    ctypedef PyObject* (*vectorcallfunc)(PyObject*, PyObject**, size_t, PyObject*) noexcept
    ctypedef void (*_c_function)()
    PyTypeObject* Py_TYPE(PyObject*)
    void Py_LeaveRecursiveCall()
    PyObject* PyErr_Occurred()
    void PyErr_Clear()
    void PyErr_Fetch(PyObject**, PyObject**, PyObject**)
    void PyErr_NormalizeException(PyObject**, PyObject**, PyObject**)
    void PyErr_Restore(PyObject*, PyObject*, PyObject*)
    int PyException_SetTraceback(PyObject*, PyObject*)
    const char* PyUnicode_AsUTF8AndSize(object, Py_ssize_t*) except NULL
    PyObject* PyDict_GetItemWithError(object, object) except? NULL
    object PyUnicode_DecodeUTF8(const char*, Py_ssize_t, const char*)
    int PyErr_CheckSignals()
    int PyGILState_Ensure()
    void PyGILState_Release(int)


cdef extern from "py_compat.h" namespace "tvm_ffi_py":
    void FindTypeSlots()
    object NewMethod(object, object)
    object NewNativeFrame(const char*, const char*, int, object)


FindTypeSlots()


cdef extern from "py_numpy.h" namespace "tvm_ffi_py":
    object DescribeNumpy(object)
    void SetNumpyType(int, int, int)
    PyObject* WrapNumpy(PyObject*)
    bint HasNumpyApi()
    int SetNumpyApi(object) except -1
    PyObject* NumpyFromTensor(PyObject*)


cdef extern from "py_error.h" namespace "tvm_ffi_py":
    void RememberErrorClass(const char*, Py_ssize_t, PyObject*)
    void RememberFrames(const TVMFFIByteArray&, PyObject*)
    bint RaiseKnownError(int)


cdef extern from "py_construct.h" namespace "tvm_ffi_py":
    bint AddPlan(object, int, object, object, PyObject*, void*)
    void EnableClassVectorcall(object)


cdef extern from "py_object.h" namespace "tvm_ffi_py":
    cdef cppclass ClassTable:
        bint Set(int32_t, PyTypeObject*)

    ClassTable& class_table()
    void AddPlainConstructor(PyTypeObject*)
    bint MakePlain(PyTypeObject*, bint)
    object ToPython(TVMFFIAny, const DLPackExchangeAPI*)
    object ViewToPython(const TVMFFIAny*, const DLPackExchangeAPI*)


cdef extern from "py_call.h" namespace "tvm_ffi_py":
    cdef cppclass CallFrame:
        CallFrame() except +
        TVMFFIAny* args
        void** owned
        int32_t size
        int32_t stream_device_type
        int32_t stream_device_id
        void* stream
        const DLPackExchangeAPI* api
        TVMFFIAny result
        bint Reserve(Py_ssize_t)
        TVMFFIAny TakeResult()

    cdef cppclass Hooks:
        PyTypeObject* tensor_type
        PyTypeObject* tensor_fast_type
        PyTypeObject* function_type
        PyTypeObject* object_type
        PyTypeObject* error_type
        PyTypeObject* ndarray_type
        int (*pack_slow)(PyObject*, TVMFFIAny*, void**, CallFrame*) except -1
        object (*to_python)(TVMFFIAny, const DLPackExchangeAPI*)
        void (*raise_ffi_error)(int) noexcept
        void (*set_raised_from_python)() noexcept

    Hooks& hooks()
    int PackArg(PyObject*, TVMFFIAny*, void**, CallFrame*) except -1
    int PackArgs(PyObject**, Py_ssize_t, CallFrame*) except -1
    int Invoke(void*, bint, CallFrame*)
    int ToOwnedAny(PyObject*, TVMFFIAny*) except -1
    void* FieldAddress(PyObject*, int64_t, int32_t) except NULL
    bint IsInstance(int32_t, int32_t)
    PyObject* FunctionVectorcall(PyObject*, PyObject**, size_t, PyObject*) noexcept
    PyObject* FieldGetterVectorcall(PyObject*, PyObject**, size_t, PyObject*) noexcept
    void EnableVectorcall(PyTypeObject*, Py_ssize_t)
    void* NewCallback(PyObject*, const DLPackExchangeAPI*)
    void ReleasePyObject(void*) noexcept nogil
    void* NewPyError(PyObject*, const char*, const char*, size_t, const char*, size_t, void*, void*)
    PyObject* TakeException(void*)
    TVMFFIByteArray NativeFrames(void*)
    void AppendBacktrace(void*, const TVMFFIByteArray*)

    cdef cppclass CObjectLayout:
        void* handle

    cdef cppclass ContainerLayout:
        const DLPackExchangeAPI* api

    cdef cppclass FunctionLayout:
        vectorcallfunc vectorcall

    cdef cppclass FieldGetterLayout:
        vectorcallfunc vectorcall


cdef extern from *:
    """
    static inline int tvm_ffi_py_enter(const char* where) {
      return Py_EnterRecursiveCall(where) == 0 ? 0 : -1;  // the original returns 1 or -1
    }
    """
    int Py_EnterRecursiveCall "tvm_ffi_py_enter"(const char*) except -1


cdef inline str _text(const TVMFFIByteArray* bytes):
    """UTF-8 of a borrowed byte string; bytes that are not UTF-8 become U+FFFD."""
    if bytes.size == 0:
        return ""
    return PyUnicode_DecodeUTF8(bytes.data, bytes.size, "replace")


cdef inline TVMFFIByteArray _byte_array(str text) except *:
    """Borrowed view of a str; valid while the str lives."""
    cdef TVMFFIByteArray out
    cdef Py_ssize_t size = 0
    out.data = PyUnicode_AsUTF8AndSize(text, &size)
    out.size = size
    return out


cdef inline TVMFFIAny _none_any() noexcept:
    cdef TVMFFIAny out
    out.type_index = kTVMFFINone
    out.zero_padding = 0
    out.v_int64 = 0
    return out


class _Sentinel:
    """Marks an argument that was not given."""

    __slots__ = ("name",)

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return f"<{self.name}>"
