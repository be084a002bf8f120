// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

//! [`RValueRef`]: an argument whose reference the callee may take over.

use tvm_ffi_sys::{TVMFFIAny, TVMFFIObject, TVMFFITypeIndex};

use crate::function_internal::PackedCallArg;
use crate::object::{ref_cell, ObjectArc, ObjectRefCore};
use crate::type_traits::ContainerElement;
use crate::{Any, AnyCompatible, AnyView, Error};

const RVALUE: i32 = TVMFFITypeIndex::kTVMFFIObjectRValueRef as i32;

/// Passes an object by moving it: a callee that finds itself the only owner may reuse the memory.
///
/// As a parameter type of a Rust function it takes the caller's reference when one is offered,
/// and shares the object otherwise.
#[derive(Clone, Debug)]
pub struct RValueRef<T: ObjectRefCore> {
    value: T,
}

impl<T: ObjectRefCore> RValueRef<T> {
    /// Offers `value` to a callee.
    pub fn new(value: T) -> Self {
        Self { value }
    }

    /// The object.
    pub fn into_inner(self) -> T {
        self.value
    }
}

/// Keeps an offered reference; what the callee leaves is dropped afterwards.
#[doc(hidden)]
pub struct OfferedRef(*mut TVMFFIObject);

impl Drop for OfferedRef {
    fn drop(&mut self) {
        if !self.0.is_null() {
            // SAFETY: the callee did not take the reference.
            unsafe { crate::object::dec_ref(self.0) };
        }
    }
}

impl<T: ObjectRefCore> PackedCallArg for RValueRef<T> {
    type Holder = OfferedRef;

    fn hold(self) -> OfferedRef {
        OfferedRef(ObjectArc::into_raw(T::into_data(self.value)).cast_mut().cast())
    }
    fn cell(holder: &mut OfferedRef) -> TVMFFIAny {
        TVMFFIAny::from_bits(RVALUE, &raw mut holder.0 as u64)
    }
}

impl<T: ObjectRefCore + AnyCompatible> ContainerElement for RValueRef<T> {
    const ELEMENT_ZERO_IS_VALUE: bool = false;

    fn element_type_str() -> std::string::String {
        format!("RValueRef<{}>", T::type_str())
    }
    fn element_schema() -> std::string::String {
        T::type_schema()
    }
    fn element_static_type_index() -> i32 {
        TVMFFITypeIndex::kTVMFFIAny as i32
    }
    fn view(&self) -> AnyView<'_> {
        AnyView::from(&self.value)
    }
    fn into_any(self) -> Any {
        Any::from(self.value)
    }
    fn is_strict(view: AnyView<'_>) -> bool {
        offered::<T>(view).is_some()
    }
    fn from_view(view: AnyView<'_>) -> Option<Self> {
        if view.type_index() != RVALUE {
            return T::from_view(view).map(Self::new);
        }
        let (slot, cell) = offered::<T>(view)?;
        // SAFETY: the cell is strict for T; the caller's slot is cleared, so the reference moves.
        unsafe {
            slot.write(std::ptr::null_mut());
            Some(Self::new(ref_cell::taken::<T>(&cell)))
        }
    }
    fn from_any(any: Any) -> Result<Self, Any> {
        T::from_any(any).map(Self::new)
    }
    fn mismatch(view: AnyView<'_>) -> std::string::String {
        match offered_cell(view) {
            Some((_, cell)) => {
                format!("RValueRef<{}>", crate::object::type_key(cell.type_index))
            }
            None => view.type_key().to_string(),
        }
    }
    fn conversion_error(view: AnyView<'_>) -> Option<Error> {
        let moved = view.type_index() == RVALUE && offered_cell(view).is_none();
        moved.then(|| Error::new(crate::error::INTERNAL_ERROR, "RValueRef already moved", ""))
    }
}

/// Slot and object of an offered reference that nobody has taken.
fn offered_cell(view: AnyView<'_>) -> Option<(*mut *mut TVMFFIObject, TVMFFIAny)> {
    if view.type_index() != RVALUE {
        return None;
    }
    // SAFETY: the payload of such a view is the address of a slot with a live object or NULL.
    unsafe {
        let slot = view.as_raw().value.v_ptr.cast::<*mut TVMFFIObject>();
        let object = slot.read();
        (!object.is_null())
            .then(|| (slot, TVMFFIAny::from_bits((*object).type_index, object as u64)))
    }
}

fn offered<T: ObjectRefCore>(view: AnyView<'_>) -> Option<(*mut *mut TVMFFIObject, TVMFFIAny)> {
    offered_cell(view).filter(|(_, cell)| ref_cell::is_strict::<T>(cell))
}
