// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

//! [`Array`]: a sequence with value semantics; writers copy unless they are the only owner.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use tvm_ffi_sys::{TVMFFIAny, TVMFFISeqCell};

use super::container::{container_cells, container_type};
use super::sequence::{self, out_of_bounds, slice_of, ARRAY};
use crate::any::{Any, AnyView};
use crate::error::Result;
use crate::object::{
    ref_cell, run_destructor, Object, ObjectArc, ObjectCore, ObjectCoreWithExtraItems,
    ObjectRefCore,
};
use crate::type_traits::{AnyCompatible, ContainerElement};

container_type! {
    /// Immutable sequence of `T`, shared by reference; the `&mut` methods copy it first unless
    /// this is the only reference.
    Array<T> as T,
    /// Object behind [`Array`]. Its elements follow it in memory.
    ArrayObj { TVMFFISeqCell } = "ffi.Array", ARRAY
}

// SAFETY: `capacity` cells were allocated.
unsafe impl ObjectCoreWithExtraItems for ArrayObj {
    type ExtraItem = TVMFFIAny;

    fn extra_items_count(this: &Self) -> usize {
        this.cell.capacity as usize
    }
}

impl Drop for ArrayObj {
    /// Runs for arrays that Rust made; those of C++ have its deleter.
    fn drop(&mut self) {
        for index in 0..self.cell.size as usize {
            // SAFETY: the first `size` cells are owned values.
            let element =
                unsafe { Any::from_raw(self.cell.data.cast::<TVMFFIAny>().add(index).read()) };
            run_destructor(|| drop(element));
        }
        if let Some(deleter) = self.cell.data_deleter {
            // SAFETY: a later owner moved the cells to memory of its own.
            unsafe { deleter(self.cell.data) };
        }
    }
}

impl ArrayObj {
    pub(crate) fn elements(&self) -> &[AnyView<'_>] {
        // SAFETY: the first `size` cells are live values; an Any and an AnyView are one cell.
        unsafe { slice_of(&self.cell) }
    }
}

// SAFETY: the elements are `T`s, and the array itself does not change while shared.
unsafe impl<T: Send + Sync> Send for Array<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for Array<T> {}

/// New array object of the given capacity whose elements come from `items`.
fn build(capacity: usize, items: impl ExactSizeIterator<Item = Any>) -> ObjectArc<ArrayObj> {
    let size = items.len();
    let capacity = capacity.max(size);
    let object = ArrayObj {
        base: Object::new(),
        cell: TVMFFISeqCell {
            data: std::ptr::null_mut(),
            size: 0, // grows below, so that a panicking iterator leaks nothing
            capacity: capacity as i64,
            data_deleter: None,
        },
    };
    // SAFETY: every slot is initialised with None.
    let mut array = unsafe {
        ObjectArc::new_with_extra_items(object, |_, slots: &mut [MaybeUninit<TVMFFIAny>]| {
            for slot in slots {
                slot.write(TVMFFIAny::new());
            }
        })
    };
    let slots = ArrayObj::extra_items(&array).as_ptr().cast_mut();
    let object = ObjectArc::get_mut(&mut array).expect("a new object has one owner");
    object.cell.data = slots.cast();
    for item in items.take(size) {
        // SAFETY: fewer than `capacity` slots are in use.
        unsafe { slots.add(object.cell.size as usize).write(Any::into_raw(item)) };
        object.cell.size += 1;
    }
    array
}

impl<T> Array<T> {
    /// The elements as views, without conversion.
    pub fn views(&self) -> &[AnyView<'_>] {
        self.data.elements()
    }
}

impl<T: ContainerElement> Array<T> {
    /// Array of the elements of a vector.
    pub fn new(items: Vec<T>) -> Self {
        Self::from_data(build(0, items.into_iter().map(T::into_any)))
    }

    /// Element `index`; IndexError when out of bounds.
    pub fn get(&self, index: usize) -> Result<T> {
        match self.views().get(index) {
            Some(view) => view.cast::<T>(),
            None => Err(out_of_bounds(index, self.len())),
        }
    }

    /// The elements, one after the other. Panics at an element that is no `T`, which needs an
    /// array that was not converted from an [`Any`].
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = T> + ExactSizeIterator + '_ {
        self.views().iter().map(|view| match view.cast::<T>() {
            Ok(element) => element,
            Err(error) => panic!("{error}"),
        })
    }

    /// Adds an element at the end.
    pub fn push(&mut self, value: T) {
        let len = self.len();
        if !self.is_writable() || len as i64 == self.data.cell.capacity {
            self.data = build((len * 2).max(4), self.views().iter().map(|view| Any::from(*view)));
        }
        let object = ObjectArc::get_mut(&mut self.data).expect("the array was made unique");
        // SAFETY: there is room for one more cell.
        unsafe {
            object.cell.data.cast::<TVMFFIAny>().add(len).write(Any::into_raw(value.into_any()));
        }
        object.cell.size += 1;
    }

    /// Replaces element `index`; IndexError when out of bounds.
    pub fn set(&mut self, index: usize, value: T) -> Result<()> {
        let len = self.len();
        if index >= len {
            return Err(out_of_bounds(index, len));
        }
        if !self.is_writable() {
            self.data = build(len, self.views().iter().map(|view| Any::from(*view)));
        }
        let object = ObjectArc::get_mut(&mut self.data).expect("the array was made unique");
        // SAFETY: the cell is live and owned by the array, which nobody else sees.
        let old = unsafe {
            let slot = object.cell.data.cast::<TVMFFIAny>().add(index);
            Any::from_raw(slot.replace(Any::into_raw(value.into_any())))
        };
        drop(old);
        Ok(())
    }

    fn is_writable(&self) -> bool {
        ObjectArc::is_unique(&self.data)
    }
}

impl<T: ContainerElement> FromIterator<T> for Array<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self::new(items.into_iter().collect())
    }
}

impl<T: ContainerElement> From<Vec<T>> for Array<T> {
    fn from(items: Vec<T>) -> Self {
        Self::new(items)
    }
}

impl<T: ContainerElement + Clone> From<&[T]> for Array<T> {
    fn from(items: &[T]) -> Self {
        Self::new(items.to_vec())
    }
}

impl<T: ContainerElement + std::fmt::Debug> std::fmt::Debug for Array<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.views()).finish()
    }
}

impl<T: ContainerElement + PartialEq> PartialEq for Array<T> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

container_cells!(Array<T>, "ffi.Array", ARRAY, sequence);
