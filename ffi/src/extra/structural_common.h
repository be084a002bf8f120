// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Rules that structural equality, hash, visit and mutate share.
#ifndef TVM_FFI_SRC_EXTRA_STRUCTURAL_COMMON_H_
#define TVM_FFI_SRC_EXTRA_STRUCTURAL_COMMON_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/accessor.h>

#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "reflection_util.h"
#include "value_util.h"

namespace tvm {
namespace ffi {

/// User hooks run on the C stack, so their nesting is limited.
inline constexpr int kMaxHookNesting = 1000;

class HookNesting {
 public:
  HookNesting(int* depth, const char* what) : depth_(depth) {
    if (++*depth_ > kMaxHookNesting) {
      --*depth_;
      TVM_FFI_THROW(RuntimeError) << what << " hooks are nested more than " << kMaxHookNesting
                                  << " levels deep";
    }
  }
  ~HookNesting() { --*depth_; }
  HookNesting(const HookNesting&) = delete;
  HookNesting& operator=(const HookNesting&) = delete;

 private:
  int* depth_;
};

/// Ends the validity of a callback handed to a hook: the hook may have kept the Function.
class CallbackScope {
 public:
  CallbackScope() : open_(std::make_shared<bool>(true)) {}
  ~CallbackScope() { *open_ = false; }
  CallbackScope(const CallbackScope&) = delete;
  CallbackScope& operator=(const CallbackScope&) = delete;

  /// Wraps `callback` so that it fails once the scope has ended.
  template <typename R, typename... A, typename F>
  Function Guard(F callback) const {
    return Function::FromTyped([open = open_, callback = std::move(callback)](A... args) -> R {
      if (!*open) {
        TVM_FFI_THROW(RuntimeError) << "a hook's callback was used after the hook returned";
      }
      return callback(args...);
    });
  }

 private:
  std::shared_ptr<bool> open_;
};

/// Region argument of a hook's callback: kind as int, or bool of older hooks (true = Pattern).
inline TVMFFIDefRegionKind RegionFromArgument(AnyView value) {
  if (value.type_index() == kTVMFFIBool) {
    return value.cast<bool>() ? kTVMFFIDefRegionKindPattern : kTVMFFIDefRegionKindNone;
  }
  const int64_t kind = value.cast<int64_t>();
  if (kind < 0 || kind > kTVMFFIDefRegionKindSimple) {
    TVM_FFI_THROW(ValueError) << "definition region kind must be 0, 1 or 2, got " << kind;
  }
  return static_cast<TVMFFIDefRegionKind>(kind);
}

/// Kind of a type; TypeError when it has none.
inline TVMFFISEqHashKind RequireStructuralKind(const TVMFFITypeInfo* type, const char* operation) {
  const std::string key(reflection::internal::ToStringView(type->type_key));
  if (type->metadata == nullptr) {
    TVM_FFI_THROW(TypeError) << "Type metadata is not set for type `" << key << "`, so "
                             << operation << " is not supported for this type";
  }
  if (type->metadata->structural_eq_hash_kind == kTVMFFISEqHashKindUnsupported) {
    TVM_FFI_THROW(TypeError) << "_type_s_eq_hash_kind is not set for type `" << key << "`, so "
                             << operation << " is not supported for this type";
  }
  return type->metadata->structural_eq_hash_kind;
}

/// Fields that structural operations look at, ancestors first, per type.
class StructuralFields {
 public:
  using FieldList = std::vector<const TVMFFIFieldInfo*>;

  const FieldList& Of(const TVMFFITypeInfo* type) {
    auto& entry = lists_[type->type_index];
    if (entry == nullptr) {
      entry = std::make_unique<FieldList>();
      reflection::ForEachFieldInfo(type, [&](const TVMFFIFieldInfo* field) {
        if ((field->flags & kTVMFFIFieldFlagBitMaskSEqHashIgnore) == 0) entry->push_back(field);
      });
    }
    return *entry;
  }

 private:
  std::unordered_map<int32_t, std::unique_ptr<FieldList>> lists_;
};

/// Whether another place may also hold the object of `value`, beyond `value` and its parent.
inline bool MayBeShared(const Any& value) { return StrongCount(RawAny(value).v_obj) > 2; }

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_SRC_EXTRA_STRUCTURAL_COMMON_H_
