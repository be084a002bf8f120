// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

//! [`EnumDef`]: entries of enum types. An entry is an object that exists once per process.

use std::sync::{Mutex, MutexGuard};

use tvm_ffi_sys::{TVMFFIByteArray, TVMFFITypeRegisterAttr};

use super::registry::{drop_if_defined, ShallowCopy, UnsafeInit};
use super::{get_type_attr, FieldGetter};
use crate::any::Any;
use crate::collections::dict::Dict;
use crate::collections::list::List;
use crate::error::{Result, RUNTIME_ERROR, TYPE_ERROR};
use crate::function::Function;
use crate::object::{lookup_type_index, Object, ObjectArc, ObjectCore, ObjectRef, ObjectRefCast};
use crate::string::String;

const STATE: &str = "ffi.EnumState";
const STATE_ATTR: &str = "__ffi_enum__";

/// Parent struct of enum types whose entries have a number and a name.
#[repr(C)]
#[derive(Debug, crate::derive::Object)]
#[type_key = "ffi.Enum"]
pub struct EnumObj {
    base: Object,
    int_index: i64,
    str_index: String,
}

impl EnumObj {
    /// Position or chosen number of the entry.
    pub fn number(&self) -> i64 {
        self.int_index
    }

    /// Name of the entry.
    pub fn name(&self) -> &str {
        self.str_index.as_str()
    }
}

impl ShallowCopy for EnumObj {
    fn shallow_copy(&self) -> Self {
        let (int_index, str_index) = (self.int_index, self.str_index.clone());
        Self { base: Object::new(), int_index, str_index }
    }
}

// SAFETY: the only field with a destructor goes through drop_if_defined; there is no Drop.
unsafe impl UnsafeInit for EnumObj {
    unsafe fn drop_defined_fields(this: *mut Self) {
        // SAFETY: promised by the caller.
        unsafe { drop_if_defined::<String>(&raw mut (*this).str_index) };
    }
}

macro_rules! plain_enum {
    ($(#[$meta:meta])* $name:ident, $key:literal) => {
        $(#[$meta])*
        #[repr(C)]
        #[derive(Debug, crate::derive::Object)]
        #[type_key = $key]
        pub struct $name {
            base: EnumObj,
        }

        impl From<EnumObj> for $name {
            fn from(base: EnumObj) -> Self {
                Self { base }
            }
        }

        impl std::ops::Deref for $name {
            type Target = EnumObj;
            fn deref(&self) -> &EnumObj {
                &self.base
            }
        }

        impl ShallowCopy for $name {
            fn shallow_copy(&self) -> Self {
                Self { base: self.base.shallow_copy() }
            }
        }

        // SAFETY: as for EnumObj.
        unsafe impl UnsafeInit for $name {
            unsafe fn drop_defined_fields(this: *mut Self) {
                // SAFETY: promised by the caller.
                unsafe { EnumObj::drop_defined_fields(&raw mut (*this).base) };
            }
        }
    };
}

plain_enum!(
    /// Parent struct of enum types whose entries stand for their number.
    IntEnumObj,
    "ffi.IntEnum"
);
plain_enum!(
    /// Parent struct of enum types whose entries stand for their text.
    StrEnumObj,
    "ffi.StrEnum"
);

/// What is known of one enum type; the containers are those of the object, shared.
struct State {
    entries: List<ObjectRef>,
    indexes: Dict<Any, ObjectRef>,
    attrs: Dict<String, Dict<ObjectRef, Any>>,
}

impl State {
    fn find(type_index: i32) -> Result<Option<Self>> {
        let state = get_type_attr(type_index, STATE_ATTR);
        if state.is_none() {
            return Ok(None);
        }
        let object = state.cast::<ObjectRef>()?;
        Ok(Some(Self {
            entries: FieldGetter::new(STATE, "entries")?.get(&object)?,
            indexes: FieldGetter::new(STATE, "indexes")?.get(&object)?,
            attrs: FieldGetter::new(STATE, "attrs")?.get(&object)?,
        }))
    }

    fn find_or_create(type_index: i32) -> Result<Self> {
        if let Some(state) = Self::find(type_index)? {
            return Ok(state);
        }
        let init = Function::from_type_method(lookup_type_index(STATE)?, "__ffi_init__")?;
        let state = init.call_tuple(())?;
        let name = TVMFFIByteArray::from_str(STATE_ATTR);
        // SAFETY: the table copies what it keeps.
        crate::check_safe_call!(unsafe {
            TVMFFITypeRegisterAttr(type_index, &name, state.as_raw())
        })?;
        match Self::find(type_index)? {
            Some(state) => Ok(state),
            None => crate::bail!(RUNTIME_ERROR, "the state of an enum type was not stored"),
        }
    }
}

/// Definitions come from many threads, the containers of the state do not synchronise.
fn lock() -> MutexGuard<'static, ()> {
    static DEFINING: Mutex<()> = Mutex::new(());
    DEFINING.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Defines one entry of the enum type `T`, a child of [`EnumObj`], [`IntEnumObj`] or
/// [`StrEnumObj`].
///
/// ```
/// use tvm_ffi::{rs_class, EnumDef, EnumObj, Result};
///
/// #[rs_class("docs.rust.Color", final, init = false, s_eq_hash_kind = UniqueInstance)]
/// pub struct ColorObj {
///     base: EnumObj,
/// }
///
/// # fn main() -> Result<()> {
/// EnumDef::new("red", ColorObj::new)?.set_attr("rgb", 0xff0000)?;
/// EnumDef::new("green", ColorObj::new)?.set_attr("rgb", 0x00ff00)?;
/// let green = EnumDef::<ColorObj>::get("green")?.expect("defined above");
/// assert_eq!((green.number(), green.name()), (1, "green"));
/// let rgb = EnumDef::<ColorObj>::attr("green", "rgb")?;
/// assert_eq!(rgb.cast::<i64>()?, 0x00ff00);
/// # Ok(())
/// # }
/// ```
pub struct EnumDef<T: ObjectCore> {
    entry: ObjectArc<T>,
}

impl<T: ObjectCore> EnumDef<T> {
    /// Entry whose number is its position. `make` puts the parent's part into the struct.
    pub fn new(name: &str, make: impl FnOnce(EnumObj) -> T) -> Result<Self> {
        Self::define(name, None, make)
    }

    /// Entry with a number of its own.
    pub fn with_number(name: &str, number: i64, make: impl FnOnce(EnumObj) -> T) -> Result<Self> {
        Self::define(name, Some(number), make)
    }

    fn define(name: &str, number: Option<i64>, make: impl FnOnce(EnumObj) -> T) -> Result<Self> {
        let type_index = T::type_index();
        crate::ensure!(
            EnumObj::is_instance(type_index),
            TYPE_ERROR,
            "EnumDef expects a type that derives from ffi.Enum, got `{}`",
            T::TYPE_KEY
        );
        let _guard = lock();
        let state = State::find_or_create(type_index)?;
        let number = number.unwrap_or(state.entries.len() as i64);
        let keys = [Any::from(number), Any::from(String::from(name))];
        for key in &keys {
            crate::ensure!(
                !state.indexes.contains_key(key)?,
                RUNTIME_ERROR,
                "Enum `{}` already has an entry `{name}` or number {number}",
                T::TYPE_KEY
            );
        }
        let base =
            EnumObj { base: Object::new(), int_index: number, str_index: String::from(name) };
        let entry = ObjectArc::new(make(base));
        let object = as_object(&entry);
        state.entries.append(object.clone())?;
        for key in keys {
            state.indexes.insert(key, object.clone())?;
        }
        Ok(Self { entry })
    }

    /// Sets an attribute of the entry; RuntimeError if it has it already.
    pub fn set_attr(self, key: &str, value: impl Into<Any>) -> Result<Self> {
        let _guard = lock();
        let state = State::find_or_create(T::type_index())?;
        let name = String::from(key);
        if !state.attrs.contains_key(&name)? {
            state.attrs.insert(name.clone(), Dict::new())?;
        }
        let column = state.attrs.get(&name)?.unwrap_or_default();
        let object = as_object(&self.entry);
        crate::ensure!(
            !column.contains_key(&object)?,
            RUNTIME_ERROR,
            "Attribute `{key}` of an entry of enum `{}` is already set",
            T::TYPE_KEY
        );
        column.insert(object, value.into())?;
        Ok(self)
    }

    /// The entry.
    pub fn entry(&self) -> &ObjectArc<T> {
        &self.entry
    }

    /// The entry of this name or number, if there is one.
    pub fn get(key: impl EnumKey) -> Result<Option<ObjectArc<T>>> {
        let Some(state) = State::find(T::type_index())? else { return Ok(None) };
        let Some(object) = state.indexes.get(&key.into_key())? else { return Ok(None) };
        crate::ensure!(
            object.is_instance_of::<T>(),
            TYPE_ERROR,
            "an entry of enum `{}` is of type `{}`",
            T::TYPE_KEY,
            ObjectRefCast::type_key(&object)
        );
        let data = crate::object::ObjectRefCore::into_data(object);
        // SAFETY: the type was checked.
        Ok(Some(unsafe { ObjectArc::cast_unchecked(data) }))
    }

    /// Attribute of an entry; None if the entry or its attribute is not there.
    pub fn attr(entry: impl EnumKey, key: &str) -> Result<Any> {
        let Some(state) = State::find(T::type_index())? else { return Ok(Any::new()) };
        let Some(object) = state.indexes.get(&entry.into_key())? else { return Ok(Any::new()) };
        let column = state.attrs.get(&String::from(key))?;
        Ok(column.map_or(Ok(None), |column| column.get(&object))?.unwrap_or_default())
    }
}

/// What names an entry: its number or its name.
pub trait EnumKey {
    /// Key in the table of entries.
    fn into_key(self) -> Any;
}

impl EnumKey for i64 {
    fn into_key(self) -> Any {
        Any::from(self)
    }
}

impl EnumKey for &str {
    fn into_key(self) -> Any {
        Any::from(String::from(self))
    }
}

fn as_object<T: ObjectCore>(entry: &ObjectArc<T>) -> ObjectRef {
    // SAFETY: every object is an Object.
    crate::object::ObjectRefCore::from_data(unsafe { ObjectArc::cast_unchecked(entry.clone()) })
}
