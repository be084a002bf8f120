// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

//! Containers, shapes and tensors.

pub mod array;
mod container;
pub mod dict;
pub mod list;
pub mod map;
pub(crate) mod map_base;
pub(crate) mod sequence;
pub mod shape;
pub mod tensor;
