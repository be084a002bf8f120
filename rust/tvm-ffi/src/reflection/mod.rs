// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

//! What is known of object types at run time: their fields, methods and attributes. Reading works
//! for types of every language; [`ObjectDef`] registers those defined in Rust.

mod access_path;
mod accessor;
mod enum_def;
mod registry;

pub use access_path::{AccessKind, AccessPath, AccessStep};
pub use accessor::{get_method, get_type_attr, type_key, FieldGetter, FieldSetter, TypeAttrColumn};
pub use enum_def::{EnumDef, EnumKey, EnumObj, IntEnumObj, StrEnumObj};
pub use registry::{
    drop_if_defined, make_undefined, register_methods, register_once, FieldFlags, ObjectDef,
    SEqHashKind, ShallowCopy, UnsafeInit,
};
