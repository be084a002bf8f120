// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

//! [`Array`]: a sequence with value semantics; writers copy unless they are the only owner.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use tvm_ffi_sys::{TVMFFIAny, TVMFFISeqCell, TVMFFITypeIndex};

use crate::any::{Any, AnyView};
use crate::error::{Error, Result, INDEX_ERROR};
use crate::object::{
    ref_cell, run_destructor, Object, ObjectArc, ObjectCore, ObjectCoreWithExtraItems,
    ObjectRefCore,
};
use crate::type_traits::{AnyCompatible, ContainerElement};

const ARRAY: i32 = TVMFFITypeIndex::kTVMFFIArray as i32;
const LIST: i32 = TVMFFITypeIndex::kTVMFFIList as i32;

/// Object behind [`Array`]. Its elements follow it in memory.
#[repr(C)]
pub struct ArrayObj {
    base: Object,
    cell: TVMFFISeqCell,
}

// SAFETY: the ABI's layout of arrays.
unsafe impl ObjectCore for ArrayObj {
    const TYPE_KEY: &'static str = "ffi.Array";
    const TYPE_DEPTH: i32 = 1;
    const TYPE_FINAL: bool = true;

    fn type_index() -> i32 {
        ARRAY
    }
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

/// Immutable sequence of `T`, shared by reference; the `&mut` methods copy it first unless this
/// is the only reference.
#[repr(transparent)]
pub struct Array<T> {
    data: ObjectArc<ArrayObj>,
    elements: PhantomData<T>,
}

// SAFETY: the elements are `T`s, and the array itself does not change while shared.
unsafe impl<T: Send + Sync> Send for Array<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for Array<T> {}

impl<T> Clone for Array<T> {
    fn clone(&self) -> Self {
        Self { data: self.data.clone(), elements: PhantomData }
    }
}

// SAFETY: transparent over the ObjectArc.
unsafe impl<T> ObjectRefCore for Array<T> {
    type ContainerType = ArrayObj;

    fn data(this: &Self) -> &ObjectArc<ArrayObj> {
        &this.data
    }
    fn into_data(this: Self) -> ObjectArc<ArrayObj> {
        this.data
    }
    fn from_data(data: ObjectArc<ArrayObj>) -> Self {
        Self { data, elements: PhantomData }
    }
}

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
    /// Number of elements.
    pub fn len(&self) -> usize {
        self.data.cell.size as usize
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

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

#[cold]
pub(crate) fn out_of_bounds(index: usize, len: usize) -> Error {
    crate::ffi_error!(INDEX_ERROR, "Index {index} out of bounds {len}")
}

impl<T: ContainerElement> Default for Array<T> {
    fn default() -> Self {
        Self::new(Vec::new())
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

/// Converted copies of all elements, or None at the first that does not convert.
pub(crate) fn convert_all<T: ContainerElement>(views: &[AnyView<'_>]) -> Option<Vec<T>> {
    views.iter().map(|view| T::from_view(*view)).collect()
}

/// What a sequence type found instead of its own, for messages.
///
/// # Safety
/// The cell is valid.
pub(crate) unsafe fn sequence_mismatch<T: ContainerElement>(
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

// SAFETY: an Array cell whose elements are all `T`.
unsafe impl<T: ContainerElement> AnyCompatible for Array<T> {
    crate::impl_object_ref_cells!(@shared Array<T>);

    fn type_str() -> std::string::String {
        format!("Array<{}>", T::element_type_str())
    }
    fn type_schema() -> std::string::String {
        format!("{{\"type\":\"ffi.Array\",\"args\":[{}]}}", T::element_schema())
    }
    unsafe fn check_any_strict(data: &TVMFFIAny) -> bool {
        // SAFETY: promised by the caller.
        data.type_index == ARRAY
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
        unsafe { sequence_mismatch::<T>("Array", data) }
    }
}
crate::impl_any_compatible_conversions!([T: ContainerElement] Array<T>);
crate::impl_optional_object!([T: ContainerElement] Array<T>);
