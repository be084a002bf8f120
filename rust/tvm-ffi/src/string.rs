// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

//! [`String`] and [`Bytes`]: 16-byte values, up to 7 bytes stored in place.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;

use tvm_ffi_sys::{
    TVMFFIAny, TVMFFIByteArray, TVMFFIBytesFromByteArray, TVMFFIBytesGetByteArrayPtr,
    TVMFFIStringFromByteArray, TVMFFITypeIndex as TypeIndex,
};

use crate::any::Any;
use crate::error::{Result, VALUE_ERROR};
use crate::type_traits::{simple_schema, AnyCompatible};

const SMALL_STR: i32 = TypeIndex::kTVMFFISmallStr as i32;
const SMALL_BYTES: i32 = TypeIndex::kTVMFFISmallBytes as i32;
const STR: i32 = TypeIndex::kTVMFFIStr as i32;
const BYTES: i32 = TypeIndex::kTVMFFIBytes as i32;
const RAW_STR: i32 = TypeIndex::kTVMFFIRawStr as i32;
const BYTE_ARRAY: i32 = TypeIndex::kTVMFFIByteArrayPtr as i32;
const MAX_SMALL: usize = 7;

/// Immutable text. Clones share the characters.
///
/// Text from other languages may hold bytes that are no UTF-8: then [`String::to_str`] is an
/// error and the conversions to `&str` panic; [`String::as_bytes`] always works.
#[repr(transparent)]
#[derive(Clone)]
pub struct String {
    any: Any,
}

/// Immutable bytes. Clones share them.
#[repr(transparent)]
#[derive(Clone)]
pub struct Bytes {
    any: Any,
}

// SAFETY: immutable content with an atomic count.
unsafe impl Send for String {}
// SAFETY: as above.
unsafe impl Sync for String {}
// SAFETY: as above.
unsafe impl Send for Bytes {}
// SAFETY: as above.
unsafe impl Sync for Bytes {}

/// Owned cell with the content of `bytes`.
fn make_cell(bytes: &[u8], small_index: i32, heap_index: i32) -> TVMFFIAny {
    if bytes.len() <= MAX_SMALL {
        let mut payload = [0u8; 8];
        payload[..bytes.len()].copy_from_slice(bytes);
        let mut cell = TVMFFIAny::from_bits(small_index, u64::from_ne_bytes(payload));
        cell.padding.small_str_len = bytes.len() as u32;
        return cell;
    }
    let input = TVMFFIByteArray::new(bytes);
    let mut cell = TVMFFIAny::new();
    // SAFETY: the input lives through the call.
    let code = unsafe {
        if heap_index == STR {
            TVMFFIStringFromByteArray(&input, &mut cell)
        } else {
            TVMFFIBytesFromByteArray(&input, &mut cell)
        }
    };
    assert_eq!(code, 0, "out of memory for a text of {} bytes", bytes.len());
    cell
}

/// Content of a string or bytes cell.
///
/// # Safety
/// The cell has one of the string or bytes types and outlives `'a`; a small one does not move.
unsafe fn cell_bytes<'a>(cell: &TVMFFIAny) -> &'a [u8] {
    // SAFETY: the type index tells which payload is live; promised by the caller.
    unsafe {
        match cell.type_index {
            SMALL_STR | SMALL_BYTES => {
                let start = (&raw const cell.value).cast::<u8>();
                std::slice::from_raw_parts(start, cell.small_len().min(MAX_SMALL))
            }
            RAW_STR => std::ffi::CStr::from_ptr(cell.value.v_c_str).to_bytes(),
            BYTE_ARRAY => (*cell.value.v_ptr.cast::<TVMFFIByteArray>()).as_slice(),
            // Memory that a creator left zero: nothing yet.
            0 => &[],
            _ => (*TVMFFIBytesGetByteArrayPtr(cell.value.v_obj.cast())).as_slice(),
        }
    }
}

macro_rules! common {
    ($t:ident, $small:expr, $heap:expr) => {
        impl $t {
            /// The content.
            pub fn as_bytes(&self) -> &[u8] {
                // SAFETY: the cell is of this type and borrowed as long as the result.
                unsafe { cell_bytes(self.any.as_raw()) }
            }

            /// Number of bytes.
            pub fn len(&self) -> usize {
                self.as_bytes().len()
            }

            /// Whether there is no content.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }
        }

        impl PartialEq for $t {
            fn eq(&self, other: &Self) -> bool {
                self.as_bytes() == other.as_bytes()
            }
        }

        impl Eq for $t {}

        impl PartialOrd for $t {
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                Some(self.cmp(other))
            }
        }

        impl Ord for $t {
            fn cmp(&self, other: &Self) -> Ordering {
                self.as_bytes().cmp(other.as_bytes())
            }
        }

        impl Default for $t {
            fn default() -> Self {
                Self::from_bytes(&[])
            }
        }

        impl $t {
            fn from_bytes(bytes: &[u8]) -> Self {
                // SAFETY: a fresh owned cell of this type.
                Self { any: unsafe { Any::from_raw(make_cell(bytes, $small, $heap)) } }
            }
        }
    };
}
common!(String, SMALL_STR, STR);
common!(Bytes, SMALL_BYTES, BYTES);

macro_rules! cells {
    ($t:ident, $name:literal, $small:expr, $heap:expr, $borrowed:pat, $zero:expr) => {
        // SAFETY: a cell of the small or heap form is this type's own representation.
        unsafe impl AnyCompatible for $t {
            const ZERO_IS_VALUE: bool = $zero;

            fn type_str() -> std::string::String {
                $name.to_string()
            }
            fn type_schema() -> std::string::String {
                simple_schema(concat!("ffi.", stringify!($t)))
            }
            fn field_static_type_index() -> i32 {
                $heap
            }
            unsafe fn copy_to_any_view(src: &Self, data: &mut TVMFFIAny) {
                *data = *src.any.as_raw();
            }
            unsafe fn move_to_any(src: Self, data: &mut TVMFFIAny) {
                *data = Any::into_raw(src.any);
            }
            unsafe fn check_any_strict(data: &TVMFFIAny) -> bool {
                data.type_index == $small || data.type_index == $heap
            }
            unsafe fn copy_from_any_view_after_check(data: &TVMFFIAny) -> Self {
                // SAFETY: promised by the caller.
                Self { any: Any::from(unsafe { crate::AnyView::from_raw(*data) }) }
            }
            unsafe fn move_from_any_after_check(data: &mut TVMFFIAny) -> Self {
                // SAFETY: promised by the caller; the cell becomes None.
                Self { any: unsafe { Any::from_raw(std::mem::take(data)) } }
            }
            unsafe fn try_cast_from_any_view(data: &TVMFFIAny) -> Option<Self> {
                // SAFETY: promised by the caller; the type is checked.
                unsafe {
                    if Self::check_any_strict(data) {
                        return Some(Self::copy_from_any_view_after_check(data));
                    }
                    match data.type_index {
                        $borrowed => Some(Self::from_bytes(cell_bytes(data))),
                        _ => None,
                    }
                }
            }
        }
        crate::impl_any_compatible_conversions!($t);
    };
}
cells!(String, "str", SMALL_STR, STR, RAW_STR, false);
cells!(Bytes, "bytes", SMALL_BYTES, BYTES, BYTE_ARRAY, false);

impl String {
    /// Empty text.
    pub fn new() -> Self {
        Self::default()
    }

    /// The text; panics if it is no UTF-8.
    pub fn as_str(&self) -> &str {
        match std::str::from_utf8(self.as_bytes()) {
            Ok(text) => text,
            Err(error) => panic!("the text is not UTF-8: {error}; use as_bytes or to_str"),
        }
    }

    /// The text; ValueError if it is no UTF-8.
    pub fn to_str(&self) -> Result<&str> {
        std::str::from_utf8(self.as_bytes())
            .map_err(|error| crate::ffi_error!(VALUE_ERROR, "the text is not UTF-8: {error}"))
    }
}

impl Bytes {
    /// No bytes.
    pub fn new() -> Self {
        Self::default()
    }

    /// The content.
    pub fn as_slice(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl From<&str> for String {
    fn from(text: &str) -> Self {
        Self::from_bytes(text.as_bytes())
    }
}

impl From<std::string::String> for String {
    fn from(text: std::string::String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<&std::string::String> for String {
    fn from(text: &std::string::String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<String> for std::string::String {
    fn from(text: String) -> Self {
        text.as_str().to_owned()
    }
}

impl std::str::FromStr for String {
    type Err = std::convert::Infallible;
    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        Ok(Self::from(text))
    }
}

impl Deref for String {
    type Target = str;
    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<str> for String {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl Borrow<str> for String {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

impl PartialEq<str> for String {
    fn eq(&self, other: &str) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl PartialEq<&str> for String {
    fn eq(&self, other: &&str) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl PartialEq<String> for str {
    fn eq(&self, other: &String) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl PartialEq<String> for &str {
    fn eq(&self, other: &String) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Hash for String {
    /// As `str` hashes, so that a map keyed by `String` can be asked with `&str`.
    fn hash<H: Hasher>(&self, state: &mut H) {
        match std::str::from_utf8(self.as_bytes()) {
            Ok(text) => text.hash(state),
            Err(_) => self.as_bytes().hash(state),
        }
    }
}

impl fmt::Display for String {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&std::string::String::from_utf8_lossy(self.as_bytes()))
    }
}

impl fmt::Debug for String {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&std::string::String::from_utf8_lossy(self.as_bytes()), f)
    }
}

impl From<&[u8]> for Bytes {
    fn from(bytes: &[u8]) -> Self {
        Self::from_bytes(bytes)
    }
}

impl<const N: usize> From<&[u8; N]> for Bytes {
    fn from(bytes: &[u8; N]) -> Self {
        Self::from_bytes(bytes)
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self::from_bytes(&bytes)
    }
}

impl Deref for Bytes {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl Borrow<[u8]> for Bytes {
    fn borrow(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl PartialEq<[u8]> for Bytes {
    fn eq(&self, other: &[u8]) -> bool {
        self.as_bytes() == other
    }
}

impl Hash for Bytes {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_bytes().hash(state);
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b\"{}\"", self.as_bytes().escape_ascii())
    }
}

// Rust's own text types are not stored in cells, but are welcome as arguments.
impl crate::function_internal::PackedCallArg for &str {
    type Holder = String;
    fn hold(self) -> String {
        String::from(self)
    }
    fn cell(holder: &mut String) -> TVMFFIAny {
        *holder.any.as_raw()
    }
}
