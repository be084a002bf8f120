// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// ReprPrint, RecursiveEq/Lt/Hash and DeepCopy.
#include <gtest/gtest.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/device.h>
#include <tvm/ffi/dtype.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/dataclass.h>
#include <tvm/ffi/reflection/registry.h>

#include <cmath>
#include <sstream>
#include <string>
#include <vector>

namespace {

using namespace tvm::ffi;
namespace refl = tvm::ffi::reflection;

class BoxObj : public Object {
 public:
  Any content;
  int64_t hidden = 0;
  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.dc.Box", BoxObj, Object);
};

class Box : public ObjectRef {
 public:
  explicit Box(Any content, int64_t hidden = 0) {
    auto box = make_object<BoxObj>();
    box->content = std::move(content);
    box->hidden = hidden;
    data_ = std::move(box);
  }
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(Box, ObjectRef, BoxObj);
};

/// Equal when the numbers agree modulo ten.
class ModTenObj : public Object {
 public:
  int64_t value = 0;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.dc.ModTen", ModTenObj, Object);
};

class EqOnlyObj : public Object {
 public:
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.dc.EqOnly", EqOnlyObj, Object);
};

class NoCopyObj : public Object {
 public:
  NoCopyObj() = default;
  NoCopyObj(const NoCopyObj&) = delete;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.dc.NoCopy", NoCopyObj, Object);
};

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<BoxObj>()
      .def_rw("content", &BoxObj::content)
      .def_ro("hidden", &BoxObj::hidden, refl::repr(false), refl::compare(false));
  refl::ObjectDef<ModTenObj>().def_ro("value", &ModTenObj::value);
  refl::TypeAttrDef<ModTenObj>()
      .def(type_attr::kRepr,
           [](const ModTenObj* self, const Function& repr) {
             return String("#" + std::string(repr(self->value).cast<String>()));
           })
      .def(type_attr::kHash,
           [](const ModTenObj* self, const Function& hash) {
             return hash(self->value % 10).cast<int64_t>();
           })
      .def(type_attr::kEq,
           [](const ModTenObj* a, const ModTenObj* b, const Function& equal) {
             return equal(a->value % 10, b->value % 10).cast<bool>();
           })
      .def(type_attr::kCompare, [](const ModTenObj* a, const ModTenObj* b, const Function& order) {
        return order(a->value % 10, b->value % 10).cast<int64_t>();
      });
  refl::ObjectDef<EqOnlyObj>();
  refl::TypeAttrDef<EqOnlyObj>().def(
      type_attr::kEq, [](const EqOnlyObj*, const EqOnlyObj*, const Function&) { return true; });
  refl::ObjectDef<NoCopyObj>();
}

Any ModTen(int64_t value) {
  auto object = make_object<ModTenObj>();
  object->value = value;
  return ObjectRef(object);
}

std::string Repr(const Any& value) { return std::string(ReprPrint(value)); }

TEST(Repr, Streams) {
  const Array<int> items{1, 2};
  std::ostringstream os;
  os << Any(items) << ' ' << ObjectRef(items) << ' ' << items << ' '
     << Variant<int, String>(String("v")) << ' ' << Optional<int>(3) << ' '
     << Optional<Array<int>>() << ' ' << String("plain");
  EXPECT_EQ(os.str(), "(1, 2) (1, 2) (1, 2) \"v\" 3 None plain");
}

TEST(Repr, Values) {
  EXPECT_EQ(Repr(nullptr), "None");
  EXPECT_EQ(Repr(true), "True");
  EXPECT_EQ(Repr(10.0), "10");
  EXPECT_EQ(Repr(1.0 / 3), "0.333333");
  EXPECT_EQ(Repr(String("a\"\n")), R"("a\"\n")");
  EXPECT_EQ(Repr(Bytes(std::string("ab\xff"))), R"(b"ab\xff")");
  EXPECT_EQ(Repr(Array<int>{1}), "(1,)");
  EXPECT_EQ(Repr(Array<int>{1, 2}), "(1, 2)");
  EXPECT_EQ(Repr(Array<int>{}), "()");
  EXPECT_EQ(Repr(List<int>{1}), "[1]");
  EXPECT_EQ(Repr(Map<Any, Any>{{"k", Array<int>{1}}, {2, nullptr}}), "{\"k\": (1,), 2: None}");
  EXPECT_EQ(Repr(Shape({1, 2})), "Shape(1, 2)");
  EXPECT_EQ(Repr(DLDevice{kDLCUDA, 1}), "cuda:1");
  EXPECT_EQ(Repr(DLDataType{kDLFloat, 32, 4}), "float32x4");
  EXPECT_EQ(Repr(Box(Box(1), 9)), "test.dc.Box(content=test.dc.Box(content=1))");
  EXPECT_EQ(Repr(Array<Any>{ModTen(12), 1}), "(#12, 1)");
}

TEST(Repr, CyclesAndDepth) {
  List<Any> list{1};
  list.push_back(list);
  EXPECT_EQ(Repr(list), "[1, ...]");
  list.clear();
  std::vector<Box> chain{Box(1)};
  for (int i = 0; i < 100000; ++i) chain.push_back(Box(Any(chain.back())));
  EXPECT_GT(Repr(chain.back()).size(), 100000U);
  while (!chain.empty()) chain.pop_back();
}

TEST(RecursiveEq, FollowsContent) {
  EXPECT_TRUE(RecursiveEq(std::nan(""), std::nan("")));
  EXPECT_TRUE(RecursiveEq(0.0, -0.0));
  EXPECT_FALSE(RecursiveEq(1, true));
  EXPECT_FALSE(RecursiveEq(1, 1.0));
  EXPECT_TRUE(RecursiveEq(Box(Array<int>{1}, 1), Box(Array<int>{1}, 2)));  // hidden is left out
  EXPECT_FALSE(RecursiveEq(Box(1), Box(2)));
  EXPECT_FALSE(RecursiveEq(Array<int>{1}, List<int>{1}));
  EXPECT_TRUE(RecursiveEq(Map<Any, Any>{{"a", 1}, {"b", 2}}, Map<Any, Any>{{"b", 2}, {"a", 1}}));
  EXPECT_TRUE(RecursiveEq(ModTen(3), ModTen(13)));
  List<Any> a{1};
  a.push_back(a);
  List<Any> b{1};
  b.push_back(b);
  EXPECT_TRUE(RecursiveEq(a, b));
  b.Set(0, 2);
  EXPECT_FALSE(RecursiveEq(a, b));
  EXPECT_THROW(RecursiveLt(a, a), Error);
  a.clear();
  b.clear();
}

TEST(RecursiveOrder, IsLexicographic) {
  EXPECT_TRUE(RecursiveLt(nullptr, 1));
  EXPECT_TRUE(RecursiveLt(Array<int>{1, 2}, Array<int>{1, 2, 0}));
  EXPECT_TRUE(RecursiveGt(Array<int>{2}, Array<int>{1, 9}));
  EXPECT_TRUE(RecursiveLe(Box(1), Box(1)));
  EXPECT_TRUE(RecursiveLt(Box("a"), Box("b")));
  EXPECT_TRUE(RecursiveLt(ModTen(13), ModTen(4)));
  EXPECT_THROW(RecursiveLt(1, 1.0), Error);
  EXPECT_THROW(RecursiveLt(std::nan(""), 1.0), Error);
  EXPECT_THROW(RecursiveLt(Map<Any, Any>{}, Map<Any, Any>{}), Error);
  Array<int> shared{1};
  EXPECT_TRUE(RecursiveLe(Array<Any>{shared, shared}, Array<Any>{shared, shared}));
}

TEST(RecursiveHash, AgreesWithEquality) {
  auto expect_same = [](const Any& a, const Any& b) {
    EXPECT_TRUE(RecursiveEq(a, b));
    EXPECT_EQ(RecursiveHash(a), RecursiveHash(b));
  };
  expect_same(0.0, -0.0);
  expect_same(std::nan("1"), std::nan("2"));
  expect_same(Box(1, 1), Box(1, 2));
  expect_same(Map<Any, Any>{{"a", 1}, {"b", 2}}, Map<Any, Any>{{"b", 2}, {"a", 1}});
  expect_same(ModTen(3), ModTen(13));
  EXPECT_NE(RecursiveHash(Array<int>{1, 2}), RecursiveHash(Array<int>{2, 1}));
  EXPECT_THROW(RecursiveHash(ObjectRef(make_object<EqOnlyObj>())), Error);
  List<Any> cyclic{1};
  cyclic.push_back(cyclic);
  EXPECT_EQ(RecursiveHash(cyclic), RecursiveHash(cyclic));
  cyclic.clear();
}

TEST(RecursiveHash, SharedValuesTakeLinearTime) {
  Any value = Array<int>{1};
  for (int i = 0; i < 200; ++i) value = Array<Any>{value, value};
  Any other = Array<int>{1};
  for (int i = 0; i < 200; ++i) other = Array<Any>{other, other};
  EXPECT_EQ(RecursiveHash(value), RecursiveHash(other));
  EXPECT_TRUE(RecursiveEq(value, other));
}

TEST(DeepCopy, KeepsSharingAndCycles) {
  Box inner(Array<int>{1, 2});
  Array<Any> original{inner, inner, Map<Any, Any>{{"k", inner}}};
  Array<Any> copy = DeepCopy(original).cast<Array<Any>>();
  EXPECT_TRUE(RecursiveEq(original, copy));
  EXPECT_FALSE(copy[0].same_as(original[0]));
  EXPECT_TRUE(copy[0].same_as(copy[1]));
  EXPECT_TRUE((copy[2].cast<Map<Any, Any>>().at("k")).same_as(copy[0]));
  EXPECT_FALSE(copy[0].cast<Box>()->content.same_as(inner->content));

  List<Any> list;
  Array<Any> through{list};
  list.push_back(through);
  List<Any> list_copy = DeepCopy(list).cast<List<Any>>();
  Array<Any> through_copy = list_copy[0].cast<Array<Any>>();
  EXPECT_TRUE(through_copy[0].same_as(Any(list_copy)));
  EXPECT_FALSE(list_copy.same_as(list));
  list.clear();
  list_copy.clear();
}

TEST(DeepCopy, RejectsWhatCannotBeCopied) {
  EXPECT_THROW(DeepCopy(ObjectRef(make_object<NoCopyObj>())), Error);
  EXPECT_THROW(DeepCopy(Function::FromTyped([] { return 1; })), Error);
}

}  // namespace
