// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

//! Modules and structural traversals.

pub mod module;
pub mod structural;
pub mod structural_callbacks;
