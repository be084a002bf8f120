// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// registry.h, accessor.h, creator.h, native_function.h and the automatic constructor.
#include <gtest/gtest.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/reflection/accessor.h>
#include <tvm/ffi/reflection/creator.h>
#include <tvm/ffi/reflection/registry.h>

#include <string>
#include <vector>

namespace {

using namespace tvm::ffi;
namespace refl = tvm::ffi::reflection;

class PointObj : public Object {
 public:
  int64_t x = 0;
  double y = 0;
  Any tag;

  int64_t ShiftedX(int64_t by) const { return x + by; }
  void MoveTo(int64_t new_x) { x = new_x; }

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO("test.refl.Point", PointObj, Object);
};

class Point : public ObjectRef {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Point, ObjectRef, PointObj);
};

class Point3Obj : public PointObj {
 public:
  int64_t z = 0;
  String name;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.refl.Point3", Point3Obj, PointObj);
};

/// A vtable in front of the header moves every member.
class VirtualObj : public Object {
 public:
  virtual ~VirtualObj() = default;
  int64_t value = 7;
  TVM_FFI_DECLARE_OBJECT_INFO("test.refl.Virtual", VirtualObj, Object);
};

class PairObj : public Object {
 public:
  int64_t a;
  int64_t b;
  PairObj(int64_t a, int64_t b) : a(a), b(b) {}
  TVM_FFI_DECLARE_OBJECT_INFO("test.refl.Pair", PairObj, Object);
};

int64_t AddNative(const Any& lhs, const Any& rhs) {
  return lhs.cast<int64_t>() + rhs.cast<int64_t>();
}

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<PointObj>("A point.")
      .def_rw("x", &PointObj::x, "Abscissa.", refl::Metadata{{"unit", "m"}, {"rank", 2}})
      .def_ro("y", &PointObj::y, refl::default_value(0.5))
      .def_rw("tag", &PointObj::tag, refl::default_factory([] { return String("fresh"); }),
              refl::kw_only(true))
      .def("shifted_x", &PointObj::ShiftedX, "x plus a distance.")
      .def("move_to", &PointObj::MoveTo)
      .def_static("origin", [] { return Point(make_object<PointObj>()); })
      .def_type_attr("test_refl_number", 42);
  refl::ObjectDef<Point3Obj>()
      .def_ro("z", &Point3Obj::z)
      .def_ro("name", &Point3Obj::name, refl::init(false), refl::default_value(String("n")));
  refl::ObjectDef<VirtualObj>().def_ro("value", &VirtualObj::value);
  refl::ObjectDef<PairObj>()
      .def_ro("a", &PairObj::a)
      .def_ro("b", &PairObj::b)
      .def(refl::init<int64_t, int64_t>());
  refl::GlobalDef()
      .def(
          "test.refl.Half", [](double v) { return v / 2; }, "Half of a number.")
      .def_packed("test.refl.Count", [](PackedArgs args, Any* rv) { *rv = args.size(); })
      .def_method("test.refl.ShiftedX", &PointObj::ShiftedX);
}

std::string MessageOf(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& err) {
    return err.kind() + ": " + err.message();
  }
  return "no error";
}

Function InitOf(const char* type_key) {
  return refl::TypeAttrColumn("__ffi_init__")[refl::internal::TypeInfoFromKey(type_key)->type_index]
      .cast<Function>();
}

Any Kwargs() { return Function::GetGlobalRequired("ffi.GetKwargsObject")(); }

TEST(Reflection, ReadsAndWritesFieldsOfBaseAndSubclass) {
  auto object = make_object<Point3Obj>();
  object->x = 3;
  object->z = 9;
  EXPECT_EQ(refl::FieldGetter("test.refl.Point3", "x")(object).cast<int64_t>(), 3);
  EXPECT_EQ(refl::FieldGetter("test.refl.Point3", "z")(object).cast<int64_t>(), 9);
  refl::FieldSetter("test.refl.Point", "x")(object, 11);
  EXPECT_EQ(object->x, 11);
  EXPECT_EQ(MessageOf([] { refl::GetFieldInfo("test.refl.Point", "nope"); }),
            "RuntimeError: Cannot find field `nope` in type `test.refl.Point`");
}

TEST(Reflection, OffsetCountsFromTheHeader) {
  EXPECT_EQ(refl::GetFieldInfo("test.refl.Point", "x")->offset, 24);
  EXPECT_EQ(refl::GetFieldInfo("test.refl.Virtual", "value")->offset, 24);
  auto object = make_object<VirtualObj>();
  EXPECT_EQ(refl::FieldGetter("test.refl.Virtual", "value")(object).cast<int64_t>(), 7);
  EXPECT_EQ(TVMFFIGetTypeInfo(VirtualObj::RuntimeTypeIndex())->metadata->total_size, 40);
}

TEST(Reflection, FieldInfoCarriesFlagsDocAndMetadata) {
  const TVMFFIFieldInfo* x = refl::GetFieldInfo("test.refl.Point", "x");
  EXPECT_EQ(x->flags & kTVMFFIFieldFlagBitMaskWritable, kTVMFFIFieldFlagBitMaskWritable);
  EXPECT_EQ(refl::internal::ToStringView(x->doc), "Abscissa.");
  EXPECT_EQ(refl::internal::ToStringView(x->metadata),
            R"({"type_schema":"{\"type\":\"int\"}","unit":"m","rank":2})");
  EXPECT_EQ(x->field_static_type_index, kTVMFFIInt);
  EXPECT_EQ(refl::GetFieldInfo("test.refl.Point", "tag")->field_static_type_index, kTVMFFIAny);
  EXPECT_NE(refl::GetFieldInfo("test.refl.Point", "tag")->flags & kTVMFFIFieldFlagBitMaskKwOnly, 0);
}

TEST(Reflection, MethodsAndGlobals) {
  auto object = make_object<PointObj>();
  Point point(object);
  EXPECT_EQ(refl::GetMethod("test.refl.Point", "shifted_x")(point, 5).cast<int64_t>(), 5);
  refl::GetMethod("test.refl.Point3", "move_to")(point, 8);  // inherited
  EXPECT_EQ(object->x, 8);
  EXPECT_EQ(refl::GetMethod("test.refl.Point", "origin")().cast<Point>()->x, 0);
  EXPECT_EQ(Function::GetGlobalRequired("test.refl.Half")(3).cast<double>(), 1.5);
  EXPECT_EQ(Function::GetGlobalRequired("test.refl.Count")(1, 2, 3).cast<int>(), 3);
  EXPECT_EQ(Function::GetGlobalRequired("test.refl.ShiftedX")(point, 2).cast<int>(), 10);
  EXPECT_NE(MessageOf([] {
              refl::GlobalDef().def("test.refl.Half", [](double v) { return v; });
            }).find("is already registered"),
            std::string::npos);
}

TEST(Reflection, DuplicatesAreRejected) {
  TVMFFIFieldInfo info = *refl::GetFieldInfo("test.refl.Point", "x");
  EXPECT_NE(MessageOf([&] {
              TVM_FFI_CHECK_SAFE_CALL(TVMFFITypeRegisterField(PointObj::RuntimeTypeIndex(), &info));
            }).find("InternalError: Duplicate field name \"x\" in type \"test.refl.Point\""),
            std::string::npos);
  EXPECT_NE(MessageOf([] { refl::ObjectDef<PointObj>(); }).find("already registered"),
            std::string::npos);
  EXPECT_NE(MessageOf([] {
              refl::TypeAttrDef<PointObj>().attr("test_refl_number", 1);
            }).find("TypeAttr `test_refl_number` is already registered for type index"),
            std::string::npos);
}

TEST(Reflection, TypeAttributes) {
  refl::TypeAttrColumn column("test_refl_number");
  EXPECT_EQ(column[PointObj::RuntimeTypeIndex()].cast<int>(), 42);
  EXPECT_EQ(column[Point3Obj::RuntimeTypeIndex()].type_index(), kTVMFFINone);
  EXPECT_EQ(column[1 << 20].type_index(), kTVMFFINone);
  refl::TypeAttrColumn final_types(type_attr::kTypeFinal);
  EXPECT_TRUE(*type_attr::kTypeFinal.ValueFrom(final_types[Point3Obj::RuntimeTypeIndex()]));
  EXPECT_FALSE(*type_attr::kTypeFinal.ValueFrom(final_types[PointObj::RuntimeTypeIndex()]));
  EXPECT_FALSE(type_attr::kTypeFinal.ValueFrom(AnyView()).has_value());
  EXPECT_NE(MessageOf([] { refl::TypeAttrColumn("test_refl_absent"); }).find("RuntimeError"),
            std::string::npos);
}

TEST(Reflection, CreatorFillsDefaultsAndRejectsBadNames) {
  refl::ObjectCreator create("test.refl.Point");
  Point point = create(Map<String, Any>{{"x", Any(4)}}).cast<Point>();
  EXPECT_EQ(point->x, 4);
  EXPECT_EQ(point->y, 0.5);
  EXPECT_EQ(point->tag.cast<String>(), "fresh");
  EXPECT_EQ(MessageOf([&] { create(Map<String, Any>{}); }),
            "TypeError: Required field `x` not set in type `test.refl.Point`");
  EXPECT_EQ(MessageOf([&] { create(Map<String, Any>{{"x", Any(1)}, {"w", Any(2)}}); }),
            "TypeError: Type `test.refl.Point` does not have field `w`");
  Any made = Function::GetGlobalRequired("ffi.MakeObjectFromPackedArgs")("test.refl.Point", "x", 6);
  EXPECT_EQ(made.cast<Point>()->x, 6);
}

TEST(Reflection, AutoInitBindsPositionalAndNamedArguments) {
  Function init = InitOf("test.refl.Point3");
  // Required first (x, z), then defaulted (y); tag is by name only, name is no argument.
  Point made = init(1, 2, 3.0, Kwargs(), "tag", 9).cast<Point>();
  const auto* point = made.as<Point3Obj>();
  ASSERT_NE(point, nullptr);
  EXPECT_EQ(point->x, 1);
  EXPECT_EQ(point->z, 2);
  EXPECT_EQ(point->y, 3.0);
  EXPECT_EQ(point->tag.cast<int>(), 9);
  EXPECT_EQ(point->name, "n");
}

TEST(Reflection, AutoInitErrors) {
  Function init = InitOf("test.refl.Point3");
  const std::string prefix = "TypeError: test.refl.Point3.__ffi_init__() ";
  EXPECT_EQ(MessageOf([&] { init(1); }), prefix + "missing required argument: 'z'");
  EXPECT_EQ(MessageOf([&] { init(1, 2, 3, 4); }),
            prefix + "takes at most 3 positional argument(s), but 4 were given");
  EXPECT_EQ(MessageOf([&] { init(1, 2, Kwargs(), "name", "a"); }),
            prefix + "got an unexpected keyword argument 'name'");
  EXPECT_EQ(MessageOf([&] { init(1, 2, Kwargs(), "x", 1); }),
            prefix + "got multiple values for argument 'x'");
  EXPECT_EQ(MessageOf([&] { init(1, 2, Kwargs(), "x"); }),
            prefix + "KWARGS requires an even number of key-value arguments");
  EXPECT_EQ(MessageOf([&] { init("a", 2); }).find(prefix + "field 'x':\n  Cannot convert"), 0U);
}

TEST(Reflection, ExplicitInitReplacesAutoInit) {
  Any pair = InitOf("test.refl.Pair")(1, 2);
  EXPECT_EQ(pair.cast<ObjectRef>().as<PairObj>()->b, 2);
  EXPECT_EQ(TVMFFIGetTypeInfo(PairObj::RuntimeTypeIndex())->metadata->creator, nullptr);
}

TEST(NativeFunction, CallsNativeAndPackedHooks) {
  using View = refl::NativeFunctionView<int64_t(const Any&, const Any&)>;
  View native = View::FromNative<&AddNative>();
  EXPECT_TRUE(native.is_native());
  EXPECT_EQ(native(Any(2), Any(3)), 5);
  EXPECT_TRUE(native.CallExpected(Any(2), Any("text")).is_err());

  TypedFunction<int64_t(const Any&, const Any&)> packed(
      Function::FromTyped([](int64_t a, int64_t b) { return a * b; }));
  EXPECT_EQ(View(packed)(Any(2), Any(3)), 6);
  TypedFunction<int64_t(const Any&, const Any&)> wrong(
      Function::FromTyped([](int64_t, int64_t) { return String("not a number"); }));
  Expected<int64_t> result = View(wrong).CallExpected(Any(1), Any(2));
  ASSERT_TRUE(result.is_err());
  EXPECT_NE(std::string(result.error().message()).find("Packed hook result type mismatch"),
            std::string::npos);
  TypedFunction<int64_t(const Any&, const Any&)> null;
  EXPECT_EQ(MessageOf([&] { View view(null); }).find("ValueError"), 0U);
}

}  // namespace
