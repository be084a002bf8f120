// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

//! Code that runs when the program or library that holds it is loaded.

use std::sync::Mutex;

use crate::error::{catch_panic, Error, Result, RUNTIME_ERROR};

/// One block: where it stands and what it does.
#[doc(hidden)]
#[derive(Debug)]
pub struct StaticInitBlock {
    pub file: &'static str,
    pub line: u32,
    pub body: fn() -> Result<()>,
}

/// Blocks that have not succeeded yet, with their errors.
static FAILED: Mutex<Vec<(&'static StaticInitBlock, Error)>> = Mutex::new(Vec::new());

fn failed() -> std::sync::MutexGuard<'static, Vec<(&'static StaticInitBlock, Error)>> {
    FAILED.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Runs a block from a constructor of the loader. An error has nobody to go to there: it is
/// printed, and kept for [`run_static_init_blocks`].
#[doc(hidden)]
pub fn run_at_load(block: &'static StaticInitBlock) {
    keep_loaded(std::ptr::from_ref(block).cast());
    if let Err(error) = catch_panic(block.body) {
        eprintln!("static init block at {}:{} failed: {error}", block.file, block.line);
        failed().push((block, error));
    }
}

#[cfg(unix)]
mod dl {
    use std::ffi::{c_char, c_int, c_void};

    /// Answer of `dladdr`.
    #[repr(C)]
    pub struct DlInfo {
        pub file_name: *const c_char,
        pub base: *mut c_void,
        pub symbol_name: *const c_char,
        pub symbol_address: *mut c_void,
    }

    pub const LAZY: c_int = 1;
    pub const NO_LOAD: c_int = if cfg!(target_os = "linux") { 4 } else { 0x10 };
    pub const NO_DELETE: c_int = if cfg!(target_os = "linux") { 0x1000 } else { 0x80 };

    extern "C" {
        pub fn dladdr(address: *const c_void, info: *mut DlInfo) -> c_int;
        pub fn dlopen(file_name: *const c_char, flags: c_int) -> *mut c_void;
    }
}

/// Keeps the library with this address loaded to the end of the process: what it registered (types,
/// global functions) points at its code, and cannot be taken back.
pub(crate) fn keep_loaded(address: *const std::ffi::c_void) {
    #[cfg(unix)]
    // SAFETY: the loader's own functions; the info is only read when dladdr filled it in. The
    // handle is never closed, so the flag stays.
    unsafe {
        let mut info = std::mem::zeroed::<dl::DlInfo>();
        if dl::dladdr(address, &mut info) != 0 && !info.file_name.is_null() {
            dl::dlopen(info.file_name, dl::LAZY | dl::NO_LOAD | dl::NO_DELETE);
        }
    }
    #[cfg(not(unix))]
    let _ = address;
}

/// Tries the [`static_init_block!`](crate::static_init_block)s that failed at load again, and
/// reports those that still fail. Does nothing when all have succeeded.
///
/// A library may export it with
/// [`tvm_ffi_dll_export_typed_func!`](crate::tvm_ffi_dll_export_typed_func), so that its loader
/// learns of errors.
pub fn run_static_init_blocks() -> Result<()> {
    let blocks = std::mem::take(&mut *failed());
    for (block, _) in blocks {
        if let Err(error) = catch_panic(block.body) {
            failed().push((block, error));
        }
    }
    let rest = failed();
    if rest.is_empty() {
        return Ok(());
    }
    let lines: Vec<std::string::String> = rest
        .iter()
        .map(|(block, error)| format!("  {}:{}: {error}", block.file, block.line))
        .collect();
    let cause = rest[0].1.clone();
    let text = format!("{} static init block(s) failed:\n{}", lines.len(), lines.join("\n"));
    Err(Error::with_cause(RUNTIME_ERROR, &text, "", cause))
}

/// Runs code when the program or library is loaded: `static_init_block! { register()?; }`.
///
/// The body is that of a function that returns `Result<()>`, without the final `Ok(())`. Blocks
/// of one library run in the order in which the linker placed them.
#[macro_export]
macro_rules! static_init_block {
    ($($body:tt)*) => {
        const _: () = {
            fn body() -> $crate::Result<()> {
                $($body)*
                #[allow(unreachable_code)]
                ::core::result::Result::Ok(())
            }
            static BLOCK: $crate::static_init::StaticInitBlock =
                $crate::static_init::StaticInitBlock {
                    file: ::core::file!(),
                    line: ::core::line!(),
                    body,
                };
            extern "C" fn constructor() {
                $crate::static_init::run_at_load(&BLOCK);
            }
            #[used]
            #[cfg_attr(target_os = "macos", link_section = "__DATA,__mod_init_func")]
            #[cfg_attr(windows, link_section = ".CRT$XCU")]
            #[cfg_attr(not(any(target_os = "macos", windows)), link_section = ".init_array")]
            static CONSTRUCTOR: extern "C" fn() = constructor;
        };
    };
}
