// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Text of any value in Python style, with an explicit stack.
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/device.h>
#include <tvm/ffi/dtype.h>
#include <tvm/ffi/enum.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/dataclass.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "big_int_text.h"
#include "enum_util.h"
#include "reflection_util.h"
#include "src/library_init.h"
#include "structural_common.h"
#include "value_util.h"

namespace tvm {
namespace ffi {
namespace {

using reflection::TypeAttrLookup;
using reflection::internal::ToStringView;

std::string Text(const String& text) { return std::string(text.data(), text.size()); }

std::string DeviceTypeName(DLDeviceType type) {
  switch (static_cast<int>(type)) {
    case kDLCPU:
      return "cpu";
    case kDLCUDA:
      return "cuda";
    case kDLCUDAHost:
      return "cuda_host";
    case kDLOpenCL:
      return "opencl";
    case kDLVulkan:
      return "vulkan";
    case kDLMetal:
      return "metal";
    case kDLVPI:
      return "vpi";
    case kDLROCM:
      return "rocm";
    case kDLROCMHost:
      return "rocm_host";
    case kDLExtDev:
      return "ext_dev";
    case kDLCUDAManaged:
      return "cuda_managed";
    case kDLOneAPI:
      return "oneapi";
    case kDLWebGPU:
      return "webgpu";
    case kDLHexagon:
      return "hexagon";
    case kDLMAIA:
      return "maia";
    case kDLTrn:
      return "trn";
    default:
      return "device(" + std::to_string(static_cast<int>(type)) + ")";
  }
}

class ReprWriter {
 public:
  ReprWriter() {
    const char* setting = std::getenv("TVM_FFI_REPR_WITH_ADDR");
    with_address_ = setting != nullptr && std::string_view(setting) == "1";
  }

  std::string Write(const Any& root) {
    // Hooks call back while an outer value is half written.
    std::string outer = std::move(text_);
    text_.clear();
    const size_t base = stack_.size();
    Begin(root);
    while (stack_.size() > base) Advance();
    return std::exchange(text_, std::move(outer));
  }

 private:
  enum class FrameKind { kSequence, kMapping, kObject };

  struct Frame {
    FrameKind kind;
    Any value;
    MapEntries entries;                          ///< of a mapping
    std::vector<const TVMFFIFieldInfo*> fields;  ///< of an object
    size_t next = 0;                             ///< child to write next
    bool at_value = false;                       ///< mapping: the key is written
  };

  void Begin(const Any& value) {
    const TVMFFIAny& raw = RawAny(value);
    switch (raw.type_index) {
      case kTVMFFINone:
        text_ += "None";
        return;
      case kTVMFFIBool:
        text_ += raw.v_int64 != 0 ? "True" : "False";
        return;
      case kTVMFFIInt:
        text_ += std::to_string(raw.v_int64);
        return;
      case kTVMFFIFloat:
        WriteFloat(raw.v_float64);
        return;
      case kTVMFFIDataType:
        text_ += Text(DLDataTypeToString(raw.v_dtype));
        return;
      case kTVMFFIDevice:
        WriteDevice(raw.v_device);
        return;
      case kTVMFFISmallStr:
      case kTVMFFIStr:
        text_ += Text(EscapedStringPy(value.cast<String>()));
        return;
      case kTVMFFISmallBytes:
      case kTVMFFIBytes:
        WriteBytes(TextOf(raw));
        return;
      default:
        break;
    }
    if (raw.type_index < kTVMFFIStaticObjectBegin) {
      text_ += value.GetTypeKey();
      return;
    }
    BeginObject(value, raw);
  }

  void BeginObject(const Any& value, const TVMFFIAny& raw) {
    switch (raw.type_index) {
      case kTVMFFIShape:
        WriteShape(raw.v_obj);
        return;
      case kTVMFFITensor:
        WriteTensor(raw.v_obj);
        return;
      case kTVMFFIObject:
        if (WriteSentinel(raw.v_obj)) return;
        break;
      case kTVMFFIBigInt:
        text_ += BigIntText(value);
        return;
      default:
        break;
    }
    if (IsEnumType(raw.type_index)) {
      text_ += value.GetTypeKey() + "." + Text(value.as<EnumObj>()->_str_index);
      return;
    }
    if (on_path_.count(raw.v_obj) != 0) {
      text_ += "...";
      WriteAddressSuffix(raw.v_obj);
      return;
    }
    if (IsSequence(raw.type_index)) {
      text_ += raw.type_index == kTVMFFIArray ? '(' : '[';
      Push(FrameKind::kSequence, value);
    } else if (IsMapping(raw.type_index)) {
      text_ += '{';
      Push(FrameKind::kMapping, value).entries = EntriesOf(value);
    } else {
      BeginReflected(value, raw);
    }
  }

  void BeginReflected(const Any& value, const TVMFFIAny& raw) {
    static const TypeAttrLookup hooks(type_attr::kRepr);
    const AnyView hook = hooks[raw.type_index];
    if (hook.type_index() != kTVMFFINone) {
      on_path_.insert(raw.v_obj);
      WriteByHook(hook, value);
      on_path_.erase(raw.v_obj);
      WriteAddressSuffix(raw.v_obj);
      return;
    }
    const TVMFFITypeInfo* type = TVMFFIGetTypeInfo(raw.type_index);
    text_ += ToStringView(type->type_key);
    WriteAddressSuffix(raw.v_obj);
    std::vector<const TVMFFIFieldInfo*> fields;
    reflection::ForEachFieldInfo(type, [&](const TVMFFIFieldInfo* field) {
      if ((field->flags & kTVMFFIFieldFlagBitMaskReprOff) == 0) fields.push_back(field);
    });
    if (fields.empty()) return;  // nothing to show of what it holds
    text_ += '(';
    Push(FrameKind::kObject, value).fields = std::move(fields);
  }

  Frame& Push(FrameKind kind, const Any& value) {
    on_path_.insert(RawAny(value).v_obj);
    stack_.push_back(Frame{kind, value, {}, {}});
    return stack_.back();
  }

  void Advance() {
    Frame& frame = stack_.back();
    switch (frame.kind) {
      case FrameKind::kSequence: {
        const SequenceView items(RawAny(frame.value));
        if (frame.next == items.size()) break;
        WriteSeparator(frame);
        const Any item = items[frame.next++];
        return Begin(item);
      }
      case FrameKind::kMapping: {
        if (frame.next == frame.entries.size()) break;
        if (!frame.at_value) {
          WriteSeparator(frame);
          frame.at_value = true;
          const Any key = frame.entries[frame.next].first;
          return Begin(key);
        }
        text_ += ": ";
        frame.at_value = false;
        const Any item = frame.entries[frame.next++].second;
        return Begin(item);
      }
      case FrameKind::kObject: {
        if (frame.next == frame.fields.size()) break;
        WriteSeparator(frame);
        const TVMFFIFieldInfo* field = frame.fields[frame.next++];
        text_.append(ToStringView(field->name)).append("=");
        const Any item = ReadField(frame.value, field);
        return Begin(item);
      }
    }
    End();
  }

  void WriteSeparator(const Frame& frame) {
    if (frame.next != 0) text_ += ", ";
  }

  void End() {
    const Frame done = std::move(stack_.back());
    stack_.pop_back();
    on_path_.erase(RawAny(done.value).v_obj);
    switch (done.value.type_index()) {
      case kTVMFFIArray:
        text_ += done.next == 1 ? ",)" : ")";
        break;
      case kTVMFFIList:
        text_ += ']';
        break;
      case kTVMFFIMap:
      case kTVMFFIDict:
        text_ += '}';
        break;
      default:
        text_ += ')';
        return;
    }
    WriteAddressSuffix(RawAny(done.value).v_obj);
  }

  void WriteByHook(AnyView hook, const Any& value) {
    HookNesting nesting(&hook_depth_, "__ffi_repr__");
    CallbackScope scope;
    Function callback =
        scope.Guard<String, AnyView>([this](AnyView child) { return String(Write(Any(child))); });
    text_ += Text(hook.cast<Function>()(value, callback).cast<String>());
  }

  void WriteFloat(double number) {
    char buffer[32];
    std::snprintf(buffer, sizeof(buffer), "%g", number);
    text_ += buffer;
  }

  void WriteAddress(const void* address) {
    char buffer[32];
    std::snprintf(buffer, sizeof(buffer), "%p", address);
    text_ += buffer;
  }

  void WriteAddressSuffix(const void* address) {
    if (!with_address_) return;
    text_ += '@';
    WriteAddress(address);
  }

  void WriteDevice(DLDevice device) {
    text_ += DeviceTypeName(device.device_type);
    text_ += ":" + std::to_string(device.device_id);
  }

  void WriteBytes(std::string_view content) {
    static constexpr char kHex[] = "0123456789abcdef";
    text_ += "b\"";
    for (const char c : content) {
      const auto byte = static_cast<unsigned char>(c);
      if (c == '"' || c == '\\') {
        text_ += '\\';
        text_ += c;
      } else if (c == '\n') {
        text_ += "\\n";
      } else if (c == '\r') {
        text_ += "\\r";
      } else if (c == '\t') {
        text_ += "\\t";
      } else if (byte < 0x20 || byte >= 0x7f) {
        text_ += "\\x";
        text_ += kHex[byte >> 4];
        text_ += kHex[byte & 0xf];
      } else {
        text_ += c;
      }
    }
    text_ += '"';
  }

  void WriteExtents(const int64_t* extents, size_t size) {
    for (size_t i = 0; i < size; ++i) {
      if (i != 0) text_ += ", ";
      text_ += std::to_string(extents[i]);
    }
  }

  void WriteShape(TVMFFIObject* object) {
    const TVMFFIShapeCell* shape = TVMFFIShapeGetCellPtr(object);
    text_ += "Shape(";
    WriteExtents(shape->data, shape->size);
    text_ += ')';
  }

  void WriteTensor(TVMFFIObject* object) {
    const DLTensor* tensor = TVMFFITensorGetDLTensorPtr(object);
    text_ += Text(DLDataTypeToString(tensor->dtype));
    text_ += '[';
    WriteExtents(tensor->shape, static_cast<size_t>(tensor->ndim));
    text_ += "]@";
    WriteDevice(tensor->device);
    WriteAddressSuffix(object);
  }

  bool WriteSentinel(TVMFFIObject* object) {
    static const Any missing = Function::GetGlobalRequired("ffi.GetInvalidObject")();
    if (object == RawAny(missing).v_obj) {
      text_ += "<MISSING>";
    } else if (reinterpret_cast<const Object*>(object) == KwargsSentinel().get()) {
      text_ += "<KWARGS>";
    } else {
      return false;
    }
    return true;
  }

  bool with_address_ = false;
  int hook_depth_ = 0;
  std::string text_;
  std::vector<Frame> stack_;
  std::unordered_set<const TVMFFIObject*> on_path_;
};

}  // namespace

String ReprPrint(const Any& value) { return String(ReprWriter().Write(value)); }

TVM_FFI_LIBRARY_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::EnsureTypeAttrColumn(type_attr::kRepr);
  refl::GlobalDef().def("ffi.ReprPrint", ReprPrint);
}

}  // namespace ffi
}  // namespace tvm
