// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

//! [`AccessPath`]: the way from a root value to a value inside it.

use crate::any::{Any, AnyView};
use crate::cached_global_func;
use crate::derive::{Object, ObjectRef};
use crate::error::{Result, VALUE_ERROR};
use crate::function::Function;
use crate::object::{Object, ObjectArc, ObjectCore};
use crate::reflection::FieldGetter;
use crate::type_traits::ContainerElement;

/// What a step does.
#[repr(i64)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// Reads a field.
    Attr = 0,
    /// Takes an element of a sequence.
    ArrayItem = 1,
    /// Takes the value of a key.
    MapItem = 2,
    /// A field that is not there.
    AttrMissing = 3,
    /// An index past the end.
    ArrayItemMissing = 4,
    /// A key that is not there.
    MapItemMissing = 5,
}

/// Object behind [`AccessStep`]; its fields are read by reflection.
#[repr(C)]
#[derive(Object)]
#[type_key = "ffi.reflection.AccessStep"]
#[type_final]
pub struct AccessStepObj {
    base: Object,
}

/// One step of an [`AccessPath`].
#[repr(C)]
#[derive(Clone, ObjectRef)]
pub struct AccessStep {
    data: ObjectArc<AccessStepObj>,
}

/// Object behind [`AccessPath`]; its fields are read by reflection.
#[repr(C)]
#[derive(Object)]
#[type_key = "ffi.reflection.AccessPath"]
#[type_final]
pub struct AccessPathObj {
    base: Object,
}

/// Way from a root value to a value inside it; extending it makes a new path.
#[repr(C)]
#[derive(Clone, ObjectRef)]
pub struct AccessPath {
    data: ObjectArc<AccessPathObj>,
}

fn repr(value: AnyView<'_>) -> std::string::String {
    let text = cached_global_func!("ffi.ReprPrint").call_packed(&[value]);
    match text.and_then(Any::cast::<crate::String>) {
        Ok(text) => text.as_str().to_owned(),
        Err(error) => error.to_string(),
    }
}

impl AccessStep {
    /// What the step does.
    pub fn kind(&self) -> Result<AccessKind> {
        let kind: i64 = FieldGetter::new(AccessStepObj::TYPE_KEY, "kind")?.get(self)?;
        Ok(match kind {
            0 => AccessKind::Attr,
            1 => AccessKind::ArrayItem,
            2 => AccessKind::MapItem,
            3 => AccessKind::AttrMissing,
            4 => AccessKind::ArrayItemMissing,
            5 => AccessKind::MapItemMissing,
            _ => crate::bail!(VALUE_ERROR, "unknown access kind {kind}"),
        })
    }

    /// Name, index or key.
    pub fn key(&self) -> Result<Any> {
        FieldGetter::new(AccessStepObj::TYPE_KEY, "key")?.get(self)
    }
}

impl std::fmt::Debug for AccessStep {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&repr(AnyView::from(self)))
    }
}

impl AccessPath {
    /// The root itself.
    pub fn root() -> Result<Self> {
        Self::method("_root")?.call_tuple(())?.cast()
    }

    fn method(name: &str) -> Result<Function> {
        Function::from_type_method(AccessPathObj::type_index(), name)
    }

    fn extended(&self, method: &str, key: Any) -> Result<Self> {
        Self::method(method)?.call_tuple((self, key))?.cast()
    }

    /// Path to field `name` of the value here.
    pub fn attr(&self, name: &str) -> Result<Self> {
        self.extended("_attr", Any::from(crate::String::from(name)))
    }

    /// Path to element `index` of the sequence here.
    pub fn array_item(&self, index: i64) -> Result<Self> {
        self.extended("_array_item", Any::from(index))
    }

    /// Path to the value of `key` in the mapping here.
    pub fn map_item<K: ContainerElement>(&self, key: K) -> Result<Self> {
        self.extended("_map_item", key.into_any())
    }

    /// Path to a field that is not there.
    pub fn attr_missing(&self, name: &str) -> Result<Self> {
        self.extended("_attr_missing", Any::from(crate::String::from(name)))
    }

    /// Path to an element past the end.
    pub fn array_item_missing(&self, index: i64) -> Result<Self> {
        self.extended("_array_item_missing", Any::from(index))
    }

    /// Path to a key that is not there.
    pub fn map_item_missing<K: ContainerElement>(&self, key: K) -> Result<Self> {
        self.extended("_map_item_missing", key.into_any())
    }

    /// Number of steps.
    pub fn depth(&self) -> Result<i64> {
        FieldGetter::new(AccessPathObj::TYPE_KEY, "depth")?.get(self)
    }

    /// The path without its last step; None at the root.
    pub fn parent(&self) -> Result<Option<AccessPath>> {
        FieldGetter::new(AccessPathObj::TYPE_KEY, "parent")?.get(self)
    }

    /// The steps, from the root on.
    pub fn to_steps(&self) -> Result<Vec<AccessStep>> {
        let steps: crate::Array<AccessStep> =
            Self::method("_to_steps")?.call_tuple((self,))?.cast()?;
        Ok(steps.iter().collect())
    }

    /// Whether `other` goes on where this path ends, or is the same.
    pub fn is_prefix_of(&self, other: &AccessPath) -> Result<bool> {
        Self::method("_is_prefix_of")?.call_tuple((self, other))?.cast()
    }

    /// Whether both have the same steps.
    pub fn path_equal(&self, other: &AccessPath) -> Result<bool> {
        Self::method("_path_equal")?.call_tuple((self, other))?.cast()
    }
}

impl std::fmt::Debug for AccessPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&repr(AnyView::from(self)))
    }
}
