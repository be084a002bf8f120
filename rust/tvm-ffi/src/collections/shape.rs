// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

//! [`Shape`]: immutable extents of a tensor.

use std::ops::Deref;

use tvm_ffi_sys::{TVMFFIAny, TVMFFIShapeCell, TVMFFITypeIndex};

use super::sequence;
use crate::object::{
    ref_cell, Object, ObjectArc, ObjectCore, ObjectCoreWithExtraItems, ObjectRefCore,
};
use crate::type_traits::{simple_schema, AnyCompatible};

const SHAPE: i32 = TVMFFITypeIndex::kTVMFFIShape as i32;
const ARRAY: i32 = TVMFFITypeIndex::kTVMFFIArray as i32;

/// Object behind [`Shape`].
#[repr(C)]
pub struct ShapeObj {
    base: Object,
    cell: TVMFFIShapeCell,
}

// SAFETY: the ABI's layout of shapes.
unsafe impl ObjectCore for ShapeObj {
    const TYPE_KEY: &'static str = "ffi.Shape";
    const TYPE_DEPTH: i32 = 1;
    const TYPE_FINAL: bool = true;

    fn type_index() -> i32 {
        SHAPE
    }
}

// SAFETY: shapes made by Rust have their `size` extents behind the object.
unsafe impl ObjectCoreWithExtraItems for ShapeObj {
    type ExtraItem = i64;

    fn extra_items_count(this: &Self) -> usize {
        this.cell.size
    }
}

// SAFETY: immutable numbers.
unsafe impl Send for ShapeObj {}
// SAFETY: as above.
unsafe impl Sync for ShapeObj {}

/// Immutable sequence of extents; a slice of `i64`.
#[repr(transparent)]
#[derive(Clone)]
pub struct Shape {
    data: ObjectArc<ShapeObj>,
}

// SAFETY: transparent over the ObjectArc.
unsafe impl ObjectRefCore for Shape {
    type ContainerType = ShapeObj;

    fn data(this: &Self) -> &ObjectArc<ShapeObj> {
        &this.data
    }
    fn into_data(this: Self) -> ObjectArc<ShapeObj> {
        this.data
    }
    fn from_data(data: ObjectArc<ShapeObj>) -> Self {
        Self { data }
    }
}

impl Shape {
    /// Shape with the given extents.
    pub fn new(extents: &[i64]) -> Self {
        let cell = TVMFFIShapeCell { data: std::ptr::null(), size: extents.len() };
        // SAFETY: every item is initialised.
        let mut data = unsafe {
            ObjectArc::new_with_extra_items(ShapeObj { base: Object::new(), cell }, |_, items| {
                for (item, extent) in items.iter_mut().zip(extents) {
                    item.write(*extent);
                }
            })
        };
        let items = ShapeObj::extra_items(&data).as_ptr();
        ObjectArc::get_mut(&mut data).expect("a new object has one owner").cell.data = items;
        Self { data }
    }

    /// The extents.
    pub fn as_slice(&self) -> &[i64] {
        let cell = &self.data.cell;
        if cell.size == 0 {
            return &[];
        }
        // SAFETY: a live shape has `size` extents.
        unsafe { std::slice::from_raw_parts(cell.data, cell.size) }
    }

    /// Number of elements of a tensor of this shape.
    pub fn numel(&self) -> i64 {
        self.as_slice().iter().product()
    }
}

impl Deref for Shape {
    type Target = [i64];
    fn deref(&self) -> &[i64] {
        self.as_slice()
    }
}

impl From<&[i64]> for Shape {
    fn from(extents: &[i64]) -> Self {
        Self::new(extents)
    }
}

impl<const N: usize> From<[i64; N]> for Shape {
    fn from(extents: [i64; N]) -> Self {
        Self::new(&extents)
    }
}

impl From<Vec<i64>> for Shape {
    fn from(extents: Vec<i64>) -> Self {
        Self::new(&extents)
    }
}

impl PartialEq for Shape {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for Shape {}

impl std::fmt::Debug for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Shape{:?}", self.as_slice())
    }
}

// SAFETY: a Shape cell, or by conversion an Array of integers.
unsafe impl AnyCompatible for Shape {
    crate::impl_object_ref_cells!(@shared Shape);

    fn type_str() -> std::string::String {
        "ffi.Shape".to_string()
    }
    fn type_schema() -> std::string::String {
        simple_schema("ffi.Shape")
    }
    unsafe fn check_any_strict(data: &TVMFFIAny) -> bool {
        data.type_index == SHAPE
    }
    unsafe fn try_cast_from_any_view(data: &TVMFFIAny) -> Option<Self> {
        // SAFETY: promised by the caller; copied after the check.
        unsafe {
            match data.type_index {
                SHAPE => Some(ref_cell::copied::<Self>(data)),
                ARRAY => sequence::converted::<i64>(data).map(Self::from),
                _ => None,
            }
        }
    }
}
crate::impl_any_compatible_conversions!(Shape);
crate::impl_optional_object!([] Shape);
