// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// JSON graph writer and reader, both with explicit stacks. They share one file because each
/// mirrors the node format of the other.
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/dtype.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/base64.h>
#include <tvm/ffi/extra/serialization.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/creator.h>
#include <tvm/ffi/reflection/registry.h>

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "big_int_text.h"
#include "enum_util.h"
#include "reflection_util.h"
#include "src/library_init.h"
#include "value_util.h"

namespace tvm {
namespace ffi {
namespace {

using reflection::TypeAttrLookup;
using reflection::internal::ToStringView;

/// Field values of these static types stand in the object itself, others are nodes.
bool IsInline(const TVMFFIFieldInfo* field) {
  switch (field->field_static_type_index) {
    case kTVMFFINone:
    case kTVMFFIBool:
    case kTVMFFIInt:
    case kTVMFFIFloat:
    case kTVMFFIDataType:
      return true;
    default:
      return false;
  }
}

String FieldName(const TVMFFIFieldInfo* field) {
  return String(std::string(ToStringView(field->name)));
}

bool IsCreatable(const TVMFFITypeInfo* type) {
  if (type->metadata != nullptr && type->metadata->creator != nullptr) return true;
  static const TypeAttrLookup new_attr(type_attr::kNew);
  return new_attr[type->type_index].type_index() != kTVMFFINone;
}

const TypeAttrLookup& ToJsonHooks() {
  static const TypeAttrLookup hooks(type_attr::kDataToJson);
  return hooks;
}

const TypeAttrLookup& FromJsonHooks() {
  static const TypeAttrLookup hooks(type_attr::kDataFromJson);
  return hooks;
}

// ------------------------------------------------------------------------------------------
// Writer
// ------------------------------------------------------------------------------------------

class GraphWriter {
 public:
  json::Value Write(const Any& root, const Any& metadata) {
    const int64_t root_index = IndexOf(root);
    json::Object graph;
    graph.Set(Any(String("root_index")), Any(root_index));
    graph.Set(Any(String("nodes")), Any(json::Array(nodes_.begin(), nodes_.end())));
    if (metadata.type_index() != kTVMFFINone) graph.Set(Any(String("metadata")), metadata);
    return Any(graph);
  }

 private:
  static constexpr int64_t kInProgress = -1;

  /// A value whose children are being written.
  struct Frame {
    Any value;
    std::vector<Any> children;
    std::vector<int64_t> indices;
  };

  int64_t IndexOf(const Any& root) {
    int64_t index = 0;
    if (Begin(root, &index)) return index;
    while (true) {
      Frame& frame = stack_.back();
      if (frame.indices.size() < frame.children.size()) {
        const Any child = frame.children[frame.indices.size()];
        if (Begin(child, &index)) stack_.back().indices.push_back(index);
        continue;
      }
      const Frame done = std::move(stack_.back());
      stack_.pop_back();
      index = AddNode(done.value, DataOf(done));
      if (stack_.empty()) return index;
      stack_.back().indices.push_back(index);
    }
  }

  /// True with the index of a value that is or becomes a node at once; pushes a frame otherwise.
  bool Begin(const Any& value, int64_t* index) {
    auto [it, inserted] = index_of_.try_emplace(value, kInProgress);
    if (!inserted) {
      if (it->second == kInProgress) {
        TVM_FFI_THROW(ValueError) << "Cycle detected during serialization: a " << ShortName(value)
                                  << " contains itself";
      }
      *index = it->second;
      return true;
    }
    Frame frame;
    frame.value = value;
    CollectChildren(value, &frame.children);
    if (frame.children.empty()) {
      *index = AddNode(value, DataOf(frame));
      return true;
    }
    stack_.push_back(std::move(frame));
    return false;
  }

  static std::string ShortName(const Any& value) {
    switch (value.type_index()) {
      case kTVMFFIList:
        return "List";
      case kTVMFFIDict:
        return "Dict";
      default:
        return value.GetTypeKey();
    }
  }

  static void CollectChildren(const Any& value, std::vector<Any>* children) {
    const int32_t type_index = value.type_index();
    if (IsSequence(type_index)) {
      const SequenceView items(RawAny(value));
      for (size_t i = 0; i < items.size(); ++i) children->push_back(items[i]);
    } else if (IsMapping(type_index)) {
      for (auto& entry : EntriesOf(value)) {
        children->push_back(std::move(entry.first));
        children->push_back(std::move(entry.second));
      }
    } else if (type_index >= kTVMFFIStaticObjectBegin && !HasOwnForm(type_index)) {
      const TVMFFITypeInfo* type = TVMFFIGetTypeInfo(type_index);
      if (!IsCreatable(type)) {
        TVM_FFI_THROW(TypeError) << "Type `" << value.GetTypeKey()
                                 << "` does not support ToJSONGraph (no native creator or "
                                    "__ffi_new__ type attr)";
      }
      reflection::ForEachFieldInfo(type, [&](const TVMFFIFieldInfo* field) {
        if (!IsInline(field)) children->push_back(reflection::FieldGetter(field)(ObjectOf(value)));
      });
    }
  }

  /// Objects whose data does not refer to other nodes.
  static bool HasOwnForm(int32_t type_index) {
    switch (type_index) {
      case kTVMFFIStr:
      case kTVMFFIBytes:
      case kTVMFFIShape:
      case kTVMFFIBigInt:
        return true;
      default:
        return IsEnumType(type_index) || ToJsonHooks()[type_index].type_index() != kTVMFFINone;
    }
  }

  static const Object* ObjectOf(const Any& value) {
    return reinterpret_cast<const Object*>(RawAny(value).v_obj);
  }

  /// The `data` member; nullopt for None.
  static std::optional<Any> DataOf(const Frame& frame) {
    const Any& value = frame.value;
    switch (value.type_index()) {
      case kTVMFFINone:
        return std::nullopt;
      case kTVMFFIBool:
      case kTVMFFIInt:
      case kTVMFFIFloat:
      case kTVMFFISmallStr:
      case kTVMFFIStr:
        return value;
      case kTVMFFISmallBytes:
      case kTVMFFIBytes:
        return Any(Base64Encode(value.cast<Bytes>()));
      case kTVMFFIDataType:
        return Any(DLDataTypeToString(value.cast<DLDataType>()));
      case kTVMFFIDevice: {
        const DLDevice device = value.cast<DLDevice>();
        return Any(json::Array{Any(static_cast<int64_t>(device.device_type)),
                               Any(static_cast<int64_t>(device.device_id))});
      }
      case kTVMFFIShape: {
        const TVMFFIShapeCell* shape = TVMFFIShapeGetCellPtr(RawAny(value).v_obj);
        return Any(json::Array(shape->data, shape->data + shape->size));
      }
      case kTVMFFIArray:
      case kTVMFFIList:
      case kTVMFFIMap:
      case kTVMFFIDict:
        return Any(json::Array(frame.indices.begin(), frame.indices.end()));
      default:
        break;
    }
    if (value.type_index() < kTVMFFIStaticObjectBegin) {
      TVM_FFI_THROW(TypeError) << "Type `" << value.GetTypeKey()
                               << "` does not support ToJSONGraph";
    }
    return ObjectData(frame);
  }

  static Any ObjectData(const Frame& frame) {
    const Any& value = frame.value;
    const int32_t type_index = value.type_index();
    if (type_index == kTVMFFIBigInt) return Any(String(BigIntText(value)));
    const AnyView hook = ToJsonHooks()[type_index];
    if (hook.type_index() != kTVMFFINone) return hook.cast<Function>()(value);
    if (IsIntEnumType(type_index)) return Any(value.as<EnumObj>()->_int_index);
    if (IsEnumType(type_index)) return Any(value.as<EnumObj>()->_str_index);
    json::Object members;
    size_t next = 0;
    reflection::ForEachFieldInfo(TVMFFIGetTypeInfo(type_index), [&](const TVMFFIFieldInfo* field) {
      const Any name(FieldName(field));
      if (!IsInline(field)) {
        members.Set(name, Any(frame.indices[next++]));
        return;
      }
      Any content = reflection::FieldGetter(field)(ObjectOf(value));
      if (content.type_index() == kTVMFFIDataType) {
        content = Any(DLDataTypeToString(content.cast<DLDataType>()));
      }
      members.Set(name, content);
    });
    return Any(members);
  }

  int64_t AddNode(const Any& value, std::optional<Any> data) {
    const int64_t index = static_cast<int64_t>(nodes_.size());
    json::Object node;
    const int32_t type_index = CanonicalTypeIndex(value.type_index());
    node.Set(Any(String("type")), Any(String(reflection::TypeKeyOf(type_index))));
    if (data.has_value()) node.Set(Any(String("data")), *std::move(data));
    nodes_.emplace_back(node);
    index_of_[value] = index;
    return index;
  }

  std::vector<Frame> stack_;
  std::vector<Any> nodes_;
  std::unordered_map<Any, int64_t, AnyHash, AnyEqual> index_of_;
};

// ------------------------------------------------------------------------------------------
// Reader
// ------------------------------------------------------------------------------------------

/// Typed access to parsed JSON with errors that say what was expected where.
class JsonReader {
 public:
  [[noreturn]] static void Fail(const std::string& what) {
    TVM_FFI_THROW(ValueError) << "Invalid JSON Object Graph: " << what;
  }

  static json::Array AsArray(const Any& value, const std::string& what) {
    if (std::optional<json::Array> array = value.as<json::Array>()) return *array;
    Fail(what + " must be an array, got `" + value.GetTypeKey() + "`");
  }

  static json::Object AsObject(const Any& value, const std::string& what) {
    if (std::optional<json::Object> object = value.as<json::Object>()) return *object;
    Fail(what + " must be an object, got `" + value.GetTypeKey() + "`");
  }

  static std::optional<Any> Member(const json::Object& object, const char* name) {
    auto it = object.find(Any(String(name)));
    if (it == object.end()) return std::nullopt;
    return Any((*it).second);
  }
};

class GraphReader : private JsonReader {
 public:
  Any Read(const Any& value) {
    std::optional<json::Object> graph = value.as<json::Object>();
    if (!graph.has_value()) {
      TVM_FFI_THROW(ValueError) << "Invalid JSON Object Graph, expected an object";
    }
    std::optional<Any> root = Member(*graph, "root_index");
    if (!root.has_value() || root->type_index() != kTVMFFIInt) {
      TVM_FFI_THROW(ValueError) << "Invalid JSON Object Graph, expected `root_index` integer field";
    }
    std::optional<Any> nodes = Member(*graph, "nodes");
    if (!nodes.has_value() || nodes->type_index() != kTVMFFIArray) {
      TVM_FFI_THROW(ValueError) << "Invalid JSON Object Graph, expected `nodes` array field";
    }
    nodes_ = nodes->cast<json::Array>();
    values_.resize(nodes_.size());
    states_.resize(nodes_.size(), State::kNew);
    return Decode(CheckedIndex(*root));
  }

 private:
  enum class State : uint8_t { kNew, kOpen, kDone };

  struct Frame {
    size_t node;
    int32_t type_index;
    Any data;
    bool has_data;
    std::vector<size_t> children;
    size_t next = 0;
  };

  size_t CheckedIndex(const Any& value) const {
    if (value.type_index() != kTVMFFIInt) {
      Fail("a node index must be an integer, got `" + value.GetTypeKey() + "`");
    }
    const int64_t index = value.cast<int64_t>();
    if (index < 0 || static_cast<size_t>(index) >= nodes_.size()) {
      Fail("invalid node index " + std::to_string(index));
    }
    return static_cast<size_t>(index);
  }

  Any Decode(size_t root) {
    Open(root);
    while (!stack_.empty()) {
      Frame& frame = stack_.back();
      if (frame.next < frame.children.size()) {
        const size_t child = frame.children[frame.next++];
        if (states_[child] == State::kOpen) {
          Fail("node " + std::to_string(child) + " refers to itself");
        }
        if (states_[child] == State::kNew) Open(child);
        continue;
      }
      const Frame done = std::move(stack_.back());
      stack_.pop_back();
      values_[done.node] = Build(done);
      states_[done.node] = State::kDone;
    }
    return values_[root];
  }

  void Open(size_t node) {
    states_[node] = State::kOpen;
    const std::string where = "node " + std::to_string(node);
    const json::Object members = AsObject(nodes_[node], where);
    std::optional<Any> type = Member(members, "type");
    if (!type.has_value() || CanonicalTypeIndex(type->type_index()) != kTVMFFIStr) {
      Fail(where + " has no `type` string");
    }
    Frame frame;
    frame.node = node;
    frame.type_index = reflection::internal::TypeInfoFromKey(TextOf(RawAny(*type)))->type_index;
    std::optional<Any> data = Member(members, "data");
    frame.has_data = data.has_value();
    if (data.has_value()) frame.data = *std::move(data);
    if (!frame.has_data && frame.type_index != kTVMFFINone) Fail(where + " has no `data`");
    CollectChildren(&frame);
    stack_.push_back(std::move(frame));
  }

  void CollectChildren(Frame* frame) const {
    const int32_t type_index = frame->type_index;
    const std::string what = Describe(*frame);
    if (IsSequence(type_index) || IsMapping(type_index)) {
      const json::Array indices = AsArray(frame->data, what);
      if (IsMapping(type_index) && indices.size() % 2 != 0) {
        Fail("Map/Dict data must contain an even number of [key, value] entries, got " +
             std::to_string(indices.size()));
      }
      for (const Any& index : indices) frame->children.push_back(CheckedIndex(index));
      return;
    }
    if (!IsReflected(type_index)) return;
    if (!IsCreatable(TVMFFIGetTypeInfo(type_index))) {
      TVM_FFI_THROW(RuntimeError) << "Type `" << reflection::TypeKeyOf(type_index)
                                  << "` does not support reflection creation";
    }
    const json::Object members = AsObject(frame->data, what);
    reflection::ForEachFieldInfo(TVMFFIGetTypeInfo(type_index), [&](const TVMFFIFieldInfo* field) {
      if (IsInline(field)) return;
      auto it = members.find(Any(FieldName(field)));
      if (it != members.end()) frame->children.push_back(CheckedIndex((*it).second));
    });
  }

  static std::string Describe(const Frame& frame) {
    return "data of node " + std::to_string(frame.node) + " of type `" +
           reflection::TypeKeyOf(frame.type_index) + "`";
  }

  /// Objects that are restored field by field.
  static bool IsReflected(int32_t type_index) {
    return type_index >= kTVMFFIStaticObjectBegin && type_index != kTVMFFIStr &&
           type_index != kTVMFFIBytes && type_index != kTVMFFIShape &&
           type_index != kTVMFFIBigInt && !IsEnumType(type_index) &&
           FromJsonHooks()[type_index].type_index() == kTVMFFINone;
  }

  Any Build(const Frame& frame) const {
    switch (frame.type_index) {
      case kTVMFFINone:
        return Any(nullptr);
      case kTVMFFIBool:
        return Any(frame.data.cast<bool>());
      case kTVMFFIInt:
        return Any(frame.data.cast<int64_t>());
      case kTVMFFIFloat:
        return Any(frame.data.cast<double>());
      case kTVMFFIStr:
        return Any(frame.data.cast<String>());
      case kTVMFFIBytes:
        return Any(Base64Decode(frame.data.cast<String>()));
      case kTVMFFIDataType:
        return Any(StringToDLDataType(frame.data.cast<String>()));
      case kTVMFFIDevice:
        return BuildDevice(frame);
      case kTVMFFIShape:
        return BuildShape(frame);
      case kTVMFFIBigInt: {
        const String digits = frame.data.cast<String>();
        return BigIntFromText(std::string_view(digits.data(), digits.size()));
      }
      case kTVMFFIArray: {
        const std::vector<Any> items = Children(frame);
        return Any(Array<Any>(items.begin(), items.end()));
      }
      case kTVMFFIList: {
        const std::vector<Any> items = Children(frame);
        return Any(List<Any>(items.begin(), items.end()));
      }
      case kTVMFFIMap:
        return BuildMapping<Map<Any, Any>>(frame);
      case kTVMFFIDict:
        return BuildMapping<Dict<Any, Any>>(frame);
      default:
        break;
    }
    const AnyView hook = FromJsonHooks()[frame.type_index];
    if (hook.type_index() != kTVMFFINone) return hook.cast<Function>()(frame.data);
    if (IsEnumType(frame.type_index)) return BuildEnum(frame);
    return BuildObject(frame);
  }

  std::vector<Any> Children(const Frame& frame) const {
    std::vector<Any> items;
    items.reserve(frame.children.size());
    for (const size_t child : frame.children) items.push_back(values_[child]);
    return items;
  }

  template <typename MapType>
  Any BuildMapping(const Frame& frame) const {
    MapType map;
    for (size_t i = 0; i < frame.children.size(); i += 2) {
      map.Set(values_[frame.children[i]], values_[frame.children[i + 1]]);
    }
    return Any(map);
  }

  static Any BuildDevice(const Frame& frame) {
    const json::Array pair = AsArray(frame.data, Describe(frame));
    if (pair.size() != 2) {
      Fail("Device data must be an array of [device_type, device_id], got " +
           std::to_string(pair.size()) + " element(s)");
    }
    return Any(TVMFFIDLDeviceFromIntPair(pair[0].cast<int32_t>(), pair[1].cast<int32_t>()));
  }

  static Any BuildShape(const Frame& frame) {
    std::vector<int64_t> extents;
    for (const Any& extent : AsArray(frame.data, Describe(frame))) {
      extents.push_back(extent.cast<int64_t>());
    }
    return Any(Shape(extents.begin(), extents.end()));
  }

  static Any BuildEnum(const Frame& frame) {
    std::optional<Any> entry = FindEnumEntry(frame.type_index, frame.data);
    if (!entry.has_value()) Fail(Describe(frame) + " names no entry of the enum");
    return *std::move(entry);
  }

  Any BuildObject(const Frame& frame) const {
    const TVMFFITypeInfo* type = TVMFFIGetTypeInfo(frame.type_index);
    const json::Object members = AsObject(frame.data, Describe(frame));
    const ObjectRef object = reflection::internal::CreateEmptyObject(type);
    size_t next_child = 0;
    reflection::ForEachFieldInfo(type, [&](const TVMFFIFieldInfo* field) {
      void* address = reflection::internal::FieldAddress(object.get(), field);
      auto it = members.find(Any(FieldName(field)));
      if (it == members.end()) {
        if ((field->flags & kTVMFFIFieldFlagBitMaskHasDefault) == 0) {
          TVM_FFI_THROW(TypeError)
              << "Required field `" << std::string(ToStringView(field->name))
              << "` not set in type `" << std::string(ToStringView(type->type_key)) << "`";
        }
        reflection::SetFieldToDefault(field, address);
        return;
      }
      Any content = IsInline(field) ? Any((*it).second) : values_[frame.children[next_child++]];
      if (field->field_static_type_index == kTVMFFIDataType) {
        content = Any(StringToDLDataType(content.cast<String>()));
      }
      TVM_FFI_CHECK_SAFE_CALL(reflection::CallFieldSetter(field, address, &RawAny(content)));
    });
    return Any(object);
  }

  json::Array nodes_;
  std::vector<Any> values_;
  std::vector<State> states_;
  std::vector<Frame> stack_;
};

}  // namespace

json::Value ToJSONGraph(const Any& value, const Any& metadata) {
  return GraphWriter().Write(value, metadata);
}

Any FromJSONGraph(const json::Value& value) { return GraphReader().Read(value); }

TVM_FFI_LIBRARY_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::EnsureTypeAttrColumn(type_attr::kDataToJson);
  refl::EnsureTypeAttrColumn(type_attr::kDataFromJson);
  refl::GlobalDef()
      .def("ffi.ToJSONGraph", ToJSONGraph)
      .def("ffi.ToJSONGraphString", ToJSONGraphString)
      .def("ffi.FromJSONGraph", FromJSONGraph)
      .def("ffi.FromJSONGraphString", FromJSONGraphString);
}

}  // namespace ffi
}  // namespace tvm
