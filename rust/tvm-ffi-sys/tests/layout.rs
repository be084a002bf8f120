// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

//! Compares every struct and constant with what the C compiler makes of the header.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::mem::{align_of, offset_of, size_of};
use std::path::{Path, PathBuf};
use std::process::Command;
use tvm_ffi_sys::dlpack::*;
use tvm_ffi_sys::*;

/// `name -> number` of the Rust side, and the C expressions that must give the same.
#[derive(Default)]
struct Facts {
    rust: BTreeMap<String, i64>,
    c: BTreeMap<String, String>,
}

impl Facts {
    fn add(&mut self, name: String, value: i64, expression: String) {
        self.rust.insert(name.clone(), value);
        self.c.insert(name, expression);
    }
}

macro_rules! structs {
    ($facts:ident; $($t:ident { $($field:ident $(. $inner:ident)? $(as $cfield:ident)?),* $(,)? })*) => {$(
        let name = stringify!($t);
        $facts.add(format!("sizeof {name}"), size_of::<$t>() as i64, format!("sizeof({name})"));
        $facts.add(format!("alignof {name}"), align_of::<$t>() as i64, format!("_Alignof({name})"));
        $(
            #[allow(unused_mut, unused_assignments)]
            let mut field = stringify!($field);
            $(field = stringify!($cfield);)?
            $facts.add(
                format!("{name}.{field}"),
                offset_of!($t, $field $(. $inner)?) as i64,
                format!("offsetof({name}, {field})"),
            );
        )*
    )*};
}

macro_rules! constants {
    ($facts:ident; $($e:ident { $($variant:ident),* $(,)? })*) => {$($(
        $facts.add(
            stringify!($variant).to_string(),
            $e::$variant as i64,
            stringify!($variant).to_string(),
        );
    )*)*};
}

fn facts() -> Facts {
    let mut facts = Facts::default();
    structs!(facts;
        TVMFFIVersion { major, minor, patch }
        TVMFFIObject { combined_ref_count, type_index, __padding, deleter }
        TVMFFIAny { type_index, padding as zero_padding, value as v_int64 }
        TVMFFIByteArray { data, size }
        TVMFFIShapeCell { data, size }
        TVMFFISeqCell { data, size, capacity, data_deleter }
        TVMFFIErrorCell { kind, message, backtrace, update_backtrace, cause_chain, extra_context }
        TVMFFIFunctionCell { safe_call, cpp_call }
        TVMFFIOpaqueObjectCell { handle }
        TVMFFIObjectAllocHeader { delete_space }
        TVMFFICustomAllocator { allocate, context }
        TVMFFIFieldInfo { name, doc, metadata, flags, size, alignment, offset, getter, setter,
            default_value_or_factory, field_static_type_index }
        TVMFFIMethodInfo { name, doc, metadata, flags, method }
        TVMFFITypeMetadata { doc, creator, total_size, structural_eq_hash_kind }
        TVMFFITypeAttrColumn { data, size, begin_index }
        TVMFFITypeInfo { type_index, type_depth, type_key, type_ancestors, type_key_hash,
            num_fields, num_methods, fields, methods, metadata }
        DLPackVersion { major, minor }
        DLDevice { device_type, device_id }
        DLDataType { code, bits, lanes }
        DLTensor { data, device, ndim, dtype, shape, strides, byte_offset }
        DLManagedTensor { dl_tensor, manager_ctx, deleter }
        DLManagedTensorVersioned { version, manager_ctx, deleter, flags, dl_tensor }
        DLPackExchangeAPIHeader { version, prev_api }
        DLPackExchangeAPI { header, managed_tensor_allocator, managed_tensor_from_py_object_no_sync,
            managed_tensor_to_py_object_no_sync, dltensor_from_py_object_no_sync,
            current_work_stream }
    );
    constants!(facts;
        TVMFFITypeIndex { kTVMFFIAny, kTVMFFINone, kTVMFFIInt, kTVMFFIBool, kTVMFFIFloat,
            kTVMFFIOpaquePtr, kTVMFFIDataType, kTVMFFIDevice, kTVMFFIDLTensorPtr, kTVMFFIRawStr,
            kTVMFFIByteArrayPtr, kTVMFFIObjectRValueRef, kTVMFFISmallStr, kTVMFFISmallBytes,
            kTVMFFIUnchanged, kTVMFFIStaticObjectBegin, kTVMFFIObject, kTVMFFIStr, kTVMFFIBytes,
            kTVMFFIError, kTVMFFIFunction, kTVMFFIShape, kTVMFFITensor, kTVMFFIArray, kTVMFFIMap,
            kTVMFFIModule, kTVMFFIOpaquePyObject, kTVMFFIList, kTVMFFIDict, kTVMFFIVisitInterrupt,
            kTVMFFIBigInt, kTVMFFIStaticObjectEnd, kTVMFFIDynObjectBegin }
        TVMFFIObjectDeleterFlagBitMask { kTVMFFIObjectDeleterFlagBitMaskStrong,
            kTVMFFIObjectDeleterFlagBitMaskWeak, kTVMFFIObjectDeleterFlagBitMaskBoth }
        TVMFFIBacktraceUpdateMode { kTVMFFIBacktraceUpdateModeReplace,
            kTVMFFIBacktraceUpdateModeAppend }
        TVMFFIFieldFlagBitMask { kTVMFFIFieldFlagBitMaskWritable,
            kTVMFFIFieldFlagBitMaskHasDefault, kTVMFFIFieldFlagBitMaskIsStaticMethod,
            kTVMFFIFieldFlagBitMaskSEqHashIgnore, kTVMFFIFieldFlagBitMaskSEqHashDefPattern,
            kTVMFFIFieldFlagBitMaskDefaultFromFactory, kTVMFFIFieldFlagBitMaskReprOff,
            kTVMFFIFieldFlagBitMaskCompareOff, kTVMFFIFieldFlagBitMaskHashOff,
            kTVMFFIFieldFlagBitMaskInitOff, kTVMFFIFieldFlagBitMaskKwOnly,
            kTVMFFIFieldFlagBitSetterIsFunctionObj, kTVMFFIFieldFlagBitMaskSEqHashDefSimple }
        TVMFFISEqHashKind { kTVMFFISEqHashKindUnsupported, kTVMFFISEqHashKindTreeNode,
            kTVMFFISEqHashKindFreeVar, kTVMFFISEqHashKindDAGNode,
            kTVMFFISEqHashKindConstTreeNode, kTVMFFISEqHashKindUniqueInstance }
        TVMFFIDefRegionKind { kTVMFFIDefRegionKindNone, kTVMFFIDefRegionKindPattern,
            kTVMFFIDefRegionKindSimple }
        DLDataTypeCode { kDLInt, kDLUInt, kDLFloat, kDLOpaqueHandle, kDLBfloat, kDLComplex,
            kDLBool, kDLFloat8_e3m4, kDLFloat8_e4m3, kDLFloat8_e4m3b11fnuz, kDLFloat8_e4m3fn,
            kDLFloat8_e4m3fnuz, kDLFloat8_e5m2, kDLFloat8_e5m2fnuz, kDLFloat8_e8m0fnu,
            kDLFloat6_e2m3fn, kDLFloat6_e3m2fn, kDLFloat4_e2m1fn }
    );
    for (name, value) in [
        ("kDLCPU", DLDeviceType::kDLCPU),
        ("kDLCUDA", DLDeviceType::kDLCUDA),
        ("kDLCUDAHost", DLDeviceType::kDLCUDAHost),
        ("kDLOpenCL", DLDeviceType::kDLOpenCL),
        ("kDLVulkan", DLDeviceType::kDLVulkan),
        ("kDLMetal", DLDeviceType::kDLMetal),
        ("kDLROCM", DLDeviceType::kDLROCM),
        ("kDLCUDAManaged", DLDeviceType::kDLCUDAManaged),
        ("kDLWebGPU", DLDeviceType::kDLWebGPU),
        ("kDLHexagon", DLDeviceType::kDLHexagon),
        ("kDLMAIA", DLDeviceType::kDLMAIA),
        ("kDLTrn", DLDeviceType::kDLTrn),
    ] {
        facts.add(name.to_string(), value.0 as i64, name.to_string());
    }
    for (name, value) in [
        ("TVM_FFI_VERSION_MAJOR", TVM_FFI_VERSION_MAJOR),
        ("TVM_FFI_VERSION_MINOR", TVM_FFI_VERSION_MINOR),
        ("TVM_FFI_VERSION_PATCH", TVM_FFI_VERSION_PATCH),
        ("DLPACK_MAJOR_VERSION", DLPACK_MAJOR_VERSION),
        ("DLPACK_MINOR_VERSION", DLPACK_MINOR_VERSION),
    ] {
        facts.add(name.to_string(), value as i64, name.to_string());
    }
    facts
}

/// Include folders of the source tree that this crate stands in.
fn include_dirs() -> Option<[PathBuf; 2]> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2)?;
    let dirs = [root.join("ffi/include"), root.join("ffi/3rdparty/dlpack/include")];
    dirs.iter().all(|dir| dir.exists()).then_some(dirs)
}

#[test]
fn layout_matches_the_c_header() {
    let Some(dirs) = include_dirs() else {
        eprintln!("skipped: the C headers are only in the source tree");
        return;
    };
    let facts = facts();
    let mut source = String::from(
        "#include <stddef.h>\n#include <stdio.h>\n#include <tvm/ffi/c_api.h>\n\
         #include <tvm/ffi/extra/c_env_api.h>\nint main(void) {\n",
    );
    for (name, expression) in &facts.c {
        let _ = writeln!(source, "printf(\"{name}=%lld\\n\", (long long)({expression}));");
    }
    source.push_str("return 0;\n}\n");
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let (file, program) = (dir.join("layout.c"), dir.join("layout"));
    std::fs::write(&file, source).unwrap();
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_string());
    let status = Command::new(&compiler)
        .arg("-std=c11")
        .args(dirs.iter().map(|dir| format!("-I{}", dir.display())))
        .arg(&file)
        .arg("-o")
        .arg(&program)
        .status()
        .unwrap_or_else(|error| panic!("{compiler}: {error}"));
    assert!(status.success(), "the C compiler rejects the program");
    let output = Command::new(&program).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut seen = 0;
    for line in text.lines() {
        let (name, value) = line.split_once('=').unwrap();
        assert_eq!(facts.rust[name], value.parse::<i64>().unwrap(), "{name}");
        seen += 1;
    }
    assert_eq!(seen, facts.rust.len());
    assert!(seen > 150);
}

#[test]
fn cells_of_the_specification() {
    assert_eq!(size_of::<TVMFFIAny>(), 16);
    assert_eq!(size_of::<TVMFFIObject>(), 24);
    assert_eq!(size_of::<TVMFFIFieldInfo>(), 120);
    assert_eq!(size_of::<TVMFFITypeInfo>(), 72);
    let header = size_of::<TVMFFIObject>();
    assert_eq!(header + offset_of!(TVMFFIDenseMapCell, fib_shift), 56);
    assert_eq!(header + offset_of!(TVMFFIDenseMapCell, head), 64);
    assert_eq!(header + offset_of!(TVMFFIDenseMapCell, tail), 72);
}

#[test]
fn null_byte_array_is_empty_text() {
    // SAFETY: NULL is allowed.
    assert_eq!(unsafe { TVMFFIByteArray::empty().as_str() }, "");
    // SAFETY: static bytes.
    assert_eq!(unsafe { TVMFFIByteArray::new(b"ab\xffcd").as_str() }, "ab");
}

#[test]
fn library_answers() {
    let mut version = TVMFFIVersion::default();
    // SAFETY: plain out parameter.
    unsafe { TVMFFIGetVersion(&mut version) };
    assert_eq!(version.major, TVM_FFI_VERSION_MAJOR);
    // SAFETY: allocators live for ever.
    if let Some(allocator) = unsafe { TVMFFIGetCustomAllocator() } {
        assert!(allocator.allocate.is_some());
    }
}
