// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

//! [`Any`] and [`AnyView`]: owned and borrowed values of any type.

use std::marker::PhantomData;
use std::mem::ManuallyDrop;

use tvm_ffi_sys::{TVMFFIAny, TVMFFIAnyViewToOwnedAny, TVMFFITypeIndex as TypeIndex};

use crate::error::{Error, Result, TYPE_ERROR};
use crate::object::{self, ObjectCore};
use crate::type_traits::{AnyCompatible, ContainerElement};

/// A borrowed value of any type; `Copy`, 16 bytes, the argument type of packed calls.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct AnyView<'a> {
    cell: TVMFFIAny,
    borrows: PhantomData<&'a ()>,
}

/// An owned value of any type, 16 bytes.
#[repr(transparent)]
pub struct Any {
    cell: TVMFFIAny,
}

const OBJECT_BEGIN: i32 = TypeIndex::kTVMFFIObject as i32;

impl<'a> AnyView<'a> {
    /// The None value.
    pub const fn new() -> Self {
        Self { cell: TVMFFIAny::new(), borrows: PhantomData }
    }

    /// View of a raw cell.
    ///
    /// # Safety
    /// The cell is valid, and what it points at lives for `'a`.
    pub const unsafe fn from_raw(cell: TVMFFIAny) -> Self {
        Self { cell, borrows: PhantomData }
    }

    /// The raw cell.
    pub fn as_raw(&self) -> &TVMFFIAny {
        &self.cell
    }

    /// Runtime type of the value.
    pub fn type_index(&self) -> i32 {
        self.cell.type_index
    }

    /// Runtime type of the value, by name.
    pub fn type_key(&self) -> &'static str {
        object::type_key(self.cell.type_index)
    }

    /// Whether this is the None value.
    pub fn is_none(&self) -> bool {
        self.cell.type_index == TypeIndex::kTVMFFINone as i32
    }

    /// The value as exactly `T`, without any conversion.
    pub fn try_as<T: AnyCompatible>(&self) -> Option<T> {
        // SAFETY: the cell is valid; copying follows a successful check.
        unsafe {
            T::check_any_strict(&self.cell).then(|| T::copy_from_any_view_after_check(&self.cell))
        }
    }

    /// The value converted to `T`; TypeError when no conversion exists.
    pub fn cast<T: ContainerElement>(&self) -> Result<T> {
        T::from_view(*self).ok_or_else(|| cannot_convert::<T>(self))
    }

    /// Borrows the object inside as `T`, if it is one.
    pub fn downcast_ref<T: ObjectCore>(&self) -> Option<&'a T> {
        let index = self.cell.type_index;
        // SAFETY: the type was checked; the object lives for 'a, the lifetime of the view.
        (index >= OBJECT_BEGIN && T::is_instance(index))
            .then(|| unsafe { &*self.cell.value.v_obj.cast::<T>() })
    }

    /// Strong count of the object inside; None for plain data.
    pub fn debug_strong_count(&self) -> Option<usize> {
        strong_count(&self.cell)
    }
}

impl Any {
    /// The None value.
    pub const fn new() -> Self {
        Self { cell: TVMFFIAny::new() }
    }

    /// Takes over an owned raw cell.
    ///
    /// # Safety
    /// The cell is valid, holds no view-only type, and its reference is given up by the caller.
    pub const unsafe fn from_raw(cell: TVMFFIAny) -> Self {
        Self { cell }
    }

    /// Gives the owned raw cell to the caller.
    pub fn into_raw(this: Self) -> TVMFFIAny {
        ManuallyDrop::new(this).cell
    }

    /// The raw cell.
    pub fn as_raw(&self) -> &TVMFFIAny {
        &self.cell
    }

    /// Runtime type of the value.
    pub fn type_index(&self) -> i32 {
        self.cell.type_index
    }

    /// Runtime type of the value, by name.
    pub fn type_key(&self) -> &'static str {
        object::type_key(self.cell.type_index)
    }

    /// Whether this is the None value.
    pub fn is_none(&self) -> bool {
        self.cell.type_index == TypeIndex::kTVMFFINone as i32
    }

    /// Borrows the value.
    pub fn as_view(&self) -> AnyView<'_> {
        AnyView { cell: self.cell, borrows: PhantomData }
    }

    /// The value as exactly `T`, without any conversion.
    pub fn try_as<T: AnyCompatible>(&self) -> Option<T> {
        self.as_view().try_as()
    }

    /// The value converted to `T`; TypeError when no conversion exists. Moves when it can.
    pub fn cast<T: ContainerElement>(self) -> Result<T> {
        T::from_any(self).map_err(|this| cannot_convert::<T>(&this.as_view()))
    }

    /// Borrows the object inside as `T`, if it is one.
    pub fn downcast_ref<T: ObjectCore>(&self) -> Option<&T> {
        self.as_view().downcast_ref()
    }

    /// Strong count of the object inside; None for plain data.
    pub fn debug_strong_count(&self) -> Option<usize> {
        strong_count(&self.cell)
    }

    /// Whether both hold the same plain data or the same object.
    pub fn same_as(&self, other: &Any) -> bool {
        self.cell.type_index == other.cell.type_index
            && self.cell.small_len() == other.cell.small_len()
            && self.cell.bits() == other.cell.bits()
    }
}

fn strong_count(cell: &TVMFFIAny) -> Option<usize> {
    if cell.type_index < OBJECT_BEGIN {
        return None;
    }
    // SAFETY: an object cell points at a live header.
    let count = unsafe { &(*cell.value.v_obj).combined_ref_count };
    Some((count.load(std::sync::atomic::Ordering::Relaxed) & 0xffff_ffff) as usize)
}

#[cold]
fn cannot_convert<T: ContainerElement>(view: &AnyView<'_>) -> Error {
    if let Some(error) = T::conversion_error(*view) {
        return error;
    }
    let text =
        format!("Cannot convert from type `{}` to `{}`", T::mismatch(*view), T::element_type_str());
    Error::new(TYPE_ERROR, &text, "")
}

impl Default for Any {
    fn default() -> Self {
        Self::new()
    }
}

impl Default for AnyView<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Any {
    fn drop(&mut self) {
        if self.cell.type_index >= OBJECT_BEGIN {
            // SAFETY: an owned object cell holds one strong reference.
            unsafe { object::dec_ref(self.cell.value.v_obj) };
        }
    }
}

impl Clone for Any {
    fn clone(&self) -> Self {
        if self.cell.type_index >= OBJECT_BEGIN {
            // SAFETY: an owned object cell points at a live object.
            unsafe { object::inc_ref(self.cell.value.v_obj) };
        }
        Self { cell: self.cell }
    }
}

impl From<AnyView<'_>> for Any {
    /// Owns what the view borrows: shares objects, copies borrowed strings.
    fn from(view: AnyView<'_>) -> Self {
        let index = view.cell.type_index;
        let view_only = TypeIndex::kTVMFFIRawStr as i32..=TypeIndex::kTVMFFIObjectRValueRef as i32;
        if view_only.contains(&index) {
            let mut cell = TVMFFIAny::new();
            // SAFETY: the view is valid; the result is owned.
            let code = unsafe { TVMFFIAnyViewToOwnedAny(&view.cell, &mut cell) };
            if let Err(error) = crate::check_safe_call!(code) {
                panic!("{error}");
            }
            return Self { cell };
        }
        if index >= OBJECT_BEGIN {
            // SAFETY: the view guarantees a live object.
            unsafe { object::inc_ref(view.cell.value.v_obj) };
        }
        Self { cell: view.cell }
    }
}

impl<T: AnyCompatible> From<T> for Any {
    fn from(value: T) -> Self {
        let mut cell = TVMFFIAny::new();
        // SAFETY: the cell is fresh.
        unsafe { T::move_to_any(value, &mut cell) };
        Self { cell }
    }
}

impl<'a, T: AnyCompatible> From<&'a T> for AnyView<'a> {
    fn from(value: &'a T) -> Self {
        let mut cell = TVMFFIAny::new();
        // SAFETY: the cell is fresh and the view keeps the borrow.
        unsafe { T::copy_to_any_view(value, &mut cell) };
        Self { cell, borrows: PhantomData }
    }
}

impl<'a> From<&'a Any> for AnyView<'a> {
    fn from(value: &'a Any) -> Self {
        value.as_view()
    }
}

impl std::fmt::Debug for Any {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.as_view().fmt(f)
    }
}

impl std::fmt::Debug for AnyView<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.cell.type_index {
            0 => f.write_str("None"),
            1 => write!(f, "{}", self.cell.bits() as i64),
            2 => write!(f, "{}", self.cell.bits() != 0),
            3 => write!(f, "{:?}", f64::from_bits(self.cell.bits())),
            _ => match self.try_as::<crate::String>() {
                Some(text) => {
                    write!(f, "{:?}", std::string::String::from_utf8_lossy(text.as_bytes()))
                }
                None => write!(f, "{}({:#x})", self.type_key(), self.cell.bits()),
            },
        }
    }
}
