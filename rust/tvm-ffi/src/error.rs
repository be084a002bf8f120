// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

//! Errors that keep kind, message, backtrace and cause across languages.

use std::panic::{catch_unwind, AssertUnwindSafe};

use tvm_ffi_sys::{
    TVMFFIAny, TVMFFIBacktraceUpdateMode, TVMFFIByteArray, TVMFFIErrorCell,
    TVMFFIErrorCreateWithCauseAndExtraContext, TVMFFIErrorMoveFromRaised, TVMFFIErrorSetRaised,
    TVMFFITypeIndex,
};

use crate::any::Any;
use crate::object::{Object, ObjectArc, ObjectCore, ObjectRef, ObjectRefCore};

/// Result whose error is an [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Kind of an error: the name of a Python exception, or of a class registered for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ErrorKind<'a>(pub &'a str);

impl<'a> ErrorKind<'a> {
    /// Name of the kind.
    pub fn as_str(&self) -> &'a str {
        self.0
    }
}

impl std::fmt::Display for ErrorKind<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

/// A value is wrong.
pub const VALUE_ERROR: ErrorKind<'static> = ErrorKind("ValueError");
/// A value has the wrong type.
pub const TYPE_ERROR: ErrorKind<'static> = ErrorKind("TypeError");
/// Anything that has no kind of its own.
pub const RUNTIME_ERROR: ErrorKind<'static> = ErrorKind("RuntimeError");
/// An object lacks an attribute.
pub const ATTRIBUTE_ERROR: ErrorKind<'static> = ErrorKind("AttributeError");
/// A map lacks a key.
pub const KEY_ERROR: ErrorKind<'static> = ErrorKind("KeyError");
/// A sequence has no such position.
pub const INDEX_ERROR: ErrorKind<'static> = ErrorKind("IndexError");
/// An assertion of the program failed.
pub const ASSERTION_ERROR: ErrorKind<'static> = ErrorKind("AssertionError");
/// Memory ran out.
pub const MEMORY_ERROR: ErrorKind<'static> = ErrorKind("MemoryError");
/// A number does not fit.
pub const OVERFLOW_ERROR: ErrorKind<'static> = ErrorKind("OverflowError");
/// A bug in the called library.
pub const INTERNAL_ERROR: ErrorKind<'static> = ErrorKind("InternalError");

/// Object behind [`Error`].
#[repr(C)]
pub struct ErrorObj {
    base: Object,
    cell: TVMFFIErrorCell,
}

// SAFETY: the ABI's layout of errors.
unsafe impl ObjectCore for ErrorObj {
    const TYPE_KEY: &'static str = "ffi.Error";
    const TYPE_DEPTH: i32 = 1;
    const TYPE_FINAL: bool = true;

    fn type_index() -> i32 {
        TVMFFITypeIndex::kTVMFFIError as i32
    }
}

// SAFETY: an error is not changed after its creation, except by an owner who is alone (see
// `with_appended_backtrace`).
unsafe impl Send for ErrorObj {}
// SAFETY: as above.
unsafe impl Sync for ErrorObj {}

/// An error: kind, message, backtrace, and optionally the error that caused it.
#[repr(transparent)]
#[derive(Clone)]
pub struct Error {
    data: ObjectArc<ErrorObj>,
}

// SAFETY: transparent over the ObjectArc.
unsafe impl ObjectRefCore for Error {
    type ContainerType = ErrorObj;

    fn data(this: &Self) -> &ObjectArc<ErrorObj> {
        &this.data
    }
    fn into_data(this: Self) -> ObjectArc<ErrorObj> {
        this.data
    }
    fn from_data(data: ObjectArc<ErrorObj>) -> Self {
        Self { data }
    }
}
crate::impl_object_ref_cells!([] Error);

impl Error {
    /// Makes an error. `backtrace` is text of frames, most recent call first, each
    /// `  File "f", line n, in fn` and a newline; often empty (the macros fill it in).
    pub fn new(kind: ErrorKind<'_>, message: &str, backtrace: &str) -> Self {
        Self::create(kind.0, message, backtrace, None, None)
    }

    /// Makes an error that was caused by another one.
    pub fn with_cause(kind: ErrorKind<'_>, message: &str, backtrace: &str, cause: Error) -> Self {
        Self::create(kind.0, message, backtrace, Some(ObjectRef::upcast(cause)), None)
    }

    fn create(
        kind: &str,
        message: &str,
        backtrace: &str,
        cause: Option<ObjectRef>,
        context: Option<ObjectRef>,
    ) -> Self {
        let handle = |object: &Option<ObjectRef>| match object {
            Some(object) => ObjectArc::as_handle(ObjectRef::data(object)),
            None => std::ptr::null_mut(),
        };
        let mut out = std::ptr::null_mut();
        // SAFETY: texts and objects live through the call; the error takes its own references.
        let code = unsafe {
            TVMFFIErrorCreateWithCauseAndExtraContext(
                &TVMFFIByteArray::from_str(kind),
                &TVMFFIByteArray::from_str(message),
                &TVMFFIByteArray::from_str(backtrace),
                handle(&cause),
                handle(&context),
                &mut out,
            )
        };
        // Only memory exhaustion fails here, and then no error object can be had.
        assert!(code == 0 && !out.is_null(), "cannot create an error object for {kind}: {message}");
        // SAFETY: the call returned an owned error.
        Self { data: unsafe { ObjectArc::from_raw(out.cast::<ErrorObj>()) } }
    }

    /// Takes this thread's raised error, after a C function reported failure.
    pub fn from_raised() -> Self {
        let mut out = std::ptr::null_mut();
        // SAFETY: plain out parameter.
        unsafe { TVMFFIErrorMoveFromRaised(&mut out) };
        if out.is_null() {
            return Self::new(RUNTIME_ERROR, "a function failed without raising an error", "");
        }
        // SAFETY: the slot held an owned error.
        Self { data: unsafe { ObjectArc::from_raw(out.cast::<ErrorObj>()) } }
    }

    /// Puts an error into this thread's raised slot, before returning -1 to a C caller.
    pub fn set_raised(error: &Error) {
        // SAFETY: the callee takes its own reference.
        unsafe { TVMFFIErrorSetRaised(ObjectArc::as_handle(&error.data)) };
    }

    /// Kind of the error.
    pub fn kind(&self) -> ErrorKind<'_> {
        // SAFETY: the texts live as long as the object.
        ErrorKind(unsafe { self.data.cell.kind.as_str() })
    }

    /// What happened.
    pub fn message(&self) -> &str {
        // SAFETY: as above.
        unsafe { self.data.cell.message.as_str() }
    }

    /// Frames, most recent call first.
    pub fn backtrace(&self) -> &str {
        // SAFETY: as above.
        unsafe { self.data.cell.backtrace.as_str() }
    }

    /// Frames, most recent call last, as Python prints them.
    pub fn traceback_most_recent_call_last(&self) -> std::string::String {
        let mut frames: Vec<&str> = self.backtrace().lines().collect();
        frames.reverse();
        frames.iter().flat_map(|line| [line, "\n"]).collect()
    }

    /// The error that led to this one.
    pub fn cause(&self) -> Option<Error> {
        self.cause_ref().cloned()
    }

    fn cause_ref(&self) -> Option<&Error> {
        let handle = &self.data.cell.cause_chain;
        if handle.is_null() {
            return None;
        }
        // SAFETY: a handle is a live object; Error is one pointer, so the handle's memory is one.
        unsafe {
            let cause = &*(handle as *const *mut std::ffi::c_void).cast::<ObjectRef>();
            let is_error = ErrorObj::is_instance(ObjectRef::data(cause).type_index());
            is_error.then(|| &*(cause as *const ObjectRef).cast::<Error>())
        }
    }

    /// Context that the raising code attached, such as a visit path.
    pub fn extra_context(&self) -> Option<ObjectRef> {
        Self::object_of(self.data.cell.extra_context)
    }

    fn object_of(handle: *mut std::ffi::c_void) -> Option<ObjectRef> {
        if handle.is_null() {
            return None;
        }
        let cell = TVMFFIAny::from_bits(TVMFFITypeIndex::kTVMFFIObject as i32, handle as u64);
        // SAFETY: the error keeps the object alive; the copy takes its own reference.
        Some(unsafe { crate::object::ref_cell::copied::<ObjectRef>(&cell) })
    }

    /// The error with more frames at the end of its backtrace, that is on the caller's side.
    pub fn with_appended_backtrace(self, frames: &str) -> Self {
        let update = self.data.cell.update_backtrace;
        if let (true, Some(update)) = (ObjectArc::is_unique(&self.data), update) {
            let frames = TVMFFIByteArray::from_str(frames);
            let mode = TVMFFIBacktraceUpdateMode::kTVMFFIBacktraceUpdateModeAppend as i32;
            // SAFETY: nobody else can see the error that changes.
            unsafe { update(ObjectArc::as_handle(&self.data), &frames, mode) };
            return self;
        }
        Self::create(
            self.kind().0,
            self.message(),
            &format!("{}{frames}", self.backtrace()),
            Self::object_of(self.data.cell.cause_chain),
            self.extra_context(),
        )
    }

    /// Traceback, kind and message, as Python prints them.
    pub fn full_message(&self) -> std::string::String {
        let head = if self.backtrace().is_empty() {
            std::string::String::new()
        } else {
            format!(
                "Traceback (most recent call last):\n{}",
                self.traceback_most_recent_call_last()
            )
        };
        format!("{head}{}: {}", self.kind(), self.message())
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.kind(), self.message())
    }
}

impl std::fmt::Debug for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.full_message())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause_ref().map(|cause| cause as &(dyn std::error::Error + 'static))
    }
}

/// Runs `body` for a C caller: stores its value, or raises its error or panic.
/// Returns the status code.
///
/// # Safety
/// `result` is NULL or points at a cell that owns nothing.
pub unsafe fn guard_safe_call(
    result: *mut TVMFFIAny,
    body: impl FnOnce() -> Result<Any>,
) -> std::ffi::c_int {
    match catch_panic(body) {
        Ok(value) => {
            if !result.is_null() {
                // SAFETY: promised by the caller, who owns the result afterwards.
                unsafe { result.write(Any::into_raw(value)) };
            }
            0
        }
        Err(error) => {
            Error::set_raised(&error);
            -1
        }
    }
}

/// Runs `body` and turns a panic into a RuntimeError.
pub fn catch_panic<T>(body: impl FnOnce() -> Result<T>) -> Result<T> {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(result) => result,
        Err(payload) => {
            let text = if let Some(text) = payload.downcast_ref::<&str>() {
                text
            } else if let Some(text) = payload.downcast_ref::<std::string::String>() {
                text.as_str()
            } else {
                "a value that is no text"
            };
            let error = Error::new(RUNTIME_ERROR, &format!("Rust panicked: {text}"), "");
            // The payload's own destructor may panic as well.
            crate::object::run_destructor(|| drop(payload));
            Err(error)
        }
    }
}

/// Turns the status code of a C function into a result.
pub fn status_to_result(code: std::ffi::c_int) -> Result<()> {
    match code {
        0 => Ok(()),
        // The host language keeps the error itself; its kind tells callers to re-raise it.
        -2 => Err(Error::new(ErrorKind("EnvErrorAlreadySet"), "the host has an error pending", "")),
        _ => Err(Error::from_raised()),
    }
}

/// One frame of backtrace text.
#[doc(hidden)]
pub fn frame(file: &str, line: u32, function: &str) -> std::string::String {
    format!("  File \"{file}\", line {line}, in {function}\n")
}
