// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Structural equality as an explicit stack machine: the depth of a value is bounded by memory
/// only. Pairs of objects under comparison are assumed equal, which ends on cyclic values, and
/// pairs found equal are not compared again.
#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/structural_equal.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
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

using reflection::AccessPath;
using reflection::AccessPathPair;
using reflection::AccessStep;
using reflection::TypeAttrLookup;

using ObjectId = const TVMFFIObject*;

/// Two objects compared under one region kind.
struct PairKey {
  ObjectId lhs;
  ObjectId rhs;
  int region;
  bool operator==(const PairKey& other) const {
    return lhs == other.lhs && rhs == other.rhs && region == other.region;
  }
};

struct PairKeyHash {
  size_t operator()(const PairKey& key) const {
    return CombineHash(CombineHash(reinterpret_cast<uintptr_t>(key.lhs) >> 4,
                                   reinterpret_cast<uintptr_t>(key.rhs) >> 4),
                       static_cast<uint64_t>(key.region));
  }
};

class EqualityMachine {
 public:
  EqualityMachine(bool map_free_vars, bool skip_tensor_content, bool want_path)
      : skip_tensor_content_(skip_tensor_content), want_path_(want_path) {
    if (map_free_vars) region_ = kTVMFFIDefRegionKindPattern;
  }

  bool Compare(const Any& lhs, const Any& rhs) { return Run(lhs, rhs); }

  AccessPathPair MismatchPaths() const {
    AccessPath lhs = AccessPath::Root();
    AccessPath rhs = AccessPath::Root();
    for (const auto& [left, right] : mismatch_steps_) {
      lhs = lhs->Extend(left);
      rhs = rhs->Extend(right);
    }
    return AccessPathPair(lhs, rhs);
  }

 private:
  enum class FrameKind { kSequence, kMapping, kObject, kHook };

  struct MappingState {
    MapEntries entries;
  };

  struct Frame {
    FrameKind kind;
    TVMFFIDefRegionKind saved_region;  ///< in force outside of this value
    TVMFFIDefRegionKind region;        ///< in force for its children, before field flags
    TVMFFISEqHashKind node_kind = kTVMFFISEqHashKindUnsupported;
    Any lhs;
    Any rhs;
    size_t next = 0;  ///< index of the child to compare next
    const StructuralFields::FieldList* fields = nullptr;
    std::unique_ptr<MappingState> mapping;
    Optional<AccessStep> hook_step = std::nullopt;
  };

  /// Compares one pair and everything below it; frames below `stack_` are left alone.
  bool Run(const Any& lhs, const Any& rhs) {
    const size_t base = stack_.size();
    if (!Begin(lhs, rhs)) return Fail();
    while (stack_.size() > base) {
      if (!Advance()) return Fail();
    }
    return true;
  }

  /// Keeps the place of the first mismatch; later unwinding must not lose it.
  bool Fail() {
    if (!want_path_ || has_mismatch_) return false;
    has_mismatch_ = true;
    mismatch_steps_.clear();
    for (const Frame& frame : stack_) {
      if (std::optional<AccessStep> step = CurrentStep(frame)) {
        mismatch_steps_.emplace_back(*step, *step);
      }
    }
    if (tail_steps_.has_value()) mismatch_steps_.push_back(*std::move(tail_steps_));
    return false;
  }

  /// Step to the child that the frame compares at the moment.
  static std::optional<AccessStep> CurrentStep(const Frame& frame) {
    if (frame.kind == FrameKind::kHook) {
      if (frame.hook_step.has_value()) return *frame.hook_step;
      return std::nullopt;
    }
    if (frame.next == 0) return std::nullopt;  // the value itself differs
    const size_t child = frame.next - 1;
    switch (frame.kind) {
      case FrameKind::kSequence:
        return AccessStep::ArrayItem(static_cast<int64_t>(child));
      case FrameKind::kMapping:
        return AccessStep::MapItem(frame.mapping->entries[child].first);
      case FrameKind::kObject:
        if (child >= frame.fields->size()) return std::nullopt;
        return AccessStep::Attr(
            String(std::string(reflection::internal::ToStringView((*frame.fields)[child]->name))));
      default:
        return std::nullopt;
    }
  }

  /// Decides plain values; pushes a frame for values with children.
  bool Begin(const Any& lhs, const Any& rhs) {
    const int32_t type_index = CanonicalTypeIndex(lhs.type_index());
    if (type_index != CanonicalTypeIndex(rhs.type_index())) return false;
    const TVMFFIAny& left = RawAny(lhs);
    const TVMFFIAny& right = RawAny(rhs);
    switch (type_index) {
      case kTVMFFIStr:
      case kTVMFFIBytes:
        return TextOf(left) == TextOf(right);
      case kTVMFFIFloat:
        return left.v_uint64 == right.v_uint64 ||
               (std::isnan(left.v_float64) && std::isnan(right.v_float64));
      case kTVMFFIShape:
        return EqualShapes(left.v_obj, right.v_obj);
      case kTVMFFITensor:
        return EqualTensors(left.v_obj, right.v_obj);
      case kTVMFFIBigInt:
        return AnyEqual()(lhs, rhs);
      case kTVMFFIArray:
      case kTVMFFIList:
        return BeginSequence(lhs, rhs);
      case kTVMFFIMap:
      case kTVMFFIDict:
        return BeginMapping(lhs, rhs);
      default:
        break;
    }
    if (type_index < kTVMFFIStaticObjectBegin) return left.v_uint64 == right.v_uint64;
    return BeginObject(lhs, rhs);
  }

  static bool EqualShapes(TVMFFIObject* lhs, TVMFFIObject* rhs) {
    const TVMFFIShapeCell* left = TVMFFIShapeGetCellPtr(lhs);
    const TVMFFIShapeCell* right = TVMFFIShapeGetCellPtr(rhs);
    return left->size == right->size &&
           std::equal(left->data, left->data + left->size, right->data);
  }

  bool EqualTensors(TVMFFIObject* lhs, TVMFFIObject* rhs) const {
    if (lhs == rhs) return true;
    const DLTensor* left = TVMFFITensorGetDLTensorPtr(lhs);
    const DLTensor* right = TVMFFITensorGetDLTensorPtr(rhs);
    if (left->ndim != right->ndim || left->dtype.code != right->dtype.code ||
        left->dtype.bits != right->dtype.bits || left->dtype.lanes != right->dtype.lanes ||
        !std::equal(left->shape, left->shape + left->ndim, right->shape)) {
      return false;
    }
    if (skip_tensor_content_) return true;
    return TensorBytes(left, "structural equality") == TensorBytes(right, "structural equality");
  }

  bool BeginSequence(const Any& lhs, const Any& rhs) {
    if (!want_path_ && SequenceView(RawAny(lhs)).size() != SequenceView(RawAny(rhs)).size()) {
      return false;
    }
    if (IsSettled(lhs, rhs)) return true;
    Push(FrameKind::kSequence, lhs, rhs);
    return true;
  }

  bool BeginMapping(const Any& lhs, const Any& rhs) {
    if (!want_path_ && MappingSize(lhs) != MappingSize(rhs)) return false;
    if (IsSettled(lhs, rhs)) return true;
    Frame& frame = Push(FrameKind::kMapping, lhs, rhs);
    frame.mapping = std::make_unique<MappingState>();
    frame.mapping->entries = EntriesOf(lhs);
    return true;
  }

  bool BeginObject(const Any& lhs, const Any& rhs) {
    const ObjectId left = RawAny(lhs).v_obj;
    const ObjectId right = RawAny(rhs).v_obj;
    if (auto it = partner_.find(left); it != partner_.end()) return it->second == right;
    if (reverse_partner_.count(right) != 0) return false;

    const TVMFFITypeInfo* type = TVMFFIGetTypeInfo(left->type_index);
    const TVMFFISEqHashKind kind = RequireStructuralKind(type, "StructuralEqual");
    if (kind == kTVMFFISEqHashKindUniqueInstance) return left == right;
    if (kind == kTVMFFISEqHashKindConstTreeNode && left == right) return true;
    if (kind == kTVMFFISEqHashKindFreeVar && region_ == kTVMFFIDefRegionKindNone && left != right &&
        !want_path_) {
      return false;  // uses of different variables; their fields only matter for the path
    }
    if (IsSettled(lhs, rhs)) return true;

    static const TypeAttrLookup custom_equal(type_attr::kSEqual);
    const AnyView hook = custom_equal[type->type_index];
    if (hook.type_index() != kTVMFFINone) return CompareByHook(hook, lhs, rhs, kind);

    const auto& fields = fields_.Of(type);
    Frame& frame = Push(FrameKind::kObject, lhs, rhs);
    frame.node_kind = kind;
    frame.fields = &fields;
    if (kind == kTVMFFISEqHashKindFreeVar) frame.region = RegionOfVariableFields(region_);
    return true;
  }

  Frame& Push(FrameKind kind, const Any& lhs, const Any& rhs) {
    Frame frame;
    frame.kind = kind;
    frame.saved_region = region_;
    frame.region = region_;
    frame.lhs = lhs;
    frame.rhs = rhs;
    stack_.push_back(std::move(frame));
    return stack_.back();
  }

  void Pop() {
    region_ = stack_.back().saved_region;
    stack_.pop_back();
  }

  /// Starts the next child of the top frame, or finishes the frame.
  bool Advance() {
    Frame& frame = stack_.back();
    region_ = frame.region;
    switch (frame.kind) {
      case FrameKind::kSequence:
        return AdvanceSequence(&frame);
      case FrameKind::kMapping:
        return AdvanceMapping(&frame);
      case FrameKind::kObject:
        return AdvanceObject(&frame);
      case FrameKind::kHook:
        break;
    }
    Pop();
    return true;
  }

  bool AdvanceSequence(Frame* frame) {
    const SequenceView left(RawAny(frame->lhs));
    const SequenceView right(RawAny(frame->rhs));
    const size_t i = frame->next;
    if (i < left.size() && i < right.size()) {
      ++frame->next;
      const Any left_item = left[i];
      const Any right_item = right[i];
      return Begin(left_item, right_item);
    }
    if (left.size() == right.size()) {
      Pop();
      return true;
    }
    frame->next = 0;
    const int64_t index = static_cast<int64_t>(i);
    SetTail(i < left.size(), AccessStep::ArrayItem(index), AccessStep::ArrayItemMissing(index));
    return false;
  }

  bool AdvanceMapping(Frame* frame) {
    const MapEntries& entries = frame->mapping->entries;
    if (frame->next < entries.size()) {
      const auto& [key, left_value] = entries[frame->next];
      std::optional<Any> right_value = LookUp(frame->rhs, Translate(key, partner_));
      if (!right_value.has_value()) {
        SetTail(true, AccessStep::MapItem(key), AccessStep::MapItemMissing(key));
        frame->next = 0;
        return false;
      }
      ++frame->next;
      const Any left_copy = left_value;
      return Begin(left_copy, *right_value);
    }
    if (MappingSize(frame->rhs) != entries.size()) {
      for (const auto& entry : EntriesOf(frame->rhs)) {
        if (LookUp(frame->lhs, Translate(entry.first, reverse_partner_)).has_value()) continue;
        SetTail(false, AccessStep::MapItem(entry.first), AccessStep::MapItemMissing(entry.first));
        break;
      }
      frame->next = 0;
      return false;
    }
    Pop();
    return true;
  }

  bool AdvanceObject(Frame* frame) {
    if (frame->next < frame->fields->size()) {
      const TVMFFIFieldInfo* field = (*frame->fields)[frame->next++];
      region_ = RegionOfField(frame->region, field);
      const Any left = ReadField(frame->lhs, field);
      const Any right = ReadField(frame->rhs, field);
      return Begin(left, right);
    }
    frame->next = 0;  // a mismatch from here on is one of the object itself
    region_ = frame->saved_region;
    if (!FinishNode(frame->node_kind, frame->lhs, frame->rhs)) return false;
    Pop();
    return true;
  }

  /// Called in the region of the node, after its fields were found equal.
  bool FinishNode(TVMFFISEqHashKind kind, const Any& lhs, const Any& rhs) {
    if (kind == kTVMFFISEqHashKindDAGNode) return AddPair(lhs, rhs);
    if (kind != kTVMFFISEqHashKindFreeVar) return true;
    if (region_ != kTVMFFIDefRegionKindNone) return AddPair(lhs, rhs);
    if (!lhs.same_as(rhs)) return false;
    free_uses_.insert(RawAny(lhs).v_obj);
    alive_.push_back(lhs);
    return true;
  }

  bool AddPair(const Any& lhs, const Any& rhs) {
    const ObjectId left = RawAny(lhs).v_obj;
    const ObjectId right = RawAny(rhs).v_obj;
    // Comparing the fields may have paired one of the two already.
    if (auto it = partner_.find(left); it != partner_.end()) return it->second == right;
    if (!reverse_partner_.emplace(right, left).second) return false;
    partner_.emplace(left, right);
    trail_.emplace_back(left, right);
    alive_.push_back(lhs);
    alive_.push_back(rhs);
    // Pairs were found equal while this variable stood for itself: they must be looked at again.
    if (free_uses_.count(left) != 0 || free_uses_.count(right) != 0) settled_.clear();
    return true;
  }

  /// True when the pair is known to be equal or is being compared; registers it otherwise.
  bool IsSettled(const Any& lhs, const Any& rhs) {
    if (!MayBeShared(lhs) || !MayBeShared(rhs)) return false;
    const PairKey key{RawAny(lhs).v_obj, RawAny(rhs).v_obj, static_cast<int>(region_)};
    if (!settled_.insert(key).second) return true;
    alive_.push_back(lhs);
    alive_.push_back(rhs);
    return false;
  }

  static Any Translate(const Any& key, const std::unordered_map<ObjectId, ObjectId>& partners) {
    if (!IsObject(RawAny(key))) return key;
    auto it = partners.find(RawAny(key).v_obj);
    if (it == partners.end()) return key;
    TVMFFIAny raw{};
    raw.type_index = it->second->type_index;
    raw.v_obj = const_cast<TVMFFIObject*>(it->second);
    return Any(AnyView::CopyFromTVMFFIAny(raw));
  }

  void SetTail(bool in_left, AccessStep present, AccessStep missing) {
    if (!want_path_ || has_mismatch_) return;
    if (in_left) {
      tail_steps_.emplace(std::move(present), std::move(missing));
    } else {
      tail_steps_.emplace(std::move(missing), std::move(present));
    }
  }

  /// The hook decides, calling back for each pair of children.
  bool CompareByHook(AnyView hook, const Any& lhs, const Any& rhs, TVMFFISEqHashKind kind) {
    HookNesting nesting(&hook_depth_, "__s_equal__");
    const size_t base = stack_.size();
    const TVMFFIDefRegionKind region = region_;
    const TVMFFIDefRegionKind child_region =
        kind == kTVMFFISEqHashKindFreeVar ? RegionOfVariableFields(region) : region;
    CallbackScope scope;
    Function callback = scope.Guard<bool, AnyView, AnyView, AnyView, AnyView>(
        [this, child_region, base](AnyView left, AnyView right, AnyView region_arg, AnyView field) {
          return CompareInHook(
              left, right, EnterRegion(child_region, RegionFromArgument(region_arg)), field, base);
        });
    const bool equal = hook.cast<Function>()(lhs, rhs, callback).cast<bool>();
    region_ = region;
    if (!equal) return false;
    // The hook accepted a pair although a child differed.
    has_mismatch_ = false;
    return FinishNode(kind, lhs, rhs);
  }

  bool CompareInHook(AnyView left, AnyView right, TVMFFIDefRegionKind region, AnyView field,
                     size_t base) {
    const size_t mark = trail_.size();
    region_ = region;
    Any lhs(left);
    Any rhs(right);
    Frame& frame = Push(FrameKind::kHook, lhs, rhs);
    if (field.type_index() == kTVMFFISmallStr || field.type_index() == kTVMFFIStr ||
        field.type_index() == kTVMFFIRawStr) {
      frame.hook_step = AccessStep::Attr(field.cast<String>());
    } else if (field.type_index() == kTVMFFIInt) {
      frame.hook_step = AccessStep::ArrayItem(field.cast<int64_t>());
    }
    const bool equal = Run(lhs, rhs);
    stack_.erase(stack_.begin() + static_cast<std::ptrdiff_t>(base), stack_.end());
    if (!equal) Rollback(mark);
    return equal;
  }

  /// Forgets what a failed attempt has assumed; the hook may go on with other pairs.
  void Rollback(size_t mark) {
    while (trail_.size() > mark) {
      partner_.erase(trail_.back().first);
      reverse_partner_.erase(trail_.back().second);
      trail_.pop_back();
    }
    settled_.clear();
  }

  const bool skip_tensor_content_;
  const bool want_path_;
  TVMFFIDefRegionKind region_ = kTVMFFIDefRegionKindNone;
  int hook_depth_ = 0;
  StructuralFields fields_;
  std::vector<Frame> stack_;
  std::unordered_map<ObjectId, ObjectId> partner_;
  std::unordered_map<ObjectId, ObjectId> reverse_partner_;
  std::vector<std::pair<ObjectId, ObjectId>> trail_;
  /// Variables that matched themselves outside of any definition.
  std::unordered_set<ObjectId> free_uses_;
  std::unordered_set<PairKey, PairKeyHash> settled_;
  /// Hooks may pass objects made on the fly: addresses used as keys must stay taken.
  std::vector<Any> alive_;
  bool has_mismatch_ = false;
  std::vector<std::pair<AccessStep, AccessStep>> mismatch_steps_;
  std::optional<std::pair<AccessStep, AccessStep>> tail_steps_;
};

}  // namespace

bool StructuralEqual::Equal(const Any& lhs, const Any& rhs, bool map_free_vars,
                            bool skip_tensor_content) {
  return EqualityMachine(map_free_vars, skip_tensor_content, false).Compare(lhs, rhs);
}

Optional<AccessPathPair> StructuralEqual::GetFirstMismatch(const Any& lhs, const Any& rhs,
                                                           bool map_free_vars,
                                                           bool skip_tensor_content) {
  EqualityMachine machine(map_free_vars, skip_tensor_content, true);
  if (machine.Compare(lhs, rhs)) return std::nullopt;
  return machine.MismatchPaths();
}

TVM_FFI_LIBRARY_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::EnsureTypeAttrColumn(type_attr::kSEqual);
  refl::GlobalDef()
      .def("ffi.StructuralEqual", StructuralEqual::Equal)
      .def("ffi.GetFirstStructuralMismatch", StructuralEqual::GetFirstMismatch);
}

}  // namespace ffi
}  // namespace tvm
