// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

//! Lets the library find libtvm_ffi where it was linked. A library that is only loaded from
//! Python needs no run path: the interpreter has libtvm_ffi already.

fn main() {
    println!("cargo:rerun-if-env-changed=DEP_TVM_FFI_RUST_LIBDIR");
    if let Ok(dir) = std::env::var("DEP_TVM_FFI_RUST_LIBDIR") {
        println!("cargo:rustc-link-arg=-Wl,-rpath,{dir}");
    }
}
