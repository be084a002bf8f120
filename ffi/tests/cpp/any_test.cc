// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <gtest/gtest.h>
#include <tvm/ffi/any.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/device.h>
#include <tvm/ffi/dtype.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/optional.h>
#include <tvm/ffi/string.h>

#include <unordered_map>

#include "testing_object.h"

namespace tvm {
namespace ffi {
namespace {

using testing::ErrorOf;
using testing::Leaf;
using testing::Node;
using testing::NodeObj;

TEST(AnyLayout, SixteenBytesWithZeroPadding) {
  EXPECT_EQ(sizeof(Any), 16u);
  const Any values[] = {Any(),
                        Any(true),
                        Any(1),
                        Any(1.5),
                        Any(DLDataType{kDLInt, 8, 1}),
                        Any(static_cast<void*>(nullptr)),
                        Any(DLDevice{kDLCUDA, 2})};
  for (const Any& value : values) {
    EXPECT_EQ(detail::AnyUnsafe::TVMFFIAnyPtrFromAny(value)->zero_padding, 0u);
  }
}

enum class Color : int { kRed = 1, kBlue = 4 };

TEST(Any, PlainData) {
  Any value = 3;
  EXPECT_EQ(value.type_index(), kTVMFFIInt);
  EXPECT_EQ(value.cast<int64_t>(), 3);
  EXPECT_EQ(value.cast<double>(), 3.0);
  EXPECT_TRUE(value.cast<bool>());
  EXPECT_FALSE(value.as<double>().has_value()) << "as is strict";
  EXPECT_EQ(value.as<int8_t>(), int8_t{3});
  value = true;
  EXPECT_EQ(value.type_index(), kTVMFFIBool);
  EXPECT_EQ(value.cast<int>(), 1);
  EXPECT_FALSE(value.as<int>().has_value());
  EXPECT_FALSE(value.try_cast<StrictBool>().value() == false);
  value = 2.5f;
  EXPECT_EQ(value.cast<double>(), 2.5);
  EXPECT_FALSE(value.try_cast<int>().has_value());
  value = Color::kBlue;
  EXPECT_EQ(value.cast<Color>(), Color::kBlue);
  value = nullptr;
  EXPECT_EQ(value, nullptr);
  EXPECT_EQ(value.cast<void*>(), nullptr);
  value.reset();
  EXPECT_EQ(value.type_index(), kTVMFFINone);
}

TEST(Any, ErrorsNameBothTypes) {
  EXPECT_EQ(ErrorOf([] { Any("x").cast<int>(); }),
            "TypeError: Cannot convert from type `ffi.SmallStr` to `int`");
  EXPECT_EQ(ErrorOf([] { Any(1).as_or_throw<String>(); }),
            "TypeError: Cannot treat type `int` as type `str`");
  EXPECT_EQ(ErrorOf([] { Any(nullptr).cast<Leaf>(); }),
            "TypeError: Cannot convert from type `None` to `test.core.Leaf`");
  EXPECT_EQ(ErrorOf([] { Any(uint64_t{1} << 63); }),
            "OverflowError: Integer value 9223372036854775808 is too large to fit in int64_t.");
  EXPECT_EQ(Any(uint64_t{7}).cast<uint64_t>(), 7u);
}

TEST(Any, ObjectReferenceCounts) {
  Node node(1);
  {
    Any a = node;
    EXPECT_EQ(node.use_count(), 2);
    Any b = a;
    EXPECT_EQ(node.use_count(), 3);
    AnyView view = a;
    EXPECT_EQ(node.use_count(), 3) << "a view only borrows";
    Any c = view;
    EXPECT_EQ(node.use_count(), 4);
    c = std::move(b);
    EXPECT_EQ(b, nullptr);
    EXPECT_EQ(node.use_count(), 3);
    auto& self = c;
    c = self;
    EXPECT_EQ(node.use_count(), 3);
    EXPECT_TRUE(a.same_as(node));
    EXPECT_TRUE(a.same_as(c));
    Node moved = std::move(c).cast<Node>();
    EXPECT_EQ(node.use_count(), 3);
    EXPECT_EQ(c, nullptr);
    EXPECT_FALSE(std::move(a).as<Leaf>().has_value());
    EXPECT_NE(a, nullptr) << "a failed move leaves the value";
    EXPECT_EQ(a.as<NodeObj>()->value, 1);
  }
  EXPECT_EQ(node.use_count(), 1);
}

TEST(Any, SmartPointers) {
  ObjectPtr<NodeObj> ptr = make_object<NodeObj>(2);
  Any value = ptr;
  EXPECT_EQ(value.cast<ObjectPtr<NodeObj>>().get(), ptr.get());
  EXPECT_EQ(value.cast<Arc<NodeObj>>()->value, 2);
  EXPECT_EQ(value.cast<const NodeObj*>()->value, 2);
  EXPECT_EQ(Any(nullptr).cast<ObjectPtr<NodeObj>>(), nullptr);
  EXPECT_FALSE(Any(nullptr).try_cast<Arc<NodeObj>>().has_value());
  Any from_raw = static_cast<NodeObj*>(ptr.get());
  EXPECT_EQ(ptr.use_count(), 3) << "owning a raw pointer shares the object";
}

TEST(Any, ViewsOfTextBecomeOwned) {
  std::string text = "text that is longer than seven bytes";
  AnyView view = text;
  EXPECT_EQ(view.type_index(), kTVMFFIRawStr);
  Any owned = view;
  text[0] = 'T';
  EXPECT_EQ(owned.type_index(), kTVMFFIStr);
  EXPECT_EQ(owned.cast<std::string>(), "text that is longer than seven bytes");
  TVMFFIByteArray bytes{"ab\0c", 4};
  Any owned_bytes = AnyView(&bytes);
  EXPECT_EQ(owned_bytes.type_index(), kTVMFFISmallBytes);
  EXPECT_EQ(owned_bytes.cast<Bytes>().size(), 4u);
}

TEST(AnyHash, ContentForTextIdentityForObjects) {
  const AnyHash hash;
  const AnyEqual equal;
  const Any small = String("abc");
  const Any heap = String(std::string("abc"));
  EXPECT_NE(small.type_index(), heap.type_index());
  EXPECT_EQ(hash(small), hash(heap));
  EXPECT_TRUE(equal(small, heap));
  EXPECT_FALSE(equal(small, Any(Bytes("abc", 3))));
  EXPECT_NE(hash(Any(1)), hash(Any(true)));
  EXPECT_FALSE(equal(Any(1), Any(true)));
  EXPECT_FALSE(equal(Any(1), Any(1.0)));
  EXPECT_FALSE(equal(Any(Node(1)), Any(Node(1))));
  // Values are ABI: containers cross library borders.
  EXPECT_EQ(hash(Any(String(""))), 2654440008u);
  EXPECT_EQ(hash(Any(String("a"))), 2654439979u);
  EXPECT_EQ(hash(Any(String("12345678"))), 3269011684u);
  EXPECT_EQ(hash(Any(String("123456789abcdefXYZ"))), 2952041678u);
  EXPECT_EQ(hash(Any(Bytes("a", 1))), 2654440168u);
  EXPECT_EQ(hash(Any(1)), 2654435835u);
}

class KeyObj : public Object {
 public:
  explicit KeyObj(int64_t id) : id(id) {}
  int64_t id;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.core.Key", KeyObj, Object);
};

TVMFFIAny KeyHash(const Any& key) noexcept {
  const int64_t id = key.as<KeyObj>()->id;
  if (id < 0) {
    return detail::AnyUnsafe::MoveAnyToTVMFFIAny(Any(Error("ValueError", "negative id", "")));
  }
  return detail::AnyUnsafe::MoveAnyToTVMFFIAny(Any(id % 4));
}
TVMFFIAny KeyEqual(const Any& lhs, const Any& rhs) noexcept {
  return detail::AnyUnsafe::MoveAnyToTVMFFIAny(Any(lhs.as<KeyObj>()->id == rhs.as<KeyObj>()->id));
}

TEST(AnyHash, NativeHooks) {
  const TVMFFIByteArray hash_name{"__any_hash__", 12};
  const TVMFFIByteArray equal_name{"__any_equal__", 13};
  const TVMFFIAny hash = AnyView(reinterpret_cast<void*>(KeyHash)).CopyToTVMFFIAny();
  const TVMFFIAny equal = AnyView(reinterpret_cast<void*>(KeyEqual)).CopyToTVMFFIAny();
  ASSERT_EQ(TVMFFITypeRegisterAttr(KeyObj::RuntimeTypeIndex(), &hash_name, &hash), 0);
  ASSERT_EQ(TVMFFITypeRegisterAttr(KeyObj::RuntimeTypeIndex(), &equal_name, &equal), 0);
  auto key = [](int64_t id) { return Any(make_object<KeyObj>(id)); };
  Map<Any, Any> map;
  for (int64_t i = 0; i < 50; ++i) map.Set(key(i), i);
  EXPECT_EQ(map.size(), 50u);
  EXPECT_EQ(map[key(17)].cast<int>(), 17);
  EXPECT_EQ(map.count(key(50)), 0u);
  EXPECT_EQ(ErrorOf([&] { AnyHash()(key(-1)); }), "ValueError: negative id");
}

TEST(Optional, LayoutPerKind) {
  static_assert(sizeof(Optional<Node>) == sizeof(void*));
  static_assert(sizeof(Optional<Array<int>>) == sizeof(void*));
  static_assert(sizeof(Optional<ObjectPtr<NodeObj>>) == sizeof(void*));
  static_assert(sizeof(Optional<int>) == 16 && sizeof(Optional<String>) == 16);
  static_assert(sizeof(Optional<Any>) == 24);
  static_assert(!std::is_base_of_v<ObjectRef, Optional<Node>>);
}

TEST(Optional, NoneIsAValueOfAny) {
  EXPECT_TRUE(Optional<Any>(Any(nullptr)).has_value());
  EXPECT_FALSE(Optional<Any>().has_value());
  Function has_value = Function::FromTyped([](const Optional<Any>& v) { return v.has_value(); });
  EXPECT_FALSE(has_value(nullptr).cast<bool>()) << "across the border None is no value";
  EXPECT_TRUE(has_value(1).cast<bool>());
  EXPECT_EQ(Any(Optional<Any>(Any(5))).cast<int>(), 5);
  EXPECT_EQ(Any(Optional<Any>()), nullptr);
}

TEST(Optional, ValuesAndNone) {
  Optional<int> number;
  EXPECT_FALSE(number.has_value());
  EXPECT_EQ(ErrorOf([&] { number.value(); }), "RuntimeError: Back optional access");
  EXPECT_EQ(number.value_or(4), 4);
  number = 5;
  EXPECT_EQ(*number, 5);
  EXPECT_TRUE(number == 5 && number != 6 && number != std::nullopt);
  Optional<String> text("abc");
  EXPECT_TRUE(text == "abc");
  text = std::nullopt;
  EXPECT_TRUE(text == nullptr && text != "abc");
  Optional<const char*> raw;
  EXPECT_FALSE(raw.has_value());
  EXPECT_EQ(Any(Optional<int>()).type_index(), kTVMFFINone);
  EXPECT_EQ(Any(nullptr).cast<Optional<int>>().has_value(), false);
  EXPECT_EQ(Any(7).cast<Optional<double>>().value(), 7.0);
}

TEST(Optional, SharesObjects) {
  Node node(3);
  Optional<Node> opt = node;
  EXPECT_EQ(node.use_count(), 2);
  EXPECT_TRUE(opt.same_as(node));
  EXPECT_TRUE(opt == node);
  EXPECT_EQ(opt->value, 3);
  EXPECT_EQ(opt.as<NodeObj>()->value, 3);
  EXPECT_FALSE(opt.as<Leaf>().has_value());
  Node taken = *std::move(opt);
  EXPECT_FALSE(opt.has_value());
  EXPECT_EQ(node.use_count(), 2);
  Any any = Optional<Node>(node);
  EXPECT_EQ(any.cast<Optional<Node>>().use_count(), 4);
}

TEST(Traits, TypeText) {
  EXPECT_EQ((TypeTraits<Map<String, Optional<Array<int>>>>::TypeStr()),
            "Map<str, Optional<Array<int>>>");
  EXPECT_EQ((TypeTraits<Map<String, Any>>::TypeSchema()),
            R"({"type":"ffi.Map","args":[{"type":"ffi.String"},{"type":"Any"}]})");
  EXPECT_EQ(TypeTraits<ObjectPtr<NodeObj>>::TypeSchema(),
            R"({"type":"Optional","args":[{"type":"test.core.Node"}]})");
}

}  // namespace
}  // namespace ffi
}  // namespace tvm
