// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "relax/op/signature.h"

#include <tvm/ffi/container/array.h>
#include <tvm/ffi/reflection/accessor.h>
#include <tvm/ffi/string.h>

#include <cstdlib>
#include <mutex>

namespace tvm {
namespace relax {

namespace {

std::string_view Trim(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}

/// Splits at commas outside of quotes and brackets.
std::vector<std::string_view> SplitTopLevel(std::string_view s) {
  std::vector<std::string_view> parts;
  int depth = 0;
  bool quoted = false;
  size_t start = 0;
  for (size_t i = 0; i < s.size(); ++i) {
    char c = s[i];
    if (c == '\'') quoted = !quoted;
    if (quoted) continue;
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    if (c == ',' && depth == 0) {
      parts.push_back(Trim(s.substr(start, i - start)));
      start = i + 1;
    }
  }
  std::string_view last = Trim(s.substr(start));
  if (!last.empty()) parts.push_back(last);
  return parts;
}

ffi::Any ParseLiteral(std::string_view s) {
  if (s == "None") return ffi::Any();
  if (s == "True") return true;
  if (s == "False") return false;
  if (s.front() == '\'') return ffi::String(std::string(s.substr(1, s.size() - 2)));
  if (s.front() == '(' || s.front() == '[') {
    ffi::Array<ffi::Any> list;
    for (std::string_view item : SplitTopLevel(s.substr(1, s.size() - 2))) {
      list.push_back(ParseLiteral(item));
    }
    return list;
  }
  std::string text(s);
  char* end = nullptr;
  if (text.find_first_of(".en") == std::string::npos) {
    int64_t v = std::strtoll(text.c_str(), &end, 10);
    TVM_FFI_ICHECK(*end == '\0') << "not a literal in an operator row: " << text;
    return v;
  }
  double v = std::strtod(text.c_str(), &end);
  TVM_FFI_ICHECK(*end == '\0') << "not a literal in an operator row: " << text;
  return v;
}

ArgKind ParseKind(std::string_view s) {
  if (s == "tensor") return ArgKind::kTensor;
  if (s == "tuple") return ArgKind::kTuple;
  if (s == "shape") return ArgKind::kShape;
  if (s == "prim") return ArgKind::kPrim;
  TVM_FFI_ICHECK(s == "any") << "unknown operand kind " << std::string(s);
  return ArgKind::kAny;
}

}  // namespace

const char* ArgSpec::KindName() const {
  switch (kind) {
    case ArgKind::kTensor:
      return "Tensor";
    case ArgKind::kTuple:
      return "Tuple";
    case ArgKind::kShape:
      return "Shape";
    case ArgKind::kPrim:
      return "scalar";
    case ArgKind::kAny:
      break;
  }
  return "value";
}

OpSignature OpSignature::Parse(std::string_view args, std::string_view attrs) {
  OpSignature sig;
  for (std::string_view part : SplitTopLevel(args)) {
    ArgSpec a;
    if (part.back() == '?') {
      a.optional = true;
      part.remove_suffix(1);
    }
    size_t colon = part.find(':');
    if (colon != std::string_view::npos) {
      a.kind = ParseKind(part.substr(colon + 1));
      part = part.substr(0, colon);
    }
    a.name = std::string(part);
    if (!a.optional) ++sig.num_required_args;
    sig.args.push_back(std::move(a));
  }
  for (std::string_view part : SplitTopLevel(attrs)) {
    AttrSpec a;
    size_t eq = part.find('=');
    if (eq != std::string_view::npos) {
      a.required = false;
      a.default_value = ParseLiteral(Trim(part.substr(eq + 1)));
      part = Trim(part.substr(0, eq));
    }
    a.name = std::string(part);
    sig.attrs.push_back(std::move(a));
  }
  return sig;
}

const std::vector<int32_t>& OpSignature::FieldTypes(const char* attrs_key) const {
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  if (!field_types_.empty() || attrs.empty()) return field_types_;
  int32_t index = ffi::TypeKeyToIndex(attrs_key);
  const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(index);
  constexpr int32_t kMissing = -1000;
  std::vector<int32_t> types(attrs.size(), kMissing);
  for (size_t i = 0; i < attrs.size(); ++i) {
    for (int32_t f = 0; f < info->num_fields; ++f) {
      std::string_view name(info->fields[f].name.data, info->fields[f].name.size);
      if (name != attrs[i].name) continue;
      types[i] = info->fields[f].field_static_type_index;
      std::string_view schema(info->fields[f].metadata.data, info->fields[f].metadata.size);
      bool optional = schema.find("Optional") != schema.npos;
      bool array = schema.find("ffi.Array") != schema.npos;
      if (optional && array) types[i] = kOptionalArray;
      if (!optional && !array && schema.find("ffi.String") != schema.npos) {
        types[i] = ffi::TypeIndex::kTVMFFIStr;
      }
    }
    TVM_FFI_ICHECK(types[i] != kMissing)
        << "attribute " << attrs[i].name << " is no field of " << attrs_key;
  }
  field_types_ = std::move(types);
  return field_types_;
}

}  // namespace relax
}  // namespace tvm
