// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

//! Containers, shapes and tensors.

pub mod array;
pub mod dict;
pub mod list;
pub mod map;
pub(crate) mod map_base;
pub mod shape;
pub mod tensor;
