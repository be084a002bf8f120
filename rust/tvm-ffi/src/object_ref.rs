// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

//! Reference types: casts, identity, and how their values are stored in cells. Public through
//! [`object`](crate::object).

use tvm_ffi_sys::{TVMFFIAny, TVMFFITypeIndex};

use crate::error::Error;
use crate::object::{inc_ref, type_key, Object, ObjectArc, ObjectCore, ObjectWeak};

/// A reference type: a struct with one [`ObjectArc`] inside.
///
/// # Safety
/// The struct is `#[repr(C)]` or `#[repr(transparent)]` with the `ObjectArc` as its only field
/// that has a size.
pub unsafe trait ObjectRefCore: Sized + Clone {
    /// Struct of the referenced object.
    type ContainerType: ObjectCore;

    /// The pointer inside.
    fn data(this: &Self) -> &ObjectArc<Self::ContainerType>;
    /// Takes the pointer out.
    fn into_data(this: Self) -> ObjectArc<Self::ContainerType>;
    /// Wraps a pointer.
    fn from_data(data: ObjectArc<Self::ContainerType>) -> Self;
}

/// Casts between reference types, and identity.
pub trait ObjectRefCast: ObjectRefCore {
    /// Runtime type of the object.
    fn type_index(&self) -> i32 {
        Self::data(self).header().type_index
    }

    /// Runtime type of the object, by name.
    fn type_key(&self) -> &'static str {
        type_key(ObjectRefCast::type_index(self))
    }

    /// Whether the object is a `T` or derives from it.
    fn is_instance_of<T: ObjectCore>(&self) -> bool {
        T::is_instance(ObjectRefCast::type_index(self))
    }

    /// The object as `T` if it is one.
    fn downcast_ref<T: ObjectCore>(&self) -> Option<&T> {
        // SAFETY: the runtime type was checked.
        self.is_instance_of::<T>()
            .then(|| unsafe { &*ObjectArc::as_raw(Self::data(self)).cast::<T>() })
    }

    /// The same object as reference type `R`, or the value back when it is no `R`.
    fn try_cast<R: ObjectRefCore>(self) -> Result<R, Self> {
        if self.is_instance_of::<R::ContainerType>() {
            // SAFETY: the runtime type was checked.
            Ok(R::from_data(unsafe { ObjectArc::cast_unchecked(Self::into_data(self)) }))
        } else {
            Err(self)
        }
    }

    /// The same object as reference type `R`; TypeError when it is no `R`.
    fn cast<R: ObjectRefCore>(self) -> Result<R, Error> {
        self.try_cast::<R>().map_err(|this| {
            Error::new(
                crate::error::TYPE_ERROR,
                &format!(
                    "Cannot treat type `{}` as type `{}`",
                    ObjectRefCast::type_key(&this),
                    R::ContainerType::TYPE_KEY
                ),
                "",
            )
        })
    }

    /// Reference that does not keep the object alive.
    fn downgrade(&self) -> ObjectWeak<Self::ContainerType> {
        ObjectWeak::new(Self::data(self))
    }

    /// Whether both refer to one object.
    fn same_as<R: ObjectRefCore>(&self, other: &R) -> bool {
        ObjectArc::as_handle(Self::data(self)) == ObjectArc::as_handle(R::data(other))
    }
}

impl<R: ObjectRefCore> ObjectRefCast for R {}

/// Reference to an object of any type.
#[repr(transparent)]
#[derive(Clone, Debug)]
pub struct ObjectRef {
    data: ObjectArc<Object>,
}

impl ObjectRef {
    /// The same object, its static type forgotten.
    pub fn upcast<R: ObjectRefCore>(reference: R) -> Self {
        // SAFETY: every object is an Object.
        Self { data: unsafe { ObjectArc::cast_unchecked(R::into_data(reference)) } }
    }
}

// SAFETY: transparent over the ObjectArc.
unsafe impl ObjectRefCore for ObjectRef {
    type ContainerType = Object;

    fn data(this: &Self) -> &ObjectArc<Object> {
        &this.data
    }
    fn into_data(this: Self) -> ObjectArc<Object> {
        this.data
    }
    fn from_data(data: ObjectArc<Object>) -> Self {
        Self { data }
    }
}

/// Key that compares and hashes an object by identity, and keeps it alive so that its address is
/// not reused.
#[derive(Clone, Debug)]
pub struct ObjectIdentity(ObjectArc<Object>);

impl ObjectIdentity {
    /// Identity of the object behind `reference`.
    pub fn of<R: ObjectRefCore>(reference: &R) -> Self {
        Self(ObjectRef::upcast(reference.clone()).data)
    }
}

impl PartialEq for ObjectIdentity {
    fn eq(&self, other: &Self) -> bool {
        ObjectArc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for ObjectIdentity {}

impl std::hash::Hash for ObjectIdentity {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        ObjectArc::as_raw(&self.0).hash(state);
    }
}

/// Cell operations that all reference types share; called by the derive macros.
#[doc(hidden)]
pub mod ref_cell {
    use super::*;

    /// Cell that borrows the object.
    pub fn borrowed<R: ObjectRefCore>(src: &R) -> TVMFFIAny {
        let data = R::data(src);
        TVMFFIAny::from_bits(data.header().type_index, ObjectArc::as_handle(data) as u64)
    }

    /// Cell that owns the reference.
    pub fn owned<R: ObjectRefCore>(src: R) -> TVMFFIAny {
        let cell = borrowed(&src);
        std::mem::forget(src);
        cell
    }

    /// Whether the cell holds an `R`.
    pub fn is_strict<R: ObjectRefCore>(cell: &TVMFFIAny) -> bool {
        cell.type_index >= TVMFFITypeIndex::kTVMFFIObject as i32
            && R::ContainerType::is_instance(cell.type_index)
    }

    /// Shares the object of the cell.
    ///
    /// # Safety
    /// The cell is strict for `R` and its object alive.
    pub unsafe fn copied<R: ObjectRefCore>(cell: &TVMFFIAny) -> R {
        // SAFETY: promised by the caller.
        unsafe {
            inc_ref(cell.value.v_obj);
            taken(cell)
        }
    }

    /// Takes the reference out of an owned cell.
    ///
    /// # Safety
    /// The cell is strict for `R`, owned, and forgotten by the caller.
    pub unsafe fn taken<R: ObjectRefCore>(cell: &TVMFFIAny) -> R {
        // SAFETY: promised by the caller.
        R::from_data(unsafe { ObjectArc::from_raw(cell.value.v_obj.cast()) })
    }
}

/// Implements [`AnyCompatible`](crate::AnyCompatible) for a reference type whose values are exactly
/// the objects of its container type. Generic parameters go first, in brackets.
#[macro_export]
macro_rules! impl_object_ref_cells {
    ([$($generics:tt)*] $t:ty) => {
        // SAFETY: the cell of a reference is the object with its runtime type.
        unsafe impl<$($generics)*> $crate::AnyCompatible for $t {
            $crate::impl_object_ref_cells!(@shared $t);

            fn type_str() -> ::std::string::String {
                <<$t as $crate::ObjectRefCore>::ContainerType as $crate::ObjectCore>::TYPE_KEY
                    .to_string()
            }
            unsafe fn check_any_strict(data: &$crate::tvm_ffi_sys::TVMFFIAny) -> bool {
                $crate::object::ref_cell::is_strict::<$t>(data)
            }
            unsafe fn try_cast_from_any_view(
                data: &$crate::tvm_ffi_sys::TVMFFIAny,
            ) -> ::core::option::Option<Self> {
                // SAFETY: promised by the caller; copied after the check.
                unsafe {
                    $crate::object::ref_cell::is_strict::<$t>(data)
                        .then(|| $crate::object::ref_cell::copied::<$t>(data))
                }
            }
        }
        $crate::impl_any_compatible_conversions!([$($generics)*] $t);
        $crate::impl_optional_object!([$($generics)*] $t);
    };
    (@shared $t:ty) => {
        const ZERO_IS_VALUE: bool = false;
        const ZERO_IS_NONE: bool = true;

        fn field_static_type_index() -> i32 {
            <<$t as $crate::ObjectRefCore>::ContainerType as $crate::ObjectCore>::type_index()
        }
        unsafe fn copy_to_any_view(src: &Self, data: &mut $crate::tvm_ffi_sys::TVMFFIAny) {
            *data = $crate::object::ref_cell::borrowed::<$t>(src);
        }
        unsafe fn move_to_any(src: Self, data: &mut $crate::tvm_ffi_sys::TVMFFIAny) {
            *data = $crate::object::ref_cell::owned::<$t>(src);
        }
        unsafe fn copy_from_any_view_after_check(data: &$crate::tvm_ffi_sys::TVMFFIAny) -> Self {
            // SAFETY: promised by the caller.
            unsafe { $crate::object::ref_cell::copied::<$t>(data) }
        }
        unsafe fn move_from_any_after_check(data: &mut $crate::tvm_ffi_sys::TVMFFIAny) -> Self {
            let cell = ::core::mem::take(data);
            // SAFETY: promised by the caller; the cell was replaced by None.
            unsafe { $crate::object::ref_cell::taken::<$t>(&cell) }
        }
    };
}

crate::impl_object_ref_cells!([] ObjectRef);
