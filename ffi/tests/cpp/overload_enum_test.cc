// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// overload.h and enum_def.h.
#include <gtest/gtest.h>
#include <tvm/ffi/enum.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/dataclass.h>
#include <tvm/ffi/extra/serialization.h>
#include <tvm/ffi/extra/structural_equal.h>
#include <tvm/ffi/reflection/enum_def.h>
#include <tvm/ffi/reflection/overload.h>

#include <string>

namespace {

using namespace tvm::ffi;
namespace refl = tvm::ffi::reflection;

class ValueObj : public Object {
 public:
  int64_t value = 0;
  ValueObj() = default;
  explicit ValueObj(int64_t value) : value(value) {}
  ValueObj(int64_t a, int64_t b) : value(a * b) {}
  int64_t Add(int64_t by) const { return value + by; }
  String AddText(String by) const { return String(std::to_string(value)) + by; }
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.overload.Value", ValueObj, Object);
};

class ColorObj : public EnumObj {
 public:
  using EnumObj::EnumObj;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.enum.Color", ColorObj, EnumObj);
};

class LevelObj : public IntEnumObj {
 public:
  using IntEnumObj::IntEnumObj;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.enum.Level", LevelObj, IntEnumObj);
};

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::OverloadObjectDef<ValueObj>()
      .def(refl::init<int64_t>())
      .def(refl::init<int64_t, int64_t>())
      .def("add", &ValueObj::Add)
      .def("add", &ValueObj::AddText)
      .def_ro("value", &ValueObj::value);
  refl::ObjectDef<ColorObj>(refl::init(false));
  refl::ObjectDef<LevelObj>(refl::init(false));
  refl::EnumDef<ColorObj>("red").set_attr("rgb", 0xff0000);
  refl::EnumDef<ColorObj>("green").set_attr("rgb", 0x00ff00);
  refl::EnumDef<LevelObj>("low", 10);
}

Any Color(const char* name) {
  auto state = refl::internal::FindEnumState(ColorObj::RuntimeTypeIndex());
  return Any((*state)->indexes.at(Any(String(name))));
}

TEST(Overload, PicksByArguments) {
  Any init_fn = refl::TypeAttrColumn(type_attr::kInit)[ValueObj::RuntimeTypeIndex()];
  Function init = init_fn.cast<Function>();
  Any six = init(2, 3);
  EXPECT_EQ(six.cast<ObjectRef>().as<ValueObj>()->value, 6);
  EXPECT_EQ(init(4).cast<ObjectRef>().as<ValueObj>()->value, 4);
  Function add = refl::GetMethod("test.overload.Value", "add");
  EXPECT_EQ(add(six, 1).cast<int>(), 7);
  EXPECT_EQ(add(six, "x").cast<String>(), "6x");
  try {
    add(six, nullptr);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), "TypeError");
    EXPECT_EQ(std::string(error.message()),
              "No matching overload found when calling: `test.overload.Value.add` with 2 arguments:"
              "\nOverload #0: Mismatched type on argument #1 when calling: "
              "`test.overload.Value.add(0: test.overload.Value, 1: int) -> int`. "
              "Expected `int` but got `None`"
              "\nOverload #1: Mismatched type on argument #1 when calling: "
              "`test.overload.Value.add(0: test.overload.Value, 1: str) -> str`. "
              "Expected `str` but got `None`");
  }
  try {
    add(six);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.message()).find("Expected 2 but got 1 arguments"),
              std::string::npos);
  }
}

TEST(Enum, EntriesAreSingletons) {
  EXPECT_TRUE(refl::EnumDef<ColorObj>::IsDefined("red"));
  EXPECT_FALSE(refl::EnumDef<ColorObj>::IsDefined("blue"));
  EXPECT_EQ(std::string(ReprPrint(Color("green"))), "test.enum.Color.green");
  auto state = refl::internal::FindEnumState(ColorObj::RuntimeTypeIndex());
  EXPECT_EQ((*state)->entries.size(), 2U);
  EXPECT_EQ((*state)->attrs.at("rgb").at(Color("red").cast<Enum>()).cast<int>(), 0xff0000);
  EXPECT_THROW(refl::EnumDef<ColorObj>("red"), Error);
  EXPECT_TRUE(DeepCopy(Color("red")).same_as(Color("red")));
  EXPECT_TRUE(StructuralEqual()(Color("red"), Color("red")));
  EXPECT_FALSE(StructuralEqual()(Color("red"), Color("green")));
}

TEST(Enum, SerializedByNameOrNumber) {
  EXPECT_EQ(ToJSONGraphString(Color("red")),
            R"({"root_index":0,"nodes":[{"type":"test.enum.Color","data":"red"}]})");
  EXPECT_TRUE(FromJSONGraphString(ToJSONGraphString(Color("red"))).same_as(Color("red")));
  EXPECT_EQ(
      FromJSONGraphString(R"({"root_index":0,"nodes":[{"type":"test.enum.Level","data":10}]})")
          .cast<IntEnum>()
          ->value(),
      10);
  EXPECT_THROW(
      FromJSONGraphString(R"({"root_index":0,"nodes":[{"type":"test.enum.Color","data":"blue"}]})"),
      Error);
}

}  // namespace
