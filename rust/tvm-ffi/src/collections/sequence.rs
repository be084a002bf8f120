// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

//! What [`Array`](super::array::Array) and [`List`](super::list::List) have in common: reading the
//! cells of a sequence.

use tvm_ffi_sys::{TVMFFIAny, TVMFFISeqCell, TVMFFITypeIndex};

use crate::any::AnyView;
use crate::error::{Error, INDEX_ERROR};
use crate::type_traits::ContainerElement;

pub(crate) const ARRAY: i32 = TVMFFITypeIndex::kTVMFFIArray as i32;
pub(crate) const LIST: i32 = TVMFFITypeIndex::kTVMFFIList as i32;

/// Live cells of a sequence.
///
/// # Safety
/// The cell belongs to a live sequence that does not change for `'a`.
pub(crate) unsafe fn slice_of<'a>(cell: &TVMFFISeqCell) -> &'a [AnyView<'a>] {
    if cell.size <= 0 || cell.data.is_null() {
        return &[];
    }
    // SAFETY: promised by the caller.
    unsafe { std::slice::from_raw_parts(cell.data.cast(), cell.size as usize) }
}

/// Elements of a cell that holds a sequence.
///
/// # Safety
/// The cell is valid, and the sequence does not change for `'a`.
pub(crate) unsafe fn sequence_of<'a>(cell: &TVMFFIAny) -> Option<&'a [AnyView<'a>]> {
    if cell.type_index != ARRAY && cell.type_index != LIST {
        return None;
    }
    // SAFETY: both types have their cell behind the header.
    unsafe { Some(slice_of(&*tvm_ffi_sys::TVMFFISeqGetCellPtr(cell.value.v_obj.cast()))) }
}

/// Whether the cell holds a sequence of exactly `T`s.
///
/// # Safety
/// The cell is valid.
pub(crate) unsafe fn is_strict<T: ContainerElement>(cell: &TVMFFIAny) -> bool {
    // SAFETY: promised by the caller; checking runs no foreign code.
    unsafe { sequence_of(cell) }.is_some_and(|views| views.iter().all(|view| T::is_strict(*view)))
}

/// Converted copies of all elements of a sequence, unless one does not convert.
///
/// # Safety
/// The cell is valid.
pub(crate) unsafe fn converted<T: ContainerElement>(cell: &TVMFFIAny) -> Option<Vec<T>> {
    // SAFETY: promised by the caller.
    unsafe { sequence_of(cell) }?.iter().map(|view| T::from_view(*view)).collect()
}

/// What a sequence type found instead of its own, for messages.
///
/// # Safety
/// The cell is valid.
pub(crate) unsafe fn mismatch<T: ContainerElement>(
    name: &str,
    cell: &TVMFFIAny,
) -> std::string::String {
    // SAFETY: promised by the caller; nothing runs in between.
    let views = unsafe { sequence_of(cell) };
    let bad = views.and_then(|views| {
        views.iter().enumerate().find(|(_, view)| T::from_view(**view).is_none())
    });
    match bad {
        Some((index, view)) => format!("{name}[index {index}: {}]", T::mismatch(*view)),
        None => crate::object::type_key(cell.type_index).to_string(),
    }
}

#[cold]
pub(crate) fn out_of_bounds(index: usize, len: usize) -> Error {
    crate::ffi_error!(INDEX_ERROR, "Index {index} out of bounds {len}")
}
