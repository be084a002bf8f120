// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Structural equality, hash, keys and mismatch paths.
#include <gtest/gtest.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/extra/dataclass.h>
#include <tvm/ffi/extra/structural_equal.h>
#include <tvm/ffi/extra/structural_hash.h>
#include <tvm/ffi/extra/structural_key.h>
#include <tvm/ffi/reflection/registry.h>

#include <cmath>
#include <string>
#include <unordered_set>

namespace {

using namespace tvm::ffi;
namespace refl = tvm::ffi::reflection;

class VarObj : public Object {
 public:
  String name;
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindFreeVar;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.s.Var", VarObj, Object);
};

/// params are defined, body uses them.
class FuncObj : public Object {
 public:
  Any params;
  Any body;
  Any comment;
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.s.Func", FuncObj, Object);
};

template <TVMFFISEqHashKind kKind>
class NodeObj : public Object {
 public:
  Any value;
  Any next;
  static constexpr bool _type_mutable = true;
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kKind;
};

class TreeObj : public NodeObj<kTVMFFISEqHashKindTreeNode> {
 public:
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.s.Tree", TreeObj, Object);
};
class DagObj : public NodeObj<kTVMFFISEqHashKindDAGNode> {
 public:
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.s.Dag", DagObj, Object);
};
class UniqueObj : public NodeObj<kTVMFFISEqHashKindUniqueInstance> {
 public:
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.s.Unique", UniqueObj, Object);
};

class PlainObj : public Object {
 public:
  int64_t x = 0;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.s.Plain", PlainObj, Object);
};

/// Compares its fields itself, in reverse.
class HookedObj : public Object {
 public:
  Any first;
  Any second;
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.s.Hooked", HookedObj, Object);
};

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<VarObj>().def_ro("name", &VarObj::name, refl::AttachFieldFlag::SEqHashIgnore());
  refl::ObjectDef<FuncObj>()
      .def_ro("params", &FuncObj::params, refl::AttachFieldFlag::SEqHashDefPattern())
      .def_ro("body", &FuncObj::body)
      .def_ro("comment", &FuncObj::comment, refl::AttachFieldFlag::SEqHashIgnore());
  refl::ObjectDef<TreeObj>().def_ro("value", &TreeObj::value).def_rw("next", &TreeObj::next);
  refl::ObjectDef<DagObj>().def_ro("value", &DagObj::value).def_ro("next", &DagObj::next);
  refl::ObjectDef<UniqueObj>().def_ro("value", &UniqueObj::value);
  refl::ObjectDef<PlainObj>().def_ro("x", &PlainObj::x);
  refl::ObjectDef<HookedObj>()
      .def_ro("first", &HookedObj::first)
      .def_ro("second", &HookedObj::second);
  refl::TypeAttrDef<HookedObj>()
      .def(type_attr::kSEqual,
           [](const HookedObj* a, const HookedObj* b, const Function& compare) {
             return compare(a->second, b->second, 0, "second").cast<bool>() &&
                    compare(a->first, b->first, 0, "first").cast<bool>();
           })
      .def(type_attr::kSHash, [](const HookedObj* a, int64_t init, const Function& combine) {
        const int64_t second = combine(a->second, init, 0).cast<int64_t>();
        return combine(a->first, second, 0).cast<int64_t>();
      });
}

Any Var(const char* name) {
  auto var = make_object<VarObj>();
  var->name = name;
  return ObjectRef(var);
}

Any Func(Any params, Any body, Any comment = Any()) {
  auto func = make_object<FuncObj>();
  func->params = std::move(params);
  func->body = std::move(body);
  func->comment = std::move(comment);
  return ObjectRef(func);
}

template <typename T>
Any Node(Any value, Any next = Any()) {
  auto node = make_object<T>();
  node->value = std::move(value);
  node->next = std::move(next);
  return ObjectRef(node);
}

Any List2(Any a, Any b) { return Array<Any>{a, b}; }

void ExpectEqual(const Any& a, const Any& b, bool map_free_vars = false) {
  EXPECT_TRUE(StructuralEqual::Equal(a, b, map_free_vars));
  EXPECT_EQ(StructuralHash::Hash(a, map_free_vars), StructuralHash::Hash(b, map_free_vars));
  EXPECT_FALSE(StructuralEqual::GetFirstMismatch(a, b, map_free_vars).has_value());
}

void ExpectDifferent(const Any& a, const Any& b, const std::string& paths,
                     bool map_free_vars = false) {
  EXPECT_FALSE(StructuralEqual::Equal(a, b, map_free_vars));
  EXPECT_NE(StructuralHash::Hash(a, map_free_vars), StructuralHash::Hash(b, map_free_vars));
  auto mismatch = StructuralEqual::GetFirstMismatch(a, b, map_free_vars);
  ASSERT_TRUE(mismatch.has_value());
  EXPECT_EQ(std::string(ReprPrint(Any(*mismatch))), "(" + paths + ")");
}

TEST(Structural, PlainValues) {
  ExpectEqual(1, 1);
  ExpectEqual(std::nan(""), std::nan("1"));
  ExpectEqual(String("a long enough string"), String("a long enough string"));
  ExpectDifferent(1, 1.0, "<root>, <root>");
  ExpectDifferent(0.0, -0.0, "<root>, <root>");
  ExpectDifferent(1, true, "<root>, <root>");
}

TEST(Structural, HeapAndInlineStringsAreTheSame) {
  // From std::string&& even short text is a heap string.
  ExpectEqual(Any(String(std::string("ab"))), Any(String("ab")));
}

TEST(Structural, Containers) {
  ExpectEqual(Array<int>{1, 2}, Array<int>{1, 2});
  ExpectDifferent(Array<int>{1, 2}, Array<int>{1, 3}, "<root>[1], <root>[1]");
  ExpectDifferent(Array<int>{1, 2}, Array<int>{1}, "<root>[1], <root>[<missing:1>]");
  ExpectDifferent(Array<int>{1}, Array<int>{1, 2}, "<root>[<missing:1>], <root>[1]");
  ExpectDifferent(Array<int>{1}, List<int>{1}, "<root>, <root>");
  Map<Any, Any> ab{{"a", 1}, {"b", 2}};
  Map<Any, Any> ba{{"b", 2}, {"a", 1}};
  ExpectEqual(ab, ba);
  ExpectDifferent(ab, Map<Any, Any>{{"a", 1}}, "<root>[\"b\"], <root>[<missing:\"b\">]");
  ExpectDifferent(Map<Any, Any>{{"a", 1}}, ab, "<root>[<missing:\"b\">], <root>[\"b\"]");
  ExpectDifferent(Map<Any, Any>{{"a", Array<int>{1}}}, Map<Any, Any>{{"a", Array<int>{2}}},
                  "<root>[\"a\"][0], <root>[\"a\"][0]");
}

TEST(Structural, DefinedVariablesAreRenamedConsistently) {
  Any x = Var("x");
  Any y = Var("y");
  Any z = Var("z");
  ExpectEqual(Func(Array<Any>{x}, List2(x, x), "left"), Func(Array<Any>{y}, List2(y, y), "right"));
  ExpectDifferent(Func(List2(x, y), List2(x, y)), Func(List2(x, y), List2(y, x)),
                  "<root>.body[0], <root>.body[0]");
  // Not defined: only the same variable will do.
  ExpectEqual(Func(Array<Any>{}, x), Func(Array<Any>{}, x));
  ExpectDifferent(Func(Array<Any>{}, x), Func(Array<Any>{}, z), "<root>.body, <root>.body");
  ExpectEqual(List2(x, x), List2(z, z), true);
  ExpectDifferent(List2(x, y), List2(z, z), "<root>[1], <root>[1]", true);
}

TEST(Structural, MapKeysFollowTheRenaming) {
  Any x = Var("x");
  Any y = Var("y");
  ExpectEqual(Func(Array<Any>{x}, Map<Any, Any>{{x, 1}}),
              Func(Array<Any>{y}, Map<Any, Any>{{y, 1}}));
}

TEST(Structural, DagNodesKeepSharing) {
  Any one = Node<DagObj>(1);
  Any other = Node<DagObj>(1);
  ExpectEqual(List2(one, one), List2(other, other));
  EXPECT_FALSE(StructuralEqual::Equal(List2(one, one), List2(one, other)));
  EXPECT_NE(StructuralHash::Hash(List2(one, one)), StructuralHash::Hash(List2(one, other)));
  // Tree nodes do not.
  Any tree = Node<TreeObj>(1);
  ExpectEqual(List2(tree, tree), List2(tree, Node<TreeObj>(1)));
}

TEST(Structural, MemoRespectsLaterDefinitions) {
  Any x = Var("x");
  Any y = Var("y");
  // The shared tree holds x as a free use first; then x is paired with y.
  Any shared = Node<TreeObj>(x);
  Any left = Array<Any>{shared, Func(Array<Any>{x}, 0), shared};
  Any right = Array<Any>{shared, Func(Array<Any>{y}, 0), shared};
  EXPECT_FALSE(StructuralEqual::Equal(left, right));
}

TEST(Structural, UniqueInstances) {
  Any one = Node<UniqueObj>(1);
  ExpectEqual(one, one);
  ExpectDifferent(one, Node<UniqueObj>(1), "<root>, <root>");
}

TEST(Structural, UnsupportedTypesAreTypeErrors) {
  Any plain = ObjectRef(make_object<PlainObj>());
  EXPECT_THROW(StructuralEqual::Equal(plain, plain), Error);
  EXPECT_THROW(StructuralHash::Hash(plain), Error);
  Any function = Function::FromTyped([] { return 1; });
  EXPECT_THROW(StructuralHash::Hash(function), Error);
}

TEST(Structural, Hooks) {
  auto make = [](Any first, Any second) {
    auto hooked = make_object<HookedObj>();
    hooked->first = std::move(first);
    hooked->second = std::move(second);
    return Any(ObjectRef(hooked));
  };
  ExpectEqual(make(1, 2), make(1, 2));
  ExpectDifferent(Array<Any>{make(1, 2)}, Array<Any>{make(3, 4)},
                  "<root>[0].second, <root>[0].second");
}

TEST(Structural, SharedTreesTakeLinearTime) {
  // 2^200 paths.
  auto build = [] {
    Any value = Node<TreeObj>(1);
    for (int i = 0; i < 200; ++i) value = Node<TreeObj>(value, value);
    return value;
  };
  ExpectEqual(build(), build());
}

TEST(Structural, DeepValuesDoNotExhaustTheStack) {
  std::vector<Any> keep;  // released from the outside in
  auto build = [&keep](int64_t leaf) {
    Any value = leaf;
    for (int i = 0; i < 300000; ++i) {
      value = Node<TreeObj>(value);
      keep.push_back(value);
    }
    return value;
  };
  Any a = build(1);
  Any b = build(1);
  Any c = build(2);
  EXPECT_TRUE(StructuralEqual::Equal(a, b));
  EXPECT_FALSE(StructuralEqual::Equal(a, c));
  EXPECT_EQ(StructuralHash::Hash(a), StructuralHash::Hash(b));
  a = b = c = Any();
  while (!keep.empty()) keep.pop_back();
}

TEST(Structural, CyclicValues) {
  auto cycle = [](int64_t value) {
    List<Any> list;
    list.push_back(value);
    list.push_back(list);
    return list;
  };
  List<Any> a = cycle(1);
  List<Any> b = cycle(1);
  List<Any> c = cycle(2);
  EXPECT_TRUE(StructuralEqual::Equal(a, b));
  EXPECT_FALSE(StructuralEqual::Equal(a, c));
  EXPECT_THROW(StructuralHash::Hash(a), Error);
  a.clear();
  b.clear();
  c.clear();
}

TEST(Structural, KeysLookUpByStructure) {
  Map<Any, Any> map;
  map.Set(StructuralKey(Array<int>{1, 2}), 5);
  EXPECT_EQ(map.at(StructuralKey(Array<int>{1, 2})).cast<int>(), 5);
  EXPECT_EQ(map.count(StructuralKey(Array<int>{1, 3})), 0U);
  std::unordered_set<StructuralKey> seen{StructuralKey(Array<int>{1, 2})};
  EXPECT_EQ(seen.count(StructuralKey(Array<int>{1, 2})), 1U);
  EXPECT_EQ(seen.count(StructuralKey(Array<int>{1, 3})), 0U);
}

TEST(AccessPath, StepsAndPrefixes) {
  using refl::AccessPath;
  AccessPath path = AccessPath::Root()->Attr("a")->ArrayItem(0)->MapItem("k")->MapItemMissing("z");
  EXPECT_EQ(std::string(ReprPrint(path)), "<root>.a[0][\"k\"][<missing:\"z\">]");
  EXPECT_EQ(path->depth, 4);
  EXPECT_EQ(path->ToSteps().size(), 4U);
  EXPECT_TRUE(AccessPath::Root()->Attr("a")->IsPrefixOf(path));
  EXPECT_FALSE(AccessPath::Root()->Attr("b")->IsPrefixOf(path));
  EXPECT_TRUE(AccessPath::FromSteps(path->ToSteps())->PathEqual(path));
  AccessPath deep = AccessPath::Root();
  for (int i = 0; i < 1000000; ++i) deep = deep->ArrayItem(i);  // and its release
  EXPECT_EQ(deep->depth, 1000000);
}

}  // namespace
