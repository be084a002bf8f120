// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Parts of the interface that other tests only pass through: conversions of one's own, C functions
/// that make values, overloads of reflected members, defaults, native attributes of enumerations.
#include <gtest/gtest.h>
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/enum.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/structural_mutate.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/accessor.h>
#include <tvm/ffi/reflection/enum_def.h>
#include <tvm/ffi/reflection/registry.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include "testing_object.h"

namespace tvm {
namespace ffi {

/// An argument that may come as a number or as its name.
struct Level {
  int64_t value;
};
template <>
inline constexpr bool use_default_type_traits_v<Level> = false;
template <>
struct TypeTraits<Level> : public FallbackOnlyTraitsBase<Level, StrictBool, int64_t, String> {
  static Level ConvertFallbackValue(StrictBool on) { return {static_cast<bool>(on) ? 100 : -100}; }
  static Level ConvertFallbackValue(int64_t value) { return {value}; }
  static Level ConvertFallbackValue(const String& name) {
    return {static_cast<int64_t>(name.size())};
  }
  static std::string TypeStr() { return "Level"; }
  static std::string TypeSchema() { return R"({"type":"int"})"; }
};

/// A node that may be given as its number; bool is no number here.
class NumberedObj : public Object {
 public:
  explicit NumberedObj(int64_t number = 0) : number(number) {}
  int64_t Scale(int64_t by) { return number *= by; }
  int64_t Scale(int64_t by) const { return number * by; }
  static int64_t Sum(int64_t a, int64_t b) { return a + b; }
  static String Sum(String a, String b) { return a + b; }

  int64_t number;
  int64_t with_default = 0;
  Array<int64_t> from_factory;
  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.interface.Numbered", NumberedObj, Object);
};
class Numbered : public ObjectRef {
 public:
  explicit Numbered(int64_t number) : ObjectRef(make_object<NumberedObj>(number)) {}
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(Numbered, ObjectRef, NumberedObj);
};
template <>
inline constexpr bool use_default_type_traits_v<Numbered> = false;
template <>
struct TypeTraits<Numbered> : public ObjectRefWithFallbackTraitsBase<Numbered, int64_t> {
  static Numbered ConvertFallbackValue(int64_t number) { return Numbered(number); }
};

namespace {

namespace refl = tvm::ffi::reflection;
using testing::ErrorOf;

class SizeObj : public StrEnumObj {
 public:
  using StrEnumObj::StrEnumObj;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.interface.Size", SizeObj, StrEnumObj);
};

using FDouble = refl::NativeFunctionView<Any(AnyView)>;
constexpr refl::AttrKey<FDouble> kDouble{"__test_double__"};
Any DoubleOf(AnyView value) { return value.cast<int64_t>() * 2; }

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<NumberedObj>()
      .def_rw("number", &NumberedObj::number)
      .def_rw("with_default", &NumberedObj::with_default, refl::default_value(7))
      .def_rw("from_factory", &NumberedObj::from_factory,
              refl::default_factory([] { return Array<int64_t>{1, 2}; }))
      .def("scale", refl::overload_cast<int64_t>(&NumberedObj::Scale))
      .def("scaled", refl::overload_cast<int64_t>(&NumberedObj::Scale, refl::const_))
      .def_static("sum", refl::overload_cast<int64_t, int64_t>(&NumberedObj::Sum))
      .def_static("join", refl::overload_cast<String, String>(&NumberedObj::Sum))
      .def_convert<Numbered>();
  refl::ObjectDef<SizeObj>(refl::init(false));
  refl::EnumDef<SizeObj>("small").set_attr("order", 1).set_native_fn_attr<&DoubleOf>(kDouble);
}

// --- conversions -------------------------------------------------------------------------------

TEST(Fallbacks, FirstCastableTypeWins) {
  Function level = Function::FromTyped([](Level level) { return level.value; }, "level");
  EXPECT_EQ(level(5).cast<int>(), 5);
  EXPECT_EQ(level("four").cast<int>(), 4);
  EXPECT_EQ(level(true).cast<int>(), 100);
  EXPECT_EQ(ErrorOf([&] { level(nullptr); }),
            "TypeError: Mismatched type on argument #0 when calling: `level(0: Level) -> int`. "
            "Expected `Level` but got `None`");
}

TEST(Fallbacks, ReferencesComeFirst) {
  Function number = Function::FromTyped([](Numbered value) { return value->number; });
  EXPECT_EQ(number(Numbered(3)).cast<int>(), 3);
  EXPECT_EQ(number(4).cast<int>(), 4);
  EXPECT_FALSE(Any("x").try_cast<Numbered>().has_value());
  EXPECT_FALSE(Any(4).as<Numbered>().has_value()) << "strict";
  Array<Numbered> array = Any(Array<Any>{Numbered(1), 2}).cast<Array<Numbered>>();
  EXPECT_EQ(array[1]->number, 2);
}

TEST(Fallbacks, BindingsConvertTheSameWay) {
  Any convert = refl::TypeAttrColumn(type_attr::kConvert)[NumberedObj::RuntimeTypeIndex()];
  EXPECT_EQ(convert.cast<Function>()(9).cast<Numbered>()->number, 9);
  EXPECT_NE(ErrorOf([&] { convert.cast<Function>()("x"); }).find("TypeError"), std::string::npos);
}

// --- C functions that make values --------------------------------------------------------------

TVMFFIByteArray Bytes(const std::string& text) { return {text.data(), text.size()}; }

Any Made(int (*make)(const TVMFFIByteArray*, TVMFFIAny*), const std::string& content) {
  const TVMFFIByteArray bytes = Bytes(content);
  TVMFFIAny raw{};
  TVM_FFI_CHECK_SAFE_CALL(make(&bytes, &raw));
  return detail::AnyUnsafe::MoveTVMFFIAnyRawToAny(raw);
}

TEST(CFunctions, StringsAndBytes) {
  const std::string inline_text("1234567"), heap_text("12345678"), zeros("a\0b\0c\0d\0e", 9);
  EXPECT_EQ(Made(TVMFFIStringFromByteArray, inline_text).type_index(), kTVMFFISmallStr);
  EXPECT_EQ(Made(TVMFFIStringFromByteArray, heap_text).type_index(), kTVMFFIStr);
  EXPECT_EQ(Made(TVMFFIBytesFromByteArray, inline_text).type_index(), kTVMFFISmallBytes);
  EXPECT_EQ(Made(TVMFFIBytesFromByteArray, heap_text).type_index(), kTVMFFIBytes);
  for (const std::string& text : {std::string(), inline_text, heap_text, zeros}) {
    EXPECT_EQ(Made(TVMFFIStringFromByteArray, text).cast<String>(), String(text));
    EXPECT_EQ(Made(TVMFFIBytesFromByteArray, text).cast<tvm::ffi::Bytes>(), tvm::ffi::Bytes(text));
  }
}

TEST(CFunctions, ViewsBecomeOwned) {
  Numbered node(1);
  auto owned = [](AnyView view) {
    TVMFFIAny raw = view.CopyToTVMFFIAny(), out{};
    TVM_FFI_CHECK_SAFE_CALL(TVMFFIAnyViewToOwnedAny(&raw, &out));
    return detail::AnyUnsafe::MoveTVMFFIAnyRawToAny(out);
  };
  {
    Any kept = owned(node);
    EXPECT_EQ(node.use_count(), 2);
  }
  EXPECT_EQ(node.use_count(), 1);
  EXPECT_EQ(owned("a raw C string").type_index(), kTVMFFIStr);
  EXPECT_EQ(owned("tiny").type_index(), kTVMFFISmallStr);
  EXPECT_EQ(owned(2.5).cast<double>(), 2.5);
  EXPECT_EQ(owned(nullptr).type_index(), kTVMFFINone);
}

TEST(CFunctions, GlobalsFromMethods) {
  const std::string name = "test.interface.global", doc = "Adds.", metadata = R"({"k":1})";
  Function add = Function::FromTyped([](int64_t a, int64_t b) { return a + b; });
  TVMFFIMethodInfo info{};
  info.name = Bytes(name);
  info.doc = Bytes(doc);
  info.metadata = Bytes(metadata);
  info.method = AnyView(add).CopyToTVMFFIAny();
  ASSERT_EQ(TVMFFIFunctionSetGlobalFromMethodInfo(&info, 0), 0);
  EXPECT_EQ(Function::GetGlobalRequired(name)(1, 2).cast<int>(), 3);
  EXPECT_EQ(Function::GetGlobalRequired("ffi.GetGlobalFuncMetadata")(name).cast<String>(),
            metadata);
  EXPECT_EQ(
      ErrorOf([&] { TVM_FFI_CHECK_SAFE_CALL(TVMFFIFunctionSetGlobalFromMethodInfo(&info, 0)); }),
      "RuntimeError: Global Function `test.interface.global` is already registered");
  EXPECT_EQ(TVMFFIFunctionSetGlobalFromMethodInfo(&info, 1), 0);
  Function::RemoveGlobal(name);
}

TEST(CFunctions, OpaqueObjects) {
  static int deleted = 0;
  int payload = 0;
  TVMFFIObjectHandle handle = nullptr;
  auto deleter = [](void* self) { deleted += self != nullptr; };
  ASSERT_EQ(TVMFFIObjectCreateOpaque(&payload, kTVMFFIOpaquePyObject, deleter, &handle), 0);
  EXPECT_EQ(TVMFFIOpaqueObjectGetCellPtr(handle)->handle, &payload);
  TVMFFIObjectDecRef(handle);
  EXPECT_EQ(deleted, 1);
  EXPECT_EQ(
      ErrorOf([&] {
        TVM_FFI_CHECK_SAFE_CALL(TVMFFIObjectCreateOpaque(&payload, kTVMFFIStr, deleter, &handle));
      }).find("RuntimeError"),
      0U);
}

// --- functions ---------------------------------------------------------------------------------

struct Counter {
  explicit Counter(int64_t start) : count(start) {}
  void operator()(const AnyView*, int32_t, Any* result) { *result = ++count; }
  int64_t count;
};

TEST(Functions, StateBuiltInPlace) {
  auto [function, counter] = Function::FromPackedInplace<Counter>(40);
  function();
  EXPECT_EQ(function().cast<int>(), 42);
  EXPECT_EQ(counter->count, 42);
  counter->count = 0;
  EXPECT_EQ(function().cast<int>(), 1);
}

// --- reflection --------------------------------------------------------------------------------

TEST(Reflection, OverloadsArePicked) {
  const char* key = "test.interface.Numbered";
  Numbered node(2);
  EXPECT_EQ(refl::GetMethod(key, "scaled")(node, 5).cast<int>(), 10);
  EXPECT_EQ(node->number, 2);
  EXPECT_EQ(refl::GetMethod(key, "scale")(node, 5).cast<int>(), 10);
  EXPECT_EQ(node->number, 10);
  EXPECT_EQ(refl::GetMethod(key, "sum")(1, 2).cast<int>(), 3);
  EXPECT_EQ(refl::GetMethod(key, "join")("a", "b").cast<String>(), "ab");
}

TEST(Reflection, FieldsGoBackToTheirDefaults) {
  const char* key = "test.interface.Numbered";
  Numbered node(2);
  auto reset = [&](const char* name) {
    const TVMFFIFieldInfo* field = refl::GetFieldInfo(key, name);
    refl::SetFieldToDefault(field, reinterpret_cast<char*>(detail::ObjectUnsafe::GetHeader(
                                       const_cast<NumberedObj*>(node.get()))) +
                                       field->offset);
  };
  reset("with_default");
  EXPECT_EQ(node->with_default, 7);
  reset("from_factory");
  Array<int64_t> first = node->from_factory;
  EXPECT_EQ(first.size(), 2U);
  reset("from_factory");
  EXPECT_FALSE(node->from_factory.same_as(first)) << "each call makes a new one";
}

TEST(Reflection, ColumnsCanBeMadeEmpty) {
  const TVMFFIByteArray name{"__test_empty_column__", 21};
  EXPECT_EQ(TVMFFIGetTypeAttrColumn(&name), nullptr);
  EXPECT_NE(ErrorOf([] { refl::TypeAttrColumn("__test_empty_column__"); }), "no error");
  refl::EnsureTypeAttrColumn("__test_empty_column__");
  refl::EnsureTypeAttrColumn("__test_empty_column__");
  ASSERT_NE(TVMFFIGetTypeAttrColumn(&name), nullptr);
  refl::TypeAttrColumn column("__test_empty_column__");
  EXPECT_EQ(column[NumberedObj::RuntimeTypeIndex()].type_index(), kTVMFFINone);
  EXPECT_EQ(column[1 << 30].type_index(), kTVMFFINone);
}

TEST(Reflection, KeysHaveHashes) {
  Numbered node(1);
  EXPECT_EQ(node->GetTypeKeyHash(), std::hash<std::string>()("test.interface.Numbered"));
  EXPECT_EQ(TVMFFIGetTypeInfo(node->type_index())->type_key_hash, node->GetTypeKeyHash());
}

TEST(Enums, TextEntriesAndNativeAttributes) {
  auto state = refl::internal::FindEnumState(SizeObj::RuntimeTypeIndex());
  Any small = (*state)->indexes.at(Any(String("small")));
  EXPECT_EQ(small.cast<StrEnum>()->value(), "small");
  EXPECT_EQ((*state)->attrs.at("order").at(small.cast<Enum>()).cast<int>(), 1);
  Any native = (*state)->attrs.at("__test_double__").at(small.cast<Enum>());
  EXPECT_EQ(native.type_index(), kTVMFFIOpaquePtr);
  EXPECT_EQ(kDouble.ValueFrom(native).value()(AnyView(4)).cast<int>(), 8);
}

// --- traversal ---------------------------------------------------------------------------------

TEST(Mutation, DefaultsAreReturned) {
  Any result = StructuralMutate(
      Array<Any>{1, Array<Any>{2}}, [](int64_t value, StructuralMutatorObj*) { return value + 1; },
      [](const Array<Any>& array, StructuralMutatorObj* mutator) -> Expected<Any> {
        Expected<UnchangedOr<Any>> mutated = mutator->DefaultMutateExpected(array);
        if (mutated.is_err()) return Unexpected<Error>(mutated.error());
        return mutated.value().ValueOrUnchanged(array);
      });
  EXPECT_EQ(result.cast<Array<Any>>()[1].cast<Array<int64_t>>()[0], 3);
  Expected<Any> failed = StructuralMutateExpected(
      Array<Any>{1}, [](int64_t, StructuralMutatorObj*) -> Any { TVM_FFI_THROW(KeyError) << "x"; },
      [](const Array<Any>& array, StructuralMutatorObj* mutator) -> Expected<Any> {
        Expected<UnchangedOr<Any>> mutated = mutator->DefaultMutateExpected(array);
        EXPECT_TRUE(mutated.is_err());
        return Any("caught");
      });
  EXPECT_EQ(failed.value().cast<String>(), "caught");
}

}  // namespace
}  // namespace ffi
}  // namespace tvm
