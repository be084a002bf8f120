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
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/expected.h>
#include <tvm/ffi/extra/base.h>
#include <tvm/ffi/extra/structural_visit.h>
#include <tvm/ffi/memory.h>
#include <tvm/ffi/object.h>
#include <tvm/ffi/reflection/accessor.h>
#include <tvm/ffi/reflection/native_function.h>

#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

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

  /// From what a mutation returned: the marker, or a value that is known to be a T.
  static UnchangedOr FromData(Any data) { return UnchangedOr(std::move(data), UnsafeInit{}); }

 private:
  UnchangedOr(Any data, UnsafeInit) : data_(std::move(data)) {}
  Any data_;
};

template <typename T>
inline constexpr bool use_default_type_traits_v<UnchangedOr<T>> = false;

/// Stored as the value or the marker, so that Expected<UnchangedOr<T>> is one cell.
template <typename T>
struct TypeTraits<UnchangedOr<T>> : public TypeTraitsBase {
  static void CopyToAnyView(const UnchangedOr<T>& src, TVMFFIAny* result) {
    *result = AnyView(src.data()).CopyToTVMFFIAny();
  }
  static void MoveToAny(UnchangedOr<T> src, TVMFFIAny* result) {
    *result = detail::AnyUnsafe::MoveAnyToTVMFFIAny(std::move(src).data());
  }
  static bool CheckAnyStrict(const TVMFFIAny* src) {
    if constexpr (std::is_same_v<T, Any>) {
      return true;
    } else {
      return src->type_index == kTVMFFIUnchanged || TypeTraits<T>::CheckAnyStrict(src);
    }
  }
  static UnchangedOr<T> CopyFromAnyViewAfterCheck(const TVMFFIAny* src) {
    return UnchangedOr<T>::FromData(Any(AnyView::CopyFromTVMFFIAny(*src)));
  }
  static UnchangedOr<T> MoveFromAnyAfterCheck(TVMFFIAny* src) {
    TVMFFIAny taken = *src;
    *src = AnyView().CopyToTVMFFIAny();
    return UnchangedOr<T>::FromData(detail::AnyUnsafe::MoveTVMFFIAnyRawToAny(taken));
  }
  static std::optional<UnchangedOr<T>> TryCastFromAnyView(const TVMFFIAny* src) {
    if (CheckAnyStrict(src)) return CopyFromAnyViewAfterCheck(src);
    if constexpr (!std::is_same_v<T, Any>) {
      if (std::optional<T> value = TypeTraits<T>::TryCastFromAnyView(src)) {
        return UnchangedOr<T>(*std::move(value));
      }
    }
    return std::nullopt;
  }
  static std::string TypeStr() {
    if constexpr (std::is_same_v<T, Any>) {
      return "UnchangedOr<Any>";
    } else {
      return "UnchangedOr<" + TypeTraits<T>::TypeStr() + ">";
    }
  }
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

/// How a value is rewritten, and where variables are recorded.
struct StructuralMutatorVTable {
  TVMFFIAny (*mutate)(StructuralMutatorObj* self, AnyView value) noexcept;
  TVMFFIAny (*maybe_inplace_mutate)(StructuralMutatorObj* self, AnyView value) noexcept;
  /// None when nothing is recorded.
  TVMFFIAny (*var_remap_get)(StructuralMutatorObj* self, AnyView var) noexcept;
  TVMFFIAny (*var_remap_set)(StructuralMutatorObj* self, AnyView var, AnyView mapped) noexcept;
};

/// State and dispatch of one rewrite. Lives as long as the rewrite.
class StructuralMutatorObj : public Object {
 public:
  explicit StructuralMutatorObj(const StructuralMutatorVTable* vtable) : vtable_(vtable) {}

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
  inline Expected<UnchangedOr<Any>> MutateExpected(AnyView value,
                                                   InplaceMode mode = InplaceMode::kDisallow);

  /// Rewrites the children of a value.
  inline Expected<UnchangedOr<Any>> DefaultMutateExpected(
      AnyView value, InplaceMode mode = InplaceMode::kDisallow);
  UnchangedOr<Any> DefaultMutate(AnyView value, InplaceMode mode = InplaceMode::kDisallow) {
    return FromRaw(DefaultMutateRaw(value, mode));
  }
  /// As above: the new value or the Unchanged marker.
  inline Any DefaultMutateRaw(AnyView value, InplaceMode mode);

  /// What a variable or DAG node has become; None when nothing is recorded.
  inline Expected<Any> VarRemapGetExpected(AnyView var);
  inline Expected<void> VarRemapSetExpected(AnyView var, AnyView mapped);

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

  static UnchangedOr<Any> FromRaw(Any raw) { return UnchangedOr<Any>::FromData(std::move(raw)); }

  TVM_FFI_DECLARE_OBJECT_INFO("ffi.StructuralMutator", StructuralMutatorObj, Object);

 protected:
  static Any Checked(TVMFFIAny raw) {
    Any result = reflection::internal::AdoptAny(raw);
    if (result.type_index() == kTVMFFIError) throw std::move(result).cast<Error>();
    return result;
  }

  const StructuralMutatorVTable* vtable_;
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

inline bool IsUnchanged(const Any& result) { return result.type_index() == kTVMFFIUnchanged; }

inline bool IsUnique(AnyView value) {
  return value.type_index() >= kTVMFFIStaticObjectBegin &&
         reinterpret_cast<const Object*>(RawAny(value).v_obj)->unique();
}

inline InplaceMode ModeFor(bool in_place) {
  return in_place ? InplaceMode::kAllow : InplaceMode::kDisallow;
}

/// The same object or plain value, or the same text or number: another language may have made
/// its object anew.
inline bool IsSameValue(const Any& result, AnyView value) {
  if (AnyView(result).same_as(value)) return true;
  const int32_t from = value.type_index(), to = result.type_index();
  if ((IsStringIndex(from) && IsStringIndex(to)) || (IsBytesIndex(from) && IsBytesIndex(to))) {
    return BytesContent(&RawAny(result)) == BytesContent(&RawAny(value));
  }
  return from == kTVMFFIBigInt && to == kTVMFFIBigInt && AnyEqual()(result, Any(value));
}

/// Result for `value`, where returning the same value means unchanged.
inline Any Normalized(Any result, AnyView value) {
  return IsSameValue(result, value) ? Any(Unchanged{}) : result;
}

class DefaultMutation {
 public:
  DefaultMutation(StructuralMutatorObj* mutator, AnyView value, InplaceMode mode)
      : mutator_(mutator),
        value_(value),
        in_place_(mode == InplaceMode::kAllow && IsUnique(value)) {}

  Any Run() {
    if (value_.type_index() < kTVMFFIStaticObjectBegin) return Any(Unchanged{});
    const TVMFFITypeInfo* type = TVMFFIGetTypeInfo(value_.type_index());
    const TVMFFISEqHashKind kind = type->metadata == nullptr
                                       ? kTVMFFISEqHashKindUnsupported
                                       : type->metadata->structural_eq_hash_kind;
    if (kind != kTVMFFISEqHashKindFreeVar && kind != kTVMFFISEqHashKindDAGNode) {
      return Children(type, kind);
    }
    Any known = mutator_->VarRemapGetExpected(value_).value();
    if (known.type_index() != kTVMFFINone) return Normalized(std::move(known), value_);
    const TVMFFIDefRegionKind region = mutator_->def_region_kind();
    const bool is_variable = kind == kTVMFFISEqHashKindFreeVar;
    if (is_variable && region == kTVMFFIDefRegionKindNone) return Any(Unchanged{});
    Any result = Children(type, kind);
    if (!is_variable || region == kTVMFFIDefRegionKindPattern || !IsUnchanged(result)) {
      const AnyView mapped = IsUnchanged(result) ? value_ : AnyView(result);
      mutator_->VarRemapSetExpected(value_, mapped).value();
    }
    return result;
  }

 private:
  Any Children(const TVMFFITypeInfo* type, TVMFFISEqHashKind kind) {
    switch (type->type_index) {
      case kTVMFFIArray:
        return Sequence<Array<Any>>();
      case kTVMFFIList:
        return Sequence<List<Any>>();
      case kTVMFFIMap:
        return Mapping<Map<Any, Any>>();
      case kTVMFFIDict:
        return Mapping<Dict<Any, Any>>();
      case kTVMFFIStr:
      case kTVMFFIBytes:
      case kTVMFFIBigInt:
        return Any(Unchanged{});
      default:
        break;
    }
    if (std::optional<Any> result = ByHook(type->type_index)) {
      return Normalized(*std::move(result), value_);
    }
    return Fields(type, kind);
  }

  std::optional<Any> ByHook(int32_t type_index) {
    static const reflection::TypeAttrLookup hooks(type_attr::kStructuralMutate);
    static const reflection::TypeAttrLookup in_place_hooks(
        type_attr::kStructuralMaybeInplaceMutate);
    const char* name = type_attr::kStructuralMaybeInplaceMutate.name;
    AnyView hook = in_place_ ? in_place_hooks[type_index] : AnyView();
    if (hook.type_index() == kTVMFFINone) {
      name = type_attr::kStructuralMutate.name;
      hook = hooks[type_index];
    }
    if (hook.type_index() == kTVMFFINone) return std::nullopt;
    const auto view = FStructuralMutate::FromAnyView(&RawAny(hook));
    if (!view.has_value()) {
      TVM_FFI_THROW(TypeError) << name << " must be a direct hook pointer or ffi.Function";
    }
    return view->CallExpected(mutator_, value_).value();
  }

  Any MutateChild(TVMFFIDefRegionKind region, AnyView child) {
    if (child.type_index() == kTVMFFINone) return Any(Unchanged{});
    return Normalized(mutator_->WithDefRegionKind(
                          region, [&] { return mutator_->MutateRaw(child, ModeFor(in_place_)); }),
                      child);
  }

  template <typename Seq>
  Any Sequence() {
    TVMFFISeqCell* cell = TVMFFISeqGetCellPtr(RawAny(value_).v_obj);
    const TVMFFIDefRegionKind region = mutator_->def_region_kind();
    std::vector<Any> copy;
    bool changed = false;
    for (int64_t i = 0; i < cell->size; ++i) {
      const TVMFFIAny* slot = static_cast<const TVMFFIAny*>(cell->data) + i;
      Any result = MutateChild(region, AnyView::CopyFromTVMFFIAny(*slot));
      if (IsUnchanged(result)) continue;
      if (in_place_) {
        static_cast<Any*>(cell->data)[i] = std::move(result);
        continue;
      }
      if (!changed) {
        const auto* items = static_cast<const Any*>(cell->data);
        copy.assign(items, items + cell->size);
        changed = true;
      }
      copy[static_cast<size_t>(i)] = std::move(result);
    }
    if (!changed) return Any(Unchanged{});
    return Any(Seq(copy.begin(), copy.end()));
  }

  /// Keys stay; an entry whose value changes keeps its place.
  template <typename MapType>
  Any Mapping() {
    in_place_ = false;  // assigning to an entry would move it
    const TVMFFIDefRegionKind region = mutator_->def_region_kind();
    MapEntries entries = EntriesOf(Any(value_));
    bool changed = false;
    for (auto& entry : entries) {
      Any result = MutateChild(region, entry.second);
      if (IsUnchanged(result)) continue;
      entry.second = std::move(result);
      changed = true;
    }
    if (!changed) return Any(Unchanged{});
    MapType map;
    for (auto& entry : entries) map.Set(std::move(entry.first), std::move(entry.second));
    return Any(map);
  }

  Any Fields(const TVMFFITypeInfo* type, TVMFFISEqHashKind kind) {
    TVMFFIDefRegionKind region = mutator_->def_region_kind();
    if (kind == kTVMFFISEqHashKindFreeVar) region = RegionOfVariableFields(region);
    Any copy;
    reflection::ForEachFieldInfo(type, [&](const TVMFFIFieldInfo* field) {
      if ((field->flags & kTVMFFIFieldFlagBitMaskSEqHashIgnore) != 0) return;
      Any result = MutateField(RegionOfField(region, field), field);
      if (IsUnchanged(result)) return;
      if (!in_place_ && copy.type_index() == kTVMFFINone) copy = ShallowCopy();
      TVMFFIObject* target = in_place_ ? RawAny(value_).v_obj : RawAny(copy).v_obj;
      TVM_FFI_CHECK_SAFE_CALL(reflection::CallFieldSetter(
          field, reinterpret_cast<char*>(target) + field->offset, &RawAny(result)));
    });
    return copy.type_index() == kTVMFFINone ? Any(Unchanged{}) : copy;
  }

  Any MutateField(TVMFFIDefRegionKind region, const TVMFFIFieldInfo* field) {
    Any content;
    void* address = reinterpret_cast<char*>(RawAny(value_).v_obj) + field->offset;
    TVM_FFI_CHECK_SAFE_CALL(field->getter(address, reinterpret_cast<TVMFFIAny*>(&content)));
    if (!in_place_ || !IsObject(RawAny(content)) || StrongCount(RawAny(content).v_obj) == 1) {
      return MutateChild(region, content);
    }
    // The field keeps the object alive; without our reference a unique one shows as unique.
    const TVMFFIAny borrowed = reflection::internal::ReleaseAny(std::move(content));
    TVMFFIObjectDecRef(borrowed.v_obj);
    return MutateChild(region, AnyView::CopyFromTVMFFIAny(borrowed));
  }

  Any ShallowCopy() {
    static const reflection::TypeAttrLookup shallow_copies(type_attr::kShallowCopy);
    const AnyView copier = shallow_copies[value_.type_index()];
    if (copier.type_index() != kTVMFFIFunction) {
      TVM_FFI_THROW(TypeError) << type_attr::kShallowCopy.name
                               << " must be an ffi.Function to mutate type `"
                               << reflection::internal::TypeKeyText(value_.type_index()) << "`";
    }
    Any copy = copier.cast<Function>()(value_);
    if (copy.type_index() != value_.type_index() || RawAny(copy).v_obj == RawAny(value_).v_obj) {
      TVM_FFI_THROW(TypeError) << "Shallow copy callback must return a distinct object with the "
                                  "same type as its input";
    }
    return copy;
  }

  StructuralMutatorObj* mutator_;
  AnyView value_;
  bool in_place_;
};

/// Results of variables and DAG nodes; keeps both sides alive.
class RemapTable {
 public:
  Any Get(AnyView var) const {
    auto it = entries_.find(RawAny(var).v_obj);
    return it == entries_.end() ? Any(nullptr) : it->second.second;
  }
  void Set(AnyView var, AnyView mapped) {
    entries_.insert_or_assign(RawAny(var).v_obj, std::make_pair(Any(var), Any(mapped)));
  }

 private:
  std::unordered_map<const TVMFFIObject*, std::pair<Any, Any>> entries_;
};

/// Shared parts of both rewrites; `Derived::Rewrite(value, mode)` says what happens to a value.
template <typename Derived>
class TableMutatorObj : public StructuralMutatorObj {
 public:
  TableMutatorObj() : StructuralMutatorObj(&kTable) {}

 private:
  static Derived* Self(StructuralMutatorObj* mutator) { return static_cast<Derived*>(mutator); }

  template <InplaceMode kMode>
  static TVMFFIAny Enter(StructuralMutatorObj* mutator, AnyView value) noexcept {
    auto fail = [value](const Error& error) {
      if (value.type_index() >= kTVMFFIStaticObjectBegin) {
        ExtendVisitErrorContext(error, value.cast<ObjectRef>());
      }
      return reflection::internal::ReleaseAny(Any(Error(error)));
    };
    try {
      TraversalDepth depth(&Self(mutator)->depth_);
      return reflection::internal::ReleaseAny(Self(mutator)->Rewrite(value, kMode));
    } catch (const Error& error) {
      return fail(error);
    } catch (const std::exception& error) {
      return fail(Error("InternalError", error.what(), ""));
    }
  }

  static TVMFFIAny RemapGet(StructuralMutatorObj* mutator, AnyView var) noexcept {
    return reflection::internal::ReleaseAny(Self(mutator)->remap_.Get(var));
  }
  static TVMFFIAny RemapSet(StructuralMutatorObj* mutator, AnyView var, AnyView mapped) noexcept {
    Self(mutator)->remap_.Set(var, mapped);
    return reflection::internal::ReleaseAny(Any());
  }

  static constexpr StructuralMutatorVTable kTable{
      &Enter<InplaceMode::kDisallow>, &Enter<InplaceMode::kAllow>, &RemapGet, &RemapSet};

 protected:
  /// `root` may be the only reference, which permits changes in place.
  Any RewriteRoot(Any root) {
    Any result = this->MutateRaw(root, InplaceMode::kAllow);
    return IsUnchanged(result) ? root : result;
  }

  RemapTable remap_;
  int depth_ = 0;
};

class MapperObj final : public TableMutatorObj<MapperObj> {
 public:
  MapperObj(const MapCallback* callback, WalkOrder order) : callback_(callback), order_(order) {}

  Any Run(Any root) {
    CallbackBinding<MapCallback> binding(&callback_);
    return RewriteRoot(std::move(root));
  }

  Any Rewrite(AnyView value, InplaceMode mode) {
    if (value.type_index() == kTVMFFINone) return Any(Unchanged{});
    const TVMFFISEqHashKind kind = KindOf(value);
    const bool is_variable = kind == kTVMFFISEqHashKindFreeVar;
    const bool is_remapped = is_variable || kind == kTVMFFISEqHashKindDAGNode;
    if (is_remapped) {
      Any known = remap_.Get(value);
      if (known.type_index() != kTVMFFINone) return Normalized(std::move(known), value);
    }
    // What was changed in place has lost its old form, and nothing else refers to it.
    Any result = order_ == WalkOrder::kPreOrder ? PreOrder(value, mode) : PostOrder(value, mode);
    if (is_remapped && (!is_variable || !IsUnchanged(result) ||
                        def_region_kind() == kTVMFFIDefRegionKindPattern)) {
      remap_.Set(value, IsUnchanged(result) ? value : AnyView(result));
    }
    return result;
  }

 private:
  static TVMFFISEqHashKind KindOf(AnyView value) {
    if (value.type_index() < kTVMFFIStaticObjectBegin) return kTVMFFISEqHashKindUnsupported;
    const TVMFFITypeMetadata* metadata = TVMFFIGetTypeInfo(value.type_index())->metadata;
    return metadata == nullptr ? kTVMFFISEqHashKindUnsupported : metadata->structural_eq_hash_kind;
  }

  Any Replacement(AnyView value) {
    const auto& callback = CallbackBinding<MapCallback>::Get(callback_);
    std::optional<Any> result = callback(value, def_region_kind());
    return result.has_value() ? Normalized(*std::move(result), value) : Any(Unchanged{});
  }

  Any PostOrder(AnyView value, InplaceMode mode) {
    Any descended = DefaultMutateRaw(value, mode);
    if (IsUnchanged(descended)) return Replacement(value);
    Any replaced = Replacement(descended);
    return IsUnchanged(replaced) ? descended : Normalized(std::move(replaced), value);
  }

  Any PreOrder(AnyView value, InplaceMode mode) {
    Any replaced = Replacement(value);
    if (IsUnchanged(replaced)) return DefaultMutateRaw(value, mode);
    Any descended = DefaultMutateRaw(replaced, mode);
    return IsUnchanged(descended) ? replaced : Normalized(std::move(descended), value);
  }

  const MapCallback* callback_;
  WalkOrder order_;
};

class CallbackMutatorObj final : public TableMutatorObj<CallbackMutatorObj> {
 public:
  explicit CallbackMutatorObj(const MutateCallback* callback) : callback_(callback) {}

  Any Run(Any root) {
    CallbackBinding<MutateCallback> binding(&callback_);
    return RewriteRoot(std::move(root));
  }

  Any Rewrite(AnyView value, InplaceMode mode) {
    if (value.type_index() == kTVMFFINone) return Any(Unchanged{});
    const auto& callback = CallbackBinding<MutateCallback>::Get(callback_);
    if (std::optional<Any> result = callback(value, this, mode)) {
      return Normalized(*std::move(result), value);
    }
    return DefaultMutateRaw(value, mode);
  }

 private:
  const MutateCallback* callback_;
};

/// Calls a native table entry or turns what it throws into an error.
template <typename R, typename F>
Expected<R> Captured(const F& body) {
  try {
    return body();
  } catch (const Error& error) {
    return Unexpected<Error>(Error(error));
  }
}

inline Any RunStructuralMap(Any root, const MapCallback& callback, WalkOrder order) {
  auto mapper = make_object<MapperObj>(&callback, order);
  return mapper->Run(std::move(root));
}

inline Any RunStructuralMutate(Any root, const MutateCallback& callback) {
  auto mutator = make_object<CallbackMutatorObj>(&callback);
  return mutator->Run(std::move(root));
}

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
bool MapWith(F& fn, AnyView value, TVMFFIDefRegionKind kind, std::optional<Any>* result) {
  return CallIfMatches(fn, value, [&](F& callback, auto&& typed) {
    if constexpr (FunctionInfo<std::remove_const_t<F>>::num_args == 2) {
      *result = ToReplacement(callback(std::forward<decltype(typed)>(typed), kind));
    } else {
      *result = ToReplacement(callback(std::forward<decltype(typed)>(typed)));
    }
  });
}

template <typename F>
bool MutateWith(F& fn, AnyView value, StructuralMutatorObj* mutator, InplaceMode mode,
                std::optional<Any>* result) {
  return CallIfMatches(fn, value, [&](F& callback, auto&& typed) {
    if constexpr (FunctionInfo<std::remove_const_t<F>>::num_args == 3) {
      *result = ToReplacement(callback(std::forward<decltype(typed)>(typed), mutator, mode));
    } else {
      *result = ToReplacement(callback(std::forward<decltype(typed)>(typed), mutator));
    }
  });
}

}  // namespace detail

inline Any StructuralMutatorObj::DefaultMutateRaw(AnyView value, InplaceMode mode) {
  return detail::DefaultMutation(this, value, mode).Run();
}

inline Expected<UnchangedOr<Any>> StructuralMutatorObj::MutateExpected(AnyView value,
                                                                       InplaceMode mode) {
  return detail::Captured<UnchangedOr<Any>>([&] { return FromRaw(MutateRaw(value, mode)); });
}

inline Expected<UnchangedOr<Any>> StructuralMutatorObj::DefaultMutateExpected(AnyView value,
                                                                              InplaceMode mode) {
  return detail::Captured<UnchangedOr<Any>>([&] { return FromRaw(DefaultMutateRaw(value, mode)); });
}

inline Expected<Any> StructuralMutatorObj::VarRemapGetExpected(AnyView var) {
  return detail::Captured<Any>([&] { return Checked(vtable_->var_remap_get(this, var)); });
}

inline Expected<void> StructuralMutatorObj::VarRemapSetExpected(AnyView var, AnyView mapped) {
  Any result = reflection::internal::AdoptAny(vtable_->var_remap_set(this, var, mapped));
  if (result.type_index() == kTVMFFIError) {
    return Unexpected<Error>(std::move(result).cast<Error>());
  }
  return Expected<void>();
}

/// Maps `root`: each value becomes what the first matching fn(value[, region kind]) returns: a
/// replacement or Unchanged. Post-order callbacks see rewritten children; in pre-order the
/// replacement is descended into.
template <WalkOrder order = WalkOrder::kPostOrder, typename... Fns>
Any StructuralMap(Any root, Fns&&... fns) {
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
Any StructuralMutate(Any root, Fns&&... fns) {
  static_assert(sizeof...(Fns) > 0, "a rewrite needs at least one callback");
  return detail::RunStructuralMutate(
      std::move(root), [&](AnyView value, StructuralMutatorObj* mutator, InplaceMode mode) {
        std::optional<Any> result;
        static_cast<void>((detail::MutateWith(fns, value, mutator, mode, &result) || ...));
        return result;
      });
}

template <WalkOrder order = WalkOrder::kPostOrder, typename... Fns>
Expected<Any> StructuralMapExpected(Any root, Fns&&... fns) {
  try {
    return StructuralMap<order>(std::move(root), fns...);
  } catch (const Error& error) {
    return Unexpected<Error>(Error(error));
  }
}

template <typename... Fns>
Expected<Any> StructuralMutateExpected(Any root, Fns&&... fns) {
  try {
    return StructuralMutate(std::move(root), fns...);
  } catch (const Error& error) {
    return Unexpected<Error>(Error(error));
  }
}

}  // namespace ffi
}  // namespace tvm

namespace tvm {
namespace ffi {
namespace detail {

/// Reads what a mutation returned as the type that a hook declares; nullopt when it is none.
template <typename T, typename R>
std::optional<T> MutateResultAs(R&& result) {
  Any data(std::forward<R>(result));
  if constexpr (std::is_same_v<T, Any>) {
    return data;
  } else {
    return data.template try_cast<T>();
  }
}

}  // namespace detail
}  // namespace ffi
}  // namespace tvm

/// `Type Name = value of Result;` in a hook that returns Expected. A failure is returned, and so is
/// a TypeError when the value is no `Type`, such as UnchangedOr<Expr>.
#define TVM_FFI_S_MUTATE_ASSIGN_OR_RETURN(Type, Name, Result)                           \
  auto Name##_result_ = (Result);                                                       \
  TVM_FFI_S_MUTATE_MAYBE_EARLY_RETURN(Name##_result_);                                  \
  std::optional<Type> Name##_value_ =                                                   \
      ::tvm::ffi::detail::MutateResultAs<Type>(std::move(Name##_result_).value());      \
  if (!Name##_value_.has_value()) {                                                     \
    return ::tvm::ffi::Unexpected<::tvm::ffi::Error>(::tvm::ffi::Error(                 \
        "TypeError", "structural mutate result does not match the declared type", "")); \
  }                                                                                     \
  Type Name = *std::move(Name##_value_)

/// As above, for results that are known to be of the type.
#define TVM_FFI_UNSAFE_S_MUTATE_ASSIGN_OR_RETURN(Type, Name, Result) \
  auto Name##_result_ = (Result);                                    \
  TVM_FFI_S_MUTATE_MAYBE_EARLY_RETURN(Name##_result_);               \
  Type Name = *::tvm::ffi::detail::MutateResultAs<Type>(std::move(Name##_result_).value())

/// Returns the error of an Expected from a function that returns Expected.
#define TVM_FFI_S_MUTATE_MAYBE_EARLY_RETURN(Result)                                                \
  do {                                                                                             \
    const auto& mutate_result_ = (Result);                                                         \
    if (mutate_result_.is_err()) {                                                                 \
      return ::tvm::ffi::Unexpected<::tvm::ffi::Error>(::tvm::ffi::Error(mutate_result_.error())); \
    }                                                                                              \
  } while (false)

#endif  // TVM_FFI_EXTRA_STRUCTURAL_MUTATE_H_
