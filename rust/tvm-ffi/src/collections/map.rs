// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

//! [`Map`]: an immutable mapping that keeps the order of insertion.

use std::marker::PhantomData;

use tvm_ffi_sys::{TVMFFIAny, TVMFFIMapCell};

use super::container::{container_cells, container_type};
use super::map_base::{self, MAP};
use crate::any::Any;
use crate::cached_global_func;
use crate::error::Result;
use crate::object::{ref_cell, Object, ObjectArc, ObjectCore, ObjectRef, ObjectRefCore};
use crate::type_traits::{AnyCompatible, ContainerElement};

container_type! {
    /// Immutable mapping from `K` to `V`; clones share it.
    Map<K, V> as (K, V),
    /// Object behind [`Map`].
    MapObj { TVMFFIMapCell } = "ffi.Map", MAP
}

// SAFETY: the content is keys and values, and does not change while shared.
unsafe impl<K: Send + Sync, V: Send + Sync> Send for Map<K, V> {}
// SAFETY: as above.
unsafe impl<K: Send + Sync, V: Send + Sync> Sync for Map<K, V> {}

impl<K: ContainerElement, V: ContainerElement> Map<K, V> {
    /// The empty map.
    pub fn new() -> Self {
        Self::from_iter([])
    }

    /// Value of a key, or None; an error if the stored value is no `V`.
    pub fn get(&self, key: &K) -> Result<Option<V>> {
        let this = ObjectRef::upcast(self.clone());
        let value =
            cached_global_func!("ffi.MapGetItemOrMissing").call_tuple((this, key.view()))?;
        if value.same_as(missing()?.as_any()) {
            return Ok(None);
        }
        value.cast::<V>().map(Some)
    }

    /// Whether the key is there. Panics if its hash function fails.
    pub fn contains_key(&self, key: &K) -> bool {
        let this = ObjectRef::upcast(self.clone());
        let count = cached_global_func!("ffi.MapCount").call_tuple((this, key.view()));
        match count.and_then(Any::cast::<i64>) {
            Ok(count) => count != 0,
            Err(error) => panic!("{error}"),
        }
    }

    /// Pairs in the order of insertion. Panics at a pair of other types, which needs a map that
    /// was not converted from an [`Any`].
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (K, V)> + ExactSizeIterator + '_ {
        // SAFETY: a map does not change while it is shared, and `self` keeps it alive.
        let pairs = unsafe { map_base::pairs_of(&self.data.cell) };
        pairs.into_iter().map(|(key, value)| match (key.cast::<K>(), value.cast::<V>()) {
            (Ok(key), Ok(value)) => (key, value),
            (Err(error), _) | (_, Err(error)) => panic!("{error}"),
        })
    }

    /// Keys in the order of insertion.
    pub fn keys(&self) -> impl Iterator<Item = K> + '_ {
        self.iter().map(|(key, _)| key)
    }

    /// Values in the order of insertion.
    pub fn values(&self) -> impl Iterator<Item = V> + '_ {
        self.iter().map(|(_, value)| value)
    }
}

/// The object that stands for a missing value; shared by all threads and never changed.
pub(crate) struct Missing(Any);

// SAFETY: an object without content and with an atomic count.
unsafe impl Send for Missing {}
// SAFETY: as above.
unsafe impl Sync for Missing {}

impl Missing {
    pub(crate) fn as_any(&self) -> &Any {
        &self.0
    }
}

pub(crate) fn missing() -> Result<&'static Missing> {
    static MISSING: std::sync::OnceLock<Missing> = std::sync::OnceLock::new();
    if let Some(missing) = MISSING.get() {
        return Ok(missing);
    }
    let sentinel = cached_global_func!("ffi.GetInvalidObject").call_tuple(())?;
    Ok(MISSING.get_or_init(|| Missing(sentinel)))
}

impl<K: ContainerElement, V: ContainerElement> FromIterator<(K, V)> for Map<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        let cell = map_base::construct(cached_global_func!("ffi.Map"), pairs);
        assert_eq!(cell.type_index, MAP, "ffi.Map returns a map");
        // SAFETY: checked; the reference moves here.
        unsafe { ref_cell::taken::<Self>(&cell) }
    }
}

impl<K: ContainerElement, V: ContainerElement> std::fmt::Debug for Map<K, V> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // SAFETY: as in `iter`.
        f.debug_map().entries(unsafe { map_base::pairs_of(&self.data.cell) }).finish()
    }
}

container_cells!(Map<K, V>, "ffi.Map", MAP, map_base);
