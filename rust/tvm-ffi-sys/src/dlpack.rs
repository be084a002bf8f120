// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

//! DLPack 1.3, the tensor exchange standard.

use core::ffi::{c_char, c_int, c_void};

/// DLPack version that these declarations follow.
pub const DLPACK_MAJOR_VERSION: u32 = 1;
/// See [`DLPACK_MAJOR_VERSION`].
pub const DLPACK_MINOR_VERSION: u32 = 3;

/// Flag of [`DLManagedTensorVersioned`]: the memory must not be written.
pub const DLPACK_FLAG_BITMASK_READ_ONLY: u64 = 1;
/// Flag: the producer copied the data for this exchange.
pub const DLPACK_FLAG_BITMASK_IS_COPIED: u64 = 1 << 1;
/// Flag: elements narrower than a byte occupy a byte each.
pub const DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED: u64 = 1 << 2;

/// Version a producer wrote; readers reject another major number.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DLPackVersion {
    pub major: u32,
    pub minor: u32,
}

/// Kind of memory a tensor lives in. A plain integer, since new kinds may arrive from outside.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct DLDeviceType(pub i32);

impl DLDeviceType {
    pub const kDLCPU: Self = Self(1);
    pub const kDLCUDA: Self = Self(2);
    pub const kDLCUDAHost: Self = Self(3);
    pub const kDLOpenCL: Self = Self(4);
    pub const kDLVulkan: Self = Self(7);
    pub const kDLMetal: Self = Self(8);
    pub const kDLVPI: Self = Self(9);
    pub const kDLROCM: Self = Self(10);
    pub const kDLROCMHost: Self = Self(11);
    pub const kDLExtDev: Self = Self(12);
    pub const kDLCUDAManaged: Self = Self(13);
    pub const kDLOneAPI: Self = Self(14);
    pub const kDLWebGPU: Self = Self(15);
    pub const kDLHexagon: Self = Self(16);
    pub const kDLMAIA: Self = Self(17);
    pub const kDLTrn: Self = Self(18);
}

/// One device: kind and ordinal.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct DLDevice {
    pub device_type: DLDeviceType,
    pub device_id: i32,
}

impl DLDevice {
    /// Device number `device_id` of kind `device_type`.
    pub const fn new(device_type: DLDeviceType, device_id: i32) -> Self {
        Self { device_type, device_id }
    }
}

/// Element kinds, the values of [`DLDataType::code`].
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DLDataTypeCode {
    kDLInt = 0,
    kDLUInt = 1,
    kDLFloat = 2,
    kDLOpaqueHandle = 3,
    kDLBfloat = 4,
    kDLComplex = 5,
    kDLBool = 6,
    kDLFloat8_e3m4 = 7,
    kDLFloat8_e4m3 = 8,
    kDLFloat8_e4m3b11fnuz = 9,
    kDLFloat8_e4m3fn = 10,
    kDLFloat8_e4m3fnuz = 11,
    kDLFloat8_e5m2 = 12,
    kDLFloat8_e5m2fnuz = 13,
    kDLFloat8_e8m0fnu = 14,
    kDLFloat6_e2m3fn = 15,
    kDLFloat6_e3m2fn = 16,
    kDLFloat4_e2m1fn = 17,
}

/// Element type: `lanes` packed scalars of `bits` bits each.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct DLDataType {
    pub code: u8,
    pub bits: u8,
    pub lanes: u16,
}

impl DLDataType {
    /// Type of `lanes` scalars of `bits` bits.
    pub const fn new(code: DLDataTypeCode, bits: u8, lanes: u16) -> Self {
        Self { code: code as u8, bits, lanes }
    }
}

/// Borrowed strided view of tensor memory; `strides` counts elements.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLTensor {
    pub data: *mut c_void,
    pub device: DLDevice,
    pub ndim: i32,
    pub dtype: DLDataType,
    pub shape: *mut i64,
    pub strides: *mut i64,
    pub byte_offset: u64,
}

/// Owning tensor of the protocol before 1.0.
#[repr(C)]
#[derive(Debug)]
pub struct DLManagedTensor {
    pub dl_tensor: DLTensor,
    pub manager_ctx: *mut c_void,
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensor)>,
}

/// Owning tensor with version and flags.
#[repr(C)]
#[derive(Debug)]
pub struct DLManagedTensorVersioned {
    pub version: DLPackVersion,
    pub manager_ctx: *mut c_void,
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensorVersioned)>,
    pub flags: u64,
    pub dl_tensor: DLTensor,
}

/// Reports an allocation failure: context, error kind, message.
pub type DLPackSetError = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char);
/// Allocates a tensor shaped like the prototype; 0, or -1 after one `SetError` call.
pub type DLPackManagedTensorAllocator = unsafe extern "C" fn(
    prototype: *mut DLTensor,
    out: *mut *mut DLManagedTensorVersioned,
    error_ctx: *mut c_void,
    set_error: Option<DLPackSetError>,
) -> c_int;
/// Exports a host-language tensor without stream synchronisation.
pub type DLPackManagedTensorFromPyObjectNoSync =
    unsafe extern "C" fn(*mut c_void, *mut *mut DLManagedTensorVersioned) -> c_int;
/// Fills a borrowed view that lives as long as the host object.
pub type DLPackDLTensorFromPyObjectNoSync =
    unsafe extern "C" fn(*mut c_void, *mut DLTensor) -> c_int;
/// Asks a framework for the stream it queues work on.
pub type DLPackCurrentWorkStream =
    unsafe extern "C" fn(DLDeviceType, i32, *mut *mut c_void) -> c_int;
/// Imports a tensor into the host language.
pub type DLPackManagedTensorToPyObjectNoSync =
    unsafe extern "C" fn(*mut DLManagedTensorVersioned, *mut *mut c_void) -> c_int;

/// Common start of all versions of the exchange table.
#[repr(C)]
#[derive(Debug)]
pub struct DLPackExchangeAPIHeader {
    pub version: DLPackVersion,
    pub prev_api: *mut DLPackExchangeAPIHeader,
}

/// Function table that a framework publishes on its tensor type.
#[repr(C)]
#[derive(Debug)]
pub struct DLPackExchangeAPI {
    pub header: DLPackExchangeAPIHeader,
    pub managed_tensor_allocator: Option<DLPackManagedTensorAllocator>,
    pub managed_tensor_from_py_object_no_sync: Option<DLPackManagedTensorFromPyObjectNoSync>,
    pub managed_tensor_to_py_object_no_sync: Option<DLPackManagedTensorToPyObjectNoSync>,
    pub dltensor_from_py_object_no_sync: Option<DLPackDLTensorFromPyObjectNoSync>,
    pub current_work_stream: Option<DLPackCurrentWorkStream>,
}
