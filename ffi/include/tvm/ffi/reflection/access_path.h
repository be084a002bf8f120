// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Names a place inside a value: root.field[3]["key"]. Paths share their prefixes.
#ifndef TVM_FFI_REFLECTION_ACCESS_PATH_H_
#define TVM_FFI_REFLECTION_ACCESS_PATH_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/cast.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/tuple.h>
#include <tvm/ffi/extra/base.h>
#include <tvm/ffi/memory.h>
#include <tvm/ffi/object.h>
#include <tvm/ffi/optional.h>
#include <tvm/ffi/string.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace tvm {
namespace ffi {
namespace reflection {

/// How a step descends. The missing kinds name a place that should exist but does not.
enum class AccessKind : int32_t {
  kAttr = 0,
  kArrayItem = 1,
  kMapItem = 2,
  kAttrMissing = 3,
  kArrayItemMissing = 4,
  kMapItemMissing = 5,
};

class AccessStepObj : public Object {
 public:
  AccessKind kind = AccessKind::kAttr;
  /// Field name, index or map key.
  Any key;

  AccessStepObj() = default;
  AccessStepObj(AccessKind kind, Any key) : kind(kind), key(std::move(key)) {}

  inline bool StepEqual(const AccessStepObj* other) const;

  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindConstTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("ffi.reflection.AccessStep", AccessStepObj, Object);
};

class AccessStep : public ObjectRef {
 public:
  AccessStep(AccessKind kind, Any key)
      : ObjectRef(make_object<AccessStepObj>(kind, std::move(key))) {}

  static AccessStep Attr(String name) {
    return AccessStep(AccessKind::kAttr, Any(std::move(name)));
  }
  static AccessStep AttrMissing(String name) {
    return AccessStep(AccessKind::kAttrMissing, Any(std::move(name)));
  }
  static AccessStep ArrayItem(int64_t index) {
    return AccessStep(AccessKind::kArrayItem, Any(index));
  }
  static AccessStep ArrayItemMissing(int64_t index) {
    return AccessStep(AccessKind::kArrayItemMissing, Any(index));
  }
  static AccessStep MapItem(Any key) { return AccessStep(AccessKind::kMapItem, std::move(key)); }
  static AccessStep MapItemMissing(Any key) {
    return AccessStep(AccessKind::kMapItemMissing, std::move(key));
  }

  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(AccessStep, ObjectRef, AccessStepObj);
};

class AccessPath;

/// Linked from the leaf towards the root; the root has depth 0, no parent and no step.
class AccessPathObj : public Object {
 public:
  /// An AccessPath, or empty at the root.
  Optional<ObjectRef> parent;
  Optional<AccessStep> step;
  int32_t depth = 0;

  AccessPathObj() = default;
  AccessPathObj(Optional<ObjectRef> parent, Optional<AccessStep> step, int32_t depth)
      : parent(std::move(parent)), step(std::move(step)), depth(depth) {}

  const AccessPathObj* ParentOrNull() const {
    return parent.has_value() ? static_cast<const AccessPathObj*>((*parent).get()) : nullptr;
  }

  /// Long paths are released in a loop: their length is bounded by data, not by the stack.
  inline ~AccessPathObj();

  /// Empty at the root.
  inline Optional<AccessPath> GetParent() const;
  inline AccessPath Extend(AccessStep next) const;
  inline AccessPath Attr(String name) const;
  inline AccessPath AttrMissing(String name) const;
  inline AccessPath ArrayItem(int64_t index) const;
  inline AccessPath ArrayItemMissing(int64_t index) const;
  inline AccessPath MapItem(Any key) const;
  inline AccessPath MapItemMissing(Any key) const;

  /// Steps from the root.
  inline Array<AccessStep> ToSteps() const;
  inline bool PathEqual(const AccessPath& other) const;
  inline bool IsPrefixOf(const AccessPath& other) const;

  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindConstTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("ffi.reflection.AccessPath", AccessPathObj, Object);
};

class AccessPath : public ObjectRef {
 public:
  explicit AccessPath(ObjectPtr<AccessPathObj> path) : ObjectRef(std::move(path)) {}

  static AccessPath Root() { return AccessPath(make_object<AccessPathObj>()); }

  template <typename Iter>
  static AccessPath FromSteps(Iter begin, Iter end) {
    AccessPath path = Root();
    for (Iter it = begin; it != end; ++it) path = path->Extend(*it);
    return path;
  }
  static AccessPath FromSteps(const Array<AccessStep>& steps) {
    return FromSteps(steps.begin(), steps.end());
  }

  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(AccessPath, ObjectRef, AccessPathObj);
};

/// Where two values differ: the place in the left and in the right one.
using AccessPathPair = Tuple<AccessPath, AccessPath>;

inline Optional<AccessPath> AccessPathObj::GetParent() const {
  if (!parent.has_value()) return std::nullopt;
  return Any(*parent).cast<AccessPath>();
}

inline AccessPath AccessPathObj::Extend(AccessStep next) const {
  return AccessPath(
      make_object<AccessPathObj>(GetRef<ObjectRef>(this), std::move(next), depth + 1));
}

inline AccessPath AccessPathObj::Attr(String name) const {
  return Extend(AccessStep::Attr(std::move(name)));
}
inline AccessPath AccessPathObj::AttrMissing(String name) const {
  return Extend(AccessStep::AttrMissing(std::move(name)));
}
inline AccessPath AccessPathObj::ArrayItem(int64_t index) const {
  return Extend(AccessStep::ArrayItem(index));
}
inline AccessPath AccessPathObj::ArrayItemMissing(int64_t index) const {
  return Extend(AccessStep::ArrayItemMissing(index));
}
inline AccessPath AccessPathObj::MapItem(Any key) const {
  return Extend(AccessStep::MapItem(std::move(key)));
}
inline AccessPath AccessPathObj::MapItemMissing(Any key) const {
  return Extend(AccessStep::MapItemMissing(std::move(key)));
}

inline bool AccessStepObj::StepEqual(const AccessStepObj* other) const {
  return kind == other->kind && AnyEqual()(key, other->key);
}

inline AccessPathObj::~AccessPathObj() {
  Optional<ObjectRef> rest = std::move(parent);
  parent = std::nullopt;
  while (rest.has_value() && rest.unique()) {
    auto* node = const_cast<AccessPathObj*>(
        static_cast<const AccessPathObj*>(static_cast<const Object*>(rest.get())));
    Optional<ObjectRef> above = std::move(node->parent);
    node->parent = std::nullopt;
    rest = std::move(above);
  }
}

inline Array<AccessStep> AccessPathObj::ToSteps() const {
  std::vector<AccessStep> steps;
  steps.reserve(static_cast<size_t>(depth));
  for (const auto* node = this; node->step.has_value(); node = node->ParentOrNull()) {
    steps.push_back(*node->step);
    if (node->ParentOrNull() == nullptr) break;
  }
  return Array<AccessStep>(steps.rbegin(), steps.rend());
}

inline bool AccessPathObj::PathEqual(const AccessPath& other) const {
  return depth == other->depth && IsPrefixOf(other);
}

inline bool AccessPathObj::IsPrefixOf(const AccessPath& other) const {
  if (depth > other->depth) return false;
  const AccessPathObj* longer = other.get();
  while (longer != nullptr && longer->depth > depth) longer = longer->ParentOrNull();
  const AccessPathObj* self = this;
  while (self != longer) {
    if (self == nullptr || longer == nullptr) return false;
    if (self->step.has_value() != longer->step.has_value()) return false;
    if (self->step.has_value() && !(*self->step)->StepEqual((*longer->step).get())) return false;
    self = self->ParentOrNull();
    longer = longer->ParentOrNull();
  }
  return true;
}

}  // namespace reflection
}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_REFLECTION_ACCESS_PATH_H_
