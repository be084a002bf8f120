// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

//! The tvm_ffi C ABI in Rust: every struct, constant and exported function of `tvm/ffi/c_api.h`,
//! `tvm/ffi/extra/c_env_api.h` and the DLPack header, under their C names.
//!
//! Nothing here is safe to use by itself; the `tvm-ffi` crate wraps it. The test
//! `tests/layout.rs` compares sizes, offsets and constants with what a C compiler says.

#![allow(non_camel_case_types, non_upper_case_globals, non_snake_case)]

pub mod c_api;
pub mod c_env_api;
pub mod dlpack;

pub use c_api::*;
pub use c_env_api::*;
pub use dlpack::{DLDataType, DLDevice, DLDeviceType, DLTensor};
