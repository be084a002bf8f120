# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Types whose fields Python defines: index, layout, accessors, methods."""

cdef extern from "Python.h":
    void Py_IncRef(PyObject*)

cdef dict _STRUCTURE_KINDS = {
    None: 0,
    "tree": 1,
    "var": 2,
    "dag": 3,
    "const-tree": 4,
    "singleton": 5,
}
cdef dict _FIELD_ROLE_FLAGS = {
    None: 0,
    "ignore": kTVMFFIFieldFlagBitMaskSEqHashIgnore,
    "def": kTVMFFIFieldFlagBitMaskSEqHashDefPattern,
    "def-pattern": kTVMFFIFieldFlagBitMaskSEqHashDefPattern,
    "def-recursive": kTVMFFIFieldFlagBitMaskSEqHashDefPattern,
    "def-simple": kTVMFFIFieldFlagBitMaskSEqHashDefSimple,
    "def-non-recursive": kTVMFFIFieldFlagBitMaskSEqHashDefSimple,
}

# Keys of types whose registration was undone; the type table cannot forget them, so the same class
# may come back.
cdef dict _ROLLED_BACK = {}


def _register_py_class(parent_type_info, type_key, type_cls):
    """Allocate a type for a Python class; its fields follow with `_register_fields`.

    Returns:
        TypeInfo: With `fields` None.

    Raises:
        ValueError: The key is taken.
    """
    cdef str key = str(type_key)
    cdef TVMFFIByteArray bytes = _byte_array(key)
    cdef int32_t parent_index = parent_type_info.type_index
    cdef int32_t depth = <int32_t>len(parent_type_info.type_ancestors) + 1
    cdef int32_t index
    with _REGISTRY_LOCK:
        if _ROLLED_BACK.pop(key, None) != parent_index \
                and _object_type_key_to_index(key) is not None:
            raise ValueError(f"Type key '{key}' is already registered")
        _check_subclassable(parent_type_info)
        index = TVMFFITypeGetOrAllocIndex(&bytes, -1, depth, 0, 1, parent_index)
        info = TypeInfo(None, index, key,
                        [*parent_type_info.type_ancestors, parent_index],
                        parent_type_info=parent_type_info)
        info._is_pending = True
        while len(_TYPE_INFOS) <= index:
            _TYPE_INFOS.extend([None] * 256)
        _TYPE_INFOS[index] = info
        _TYPE_KEY_TO_INFO[key] = info
        _set_class(info, type_cls)
    return info


cdef int _check_subclassable(info) except -1:
    if _type_attr(info.type_index, "__ffi_type_final__") is True \
            or kTVMFFIStr <= info.type_index < 128:
        raise TypeError(f"{info.type_key} is final: it cannot be subclassed")
    return 0


def _rollback_py_class(type_info):
    """Forget a class whose fields could not be registered; its key becomes free again."""
    with _REGISTRY_LOCK:
        _ROLLED_BACK[type_info.type_key] = type_info.parent_type_info.type_index
        _TYPE_KEY_TO_INFO.pop(type_info.type_key, None)
        _TYPE_INFOS[type_info.type_index] = None
        _TYPE_CLASSES[type_info.type_index] = None
        _set_fast_class(type_info.type_index)
        cls = type_info.type_cls
        if cls is not None:
            _CLASS_TO_INFO.pop(cls, None)
            if cls.__dict__.get("__tvm_ffi_type_info__") is type_info:
                del cls.__tvm_ffi_type_info__


cdef inline int64_t _align_up(int64_t value, int64_t alignment) noexcept:
    return (value + alignment - 1) // alignment * alignment


def _register_fields(type_info, fields, structure_kind=None):
    """Lay out fields behind those of the parent and register them.

    Args:
        type_info: From `_register_py_class`.
        fields: ``dataclasses.Field`` with name and schema.
        structure_kind: Name of the structural equality kind, its number, or None.
    """
    cdef int64_t offset = type_info.parent_type_info.total_size
    cdef TVMFFITypeMetadata metadata
    if offset < <int64_t>sizeof(TVMFFIObject):
        raise TypeError(
            f"{type_info.parent_type_info.type_key} does not tell the size of its objects, so "
            f"{type_info.type_key} cannot add fields to it")
    plans = []
    for field in fields:
        schema = field._ty_schema
        size, alignment, static_index = _ORIGIN_NATIVE_LAYOUT.get(
            schema.origin, (8, 8, kTVMFFIObject))
        offset = _align_up(offset, alignment)
        plans.append((field, size, alignment, offset, static_index, schema._converter))
        offset += size
    # Nothing above changed the type table; what follows cannot be undone.
    own = [_register_one_field(type_info.type_index, plan) for plan in plans]
    metadata.doc.data = NULL
    metadata.doc.size = 0
    metadata.creator = NULL
    metadata.total_size = <int32_t>_align_up(offset, 8)
    metadata.structural_eq_hash_kind = <_StructuralKind><int>(
        structure_kind if isinstance(structure_kind, int) else _STRUCTURE_KINDS[structure_kind])
    _check(TVMFFITypeRegisterMetadata(type_info.type_index, &metadata))
    type_info._own_members = (own, [])
    type_info._is_pending = False
    _global("ffi._PyClassRegisterTypeAttrColumns")(type_info.type_index, metadata.total_size)


cdef int64_t _field_flags(field) except -1:
    cdef int64_t flags = kTVMFFIFieldFlagBitSetterIsFunctionObj | _FIELD_ROLE_FLAGS[
        field.structural_eq]
    if not field.frozen:
        flags |= kTVMFFIFieldFlagBitMaskWritable
    if not field.init:
        flags |= kTVMFFIFieldFlagBitMaskInitOff
    if field.kw_only:
        flags |= kTVMFFIFieldFlagBitMaskKwOnly
    if not field.repr:
        flags |= kTVMFFIFieldFlagBitMaskReprOff
    if not field.compare:
        flags |= kTVMFFIFieldFlagBitMaskCompareOff
    if not (field.compare if field.hash is None else field.hash):
        flags |= kTVMFFIFieldFlagBitMaskHashOff
    if field.default_factory is not MISSING:
        flags |= kTVMFFIFieldFlagBitMaskHasDefault | kTVMFFIFieldFlagBitMaskDefaultFromFactory
    elif field.default is not MISSING:
        flags |= kTVMFFIFieldFlagBitMaskHasDefault
    return flags


cdef object _register_one_field(int32_t type_index, tuple plan):
    """Register one field; returns its TypeField."""
    import json

    cdef TVMFFIFieldInfo info
    cdef Function setter
    cdef int64_t size
    cdef int64_t alignment
    cdef int64_t offset
    cdef int32_t static_index
    cdef _TypeConverter converter
    field, size, alignment, offset, static_index, converter = plan
    cdef str name = field.name
    cdef str doc = field.doc or ""
    schema = {"type_schema": field._ty_schema.to_json()}
    cdef str metadata = json.dumps(schema)
    cdef TVMFFIAny default = _none_any()
    Py_IncRef(<PyObject*>converter)  # the setter lives as long as the type table
    setter = _global("ffi.MakeFieldSetter")(
        static_index, <int64_t><uintptr_t><void*><PyObject*>converter,
        <int64_t><uintptr_t><void*>&_convert_field_value)
    info.name = _byte_array(name)
    info.doc = _byte_array(doc)
    info.metadata = _byte_array(metadata)
    info.flags = _field_flags(field)
    info.size = size
    info.alignment = alignment
    info.offset = offset
    info.getter = <TVMFFIFieldGetter><void*><uintptr_t>_global("ffi.MakeFieldGetter")(static_index)
    info.setter = setter.chandle
    info.field_static_type_index = static_index
    if field.default_factory is not MISSING:
        default = _own_function(field.default_factory)
    elif field.default is not MISSING:
        ToOwnedAny(<PyObject*>field.default, &default)
    info.default_value_or_factory = default
    try:
        _check(TVMFFITypeRegisterField(type_index, &info))
    finally:
        _drop_any(&default)
    made = _read_field(&info, type_index)
    made.c_default = field.default
    made.c_default_factory = field.default_factory
    made._metadata = schema
    made._ty = field._ty_schema
    made.dataclass_field = field
    (<FieldSetter>made.setter).keep = setter
    return made


cdef TVMFFIAny _own_function(callable_object) except *:
    """Owned Function for a callable."""
    cdef TVMFFIAny out = _none_any()
    cdef Function function = callable_object if isinstance(callable_object, Function) \
        else _convert_to_ffi_func(callable_object)
    TVMFFIObjectIncRef(function.chandle)
    _set_object(&out, function.chandle)
    return out


def _register_py_methods(type_info, py_methods=None, type_attr_names=frozenset()):
    """Register what a Python class defines besides fields.

    Args:
        type_info: The type.
        py_methods: ``(name, value, is_static, metadata JSON, doc)``; a name in `type_attr_names`
            becomes a type attribute, any other a method.
        type_attr_names: Names of type attributes.
    """
    cdef TVMFFIMethodInfo info
    cdef TVMFFIAny owned
    cdef str name
    cdef str doc
    cdef str metadata
    for entry in py_methods or ():
        name, value, is_static, metadata, doc = entry
        if name in type_attr_names:
            _register_type_attr(type_info.type_index, name,
                                _convert_to_ffi_func(value) if callable(value)
                                and not isinstance(value, CObject) else value)
            continue
        owned = _own_function(value)
        info.name = _byte_array(name)
        info.doc = _byte_array(doc)
        info.metadata = _byte_array(metadata)
        info.flags = kTVMFFIFieldFlagBitMaskIsStaticMethod if is_static else 0
        info.method = owned
        try:
            _check(TVMFFITypeRegisterMethod(type_info.type_index, &info))
            type_info._load()[1].append(TypeMethod(
                name, doc or None, _view_to_python(&owned, NULL), metadata, is_static))
        finally:
            _drop_any(&owned)
