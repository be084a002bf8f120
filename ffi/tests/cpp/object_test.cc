// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <gtest/gtest.h>
#include <tvm/ffi/any.h>
#include <tvm/ffi/cast.h>
#include <tvm/ffi/container/array.h>

#include <thread>
#include <unordered_map>
#include <vector>

#include "testing_object.h"

namespace tvm {
namespace ffi {
namespace {

using testing::Leaf;
using testing::LeafObj;
using testing::Node;
using testing::NodeObj;
using testing::Other;
using testing::OtherObj;

TEST(ObjectLayout, HeaderAndHandles) {
  EXPECT_EQ(sizeof(Object), 24u);
  EXPECT_EQ(sizeof(ObjectPtr<Node>), sizeof(void*));
  EXPECT_EQ(sizeof(Node), sizeof(void*));
  ObjectPtr<NodeObj> node = make_object<NodeObj>(1);
  const TVMFFIObject* header = detail::ObjectUnsafe::GetHeader(node.get());
  EXPECT_EQ(header->combined_ref_count, 0x100000001ULL);
  EXPECT_EQ(header->type_index, NodeObj::RuntimeTypeIndex());
  EXPECT_EQ(header->__padding, 0u);
}

TEST(ObjectPtr, CountsStrongReferences) {
  {
    ObjectPtr<NodeObj> a = make_object<NodeObj>(1);
    EXPECT_TRUE(a.unique());
    ObjectPtr<Object> b = a;
    EXPECT_EQ(a.use_count(), 2);
    ObjectPtr<Object> c = std::move(b);
    EXPECT_EQ(b, nullptr);
    EXPECT_EQ(a.use_count(), 2);
    c = a;
    EXPECT_EQ(a.use_count(), 2);
    ObjectPtr<NodeObj>& self = a;
    a = self;
    EXPECT_EQ(a.use_count(), 2);
    EXPECT_EQ(NodeObj::live, 1);
  }
  EXPECT_EQ(NodeObj::live, 0);
}

TEST(WeakObjectPtr, LockAndExpiry) {
  WeakObjectPtr<NodeObj> weak;
  EXPECT_TRUE(weak.expired());
  EXPECT_EQ(weak.lock(), nullptr);
  {
    ObjectPtr<NodeObj> strong = make_object<LeafObj>(3);
    weak = strong;
    EXPECT_FALSE(strong.unique()) << "a weak reference counts against unique";
    EXPECT_EQ(weak.use_count(), 1);
    ObjectPtr<NodeObj> again = weak.lock();
    EXPECT_EQ(again->value, 3);
    EXPECT_EQ(weak.use_count(), 2);
  }
  EXPECT_EQ(NodeObj::live, 0) << "weak references do not keep the content";
  EXPECT_TRUE(weak.expired());
  EXPECT_EQ(weak.lock(), nullptr);
}

TEST(WeakObjectPtr, ConcurrentLockNeverRevives) {
  for (int round = 0; round < 200; ++round) {
    ObjectPtr<NodeObj> strong = make_object<NodeObj>(7);
    WeakObjectPtr<NodeObj> weak(strong);
    std::thread reader([weak] {
      for (int i = 0; i < 50; ++i) {
        if (ObjectPtr<NodeObj> locked = weak.lock()) {
          EXPECT_EQ(locked->value, 7);
        }
      }
    });
    strong.reset();
    reader.join();
    EXPECT_TRUE(weak.expired());
  }
  EXPECT_EQ(NodeObj::live, 0);
}

TEST(Arc, SharesWithObjectPtr) {
  Arc<LeafObj> arc = make_arc<LeafObj>(5);
  Arc<NodeObj> base = arc;
  EXPECT_EQ(base->value, 5);
  ObjectPtr<NodeObj> ptr = base;
  EXPECT_EQ(arc.use_count(), 3);
}

TEST(TypeTest, HierarchyAndSlots) {
  Node node(1);
  Leaf leaf(2);
  EXPECT_TRUE(leaf->IsInstance<NodeObj>());
  EXPECT_TRUE(leaf->IsInstance<LeafObj>());
  EXPECT_FALSE(node->IsInstance<LeafObj>());
  EXPECT_FALSE(node->IsInstance<OtherObj>());
  EXPECT_TRUE(node->IsInstance<Object>());
  // The leaf took one of the two slots behind its parent.
  EXPECT_EQ(LeafObj::RuntimeTypeIndex(), NodeObj::RuntimeTypeIndex() + 1);
  EXPECT_TRUE(detail::RuntimeTypeIndexMatch(leaf->type_index(), NodeObj::RuntimeTypeIndex()));
  EXPECT_FALSE(detail::RuntimeTypeIndexMatch(node->type_index(), LeafObj::RuntimeTypeIndex()));
  EXPECT_EQ(leaf->GetTypeKey(), "test.core.Leaf");
  EXPECT_EQ(LeafObj::_type_depth, 2);
}

TEST(TypeTest, RegistryQueries) {
  const TVMFFIByteArray key{"test.core.Leaf", 14};
  int32_t index = 0;
  ASSERT_EQ(TVMFFITypeKeyToIndex(&key, &index), 0);
  EXPECT_EQ(index, LeafObj::RuntimeTypeIndex());
  const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(index);
  ASSERT_EQ(info->type_depth, 2);
  EXPECT_EQ(info->type_ancestors[0]->type_index, kTVMFFIObject);
  EXPECT_EQ(info->type_ancestors[1]->type_index, NodeObj::RuntimeTypeIndex());
  EXPECT_EQ(info->type_key_hash, std::hash<std::string>()("test.core.Leaf"));
  // Asking again finds the same index; a query never registers.
  EXPECT_EQ(TVMFFITypeGetOrAllocIndex(&key, -1, 2, 0, 1, NodeObj::RuntimeTypeIndex()), index);
  const TVMFFIByteArray missing{"test.core.Missing", 17};
  EXPECT_EQ(TVMFFITypeGetOrAllocIndex(&missing, -1, 0, 0, 0, -2), -2);
  EXPECT_EQ(testing::ErrorOf([&] {
              int32_t out;
              TVM_FFI_CHECK_SAFE_CALL(TVMFFITypeKeyToIndex(&missing, &out));
            }),
            "InternalError: Cannot find type `test.core.Missing`");
}

struct MirrorObj : public NodeObj {
  TVM_FFI_DECLARE_OBJECT_INFO_LOOKUP("test.core.Leaf", 2);
};

TEST(TypeTest, LookupAttachesToRegisteredType) {
  EXPECT_EQ(MirrorObj::RuntimeTypeIndex(), LeafObj::RuntimeTypeIndex());
  EXPECT_TRUE(Leaf(1)->IsInstance<MirrorObj>());
}

TEST(ObjectRef, AsNodeAndReference) {
  ObjectRef ref = Leaf(4);
  ASSERT_NE(ref.as<NodeObj>(), nullptr);
  EXPECT_EQ(ref.as<NodeObj>()->value, 4);
  EXPECT_EQ(ref.as<OtherObj>(), nullptr);
  EXPECT_TRUE(ref.as<Leaf>().has_value());
  EXPECT_FALSE(ref.as<Other>().has_value());
  EXPECT_EQ(ref.use_count(), 1);
  Leaf moved = *std::move(ref).as<Leaf>();
  EXPECT_FALSE(ref.defined());
  EXPECT_TRUE(moved.unique());
  moved->value = 9;  // LeafObj is mutable
  EXPECT_EQ(moved->Plus(1), 10);
  EXPECT_EQ(testing::ErrorOf([&] { moved.as_or_throw<Other>(); }),
            "TypeError: Cannot treat type `test.core.Leaf` as type `test.core.Other`");
}

TEST(ObjectRef, NullHandle) {
  ObjectRef null;
  EXPECT_FALSE(null.defined());
  EXPECT_EQ(null.type_index(), kTVMFFINone);
  EXPECT_EQ(null.as<NodeObj>(), nullptr);
  EXPECT_TRUE(null.as<Node>().has_value()) << "a nullable class takes null";
  EXPECT_FALSE(null.as<Leaf>().has_value());
  const Node no_node;
  EXPECT_EQ(no_node.get(), nullptr);
  EXPECT_EQ(testing::ErrorOf([&] { return no_node->value; }),
            "TypeError: expected an object of type `test.core.Node`, got None");
}

TEST(Cast, RefFromNodePointer) {
  Leaf leaf(6);
  Node again = GetRef<Node>(leaf.get());
  EXPECT_TRUE(again.same_as(leaf));
  EXPECT_EQ(leaf.use_count(), 2);
  EXPECT_FALSE(GetRef<Optional<Node>>(static_cast<const NodeObj*>(nullptr)).has_value());
  EXPECT_FALSE(GetRef<Node>(static_cast<const NodeObj*>(nullptr)).defined());
  EXPECT_NE(testing::ErrorOf([] { GetRef<Leaf>(static_cast<const LeafObj*>(nullptr)); }),
            "no error");
  EXPECT_EQ(GetObjectPtr<Object>(leaf.get()).use_count(), 3);
}

TEST(Containment, StaticPredicates) {
  static_assert(is_object_subclass_v<LeafObj>);
  static_assert(object_ref_contains_v<Node, LeafObj>);
  static_assert(!object_ref_contains_v<Leaf, NodeObj>);
  static_assert(type_subsumes_v<ObjectRef, Leaf>);
  static_assert(!type_subsumes_v<Leaf, Node>);
  static_assert(type_subsumes_v<Any, int>);
  static_assert(type_subsumes_v<Array<ObjectRef>, Array<Leaf>>);
  static_assert(!type_subsumes_v<Array<Leaf>, Array<ObjectRef>>);
}

struct ThrowingObj : public NodeObj {
  ThrowingObj() { TVM_FFI_THROW(ValueError) << "no"; }
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.core.Throwing", ThrowingObj, NodeObj);
};

TEST(Memory, ConstructorFailureFreesEverything) {
  EXPECT_EQ(testing::ErrorOf([] { make_object<ThrowingObj>(); }), "ValueError: no");
  EXPECT_EQ(NodeObj::live, 0);
}

struct alignas(64) WideObj : public Object {
  char pad[64];
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.core.Wide", WideObj, Object);
};

TEST(Memory, OverAlignedObjects) {
  ObjectPtr<WideObj> wide = make_object<WideObj>();
  EXPECT_EQ(reinterpret_cast<size_t>(wide.get()) % 64, 0u);
}

TEST(Hashing, IdentityMaps) {
  Node a(1), b(1);
  std::unordered_map<ObjectRef, int, ObjectPtrHash, ObjectPtrEqual> map;
  map[a] = 1;
  map[b] = 2;
  EXPECT_EQ(map.size(), 2u);
  EXPECT_EQ(map[ObjectRef(a)], 1);
}

}  // namespace
}  // namespace ffi
}  // namespace tvm
