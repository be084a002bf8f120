// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

//! Mirrors of C++ types, written by `tvm-ffi-stubgen --target rust`; `tests/rust` checks that they
//! are up to date. The objects that both sides make are the same.

#![allow(missing_docs)]

use tvm_ffi::{Any, Function, Object, ObjectRef, ObjectRefCast, String};

// tvm-ffi-stubgen(custom-new): testing.TestIntPair
// tvm-ffi-stubgen(enum): testing.TestCxxClassBase.v_i32 -> Level(i32) { low=0, high=8 }
// tvm-ffi-stubgen(opaque): testing.TestObjectDerived

// tvm-ffi-stubgen(begin): object/testing.TestIntPair
#[repr(C)]
#[derive(tvm_ffi::Object)]
#[type_key = "testing.TestIntPair"]
#[type_final]
pub struct TestIntPairObj {
    base: tvm_ffi::Object,
    pub a: i64,
    pub b: i64,
}
const _: () = assert!(::core::mem::size_of::<TestIntPairObj>() == 40);
const _: () = assert!(::core::mem::align_of::<TestIntPairObj>() == 8);
#[repr(C)]
#[derive(Clone, tvm_ffi::ObjectRef)]
pub struct TestIntPair {
    base: tvm_ffi::ObjectArc<TestIntPairObj>,
}
impl ::core::ops::Deref for TestIntPair {
    type Target = TestIntPairObj;
    fn deref(&self) -> &TestIntPairObj {
        &self.base
    }
}
impl ::core::ops::Deref for TestIntPairObj {
    type Target = tvm_ffi::Object;
    fn deref(&self) -> &tvm_ffi::Object {
        &self.base
    }
}
impl TestIntPairObj {
    #[allow(clippy::too_many_arguments, dead_code)]
    pub(crate) fn new(base: tvm_ffi::Object, a: i64, b: i64) -> Self {
        Self { base, a, b }
    }
}
impl TestIntPair {
    /// A new object.
    #[allow(clippy::too_many_arguments, dead_code)]
    pub(crate) fn from_fields(a: i64, b: i64) -> Self {
        Self { base: tvm_ffi::ObjectArc::new(TestIntPairObj::new(tvm_ffi::Object::new(), a, b)) }
    }
}
tvm_ffi::impl_object_upcast!(TestIntPair => tvm_ffi::ObjectRef);
// tvm-ffi-stubgen(end)

// tvm-ffi-stubgen(begin): object/testing.TestObjectBase
#[repr(C)]
#[derive(tvm_ffi::Object)]
#[type_key = "testing.TestObjectBase"]
pub struct TestObjectBaseObj {
    base: tvm_ffi::Object,
    pub v_i64: i64,
    pub v_f64: f64,
    pub v_str: tvm_ffi::String,
}
const _: () = assert!(::core::mem::size_of::<TestObjectBaseObj>() == 56);
const _: () = assert!(::core::mem::align_of::<TestObjectBaseObj>() == 8);
#[repr(C)]
#[derive(Clone, tvm_ffi::ObjectRef)]
pub struct TestObjectBase {
    base: tvm_ffi::ObjectArc<TestObjectBaseObj>,
}
impl ::core::ops::Deref for TestObjectBase {
    type Target = TestObjectBaseObj;
    fn deref(&self) -> &TestObjectBaseObj {
        &self.base
    }
}
impl ::core::ops::Deref for TestObjectBaseObj {
    type Target = tvm_ffi::Object;
    fn deref(&self) -> &tvm_ffi::Object {
        &self.base
    }
}
impl TestObjectBaseObj {
    #[allow(clippy::too_many_arguments, dead_code)]
    pub(crate) fn new(
        base: tvm_ffi::Object,
        v_i64: i64,
        v_f64: f64,
        v_str: impl ::core::convert::Into<tvm_ffi::String>,
    ) -> Self {
        Self { base, v_i64, v_f64, v_str: v_str.into() }
    }
}
impl TestObjectBase {
    /// A new object.
    #[allow(clippy::too_many_arguments, dead_code)]
    pub fn new(v_i64: i64, v_f64: f64, v_str: impl ::core::convert::Into<tvm_ffi::String>) -> Self {
        Self {
            base: tvm_ffi::ObjectArc::new(TestObjectBaseObj::new(
                tvm_ffi::Object::new(),
                v_i64,
                v_f64,
                v_str,
            )),
        }
    }
}
tvm_ffi::impl_object_upcast!(TestObjectBase => tvm_ffi::ObjectRef);
// tvm-ffi-stubgen(end)

// tvm-ffi-stubgen(begin): object/testing.TestObjectDerived
#[repr(C)]
#[derive(tvm_ffi::Object)]
#[type_key = "testing.TestObjectDerived"]
#[type_final]
pub struct TestObjectDerivedObj {
    base: TestObjectBaseObj,
}
#[repr(C)]
#[derive(Clone, tvm_ffi::ObjectRef)]
pub struct TestObjectDerived {
    base: tvm_ffi::ObjectArc<TestObjectDerivedObj>,
}
impl ::core::ops::Deref for TestObjectDerived {
    type Target = TestObjectDerivedObj;
    fn deref(&self) -> &TestObjectDerivedObj {
        &self.base
    }
}
impl ::core::ops::Deref for TestObjectDerivedObj {
    type Target = TestObjectBaseObj;
    fn deref(&self) -> &TestObjectBaseObj {
        &self.base
    }
}
impl TestObjectDerived {
    /// Field `v_map`.
    pub fn v_map(&self) -> tvm_ffi::Result<tvm_ffi::Map<tvm_ffi::Any, tvm_ffi::Any>> {
        tvm_ffi::FieldGetter::new("testing.TestObjectDerived", "v_map")?.get(self)
    }
    /// Field `v_array`.
    pub fn v_array(&self) -> tvm_ffi::Result<tvm_ffi::Array<tvm_ffi::Any>> {
        tvm_ffi::FieldGetter::new("testing.TestObjectDerived", "v_array")?.get(self)
    }
}
tvm_ffi::impl_object_upcast!(TestObjectDerived => tvm_ffi::ObjectRef, TestObjectBase);
// tvm-ffi-stubgen(end)

// tvm-ffi-stubgen(begin): object/testing.TestCxxClassBase
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Level(i32);
#[allow(non_upper_case_globals, missing_docs, dead_code)]
impl Level {
    pub const low: Self = Self(0);
    pub const high: Self = Self(8);
    /// The value of this number, known or not.
    pub const fn from_raw(raw: i32) -> Self {
        Self(raw)
    }
    /// The number.
    pub const fn as_raw(self) -> i32 {
        self.0
    }
}
impl ::core::convert::TryFrom<i64> for Level {
    type Error = tvm_ffi::Error;
    fn try_from(value: i64) -> tvm_ffi::Result<Self> {
        match value {
            0 | 8 => Ok(Self(value as i32)),
            _ => tvm_ffi::bail!(tvm_ffi::VALUE_ERROR, "{value} is no Level"),
        }
    }
}
#[repr(C)]
#[derive(tvm_ffi::Object)]
#[type_key = "testing.TestCxxClassBase"]
pub struct TestCxxClassBaseObj {
    base: tvm_ffi::Object,
    pub v_i64: i64,
    pub v_i32: Level,
}
const _: () = assert!(::core::mem::size_of::<TestCxxClassBaseObj>() == 40);
const _: () = assert!(::core::mem::align_of::<TestCxxClassBaseObj>() == 8);
#[repr(C)]
#[derive(Clone, tvm_ffi::ObjectRef)]
pub struct TestCxxClassBase {
    base: tvm_ffi::ObjectArc<TestCxxClassBaseObj>,
}
impl ::core::ops::Deref for TestCxxClassBase {
    type Target = TestCxxClassBaseObj;
    fn deref(&self) -> &TestCxxClassBaseObj {
        &self.base
    }
}
impl ::core::ops::Deref for TestCxxClassBaseObj {
    type Target = tvm_ffi::Object;
    fn deref(&self) -> &tvm_ffi::Object {
        &self.base
    }
}
impl TestCxxClassBaseObj {
    #[allow(clippy::too_many_arguments, dead_code)]
    pub(crate) fn new(
        base: tvm_ffi::Object,
        v_i64: i64,
        v_i32: impl ::core::convert::Into<Level>,
    ) -> Self {
        Self { base, v_i64, v_i32: v_i32.into() }
    }
}
impl TestCxxClassBase {
    /// A new object.
    #[allow(clippy::too_many_arguments, dead_code)]
    pub fn new(v_i64: i64, v_i32: impl ::core::convert::Into<Level>) -> Self {
        Self {
            base: tvm_ffi::ObjectArc::new(TestCxxClassBaseObj::new(
                tvm_ffi::Object::new(),
                v_i64,
                v_i32,
            )),
        }
    }
}
tvm_ffi::impl_object_upcast!(TestCxxClassBase => tvm_ffi::ObjectRef);
// tvm-ffi-stubgen(end)

// tvm-ffi-stubgen(begin): object/testing.TestCxxClassDerived
#[repr(C)]
#[derive(tvm_ffi::Object)]
#[type_key = "testing.TestCxxClassDerived"]
pub struct TestCxxClassDerivedObj {
    base: TestCxxClassBaseObj,
    pub v_f64: f64,
    pub v_f32: f32,
}
const _: () = assert!(::core::mem::size_of::<TestCxxClassDerivedObj>() == 56);
const _: () = assert!(::core::mem::align_of::<TestCxxClassDerivedObj>() == 8);
#[repr(C)]
#[derive(Clone, tvm_ffi::ObjectRef)]
pub struct TestCxxClassDerived {
    base: tvm_ffi::ObjectArc<TestCxxClassDerivedObj>,
}
impl ::core::ops::Deref for TestCxxClassDerived {
    type Target = TestCxxClassDerivedObj;
    fn deref(&self) -> &TestCxxClassDerivedObj {
        &self.base
    }
}
impl ::core::ops::Deref for TestCxxClassDerivedObj {
    type Target = TestCxxClassBaseObj;
    fn deref(&self) -> &TestCxxClassBaseObj {
        &self.base
    }
}
impl TestCxxClassDerivedObj {
    #[allow(clippy::too_many_arguments, dead_code)]
    pub(crate) fn new(base: TestCxxClassBaseObj, v_f64: f64, v_f32: f32) -> Self {
        Self { base, v_f64, v_f32 }
    }
}
impl TestCxxClassDerived {
    /// A new object.
    #[allow(clippy::too_many_arguments, dead_code)]
    pub fn new(
        v_i64: i64,
        v_i32: impl ::core::convert::Into<Level>,
        v_f64: f64,
        v_f32: f32,
    ) -> Self {
        Self {
            base: tvm_ffi::ObjectArc::new(TestCxxClassDerivedObj::new(
                TestCxxClassBaseObj::new(tvm_ffi::Object::new(), v_i64, v_i32),
                v_f64,
                v_f32,
            )),
        }
    }
}
tvm_ffi::impl_object_upcast!(TestCxxClassDerived => tvm_ffi::ObjectRef, TestCxxClassBase);
// tvm-ffi-stubgen(end)

// tvm-ffi-stubgen(begin): object/testing.TestCxxClassHiddenField
#[repr(C)]
#[derive(tvm_ffi::Object)]
#[type_key = "testing.TestCxxClassHiddenField"]
pub struct TestCxxClassHiddenFieldObj {
    base: tvm_ffi::Object,
}
#[repr(C)]
#[derive(Clone, tvm_ffi::ObjectRef)]
pub struct TestCxxClassHiddenField {
    base: tvm_ffi::ObjectArc<TestCxxClassHiddenFieldObj>,
}
impl ::core::ops::Deref for TestCxxClassHiddenField {
    type Target = TestCxxClassHiddenFieldObj;
    fn deref(&self) -> &TestCxxClassHiddenFieldObj {
        &self.base
    }
}
impl ::core::ops::Deref for TestCxxClassHiddenFieldObj {
    type Target = tvm_ffi::Object;
    fn deref(&self) -> &tvm_ffi::Object {
        &self.base
    }
}
impl TestCxxClassHiddenField {
    /// Field `v_i64`.
    pub fn v_i64(&self) -> tvm_ffi::Result<i64> {
        tvm_ffi::FieldGetter::new("testing.TestCxxClassHiddenField", "v_i64")?.get(self)
    }
    /// Field `v_i32`.
    pub fn v_i32(&self) -> tvm_ffi::Result<i32> {
        tvm_ffi::FieldGetter::new("testing.TestCxxClassHiddenField", "v_i32")?.get(self)
    }
}
tvm_ffi::impl_object_upcast!(TestCxxClassHiddenField => tvm_ffi::ObjectRef);
// tvm-ffi-stubgen(end)

fn testing() {
    // SAFETY: does nothing; keeps libtvm_ffi_testing linked.
    assert_eq!(unsafe { tvm_ffi::tvm_ffi_sys::TVMFFITestingDummyTarget() }, 0);
}

fn make(key: &str, args: &[Any]) -> ObjectRef {
    let index = tvm_ffi::object::lookup_type_index(key).unwrap();
    let new = tvm_ffi::get_type_attr(index, "__ffi_init__").cast::<Function>();
    let new = new.or_else(|_| Function::from_type_method(index, "__ffi_init__")).unwrap();
    let views: Vec<_> = args.iter().map(Any::as_view).collect();
    new.call_packed(&views).unwrap().cast().unwrap()
}

#[test]
fn objects_of_cpp_are_read_through_their_fields() {
    testing();
    let pair: TestIntPair = make("testing.TestIntPair", &[3.into(), 4.into()]).cast().unwrap();
    assert_eq!((pair.a, pair.b), (3, 4));
    let base: TestObjectBase = make("testing.TestObjectBase", &[]).cast().unwrap();
    assert_eq!((base.v_i64, base.v_f64, base.v_str.as_str()), (10, 10.0, "hello"));
}

#[test]
fn objects_of_rust_are_read_by_cpp() {
    testing();
    let pair = TestIntPair::from_fields(3, 4);
    let sum = Function::get_global("testing.TestIntPairSum").unwrap();
    assert_eq!(sum.call_tuple((&pair,)).unwrap().cast::<i64>().unwrap(), 7);
    let derived = TestCxxClassDerived::new(1, Level::high, 2.5, 8.0);
    assert_eq!((derived.v_i64, derived.v_i32, derived.v_f32), (1, Level::high, 8.0));
    let repr = Function::get_global("ffi.ReprPrint").unwrap();
    let text = repr.call_tuple((&derived,)).unwrap().cast::<String>().unwrap();
    assert_eq!(text, "testing.TestCxxClassDerived(v_f64=2.5, v_f32=8)");
    let base = TestCxxClassBase::from(derived.clone());
    assert!(base.same_as(&derived));
    assert!(TestCxxClassBase::new(1, Level::low).cast::<TestCxxClassDerived>().is_err());
    let base = TestObjectBase::new(1, 2.0, "a text beyond seven bytes");
    assert_eq!(base.v_str.len(), 25);
    let _: &Object = &base;
}

#[test]
fn opaque_objects_have_getters() {
    testing();
    let map = tvm_ffi::Map::<String, i64>::from_iter([(String::from("k"), 1)]);
    let array = tvm_ffi::Array::new(vec![5i64]);
    let args = [map.into(), array.into()].map(|value: Any| value);
    let derived: TestObjectDerived = make("testing.TestObjectDerived", &args).cast().unwrap();
    assert_eq!(derived.v_array().unwrap().len(), 1);
    assert_eq!(derived.v_map().unwrap().len(), 1);
    assert_eq!(derived.v_i64, 10, "the parent's fields are known");
    let key = "testing.TestCxxClassHiddenField";
    if let Ok(hidden) = make(key, &[7.into(), 8.into()]).cast::<TestCxxClassHiddenField>() {
        assert_eq!((hidden.v_i64().unwrap(), hidden.v_i32().unwrap()), (7, 8));
    }
}

#[test]
fn numbers_of_enums() {
    assert_eq!(Level::try_from(8).unwrap(), Level::high);
    assert_eq!(Level::try_from(3).unwrap_err().message(), "3 is no Level");
    assert_eq!(Level::from_raw(3).as_raw(), 3);
}
