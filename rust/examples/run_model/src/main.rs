// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

//! Runs a model that `tvm.compile(...).export_library` wrote.
//!
//! `run_model model.so [--function main] [--output out.npy] input.npy ..`
//!
//! Only libtvm_ffi is linked. The runtime library brings the virtual machine; it is loaded from
//! `TVM_LIBRARY_PATH`, or else from where libtvm_ffi was at build time.

mod npy;

use std::path::PathBuf;
use tvm_ffi::{bail, Any, AnyView, Array, DLDeviceType, Module, Result, Tensor, VALUE_ERROR};

/// Allocator kinds of the virtual machine: 1 naive, 2 pooled.
const POOLED: i64 = 2;

struct Options {
    model: String,
    function: String,
    output: Option<String>,
    inputs: Vec<String>,
}

fn options() -> Result<Options> {
    let mut options = Options {
        model: String::new(),
        function: "main".to_string(),
        output: None,
        inputs: Vec::new(),
    };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || match args.next() {
            Some(value) => Ok(value),
            None => bail!(VALUE_ERROR, "{arg} needs a value"),
        };
        match arg.as_str() {
            "--function" => options.function = value()?,
            "--output" => options.output = Some(value()?),
            _ if options.model.is_empty() => options.model = arg,
            _ => options.inputs.push(arg),
        }
    }
    if options.model.is_empty() {
        bail!(
            VALUE_ERROR,
            "usage: run_model model.so [--function main] [--output out.npy] input.npy .."
        );
    }
    Ok(options)
}

fn runtime_library() -> Result<String> {
    let name =
        format!("{}tvm_runtime{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let dirs = std::env::var_os("TVM_LIBRARY_PATH").unwrap_or_default();
    let mut dirs: Vec<PathBuf> = std::env::split_paths(&dirs).collect();
    dirs.extend(option_env!("TVM_DEFAULT_LIBDIR").map(PathBuf::from));
    let found = dirs.iter().map(|dir| dir.join(&name)).find(|path| path.exists());
    match found.as_ref().and_then(|path| path.to_str()) {
        Some(path) => Ok(path.to_string()),
        None => bail!(VALUE_ERROR, "{name} not found in {dirs:?}: set TVM_LIBRARY_PATH"),
    }
}

/// Machine that runs the functions of the model on the CPU.
fn machine(model: &str) -> Result<Module> {
    // Registers the virtual machine; must stay loaded, so the reference is never dropped.
    std::mem::forget(Module::load_from_file(runtime_library()?)?);
    let executable = Module::load_from_file(model)?;
    let Some(load) = executable.get_function_opt("vm_load_executable", true)? else {
        bail!(VALUE_ERROR, "{model} contains no compiled model");
    };
    let machine: Module = load.call_tuple(())?.cast()?;
    let cpu = DLDeviceType::kDLCPU.0;
    machine.get_function("vm_initialization")?.call_tuple((cpu, 0, POOLED))?;
    Ok(machine)
}

/// All tensors of a result, which may be a tuple.
fn tensors(value: &Any) -> Result<Vec<Tensor>> {
    if let Some(tensor) = value.try_as::<Tensor>() {
        return Ok(vec![tensor]);
    }
    let parts: Array<Any> = value.as_view().cast()?;
    let parts: Result<Vec<_>> = parts.iter().map(|part| tensors(&part)).collect();
    Ok(parts?.concat())
}

fn run() -> Result<()> {
    let options = options()?;
    let machine = machine(&options.model)?;
    let inputs: Result<Vec<Tensor>> = options.inputs.iter().map(|path| npy::read(path)).collect();
    let inputs = inputs?;
    let args: Vec<AnyView<'_>> = inputs.iter().map(AnyView::from).collect();
    let result = machine.get_function(&options.function)?.call_packed(&args)?;
    for (index, tensor) in tensors(&result)?.iter().enumerate() {
        println!("output {index}: {tensor:?}");
        if let (0, Some(path)) = (index, &options.output) {
            npy::write(path, tensor)?;
        }
    }
    Ok(())
}

fn main() -> std::process::ExitCode {
    match run() {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:?}");
            std::process::ExitCode::FAILURE
        }
    }
}
