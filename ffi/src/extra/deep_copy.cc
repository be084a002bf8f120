// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// DeepCopy without recursion.
///
/// Mutable values (lists, dicts, objects) get an empty or shallow copy at once and are completed
/// later from a queue; arrays and maps are built when their elements have copies. Since a cycle
/// passes through a mutable value, every element has one by then.
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/dataclass.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>

#include <deque>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "reflection_util.h"
#include "src/library_init.h"
#include "structural_common.h"
#include "value_util.h"

namespace tvm {
namespace ffi {
namespace {

using reflection::TypeAttrLookup;

class DeepCopier {
 public:
  Any Copy(const Any& root) {
    Any result = CopyOf(root);
    while (!incomplete_.empty()) {
      const auto [original, copy] = std::move(incomplete_.front());
      incomplete_.pop_front();
      Complete(original, copy);
    }
    return result;
  }

 private:
  /// An array or map whose elements are being copied.
  struct Frame {
    Any original;
    std::vector<Any> elements;  ///< of a map: key, value, key, value, ..
    std::vector<Any> copies;
  };

  static bool IsShared(const TVMFFIAny& raw) {
    switch (raw.type_index) {
      case kTVMFFIStr:
      case kTVMFFIBytes:
      case kTVMFFIShape:
      case kTVMFFIBigInt:
        return true;
      default:
        break;
    }
    if (raw.type_index < kTVMFFIStaticObjectBegin) return true;
    const TVMFFITypeMetadata* metadata = TVMFFIGetTypeInfo(raw.type_index)->metadata;
    return metadata != nullptr &&
           metadata->structural_eq_hash_kind == kTVMFFISEqHashKindUniqueInstance;
  }

  Any CopyOf(const Any& root) {
    Any result;
    std::vector<Frame> stack;
    if (Begin(root, &result, &stack)) return result;
    while (true) {
      Frame& frame = stack.back();
      if (frame.copies.size() < frame.elements.size()) {
        const Any element = frame.elements[frame.copies.size()];
        if (Begin(element, &result, &stack)) stack.back().copies.push_back(result);
        continue;
      }
      const Frame done = std::move(stack.back());
      stack.pop_back();
      result = BuildImmutable(done);
      Remember(done.original, result);
      if (stack.empty()) return result;
      stack.back().copies.push_back(result);
    }
  }

  /// True with a copy that is at hand; pushes a frame for an array or map.
  bool Begin(const Any& value, Any* result, std::vector<Frame>* stack) {
    const TVMFFIAny& raw = RawAny(value);
    if (IsShared(raw)) {
      *result = value;
      return true;
    }
    if (auto it = copies_.find(raw.v_obj); it != copies_.end()) {
      *result = it->second;
      return true;
    }
    switch (raw.type_index) {
      case kTVMFFIArray: {
        Frame frame{value, {}, {}};
        const SequenceView items(raw);
        for (size_t i = 0; i < items.size(); ++i) frame.elements.push_back(items[i]);
        stack->push_back(std::move(frame));
        return false;
      }
      case kTVMFFIMap: {
        Frame frame{value, {}, {}};
        for (auto& entry : EntriesOf(value)) {
          frame.elements.push_back(std::move(entry.first));
          frame.elements.push_back(std::move(entry.second));
        }
        stack->push_back(std::move(frame));
        return false;
      }
      case kTVMFFIList:
        *result = List<Any>();
        break;
      case kTVMFFIDict:
        *result = Dict<Any, Any>();
        break;
      default:
        *result = ShallowCopy(value);
        break;
    }
    Remember(value, *result);
    incomplete_.emplace_back(value, *result);
    return true;
  }

  static Any BuildImmutable(const Frame& frame) {
    if (frame.original.type_index() == kTVMFFIArray) {
      return Any(Array<Any>(frame.copies.begin(), frame.copies.end()));
    }
    Map<Any, Any> map;
    for (size_t i = 0; i < frame.copies.size(); i += 2) {
      map.Set(frame.copies[i], frame.copies[i + 1]);
    }
    return Any(map);
  }

  static Any ShallowCopy(const Any& value) {
    static const TypeAttrLookup shallow_copy(type_attr::kShallowCopy);
    const AnyView copy = shallow_copy[value.type_index()];
    if (copy.type_index() == kTVMFFINone) {
      TVM_FFI_THROW(RuntimeError) << "Cannot deep copy object of type \"" << value.GetTypeKey()
                                  << "\" because it is not copy-constructible";
    }
    return copy.cast<Function>()(value);
  }

  void Complete(const Any& original, const Any& copy) {
    if (original.type_index() == kTVMFFIList) {
      List<Any> list = copy.cast<List<Any>>();
      const SequenceView items(RawAny(original));
      for (size_t i = 0; i < items.size(); ++i) list.push_back(CopyOf(items[i]));
    } else if (original.type_index() == kTVMFFIDict) {
      Dict<Any, Any> dict = copy.cast<Dict<Any, Any>>();
      for (const auto& entry : EntriesOf(original)) {
        dict.Set(CopyOf(entry.first), CopyOf(entry.second));
      }
    } else {
      CompleteFields(copy);
    }
  }

  /// The fields of a shallow copy still hold the originals.
  void CompleteFields(const Any& copy) {
    reflection::ForEachFieldInfo(
        TVMFFIGetTypeInfo(copy.type_index()), [&](const TVMFFIFieldInfo* field) {
          const Any content = ReadField(copy, field);
          if (IsShared(RawAny(content))) return;
          const Any replacement = CopyOf(content);
          void* address = reinterpret_cast<char*>(RawAny(copy).v_obj) + field->offset;
          TVM_FFI_CHECK_SAFE_CALL(
              reflection::CallFieldSetter(field, address, &RawAny(replacement)));
        });
  }

  void Remember(const Any& original, const Any& copy) {
    copies_.emplace(RawAny(original).v_obj, copy);
    alive_.push_back(original);
  }

  std::unordered_map<const TVMFFIObject*, Any> copies_;
  std::vector<Any> alive_;
  std::deque<std::pair<Any, Any>> incomplete_;
};

}  // namespace

Any DeepCopy(const Any& value) { return DeepCopier().Copy(value); }

TVM_FFI_LIBRARY_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::GlobalDef().def("ffi.DeepCopy", DeepCopy);
}

}  // namespace ffi
}  // namespace tvm
