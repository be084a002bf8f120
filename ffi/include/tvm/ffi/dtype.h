// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

/// DLDataType: text form, comparison, traits.
#ifndef TVM_FFI_DTYPE_H_
#define TVM_FFI_DTYPE_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/string.h>
#include <tvm/ffi/type_traits.h>

#include <cstring>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>

namespace tvm {
namespace ffi {

/// First code free for element types that DLPack does not know.
enum DLExtDataTypeCode { kDLExtCustomBegin = 129 };

namespace detail {

/// Text of a type code inside a dtype string; throws ValueError for an unknown one.
inline const char* DLDataTypeCodeAsCStr(int type_code) {  // not the enum: any byte may come
  switch (type_code) {
    case kDLInt:
      return "int";
    case kDLUInt:
      return "uint";
    case kDLFloat:
      return "float";
    case kDLOpaqueHandle:
      return "handle";
    case kDLBfloat:
      return "bfloat";
    case kDLComplex:
      return "complex";
    case kDLBool:
      return "bool";
    case kDLFloat8_e3m4:
      return "float8_e3m4";
    case kDLFloat8_e4m3:
      return "float8_e4m3";
    case kDLFloat8_e4m3b11fnuz:
      return "float8_e4m3b11fnuz";
    case kDLFloat8_e4m3fn:
      return "float8_e4m3fn";
    case kDLFloat8_e4m3fnuz:
      return "float8_e4m3fnuz";
    case kDLFloat8_e5m2:
      return "float8_e5m2";
    case kDLFloat8_e5m2fnuz:
      return "float8_e5m2fnuz";
    case kDLFloat8_e8m0fnu:
      return "float8_e8m0fnu";
    case kDLFloat6_e2m3fn:
      return "float6_e2m3fn";
    case kDLFloat6_e3m2fn:
      return "float6_e3m2fn";
    case kDLFloat4_e2m1fn:
      return "float4_e2m1fn";
    default:
      break;
  }
  TVM_FFI_THROW(ValueError) << "unknown dtype code " << type_code;
  TVM_FFI_UNREACHABLE();
}

}  // namespace detail

/// Parses text such as `float16x4`, `i32`, `uint1xvscalex8`, `custom[name]32`.
/// Raises ValueError with the offending text.
inline DLDataType StringToDLDataType(const String& str) {
  DLDataType dtype;
  const TVMFFIByteArray text{str.data(), str.size()};
  TVM_FFI_CHECK_SAFE_CALL(TVMFFIDataTypeFromString(&text, &dtype));
  return dtype;
}

/// Canonical text; empty for void.
inline String DLDataTypeToString(DLDataType dtype) {
  TVMFFIAny text;
  detail::SetNone(&text);
  TVM_FFI_CHECK_SAFE_CALL(TVMFFIDataTypeToString(&dtype, &text));
  return TypeTraits<String>::MoveFromAnyAfterCheck(&text);
}

/// Any floating format: IEEE, bfloat, 8-, 6- and 4-bit.
inline bool DTypeIsFloat(DLDataType dtype) {
  return dtype.code == kDLFloat || dtype.code == kDLBfloat ||
         (dtype.code >= kDLFloat8_e3m4 && dtype.code <= kDLFloat4_e2m1fn);
}
inline bool DTypeIsInt(DLDataType dtype) { return dtype.code == kDLInt || dtype.code == kDLUInt; }
inline bool DTypeIsBool(DLDataType dtype) { return dtype.code == kDLBool; }
/// Short form such as `f16`, `i32`, `u8x4`, `bf16`.
inline std::string DTypeAbbrev(DLDataType dtype) {
  struct Short {
    std::string_view full;
    const char* abbreviation;
  };
  constexpr Short kShorts[] = {{"bfloat", "bf"}, {"float", "f"}, {"int", "i"}, {"uint", "u"}};
  const std::string text = std::string(DLDataTypeToString(dtype));
  if (text.empty()) return "void";
  for (const Short& name : kShorts) {
    if (std::string_view(text).substr(0, name.full.size()) == name.full) {
      return name.abbreviation + text.substr(name.full.size());
    }
  }
  return text;
}

template <>
struct TypeTraits<DLDataType> : public TypeTraitsBase {
  static constexpr int32_t field_static_type_index = TypeIndex::kTVMFFIDataType;

  TVM_FFI_INLINE static void CopyToAnyView(const DLDataType& src, TVMFFIAny* result) {
    detail::SetNone(result);
    result->type_index = TypeIndex::kTVMFFIDataType;
    result->v_dtype = src;
  }
  TVM_FFI_INLINE static void MoveToAny(DLDataType src, TVMFFIAny* result) {
    CopyToAnyView(src, result);
  }
  TVM_FFI_INLINE static bool CheckAnyStrict(const TVMFFIAny* src) {
    return src->type_index == TypeIndex::kTVMFFIDataType;
  }
  TVM_FFI_INLINE static DLDataType CopyFromAnyViewAfterCheck(const TVMFFIAny* src) {
    return src->v_dtype;
  }
  TVM_FFI_INLINE static DLDataType MoveFromAnyAfterCheck(TVMFFIAny* src) { return src->v_dtype; }
  TVM_FFI_INLINE static std::optional<DLDataType> TryCastFromAnyView(const TVMFFIAny* src) {
    if (CheckAnyStrict(src)) return src->v_dtype;
    if (std::optional<String> text = TypeTraits<String>::TryCastFromAnyView(src)) {
      return StringToDLDataType(*text);
    }
    return std::nullopt;
  }
  TVM_FFI_INLINE static std::string TypeStr() { return StaticTypeKey::kTVMFFIDataType; }
  TVM_FFI_INLINE static std::string TypeSchema() {
    return detail::SimpleTypeSchema(StaticTypeKey::kTVMFFIDataType);
  }
};

}  // namespace ffi
}  // namespace tvm

// DLPack types are global: argument-dependent lookup finds these only here.
inline bool operator==(const DLDataType& lhs, const DLDataType& rhs) {
  return lhs.code == rhs.code && lhs.bits == rhs.bits && lhs.lanes == rhs.lanes;
}
inline bool operator!=(const DLDataType& lhs, const DLDataType& rhs) { return !(lhs == rhs); }
inline std::ostream& operator<<(std::ostream& os, DLDataType dtype) {
  return os << ::tvm::ffi::DLDataTypeToString(dtype);
}

#endif  // TVM_FFI_DTYPE_H_
