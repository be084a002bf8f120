// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

//! Rust bindings of tvm_ffi: one ABI for values, functions, containers, tensors, objects and
//! errors that C, C++, Python and Rust share.
//!
//! | to | use |
//! |---|---|
//! | hold or pass any value | [`Any`], [`AnyView`] |
//! | call and publish functions | [`Function`], [`tvm_ffi_dll_export_typed_func!`] |
//! | load a compiled library | [`Module`] |
//! | share data | [`String`], [`Bytes`], [`Array`], [`List`], [`Map`], [`Dict`], [`Shape`], [`Tensor`] |
//! | define object types | [`rs_class`], [`def_object_ref!`], [`EnumDef`], `#[derive(Object)]`, `#[derive(ObjectRef)]` |
//! | fail | [`Result`], [`Error`], [`bail!`], [`ensure!`] |
//! | walk and rewrite trees of objects | [`structural_walk`], [`structural_visit`], [`structural_map`], [`structural_mutate`] |
//!
//! A panic never reaches the caller of an exported or registered function: it arrives there as a
//! `RuntimeError`.

#![warn(missing_docs)]

// The macros name this crate by its public name, also when used inside.
extern crate self as tvm_ffi;

pub mod any;
pub mod big_int;
pub mod collections;
pub mod derive;
pub mod device;
pub mod dtype;
pub mod error;
pub mod extra;
pub mod function;
pub mod function_internal;
mod macros;
pub mod object;
mod object_ref;
mod object_weak;
pub mod optional;
pub mod reflection;
pub mod rvalue_ref;
pub mod static_init;
pub mod string;
pub mod type_traits;

pub use tvm_ffi_sys;
pub use tvm_ffi_sys::dlpack::{DLDataType, DLDataTypeCode, DLDevice, DLDeviceType, DLTensor};

pub use crate::any::{Any, AnyView};
pub use crate::big_int::BigInt;
pub use crate::collections::array::Array;
pub use crate::collections::dict::Dict;
pub use crate::collections::list::List;
pub use crate::collections::map::Map;
pub use crate::collections::shape::Shape;
pub use crate::collections::tensor::{CPUNDAlloc, NDAllocator, Tensor, TensorView};
pub use crate::device::{current_stream, with_stream};
pub use crate::dtype::{AsDLDataType, DLDataTypeExt};
pub use crate::error::{
    Error, ErrorKind, Result, ASSERTION_ERROR, ATTRIBUTE_ERROR, INDEX_ERROR, INTERNAL_ERROR,
    KEY_ERROR, MEMORY_ERROR, OVERFLOW_ERROR, RUNTIME_ERROR, TYPE_ERROR, VALUE_ERROR,
};
pub use crate::extra::module::Module;
pub use crate::extra::structural::{
    structural_map, structural_mutate, structural_visit, structural_walk, DefRegionKind,
    InplaceMode, Mutator, Unchanged, UnchangedOr, VisitInterrupt, Visitor, WalkOrder, WalkResult,
};
pub use crate::extra::structural_callbacks::Dispatcher;
pub use crate::function::Function;
pub use crate::object::{
    Object, ObjectArc, ObjectCore, ObjectCoreWithExtraItems, ObjectIdentity, ObjectRef,
    ObjectRefCast, ObjectRefCore, ObjectWeak,
};
pub use crate::optional::{Optional, OptionalCompatible};
pub use crate::reflection::{
    get_type_attr, AccessKind, AccessPath, AccessStep, EnumDef, EnumObj, FieldFlags, FieldGetter,
    FieldSetter, IntEnumObj, ObjectDef, SEqHashKind, ShallowCopy, StrEnumObj, TypeAttrColumn,
    UnsafeInit,
};
pub use crate::rvalue_ref::RValueRef;
pub use crate::static_init::run_static_init_blocks;
pub use crate::string::{Bytes, String};
pub use crate::type_traits::{AnyCompatible, ContainerElement};
pub use tvm_ffi_macros::{dispatch, match_any, rs_class, Object, ObjectRef};

// The guide's examples are tests of this crate.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/ffi/guides/rust-library.md")]
pub struct RustLibraryGuide;
