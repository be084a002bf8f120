// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// RecursiveHash with an explicit stack: equal values (RecursiveEq) have equal hashes.
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/dataclass.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "dataclass_util.h"
#include "reflection_util.h"
#include "src/library_init.h"
#include "structural_common.h"
#include "value_util.h"

namespace tvm {
namespace ffi {
namespace {

using reflection::TypeAttrLookup;

class RecursiveHasher {
 public:
  uint64_t Hash(const Any& value) {
    const size_t base = stack_.size();
    uint64_t result = 0;
    bool ready = Begin(value, &result);
    while (stack_.size() > base) {
      if (ready) stack_.back().children.push_back(result);
      ready = Advance(&result);
    }
    return result;
  }

 private:
  struct Frame {
    Any value;
    MapEntries entries;
    std::vector<const TVMFFIFieldInfo*> fields;
    std::vector<uint64_t> children;
  };

  bool Begin(const Any& value, uint64_t* result) {
    const TVMFFIAny& raw = RawAny(value);
    switch (raw.type_index) {
      case kTVMFFIFloat:
        *result = HashFloat(raw.v_float64);
        return true;
      case kTVMFFISmallStr:
      case kTVMFFIStr:
        *result = CombineHash(kTVMFFIStr, HashBytes(TextOf(raw)));
        return true;
      case kTVMFFISmallBytes:
      case kTVMFFIBytes:
        *result = CombineHash(kTVMFFIBytes, HashBytes(TextOf(raw)));
        return true;
      case kTVMFFIShape:
        *result = HashShape(raw.v_obj);
        return true;
      case kTVMFFIBigInt: {
        const TVMFFIByteArray words = TVMFFIBigIntGetContentByteArray(&raw);
        *result = CombineHash(kTVMFFIBigInt, HashBytes({words.data, words.size}));
        return true;
      }
      default:
        break;
    }
    if (raw.type_index < kTVMFFIStaticObjectBegin) {
      *result = CombineHash(static_cast<uint64_t>(raw.type_index), raw.v_uint64);
      return true;
    }
    if (ComparesByIdentity(raw.type_index)) {
      *result = CombineHash(static_cast<uint64_t>(raw.type_index),
                            reinterpret_cast<uintptr_t>(IdentityOf(raw.v_obj)));
      return true;
    }
    return BeginObject(value, raw, result);
  }

  static uint64_t HashFloat(double number) {
    TVMFFIAny raw{};
    // Equal numbers: both zeros, and every NaN.
    raw.v_float64 = number == 0          ? 0.0
                    : std::isnan(number) ? std::numeric_limits<double>::quiet_NaN()
                                         : number;
    return CombineHash(kTVMFFIFloat, raw.v_uint64);
  }

  static uint64_t HashShape(TVMFFIObject* object) {
    const TVMFFIShapeCell* shape = TVMFFIShapeGetCellPtr(object);
    uint64_t hash = CombineHash(kTVMFFIShape, shape->size);
    for (size_t i = 0; i < shape->size; ++i) {
      hash = CombineHash(hash, static_cast<uint64_t>(shape->data[i]));
    }
    return hash;
  }

  static uint64_t TypeHash(int32_t type_index) {
    return TVMFFIGetTypeInfo(type_index)->type_key_hash;
  }

  bool BeginObject(const Any& value, const TVMFFIAny& raw, uint64_t* result) {
    if (on_path_.count(raw.v_obj) != 0) {
      found_cycle_ = true;
      *result = TypeHash(raw.type_index);
      return true;
    }
    // In a cyclic value a hash depends on where the walk came from.
    if (auto it = memo_.find(raw.v_obj); it != memo_.end() && !found_cycle_) {
      *result = it->second;
      return true;
    }
    if (!IsSequence(raw.type_index) && !IsMapping(raw.type_index) &&
        HashByHook(value, raw, result)) {
      return true;
    }
    if (stack_.size() >= kMaxValueDepth) {
      TVM_FFI_THROW(RuntimeError) << "values are nested more than " << kMaxValueDepth
                                  << " levels deep";
    }
    on_path_.insert(raw.v_obj);
    stack_.push_back(Frame{value, {}, {}, {}});
    Frame& frame = stack_.back();
    if (IsMapping(raw.type_index)) {
      frame.entries = EntriesOf(value);
    } else if (!IsSequence(raw.type_index)) {
      constexpr int64_t kSkipped =
          kTVMFFIFieldFlagBitMaskHashOff | kTVMFFIFieldFlagBitMaskCompareOff;
      reflection::ForEachFieldInfo(TVMFFIGetTypeInfo(raw.type_index),
                                   [&](const TVMFFIFieldInfo* field) {
                                     if ((field->flags & kSkipped) == 0) {
                                       frame.fields.push_back(field);
                                     }
                                   });
    }
    return false;
  }

  /// False when the type has no hook.
  bool HashByHook(const Any& value, const TVMFFIAny& raw, uint64_t* result) {
    static const TypeAttrLookup hash_hooks(type_attr::kHash);
    static const TypeAttrLookup equal_hooks(type_attr::kEq);
    static const TypeAttrLookup compare_hooks(type_attr::kCompare);
    const AnyView hook = hash_hooks[raw.type_index];
    if (hook.type_index() == kTVMFFINone) {
      if (equal_hooks[raw.type_index].type_index() == kTVMFFINone &&
          compare_hooks[raw.type_index].type_index() == kTVMFFINone) {
        return false;
      }
      TVM_FFI_THROW(ValueError)
          << "RecursiveHash: type '" << value.GetTypeKey()
          << "' defines __ffi_eq__ or __ffi_compare__ but not __ffi_hash__, so values that are "
             "equal could have different hashes";
    }
    HookNesting nesting(&hook_depth_, "__ffi_hash__");
    CallbackScope scope;
    Function callback = scope.Guard<int64_t, AnyView>(
        [this](AnyView child) { return static_cast<int64_t>(Hash(Any(child))); });
    on_path_.insert(raw.v_obj);
    *result = static_cast<uint64_t>(hook.cast<Function>()(value, callback).cast<int64_t>());
    on_path_.erase(raw.v_obj);
    return true;
  }

  bool Advance(uint64_t* result) {
    Frame& frame = stack_.back();
    const size_t next = frame.children.size();
    const int32_t type_index = frame.value.type_index();
    if (IsSequence(type_index)) {
      const SequenceView items(RawAny(frame.value));
      if (next < items.size()) {
        const Any item = items[next];
        return Begin(item, result);
      }
    } else if (IsMapping(type_index)) {
      if (next < 2 * frame.entries.size()) {
        const auto& entry = frame.entries[next / 2];
        const Any item = next % 2 == 0 ? entry.first : entry.second;
        return Begin(item, result);
      }
    } else if (next < frame.fields.size()) {
      const Any item = ReadField(frame.value, frame.fields[next]);
      return Begin(item, result);
    }
    *result = Finish();
    return true;
  }

  uint64_t Finish() {
    Frame done = std::move(stack_.back());
    stack_.pop_back();
    const TVMFFIObject* object = RawAny(done.value).v_obj;
    on_path_.erase(object);
    uint64_t hash = CombineHash(TypeHash(object->type_index), done.children.size());
    if (IsMapping(object->type_index)) {
      // Equality of mappings does not look at the order of entries.
      std::vector<uint64_t> entries;
      for (size_t i = 0; i < done.children.size(); i += 2) {
        entries.push_back(CombineHash(done.children[i], done.children[i + 1]));
      }
      std::sort(entries.begin(), entries.end());
      done.children = std::move(entries);
    }
    for (const uint64_t child : done.children) hash = CombineHash(hash, child);
    if (MayBeShared(done.value)) {
      memo_.emplace(object, hash);
      alive_.push_back(std::move(done.value));
    }
    return hash;
  }

  int hook_depth_ = 0;
  bool found_cycle_ = false;
  std::vector<Frame> stack_;
  std::unordered_set<const TVMFFIObject*> on_path_;
  std::unordered_map<const TVMFFIObject*, uint64_t> memo_;
  std::vector<Any> alive_;
};

}  // namespace

int64_t RecursiveHash(const Any& value) {
  return static_cast<int64_t>(RecursiveHasher().Hash(value));
}

TVM_FFI_LIBRARY_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::EnsureTypeAttrColumn(type_attr::kHash);
  refl::GlobalDef().def("ffi.RecursiveHash", RecursiveHash);
}

}  // namespace ffi
}  // namespace tvm
