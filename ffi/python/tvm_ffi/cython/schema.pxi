# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Type schemas: what a field, parameter or result may hold, and their text forms."""
import collections.abc as _abc

# Indices of origins that stand for no type of the type table.
_ORIGIN_TYPE_INDEX_STRUCTURAL = -2
_ORIGIN_TYPE_INDEX_UNKNOWN = -3

_ORIGIN_TO_TYPE_INDEX = {
    "None": kTVMFFINone,
    "int": kTVMFFIInt,
    "bool": kTVMFFIBool,
    "float": kTVMFFIFloat,
    "str": kTVMFFIStr,
    "bytes": kTVMFFIBytes,
    "Device": kTVMFFIDevice,
    "dtype": kTVMFFIDataType,
    "ctypes.c_void_p": kTVMFFIOpaquePtr,
    "Tensor": kTVMFFITensor,
    "Object": kTVMFFIObject,
    "Callable": kTVMFFIFunction,
    "Array": kTVMFFIArray,
    "List": kTVMFFIList,
    "Map": kTVMFFIMap,
    "Dict": kTVMFFIDict,
    "Any": kTVMFFIAny,
}

# Views and small forms read as the value they stand for.
_TYPE_INDEX_TO_ORIGIN = {index: origin for origin, index in _ORIGIN_TO_TYPE_INDEX.items()}
_TYPE_INDEX_TO_ORIGIN.update({
    kTVMFFIDLTensorPtr: "Tensor",
    kTVMFFIRawStr: "str",
    kTVMFFIByteArrayPtr: "bytes",
    kTVMFFISmallStr: "str",
    kTVMFFISmallBytes: "bytes",
    kTVMFFIObjectRValueRef: "Object",
    kTVMFFIBigInt: "int",
})

# Types that read as another one but keep their key, so that the JSON form is not lost.
_RETAINED_TYPE_KEYS = frozenset({"ffi.BigInt"})
_TYPE_INDEX_TO_RETAINED_TYPE_KEY = {kTVMFFIBigInt: "ffi.BigInt"}

# C++ name -> origin.
_TYPE_SCHEMA_ORIGIN_CONVERTER = {
    "Variant": "Union",
    "std::variant": "Union",
    "Optional": "Optional",
    "std::optional": "Optional",
    "Tuple": "tuple",
    "std::tuple": "tuple",
    "ffi.Function": "Callable",
    "std::function": "Callable",
    "ffi.Array": "Array",
    "std::vector": "Array",
    "ffi.List": "List",
    "ffi.Map": "Map",
    "std::map": "Map",
    "std::unordered_map": "Map",
    "ffi.Dict": "Dict",
    "ffi.OpaquePyObject": "Any",
    "ffi.Object": "Object",
    "ObjectRValueRef": "Object",
    "ffi.Tensor": "Tensor",
    "DLTensor*": "Tensor",
    "ffi.BigInt": "int",
    "void*": "ctypes.c_void_p",
    "ffi.Bytes": "bytes",
    "ffi.SmallBytes": "bytes",
    "TVMFFIByteArray*": "bytes",
    "ffi.String": "str",
    "ffi.SmallStr": "str",
    "std::string": "str",
    "const char*": "str",
    "DataType": "dtype",
}

# Origin -> (size, alignment, static type index) of a field stored in an object. Origins that are
# missing here hold an object pointer.
_ORIGIN_NATIVE_LAYOUT = {
    "int": (8, 8, kTVMFFIInt),
    "float": (8, 8, kTVMFFIFloat),
    "bool": (1, 1, kTVMFFIBool),
    "ctypes.c_void_p": (8, 8, kTVMFFIOpaquePtr),
    "dtype": (4, 2, kTVMFFIDataType),
    "Device": (8, 4, kTVMFFIDevice),
    "Any": (16, 8, kTVMFFIAny),
    "str": (16, 8, kTVMFFIAny),
    "bytes": (16, 8, kTVMFFIAny),
    "Optional": (16, 8, kTVMFFIAny),
    "Union": (16, 8, kTVMFFIAny),
}

# Origin -> (allowed numbers of arguments, what the message says, number of `Any` filled in).
_ARITY = {
    "Optional": ((1,), "exactly one argument", 0),
    "Array": ((0, 1), "0 or 1 argument", 1),
    "List": ((0, 1), "0 or 1 argument", 1),
    "Map": ((0, 2), "0 or 2 arguments", 2),
    "Dict": ((0, 2), "0 or 2 arguments", 2),
}


class TypeSchema:
    """Type of a value, as far as the FFI knows it.

    Args:
        origin: Type name: a Python-side name such as ``"int"``, ``"Optional"``, ``"Array"``, or a
            type key.
        args: Type arguments. A Callable takes its result type first, then the parameter types.
        origin_type_index: Type index behind `origin`; found out if left out.
        fallback: What the text forms show when no type of that key is registered.
        named_args: ``{"return": (R,), "params": (P, ...)}`` of a Callable; no ``"params"`` means
            any parameters.
        type_key: Original key of a type that reads as another one; not compared.

    Raises:
        ValueError: The number of arguments does not fit the origin.
    """

    def __init__(self, origin, args=None, origin_type_index=_ORIGIN_TYPE_INDEX_UNKNOWN,
                 fallback=None, named_args=None, type_key=None):
        self.origin = origin
        if args is not None:
            args = _schemas(args)
        if origin == "Callable":
            args, named_args = _callable_groups(args, named_args)
        elif origin == "Union":
            if args is None or len(args) < 2:
                raise ValueError("Union must have at least two arguments")
        elif origin in _ARITY:
            allowed, text, filler = _ARITY[origin]
            count = 0 if args is None else len(args)
            if count not in allowed:
                raise ValueError(f"{origin} must have {text}")
            if count == 0:
                args = (TypeSchema("Any"),) * filler
        elif args is None and origin != "tuple":
            args = ()
        self.args = args
        self.named_args = named_args
        self.fallback = fallback
        self.type_key = type_key
        if origin_type_index == _ORIGIN_TYPE_INDEX_UNKNOWN:
            origin_type_index = _index_of_origin(origin)
        self.origin_type_index = origin_type_index
        self._cached_converter = None

    def __eq__(self, other):
        if not isinstance(other, TypeSchema):
            return NotImplemented
        return (self.origin == other.origin and self.args == other.args
                and self.origin_type_index == other.origin_type_index
                and self.fallback == other.fallback and self.named_args == other.named_args)

    __hash__ = None

    def __repr__(self):
        return self.repr(None)

    def repr(self, ty_map=None):
        """Text in the syntax of annotations.

        Args:
            ty_map: Maps each origin to the name to print.
        """
        return _SchemaText(ty_map, False).render(self)

    def output_repr(self, ty_map=None):
        """Text of the type of values read, as :py:meth:`repr`."""
        return _SchemaText(ty_map, False).render(self)

    def input_repr(self, ty_map=None):
        """Text of what may be passed: also what converts implicitly."""
        return _SchemaText(ty_map, True).render(self)

    def to_json(self):
        """JSON object of this schema; :py:meth:`from_json_obj` reads it."""
        out = {"type": self.type_key if self.type_key in _RETAINED_TYPE_KEYS else self.origin}
        if self.args or (self.origin == "tuple" and self.args is not None):
            out["args"] = [arg.to_json() for arg in self.args]
        if self.named_args is not None:
            out["named_args"] = {name: [arg.to_json() for arg in group]
                                 for name, group in self.named_args.items()}
        if self.fallback is not None:
            out["fallback"] = self.fallback.to_json()
        return out

    @staticmethod
    def from_json_obj(obj):
        """Schema of a parsed JSON object.

        Raises:
            TypeError: `obj` or a part of it is no schema.
        """
        return _schema_of_json(obj)

    @staticmethod
    def from_json_str(s):
        """Schema of a JSON text."""
        import json

        return _schema_of_json(json.loads(s))

    @staticmethod
    def _from_maybe_json(raw):
        """Schema given as text, as parsed JSON or as itself."""
        if isinstance(raw, TypeSchema):
            return raw
        return TypeSchema.from_json_str(raw) if isinstance(raw, str) else _schema_of_json(raw)

    @staticmethod
    def from_type_index(type_index, args=()):
        """Schema of a registered type index."""
        origin = _TYPE_INDEX_TO_ORIGIN.get(type_index)
        if origin is None:
            return TypeSchema(_type_index_to_type_info(type_index).type_key, args, type_index)
        return TypeSchema(origin, args, type_key=_TYPE_INDEX_TO_RETAINED_TYPE_KEY.get(type_index))

    @staticmethod
    def from_annotation(annotation):
        """Schema of a Python annotation.

        ``list`` means List, ``dict`` means Dict, ``tuple[T, ...]`` means Array.

        Raises:
            TypeError: The FFI has no such type.
        """
        return _schema_of_annotation(annotation)

    def is_subtype_of(self, target_cls):
        """Tell whether every value of this schema is an instance of a registered class."""
        index = self.origin_type_index
        target = _CLASS_TO_INFO.get(target_cls) if isinstance(target_cls, type) else None
        if target is None or index < kTVMFFIStaticObjectBegin:
            return False
        return bool(IsInstance(index, target.type_index))

    def convert(self, value):
        """Convert a Python value to this type.

        Returns:
            CAny: The converted value.

        Raises:
            TypeError: It does not fit; the message starts with ``type conversion failed for``.
        """
        return _convert_to_schema(self, value)

    def check_value(self, value):
        """Raise TypeError (``type check failed for ..``) unless `value` converts to this type."""
        _check_against_schema(self, value)

    @property
    def _converter(self):
        """The compiled form of the schema, made on first use."""
        if self._cached_converter is None:
            self._cached_converter = _build_converter(self)
        return self._cached_converter


def _index_of_origin(origin):
    if origin in ("Optional", "Union"):
        return _ORIGIN_TYPE_INDEX_STRUCTURAL
    index = _ORIGIN_TO_TYPE_INDEX.get(origin)
    if index is None and isinstance(origin, str):
        index = _object_type_key_to_index(origin)
    return _ORIGIN_TYPE_INDEX_UNKNOWN if index is None else index


cdef tuple _schemas(args):
    cdef tuple schemas = tuple(args)
    for schema in schemas:
        if not isinstance(schema, TypeSchema):
            raise TypeError(
                f"schema arguments must be TypeSchema instances, got {type(schema).__name__}")
    return schemas


cdef tuple _callable_groups(args, named_args):
    """Normalised (args, named_args) of a Callable: named groups only."""
    if named_args is None:
        if not args:
            return (), None
        named_args = {"return": args[:1], "params": args[1:]}
    elif args or not set(named_args) <= {"return", "params"}:
        raise ValueError("Callable uses only named return and params groups")
    groups = {}
    for name in ("return", "params"):
        if name in named_args:
            groups[name] = _schemas(named_args[name])
    if len(groups.get("return", ())) != 1:
        raise ValueError("Callable return group must contain exactly one type")
    return (), groups


def _schema_of_json(obj):
    if not isinstance(obj, dict) or "type" not in obj:
        raise TypeError(f"expected schema dict with 'type' key, got {type(obj).__name__}")
    key = obj["type"]
    if not isinstance(key, str):
        raise TypeError(f"schema type must be a string, got {type(key).__name__}")
    origin = _TYPE_SCHEMA_ORIGIN_CONVERTER.get(key, key)
    args = obj.get("args")
    if args is not None:
        if not isinstance(args, (list, tuple)):
            raise TypeError(f"expected a list of schemas as 'args', got {type(args).__name__}")
        args = tuple([_nested_schema(arg) for arg in args])
    groups = obj.get("named_args")
    if groups is not None:
        if not isinstance(groups, dict):
            raise TypeError("named_args must be a map of names to type lists")
        groups = {name: tuple([_nested_schema(arg) for arg in group])
                  for name, group in groups.items()}
    fallback = obj.get("fallback")
    return TypeSchema(
        origin, args, fallback=None if fallback is None else _nested_schema(fallback),
        named_args=groups, type_key=key if key in _RETAINED_TYPE_KEYS else None)


cdef object _nested_schema(obj):
    Py_EnterRecursiveCall(" while reading a type schema")
    try:
        return _schema_of_json(obj)
    finally:
        Py_LeaveRecursiveCall()


# --- text ------------------------------------------------------------------------------------

cdef class _SchemaText:
    """Renders schemas; `expanding` holds the types whose convertible forms are being shown."""

    cdef object ty_map
    cdef bint inputs
    cdef set expanding

    def __init__(self, ty_map, inputs):
        self.ty_map = ty_map
        self.inputs = inputs
        self.expanding = set()

    cdef str name(self, str origin):
        return origin if self.ty_map is None else self.ty_map(origin)

    def render(self, schema):
        """Text of one schema."""
        Py_EnterRecursiveCall(" while printing a type schema")
        try:
            return self._render(schema)
        finally:
            Py_LeaveRecursiveCall()

    def _render(self, schema):
        index = schema.origin_type_index
        if index == _ORIGIN_TYPE_INDEX_UNKNOWN and schema.fallback is not None:
            return self.render(schema.fallback)
        if self.inputs and index >= kTVMFFIStaticObjectBegin and index not in self.expanding:
            accepted = _type_attr(index, "__ffi_convert_type_schema__")
            if accepted is not None:
                self.expanding.add(index)
                try:
                    return self.render(TypeSchema._from_maybe_json(accepted))
                finally:
                    self.expanding.discard(index)
        name = self.name(schema.origin)
        if name == "Callable":
            return self._callable(schema)
        parts = None if schema.args is None else [self.render(arg) for arg in schema.args]
        if name == "Optional":
            return f"{parts[0]} | None"
        if name == "Union":
            return " | ".join(parts)
        if not parts:
            return "tuple[()]" if name == "tuple" and parts is not None else name
        return f"{name}[{', '.join(parts)}]"

    def _callable(self, schema):
        groups = schema.named_args
        if groups is None:
            return f"Callable[..., {self.name('Any')}]"
        result = self.render(groups["return"][0])
        params = groups.get("params")
        listed = "..." if params is None else f"[{', '.join([self.render(p) for p in params])}]"
        return f"Callable[{listed}, {result}]"


# --- annotations -----------------------------------------------------------------------------

_PLAIN_ANNOTATIONS = {
    type(None): "None",
    int: "int",
    float: "float",
    bool: "bool",
    str: "str",
    bytes: "bytes",
    list: "List",
    dict: "Dict",
    tuple: "tuple",
    ctypes.c_void_p: "ctypes.c_void_p",
    _abc.Callable: "Callable",
}


def _schema_of_annotation(annotation):
    import typing as _typing  # the package is imported without it

    if annotation is None:
        return TypeSchema("None")
    if annotation is _typing.Any:
        return TypeSchema("Any")
    origin = _typing.get_origin(annotation)
    if origin is not None:
        return _schema_of_generic(annotation, origin, _typing.get_args(annotation))
    if annotation is _typing.Callable:
        return TypeSchema("Callable")
    if isinstance(annotation, type):
        name = _PLAIN_ANNOTATIONS.get(annotation)
        if name is not None:
            return TypeSchema(name)
        return _schema_of_class(annotation, ())
    raise TypeError(f"Cannot convert {annotation!r} to TypeSchema")


cdef object _schema_of_class(cls, tuple args):
    if issubclass(cls, CObject):
        info = _CLASS_TO_INFO.get(cls)
        if info is None:
            raise TypeError(
                f"CObject subclass {cls!r} is not registered in TYPE_CLS_TO_INFO; "
                "use @register_object to register it")
        return TypeSchema.from_type_index(info.type_index, args)
    if issubclass(cls, DataType) or (_CLASS_DTYPE is not None and issubclass(cls, _CLASS_DTYPE)):
        return TypeSchema("dtype")
    if issubclass(cls, Device):
        return TypeSchema("Device")
    if issubclass(cls, PyNativeObject):
        for name, base in (("str", String), ("bytes", Bytes), ("ffi.Shape", _CLASS_SHAPE)):
            if base is not None and issubclass(cls, base):
                return TypeSchema(name)
    if hasattr(cls, "__dlpack__"):  # arrays of other packages become tensors
        return TypeSchema("Tensor")
    raise TypeError(f"Cannot convert {cls!r} to TypeSchema")


cdef object _schema_of_generic(annotation, origin, tuple args):
    import types as _types
    import typing as _typing

    if origin is _typing.Union or origin is getattr(_types, "UnionType", _typing.Union):
        members = [_schema_of_annotation(arg) for arg in args if arg is not type(None)]
        inner = members[0] if len(members) == 1 else TypeSchema("Union", tuple(members))
        return inner if len(members) == len(args) else TypeSchema("Optional", (inner,))
    if origin is _abc.Callable:
        if not args:
            return TypeSchema("Callable")
        groups = {"return": (_schema_of_annotation(args[-1]),)}
        if isinstance(args[0], list):
            groups["params"] = tuple([_schema_of_annotation(arg) for arg in args[0]])
        return TypeSchema("Callable", named_args=groups)
    if origin is tuple:
        if len(args) == 2 and args[1] is Ellipsis:
            return TypeSchema("Array", (_schema_of_annotation(args[0]),))
        return TypeSchema("tuple", tuple([_schema_of_annotation(arg) for arg in args]))
    if origin is list:
        if len(args) > 1:
            raise TypeError(f"list takes at most 1 type argument, got {len(args)}")
        return TypeSchema("List", tuple([_schema_of_annotation(arg) for arg in args]))
    if origin is dict:
        if len(args) not in (0, 2):
            raise TypeError(f"dict requires 0 or 2 type arguments, got {len(args)}")
        return TypeSchema("Dict", tuple([_schema_of_annotation(arg) for arg in args]))
    if isinstance(origin, type) and issubclass(origin, CObject):
        return _schema_of_class(origin, tuple([_schema_of_annotation(arg) for arg in args]))
    raise TypeError(f"Cannot convert {annotation!r} to TypeSchema")
