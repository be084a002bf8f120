// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

/// Types `testing.*` for reflection, construction, comparison, enums and traversal hooks.
#include <tvm/ffi/extra/dataclass.h>
#include <tvm/ffi/extra/structural_visit.h>
#include <tvm/ffi/reflection/enum_def.h>
#include <tvm/ffi/tvm_ffi.h>

namespace tvm {
namespace ffi {
namespace {

namespace refl = reflection;

// ---- plain objects -------------------------------------------------------------------------

class IntPairObj : public Object {
 public:
  IntPairObj() = default;
  IntPairObj(int64_t a, int64_t b) : a(a), b(b) {}
  int64_t Sum() const { return a + b; }
  int64_t a = 0, b = 0;
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("testing.TestIntPair", IntPairObj, Object);
};

class IntPair : public ObjectRef {
 public:
  IntPair(int64_t a, int64_t b) { data_ = make_object<IntPairObj>(a, b); }
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(IntPair, ObjectRef, IntPairObj);
};

class ObjectBaseObj : public Object {
 public:
  int64_t AddI64(int64_t other) const { return v_i64 + other; }
  int64_t v_i64 = 10;
  double v_f64 = 10.0;
  String v_str = "hello";
  static constexpr bool _type_mutable = true;
  static constexpr uint32_t _type_child_slots = 1;
  TVM_FFI_DECLARE_OBJECT_INFO("testing.TestObjectBase", ObjectBaseObj, Object);
};

class ObjectBase : public ObjectRef {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(ObjectBase, ObjectRef, ObjectBaseObj);
};

class ObjectDerivedObj : public ObjectBaseObj {
 public:
  Map<Any, Any> v_map;
  Array<Any> v_array;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("testing.TestObjectDerived", ObjectDerivedObj, ObjectBaseObj);
};

class ObjectPtrHolderObj : public Object {
 public:
  explicit ObjectPtrHolderObj(UnsafeInit tag) : value(tag) {}
  Arc<ObjectBaseObj> value;
  Optional<Arc<ObjectBaseObj>> optional_value;
  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("testing.TestObjectPtrHolder", ObjectPtrHolderObj, Object);
};

class FrozenCxxObj : public Object {
 public:
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("testing.TestFrozenCxx", FrozenCxxObj, Object);
};

class NonCopyableObj : public Object {
 public:
  NonCopyableObj() = default;
  explicit NonCopyableObj(int64_t value) : value(value) {}
  NonCopyableObj(const NonCopyableObj&) = delete;
  NonCopyableObj& operator=(const NonCopyableObj&) = delete;
  int64_t value = 0;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("testing.TestNonCopyable", NonCopyableObj, Object);
};

class DeepCopyEdgesObj : public Object {
 public:
  Any v_any;
  ObjectRef v_obj;
  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("testing.TestDeepCopyEdges", DeepCopyEdgesObj, Object);
};

/// The two types below never get a Python class.
class UnregisteredBaseObj : public Object {
 public:
  explicit UnregisteredBaseObj(int64_t v1) : v1(v1) {}
  int64_t GetV1PlusOne() const { return v1 + 1; }
  int64_t v1;
  static constexpr uint32_t _type_child_slots = 1;
  TVM_FFI_DECLARE_OBJECT_INFO("testing.TestUnregisteredBaseObject", UnregisteredBaseObj, Object);
};

class UnregisteredObj : public UnregisteredBaseObj {
 public:
  UnregisteredObj(int64_t v1, int64_t v2) : UnregisteredBaseObj(v1), v2(v2) {}
  int64_t GetV2PlusTwo() const { return v2 + 2; }
  int64_t v2;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("testing.TestUnregisteredObject", UnregisteredObj,
                                    UnregisteredBaseObj);
};

void RegisterPlainObjects() {
  refl::ObjectDef<IntPairObj>()
      .def(refl::init<int64_t, int64_t>())
      .def_ro("a", &IntPairObj::a, "Field `a`")
      .def_ro("b", &IntPairObj::b, "Field `b`")
      .def("sum", &IntPairObj::Sum, "Method to compute sum of a and b");
  refl::ObjectDef<ObjectBaseObj>()
      .def_rw("v_i64", &ObjectBaseObj::v_i64, "i64 field", refl::default_value(10))
      .def_ro("v_f64", &ObjectBaseObj::v_f64, refl::default_value(10.0))
      .def_rw("v_str", &ObjectBaseObj::v_str, refl::default_value(String("hello")))
      .def("add_i64", &ObjectBaseObj::AddI64, "add_i64 method");
  refl::ObjectDef<ObjectDerivedObj>()
      .def_rw("v_map", &ObjectDerivedObj::v_map)
      .def_rw("v_array", &ObjectDerivedObj::v_array);
  refl::ObjectDef<ObjectPtrHolderObj>()
      .def_rw("value", &ObjectPtrHolderObj::value)
      .def_rw("optional_value", &ObjectPtrHolderObj::optional_value, refl::default_value(nullptr));
  refl::ObjectDef<NonCopyableObj>()
      .def(refl::init<int64_t>())
      .def_ro("value", &NonCopyableObj::value);
  refl::ObjectDef<DeepCopyEdgesObj>()
      .def_rw("v_any", &DeepCopyEdgesObj::v_any)
      .def_rw("v_obj", &DeepCopyEdgesObj::v_obj);
  refl::ObjectDef<UnregisteredBaseObj>()
      .def(refl::init<int64_t>(), "Constructor of TestUnregisteredBaseObject")
      .def_ro("v1", &UnregisteredBaseObj::v1)
      .def("get_v1_plus_one", &UnregisteredBaseObj::GetV1PlusOne,
           "Get (v1 + 1) from TestUnregisteredBaseObject");
  refl::ObjectDef<UnregisteredObj>()
      .def(refl::init<int64_t, int64_t>(), "Constructor of TestUnregisteredObject")
      .def_ro("v2", &UnregisteredObj::v2)
      .def("get_v2_plus_two", &UnregisteredObj::GetV2PlusTwo,
           "Get (v2 + 2) from TestUnregisteredObject");
  refl::GlobalDef()
      .def("testing.TestIntPairSum", [](IntPair pair) { return pair->Sum(); })
      .def("testing.make_unregistered_object",
           []() { return ObjectRef(make_object<UnregisteredObj>(41, 42)); });
}

// ---- constructors ----------------------------------------------------------------------------

class CxxClassBaseObj : public Object {
 public:
  int64_t v_i64 = 0;
  int32_t v_i32 = 0;
  static constexpr bool _type_mutable = true;
  static constexpr uint32_t _type_child_slots = 4;
  TVM_FFI_DECLARE_OBJECT_INFO("testing.TestCxxClassBase", CxxClassBaseObj, Object);
};

class CxxClassDerivedObj : public CxxClassBaseObj {
 public:
  double v_f64 = 0;
  float v_f32 = 8;
  static constexpr uint32_t _type_child_slots = 2;
  TVM_FFI_DECLARE_OBJECT_INFO("testing.TestCxxClassDerived", CxxClassDerivedObj, CxxClassBaseObj);
};

class CxxClassDerivedDerivedObj : public CxxClassDerivedObj {
 public:
  String v_str = "default";
  bool v_bool = false;
  static constexpr uint32_t _type_child_slots = 0;
  TVM_FFI_DECLARE_OBJECT_INFO("testing.TestCxxClassDerivedDerived", CxxClassDerivedDerivedObj,
                              CxxClassDerivedObj);
};

/// Bytes between two reflected fields that reflection does not know about.
class CxxClassHiddenFieldObj : public Object {
 public:
  int64_t v_i64 = 0;
  int64_t hidden = 0;
  int32_t v_i32 = 0;
  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO("testing.TestCxxClassHiddenField", CxxClassHiddenFieldObj, Object);
};

class CxxClassPolymorphicObj : public Object {
 public:
  virtual ~CxxClassPolymorphicObj() = default;
  int64_t v_i64 = 0;
  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO("testing.TestCxxClassPolymorphic", CxxClassPolymorphicObj, Object);
};

class CxxInitSubsetObj : public Object {
 public:
  int64_t required_field = 0;
  int64_t optional_field = -1;
  String note = "default";
  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO("testing.TestCxxInitSubset", CxxInitSubsetObj, Object);
};

class CxxKwOnlyObj : public Object {
 public:
  int64_t x = 0, y = 0, z = 0, w = 100;
  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO("testing.TestCxxKwOnly", CxxKwOnlyObj, Object);
};

class CxxAutoInitObj : public Object {
 public:
  int64_t a = 0, b = 0, c = 0, d = 0;
  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO("testing.TestCxxAutoInit", CxxAutoInitObj, Object);
};

class CxxAutoInitSimpleObj : public Object {
 public:
  int64_t x = 0, y = 0;
  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO("testing.TestCxxAutoInitSimple", CxxAutoInitSimpleObj, Object);
};

class CxxAutoInitAllInitOffObj : public Object {
 public:
  int64_t x = 7, y = 9, z = 1234;
  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO("testing.TestCxxAutoInitAllInitOff", CxxAutoInitAllInitOffObj,
                              Object);
};

class CxxAutoInitKwOnlyDefaultsObj : public Object {
 public:
  int64_t p_required = 0, p_default = 0, k_required = 0, k_default = 0, hidden = 0;
  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO("testing.TestCxxAutoInitKwOnlyDefaults", CxxAutoInitKwOnlyDefaultsObj,
                              Object);
};

class CxxNoAutoInitObj : public Object {
 public:
  int64_t x = 0, y = 0;
  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO("testing.TestCxxNoAutoInit", CxxNoAutoInitObj, Object);
};

class CxxAutoInitParentObj : public Object {
 public:
  int64_t parent_required = 0, parent_default = 0;
  static constexpr bool _type_mutable = true;
  static constexpr uint32_t _type_child_slots = 1;
  TVM_FFI_DECLARE_OBJECT_INFO("testing.TestCxxAutoInitParent", CxxAutoInitParentObj, Object);
};

class CxxAutoInitChildObj : public CxxAutoInitParentObj {
 public:
  int64_t child_required = 0, child_kw_only = 0;
  static constexpr uint32_t _type_child_slots = 0;
  TVM_FFI_DECLARE_OBJECT_INFO("testing.TestCxxAutoInitChild", CxxAutoInitChildObj,
                              CxxAutoInitParentObj);
};

void RegisterClasses() {
  refl::ObjectDef<CxxClassBaseObj>()
      .def_rw("v_i64", &CxxClassBaseObj::v_i64, refl::repr(false))
      .def_rw("v_i32", &CxxClassBaseObj::v_i32, refl::repr(false));
  refl::ObjectDef<CxxClassDerivedObj>()
      .def_rw("v_f64", &CxxClassDerivedObj::v_f64)
      .def_rw("v_f32", &CxxClassDerivedObj::v_f32, refl::default_value(8.0));
  refl::ObjectDef<CxxClassDerivedDerivedObj>()
      .def_rw("v_str", &CxxClassDerivedDerivedObj::v_str, refl::default_value(String("default")))
      .def_rw("v_bool", &CxxClassDerivedDerivedObj::v_bool);
  refl::ObjectDef<CxxClassHiddenFieldObj>()
      .def_rw("v_i64", &CxxClassHiddenFieldObj::v_i64)
      .def_rw("v_i32", &CxxClassHiddenFieldObj::v_i32);
  refl::ObjectDef<CxxClassPolymorphicObj>().def_rw("v_i64", &CxxClassPolymorphicObj::v_i64);
}

void RegisterConstructors() {
  refl::ObjectDef<CxxInitSubsetObj>()
      .def_rw("required_field", &CxxInitSubsetObj::required_field)
      .def_rw("optional_field", &CxxInitSubsetObj::optional_field, refl::init(false),
              refl::default_value(-1))
      .def_rw("note", &CxxInitSubsetObj::note, refl::init(false),
              refl::default_value(String("default")));
  refl::ObjectDef<CxxKwOnlyObj>()
      .def_rw("x", &CxxKwOnlyObj::x, refl::kw_only(true))
      .def_rw("y", &CxxKwOnlyObj::y, refl::kw_only(true))
      .def_rw("z", &CxxKwOnlyObj::z, refl::kw_only(true))
      .def_rw("w", &CxxKwOnlyObj::w, refl::kw_only(true), refl::default_value(100));
  refl::ObjectDef<CxxAutoInitObj>()
      .def_rw("a", &CxxAutoInitObj::a)
      .def_rw("b", &CxxAutoInitObj::b, refl::init(false), refl::default_value(42))
      .def_rw("c", &CxxAutoInitObj::c, refl::kw_only(true))
      .def_rw("d", &CxxAutoInitObj::d, refl::default_value(99));
  refl::ObjectDef<CxxAutoInitSimpleObj>()
      .def_rw("x", &CxxAutoInitSimpleObj::x)
      .def_rw("y", &CxxAutoInitSimpleObj::y);
  refl::ObjectDef<CxxAutoInitAllInitOffObj>()
      .def_rw("x", &CxxAutoInitAllInitOffObj::x, refl::init(false), refl::default_value(7))
      .def_rw("y", &CxxAutoInitAllInitOffObj::y, refl::init(false), refl::default_value(9))
      .def_rw("z", &CxxAutoInitAllInitOffObj::z, refl::init(false));
  refl::ObjectDef<CxxAutoInitKwOnlyDefaultsObj>()
      .def_rw("p_required", &CxxAutoInitKwOnlyDefaultsObj::p_required)
      .def_rw("p_default", &CxxAutoInitKwOnlyDefaultsObj::p_default, refl::default_value(11))
      .def_rw("k_required", &CxxAutoInitKwOnlyDefaultsObj::k_required, refl::kw_only(true))
      .def_rw("k_default", &CxxAutoInitKwOnlyDefaultsObj::k_default, refl::kw_only(true),
              refl::default_value(22))
      .def_rw("hidden", &CxxAutoInitKwOnlyDefaultsObj::hidden, refl::init(false),
              refl::default_value(33));
  refl::ObjectDef<CxxNoAutoInitObj>(refl::init(false))
      .def_rw("x", &CxxNoAutoInitObj::x)
      .def_rw("y", &CxxNoAutoInitObj::y);
  refl::ObjectDef<CxxAutoInitParentObj>()
      .def_rw("parent_required", &CxxAutoInitParentObj::parent_required)
      .def_rw("parent_default", &CxxAutoInitParentObj::parent_default, refl::default_value(5));
  refl::ObjectDef<CxxAutoInitChildObj>()
      .def_rw("child_required", &CxxAutoInitChildObj::child_required)
      .def_rw("child_kw_only", &CxxAutoInitChildObj::child_kw_only, refl::kw_only(true));
}

// ---- comparison ------------------------------------------------------------------------------

class CompareObj : public Object {
 public:
  CompareObj() = default;
  CompareObj(int64_t key, String name, int64_t ignored_field)
      : key(key), name(std::move(name)), ignored_field(ignored_field) {}
  int64_t key = 0;
  String name;
  int64_t ignored_field = 0;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("testing.TestCompare", CompareObj, Object);
};

class HashObj : public Object {
 public:
  HashObj() = default;
  HashObj(int64_t key, String name, int64_t hash_ignored)
      : key(key), name(std::move(name)), hash_ignored(hash_ignored) {}
  int64_t key = 0;
  String name;
  int64_t hash_ignored = 0;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("testing.TestHash", HashObj, Object);
};

/// Declares a type with an int `key` and a string `label`; only the key counts where a hook says
/// so.
#define TVM_FFI_TESTING_LABELED(Name, Key)                                 \
  class Name : public Object {                                             \
   public:                                                                 \
    Name() = default;                                                      \
    Name(int64_t key, String label) : key(key), label(std::move(label)) {} \
    int64_t key = 0;                                                       \
    String label;                                                          \
    TVM_FFI_DECLARE_OBJECT_INFO_FINAL(Key, Name, Object);                  \
  }
TVM_FFI_TESTING_LABELED(CustomHashObj, "testing.TestCustomHash");
TVM_FFI_TESTING_LABELED(CustomCompareObj, "testing.TestCustomCompare");
TVM_FFI_TESTING_LABELED(EqWithoutHashObj, "testing.TestEqWithoutHash");
#undef TVM_FFI_TESTING_LABELED

template <typename T>
void RegisterLabeled() {
  refl::ObjectDef<T>()
      .def(refl::init<int64_t, String>())
      .def_ro("key", &T::key)
      .def_ro("label", &T::label);
}

void RegisterComparison() {
  refl::ObjectDef<CompareObj>()
      .def(refl::init<int64_t, String, int64_t>())
      .def_ro("key", &CompareObj::key)
      .def_ro("name", &CompareObj::name)
      .def_ro("ignored_field", &CompareObj::ignored_field, refl::compare(false));
  refl::ObjectDef<HashObj>()
      .def(refl::init<int64_t, String, int64_t>())
      .def_ro("key", &HashObj::key)
      .def_ro("name", &HashObj::name)
      .def_ro("hash_ignored", &HashObj::hash_ignored, refl::hash(false));
  RegisterLabeled<CustomHashObj>();
  RegisterLabeled<CustomCompareObj>();
  RegisterLabeled<EqWithoutHashObj>();
  refl::TypeAttrDef<CustomHashObj>().def(type_attr::kHash,
                                         [](const CustomHashObj* self, const Function& hash) {
                                           return hash(self->key).cast<int64_t>();
                                         });
  refl::TypeAttrDef<CustomCompareObj>()
      .def(type_attr::kHash, [](const CustomCompareObj* self,
                                const Function& hash) { return hash(self->key).cast<int64_t>(); })
      .def(type_attr::kEq, [](const CustomCompareObj* a, const CustomCompareObj* b,
                              const Function& equal) { return equal(a->key, b->key).cast<bool>(); })
      .def(type_attr::kCompare,
           [](const CustomCompareObj* a, const CustomCompareObj* b, const Function& order) {
             return order(a->key, b->key).cast<int64_t>();
           });
  refl::TypeAttrDef<EqWithoutHashObj>().def(
      type_attr::kEq, [](const EqWithoutHashObj* a, const EqWithoutHashObj* b,
                         const Function& equal) { return equal(a->key, b->key).cast<bool>(); });
}

// ---- enums -----------------------------------------------------------------------------------

class EnumVariantObj : public EnumObj {
 public:
  EnumVariantObj() = default;
  EnumVariantObj(int64_t number, String name) : EnumObj(number, std::move(name)) {}
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("testing.TestEnumVariant", EnumVariantObj, EnumObj);
};

class CxxIntEnumObj : public IntEnumObj {
 public:
  CxxIntEnumObj() = default;
  CxxIntEnumObj(int64_t number, String name) : IntEnumObj(number, std::move(name)) {}
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("testing.TestCxxIntEnum", CxxIntEnumObj, IntEnumObj);
};

class CxxIntEnum : public IntEnum {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(CxxIntEnum, IntEnum, CxxIntEnumObj);
};

class CxxStrEnumObj : public StrEnumObj {
 public:
  CxxStrEnumObj() = default;
  CxxStrEnumObj(int64_t number, String name) : StrEnumObj(number, std::move(name)) {}
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("testing.TestCxxStrEnum", CxxStrEnumObj, StrEnumObj);
};

class CxxStrEnum : public StrEnum {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(CxxStrEnum, StrEnum, CxxStrEnumObj);
};

class CxxEnumHolderObj : public Object {
 public:
  explicit CxxEnumHolderObj(UnsafeInit tag) : priority(tag), opcode(tag) {}
  CxxIntEnum priority;
  CxxStrEnum opcode;
  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("testing.TestCxxEnumHolder", CxxEnumHolderObj, Object);
};

Enum EnumVariantGet(const String& name) {
  auto state = refl::internal::FindEnumState(EnumVariantObj::RuntimeTypeIndex());
  auto it = (*state)->indexes.find(Any(name));
  TVM_FFI_CHECK(it != (*state)->indexes.end(), ValueError)
      << "Enum `testing.TestEnumVariant` has no instance with index " << name;
  return Any((*it).second).cast<Enum>();
}

void RegisterEnums() {
  refl::ObjectDef<EnumVariantObj>(refl::init(false));
  refl::EnumDef<EnumVariantObj>("Alpha").set_attr("code", 10);
  refl::EnumDef<EnumVariantObj>("Beta").set_attr("code", 20);
  refl::ObjectDef<CxxIntEnumObj>(refl::init(false));
  refl::EnumDef<CxxIntEnumObj>("low", 10);
  refl::EnumDef<CxxIntEnumObj>("high", 20);
  refl::ObjectDef<CxxStrEnumObj>(refl::init(false));
  refl::EnumDef<CxxStrEnumObj>("+");
  refl::EnumDef<CxxStrEnumObj>("*");
  refl::ObjectDef<CxxEnumHolderObj>()
      .def_rw("priority", &CxxEnumHolderObj::priority)
      .def_rw("opcode", &CxxEnumHolderObj::opcode);
  refl::GlobalDef().def("testing.enum_variant_get", EnumVariantGet);
}

// ---- traversal -------------------------------------------------------------------------------

class VisitRegionsObj : public Object {
 public:
  int64_t simple = 1, pattern = 2, ordinary = 3;
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("testing.TestVisitRegions", VisitRegionsObj, Object);
};

class VisitHookObj : public Object {
 public:
  explicit VisitHookObj(ObjectRef child) : child(std::move(child)) {}
  ObjectRef child;
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("testing.TestVisitHook", VisitHookObj, Object);
};

/// Visits the child inside a Simple region, then the number 4 outside of it.
VisitResult VisitHook(StructuralVisitorObj* visitor, AnyView value) {
  const auto* self = value.cast<const VisitHookObj*>();
  TVM_FFI_S_VISIT_MAYBE_EARLY_RETURN(visitor->WithDefRegionKind(
      kTVMFFIDefRegionKindSimple, [&] { return visitor->VisitExpected(self->child); }));
  return visitor->VisitExpected(4);
}

void RegisterTraversal() {
  refl::ObjectDef<VisitRegionsObj>()
      .def_ro("simple", &VisitRegionsObj::simple, refl::AttachFieldFlag::SEqHashDefSimple())
      .def_ro("pattern", &VisitRegionsObj::pattern, refl::AttachFieldFlag::SEqHashDefPattern())
      .def_ro("ordinary", &VisitRegionsObj::ordinary);
  refl::ObjectDef<VisitHookObj>(refl::init(false)).def_ro("child", &VisitHookObj::child);
  refl::TypeAttrDef<VisitHookObj>().native_fn_attr<&VisitHook>(type_attr::kStructuralVisit);
  refl::GlobalDef().def("testing.make_visit_region_graph", [](bool with_hook) -> Any {
    ObjectRef regions(make_object<VisitRegionsObj>());
    if (!with_hook) return regions;
    return ObjectRef(make_object<VisitHookObj>(regions));
  });
}

TVM_FFI_STATIC_INIT_BLOCK() {
  // A type without members still has to be known by its key.
  FrozenCxxObj::_GetOrAllocRuntimeTypeIndex();
  RegisterPlainObjects();
  RegisterClasses();
  RegisterConstructors();
  RegisterComparison();
  RegisterEnums();
  RegisterTraversal();
}

}  // namespace
}  // namespace ffi
}  // namespace tvm
