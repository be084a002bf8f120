// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Object creation by reflection: empty objects, the automatic constructor, creation from pairs.
#include <tvm/ffi/any.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/accessor.h>
#include <tvm/ffi/reflection/creator.h>
#include <tvm/ffi/reflection/registry.h>

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "reflection_util.h"
#include "src/library_init.h"
#include "src/type_table.h"

namespace tvm {
namespace ffi {

const ObjectRef& KwargsSentinel() {
  static const auto* sentinel = new ObjectRef(make_object<Object>());
  return *sentinel;
}

namespace reflection {
namespace internal {

namespace {

/// The constructor of one type, prepared once: which field each argument belongs to.
class AutoInit {
 public:
  explicit AutoInit(const TVMFFITypeInfo* type)
      : type_(type), prefix_(std::string(ToStringView(type->type_key)) + ".__ffi_init__() ") {
    std::vector<size_t> defaulted;
    ForEachFieldInfo(type, [&](const TVMFFIFieldInfo* field) {
      const size_t slot = fields_.size();
      fields_.push_back(field);
      if ((field->flags & kTVMFFIFieldFlagBitMaskInitOff) != 0) return;
      by_name_[ToStringView(field->name)] = slot;
      if ((field->flags & kTVMFFIFieldFlagBitMaskKwOnly) != 0) return;
      (HasDefault(field) ? defaulted : positional_).push_back(slot);
    });
    positional_.insert(positional_.end(), defaulted.begin(), defaulted.end());
  }

  void operator()(PackedArgs args, Any* result) const {
    std::vector<const TVMFFIAny*> given(fields_.size(), nullptr);
    BindArguments(args, &given);
    ObjectRef object = CreateEmptyObject(type_);
    void* header = const_cast<Object*>(object.get());
    for (size_t slot = 0; slot < fields_.size(); ++slot) {
      const TVMFFIFieldInfo* field = fields_[slot];
      void* address = FieldAddress(header, field);
      if (given[slot] != nullptr) {
        if (CallFieldSetter(field, address, given[slot]) != 0) RethrowFor(field, "field ");
      } else if (HasDefault(field)) {
        if (CallFieldSetterToDefault(field, address) != 0) RethrowFor(field, "default for field ");
      } else if ((field->flags & kTVMFFIFieldFlagBitMaskInitOff) == 0) {
        const bool kw_only = (field->flags & kTVMFFIFieldFlagBitMaskKwOnly) != 0;
        TVM_FFI_THROW(TypeError) << prefix_ << "missing required "
                                 << (kw_only ? "keyword-only argument: '" : "argument: '")
                                 << Name(field) << "'";
      }
    }
    *result = std::move(object);
  }

 private:
  static bool HasDefault(const TVMFFIFieldInfo* field) {
    return (field->flags & kTVMFFIFieldFlagBitMaskHasDefault) != 0;
  }
  static std::string Name(const TVMFFIFieldInfo* field) {
    return std::string(ToStringView(field->name));
  }

  void BindArguments(PackedArgs args, std::vector<const TVMFFIAny*>* given) const {
    int32_t num_positional = 0;
    while (num_positional < args.size() && !IsSentinel(args[num_positional])) ++num_positional;
    if (static_cast<size_t>(num_positional) > positional_.size()) {
      TVM_FFI_THROW(TypeError) << prefix_ << "takes at most " << positional_.size()
                               << " positional argument(s), but " << num_positional
                               << " were given";
    }
    for (int32_t i = 0; i < num_positional; ++i) {
      (*given)[positional_[i]] = RawArg(args, i);
    }
    if (num_positional == args.size()) return;
    if ((args.size() - num_positional - 1) % 2 != 0) {
      TVM_FFI_THROW(TypeError) << prefix_
                               << "KWARGS requires an even number of key-value arguments";
    }
    for (int32_t i = num_positional + 1; i < args.size(); i += 2) {
      const String key = args[i].cast<String>();
      const std::string name(key.data(), key.size());
      auto it = by_name_.find(name);
      if (it == by_name_.end()) {
        TVM_FFI_THROW(TypeError) << prefix_ << "got an unexpected keyword argument '" << name
                                 << "'";
      }
      if ((*given)[it->second] != nullptr) {
        TVM_FFI_THROW(TypeError) << prefix_ << "got multiple values for argument '" << name << "'";
      }
      (*given)[it->second] = RawArg(args, i + 1);
    }
  }

  static bool IsSentinel(AnyView value) {
    return value.type_index() == kTVMFFIObject &&
           value.CopyToTVMFFIAny().v_obj ==
               reinterpret_cast<const TVMFFIObject*>(KwargsSentinel().get());
  }

  static const TVMFFIAny* RawArg(const PackedArgs& args, int32_t i) {
    return reinterpret_cast<const TVMFFIAny*>(args.data()) + i;
  }

  /// Replaces the raised error by one that says which field it concerns.
  [[noreturn]] void RethrowFor(const TVMFFIFieldInfo* field, const char* what) const {
    Error cause = detail::MoveFromSafeCallRaised();
    std::string nested = std::string(cause.message());
    std::string message = prefix_ + what + "'" + Name(field) + "':\n  ";
    for (char c : nested) {
      message += c;
      if (c == '\n') message += "  ";
    }
    throw Error(std::string(cause.kind()), message, std::string(cause.backtrace()), cause,
                std::nullopt);
  }

  const TVMFFITypeInfo* type_;
  std::string prefix_;
  std::vector<const TVMFFIFieldInfo*> fields_;
  std::vector<size_t> positional_;
  std::unordered_map<std::string_view, size_t> by_name_;
};

}  // namespace

void RegisterAutoInitDirect(int32_t type_index) {
  auto plan = std::make_shared<const AutoInit>(TypeTable::Global()->Get(type_index));
  RegisterTypeAttr(
      type_index, type_attr::kInit,
      Any(Function::FromPacked([plan](PackedArgs args, Any* result) { (*plan)(args, result); })));
}

namespace {

const TVMFFITypeInfo* TypeFromArgument(AnyView type) {
  if (type.type_index() == kTVMFFIInt) return TypeTable::Global()->Get(type.cast<int64_t>());
  const String key = type.cast<String>();
  return TypeInfoFromKey(std::string_view(key.data(), key.size()));
}

/// (type index or key, name, value, name, value, ..) -> object.
void MakeObjectFromPackedArgs(PackedArgs args, Any* result) {
  if (args.size() < 1 || args.size() % 2 != 1) {
    TVM_FFI_THROW(TypeError) << "MakeObjectFromPackedArgs expects a type followed by pairs of "
                                "field name and value, got "
                             << args.size() << " arguments";
  }
  Map<String, Any> fields;
  for (int32_t i = 1; i < args.size(); i += 2) fields.Set(args[i].cast<String>(), Any(args[i + 1]));
  *result = ObjectCreator(TypeFromArgument(args[0]))(fields);
}

}  // namespace
}  // namespace internal
}  // namespace reflection

TVM_FFI_LIBRARY_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::GlobalDef()
      .def("ffi._RegisterFFIInit", refl::internal::RegisterAutoInitDirect)
      .def("ffi.GetKwargsObject", []() -> ObjectRef { return KwargsSentinel(); })
      .def_packed("ffi.MakeObjectFromPackedArgs", refl::internal::MakeObjectFromPackedArgs);
}

}  // namespace ffi
}  // namespace tvm
