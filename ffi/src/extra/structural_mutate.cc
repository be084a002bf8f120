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

#include "src/library_init.h"
#include "structural_common.h"
#include "structural_dispatch.h"
#include "value_util.h"

namespace tvm {
namespace ffi {
namespace {

using reflection::TypeAttrLookup;
using reflection::internal::AdoptAny;
using reflection::internal::ReleaseAny;

// ------------------------------------------------------------------------------------------
// Global functions
// ------------------------------------------------------------------------------------------

Any MapGlobal(Any root, const CallbackList& plain, const CallbackList& with_kind, int64_t order) {
  if (order != 0 && order != 1) {
    TVM_FFI_THROW(ValueError) << "map order must be 0 (pre) or 1 (post), got " << order;
  }
  CheckCallbackTypes(plain);
  CheckCallbackTypes(with_kind);
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
  CheckCallbackTypes(callbacks);
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

// Rewrites compiled into other libraries know builtin objects only through these hooks.
template <InplaceMode kMode>
Any MutateBuiltin(StructuralMutatorObj* mutator, AnyView value) {
  return detail::DefaultMutation(mutator, value, kMode).Run();
}

}  // namespace

TVM_FFI_LIBRARY_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::EnsureTypeAttrColumn(type_attr::kStructuralMutate);
  refl::EnsureTypeAttrColumn(type_attr::kStructuralMaybeInplaceMutate);
  refl::ObjectDef<StructuralMutatorObj>(refl::init(false));
  for (const int32_t index : {kTVMFFIStr, kTVMFFIBytes, kTVMFFIBigInt, kTVMFFIArray, kTVMFFIList,
                              kTVMFFIMap, kTVMFFIDict}) {
    refl::internal::RegisterTypeAttr(
        index, type_attr::kStructuralMutate,
        Any(AnyView(FStructuralMutate::FromNative<&MutateBuiltin<InplaceMode::kDisallow>>())));
    refl::internal::RegisterTypeAttr(
        index, type_attr::kStructuralMaybeInplaceMutate,
        Any(AnyView(FStructuralMutate::FromNative<&MutateBuiltin<InplaceMode::kAllow>>())));
  }
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
