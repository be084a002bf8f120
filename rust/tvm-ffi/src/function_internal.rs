// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

//! Traits behind typed calls: Rust callables seen as packed functions, tuples seen as arguments.

use std::ffi::c_int;

use tvm_ffi_sys::TVMFFIAny;

use crate::any::{Any, AnyView};
use crate::collections::tensor::TensorView;
use crate::error::{guard_safe_call, Error, Result, TYPE_ERROR};
use crate::function::Function;
use crate::type_traits::{simple_schema, ContainerElement};

/// A value that may stand in the tuple of [`Function::call_tuple`].
pub trait PackedCallArg {
    /// What keeps the argument alive during the call.
    type Holder;
    /// Starts to hold the argument.
    fn hold(self) -> Self::Holder;
    /// Cell of the argument; the holder does not move while the cell is used.
    fn cell(holder: &mut Self::Holder) -> TVMFFIAny;
}

impl PackedCallArg for Any {
    type Holder = Any;
    fn hold(self) -> Any {
        self
    }
    fn cell(holder: &mut Any) -> TVMFFIAny {
        *holder.as_raw()
    }
}

impl<'a> PackedCallArg for AnyView<'a> {
    type Holder = AnyView<'a>;
    fn hold(self) -> AnyView<'a> {
        self
    }
    fn cell(holder: &mut AnyView<'a>) -> TVMFFIAny {
        *holder.as_raw()
    }
}

impl<'a> PackedCallArg for &'a Any {
    type Holder = AnyView<'a>;
    fn hold(self) -> AnyView<'a> {
        self.as_view()
    }
    fn cell(holder: &mut AnyView<'a>) -> TVMFFIAny {
        *holder.as_raw()
    }
}

/// Tuples of arguments.
pub trait PackedCallArgs {
    /// Calls `function` with the arguments.
    fn call(self, function: &Function) -> Result<Any>;
}

/// A parameter type of a typed function. `TensorView`, `Option<TensorView>` and `AnyView` borrow
/// from the call: a function that takes one must accept it with any lifetime, so that it cannot
/// be kept.
///
/// ```
/// use tvm_ffi::{Function, Result, Tensor, TensorView};
/// # fn main() -> Result<()> {
/// let numel = Function::from_typed(|x: TensorView| -> Result<usize> { Ok(x.numel()) });
/// let tensor = Tensor::from_slice(&[1f32, 2.0], &[2])?;
/// assert_eq!(numel.call_tuple((&tensor,))?.cast::<i64>()?, 2);
/// # Ok(())
/// # }
/// ```
///
/// ```compile_fail
/// use tvm_ffi::{Function, Result, TensorView};
/// fn keep(x: TensorView<'static>) -> Result<()> { Ok(()) }
/// Function::from_typed(keep);
/// ```
pub trait Argument {
    /// The parameter for one call.
    type At<'a>;
    /// Name in messages.
    fn type_str() -> std::string::String;
    /// JSON schema.
    fn schema() -> std::string::String;
    /// Reads the argument, converting if needed.
    fn read(view: AnyView<'_>) -> Option<Self::At<'_>>;
    /// What the view holds, for messages.
    fn mismatch(view: AnyView<'_>) -> std::string::String {
        view.type_key().to_string()
    }
    /// Error that explains a failed conversion better than a type mismatch would.
    fn conversion_error(_view: AnyView<'_>) -> Option<Error> {
        None
    }
}

impl<T: ContainerElement> Argument for T {
    type At<'a> = T;

    fn type_str() -> std::string::String {
        T::element_type_str()
    }
    fn schema() -> std::string::String {
        T::element_schema()
    }
    fn read(view: AnyView<'_>) -> Option<T> {
        T::from_view(view)
    }
    fn mismatch(view: AnyView<'_>) -> std::string::String {
        <T as ContainerElement>::mismatch(view)
    }
    fn conversion_error(view: AnyView<'_>) -> Option<Error> {
        <T as ContainerElement>::conversion_error(view)
    }
}

impl Argument for AnyView<'static> {
    type At<'a> = AnyView<'a>;

    fn type_str() -> std::string::String {
        "AnyView".to_string()
    }
    fn schema() -> std::string::String {
        simple_schema("Any")
    }
    fn read(view: AnyView<'_>) -> Option<AnyView<'_>> {
        Some(view)
    }
}

impl Argument for TensorView<'static> {
    type At<'a> = TensorView<'a>;

    fn type_str() -> std::string::String {
        "DLTensor*".to_string()
    }
    fn schema() -> std::string::String {
        simple_schema("DLTensor*")
    }
    fn read(view: AnyView<'_>) -> Option<TensorView<'_>> {
        TensorView::try_from(view).ok()
    }
}

impl Argument for Option<TensorView<'static>> {
    type At<'a> = Option<TensorView<'a>>;

    fn type_str() -> std::string::String {
        "Optional<DLTensor*>".to_string()
    }
    fn schema() -> std::string::String {
        let tensor = <TensorView<'static> as Argument>::schema();
        format!("{{\"type\":\"Optional\",\"args\":[{tensor}]}}")
    }
    fn read(view: AnyView<'_>) -> Option<Option<TensorView<'_>>> {
        if view.is_none() {
            return Some(None);
        }
        TensorView::try_from(view).ok().map(Some)
    }
}

/// A Rust callable with arguments `A` (a tuple) and result `Result<R>`.
pub trait AsPackedCallable<A, R>: Send + Sync + 'static {
    /// Converts the arguments, calls, converts the result.
    fn invoke(&self, name: Option<&str>, args: &[AnyView<'_>]) -> Result<Any>;
    /// `name(0: T, 1: U) -> R`.
    fn signature(name: Option<&str>) -> std::string::String;
    /// JSON schema of the function type.
    fn schema() -> std::string::String;
}

#[cold]
fn wrong_count(signature: &str, want: usize, got: usize) -> Error {
    let text = format!(
        "Mismatched number of arguments when calling: `{signature}`. \
         Expected {want} but got {got} arguments"
    );
    Error::new(TYPE_ERROR, &text, "")
}

#[cold]
fn wrong_type<T: Argument>(signature: &str, index: usize, view: AnyView<'_>) -> Error {
    if let Some(error) = T::conversion_error(view) {
        return error;
    }
    let text = format!(
        "Mismatched type on argument #{index} when calling: `{signature}`. \
         Expected `{}` but got `{}`",
        T::type_str(),
        T::mismatch(view)
    );
    Error::new(TYPE_ERROR, &text, "")
}

macro_rules! arity {
    ($count:literal; $($index:tt $arg:ident $value:ident),*) => {
        impl<Func, Ret, $($arg),*> AsPackedCallable<($($arg,)*), Ret> for Func
        where
            Func: Fn($($arg),*) -> Result<Ret> + Send + Sync + 'static,
            Func: for<'call> Fn($($arg::At<'call>),*) -> Result<Ret>,
            Ret: ContainerElement,
            $($arg: Argument,)*
        {
            fn invoke(&self, name: Option<&str>, args: &[AnyView<'_>]) -> Result<Any> {
                let signature = || <Func as AsPackedCallable<($($arg,)*), Ret>>::signature(name);
                if args.len() != $count {
                    return Err(wrong_count(&signature(), $count, args.len()));
                }
                $(let $value = match $arg::read(args[$index]) {
                    Some(value) => value,
                    None => return Err(wrong_type::<$arg>(&signature(), $index, args[$index])),
                };)*
                self($($value),*).map(ContainerElement::into_any)
            }

            fn signature(name: Option<&str>) -> std::string::String {
                let args: Vec<std::string::String> =
                    vec![$(format!("{}: {}", $index, $arg::type_str())),*];
                let ret = Ret::element_type_str();
                let ret = if ret == "None" { "void".to_string() } else { ret };
                format!("{}({}) -> {ret}", name.unwrap_or(""), args.join(", "))
            }

            fn schema() -> std::string::String {
                let args: Vec<std::string::String> = vec![$($arg::schema()),*];
                format!(
                    "{{\"type\":\"ffi.Function\",\"named_args\":{{\"return\":[{}],\"params\":[{}]}}}}",
                    Ret::element_schema(),
                    args.join(",")
                )
            }
        }

        impl<$($arg: PackedCallArg),*> PackedCallArgs for ($($arg,)*) {
            fn call(self, function: &Function) -> Result<Any> {
                $(let mut $value = $arg::hold(self.$index);)*
                let cells: [TVMFFIAny; $count] = [$($arg::cell(&mut $value)),*];
                // SAFETY: the holders keep what the cells point at alive, in place.
                unsafe { function.call_cells(&cells) }
            }
        }
    };
}

arity!(0;);
arity!(1; 0 A0 a0);
arity!(2; 0 A0 a0, 1 A1 a1);
arity!(3; 0 A0 a0, 1 A1 a1, 2 A2 a2);
arity!(4; 0 A0 a0, 1 A1 a1, 2 A2 a2, 3 A3 a3);
arity!(5; 0 A0 a0, 1 A1 a1, 2 A2 a2, 3 A3 a3, 4 A4 a4);
arity!(6; 0 A0 a0, 1 A1 a1, 2 A2 a2, 3 A3 a3, 4 A4 a4, 5 A5 a5);
arity!(7; 0 A0 a0, 1 A1 a1, 2 A2 a2, 3 A3 a3, 4 A4 a4, 5 A5 a5, 6 A6 a6);
arity!(8; 0 A0 a0, 1 A1 a1, 2 A2 a2, 3 A3 a3, 4 A4 a4, 5 A5 a5, 6 A6 a6, 7 A7 a7);
arity!(9; 0 A0 a0, 1 A1 a1, 2 A2 a2, 3 A3 a3, 4 A4 a4, 5 A5 a5, 6 A6 a6, 7 A7 a7, 8 A8 a8);
arity!(10; 0 A0 a0, 1 A1 a1, 2 A2 a2, 3 A3 a3, 4 A4 a4, 5 A5 a5, 6 A6 a6, 7 A7 a7, 8 A8 a8,
    9 A9 a9);
arity!(11; 0 A0 a0, 1 A1 a1, 2 A2 a2, 3 A3 a3, 4 A4 a4, 5 A5 a5, 6 A6 a6, 7 A7 a7, 8 A8 a8,
    9 A9 a9, 10 A10 a10);
arity!(12; 0 A0 a0, 1 A1 a1, 2 A2 a2, 3 A3 a3, 4 A4 a4, 5 A5 a5, 6 A6 a6, 7 A7 a7, 8 A8 a8,
    9 A9 a9, 10 A10 a10, 11 A11 a11);

/// The arguments of a safe call as views.
///
/// # Safety
/// `args` points at `num_args` valid cells that live for `'a`.
pub(crate) unsafe fn views_of<'a>(args: *const TVMFFIAny, num_args: i32) -> &'a [AnyView<'a>] {
    if num_args <= 0 || args.is_null() {
        return &[];
    }
    // SAFETY: promised by the caller; AnyView is a transparent cell.
    unsafe { std::slice::from_raw_parts(args.cast(), num_args as usize) }
}

/// Body of an exported symbol.
///
/// # Safety
/// The arguments follow the calling convention of the ABI.
#[doc(hidden)]
pub unsafe fn invoke_exported<A, R, F: AsPackedCallable<A, R>>(
    function: &F,
    name: &str,
    args: *const TVMFFIAny,
    num_args: i32,
    result: *mut TVMFFIAny,
) -> c_int {
    // SAFETY: promised by the caller.
    unsafe { guard_safe_call(result, || function.invoke(Some(name), views_of(args, num_args))) }
}

/// Metadata text of a typed function: a JSON object with its schema.
#[doc(hidden)]
pub fn metadata_of<A, R, F: AsPackedCallable<A, R>>(_function: &F) -> std::string::String {
    metadata_text(&F::schema())
}

pub(crate) fn metadata_text(schema: &str) -> std::string::String {
    format!("{{\"type_schema\":\"{}\"}}", schema.replace('\\', "\\\\").replace('"', "\\\""))
}
