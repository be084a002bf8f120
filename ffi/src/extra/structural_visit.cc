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

#include "structural_common.h"
#include "structural_dispatch.h"
#include "value_util.h"

namespace tvm {
namespace ffi {
namespace {

using reflection::TypeAttrLookup;

VisitResult Nothing() { return VisitResult(Optional<VisitInterrupt>(std::nullopt)); }

/// Visits `child` in `kind`, whatever the region of the visitor is.
VisitResult VisitIn(StructuralVisitorObj* visitor, TVMFFIDefRegionKind kind, const Any& child) {
  if (child.type_index() == kTVMFFINone) return Nothing();
  return visitor->WithDefRegionKind(kind, [&] { return visitor->VisitExpected(child); });
}

VisitResult VisitFields(StructuralVisitorObj* visitor, const Any& value) {
  const TVMFFITypeInfo* type = TVMFFIGetTypeInfo(value.type_index());
  TVMFFIDefRegionKind region = visitor->def_region_kind();
  if (type->metadata != nullptr &&
      type->metadata->structural_eq_hash_kind == kTVMFFISEqHashKindFreeVar) {
    region = RegionOfVariableFields(region);
  }
  VisitResult result = Nothing();
  reflection::ForEachFieldInfoWithEarlyStop(type, [&](const TVMFFIFieldInfo* field) {
    if ((field->flags & kTVMFFIFieldFlagBitMaskSEqHashIgnore) != 0) return false;
    result = VisitIn(visitor, RegionOfField(region, field), ReadField(value, field));
    return result.is_err() || result.value().has_value();
  });
  return result;
}

VisitResult VisitChildren(StructuralVisitorObj* visitor, const Any& value) {
  static const TypeAttrLookup hooks(type_attr::kStructuralVisit);
  const AnyView hook = hooks[value.type_index()];
  if (hook.type_index() != kTVMFFINone) {
    const auto view = type_attr::kStructuralVisit.ValueFrom(hook);
    return view->CallExpected(visitor, value);
  }
  const TVMFFIDefRegionKind region = visitor->def_region_kind();
  if (IsSequence(value.type_index())) {
    const SequenceView items(RawAny(value));
    for (size_t i = 0; i < items.size(); ++i) {
      TVM_FFI_S_VISIT_MAYBE_EARLY_RETURN(VisitIn(visitor, region, items[i]));
    }
    return Nothing();
  }
  if (IsMapping(value.type_index())) {
    for (const auto& entry : EntriesOf(value)) {
      TVM_FFI_S_VISIT_MAYBE_EARLY_RETURN(VisitIn(visitor, region, entry.second));
    }
    return Nothing();
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
  WalkerObj(const detail::WalkCallback* callback, WalkOrder order)
      : StructuralVisitorObj(&kTable), callback_(callback), order_(order) {}

  VisitResult Run(const Any& root) {
    CallbackBinding<detail::WalkCallback> binding(&callback_);
    return VisitExpected(root);
  }

 private:
  static TVMFFIAny VisitValue(StructuralVisitorObj* visitor, AnyView view) noexcept {
    auto* self = static_cast<WalkerObj*>(visitor);
    const Any value(view);
    return EnterValue(&self->depth_, value, [&] { return self->Walk(value); });
  }

  VisitResult Walk(const Any& value) {
    if (value.type_index() == kTVMFFINone) return Nothing();
    if (order_ == WalkOrder::kPostOrder) {
      TVM_FFI_S_VISIT_MAYBE_EARLY_RETURN(Descend(value));
      return VisitResult(CallBack(value).interrupt());
    }
    const WalkResult result = CallBack(value);
    if (result.interrupt().has_value()) return VisitResult(result.interrupt());
    return result.is_skip() ? Nothing() : Descend(value);
  }

  WalkResult CallBack(const Any& value) {
    return CallbackBinding<detail::WalkCallback>::Get(callback_)(value, def_region_kind());
  }

  VisitResult Descend(const Any& value) {
    return IsObject(RawAny(value)) ? VisitChildren(this, value) : Nothing();
  }

  static constexpr VTable kTable{&VisitValue};
  const detail::WalkCallback* callback_;
  WalkOrder order_;
  int depth_ = 0;
};

class CallbackVisitorObj final : public StructuralVisitorObj {
 public:
  explicit CallbackVisitorObj(const detail::VisitCallback* callback)
      : StructuralVisitorObj(&kTable), callback_(callback) {}

  VisitResult Run(const Any& root) {
    CallbackBinding<detail::VisitCallback> binding(&callback_);
    return VisitExpected(root);
  }

 private:
  static TVMFFIAny VisitValue(StructuralVisitorObj* visitor, AnyView view) noexcept {
    auto* self = static_cast<CallbackVisitorObj*>(visitor);
    const Any value(view);
    return EnterValue(&self->depth_, value, [&] { return self->Dispatch(value); });
  }

  VisitResult Dispatch(const Any& value) {
    if (value.type_index() == kTVMFFINone) return Nothing();
    Optional<VisitInterrupt> interrupt = std::nullopt;
    const auto& callback = CallbackBinding<detail::VisitCallback>::Get(callback_);
    if (callback(value, this, &interrupt)) return VisitResult(interrupt);
    return DefaultVisitExpected(value);
  }

  static constexpr VTable kTable{&VisitValue};
  const detail::VisitCallback* callback_;
  int depth_ = 0;
};

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

}  // namespace

VisitResult StructuralVisitorObj::DefaultVisitExpected(AnyView value) {
  if (value.type_index() < kTVMFFIStaticObjectBegin) return Nothing();
  return VisitChildren(this, Any(value));
}

namespace detail {

VisitResult RunStructuralWalk(const Any& root, const WalkCallback& callback, WalkOrder order) {
  auto walker = make_object<WalkerObj>(&callback, order);
  return walker->Run(root);
}

VisitResult RunStructuralVisit(const Any& root, const VisitCallback& callback) {
  auto visitor = make_object<CallbackVisitorObj>(&callback);
  return visitor->Run(root);
}

}  // namespace detail

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::EnsureTypeAttrColumn(type_attr::kStructuralVisit);
  refl::ObjectDef<VisitInterruptObj>(refl::init(false))
      .def_ro("value", &VisitInterruptObj::value, refl::default_value(Any(nullptr)));
  refl::ObjectDef<StructuralVisitorObj>(refl::init(false));
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
