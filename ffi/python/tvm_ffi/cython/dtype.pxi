# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""DLDataType and DLDevice values."""


cdef class DataType:
    """A DLDataType, built from its text form.

    Args:
        text: E.g. ``"float32"``, ``"int8x4"``, ``"bool"``.

    Raises:
        ValueError: The text is no dtype.
    """

    cdef DLDataType value

    def __init__(self, text):
        cdef str spelling = str(text)
        cdef TVMFFIByteArray bytes = _byte_array(spelling)
        _check(TVMFFIDataTypeFromString(&bytes, &self.value))

    def __reduce__(self):
        return (_create_cdtype_from_tuple,
                (DataType, self.value.code, self.value.bits, self.value.lanes))

    def __eq__(self, other):
        if not isinstance(other, DataType):
            return NotImplemented
        return _dtype_bits(self.value) == _dtype_bits((<DataType>other).value)

    def __ne__(self, other):
        if not isinstance(other, DataType):
            return NotImplemented
        return _dtype_bits(self.value) != _dtype_bits((<DataType>other).value)

    def __hash__(self):
        return hash(_dtype_bits(self.value))

    def __str__(self):
        return _dtype_text(self.value)

    def __repr__(self):
        return f"DataType('{_dtype_text(self.value)}')"

    @property
    def type_code(self):
        """DLPack type code."""
        return self.value.code

    @property
    def bits(self):
        """Bits per lane."""
        return self.value.bits

    @property
    def lanes(self):
        """Number of lanes; scalable vectors have none that is fixed."""
        cdef int lanes = <int>self.value.lanes
        if lanes > 32767:
            raise ValueError(
                "Cannot determine the number of lanes of a scalable vector at compile time")
        return lanes

    @property
    def itemsize(self):
        """Bytes per element, all lanes together, rounded up."""
        cdef int lanes = <int>self.value.lanes
        if lanes > 32767:
            raise ValueError("Cannot determine the size of a scalable vector at compile time")
        return (self.value.bits * lanes + 7) // 8


cdef inline uint32_t _dtype_bits(DLDataType value) noexcept:
    return value.code | (<uint32_t>value.bits << 8) | (<uint32_t>value.lanes << 16)


cdef str _dtype_text(DLDataType value):
    cdef TVMFFIAny text = _none_any()
    _check(TVMFFIDataTypeToString(&value, &text))
    return str(ToPython(text, NULL))


def _create_cdtype_from_tuple(cls, code, bits, lanes):
    """DataType from DLPack code, bits and lanes."""
    cdef DataType out = cls.__new__(cls)
    out.value.code = code
    out.value.bits = bits
    out.value.lanes = _lanes_of(lanes)
    return out


cdef uint16_t _lanes_of(object lanes) except? 0:
    """Lanes as DLPack stores them; those of a scalable vector are negative."""
    if not -0x8000 <= lanes <= 0xFFFF:
        raise OverflowError(f"lanes of a dtype must fit 16 bits, got {lanes}")
    return <uint16_t>(<int>lanes)


_CLASS_DTYPE = None
cdef dict _DTYPE_CACHE = {}


def _set_class_dtype(cls):
    """Set the str subclass in which dtypes are handed out."""
    global _CLASS_DTYPE
    _CLASS_DTYPE = cls
    _DTYPE_CACHE.clear()


cdef object _dtype_to_python(DLDataType value):
    """The shared dtype instance for a DLDataType."""
    cdef uint32_t key = _dtype_bits(value)
    cdef DataType inner
    found = _DTYPE_CACHE.get(key)
    if found is not None:
        return found
    inner = DataType.__new__(DataType)
    inner.value = value
    if _CLASS_DTYPE is None:
        return inner
    made = str.__new__(_CLASS_DTYPE, _dtype_text(value))
    made._tvm_ffi_dtype = inner
    _DTYPE_CACHE[key] = made
    return made


# --- devices ---------------------------------------------------------------------------------


class DLDeviceType(IntEnum):
    """Device types of DLPack."""

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
    kDLWebGPU = 15
    kDLHexagon = 16
    kDLMAIA = 17
    kDLTrn = 18


cdef dict _DEVICE_NAMES = {
    DLDeviceType.kDLCPU: "cpu",
    DLDeviceType.kDLCUDA: "cuda",
    DLDeviceType.kDLCUDAHost: "cuda_host",
    DLDeviceType.kDLCUDAManaged: "cuda_managed",
    DLDeviceType.kDLOpenCL: "opencl",
    DLDeviceType.kDLVulkan: "vulkan",
    DLDeviceType.kDLMetal: "metal",
    DLDeviceType.kDLVPI: "vpi",
    DLDeviceType.kDLROCM: "rocm",
    DLDeviceType.kDLROCMHost: "rocm_host",
    DLDeviceType.kDLExtDev: "ext_dev",
    DLDeviceType.kDLOneAPI: "oneapi",
    DLDeviceType.kDLWebGPU: "webgpu",
    DLDeviceType.kDLHexagon: "hexagon",
    DLDeviceType.kDLMAIA: "maia",
    DLDeviceType.kDLTrn: "trn",
}

cdef dict _DEVICE_TYPES = {
    name: kind for kind, name in _DEVICE_NAMES.items()
    if kind not in (DLDeviceType.kDLCUDAHost, DLDeviceType.kDLCUDAManaged,
                    DLDeviceType.kDLROCMHost, DLDeviceType.kDLOneAPI)
}
_DEVICE_TYPES["mps"] = DLDeviceType.kDLMetal
_DEVICE_TYPES["wgpu"] = DLDeviceType.kDLWebGPU


cdef class Device:
    """A device: DLPack type and index.

    Args:
        device_type: Name (``"cuda"``, ``"cuda:1"``) or DLPack number.
        index: Device number; None means the one in the name, else 0.
    """

    cdef DLDevice value

    _DEVICE_TYPE_TO_NAME = _DEVICE_NAMES
    _DEVICE_NAME_TO_TYPE = _DEVICE_TYPES

    def __init__(self, device_type, index=None):
        if isinstance(device_type, str):
            name, colon, suffix = device_type.partition(":")
            kind = _DEVICE_TYPES.get(name)
            if kind is None:
                raise ValueError(f"Unknown device: {name}")
            if colon:
                if index is not None:
                    raise ValueError(
                        f"device {device_type!r} already names an index, got index={index} too")
                digits = suffix[1:] if suffix[:1] in ("-", "+") else suffix
                if not (digits.isascii() and digits.isdigit()):
                    raise ValueError(f"Invalid device index: {suffix}")
                index = int(suffix)
        elif isinstance(device_type, Integral):
            kind = int(device_type)
        else:
            raise TypeError(f"Invalid device type: {device_type!r}")
        if index is None:
            index = 0
        elif not isinstance(index, Integral) or isinstance(index, bool):
            raise TypeError(f"Invalid device index: {index!r}")
        self.value.device_type = <_CDLDeviceType><int>kind
        self.value.device_id = index

    def __reduce__(self):
        return (_create_device_from_tuple,
                (type(self), <int>self.value.device_type, self.value.device_id))

    def __eq__(self, other):
        if not isinstance(other, Device):
            return NotImplemented
        return self.value.device_type == (<Device>other).value.device_type \
            and self.value.device_id == (<Device>other).value.device_id

    def __ne__(self, other):
        if not isinstance(other, Device):
            return NotImplemented
        return not self == other

    def __hash__(self):
        return hash((<int>self.value.device_type, self.value.device_id))

    def __str__(self):
        return f"{self.__device_type_name__()}:{self.value.device_id}"

    def __repr__(self):
        return f"device(type='{self.__device_type_name__()}', index={self.value.device_id})"

    def __device_type_name__(self):
        """Name of the device type."""
        name = _DEVICE_NAMES.get(<int>self.value.device_type)
        return name if name is not None else f"device_type_{<int>self.value.device_type}"

    @property
    def type(self):
        """Name of the device type, e.g. ``"cuda"``."""
        return self.__device_type_name__()

    @property
    def index(self):
        """Device number."""
        return self.value.device_id

    def dlpack_device_type(self):
        """DLPack number of the device type."""
        return <int>self.value.device_type


_CLASS_DEVICE = Device


def _set_class_device(cls):
    """Set the Device subclass in which devices are handed out."""
    global _CLASS_DEVICE
    _CLASS_DEVICE = cls


cdef object _device_to_python(DLDevice value):
    cdef Device out = _CLASS_DEVICE.__new__(_CLASS_DEVICE)
    out.value = value
    return out


def _create_device_from_tuple(cls, device_type, device_id):
    """Device from DLPack type and index, without name checks."""
    cdef Device out = cls.__new__(cls)
    out.value.device_type = <_CDLDeviceType><int>device_type
    out.value.device_id = device_id
    return out


def _env_set_current_stream(int device_type, int device_id, uintptr_t stream):
    """Set this thread's stream of a device; returns the former one."""
    cdef void* old = NULL
    _check(TVMFFIEnvSetStream(device_type, device_id, <void*>stream, &old))
    return <uintptr_t>old


def _env_get_current_stream(int device_type, int device_id):
    """This thread's stream of a device."""
    return <uintptr_t>TVMFFIEnvGetStream(device_type, device_id)
