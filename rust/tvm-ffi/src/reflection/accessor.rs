// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

//! Reading and writing fields, finding methods and type attributes.

use tvm_ffi_sys::{
    TVMFFIAny, TVMFFIByteArray, TVMFFIFieldFlagBitMask, TVMFFIFieldInfo, TVMFFIFieldSetter,
    TVMFFIGetTypeAttrColumn, TVMFFIMethodInfo, TVMFFITypeAttrColumn, TVMFFITypeInfo,
};

use crate::any::{Any, AnyView};
use crate::error::{Result, ATTRIBUTE_ERROR, TYPE_ERROR};
use crate::function::Function;
use crate::object::{self, lookup_type_index, type_info, ObjectArc, ObjectRefCast, ObjectRefCore};
use crate::type_traits::ContainerElement;

/// Name of a registered type.
pub fn type_key(type_index: i32) -> &'static str {
    object::type_key(type_index)
}

/// The type and its ancestors, nearest first.
fn lineage(info: &'static TVMFFITypeInfo) -> impl Iterator<Item = &'static TVMFFITypeInfo> {
    let ancestors = (0..info.type_depth as usize).rev();
    // SAFETY: type_ancestors has type_depth entries, which live for ever.
    std::iter::once(info).chain(ancestors.map(move |i| unsafe { &**info.type_ancestors.add(i) }))
}

fn fields_of(info: &'static TVMFFITypeInfo) -> &'static [TVMFFIFieldInfo] {
    if info.num_fields == 0 {
        return &[];
    }
    // SAFETY: the table keeps the fields of a registered type.
    unsafe { std::slice::from_raw_parts(info.fields, info.num_fields as usize) }
}

fn methods_of(info: &'static TVMFFITypeInfo) -> &'static [TVMFFIMethodInfo] {
    if info.num_methods == 0 {
        return &[];
    }
    // SAFETY: as above.
    unsafe { std::slice::from_raw_parts(info.methods, info.num_methods as usize) }
}

fn find_field(type_index: i32, name: &str) -> Result<&'static TVMFFIFieldInfo> {
    let mut fields = lineage(type_info(type_index)).flat_map(fields_of);
    // SAFETY: the names live as long as the table.
    match fields.find(|field| unsafe { field.name.as_str() } == name) {
        Some(field) => Ok(field),
        None => crate::bail!(
            ATTRIBUTE_ERROR,
            "Type `{}` does not have field `{name}`",
            type_key(type_index)
        ),
    }
}

/// Method of a type or its nearest ancestor that has one of this name.
pub fn get_method(type_index: i32, name: &str) -> Option<Function> {
    let mut methods = lineage(type_info(type_index)).flat_map(methods_of);
    // SAFETY: names and method cells live as long as the table.
    let method = methods.find(|method| unsafe { method.name.as_str() } == name)?;
    // SAFETY: as above.
    unsafe { AnyView::from_raw(method.method) }.try_as::<Function>()
}

/// Address of a field of an object.
fn field_address<R: ObjectRefCore>(object: &R, field: &TVMFFIFieldInfo) -> *mut std::ffi::c_void {
    ObjectArc::as_handle(R::data(object)).wrapping_byte_add(field.offset as usize)
}

/// Checks that `object` has the fields of the type that an accessor was made for.
fn check_type<R: ObjectRefCore>(object: &R, type_index: i32) -> Result<()> {
    let actual = ObjectRefCast::type_index(object);
    if lineage(type_info(actual)).any(|info| info.type_index == type_index) {
        return Ok(());
    }
    crate::bail!(
        TYPE_ERROR,
        "Cannot treat type `{}` as type `{}`",
        type_key(actual),
        type_key(type_index)
    )
}

/// Reads one field, found once by name.
#[derive(Clone, Copy, Debug)]
pub struct FieldGetter {
    type_index: i32,
    field: &'static TVMFFIFieldInfo,
}

// SAFETY: table entries are never changed or freed.
unsafe impl Send for FieldGetter {}
// SAFETY: as above.
unsafe impl Sync for FieldGetter {}

impl FieldGetter {
    /// Getter of field `name` of the type, or an ancestor; AttributeError if there is none.
    pub fn new(type_key: &str, name: &str) -> Result<Self> {
        let type_index = lookup_type_index(type_key)?;
        Ok(Self { type_index, field: find_field(type_index, name)? })
    }

    /// The field of `object`; TypeError if it is of another type.
    pub fn get<R: ObjectRefCore, T: ContainerElement>(&self, object: &R) -> Result<T> {
        check_type(object, self.type_index)?;
        let mut cell = TVMFFIAny::new();
        let Some(getter) = self.field.getter else {
            crate::bail!(ATTRIBUTE_ERROR, "field has no getter");
        };
        // SAFETY: the object has this field.
        let code = unsafe { getter(field_address(object, self.field), &mut cell) };
        crate::check_safe_call!(code)?;
        // SAFETY: on success the result is owned by the caller.
        unsafe { Any::from_raw(cell) }.cast::<T>()
    }
}

/// Writes one field, found once by name.
#[derive(Clone, Copy, Debug)]
pub struct FieldSetter {
    type_index: i32,
    field: &'static TVMFFIFieldInfo,
}

// SAFETY: table entries are never changed or freed.
unsafe impl Send for FieldSetter {}
// SAFETY: as above.
unsafe impl Sync for FieldSetter {}

impl FieldSetter {
    /// Setter of field `name`; AttributeError if there is none or it is read-only.
    pub fn new(type_key: &str, name: &str) -> Result<Self> {
        let type_index = lookup_type_index(type_key)?;
        let field = find_field(type_index, name)?;
        let writable = TVMFFIFieldFlagBitMask::kTVMFFIFieldFlagBitMaskWritable as i64;
        crate::ensure!(
            field.flags & writable != 0 && !field.setter.is_null(),
            ATTRIBUTE_ERROR,
            "field `{name}` of type `{type_key}` is read-only"
        );
        Ok(Self { type_index, field })
    }

    /// Assigns the field of `object`, converting the value to the field's type.
    ///
    /// # Safety
    /// Nobody else reads or writes the field meanwhile; references to it do not exist.
    pub unsafe fn set<R: ObjectRefCore, T: ContainerElement>(
        &self,
        object: &R,
        value: T,
    ) -> Result<()> {
        check_type(object, self.type_index)?;
        let address = field_address(object, self.field);
        let as_function = TVMFFIFieldFlagBitMask::kTVMFFIFieldFlagBitSetterIsFunctionObj as i64;
        if self.field.flags & as_function != 0 {
            let index = tvm_ffi_sys::TVMFFITypeIndex::kTVMFFIFunction as i32;
            let cell = TVMFFIAny::from_bits(index, self.field.setter as u64);
            // SAFETY: by flag the setter is a function object, which the table keeps.
            let setter: Function = unsafe { AnyView::from_raw(cell) }.cast()?;
            return setter.call_tuple((address, value.into_any())).map(drop);
        }
        let value = value.into_any();
        // SAFETY: without the flag the setter is a C function of this type; the object has the
        // field.
        crate::check_safe_call!(unsafe {
            let setter: TVMFFIFieldSetter = std::mem::transmute(self.field.setter);
            setter(address, value.as_raw())
        })
    }
}

/// Values of one type attribute for all types.
#[derive(Clone, Copy, Debug)]
pub struct TypeAttrColumn {
    column: &'static TVMFFITypeAttrColumn,
}

impl TypeAttrColumn {
    /// The column of this name, if any type registered one.
    pub fn new(name: &str) -> Option<Self> {
        let name = TVMFFIByteArray::from_str(name);
        // SAFETY: the name lives through the call; columns are never freed.
        unsafe { TVMFFIGetTypeAttrColumn(&name).as_ref() }.map(|column| Self { column })
    }

    /// Value for a type; None for types without one. Ancestors do not count.
    pub fn get(&self, type_index: i32) -> Any {
        let index = type_index - self.column.begin_index;
        if index < 0 || index >= self.column.size {
            return Any::new();
        }
        // SAFETY: inside the column, whose cells are live.
        unsafe { Any::from(AnyView::from_raw(self.column.data.add(index as usize).read())) }
    }
}

/// Attribute `name` of a type, None if it has no such attribute.
pub fn get_type_attr(type_index: i32, name: &str) -> Any {
    TypeAttrColumn::new(name).map_or_else(Any::new, |column| column.get(type_index))
}
