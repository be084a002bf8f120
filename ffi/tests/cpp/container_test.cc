// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <gtest/gtest.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/container/tuple.h>
#include <tvm/ffi/container/variant.h>
#include <tvm/ffi/function.h>

#include <algorithm>
#include <map>
#include <random>
#include <unordered_map>
#include <vector>

#include "testing_object.h"

namespace tvm {
namespace ffi {
namespace {

using testing::ErrorOf;
using testing::Leaf;
using testing::Node;
using testing::NodeObj;

template <typename Seq>
std::vector<int> Ints(const Seq& seq) {
  return std::vector<int>(seq.begin(), seq.end());
}
using V = std::vector<int>;

TEST(Array, CopyOnWrite) {
  Array<int> a{1, 2, 3};
  Array<int> b = a;
  EXPECT_TRUE(a.same_as(b));
  b.push_back(4);
  EXPECT_FALSE(a.same_as(b));
  EXPECT_EQ(Ints(a), (V{1, 2, 3}));
  const ArrayObj* before = b.GetArrayObj();
  b.Set(0, 9);
  EXPECT_EQ(before, b.GetArrayObj()) << "a unique array is updated in place";
  EXPECT_EQ(Ints(b), (V{9, 2, 3, 4}));
  EXPECT_EQ(reinterpret_cast<const char*>(b.GetArrayObj()->begin()),
            reinterpret_cast<const char*>(b.GetArrayObj()) + 56);
}

TEST(Array, EditsMatchVector) {
  std::mt19937 rng(20240817);
  for (int round = 0; round < 50; ++round) {
    Array<int> a;
    List<int> l;
    V model;
    for (int step = 0; step < 60; ++step) {
      const int value = static_cast<int>(rng() % 1000);
      const size_t at = model.empty() ? 0 : rng() % (model.size() + 1);
      Array<int> snapshot = rng() % 4 == 0 ? a : Array<int>();
      const V snapshot_model = snapshot.same_as(a) ? model : V();
      switch (rng() % 5) {
        case 0:
          a.insert(a.begin() + at, value);
          l.insert(l.begin() + at, value);
          model.insert(model.begin() + at, value);
          break;
        case 1:
          a.insert(a.begin() + at, a.begin(), a.end());
          l.insert(l.begin() + at, l.begin(), l.end());
          {
            V copy = model;
            model.insert(model.begin() + at, copy.begin(), copy.end());
          }
          if (model.size() > 200) {
            a.erase(a.begin() + 5, a.end());
            l.erase(l.begin() + 5, l.end());
            model.resize(5);
          }
          break;
        case 2:
          if (!model.empty()) {
            a.pop_back();
            l.pop_back();
            model.pop_back();
          }
          break;
        case 3:
          if (at < model.size()) {
            a.erase(a.begin() + at);
            l.erase(l.begin() + at);
            model.erase(model.begin() + at);
          }
          break;
        default:
          a.push_back(value);
          l.push_back(value);
          model.push_back(value);
      }
      ASSERT_EQ(Ints(a), model);
      ASSERT_EQ(Ints(l), model);
      ASSERT_EQ(Ints(snapshot), snapshot_model) << "a shared copy must not change";
    }
  }
}

TEST(Array, BoundsAndKinds) {
  Array<int> a{1};
  EXPECT_EQ(ErrorOf([&] { a[1]; }), "IndexError: Index 1 out of bounds 1");
  EXPECT_EQ(ErrorOf([&] { a.Set(-1, 0); }), "IndexError: Index -1 out of bounds 1");
  EXPECT_NE(ErrorOf([&] { Array<int>(ObjectPtr<Object>(nullptr)); }), "no error");
  EXPECT_NE(ErrorOf([&] { Array<int>().pop_back(); }), "no error");
  EXPECT_EQ(ErrorOf([&] { a.erase(a.end()); }), "IndexError: Index 1 out of bounds 1");
  Array<Any> grown;
  grown.resize(2);
  EXPECT_EQ(grown[1], nullptr);
  a.reserve(100);
  EXPECT_GE(a.capacity(), 100u);
  EXPECT_EQ(a.front(), 1);
}

TEST(Array, MapKeepsIdentityWhenNothingChanges) {
  Array<Node> a{Node(1), Node(2)};
  Array<Node> same = a.Map([](Node n) { return n; });
  EXPECT_TRUE(same.same_as(a));
  Array<Node> changed = a.Map([](Node n) { return n->value == 2 ? Node(5) : n; });
  EXPECT_TRUE(changed[0].same_as(a[0]));
  EXPECT_EQ(changed[1]->value, 5);
  Array<int64_t> values = a.Map([](Node n) { return n->value; });
  EXPECT_EQ(values[1], 2);
}

TEST(Array, JoinedAndGrown) {
  Array<int> a{1, 2};
  Array<int> b = Concat(a, Array<int>{3});
  EXPECT_EQ(Ints(b), (V{1, 2, 3}));
  EXPECT_EQ(Ints(a), (V{1, 2}));
  EXPECT_EQ(V(b.rbegin(), b.rend()), (V{3, 2, 1}));
  Array<int> grown;
  std::vector<size_t> capacities;
  for (int i = 0; i < 9; ++i) {
    grown.push_back(i);
    if (capacities.empty() || capacities.back() != grown.capacity()) {
      capacities.push_back(grown.capacity());
    }
  }
  EXPECT_EQ(capacities, (std::vector<size_t>{4, 8, 16}));
  const ArrayObj* before = grown.GetArrayObj();
  grown.emplace_back(9);
  EXPECT_EQ(grown.GetArrayObj(), before) << "there was room";
}

TEST(Array, OneConvertsToTheOthersByCopy) {
  Array<int> array{1, 2};
  List<int> list = Any(array).cast<List<int>>();
  list.push_back(3);
  EXPECT_EQ(array.size(), 2U);
  EXPECT_EQ(Ints(Any(list).cast<Array<int>>()), (V{1, 2, 3}));
  Map<String, int> map{{"a", 1}};
  Dict<String, int> dict = Any(map).cast<Dict<String, int>>();
  dict.Set("b", 2);
  EXPECT_EQ(map.size(), 1U);
  EXPECT_EQ((Any(dict).cast<Map<String, int>>().size()), 2U);
  EXPECT_EQ(ErrorOf([&] { Any(map).cast<Map<int, int>>(); }),
            "TypeError: Cannot convert from type `Map[some key is ffi.SmallStr, V]` to "
            "`Map<int, int>`");
  EXPECT_EQ(ErrorOf([&] { Any(map).cast<Map<String, String>>(); }),
            "TypeError: Cannot convert from type `Map[K, some value is int]` to `Map<str, str>`");
}

TEST(Array, MutateByApplyInPlaceOnlyWhenUnique) {
  Array<Node> a{Node(1), Node(2)};
  const ArrayObj* before = a.GetArrayObj();
  bool element_unique = false;
  a.MutateByApply([&](Node n) {
    element_unique = n.unique();
    return Node(n->value + 1);
  });
  EXPECT_TRUE(element_unique);
  EXPECT_EQ(a.GetArrayObj(), before);
  Array<Node> shared = a;
  a.MutateByApply([](Node n) { return Node(n->value + 1); });
  EXPECT_EQ(shared[0]->value, 2);
  EXPECT_EQ(a[0]->value, 3);
  shared = Array<Node>();
  a = Array<Node>();
  EXPECT_EQ(NodeObj::live, 0);
}

TEST(Array, UpcastSharesConversionCopies) {
  Array<Leaf> leaves{Leaf(1)};
  Array<ObjectRef> refs = leaves;
  EXPECT_TRUE(refs.same_as(leaves));
  Any any = Array<Any>{1, true, 2.5};
  EXPECT_TRUE(any.cast<Array<double>>()[1] == 1.0);
  EXPECT_EQ(any.as<Array<double>>().has_value(), false);
  Any ints = Array<Any>{1, 2};
  EXPECT_TRUE(ints.cast<Array<int>>().same_as(ints.cast<ObjectRef>()));
  EXPECT_EQ(Ints(ints.cast<List<int>>()), (V{1, 2}));
  EXPECT_EQ(ErrorOf([&] { Any(Array<Any>{1, Array<Any>{"x"}}).cast<Array<Array<int>>>(); }),
            "TypeError: Cannot convert from type `Array[index 0: int]` to `Array<Array<int>>`");
}

/// Counts up and throws on 2.
struct Source {
  int at;
  using iterator_category = std::forward_iterator_tag;
  using difference_type = int64_t;
  using value_type = Any;
  using pointer = Any*;
  using reference = Any;
  Any operator*() const {
    if (at == 2) TVM_FFI_THROW(ValueError) << "stop";
    return Any(at);
  }
  Source& operator++() {
    ++at;
    return *this;
  }
  bool operator!=(const Source& other) const { return at != other.at; }
  bool operator==(const Source& other) const { return at == other.at; }
};

TEST(Array, ThrowingConversionInsideInsertLeavesArrayValid) {
  List<Any> list{1, 2, 3};
  ListObj* cells = list.GetListObj();
  cells->ReserveExtra(4);
  EXPECT_EQ(ErrorOf([&] { cells->insert(1, Source{0}, Source{4}); }), "ValueError: stop");
  EXPECT_EQ(cells->size(), 5u);
  EXPECT_EQ(list[4].cast<int>(), 3);
}

TEST(List, SharedMutation) {
  List<int> a{1};
  List<int> b = a;
  const ListObj* object = a.GetListObj();
  for (int i = 0; i < 100; ++i) b.push_back(i);
  EXPECT_EQ(a.size(), 101u);
  EXPECT_EQ(a.GetListObj(), object) << "growing keeps the address";
  a.Set(0, 7);
  EXPECT_EQ(b[0], 7);
  b.Assign(b.begin(), b.begin() + 2);
  EXPECT_EQ(Ints(a), (V{7, 0}));
  EXPECT_EQ(*a.rbegin(), 0);
  EXPECT_EQ(List<int>().rbegin(), List<int>().rend());
}

template <typename MapType>
void CheckAgainstModel(const MapType& map, const std::map<std::string, int>& model,
                       const std::vector<std::string>* order) {
  ASSERT_EQ(map.size(), model.size());
  std::vector<std::string> seen;
  for (const auto& [key, value] : map) {
    seen.push_back(key);
    auto found = model.find(key);
    ASSERT_TRUE(found != model.end());
    ASSERT_EQ(found->second, value);
  }
  ASSERT_EQ(seen.size(), model.size());
  if (order != nullptr) {
    ASSERT_EQ(seen, *order);
  }
  for (const auto& [key, value] : model) ASSERT_EQ(map.Get(key), value);
  auto it = map.end();
  for (size_t i = seen.size(); i-- > 0;) {
    --it;
    ASSERT_EQ((*it).first, seen[i]);
  }
  ASSERT_TRUE(it == map.begin());
}

TEST(Map, RandomEditsMatchModel) {
  std::mt19937 rng(7);
  for (int round = 0; round < 60; ++round) {
    Map<String, int> map;
    Dict<String, int> dict;
    const DictObj* dict_object =
        dict.operator->() == nullptr ? nullptr : static_cast<const DictObj*>(dict.get());
    std::map<std::string, int> model;
    std::vector<std::pair<Map<String, int>, std::map<std::string, int>>> snapshots;
    const int range = 1 << (rng() % 10);
    for (int step = 0; step < 300; ++step) {
      // Both string forms and hashes that collide in small tables.
      const std::string key = (rng() % 2 ? "k" : "a longer key ") + std::to_string(rng() % range);
      const int value = static_cast<int>(rng() % 100000);
      switch (rng() % 6) {
        case 0:
        case 1:
          map.erase(key);
          dict.erase(key);
          model.erase(key);
          break;
        case 2:
          if (rng() % 20 == 0) snapshots.emplace_back(map, model);
          if (rng() % 100 == 0) {
            map.clear();
            dict.clear();
            model.clear();
          }
          break;
        default:
          map.Set(key, value);
          dict.Set(key, value);
          model[key] = value;
      }
    }
    CheckAgainstModel(map, model, nullptr);
    CheckAgainstModel(dict, model, nullptr);
    EXPECT_EQ(dict.get(), dict_object) << "a Dict keeps its address";
    for (const auto& [snapshot, expected] : snapshots) {
      CheckAgainstModel(snapshot, expected, nullptr);
    }
  }
}

TEST(Map, InsertionOrder) {
  Map<String, int> map;
  std::map<std::string, int> model;
  std::vector<std::string> order;
  for (int i = 0; i < 500; ++i) {
    const std::string key = "key" + std::to_string((i * 37) % 500);
    map.Set(key, i);
    model[key] = i;
    order.push_back(key);
    if (i == 3 || i == 4 || i % 97 == 0) CheckAgainstModel(map, model, &order);
  }
  map.erase("key74");
  model.erase("key74");
  order.erase(std::find(order.begin(), order.end(), "key74"));
  CheckAgainstModel(map, model, &order);
}

TEST(Map, ReassignedKeys) {
  Map<int, int> small{{1, 1}, {2, 2}};
  small.Set(1, 5);
  EXPECT_EQ((*small.begin()).first, 1) << "a small table keeps the place";
  Map<int, int> dense{{1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 5}};
  dense.Set(1, 9);
  EXPECT_EQ((*dense.begin()).first, 2) << "a dense table moves the entry to the end";
  EXPECT_EQ(dense.at(1), 9);
}

TEST(Map, LayoutIsFixed) {
  Map<int, int> map{{1, 10}};
  const auto* words = reinterpret_cast<const uint64_t*>(map.get());
  EXPECT_EQ(words[3], reinterpret_cast<uint64_t>(words) + 56);  // data
  EXPECT_EQ(words[4], 1u);                                      // size
  EXPECT_EQ(words[5] >> 63, 1u);                                // small layout
  for (int i = 2; i <= 5; ++i) map.Set(i, i);
  words = reinterpret_cast<const uint64_t*>(map.get());
  EXPECT_EQ(words[5], 8u);                // slots
  EXPECT_EQ(words[7] & 0xFFFFFFFF, 61u);  // fib_shift
  // Home slots of the keys by the published formula.
  const auto* block = reinterpret_cast<const uint8_t*>(words[3]);
  const uint64_t home = (11400714819323198485ULL * AnyHash()(Any(1))) >> 61;
  EXPECT_EQ(block[home] & 0x80, 0) << "a home slot heads its chain";
}

TEST(Map, CopyOnWriteAndMerge) {
  Map<String, int> a{{"x", 1}};
  Map<String, int> b = a;
  b.Set("y", 2);
  EXPECT_EQ(a.size(), 1u);
  EXPECT_EQ(Merge(a, Map<String, int>{{"x", 3}, {"z", 4}})["x"], 3);
  EXPECT_EQ(ErrorOf([&] { a["nope"]; }), "KeyError: key is not in Map");
  EXPECT_EQ(a.Get("nope"), std::nullopt);
  EXPECT_TRUE(a.find("nope") == a.end());
  const std::unordered_map<String, int> standard{{"s", 8}};
  EXPECT_EQ((Map<String, int>(standard)["s"]), 8);
  Any any = Dict<Any, Any>{{"a", 1}};
  EXPECT_EQ((any.cast<Map<String, double>>()["a"]), 1.0);
  EXPECT_EQ(ErrorOf([] { Any(Map<Any, Any>{{1, 2}}).cast<Map<String, int>>(); }),
            "TypeError: Cannot convert from type `Map[some key is int, V]` to `Map<str, int>`");
}

TEST(Dict, NestedReferencesAreReleased) {
  {
    Dict<String, Node> dict;
    for (int i = 0; i < 40; ++i) dict.Set("n" + std::to_string(i), Node(i));
    EXPECT_EQ(NodeObj::live, 40);
    for (int i = 0; i < 20; ++i) dict.erase("n" + std::to_string(i));
    EXPECT_EQ(NodeObj::live, 20);
    Dict<String, Node> alias = dict;
    alias.clear();
    EXPECT_EQ(NodeObj::live, 0);
    EXPECT_TRUE(dict.empty());
    dict.Set("again", Node(1));
    EXPECT_EQ(alias["again"]->value, 1);
  }
  EXPECT_EQ(NodeObj::live, 0);
}

TEST(Tuple, ElementsAndBindings) {
  Tuple<int, String> tuple(1, "a");
  auto [number, text] = tuple;
  EXPECT_EQ(number, 1);
  EXPECT_EQ(text, "a");
  Tuple<int, String> shared = tuple;
  tuple.Set<0>(5);
  EXPECT_EQ(shared.get<0>(), 1);
  EXPECT_EQ(tuple.get<0>(), 5);
  EXPECT_NE(ErrorOf([] { Tuple<int>(ObjectPtr<Object>(nullptr)); }), "no error");
  Tuple<Any, Any> wide = tuple;
  EXPECT_TRUE(wide.same_as(tuple));
  EXPECT_EQ((Any(Array<Any>{1, "b"}).cast<Tuple<double, String>>().get<0>()), 1.0);
  EXPECT_EQ(ErrorOf([] { Any(Array<Any>{1, 2, 3}).cast<Tuple<int, int>>(); }),
            "TypeError: Cannot convert from type `Array[size=3]` to `Tuple<int, int>`");
  EXPECT_EQ(ErrorOf([] { Any(Array<Any>{1, "x"}).cast<Tuple<int, int>>(); }),
            "TypeError: Cannot convert from type `Array[index 1: ffi.SmallStr]` to "
            "`Tuple<int, int>`");
}

TEST(Variant, Alternatives) {
  Variant<int, String, Array<int>> value = 1;
  EXPECT_EQ(value.as<int>(), 1);
  EXPECT_FALSE(value.as<String>().has_value());
  value = String("x");
  EXPECT_EQ(value.get<String>(), "x");
  EXPECT_EQ(ErrorOf([&] { value.get<int>(); }),
            "TypeError: Cannot convert from type `ffi.SmallStr` to `int`");
  static_assert(sizeof(value) == 16);
  auto from_true = Any(true).cast<Variant<String, int>>();
  EXPECT_EQ(from_true.as<int>(), 1) << "converts to the first alternative that accepts";
  EXPECT_EQ(ErrorOf([] { Any(1.5).cast<Variant<int, String>>(); }),
            "TypeError: Cannot convert from type `float` to `Variant<int, str>`");
}

TEST(Variant, TravelsAndHashes) {
  Variant<String, Node> text = String("key");
  Map<Any, int> map{{Any(text), 1}};
  EXPECT_EQ(map[String("key")], 1) << "a variant is its value";
  Node node(3);
  Variant<String, Node> object = node;
  EXPECT_EQ(node.use_count(), 2);
  EXPECT_TRUE(object.same_as(Variant<String, Node>(node)));
  EXPECT_EQ(AnyHash()(Any(object)), AnyHash()(Any(node)));
  Array<Node> nodes{node};
  Array<Variant<String, Node>> wider = nodes;
  EXPECT_TRUE(wider.same_as(nodes)) << "an upcast shares";
  EXPECT_EQ(wider[0].get<Node>()->value, 3);
  Function describe = Function::FromTyped([](const Variant<int, String>& value) {
    return value.as<int>().has_value() ? String("int") : value.get<String>();
  });
  EXPECT_EQ(describe(4).cast<String>(), "int");
  EXPECT_EQ(describe("text").cast<String>(), "text");
}

TEST(Shape, ViewsBorrow) {
  Shape shape{4, 5};
  ShapeView view = shape;
  EXPECT_EQ(view.data(), shape.data());
  EXPECT_EQ(view.size(), 2U);
  EXPECT_EQ(view.Product(), 20);
  EXPECT_EQ(view.back(), 5);
  const std::initializer_list<int64_t> extents = {7, 8, 9};
  EXPECT_EQ(ShapeView(extents)[2], 9);
  EXPECT_TRUE(ShapeView().empty());
}

TEST(Shape, ValuesAndConversion) {
  Shape shape{2, 3, 4};
  EXPECT_EQ(shape.Product(), 24);
  Shape strides = Shape::StridesFromShape(shape);
  EXPECT_EQ(V(strides.begin(), strides.end()), (V{12, 4, 1}));
  EXPECT_EQ(Any(Array<Any>{5, 6}).cast<Shape>()[1], 6);
  EXPECT_NE(ErrorOf([&] { shape.at(3); }), "no error");
  EXPECT_EQ(Shape(ShapeView()).Product(), 1);
}

TEST(Globals, ContainersForOtherLanguages) {
  auto call = [](const char* name, auto&&... args) {
    return Function::GetGlobalRequired(name)(args...);
  };
  Any array = call("ffi.Array", 1, "two", 3.0);
  EXPECT_EQ(call("ffi.ArraySize", array).cast<int>(), 3);
  EXPECT_EQ(call("ffi.ArrayGetItem", array, 1).cast<String>(), "two");
  EXPECT_TRUE(call("ffi.ArrayContains", array, "two").cast<bool>());
  Any dict = call("ffi.Dict", "a", 1, "b", 2);
  call("ffi.DictSetItem", dict, "c", 3);
  call("ffi.DictErase", dict, "a");
  Function it = call("ffi.DictForwardIterFunctor", dict).cast<Function>();
  EXPECT_EQ(it(0).cast<String>(), "b");
  EXPECT_EQ(it(1).cast<int>(), 2);
  EXPECT_TRUE(it(2).cast<bool>());
  EXPECT_EQ(it(0).cast<String>(), "c");
  EXPECT_FALSE(it(2).cast<bool>());
  Any missing = call("ffi.DictGetItemOrMissing", dict, "zz");
  EXPECT_TRUE(missing.same_as(call("ffi.GetInvalidObject")));
  Any list = call("ffi.List", 1, 2, 3, 4);
  call("ffi.ListReplaceSlice", list, 1, 3, Array<Any>{7, 8, 9});
  EXPECT_EQ(Ints(list.cast<List<int>>()), (V{1, 7, 8, 9, 4}));
  EXPECT_EQ(call("ffi.ListPop", list, 0).cast<int>(), 1);
  EXPECT_EQ(call("ffi.Shape", 2, 3).cast<Shape>().Product(), 6);
}

}  // namespace
}  // namespace ffi
}  // namespace tvm
