// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// What traversals of arbitrary values share: builtin containers, fields, definition regions.
#ifndef TVM_FFI_EXTRA_STRUCTURAL_DETAIL_H_
#define TVM_FFI_EXTRA_STRUCTURAL_DETAIL_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/object.h>
#include <tvm/ffi/reflection/accessor.h>
#include <tvm/ffi/reflection/registry.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace tvm {
namespace ffi {
namespace reflection {

/// An attribute column that is created on first use, so that a lookup never fails.
class TypeAttrLookup {
 public:
  template <typename T>
  explicit TypeAttrLookup(const AttrKey<T>& key) : column_(Created(key)) {}

  AnyView operator[](int32_t type_index) const { return column_[type_index]; }

 private:
  template <typename T>
  static TypeAttrColumn Created(const AttrKey<T>& key) {
    EnsureTypeAttrColumn(key);
    return TypeAttrColumn(key);
  }

  TypeAttrColumn column_;
};

}  // namespace reflection

namespace detail {

inline const TVMFFIAny& RawAny(const Any& value) {
  return *reinterpret_cast<const TVMFFIAny*>(&value);
}
inline const TVMFFIAny& RawAny(const AnyView& value) {
  return *reinterpret_cast<const TVMFFIAny*>(&value);
}

inline bool IsObject(const TVMFFIAny& value) {
  return value.type_index >= kTVMFFIStaticObjectBegin;
}

inline bool IsSequence(int32_t type_index) {
  return type_index == kTVMFFIArray || type_index == kTVMFFIList;
}

inline bool IsMapping(int32_t type_index) {
  return type_index == kTVMFFIMap || type_index == kTVMFFIDict;
}

/// Elements of an Array or List. A List may shrink while it is walked: check the size each time.
struct SequenceView {
  explicit SequenceView(const TVMFFIAny& value) : cell(TVMFFISeqGetCellPtr(value.v_obj)) {}

  size_t size() const { return static_cast<size_t>(cell->size); }
  Any operator[](size_t i) const {
    return Any(AnyView::CopyFromTVMFFIAny(static_cast<const TVMFFIAny*>(cell->data)[i]));
  }

  const TVMFFISeqCell* cell;
};

using MapEntries = std::vector<std::pair<Any, Any>>;

/// Entries of a Map or Dict in insertion order.
inline MapEntries EntriesOf(const Any& value) {
  MapEntries entries;
  auto collect = [&entries](const auto& map) {
    entries.reserve(map.size());
    for (const auto& entry : map) entries.emplace_back(entry.first, entry.second);
  };
  if (value.type_index() == kTVMFFIMap) {
    collect(value.cast<Map<Any, Any>>());
  } else {
    collect(value.cast<Dict<Any, Any>>());
  }
  return entries;
}

/// Region kind in force below a field. A Pattern region propagates and hides every other kind.
inline TVMFFIDefRegionKind EnterRegion(TVMFFIDefRegionKind current, TVMFFIDefRegionKind wanted) {
  return current == kTVMFFIDefRegionKindPattern ? current : wanted;
}

inline TVMFFIDefRegionKind RegionOfField(TVMFFIDefRegionKind current,
                                         const TVMFFIFieldInfo* field) {
  if ((field->flags & kTVMFFIFieldFlagBitMaskSEqHashDefPattern) != 0) {
    return EnterRegion(current, kTVMFFIDefRegionKindPattern);
  }
  if ((field->flags & kTVMFFIFieldFlagBitMaskSEqHashDefSimple) != 0) {
    return EnterRegion(current, kTVMFFIDefRegionKindSimple);
  }
  return current;
}

/// The fields of a variable defined in a Simple region are uses.
inline TVMFFIDefRegionKind RegionOfVariableFields(TVMFFIDefRegionKind current) {
  return current == kTVMFFIDefRegionKindSimple ? kTVMFFIDefRegionKindNone : current;
}

/// Reads a field of an object held by `value`.
inline Any ReadField(const Any& value, const TVMFFIFieldInfo* field) {
  Any result;
  void* address = reinterpret_cast<char*>(RawAny(value).v_obj) + field->offset;
  TVM_FFI_CHECK_SAFE_CALL(field->getter(address, reinterpret_cast<TVMFFIAny*>(&result)));
  return result;
}

inline uint64_t StrongCount(const TVMFFIObject* object) {
  return __atomic_load_n(&object->combined_ref_count, __ATOMIC_RELAXED) & 0xffffffffU;
}

/// Traversals recurse on the C stack; deeper values, and cyclic ones, are an error.
inline constexpr int kMaxTraversalDepth = 2000;
/// Half of the usual stack: the frames of unoptimised and sanitized builds are large.
inline constexpr uintptr_t kMaxTraversalStack = uintptr_t{4} << 20;

class TraversalDepth {
 public:
  explicit TraversalDepth(int* depth) : depth_(depth), thread_(CurrentThreadState()) {
    const uintptr_t frame = CurrentFrame();
    outermost_ = thread_ != nullptr && thread_->traversal_stack_base == 0;
    const uintptr_t base = outermost_ || thread_ == nullptr ? frame : thread_->traversal_stack_base;
    const uintptr_t used = frame < base ? base - frame : frame - base;
    if (*depth_ >= kMaxTraversalDepth || used > kMaxTraversalStack) {
      TVM_FFI_THROW(RuntimeError) << "structural traversal is nested more than " << *depth_
                                  << " levels deep: the value is too deep or contains itself";
    }
    if (outermost_) thread_->traversal_stack_base = base;
    ++*depth_;
  }
  ~TraversalDepth() {
    --*depth_;
    if (outermost_) thread_->traversal_stack_base = 0;
  }
  TraversalDepth(const TraversalDepth&) = delete;
  TraversalDepth& operator=(const TraversalDepth&) = delete;

 private:
  uintptr_t CurrentFrame() const {
#if defined(__GNUC__)
    return reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
#else
    return reinterpret_cast<uintptr_t>(this);
#endif
  }

  int* depth_;
  ThreadState* thread_;
  bool outermost_ = false;
};

/// Detaches the callback when a traversal ends: bindings may keep the visitor object longer.
template <typename T>
class CallbackBinding {
 public:
  explicit CallbackBinding(const T** slot) : slot_(slot) {}
  ~CallbackBinding() { *slot_ = nullptr; }
  CallbackBinding(const CallbackBinding&) = delete;
  CallbackBinding& operator=(const CallbackBinding&) = delete;

  static const T& Get(const T* callback) {
    if (callback == nullptr) {
      TVM_FFI_THROW(RuntimeError) << "the structural traversal has ended";
    }
    return *callback;
  }

 private:
  const T** slot_;
};

}  // namespace detail
}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_EXTRA_STRUCTURAL_DETAIL_H_
