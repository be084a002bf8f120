// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Structural walks, visits, maps, rewrites and the error context they leave.
#include <gtest/gtest.h>
#include <tvm/ffi/big_int.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/dataclass.h>
#include <tvm/ffi/extra/structural_mutate.h>
#include <tvm/ffi/extra/structural_visit.h>
#include <tvm/ffi/extra/visit_error_context.h>
#include <tvm/ffi/reflection/registry.h>

#include <string>
#include <vector>

namespace {

using namespace tvm::ffi;
namespace refl = tvm::ffi::reflection;

class VarObj : public Object {
 public:
  int64_t id = 0;
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindFreeVar;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.t.Var", VarObj, Object);
};

class LetObj : public Object {
 public:
  Any var;     // Simple region
  Any params;  // Pattern region
  Any body;
  Any span;  // ignored
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.t.Let", LetObj, Object);
};

/// Only its second child is visited, by a native hook.
class HookObj : public Object {
 public:
  Any first;
  Any second;
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.t.Hook", HookObj, Object);
};

VisitResult VisitSecond(StructuralVisitorObj* visitor, AnyView value) {
  return visitor->VisitExpected(value.cast<const HookObj*>()->second);
}

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<VarObj>().def_ro("id", &VarObj::id);
  refl::ObjectDef<LetObj>()
      .def_ro("var", &LetObj::var, refl::AttachFieldFlag::SEqHashDefSimple())
      .def_ro("params", &LetObj::params, refl::AttachFieldFlag::SEqHashDefPattern())
      .def_ro("body", &LetObj::body)
      .def_ro("span", &LetObj::span, refl::AttachFieldFlag::SEqHashIgnore());
  refl::ObjectDef<HookObj>().def_ro("first", &HookObj::first).def_ro("second", &HookObj::second);
  refl::TypeAttrDef<HookObj>().native_fn_attr<&VisitSecond>(type_attr::kStructuralVisit);
}

Any Var(int64_t id) {
  auto var = make_object<VarObj>();
  var->id = id;
  return ObjectRef(var);
}

Any Let(Any var, Any params, Any body) {
  auto let = make_object<LetObj>();
  let->var = std::move(var);
  let->params = std::move(params);
  let->body = std::move(body);
  let->span = 99;
  return ObjectRef(let);
}

std::string Repr(const Any& value) { return std::string(ReprPrint(value)); }

TEST(StructuralWalk, Orders) {
  Array<Any> root{1, Array<Any>{2, nullptr}, Map<Any, Any>{{"k", 3}}};
  std::vector<std::string> seen;
  auto note = [&](const Any& value) { seen.push_back(Repr(value)); };
  StructuralWalk<WalkOrder::kPreOrder>(root, note);
  EXPECT_EQ(seen, (std::vector<std::string>{"(1, (2, None), {\"k\": 3})", "1", "(2, None)", "2",
                                            "{\"k\": 3}", "3"}));
  seen.clear();
  StructuralWalk<WalkOrder::kPostOrder>(root, [&](int64_t value) { note(value); });
  EXPECT_EQ(seen, (std::vector<std::string>{"1", "2", "3"}));
}

TEST(StructuralWalk, SkipAndInterrupt) {
  Array<Any> root{1, Array<Any>{2}, 3};
  std::vector<int64_t> seen;
  auto result = StructuralWalk<WalkOrder::kPreOrder>(
      root,
      [&](const Array<Any>& array) {
        return array.size() == 1 ? WalkResult::Skip() : WalkResult::Advance();
      },
      [&](int64_t value) {
        seen.push_back(value);
        return value == 3 ? WalkResult::Interrupt(VisitInterrupt(value)) : WalkResult::Advance();
      });
  EXPECT_EQ(seen, (std::vector<int64_t>{1, 3}));
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ((*result)->value.cast<int64_t>(), 3);
}

TEST(StructuralWalk, Regions) {
  std::vector<std::pair<int64_t, int>> seen;
  StructuralWalk<WalkOrder::kPreOrder>(
      Let(Var(1), Array<Any>{Var(2)}, Var(3)),
      [&](int64_t id, TVMFFIDefRegionKind kind) { seen.emplace_back(id, kind); });
  // A field of a variable in a Simple region is a use; a Pattern region covers everything.
  EXPECT_EQ(seen, (std::vector<std::pair<int64_t, int>>{{1, 0}, {2, 1}, {3, 0}}));
}

TEST(StructuralWalk, HooksReplaceTheDescent) {
  auto hook = make_object<HookObj>();
  hook->first = 1;
  hook->second = 2;
  std::vector<int64_t> seen;
  StructuralWalk(Any(ObjectRef(hook)), [&](int64_t value) { seen.push_back(value); });
  EXPECT_EQ(seen, (std::vector<int64_t>{2}));
}

TEST(StructuralWalk, CyclicValuesAreAnError) {
  List<Any> list;
  list.push_back(list);
  VisitResult result = StructuralWalkExpected(list, [](int64_t) {});
  ASSERT_TRUE(result.is_err());
  EXPECT_NE(std::string(result.error().message()).find("contains itself"), std::string::npos);
  list.clear();
}

TEST(StructuralVisit, CallbacksOwnTheDescent) {
  std::vector<int64_t> seen;
  StructuralVisit(
      Array<Any>{1, Array<Any>{2}, 3},
      [&](int64_t value, StructuralVisitorObj*) { seen.push_back(value); },
      [&](const Array<Any>& array, StructuralVisitorObj* visitor) -> VisitResult {
        if (array.size() == 1) return VisitResult(Optional<VisitInterrupt>(std::nullopt));
        return visitor->DefaultVisitExpected(array);
      });
  EXPECT_EQ(seen, (std::vector<int64_t>{1, 3}));
}

TEST(VisitErrorContext, SaysWhereItHappened) {
  Array<Any> inner{2, 3};
  Array<Any> root{1, inner, Array<Any>{inner}};
  VisitResult result = StructuralWalkExpected(root, [](int64_t value) {
    if (value == 3) TVM_FFI_THROW(ValueError) << "three";
  });
  ASSERT_TRUE(result.is_err());
  ASSERT_TRUE(result.error().extra_context().has_value());
  VisitErrorContext context = Any(*result.error().extra_context()).cast<VisitErrorContext>();
  EXPECT_EQ(Repr(Any(context->reverse_visit_pattern)), "[(2, 3), (1, (2, 3), ((2, 3),))]");
  EXPECT_EQ(Repr(VisitErrorContext::FindAccessPaths(root, context)), "(<root>[1], <root>[2][0])");
  EXPECT_EQ(VisitErrorContext::FindAccessPaths(inner, context).size(), 0U);
}

TEST(VisitErrorContext, Macros) {
  Array<Any> leaf{1};
  Array<Any> root{leaf};
  auto fail = [&] {
    TVM_FFI_VISIT_BEGIN();
    TVM_FFI_VISIT_THROW(TypeError, leaf) << "bad " << 1;
    TVM_FFI_VISIT_END(root);
  };
  try {
    fail();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind() + ": " + error.message(), "TypeError: bad 1");
    VisitErrorContext context = Any(*error.extra_context()).cast<VisitErrorContext>();
    EXPECT_EQ(Repr(VisitErrorContext::FindAccessPaths(root, context)), "(<root>[0],)");
  }
}

TEST(StructuralMap, ReplacesAndKeepsIdentity) {
  Array<Any> kept{String("x")};
  Array<Any> root{1, kept, Map<Any, Any>{{"b", 2}, {"a", String("y")}}};
  auto increment = [](int64_t value) { return value + 1; };
  Array<Any> mapped = StructuralMap(root, increment).cast<Array<Any>>();
  EXPECT_EQ(Repr(mapped), "(2, (\"x\",), {\"b\": 3, \"a\": \"y\"})");
  EXPECT_TRUE(mapped[1].same_as(Any(kept)));
  EXPECT_EQ(Repr(root), "(1, (\"x\",), {\"b\": 2, \"a\": \"y\"})");
  EXPECT_TRUE(StructuralMap(root, [](double value) { return value; }).same_as(Any(root)));
}

TEST(StructuralMap, EqualPlainValuesChangeNothing) {
  const Array<Any> root{1, 2.5, "short", String("longer than seven bytes"), BigInt(1) << 90};
  Any same = StructuralMap(
      Any(root), [](int64_t value) { return value; }, [](double value) { return value; },
      [](const String& text) { return String(std::string(text)); },
      [](const BigInt& value) { return (value + 1) - 1; });
  EXPECT_TRUE(same.same_as(root));
  Any other = StructuralMap(Any(root), [](int64_t value) { return value == 1; });
  EXPECT_EQ(other.cast<Array<Any>>()[0].type_index(), kTVMFFIBool) << "1 is not True";
}

TEST(StructuralMap, CopiesObjectsOnWriteOnly) {
  Any let = Let(nullptr, nullptr, Array<Any>{1});
  Any mapped = StructuralMap(let, [](int64_t value) { return value + 1; });
  EXPECT_FALSE(mapped.same_as(let));
  EXPECT_EQ(Repr(mapped.cast<ObjectRef>().as<LetObj>()->body), "(2,)");
  EXPECT_EQ(mapped.cast<ObjectRef>().as<LetObj>()->span.cast<int>(), 99);
  EXPECT_EQ(Repr(let.cast<ObjectRef>().as<LetObj>()->body), "(1,)");
}

TEST(StructuralMap, MovedRootsAreChangedInPlace) {
  Any let = Let(nullptr, nullptr, Array<Any>{1});
  const Object* before = let.cast<ObjectRef>().get();
  const Object* body_before = let.cast<ObjectRef>().as<LetObj>()->body.cast<ObjectRef>().get();
  Any mapped = StructuralMap(std::move(let), [](int64_t value) { return value + 1; });
  EXPECT_EQ(mapped.cast<ObjectRef>().get(), before);
  EXPECT_EQ(mapped.cast<ObjectRef>().as<LetObj>()->body.cast<ObjectRef>().get(), body_before);
  EXPECT_EQ(Repr(mapped.cast<ObjectRef>().as<LetObj>()->body), "(2,)");
  // A shared child is copied, its owner is not.
  Array<Any> shared{1};
  Any owner = Array<Any>{shared};
  const Object* owner_before = owner.cast<ObjectRef>().get();
  Any changed = StructuralMap(std::move(owner), [](int64_t value) { return value + 1; });
  EXPECT_EQ(changed.cast<ObjectRef>().get(), owner_before);
  EXPECT_EQ(Repr(changed), "((2,),)");
  EXPECT_EQ(Repr(shared), "(1,)");
}

TEST(StructuralMap, VariablesAreRemappedConsistently) {
  Any x = Var(1);
  Any let = Let(nullptr, Array<Any>{x}, Array<Any>{x, x});
  int calls = 0;
  Any mapped = StructuralMap(let, [&](const VarObj*) {
    ++calls;
    return Var(2);
  });
  const auto* node = mapped.cast<ObjectRef>().as<LetObj>();
  Any fresh = node->params.cast<Array<Any>>()[0];
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(node->body.cast<Array<Any>>()[0].same_as(fresh));
  EXPECT_TRUE(node->body.cast<Array<Any>>()[1].same_as(fresh));
}

TEST(StructuralMap, PreOrderDescendsIntoTheReplacement) {
  Any mapped = StructuralMap<WalkOrder::kPreOrder>(
      Array<Any>{1}, [](const Array<Any>& array) { return array; },
      [](int64_t value) { return value + 10; });
  EXPECT_EQ(Repr(mapped), "(11,)");
}

TEST(StructuralMutate, CallbackResultsAreFinal) {
  Any result = StructuralMutate(Array<Any>{1, Array<Any>{2}},
                                [](const Array<Any>& array, StructuralMutatorObj* mutator) -> Any {
                                  if (array.size() == 1) return String("inner");
                                  return mutator->DefaultMutate(array).ValueOrUnchanged(array);
                                });
  EXPECT_EQ(Repr(result), "(1, \"inner\")");
  Expected<Any> failed = StructuralMutateExpected(
      Array<Any>{1},
      [](int64_t, StructuralMutatorObj*) -> Any { TVM_FFI_THROW(ValueError) << "no"; });
  ASSERT_TRUE(failed.is_err());
  EXPECT_EQ(std::string(failed.error().kind()), "ValueError");
}

TEST(UnchangedOr, Accessors) {
  UnchangedOr<Any> same{Unchanged{}};
  UnchangedOr<Any> other{Any(5)};
  EXPECT_TRUE(same.IsUnchanged());
  EXPECT_FALSE(other.IsUnchanged());
  EXPECT_EQ(same.ValueOrUnchanged(Any(1)).cast<int>(), 1);
  EXPECT_EQ(other.ValueOrUnchanged(Any(1)).cast<int>(), 5);
  EXPECT_EQ(other.as<int64_t>()->ValueUnchecked(), 5);
  EXPECT_FALSE(other.as<String>().has_value());
}

}  // namespace
