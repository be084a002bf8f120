// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

//! Procedural macros of `tvm-ffi`, which re-exports them all.

mod dispatch;
mod match_any;
mod object;
mod rs_class;

use proc_macro::TokenStream;

fn finish(result: syn::Result<proc_macro2::TokenStream>) -> TokenStream {
    result.unwrap_or_else(|error| error.to_compile_error()).into()
}

/// Implements `ObjectCore` for a `#[repr(C)]` struct whose first field is its parent's struct.
///
/// | attribute | meaning |
/// |---|---|
/// | `#[type_key = "my.Key"]` | name of the type (required) |
/// | `#[type_index(expr)]` | fixed index of a type of the ABI |
/// | `#[type_register]` | the type is defined here; without it another library has registered the key |
/// | `#[type_final]` | nothing derives from it |
/// | `#[type_child_slots = n]`, `#[type_child_slots_can_overflow = b]` | indices kept for children |
/// | `#[type_s_eq_hash_kind = Kind]` | a variant of `SEqHashKind`; with `#[type_register]` |
/// | `#[type_reflection(path)]` | function `fn(ObjectDef<Self>) -> ObjectDef<Self>` that adds to the registration |
/// | `#[reflect(..)]` on a field | registers the field: `writable`, `seq_hash_ignore`, `seq_hash_def_pattern`, `seq_hash_def_simple`, `repr_off`, `compare_off`, `hash_off`, `init_off`, `kw_only`, `name = ".."`, `doc = ".."`, `default = expr` |
#[proc_macro_derive(
    Object,
    attributes(
        type_key,
        type_index,
        type_final,
        type_register,
        type_child_slots,
        type_child_slots_can_overflow,
        type_s_eq_hash_kind,
        type_reflection,
        reflect
    )
)]
pub fn derive_object(input: TokenStream) -> TokenStream {
    finish(syn::parse(input).and_then(object::derive_object))
}

/// Implements `ObjectRefCore`, `AnyCompatible` and the conversions for a `#[repr(C)]` or
/// `#[repr(transparent)]` struct with one `ObjectArc` field.
#[proc_macro_derive(ObjectRef)]
pub fn derive_object_ref(input: TokenStream) -> TokenStream {
    finish(syn::parse(input).and_then(object::derive_object_ref))
}

/// Defines an object type in Rust that every language can make, read, compare and copy.
///
/// `#[rs_class("my.Key", final, s_eq_hash_kind = TreeNode, child_slots = 4, init = false,
/// reflection = path, crate = path)]` stands on a struct whose first field `base` is the parent's
/// object struct. The macro adds `#[repr(C)]`, `Deref` to the parent, `new(base, fields..)`,
/// reflection of every other field (see `#[reflect(..)]` of `derive(Object)`), the creator, the
/// constructor `__ffi_init__` (unless `init = false`) and the shallow copy.
#[proc_macro_attribute]
pub fn rs_class(args: TokenStream, item: TokenStream) -> TokenStream {
    finish(rs_class::expand(args.into(), item.into()))
}

/// Matches a value by its stored type, in order:
/// `match_any! { value { i64(x) if x > 0 => a, String(s) => b, PairObj(ref p) => c, _ => d } }`.
///
/// `value` is anything that converts into an `AnyView`: `&any`, a view, a reference to a stored
/// type. An arm `Type(pattern)` takes exactly the values of that type; `Type(ref node)` borrows an
/// object by its struct. The last arm `_` (or a name, bound to the view) is required.
#[proc_macro]
pub fn match_any(input: TokenStream) -> TokenStream {
    finish(syn::parse(input).map(match_any::expand))
}

/// Makes the `prefix_*` methods of an `impl` block handlers of a dispatch on the first argument.
///
/// `#[dispatch(visit)]` adds `fn dispatch(&mut self, value: AnyView, ..) -> Option<R>`, which
/// calls the first handler whose parameter type the value has exactly: a stored type, `&NodeObj`
/// for objects of that struct, or `AnyView` for all. It also implements `Dispatcher` for
/// `&mut Self`, so that a walk takes the receiver. The handler with the most arguments sets
/// the others; those may take fewer.
#[proc_macro_attribute]
pub fn dispatch(args: TokenStream, item: TokenStream) -> TokenStream {
    finish(dispatch::expand(args.into(), item.into()))
}
