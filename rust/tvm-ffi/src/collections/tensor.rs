// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

//! [`Tensor`], an owned n-dimensional array, and [`TensorView`], a borrowed one. A little longer
//! than other files, as both share most of it.

use std::alloc::{alloc, dealloc, handle_alloc_error, Layout};
use std::ffi::c_void;
use std::marker::PhantomData;

use tvm_ffi_sys::dlpack::{DLDataType, DLDevice, DLDeviceType, DLManagedTensorVersioned, DLTensor};
use tvm_ffi_sys::{
    TVMFFIAny, TVMFFIEnvTensorAlloc, TVMFFIObjectHandle, TVMFFITensorFromDLPackVersioned,
    TVMFFITensorToDLPackVersioned, TVMFFITypeIndex,
};

use crate::any::{Any, AnyView};
use crate::dtype::{AsDLDataType, DLDataTypeExt};
use crate::error::{Error, Result, RUNTIME_ERROR, TYPE_ERROR, VALUE_ERROR};
use crate::object::{Object, ObjectArc, ObjectCore, ObjectCoreWithExtraItems, ObjectRefCore};

const TENSOR: i32 = TVMFFITypeIndex::kTVMFFITensor as i32;
const DL_TENSOR: i32 = TVMFFITypeIndex::kTVMFFIDLTensorPtr as i32;

/// Object behind [`Tensor`].
#[repr(C)]
pub struct TensorObj {
    base: Object,
    dl_tensor: DLTensor,
}

// SAFETY: the ABI's layout of tensors.
unsafe impl ObjectCore for TensorObj {
    const TYPE_KEY: &'static str = "ffi.Tensor";
    const TYPE_DEPTH: i32 = 1;

    fn type_index() -> i32 {
        TENSOR
    }
}

// SAFETY: shape and strides do not change; the data is memory that callers synchronise
// themselves, as with every tensor library (see `Tensor::data_as_slice_mut`).
unsafe impl Send for TensorObj {}
// SAFETY: as above.
unsafe impl Sync for TensorObj {}

/// Where the memory of a tensor comes from.
///
/// # Safety
/// `alloc_data` returns memory for `numel * item_size` bytes of the described tensor, aligned to
/// `MIN_ALIGN`, on its device, that stays valid until `free_data`.
pub unsafe trait NDAllocator: Send + Sync + 'static {
    /// Alignment of the memory in bytes.
    const MIN_ALIGN: usize;

    /// Memory for a tensor like `prototype`, whose `data` is still null.
    ///
    /// # Safety
    /// Shape and dtype of the prototype are valid.
    unsafe fn alloc_data(&mut self, prototype: &DLTensor) -> *mut c_void;

    /// Frees the memory of `tensor`.
    ///
    /// # Safety
    /// The memory came from `alloc_data` of this allocator and is no longer used.
    unsafe fn free_data(&mut self, tensor: &DLTensor);
}

/// Allocates host memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct CPUNDAlloc;

fn host_layout(tensor: &DLTensor) -> Layout {
    let bytes = byte_size(tensor).expect("tensor size overflows");
    Layout::from_size_align(bytes.max(1), CPUNDAlloc::MIN_ALIGN).expect("tensor size overflows")
}

// SAFETY: the global allocator with the layout of the tensor.
unsafe impl NDAllocator for CPUNDAlloc {
    const MIN_ALIGN: usize = 64;

    unsafe fn alloc_data(&mut self, prototype: &DLTensor) -> *mut c_void {
        let layout = host_layout(prototype);
        // SAFETY: the layout is never empty.
        let memory = unsafe { alloc(layout) };
        if memory.is_null() {
            handle_alloc_error(layout);
        }
        memory.cast()
    }

    unsafe fn free_data(&mut self, tensor: &DLTensor) {
        // SAFETY: allocated above with the same layout.
        unsafe { dealloc(tensor.data.cast(), host_layout(tensor)) };
    }
}

/// Tensor object that owns memory from an allocator; extents and strides follow it.
#[repr(C)]
struct AllocatedTensorObj<A: NDAllocator> {
    base: TensorObj,
    allocator: A,
}

// SAFETY: begins with a TensorObj, which is all that others see.
unsafe impl<A: NDAllocator> ObjectCore for AllocatedTensorObj<A> {
    const TYPE_KEY: &'static str = TensorObj::TYPE_KEY;
    const TYPE_DEPTH: i32 = TensorObj::TYPE_DEPTH;

    fn type_index() -> i32 {
        TENSOR
    }
}

// SAFETY: extents, then strides.
unsafe impl<A: NDAllocator> ObjectCoreWithExtraItems for AllocatedTensorObj<A> {
    type ExtraItem = i64;

    fn extra_items_count(this: &Self) -> usize {
        2 * this.base.dl_tensor.ndim as usize
    }
}

impl<A: NDAllocator> Drop for AllocatedTensorObj<A> {
    fn drop(&mut self) {
        if !self.base.dl_tensor.data.is_null() {
            // SAFETY: the last reference is gone, so nobody uses the memory.
            unsafe { self.allocator.free_data(&self.base.dl_tensor) };
        }
    }
}

fn extents(tensor: &DLTensor) -> &[i64] {
    if tensor.ndim <= 0 {
        return &[];
    }
    // SAFETY: a valid tensor has `ndim` extents.
    unsafe { std::slice::from_raw_parts(tensor.shape, tensor.ndim as usize) }
}

/// Bytes of a compact tensor; None when they do not fit or an extent is negative.
fn byte_size(tensor: &DLTensor) -> Option<usize> {
    let bits = tensor.dtype.bits as usize * tensor.dtype.lanes as usize;
    let count = element_count(extents(tensor))?;
    Some(count.checked_mul(bits)?.div_ceil(8))
}

fn element_count(extents: &[i64]) -> Option<usize> {
    extents.iter().try_fold(1usize, |n, extent| n.checked_mul(usize::try_from(*extent).ok()?))
}

fn compact(tensor: &DLTensor) -> bool {
    if tensor.strides.is_null() {
        return true;
    }
    // SAFETY: a valid tensor has `ndim` strides.
    let strides = unsafe { std::slice::from_raw_parts(tensor.strides, extents(tensor).len()) };
    if extents(tensor).contains(&0) {
        return true;
    }
    let mut expected = 1;
    extents(tensor).iter().zip(strides).rev().all(|(extent, stride)| {
        let ok = *extent == 1 || *stride == expected;
        expected *= extent;
        ok
    })
}

/// The elements of a compact host tensor; TypeError for another element type, RuntimeError for
/// memory that cannot be read as a slice.
fn elements<'a, T: AsDLDataType>(tensor: &DLTensor) -> Result<(&'a [T], *mut T)> {
    if tensor.dtype != T::DL_DATA_TYPE {
        crate::bail!(
            TYPE_ERROR,
            "Data type mismatch: expected {}, got {}",
            T::DL_DATA_TYPE.to_string(),
            tensor.dtype.to_string()
        );
    }
    let device = tensor.device.device_type;
    if device != DLDeviceType::kDLCPU && device != DLDeviceType::kDLCUDAHost {
        let name = crate::device::device_to_string(tensor.device);
        crate::bail!(RUNTIME_ERROR, "Tensor data is on {name}, expected host memory");
    }
    crate::ensure!(compact(tensor), RUNTIME_ERROR, "Tensor is not contiguous");
    let count = element_count(extents(tensor))
        .ok_or_else(|| crate::ffi_error!(VALUE_ERROR, "tensor size overflows"))?;
    if count == 0 {
        return Ok((&[], std::ptr::NonNull::<T>::dangling().as_ptr()));
    }
    let start = tensor.data.cast::<u8>().wrapping_add(tensor.byte_offset as usize).cast::<T>();
    crate::ensure!(
        !start.is_null() && start.is_aligned(),
        RUNTIME_ERROR,
        "Tensor data is not aligned to {} bytes",
        std::mem::align_of::<T>()
    );
    // SAFETY: a valid compact host tensor has `count` elements there; the callers bind 'a.
    Ok((unsafe { std::slice::from_raw_parts(start, count) }, start))
}

/// Members that owned and borrowed tensors share.
macro_rules! tensor_members {
    () => {
        /// Address of the first element (`byte_offset` included).
        pub fn data_ptr(&self) -> *const c_void {
            let tensor = self.dl_tensor();
            tensor.data.cast::<u8>().wrapping_add(tensor.byte_offset as usize).cast()
        }

        /// Extents.
        pub fn shape(&self) -> &[i64] {
            extents(self.dl_tensor())
        }

        /// Distances between neighbours along each axis, in elements; empty if not given.
        pub fn strides(&self) -> &[i64] {
            let tensor = self.dl_tensor();
            if tensor.strides.is_null() || tensor.ndim <= 0 {
                return &[];
            }
            // SAFETY: a valid tensor has `ndim` strides.
            unsafe { std::slice::from_raw_parts(tensor.strides, tensor.ndim as usize) }
        }

        /// Number of axes.
        pub fn ndim(&self) -> usize {
            self.shape().len()
        }

        /// Number of elements.
        pub fn numel(&self) -> usize {
            element_count(self.shape()).expect("tensor size overflows")
        }

        /// Element type.
        pub fn dtype(&self) -> DLDataType {
            self.dl_tensor().dtype
        }

        /// Where the data is.
        pub fn device(&self) -> DLDevice {
            self.dl_tensor().device
        }

        /// Whether the elements lie in row-major order without gaps.
        pub fn is_contiguous(&self) -> bool {
            compact(self.dl_tensor())
        }

        /// The elements of a contiguous host tensor; TypeError for another element type.
        ///
        /// Nobody may write the data as long as the slice is used.
        pub fn data_as_slice<T: AsDLDataType>(&self) -> Result<&[T]> {
            elements::<T>(self.dl_tensor()).map(|(slice, _)| slice)
        }

        /// The elements of a contiguous host tensor for writing; TypeError for another element
        /// type.
        ///
        /// Takes `&self`: like a file, a tensor is a handle, and many handles may share the data.
        /// The caller sees to it that nobody else reads or writes the data meanwhile.
        #[allow(clippy::mut_from_ref)]
        pub fn data_as_slice_mut<T: AsDLDataType>(&self) -> Result<&mut [T]> {
            let (slice, start) = elements::<T>(self.dl_tensor())?;
            // SAFETY: checked by `elements`; exclusiveness is the documented part of the caller.
            Ok(unsafe { std::slice::from_raw_parts_mut(start, slice.len()) })
        }
    };
}

/// An n-dimensional array. Clones share the data.
#[repr(transparent)]
#[derive(Clone)]
pub struct Tensor {
    data: ObjectArc<TensorObj>,
}

// SAFETY: transparent over the ObjectArc.
unsafe impl ObjectRefCore for Tensor {
    type ContainerType = TensorObj;

    fn data(this: &Self) -> &ObjectArc<TensorObj> {
        &this.data
    }
    fn into_data(this: Self) -> ObjectArc<TensorObj> {
        this.data
    }
    fn from_data(data: ObjectArc<TensorObj>) -> Self {
        Self { data }
    }
}
crate::impl_object_ref_cells!([] Tensor);

impl Tensor {
    tensor_members!();

    /// The raw description.
    pub fn dl_tensor(&self) -> &DLTensor {
        &self.data.dl_tensor
    }

    /// Tensor with memory from an allocator, not initialised. Panics if an extent is negative or
    /// the size overflows.
    pub fn from_nd_alloc<A: NDAllocator>(
        allocator: A,
        shape: &[i64],
        dtype: DLDataType,
        device: DLDevice,
    ) -> Self {
        let ndim = i32::try_from(shape.len()).expect("too many axes");
        let dl_tensor = DLTensor {
            data: std::ptr::null_mut(),
            device,
            ndim,
            dtype,
            shape: std::ptr::null_mut(),
            strides: std::ptr::null_mut(),
            byte_offset: 0,
        };
        let base = TensorObj { base: Object::new(), dl_tensor };
        let object = AllocatedTensorObj { base, allocator };
        // SAFETY: extents and strides initialise every item.
        let mut data = unsafe {
            ObjectArc::new_with_extra_items(object, |_, items| {
                let mut stride = 1i64;
                for axis in (0..shape.len()).rev() {
                    items[axis].write(shape[axis]);
                    items[shape.len() + axis].write(stride);
                    stride = stride.saturating_mul(shape[axis]);
                }
            })
        };
        let items = AllocatedTensorObj::extra_items(&data).as_ptr().cast_mut();
        let object = ObjectArc::get_mut(&mut data).expect("a new object has one owner");
        object.base.dl_tensor.shape = items;
        object.base.dl_tensor.strides = items.wrapping_add(shape.len());
        assert!(byte_size(&object.base.dl_tensor).is_some(), "invalid tensor shape {shape:?}");
        // SAFETY: shape and dtype are set.
        object.base.dl_tensor.data = unsafe { object.allocator.alloc_data(&object.base.dl_tensor) };
        // SAFETY: the object begins with a TensorObj.
        Self { data: unsafe { ObjectArc::cast_unchecked(data) } }
    }

    /// Host tensor with copies of the elements of `values`; ValueError if there are not as many
    /// as the shape says.
    pub fn from_slice<T: AsDLDataType>(values: &[T], shape: &[i64]) -> Result<Self> {
        crate::ensure!(
            element_count(shape) == Some(values.len()),
            VALUE_ERROR,
            "shape {shape:?} does not take {} elements",
            values.len()
        );
        let cpu = DLDevice::new(DLDeviceType::kDLCPU, 0);
        let tensor = Self::from_nd_alloc(CPUNDAlloc, shape, T::DL_DATA_TYPE, cpu);
        tensor.data_as_slice_mut::<T>()?.copy_from_slice(values);
        Ok(tensor)
    }

    /// Tensor from the allocator that the host language or program has set; fails if none is.
    pub fn from_env_alloc(shape: &[i64], dtype: DLDataType, device: DLDevice) -> Result<Self> {
        let mut extents = shape.to_vec();
        let mut prototype = DLTensor {
            data: std::ptr::null_mut(),
            device,
            ndim: i32::try_from(shape.len())
                .map_err(|_| crate::ffi_error!(VALUE_ERROR, "too many axes"))?,
            dtype,
            shape: extents.as_mut_ptr(),
            strides: std::ptr::null_mut(),
            byte_offset: 0,
        };
        let mut out: TVMFFIObjectHandle = std::ptr::null_mut();
        // SAFETY: the prototype lives through the call.
        crate::check_safe_call!(unsafe { TVMFFIEnvTensorAlloc(&mut prototype, &mut out) })?;
        // SAFETY: the call returned an owned tensor.
        Ok(Self { data: unsafe { ObjectArc::from_raw(out.cast::<TensorObj>()) } })
    }

    /// Takes over a DLPack tensor without copying. `require_alignment` is in bytes, 0 for none.
    ///
    /// # Safety
    /// `tensor` is valid and given up by the caller on success.
    pub unsafe fn from_dlpack(
        tensor: *mut DLManagedTensorVersioned,
        require_alignment: i32,
        require_contiguous: bool,
    ) -> Result<Self> {
        let mut out: TVMFFIObjectHandle = std::ptr::null_mut();
        // SAFETY: promised by the caller.
        crate::check_safe_call!(unsafe {
            TVMFFITensorFromDLPackVersioned(
                tensor,
                require_alignment,
                require_contiguous as i32,
                &mut out,
            )
        })?;
        // SAFETY: the call returned an owned tensor.
        Ok(Self { data: unsafe { ObjectArc::from_raw(out.cast::<TensorObj>()) } })
    }

    /// DLPack tensor that shares the data; its consumer calls the deleter.
    pub fn to_dlpack(&self) -> Result<*mut DLManagedTensorVersioned> {
        let mut out = std::ptr::null_mut();
        // SAFETY: the tensor lives through the call.
        crate::check_safe_call!(unsafe {
            TVMFFITensorToDLPackVersioned(ObjectArc::as_handle(&self.data), &mut out)
        })?;
        Ok(out)
    }

    /// Borrows the tensor.
    pub fn as_view(&self) -> TensorView<'_> {
        TensorView { tensor: self.dl_tensor(), borrows: PhantomData }
    }
}

impl std::fmt::Debug for Tensor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.as_view().fmt(f)
    }
}

/// A borrowed tensor: what a packed function receives as Tensor or as `DLTensor*`.
#[derive(Clone, Copy)]
pub struct TensorView<'a> {
    tensor: &'a DLTensor,
    borrows: PhantomData<&'a ()>,
}

impl<'a> TensorView<'a> {
    tensor_members!();

    /// The raw description.
    pub fn dl_tensor(&self) -> &'a DLTensor {
        self.tensor
    }

    /// View of a raw tensor.
    ///
    /// # Safety
    /// The tensor is valid for `'a`.
    pub unsafe fn from_raw(tensor: &'a DLTensor) -> Self {
        Self { tensor, borrows: PhantomData }
    }
}

impl<'a> TryFrom<AnyView<'a>> for TensorView<'a> {
    type Error = Error;

    fn try_from(view: AnyView<'a>) -> Result<Self> {
        let cell = view.as_raw();
        let tensor = match cell.type_index {
            // SAFETY: such a cell points at a tensor that lives for 'a.
            DL_TENSOR => unsafe { cell.value.v_ptr.cast::<DLTensor>().as_ref() },
            _ => view.downcast_ref::<TensorObj>().map(|object| &object.dl_tensor),
        };
        match tensor {
            Some(tensor) => Ok(Self { tensor, borrows: PhantomData }),
            None => crate::bail!(
                TYPE_ERROR,
                "Cannot convert from type `{}` to `DLTensor*`",
                view.type_key()
            ),
        }
    }
}

impl<'a> TryFrom<&'a Any> for TensorView<'a> {
    type Error = Error;

    fn try_from(any: &'a Any) -> Result<Self> {
        Self::try_from(any.as_view())
    }
}

impl<'a> From<&'a TensorView<'_>> for AnyView<'a> {
    fn from(view: &'a TensorView<'_>) -> Self {
        let cell = TVMFFIAny::from_bits(DL_TENSOR, std::ptr::from_ref(view.tensor) as u64);
        // SAFETY: the tensor lives at least as long as the view.
        unsafe { AnyView::from_raw(cell) }
    }
}

impl<'a> crate::function_internal::PackedCallArg for TensorView<'a> {
    type Holder = TensorView<'a>;
    fn hold(self) -> TensorView<'a> {
        self
    }
    fn cell(holder: &mut TensorView<'a>) -> TVMFFIAny {
        *AnyView::from(&*holder).as_raw()
    }
}

impl std::fmt::Debug for TensorView<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let dtype = DLDataTypeExt::to_string(&self.dtype());
        write!(f, "{dtype}{:?}@{}", self.shape(), crate::device::device_to_string(self.device()))
    }
}
