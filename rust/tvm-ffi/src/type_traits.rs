// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

//! How Rust types are stored in cells and read back.

use std::ffi::c_void;

use tvm_ffi_sys::{TVMFFIAny, TVMFFITypeIndex as TypeIndex};

use crate::any::{Any, AnyView};
use crate::error::Error;
use crate::object;

/// A type whose values a cell can hold.
///
/// `#[derive(ObjectRef)]` implements it for reference types. An implementation by hand is
/// followed by [`impl_any_compatible_conversions!`](crate::impl_any_compatible_conversions).
///
/// # Safety
/// `copy_to_any_view` writes a cell that borrows from the value, `move_to_any` one that owns it;
/// `check_any_strict` accepts exactly the cells that the two read functions can read.
pub unsafe trait AnyCompatible: Sized {
    /// Name of the type in messages, as C++ spells it.
    fn type_str() -> std::string::String;

    /// JSON schema of the type.
    fn type_schema() -> std::string::String {
        simple_schema(&Self::type_str())
    }

    /// Type index that every value of the type has, or -1.
    fn field_static_type_index() -> i32 {
        TypeIndex::kTVMFFIAny as i32
    }

    /// Whether memory of zeros is a value of the type, so that a field needs no initialisation.
    const ZERO_IS_VALUE: bool;

    /// Whether `Option<Self>` is a pointer whose null is `None`, as for object references.
    const ZERO_IS_NONE: bool = false;

    /// Writes a cell that borrows `src`.
    ///
    /// # Safety
    /// `src` outlives the use of the cell.
    unsafe fn copy_to_any_view(src: &Self, data: &mut TVMFFIAny);

    /// Writes a cell that owns `src`.
    ///
    /// # Safety
    /// `data` is not an owned cell, which would leak.
    unsafe fn move_to_any(src: Self, data: &mut TVMFFIAny);

    /// Whether the cell holds exactly this type.
    ///
    /// # Safety
    /// The cell is valid.
    unsafe fn check_any_strict(data: &TVMFFIAny) -> bool;

    /// Reads a copy.
    ///
    /// # Safety
    /// `check_any_strict` accepted the cell.
    unsafe fn copy_from_any_view_after_check(data: &TVMFFIAny) -> Self;

    /// Takes the value out of an owned cell, which becomes None.
    ///
    /// # Safety
    /// `check_any_strict` accepted the cell, and it is owned.
    unsafe fn move_from_any_after_check(data: &mut TVMFFIAny) -> Self;

    /// Reads a copy, converting where the type allows it.
    ///
    /// # Safety
    /// The cell is valid.
    unsafe fn try_cast_from_any_view(data: &TVMFFIAny) -> Option<Self>;

    /// What the cell holds, for the message about a failed conversion.
    ///
    /// # Safety
    /// The cell is valid.
    unsafe fn get_mismatch_type_info(data: &TVMFFIAny) -> std::string::String {
        object::type_key(data.type_index).to_string()
    }

    /// Error that explains a failed conversion better than a type mismatch would.
    ///
    /// # Safety
    /// The cell is valid.
    unsafe fn conversion_error(_data: &TVMFFIAny) -> Option<Error> {
        None
    }

    /// Whether the memory of a field was never set: zeros, where those are no value.
    ///
    /// # Safety
    /// `field` points at a value or at zeros.
    unsafe fn is_undefined(field: *const Self) -> bool {
        // SAFETY: promised by the caller.
        !Self::ZERO_IS_VALUE && unsafe { is_zero(field) }
    }

    /// An owned copy of the value, from a reference to it.
    fn to_any(&self) -> Any {
        Any::from(AnyView::from(self))
    }
}

/// Whether all bytes of a field are zero.
///
/// # Safety
/// The memory began as zeros, so that padding is initialised too.
pub(crate) unsafe fn is_zero<T>(field: *const T) -> bool {
    let bytes = field.cast::<u8>();
    // SAFETY: inside the field; volatile, as the optimiser may think padding undefined.
    (0..std::mem::size_of::<T>()).all(|i| unsafe { bytes.add(i).read_volatile() } == 0)
}

pub(crate) fn simple_schema(name: &str) -> std::string::String {
    format!("{{\"type\":\"{name}\"}}")
}

/// [`AnyCompatible`] types and [`Any`]: what containers, fields, arguments and results can be.
pub trait ContainerElement: Sized {
    /// Name in messages.
    fn element_type_str() -> std::string::String;
    /// JSON schema.
    fn element_schema() -> std::string::String;
    /// Type index that every value has, or -1.
    fn element_static_type_index() -> i32;
    /// Whether memory of zeros is a value.
    const ELEMENT_ZERO_IS_VALUE: bool;
    /// Borrows the value.
    fn view(&self) -> AnyView<'_>;
    /// Wraps the value.
    fn into_any(self) -> Any;
    /// Whether the view holds exactly this type.
    fn is_strict(view: AnyView<'_>) -> bool;
    /// Reads a converted copy.
    fn from_view(view: AnyView<'_>) -> Option<Self>;
    /// Unwraps, converting if needed; gives the value back on a mismatch.
    fn from_any(any: Any) -> Result<Self, Any>;
    /// What the view holds, for messages.
    fn mismatch(view: AnyView<'_>) -> std::string::String;
    /// Error that explains a failed conversion better than a type mismatch would.
    fn conversion_error(view: AnyView<'_>) -> Option<Error>;
}

impl<T: AnyCompatible> ContainerElement for T {
    const ELEMENT_ZERO_IS_VALUE: bool = T::ZERO_IS_VALUE;

    fn element_type_str() -> std::string::String {
        T::type_str()
    }
    fn element_schema() -> std::string::String {
        T::type_schema()
    }
    fn element_static_type_index() -> i32 {
        T::field_static_type_index()
    }
    fn view(&self) -> AnyView<'_> {
        AnyView::from(self)
    }
    fn into_any(self) -> Any {
        Any::from(self)
    }
    fn is_strict(view: AnyView<'_>) -> bool {
        // SAFETY: views hold valid cells.
        unsafe { T::check_any_strict(view.as_raw()) }
    }
    fn from_view(view: AnyView<'_>) -> Option<Self> {
        // SAFETY: views hold valid cells.
        unsafe { T::try_cast_from_any_view(view.as_raw()) }
    }
    fn from_any(any: Any) -> Result<Self, Any> {
        let mut cell = Any::into_raw(any);
        // SAFETY: the cell is owned and valid; the value is moved out at most once.
        unsafe {
            if T::check_any_strict(&cell) {
                return Ok(T::move_from_any_after_check(&mut cell));
            }
            let any = Any::from_raw(cell);
            T::try_cast_from_any_view(any.as_raw()).ok_or(any)
        }
    }
    fn mismatch(view: AnyView<'_>) -> std::string::String {
        // SAFETY: views hold valid cells.
        unsafe { T::get_mismatch_type_info(view.as_raw()) }
    }
    fn conversion_error(view: AnyView<'_>) -> Option<Error> {
        // SAFETY: views hold valid cells.
        unsafe { T::conversion_error(view.as_raw()) }
    }
}

impl ContainerElement for Any {
    const ELEMENT_ZERO_IS_VALUE: bool = true;

    fn element_type_str() -> std::string::String {
        "Any".to_string()
    }
    fn element_schema() -> std::string::String {
        simple_schema("Any")
    }
    fn element_static_type_index() -> i32 {
        TypeIndex::kTVMFFIAny as i32
    }
    fn view(&self) -> AnyView<'_> {
        self.as_view()
    }
    fn into_any(self) -> Any {
        self
    }
    fn is_strict(_view: AnyView<'_>) -> bool {
        true
    }
    fn from_view(view: AnyView<'_>) -> Option<Self> {
        Some(Any::from(view))
    }
    fn from_any(any: Any) -> Result<Self, Any> {
        Ok(any)
    }
    fn mismatch(view: AnyView<'_>) -> std::string::String {
        view.type_key().to_string()
    }
    fn conversion_error(_view: AnyView<'_>) -> Option<Error> {
        None
    }
}

const INT: i32 = TypeIndex::kTVMFFIInt as i32;
const BOOL: i32 = TypeIndex::kTVMFFIBool as i32;
const FLOAT: i32 = TypeIndex::kTVMFFIFloat as i32;
const NONE: i32 = TypeIndex::kTVMFFINone as i32;
const OPAQUE: i32 = TypeIndex::kTVMFFIOpaquePtr as i32;

/// Common part of the implementations for plain data.
macro_rules! plain_common {
    ($name:expr, $schema:expr, $index:expr, $zero:expr) => {
        const ZERO_IS_VALUE: bool = $zero;
        fn type_str() -> std::string::String {
            $name.to_string()
        }
        fn type_schema() -> std::string::String {
            simple_schema($schema)
        }
        fn field_static_type_index() -> i32 {
            $index
        }
        unsafe fn move_to_any(src: Self, data: &mut TVMFFIAny) {
            // SAFETY: plain data owns nothing, so the borrowed cell is as good.
            unsafe { Self::copy_to_any_view(&src, data) }
        }
        unsafe fn move_from_any_after_check(data: &mut TVMFFIAny) -> Self {
            // SAFETY: as promised by the caller.
            let value = unsafe { Self::copy_from_any_view_after_check(data) };
            *data = TVMFFIAny::new();
            value
        }
    };
}
pub(crate) use plain_common;

macro_rules! integer {
    ($($t:ty),*) => {$(
        // SAFETY: an Int cell holds an i64.
        unsafe impl AnyCompatible for $t {
            plain_common!("int", "int", INT, true);

            unsafe fn copy_to_any_view(src: &Self, data: &mut TVMFFIAny) {
                #[allow(clippy::unnecessary_fallible_conversions)] // fallible for some types
                match i64::try_from(*src) {
                    Ok(value) => *data = TVMFFIAny::from_bits(INT, value as u64),
                    Err(_) => panic!("Integer value {src} is too large to fit in int64_t."),
                }
            }
            unsafe fn check_any_strict(data: &TVMFFIAny) -> bool {
                data.type_index == INT && <$t>::try_from(data.bits() as i64).is_ok()
            }
            unsafe fn copy_from_any_view_after_check(data: &TVMFFIAny) -> Self {
                data.bits() as $t
            }
            unsafe fn try_cast_from_any_view(data: &TVMFFIAny) -> Option<Self> {
                if data.type_index != INT && data.type_index != BOOL {
                    return None;
                }
                <$t>::try_from(data.bits() as i64).ok()
            }
            unsafe fn get_mismatch_type_info(data: &TVMFFIAny) -> std::string::String {
                let key = object::type_key(data.type_index);
                if data.type_index != INT {
                    return key.to_string();
                }
                format!("{key} {} outside the range of {}", data.bits() as i64, stringify!($t))
            }
        }
        $crate::impl_any_compatible_conversions!($t);
    )*};
}
integer!(i8, i16, i32, i64, isize, u8, u16, u32, u64, usize);

// SAFETY: a Bool cell holds 0 or 1 as an i64.
unsafe impl AnyCompatible for bool {
    plain_common!("bool", "bool", BOOL, true);

    unsafe fn copy_to_any_view(src: &Self, data: &mut TVMFFIAny) {
        *data = TVMFFIAny::from_bits(BOOL, *src as u64);
    }
    unsafe fn check_any_strict(data: &TVMFFIAny) -> bool {
        data.type_index == BOOL
    }
    unsafe fn copy_from_any_view_after_check(data: &TVMFFIAny) -> Self {
        data.bits() != 0
    }
    unsafe fn try_cast_from_any_view(data: &TVMFFIAny) -> Option<Self> {
        (data.type_index == BOOL || data.type_index == INT).then(|| data.bits() != 0)
    }
}
crate::impl_any_compatible_conversions!(bool);

macro_rules! float {
    ($($t:ty),*) => {$(
        // SAFETY: a Float cell holds an f64.
        unsafe impl AnyCompatible for $t {
            plain_common!("float", "float", FLOAT, true);

            unsafe fn copy_to_any_view(src: &Self, data: &mut TVMFFIAny) {
                *data = TVMFFIAny::from_bits(FLOAT, (*src as f64).to_bits());
            }
            unsafe fn check_any_strict(data: &TVMFFIAny) -> bool {
                data.type_index == FLOAT
            }
            unsafe fn copy_from_any_view_after_check(data: &TVMFFIAny) -> Self {
                f64::from_bits(data.bits()) as $t
            }
            unsafe fn try_cast_from_any_view(data: &TVMFFIAny) -> Option<Self> {
                match data.type_index {
                    FLOAT => Some(f64::from_bits(data.bits()) as $t),
                    INT | BOOL => Some(data.bits() as i64 as $t),
                    _ => None,
                }
            }
        }
        $crate::impl_any_compatible_conversions!($t);
    )*};
}
float!(f32, f64);

// SAFETY: a None cell holds nothing.
unsafe impl AnyCompatible for () {
    plain_common!("None", "None", NONE, true);

    unsafe fn copy_to_any_view(_src: &Self, data: &mut TVMFFIAny) {
        *data = TVMFFIAny::new();
    }
    unsafe fn check_any_strict(data: &TVMFFIAny) -> bool {
        data.type_index == NONE
    }
    unsafe fn copy_from_any_view_after_check(_data: &TVMFFIAny) -> Self {}
    unsafe fn try_cast_from_any_view(data: &TVMFFIAny) -> Option<Self> {
        (data.type_index == NONE).then_some(())
    }
}
crate::impl_any_compatible_conversions!(());

// SAFETY: an OpaquePtr cell holds an address; a null pointer travels as None or OpaquePtr.
unsafe impl AnyCompatible for *mut c_void {
    plain_common!("void*", "void*", OPAQUE, true);

    unsafe fn copy_to_any_view(src: &Self, data: &mut TVMFFIAny) {
        *data = TVMFFIAny::from_bits(OPAQUE, *src as u64);
    }
    unsafe fn check_any_strict(data: &TVMFFIAny) -> bool {
        data.type_index == OPAQUE
    }
    unsafe fn copy_from_any_view_after_check(data: &TVMFFIAny) -> Self {
        data.bits() as *mut c_void
    }
    unsafe fn try_cast_from_any_view(data: &TVMFFIAny) -> Option<Self> {
        match data.type_index {
            OPAQUE => Some(data.bits() as *mut c_void),
            NONE => Some(std::ptr::null_mut()),
            _ => None,
        }
    }
}
crate::impl_any_compatible_conversions!(*mut c_void);

// SAFETY: None or what T says.
unsafe impl<T: AnyCompatible> AnyCompatible for Option<T> {
    const ZERO_IS_VALUE: bool = T::ZERO_IS_NONE;

    fn type_str() -> std::string::String {
        format!("Optional<{}>", T::type_str())
    }
    fn type_schema() -> std::string::String {
        format!("{{\"type\":\"Optional\",\"args\":[{}]}}", T::type_schema())
    }
    unsafe fn copy_to_any_view(src: &Self, data: &mut TVMFFIAny) {
        match src {
            // SAFETY: as promised by the caller.
            Some(value) => unsafe { T::copy_to_any_view(value, data) },
            None => *data = TVMFFIAny::new(),
        }
    }
    unsafe fn move_to_any(src: Self, data: &mut TVMFFIAny) {
        match src {
            // SAFETY: as promised by the caller.
            Some(value) => unsafe { T::move_to_any(value, data) },
            None => *data = TVMFFIAny::new(),
        }
    }
    unsafe fn check_any_strict(data: &TVMFFIAny) -> bool {
        // SAFETY: as promised by the caller.
        data.type_index == NONE || unsafe { T::check_any_strict(data) }
    }
    unsafe fn copy_from_any_view_after_check(data: &TVMFFIAny) -> Self {
        // SAFETY: not None, so T accepted the cell.
        (data.type_index != NONE).then(|| unsafe { T::copy_from_any_view_after_check(data) })
    }
    unsafe fn move_from_any_after_check(data: &mut TVMFFIAny) -> Self {
        // SAFETY: not None, so T accepted the cell.
        (data.type_index != NONE).then(|| unsafe { T::move_from_any_after_check(data) })
    }
    unsafe fn try_cast_from_any_view(data: &TVMFFIAny) -> Option<Self> {
        if data.type_index == NONE {
            return Some(None);
        }
        // SAFETY: as promised by the caller.
        unsafe { T::try_cast_from_any_view(data) }.map(Some)
    }
    unsafe fn get_mismatch_type_info(data: &TVMFFIAny) -> std::string::String {
        // SAFETY: as promised by the caller.
        unsafe { T::get_mismatch_type_info(data) }
    }
    unsafe fn conversion_error(data: &TVMFFIAny) -> Option<Error> {
        // SAFETY: as promised by the caller.
        unsafe { T::conversion_error(data) }
    }
}
crate::impl_any_compatible_conversions!([T: AnyCompatible] Option<T>);

/// Implements the conversions between an [`AnyCompatible`] type and [`Any`] or [`AnyView`], and
/// its use as an argument of [`Function::call_tuple`](crate::Function::call_tuple), by value and
/// by reference. Generic parameters go first, in brackets.
#[macro_export]
macro_rules! impl_any_compatible_conversions {
    ([$($generics:tt)*] $t:ty) => {
        impl<$($generics)*> ::core::convert::TryFrom<$crate::Any> for $t {
            type Error = $crate::Error;
            fn try_from(value: $crate::Any) -> ::core::result::Result<Self, $crate::Error> {
                value.cast::<Self>()
            }
        }
        impl<$($generics)*> ::core::convert::TryFrom<&$crate::Any> for $t {
            type Error = $crate::Error;
            fn try_from(value: &$crate::Any) -> ::core::result::Result<Self, $crate::Error> {
                value.as_view().cast::<Self>()
            }
        }
        impl<'any_view, $($generics)*> ::core::convert::TryFrom<$crate::AnyView<'any_view>> for $t {
            type Error = $crate::Error;
            fn try_from(
                value: $crate::AnyView<'any_view>,
            ) -> ::core::result::Result<Self, $crate::Error> {
                value.cast::<Self>()
            }
        }
        impl<$($generics)*> $crate::function_internal::PackedCallArg for $t {
            type Holder = $crate::Any;
            fn hold(self) -> $crate::Any {
                $crate::Any::from(self)
            }
            fn cell(holder: &mut $crate::Any) -> $crate::tvm_ffi_sys::TVMFFIAny {
                *holder.as_raw()
            }
        }
        impl<'call_arg, $($generics)*> $crate::function_internal::PackedCallArg for &'call_arg $t {
            type Holder = $crate::AnyView<'call_arg>;
            fn hold(self) -> $crate::AnyView<'call_arg> {
                $crate::AnyView::from(self)
            }
            fn cell(holder: &mut $crate::AnyView<'call_arg>) -> $crate::tvm_ffi_sys::TVMFFIAny {
                *holder.as_raw()
            }
        }
    };
    ($($t:ty),+ $(,)?) => {
        $($crate::impl_any_compatible_conversions!([] $t);)+
    };
}
