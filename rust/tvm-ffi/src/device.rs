// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

//! Devices and the current stream of each.

use tvm_ffi_sys::dlpack::{DLDevice, DLDeviceType};
use tvm_ffi_sys::{
    TVMFFIAny, TVMFFIEnvGetStream, TVMFFIEnvSetStream, TVMFFIStreamHandle, TVMFFITypeIndex,
};

use crate::error::Result;
use crate::type_traits::{plain_common, simple_schema, AnyCompatible};

const DEVICE: i32 = TVMFFITypeIndex::kTVMFFIDevice as i32;

const NAMES: [(&str, DLDeviceType); 17] = [
    ("cpu", DLDeviceType::kDLCPU),
    ("cuda", DLDeviceType::kDLCUDA),
    ("cuda_host", DLDeviceType::kDLCUDAHost),
    ("cuda_managed", DLDeviceType::kDLCUDAManaged),
    ("opencl", DLDeviceType::kDLOpenCL),
    ("vulkan", DLDeviceType::kDLVulkan),
    ("metal", DLDeviceType::kDLMetal),
    ("mps", DLDeviceType::kDLMetal),
    ("vpi", DLDeviceType::kDLVPI),
    ("rocm", DLDeviceType::kDLROCM),
    ("ext_dev", DLDeviceType::kDLExtDev),
    ("hexagon", DLDeviceType::kDLHexagon),
    ("webgpu", DLDeviceType::kDLWebGPU),
    ("wgpu", DLDeviceType::kDLWebGPU),
    ("maia", DLDeviceType::kDLMAIA),
    ("trn", DLDeviceType::kDLTrn),
    ("oneapi", DLDeviceType::kDLOneAPI),
];

/// Device named by text: a kind, then optionally `:` and an ordinal, as `cuda:1`.
pub fn device_from_str(text: &str) -> Option<DLDevice> {
    let (kind, id) = match text.split_once(':') {
        Some((kind, id)) => (kind, id.parse().ok().filter(|id| *id >= 0)?),
        None => (text, 0),
    };
    let (_, device_type) = NAMES.iter().find(|(name, _)| *name == kind)?;
    Some(DLDevice::new(*device_type, id))
}

/// Text form of a device, such as `cuda:1`.
pub fn device_to_string(device: DLDevice) -> std::string::String {
    match NAMES.iter().find(|(_, device_type)| *device_type == device.device_type) {
        Some((name, _)) => format!("{name}:{}", device.device_id),
        None => format!("device({}, {})", device.device_type.0, device.device_id),
    }
}

/// This thread's stream of a device; null is the default stream.
pub fn current_stream(device: &DLDevice) -> TVMFFIStreamHandle {
    // SAFETY: no pointers involved.
    unsafe { TVMFFIEnvGetStream(device.device_type.0, device.device_id) }
}

/// Runs `body` with `stream` as this thread's stream of `device`, and sets the old one again
/// afterwards, also when `body` panics.
pub fn with_stream<R>(
    device: &DLDevice,
    stream: TVMFFIStreamHandle,
    body: impl FnOnce() -> Result<R>,
) -> Result<R> {
    struct Restore(DLDevice, TVMFFIStreamHandle);
    impl Drop for Restore {
        fn drop(&mut self) {
            let _ = set_stream(&self.0, self.1);
        }
    }
    let original = set_stream(device, stream)?;
    let restore = Restore(*device, original);
    let result = body();
    drop(restore);
    result
}

fn set_stream(device: &DLDevice, stream: TVMFFIStreamHandle) -> Result<TVMFFIStreamHandle> {
    let mut original = std::ptr::null_mut();
    // SAFETY: the stream is only stored.
    crate::check_safe_call!(unsafe {
        TVMFFIEnvSetStream(device.device_type.0, device.device_id, stream, &mut original)
    })?;
    Ok(original)
}

// SAFETY: the payload of a Device cell.
unsafe impl AnyCompatible for DLDevice {
    plain_common!("Device", "Device", DEVICE, true);

    unsafe fn copy_to_any_view(src: &Self, data: &mut TVMFFIAny) {
        *data = TVMFFIAny::from_bits(DEVICE, 0);
        data.value.v_device = *src;
    }
    unsafe fn check_any_strict(data: &TVMFFIAny) -> bool {
        data.type_index == DEVICE
    }
    unsafe fn copy_from_any_view_after_check(data: &TVMFFIAny) -> Self {
        // SAFETY: a Device cell.
        unsafe { data.value.v_device }
    }
    unsafe fn try_cast_from_any_view(data: &TVMFFIAny) -> Option<Self> {
        // SAFETY: promised by the caller.
        unsafe {
            if data.type_index == DEVICE {
                return Some(data.value.v_device);
            }
            let text = crate::String::try_cast_from_any_view(data)?;
            device_from_str(text.to_str().ok()?)
        }
    }
}
crate::impl_any_compatible_conversions!(DLDevice);
