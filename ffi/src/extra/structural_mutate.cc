// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Default mutation, maps, rewrites and their global functions.
///
/// An object that may be changed in place is always passed as a view of the reference that owns
/// it: an extra reference would make it look shared.
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/container/tuple.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/structural_mutate.h>
#include <tvm/ffi/extra/visit_error_context.h>
#include <tvm/ffi/reflection/registry.h>

#include <exception>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "structural_common.h"
#include "structural_dispatch.h"
#include "value_util.h"

namespace tvm {
namespace ffi {
namespace {

using reflection::TypeAttrLookup;
using reflection::internal::AdoptAny;
using reflection::internal::ReleaseAny;

bool IsUnchanged(const Any& result) { return result.type_index() == kTVMFFIUnchanged; }

bool IsUnique(AnyView value) {
  return value.type_index() >= kTVMFFIStaticObjectBegin &&
         reinterpret_cast<const Object*>(RawAny(value).v_obj)->unique();
}

InplaceMode ModeFor(bool in_place) {
  return in_place ? InplaceMode::kAllow : InplaceMode::kDisallow;
}

/// Result for `value`, where returning the same object means unchanged.
Any Normalized(Any result, AnyView value) {
  if (IsObject(RawAny(result)) && RawAny(result).v_obj == RawAny(value).v_obj) {
    return Any(Unchanged{});
  }
  return result;
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
    if (std::optional<Any> result = ByHook(type->type_index)) {
      return Normalized(*std::move(result), value_);
    }
    switch (type->type_index) {
      case kTVMFFIArray:
        return Sequence<Array<Any>>();
      case kTVMFFIList:
        return Sequence<List<Any>>();
      case kTVMFFIMap:
        return Mapping<Map<Any, Any>>();
      case kTVMFFIDict:
        return Mapping<Dict<Any, Any>>();
      default:
        return Fields(type, kind);
    }
  }

  std::optional<Any> ByHook(int32_t type_index) {
    static const TypeAttrLookup hooks(type_attr::kStructuralMutate);
    static const TypeAttrLookup in_place_hooks(type_attr::kStructuralMaybeInplaceMutate);
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
    const TVMFFIAny borrowed = ReleaseAny(std::move(content));
    TVMFFIObjectDecRef(borrowed.v_obj);
    return MutateChild(region, AnyView::CopyFromTVMFFIAny(borrowed));
  }

  Any ShallowCopy() {
    static const TypeAttrLookup shallow_copies(type_attr::kShallowCopy);
    const AnyView copier = shallow_copies[value_.type_index()];
    if (copier.type_index() != kTVMFFIFunction) {
      TVM_FFI_THROW(TypeError) << type_attr::kShallowCopy.name
                               << " must be an ffi.Function to mutate type `"
                               << reflection::TypeKeyOf(value_.type_index()) << "`";
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
      return ReleaseAny(Any(Error(error)));
    };
    try {
      TraversalDepth depth(&Self(mutator)->depth_);
      return ReleaseAny(Self(mutator)->Rewrite(value, kMode));
    } catch (const Error& error) {
      return fail(error);
    } catch (const std::exception& error) {
      return fail(Error("InternalError", error.what(), ""));
    }
  }

  static TVMFFIAny RemapGet(StructuralMutatorObj* mutator, AnyView var) noexcept {
    return ReleaseAny(Self(mutator)->remap_.Get(var));
  }
  static TVMFFIAny RemapSet(StructuralMutatorObj* mutator, AnyView var, AnyView mapped) noexcept {
    Self(mutator)->remap_.Set(var, mapped);
    return ReleaseAny(Any());
  }

  static constexpr VTable kTable{&Enter<InplaceMode::kDisallow>, &Enter<InplaceMode::kAllow>,
                                 &RemapGet, &RemapSet};

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
  MapperObj(const detail::MapCallback* callback, WalkOrder order)
      : callback_(callback), order_(order) {}

  Any Run(Any root) {
    CallbackBinding<detail::MapCallback> binding(&callback_);
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
    const auto& callback = CallbackBinding<detail::MapCallback>::Get(callback_);
    std::optional<Any> result = callback(value, def_region_kind());
    return result.has_value() ? Normalized(*std::move(result), value) : Any(Unchanged{});
  }

  Any PostOrder(AnyView value, InplaceMode mode) {
    Any descended = DefaultMutateExpected(value, mode).value();
    if (IsUnchanged(descended)) return Replacement(value);
    Any replaced = Replacement(descended);
    return IsUnchanged(replaced) ? descended : Normalized(std::move(replaced), value);
  }

  Any PreOrder(AnyView value, InplaceMode mode) {
    Any replaced = Replacement(value);
    if (IsUnchanged(replaced)) return DefaultMutateExpected(value, mode).value();
    Any descended = DefaultMutateExpected(replaced, mode).value();
    return IsUnchanged(descended) ? replaced : Normalized(std::move(descended), value);
  }

  const detail::MapCallback* callback_;
  WalkOrder order_;
};

class CallbackMutatorObj final : public TableMutatorObj<CallbackMutatorObj> {
 public:
  explicit CallbackMutatorObj(const detail::MutateCallback* callback) : callback_(callback) {}

  Any Run(Any root) {
    CallbackBinding<detail::MutateCallback> binding(&callback_);
    return RewriteRoot(std::move(root));
  }

  Any Rewrite(AnyView value, InplaceMode mode) {
    if (value.type_index() == kTVMFFINone) return Any(Unchanged{});
    const auto& callback = CallbackBinding<detail::MutateCallback>::Get(callback_);
    if (std::optional<Any> result = callback(value, this, mode)) {
      return Normalized(*std::move(result), value);
    }
    return DefaultMutateExpected(value, mode).value();
  }

 private:
  const detail::MutateCallback* callback_;
};

/// Calls a native table entry or turns what it throws into an error.
template <typename F>
Expected<Any> Captured(const F& body) {
  try {
    return body();
  } catch (const Error& error) {
    return Unexpected<Error>(Error(error));
  }
}

// ------------------------------------------------------------------------------------------
// Global functions
// ------------------------------------------------------------------------------------------

Any MapGlobal(Any root, const CallbackList& plain, const CallbackList& with_kind, int64_t order) {
  if (order != 0 && order != 1) {
    TVM_FFI_THROW(ValueError) << "map order must be 0 (pre) or 1 (post), got " << order;
  }
  return detail::RunStructuralMap(
      std::move(root),
      [&](AnyView value, TVMFFIDefRegionKind kind) -> std::optional<Any> {
        if (std::optional<Function> fn = FindCallback(plain, value)) return (*fn)(value);
        if (std::optional<Function> fn = FindCallback(with_kind, value)) {
          return (*fn)(value, static_cast<int64_t>(kind));
        }
        return std::nullopt;
      },
      static_cast<WalkOrder>(order));
}

Any MutateGlobal(Any root, const Array<Tuple<int64_t, Function, bool>>& callbacks) {
  return detail::RunStructuralMutate(
      std::move(root),
      [&](AnyView value, StructuralMutatorObj* mutator, InplaceMode mode) -> std::optional<Any> {
        for (const auto& entry : callbacks) {
          if (!TypeTakes(entry.template get<0>(), value.type_index())) continue;
          const Function fn = entry.template get<1>();
          if (entry.template get<2>()) return fn(value, mutator, static_cast<int64_t>(mode));
          return fn(value, mutator);
        }
        return std::nullopt;
      });
}

Any ValueOr(const UnchangedOr<Any>& result, const Any& original) {
  return result.ValueOrUnchanged(original);
}

}  // namespace

Expected<Any> StructuralMutatorObj::MutateExpected(AnyView value, InplaceMode mode) {
  return Captured([&] { return MutateRaw(value, mode); });
}

Expected<Any> StructuralMutatorObj::DefaultMutateExpected(AnyView value, InplaceMode mode) {
  return Captured([&] { return DefaultMutation(this, value, mode).Run(); });
}

Expected<Any> StructuralMutatorObj::VarRemapGetExpected(AnyView var) {
  return Captured([&] { return Checked(vtable_->var_remap_get(this, var)); });
}

Expected<void> StructuralMutatorObj::VarRemapSetExpected(AnyView var, AnyView mapped) {
  Any result = AdoptAny(vtable_->var_remap_set(this, var, mapped));
  if (result.type_index() == kTVMFFIError) {
    return Unexpected<Error>(std::move(result).cast<Error>());
  }
  return Expected<void>();
}

namespace detail {

Any RunStructuralMap(Any root, const MapCallback& callback, WalkOrder order) {
  auto mapper = make_object<MapperObj>(&callback, order);
  return mapper->Run(std::move(root));
}

Any RunStructuralMutate(Any root, const MutateCallback& callback) {
  auto mutator = make_object<CallbackMutatorObj>(&callback);
  return mutator->Run(std::move(root));
}

}  // namespace detail

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::EnsureTypeAttrColumn(type_attr::kStructuralMutate);
  refl::EnsureTypeAttrColumn(type_attr::kStructuralMaybeInplaceMutate);
  refl::ObjectDef<StructuralMutatorObj>(refl::init(false));
  refl::GlobalDef()
      .def("ffi.StructuralMap", MapGlobal)
      .def("ffi.StructuralMutate", MutateGlobal)
      .def("ffi.StructuralMutatorMutate",
           [](const StructuralMutator& mutator, const Any& value) {
             return ValueOr(mutator->Mutate(value), value);
           })
      .def("ffi.StructuralMutatorDefaultMutate",
           [](const StructuralMutator& mutator, const Any& value) {
             return ValueOr(mutator->DefaultMutate(value), value);
           })
      .def("ffi.StructuralMutatorDefRegionKind",
           [](const StructuralMutator& mutator) {
             return static_cast<int64_t>(mutator->def_region_kind());
           })
      .def("ffi.StructuralMutatorWithDefRegionKind",
           [](const StructuralMutator& mutator, int64_t kind, const Function& body) {
             return mutator->WithDefRegionKind(RegionFromArgument(kind), [&] { return body(); });
           })
      .def("ffi.StructuralMutatorVarRemapGet",
           [](const StructuralMutator& mutator, const Any& var) {
             return mutator->VarRemapGetExpected(var).value();
           })
      .def("ffi.StructuralMutatorVarRemapSet",
           [](const StructuralMutator& mutator, const Any& var, const Any& mapped) {
             mutator->VarRemapSetExpected(var, mapped).value();
           });
}

}  // namespace ffi
}  // namespace tvm
