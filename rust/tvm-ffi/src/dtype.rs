// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

//! Element types of tensors.

use tvm_ffi_sys::dlpack::{DLDataType, DLDataTypeCode};
use tvm_ffi_sys::{
    TVMFFIAny, TVMFFIAnyValue, TVMFFIByteArray, TVMFFIDataTypeFromString, TVMFFIDataTypeToString,
    TVMFFITypeIndex,
};

use crate::any::{Any, AnyView};
use crate::error::{Error, Result};
use crate::type_traits::{plain_common, simple_schema, AnyCompatible};

const DTYPE: i32 = TVMFFITypeIndex::kTVMFFIDataType as i32;

/// Text forms and sizes of [`DLDataType`].
pub trait DLDataTypeExt: Sized {
    /// Parses `float32`, `int8x4`, `bool`, ..; ValueError for unknown text.
    fn try_from_str(text: &str) -> Result<Self>;
    /// Text form, such as `float32`.
    fn to_string(&self) -> std::string::String;
    /// Bytes of one element with all its lanes, rounded up.
    fn item_size(&self) -> usize;
}

impl DLDataTypeExt for DLDataType {
    fn try_from_str(text: &str) -> Result<Self> {
        let input = TVMFFIByteArray::from_str(text);
        let mut out = DLDataType::default();
        // SAFETY: the text lives through the call.
        crate::check_safe_call!(unsafe { TVMFFIDataTypeFromString(&input, &mut out) })?;
        Ok(out)
    }

    fn to_string(&self) -> std::string::String {
        let mut out = TVMFFIAny::new();
        // SAFETY: plain pointers; the result is owned.
        let text = unsafe {
            let code = TVMFFIDataTypeToString(self, &mut out);
            crate::check_safe_call!(code).map(|()| Any::from_raw(out))
        };
        match text.and_then(|any| any.cast::<crate::String>()) {
            Ok(text) => text.as_str().to_owned(),
            // No name exists for such a code; its numbers say more than an error.
            Err(_) => format!("dtype({}, {}, {})", self.code, self.bits, self.lanes),
        }
    }

    fn item_size(&self) -> usize {
        (self.bits as usize * self.lanes as usize).div_ceil(8)
    }
}

/// A Rust type that is the element type of some tensors.
///
/// # Safety
/// The type has the size and meaning that `DL_DATA_TYPE` says, and every bit pattern is a value.
pub unsafe trait AsDLDataType: Copy {
    /// The element type.
    const DL_DATA_TYPE: DLDataType;
}

macro_rules! elements {
    ($($t:ty => $code:ident $bits:literal),* $(,)?) => {$(
        // SAFETY: plain numbers.
        unsafe impl AsDLDataType for $t {
            const DL_DATA_TYPE: DLDataType = DLDataType::new(DLDataTypeCode::$code, $bits, 1);
        }
    )*};
}
elements!(
    i8 => kDLInt 8, i16 => kDLInt 16, i32 => kDLInt 32, i64 => kDLInt 64,
    u8 => kDLUInt 8, u16 => kDLUInt 16, u32 => kDLUInt 32, u64 => kDLUInt 64,
    f32 => kDLFloat 32, f64 => kDLFloat 64,
);

// SAFETY: the payload of a DataType cell.
unsafe impl AnyCompatible for DLDataType {
    plain_common!("DataType", "DataType", DTYPE, true);

    unsafe fn copy_to_any_view(src: &Self, data: &mut TVMFFIAny) {
        *data = TVMFFIAny::from_bits(DTYPE, 0);
        // The other four bytes stay zero.
        let mut value = TVMFFIAnyValue { v_uint64: 0 };
        value.v_dtype = *src;
        data.value = value;
    }
    unsafe fn check_any_strict(data: &TVMFFIAny) -> bool {
        data.type_index == DTYPE
    }
    unsafe fn copy_from_any_view_after_check(data: &TVMFFIAny) -> Self {
        // SAFETY: a DataType cell.
        unsafe { data.value.v_dtype }
    }
    unsafe fn try_cast_from_any_view(data: &TVMFFIAny) -> Option<Self> {
        // SAFETY: promised by the caller.
        unsafe {
            if data.type_index == DTYPE {
                return Some(data.value.v_dtype);
            }
            let text = AnyView::from_raw(*data);
            let text = crate::String::try_cast_from_any_view(text.as_raw())?;
            DLDataType::try_from_str(text.to_str().ok()?).ok()
        }
    }
    unsafe fn conversion_error(data: &TVMFFIAny) -> Option<Error> {
        // SAFETY: promised by the caller.
        let text = unsafe { crate::String::try_cast_from_any_view(data) }?;
        match text.to_str() {
            Ok(text) => DLDataType::try_from_str(text).err(),
            Err(error) => Some(error),
        }
    }
}
crate::impl_any_compatible_conversions!(DLDataType);
