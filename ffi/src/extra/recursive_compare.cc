// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// RecursiveEq and the orderings: one explicit-stack walk over two values.
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/dataclass.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "big_int_text.h"
#include "dataclass_util.h"
#include "reflection_util.h"
#include "src/library_init.h"
#include "structural_common.h"
#include "value_util.h"

namespace tvm {
namespace ffi {
namespace {

using reflection::TypeAttrLookup;

struct ObjectPair {
  const TVMFFIObject* lhs;
  const TVMFFIObject* rhs;
  bool operator==(const ObjectPair& other) const { return lhs == other.lhs && rhs == other.rhs; }
};

struct ObjectPairHash {
  size_t operator()(const ObjectPair& pair) const {
    return CombineHash(reinterpret_cast<uintptr_t>(pair.lhs) >> 4,
                       reinterpret_cast<uintptr_t>(pair.rhs) >> 4);
  }
};

template <typename T>
int Order(const T& lhs, const T& rhs) {
  return lhs < rhs ? -1 : (rhs < lhs ? 1 : 0);
}

/// Result: negative, zero or positive. When only equality is asked, non-zero means different and
/// nothing is an error; in an ordering, values that have no order are.
class RecursiveComparer {
 public:
  explicit RecursiveComparer(bool ordering) : ordering_(ordering) {}

  int Compare(const Any& lhs, const Any& rhs) {
    const size_t base = stack_.size();
    int result = Begin(lhs, rhs);
    while (result == 0 && stack_.size() > base) result = Advance();
    while (stack_.size() > base) Pop();  // after a difference
    return result;
  }

 private:
  enum class FrameKind { kSequence, kMapping, kObject };

  struct Frame {
    FrameKind kind;
    Any lhs;
    Any rhs;
    size_t next = 0;
    MapEntries entries;
    std::vector<const TVMFFIFieldInfo*> fields;
  };

  [[noreturn]] static void ThrowUnordered(const Any& lhs, const Any& rhs) {
    TVM_FFI_THROW(TypeError) << "Cannot compare values of different types: " << lhs.GetTypeKey()
                             << " vs " << rhs.GetTypeKey();
  }

  int Begin(const Any& lhs, const Any& rhs) {
    const TVMFFIAny& left = RawAny(lhs);
    const TVMFFIAny& right = RawAny(rhs);
    const int32_t type_index = CanonicalTypeIndex(left.type_index);
    if (type_index != CanonicalTypeIndex(right.type_index)) return CompareMixed(lhs, rhs);
    switch (type_index) {
      case kTVMFFINone:
        return 0;
      case kTVMFFIInt:
      case kTVMFFIBool:
        return Order(left.v_int64, right.v_int64);
      case kTVMFFIFloat:
        return CompareFloats(left.v_float64, right.v_float64);
      case kTVMFFIStr:
      case kTVMFFIBytes:
        return Order(TextOf(left), TextOf(right));
      case kTVMFFIDataType:
        return CompareDataTypes(left.v_dtype, right.v_dtype);
      case kTVMFFIDevice: {
        const int by_type = Order(left.v_device.device_type, right.v_device.device_type);
        return by_type != 0 ? by_type : Order(left.v_device.device_id, right.v_device.device_id);
      }
      case kTVMFFIShape:
        return CompareShapes(left.v_obj, right.v_obj);
      case kTVMFFIBigInt:
        return CompareBigInts(lhs, rhs);
      default:
        break;
    }
    if (type_index < kTVMFFIStaticObjectBegin) return Order(left.v_uint64, right.v_uint64);
    return BeginObject(lhs, rhs);
  }

  int CompareMixed(const Any& lhs, const Any& rhs) const {
    const int32_t left = lhs.type_index();
    const int32_t right = rhs.type_index();
    const bool integers = (left == kTVMFFIInt || left == kTVMFFIBigInt) &&
                          (right == kTVMFFIInt || right == kTVMFFIBigInt);
    if (integers) return CompareBigInts(lhs, rhs);
    if (!ordering_) return 1;
    if (left == kTVMFFINone) return -1;
    if (right == kTVMFFINone) return 1;
    ThrowUnordered(lhs, rhs);
  }

  int CompareFloats(double lhs, double rhs) const {
    if (std::isnan(lhs) || std::isnan(rhs)) {
      if (!ordering_) return std::isnan(lhs) && std::isnan(rhs) ? 0 : 1;
      TVM_FFI_THROW(TypeError) << "Cannot order NaN values";
    }
    return Order(lhs, rhs);
  }

  static int CompareDataTypes(DLDataType lhs, DLDataType rhs) {
    if (const int code = Order(lhs.code, rhs.code); code != 0) return code;
    if (const int bits = Order(lhs.bits, rhs.bits); bits != 0) return bits;
    return Order(lhs.lanes, rhs.lanes);
  }

  static int CompareShapes(TVMFFIObject* lhs, TVMFFIObject* rhs) {
    const TVMFFIShapeCell* left = TVMFFIShapeGetCellPtr(lhs);
    const TVMFFIShapeCell* right = TVMFFIShapeGetCellPtr(rhs);
    for (size_t i = 0; i < left->size && i < right->size; ++i) {
      if (const int extent = Order(left->data[i], right->data[i]); extent != 0) return extent;
    }
    return Order(left->size, right->size);
  }

  int BeginObject(const Any& lhs, const Any& rhs) {
    TVMFFIObject* left = RawAny(lhs).v_obj;
    TVMFFIObject* right = RawAny(rhs).v_obj;
    if (ComparesByIdentity(left->type_index)) return Order(IdentityOf(left), IdentityOf(right));
    if (ordering_ && IsMapping(left->type_index)) {
      TVM_FFI_THROW(TypeError) << "Cannot order Map/Dict values";
    }
    // Equality takes pairs it has met as equal: they have been compared, or close a cycle.
    // An ordering compares shared values again, but a cycle has no order.
    if (!pairs_.insert(ObjectPair{left, right}).second) {
      if (!ordering_) return 0;
      TVM_FFI_THROW(ValueError) << "RecursiveCompare: cyclic reference detected in ordering";
    }
    if (IsSequence(left->type_index)) {
      if (!ordering_ && SequenceView(RawAny(lhs)).size() != SequenceView(RawAny(rhs)).size()) {
        return 1;
      }
      Push(FrameKind::kSequence, lhs, rhs);
      return 0;
    }
    if (IsMapping(left->type_index)) {
      if (MappingSize(lhs) != MappingSize(rhs)) return 1;
      Push(FrameKind::kMapping, lhs, rhs).entries = EntriesOf(lhs);
      return 0;
    }
    return BeginReflected(lhs, rhs, left->type_index);
  }

  int BeginReflected(const Any& lhs, const Any& rhs, int32_t type_index) {
    static const TypeAttrLookup equal_hooks(type_attr::kEq);
    static const TypeAttrLookup compare_hooks(type_attr::kCompare);
    const AnyView compare = compare_hooks[type_index];
    if (!ordering_) {
      const AnyView equal = equal_hooks[type_index];
      if (equal.type_index() != kTVMFFINone) return EqualByHook(equal, lhs, rhs) ? 0 : 1;
    }
    if (compare.type_index() != kTVMFFINone) return CompareByHook(compare, lhs, rhs);
    Frame& frame = Push(FrameKind::kObject, lhs, rhs);
    reflection::ForEachFieldInfo(TVMFFIGetTypeInfo(type_index), [&](const TVMFFIFieldInfo* field) {
      if ((field->flags & kTVMFFIFieldFlagBitMaskCompareOff) == 0) {
        frame.fields.push_back(field);
      }
    });
    return 0;
  }

  Frame& Push(FrameKind kind, const Any& lhs, const Any& rhs) {
    if (stack_.size() >= kMaxValueDepth) {
      TVM_FFI_THROW(RuntimeError) << "values are nested more than " << kMaxValueDepth
                                  << " levels deep";
    }
    stack_.push_back(Frame{kind, lhs, rhs, 0, {}, {}});
    return stack_.back();
  }

  void Pop() {
    if (ordering_) Leave(stack_.back().lhs, stack_.back().rhs);
    stack_.pop_back();
  }

  void Leave(const Any& lhs, const Any& rhs) {
    pairs_.erase(ObjectPair{RawAny(lhs).v_obj, RawAny(rhs).v_obj});
  }

  int Advance() {
    Frame& frame = stack_.back();
    switch (frame.kind) {
      case FrameKind::kSequence: {
        const SequenceView left(RawAny(frame.lhs));
        const SequenceView right(RawAny(frame.rhs));
        if (frame.next < left.size() && frame.next < right.size()) {
          const size_t i = frame.next++;
          const Any left_item = left[i];
          const Any right_item = right[i];
          return Begin(left_item, right_item);
        }
        if (const int size = Order(left.size(), right.size()); size != 0) return size;
        break;
      }
      case FrameKind::kMapping: {
        if (frame.next == frame.entries.size()) break;
        const auto& [key, left_value] = frame.entries[frame.next++];
        const std::optional<Any> right_value = LookUp(frame.rhs, key);
        if (!right_value.has_value()) return 1;
        const Any left_copy = left_value;
        return Begin(left_copy, *right_value);
      }
      case FrameKind::kObject: {
        if (frame.next == frame.fields.size()) break;
        const TVMFFIFieldInfo* field = frame.fields[frame.next++];
        const Any left_item = ReadField(frame.lhs, field);
        const Any right_item = ReadField(frame.rhs, field);
        return Begin(left_item, right_item);
      }
    }
    Pop();
    return 0;
  }

  bool EqualByHook(AnyView hook, const Any& lhs, const Any& rhs) {
    HookNesting nesting(&hook_depth_, "__ffi_eq__");
    CallbackScope scope;
    Function callback = scope.Guard<bool, AnyView, AnyView>([this](AnyView x, AnyView y) {
      const bool equal = Compare(Any(x), Any(y)) == 0;
      // The hook may carry on after a difference, which made assumptions wrong.
      if (!equal) pairs_.clear();
      return equal;
    });
    alive_.push_back(lhs);
    alive_.push_back(rhs);
    return hook.cast<Function>()(lhs, rhs, callback).cast<bool>();
  }

  int CompareByHook(AnyView hook, const Any& lhs, const Any& rhs) {
    HookNesting nesting(&hook_depth_, "__ffi_compare__");
    CallbackScope scope;
    Function callback = scope.Guard<int64_t, AnyView, AnyView>([this](AnyView x, AnyView y) {
      const int order = Compare(Any(x), Any(y));
      if (order != 0 && !ordering_) pairs_.clear();
      return static_cast<int64_t>(order);
    });
    const int64_t order = hook.cast<Function>()(lhs, rhs, callback).cast<int64_t>();
    if (ordering_) Leave(lhs, rhs);
    return Order(order, int64_t{0});
  }

  const bool ordering_;
  int hook_depth_ = 0;
  std::vector<Frame> stack_;
  std::unordered_set<ObjectPair, ObjectPairHash> pairs_;
  std::vector<Any> alive_;
};

int CompareInOrder(const Any& lhs, const Any& rhs) {
  return RecursiveComparer(true).Compare(lhs, rhs);
}

}  // namespace

bool RecursiveEq(const Any& lhs, const Any& rhs) {
  return RecursiveComparer(false).Compare(lhs, rhs) == 0;
}
bool RecursiveLt(const Any& lhs, const Any& rhs) { return CompareInOrder(lhs, rhs) < 0; }
bool RecursiveLe(const Any& lhs, const Any& rhs) { return CompareInOrder(lhs, rhs) <= 0; }
bool RecursiveGt(const Any& lhs, const Any& rhs) { return CompareInOrder(lhs, rhs) > 0; }
bool RecursiveGe(const Any& lhs, const Any& rhs) { return CompareInOrder(lhs, rhs) >= 0; }

TVM_FFI_LIBRARY_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::EnsureTypeAttrColumn(type_attr::kEq);
  refl::EnsureTypeAttrColumn(type_attr::kCompare);
  refl::GlobalDef()
      .def("ffi.RecursiveEq", RecursiveEq)
      .def("ffi.RecursiveLt", RecursiveLt)
      .def("ffi.RecursiveLe", RecursiveLe)
      .def("ffi.RecursiveGt", RecursiveGt)
      .def("ffi.RecursiveGe", RecursiveGe);
}

}  // namespace ffi
}  // namespace tvm
