// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

//! The derive macros, apart from the types of the same names.

pub use tvm_ffi_macros::{Object, ObjectRef};
