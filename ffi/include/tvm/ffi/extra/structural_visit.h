// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Traversals of values by their reflected structure.
///
/// StructuralWalk calls a callback for every value and descends by itself. StructuralVisit leaves
/// the descent to the callbacks. Both know in which definition region a value stands.
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

/// State and dispatch of one traversal. Lives as long as the traversal.
class StructuralVisitorObj : public Object {
 public:
  /// First member of the layout: how a value is visited.
  struct VTable {
    TVMFFIAny (*visit)(StructuralVisitorObj* self, AnyView value) noexcept;
  };

  explicit StructuralVisitorObj(const VTable* vtable) : vtable_(vtable) {}

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

  const VTable* vtable_;
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
    if (value.type_index() == kTVMFFINone) return NoInterrupt();
    if (order_ == WalkOrder::kPostOrder) {
      TVM_FFI_S_VISIT_MAYBE_EARLY_RETURN(Descend(value));
      return VisitResult(CallBack(value).interrupt());
    }
    const WalkResult result = CallBack(value);
    if (result.interrupt().has_value()) return VisitResult(result.interrupt());
    return result.is_skip() ? NoInterrupt() : Descend(value);
  }

  WalkResult CallBack(const Any& value) {
    return CallbackBinding<WalkCallback>::Get(callback_)(value, def_region_kind());
  }

  VisitResult Descend(const Any& value) {
    return IsObject(RawAny(value)) ? VisitChildren(this, value) : NoInterrupt();
  }

  static constexpr VTable kTable{&VisitValue};
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

  static constexpr VTable kTable{&VisitValue};
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
bool CallIfMatches(const F& fn, AnyView value, const Use& use) {
  using Args = typename FunctionInfo<F>::ArgType;
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

template <typename F>
bool WalkWith(const F& fn, AnyView value, TVMFFIDefRegionKind kind, WalkResult* result) {
  return CallIfMatches(fn, value, [&](const F& callback, auto&& typed) {
    auto call = [&] {
      if constexpr (FunctionInfo<F>::num_args == 2) {
        return callback(std::forward<decltype(typed)>(typed), kind);
      } else {
        return callback(std::forward<decltype(typed)>(typed));
      }
    };
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

template <typename F>
bool VisitWith(const F& fn, AnyView value, StructuralVisitorObj* visitor,
               Optional<VisitInterrupt>* interrupt) {
  return CallIfMatches(fn, value, [&](const F& callback, auto&& typed) {
    auto call = [&] { return callback(std::forward<decltype(typed)>(typed), visitor); };
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

/// Walks `root`: for every value the first of `fns` whose first parameter takes it is called, as
/// fn(value) or fn(value, region kind). A callback returns nothing, WalkResult or an interrupt.
template <WalkOrder order = WalkOrder::kPostOrder, typename... Fns>
VisitResult StructuralWalkExpected(const Any& root, const Fns&... fns) {
  static_assert(sizeof...(Fns) > 0, "a walk needs at least one callback");
  return detail::RunStructuralWalk(
      root,
      [&](AnyView value, TVMFFIDefRegionKind kind) {
        WalkResult result = WalkResult::Advance();
        static_cast<void>((detail::WalkWith(fns, value, kind, &result) || ...));
        return result;
      },
      order);
}

/// As StructuralWalkExpected, but throws.
template <WalkOrder order = WalkOrder::kPostOrder, typename... Fns>
Optional<VisitInterrupt> StructuralWalk(const Any& root, const Fns&... fns) {
  return StructuralWalkExpected<order>(root, fns...).value();
}

/// Visits `root`: fn(value, visitor) decides about the children of the values it takes; other
/// values are descended by default.
template <typename... Fns>
VisitResult StructuralVisitExpected(const Any& root, const Fns&... fns) {
  return detail::RunStructuralVisit(
      root, [&](AnyView value, StructuralVisitorObj* visitor, Optional<VisitInterrupt>* result) {
        return (detail::VisitWith(fns, value, visitor, result) || ...);
      });
}

template <typename... Fns>
Optional<VisitInterrupt> StructuralVisit(const Any& root, const Fns&... fns) {
  return StructuralVisitExpected(root, fns...).value();
}

}  // namespace ffi
}  // namespace tvm

#endif  // TVM_FFI_EXTRA_STRUCTURAL_VISIT_H_
