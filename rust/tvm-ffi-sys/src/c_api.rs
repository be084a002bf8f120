// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

//! `tvm/ffi/c_api.h`. Longer than most files on purpose: it mirrors one header.

use crate::dlpack::{DLDataType, DLDevice, DLManagedTensor, DLManagedTensorVersioned, DLTensor};
use core::ffi::{c_char, c_int, c_void};
use core::sync::atomic::AtomicU64;

/// Version of the ABI these declarations follow.
pub const TVM_FFI_VERSION_MAJOR: u32 = 0;
/// See [`TVM_FFI_VERSION_MAJOR`].
pub const TVM_FFI_VERSION_MINOR: u32 = 1;
/// See [`TVM_FFI_VERSION_MAJOR`].
pub const TVM_FFI_VERSION_PATCH: u32 = 16;

/// Version of the loaded library.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct TVMFFIVersion {
    pub major: u32,
    pub minor: u32,
    pub patch: u32,
}

/// Runtime type of a value: below 64 plain data inside the cell, from 64 objects.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TVMFFITypeIndex {
    kTVMFFIAny = -1,
    kTVMFFINone = 0,
    kTVMFFIInt = 1,
    kTVMFFIBool = 2,
    kTVMFFIFloat = 3,
    kTVMFFIOpaquePtr = 4,
    kTVMFFIDataType = 5,
    kTVMFFIDevice = 6,
    kTVMFFIDLTensorPtr = 7,
    kTVMFFIRawStr = 8,
    kTVMFFIByteArrayPtr = 9,
    kTVMFFIObjectRValueRef = 10,
    kTVMFFISmallStr = 11,
    kTVMFFISmallBytes = 12,
    kTVMFFIUnchanged = 13,
    kTVMFFIObject = 64,
    kTVMFFIStr = 65,
    kTVMFFIBytes = 66,
    kTVMFFIError = 67,
    kTVMFFIFunction = 68,
    kTVMFFIShape = 69,
    kTVMFFITensor = 70,
    kTVMFFIArray = 71,
    kTVMFFIMap = 72,
    kTVMFFIModule = 73,
    kTVMFFIOpaquePyObject = 74,
    kTVMFFIList = 75,
    kTVMFFIDict = 76,
    kTVMFFIVisitInterrupt = 77,
    kTVMFFIBigInt = 78,
    kTVMFFIStaticObjectEnd = 79,
    kTVMFFIDynObjectBegin = 128,
}

impl TVMFFITypeIndex {
    /// First index of an object type.
    pub const kTVMFFIStaticObjectBegin: Self = Self::kTVMFFIObject;
}

/// Pointer to an object, that is to its [`TVMFFIObject`] header.
pub type TVMFFIObjectHandle = *mut c_void;

/// What an object deleter is asked to do.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TVMFFIObjectDeleterFlagBitMask {
    kTVMFFIObjectDeleterFlagBitMaskStrong = 1,
    kTVMFFIObjectDeleterFlagBitMaskWeak = 2,
    kTVMFFIObjectDeleterFlagBitMaskBoth = 3,
}

/// Destroys (flag 1) and frees (flag 2) an object.
pub type TVMFFIObjectDeleter = unsafe extern "C" fn(self_: *mut c_void, flags: c_int);

/// 24-byte header of every object.
#[repr(C)]
#[derive(Debug)]
pub struct TVMFFIObject {
    /// Strong count in the low, weak count in the high 32 bits; all strong references together
    /// hold one weak reference.
    pub combined_ref_count: AtomicU64,
    pub type_index: i32,
    pub __padding: u32,
    pub deleter: Option<TVMFFIObjectDeleter>,
}

impl TVMFFIObject {
    /// Header without type and deleter: filled in when the object is allocated.
    pub const fn new() -> Self {
        Self { combined_ref_count: AtomicU64::new(0), type_index: 0, __padding: 0, deleter: None }
    }
}

impl Default for TVMFFIObject {
    fn default() -> Self {
        Self::new()
    }
}

/// Word at byte 4 of a cell.
#[repr(C)]
#[derive(Clone, Copy)]
pub union TVMFFIAnyPadding {
    pub zero_padding: u32,
    pub small_str_len: u32,
}

/// Payload of a cell.
#[repr(C)]
#[derive(Clone, Copy)]
pub union TVMFFIAnyValue {
    pub v_int64: i64,
    pub v_float64: f64,
    pub v_ptr: *mut c_void,
    pub v_c_str: *const c_char,
    pub v_obj: *mut TVMFFIObject,
    pub v_dtype: DLDataType,
    pub v_device: DLDevice,
    pub v_bytes: [u8; 8],
    pub v_uint64: u64,
}

/// 16-byte tagged value. Unused payload bytes are zero.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct TVMFFIAny {
    pub type_index: i32,
    pub padding: TVMFFIAnyPadding,
    pub value: TVMFFIAnyValue,
}

impl TVMFFIAny {
    /// The None value.
    pub const fn new() -> Self {
        Self {
            type_index: TVMFFITypeIndex::kTVMFFINone as i32,
            padding: TVMFFIAnyPadding { zero_padding: 0 },
            value: TVMFFIAnyValue { v_uint64: 0 },
        }
    }

    /// Cell of type `type_index` whose payload is the 64-bit word `bits`.
    pub const fn from_bits(type_index: i32, bits: u64) -> Self {
        Self {
            type_index,
            padding: TVMFFIAnyPadding { zero_padding: 0 },
            value: TVMFFIAnyValue { v_uint64: bits },
        }
    }

    /// Payload as a 64-bit word.
    pub fn bits(&self) -> u64 {
        // SAFETY: every payload is initialised in all 8 bytes (ABI), and any bits are a u64.
        unsafe { self.value.v_uint64 }
    }

    /// Byte 4 to 7 as a number: the length of small strings, else 0.
    pub fn small_len(&self) -> usize {
        // SAFETY: both members are u32.
        unsafe { self.padding.small_str_len as usize }
    }
}

impl Default for TVMFFIAny {
    fn default() -> Self {
        Self::new()
    }
}

impl core::fmt::Debug for TVMFFIAny {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "TVMFFIAny {{ type_index: {}, bits: {:#x} }}", self.type_index, self.bits())
    }
}

/// Borrowed bytes, not necessarily ended by NUL.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TVMFFIByteArray {
    pub data: *const c_char,
    pub size: usize,
}

impl TVMFFIByteArray {
    /// View of `bytes`; valid as long as they are.
    pub const fn new(bytes: &[u8]) -> Self {
        Self { data: bytes.as_ptr() as *const c_char, size: bytes.len() }
    }

    /// View of `text`; valid as long as it is.
    #[allow(clippy::should_implement_trait)] // cannot fail and borrows
    pub const fn from_str(text: &str) -> Self {
        Self::new(text.as_bytes())
    }

    /// Nothing.
    pub const fn empty() -> Self {
        Self { data: core::ptr::null(), size: 0 }
    }

    /// The bytes; a NULL pointer reads as no bytes.
    ///
    /// # Safety
    /// `data` must be NULL or point at `size` bytes that live and stay unchanged for `'a`.
    pub unsafe fn as_slice<'a>(&self) -> &'a [u8] {
        if self.data.is_null() {
            return &[];
        }
        // SAFETY: promised by the caller.
        unsafe { core::slice::from_raw_parts(self.data as *const u8, self.size) }
    }

    /// The bytes as text, cut before the first byte that is not UTF-8.
    ///
    /// # Safety
    /// As [`TVMFFIByteArray::as_slice`].
    pub unsafe fn as_str<'a>(&self) -> &'a str {
        // SAFETY: promised by the caller.
        let bytes: &'a [u8] = unsafe { self.as_slice() };
        match core::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => core::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or(""),
        }
    }
}

/// Content of a Shape.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TVMFFIShapeCell {
    pub data: *const i64,
    pub size: usize,
}

/// Content of Array and List: `data` points at `capacity` cells, `size` of them live.
#[repr(C)]
#[derive(Debug)]
pub struct TVMFFISeqCell {
    pub data: *mut c_void,
    pub size: i64,
    pub capacity: i64,
    pub data_deleter: Option<unsafe extern "C" fn(*mut c_void)>,
}

/// Content of Map and Dict: the top bit of `slots` marks the small layout, whose pairs follow.
#[repr(C)]
#[derive(Debug)]
pub struct TVMFFIMapCell {
    pub data: *mut c_void,
    pub size: u64,
    pub slots: u64,
    pub data_deleter: Option<unsafe extern "C" fn(*mut c_void)>,
}

/// Content of a Map or Dict in the dense layout: insertion order runs from `head` to `tail`.
#[repr(C)]
#[derive(Debug)]
pub struct TVMFFIDenseMapCell {
    pub base: TVMFFIMapCell,
    pub fib_shift: u32,
    pub head: u64,
    pub tail: u64,
}

/// How [`TVMFFIErrorCell::update_backtrace`] combines old and new frames.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TVMFFIBacktraceUpdateMode {
    kTVMFFIBacktraceUpdateModeReplace = 0,
    kTVMFFIBacktraceUpdateModeAppend = 1,
}

/// Content of an Error.
#[repr(C)]
#[derive(Debug)]
pub struct TVMFFIErrorCell {
    pub kind: TVMFFIByteArray,
    pub message: TVMFFIByteArray,
    /// Frames, most recent call first.
    pub backtrace: TVMFFIByteArray,
    pub update_backtrace:
        Option<unsafe extern "C" fn(TVMFFIObjectHandle, *const TVMFFIByteArray, i32)>,
    pub cause_chain: TVMFFIObjectHandle,
    pub extra_context: TVMFFIObjectHandle,
}

/// Calling convention of every function. The caller sets `result` to None before and owns it after.
pub type TVMFFISafeCallType = unsafe extern "C" fn(
    handle: *mut c_void,
    args: *const TVMFFIAny,
    num_args: i32,
    result: *mut TVMFFIAny,
) -> c_int;

/// Content of a Function.
#[repr(C)]
#[derive(Debug)]
pub struct TVMFFIFunctionCell {
    pub safe_call: Option<TVMFFISafeCallType>,
    pub cpp_call: *mut c_void,
}

/// Content of a host-language object.
#[repr(C)]
#[derive(Debug)]
pub struct TVMFFIOpaqueObjectCell {
    pub handle: *mut c_void,
}

/// Header in front of an object from a custom allocator.
#[repr(C)]
#[derive(Debug)]
pub struct TVMFFIObjectAllocHeader {
    pub delete_space: Option<unsafe extern "C" fn(*mut c_void)>,
}

/// Allocator of object memory.
#[repr(C)]
#[derive(Debug)]
pub struct TVMFFICustomAllocator {
    pub allocate: Option<
        unsafe extern "C" fn(
            size: usize,
            alignment: usize,
            type_index: i32,
            context: *mut c_void,
        ) -> *mut c_void,
    >,
    pub context: *mut c_void,
}

/// Reads a field at an address.
pub type TVMFFIFieldGetter =
    unsafe extern "C" fn(field: *mut c_void, result: *mut TVMFFIAny) -> c_int;
/// Assigns a field at an address.
pub type TVMFFIFieldSetter =
    unsafe extern "C" fn(field: *mut c_void, value: *const TVMFFIAny) -> c_int;
/// Makes an object with no field set.
pub type TVMFFIObjectCreator = unsafe extern "C" fn(result: *mut TVMFFIObjectHandle) -> c_int;

/// Bits of [`TVMFFIFieldInfo::flags`].
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TVMFFIFieldFlagBitMask {
    kTVMFFIFieldFlagBitMaskWritable = 1,
    kTVMFFIFieldFlagBitMaskHasDefault = 1 << 1,
    kTVMFFIFieldFlagBitMaskIsStaticMethod = 1 << 2,
    kTVMFFIFieldFlagBitMaskSEqHashIgnore = 1 << 3,
    kTVMFFIFieldFlagBitMaskSEqHashDefPattern = 1 << 4,
    kTVMFFIFieldFlagBitMaskDefaultFromFactory = 1 << 5,
    kTVMFFIFieldFlagBitMaskReprOff = 1 << 6,
    kTVMFFIFieldFlagBitMaskCompareOff = 1 << 7,
    kTVMFFIFieldFlagBitMaskHashOff = 1 << 8,
    kTVMFFIFieldFlagBitMaskInitOff = 1 << 9,
    kTVMFFIFieldFlagBitMaskKwOnly = 1 << 10,
    kTVMFFIFieldFlagBitSetterIsFunctionObj = 1 << 11,
    kTVMFFIFieldFlagBitMaskSEqHashDefSimple = 1 << 12,
}

/// How structural equality and hashing treat a type.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TVMFFISEqHashKind {
    kTVMFFISEqHashKindUnsupported = 0,
    kTVMFFISEqHashKindTreeNode = 1,
    kTVMFFISEqHashKindFreeVar = 2,
    kTVMFFISEqHashKindDAGNode = 3,
    kTVMFFISEqHashKindConstTreeNode = 4,
    kTVMFFISEqHashKindUniqueInstance = 5,
}

/// How variables met during a structural visit are treated.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TVMFFIDefRegionKind {
    kTVMFFIDefRegionKindNone = 0,
    kTVMFFIDefRegionKindPattern = 1,
    kTVMFFIDefRegionKindSimple = 2,
}

/// One reflected field.
#[repr(C)]
#[derive(Debug)]
pub struct TVMFFIFieldInfo {
    pub name: TVMFFIByteArray,
    pub doc: TVMFFIByteArray,
    pub metadata: TVMFFIByteArray,
    pub flags: i64,
    pub size: i64,
    pub alignment: i64,
    pub offset: i64,
    pub getter: Option<TVMFFIFieldGetter>,
    /// [`TVMFFIFieldSetter`], or a Function handle by flag; NULL when read-only.
    pub setter: *mut c_void,
    pub default_value_or_factory: TVMFFIAny,
    pub field_static_type_index: i32,
}

/// One reflected method.
#[repr(C)]
#[derive(Debug)]
pub struct TVMFFIMethodInfo {
    pub name: TVMFFIByteArray,
    pub doc: TVMFFIByteArray,
    pub metadata: TVMFFIByteArray,
    pub flags: i64,
    pub method: TVMFFIAny,
}

/// What is known of a type beyond its place in the hierarchy.
#[repr(C)]
#[derive(Debug)]
pub struct TVMFFITypeMetadata {
    pub doc: TVMFFIByteArray,
    pub creator: Option<TVMFFIObjectCreator>,
    pub total_size: i32,
    /// A [`TVMFFISEqHashKind`].
    pub structural_eq_hash_kind: i32,
}

/// Values of one type attribute, indexed by type index minus `begin_index`; outside means None.
#[repr(C)]
#[derive(Debug)]
pub struct TVMFFITypeAttrColumn {
    pub data: *const TVMFFIAny,
    pub size: i32,
    pub begin_index: i32,
}

/// One registered type; lives for ever.
#[repr(C)]
#[derive(Debug)]
pub struct TVMFFITypeInfo {
    pub type_index: i32,
    pub type_depth: i32,
    pub type_key: TVMFFIByteArray,
    pub type_ancestors: *const *const TVMFFITypeInfo,
    pub type_key_hash: u64,
    pub num_fields: i32,
    pub num_methods: i32,
    pub fields: *const TVMFFIFieldInfo,
    pub methods: *const TVMFFIMethodInfo,
    pub metadata: *const TVMFFITypeMetadata,
}

extern "C" {
    pub fn TVMFFIGetVersion(out_version: *mut TVMFFIVersion);
    pub fn TVMFFIObjectIncRef(obj: TVMFFIObjectHandle) -> c_int;
    pub fn TVMFFIObjectDecRef(obj: TVMFFIObjectHandle) -> c_int;
    pub fn TVMFFIObjectCreateOpaque(
        handle: *mut c_void,
        type_index: i32,
        deleter: Option<unsafe extern "C" fn(*mut c_void)>,
        out: *mut TVMFFIObjectHandle,
    ) -> c_int;
    pub fn TVMFFIGetCustomAllocator() -> Option<&'static TVMFFICustomAllocator>;
    pub fn TVMFFISetCustomAllocator(allocator: Option<&'static TVMFFICustomAllocator>) -> c_int;
    pub fn TVMFFITypeKeyToIndex(key: *const TVMFFIByteArray, out_tindex: *mut i32) -> c_int;
    pub fn TVMFFIFunctionCreate(
        self_: *mut c_void,
        safe_call: Option<TVMFFISafeCallType>,
        deleter: Option<unsafe extern "C" fn(*mut c_void)>,
        out: *mut TVMFFIObjectHandle,
    ) -> c_int;
    pub fn TVMFFIFunctionGetGlobal(
        name: *const TVMFFIByteArray,
        out: *mut TVMFFIObjectHandle,
    ) -> c_int;
    pub fn TVMFFIFunctionSetGlobal(
        name: *const TVMFFIByteArray,
        f: TVMFFIObjectHandle,
        allow_override: c_int,
    ) -> c_int;
    pub fn TVMFFIFunctionSetGlobalFromMethodInfo(
        method_info: *const TVMFFIMethodInfo,
        allow_override: c_int,
    ) -> c_int;
    pub fn TVMFFIFunctionCall(
        func: TVMFFIObjectHandle,
        args: *mut TVMFFIAny,
        num_args: i32,
        result: *mut TVMFFIAny,
    ) -> c_int;
    pub fn TVMFFIAnyViewToOwnedAny(any_view: *const TVMFFIAny, out: *mut TVMFFIAny) -> c_int;
    pub fn TVMFFIErrorMoveFromRaised(result: *mut TVMFFIObjectHandle);
    pub fn TVMFFIErrorSetRaised(error: TVMFFIObjectHandle);
    pub fn TVMFFIErrorSetRaisedFromCStr(kind: *const c_char, message: *const c_char);
    pub fn TVMFFIErrorSetRaisedFromCStrParts(
        kind: *const c_char,
        message_parts: *mut *const c_char,
        num_parts: i32,
    );
    pub fn TVMFFIErrorCreate(
        kind: *const TVMFFIByteArray,
        message: *const TVMFFIByteArray,
        backtrace: *const TVMFFIByteArray,
        out: *mut TVMFFIObjectHandle,
    ) -> c_int;
    pub fn TVMFFIErrorCreateWithCauseAndExtraContext(
        kind: *const TVMFFIByteArray,
        message: *const TVMFFIByteArray,
        backtrace: *const TVMFFIByteArray,
        cause_chain: TVMFFIObjectHandle,
        extra_context: TVMFFIObjectHandle,
        out: *mut TVMFFIObjectHandle,
    ) -> c_int;
    pub fn TVMFFITensorFromDLPack(
        from: *mut DLManagedTensor,
        require_alignment: i32,
        require_contiguous: i32,
        out: *mut TVMFFIObjectHandle,
    ) -> c_int;
    pub fn TVMFFITensorToDLPack(from: TVMFFIObjectHandle, out: *mut *mut DLManagedTensor) -> c_int;
    pub fn TVMFFITensorFromDLPackVersioned(
        from: *mut DLManagedTensorVersioned,
        require_alignment: i32,
        require_contiguous: i32,
        out: *mut TVMFFIObjectHandle,
    ) -> c_int;
    pub fn TVMFFITensorToDLPackVersioned(
        from: TVMFFIObjectHandle,
        out: *mut *mut DLManagedTensorVersioned,
    ) -> c_int;
    pub fn TVMFFITensorCreateUnsafeView(
        source: TVMFFIObjectHandle,
        prototype: *const DLTensor,
        out: *mut TVMFFIObjectHandle,
    ) -> c_int;
    pub fn TVMFFIStringFromByteArray(input: *const TVMFFIByteArray, out: *mut TVMFFIAny) -> c_int;
    pub fn TVMFFIBytesFromByteArray(input: *const TVMFFIByteArray, out: *mut TVMFFIAny) -> c_int;
    pub fn TVMFFIBigIntFromByteArray(input: *const TVMFFIByteArray, out: *mut TVMFFIAny) -> c_int;
    pub fn TVMFFIBigIntGetContentByteArray(value: *const TVMFFIAny) -> TVMFFIByteArray;
    pub fn TVMFFIDataTypeFromString(str: *const TVMFFIByteArray, out: *mut DLDataType) -> c_int;
    pub fn TVMFFIDataTypeToString(dtype: *const DLDataType, out: *mut TVMFFIAny) -> c_int;
    pub fn TVMFFITypeRegisterField(type_index: i32, info: *const TVMFFIFieldInfo) -> c_int;
    pub fn TVMFFITypeRegisterMethod(type_index: i32, info: *const TVMFFIMethodInfo) -> c_int;
    pub fn TVMFFITypeRegisterMetadata(
        type_index: i32,
        metadata: *const TVMFFITypeMetadata,
    ) -> c_int;
    pub fn TVMFFITypeRegisterAttr(
        type_index: i32,
        attr_name: *const TVMFFIByteArray,
        attr_value: *const TVMFFIAny,
    ) -> c_int;
    pub fn TVMFFIGetTypeAttrColumn(
        attr_name: *const TVMFFIByteArray,
    ) -> *const TVMFFITypeAttrColumn;
    pub fn TVMFFIBacktrace(
        filename: *const c_char,
        lineno: c_int,
        func: *const c_char,
        cross_ffi_boundary: c_int,
    ) -> *const TVMFFIByteArray;
    pub fn TVMFFITypeGetOrAllocIndex(
        type_key: *const TVMFFIByteArray,
        static_type_index: i32,
        type_depth: i32,
        num_child_slots: i32,
        child_slots_can_overflow: i32,
        parent_type_index: i32,
    ) -> i32;
    pub fn TVMFFIGetTypeInfo(type_index: i32) -> *const TVMFFITypeInfo;
    pub fn TVMFFIHandleInitOnce(
        handle_addr: *mut *mut c_void,
        init_func: Option<unsafe extern "C" fn(*mut *mut c_void) -> c_int>,
    ) -> c_int;
    pub fn TVMFFIHandleDeinitOnce(
        handle_addr: *mut *mut c_void,
        deinit_func: Option<unsafe extern "C" fn(*mut c_void) -> c_int>,
    ) -> c_int;
}

#[cfg(feature = "testing")]
extern "C" {
    /// Exists so that a program can depend on libtvm_ffi_testing; returns 0.
    pub fn TVMFFITestingDummyTarget() -> c_int;
}

/// Older name of [`TVMFFIBacktrace`], not exported by the library any more.
///
/// # Safety
/// `filename` and `func` must be NULL or strings that end in NUL.
pub unsafe fn TVMFFITraceback(
    filename: *const c_char,
    lineno: c_int,
    func: *const c_char,
    cross_ffi_boundary: c_int,
) -> *const TVMFFIByteArray {
    // SAFETY: promised by the caller.
    unsafe { TVMFFIBacktrace(filename, lineno, func, cross_ffi_boundary) }
}

/// Address right behind the header of `obj`, where its cell starts.
fn cell_of<T>(obj: TVMFFIObjectHandle) -> *mut T {
    obj.cast::<u8>().wrapping_add(core::mem::size_of::<TVMFFIObject>()).cast::<T>()
}

/// Cell of a String or Bytes object.
pub fn TVMFFIBytesGetByteArrayPtr(obj: TVMFFIObjectHandle) -> *mut TVMFFIByteArray {
    cell_of(obj)
}

/// Cell of an Error.
pub fn TVMFFIErrorGetCellPtr(obj: TVMFFIObjectHandle) -> *mut TVMFFIErrorCell {
    cell_of(obj)
}

/// Cell of a Function.
pub fn TVMFFIFunctionGetCellPtr(obj: TVMFFIObjectHandle) -> *mut TVMFFIFunctionCell {
    cell_of(obj)
}

/// Cell of a host-language object.
pub fn TVMFFIOpaqueObjectGetCellPtr(obj: TVMFFIObjectHandle) -> *mut TVMFFIOpaqueObjectCell {
    cell_of(obj)
}

/// Cell of a Shape.
pub fn TVMFFIShapeGetCellPtr(obj: TVMFFIObjectHandle) -> *mut TVMFFIShapeCell {
    cell_of(obj)
}

/// Tensor description inside a Tensor.
pub fn TVMFFITensorGetDLTensorPtr(obj: TVMFFIObjectHandle) -> *mut DLTensor {
    cell_of(obj)
}

/// Cell of an Array or List.
pub fn TVMFFISeqGetCellPtr(obj: TVMFFIObjectHandle) -> *mut TVMFFISeqCell {
    cell_of(obj)
}

/// Cell of a Map or Dict.
pub fn TVMFFIMapGetCellPtr(obj: TVMFFIObjectHandle) -> *mut TVMFFIMapCell {
    cell_of(obj)
}
