// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

/// Text form of element types.
///
///   dtype := name [bits] [("x" | "xvscalex") lanes]
/// The narrow floats carry their width in the name. `custom[name]` types are numbered by the
/// host through two global functions.
#include <tvm/ffi/dtype.h>
#include <tvm/ffi/function.h>

#include <string>
#include <string_view>

namespace tvm {
namespace ffi {
namespace {

/// A name with its implied width; some take an explicit width behind them.
struct DTypeName {
  std::string_view name;
  uint8_t code;
  uint8_t bits;
  bool takes_bits;
};

// A longer name comes before its own prefix.
constexpr DTypeName kNames[] = {
    {"float8_e4m3b11fnuz", kDLFloat8_e4m3b11fnuz, 8, false},
    {"float8_e8m0fnu", kDLFloat8_e8m0fnu, 8, false},
    {"float8_e5m2fnuz", kDLFloat8_e5m2fnuz, 8, false},
    {"float8_e4m3fnuz", kDLFloat8_e4m3fnuz, 8, false},
    {"float8_e4m3fn", kDLFloat8_e4m3fn, 8, false},
    {"float8_e4m3", kDLFloat8_e4m3, 8, false},
    {"float8_e5m2", kDLFloat8_e5m2, 8, false},
    {"float8_e3m4", kDLFloat8_e3m4, 8, false},
    {"float6_e2m3fn", kDLFloat6_e2m3fn, 6, false},
    {"float6_e3m2fn", kDLFloat6_e3m2fn, 6, false},
    {"float4_e2m1fn", kDLFloat4_e2m1fn, 4, false},
    {"bfloat16", kDLBfloat, 16, false},
    {"bfloat", kDLBfloat, 16, true},
    {"bool", kDLBool, 8, true},
    {"int", kDLInt, 32, true},
    {"uint", kDLUInt, 32, true},
    {"float", kDLFloat, 32, true},
    {"handle", kDLOpaqueHandle, 64, true},
};

/// Text still to be read, with the whole for messages.
class Reader {
 public:
  explicit Reader(std::string_view text) : whole_(text), rest_(text) {}

  bool done() const { return rest_.empty(); }
  bool Skip(std::string_view token) {
    if (rest_.substr(0, token.size()) != token) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  /// Decimal digits up to 65535; none gives -1.
  int32_t Number() {
    int32_t value = -1;
    while (!rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9') {
      value = (value < 0 ? 0 : value) * 10 + (rest_.front() - '0');
      if (value > 65535) Fail();
      rest_.remove_prefix(1);
    }
    return value;
  }
  std::string_view Until(char end) {
    const size_t cut = rest_.find(end);
    if (cut == std::string_view::npos) Fail();
    const std::string_view piece = rest_.substr(0, cut);
    rest_.remove_prefix(cut + 1);
    return piece;
  }
  [[noreturn]] void Fail() const {
    TVM_FFI_THROW(ValueError) << "unknown dtype `" << whole_ << "`";
    TVM_FFI_UNREACHABLE();
  }
  [[noreturn]] void FailBits(int32_t bits) const {
    TVM_FFI_THROW(ValueError) << "Bits value " << bits << " is out of range in dtype '" << whole_
                              << "'";
    TVM_FFI_UNREACHABLE();
  }
  [[noreturn]] void FailLanes() const {
    TVM_FFI_THROW(ValueError) << "Invalid lanes specification in dtype '" << whole_
                              << "'. Lanes must be a positive integer.";
    TVM_FFI_UNREACHABLE();
  }

 private:
  std::string_view whole_;
  std::string_view rest_;
};

/// `i32`, `u8`, `f16`, `bf16`, `fp8_e4m3`, `f8_e4m3fn`: expands to the full spelling.
std::optional<DLDataType> TryAbbreviation(std::string_view name) {
  auto digits = [&](size_t from) -> int32_t {
    int32_t value = 0;
    if (from >= name.size() || name.size() - from > 3) return -1;
    for (char c : name.substr(from)) {
      if (c < '0' || c > '9') return -1;
      value = value * 10 + (c - '0');
    }
    return value >= 1 && value <= 255 ? value : -1;
  };
  auto make = [](int code, int32_t bits) {
    return DLDataType{static_cast<uint8_t>(code), static_cast<uint8_t>(bits), 1};
  };
  for (std::string_view prefix : {std::string_view("fp"), std::string_view("f")}) {
    if (name.substr(0, prefix.size()) != prefix) continue;
    const std::string_view rest = name.substr(prefix.size());
    if (rest.find("_e") == std::string_view::npos) continue;
    const std::string full = "float" + std::string(rest);
    for (const DTypeName& known : kNames) {
      if (!known.takes_bits && known.name == full) return make(known.code, known.bits);
    }
  }
  if (name == "bf16") return make(kDLBfloat, 16);
  int32_t bits;
  if (!name.empty() && name[0] == 'i' && (bits = digits(1)) > 0) return make(kDLInt, bits);
  if (!name.empty() && name[0] == 'u' && (bits = digits(1)) > 0) return make(kDLUInt, bits);
  if (!name.empty() && name[0] == 'f' && (bits = digits(1)) > 0) return make(kDLFloat, bits);
  return std::nullopt;
}

DLDataType ReadCustom(Reader* reader) {
  const std::string_view name = reader->Until(']');
  static const Function get_code = Function::GetGlobalRequired("dtype.get_custom_type_code");
  const int64_t code = get_code(std::string(name)).cast<int64_t>();
  const int32_t bits = reader->Number();
  return DLDataType{static_cast<uint8_t>(code), static_cast<uint8_t>(bits < 0 ? 8 : bits), 1};
}

/// Name and width, without lanes.
DLDataType ReadScalar(Reader* reader, std::string_view text) {
  if (reader->Skip("custom[")) return ReadCustom(reader);
  // An abbreviation ends at the lane separator.
  const std::string_view head = text.substr(0, text.find('x'));
  if (std::optional<DLDataType> dtype = TryAbbreviation(head)) {
    reader->Skip(head);
    return *dtype;
  }
  for (const DTypeName& known : kNames) {
    if (!reader->Skip(known.name)) continue;
    DLDataType dtype{known.code, known.bits, 1};
    if (known.takes_bits) {
      const int32_t bits = reader->Number();
      if (bits == 0) reader->Fail();
      if (bits > 255) reader->FailBits(bits);
      if (bits > 0) dtype.bits = static_cast<uint8_t>(bits);
    }
    return dtype;
  }
  reader->Fail();
}

DLDataType Parse(std::string_view text) {
  if (text.empty() || text == "void") return DLDataType{kDLOpaqueHandle, 0, 0};
  Reader reader(text);
  DLDataType dtype = ReadScalar(&reader, text);
  if (reader.done()) return dtype;
  if (dtype.code == kDLFloat4_e2m1fn) reader.Skip("_");  // float4_e2m1fn_x2
  const bool scalable = reader.Skip("xvscalex");
  if (!scalable && !reader.Skip("x")) reader.Fail();
  const int32_t lanes = reader.Number();
  if (lanes <= 0 || lanes > 32767) reader.FailLanes();
  if (!reader.done()) reader.Fail();
  dtype.lanes = static_cast<uint16_t>(scalable ? -lanes : lanes);
  return dtype;
}

std::string Print(DLDataType dtype) {
  if (dtype.code == kDLOpaqueHandle && dtype.bits == 0 && dtype.lanes == 0) return "";
  std::string text;
  if (dtype.code >= kDLExtCustomBegin) {
    static const Function get_name = Function::GetGlobalRequired("dtype.get_custom_type_name");
    text = "custom[" + std::string(get_name(static_cast<int64_t>(dtype.code)).cast<String>()) + "]";
  } else {
    text = detail::DLDataTypeCodeAsCStr(dtype.code);
  }
  const bool width_in_name = (dtype.code == kDLBool && dtype.bits == 8) ||
                             (dtype.code >= kDLFloat8_e3m4 && dtype.code <= kDLFloat4_e2m1fn);
  const bool default_handle = dtype.code == kDLOpaqueHandle && dtype.bits == 64;
  if (!width_in_name && !default_handle) text += std::to_string(dtype.bits);
  const auto lanes = static_cast<int16_t>(dtype.lanes);
  if (lanes < 0) {
    text += "xvscalex" + std::to_string(-lanes);
  } else if (lanes > 1) {
    text += "x" + std::to_string(lanes);
  }
  return text;
}

}  // namespace

}  // namespace ffi
}  // namespace tvm

int TVMFFIDataTypeFromString(const TVMFFIByteArray* str, DLDataType* out) {
  TVM_FFI_SAFE_CALL_BEGIN();
  *out = tvm::ffi::Parse(std::string_view(str->data, str->size));
  TVM_FFI_SAFE_CALL_END();
}

int TVMFFIDataTypeToString(const DLDataType* dtype, TVMFFIAny* out) {
  TVM_FFI_SAFE_CALL_BEGIN();
  tvm::ffi::TypeTraits<tvm::ffi::String>::MoveToAny(tvm::ffi::String(tvm::ffi::Print(*dtype)), out);
  TVM_FFI_SAFE_CALL_END();
}
