// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

//! [`ObjectDef`]: registers fields, methods and attributes of an object type defined in Rust, so
//! that structural equality, hashing, copying, printing, JSON graphs and Python know them.

use std::alloc::{alloc_zeroed, dealloc, handle_alloc_error, Layout};
use std::ffi::{c_int, c_void};
use std::marker::PhantomData;
use std::ops::BitOr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex};
use std::thread::ThreadId;

use tvm_ffi_sys::{
    TVMFFIAny, TVMFFIByteArray, TVMFFIFieldFlagBitMask as Bit, TVMFFIFieldInfo, TVMFFIMethodInfo,
    TVMFFIObjectCreator, TVMFFIObjectHandle, TVMFFITypeMetadata, TVMFFITypeRegisterAttr,
    TVMFFITypeRegisterField, TVMFFITypeRegisterMetadata, TVMFFITypeRegisterMethod,
};

use crate::any::{Any, AnyView};
use crate::error::{catch_panic, guard_safe_call, Error, Result, TYPE_ERROR};
use crate::function::Function;
use crate::function_internal::metadata_text;
use crate::object::{
    init_header, run_destructor, Object, ObjectArc, ObjectCore, ObjectRef, ObjectRefCore,
};
use crate::type_traits::{is_zero, ContainerElement};

/// How structural equality and hashing treat a type.
#[repr(i32)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SEqHashKind {
    /// Not at all: an error.
    #[default]
    Unsupported = 0,
    /// By content.
    TreeNode = 1,
    /// As a variable, which definitions bind.
    FreeVar = 2,
    /// By content, and sharing matters.
    DAGNode = 3,
    /// By content; the same object is always equal.
    ConstTreeNode = 4,
    /// By identity.
    UniqueInstance = 5,
}

/// Properties of a reflected field; combine with `|`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FieldFlags(i64);

impl FieldFlags {
    /// A read-only field that takes part in everything.
    pub const NONE: Self = Self(0);
    /// Other languages may assign it.
    pub const WRITABLE: Self = Self(Bit::kTVMFFIFieldFlagBitMaskWritable as i64);
    /// Left out of structural equality and hashing.
    pub const SEQ_HASH_IGNORE: Self = Self(Bit::kTVMFFIFieldFlagBitMaskSEqHashIgnore as i64);
    /// Binds the variables in its whole subtree.
    pub const SEQ_HASH_DEF_PATTERN: Self =
        Self(Bit::kTVMFFIFieldFlagBitMaskSEqHashDefPattern as i64);
    /// Binds the variable that it is.
    pub const SEQ_HASH_DEF_SIMPLE: Self = Self(Bit::kTVMFFIFieldFlagBitMaskSEqHashDefSimple as i64);
    /// Left out of repr.
    pub const REPR_OFF: Self = Self(Bit::kTVMFFIFieldFlagBitMaskReprOff as i64);
    /// Left out of comparisons.
    pub const COMPARE_OFF: Self = Self(Bit::kTVMFFIFieldFlagBitMaskCompareOff as i64);
    /// Left out of the recursive hash.
    pub const HASH_OFF: Self = Self(Bit::kTVMFFIFieldFlagBitMaskHashOff as i64);
    /// Not an argument of the constructor.
    pub const INIT_OFF: Self = Self(Bit::kTVMFFIFieldFlagBitMaskInitOff as i64);
    /// An argument of the constructor by keyword only.
    pub const KW_ONLY: Self = Self(Bit::kTVMFFIFieldFlagBitMaskKwOnly as i64);

    /// The bits of the ABI.
    pub fn bits(self) -> i64 {
        self.0
    }

    /// Whether all of `other` are set.
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl BitOr for FieldFlags {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// An object struct that can be copied under a fresh header.
pub trait ShallowCopy: ObjectCore {
    /// Copies all fields; parts that are references are shared.
    fn shallow_copy(&self) -> Self;
}

impl ShallowCopy for Object {
    fn shallow_copy(&self) -> Self {
        Object::new()
    }
}

/// An object struct that can start as zeros, for setters to fill: a field of zeros is not yet
/// defined, and is not dropped.
///
/// # Safety
/// `drop_defined_fields` drops each field, the parent's included, through [`drop_if_defined`]; a
/// value of zeros of any field type needs no destructor. The type has no `Drop` of its own.
pub unsafe trait UnsafeInit: ObjectCore {
    /// Drops the fields that are defined.
    ///
    /// # Safety
    /// `this` points at an object that nobody uses any more.
    unsafe fn drop_defined_fields(this: *mut Self);
}

// SAFETY: no fields.
unsafe impl UnsafeInit for Object {
    unsafe fn drop_defined_fields(_this: *mut Self) {}
}

/// Drops a field unless its memory is all zeros.
///
/// # Safety
/// The field is a value or zeros, and is not used afterwards.
pub unsafe fn drop_if_defined<T>(field: *mut T) {
    // SAFETY: a value or zeros, by the caller's promise.
    unsafe {
        if std::mem::needs_drop::<T>() && !is_zero(field) {
            std::ptr::drop_in_place(field);
        }
    }
}

unsafe extern "C" fn delete_undefined<T: UnsafeInit>(object: *mut c_void, flags: c_int) {
    if flags & 1 != 0 {
        // SAFETY: the last strong reference is gone.
        run_destructor(|| unsafe { T::drop_defined_fields(object.cast()) });
    }
    if flags & 2 != 0 {
        // SAFETY: allocated by `make_undefined` with this layout.
        unsafe { dealloc(object.cast(), Layout::new::<T>()) };
    }
}

/// New object with every field undefined; reading one before its setter ran is not allowed.
///
/// # Safety
/// The fields are set before anybody looks at them.
pub unsafe fn make_undefined<T: UnsafeInit>() -> ObjectArc<T> {
    let type_index = T::type_index();
    let layout = Layout::new::<T>();
    // SAFETY: an object struct is not empty; zeros are a valid undefined object.
    unsafe {
        let memory = alloc_zeroed(layout);
        if memory.is_null() {
            handle_alloc_error(layout);
        }
        init_header(memory.cast(), type_index, delete_undefined::<T>);
        ObjectArc::from_raw(memory.cast())
    }
}

unsafe extern "C" fn create<T: UnsafeInit>(result: *mut TVMFFIObjectHandle) -> c_int {
    // SAFETY: the caller sets the fields and owns the result.
    unsafe {
        match catch_panic(|| Ok(make_undefined::<T>())) {
            Ok(object) => {
                result.write(ObjectArc::into_raw(object).cast_mut().cast());
                0
            }
            Err(error) => {
                Error::set_raised(&error);
                -1
            }
        }
    }
}

unsafe extern "C" fn get_field<T: ContainerElement>(
    field: *mut c_void,
    result: *mut TVMFFIAny,
) -> c_int {
    // SAFETY: called with the address of a field of type T.
    unsafe {
        guard_safe_call(result, || {
            let field = field.cast::<T>();
            if !T::ELEMENT_ZERO_IS_VALUE && is_zero(field) {
                return Ok(Any::new()); // not yet defined
            }
            Ok(Any::from((*field).view()))
        })
    }
}

unsafe extern "C" fn set_field<T: ContainerElement>(
    field: *mut c_void,
    value: *const TVMFFIAny,
) -> c_int {
    // SAFETY: called with the address of a field of type T and a valid cell.
    unsafe {
        guard_safe_call(std::ptr::null_mut(), || {
            let view = AnyView::from_raw(value.read());
            let new = view.cast::<T>()?;
            let field = field.cast::<T>();
            if is_zero(field) {
                field.write(new);
            } else {
                drop(field.replace(new));
            }
            Ok(Any::new())
        })
    }
}

/// Registration of the object type `T`; ends with [`ObjectDef::finish`].
pub struct ObjectDef<T: ObjectCore> {
    type_index: i32,
    doc: std::string::String,
    kind: SEqHashKind,
    creator: Option<TVMFFIObjectCreator>,
    shallow_copy: Option<Function>,
    has_init: bool,
    error: Option<Error>,
    of: PhantomData<T>,
}

impl<T: ObjectCore> ObjectDef<T> {
    /// Starts the registration of `T`.
    pub fn new(kind: SEqHashKind) -> Self {
        Self {
            type_index: T::type_index(),
            doc: std::string::String::new(),
            kind,
            creator: None,
            shallow_copy: None,
            has_init: false,
            error: None,
            of: PhantomData,
        }
    }

    /// Documentation of the type.
    pub fn doc(mut self, doc: &str) -> Self {
        self.doc = doc.to_string();
        self
    }

    fn record(&mut self, result: Result<()>) {
        if let (Err(error), None) = (result, &self.error) {
            self.error = Some(error);
        }
    }

    /// Registers a field of type `F` at `offset` bytes from the start of the struct.
    ///
    /// # Safety
    /// The struct has such a field there.
    pub unsafe fn field<F: ContainerElement>(
        self,
        name: &str,
        offset: usize,
        flags: FieldFlags,
        doc: &str,
    ) -> Self {
        // SAFETY: promised by the caller.
        unsafe { self.field_with_default::<F>(name, offset, flags, doc, None) }
    }

    /// As [`ObjectDef::field`], with a value for constructor calls that give none.
    ///
    /// # Safety
    /// The struct has such a field there.
    pub unsafe fn field_with_default<F: ContainerElement>(
        mut self,
        name: &str,
        offset: usize,
        flags: FieldFlags,
        doc: &str,
        default: Option<Any>,
    ) -> Self {
        if flags.contains(FieldFlags::INIT_OFF) && default.is_none() && !F::ELEMENT_ZERO_IS_VALUE {
            let text = format!(
                "field `{name}` of type `{}` is left out of the constructor, so it needs a \
                 default: a `{}` cannot start as zeros",
                T::TYPE_KEY,
                F::element_type_str()
            );
            self.record(Err(Error::new(TYPE_ERROR, &text, "")));
            return self;
        }
        let metadata = metadata_text(&F::element_schema());
        let has_default = Bit::kTVMFFIFieldFlagBitMaskHasDefault as i64;
        let info = TVMFFIFieldInfo {
            name: TVMFFIByteArray::from_str(name),
            doc: TVMFFIByteArray::from_str(doc),
            metadata: TVMFFIByteArray::from_str(&metadata),
            flags: flags.bits() | if default.is_some() { has_default } else { 0 },
            size: std::mem::size_of::<F>() as i64,
            alignment: std::mem::align_of::<F>() as i64,
            offset: offset as i64,
            getter: Some(get_field::<F>),
            // Also of read-only fields: constructors and JSON graphs use it.
            setter: set_field::<F> as *mut c_void,
            default_value_or_factory: default.as_ref().map_or(TVMFFIAny::new(), |v| *v.as_raw()),
            field_static_type_index: F::element_static_type_index(),
        };
        // SAFETY: the table copies what it keeps.
        let result =
            crate::check_safe_call!(unsafe { TVMFFITypeRegisterField(self.type_index, &info) });
        self.record(result);
        self
    }

    /// Registers a method; its first argument is the object unless `is_static`.
    pub fn method(mut self, name: &str, function: Function, is_static: bool, doc: &str) -> Self {
        self.has_init |= name == "__ffi_init__";
        let flag = Bit::kTVMFFIFieldFlagBitMaskIsStaticMethod as i64;
        let info = TVMFFIMethodInfo {
            name: TVMFFIByteArray::from_str(name),
            doc: TVMFFIByteArray::from_str(doc),
            metadata: TVMFFIByteArray::empty(),
            flags: if is_static { flag } else { 0 },
            method: *AnyView::from(&function).as_raw(),
        };
        // SAFETY: the table copies what it keeps.
        let result =
            crate::check_safe_call!(unsafe { TVMFFITypeRegisterMethod(self.type_index, &info) });
        self.record(result);
        self
    }

    /// Registers a type attribute.
    pub fn type_attr(mut self, name: &str, value: impl Into<Any>) -> Self {
        let name = TVMFFIByteArray::from_str(name);
        let value = value.into();
        // SAFETY: the table copies what it keeps.
        let result = crate::check_safe_call!(unsafe {
            TVMFFITypeRegisterAttr(self.type_index, &name, value.as_raw())
        });
        self.record(result);
        self
    }

    /// Lets objects be made from nothing by setters, as constructors and JSON graphs do.
    pub fn creatable(mut self) -> Self
    where
        T: UnsafeInit,
    {
        self.creator = Some(create::<T>);
        self
    }

    /// Leaves out the constructor `__ffi_init__`, for types whose objects only their own code makes.
    pub fn without_init(mut self) -> Self {
        self.has_init = true;
        self
    }

    /// Lets objects be copied.
    pub fn copyable(mut self) -> Self
    where
        T: ShallowCopy,
    {
        self.shallow_copy = Some(Function::from_packed(|args| {
            let object = args.first().and_then(|view| view.downcast_ref::<T>());
            match object {
                Some(object) => Ok(Any::from(ObjectRef::upcast(Bare::<T>(ObjectArc::new(
                    object.shallow_copy(),
                ))))),
                None => crate::bail!(TYPE_ERROR, "shallow copy expects a `{}`", T::TYPE_KEY),
            }
        }));
        self
    }

    /// Registers the rest: metadata, `__ffi_type_final__`, and as far as asked for the creator,
    /// `__ffi_new__`, `__ffi_init__` and `__ffi_shallow_copy__`.
    pub fn finish(mut self) -> Result<()> {
        let metadata = TVMFFITypeMetadata {
            doc: TVMFFIByteArray::from_str(&self.doc),
            creator: self.creator,
            total_size: std::mem::size_of::<T>() as i32,
            structural_eq_hash_kind: self.kind as i32,
        };
        // SAFETY: the table copies what it keeps.
        let result = crate::check_safe_call!(unsafe {
            TVMFFITypeRegisterMetadata(self.type_index, &metadata)
        });
        self.record(result);
        self = self.type_attr("__ffi_type_final__", T::TYPE_FINAL);
        if let Some(copy) = self.shallow_copy.take() {
            self = self.type_attr("__ffi_shallow_copy__", copy);
        }
        if let Some(creator) = self.creator {
            let new = Function::from_packed(move |_| {
                let mut handle: TVMFFIObjectHandle = std::ptr::null_mut();
                // SAFETY: the result is an owned object of type T.
                unsafe {
                    crate::check_safe_call!(creator(&mut handle))?;
                    let object = ObjectArc::from_raw(handle.cast::<Object>());
                    Ok(Any::from(ObjectRef::from_data(object)))
                }
            });
            self = self.type_attr("__ffi_new__", new);
            if !self.has_init && self.error.is_none() {
                let register = Function::get_global("ffi._RegisterFFIInit")?;
                let result = register.call_tuple((self.type_index,)).map(drop);
                self.record(result);
            }
        }
        self.error.map_or(Ok(()), Err)
    }
}

/// A reference without a type of its own.
struct Bare<T: ObjectCore>(ObjectArc<T>);

impl<T: ObjectCore> Clone for Bare<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

// SAFETY: the ObjectArc is the only field.
unsafe impl<T: ObjectCore> ObjectRefCore for Bare<T> {
    type ContainerType = T;

    fn data(this: &Self) -> &ObjectArc<T> {
        &this.0
    }
    fn into_data(this: Self) -> ObjectArc<T> {
        this.0
    }
    fn from_data(data: ObjectArc<T>) -> Self {
        Self(data)
    }
}

/// Registers methods of `T` apart from its fields, as an `impl` block does.
pub fn register_methods<T: ObjectCore>(
    methods: impl IntoIterator<Item = (&'static str, Function, bool)>,
) -> Result<()> {
    for (name, function, is_static) in methods {
        let flag = Bit::kTVMFFIFieldFlagBitMaskIsStaticMethod as i64;
        let info = TVMFFIMethodInfo {
            name: TVMFFIByteArray::from_str(name),
            doc: TVMFFIByteArray::empty(),
            metadata: TVMFFIByteArray::empty(),
            flags: if is_static { flag } else { 0 },
            method: *AnyView::from(&function).as_raw(),
        };
        // SAFETY: the table copies what it keeps.
        crate::check_safe_call!(unsafe { TVMFFITypeRegisterMethod(T::type_index(), &info) })?;
    }
    Ok(())
}

/// The thread that registers types at the moment, and the `done` flags of those it has begun;
/// registrations may nest, as one type's fields may be of another type that is not registered yet.
struct Registering {
    thread: Option<ThreadId>,
    begun: Vec<usize>,
}
static REGISTERING: Mutex<Registering> =
    Mutex::new(Registering { thread: None, begun: Vec::new() });
static REGISTERED: Condvar = Condvar::new();

/// Runs the registration of a type's reflection once, right after the type got its index. Skipped
/// if another library that holds the same type has done it. Panics if it fails.
#[doc(hidden)]
pub fn register_once(done: &AtomicBool, type_index: i32, register: fn() -> Result<()>) {
    if done.load(Ordering::Acquire) {
        return;
    }
    let me = std::thread::current().id();
    let lock = || REGISTERING.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let mut state = lock();
    while state.thread.is_some_and(|thread| thread != me) {
        state = REGISTERED.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner());
    }
    // A registration asks for the index of its own type; other threads wait until it is done.
    let this = std::ptr::from_ref(done) as usize;
    if done.load(Ordering::Acquire) || state.begun.contains(&this) {
        return;
    }
    state.begun.push(this);
    let outermost = state.thread.replace(me).is_none();
    drop(state);
    crate::static_init::keep_loaded(register as *const c_void);
    let result = if crate::object::type_info(type_index).metadata.is_null() {
        catch_panic(register)
    } else {
        Ok(())
    };
    done.store(true, Ordering::Release);
    let mut state = lock();
    state.begun.retain(|begun| *begun != this);
    if outermost {
        state.thread = None;
        REGISTERED.notify_all();
    }
    drop(state);
    if let Err(error) = result {
        let key = crate::object::type_key(type_index);
        panic!("cannot register the reflection of `{key}`: {error}");
    }
}
