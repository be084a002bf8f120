// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Remembers, in an error, the objects a traversal was inside of when it failed.
///
///   void Visit(const Stmt& stmt) {
///     TVM_FFI_VISIT_BEGIN();
///     ...
///     TVM_FFI_VISIT_END(stmt);
///   }
#ifndef TVM_FFI_EXTRA_VISIT_ERROR_CONTEXT_H_
#define TVM_FFI_EXTRA_VISIT_ERROR_CONTEXT_H_

#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/base.h>
#include <tvm/ffi/memory.h>
#include <tvm/ffi/object.h>
#include <tvm/ffi/optional.h>
#include <tvm/ffi/reflection/access_path.h>
#include <tvm/ffi/reflection/native_function.h>

#include <ostream>
#include <string>
#include <utility>

namespace tvm {
namespace ffi {

class VisitErrorContextObj : public Object {
 public:
  /// Objects from the place of the failure outwards. Not every object on the way must be listed.
  List<ObjectRef> reverse_visit_pattern;
  /// What the error carried before.
  Optional<ObjectRef> prev_error_context;

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("ffi.VisitErrorContext", VisitErrorContextObj, Object);
};

class VisitErrorContext : public ObjectRef {
 public:
  VisitErrorContext() : ObjectRef(make_object<VisitErrorContextObj>()) {}

  /// Places in `root` that the context describes: paths that meet the listed objects in order.
  /// With `allow_prefix`, when no path meets all of them, paths that meet the most.
  TVM_FFI_EXTRA_CXX_API static Array<reflection::AccessPath> FindAccessPaths(
      const ObjectRef& root, const VisitErrorContext& context, bool allow_prefix = false);

  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(VisitErrorContext, ObjectRef, VisitErrorContextObj);
};

/// Appends `object` to the context in `error`, which is created when there is none.
inline void ExtendVisitErrorContext(const Error& error, const ObjectRef& object) {
  TVMFFIErrorCell* cell =
      TVMFFIErrorGetCellPtr(detail::ObjectUnsafe::TVMFFIObjectPtrFromObjectRef(error));
  if (cell->extra_context != nullptr &&
      TVMFFIObjectGetTypeIndex(cell->extra_context) == VisitErrorContextObj::RuntimeTypeIndex()) {
    auto* context = static_cast<VisitErrorContextObj*>(
        reinterpret_cast<Object*>(static_cast<TVMFFIObject*>(cell->extra_context)));
    context->reverse_visit_pattern.push_back(object);
    return;
  }
  VisitErrorContext context;
  context->reverse_visit_pattern.push_back(object);
  if (cell->extra_context != nullptr) {
    context->prev_error_context = reflection::internal::AdoptAny([cell] {
                                    TVMFFIAny raw{};
                                    raw.type_index = TVMFFIObjectGetTypeIndex(cell->extra_context);
                                    raw.v_obj = static_cast<TVMFFIObject*>(cell->extra_context);
                                    return raw;
                                  }())
                                      .cast<ObjectRef>();
  }
  cell->extra_context = detail::ObjectUnsafe::MoveObjectRefToTVMFFIObjectPtr(std::move(context));
}

namespace detail {

/// Collects a message and throws it with `object` as the innermost place.
class VisitErrorThrower {
 public:
  VisitErrorThrower(std::string kind, ObjectRef object)
      : kind_(std::move(kind)), object_(std::move(object)) {}
  VisitErrorThrower(const VisitErrorThrower&) = delete;
  VisitErrorThrower& operator=(const VisitErrorThrower&) = delete;
  [[noreturn]] ~VisitErrorThrower() noexcept(false) {
    Error error(kind_, stream_.str(), std::string());
    ExtendVisitErrorContext(error, object_);
    throw error;
  }
  std::ostream& stream() { return stream_; }

 private:
  std::string kind_;
  ObjectRef object_;
  StringStream stream_;
};

}  // namespace detail
}  // namespace ffi
}  // namespace tvm

#define TVM_FFI_VISIT_BEGIN() try {
#define TVM_FFI_VISIT_END(Object)                                \
  }                                                              \
  catch (const ::tvm::ffi::Error& visit_error_) {                \
    ::tvm::ffi::ExtendVisitErrorContext(visit_error_, (Object)); \
    throw;                                                       \
  }
/// As TVM_FFI_VISIT_END for functions that return Expected.
#define TVM_FFI_VISIT_END_RETURN_EXPECTED(Object)                                      \
  }                                                                                    \
  catch (const ::tvm::ffi::Error& visit_error_) {                                      \
    ::tvm::ffi::ExtendVisitErrorContext(visit_error_, (Object));                       \
    return ::tvm::ffi::Unexpected<::tvm::ffi::Error>(::tvm::ffi::Error(visit_error_)); \
  }
#define TVM_FFI_VISIT_THROW(ErrorKind, Object) \
  ::tvm::ffi::detail::VisitErrorThrower(#ErrorKind, (Object)).stream()

#endif  // TVM_FFI_EXTRA_VISIT_ERROR_CONTEXT_H_
