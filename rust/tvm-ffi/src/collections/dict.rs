// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

//! [`Dict`]: a mapping that all its references see change.

use std::marker::PhantomData;

use tvm_ffi_sys::{TVMFFIAny, TVMFFIMapCell};

use super::container::{container_cells, container_type};
use super::map::missing;
use super::map_base::{self, DICT};
use crate::any::Any;
use crate::cached_global_func;
use crate::error::Result;
use crate::object::{ref_cell, Object, ObjectArc, ObjectCore, ObjectRef, ObjectRefCore};
use crate::type_traits::{AnyCompatible, ContainerElement};

container_type! {
    /// Mutable mapping from `K` to `V`. All clones are one dict. Stays on its thread, as changes
    /// are not synchronised.
    Dict<K, V> as (K, V, *const ()),
    /// Object behind [`Dict`].
    DictObj { TVMFFIMapCell } = "ffi.Dict", DICT
}

impl<K, V> Dict<K, V> {
    /// Removes all pairs.
    pub fn clear(&self) -> Result<()> {
        cached_global_func!("ffi.DictClear").call_tuple((self.this(),)).map(drop)
    }

    fn this(&self) -> ObjectRef {
        ObjectRef::upcast(self.clone())
    }

    /// Copies of all pairs as they are now.
    fn snapshot(&self) -> Vec<(Any, Any)> {
        // SAFETY: the pairs are copied out before anything else can run.
        unsafe {
            let cell = &raw const (*ObjectArc::as_raw(&self.data)).cell;
            let pairs = map_base::pairs_of(cell).into_iter();
            pairs.map(|(key, value)| (Any::from(key), Any::from(value))).collect()
        }
    }
}

impl<K: ContainerElement, V: ContainerElement> Dict<K, V> {
    /// A new empty dict.
    pub fn new() -> Self {
        Self::from_iter([])
    }

    /// Value of a key, or None; an error if the stored value is no `V`.
    pub fn get(&self, key: &K) -> Result<Option<V>> {
        let function = cached_global_func!("ffi.DictGetItemOrMissing");
        let value = function.call_tuple((self.this(), key.view()))?;
        if value.same_as(missing()?.as_any()) {
            return Ok(None);
        }
        value.cast::<V>().map(Some)
    }

    /// Whether the key is there.
    pub fn contains_key(&self, key: &K) -> Result<bool> {
        let function = cached_global_func!("ffi.DictCount");
        Ok(function.call_tuple((self.this(), key.view()))?.cast::<i64>()? != 0)
    }

    /// Sets the value of a key.
    pub fn insert(&self, key: K, value: V) -> Result<()> {
        let args = (self.this(), key.into_any(), value.into_any());
        cached_global_func!("ffi.DictSetItem").call_tuple(args).map(drop)
    }

    /// Removes a key if it is there.
    pub fn remove(&self, key: &K) -> Result<()> {
        if self.contains_key(key)? {
            cached_global_func!("ffi.DictErase").call_tuple((self.this(), key.view()))?;
        }
        Ok(())
    }

    /// Copies of all pairs as they are now, in the order of insertion.
    pub fn to_vec(&self) -> Result<Vec<(K, V)>> {
        let pairs = self.snapshot().into_iter();
        pairs.map(|(key, value)| Ok((key.cast::<K>()?, value.cast::<V>()?))).collect()
    }
}

impl<K: ContainerElement, V: ContainerElement> FromIterator<(K, V)> for Dict<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        let cell = map_base::construct(cached_global_func!("ffi.Dict"), pairs);
        assert_eq!(cell.type_index, DICT, "ffi.Dict returns a dict");
        // SAFETY: checked; the reference moves here.
        unsafe { ref_cell::taken::<Self>(&cell) }
    }
}

impl<K: ContainerElement, V: ContainerElement> std::fmt::Debug for Dict<K, V> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map().entries(self.snapshot()).finish()
    }
}

container_cells!(Dict<K, V>, "ffi.Dict", DICT, map_base);
