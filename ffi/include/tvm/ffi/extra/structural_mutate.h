// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Rewrites of values by their reflected structure. Unchanged subtrees keep their identity.
///
/// StructuralMap replaces values by what a callback returns and descends by itself.
/// StructuralMutate leaves the descent to the callbacks. With `std::move(root)` objects that
/// nothing else refers to are changed in place; all others are copied when something below changes.
#ifndef TVM_FFI_EXTRA_STRUCTURAL_MUTATE_H_
#define TVM_FFI_EXTRA_STRUCTURAL_MUTATE_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/expected.h>
#include <tvm/ffi/extra/base.h>
#include <tvm/ffi/extra/structural_visit.h>
#include <tvm/ffi/memory.h>
#include <tvm/ffi/object.h>
#include <tvm/ffi/reflection/accessor.h>
#include <tvm/ffi/reflection/native_function.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace tvm {
namespace ffi {

/// Whether a mutation may change the object it is given. It acts on unique objects only.
enum class InplaceMode : int32_t { kDisallow = 0, kAllow = 1 };

/// Result marker: the value stays as it is. Never a value itself.
struct Unchanged {};

template <>
inline constexpr bool use_default_type_traits_v<Unchanged> = false;

template <>
struct TypeTraits<Unchanged> : public TypeTraitsBase {
  static constexpr int32_t field_static_type_index = kTVMFFIUnchanged;
  static void CopyToAnyView(const Unchanged&, TVMFFIAny* result) {
    result->type_index = kTVMFFIUnchanged;
    result->zero_padding = 0;
    result->v_int64 = 0;
  }
  static void MoveToAny(Unchanged value, TVMFFIAny* result) { CopyToAnyView(value, result); }
  static bool CheckAnyStrict(const TVMFFIAny* src) { return src->type_index == kTVMFFIUnchanged; }
  static Unchanged CopyFromAnyViewAfterCheck(const TVMFFIAny*) { return {}; }
  static Unchanged MoveFromAnyAfterCheck(TVMFFIAny*) { return {}; }
  static std::optional<Unchanged> TryCastFromAnyView(const TVMFFIAny* src) {
    if (CheckAnyStrict(src)) return Unchanged{};
    return std::nullopt;
  }
  static std::string TypeStr() { return "ffi.Unchanged"; }
  static std::string TypeSchema() { return R"({"type":"ffi.Unchanged"})"; }
};

/// A new value, or the statement that the old one stays.
template <typename T>
class UnchangedOr {
 public:
  using value_type = T;

  UnchangedOr(Unchanged) : data_(Unchanged{}) {}          // NOLINT(google-explicit-constructor)
  UnchangedOr(T value) : data_(Any(std::move(value))) {}  // NOLINT(google-explicit-constructor)
  template <typename U,
            typename = std::enable_if_t<std::is_convertible_v<U, T> && !std::is_same_v<U, T>>>
  UnchangedOr(UnchangedOr<U> other)  // NOLINT(google-explicit-constructor)
      : data_(std::move(other).data()) {}

  bool IsUnchanged() const { return data_.type_index() == kTVMFFIUnchanged; }

  /// Whether the result is `original`, by the marker or by identity.
  bool UnchangedOrSameAs(const T& original) const {
    return IsUnchanged() || data_.same_as(Any(original));
  }

  /// The new value, or `original`.
  T ValueOrUnchanged(T original) && {
    return IsUnchanged() ? std::move(original) : std::move(*this).ValueUnchecked();
  }
  T ValueOrUnchanged(T original) const& {
    return UnchangedOr(*this).ValueOrUnchanged(std::move(original));
  }

  /// The new value; there must be one.
  T ValueUnchecked() && {
    if constexpr (std::is_same_v<T, Any>) {
      return std::move(data_);
    } else {
      return std::move(data_).template cast<T>();
    }
  }
  T ValueUnchecked() const& { return UnchangedOr(*this).ValueUnchecked(); }

  /// Narrows the type; nullopt when the new value is no U.
  template <typename U>
  std::optional<UnchangedOr<U>> as() const {
    if (IsUnchanged()) return UnchangedOr<U>(Unchanged{});
    if (std::optional<U> value = data_.template as<U>()) return UnchangedOr<U>(*std::move(value));
    return std::nullopt;
  }
  template <typename U>
  UnchangedOr<U> as_or_throw() const {
    if (IsUnchanged()) return UnchangedOr<U>(Unchanged{});
    return UnchangedOr<U>(data_.template as_or_throw<U>());
  }

  const Any& data() const& { return data_; }
  Any data() && { return std::move(data_); }

 private:
  Any data_;
};

class StructuralMutatorObj;

/// Returns a value or the Unchanged marker.
using FStructuralMutate = reflection::NativeFunctionView<Any(StructuralMutatorObj*, AnyView)>;

namespace type_attr {
/// Replaces the default mutation of a type.
inline constexpr reflection::AttrKey<Any> kStructuralMutate{"__s_mutate__"};
/// As above for an object that may be changed in place.
inline constexpr reflection::AttrKey<Any> kStructuralMaybeInplaceMutate{
    "__s_maybe_inplace_mutate__"};
}  // namespace type_attr

/// State and dispatch of one rewrite. Lives as long as the rewrite.
class StructuralMutatorObj : public Object {
 public:
  struct VTable {
    TVMFFIAny (*mutate)(StructuralMutatorObj* self, AnyView value) noexcept;
    TVMFFIAny (*maybe_inplace_mutate)(StructuralMutatorObj* self, AnyView value) noexcept;
    /// None when nothing is recorded.
    TVMFFIAny (*var_remap_get)(StructuralMutatorObj* self, AnyView var) noexcept;
    TVMFFIAny (*var_remap_set)(StructuralMutatorObj* self, AnyView var, AnyView mapped) noexcept;
  };

  explicit StructuralMutatorObj(const VTable* vtable) : vtable_(vtable) {}

  /// Rewrites a value as this rewrite does. For kAllow, `value` must be a view of the reference
  /// that owns the object.
  Any MutateRaw(AnyView value, InplaceMode mode) {
    auto* entry = mode == InplaceMode::kAllow ? vtable_->maybe_inplace_mutate : vtable_->mutate;
    return Checked(entry(this, value));
  }
  UnchangedOr<Any> Mutate(AnyView value, InplaceMode mode = InplaceMode::kDisallow) {
    return FromRaw(MutateRaw(value, mode));
  }
  /// As Mutate, with failures returned.
  TVM_FFI_EXTRA_CXX_API Expected<Any> MutateExpected(AnyView value,
                                                     InplaceMode mode = InplaceMode::kDisallow);

  /// Rewrites the children of a value: a value, the Unchanged marker or an error.
  TVM_FFI_EXTRA_CXX_API Expected<Any> DefaultMutateExpected(
      AnyView value, InplaceMode mode = InplaceMode::kDisallow);
  UnchangedOr<Any> DefaultMutate(AnyView value, InplaceMode mode = InplaceMode::kDisallow) {
    return FromRaw(DefaultMutateExpected(value, mode).value());
  }

  /// What a variable or DAG node has become; None when nothing is recorded.
  TVM_FFI_EXTRA_CXX_API Expected<Any> VarRemapGetExpected(AnyView var);
  TVM_FFI_EXTRA_CXX_API Expected<void> VarRemapSetExpected(AnyView var, AnyView mapped);

  TVMFFIDefRegionKind def_region_kind() const {
    return static_cast<TVMFFIDefRegionKind>(def_region_kind_);
  }

  /// Runs `body` in a region. Inside a Pattern region every kind stays Pattern.
  template <typename Body>
  auto WithDefRegionKind(TVMFFIDefRegionKind kind, Body&& body) {
    struct Restore {
      StructuralMutatorObj* mutator;
      int32_t saved;
      ~Restore() { mutator->def_region_kind_ = saved; }
    } restore{this, def_region_kind_};
    if (def_region_kind_ != kTVMFFIDefRegionKindPattern) def_region_kind_ = kind;
    return body();
  }

  static UnchangedOr<Any> FromRaw(Any raw) {
    if (raw.type_index() == kTVMFFIUnchanged) return UnchangedOr<Any>(Unchanged{});
    return UnchangedOr<Any>(std::move(raw));
  }

  TVM_FFI_DECLARE_OBJECT_INFO("ffi.StructuralMutator", StructuralMutatorObj, Object);

 protected:
  static Any Checked(TVMFFIAny raw) {
    Any result = reflection::internal::AdoptAny(raw);
    if (result.type_index() == kTVMFFIError) throw std::move(result).cast<Error>();
    return result;
  }

  const VTable* vtable_;
  int32_t def_region_kind_ = kTVMFFIDefRegionKindNone;
};

class StructuralMutator : public ObjectRef {
 public:
  StructuralMutatorObj* operator->() const {
    return const_cast<StructuralMutatorObj*>(static_cast<const StructuralMutatorObj*>(data_.get()));
  }
  StructuralMutatorObj* get() const { return operator->(); }
  explicit StructuralMutator(UnsafeInit tag) : ObjectRef(tag) {}
  using ContainerType = StructuralMutatorObj;
  static constexpr bool _type_is_nullable = false;
};

namespace detail {

/// Replacement, Unchanged marker, or nullopt when no callback takes the value.
using MapCallback = std::function<std::optional<Any>(AnyView, TVMFFIDefRegionKind)>;
using MutateCallback =
    std::function<std::optional<Any>(AnyView, StructuralMutatorObj*, InplaceMode)>;

TVM_FFI_EXTRA_CXX_API Any RunStructuralMap(Any root, const MapCallback& callback, WalkOrder order);
TVM_FFI_EXTRA_CXX_API Any RunStructuralMutate(Any root, const MutateCallback& callback);

template <typename T>
Any ToReplacement(T&& result) {
  return Any(std::forward<T>(result));
}
template <typename T>
Any ToReplacement(UnchangedOr<T> result) {
  return std::move(result).data();
}
template <typename T>
Any ToReplacement(Expected<T> result) {
  return ToReplacement(std::move(result).value());
}

template <typename F>
bool MapWith(const F& fn, AnyView value, TVMFFIDefRegionKind kind, std::optional<Any>* result) {
  return CallIfMatches(fn, value, [&](const F& callback, auto&& typed) {
    if constexpr (FunctionInfo<F>::num_args == 2) {
      *result = ToReplacement(callback(std::forward<decltype(typed)>(typed), kind));
    } else {
      *result = ToReplacement(callback(std::forward<decltype(typed)>(typed)));
    }
  });
}

template <typename F>
bool MutateWith(const F& fn, AnyView value, StructuralMutatorObj* mutator, InplaceMode mode,
                std::optional<Any>* result) {
  return CallIfMatches(fn, value, [&](const F& callback, auto&& typed) {
    if constexpr (FunctionInfo<F>::num_args == 3) {
      *result = ToReplacement(callback(std::forward<decltype(typed)>(typed), mutator, mode));
    } else {
      *result = ToReplacement(callback(std::forward<decltype(typed)>(typed), mutator));
    }
  });
}

}  // namespace detail

/// Maps `root`: each value becomes what the first matching fn(value[, region kind]) returns: a
/// replacement or Unchanged. Post-order callbacks see rewritten children; in pre-order the
/// replacement is descended into.
template <WalkOrder order = WalkOrder::kPostOrder, typename... Fns>
Any StructuralMap(Any root, const Fns&... fns) {
  static_assert(sizeof...(Fns) > 0, "a map needs at least one callback");
  return detail::RunStructuralMap(
      std::move(root),
      [&](AnyView value, TVMFFIDefRegionKind kind) {
        std::optional<Any> result;
        static_cast<void>((detail::MapWith(fns, value, kind, &result) || ...));
        return result;
      },
      order);
}

/// Rewrites `root`: fn(value, mutator[, mode]) decides about the values it takes, its result is
/// final; other values are descended by default.
template <typename... Fns>
Any StructuralMutate(Any root, const Fns&... fns) {
  static_assert(sizeof...(Fns) > 0, "a rewrite needs at least one callback");
  return detail::RunStructuralMutate(
      std::move(root), [&](AnyView value, StructuralMutatorObj* mutator, InplaceMode mode) {
        std::optional<Any> result;
        static_cast<void>((detail::MutateWith(fns, value, mutator, mode, &result) || ...));
        return result;
      });
}

template <WalkOrder order = WalkOrder::kPostOrder, typename... Fns>
Expected<Any> StructuralMapExpected(Any root, const Fns&... fns) {
  try {
    return StructuralMap<order>(std::move(root), fns...);
  } catch (const Error& error) {
    return Unexpected<Error>(Error(error));
  }
}

template <typename... Fns>
Expected<Any> StructuralMutateExpected(Any root, const Fns&... fns) {
  try {
    return StructuralMutate(std::move(root), fns...);
  } catch (const Error& error) {
    return Unexpected<Error>(Error(error));
  }
}

}  // namespace ffi
}  // namespace tvm

/// Returns the error of an Expected from a function that returns Expected.
#define TVM_FFI_S_MUTATE_MAYBE_EARLY_RETURN(Result)                                                \
  do {                                                                                             \
    const auto& mutate_result_ = (Result);                                                         \
    if (mutate_result_.is_err()) {                                                                 \
      return ::tvm::ffi::Unexpected<::tvm::ffi::Error>(::tvm::ffi::Error(mutate_result_.error())); \
    }                                                                                              \
  } while (false)

#endif  // TVM_FFI_EXTRA_STRUCTURAL_MUTATE_H_
