// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

//! [`List`]: a growing sequence that all its references see change.

use std::marker::PhantomData;

use tvm_ffi_sys::{TVMFFIAny, TVMFFISeqCell};

use super::container::{container_cells, container_type};
use super::sequence::{self, out_of_bounds, slice_of, LIST};
use crate::any::Any;
use crate::cached_global_func;
use crate::error::Result;
use crate::object::{ref_cell, Object, ObjectArc, ObjectCore, ObjectRefCore};
use crate::type_traits::{AnyCompatible, ContainerElement};

container_type! {
    /// Mutable sequence of `T`. All clones are one list. Stays on its thread, as changes are not
    /// synchronised.
    List<T> as (T, *const ()),
    /// Object behind [`List`].
    ListObj { TVMFFISeqCell } = "ffi.List", LIST
}

impl<T> List<T> {
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

container_cells!(List<T>, "ffi.List", LIST, sequence);
