# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Conversion of values to a TypeSchema.

A schema compiles to a tree of `_TypeConverter`. `direct` decides by the value itself; only when it
refuses, `_convert_into` asks the protocols that stand for another value and tries that one.
"""

cdef enum _ConvertKind:
    kConvertAny
    kConvertNone
    kConvertInt
    kConvertBool
    kConvertFloat
    kConvertStr
    kConvertBytes
    kConvertDevice
    kConvertDType
    kConvertPointer
    kConvertObject
    kConvertSequence
    kConvertTuple
    kConvertMapping
    kConvertOptional
    kConvertUnion


class _ConvertError(Exception):
    """A value does not fit; the caller adds which conversion failed."""

    @property
    def message(self):
        """Text of the mismatch."""
        return self.args[0]


cdef class CAny:
    """An FFI value that was converted but not turned into a Python value.

    Args:
        value: Converted as a call argument would be.
    """

    cdef TVMFFIAny owned

    def __cinit__(self):
        self.owned = _none_any()

    def __init__(self, value=None):
        cdef TVMFFIAny made = _none_any()
        ToOwnedAny(<PyObject*>value, &made)
        self.replace(made)

    def __dealloc__(self):
        if self.owned.type_index >= kTVMFFIStaticObjectBegin:
            TVMFFIObjectDecRef(self.owned.v_obj)

    cdef void replace(self, TVMFFIAny made) noexcept:
        cdef TVMFFIAny old = self.owned
        self.owned = made
        if old.type_index >= kTVMFFIStaticObjectBegin:
            TVMFFIObjectDecRef(old.v_obj)

    @property
    def type_index(self):
        """Type index of the value."""
        return self.owned.type_index

    def __reduce__(self):
        raise TypeError("a CAny cannot be pickled")

    def __repr__(self):
        return f"CAny(type_index={self.owned.type_index})"


def _to_py_class_value(CAny value):
    """Python form of a CAny; opaque objects come back as themselves."""
    return _view_to_python(&value.owned, NULL)


cdef class _TypeConverter:
    """Compiled schema; `parts` are the converters of its arguments."""

    cdef _ConvertKind kind
    cdef int32_t type_index     # kConvertObject, kConvertSequence, kConvertMapping: of the result
    cdef str name               # in "expected NAME, got .."
    cdef list parts
    cdef bint any_parts         # every part takes any value

    cdef int direct(self, object value, TVMFFIAny* out) except -1:
        """1: converted, 0: another type. Raises _ConvertError for a fault inside the value."""
        cdef _ConvertKind kind = self.kind
        if kind == kConvertInt:
            return _direct_int(value, out)
        if kind == kConvertFloat:
            return _direct_float(value, out)
        if kind == kConvertStr:
            return _direct_str(value, out)
        if kind == kConvertAny:
            return _direct_any(value, out)
        if kind == kConvertObject:
            return _direct_object(self, value, out)
        if kind == kConvertOptional:
            if value is None:
                return 1
            return (<_TypeConverter>self.parts[0]).direct(value, out)
        if kind == kConvertSequence or kind == kConvertTuple:
            return _direct_sequence(self, value, out)
        if kind == kConvertMapping:
            return _direct_mapping(self, value, out)
        if kind == kConvertBool:
            return _direct_bool(value, out)
        if kind == kConvertUnion:
            return _direct_union(self, value, out)
        if kind == kConvertNone:
            return value is None
        if kind == kConvertBytes:
            if isinstance(value, (bytes, bytearray)):
                ToOwnedAny(<PyObject*>value, out)
                return 1
            return 0
        if kind == kConvertDType:
            return _direct_dtype(value, out)
        if kind == kConvertDevice:
            return _direct_device(value, out)
        return _direct_pointer(value, out)

    cdef bint takes_view(self, const TVMFFIAny* view) noexcept:
        """The FFI value already has this very type."""
        cdef _ConvertKind kind = self.kind
        cdef int32_t index = view.type_index
        if kind == kConvertAny:
            return index != kTVMFFIRawStr and index != kTVMFFIByteArrayPtr \
                and index != kTVMFFIObjectRValueRef and index != kTVMFFIDLTensorPtr
        if kind == kConvertInt:
            return index == kTVMFFIInt
        if kind == kConvertFloat:
            return index == kTVMFFIFloat
        if kind == kConvertBool:
            return index == kTVMFFIBool
        if kind == kConvertStr:
            return index == kTVMFFIStr or index == kTVMFFISmallStr
        if kind == kConvertBytes:
            return index == kTVMFFIBytes or index == kTVMFFISmallBytes
        if kind == kConvertObject:
            return index >= kTVMFFIStaticObjectBegin and IsInstance(index, self.type_index)
        if kind == kConvertNone:
            return index == kTVMFFINone
        if kind == kConvertDType:
            return index == kTVMFFIDataType
        if kind == kConvertDevice:
            return index == kTVMFFIDevice
        if kind == kConvertPointer:
            return index == kTVMFFIOpaquePtr
        if kind == kConvertOptional:
            return index == kTVMFFINone or (<_TypeConverter>self.parts[0]).takes_view(view)
        if kind == kConvertSequence or kind == kConvertMapping:
            return self.any_parts and index == self.type_index
        return False

    cdef int from_view(self, const TVMFFIAny* view, TVMFFIAny* out) except -1:
        """Owned converted value of an FFI value; raises _ConvertError."""
        if self.takes_view(view):
            out[0] = view[0]
            if view.type_index >= kTVMFFIStaticObjectBegin:
                TVMFFIObjectIncRef(view.v_ptr)
            return 0
        return _convert_into(self, _view_to_python(view, NULL), out)


cdef int _convert_into(_TypeConverter converter, object value, TVMFFIAny* out) except -1:
    """Convert `value`, or what it stands for; raises _ConvertError."""
    cdef object current = value
    cdef int hops = 0
    while True:
        out[0] = _none_any()
        if converter.direct(current, out):
            return 0
        if hops == 64 or isinstance(current, CObject):
            break
        following = _stand_in(current)
        if following is current:
            break
        current = following
        hops += 1
    while converter.kind == kConvertOptional:
        converter = converter.parts[0]
    raise _ConvertError(f"expected {converter.name}, got {_value_type_name(current)}")


cdef object _stand_in(object value):
    """The value that `value` stands for by protocol, or `value` itself."""
    cls = type(value)
    if hasattr(cls, "__tvm_ffi_object__"):
        try:
            found = value.__tvm_ffi_object__
            return found() if callable(found) and not isinstance(found, CObject) else found
        except Exception as error:
            raise _ConvertError(
                f"__tvm_ffi_object__() failed for {cls.__name__}: {error}") from error
    if hasattr(cls, "__tvm_ffi_value__"):
        try:
            return value.__tvm_ffi_value__()
        except Exception:
            return value
    if isinstance(value, ObjectConvertible):
        try:
            return value.asobject()
        except Exception as error:
            raise _ConvertError(f"asobject() failed for {cls.__name__}: {error}") from error
    return value


cdef str _value_type_name(object value):
    """How messages name the type of a value."""
    if value is None:
        return "None"
    if isinstance(value, CObject):
        if (<CObject>value).chandle != NULL:
            return _type_key((<TVMFFIObject*>(<CObject>value).chandle).type_index)
        return type(value).__name__
    for base, name in ((bool, "bool"), (int, "int"), (float, "float"), (str, "str"),
                       ((bytes, bytearray), "bytes")):
        if isinstance(value, base):
            return name
    return type(value).__name__


cdef object _protocol_fault(str expected, object value, object error):
    return _ConvertError(f"expected {expected}, got {_value_type_name(value)}: {error}")


# --- scalars ---------------------------------------------------------------------------------

cdef int _set_int(object value, TVMFFIAny* out) except -1:
    if not -0x8000000000000000 <= value <= 0x7FFFFFFFFFFFFFFF:
        raise _ConvertError(
            f"integer {value} out of int64 range [-9223372036854775808, 9223372036854775807]")
    out.type_index = kTVMFFIInt
    out.v_int64 = value
    return 1


cdef int _direct_int(object value, TVMFFIAny* out) except -1:
    if isinstance(value, int):
        return _set_int(int(value), out)
    if isinstance(value, Integral):
        try:
            return _set_int(int(value), out)
        except _ConvertError:
            raise
        except Exception as error:
            raise _protocol_fault("int", value, error) from error
    if hasattr(type(value), "__tvm_ffi_int__") and not isinstance(value, CObject):
        try:
            number = int(value.__tvm_ffi_int__())
        except Exception as error:
            raise _protocol_fault("int", value, error) from error
        return _set_int(number, out)
    return 0


cdef int _direct_float(object value, TVMFFIAny* out) except -1:
    cdef double number
    if isinstance(value, (float, int, Real)):
        try:
            number = float(value)
        except Exception as error:  # an int beyond the range of doubles, among others
            raise _protocol_fault("float", value, error) from error
    elif hasattr(type(value), "__tvm_ffi_float__") and not isinstance(value, CObject):
        try:
            number = float(value.__tvm_ffi_float__())
        except Exception as error:
            raise _protocol_fault("float", value, error) from error
    else:
        return 0
    out.type_index = kTVMFFIFloat
    out.v_float64 = number
    return 1


cdef int _direct_bool(object value, TVMFFIAny* out) except -1:
    if not isinstance(value, (bool, Integral)):
        return 0
    out.type_index = kTVMFFIBool
    out.v_int64 = bool(value)
    return 1


cdef int _direct_str(object value, TVMFFIAny* out) except -1:
    if not isinstance(value, str):
        return 0
    if _CLASS_DTYPE is not None and isinstance(value, _CLASS_DTYPE):
        value = str.__str__(value)
    ToOwnedAny(<PyObject*>value, out)
    return 1


cdef int _direct_any(object value, TVMFFIAny* out) except -1:
    try:
        ToOwnedAny(<PyObject*>value, out)
    except RecursionError:
        raise
    except Exception as error:
        raise _protocol_fault("Any", value, error) from error
    return 1


cdef int _direct_dtype(object value, TVMFFIAny* out) except -1:
    cdef DataType parsed
    if isinstance(value, str):
        if _CLASS_DTYPE is not None and isinstance(value, _CLASS_DTYPE):
            parsed = value._tvm_ffi_dtype
        else:
            try:
                parsed = DataType(value)
            except ValueError:
                raise _ConvertError(f"expected dtype, got invalid dtype string {value!r}") from None
        out.type_index = kTVMFFIDataType
        out.v_dtype = parsed.value
        return 1
    if isinstance(value, DataType) or hasattr(type(value), "__dlpack_data_type__") \
            or _is_instance(value, "torch", "dtype") or _is_instance(value, "numpy", "dtype"):
        _direct_any(value, out)
        if out.type_index == kTVMFFIDataType:
            return 1
        _drop_any(out)
    return 0


cdef int _direct_device(object value, TVMFFIAny* out) except -1:
    if isinstance(value, str):
        try:
            value = Device(value)
        except ValueError:
            raise _ConvertError(f"expected Device, got invalid device string {value!r}") from None
    elif hasattr(type(value), "__dlpack__"):
        return 0  # a tensor, which offers __dlpack_device__ as well
    if isinstance(value, Device) or hasattr(type(value), "__dlpack_device__"):
        _direct_any(value, out)
        if out.type_index == kTVMFFIDevice:
            return 1
        _drop_any(out)
    return 0


cdef int _direct_pointer(object value, TVMFFIAny* out) except -1:
    if value is None:
        out.type_index = kTVMFFIOpaquePtr
        return 1
    if isinstance(value, CObject):
        return 0
    cls = type(value)
    if isinstance(value, ctypes.c_void_p) or cls in _OPAQUE_PTR_HANDLERS \
            or hasattr(cls, "__tvm_ffi_opaque_ptr__") or hasattr(cls, "__cuda_stream__"):
        _direct_any(value, out)
        if out.type_index == kTVMFFIOpaquePtr:
            return 1
        _drop_any(out)
    return 0


cdef inline void _drop_any(TVMFFIAny* value) noexcept:
    cdef TVMFFIAny old = value[0]
    value[0] = _none_any()
    if old.type_index >= kTVMFFIStaticObjectBegin:
        TVMFFIObjectDecRef(old.v_obj)


# --- objects ---------------------------------------------------------------------------------

# Type indices that a value which is no FFI object may be packed as.
cdef frozenset _PACKED_INDICES = frozenset({
    kTVMFFIObject, kTVMFFIStr, kTVMFFIBytes, kTVMFFIError, kTVMFFIFunction, kTVMFFIShape,
    kTVMFFITensor, kTVMFFIArray, kTVMFFIMap, kTVMFFIOpaquePyObject, kTVMFFIBigInt,
})


cdef int _direct_object(_TypeConverter self, object value, TVMFFIAny* out) except -1:
    cdef int32_t target = self.type_index
    cdef int32_t index
    if isinstance(value, CObject) and (<CObject>value).chandle != NULL:
        index = (<TVMFFIObject*>(<CObject>value).chandle).type_index
        if IsInstance(index, target):
            TVMFFIObjectIncRef((<CObject>value).chandle)
            out.type_index = index
            out.v_ptr = (<CObject>value).chandle
            return 1
    elif isinstance(value, ObjectRValueRef):
        return _direct_object(self, value.obj, out)
    elif target in _PACKED_INDICES and not _stands_for_object(value) \
            and (target != kTVMFFIFunction or callable(value)):
        _direct_any(value, out)
        if out.type_index >= kTVMFFIStaticObjectBegin and IsInstance(out.type_index, target):
            return 1
        _drop_any(out)
    return _call_ffi_convert(self, value, out)


cdef bint _stands_for_object(object value) except -1:
    cls = type(value)
    return hasattr(cls, "__tvm_ffi_object__") or hasattr(cls, "__tvm_ffi_value__") \
        or isinstance(value, ObjectConvertible)


cdef int _call_ffi_convert(_TypeConverter self, object value, TVMFFIAny* out) except -1:
    """Try the implicit conversion of the target type."""
    if self.type_index == kTVMFFIFunction or self.type_index == kTVMFFITensor:
        return 0  # what converts to these was tried already
    function = _type_attr(self.type_index, "__ffi_convert__")
    if function is None or _stands_for_object(value):
        return 0
    try:
        made = function(value)
    except Exception as error:
        detail = "\n".join(["    " + line for line in str(error).splitlines()])
        raise _ConvertError(
            f"expected {self.name}, got {_value_type_name(value)}\n"
            f"  __ffi_convert__ failed:\n{detail}") from error
    ToOwnedAny(<PyObject*>made, out)
    if out.type_index >= kTVMFFIStaticObjectBegin and IsInstance(out.type_index, self.type_index):
        return 1
    _drop_any(out)
    raise _ConvertError(
        f"expected {self.name}, got {_value_type_name(value)}\n"
        f"  __ffi_convert__ failed:\n    it returned {_value_type_name(made)}")


# --- compound types --------------------------------------------------------------------------

cdef int _direct_union(_TypeConverter self, object value, TVMFFIAny* out) except -1:
    for part in self.parts:
        try:
            if (<_TypeConverter>part).direct(value, out):
                return 1
        except _ConvertError:
            pass
        out[0] = _none_any()
    return 0


cdef inline bint _is_sequence_object(object value) noexcept:
    cdef int32_t index
    if not isinstance(value, CObject) or (<CObject>value).chandle == NULL:
        return False
    index = (<TVMFFIObject*>(<CObject>value).chandle).type_index
    return index == kTVMFFIArray or index == kTVMFFIList


cdef inline bint _is_mapping_object(object value) noexcept:
    cdef int32_t index
    if not isinstance(value, CObject) or (<CObject>value).chandle == NULL:
        return False
    index = (<TVMFFIObject*>(<CObject>value).chandle).type_index
    return index == kTVMFFIMap or index == kTVMFFIDict


cdef int _direct_sequence(_TypeConverter self, object value, TVMFFIAny* out) except -1:
    cdef bint is_object = _is_sequence_object(value)
    if not is_object and not isinstance(value, (list, tuple)):
        return 0
    Py_EnterRecursiveCall(" while converting a sequence to its FFI type")
    try:
        if is_object:
            return _sequence_from_object(self, value, out)
        return _sequence_from_items(self, list(value), value, out)
    finally:
        Py_LeaveRecursiveCall()


cdef int _check_length(_TypeConverter self, Py_ssize_t size, object value) except -1:
    if self.kind == kConvertTuple and size != len(self.parts):
        raise _ConvertError(
            f"expected tuple of length {len(self.parts)}, got {type(value).__name__} of length "
            f"{size}")
    return 0


cdef inline _TypeConverter _element_converter(_TypeConverter self, Py_ssize_t i):
    return self.parts[i if self.kind == kConvertTuple else 0]


cdef object _in_element(Py_ssize_t i, error):
    return _ConvertError(f"element [{i}]: {error.message}")


cdef int _sequence_from_items(_TypeConverter self, list items, object value,
                              TVMFFIAny* out) except -1:
    cdef CallFrame frame
    cdef Py_ssize_t n = len(items)
    cdef Py_ssize_t i
    _check_length(self, n, value)
    if not frame.Reserve(n):
        raise MemoryError
    for i in range(n):
        try:
            _convert_into(_element_converter(self, i), items[i], &frame.args[i])
        except _ConvertError as error:
            raise _in_element(i, error) from None
        _own_argument(&frame, i)
    return _build_container(self.type_index, &frame, out)


cdef inline void _own_argument(CallFrame* frame, Py_ssize_t i) noexcept:
    """Let the frame drop argument `i`, which is owned."""
    frame.owned[i] = frame.args[i].v_ptr \
        if frame.args[i].type_index >= kTVMFFIStaticObjectBegin else NULL
    frame.size = <int32_t>(i + 1)


cdef int _build_container(int32_t type_index, CallFrame* frame, TVMFFIAny* out) except -1:
    cdef Function constructor = _container_constructor(type_index)
    _check(TVMFFIFunctionCall(constructor.chandle, frame.args, frame.size, &frame.result))
    out[0] = frame.TakeResult()
    return 1


cdef object _container_constructor(int32_t type_index):
    if type_index == kTVMFFIArray:
        return _global("ffi.Array")
    if type_index == kTVMFFIList:
        return _global("ffi.List")
    if type_index == kTVMFFIMap:
        return _global("ffi.Map")
    return _global("ffi.Dict")


cdef inline bint _same_bits(const TVMFFIAny* a, const TVMFFIAny* b) noexcept:
    return a.type_index == b.type_index and a.v_uint64 == b.v_uint64 \
        and a.zero_padding == b.zero_padding


cdef int _share(CObject value, TVMFFIAny* out) except -1:
    """The value already has the right type: hand out the same object."""
    TVMFFIObjectIncRef(value.chandle)
    _set_object(out, value.chandle)
    return 1


cdef int _sequence_from_object(_TypeConverter self, CObject value, TVMFFIAny* out) except -1:
    cdef CallFrame frame
    cdef TVMFFISeqCell* cell = TVMFFISeqGetCellPtr(value.chandle)
    cdef TVMFFIAny item
    cdef Py_ssize_t n = cell.size
    cdef Py_ssize_t i
    cdef bint same = (<TVMFFIObject*>value.chandle).type_index == self.type_index
    _check_length(self, n, value)
    if same and self.any_parts:
        return _share(value, out)
    if not frame.Reserve(n):
        raise MemoryError
    for i in range(n):
        if i >= cell.size:
            raise RuntimeError("list changed size while it was converted")
        item = (<TVMFFIAny*>cell.data)[i]
        try:
            _element_converter(self, i).from_view(&item, &frame.args[i])
        except _ConvertError as error:
            raise _in_element(i, error) from None
        same = same and _same_bits(&item, &frame.args[i])
        _own_argument(&frame, i)
    return _share(value, out) if same else _build_container(self.type_index, &frame, out)


cdef int _direct_mapping(_TypeConverter self, object value, TVMFFIAny* out) except -1:
    cdef bint is_object = _is_mapping_object(value)
    if not is_object and not isinstance(value, dict):
        return 0
    if is_object and self.any_parts \
            and (<TVMFFIObject*>(<CObject>value).chandle).type_index == self.type_index:
        return _share(value, out)
    Py_EnterRecursiveCall(" while converting a mapping to its FFI type")
    try:
        return _mapping_from_pairs(self, value, is_object, out)
    finally:
        Py_LeaveRecursiveCall()


cdef int _mapping_from_pairs(_TypeConverter self, object value, bint is_object,
                             TVMFFIAny* out) except -1:
    cdef CallFrame frame
    cdef list pairs = _map_pairs(value) if is_object else list(value.items())
    cdef Py_ssize_t n = 2 * len(pairs)
    cdef Py_ssize_t i = 0
    cdef TVMFFIAny plain
    cdef bint same = is_object \
        and (<TVMFFIObject*>(<CObject>value).chandle).type_index == self.type_index
    if not frame.Reserve(n):
        raise MemoryError
    for key, item in pairs:
        try:
            _convert_into(self.parts[0], key, &frame.args[i])
        except _ConvertError as error:
            raise _ConvertError(f"key {key!r}: {error.message}") from None
        _own_argument(&frame, i)
        try:
            _convert_into(self.parts[1], item, &frame.args[i + 1])
        except _ConvertError as error:
            raise _ConvertError(f"value for key {key!r}: {error.message}") from None
        _own_argument(&frame, i + 1)
        i += 2
    if same and _map_has_bits((<CObject>value).chandle, &frame):
        return _share(value, out)
    return _build_container(self.type_index, &frame, out)


# --- compiling a schema ----------------------------------------------------------------------

cdef dict _SIMPLE_KINDS = {
    "Any": kConvertAny,
    "None": kConvertNone,
    "int": kConvertInt,
    "bool": kConvertBool,
    "float": kConvertFloat,
    "str": kConvertStr,
    "bytes": kConvertBytes,
    "Device": kConvertDevice,
    "dtype": kConvertDType,
    "ctypes.c_void_p": kConvertPointer,
}
cdef dict _CONTAINER_KINDS = {
    "Array": (kConvertSequence, kTVMFFIArray),
    "List": (kConvertSequence, kTVMFFIList),
    "list": (kConvertSequence, kTVMFFIList),
    "Map": (kConvertMapping, kTVMFFIMap),
    "Dict": (kConvertMapping, kTVMFFIDict),
    "dict": (kConvertMapping, kTVMFFIDict),
}
cdef dict _CONTAINER_NAMES = {"list": "List", "dict": "Dict"}


def _build_converter(schema):
    """Compile a schema.

    Raises:
        TypeError: An origin is no known type.
    """
    cdef _TypeConverter out = _TypeConverter.__new__(_TypeConverter)
    cdef list parts
    origin = schema.origin
    Py_EnterRecursiveCall(" while compiling a type schema")
    try:
        parts = [] if schema.args is None else [arg._converter for arg in schema.args]
    finally:
        Py_LeaveRecursiveCall()
    out.parts = parts
    out.name = origin
    out.any_parts = all([(<_TypeConverter>part).kind == kConvertAny for part in parts])
    if origin in _SIMPLE_KINDS:
        out.kind = _SIMPLE_KINDS[origin]
    elif origin in _CONTAINER_KINDS:
        out.kind, out.type_index = _CONTAINER_KINDS[origin]
        out.name = _CONTAINER_NAMES.get(origin, origin)
        if not parts:
            anything = TypeSchema("Any")._converter
            out.parts = [anything, anything]
    elif origin == "tuple":
        out.type_index = kTVMFFIArray
        if schema.args is None:  # any number of anything
            out.kind = kConvertSequence
            out.parts = [TypeSchema("Any")._converter]
        else:
            out.kind = kConvertTuple
    elif origin == "Optional":
        out.kind = kConvertOptional
    elif origin == "Union":
        out.kind = kConvertUnion
        out.name = repr(schema)
    elif schema.origin_type_index >= kTVMFFIStaticObjectBegin:
        out.kind = kConvertObject
        out.type_index = schema.origin_type_index
    else:
        raise TypeError(f"unknown TypeSchema origin: {origin!r}")
    return out


def _convert_to_schema(schema, value):
    cdef CAny out = CAny.__new__(CAny)
    cdef TVMFFIAny made = _none_any()
    cdef _TypeConverter converter = schema._converter
    try:
        _convert_into(converter, value, &made)
    except _ConvertError as error:
        raise TypeError(
            f"type conversion failed for {schema!r}: {error.message}") from error.__cause__
    out.owned = made
    return out


def _check_against_schema(schema, value):
    cdef TVMFFIAny made = _none_any()
    cdef _TypeConverter converter = schema._converter
    try:
        _convert_into(converter, value, &made)
    except _ConvertError as error:
        raise TypeError(f"type check failed for {schema!r}: {error.message}") from error.__cause__
    _drop_any(&made)


# --- field setters ---------------------------------------------------------------------------

cdef int _convert_field_value(void* converter, const TVMFFIAny* value,
                              TVMFFIAny* result) noexcept with gil:
    """Called by the setter of a field of a Python-defined class."""
    try:
        try:
            (<_TypeConverter><object>converter).from_view(value, result)
        except _ConvertError as error:
            raise TypeError(error.message) from error.__cause__
    except BaseException as error:
        _set_pending(<PyObject*>error)
        _set_raised_from_python()
        return -1
    return 0
