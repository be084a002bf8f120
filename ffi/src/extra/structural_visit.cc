// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Default descent, walks, visits and their global functions.
///
/// The callbacks own the recursion, so it runs on the C stack; its depth is limited.
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/tuple.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/structural_visit.h>
#include <tvm/ffi/extra/visit_error_context.h>
#include <tvm/ffi/reflection/registry.h>

#include <exception>
#include <string>
#include <utility>

#include "src/library_init.h"
#include "structural_common.h"
#include "structural_dispatch.h"
#include "value_util.h"

namespace tvm {
namespace ffi {
namespace {

using reflection::TypeAttrLookup;

// ------------------------------------------------------------------------------------------
// Global functions
// ------------------------------------------------------------------------------------------

WalkResult WalkResultFrom(const Any& value) {
  if (value.type_index() == kTVMFFINone) return WalkResult::Advance();
  if (value.type_index() == kTVMFFIInt) {
    const int64_t action = value.cast<int64_t>();
    if (action == 0) return WalkResult::Advance();
    if (action == 1) return WalkResult::Skip();
    TVM_FFI_THROW(ValueError) << "a walk callback returned " << action
                              << ", expected 0 (advance) or 1 (skip)";
  }
  if (value.type_index() == kTVMFFIVisitInterrupt) {
    return WalkResult::Interrupt(value.cast<VisitInterrupt>());
  }
  TVM_FFI_THROW(TypeError) << "a walk callback returned `" << value.GetTypeKey()
                           << "`, expected None, WalkResult or VisitInterrupt";
}

Optional<VisitInterrupt> WalkGlobal(const Any& root, const CallbackList& plain,
                                    const CallbackList& with_kind, int64_t order) {
  if (order != 0 && order != 1) {
    TVM_FFI_THROW(ValueError) << "walk order must be 0 (pre) or 1 (post), got " << order;
  }
  CheckCallbackTypes(plain);
  CheckCallbackTypes(with_kind);
  return detail::RunStructuralWalk(
             root,
             [&](AnyView value, TVMFFIDefRegionKind kind) {
               if (std::optional<Function> fn = FindCallback(plain, value)) {
                 return WalkResultFrom((*fn)(value));
               }
               if (std::optional<Function> fn = FindCallback(with_kind, value)) {
                 return WalkResultFrom((*fn)(value, static_cast<int64_t>(kind)));
               }
               return WalkResult::Advance();
             },
             static_cast<WalkOrder>(order))
      .value();
}

Optional<VisitInterrupt> VisitGlobal(const Any& root, const CallbackList& callbacks) {
  CheckCallbackTypes(callbacks);
  return detail::RunStructuralVisit(
             root,
             [&](AnyView value, StructuralVisitorObj* visitor, Optional<VisitInterrupt>* result) {
               std::optional<Function> fn = FindCallback(callbacks, value);
               if (!fn.has_value()) return false;
               *result = (*fn)(value, visitor).cast<Optional<VisitInterrupt>>();
               return true;
             })
      .value();
}

// Traversals compiled into other libraries know containers only through these hooks.
Optional<VisitInterrupt> VisitContainer(StructuralVisitorObj* visitor, AnyView value) {
  return detail::VisitChildren(visitor, Any(value)).value();
}

}  // namespace

TVM_FFI_LIBRARY_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::EnsureTypeAttrColumn(type_attr::kStructuralVisit);
  refl::ObjectDef<VisitInterruptObj>(refl::init(false))
      .def_ro("value", &VisitInterruptObj::value, refl::default_value(Any(nullptr)));
  refl::ObjectDef<StructuralVisitorObj>(refl::init(false));
  for (const int32_t index : {kTVMFFIArray, kTVMFFIList, kTVMFFIMap, kTVMFFIDict}) {
    refl::internal::RegisterTypeAttr(
        index, type_attr::kStructuralVisit,
        refl::internal::NativeAttrValue<&VisitContainer>(type_attr::kStructuralVisit));
  }
  refl::GlobalDef()
      .def("ffi.VisitInterrupt", [](Any value) { return VisitInterrupt(std::move(value)); })
      .def("ffi.StructuralWalk", WalkGlobal)
      .def("ffi.StructuralVisit", VisitGlobal)
      .def("ffi.StructuralVisitorVisit",
           [](const StructuralVisitor& visitor, const Any& value) { return visitor->Visit(value); })
      .def("ffi.StructuralVisitorDefaultVisit",
           [](const StructuralVisitor& visitor, const Any& value) {
             return visitor->DefaultVisitExpected(value).value();
           })
      .def("ffi.StructuralVisitorDefRegionKind",
           [](const StructuralVisitor& visitor) {
             return static_cast<int64_t>(visitor->def_region_kind());
           })
      .def("ffi.StructuralVisitorWithDefRegionKind",
           [](const StructuralVisitor& visitor, int64_t kind, const Function& body) {
             return visitor->WithDefRegionKind(RegionFromArgument(kind), [&] { return body(); });
           });
}

}  // namespace ffi
}  // namespace tvm
