// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

//! Reference-counted objects shared with C, C++ and Python.
//!
//! An object struct (`PointObj`, `#[repr(C)]`) starts with its parent's struct and finally with
//! [`Object`]. A reference struct (`Point`) holds one [`ObjectArc`] of it. `#[derive(Object)]` and
//! `#[derive(ObjectRef)]` write the trait implementations.

use std::alloc::{alloc, dealloc, handle_alloc_error, Layout};
use std::ffi::{c_int, c_void};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Deref;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr::NonNull;
use std::sync::atomic::{fence, AtomicU64, Ordering};

use tvm_ffi_sys::{
    TVMFFIByteArray, TVMFFIGetTypeInfo, TVMFFIObject, TVMFFITypeGetOrAllocIndex, TVMFFITypeIndex,
    TVMFFITypeInfo, TVMFFITypeKeyToIndex,
};

use crate::error::Error;

pub use crate::object_ref::{ref_cell, ObjectIdentity, ObjectRef, ObjectRefCast, ObjectRefCore};
pub use crate::object_weak::ObjectWeak;

pub(crate) const STRONG_ONE: u64 = 1;
pub(crate) const WEAK_ONE: u64 = 1 << 32;
const BOTH_ONE: u64 = STRONG_ONE | WEAK_ONE;
pub(crate) const STRONG_MASK: u64 = WEAK_ONE - 1;
const FLAG_STRONG: c_int = 1;
pub(crate) const FLAG_WEAK: c_int = 2;

/// Start of every object: its reference counts, type index and deleter.
///
/// Neither `Send` nor `Sync`, as an object of unknown type may be of one that is not, such as
/// [`List`](crate::List). A struct around it is `Send` and `Sync` only if it says so itself.
#[repr(C)]
#[derive(Debug, Default)]
pub struct Object {
    header: TVMFFIObject,
    any_thread: PhantomData<*const ()>,
}

impl Object {
    /// Header to put into a new object struct; [`ObjectArc::new`] fills it in.
    pub const fn new() -> Self {
        Self { header: TVMFFIObject::new(), any_thread: PhantomData }
    }

    /// Runtime type of the object.
    pub fn type_index(&self) -> i32 {
        self.header.type_index
    }
}

/// A struct that is the memory of an object.
///
/// # Safety
/// The struct is `#[repr(C)]`, begins with the struct of its parent type and so with [`Object`],
/// and `type_index` names a registered type with exactly this layout (or a prefix of it).
pub unsafe trait ObjectCore: Sized + 'static {
    /// Globally unique name of the type.
    const TYPE_KEY: &'static str;
    /// Number of ancestors; 0 for [`Object`].
    const TYPE_DEPTH: i32;
    /// Whether no type may derive from this one.
    const TYPE_FINAL: bool = false;

    /// Index of the type in the process-wide type table.
    fn type_index() -> i32;

    /// Header of the object.
    fn header(&self) -> &TVMFFIObject {
        // SAFETY: the struct begins with an Object, by the contract of this trait.
        unsafe { &*(self as *const Self).cast::<TVMFFIObject>() }
    }

    /// Header of the object, for initialisation.
    ///
    /// # Safety
    /// The counts of a shared object must not be written.
    unsafe fn object_header_mut(this: &mut Self) -> &mut TVMFFIObject {
        // SAFETY: the struct begins with an Object, by the contract of this trait.
        unsafe { &mut *(this as *mut Self).cast::<TVMFFIObject>() }
    }

    /// Whether objects of type `type_index` are instances of this type.
    fn is_instance(type_index: i32) -> bool {
        let wanted = Self::type_index();
        type_index == wanted
            || (!Self::TYPE_FINAL && is_derived(type_index, wanted, Self::TYPE_DEPTH))
    }
}

// SAFETY: the root type; its index is fixed by the ABI.
unsafe impl ObjectCore for Object {
    const TYPE_KEY: &'static str = "ffi.Object";
    const TYPE_DEPTH: i32 = 0;

    fn type_index() -> i32 {
        TVMFFITypeIndex::kTVMFFIObject as i32
    }

    fn is_instance(type_index: i32) -> bool {
        type_index >= TVMFFITypeIndex::kTVMFFIObject as i32
    }
}

/// An object struct followed in memory by a run of plain items.
///
/// # Safety
/// `extra_items_count` tells how many items were allocated and never changes.
pub unsafe trait ObjectCoreWithExtraItems: ObjectCore {
    /// Type of the items; needs no destructor.
    type ExtraItem: Copy;

    /// Number of items behind the object.
    fn extra_items_count(this: &Self) -> usize;

    /// The items.
    fn extra_items(this: &Self) -> &[Self::ExtraItem] {
        let count = Self::extra_items_count(this);
        // SAFETY: `new_with_extra_items` put that many initialised items behind the object.
        unsafe { std::slice::from_raw_parts(extra_items_ptr(this), count) }
    }
}

fn extra_items_ptr<T: ObjectCoreWithExtraItems>(this: *const T) -> *mut T::ExtraItem {
    let offset = extra_items_offset::<T>();
    this.cast::<u8>().wrapping_add(offset).cast::<T::ExtraItem>().cast_mut()
}

fn extra_items_offset<T: ObjectCoreWithExtraItems>() -> usize {
    let align = std::mem::align_of::<T::ExtraItem>();
    std::mem::size_of::<T>().div_ceil(align) * align
}

/// Table entry of a type that is known to exist.
pub(crate) fn type_info(type_index: i32) -> &'static TVMFFITypeInfo {
    // SAFETY: only called with the index of a live value or a registered type; entries are never
    // freed.
    unsafe { &*TVMFFIGetTypeInfo(type_index) }
}

/// Type key of the values with this index.
pub(crate) fn type_key(type_index: i32) -> &'static str {
    // SAFETY: keys live as long as the table.
    unsafe { type_info(type_index).type_key.as_str() }
}

fn is_derived(type_index: i32, ancestor: i32, ancestor_depth: i32) -> bool {
    if type_index < TVMFFITypeIndex::kTVMFFIObject as i32 {
        return false;
    }
    let info = type_info(type_index);
    if info.type_depth <= ancestor_depth {
        return false;
    }
    // SAFETY: type_ancestors has type_depth entries, which live for ever.
    unsafe { (**info.type_ancestors.add(ancestor_depth as usize)).type_index == ancestor }
}

/// Index of an already registered type.
pub fn lookup_type_index(type_key: &str) -> Result<i32, Error> {
    let key = TVMFFIByteArray::from_str(type_key);
    let mut index = 0;
    // SAFETY: both pointers are valid for the call.
    crate::check_safe_call!(unsafe { TVMFFITypeKeyToIndex(&key, &mut index) })?;
    Ok(index)
}

/// What [`register_type`] needs to know besides key and parent.
#[derive(Clone, Copy, Debug)]
pub struct TypeRegistration {
    /// Number of ancestors.
    pub depth: i32,
    /// Indices reserved for direct and indirect children.
    pub child_slots: i32,
    /// Whether more children than slots are allowed.
    pub child_slots_can_overflow: bool,
}

/// Registers a type under `parent`, or returns the index its key already has.
pub fn register_type(type_key: &str, parent: i32, how: TypeRegistration) -> i32 {
    let key = TVMFFIByteArray::from_str(type_key);
    // SAFETY: the key is valid for the call and copied by the table.
    unsafe {
        TVMFFITypeGetOrAllocIndex(
            &key,
            -1,
            how.depth,
            how.child_slots,
            how.child_slots_can_overflow as i32,
            parent,
        )
    }
}

/// Adds a strong reference.
///
/// # Safety
/// `object` points at a live object.
pub unsafe fn inc_ref(object: *mut TVMFFIObject) {
    // SAFETY: promised by the caller.
    let count: &AtomicU64 = unsafe { &(*object).combined_ref_count };
    count.fetch_add(STRONG_ONE, Ordering::Relaxed);
}

/// Gives up a strong reference; destroys the object with the last one.
///
/// # Safety
/// The caller owns a strong reference, which is used up.
pub unsafe fn dec_ref(object: *mut TVMFFIObject) {
    // SAFETY: the caller's reference keeps the header alive up to the deleter calls below; weak
    // references are counted in the same word.
    unsafe {
        let count = &(*object).combined_ref_count;
        let old = count.fetch_sub(STRONG_ONE, Ordering::Release);
        if old == BOTH_ONE {
            fence(Ordering::Acquire);
            call_deleter(object, FLAG_STRONG | FLAG_WEAK);
        } else if old & STRONG_MASK == STRONG_ONE {
            fence(Ordering::Acquire);
            call_deleter(object, FLAG_STRONG);
            if count.fetch_sub(WEAK_ONE, Ordering::Release) >> 32 == 1 {
                fence(Ordering::Acquire);
                call_deleter(object, FLAG_WEAK);
            }
        }
    }
}

/// Runs the deleter of an object.
///
/// # Safety
/// The caller gave up the last reference of the kind that `flags` names.
pub(crate) unsafe fn call_deleter(object: *mut TVMFFIObject, flags: c_int) {
    // SAFETY: promised by the caller; objects without deleter are static and never freed.
    unsafe {
        if let Some(deleter) = (*object).deleter {
            deleter(object.cast(), flags);
        }
    }
}

/// Runs a destructor; a panic in it is reported by the panic hook and goes no further, as the
/// caller may be C++.
pub(crate) fn run_destructor(body: impl FnOnce()) {
    let _ = catch_unwind(AssertUnwindSafe(body));
}

unsafe extern "C" fn delete_object<T: ObjectCore>(object: *mut c_void, flags: c_int) {
    if flags & FLAG_STRONG != 0 {
        // SAFETY: the last strong reference is gone, so nobody else looks at the value.
        run_destructor(|| unsafe { std::ptr::drop_in_place(object.cast::<T>()) });
    }
    if flags & FLAG_WEAK != 0 {
        // SAFETY: allocated by `ObjectArc::new` with this layout.
        unsafe { dealloc(object.cast(), Layout::new::<T>()) };
    }
}

/// Bytes in front of an object with extra items; they hold the size of the allocation.
const PREFIX: usize = 16;

unsafe extern "C" fn delete_with_items<T: ObjectCore>(object: *mut c_void, flags: c_int) {
    if flags & FLAG_STRONG != 0 {
        // SAFETY: as in `delete_object`.
        run_destructor(|| unsafe { std::ptr::drop_in_place(object.cast::<T>()) });
    }
    if flags & FLAG_WEAK != 0 {
        // SAFETY: `new_with_extra_items` put the prefix there and used this alignment.
        unsafe {
            let base = object.cast::<u8>().sub(PREFIX);
            let size = base.cast::<usize>().read();
            dealloc(base, Layout::from_size_align_unchecked(size, PREFIX));
        }
    }
}

/// Owning, never null pointer to an object.
///
/// Clones share the object. Counts are atomic; an `ObjectArc` may cross threads when its object
/// struct may.
#[repr(transparent)]
pub struct ObjectArc<T: ObjectCore> {
    ptr: NonNull<T>,
    owns: PhantomData<T>,
}

// SAFETY: as std::sync::Arc: reference counts are atomic and only shared access is given.
unsafe impl<T: ObjectCore + Send + Sync> Send for ObjectArc<T> {}
// SAFETY: as above.
unsafe impl<T: ObjectCore + Send + Sync> Sync for ObjectArc<T> {}

impl<T: ObjectCore> ObjectArc<T> {
    /// Moves `value` into a new object.
    pub fn new(value: T) -> Self {
        let type_index = T::type_index();
        let layout = Layout::new::<T>();
        // SAFETY: a struct that starts with an object header is not empty.
        let memory = unsafe { alloc(layout) }.cast::<T>();
        let Some(ptr) = NonNull::new(memory) else { handle_alloc_error(layout) };
        // SAFETY: the memory is fresh, large enough and aligned.
        unsafe {
            ptr.as_ptr().write(value);
            init_header(ptr.as_ptr().cast(), type_index, delete_object::<T>);
        }
        Self { ptr, owns: PhantomData }
    }

    /// Moves `value` into a new object with room for the extra items it announces, which `fill`
    /// must initialise.
    ///
    /// # Safety
    /// `fill` initialises every item.
    pub unsafe fn new_with_extra_items(
        value: T,
        fill: impl FnOnce(&T, &mut [MaybeUninit<T::ExtraItem>]),
    ) -> Self
    where
        T: ObjectCoreWithExtraItems,
    {
        const { assert!(std::mem::align_of::<T>() <= PREFIX) };
        let type_index = T::type_index();
        let count = T::extra_items_count(&value);
        let size = std::mem::size_of::<T::ExtraItem>()
            .checked_mul(count)
            .and_then(|bytes| bytes.checked_add(PREFIX + extra_items_offset::<T>()))
            .expect("object size overflows");
        let layout = Layout::from_size_align(size, PREFIX).expect("object size overflows");
        // SAFETY: the size includes the prefix, so it is not 0.
        let base = unsafe { alloc(layout) };
        if base.is_null() {
            handle_alloc_error(layout);
        }
        // SAFETY: prefix, object and items lie inside the allocation, in this order.
        unsafe {
            base.cast::<usize>().write(size);
            let object = base.add(PREFIX).cast::<T>();
            object.write(value);
            init_header(object.cast(), type_index, delete_with_items::<T>);
            let items = extra_items_ptr::<T>(object).cast::<MaybeUninit<T::ExtraItem>>();
            fill(&*object, std::slice::from_raw_parts_mut(items, count));
            Self { ptr: NonNull::new_unchecked(object), owns: PhantomData }
        }
    }

    /// Takes over a strong reference.
    ///
    /// # Safety
    /// `ptr` is a live object of type `T`, and the caller gives up one strong reference.
    pub unsafe fn from_raw(ptr: *const T) -> Self {
        // SAFETY: promised by the caller.
        Self { ptr: unsafe { NonNull::new_unchecked(ptr.cast_mut()) }, owns: PhantomData }
    }

    /// Gives the strong reference to the caller.
    pub fn into_raw(this: Self) -> *const T {
        let ptr = this.ptr.as_ptr();
        std::mem::forget(this);
        ptr
    }

    /// Address of the object.
    pub fn as_raw(this: &Self) -> *const T {
        this.ptr.as_ptr()
    }

    /// Address of the object as the C API takes it.
    pub fn as_handle(this: &Self) -> *mut c_void {
        this.ptr.as_ptr().cast()
    }

    /// Number of strong references.
    pub fn strong_count(this: &Self) -> usize {
        (Self::counts(this) & STRONG_MASK) as usize
    }

    /// Number of weak references, the one of all strong ones together included.
    pub fn weak_count(this: &Self) -> usize {
        (Self::counts(this) >> 32) as usize
    }

    /// Whether this is the only reference, strong or weak.
    pub fn is_unique(this: &Self) -> bool {
        // Acquire pairs with the Release of other owners' dec_ref.
        (**this).header().combined_ref_count.load(Ordering::Acquire) == BOTH_ONE
    }

    /// Exclusive access, if this is the only reference.
    pub fn get_mut(this: &mut Self) -> Option<&mut T> {
        if !Self::is_unique(this) {
            return None;
        }
        // SAFETY: nobody else can reach the object.
        Some(unsafe { this.ptr.as_mut() })
    }

    /// Whether both are the same object.
    pub fn ptr_eq(this: &Self, other: &Self) -> bool {
        this.ptr == other.ptr
    }

    fn counts(this: &Self) -> u64 {
        (**this).header().combined_ref_count.load(Ordering::Relaxed)
    }

    /// The same reference with another static type.
    ///
    /// # Safety
    /// The object is an instance of `U`.
    pub unsafe fn cast_unchecked<U: ObjectCore>(this: Self) -> ObjectArc<U> {
        let ptr = this.ptr.cast::<U>();
        std::mem::forget(this);
        ObjectArc { ptr, owns: PhantomData }
    }
}

/// Fills in the header of a new object with one strong reference.
///
/// # Safety
/// `header` is the start of memory that `deleter` can destroy and free.
pub(crate) unsafe fn init_header(
    header: *mut TVMFFIObject,
    type_index: i32,
    deleter: unsafe extern "C" fn(*mut c_void, c_int),
) {
    // SAFETY: promised by the caller; the old header has no destructor.
    unsafe {
        header.write(TVMFFIObject {
            combined_ref_count: AtomicU64::new(BOTH_ONE),
            type_index,
            __padding: 0,
            deleter: Some(deleter),
        });
    }
}

/// Names the object struct of an [`ObjectArc`], for the derive macro.
#[doc(hidden)]
pub trait ArcTarget {
    /// The object struct.
    type Target: ObjectCore;
}

impl<T: ObjectCore> ArcTarget for ObjectArc<T> {
    type Target = T;
}

impl<T: ObjectCore> Deref for ObjectArc<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the strong reference keeps the object alive.
        unsafe { self.ptr.as_ref() }
    }
}

impl<T: ObjectCore> Clone for ObjectArc<T> {
    fn clone(&self) -> Self {
        // SAFETY: alive, as this reference exists.
        unsafe { inc_ref(self.ptr.as_ptr().cast()) };
        Self { ptr: self.ptr, owns: PhantomData }
    }
}

impl<T: ObjectCore> Drop for ObjectArc<T> {
    fn drop(&mut self) {
        // SAFETY: gives up the reference that this value owned.
        unsafe { dec_ref(self.ptr.as_ptr().cast()) };
    }
}

impl<T: ObjectCore> std::fmt::Debug for ObjectArc<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}({:p})", type_key((**self).header().type_index), self.ptr)
    }
}
