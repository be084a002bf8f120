// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

//! [`Module`]: a collection of functions, such as a loaded library.

use tvm_ffi_sys::TVMFFITypeIndex;

use crate::any::Any;
use crate::cached_global_func;
use crate::error::{Result, ATTRIBUTE_ERROR};
use crate::function::Function;
use crate::object::{Object, ObjectArc, ObjectCore, ObjectRefCore};

/// Object behind [`Module`]; its members belong to C++.
#[repr(C)]
pub struct ModuleObj {
    base: Object,
}

// SAFETY: a prefix of the ABI's layout of modules; never created here.
unsafe impl ObjectCore for ModuleObj {
    const TYPE_KEY: &'static str = "ffi.Module";
    const TYPE_DEPTH: i32 = 1;

    fn type_index() -> i32 {
        TVMFFITypeIndex::kTVMFFIModule as i32
    }
}

// SAFETY: modules may be used from any thread by contract of the runtime.
unsafe impl Send for ModuleObj {}
// SAFETY: as above.
unsafe impl Sync for ModuleObj {}

/// A collection of functions, with modules it imports.
#[repr(transparent)]
#[derive(Clone, Debug)]
pub struct Module {
    data: ObjectArc<ModuleObj>,
}

// SAFETY: transparent over the ObjectArc.
unsafe impl ObjectRefCore for Module {
    type ContainerType = ModuleObj;

    fn data(this: &Self) -> &ObjectArc<ModuleObj> {
        &this.data
    }
    fn into_data(this: Self) -> ObjectArc<ModuleObj> {
        this.data
    }
    fn from_data(data: ObjectArc<ModuleObj>) -> Self {
        Self { data }
    }
}
crate::impl_object_ref_cells!([] Module);

impl Module {
    /// Loads a library or another kind of module file. The code stays loaded as long as the
    /// module or anything made by it lives.
    pub fn load_from_file(path: impl AsRef<str>) -> Result<Module> {
        cached_global_func!("ffi.ModuleLoadFromFile").call_tuple((path.as_ref(),))?.cast()
    }

    /// The module of the symbols that the program itself registered under `prefix`.
    pub fn system_lib(prefix: &str) -> Result<Module> {
        cached_global_func!("ffi.SystemLib").call_tuple((prefix,))?.cast()
    }

    /// Function of this module; AttributeError if there is none of this name.
    pub fn get_function(&self, name: &str) -> Result<Function> {
        match self.get_function_opt(name, false)? {
            Some(function) => Ok(function),
            None => crate::bail!(ATTRIBUTE_ERROR, "Module has no function '{name}'"),
        }
    }

    /// Function of this module, or with `query_imports` also of its imports.
    pub fn get_function_opt(&self, name: &str, query_imports: bool) -> Result<Option<Function>> {
        cached_global_func!("ffi.ModuleGetFunction").call_tuple((self, name, query_imports))?.cast()
    }

    /// Whether there is such a function.
    pub fn implements_function(&self, name: &str, query_imports: bool) -> Result<bool> {
        let function = cached_global_func!("ffi.ModuleImplementsFunction");
        function.call_tuple((self, name, query_imports))?.cast()
    }

    /// Kind of the module, such as `library`.
    pub fn kind(&self) -> Result<crate::String> {
        cached_global_func!("ffi.ModuleGetKind").call_tuple((self,))?.cast()
    }

    /// Bits: 1 can be serialized, 2 can be run, 4 can be exported by a compiler.
    pub fn property_mask(&self) -> Result<i64> {
        cached_global_func!("ffi.ModuleGetPropertyMask").call_tuple((self,))?.cast()
    }

    /// Metadata text of a function (JSON), if the library has it.
    pub fn function_metadata(&self, name: &str) -> Result<Option<crate::String>> {
        let function = cached_global_func!("ffi.ModuleGetFunctionMetadata");
        function.call_tuple((self, name, false))?.cast()
    }

    /// Documentation of a function, if the library has it.
    pub fn function_doc(&self, name: &str) -> Result<Option<crate::String>> {
        let function = cached_global_func!("ffi.ModuleGetFunctionDoc");
        function.call_tuple((self, name, false))?.cast()
    }

    /// Imports a module, whose functions this one can then look up.
    pub fn import_module(&self, other: &Module) -> Result<()> {
        cached_global_func!("ffi.ModuleImportModule").call_tuple((self, other)).map(drop)
    }

    /// Writes the module to a file in one of its formats.
    pub fn write_to_file(&self, path: &str, format: &str) -> Result<()> {
        let function = cached_global_func!("ffi.ModuleWriteToFile");
        function.call_tuple((self, path, format)).map(drop)
    }

    /// Source text of the module in a format, empty for the default one.
    pub fn inspect_source(&self, format: &str) -> Result<crate::String> {
        cached_global_func!("ffi.ModuleInspectSource").call_tuple((self, format))?.cast()
    }

    /// Calls the default function, `main`.
    pub fn call_main<T: crate::function::PackedCallArgs>(&self, args: T) -> Result<Any> {
        self.get_function("main")?.call_tuple(args)
    }
}
