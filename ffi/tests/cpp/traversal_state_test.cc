// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// What hooks and callbacks of traversals may ask and set: regions, the table of variables, modes.
#include <gtest/gtest.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/structural_mutate.h>
#include <tvm/ffi/extra/structural_visit.h>
#include <tvm/ffi/extra/visit_error_context.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "testing_object.h"

namespace tvm {
namespace ffi {
namespace {

namespace refl = tvm::ffi::reflection;
using testing::ErrorOf;

class VarObj : public Object {
 public:
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindFreeVar;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.state.Var", VarObj, Object);
};

/// `binds` is a definition, `content` comes after; both hooks visit `content` only.
class ScopeObj : public Object {
 public:
  Any binds;
  Any content;
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.state.Scope", ScopeObj, Object);
};

VisitResult VisitScope(StructuralVisitorObj* visitor, AnyView value) {
  const auto* self = value.cast<const ScopeObj*>();
  TVM_FFI_S_VISIT_MAYBE_EARLY_RETURN(visitor->WithDefRegionKind(
      kTVMFFIDefRegionKindSimple, [&] { return visitor->VisitExpected(self->binds); }));
  return visitor->VisitExpected(self->content);
}

/// Rewritten by a hook of its own that reads its parts with types.
class TypedObj : public Object {
 public:
  Array<int64_t> numbers;
  Any note;
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.state.Typed", TypedObj, Object);
};

Expected<UnchangedOr<Any>> MutateTyped(StructuralMutatorObj* mutator, AnyView value) {
  const auto* self = value.cast<const TypedObj*>();
  TVM_FFI_S_MUTATE_ASSIGN_OR_RETURN(UnchangedOr<Array<int64_t>>, numbers,
                                    mutator->MutateExpected(self->numbers));
  TVM_FFI_UNSAFE_S_MUTATE_ASSIGN_OR_RETURN(UnchangedOr<Any>, note,
                                           mutator->MutateExpected(self->note));
  if (numbers.UnchangedOrSameAs(self->numbers) && note.IsUnchanged()) return Unchanged();
  auto copy = make_object<TypedObj>(*self);
  copy->numbers = std::move(numbers).ValueOrUnchanged(self->numbers);
  copy->note = std::move(note).ValueOrUnchanged(self->note);
  return UnchangedOr<Any>(Any(ObjectRef(copy)));
}

/// Has a hook that is neither an address nor a function.
class BadHookObj : public Object {
 public:
  Any child = 1;
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.state.BadHook", BadHookObj, Object);
};

/// Its shallow copy returns the object itself.
class BadCopyObj : public Object {
 public:
  Any child = 1;
  BadCopyObj() = default;
  BadCopyObj(const BadCopyObj&) = delete;
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.state.BadCopy", BadCopyObj, Object);
};

/// Cannot be copied at all.
class NoCopyObj : public Object {
 public:
  Any child = 1;
  NoCopyObj() = default;
  NoCopyObj(const NoCopyObj&) = delete;
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.state.NoCopy", NoCopyObj, Object);
};

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<VarObj>();
  refl::ObjectDef<ScopeObj>()
      .def_ro("binds", &ScopeObj::binds)
      .def_ro("content", &ScopeObj::content);
  refl::TypeAttrDef<ScopeObj>().native_fn_attr<&VisitScope>(type_attr::kStructuralVisit);
  refl::ObjectDef<TypedObj>().def_ro("numbers", &TypedObj::numbers).def_ro("note", &TypedObj::note);
  refl::TypeAttrDef<TypedObj>().attr(type_attr::kStructuralMutate,
                                     Any(AnyView(FStructuralMutate::FromNative<&MutateTyped>())));
  refl::ObjectDef<BadHookObj>().def_ro("child", &BadHookObj::child);
  refl::TypeAttrDef<BadHookObj>().attr("__s_mutate__", 3);
  refl::ObjectDef<BadCopyObj>().def_ro("child", &BadCopyObj::child);
  refl::TypeAttrDef<BadCopyObj>().attr("__ffi_shallow_copy__",
                                       Function::FromTyped([](const Any& self) { return self; }));
  refl::ObjectDef<NoCopyObj>().def_ro("child", &NoCopyObj::child);
}

template <typename T>
Any Make() {
  return ObjectRef(make_object<T>());
}

Any Scope(Any binds, Any content) {
  auto scope = make_object<ScopeObj>();
  scope->binds = std::move(binds);
  scope->content = std::move(content);
  return ObjectRef(scope);
}

const auto kAddOne = [](int64_t value) { return value + 1; };

TEST(Regions, HooksOpenThem) {
  std::vector<std::pair<int64_t, int>> seen;
  StructuralWalk<WalkOrder::kPreOrder>(
      Scope(1, Array<Any>{2}),
      [&](int64_t value, TVMFFIDefRegionKind kind) { seen.emplace_back(value, kind); });
  EXPECT_EQ(seen, (std::vector<std::pair<int64_t, int>>{{1, 2}, {2, 0}}));
}

TEST(Regions, PatternAbsorbsWhatIsOpenedInside) {
  std::vector<int> kinds;
  StructuralVisit(
      Array<Any>{Scope(1, 2)},
      [&](int64_t, StructuralVisitorObj* visitor) { kinds.push_back(visitor->def_region_kind()); },
      [&](const Array<Any>& array, StructuralVisitorObj* visitor) {
        return visitor->WithDefRegionKind(kTVMFFIDefRegionKindPattern,
                                          [&] { return visitor->DefaultVisitExpected(array); });
      });
  EXPECT_EQ(kinds, (std::vector<int>{kTVMFFIDefRegionKindPattern, kTVMFFIDefRegionKindPattern}));
}

TEST(Regions, AreLeftWhenABodyThrows) {
  int after = -1;
  StructuralVisit(Array<Any>{1}, [&](int64_t, StructuralVisitorObj* visitor) {
    EXPECT_EQ(ErrorOf([&] {
                visitor->WithDefRegionKind(kTVMFFIDefRegionKindSimple,
                                           []() -> int { TVM_FFI_THROW(ValueError) << "inside"; });
              }),
              "ValueError: inside");
    after = visitor->def_region_kind();
  });
  EXPECT_EQ(after, kTVMFFIDefRegionKindNone);
}

TEST(Variables, RemapTable) {
  Any x = Make<VarObj>(), fresh = Make<VarObj>();
  Any result = StructuralMutate(
      Array<Any>{7, x, x}, [&](int64_t value, StructuralMutatorObj* mutator) -> Any {
        EXPECT_EQ(mutator->VarRemapGetExpected(x).value().type_index(), kTVMFFINone);
        mutator->VarRemapSetExpected(x, fresh).value();
        EXPECT_TRUE(mutator->VarRemapGetExpected(x).value().same_as(fresh));
        return value;
      });
  EXPECT_TRUE(result.cast<Array<Any>>()[1].same_as(fresh));
  EXPECT_TRUE(result.cast<Array<Any>>()[2].same_as(fresh));
}

TEST(Variables, FreeOnesStay) {
  Any x = Make<VarObj>();
  Any root = Array<Any>{x, x};
  Any result = StructuralMutate(root, [](int64_t value, StructuralMutatorObj*) { return value; });
  EXPECT_TRUE(result.same_as(root));
}

TEST(Modes, OnlyUniqueObjectsAreChanged) {
  std::vector<InplaceMode> modes;
  auto note = [&](const List<Any>& list, StructuralMutatorObj* mutator, InplaceMode mode) -> Any {
    modes.push_back(mode);
    return mutator->DefaultMutate(list, mode).ValueOrUnchanged(list);
  };
  auto add = [](int64_t value, StructuralMutatorObj*) { return value + 1; };
  List<Any> shared{1};
  Any copied = StructuralMutate(Any(Array<Any>{shared}), note, add);
  EXPECT_EQ(shared[0].cast<int>(), 1) << "the caller holds it too";
  EXPECT_EQ(copied.cast<Array<Any>>()[0].cast<List<Any>>()[0].cast<int>(), 2);
  Any root = Array<Any>{List<Any>{1}};
  const Object* before = root.cast<ObjectRef>().get();
  Any moved = StructuralMutate(std::move(root), add);
  EXPECT_EQ(moved.cast<ObjectRef>().get(), before);
  EXPECT_EQ(modes.size(), 1U);
}

Any Typed(Array<int64_t> numbers, Any note) {
  auto typed = make_object<TypedObj>();
  typed->numbers = std::move(numbers);
  typed->note = std::move(note);
  return ObjectRef(typed);
}

TEST(TypedHooks, ReadPartsByType) {
  Any root = Typed({1, 2}, String("n"));
  EXPECT_TRUE(StructuralMap(root, [](double value) { return value; }).same_as(root));
  Any mapped = StructuralMap(root, kAddOne);
  const auto* node = mapped.cast<ObjectRef>().as<TypedObj>();
  EXPECT_EQ(node->numbers[1], 3);
  EXPECT_EQ(node->note.cast<String>(), "n");
  EXPECT_EQ(root.cast<ObjectRef>().as<TypedObj>()->numbers[1], 2);
  mapped = StructuralMap(root, [](const String& text) { return text + "!"; });
  EXPECT_EQ(mapped.cast<ObjectRef>().as<TypedObj>()->note.cast<String>(), "n!");
}

TEST(TypedHooks, OtherTypesAndFailuresAreReturned) {
  Any root = Typed({1, 2}, nullptr);
  EXPECT_EQ(ErrorOf([&] { StructuralMap(root, [](int64_t) { return String("text"); }); }),
            "TypeError: structural mutate result does not match the declared type");
  EXPECT_EQ(ErrorOf([&] {
              StructuralMap(root, [](int64_t) -> Any { TVM_FFI_THROW(KeyError) << "inner"; });
            }),
            "KeyError: inner");
}

TEST(TypedHooks, ResultsAreOneCell) {
  static_assert(sizeof(Expected<UnchangedOr<Any>>) == 16);
  Expected<UnchangedOr<String>> same = UnchangedOr<String>(Unchanged());
  EXPECT_TRUE(same.is_ok() && same.value().IsUnchanged());
  Expected<UnchangedOr<String>> text = UnchangedOr<String>(String("x"));
  EXPECT_EQ(text.value().ValueOrUnchanged("y"), "x");
  Expected<UnchangedOr<String>> failed = Error("ValueError", "bad", "");
  EXPECT_EQ(failed.error().message(), "bad");
  EXPECT_FALSE(Any(3).try_cast<UnchangedOr<String>>().has_value());
}

TEST(BadHooks, AreTypeErrors) {
  EXPECT_EQ(ErrorOf([] { StructuralMap(Make<BadHookObj>(), kAddOne); }),
            "TypeError: __s_mutate__ must be a direct hook pointer or ffi.Function");
  Any kept = Make<BadCopyObj>();
  EXPECT_EQ(ErrorOf([&] { StructuralMap(kept, kAddOne); }),
            "TypeError: Shallow copy callback must return a distinct object with the same type as "
            "its input");
  kept = Make<NoCopyObj>();
  EXPECT_NE(ErrorOf([&] {
              StructuralMap(kept, kAddOne);
            }).find("TypeError: __ffi_shallow_copy__ must be an ffi.Function"),
            std::string::npos);
}

TEST(BadHooks, ErrorsOfCallbacksComeThrough) {
  Expected<Any> mapped = StructuralMapExpected(
      Array<Any>{1}, [](int64_t) -> Any { TVM_FFI_THROW(KeyError) << "in a callback"; });
  ASSERT_TRUE(mapped.is_err());
  EXPECT_EQ(mapped.error().kind(), "KeyError");
  EXPECT_EQ(
      StructuralWalkExpected(Array<Any>{1}, [](int64_t) { TVM_FFI_THROW(IndexError) << "walk"; })
          .error()
          .kind(),
      "IndexError");
}

/// Counts the lists it is inside of and hides those that are nested more than twice.
class DepthLayerObj : public StructuralVisitorObj {
 public:
  using VisitorObjType = DepthLayerObj;
  using StateTupleType = std::tuple<const int&, std::string&>;

  explicit DepthLayerObj(const StructuralVisitorVTable* vtable) : StructuralVisitorObj(vtable) {}

  VisitResult DefaultVisitExpected(AnyView value) {
    if (depth_ == 2) return Optional<VisitInterrupt>(std::nullopt);
    ++depth_;
    VisitResult result = StructuralVisitorObj::DefaultVisitExpected(value);
    --depth_;
    return result;
  }

  std::string log;

 protected:
  // The state is a part of the layer; callbacks may change it.
  StateTupleType StateTuple() const noexcept {
    return {depth_, const_cast<DepthLayerObj*>(this)->log};
  }

  int depth_ = 0;
};

template <template <typename, typename...> class Engine, typename... Callbacks>
auto MakeEngine(Callbacks... callbacks) {
  return make_object<Engine<DepthLayerObj, Callbacks...>>(std::move(callbacks)...);
}
template <typename Parent, typename... Callbacks>
using PreOrderEngine = StructuralWalkEngine<Parent, WalkOrder::kPreOrder, Callbacks...>;
template <typename Parent, typename... Callbacks>
using PostOrderEngine = StructuralWalkEngine<Parent, WalkOrder::kPostOrder, Callbacks...>;

void Note(std::string& log, const std::string& text, int depth) {
  log += text + "@" + std::to_string(depth) + " ";
}

const auto kNoteNumber = [](int64_t value, int depth, std::string& log) {
  Note(log, std::to_string(value), depth);
};
const auto kNoteList = [](const Array<Any>& list, int depth, std::string& log) {
  Note(log, "list" + std::to_string(list.size()), depth);
};

Any NestedRoot() { return Array<Any>{1, Array<Any>{2, Array<Any>{3}}}; }

TEST(Engines, CallbacksGetTheStateOfTheLayer) {
  auto pre = MakeEngine<PreOrderEngine>(kNoteNumber, kNoteList);
  EXPECT_FALSE(pre->Visit(NestedRoot()).has_value());
  EXPECT_EQ(pre->log, "list2@0 1@1 list2@1 2@2 list1@2 ");
  auto post = MakeEngine<PostOrderEngine>(kNoteNumber, kNoteList);
  post->Visit(NestedRoot());
  EXPECT_EQ(post->log, "1@1 2@2 list1@2 list2@1 list2@0 ");
  post->Visit(Any(7));
  EXPECT_EQ(post->log, "1@1 2@2 list1@2 list2@1 list2@0 7@0 ");
}

TEST(Engines, WalksTakeTheRegionKindLast) {
  auto engine = MakeEngine<PreOrderEngine>(
      [](int64_t value, int, std::string& log, TVMFFIDefRegionKind kind) {
        log += std::to_string(value) + ":" + std::to_string(kind) + " ";
      });
  engine->Visit(Scope(1, Array<Any>{2}));
  EXPECT_EQ(engine->log, "1:2 2:0 ");
}

TEST(Engines, WalksSkipAndStop) {
  auto engine = MakeEngine<PreOrderEngine>(
      [](const Array<Any>& list, int, std::string&) {
        return list.size() == 1 ? WalkResult::Skip() : WalkResult::Advance();
      },
      [](int64_t value, int, std::string& log) {
        Note(log, "seen", static_cast<int>(value));
        return value == 5 ? WalkResult::Interrupt(VisitInterrupt(value)) : WalkResult::Advance();
      });
  Optional<VisitInterrupt> stopped = engine->Visit(Array<Any>{Array<Any>{4}, 5, 6});
  EXPECT_EQ(engine->log, "seen@5 ");
  ASSERT_TRUE(stopped.has_value());
  EXPECT_EQ((*stopped)->value.cast<int>(), 5);
}

TEST(Engines, VisitsSeeTheLayerAsTheirVisitor) {
  auto engine = MakeEngine<StructuralVisitEngine>(
      [](int64_t value, const int& depth, std::string& log, DepthLayerObj* visitor) {
        EXPECT_EQ(&visitor->log, &log);
        Note(log, std::to_string(value), depth);
      },
      [](const List<Any>& list, DepthLayerObj* visitor) -> VisitResult {
        Note(visitor->log, "list", static_cast<int>(list.size()));
        return visitor->DefaultVisitExpected(list);
      });
  engine->Visit(Array<Any>{1, List<Any>{2, Array<Any>{3}}});
  EXPECT_EQ(engine->log, "1@1 list@2 2@2 ") << "what is nested deeper is hidden by the layer";
}

TEST(Engines, ErrorsAreReturnedWithTheirPlace) {
  auto engine = MakeEngine<PostOrderEngine>(
      [](int64_t, int, std::string&) { TVM_FFI_THROW(KeyError) << "no"; });
  Array<Any> inner{1};
  Array<Any> root{inner};
  VisitResult result = engine->VisitExpected(root);
  ASSERT_TRUE(result.is_err());
  EXPECT_EQ(result.error().kind(), "KeyError");
  ASSERT_TRUE(result.error().extra_context().has_value());
  VisitErrorContext context = Any(*result.error().extra_context()).cast<VisitErrorContext>();
  EXPECT_EQ(VisitErrorContext::FindAccessPaths(root, context).size(), 1U);
  List<Any> cycle;
  cycle.push_back(cycle);
  auto walk =
      make_object<PostOrderEngine<StructuralVisitorObj, void (*)(int64_t)>>(+[](int64_t) {});
  EXPECT_NE(ErrorOf([&] { walk->Visit(cycle); }).find("contains itself"), std::string::npos);
  cycle.clear();
}

TEST(Callbacks, MayKeepStateOfTheirOwn) {
  int64_t last = 0;
  auto count = [&last, calls = int64_t{0}](int64_t) mutable { last = ++calls; };
  StructuralWalk(Array<Any>{5, 6, 7}, count);
  EXPECT_EQ(last, 3);
  auto number = [calls = int64_t{0}](int64_t) mutable { return ++calls; };
  Any mapped = StructuralMap(Array<Any>{5, 5}, number);
  EXPECT_EQ(mapped.cast<Array<int64_t>>()[1], 2);
}

TEST(WalkResults, CrossTheBorder) {
  EXPECT_EQ(Any(WalkResult::Advance()).cast<int>(), 0);
  EXPECT_EQ(Any(WalkResult::Skip()).cast<int>(), 1);
  Any interrupt = WalkResult::Interrupt(VisitInterrupt(String("why")));
  EXPECT_EQ(interrupt.cast<VisitInterrupt>()->value.cast<String>(), "why");
  EXPECT_EQ(interrupt.cast<WalkResult>().interrupt().value()->value.cast<String>(), "why");
  EXPECT_TRUE(Any(1).cast<WalkResult>().is_skip());
  EXPECT_FALSE(Any(2).try_cast<WalkResult>().has_value());
  EXPECT_FALSE(Any("x").try_cast<WalkResult>().has_value());
  TypedFunction<WalkResult(int64_t)> stop = Function::FromTyped([](int64_t value) {
    return value == 2 ? WalkResult::Interrupt(VisitInterrupt(value)) : WalkResult::Advance();
  });
  Optional<VisitInterrupt> result =
      StructuralWalk(Array<Any>{1, 2, 3}, [&](int64_t value) { return stop(value); });
  EXPECT_EQ(result.value()->value.cast<int>(), 2);
}

}  // namespace
}  // namespace ffi
}  // namespace tvm
