// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

//! [`Optional`]: an optional value with the ABI's layout, for fields of object structs.

use std::fmt;

use tvm_ffi_sys::{TVMFFIAny, TVMFFITypeIndex};

use crate::any::Any;
use crate::type_traits::AnyCompatible;

/// A type with an optional form in the ABI: references have a nullable pointer of 8 bytes, other
/// values the 16 bytes of an [`Any`].
pub trait OptionalCompatible: AnyCompatible + Clone {
    /// Memory of the optional form.
    type Storage: Clone;

    /// Stores.
    fn store(value: Option<Self>) -> Self::Storage;
    /// Reads a copy.
    fn load(storage: &Self::Storage) -> Option<Self>;
    /// Takes the value out.
    fn take(storage: Self::Storage) -> Option<Self>;
    /// Whether there is a value.
    fn has_value(storage: &Self::Storage) -> bool;
}

/// A value or nothing, in the layout that C++ gives `Optional<T>`.
#[repr(transparent)]
pub struct Optional<T: OptionalCompatible> {
    storage: T::Storage,
}

impl<T: OptionalCompatible> Optional<T> {
    /// No value.
    pub fn none() -> Self {
        Self::from(None)
    }

    /// Copy of the value.
    pub fn get(&self) -> Option<T> {
        T::load(&self.storage)
    }

    /// The value itself.
    pub fn into_option(self) -> Option<T> {
        T::take(self.storage)
    }

    /// Whether there is a value.
    pub fn is_some(&self) -> bool {
        T::has_value(&self.storage)
    }

    /// Whether there is none.
    pub fn is_none(&self) -> bool {
        !self.is_some()
    }
}

impl<T: OptionalCompatible> From<Option<T>> for Optional<T> {
    fn from(value: Option<T>) -> Self {
        Self { storage: T::store(value) }
    }
}

impl<T: OptionalCompatible> From<T> for Optional<T> {
    fn from(value: T) -> Self {
        Self::from(Some(value))
    }
}

impl<T: OptionalCompatible> Default for Optional<T> {
    fn default() -> Self {
        Self::none()
    }
}

impl<T: OptionalCompatible> Clone for Optional<T> {
    fn clone(&self) -> Self {
        Self { storage: self.storage.clone() }
    }
}

impl<T: OptionalCompatible + fmt::Debug> fmt::Debug for Optional<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

impl<T: OptionalCompatible + PartialEq> PartialEq for Optional<T> {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

// SAFETY: None or what T says.
unsafe impl<T: OptionalCompatible> AnyCompatible for Optional<T> {
    const ZERO_IS_VALUE: bool = true;

    fn type_str() -> std::string::String {
        Option::<T>::type_str()
    }
    fn type_schema() -> std::string::String {
        Option::<T>::type_schema()
    }
    unsafe fn copy_to_any_view(src: &Self, data: &mut TVMFFIAny) {
        *data = TVMFFIAny::new();
        if let Some(value) = src.get() {
            // SAFETY: `src` holds another reference to what the cell borrows, or plain data.
            unsafe { T::copy_to_any_view(&value, data) };
        }
    }
    unsafe fn move_to_any(src: Self, data: &mut TVMFFIAny) {
        // SAFETY: promised by the caller.
        unsafe { Option::<T>::move_to_any(src.into_option(), data) }
    }
    unsafe fn check_any_strict(data: &TVMFFIAny) -> bool {
        // SAFETY: promised by the caller.
        unsafe { Option::<T>::check_any_strict(data) }
    }
    unsafe fn copy_from_any_view_after_check(data: &TVMFFIAny) -> Self {
        // SAFETY: promised by the caller.
        Self::from(unsafe { Option::<T>::copy_from_any_view_after_check(data) })
    }
    unsafe fn move_from_any_after_check(data: &mut TVMFFIAny) -> Self {
        // SAFETY: promised by the caller.
        Self::from(unsafe { Option::<T>::move_from_any_after_check(data) })
    }
    unsafe fn try_cast_from_any_view(data: &TVMFFIAny) -> Option<Self> {
        // SAFETY: promised by the caller.
        unsafe { Option::<T>::try_cast_from_any_view(data) }.map(Self::from)
    }
    unsafe fn get_mismatch_type_info(data: &TVMFFIAny) -> std::string::String {
        // SAFETY: promised by the caller.
        unsafe { T::get_mismatch_type_info(data) }
    }
}
crate::impl_any_compatible_conversions!([T: OptionalCompatible] Optional<T>);

/// Optional form in the 16 bytes of an Any.
macro_rules! optional_in_any {
    ($($t:ty),* $(,)?) => {$(
        impl OptionalCompatible for $t {
            type Storage = Any;

            fn store(value: Option<Self>) -> Any {
                value.map_or_else(Any::new, Any::from)
            }
            fn load(storage: &Any) -> Option<Self> {
                storage.try_as::<Self>()
            }
            fn take(storage: Any) -> Option<Self> {
                storage.cast::<Option<Self>>().ok().flatten()
            }
            fn has_value(storage: &Any) -> bool {
                storage.type_index() != TVMFFITypeIndex::kTVMFFINone as i32
            }
        }
    )*};
}
optional_in_any!(
    i8,
    i16,
    i32,
    i64,
    isize,
    u8,
    u16,
    u32,
    u64,
    usize,
    bool,
    f32,
    f64,
    crate::String,
    crate::Bytes,
    crate::BigInt,
    crate::tvm_ffi_sys::DLDataType,
    crate::tvm_ffi_sys::DLDevice,
);

/// Implements [`OptionalCompatible`] for a reference type: a nullable pointer.
#[doc(hidden)]
#[macro_export]
macro_rules! impl_optional_object {
    ([$($generics:tt)*] $t:ty) => {
        impl<$($generics)*> $crate::optional::OptionalCompatible for $t {
            type Storage = ::core::option::Option<
                $crate::ObjectArc<<$t as $crate::ObjectRefCore>::ContainerType>,
            >;

            fn store(value: ::core::option::Option<Self>) -> Self::Storage {
                value.map($crate::ObjectRefCore::into_data)
            }
            fn load(storage: &Self::Storage) -> ::core::option::Option<Self> {
                storage.clone().map($crate::ObjectRefCore::from_data)
            }
            fn take(storage: Self::Storage) -> ::core::option::Option<Self> {
                storage.map($crate::ObjectRefCore::from_data)
            }
            fn has_value(storage: &Self::Storage) -> bool {
                storage.is_some()
            }
        }
    };
}
