// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

//! Object types: bound ones of C++, and those defined here.

use std::sync::atomic::{AtomicUsize, Ordering};
use tvm_ffi::*;

/// The C++ class testing.TestIntPair.
#[repr(C)]
#[derive(Object)]
#[type_key = "testing.TestIntPair"]
#[type_final]
struct IntPairObj {
    base: Object,
    a: i64,
    b: i64,
}

#[repr(C)]
#[derive(Clone, ObjectRef)]
struct IntPair {
    data: ObjectArc<IntPairObj>,
}

fn testing() {
    // SAFETY: does nothing; keeps libtvm_ffi_testing linked.
    assert_eq!(unsafe { tvm_ffi_sys::TVMFFITestingDummyTarget() }, 0);
}

#[test]
fn binds_a_cpp_class() {
    testing();
    let pair = IntPair { data: ObjectArc::new(IntPairObj { base: Object::new(), a: 3, b: 4 }) };
    let sum = Function::get_global("testing.TestIntPairSum").unwrap();
    assert_eq!(sum.call_tuple((&pair,)).unwrap().cast::<i64>().unwrap(), 7);
    assert_eq!(ObjectRefCast::type_key(&pair), "testing.TestIntPair");
    let getter = FieldGetter::new("testing.TestIntPair", "b").unwrap();
    assert_eq!(getter.get::<_, i64>(&pair).unwrap(), 4);
    let error = FieldGetter::new("testing.TestIntPair", "c").unwrap_err();
    assert_eq!(error.message(), "Type `testing.TestIntPair` does not have field `c`");
    let any = Any::from(pair.clone());
    assert_eq!(any.downcast_ref::<IntPairObj>().unwrap().b, 4);
    assert!(any.clone().cast::<Tensor>().is_err());
    let object: ObjectRef = any.cast().unwrap();
    assert!(object.same_as(&pair));
    assert_eq!(object.cast::<IntPair>().unwrap().data.a, 3);
    assert_eq!(ObjectIdentity::of(&pair), ObjectIdentity::of(&pair.clone()));
}

#[test]
fn reads_and_writes_fields_of_cpp_objects() {
    testing();
    let index = object::lookup_type_index("testing.TestObjectBase").unwrap();
    let new = get_type_attr(index, "__ffi_new__").cast::<Function>().unwrap();
    let base: ObjectRef = new.call_tuple(()).unwrap().cast().unwrap();
    let getter = FieldGetter::new("testing.TestObjectBase", "v_i64").unwrap();
    assert_eq!(getter.get::<_, i64>(&base).unwrap(), 10);
    let setter = FieldSetter::new("testing.TestObjectBase", "v_i64").unwrap();
    // SAFETY: nobody else uses the object.
    unsafe { setter.set(&base, 11i64) }.unwrap();
    assert_eq!(getter.get::<_, i64>(&base).unwrap(), 11);
    assert!(FieldSetter::new("testing.TestObjectBase", "v_f64").is_err(), "read-only");
    let add = Function::from_type_method(index, "add_i64").unwrap();
    assert_eq!(add.call_tuple((&base, 4)).unwrap().cast::<i64>().unwrap(), 15);
    assert!(Function::from_type_method(index, "nothing").is_err());
    let other = Any::from(Array::<i64>::default()).cast::<ObjectRef>().unwrap();
    assert_eq!(getter.get::<_, i64>(&other).unwrap_err().kind(), TYPE_ERROR);
}

static DROPPED: AtomicUsize = AtomicUsize::new(0);

#[derive(Clone)]
struct Counted;

impl Drop for Counted {
    fn drop(&mut self) {
        DROPPED.fetch_add(1, Ordering::SeqCst);
    }
}

#[repr(C)]
#[derive(Object)]
#[type_key = "rust_test.Holder"]
#[type_register]
struct HolderObj {
    base: Object,
    counted: Counted,
}

#[test]
fn objects_die_with_the_last_reference() {
    let holder = ObjectArc::new(HolderObj { base: Object::new(), counted: Counted });
    let _ = &holder.counted;
    assert!(ObjectArc::is_unique(&holder));
    let second = holder.clone();
    assert_eq!((ObjectArc::strong_count(&holder), ObjectArc::weak_count(&holder)), (2, 1));
    drop(holder);
    assert_eq!(DROPPED.load(Ordering::SeqCst), 0);
    drop(second);
    assert_eq!(DROPPED.load(Ordering::SeqCst), 1);
}

#[test]
fn weak_references() {
    static GONE: AtomicUsize = AtomicUsize::new(0);
    struct Noisy;
    impl Drop for Noisy {
        fn drop(&mut self) {
            GONE.fetch_add(1, Ordering::SeqCst);
        }
    }
    #[repr(C)]
    #[derive(Object)]
    #[type_key = "rust_test.Weakly"]
    #[type_register]
    struct WeaklyObj {
        base: Object,
        noisy: Noisy,
    }
    let strong = ObjectArc::new(WeaklyObj { base: Object::new(), noisy: Noisy });
    let _ = &strong.noisy;
    let weak = ObjectWeak::new(&strong);
    let twin = weak.clone();
    assert!(weak.ptr_eq(&twin) && !ObjectArc::is_unique(&strong));
    assert_eq!((ObjectArc::weak_count(&strong), weak.strong_count()), (3, 1));
    let again = weak.upgrade().unwrap();
    assert!(ObjectArc::ptr_eq(&strong, &again));
    drop((strong, twin));
    assert_eq!(GONE.load(Ordering::SeqCst), 0);
    drop(again);
    assert_eq!(GONE.load(Ordering::SeqCst), 1, "the value dies with the last strong reference");
    assert!(weak.upgrade().is_none());
    assert_eq!(format!("{weak:?}"), "weak (gone)");
    // Objects of C++ as well.
    testing();
    let array = Array::new(vec![String::from("a text beyond seven bytes")]);
    let weak = array.downgrade();
    assert!(Array::<String>::from_data(weak.upgrade().unwrap()).same_as(&array));
    drop(array);
    assert!(weak.upgrade().is_none());
}

#[test]
fn weak_references_race_with_the_last_strong_one() {
    for _ in 0..200 {
        let strong = Tensor::from_slice(&[1i64, 2, 3], &[3]).unwrap();
        let weak = strong.downgrade();
        let upgraded = std::thread::scope(|scope| {
            let other = scope.spawn(|| weak.upgrade().map(|data| Tensor::from_data(data).numel()));
            drop(strong);
            other.join().unwrap()
        });
        assert!(upgraded.is_none_or(|count| count == 3));
        assert_eq!(weak.strong_count(), 0);
    }
}

#[rs_class("rust_test.Suit", final, init = false, s_eq_hash_kind = UniqueInstance)]
struct SuitObj {
    base: EnumObj,
    pub red: bool,
}

#[rs_class("rust_test.Priority", final, init = false, s_eq_hash_kind = UniqueInstance)]
struct PriorityObj {
    base: IntEnumObj,
}

#[test]
fn enums() {
    testing();
    let hearts = EnumDef::new("hearts", |base| SuitObj::new(base, true)).unwrap();
    let hearts = hearts.set_attr("symbol", String::from("♥")).unwrap();
    EnumDef::new("spades", |base| SuitObj::new(base, false)).unwrap();
    assert!(hearts.entry().red);
    assert_eq!((hearts.entry().name(), hearts.entry().number()), ("hearts", 0));
    let spades = EnumDef::<SuitObj>::get(1).unwrap().unwrap();
    assert_eq!(spades.name(), "spades");
    assert!(EnumDef::<SuitObj>::get("clubs").unwrap().is_none());
    let symbol = EnumDef::<SuitObj>::attr("hearts", "symbol").unwrap();
    assert_eq!(symbol.cast::<String>().unwrap(), "♥");
    assert!(EnumDef::<SuitObj>::attr("spades", "symbol").unwrap().is_none());
    assert_eq!(hearts.set_attr("symbol", 1).err().unwrap().kind(), RUNTIME_ERROR);
    let again = EnumDef::new("hearts", |base| SuitObj::new(base, true));
    assert!(again.err().unwrap().message().contains("already has an entry `hearts`"));
    // Entries keep their identity in JSON graphs and deep copies.
    let any = Any::from(ObjectRef::from_data(unsafe_upcast(&spades)));
    let graph = Function::get_global("ffi.ToJSONGraphString").unwrap();
    let text = graph.call_tuple((&any, ())).unwrap();
    let read = Function::get_global("ffi.FromJSONGraphString").unwrap();
    assert!(read.call_tuple((&text,)).unwrap().same_as(&any));
    let copy = Function::get_global("ffi.DeepCopy").unwrap();
    assert!(copy.call_tuple((&any,)).unwrap().same_as(&any));
    assert!(Function::from_type_method(SuitObj::type_index(), "__ffi_init__").is_err());
    let repr = Function::get_global("ffi.ReprPrint").unwrap().call_tuple((&any,)).unwrap();
    assert_eq!(repr.cast::<String>().unwrap(), "rust_test.Suit.spades");

    let make = |base: EnumObj| PriorityObj::new(IntEnumObj::from(base));
    EnumDef::with_number("high", 10, make).unwrap();
    let high = EnumDef::<PriorityObj>::get(10).unwrap().unwrap();
    assert_eq!(high.name(), "high");
    assert!(EnumDef::with_number("higher", 10, make).is_err());
    let other = EnumDef::new("x", |_| HolderObj { base: Object::new(), counted: Counted });
    assert_eq!(other.err().unwrap().kind(), TYPE_ERROR);
}

fn unsafe_upcast<T: ObjectCore>(entry: &ObjectArc<T>) -> ObjectArc<Object> {
    // SAFETY: every object is an Object.
    unsafe { ObjectArc::cast_unchecked(entry.clone()) }
}

/// A named thing.
#[rs_class("rust_test.Shape2d", s_eq_hash_kind = TreeNode, child_slots = 4)]
struct Shape2dObj {
    base: Object,
    /// How it is called.
    pub name: String,
    #[reflect(writable)]
    pub scale: f64,
}

def_object_ref!(Shape2d, ObjectRef, Shape2dObj);

#[rs_class("rust_test.Polygon", final, s_eq_hash_kind = TreeNode, reflection = polygon_methods)]
struct PolygonObj {
    base: Shape2dObj,
    pub corners: Array<i64>,
    #[reflect(default = None)]
    pub inner: Optional<Shape2d>,
    #[reflect(seq_hash_ignore, name = "comment", default = "", kw_only)]
    pub note: String,
}

def_object_ref!(Polygon, Shape2d, PolygonObj, ObjectRef);

fn polygon_methods(def: ObjectDef<PolygonObj>) -> ObjectDef<PolygonObj> {
    let area = Function::from_typed(|this: Polygon, factor: i64| -> Result<i64> {
        Ok(this.corners.len() as i64 * factor)
    });
    def.method("area", area, false, "Not quite the area.").type_attr("rust_test.sides", true)
}

fn polygon(name: &str, corners: &[i64], note: &str) -> Polygon {
    let base = Shape2dObj::new(Object::new(), name, 1.5);
    Polygon::from(PolygonObj::new(base, Array::from(corners), None, note))
}

#[test]
fn rs_class_objects_in_rust() {
    let shape = polygon("triangle", &[1, 2, 3], "");
    // Deref reaches the fields of the ancestors.
    assert_eq!((shape.corners.len(), shape.scale, shape.name.as_str()), (3, 1.5, "triangle"));
    let upcast = Shape2d::from(shape.clone());
    assert!(upcast.same_as(&shape) && upcast.is_instance_of::<PolygonObj>());
    assert_eq!(upcast.downcast_ref::<PolygonObj>().unwrap().corners.len(), 3);
    let any = Any::from(upcast);
    assert!(any.try_as::<Shape2d>().is_some() && any.try_as::<Polygon>().is_some());
    let plain = Shape2d::from(Shape2dObj::new(Object::new(), "plain", 0.0));
    assert!(Any::from(plain).try_as::<Polygon>().is_none());
    assert_eq!(PolygonObj::TYPE_DEPTH, 2);
    assert!(get_type_attr(PolygonObj::type_index(), "rust_test.sides").cast::<bool>().unwrap());
    let described = match_any! {
        &any {
            PolygonObj(ref polygon) => polygon.corners.len(),
            _ => 0,
        }
    };
    assert_eq!(described, 3);
}

fn call(name: &str, args: impl function::PackedCallArgs) -> Result<Any> {
    Function::get_global(name)?.call_tuple(args)
}

#[test]
fn rs_class_objects_elsewhere() {
    let shape = polygon("a name longer than seven", &[1, 2], "x");
    let equal = |l: &Polygon, r: &Polygon| {
        call("ffi.StructuralEqual", (l, r, false, false)).unwrap().cast::<bool>().unwrap()
    };
    assert!(equal(&shape, &polygon("a name longer than seven", &[1, 2], "ignored")));
    assert!(!equal(&shape, &polygon("a name longer than seven", &[1, 3], "x")));
    let text: String = call("ffi.ReprPrint", (&shape,)).unwrap().cast().unwrap();
    assert!(text.starts_with("rust_test.Polygon(") && text.contains("scale=1.5"), "{text}");
    assert!(text.contains("comment="), "{text}");
    let copy: Polygon = call("ffi.DeepCopy", (&shape,)).unwrap().cast().unwrap();
    assert!(!copy.same_as(&shape) && equal(&copy, &shape));
    let json: String = call("ffi.ToJSONGraphString", (&shape, ())).unwrap().cast().unwrap();
    let back: Polygon = call("ffi.FromJSONGraphString", (json,)).unwrap().cast().unwrap();
    assert!(equal(&back, &shape) && back.note == "x");
    let method = Function::from_type_method(PolygonObj::type_index(), "area").unwrap();
    assert_eq!(method.call_tuple((&shape, 10)).unwrap().cast::<i64>().unwrap(), 20);
}

#[test]
fn rs_class_constructor() {
    let index = PolygonObj::type_index();
    let init = get_type_attr(index, "__ffi_init__").cast::<Function>().unwrap();
    let corners = Array::new(vec![7i64]);
    let made: Polygon = init.call_tuple(("n", 2, &corners)).unwrap().cast().unwrap();
    assert_eq!((made.name.as_str(), made.scale, made.note.as_str()), ("n", 2.0, ""));
    assert!(made.inner.is_none() && made.corners.same_as(&corners));
    let error = init.call_tuple(("n",)).unwrap_err();
    assert_eq!(error.kind(), TYPE_ERROR);
    assert!(error.message().contains("missing required argument: 'scale'"), "{error}");
    let error = init.call_tuple(("n", "bad", &corners)).unwrap_err();
    assert_eq!(error.kind(), TYPE_ERROR, "a half-made object is dropped: {error}");
    let setter = FieldSetter::new("rust_test.Polygon", "scale").unwrap();
    // SAFETY: nobody else uses the object.
    unsafe { setter.set(&made, 3i64) }.unwrap();
    assert_eq!(made.scale, 3.0);
    assert!(FieldSetter::new("rust_test.Polygon", "corners").is_err());
    assert_eq!(ObjectArc::strong_count(Array::data(&corners)), 2);
    drop(made);
    assert_eq!(ObjectArc::strong_count(Array::data(&corners)), 1, "nothing leaks");
}

#[test]
fn unknown_types_are_errors() {
    let error = object::lookup_type_index("rust_test.Nothing").unwrap_err();
    assert!(error.message().contains("Cannot find type `rust_test.Nothing`"), "{error}");
    assert!(TypeAttrColumn::new("rust_test.no_such_column").is_none());
}

#[test]
fn access_paths() {
    let root = AccessPath::root().unwrap();
    let path = root.attr("a").unwrap().array_item(0).unwrap();
    let path = path.map_item(String::from("k")).unwrap();
    let path = path.map_item_missing(String::from("z")).unwrap();
    assert_eq!(format!("{path:?}"), "<root>.a[0][\"k\"][<missing:\"z\">]");
    assert_eq!(path.depth().unwrap(), 4);
    let steps = path.to_steps().unwrap();
    assert_eq!(steps[1].kind().unwrap(), AccessKind::ArrayItem);
    assert_eq!(steps[2].key().unwrap().cast::<String>().unwrap(), "k");
    assert!(root.is_prefix_of(&path).unwrap() && !path.is_prefix_of(&root).unwrap());
    let parent = path.parent().unwrap().unwrap();
    assert!(parent.is_prefix_of(&path).unwrap() && root.parent().unwrap().is_none());
    assert!(root.attr("a").unwrap().path_equal(&root.attr("a").unwrap()).unwrap());
}

#[rs_class("rust_test.Registered", s_eq_hash_kind = TreeNode)]
struct RegisteredObj {
    base: Object,
    pub value: i64,
}

#[test]
fn types_register_once_from_many_threads() {
    let indices: Vec<i32> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(RegisteredObj::type_index)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(indices.iter().all(|index| *index == indices[0]));
    assert!(FieldGetter::new("rust_test.Registered", "value").is_ok());
}

#[rs_class("rust_test.Broken")]
struct BrokenObj {
    base: Object,
    #[reflect(init_off)]
    pub text: String,
}

#[test]
fn a_field_outside_the_constructor_needs_a_default() {
    let panic = std::panic::catch_unwind(BrokenObj::type_index).unwrap_err();
    let text = panic.downcast_ref::<std::string::String>().unwrap();
    assert!(text.contains("field `text` of type `rust_test.Broken`"), "{text}");
    let _ = BrokenObj::new(Object::new(), "x").text;
}

#[test]
fn threads_get_what_they_may_have() {
    fn crosses<T: Send + Sync>() {}
    crosses::<Error>();
    crosses::<Function>();
    crosses::<Module>();
    crosses::<String>();
    crosses::<Tensor>();
    crosses::<Array<String>>();
    crosses::<Map<String, Tensor>>();
    // Any, ObjectRef, List and Dict do not; a type that did would make this ambiguous.
    trait Ambiguous<Marker> {
        fn check() {}
    }
    impl<T: ?Sized> Ambiguous<()> for T {}
    impl<T: ?Sized + Send> Ambiguous<u8> for T {}
    <Any as Ambiguous<_>>::check();
    <ObjectRef as Ambiguous<_>>::check();
    <List<i64> as Ambiguous<_>>::check();
    <Dict<i64, i64> as Ambiguous<_>>::check();
    <Array<Any> as Ambiguous<_>>::check();
}
