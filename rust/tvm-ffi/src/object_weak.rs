// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

//! [`ObjectWeak`]: a reference that does not keep an object alive. Public through
//! [`object`](crate::object).

use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::atomic::{fence, AtomicU64, Ordering};

use crate::object::{
    call_deleter, ObjectArc, ObjectCore, FLAG_WEAK, STRONG_MASK, STRONG_ONE, WEAK_ONE,
};

/// Weak counterpart of [`ObjectArc`]: breaks cycles and lets caches forget.
///
/// ```
/// use tvm_ffi::{Array, ObjectRefCast, ObjectRefCore, ObjectWeak};
/// let array = Array::new(vec![1i64, 2]);
/// let weak = array.downgrade();
/// assert_eq!(weak.upgrade().map(|data| Array::<i64>::from_data(data).len()), Some(2));
/// drop(array);
/// assert!(weak.upgrade().is_none());
/// ```
pub struct ObjectWeak<T: ObjectCore> {
    ptr: NonNull<T>,
    of: PhantomData<T>,
}

// SAFETY: as ObjectArc, which it can become.
unsafe impl<T: ObjectCore + Send + Sync> Send for ObjectWeak<T> {}
// SAFETY: as above.
unsafe impl<T: ObjectCore + Send + Sync> Sync for ObjectWeak<T> {}

impl<T: ObjectCore> ObjectWeak<T> {
    /// Weak reference to the object of `strong`.
    pub fn new(strong: &ObjectArc<T>) -> Self {
        (**strong).header().combined_ref_count.fetch_add(WEAK_ONE, Ordering::Relaxed);
        let ptr = NonNull::new(ObjectArc::as_raw(strong).cast_mut()).expect("never null");
        Self { ptr, of: PhantomData }
    }

    /// A strong reference, unless the object is gone.
    pub fn upgrade(&self) -> Option<ObjectArc<T>> {
        let more = |count: u64| (count & STRONG_MASK != 0).then_some(count + STRONG_ONE);
        let count = self.count();
        count.fetch_update(Ordering::Acquire, Ordering::Relaxed, more).ok()?;
        // SAFETY: the strong reference just added is handed over.
        Some(unsafe { ObjectArc::from_raw(self.ptr.as_ptr()) })
    }

    /// Number of strong references; 0 once the object is gone.
    pub fn strong_count(&self) -> usize {
        (self.count().load(Ordering::Relaxed) & STRONG_MASK) as usize
    }

    /// Whether both are of the same object.
    pub fn ptr_eq(&self, other: &Self) -> bool {
        self.ptr == other.ptr
    }

    fn count(&self) -> &AtomicU64 {
        // SAFETY: the header stays until the last weak reference goes.
        unsafe { &(*self.ptr.as_ptr().cast::<tvm_ffi_sys::TVMFFIObject>()).combined_ref_count }
    }
}

impl<T: ObjectCore> Clone for ObjectWeak<T> {
    fn clone(&self) -> Self {
        self.count().fetch_add(WEAK_ONE, Ordering::Relaxed);
        Self { ptr: self.ptr, of: PhantomData }
    }
}

impl<T: ObjectCore> Drop for ObjectWeak<T> {
    fn drop(&mut self) {
        if self.count().fetch_sub(WEAK_ONE, Ordering::Release) >> 32 == 1 {
            fence(Ordering::Acquire);
            // SAFETY: the last reference of either kind is gone.
            unsafe { call_deleter(self.ptr.as_ptr().cast(), FLAG_WEAK) };
        }
    }
}

impl<T: ObjectCore> std::fmt::Debug for ObjectWeak<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.upgrade() {
            Some(object) => write!(f, "weak {object:?}"),
            None => f.write_str("weak (gone)"),
        }
    }
}
