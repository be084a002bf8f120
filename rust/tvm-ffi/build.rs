// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

//! Sets the run path of this crate's tests and hands the library folder on to dependents
//! (`DEP_TVM_FFI_RUST_LIBDIR`).

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=DEP_TVM_FFI_LIBDIR");
    if let Ok(dir) = std::env::var("DEP_TVM_FFI_LIBDIR") {
        println!("cargo:rustc-link-arg=-Wl,-rpath,{dir}");
        println!("cargo:LIBDIR={dir}");
    }
}
