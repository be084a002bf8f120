// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

//! What may be passed as callbacks to the structural traversals. The type parameter `M` only
//! tells the forms of callbacks apart; it is always inferred.

use std::marker::PhantomData;

use super::structural::{
    DefRegionKind, InplaceMode, Mutator, Unchanged, UnchangedOr, VisitInterrupt, Visitor,
    WalkResult,
};
use crate::any::{Any, AnyView};
use crate::error::Result;
use crate::object::ObjectCore;
use crate::type_traits::ContainerElement;

/// A receiver whose `#[dispatch]` handlers are tried in order.
pub trait Dispatcher<Args> {
    /// Result of the handlers.
    type Output;
    /// Calls the handler that takes the first argument; None if no handler does.
    fn dispatch_tuple(self, args: Args) -> Option<Self::Output>;
}

/// Callbacks of [`structural_walk`](super::structural::structural_walk).
pub trait WalkCallbacks<M> {
    /// Calls the first callback that takes the value.
    fn dispatch(&mut self, value: AnyView<'_>, kind: DefRegionKind) -> Option<Result<WalkResult>>;
}

/// Callbacks of [`structural_map`](super::structural::structural_map).
pub trait MapCallbacks<M> {
    /// Calls the first callback that takes the value.
    fn dispatch(
        &mut self,
        value: AnyView<'_>,
        kind: DefRegionKind,
    ) -> Option<Result<UnchangedOr<Any>>>;
}

/// Callbacks of [`structural_visit`](super::structural::structural_visit).
pub trait VisitCallbacks<M> {
    /// Calls the first callback that takes the value.
    fn dispatch(
        &self,
        value: AnyView<'_>,
        visitor: &Visitor<'_>,
    ) -> Option<Result<Option<VisitInterrupt>>>;
}

/// Callbacks of [`structural_mutate`](super::structural::structural_mutate).
pub trait MutateCallbacks<M> {
    /// Calls the first callback that takes the value.
    fn dispatch(
        &self,
        value: AnyView<'_>,
        mutator: &Mutator<'_>,
        mode: InplaceMode,
    ) -> Option<Result<UnchangedOr<Any>>>;
}

/// What a callback may return where `Out` is wanted: `Out`, or a result of it.
pub trait CallbackReturn<Out> {
    /// Converts.
    fn into_outcome(self) -> Result<Out>;
}

impl CallbackReturn<WalkResult> for WalkResult {
    fn into_outcome(self) -> Result<WalkResult> {
        Ok(self)
    }
}

impl CallbackReturn<WalkResult> for () {
    fn into_outcome(self) -> Result<WalkResult> {
        Ok(WalkResult::Advance)
    }
}

impl CallbackReturn<Option<VisitInterrupt>> for Option<VisitInterrupt> {
    fn into_outcome(self) -> Result<Self> {
        Ok(self)
    }
}

impl CallbackReturn<Option<VisitInterrupt>> for () {
    fn into_outcome(self) -> Result<Option<VisitInterrupt>> {
        Ok(None)
    }
}

impl CallbackReturn<UnchangedOr<Any>> for UnchangedOr<Any> {
    fn into_outcome(self) -> Result<Self> {
        Ok(self)
    }
}

impl CallbackReturn<UnchangedOr<Any>> for Unchanged {
    fn into_outcome(self) -> Result<UnchangedOr<Any>> {
        Ok(UnchangedOr::Unchanged)
    }
}

impl CallbackReturn<UnchangedOr<Any>> for Any {
    fn into_outcome(self) -> Result<UnchangedOr<Any>> {
        Ok(UnchangedOr::from(self))
    }
}

impl<Out, R: CallbackReturn<Out>> CallbackReturn<Out> for Result<R> {
    fn into_outcome(self) -> Result<Out> {
        self?.into_outcome()
    }
}

/// Form: a parameter of a stored type.
pub struct Typed<A, R>(PhantomData<(A, R)>);
/// Form: a parameter of a stored type, and the extra argument.
pub struct TypedExtra<A, R>(PhantomData<(A, R)>);
/// Form: a parameter of a stored type, and two extra arguments.
pub struct TypedExtra2<A, R>(PhantomData<(A, R)>);
/// Form: a view of any value.
pub struct Viewed<R>(PhantomData<R>);
/// Form: a view of any value, and the extra argument.
pub struct ViewedExtra<R>(PhantomData<R>);
/// Form: a view of any value, and two extra arguments.
pub struct ViewedExtra2<R>(PhantomData<R>);
/// Form: a borrowed object struct.
pub struct Node<T, R>(PhantomData<(T, R)>);
/// Form: a borrowed object struct, and the extra argument.
pub struct NodeExtra<T, R>(PhantomData<(T, R)>);
/// Form: a receiver with `#[dispatch]`, of one parameter.
pub struct Dispatched<R>(PhantomData<R>);
/// Form: a receiver with `#[dispatch]`, of a value and a region kind.
pub struct DispatchedExtra<R>(PhantomData<R>);

/// The value as exactly `A`.
fn strict<A: ContainerElement>(value: AnyView<'_>) -> Option<A> {
    A::is_strict(value).then(|| A::from_view(value)).flatten()
}

/// Forms whose callbacks the engine calls: `FnMut`, with an optional region kind.
macro_rules! engine_forms {
    ($trait:ident, $out:ty) => {
        impl<F, A, R> $trait<Typed<A, R>> for F
        where
            F: FnMut(A) -> R,
            A: ContainerElement,
            R: CallbackReturn<$out>,
        {
            fn dispatch(&mut self, value: AnyView<'_>, _: DefRegionKind) -> Option<Result<$out>> {
                strict::<A>(value).map(|value| self(value).into_outcome())
            }
        }

        impl<F, A, R> $trait<TypedExtra<A, R>> for F
        where
            F: FnMut(A, DefRegionKind) -> R,
            A: ContainerElement,
            R: CallbackReturn<$out>,
        {
            fn dispatch(
                &mut self,
                value: AnyView<'_>,
                kind: DefRegionKind,
            ) -> Option<Result<$out>> {
                strict::<A>(value).map(|value| self(value, kind).into_outcome())
            }
        }

        impl<F, R> $trait<Viewed<R>> for F
        where
            F: for<'v> FnMut(AnyView<'v>) -> R,
            R: CallbackReturn<$out>,
        {
            fn dispatch(&mut self, value: AnyView<'_>, _: DefRegionKind) -> Option<Result<$out>> {
                Some(self(value).into_outcome())
            }
        }

        impl<F, R> $trait<ViewedExtra<R>> for F
        where
            F: for<'v> FnMut(AnyView<'v>, DefRegionKind) -> R,
            R: CallbackReturn<$out>,
        {
            fn dispatch(
                &mut self,
                value: AnyView<'_>,
                kind: DefRegionKind,
            ) -> Option<Result<$out>> {
                Some(self(value, kind).into_outcome())
            }
        }

        impl<F, T, R> $trait<Node<T, R>> for F
        where
            F: for<'v> FnMut(&'v T) -> R,
            T: ObjectCore,
            R: CallbackReturn<$out>,
        {
            fn dispatch(&mut self, value: AnyView<'_>, _: DefRegionKind) -> Option<Result<$out>> {
                value.downcast_ref::<T>().map(|node| self(node).into_outcome())
            }
        }

        impl<F, T, R> $trait<NodeExtra<T, R>> for F
        where
            F: for<'v> FnMut(&'v T, DefRegionKind) -> R,
            T: ObjectCore,
            R: CallbackReturn<$out>,
        {
            fn dispatch(
                &mut self,
                value: AnyView<'_>,
                kind: DefRegionKind,
            ) -> Option<Result<$out>> {
                value.downcast_ref::<T>().map(|node| self(node, kind).into_outcome())
            }
        }

        impl<D, R> $trait<Dispatched<R>> for &mut D
        where
            for<'d, 'v> &'d mut D: Dispatcher<(AnyView<'v>,), Output = R>,
            R: CallbackReturn<$out>,
        {
            fn dispatch(&mut self, value: AnyView<'_>, _: DefRegionKind) -> Option<Result<$out>> {
                (&mut **self).dispatch_tuple((value,)).map(CallbackReturn::into_outcome)
            }
        }

        impl<D, R> $trait<DispatchedExtra<R>> for &mut D
        where
            for<'d, 'v> &'d mut D: Dispatcher<(AnyView<'v>, DefRegionKind), Output = R>,
            R: CallbackReturn<$out>,
        {
            fn dispatch(
                &mut self,
                value: AnyView<'_>,
                kind: DefRegionKind,
            ) -> Option<Result<$out>> {
                (&mut **self).dispatch_tuple((value, kind)).map(CallbackReturn::into_outcome)
            }
        }

        engine_tuples!($trait, $out; 0 C0 M0);
        engine_tuples!($trait, $out; 0 C0 M0, 1 C1 M1);
        engine_tuples!($trait, $out; 0 C0 M0, 1 C1 M1, 2 C2 M2);
        engine_tuples!($trait, $out; 0 C0 M0, 1 C1 M1, 2 C2 M2, 3 C3 M3);
        engine_tuples!($trait, $out; 0 C0 M0, 1 C1 M1, 2 C2 M2, 3 C3 M3, 4 C4 M4);
        engine_tuples!($trait, $out; 0 C0 M0, 1 C1 M1, 2 C2 M2, 3 C3 M3, 4 C4 M4, 5 C5 M5);
        engine_tuples!($trait, $out; 0 C0 M0, 1 C1 M1, 2 C2 M2, 3 C3 M3, 4 C4 M4, 5 C5 M5,
            6 C6 M6);
        engine_tuples!($trait, $out; 0 C0 M0, 1 C1 M1, 2 C2 M2, 3 C3 M3, 4 C4 M4, 5 C5 M5,
            6 C6 M6, 7 C7 M7);
    };
}

macro_rules! engine_tuples {
    ($trait:ident, $out:ty; $($index:tt $c:ident $m:ident),*) => {
        impl<$($c: $trait<$m>, $m),*> $trait<($($m,)*)> for ($($c,)*) {
            fn dispatch(
                &mut self,
                value: AnyView<'_>,
                kind: DefRegionKind,
            ) -> Option<Result<$out>> {
                $(if let Some(result) = self.$index.dispatch(value, kind) {
                    return Some(result);
                })*
                None
            }
        }
    };
}

engine_forms!(WalkCallbacks, WalkResult);
engine_forms!(MapCallbacks, UnchangedOr<Any>);

type VisitOutcome = Option<VisitInterrupt>;
type MutateOutcome = UnchangedOr<Any>;

impl<F, A, R> VisitCallbacks<TypedExtra<A, R>> for F
where
    F: Fn(A, &Visitor<'_>) -> R,
    A: ContainerElement,
    R: CallbackReturn<VisitOutcome>,
{
    fn dispatch(&self, value: AnyView<'_>, visitor: &Visitor<'_>) -> Option<Result<VisitOutcome>> {
        strict::<A>(value).map(|value| self(value, visitor).into_outcome())
    }
}

impl<F, R> VisitCallbacks<ViewedExtra<R>> for F
where
    F: for<'v> Fn(AnyView<'v>, &Visitor<'_>) -> R,
    R: CallbackReturn<VisitOutcome>,
{
    fn dispatch(&self, value: AnyView<'_>, visitor: &Visitor<'_>) -> Option<Result<VisitOutcome>> {
        Some(self(value, visitor).into_outcome())
    }
}

impl<F, A, R> MutateCallbacks<TypedExtra<A, R>> for F
where
    F: Fn(A, &Mutator<'_>) -> R,
    A: ContainerElement,
    R: CallbackReturn<MutateOutcome>,
{
    fn dispatch(
        &self,
        value: AnyView<'_>,
        mutator: &Mutator<'_>,
        _: InplaceMode,
    ) -> Option<Result<MutateOutcome>> {
        strict::<A>(value).map(|value| self(value, mutator).into_outcome())
    }
}

impl<F, A, R> MutateCallbacks<TypedExtra2<A, R>> for F
where
    F: Fn(A, &Mutator<'_>, InplaceMode) -> R,
    A: ContainerElement,
    R: CallbackReturn<MutateOutcome>,
{
    fn dispatch(
        &self,
        value: AnyView<'_>,
        mutator: &Mutator<'_>,
        mode: InplaceMode,
    ) -> Option<Result<MutateOutcome>> {
        strict::<A>(value).map(|value| self(value, mutator, mode).into_outcome())
    }
}

impl<F, R> MutateCallbacks<ViewedExtra<R>> for F
where
    F: for<'v> Fn(AnyView<'v>, &Mutator<'_>) -> R,
    R: CallbackReturn<MutateOutcome>,
{
    fn dispatch(
        &self,
        value: AnyView<'_>,
        mutator: &Mutator<'_>,
        _: InplaceMode,
    ) -> Option<Result<MutateOutcome>> {
        Some(self(value, mutator).into_outcome())
    }
}

impl<F, R> MutateCallbacks<ViewedExtra2<R>> for F
where
    F: for<'v> Fn(AnyView<'v>, &Mutator<'_>, InplaceMode) -> R,
    R: CallbackReturn<MutateOutcome>,
{
    fn dispatch(
        &self,
        value: AnyView<'_>,
        mutator: &Mutator<'_>,
        mode: InplaceMode,
    ) -> Option<Result<MutateOutcome>> {
        Some(self(value, mutator, mode).into_outcome())
    }
}

macro_rules! visit_tuples {
    ($($index:tt $c:ident $m:ident),*) => {
        impl<$($c: VisitCallbacks<$m>, $m),*> VisitCallbacks<($($m,)*)> for ($($c,)*) {
            fn dispatch(
                &self,
                value: AnyView<'_>,
                visitor: &Visitor<'_>,
            ) -> Option<Result<VisitOutcome>> {
                $(if let Some(result) = self.$index.dispatch(value, visitor) {
                    return Some(result);
                })*
                None
            }
        }

        impl<$($c: MutateCallbacks<$m>, $m),*> MutateCallbacks<($($m,)*)> for ($($c,)*) {
            fn dispatch(
                &self,
                value: AnyView<'_>,
                mutator: &Mutator<'_>,
                mode: InplaceMode,
            ) -> Option<Result<MutateOutcome>> {
                $(if let Some(result) = self.$index.dispatch(value, mutator, mode) {
                    return Some(result);
                })*
                None
            }
        }
    };
}
visit_tuples!(0 C0 M0);
visit_tuples!(0 C0 M0, 1 C1 M1);
visit_tuples!(0 C0 M0, 1 C1 M1, 2 C2 M2);
visit_tuples!(0 C0 M0, 1 C1 M1, 2 C2 M2, 3 C3 M3);
