# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Reflection: type tables, fields and methods of registered classes."""

# Guards every table below; registration may run on several threads.
_REGISTRY_LOCK = _RLock()

# Both are indexed by type index; entries are only ever added or replaced.
cdef list _TYPE_CLASSES = [None] * 256
cdef list _TYPE_INFOS = [None] * 256
cdef dict _TYPE_KEY_TO_INFO = {}
cdef dict _CLASS_TO_INFO = {}

MISSING = None
KWARGS = None
_NOT_GIVEN = object()


cdef class FieldGetter:
    """Callable that reads one field of an object."""

    cdef vectorcallfunc vectorcall
    cdef TVMFFIFieldGetter getter
    cdef int64_t offset
    cdef int32_t type_index

    def __cinit__(self):
        self.vectorcall = FieldGetterVectorcall
        self.getter = NULL

    def __call__(self, obj):
        cdef TVMFFIAny value = _none_any()
        cdef void* field = FieldAddress(<PyObject*>obj, self.offset, self.type_index)
        _check(self.getter(field, &value))
        return ToPython(value, NULL)


cdef class FieldSetter:
    """Callable that writes one field of an object, read-only ones included."""

    cdef void* setter
    cdef bint is_function
    cdef int64_t offset
    cdef int32_t type_index
    cdef object keep

    def __call__(self, obj, value):
        cdef CallFrame frame
        cdef void* field = FieldAddress(<PyObject*>obj, self.offset, self.type_index)
        cdef PyObject* items[1]
        cdef TVMFFIAny call[2]
        cdef TVMFFIAny result = _none_any()
        items[0] = <PyObject*>value
        PackArgs(items, 1, &frame)
        if not self.is_function:
            _check((<TVMFFIFieldSetter>self.setter)(field, &frame.args[0]))
            return
        call[0] = _none_any()
        call[0].type_index = kTVMFFIOpaquePtr
        call[0].v_ptr = field
        call[1] = frame.args[0]
        _check(TVMFFIFunctionCall(self.setter, call, 2, &result))
        if result.type_index >= kTVMFFIStaticObjectBegin:
            TVMFFIObjectDecRef(result.v_obj)


class FFIProperty(property):
    """Property of a reflected field; `set` also reaches read-only fields."""

    def __init__(self, fget=None, fset=None, frozen=False, fdel=None, doc=None):
        super().__init__(fget, None if frozen else fset, fdel, doc)
        self.__doc__ = doc
        self.raw_set = fset

    def set(self, obj, value):
        """Write the field even if it is read-only."""
        if self.raw_set is None:
            raise AttributeError("field has no setter")
        self.raw_set(obj, value)


class FFIMethod:
    """Descriptor that binds a reflected method to its object."""

    def __init__(self, func, name, doc, qualname):
        self.func = func
        self.__name__ = name
        self.__qualname__ = qualname
        self.__doc__ = doc

    def __get__(self, obj, owner=None):
        if obj is None:
            return self
        return NewMethod(self.func, obj)

    def __call__(self, *args):
        return self.func(*args)

    def __repr__(self):
        return f"<FFI method {self.__qualname__}>"


class TypeField:
    """One reflected field.

    Attributes follow the C struct: name, doc, size, alignment, offset, the accessors, and what the
    flags say as ``c_*``. `metadata` is a dict or JSON text that is parsed when asked for.
    """

    def __init__(self, name, doc, size, alignment, offset, field_static_type_index, frozen,
                 metadata, getter, setter, ty=None, c_init=True, c_kw_only=False,
                 c_has_default=False, c_default=_NOT_GIVEN, c_default_factory=_NOT_GIVEN,
                 c_repr=True, c_compare=True, c_hash=True, c_structural_eq=None,
                 dataclass_field=None):
        self.name = name
        self.doc = doc
        self.size = size
        self.alignment = alignment
        self.offset = offset
        self.field_static_type_index = field_static_type_index
        self.frozen = frozen
        self._metadata = metadata
        self.getter = getter
        self.setter = setter
        self._ty = ty
        self.c_init = c_init
        self.c_kw_only = c_kw_only
        self.c_has_default = c_has_default
        self.c_default = MISSING if c_default is _NOT_GIVEN else c_default
        self.c_default_factory = MISSING if c_default_factory is _NOT_GIVEN else c_default_factory
        self.c_repr = c_repr
        self.c_compare = c_compare
        self.c_hash = c_hash
        self.c_structural_eq = c_structural_eq
        self.dataclass_field = dataclass_field

    @property
    def metadata(self):
        """Metadata of the registering side, as a dict."""
        if isinstance(self._metadata, str):
            self._metadata = _json_object(self._metadata)
        return self._metadata

    @property
    def ty(self):
        """TypeSchema of the field; None if the registering side told none."""
        if self._ty is None:
            schema = self.metadata.get("type_schema")
            if schema is not None:
                self._ty = TypeSchema._from_maybe_json(schema)
        return self._ty

    def normalize_value(self, value):
        """`value` as reading the field back after storing it would give it."""
        return value if self.ty is None else _to_py_class_value(self.ty.convert(value))

    def as_property(self, cls):
        """The class attribute that reads and writes the field."""
        return FFIProperty(self.getter, self.setter, self.frozen, None, self.doc)

    def __repr__(self):
        return (f"TypeField(name={self.name!r}, doc={self.doc!r}, size={self.size}, "
                f"alignment={self.alignment}, offset={self.offset}, frozen={self.frozen}, "
                f"ty={self.ty!r})")


class TypeMethod:
    """One reflected method."""

    def __init__(self, name, doc, func, metadata, is_static):
        self.name = name
        self.doc = doc
        self.func = func
        self._metadata = metadata
        self.is_static = is_static

    @property
    def metadata(self):
        """Metadata that the C++ side attached, as a dict."""
        if isinstance(self._metadata, str):
            self._metadata = _json_object(self._metadata)
        return self._metadata

    def as_callable(self, cls):
        """The class attribute that calls the method."""
        if self.is_static:
            return staticmethod(self.func)
        return FFIMethod(self.func, self.name, self.doc, f"{cls.__qualname__}.{self.name}")

    def __repr__(self):
        return f"TypeMethod(name={self.name!r}, is_static={self.is_static})"


class TypeInfo:
    """What the type table knows about one registered type."""

    def __init__(self, type_cls, type_index, type_key, type_ancestors, fields=None, methods=None,
                 parent_type_info=None):
        self.type_cls = type_cls
        self.type_index = type_index
        self.type_key = type_key
        self.type_ancestors = type_ancestors
        self.parent_type_info = parent_type_info
        self._decorator_args = {}
        self._own_members = None if fields is None else (fields, methods or [])
        self._is_pending = False  # a Python class whose fields are not known yet

    def _load(self):
        # C++ registers members after it allocates the index, so they are read when first asked.
        if self._own_members is None:
            self._own_members = _read_members(self.type_index)
        return self._own_members

    @property
    def fields(self):
        """Own fields in order of definition; None while a Python class awaits its types."""
        return None if self._is_pending else self._load()[0]

    @property
    def methods(self):
        """Own methods."""
        return [] if self._is_pending else self._load()[1]

    @property
    def total_size(self):
        """Bytes of an object, header included; 0 if not known."""
        cdef const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(self.type_index)
        return 0 if info.metadata == NULL else info.metadata.total_size

    def _register_fields(self, fields, structure_kind=None):
        """Lay out and register the fields of a Python-defined class."""
        _register_fields(self, fields, structure_kind)

    def _register_py_methods(self, py_methods=None, type_attr_names=frozenset()):
        """Register methods and type attributes of a Python-defined class."""
        _register_py_methods(self, py_methods, type_attr_names)

    def __repr__(self):
        return f"TypeInfo(type_key={self.type_key!r}, type_index={self.type_index})"


cdef dict _json_object(str text):
    if not text:
        return {}
    import json

    return json.loads(text)


cdef object _read_field(const TVMFFIFieldInfo* info, int32_t type_index):
    cdef FieldGetter getter = FieldGetter.__new__(FieldGetter)
    cdef FieldSetter setter = None
    cdef bint from_factory = (info.flags & kTVMFFIFieldFlagBitMaskDefaultFromFactory) != 0
    getter.getter = info.getter
    getter.offset = info.offset
    getter.type_index = type_index
    if info.setter != NULL:
        setter = FieldSetter.__new__(FieldSetter)
        setter.setter = info.setter
        setter.is_function = (info.flags & kTVMFFIFieldFlagBitSetterIsFunctionObj) != 0
        setter.offset = info.offset
        setter.type_index = type_index
    default = MISSING
    if info.flags & kTVMFFIFieldFlagBitMaskHasDefault:
        default = _view_to_python(&info.default_value_or_factory, NULL)
    return TypeField(
        _text(&info.name), _text(&info.doc) or None, info.size, info.alignment, info.offset,
        info.field_static_type_index, not info.flags & kTVMFFIFieldFlagBitMaskWritable,
        _text(&info.metadata), getter, setter, None,
        not info.flags & kTVMFFIFieldFlagBitMaskInitOff,
        bool(info.flags & kTVMFFIFieldFlagBitMaskKwOnly),
        bool(info.flags & kTVMFFIFieldFlagBitMaskHasDefault),
        MISSING if from_factory else default, default if from_factory else MISSING,
        not info.flags & kTVMFFIFieldFlagBitMaskReprOff,
        not info.flags & kTVMFFIFieldFlagBitMaskCompareOff,
        not info.flags & kTVMFFIFieldFlagBitMaskHashOff,
        _structural_role(info.flags))


cdef object _structural_role(int64_t flags):
    """Role of a field in structural equality."""
    if flags & kTVMFFIFieldFlagBitMaskSEqHashIgnore:
        return "ignore"
    if flags & kTVMFFIFieldFlagBitMaskSEqHashDefPattern:
        return "def-pattern"
    if flags & kTVMFFIFieldFlagBitMaskSEqHashDefSimple:
        return "def-simple"
    return None


cdef tuple _read_members(int32_t type_index):
    cdef const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(type_index)
    cdef list fields = []
    cdef list methods = []
    cdef int32_t i
    for i in range(info.num_fields):
        fields.append(_read_field(&info.fields[i], type_index))
    for i in range(info.num_methods):
        methods.append(TypeMethod(
            _text(&info.methods[i].name), _text(&info.methods[i].doc) or None,
            _view_to_python(&info.methods[i].method, NULL),
            _text(&info.methods[i].metadata),
            bool(info.methods[i].flags & kTVMFFIFieldFlagBitMaskIsStaticMethod)))
    return fields, methods


cdef object _info_of_index(int32_t type_index):
    """TypeInfo of a registered index, made on first use."""
    cdef const TVMFFITypeInfo* info
    cdef list ancestors = []
    cdef int32_t i
    if type_index < len(_TYPE_INFOS) and _TYPE_INFOS[type_index] is not None:
        return _TYPE_INFOS[type_index]
    with _REGISTRY_LOCK:
        while len(_TYPE_INFOS) <= type_index:
            _TYPE_INFOS.extend([None] * 256)
        found = _TYPE_INFOS[type_index]
        if found is not None:
            return found
        info = TVMFFIGetTypeInfo(type_index)
        for i in range(info.type_depth):
            ancestors.append(info.type_ancestors[i].type_index)
        parent = _info_of_index(ancestors[-1]) if ancestors else None
        made = TypeInfo(None, type_index, _text(&info.type_key), ancestors,
                        parent_type_info=parent)
        _TYPE_INFOS[type_index] = made
        _TYPE_KEY_TO_INFO[made.type_key] = made
        return made


def _lookup_or_register_type_info_from_type_key(type_key):
    """TypeInfo of a type key, or ValueError."""
    found = _TYPE_KEY_TO_INFO.get(type_key)
    if found is not None:
        return found
    index = _object_type_key_to_index(type_key)
    if index is None:
        raise ValueError(f"Cannot find object type index for {type_key}")
    return _info_of_index(index)


def _type_cls_to_type_info(cls):
    """TypeInfo of a registered class, or None."""
    return _CLASS_TO_INFO.get(cls)


def _type_index_to_type_info(type_index):
    """TypeInfo of a type index; RuntimeError if no type has it."""
    _global("ffi._CheckTypeIndex")(type_index)
    return _info_of_index(type_index)


cdef object _type_attr(int32_t type_index, str name):
    """Type attribute `name` of exactly this type, or None."""
    cdef TVMFFIByteArray bytes = _byte_array(name)
    cdef const TVMFFITypeAttrColumn* column = TVMFFIGetTypeAttrColumn(&bytes)
    cdef int64_t position
    if column == NULL:
        return None
    position = <int64_t>type_index - column.begin_index
    if position < 0 or position >= column.size:
        return None
    return _view_to_python(&column.data[position], NULL)


def _lookup_type_attr(int32_t type_index, attr_key, ancestor=False):
    """Type attribute of exactly this type, or of its nearest ancestor too; None if unset."""
    name = str(attr_key)
    found = _type_attr(type_index, name)
    if found is None and ancestor:
        for parent in reversed(_info_of_index(type_index).type_ancestors):
            found = _type_attr(parent, name)
            if found is not None:
                break
    return found


def _register_type_attr(int32_t type_index, name, value):
    """Set a type attribute once."""
    cdef str text = str(name)
    cdef TVMFFIByteArray bytes = _byte_array(text)
    cdef CallFrame frame
    cdef PyObject* items[1]
    items[0] = <PyObject*>value
    PackArgs(items, 1, &frame)
    _check(TVMFFITypeRegisterAttr(type_index, &bytes, &frame.args[0]))


cdef object _class_of_index(int32_t type_index):
    """Class in which objects of a type are handed out."""
    if type_index < len(_TYPE_CLASSES):
        found = _TYPE_CLASSES[type_index]
        if found is not None:
            return found
    return _make_fallback_class(type_index)


# First part of a type key -> module whose import registers the classes of those types.
_CLASS_PROVIDERS = {}


cdef int _ask_provider(int32_t type_index) except -1:
    """Import the module that registers the class of a type, if there is one."""
    info = _info_of_index(type_index)
    module = _CLASS_PROVIDERS.get(info.type_key.partition(".")[0])
    if module is not None and module not in sys.modules:
        import importlib

        importlib.import_module(module)
    return 0


cdef class _Variant:
    """Class for those objects of a type whose field points to an object of a given type."""

    cdef int64_t offset
    cdef int32_t field_type
    cdef object cls


cdef dict _VARIANTS = {}
cdef bint _HAS_VARIANTS = False


def _register_variant(int32_t type_index, str field, int32_t field_type, cls):
    """Hand out objects of a type as `cls` when their object field has a given type."""
    global _HAS_VARIANTS
    cdef _Variant variant = _Variant.__new__(_Variant)
    for info in [_info_of_index(i) for i in _info_of_index(type_index).type_ancestors] + [
            _info_of_index(type_index)]:
        for member in info.fields:
            if member.name == field:
                variant.offset = member.offset
    if variant.offset == 0:
        raise ValueError(f"{_type_key(type_index)} has no field {field}")
    variant.field_type = field_type
    variant.cls = cls
    with _REGISTRY_LOCK:
        _VARIANTS[type_index] = variant
        _HAS_VARIANTS = True
        if type_index < len(_TYPE_CLASSES):
            _set_fast_class(type_index)


cdef inline object _class_of_object(int32_t type_index, void* handle):
    """Class in which one object is handed out."""
    cdef _Variant variant
    cdef void* target
    if _HAS_VARIANTS:
        found = _VARIANTS.get(type_index)
        if found is not None:
            variant = found
            target = (<void**>(<char*>handle + variant.offset))[0]
            if target != NULL and (<TVMFFIObject*>target).type_index == variant.field_type:
                return variant.cls
    return _class_of_index(type_index)


cdef object _make_fallback_class(int32_t type_index):
    """Class for a type that no Python class registered, with all its fields and methods."""
    _ask_provider(type_index)  # before the lock: an import takes locks of its own
    with _REGISTRY_LOCK:
        if type_index < len(_TYPE_CLASSES) and _TYPE_CLASSES[type_index] is not None:
            return _TYPE_CLASSES[type_index]
        info = _info_of_index(type_index)
        parent = Object if info.parent_type_info is None \
            else _class_of_index(info.parent_type_info.type_index)
        module, dot, name = info.type_key.rpartition(".")
        cls = type(parent)(name or info.type_key, (parent,), {
            "__slots__": (),
            "__module__": module.partition(".")[0] or "tvm_ffi",
            "__qualname__": info.type_key,
            "__doc__": f"Objects of type {info.type_key}, which has no Python class of its own.",
        })
        _install_members(cls, info)
        _set_class(info, cls)
        return cls


cdef int _set_class(info, cls) except -1:
    cdef int32_t type_index = info.type_index
    while len(_TYPE_CLASSES) <= type_index:
        _TYPE_CLASSES.extend([None] * 256)
    info.type_cls = cls
    cls.__tvm_ffi_type_info__ = info
    _TYPE_CLASSES[type_index] = cls
    _set_fast_class(type_index)
    _CLASS_TO_INFO[cls] = info
    return 0


cdef int _set_fast_class(int32_t type_index) except -1:
    """Let the hot path hand out objects of a type itself if their class is plain."""
    cls = _TYPE_CLASSES[type_index]
    cdef PyTypeObject* plain = NULL
    if cls is not None and MakePlain(<PyTypeObject*><PyObject*>cls, False) \
            and type_index not in _VARIANTS:
        plain = <PyTypeObject*><PyObject*>cls
    if not class_table().Set(type_index, plain):
        raise MemoryError
    return 0


def _set_type_cls(info, cls):
    """Make `cls` the class of a type."""
    with _REGISTRY_LOCK:
        _set_class(info, cls)


cdef int _install_members(cls, info) except -1:
    """Add reflected fields and methods that the class body does not define itself."""
    body = cls.__dict__
    for field in info.fields:
        if field.name not in body and field.name != "__dict__":
            setattr(cls, field.name, field.as_property(cls))
    for member in info.methods:
        name = member.name
        if name == "__ffi_init__":
            continue
        if name not in body:
            setattr(cls, name, member.as_callable(cls))
    function = _constructor_of(info)
    if function is not None and "__ffi_init__" not in body:
        cls.__ffi_init__ = _make_ffi_init(function)
    return 0


cdef object _constructor_of(info):
    """The packed constructor of a type: its ``__ffi_init__`` attribute or static method."""
    for member in info.methods:
        if member.name == "__ffi_init__":
            return member.func
    return _type_attr(info.type_index, "__ffi_init__")


def _constructor_function(info):
    """Packed constructor of a type, or None."""
    return _constructor_of(info)


def _make_ffi_init(function):
    """Method that builds the object of `self` with a packed constructor."""

    def __ffi_init__(self, /, *args, **kwargs):
        self.__init_handle_by_constructor__(function, *_with_kwargs(args, kwargs))

    return __ffi_init__


cdef tuple _with_kwargs(tuple args, dict kwargs):
    """Arguments of an automatic constructor, keywords behind the sentinel."""
    if not kwargs:
        return args
    return (*args, KWARGS, *[part for pair in kwargs.items() for part in pair])


cdef class InitMethod:
    """The ``__init__`` of a registered class.

    Calling it on an object that is already built does nothing, so that ``super().__init__()`` in a
    subclass is harmless.
    """

    cdef readonly object type_info
    cdef readonly Function constructor  # None: objects come from elsewhere
    cdef readonly object after          # called with the object once it is built, or None
    cdef object signature
    cdef dict __dict__

    def __init__(self, cls, type_info, constructor, after=None):
        self.type_info = type_info
        self.constructor = constructor
        self.after = after
        for name, text in (("__name__", "__init__"), ("__module__", cls.__module__),
                           ("__qualname__", f"{cls.__qualname__}.__init__"),
                           ("__doc__", "Build the object from the values of its fields.")):
            setattr(self, name, text)

    def __get__(self, obj, owner):
        return self if obj is None else NewMethod(self, obj)

    def __call__(self, CObject obj, *args, **kwargs):
        if obj.chandle != NULL:
            return
        self.check_receiver(obj)
        obj.__init_handle_by_constructor__(self.constructor, *_with_kwargs(args, kwargs))
        if self.after is not None:
            self.after(obj)

    cdef int check_receiver(self, CObject obj) except -1:
        cls = type(obj)
        own = cls.__dict__.get("__tvm_ffi_type_info__")
        if self.constructor is None:
            raise TypeError(
                f"`{cls.__name__}` cannot be constructed directly. "
                "Define a custom __init__ or use a factory method.")
        if own is not None and own is not self.type_info \
                and own.type_index != self.type_info.type_index:
            raise TypeError(
                f"{cls.__name__} must define its own __init__: the inherited one builds "
                f"{self.type_info.type_key}, not {own.type_key}")
        return 0

    @property
    def __signature__(self):
        """Signature from the reflected fields."""
        from . import _dunder

        if self.signature is None:
            self.signature = _dunder._make_init_signature(self.type_info) \
                if self.constructor is not None else _dunder._ANY_SIGNATURE
        return self.signature

    def __repr__(self):
        return f"<FFI constructor of {self.type_info.type_key}>"


def _register_object_by_index(int32_t type_index, cls, bint init=True):
    """Bind `cls` to a type: fields, methods, constructor, class table."""
    info = _info_of_index(type_index)
    with _REGISTRY_LOCK:
        _install_members(cls, info)
        if init and "__init__" not in cls.__dict__:
            inherited = getattr(cls, "__init__", None)
            if inherited is object.__init__ or inherited is CObject.__init__ \
                    or isinstance(inherited, InitMethod):
                cls.__init__ = InitMethod(cls, info, _constructor_of(info))
        _set_class(info, cls)
        _plan_construction(cls)
    return info


def _plan_construction(cls):
    """Let a registered class with an automatic ``__init__`` be called without a detour."""
    cdef InitMethod init
    cdef void* kwargs = NULL
    cdef PyObject* after = NULL
    own = cls.__dict__.get("__init__")
    if not isinstance(own, InitMethod):
        return
    init = own
    if init.constructor is None or init.type_info is not cls.__dict__.get("__tvm_ffi_type_info__"):
        return
    if init.after is not None:
        after = <PyObject*>init.after
    if KWARGS is not None:
        kwargs = (<CObject?>KWARGS).chandle
    AddPlan(cls, 0, init, init.constructor, after, kwargs)


def _object_type_info(obj):
    """TypeInfo of the dynamic type of an object."""
    return _info_of_index(_type_index(obj))
