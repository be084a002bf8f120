// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Structural hash as an explicit stack machine; agrees with structural_equal.cc.
#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/structural_hash.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "src/library_init.h"
#include "structural_common.h"
#include "value_util.h"

namespace tvm {
namespace ffi {
namespace {

using reflection::TypeAttrLookup;
using ObjectId = const TVMFFIObject*;

class HashMachine {
 public:
  HashMachine(bool map_free_vars, bool skip_tensor_content)
      : skip_tensor_content_(skip_tensor_content) {
    if (map_free_vars) region_ = kTVMFFIDefRegionKindPattern;
  }

  uint64_t Hash(const Any& value) { return Run(value); }

 private:
  enum class FrameKind { kSequence, kMappingKeys, kMappingValues, kObject };

  struct MappingState {
    MapEntries entries;
    std::vector<std::pair<uint64_t, size_t>> order;  ///< (hash of key, entry)
  };

  struct Frame {
    FrameKind kind;
    TVMFFIDefRegionKind saved_region;
    TVMFFIDefRegionKind region;
    TVMFFISEqHashKind node_kind = kTVMFFISEqHashKindTreeNode;
    Any value;
    uint64_t hash = 0;
    size_t next = 0;
    const StructuralFields::FieldList* fields = nullptr;
    std::unique_ptr<MappingState> mapping;
  };

  struct Memo {
    bool ready = false;  ///< false while the object is being hashed
    uint64_t hash = 0;
  };

  uint64_t Run(const Any& value) {
    const size_t base = stack_.size();
    uint64_t result = 0;
    bool have_result = Begin(value, &result);
    while (stack_.size() > base) {
      if (have_result) Accept(result);
      have_result = Advance(&result);
    }
    return result;
  }

  static uint64_t TypeHash(int32_t type_index) {
    return TVMFFIGetTypeInfo(type_index)->type_key_hash;
  }

  /// Returns true with the hash of a value without children, or pushes a frame.
  bool Begin(const Any& value, uint64_t* result) {
    const TVMFFIAny& raw = RawAny(value);
    switch (raw.type_index) {
      case kTVMFFIFloat:
        *result = HashFloat(raw);
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
      case kTVMFFITensor:
        *result = HashTensor(raw.v_obj);
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
    return BeginObject(value, result);
  }

  static uint64_t HashFloat(const TVMFFIAny& raw) {
    if (!std::isnan(raw.v_float64)) return CombineHash(kTVMFFIFloat, raw.v_uint64);
    TVMFFIAny nan = raw;
    nan.v_float64 = std::numeric_limits<double>::quiet_NaN();
    return CombineHash(kTVMFFIFloat, nan.v_uint64);
  }

  static uint64_t HashShape(TVMFFIObject* object) {
    const TVMFFIShapeCell* shape = TVMFFIShapeGetCellPtr(object);
    uint64_t hash = CombineHash(TypeHash(kTVMFFIShape), shape->size);
    for (size_t i = 0; i < shape->size; ++i) {
      hash = CombineHash(hash, static_cast<uint64_t>(shape->data[i]));
    }
    return hash;
  }

  uint64_t HashTensor(TVMFFIObject* object) const {
    const DLTensor* tensor = TVMFFITensorGetDLTensorPtr(object);
    uint64_t hash = CombineHash(TypeHash(kTVMFFITensor), static_cast<uint64_t>(tensor->ndim));
    for (int i = 0; i < tensor->ndim; ++i) {
      hash = CombineHash(hash, static_cast<uint64_t>(tensor->shape[i]));
    }
    hash = CombineHash(hash, static_cast<uint64_t>(tensor->dtype.code) << 32 |
                                 static_cast<uint64_t>(tensor->dtype.bits) << 16 |
                                 tensor->dtype.lanes);
    if (skip_tensor_content_) return hash;
    return CombineHash(hash, HashBytes(TensorBytes(tensor, "structural hash")));
  }

  bool BeginObject(const Any& value, uint64_t* result) {
    const ObjectId object = RawAny(value).v_obj;
    if (auto it = numbered_.find(object); it != numbered_.end()) {
      *result = it->second;
      return true;
    }
    const int32_t type_index = object->type_index;
    if (IsSequence(type_index)) {
      if (FromMemo(value, result)) return true;
      Push(FrameKind::kSequence, value).hash =
          CombineHash(TypeHash(type_index), SequenceView(RawAny(value)).size());
      return false;
    }
    if (IsMapping(type_index)) {
      if (FromMemo(value, result)) return true;
      Frame& frame = Push(FrameKind::kMappingKeys, value);
      frame.mapping = std::make_unique<MappingState>();
      frame.mapping->entries = EntriesOf(value);
      frame.hash = CombineHash(TypeHash(type_index), frame.mapping->entries.size());
      return false;
    }
    return BeginNode(value, object, result);
  }

  bool BeginNode(const Any& value, ObjectId object, uint64_t* result) {
    const TVMFFITypeInfo* type = TVMFFIGetTypeInfo(object->type_index);
    const TVMFFISEqHashKind kind = RequireStructuralKind(type, "StructuralHash");
    const bool use_of_free_var =
        kind == kTVMFFISEqHashKindFreeVar && region_ == kTVMFFIDefRegionKindNone;
    if (kind == kTVMFFISEqHashKindUniqueInstance || use_of_free_var) {
      if (use_of_free_var) {
        free_uses_.insert(object);
        alive_.push_back(value);
      }
      *result = CombineHash(type->type_key_hash, reinterpret_cast<uintptr_t>(object));
      return true;
    }
    if (FromMemo(value, result)) return true;

    static const TypeAttrLookup custom_hash(type_attr::kSHash);
    const AnyView hook = custom_hash[type->type_index];
    if (hook.type_index() != kTVMFFINone) {
      *result = FinishNode(value, kind, HashByHook(hook, value, kind, type->type_key_hash));
      return true;
    }
    const auto& fields = fields_.Of(type);
    Frame& frame = Push(FrameKind::kObject, value);
    frame.node_kind = kind;
    frame.fields = &fields;
    frame.hash = type->type_key_hash;
    if (kind == kTVMFFISEqHashKindFreeVar) frame.region = RegionOfVariableFields(region_);
    return false;
  }

  Frame& Push(FrameKind kind, const Any& value) {
    Frame frame;
    frame.kind = kind;
    frame.saved_region = region_;
    frame.region = region_;
    frame.value = value;
    stack_.push_back(std::move(frame));
    return stack_.back();
  }

  /// Takes the hash of the child that the top frame asked for.
  void Accept(uint64_t child) {
    Frame& frame = stack_.back();
    if (frame.kind == FrameKind::kMappingKeys) {
      frame.mapping->order.emplace_back(child, frame.next - 1);
    } else {
      frame.hash = CombineHash(frame.hash, child);
    }
  }

  /// Starts the next child, or finishes the frame; true when `*result` holds a hash.
  bool Advance(uint64_t* result) {
    Frame& frame = stack_.back();
    region_ = frame.region;
    switch (frame.kind) {
      case FrameKind::kSequence: {
        const SequenceView items(RawAny(frame.value));
        if (frame.next < items.size()) {
          const Any item = items[frame.next++];
          return Begin(item, result);
        }
        break;
      }
      case FrameKind::kMappingKeys: {
        MappingState* mapping = frame.mapping.get();
        if (frame.next < mapping->entries.size()) {
          const Any key = mapping->entries[frame.next++].first;
          return Begin(key, result);
        }
        StartMappingValues(&frame);
        return Advance(result);
      }
      case FrameKind::kMappingValues: {
        const MappingState& mapping = *frame.mapping;
        if (frame.next < mapping.order.size()) {
          const auto& [key_hash, entry] = mapping.order[frame.next++];
          frame.hash = CombineHash(frame.hash, key_hash);
          const Any item = mapping.entries[entry].second;
          return Begin(item, result);
        }
        break;
      }
      case FrameKind::kObject: {
        if (frame.next < frame.fields->size()) {
          const TVMFFIFieldInfo* field = (*frame.fields)[frame.next++];
          region_ = RegionOfField(frame.region, field);
          const Any item = ReadField(frame.value, field);
          return Begin(item, result);
        }
        break;
      }
    }
    const Frame done = std::move(stack_.back());
    stack_.pop_back();
    region_ = done.saved_region;
    *result = FinishNode(done.value, done.node_kind, done.hash);
    return true;
  }

  /// Values are hashed in the order of the key hashes, which does not depend on insertion order.
  /// Entries whose keys collide have no such order: only their keys count.
  static void StartMappingValues(Frame* frame) {
    auto& order = frame->mapping->order;
    std::sort(order.begin(), order.end());
    std::vector<std::pair<uint64_t, size_t>> distinct;
    for (size_t i = 0; i < order.size();) {
      size_t end = i + 1;
      while (end < order.size() && order[end].first == order[i].first) ++end;
      if (end == i + 1) {
        distinct.push_back(order[i]);
      } else {
        frame->hash = CombineHash(CombineHash(frame->hash, order[i].first), end - i);
      }
      i = end;
    }
    order = std::move(distinct);
    frame->kind = FrameKind::kMappingValues;
    frame->next = 0;
  }

  /// Called in the region of the value.
  uint64_t FinishNode(const Any& value, TVMFFISEqHashKind kind, uint64_t hash) {
    const ObjectId object = RawAny(value).v_obj;
    if (kind == kTVMFFISEqHashKindDAGNode || kind == kTVMFFISEqHashKindFreeVar) {
      hash = CombineHash(hash, next_ordinal_++);
      numbered_.emplace(object, hash);
      alive_.push_back(value);
      // Hashes computed while this variable went by its address no longer hold.
      if (free_uses_.count(object) != 0) ForgetReadyMemos();
      return hash;
    }
    if (auto it = memo_.find(MemoKey(object)); it != memo_.end()) it->second = Memo{true, hash};
    return hash;
  }

  /// Known hash of a shared value. ValueError when the value contains itself.
  bool FromMemo(const Any& value, uint64_t* result) {
    if (!MayBeShared(value)) return false;
    auto [it, inserted] = memo_.try_emplace(MemoKey(RawAny(value).v_obj));
    if (inserted) {
      alive_.push_back(value);
      return false;
    }
    if (!it->second.ready) {
      TVM_FFI_THROW(ValueError) << "cannot hash a cyclic value: `" << value.GetTypeKey()
                                << "` contains itself";
    }
    *result = it->second.hash;
    return true;
  }

  uint64_t MemoKey(ObjectId object) const {
    // Objects are aligned, so the low bits can hold the region kind.
    return reinterpret_cast<uintptr_t>(object) | static_cast<uint64_t>(region_);
  }

  void ForgetReadyMemos() {
    for (auto it = memo_.begin(); it != memo_.end();) {
      it = it->second.ready ? memo_.erase(it) : std::next(it);
    }
  }

  uint64_t HashByHook(AnyView hook, const Any& value, TVMFFISEqHashKind kind, uint64_t init) {
    HookNesting nesting(&hook_depth_, "__s_hash__");
    const TVMFFIDefRegionKind region = region_;
    const TVMFFIDefRegionKind child_region =
        kind == kTVMFFISEqHashKindFreeVar ? RegionOfVariableFields(region) : region;
    CallbackScope scope;
    Function callback = scope.Guard<int64_t, AnyView, AnyView, AnyView>(
        [this, child_region](AnyView child, AnyView seed, AnyView region_arg) {
          region_ = EnterRegion(child_region, RegionFromArgument(region_arg));
          const uint64_t hash = Run(Any(child));
          return static_cast<int64_t>(
              CombineHash(static_cast<uint64_t>(seed.cast<int64_t>()), hash));
        });
    const int64_t hash =
        hook.cast<Function>()(value, static_cast<int64_t>(init), callback).cast<int64_t>();
    region_ = region;
    return static_cast<uint64_t>(hash);
  }

  const bool skip_tensor_content_;
  TVMFFIDefRegionKind region_ = kTVMFFIDefRegionKindNone;
  int hook_depth_ = 0;
  uint64_t next_ordinal_ = 0;
  StructuralFields fields_;
  std::vector<Frame> stack_;
  /// DAG nodes and defined variables: their hash depends on when they were met first.
  std::unordered_map<ObjectId, uint64_t> numbered_;
  std::unordered_set<ObjectId> free_uses_;
  std::unordered_map<uint64_t, Memo> memo_;
  /// Field getters may make objects: addresses used as keys must stay taken.
  std::vector<Any> alive_;
};

}  // namespace

uint64_t StructuralHash::Hash(const Any& value, bool map_free_vars, bool skip_tensor_content) {
  return HashMachine(map_free_vars, skip_tensor_content).Hash(value);
}

TVM_FFI_LIBRARY_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::EnsureTypeAttrColumn(type_attr::kSHash);
  refl::GlobalDef().def(
      "ffi.StructuralHash",
      [](const Any& value, bool map_free_vars, bool skip_tensor_content) -> int64_t {
        return static_cast<int64_t>(
            StructuralHash::Hash(value, map_free_vars, skip_tensor_content));
      });
}

}  // namespace ffi
}  // namespace tvm
