// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

//! Functions, errors and their macros.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use tvm_ffi::tvm_ffi_sys::TVMFFIAny;
use tvm_ffi::*;

/// Keeps libtvm_ffi_testing linked.
fn testing() {
    // SAFETY: does nothing.
    assert_eq!(unsafe { tvm_ffi_sys::TVMFFITestingDummyTarget() }, 0);
}

#[test]
fn calls_a_cpp_function() {
    testing();
    let add_one = Function::get_global("testing.add_one").unwrap();
    assert_eq!(i64::try_from(add_one.call_tuple((41,)).unwrap()).unwrap(), 42);
    let echo = cached_global_func!("testing.echo");
    for text in ["", "short", "longer than seven bytes"] {
        let back: String = echo.call_tuple((text,)).unwrap().try_into().unwrap();
        assert_eq!(back, text);
    }
    assert!(echo.call_tuple(((),)).unwrap().is_none());
    assert_eq!(echo.call_tuple((2.5f32,)).unwrap().cast::<f64>().unwrap(), 2.5);
}

#[test]
fn cpp_calls_a_rust_closure() {
    testing();
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let add = Function::from_typed(move |x: i64, y: f64| -> Result<f64> {
        counted.fetch_add(1, Ordering::Relaxed);
        Ok(x as f64 + y)
    });
    let apply = Function::get_global("testing.apply").unwrap();
    let sum = apply.call_tuple((&add, 1, 2.5)).unwrap();
    assert_eq!(sum.cast::<f64>().unwrap(), 3.5);
    assert_eq!(calls.load(Ordering::Relaxed), 1);
    drop(add);
    assert_eq!(Arc::strong_count(&calls), 1, "the closure dies with the function");
}

#[test]
fn wrong_arguments_name_the_signature() {
    let add = Function::from_typed_named("add", |x: i64, _y: String| -> Result<i64> { Ok(x) });
    let error = add.call_tuple((1, 2)).unwrap_err();
    assert_eq!(error.kind(), TYPE_ERROR);
    assert_eq!(
        error.message(),
        "Mismatched type on argument #1 when calling: `add(0: int, 1: str) -> int`. \
         Expected `str` but got `int`"
    );
    let error = add.call_tuple((1,)).unwrap_err();
    assert_eq!(
        error.message(),
        "Mismatched number of arguments when calling: `add(0: int, 1: str) -> int`. \
         Expected 2 but got 1 arguments"
    );
    let narrow = Function::from_typed(|x: i8| -> Result<i8> { Ok(x) });
    let error = narrow.call_tuple((300,)).unwrap_err();
    assert!(error.message().ends_with("but got `int 300 outside the range of i8`"), "{error}");
}

#[test]
fn borrowed_parameters() {
    testing();
    let count = |x: TensorView, y: Option<TensorView>, any: AnyView| -> Result<i64> {
        let count = (x.numel() + y.map_or(0, |y| y.numel())) as i64;
        Ok(if any.is_none() { count } else { -count })
    };
    let numel = Function::from_typed_named("numel", count);
    let x = Tensor::from_slice(&[1f32, 2.0, 3.0], &[3]).unwrap();
    let references = || Any::from(x.clone()).debug_strong_count().unwrap() - 1;
    assert_eq!(numel.call_tuple((&x, (), ())).unwrap().cast::<i64>().unwrap(), 3);
    assert_eq!(numel.call_tuple((x.as_view(), &x, 1)).unwrap().cast::<i64>().unwrap(), -6);
    assert_eq!(references(), 1, "nothing was kept");
    let error = numel.call_tuple((1, (), ())).unwrap_err();
    assert_eq!(
        error.message(),
        "Mismatched type on argument #0 when calling: `numel(0: DLTensor*, \
         1: Optional<DLTensor*>, 2: AnyView) -> int`. Expected `DLTensor*` but got `int`"
    );
    fn first(x: TensorView) -> Result<f32> {
        Ok(x.data_as_slice::<f32>()?[0])
    }
    let first = Function::from_typed(first);
    assert_eq!(first.call_tuple((&x,)).unwrap().cast::<f32>().unwrap(), 1.0);
}

#[test]
fn global_functions_come_and_go() {
    let twice = |x: i64| -> Result<i64> { Ok(2 * x) };
    Function::register_global_typed("rust_test.twice", twice, "Doubles.").unwrap();
    let typed = into_typed_fn!(
        Function::get_global("rust_test.twice").unwrap(),
        Fn(i64) -> Result<i64>
    );
    assert_eq!(typed(21).unwrap(), 42);
    let error = Function::register_global("rust_test.twice", Function::from_typed(twice));
    let error = error.unwrap_err();
    assert_eq!(error.message(), "Global Function `rust_test.twice` is already registered");
    let metadata = Function::get_global("ffi.GetGlobalFuncMetadata").unwrap();
    let text: String = metadata.call_tuple(("rust_test.twice",)).unwrap().try_into().unwrap();
    assert!(text.contains("named_args"), "{text}");
    assert!(Function::list_global_names().unwrap().iter().any(|name| name == "rust_test.twice"));
    Function::remove_global("rust_test.twice").unwrap();
    let error = Function::get_global("rust_test.twice").unwrap_err();
    assert_eq!(error.to_string(), "ValueError: Function rust_test.twice not found");
}

#[test]
fn typed_closures_of_all_shapes() {
    let none =
        into_typed_fn!(Function::from_typed(|| -> Result<()> { Ok(()) }), Fn() -> Result<()>);
    none().unwrap();
    let packed = Function::from_packed(|args: &[AnyView<'_>]| Ok(Any::from(args.len())));
    let four = into_typed_fn!(packed, Fn(i32, bool, String, Any) -> Result<i32>);
    assert_eq!(four(1, true, String::from("x"), Any::new()).unwrap(), 4);
}

unsafe extern "C" fn negate(
    handle: *mut c_void,
    args: *const TVMFFIAny,
    num_args: i32,
    result: *mut TVMFFIAny,
) -> c_int {
    // SAFETY: called with one Int by the test below.
    unsafe {
        assert_eq!(num_args, 1);
        *handle.cast::<i64>() += 1;
        *result = TVMFFIAny::from_bits(1, (-((*args).bits() as i64)) as u64);
    }
    0
}

unsafe extern "C" fn free_counter(handle: *mut c_void) {
    // SAFETY: the handle is the box made below.
    drop(unsafe { Box::from_raw(handle.cast::<i64>()) });
}

#[test]
fn wraps_a_c_function() {
    let counter = Box::into_raw(Box::new(0i64));
    // SAFETY: the handle fits the function and is freed by the deleter.
    let function = unsafe { Function::from_extern_c(counter.cast(), negate, Some(free_counter)) };
    let function = function.unwrap();
    assert_eq!(function.call_tuple((5,)).unwrap().cast::<i64>().unwrap(), -5);
    // SAFETY: the function is alive, so the counter is too.
    assert_eq!(unsafe { *counter }, 1);
}

fn checked(x: i64) -> Result<i64> {
    ensure!(x >= 0, VALUE_ERROR, "x must not be negative, got {x}");
    if x > 100 {
        bail!(INDEX_ERROR, "{} is too large", x);
    }
    Ok(x)
}

#[test]
fn errors_keep_kind_message_and_backtrace() {
    let error = checked(-1).unwrap_err();
    assert_eq!((error.kind(), error.message()), (VALUE_ERROR, "x must not be negative, got -1"));
    assert!(error.backtrace().contains("function.rs"), "{}", error.backtrace());
    assert!(error.backtrace().contains("in function::checked"), "{}", error.backtrace());
    // Through C++ and back.
    let apply = Function::get_global("testing.apply").unwrap();
    let error = apply.call_tuple((&Function::from_typed(checked), 101)).unwrap_err();
    assert_eq!((error.kind(), error.message()), (INDEX_ERROR, "101 is too large"));
    assert!(error.backtrace().contains("in function::checked"), "{}", error.backtrace());
}

#[test]
fn attach_context_adds_a_frame() {
    let outer = || -> Result<i64> { attach_context!(checked(-1)) };
    let error = outer().unwrap_err();
    assert_eq!(error.backtrace().lines().count(), 2, "{}", error.backtrace());
    let kept = error.clone();
    let changed = error.with_appended_backtrace("  File \"f\", line 1, in g\n");
    assert_eq!(changed.backtrace().lines().count(), 3);
    assert_eq!(kept.backtrace().lines().count(), 2, "a shared error does not change");
    assert!(changed.full_message().starts_with("Traceback (most recent call last):\n  File \"f\""));
}

#[test]
fn errors_have_causes() {
    use std::error::Error as _;
    let error = Error::with_cause(RUNTIME_ERROR, "outer", "", Error::new(KEY_ERROR, "inner", ""));
    assert_eq!(error.cause().unwrap().message(), "inner");
    assert_eq!(error.source().unwrap().to_string(), "KeyError: inner");
    let echo = Function::get_global("testing.echo").unwrap();
    let back: Error = echo.call_tuple((error,)).unwrap().try_into().unwrap();
    assert_eq!(back.cause().unwrap().kind(), KEY_ERROR);
    assert!(Error::new(KEY_ERROR, "x", "").cause().is_none());
    let inner = Error::new(KEY_ERROR, "inner", "");
    drop(Error::with_cause(RUNTIME_ERROR, "outer", "", inner.clone()));
    assert_eq!(ObjectArc::strong_count(Error::data(&inner)), 1, "nothing leaks");
}

#[test]
fn cpp_errors_arrive() {
    testing();
    let raise = Function::get_global("testing.test_raise_error").unwrap();
    let error = raise.call_tuple(("ValueError", "from C++")).unwrap_err();
    assert_eq!((error.kind(), error.message()), (VALUE_ERROR, "from C++"));
    assert!(!error.backtrace().is_empty());
}

#[test]
fn panics_become_runtime_errors() {
    let bad = Function::from_typed(|x: i64| -> Result<i64> {
        if x == 0 {
            panic!("boom");
        }
        let values = [1i64, 2];
        Ok(values[x as usize])
    });
    let apply = Function::get_global("testing.apply").unwrap();
    let error = apply.call_tuple((&bad, 0)).unwrap_err();
    assert_eq!((error.kind(), error.message()), (RUNTIME_ERROR, "Rust panicked: boom"));
    let error = apply.call_tuple((&bad, 7)).unwrap_err();
    assert!(error.message().contains("index out of bounds"), "{error}");
    assert_eq!(apply.call_tuple((&bad, 1)).unwrap().cast::<i64>().unwrap(), 2);
}

struct PanicsWhenDropped;

impl Drop for PanicsWhenDropped {
    fn drop(&mut self) {
        panic!("in a destructor");
    }
}

#[test]
fn panic_in_a_destructor_stays_inside() {
    let guard = PanicsWhenDropped;
    let function = Function::from_packed(move |_: &[AnyView<'_>]| {
        let _ = &guard;
        Ok(Any::new())
    });
    drop(function);
}

#[test]
fn rvalue_refs_move() {
    testing();
    let array = Array::new(vec![1i64, 2]);
    let count = |array: RValueRef<Array<i64>>| -> Result<usize> {
        Ok(ObjectArc::strong_count(Array::data(&array.into_inner())))
    };
    let count = Function::from_typed(count);
    assert_eq!(count.call_tuple((&array,)).unwrap().cast::<usize>().unwrap(), 2);
    let moved = count.call_tuple((RValueRef::new(array),)).unwrap();
    assert_eq!(moved.cast::<usize>().unwrap(), 1);
}

#[test]
fn functions_cross_threads() {
    let add = Function::from_typed(|x: i64, y: i64| -> Result<i64> { Ok(x + y) });
    let threads: Vec<_> = (0..4)
        .map(|i| {
            let add = add.clone();
            std::thread::spawn(move || {
                (0..1000)
                    .map(|j| add.call_tuple((i, j)).unwrap().cast::<i64>().unwrap())
                    .sum::<i64>()
            })
        })
        .collect();
    for (i, thread) in threads.into_iter().enumerate() {
        assert_eq!(thread.join().unwrap(), 499_500 + 1000 * i as i64);
    }
}

static RAN_AT_LOAD: AtomicUsize = AtomicUsize::new(0);

static_init_block! {
    RAN_AT_LOAD.fetch_add(1, Ordering::SeqCst);
}

static_init_block! {
    ensure!(RAN_AT_LOAD.load(Ordering::SeqCst) >= 100, RUNTIME_ERROR, "not yet");
}

#[test]
fn static_init_blocks_run_at_load() {
    assert_eq!(RAN_AT_LOAD.load(Ordering::SeqCst), 1);
    let error = run_static_init_blocks().unwrap_err();
    assert!(error.message().contains("RuntimeError: not yet"), "{error}");
    RAN_AT_LOAD.store(100, Ordering::SeqCst);
    run_static_init_blocks().unwrap();
    assert_eq!(RAN_AT_LOAD.load(Ordering::SeqCst), 100, "a block that succeeded runs once");
}
