// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

//! Finds libtvm_ffi and tells cargo to link it.
//!
//! Order: `TVM_FFI_LIB_DIR`, each folder of `TVM_LIBRARY_PATH`, `tvm-ffi-config --libdir`.
//! Dependent crates read the folder as `DEP_TVM_FFI_LIBDIR` to set their own run path.

use std::env;
use std::path::PathBuf;
use std::process::Command;

fn library_name(stem: &str) -> String {
    let os = env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    match os.as_str() {
        "windows" => format!("{stem}.lib"),
        "macos" => format!("lib{stem}.dylib"),
        _ => format!("lib{stem}.so"),
    }
}

fn from_environment() -> Vec<PathBuf> {
    ["TVM_FFI_LIB_DIR", "TVM_LIBRARY_PATH"]
        .iter()
        .filter_map(env::var_os)
        .flat_map(|value| env::split_paths(&value).collect::<Vec<_>>())
        .filter(|dir| !dir.as_os_str().is_empty())
        .collect()
}

fn from_config_tool() -> Option<PathBuf> {
    let output = Command::new("tvm-ffi-config").arg("--libdir").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| PathBuf::from(text.trim()))
}

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=TVM_FFI_LIB_DIR");
    println!("cargo:rerun-if-env-changed=TVM_LIBRARY_PATH");
    println!("cargo:rerun-if-env-changed=PATH");
    if env::var_os("DOCS_RS").is_some() {
        return; // documentation needs no library
    }
    let library = library_name("tvm_ffi");
    let mut tried = from_environment();
    let mut found = tried.iter().find(|dir| dir.join(&library).exists()).cloned();
    if found.is_none() {
        if let Some(dir) = from_config_tool() {
            found = dir.join(&library).exists().then(|| dir.clone());
            tried.push(dir);
        }
    }
    let Some(dir) = found else {
        panic!(
            "{library} not found in {tried:?}: set TVM_FFI_LIB_DIR to its folder, or put \
             tvm-ffi-config (of the Python package apache-tvm-ffi) on PATH"
        );
    };
    let dir = dir.canonicalize().unwrap_or(dir);
    println!("cargo:rustc-link-search=native={}", dir.display());
    println!("cargo:rustc-link-lib=dylib=tvm_ffi");
    if env::var_os("CARGO_FEATURE_TESTING").is_some() {
        println!("cargo:rustc-link-lib=dylib=tvm_ffi_testing");
    }
    // For the tests of this crate; dependents do the same with LIBDIR.
    println!("cargo:rustc-link-arg=-Wl,-rpath,{}", dir.display());
    println!("cargo:LIBDIR={}", dir.display());
}
