// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

//! `tvm/ffi/extra/c_env_api.h`: streams, tensor allocators, host signals, modules.

use crate::c_api::TVMFFIObjectHandle;
use crate::dlpack::{DLPackManagedTensorAllocator, DLTensor};
use core::ffi::{c_char, c_int, c_void};

/// Stream of a device; NULL is the default stream.
pub type TVMFFIStreamHandle = *mut c_void;

extern "C" {
    pub fn TVMFFIEnvSetStream(
        device_type: i32,
        device_id: i32,
        stream: TVMFFIStreamHandle,
        opt_out_original_stream: *mut TVMFFIStreamHandle,
    ) -> c_int;
    pub fn TVMFFIEnvGetStream(device_type: i32, device_id: i32) -> TVMFFIStreamHandle;
    pub fn TVMFFIEnvSetDLPackManagedTensorAllocator(
        allocator: Option<DLPackManagedTensorAllocator>,
        write_to_global_context: c_int,
        opt_out_original_allocator: *mut Option<DLPackManagedTensorAllocator>,
    ) -> c_int;
    pub fn TVMFFIEnvGetDLPackManagedTensorAllocator() -> Option<DLPackManagedTensorAllocator>;
    pub fn TVMFFIEnvTensorAlloc(prototype: *mut DLTensor, out: *mut TVMFFIObjectHandle) -> c_int;
    pub fn TVMFFIEnvCheckSignals() -> c_int;
    pub fn TVMFFIEnvRegisterCAPI(name: *const c_char, symbol: *mut c_void) -> c_int;
    pub fn TVMFFIEnvModLookupFromImports(
        library_ctx: TVMFFIObjectHandle,
        func_name: *const c_char,
        out: *mut TVMFFIObjectHandle,
    ) -> c_int;
    pub fn TVMFFIEnvModRegisterContextSymbol(name: *const c_char, symbol: *mut c_void) -> c_int;
    pub fn TVMFFIEnvModRegisterSystemLibSymbol(name: *const c_char, symbol: *mut c_void) -> c_int;
}
