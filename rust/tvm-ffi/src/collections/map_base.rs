// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

//! What [`Map`](super::map::Map) and [`Dict`](super::dict::Dict) have in common: reading the hash
//! table, whose layout is part of the ABI.

use tvm_ffi_sys::{TVMFFIAny, TVMFFIDenseMapCell, TVMFFIMapCell, TVMFFITypeIndex};

use crate::any::{Any, AnyView};
use crate::function::Function;
use crate::type_traits::ContainerElement;

pub(crate) const MAP: i32 = TVMFFITypeIndex::kTVMFFIMap as i32;
pub(crate) const DICT: i32 = TVMFFITypeIndex::kTVMFFIDict as i32;

const SMALL_TAG: u64 = 1 << 63;
const SLOTS_PER_BLOCK: u64 = 16;
const META_BYTES: usize = 16;
const NO_SLOT: u64 = u64::MAX;

/// Slot of a dense table: pair and links of the insertion order.
#[repr(C)]
struct DenseItem {
    key: TVMFFIAny,
    value: TVMFFIAny,
    prev: u64,
    next: u64,
}

/// Pairs in insertion order.
///
/// # Safety
/// The cell belongs to a live table that does not change for `'a`.
pub(crate) unsafe fn pairs_of<'a>(cell: *const TVMFFIMapCell) -> Vec<(AnyView<'a>, AnyView<'a>)> {
    // SAFETY: promised by the caller; the loops stay inside the table by its own invariants.
    unsafe {
        let size = (*cell).size as usize;
        let mut pairs = Vec::with_capacity(size);
        if (*cell).slots & SMALL_TAG != 0 {
            let cells = (*cell).data.cast::<TVMFFIAny>();
            for index in 0..size {
                let key = AnyView::from_raw(cells.add(2 * index).read());
                pairs.push((key, AnyView::from_raw(cells.add(2 * index + 1).read())));
            }
            return pairs;
        }
        let dense = cell.cast::<TVMFFIDenseMapCell>();
        let mut slot = (*dense).head;
        while slot != NO_SLOT && pairs.len() < size {
            let item = dense_item((*cell).data.cast(), slot);
            pairs.push((AnyView::from_raw((*item).key), AnyView::from_raw((*item).value)));
            slot = (*item).next;
        }
        pairs
    }
}

fn dense_item(blocks: *const u8, slot: u64) -> *const DenseItem {
    let item_bytes = std::mem::size_of::<DenseItem>();
    let block_bytes = META_BYTES + SLOTS_PER_BLOCK as usize * item_bytes;
    let block = blocks.wrapping_add((slot / SLOTS_PER_BLOCK) as usize * block_bytes);
    let index = (slot % SLOTS_PER_BLOCK) as usize;
    block.wrapping_add(META_BYTES + index * item_bytes).cast()
}

/// Pairs of a cell that holds a Map or Dict.
///
/// # Safety
/// The cell is valid, and the table does not change for `'a`.
pub(crate) unsafe fn mapping_of<'a>(cell: &TVMFFIAny) -> Option<Vec<(AnyView<'a>, AnyView<'a>)>> {
    if cell.type_index != MAP && cell.type_index != DICT {
        return None;
    }
    // SAFETY: both types have their cell behind the header.
    unsafe { Some(pairs_of(tvm_ffi_sys::TVMFFIMapGetCellPtr(cell.value.v_obj.cast()))) }
}

/// Whether the cell holds a table with exactly these key and value types.
///
/// # Safety
/// The cell is valid.
pub(crate) unsafe fn is_strict<K: ContainerElement, V: ContainerElement>(cell: &TVMFFIAny) -> bool {
    // SAFETY: promised by the caller; checking runs no foreign code.
    unsafe { mapping_of(cell) }.is_some_and(|pairs| {
        pairs.iter().all(|(key, value)| K::is_strict(*key) && V::is_strict(*value))
    })
}

/// Converted copies of all pairs of a Map or Dict cell.
///
/// # Safety
/// The cell is valid.
pub(crate) unsafe fn converted<K: ContainerElement, V: ContainerElement>(
    cell: &TVMFFIAny,
) -> Option<Vec<(K, V)>> {
    // SAFETY: promised by the caller.
    let pairs = unsafe { mapping_of(cell) }?;
    pairs.into_iter().map(|(k, v)| Some((K::from_view(k)?, V::from_view(v)?))).collect()
}

/// What was found instead, for messages.
///
/// # Safety
/// The cell is valid.
pub(crate) unsafe fn mismatch<K: ContainerElement, V: ContainerElement>(
    name: &str,
    cell: &TVMFFIAny,
) -> std::string::String {
    // SAFETY: promised by the caller.
    for (key, value) in unsafe { mapping_of(cell) }.unwrap_or_default() {
        if K::from_view(key).is_none() {
            return format!("{name}[some key is {}, V]", K::mismatch(key));
        }
        if V::from_view(value).is_none() {
            return format!("{name}[K, some value is {}]", V::mismatch(value));
        }
    }
    crate::object::type_key(cell.type_index).to_string()
}

/// New table from the constructor function of its type.
pub(crate) fn construct<K: ContainerElement, V: ContainerElement>(
    constructor: &Function,
    pairs: impl IntoIterator<Item = (K, V)>,
) -> TVMFFIAny {
    let flat: Vec<Any> =
        pairs.into_iter().flat_map(|(key, value)| [key.into_any(), value.into_any()]).collect();
    let views: Vec<_> = flat.iter().map(Any::as_view).collect();
    match constructor.call_packed(&views) {
        Ok(table) => Any::into_raw(table),
        Err(error) => panic!("{error}"),
    }
}
