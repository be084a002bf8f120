// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

//! [`Function`]: a callable that every language can call, and the table of global functions.

use std::ffi::{c_int, c_void};

use tvm_ffi_sys::{
    TVMFFIAny, TVMFFIByteArray, TVMFFIFunctionCell, TVMFFIFunctionCreate, TVMFFIFunctionGetGlobal,
    TVMFFIFunctionSetGlobal, TVMFFIFunctionSetGlobalFromMethodInfo, TVMFFIMethodInfo,
    TVMFFISafeCallType, TVMFFITypeIndex,
};

use crate::any::{Any, AnyView};
use crate::error::{guard_safe_call, Result, ATTRIBUTE_ERROR, VALUE_ERROR};
use crate::function_internal::{metadata_text, views_of};
use crate::object::{type_info, type_key, Object, ObjectArc, ObjectCore, ObjectRefCore};
use crate::type_traits::ContainerElement;

pub use crate::function_internal::{Argument, AsPackedCallable, PackedCallArg, PackedCallArgs};

/// Object behind [`Function`].
#[repr(C)]
pub struct FunctionObj {
    base: Object,
    cell: TVMFFIFunctionCell,
}

// SAFETY: the ABI's layout of functions.
unsafe impl ObjectCore for FunctionObj {
    const TYPE_KEY: &'static str = "ffi.Function";
    const TYPE_DEPTH: i32 = 1;
    const TYPE_FINAL: bool = true;

    fn type_index() -> i32 {
        TVMFFITypeIndex::kTVMFFIFunction as i32
    }
}

// SAFETY: a function may be called from any thread by contract of the ABI; Rust closures are
// required to be Send and Sync.
unsafe impl Send for FunctionObj {}
// SAFETY: as above.
unsafe impl Sync for FunctionObj {}

/// Function object with a Rust closure inside.
#[repr(C)]
struct ClosureObj<F> {
    base: FunctionObj,
    closure: F,
}

// SAFETY: begins with a FunctionObj, which is all that others see.
unsafe impl<F: 'static> ObjectCore for ClosureObj<F> {
    const TYPE_KEY: &'static str = FunctionObj::TYPE_KEY;
    const TYPE_DEPTH: i32 = FunctionObj::TYPE_DEPTH;
    const TYPE_FINAL: bool = true;

    fn type_index() -> i32 {
        FunctionObj::type_index()
    }
}

unsafe extern "C" fn call_closure<F>(
    handle: *mut c_void,
    args: *const TVMFFIAny,
    num_args: i32,
    result: *mut TVMFFIAny,
) -> c_int
where
    F: Fn(&[AnyView<'_>]) -> Result<Any> + Send + Sync + 'static,
{
    // SAFETY: the handle is the object that carries this pointer; the rest is the caller's part.
    unsafe {
        let object = &*handle.cast::<ClosureObj<F>>();
        guard_safe_call(result, || (object.closure)(views_of(args, num_args)))
    }
}

/// A callable shared between languages.
///
/// ```
/// use tvm_ffi::{Function, Result};
/// # fn main() -> Result<()> {
/// let add = Function::from_typed(|x: i64, y: i64| -> Result<i64> { Ok(x + y) });
/// assert_eq!(i64::try_from(add.call_tuple((1, 2))?)?, 3);
/// # Ok(())
/// # }
/// ```
#[repr(transparent)]
#[derive(Clone, Debug)]
pub struct Function {
    data: ObjectArc<FunctionObj>,
}

// SAFETY: transparent over the ObjectArc.
unsafe impl ObjectRefCore for Function {
    type ContainerType = FunctionObj;

    fn data(this: &Self) -> &ObjectArc<FunctionObj> {
        &this.data
    }
    fn into_data(this: Self) -> ObjectArc<FunctionObj> {
        this.data
    }
    fn from_data(data: ObjectArc<FunctionObj>) -> Self {
        Self { data }
    }
}
crate::impl_object_ref_cells!([] Function);

impl Function {
    /// Function that gets its arguments as views and checks them itself.
    pub fn from_packed<F>(func: F) -> Self
    where
        F: Fn(&[AnyView<'_>]) -> Result<Any> + Send + Sync + 'static,
    {
        let object = ObjectArc::new(ClosureObj {
            base: FunctionObj {
                base: Object::new(),
                cell: TVMFFIFunctionCell {
                    safe_call: Some(call_closure::<F>),
                    cpp_call: std::ptr::null_mut(),
                },
            },
            closure: func,
        });
        // SAFETY: the object begins with a FunctionObj.
        Self { data: unsafe { ObjectArc::cast_unchecked(object) } }
    }

    /// Function with typed arguments: a closure or `fn` that returns a [`Result`].
    pub fn from_typed<A, R, F: AsPackedCallable<A, R>>(func: F) -> Self {
        Self::from_packed(move |args| func.invoke(None, args))
    }

    /// As [`Function::from_typed`], with a name for messages about wrong arguments.
    pub fn from_typed_named<A, R, F: AsPackedCallable<A, R>>(name: &str, func: F) -> Self {
        let name = name.to_owned();
        Self::from_packed(move |args| func.invoke(Some(&name), args))
    }

    /// Function around a C function and its context.
    ///
    /// # Safety
    /// `safe_call(handle, ..)` may be called from any thread until `deleter(handle)` has run.
    pub unsafe fn from_extern_c(
        handle: *mut c_void,
        safe_call: TVMFFISafeCallType,
        deleter: Option<unsafe extern "C" fn(*mut c_void)>,
    ) -> Result<Self> {
        let mut out = std::ptr::null_mut();
        // SAFETY: promised by the caller.
        let code = unsafe { TVMFFIFunctionCreate(handle, Some(safe_call), deleter, &mut out) };
        crate::check_safe_call!(code)?;
        // SAFETY: the call returned an owned function.
        Ok(Self { data: unsafe { ObjectArc::from_raw(out.cast::<FunctionObj>()) } })
    }

    /// The global function of this name; ValueError if there is none.
    pub fn get_global(name: &str) -> Result<Function> {
        match Self::get_global_opt(name)? {
            Some(function) => Ok(function),
            None => crate::bail!(VALUE_ERROR, "Function {name} not found"),
        }
    }

    /// The global function of this name, if there is one.
    pub fn get_global_opt(name: &str) -> Result<Option<Function>> {
        let name = TVMFFIByteArray::from_str(name);
        let mut out = std::ptr::null_mut();
        // SAFETY: the name lives through the call.
        crate::check_safe_call!(unsafe { TVMFFIFunctionGetGlobal(&name, &mut out) })?;
        if out.is_null() {
            return Ok(None);
        }
        // SAFETY: the call returned an owned function.
        Ok(Some(Self { data: unsafe { ObjectArc::from_raw(out.cast::<FunctionObj>()) } }))
    }

    /// Makes a function global; RuntimeError if the name is taken.
    pub fn register_global(name: &str, func: Function) -> Result<()> {
        Self::set_global(name, &func, false)
    }

    /// Makes a function global; `allow_override` replaces one of the same name.
    pub fn set_global(name: &str, func: &Function, allow_override: bool) -> Result<()> {
        let name = TVMFFIByteArray::from_str(name);
        // SAFETY: name and function live through the call; the table takes its own reference.
        crate::check_safe_call!(unsafe {
            TVMFFIFunctionSetGlobal(&name, ObjectArc::as_handle(&func.data), allow_override as i32)
        })
    }

    /// Makes a typed function global, with its documentation and type schema.
    pub fn register_global_typed<A, R, F: AsPackedCallable<A, R>>(
        name: &str,
        func: F,
        doc: &str,
    ) -> Result<()> {
        let metadata = metadata_text(&F::schema());
        let function = Self::from_typed_named(name, func);
        let info = TVMFFIMethodInfo {
            name: TVMFFIByteArray::from_str(name),
            doc: TVMFFIByteArray::from_str(doc),
            metadata: TVMFFIByteArray::from_str(&metadata),
            flags: 0,
            method: *AnyView::from(&function).as_raw(),
        };
        // SAFETY: the table copies texts and takes its own reference.
        crate::check_safe_call!(unsafe { TVMFFIFunctionSetGlobalFromMethodInfo(&info, 0) })
    }

    /// Removes a global function; the others' references stay valid.
    pub fn remove_global(name: &str) -> Result<()> {
        Self::get_global("ffi.FunctionRemoveGlobal")?.call_tuple((name,)).map(drop)
    }

    /// Names of all global functions.
    pub fn list_global_names() -> Result<Vec<std::string::String>> {
        let list = Self::get_global("ffi.FunctionListGlobalNamesFunctor")?.call_tuple(())?;
        let list: Function = list.cast()?;
        let count: i64 = list.call_tuple((-1i64,))?.cast()?;
        (0..count)
            .map(|i| Ok(list.call_tuple((i,))?.cast::<crate::String>()?.to_str()?.to_owned()))
            .collect()
    }

    /// Method of a type, by name; AttributeError if the type has none of this name. Methods of
    /// ancestors count.
    pub fn from_type_method(type_index: i32, method_name: &str) -> Result<Function> {
        match crate::reflection::get_method(type_index, method_name) {
            Some(method) => Ok(method),
            None => crate::bail!(
                ATTRIBUTE_ERROR,
                "Type `{}` has no method `{method_name}`",
                type_key(type_info(type_index).type_index)
            ),
        }
    }

    /// Calls the function.
    pub fn call_packed(&self, packed_args: &[AnyView<'_>]) -> Result<Any> {
        // SAFETY: AnyView is a transparent cell, valid during the call.
        unsafe {
            let cells: *const TVMFFIAny = packed_args.as_ptr().cast();
            self.call_cells(std::slice::from_raw_parts(cells, packed_args.len()))
        }
    }

    /// Calls the function with a tuple of values, references or texts.
    pub fn call_tuple<T: PackedCallArgs>(&self, args: T) -> Result<Any> {
        args.call(self)
    }

    /// Calls the function with raw cells.
    ///
    /// # Safety
    /// The cells are valid and stay so during the call.
    pub(crate) unsafe fn call_cells(&self, cells: &[TVMFFIAny]) -> Result<Any> {
        let mut result = TVMFFIAny::new();
        let count = i32::try_from(cells.len()).expect("more than 2^31 arguments");
        let safe_call = self.data.cell.safe_call.expect("function without code");
        // SAFETY: the calling convention of the ABI.
        let code = unsafe {
            safe_call(ObjectArc::as_handle(&self.data), cells.as_ptr(), count, &mut result)
        };
        crate::check_safe_call!(code)?;
        // SAFETY: on success the result is owned by the caller.
        Ok(unsafe { Any::from_raw(result) })
    }
}

/// Converts the result of a call to what a typed closure promises.
#[doc(hidden)]
pub fn typed_result<T: ContainerElement>(result: Result<Any>) -> Result<T> {
    result?.cast::<T>()
}
