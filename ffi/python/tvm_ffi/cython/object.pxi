# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Handle wrappers: CObject, Object, opaque Python objects, moved references."""
from abc import ABCMeta


cdef class CObject:
    """Owner of one strong reference to an FFI object."""

    cdef void* chandle

    def __cinit__(self):
        self.chandle = NULL

    def __dealloc__(self):
        cdef void* handle = self.chandle
        if handle != NULL:
            self.chandle = NULL
            TVMFFIObjectDecRef(handle)

    def __chandle__(self):
        """Address of the object as an int; 0 when empty."""
        return <uintptr_t>self.chandle

    def __ctypes_handle__(self):
        """Address of the object as ``ctypes.c_void_p``."""
        return ctypes.c_void_p(<uintptr_t>self.chandle)

    @property
    def id_(self):
        """Address of the object; equal for wrappers of one object."""
        return <uintptr_t>self.chandle

    def same_as(self, other):
        """True if both wrap the same object."""
        return isinstance(other, CObject) and self.chandle == (<CObject>other).chandle

    def is_(self, other):
        """True if both wrap the same object."""
        return isinstance(other, CObject) and self.chandle == (<CObject>other).chandle

    def __eq__(self, other):
        if not isinstance(other, CObject):
            return NotImplemented
        return self.chandle == (<CObject>other).chandle

    def __ne__(self, other):
        if not isinstance(other, CObject):
            return NotImplemented
        return self.chandle != (<CObject>other).chandle

    def __hash__(self):
        # Allocations are 16-byte aligned; fold the low bits away as object.__hash__ does.
        cdef size_t address = <size_t>self.chandle
        cdef Py_hash_t result = <Py_hash_t>((address >> 4) | (address << (8 * sizeof(size_t) - 4)))
        return -2 if result == -1 else result

    def __repr__(self):
        if self.chandle == NULL:
            return f"{type(self).__name__}(chandle=None)"
        return object_repr(self)

    def __reduce__(self):
        return (_new_object, (type(self),), self.__getstate__())

    def __getstate__(self):
        if self.chandle == NULL:
            return {"handle": None}
        return {"handle": _global("ffi.ToJSONGraphString")(self, None)}

    def __setstate__(self, state):
        text = state["handle"]
        if text is None:
            _reset_handle(self, NULL)
            return
        self.__init_handle_by_constructor__(_global("ffi.FromJSONGraphString"), text)

    def __copy__(self):
        function = _type_attr(_type_index(self), "__ffi_shallow_copy__")
        if function is None:
            raise TypeError(f"{_type_key(_type_index(self))} cannot be copied")
        return function(self)

    def __deepcopy__(self, memo):
        return _global("ffi.DeepCopy")(self)

    def __move_handle_from__(self, CObject other):
        """Take the reference of `other`, which becomes empty."""
        cdef void* handle = other.chandle
        other.chandle = NULL
        _reset_handle(self, handle)

    def __init_handle_by_constructor__(self, constructor, *args):
        """Call `constructor(*args)` and own the object it returns."""
        cdef TVMFFIAny value
        if isinstance(constructor, Function):
            value = _call_raw(<Function>constructor, args)
        else:
            made = constructor(*args)
            ToOwnedAny(<PyObject*>made, &value)
        if value.type_index < kTVMFFIStaticObjectBegin:
            raise TypeError(
                f"constructor of {type(self).__name__} returned no object but "
                f"{ToPython(value, NULL)!r}")
        _reset_handle(self, value.v_obj)


cdef inline void _reset_handle(CObject obj, void* handle) noexcept:
    """Replace the reference of `obj` by `handle`, which is taken over."""
    cdef void* old = obj.chandle
    obj.chandle = handle
    if old != NULL:
        TVMFFIObjectDecRef(old)


cdef inline void* _handle_of(CObject obj) except NULL:
    if obj.chandle == NULL:
        raise ValueError(
            f"{type(obj).__name__} object has no value: it was moved away or never built")
    return obj.chandle


cdef inline int32_t _type_index(CObject obj) except -1:
    return (<TVMFFIObject*>_handle_of(obj)).type_index


cdef str _type_key(int32_t index):
    return _text(&TVMFFIGetTypeInfo(index).type_key)


_BUILTIN_METHOD = type(object.__init_subclass__)


class _ObjectSlotsMeta(ABCMeta):
    """Gives every subclass empty ``__slots__`` unless it names its own.

    Wrappers are made anew whenever an object crosses the FFI, so attributes stored on one would
    silently vanish; asking for them explicitly keeps that visible.
    """

    def __new__(mcls, name, bases, namespace, **kwargs):
        namespace.setdefault("__slots__", ())
        cls = super().__new__(mcls, name, bases, namespace, **kwargs)
        if cls.__init_subclass__.__self__ is cls and isinstance(
                cls.__init_subclass__, _BUILTIN_METHOD):
            MakePlain(<PyTypeObject*><PyObject*>cls, True)  # no hook can have made an instance
        return cls

    def __instancecheck__(cls, instance):
        if type.__instancecheck__(cls, instance):
            return True
        return ABCMeta.__instancecheck__(cls, instance) if cls in _ABC_CLASSES else False

    def __subclasscheck__(cls, subclass):
        if type.__subclasscheck__(cls, subclass):
            return True
        return ABCMeta.__subclasscheck__(cls, subclass) if cls in _ABC_CLASSES else False

    def register(cls, subclass):
        """Make `subclass` a virtual subclass."""
        _ABC_CLASSES.add(cls)
        return ABCMeta.register(cls, subclass)


# Only classes that got a virtual subclass pay for the slow abstract-class check.
_ABC_CLASSES = set()


AddPlainConstructor(<PyTypeObject*><PyObject*>CObject)


class Object(CObject, metaclass=_ObjectSlotsMeta):
    """Base class of FFI objects with reflected fields and methods."""

    __slots__ = ()

    def _move(self):
        """Give the reference away: the callee may reuse the object in place."""
        return ObjectRValueRef(self)


cdef class _ContainerState(CObject):
    cdef const DLPackExchangeAPI* api

    def __cinit__(self):
        self.api = NULL


AddPlainConstructor(<PyTypeObject*><PyObject*>_ContainerState)


class CContainerBase(Object, _ContainerState):
    """Base of containers; remembers which framework's tensors a container hands out."""

    __slots__ = ()


class ObjectConvertible:
    """Base of classes that turn into an FFI value through :py:meth:`asobject`."""

    def asobject(self):
        """Return the value to pass in place of this object."""
        raise NotImplementedError(f"{type(self).__name__}.asobject")


class ObjectRValueRef:
    """Argument wrapper that moves the reference held by ``obj``."""

    __slots__ = ("obj",)

    def __init__(self, obj):
        if not isinstance(obj, CObject):
            raise TypeError(f"expected an FFI object, got {type(obj).__name__}")
        self.obj = obj


class PyNativeObject:
    """Mixin of Python-native classes (str, bytes, tuple) that may keep their FFI object."""

    __slots__ = ()

    def __init_cached_object_by_constructor__(self, constructor, *args):
        """Build the FFI object now and keep it for later calls."""
        obj = Object.__new__(Object)
        obj.__init_handle_by_constructor__(constructor, *args)
        self._tvm_ffi_cached_object = obj


cdef class OpaquePyObject(CObject):
    """FFI object that holds an arbitrary Python object."""

    def pyobject(self):
        """The held object."""
        cdef PyObject* held = <PyObject*>TVMFFIOpaqueObjectGetCellPtr(_handle_of(self)).handle
        return <object>held


cdef void* _new_opaque(PyObject* value) except NULL:
    cdef void* out = NULL
    Py_INCREF(<object>value)
    if TVMFFIObjectCreateOpaque(value, kTVMFFIOpaquePyObject, ReleasePyObject, &out) != 0:
        Py_XDECREF(value)
        _check(-1)
    return out


def _convert_to_opaque_object(value):
    """Wrap any Python object."""
    cdef OpaquePyObject obj = OpaquePyObject.__new__(OpaquePyObject)
    obj.chandle = _new_opaque(<PyObject*>value)
    return obj


def _testing_drop_last_ref_without_thread_state():
    """Let go of the last reference to a Python object while this thread does not hold the GIL."""
    import weakref
    held = type("Held", (), {})()
    watch = weakref.ref(held)
    cdef void* handle = _new_opaque(<PyObject*>held)
    del held
    with nogil:
        TVMFFIObjectDecRef(handle)
    if watch() is not None:
        raise RuntimeError("the object outlived its last reference")


def _new_object(cls):
    """Empty wrapper of class `cls`, to be filled by ``__setstate__``."""
    return cls.__new__(cls)


def object_repr(obj):
    """Text of an object from its reflected fields."""
    return _global("ffi.ReprPrint")(obj)


def _object_type_key_to_index(type_key):
    """Type index of a registered key, or None."""
    cdef str text = str(type_key)
    cdef TVMFFIByteArray key = _byte_array(text)
    cdef int32_t index = 0
    cdef void* error = NULL
    if TVMFFITypeKeyToIndex(&key, &index) == 0:
        return index
    TVMFFIErrorMoveFromRaised(&error)
    if error != NULL:
        TVMFFIObjectDecRef(error)
    return None
