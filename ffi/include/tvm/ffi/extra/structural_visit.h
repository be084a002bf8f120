// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Traversals of values by their reflected structure.
///
/// StructuralWalk calls a callback for every value and descends by itself. StructuralVisit leaves
/// the descent to the callbacks. Both know in which definition region a value stands. The engines
/// are the same with a class of one's own below, which holds state and may change the descent.
#ifndef TVM_FFI_EXTRA_STRUCTURAL_VISIT_H_
#define TVM_FFI_EXTRA_STRUCTURAL_VISIT_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/expected.h>
#include <tvm/ffi/extra/base.h>
#include <tvm/ffi/extra/structural_detail.h>
#include <tvm/ffi/extra/visit_error_context.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/memory.h>
#include <tvm/ffi/object.h>
#include <tvm/ffi/optional.h>
#include <tvm/ffi/reflection/accessor.h>
#include <tvm/ffi/reflection/native_function.h>

#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

/// Returns an error or interrupt from a function that returns VisitResult.
#define TVM_FFI_S_VISIT_MAYBE_EARLY_RETURN(Result)                     \
  do {                                                                 \
    ::tvm::ffi::VisitResult visit_result_ = (Result);                  \
    if (visit_result_.is_err() || visit_result_.value().has_value()) { \
      return visit_result_;                                            \
    }                                                                  \
  } while (false)

namespace tvm {
namespace ffi {

/// Ends a traversal early; `value` is its result.
class VisitInterruptObj : public Object {
 public:
  Any value;

  VisitInterruptObj() = default;
  explicit VisitInterruptObj(Any value) : value(std::move(value)) {}

  static constexpr int32_t _type_index = kTVMFFIVisitInterrupt;
  static constexpr bool _type_final = true;
  TVM_FFI_DECLARE_OBJECT_INFO_STATIC("ffi.VisitInterrupt", VisitInterruptObj, Object);
};

class VisitInterrupt : public ObjectRef {
 public:
  explicit VisitInterrupt(Any value = Any())
      : ObjectRef(make_object<VisitInterruptObj>(std::move(value))) {}
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(VisitInterrupt, ObjectRef, VisitInterruptObj);
};

/// What a visit of one value came to.
using VisitResult = Expected<Optional<VisitInterrupt>>;

class StructuralVisitorObj;

using FStructuralVisit =
    reflection::NativeFunctionView<Optional<VisitInterrupt>(StructuralVisitorObj*, AnyView)>;

namespace type_attr {
/// Replaces the default descent of a type.
inline constexpr reflection::AttrKey<FStructuralVisit> kStructuralVisit{"__s_visit__"};
}  // namespace type_attr

/// How a value is visited.
struct StructuralVisitorVTable {
  TVMFFIAny (*visit)(StructuralVisitorObj* self, AnyView value) noexcept;
};

/// State and dispatch of one traversal. Lives as long as the traversal.
class StructuralVisitorObj : public Object {
 public:
  /// What the callbacks of an engine on this class see as their visitor.
  using VisitorObjType = StructuralVisitorObj;
  /// What the callbacks of an engine on this class get after the value.
  using StateTupleType = std::tuple<>;

  explicit StructuralVisitorObj(const StructuralVisitorVTable* vtable) : vtable_(vtable) {}

  /// Visits a value as this traversal does.
  VisitResult VisitExpected(AnyView value) {
    Any result = reflection::internal::AdoptAny(vtable_->visit(this, value));
    if (result.type_index() == kTVMFFIError) {
      return Unexpected<Error>(std::move(result).cast<Error>());
    }
    return VisitResult(result.cast<Optional<VisitInterrupt>>());
  }
  Optional<VisitInterrupt> Visit(AnyView value) { return VisitExpected(value).value(); }

  /// Visits the children of a value: by its `__s_visit__` hook, else elements, map values or
  /// reflected fields.
  inline VisitResult DefaultVisitExpected(AnyView value);

  TVMFFIDefRegionKind def_region_kind() const {
    return static_cast<TVMFFIDefRegionKind>(def_region_kind_);
  }

  /// Runs `body` in a region. Inside a Pattern region every kind stays Pattern.
  template <typename Body>
  auto WithDefRegionKind(TVMFFIDefRegionKind kind, Body&& body) {
    RegionScope scope(this, kind);
    return body();
  }

  TVM_FFI_DECLARE_OBJECT_INFO("ffi.StructuralVisitor", StructuralVisitorObj, Object);

 protected:
  struct RegionScope {
    RegionScope(StructuralVisitorObj* visitor, TVMFFIDefRegionKind kind)
        : visitor(visitor), saved(visitor->def_region_kind_) {
      if (saved != kTVMFFIDefRegionKindPattern) visitor->def_region_kind_ = kind;
    }
    ~RegionScope() { visitor->def_region_kind_ = saved; }
    RegionScope(const RegionScope&) = delete;
    RegionScope& operator=(const RegionScope&) = delete;
    StructuralVisitorObj* visitor;
    int32_t saved;
  };

  StateTupleType StateTuple() const noexcept { return {}; }

  const StructuralVisitorVTable* vtable_;
  int32_t def_region_kind_ = kTVMFFIDefRegionKindNone;
};

class StructuralVisitor : public ObjectRef {
 public:
  StructuralVisitorObj* operator->() const {
    return const_cast<StructuralVisitorObj*>(static_cast<const StructuralVisitorObj*>(data_.get()));
  }
  StructuralVisitorObj* get() const { return operator->(); }
  explicit StructuralVisitor(UnsafeInit tag) : ObjectRef(tag) {}
  using ContainerType = StructuralVisitorObj;
  static constexpr bool _type_is_nullable = false;
};

/// When a walk calls back: before or after the children.
enum class WalkOrder : int32_t { kPreOrder = 0, kPostOrder = 1 };

/// What a walk does after a callback.
class WalkResult {
 public:
  static WalkResult Advance() { return WalkResult(0); }
  /// Leaves the children of the value out; no effect in post-order.
  static WalkResult Skip() { return WalkResult(1); }
  static WalkResult Interrupt(VisitInterrupt interrupt = VisitInterrupt()) {
    WalkResult result(2);
    result.interrupt_ = std::move(interrupt);
    return result;
  }

  bool is_skip() const { return action_ == 1; }
  const Optional<VisitInterrupt>& interrupt() const { return interrupt_; }

 private:
  explicit WalkResult(int action) : action_(action) {}
  int action_;
  Optional<VisitInterrupt> interrupt_ = std::nullopt;
};

template <>
inline constexpr bool use_default_type_traits_v<WalkResult> = false;

/// Crosses the border as 0, 1 or the interrupt.
template <>
struct TypeTraits<WalkResult> : public TypeTraitsBase {
  static void CopyToAnyView(const WalkResult& src, TVMFFIAny* result) {
    *result = (src.interrupt().has_value() ? AnyView(*src.interrupt())
                                           : AnyView(static_cast<int64_t>(src.is_skip())))
                  .CopyToTVMFFIAny();
  }
  static void MoveToAny(WalkResult src, TVMFFIAny* result) {
    AnyView view;
    CopyToAnyView(src, reinterpret_cast<TVMFFIAny*>(&view));
    *result = detail::AnyUnsafe::MoveAnyToTVMFFIAny(Any(view));
  }
  static bool CheckAnyStrict(const TVMFFIAny* src) {
    if (src->type_index == kTVMFFIInt) return src->v_int64 == 0 || src->v_int64 == 1;
    return src->type_index == kTVMFFIVisitInterrupt;
  }
  static WalkResult CopyFromAnyViewAfterCheck(const TVMFFIAny* src) {
    if (src->type_index == kTVMFFIVisitInterrupt) {
      return WalkResult::Interrupt(TypeTraits<VisitInterrupt>::CopyFromAnyViewAfterCheck(src));
    }
    return src->v_int64 == 1 ? WalkResult::Skip() : WalkResult::Advance();
  }
  static WalkResult MoveFromAnyAfterCheck(TVMFFIAny* src) {
    const Any taken = detail::AnyUnsafe::MoveTVMFFIAnyToAny(src);
    return CopyFromAnyViewAfterCheck(reinterpret_cast<const TVMFFIAny*>(&taken));
  }
  static std::optional<WalkResult> TryCastFromAnyView(const TVMFFIAny* src) {
    if (CheckAnyStrict(src)) return CopyFromAnyViewAfterCheck(src);
    return std::nullopt;
  }
  static std::string TypeStr() { return "Variant<ffi.VisitInterrupt, int>"; }
  static std::string TypeSchema() {
    return R"({"type":"Variant","args":[{"type":"ffi.VisitInterrupt"},{"type":"int"}]})";
  }
};

namespace detail {

using WalkCallback = std::function<WalkResult(AnyView, TVMFFIDefRegionKind)>;
/// Returns false when no callback takes the value.
using VisitCallback =
    std::function<bool(AnyView, StructuralVisitorObj*, Optional<VisitInterrupt>*)>;

inline VisitResult NoInterrupt() { return VisitResult(Optional<VisitInterrupt>(std::nullopt)); }

/// Visits `child` in `kind`, whatever the region of the visitor is.
inline VisitResult VisitIn(StructuralVisitorObj* visitor, TVMFFIDefRegionKind kind,
                           const Any& child) {
  if (child.type_index() == kTVMFFINone) return NoInterrupt();
  return visitor->WithDefRegionKind(kind, [&] { return visitor->VisitExpected(child); });
}

inline VisitResult VisitFields(StructuralVisitorObj* visitor, const Any& value) {
  const TVMFFITypeInfo* type = TVMFFIGetTypeInfo(value.type_index());
  TVMFFIDefRegionKind region = visitor->def_region_kind();
  if (type->metadata != nullptr &&
      type->metadata->structural_eq_hash_kind == kTVMFFISEqHashKindFreeVar) {
    region = RegionOfVariableFields(region);
  }
  VisitResult result = NoInterrupt();
  reflection::ForEachFieldInfoWithEarlyStop(type, [&](const TVMFFIFieldInfo* field) {
    if ((field->flags & kTVMFFIFieldFlagBitMaskSEqHashIgnore) != 0) return false;
    result = VisitIn(visitor, RegionOfField(region, field), ReadField(value, field));
    return result.is_err() || result.value().has_value();
  });
  return result;
}

inline VisitResult VisitChildren(StructuralVisitorObj* visitor, const Any& value) {
  const TVMFFIDefRegionKind region = visitor->def_region_kind();
  if (IsSequence(value.type_index())) {
    const SequenceView items(RawAny(value));
    for (size_t i = 0; i < items.size(); ++i) {
      TVM_FFI_S_VISIT_MAYBE_EARLY_RETURN(VisitIn(visitor, region, items[i]));
    }
    return NoInterrupt();
  }
  if (IsMapping(value.type_index())) {
    for (const auto& entry : EntriesOf(value)) {
      TVM_FFI_S_VISIT_MAYBE_EARLY_RETURN(VisitIn(visitor, region, entry.second));
    }
    return NoInterrupt();
  }
  static const reflection::TypeAttrLookup hooks(type_attr::kStructuralVisit);
  const AnyView hook = hooks[value.type_index()];
  if (hook.type_index() != kTVMFFINone) {
    const auto view = type_attr::kStructuralVisit.ValueFrom(hook);
    return view->CallExpected(visitor, value);
  }
  return VisitFields(visitor, value);
}

/// Runs `body` one level deeper; a failure learns which object it happened in.
template <typename Body>
TVMFFIAny EnterValue(int* depth, const Any& value, const Body& body) noexcept {
  using reflection::internal::ReleaseAny;
  auto fail = [&value](const Error& error) {
    if (IsObject(RawAny(value))) ExtendVisitErrorContext(error, value.cast<ObjectRef>());
    return ReleaseAny(Any(Error(error)));
  };
  try {
    TraversalDepth guard(depth);
    VisitResult result = body();
    if (result.is_err()) return fail(result.error());
    return ReleaseAny(Any(result.value()));
  } catch (const Error& error) {
    return fail(error);
  } catch (const std::exception& error) {
    return fail(Error("InternalError", error.what(), ""));
  }
}

/// One value of a walk: `call_back` before or after `descend`.
template <typename CallBack, typename Descend>
VisitResult WalkValue(WalkOrder order, const Any& value, const CallBack& call_back,
                      const Descend& descend) {
  if (value.type_index() == kTVMFFINone) return NoInterrupt();
  const bool has_children = IsObject(RawAny(value));
  if (order == WalkOrder::kPostOrder) {
    if (has_children) TVM_FFI_S_VISIT_MAYBE_EARLY_RETURN(descend());
    return VisitResult(call_back().interrupt());
  }
  const WalkResult result = call_back();
  if (result.interrupt().has_value()) return VisitResult(result.interrupt());
  return result.is_skip() || !has_children ? NoInterrupt() : descend();
}

class WalkerObj final : public StructuralVisitorObj {
 public:
  WalkerObj(const WalkCallback* callback, WalkOrder order)
      : StructuralVisitorObj(&kTable), callback_(callback), order_(order) {}

  VisitResult Run(const Any& root) {
    CallbackBinding<WalkCallback> binding(&callback_);
    return VisitExpected(root);
  }

 private:
  static TVMFFIAny VisitValue(StructuralVisitorObj* visitor, AnyView view) noexcept {
    auto* self = static_cast<WalkerObj*>(visitor);
    const Any value(view);
    return EnterValue(&self->depth_, value, [&] { return self->Walk(value); });
  }

  VisitResult Walk(const Any& value) {
    auto call_back = [&] {
      return CallbackBinding<WalkCallback>::Get(callback_)(value, def_region_kind());
    };
    return WalkValue(order_, value, call_back, [&] { return VisitChildren(this, value); });
  }

  static constexpr StructuralVisitorVTable kTable{&VisitValue};
  const WalkCallback* callback_;
  WalkOrder order_;
  int depth_ = 0;
};

class CallbackVisitorObj final : public StructuralVisitorObj {
 public:
  explicit CallbackVisitorObj(const VisitCallback* callback)
      : StructuralVisitorObj(&kTable), callback_(callback) {}

  VisitResult Run(const Any& root) {
    CallbackBinding<VisitCallback> binding(&callback_);
    return VisitExpected(root);
  }

 private:
  static TVMFFIAny VisitValue(StructuralVisitorObj* visitor, AnyView view) noexcept {
    auto* self = static_cast<CallbackVisitorObj*>(visitor);
    const Any value(view);
    return EnterValue(&self->depth_, value, [&] { return self->Dispatch(value); });
  }

  VisitResult Dispatch(const Any& value) {
    if (value.type_index() == kTVMFFINone) return NoInterrupt();
    Optional<VisitInterrupt> interrupt = std::nullopt;
    const auto& callback = CallbackBinding<VisitCallback>::Get(callback_);
    if (callback(value, this, &interrupt)) return VisitResult(interrupt);
    return DefaultVisitExpected(value);
  }

  static constexpr StructuralVisitorVTable kTable{&VisitValue};
  const VisitCallback* callback_;
  int depth_ = 0;
};

inline VisitResult RunStructuralWalk(const Any& root, const WalkCallback& callback,
                                     WalkOrder order) {
  auto walker = make_object<WalkerObj>(&callback, order);
  return walker->Run(root);
}

inline VisitResult RunStructuralVisit(const Any& root, const VisitCallback& callback) {
  auto visitor = make_object<CallbackVisitorObj>(&callback);
  return visitor->Run(root);
}

/// Calls `fn(value, extra..)` when the value is what its first parameter takes.
template <typename F, typename Use>
bool CallIfMatches(F& fn, AnyView value, const Use& use) {
  using Args = typename FunctionInfo<std::remove_const_t<F>>::ArgType;
  using Value = std::remove_cv_t<std::remove_reference_t<std::tuple_element_t<0, Args>>>;
  if constexpr (std::is_same_v<Value, AnyView>) {
    use(fn, value);
    return true;
  } else if constexpr (std::is_same_v<Value, Any>) {
    use(fn, Any(value));
    return true;
  } else {
    std::optional<Value> typed = value.as<Value>();
    if (!typed.has_value()) return false;
    use(fn, *std::move(typed));
    return true;
  }
}

inline WalkResult ToWalkResult(WalkResult result) { return result; }
inline WalkResult ToWalkResult(Optional<VisitInterrupt> interrupt) {
  return interrupt.has_value() ? WalkResult::Interrupt(*interrupt) : WalkResult::Advance();
}
template <typename T>
WalkResult ToWalkResult(Expected<T> result) {
  return ToWalkResult(std::move(result).value());
}

/// fn(value, state..) or fn(value, state.., region kind).
template <typename F, typename... State>
bool WalkWith(F& fn, AnyView value, const std::tuple<State...>& state, TVMFFIDefRegionKind kind,
              WalkResult* result) {
  constexpr size_t kNumArgs = FunctionInfo<std::remove_const_t<F>>::num_args;
  constexpr bool kTakesKind = kNumArgs == sizeof...(State) + 2;
  static_assert(kTakesKind || kNumArgs == sizeof...(State) + 1,
                "the callback of a walk takes the value, the state and perhaps the region kind");
  return CallIfMatches(fn, value, [&](F& callback, auto&& typed) {
    auto with_state = [&](auto&... entries) {
      if constexpr (kTakesKind) {
        return callback(std::forward<decltype(typed)>(typed), entries..., kind);
      } else {
        return callback(std::forward<decltype(typed)>(typed), entries...);
      }
    };
    auto call = [&] { return std::apply(with_state, state); };
    if constexpr (std::is_void_v<decltype(call())>) {
      call();
    } else {
      *result = ToWalkResult(call());
    }
  });
}

inline Optional<VisitInterrupt> ToInterrupt(Optional<VisitInterrupt> interrupt) {
  return interrupt;
}
inline Optional<VisitInterrupt> ToInterrupt(VisitResult result) {
  return std::move(result).value();
}

/// fn(value, visitor) or fn(value, state.., visitor).
template <typename F, typename Visitor, typename... State>
bool VisitWith(F& fn, AnyView value, const std::tuple<State...>& state, Visitor* visitor,
               Optional<VisitInterrupt>* interrupt) {
  constexpr size_t kNumArgs = FunctionInfo<std::remove_const_t<F>>::num_args;
  static_assert(kNumArgs == 2 || kNumArgs == sizeof...(State) + 2,
                "the callback of a visit takes the value, perhaps the state, and the visitor");
  return CallIfMatches(fn, value, [&](F& callback, auto&& typed) {
    auto with_state = [&](auto&... entries) {
      if constexpr (kNumArgs == 2) {
        return callback(std::forward<decltype(typed)>(typed), visitor);
      } else {
        return callback(std::forward<decltype(typed)>(typed), entries..., visitor);
      }
    };
    auto call = [&] { return std::apply(with_state, state); };
    if constexpr (std::is_void_v<decltype(call())>) {
      call();
    } else {
      *interrupt = ToInterrupt(call());
    }
  });
}

}  // namespace detail

inline VisitResult StructuralVisitorObj::DefaultVisitExpected(AnyView value) {
  if (value.type_index() < kTVMFFIStaticObjectBegin) return detail::NoInterrupt();
  return detail::VisitChildren(this, Any(value));
}

/// Walk over a layer of its own: `Parent` derives from StructuralVisitorObj and passes its
/// constructor's argument on to it. After the value every callback gets what Parent::StateTuple()
/// holds, of type Parent::StateTupleType, then the region kind if it takes one. The children of a
/// value are visited by Parent::DefaultVisitExpected. Make it with make_object, start it with
/// Visit or VisitExpected; one traversal at a time.
template <typename Parent, WalkOrder order, typename... Callbacks>
class StructuralWalkEngine : public Parent {
 public:
  using StateTupleType = typename Parent::StateTupleType;

  explicit StructuralWalkEngine(Callbacks... callbacks)
      : Parent(&kTable), callbacks_(std::move(callbacks)...) {}

 private:
  static TVMFFIAny VisitValue(StructuralVisitorObj* visitor, AnyView view) noexcept {
    auto* self = static_cast<StructuralWalkEngine*>(visitor);
    const Any value(view);
    return detail::EnterValue(&self->depth_, value, [&] {
      return detail::WalkValue(
          order, value, [&] { return self->CallBack(value); },
          [&] { return self->Parent::DefaultVisitExpected(value); });
    });
  }

  WalkResult CallBack(const Any& value) {
    WalkResult result = WalkResult::Advance();
    const StateTupleType state = Parent::StateTuple();
    std::apply(
        [&](auto&... fns) {
          static_cast<void>(
              (detail::WalkWith(fns, value, state, Parent::def_region_kind(), &result) || ...));
        },
        callbacks_);
    return result;
  }

  static constexpr StructuralVisitorVTable kTable{&VisitValue};
  std::tuple<Callbacks...> callbacks_;
  int depth_ = 0;
};

/// Visit over a layer of its own; `Parent` as for StructuralWalkEngine. A callback is fn(value,
/// Parent::VisitorObjType*) or has the state between them, and its result is final. Values that no
/// callback takes are descended by Parent::DefaultVisitExpected.
template <typename Parent, typename... Callbacks>
class StructuralVisitEngine : public Parent {
 public:
  using StateTupleType = typename Parent::StateTupleType;

  explicit StructuralVisitEngine(Callbacks... callbacks)
      : Parent(&kTable), callbacks_(std::move(callbacks)...) {}

 private:
  static TVMFFIAny VisitValue(StructuralVisitorObj* visitor, AnyView view) noexcept {
    auto* self = static_cast<StructuralVisitEngine*>(visitor);
    const Any value(view);
    return detail::EnterValue(&self->depth_, value, [&] { return self->Dispatch(value); });
  }

  VisitResult Dispatch(const Any& value) {
    if (value.type_index() == kTVMFFINone) return detail::NoInterrupt();
    Optional<VisitInterrupt> interrupt = std::nullopt;
    auto* visitor = static_cast<typename Parent::VisitorObjType*>(this);
    const StateTupleType state = Parent::StateTuple();
    const bool taken = std::apply(
        [&](auto&... fns) {
          return (detail::VisitWith(fns, value, state, visitor, &interrupt) || ...);
        },
        callbacks_);
    return taken ? VisitResult(interrupt) : Parent::DefaultVisitExpected(value);
  }

  static constexpr StructuralVisitorVTable kTable{&VisitValue};
  std::tuple<Callbacks...> callbacks_;
  int depth_ = 0;
};

/// Walks `root`: for every value the first of `fns` whose first parameter takes it is called, as
/// fn(value) or fn(value, region kind). A callback returns nothing, WalkResult or an interrupt.
template <WalkOrder order = WalkOrder::kPostOrder, typename... Fns>
VisitResult StructuralWalkExpected(const Any& root, Fns&&... fns) {
  static_assert(sizeof...(Fns) > 0, "a walk needs at least one callback");
  return detail::RunStructuralWalk(
      root,
      [&](AnyView value, TVMFFIDefRegionKind kind) {
        WalkResult result = WalkResult::Advance();
        static_cast<void>((detail::WalkWith(fns, value, std::tuple<>(), kind, &result) || ...));
        return result;
      },
      order);
}

/// As StructuralWalkExpected, but throws.
template <WalkOrder order = WalkOrder::kPostOrder, typename... Fns>
Optional<VisitInterrupt> StructuralWalk(const Any& root, Fns&&... fns) {
  return StructuralWalkExpected<order>(root, fns...).value();
}

/// Visits `root`: fn(value, visitor) decides about the children of the values it takes; other
/// values are descended by default.
template <typename... Fns>
VisitResult StructuralVisitExpected(const Any& root, Fns&&... fns) {
  static_assert(sizeof...(Fns) > 0, "a visit needs at least one callback");
  return detail::RunStructuralVisit(
      root, [&](AnyView value, StructuralVisitorObj* visitor, Optional<VisitInterrupt>* result) {
        return (detail::VisitWith(fns, value, std::tuple<>(), visitor, result) || ...);
      });
}

template <typename... Fns>
Optional<VisitInterrupt> StructuralVisit(const Any& root, Fns&&... fns) {
  return StructuralVisitExpected(root, fns...).value();
}

}  // namespace ffi
}  // namespace tvm

#endif  // TVM_FFI_EXTRA_STRUCTURAL_VISIT_H_
