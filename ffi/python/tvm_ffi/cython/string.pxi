# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""str and bytes classes that keep the FFI string they came from."""


class String(str, PyNativeObject):
    """A str that may hold its ffi.String, so passing it on copies nothing."""

    __slots__ = ("_tvm_ffi_cached_object",)

    def __new__(cls, value=""):
        self = str.__new__(cls, value)
        self._tvm_ffi_cached_object = None
        return self

    @staticmethod
    def __from_tvm_ffi_object__(cls, obj):
        """Make the str for an ffi.String object."""
        cdef TVMFFIByteArray* content = TVMFFIBytesGetByteArrayPtr(_handle_of(obj))
        self = str.__new__(cls, _text(content))
        self._tvm_ffi_cached_object = obj
        return self

    def __reduce__(self):
        return (String, (str(self),))


class Bytes(bytes, PyNativeObject):
    """A bytes that may hold its ffi.Bytes."""

    def __new__(cls, value=b""):
        self = bytes.__new__(cls, value)
        self._tvm_ffi_cached_object = None
        return self

    @staticmethod
    def __from_tvm_ffi_object__(cls, obj):
        """Make the bytes for an ffi.Bytes object."""
        cdef TVMFFIByteArray* content = TVMFFIBytesGetByteArrayPtr(_handle_of(obj))
        self = bytes.__new__(cls, PyBytes_FromStringAndSize(content.data, content.size))
        self._tvm_ffi_cached_object = obj
        return self

    def __reduce__(self):
        return (Bytes, (bytes(self),))


cdef class ByteArrayArg:
    """Argument that passes bytes as a borrowed TVMFFIByteArray."""

    cdef bytes content
    cdef TVMFFIByteArray view

    def __cinit__(self, content):
        self.content = bytes(content)
        self.view.data = self.content
        self.view.size = len(self.content)


cdef object _bytes_from_handle(void* handle):
    cdef CObject obj = CObject.__new__(Object)
    obj.chandle = handle
    return Bytes.__from_tvm_ffi_object__(Bytes, obj)
