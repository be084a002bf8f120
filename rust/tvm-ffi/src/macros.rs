// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

//! Macros for errors, calls and exports.

/// Path of the enclosing function, as text.
#[macro_export]
macro_rules! function_name {
    () => {{
        fn here() {}
        fn name_of<T>(_: T) -> &'static str {
            ::core::any::type_name::<T>()
        }
        let name = name_of(here);
        name.strip_suffix("::here").unwrap_or(name).trim_end_matches("::{{closure}}")
    }};
}

/// Makes an [`Error`](crate::Error) whose backtrace starts at this line:
/// `ffi_error!(VALUE_ERROR, "bad {}", x)`.
#[macro_export]
macro_rules! ffi_error {
    ($kind:expr, $($message:tt)+) => {
        $crate::Error::new(
            $kind,
            &::std::format!($($message)+),
            &$crate::error::frame(::core::file!(), ::core::line!(), $crate::function_name!()),
        )
    };
}

/// Returns an error from the enclosing function: `bail!(VALUE_ERROR, "bad {}", x)`.
#[macro_export]
macro_rules! bail {
    ($kind:expr, $($message:tt)+) => {
        return ::core::result::Result::Err($crate::ffi_error!($kind, $($message)+))
    };
}

/// Returns an error unless the condition holds: `ensure!(x > 0, VALUE_ERROR, "bad {}", x)`.
#[macro_export]
macro_rules! ensure {
    ($condition:expr, $kind:expr, $($message:tt)+) => {
        if !$condition {
            $crate::bail!($kind, $($message)+);
        }
    };
}

/// Adds this line to the backtrace of a result's error: `attach_context!(f())?`.
#[macro_export]
macro_rules! attach_context {
    ($result:expr) => {
        $result.map_err(|error: $crate::Error| {
            error.with_appended_backtrace(&$crate::error::frame(
                ::core::file!(),
                ::core::line!(),
                $crate::function_name!(),
            ))
        })
    };
}

/// Turns the status code of a C function of the ABI into a `Result<()>`.
#[macro_export]
macro_rules! check_safe_call {
    ($code:expr) => {
        $crate::error::status_to_result($code)
    };
}

/// The global function of this name as `&'static Function`, looked up once per place of use.
/// Panics if it is not registered.
#[macro_export]
macro_rules! cached_global_func {
    ($name:literal) => {{
        static CACHED: ::std::sync::OnceLock<$crate::Function> = ::std::sync::OnceLock::new();
        CACHED.get_or_init(|| match $crate::Function::get_global($name) {
            ::core::result::Result::Ok(function) => function,
            ::core::result::Result::Err(error) => panic!("{error}"),
        })
    }};
}

/// Turns a [`Function`](crate::Function) into a typed Rust closure:
/// `into_typed_fn!(f, Fn(i64, String) -> Result<i64>)`.
#[macro_export]
macro_rules! into_typed_fn {
    ($function:expr, Fn() -> $ret:ty) => {{
        let function: $crate::Function = $function;
        move || -> $ret { $crate::function::typed_result(function.call_packed(&[])) }
    }};
    ($function:expr, Fn($($arg:ty),+ $(,)?) -> $ret:ty) => {
        $crate::into_typed_fn!(@bind $function, $ret, [$($arg),+],
            [arg0 arg1 arg2 arg3 arg4 arg5 arg6 arg7 arg8 arg9 arg10 arg11], [])
    };
    (@bind $function:expr, $ret:ty, [$first:ty $(, $rest:ty)*], [$name:ident $($names:ident)*],
     [$($done:tt)*]) => {
        $crate::into_typed_fn!(@bind $function, $ret, [$($rest),*], [$($names)*],
            [$($done)* ($name $first)])
    };
    (@bind $function:expr, $ret:ty, [], [$($names:ident)*], [$(($name:ident $arg:ty))*]) => {{
        let function: $crate::Function = $function;
        move |$($name: $arg),*| -> $ret {
            $crate::function::typed_result(function.call_tuple(($($name,)*)))
        }
    }};
}

/// Exports a typed function as symbol `__tvm_ffi_<name>`, which module loaders find by `name`.
/// With the feature `export-metadata` its type schema is exported too.
#[macro_export]
macro_rules! tvm_ffi_dll_export_typed_func {
    ($name:ident, $function:expr) => {
        const _: () = {
            #[export_name = concat!("__tvm_ffi_", stringify!($name))]
            unsafe extern "C" fn exported(
                _handle: *mut ::core::ffi::c_void,
                args: *const $crate::tvm_ffi_sys::TVMFFIAny,
                num_args: i32,
                result: *mut $crate::tvm_ffi_sys::TVMFFIAny,
            ) -> ::core::ffi::c_int {
                // SAFETY: the caller follows the calling convention of the ABI.
                unsafe {
                    $crate::function_internal::invoke_exported(
                        &$function,
                        stringify!($name),
                        args,
                        num_args,
                        result,
                    )
                }
            }
            $crate::__export_metadata!($name, $function);
        };
    };
}

/// As [`tvm_ffi_dll_export_typed_func!`], with a documentation text (feature `export-metadata`).
#[macro_export]
macro_rules! tvm_ffi_dll_export_typed_func_doc {
    ($name:ident, $function:expr, $doc:expr) => {
        $crate::tvm_ffi_dll_export_typed_func!($name, $function);
        $crate::__export_doc!($name, $doc);
    };
}

#[doc(hidden)]
#[macro_export]
#[cfg(feature = "export-metadata")]
macro_rules! __export_metadata {
    ($name:ident, $function:expr) => {
        #[export_name = concat!("__tvm_ffi__metadata_", stringify!($name))]
        unsafe extern "C" fn metadata(
            _handle: *mut ::core::ffi::c_void,
            _args: *const $crate::tvm_ffi_sys::TVMFFIAny,
            _num_args: i32,
            result: *mut $crate::tvm_ffi_sys::TVMFFIAny,
        ) -> ::core::ffi::c_int {
            let text = $crate::function_internal::metadata_of(&$function);
            // SAFETY: the caller follows the calling convention of the ABI.
            unsafe {
                $crate::error::guard_safe_call(result, || {
                    Ok($crate::Any::from($crate::String::from(text)))
                })
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
#[cfg(not(feature = "export-metadata"))]
macro_rules! __export_metadata {
    ($name:ident, $function:expr) => {};
}

#[doc(hidden)]
#[macro_export]
#[cfg(feature = "export-metadata")]
macro_rules! __export_doc {
    ($name:ident, $doc:expr) => {
        const _: () = {
            #[export_name = concat!("__tvm_ffi__doc_", stringify!($name))]
            unsafe extern "C" fn documentation(
                _handle: *mut ::core::ffi::c_void,
                _args: *const $crate::tvm_ffi_sys::TVMFFIAny,
                _num_args: i32,
                result: *mut $crate::tvm_ffi_sys::TVMFFIAny,
            ) -> ::core::ffi::c_int {
                // SAFETY: the caller follows the calling convention of the ABI.
                unsafe {
                    $crate::error::guard_safe_call(result, || {
                        Ok($crate::Any::from($crate::String::from($doc)))
                    })
                }
            }
        };
    };
}

#[doc(hidden)]
#[macro_export]
#[cfg(not(feature = "export-metadata"))]
macro_rules! __export_doc {
    ($name:ident, $doc:expr) => {};
}

/// Lets a reference type convert into those of its ancestors: `impl_object_upcast!(Child => Base);`
#[macro_export]
macro_rules! impl_object_upcast {
    ($child:ty => $($parent:ty),+ $(,)?) => {
        $(impl ::core::convert::From<$child> for $parent {
            fn from(child: $child) -> Self {
                match $crate::ObjectRefCast::try_cast::<$parent>(child) {
                    ::core::result::Result::Ok(parent) => parent,
                    ::core::result::Result::Err(_) => unreachable!(
                        "{} does not derive from {}", stringify!($child), stringify!($parent)
                    ),
                }
            }
        })+
    };
}

/// Defines a reference type of an object struct: `def_object_ref!(pub Pair, Base, PairObj);`
///
/// The type dereferences to the object struct, converts from it (making a new object), and
/// converts into its parent reference type. Use `ObjectRef` as the parent of a type right under
/// `ffi.Object`.
#[macro_export]
macro_rules! def_object_ref {
    ($(#[$meta:meta])* $vis:vis $name:ident, $parent:ty, $object:ty $(, $ancestor:ty)* $(,)?) => {
        $(#[$meta])*
        #[repr(C)]
        #[derive(Clone, $crate::derive::ObjectRef)]
        $vis struct $name {
            data: $crate::ObjectArc<$object>,
        }

        impl ::core::ops::Deref for $name {
            type Target = $object;
            fn deref(&self) -> &$object {
                &self.data
            }
        }

        impl ::core::convert::From<$object> for $name {
            fn from(object: $object) -> Self {
                Self { data: $crate::ObjectArc::new(object) }
            }
        }

        $crate::impl_object_upcast!($name => $parent $(, $ancestor)*);
    };
}
