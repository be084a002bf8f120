// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

//! Walking and rewriting values by their structure: containers and reflected fields.
//!
//! | function | callbacks | recursion |
//! |---|---|---|
//! | [`structural_walk`] | `\|value\|` or `\|value, kind\|` to [`WalkResult`] | by the engine |
//! | [`structural_map`] | `\|value\|` or `\|value, kind\|` to [`UnchangedOr`] or a new value | by the engine |
//! | [`structural_visit`] | `\|value, visitor\|` | by the callback |
//! | [`structural_mutate`] | `\|value, mutator\|` or `\|value, mutator, mode\|` | by the callback |
//!
//! A callback takes the values of its parameter type only: a stored type, [`AnyView`] for all, or
//! `&NodeObj` for objects of that struct. A tuple of callbacks tries them in order. A receiver
//! with `#[dispatch]` is passed as `&mut receiver`.
//!
//! A little longer than other files: the four share the way callbacks are passed.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::thread::ThreadId;

use tvm_ffi_sys::{TVMFFIAny, TVMFFITypeIndex};

use crate::any::{Any, AnyView};
use crate::cached_global_func;
use crate::derive::{Object, ObjectRef};
use crate::error::{Result, RUNTIME_ERROR, VALUE_ERROR};
use crate::extra::structural_callbacks::{
    MapCallbacks, MutateCallbacks, VisitCallbacks, WalkCallbacks,
};
use crate::function::Function;
use crate::object::{Object, ObjectArc, ObjectCore, ObjectRef};
use crate::reflection::FieldGetter;
use crate::rvalue_ref::RValueRef;
use crate::type_traits::{AnyCompatible, ContainerElement};
use crate::Array;

/// When a callback sees a value: before or after what is inside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WalkOrder {
    /// Before its children.
    PreOrder = 0,
    /// After its children.
    PostOrder = 1,
}

/// Whether variables met here are defined or used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefRegionKind {
    /// Used.
    None = 0,
    /// Defined, in the whole subtree.
    Pattern = 1,
    /// Defined, this one only.
    Simple = 2,
}

impl DefRegionKind {
    fn from_int(kind: i64) -> Result<Self> {
        Ok(match kind {
            0 => Self::None,
            1 => Self::Pattern,
            2 => Self::Simple,
            _ => crate::bail!(VALUE_ERROR, "unknown definition region kind {kind}"),
        })
    }
}

/// Whether a mutation may change the object it was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InplaceMode {
    /// It must make a new one.
    Disallow = 0,
    /// It may, if nobody else refers to it.
    Allow = 1,
}

/// Object behind [`VisitInterrupt`].
#[repr(C)]
#[derive(Object)]
#[type_key = "ffi.VisitInterrupt"]
#[type_index(TVMFFITypeIndex::kTVMFFIVisitInterrupt)]
pub struct VisitInterruptObj {
    base: Object,
}

/// The end of a walk before its time, with a value for the caller.
#[repr(C)]
#[derive(Clone, Debug, ObjectRef)]
pub struct VisitInterrupt {
    data: ObjectArc<VisitInterruptObj>,
}

impl VisitInterrupt {
    /// Interruption that carries a value.
    pub fn new<T: ContainerElement>(value: T) -> Result<Self> {
        cached_global_func!("ffi.VisitInterrupt").call_tuple((value.into_any(),))?.cast()
    }

    /// The value it carries.
    pub fn value(&self) -> Result<Any> {
        FieldGetter::new(VisitInterruptObj::TYPE_KEY, "value")?.get(self)
    }
}

/// What a walk does after a callback.
#[derive(Clone, Debug)]
pub enum WalkResult {
    /// Goes on.
    Advance,
    /// Goes on, but not into this value (pre-order only).
    Skip,
    /// Stops and returns the interruption.
    Interrupt(VisitInterrupt),
}

/// Marker: a mutation leaves the value as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unchanged;

const UNCHANGED: i32 = TVMFFITypeIndex::kTVMFFIUnchanged as i32;

// SAFETY: a cell of this type has no payload.
unsafe impl AnyCompatible for Unchanged {
    const ZERO_IS_VALUE: bool = false;

    fn type_str() -> std::string::String {
        "ffi.Unchanged".to_string()
    }
    fn field_static_type_index() -> i32 {
        UNCHANGED
    }
    unsafe fn move_to_any(_src: Self, data: &mut TVMFFIAny) {
        *data = TVMFFIAny::from_bits(UNCHANGED, 0);
    }
    unsafe fn move_from_any_after_check(data: &mut TVMFFIAny) -> Self {
        *data = TVMFFIAny::new();
        Unchanged
    }

    unsafe fn copy_to_any_view(_src: &Self, data: &mut TVMFFIAny) {
        *data = TVMFFIAny::from_bits(UNCHANGED, 0);
    }
    unsafe fn check_any_strict(data: &TVMFFIAny) -> bool {
        data.type_index == UNCHANGED
    }
    unsafe fn copy_from_any_view_after_check(_data: &TVMFFIAny) -> Self {
        Unchanged
    }
    unsafe fn try_cast_from_any_view(data: &TVMFFIAny) -> Option<Self> {
        (data.type_index == UNCHANGED).then_some(Unchanged)
    }
}
crate::impl_any_compatible_conversions!(Unchanged);

/// Result of a mutation: a new value, or the old one.
#[derive(Clone, Debug)]
pub enum UnchangedOr<T> {
    /// The old value stays.
    Unchanged,
    /// The new value.
    Value(T),
}

impl<T: ContainerElement> UnchangedOr<T> {
    /// Whether the old value stays.
    pub fn is_unchanged(&self) -> bool {
        matches!(self, Self::Unchanged)
    }

    /// The new value, or `old`.
    pub fn value_or(self, old: T) -> T {
        match self {
            Self::Unchanged => old,
            Self::Value(value) => value,
        }
    }

    pub(crate) fn into_any(self) -> Any {
        match self {
            Self::Unchanged => Any::from(Unchanged),
            Self::Value(value) => value.into_any(),
        }
    }
}

type Body<'a> = dyn Fn(&[AnyView<'_>]) -> Result<Any> + 'a;

/// Place of a callback that lives on the caller's stack; empty once the traversal is over.
struct Slot {
    body: Cell<Option<*const Body<'static>>>,
    thread: ThreadId,
}

// SAFETY: the cell is only touched by the thread that made it, which every access checks.
unsafe impl Send for Slot {}
// SAFETY: as above.
unsafe impl Sync for Slot {}

impl Slot {
    fn call(&self, args: &[AnyView<'_>]) -> Result<Any> {
        crate::ensure!(
            self.thread == std::thread::current().id(),
            RUNTIME_ERROR,
            "a structural callback was called on another thread"
        );
        match self.body.get() {
            // SAFETY: `with_callback` empties the slot before the callback dies.
            Some(body) => unsafe { (*body)(args) },
            None => crate::bail!(RUNTIME_ERROR, "the structural traversal has ended"),
        }
    }
}

/// Runs `traverse` with a Function that calls `body`. Whoever keeps the Function longer gets an
/// error from it.
fn with_callback<R>(body: &Body<'_>, traverse: impl FnOnce(Function) -> Result<R>) -> Result<R> {
    struct Clear<'a>(&'a Slot);
    impl Drop for Clear<'_> {
        fn drop(&mut self) {
            self.0.body.set(None);
        }
    }
    // SAFETY: only the lifetime changes; the slot is emptied before `body` dies.
    let body: *const Body<'static> =
        unsafe { std::mem::transmute::<*const Body<'_>, *const Body<'static>>(body) };
    let slot = Arc::new(Slot { body: Cell::new(Some(body)), thread: std::thread::current().id() });
    let clear = Clear(&slot);
    let shared = Arc::clone(&slot);
    let result = traverse(Function::from_packed(move |args| shared.call(args)));
    drop(clear);
    result
}

/// Table with one callback for values of all types.
fn table_of(entry: Vec<Any>) -> Array<Any> {
    Array::new(vec![Any::from(Array::new(entry))])
}

const ANY_TYPE: i64 = TVMFFITypeIndex::kTVMFFIAny as i64;

fn argument(args: &[AnyView<'_>], index: usize) -> Result<i64> {
    match args.get(index) {
        Some(view) => view.cast::<i64>(),
        None => crate::bail!(RUNTIME_ERROR, "a structural callback got {} arguments", args.len()),
    }
}

fn reentered() -> crate::Error {
    crate::ffi_error!(RUNTIME_ERROR, "a structural callback was entered while it was running")
}

/// Visits a value and everything inside it, `root` first or last. Returns the interruption, if a
/// callback asked for one.
pub fn structural_walk<'a, M, C: WalkCallbacks<M>>(
    root: impl Into<AnyView<'a>>,
    callbacks: C,
    order: WalkOrder,
) -> Result<Option<VisitInterrupt>> {
    let callbacks = RefCell::new(callbacks);
    let body = |args: &[AnyView<'_>]| {
        let kind = DefRegionKind::from_int(argument(args, 1)?)?;
        let mut callbacks = callbacks.try_borrow_mut().map_err(|_| reentered())?;
        Ok(match callbacks.dispatch(args[0], kind).transpose()? {
            None | Some(WalkResult::Advance) => Any::from(0i64),
            Some(WalkResult::Skip) => Any::from(1i64),
            Some(WalkResult::Interrupt(interrupt)) => Any::from(interrupt),
        })
    };
    let root = root.into();
    with_callback(&body, |function| {
        let plain: Array<Any> = Array::default();
        let with_kind = table_of(vec![Any::from(ANY_TYPE), Any::from(function)]);
        let walk = cached_global_func!("ffi.StructuralWalk");
        walk.call_tuple((root, plain, with_kind, order as i64))?.cast()
    })
}

/// An object is offered for reuse: where the caller held the only reference it may be changed.
fn call_with_root(function: &Function, root: Any, rest: &[AnyView<'_>]) -> Result<Any> {
    use crate::function::PackedCallArg;
    let root = match ObjectRef::from_any(root) {
        Ok(object) => {
            let mut holder = RValueRef::new(object).hold();
            let cell = RValueRef::<ObjectRef>::cell(&mut holder);
            // SAFETY: the holder stays in place during the call.
            let mut args = vec![unsafe { AnyView::from_raw(cell) }];
            args.extend_from_slice(rest);
            return function.call_packed(&args);
        }
        Err(plain) => plain,
    };
    let mut args = vec![root.as_view()];
    args.extend_from_slice(rest);
    function.call_packed(&args)
}

/// A result that is the value itself counts as unchanged, so that what holds it is not copied.
fn normalized(result: Any, value: AnyView<'_>) -> Any {
    let (new, old) = (result.as_raw(), value.as_raw());
    let same = new.type_index == old.type_index
        && new.small_len() == old.small_len()
        && new.bits() == old.bits();
    if same {
        Any::from(Unchanged)
    } else {
        result
    }
}

/// Rewrites a value and everything inside it. Pass the only reference to let unshared objects be
/// changed in place; parts that no callback changes stay the same objects.
pub fn structural_map<M, C: MapCallbacks<M>>(
    root: impl Into<Any>,
    callbacks: C,
    order: WalkOrder,
) -> Result<Any> {
    let callbacks = RefCell::new(callbacks);
    let body = |args: &[AnyView<'_>]| {
        let kind = DefRegionKind::from_int(argument(args, 1)?)?;
        let mut callbacks = callbacks.try_borrow_mut().map_err(|_| reentered())?;
        let result = callbacks.dispatch(args[0], kind).transpose()?;
        Ok(normalized(result.unwrap_or(UnchangedOr::Unchanged).into_any(), args[0]))
    };
    let root = root.into();
    with_callback(&body, |function| {
        let plain: Array<Any> = Array::default();
        let with_kind = table_of(vec![Any::from(ANY_TYPE), Any::from(function)]);
        let order = order as i64;
        let rest = [AnyView::from(&plain), AnyView::from(&with_kind), AnyView::from(&order)];
        call_with_root(cached_global_func!("ffi.StructuralMap"), root, &rest)
    })
}

/// Handle of a running [`structural_visit`].
#[derive(Debug)]
pub struct Visitor<'a> {
    handle: AnyView<'a>,
}

impl Visitor<'_> {
    /// Visits a value: the callback that takes it, or its children.
    pub fn visit<'v>(&self, value: impl Into<AnyView<'v>>) -> Result<Option<VisitInterrupt>> {
        let function = cached_global_func!("ffi.StructuralVisitorVisit");
        function.call_packed(&[self.handle, value.into()])?.cast()
    }

    /// Visits the children of a value.
    pub fn default_visit<'v>(
        &self,
        value: impl Into<AnyView<'v>>,
    ) -> Result<Option<VisitInterrupt>> {
        let function = cached_global_func!("ffi.StructuralVisitorDefaultVisit");
        function.call_packed(&[self.handle, value.into()])?.cast()
    }

    /// Kind of the region that the visit is in.
    pub fn def_region_kind(&self) -> Result<DefRegionKind> {
        let function = cached_global_func!("ffi.StructuralVisitorDefRegionKind");
        DefRegionKind::from_int(function.call_packed(&[self.handle])?.cast()?)
    }

    /// Runs `body` inside a region of the given kind.
    pub fn with_def_region_kind<R>(
        &self,
        kind: DefRegionKind,
        body: impl FnOnce() -> Result<R>,
    ) -> Result<R> {
        let function = cached_global_func!("ffi.StructuralVisitorWithDefRegionKind");
        in_region(function, self.handle, kind, body)
    }
}

/// Calls `function(handle, kind, callback)`, whose callback runs `body` once.
fn in_region<R>(
    function: &Function,
    handle: AnyView<'_>,
    kind: DefRegionKind,
    body: impl FnOnce() -> Result<R>,
) -> Result<R> {
    let body = Cell::new(Some(body));
    let result = Cell::new(None);
    let once = |_: &[AnyView<'_>]| {
        let body = body.take().ok_or_else(reentered)?;
        result.set(Some(body()?));
        Ok(Any::new())
    };
    with_callback(&once, |callback| {
        let kind = kind as i64;
        let args = [handle, AnyView::from(&kind), AnyView::from(&callback)];
        function.call_packed(&args).map(drop)
    })?;
    result.take().ok_or_else(|| crate::ffi_error!(RUNTIME_ERROR, "the region was not entered"))
}

/// Visits a value with callbacks that own the recursion: a value that one takes is not descended
/// into, unless the callback does so through its [`Visitor`].
pub fn structural_visit<'a, M, C: VisitCallbacks<M>>(
    root: impl Into<AnyView<'a>>,
    callbacks: C,
) -> Result<Option<VisitInterrupt>> {
    let body = |args: &[AnyView<'_>]| {
        crate::ensure!(args.len() == 2, RUNTIME_ERROR, "a visit callback got {}", args.len());
        let visitor = Visitor { handle: args[1] };
        let result = match callbacks.dispatch(args[0], &visitor) {
            Some(result) => result?,
            None => visitor.default_visit(args[0])?,
        };
        Ok(Any::from(result))
    };
    let root = root.into();
    with_callback(&body, |function| {
        let table = table_of(vec![Any::from(ANY_TYPE), Any::from(function)]);
        cached_global_func!("ffi.StructuralVisit").call_tuple((root, table))?.cast()
    })
}

/// Handle of a running [`structural_mutate`].
#[derive(Debug)]
pub struct Mutator<'a> {
    handle: AnyView<'a>,
}

impl Mutator<'_> {
    fn call(&self, function: &Function, value: AnyView<'_>) -> Result<Any> {
        function.call_packed(&[self.handle, value])
    }

    /// Rewrites a value: the callback that takes it, or its children.
    pub fn mutate<'v>(&self, value: impl Into<AnyView<'v>>) -> Result<Any> {
        self.call(cached_global_func!("ffi.StructuralMutatorMutate"), value.into())
    }

    /// Rewrites the children of a value.
    pub fn default_mutate<'v>(&self, value: impl Into<AnyView<'v>>) -> Result<Any> {
        self.call(cached_global_func!("ffi.StructuralMutatorDefaultMutate"), value.into())
    }

    /// What a variable was replaced by; None if nothing is recorded.
    pub fn var_remap_get<'v>(&self, var: impl Into<AnyView<'v>>) -> Result<Any> {
        self.call(cached_global_func!("ffi.StructuralMutatorVarRemapGet"), var.into())
    }

    /// Records that a variable is replaced.
    pub fn var_remap_set<'v, 'w>(
        &self,
        var: impl Into<AnyView<'v>>,
        mapped: impl Into<AnyView<'w>>,
    ) -> Result<()> {
        let function = cached_global_func!("ffi.StructuralMutatorVarRemapSet");
        function.call_packed(&[self.handle, var.into(), mapped.into()]).map(drop)
    }

    /// Kind of the region that the mutation is in.
    pub fn def_region_kind(&self) -> Result<DefRegionKind> {
        let function = cached_global_func!("ffi.StructuralMutatorDefRegionKind");
        DefRegionKind::from_int(function.call_packed(&[self.handle])?.cast()?)
    }

    /// Runs `body` inside a region of the given kind.
    pub fn with_def_region_kind<R>(
        &self,
        kind: DefRegionKind,
        body: impl FnOnce() -> Result<R>,
    ) -> Result<R> {
        let function = cached_global_func!("ffi.StructuralMutatorWithDefRegionKind");
        in_region(function, self.handle, kind, body)
    }
}

/// Rewrites a value with callbacks that own the recursion and whose results are final.
pub fn structural_mutate<M, C: MutateCallbacks<M>>(
    root: impl Into<Any>,
    callbacks: C,
) -> Result<Any> {
    let body = |args: &[AnyView<'_>]| {
        crate::ensure!(args.len() == 3, RUNTIME_ERROR, "a mutation got {}", args.len());
        let mutator = Mutator { handle: args[1] };
        let mode = match argument(args, 2)? {
            0 => InplaceMode::Disallow,
            _ => InplaceMode::Allow,
        };
        match callbacks.dispatch(args[0], &mutator, mode) {
            Some(result) => Ok(normalized(result?.into_any(), args[0])),
            None => Ok(normalized(mutator.default_mutate(args[0])?, args[0])),
        }
    };
    let root = root.into();
    with_callback(&body, |function| {
        let entry = vec![Any::from(ANY_TYPE), Any::from(function), Any::from(true)];
        let table = table_of(entry);
        let rest = [AnyView::from(&table)];
        call_with_root(cached_global_func!("ffi.StructuralMutate"), root, &rest)
    })
}

impl From<Unchanged> for UnchangedOr<Any> {
    fn from(_: Unchanged) -> Self {
        Self::Unchanged
    }
}

impl From<Any> for UnchangedOr<Any> {
    fn from(value: Any) -> Self {
        if value.type_index() == UNCHANGED {
            return Self::Unchanged;
        }
        Self::Value(value)
    }
}
