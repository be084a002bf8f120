// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

//! [`List`]: a growing sequence that all its references see change.

use std::marker::PhantomData;

use tvm_ffi_sys::{TVMFFIAny, TVMFFISeqCell, TVMFFITypeIndex};

use super::array::{convert_all, out_of_bounds, sequence_mismatch, sequence_of, slice_of};
use crate::any::Any;
use crate::cached_global_func;
use crate::error::Result;
use crate::object::{ref_cell, Object, ObjectArc, ObjectCore, ObjectRefCore};
use crate::type_traits::{AnyCompatible, ContainerElement};

const LIST: i32 = TVMFFITypeIndex::kTVMFFIList as i32;

/// Object behind [`List`].
#[repr(C)]
pub struct ListObj {
    base: Object,
    cell: TVMFFISeqCell,
}

// SAFETY: the ABI's layout of lists.
unsafe impl ObjectCore for ListObj {
    const TYPE_KEY: &'static str = "ffi.List";
    const TYPE_DEPTH: i32 = 1;
    const TYPE_FINAL: bool = true;

    fn type_index() -> i32 {
        LIST
    }
}

/// Mutable sequence of `T`. All clones are one list. Stays on its thread, as changes are not
/// synchronised.
#[repr(transparent)]
pub struct List<T> {
    data: ObjectArc<ListObj>,
    elements: PhantomData<(T, *const ())>,
}

impl<T> Clone for List<T> {
    fn clone(&self) -> Self {
        Self { data: self.data.clone(), elements: PhantomData }
    }
}

// SAFETY: transparent over the ObjectArc.
unsafe impl<T> ObjectRefCore for List<T> {
    type ContainerType = ListObj;

    fn data(this: &Self) -> &ObjectArc<ListObj> {
        &this.data
    }
    fn into_data(this: Self) -> ObjectArc<ListObj> {
        this.data
    }
    fn from_data(data: ObjectArc<ListObj>) -> Self {
        Self { data, elements: PhantomData }
    }
}

impl<T> List<T> {
    /// Number of elements.
    pub fn len(&self) -> usize {
        // A raw read: the object may change through other references.
        // SAFETY: the object is alive.
        unsafe { (&raw const (*ObjectArc::as_raw(&self.data)).cell.size).read() as usize }
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Removes all elements.
    pub fn clear(&self) -> Result<()> {
        cached_global_func!("ffi.ListClear").call_tuple((self.any(),)).map(drop)
    }

    fn any(&self) -> Any {
        Any::from(crate::ObjectRef::upcast(self.clone()))
    }
}

impl<T: ContainerElement> List<T> {
    /// List of the elements of a vector.
    pub fn new(items: Vec<T>) -> Self {
        let items: Vec<Any> = items.into_iter().map(T::into_any).collect();
        let views: Vec<_> = items.iter().map(Any::as_view).collect();
        let list = cached_global_func!("ffi.List").call_packed(&views);
        match list.map(Any::into_raw) {
            // SAFETY: the function returns a list, whose reference moves here.
            Ok(cell) if cell.type_index == LIST => unsafe { ref_cell::taken::<Self>(&cell) },
            Ok(cell) => panic!("ffi.List returned a value of type index {}", cell.type_index),
            Err(error) => panic!("{error}"),
        }
    }

    /// Element `index`; IndexError when out of bounds.
    pub fn get(&self, index: usize) -> Result<T> {
        // SAFETY: the element is copied out before anything else can run.
        let element = unsafe {
            let object = &*ObjectArc::as_raw(&self.data);
            slice_of(&object.cell).get(index).map(|view| Any::from(*view))
        };
        match element {
            Some(element) => element.cast::<T>(),
            None => Err(out_of_bounds(index, self.len())),
        }
    }

    /// Replaces element `index`; IndexError when out of bounds.
    pub fn set(&self, index: usize, value: T) -> Result<()> {
        let args = (self.any(), index, value.into_any());
        cached_global_func!("ffi.ListSetItem").call_tuple(args).map(drop)
    }

    /// Adds an element at the end.
    pub fn append(&self, value: T) -> Result<()> {
        cached_global_func!("ffi.ListAppend").call_tuple((self.any(), value.into_any())).map(drop)
    }

    /// Puts an element before position `index`.
    pub fn insert(&self, index: usize, value: T) -> Result<()> {
        let args = (self.any(), index, value.into_any());
        cached_global_func!("ffi.ListInsert").call_tuple(args).map(drop)
    }

    /// Removes and returns element `index`; IndexError when out of bounds.
    pub fn remove(&self, index: usize) -> Result<T> {
        cached_global_func!("ffi.ListPop").call_tuple((self.any(), index))?.cast::<T>()
    }

    /// Copies of the elements as they are now.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        // SAFETY: all elements are copied out before anything else can run.
        let elements: Vec<Any> = unsafe {
            let object = &*ObjectArc::as_raw(&self.data);
            slice_of(&object.cell).iter().map(|view| Any::from(*view)).collect()
        };
        elements.into_iter().map(Any::cast::<T>).collect()
    }
}

impl<T: ContainerElement> Default for List<T> {
    fn default() -> Self {
        Self::new(Vec::new())
    }
}

impl<T: ContainerElement> FromIterator<T> for List<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self::new(items.into_iter().collect())
    }
}

impl<T: ContainerElement> std::fmt::Debug for List<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let elements = List::<Any>::from_data(self.data.clone()).to_vec();
        f.debug_list().entries(elements.unwrap_or_default()).finish()
    }
}

// SAFETY: a List cell whose elements are all `T`.
unsafe impl<T: ContainerElement> AnyCompatible for List<T> {
    crate::impl_object_ref_cells!(@shared List<T>);

    fn type_str() -> std::string::String {
        format!("List<{}>", T::element_type_str())
    }
    fn type_schema() -> std::string::String {
        format!("{{\"type\":\"ffi.List\",\"args\":[{}]}}", T::element_schema())
    }
    unsafe fn check_any_strict(data: &TVMFFIAny) -> bool {
        // SAFETY: promised by the caller; checking runs no foreign code.
        data.type_index == LIST
            && unsafe { sequence_of(data) }
                .is_some_and(|views| views.iter().all(|view| T::is_strict(*view)))
    }
    unsafe fn try_cast_from_any_view(data: &TVMFFIAny) -> Option<Self> {
        // SAFETY: promised by the caller; copied after the check.
        unsafe {
            if Self::check_any_strict(data) {
                return Some(ref_cell::copied::<Self>(data));
            }
            convert_all::<T>(sequence_of(data)?).map(Self::new)
        }
    }
    unsafe fn get_mismatch_type_info(data: &TVMFFIAny) -> std::string::String {
        // SAFETY: promised by the caller.
        unsafe { sequence_mismatch::<T>("List", data) }
    }
}
crate::impl_any_compatible_conversions!([T: ContainerElement] List<T>);
crate::impl_optional_object!([T: ContainerElement] List<T>);
