// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

//! Sets the run path of the program, and tells it where the runtime library was.

fn main() {
    println!("cargo:rerun-if-env-changed=DEP_TVM_FFI_RUST_LIBDIR");
    if let Ok(dir) = std::env::var("DEP_TVM_FFI_RUST_LIBDIR") {
        println!("cargo:rustc-env=TVM_DEFAULT_LIBDIR={dir}");
        println!("cargo:rustc-link-arg=-Wl,-rpath,{dir}");
    }
}
