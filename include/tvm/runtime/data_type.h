// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file data_type.h
/// DataType: a value wrapper over DLDataType with queries and factories.
#ifndef TVM_RUNTIME_DATA_TYPE_H_
#define TVM_RUNTIME_DATA_TYPE_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/dtype.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/string.h>
#include <tvm/ffi/type_traits.h>
#include <tvm/runtime/base.h>

#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <utility>

namespace tvm {
namespace runtime {

/// Element type, its width in bits and its number of vector lanes.
///
/// A scalable vector keeps `-n` in the 16-bit lanes field, where n is the multiple of the
/// hardware's vscale.
class DataType {
 public:
  /// Type codes, equal to DLPack's.
  enum TypeCode : uint8_t {
    kInt = 0,
    kUInt = 1,
    kFloat = 2,
    kHandle = 3,
    kBFloat = 4,
    kComplex = 5,
    kBool = 6,
    kFloat8_e3m4 = 7,
    kFloat8_e4m3 = 8,
    kFloat8_e4m3b11fnuz = 9,
    kFloat8_e4m3fn = 10,
    kFloat8_e4m3fnuz = 11,
    kFloat8_e5m2 = 12,
    kFloat8_e5m2fnuz = 13,
    kFloat8_e8m0fnu = 14,
    kFloat6_e2m3fn = 15,
    kFloat6_e3m2fn = 16,
    kFloat4_e2m1fn = 17,
    kCustomBegin = 129,
  };

  /// Void.
  constexpr DataType() : data_{kHandle, 0, 0} {}
  constexpr DataType(DLDataType dtype) : data_(dtype) {}  // NOLINT(*)
  DataType(int code, int bits, int lanes, bool is_scalable = false)
      : data_{static_cast<uint8_t>(code), static_cast<uint8_t>(bits),
              static_cast<uint16_t>(is_scalable ? -lanes : lanes)} {
    TVM_FFI_CHECK(code >= 0 && code <= 255 && bits >= 0 && bits <= 255, ValueError)
        << "data type code " << code << " or width " << bits << " does not fit in 8 bits";
    TVM_FFI_CHECK(lanes >= 0 && lanes <= 32767, ValueError)
        << "a data type takes between 0 and 32767 lanes, got " << lanes;
  }
  /// Parses a name such as "float32x4".
  explicit DataType(const std::string& name) : data_(ffi::StringToDLDataType(ffi::String(name))) {}

  constexpr int code() const { return data_.code; }
  constexpr int bits() const { return data_.bits; }
  /// Bytes of one lane, rounded up.
  constexpr int bytes() const { return (data_.bits + 7) / 8; }
  constexpr int raw_lanes() const { return static_cast<int16_t>(data_.lanes); }
  constexpr bool is_scalable_vector() const { return raw_lanes() < 0; }
  constexpr bool is_fixed_length_vector() const { return raw_lanes() > 1; }
  constexpr bool is_scalable_or_fixed_length_vector() const {
    return is_scalable_vector() || is_fixed_length_vector();
  }
  constexpr bool is_vector() const { return raw_lanes() > 1; }
  constexpr bool is_scalar() const { return raw_lanes() == 1; }

  /// Number of lanes; an error for a scalable vector, whose count is only known at run time.
  int lanes() const {
    int n = raw_lanes();
    TVM_FFI_CHECK(n >= 0, InternalError)
        << "the lane count of scalable vector " << ToString() << " is not a compile-time constant";
    return n;
  }
  int vscale_factor() const {
    TVM_FFI_CHECK(is_scalable_vector(), InternalError) << ToString() << " is not a scalable vector";
    return -raw_lanes();
  }
  int get_lanes_or_vscale_factor() const {
    return is_scalable_vector() ? vscale_factor() : lanes();
  }

  constexpr bool is_int() const { return code() == kInt; }
  constexpr bool is_uint() const { return code() == kUInt; }
  constexpr bool is_float() const { return code() == kFloat; }
  constexpr bool is_bfloat() const { return code() == kBFloat; }
  constexpr bool is_bool() const { return code() == kBool; }
  constexpr bool is_predicate_dtype() const { return is_bool() || (is_uint() && bits() == 1); }
  constexpr bool is_float16() const { return is_float() && bits() == 16; }
  constexpr bool is_bfloat16() const { return is_bfloat() && bits() == 16; }
  constexpr bool is_half() const { return is_float16(); }
  constexpr bool is_float8() const { return code() >= kFloat8_e3m4 && code() <= kFloat8_e8m0fnu; }
  constexpr bool is_float8_e4m3fn() const { return code() == kFloat8_e4m3fn; }
  constexpr bool is_float8_e5m2() const { return code() == kFloat8_e5m2; }
  constexpr bool is_float8_e8m0fnu() const { return code() == kFloat8_e8m0fnu; }
  constexpr bool is_float6() const { return code() == kFloat6_e2m3fn || code() == kFloat6_e3m2fn; }
  constexpr bool is_float6_e2m3fn() const { return code() == kFloat6_e2m3fn; }
  constexpr bool is_float6_e3m2fn() const { return code() == kFloat6_e3m2fn; }
  constexpr bool is_float4() const { return code() == kFloat4_e2m1fn; }
  constexpr bool is_float4_e2m1fn() const { return code() == kFloat4_e2m1fn; }
  constexpr bool is_handle() const { return code() == kHandle && !is_void(); }
  constexpr bool is_void() const { return code() == kHandle && bits() == 0 && data_.lanes == 0; }
  /// True for every floating-point family: IEEE, bfloat16, and the 8, 6 and 4-bit formats.
  constexpr bool is_any_float() const {
    return is_float() || is_bfloat() || is_float8() || is_float6() || is_float4();
  }
  constexpr bool is_vector_bool() const {
    return is_scalable_or_fixed_length_vector() && is_predicate_dtype();
  }

  DataType with_lanes(int lanes) const { return DataType(code(), bits(), lanes); }
  DataType with_scalable_vscale_factor(int factor) const {
    return DataType(code(), bits(), factor, true);
  }
  DataType with_bits(int bits) const {
    DataType r = *this;
    TVM_FFI_CHECK(bits >= 0 && bits <= 255, ValueError) << "invalid width " << bits;
    r.data_.bits = static_cast<uint8_t>(bits);
    return r;
  }
  DataType with_code(int code) const {
    DataType r = *this;
    r.data_.code = static_cast<uint8_t>(code);
    return r;
  }
  /// The type of one lane.
  constexpr DataType element_of() const { return DataType(DLDataType{data_.code, data_.bits, 1}); }

  constexpr bool operator==(const DataType& o) const {
    return data_.code == o.data_.code && data_.bits == o.data_.bits && data_.lanes == o.data_.lanes;
  }
  constexpr bool operator!=(const DataType& o) const { return !(*this == o); }
  constexpr operator DLDataType() const { return data_; }  // NOLINT(*)

  static DataType Int(int bits, int lanes = 1) { return DataType(kInt, bits, lanes); }
  static DataType UInt(int bits, int lanes = 1, bool is_scalable = false) {
    return DataType(kUInt, bits, lanes, is_scalable);
  }
  static DataType Float(int bits, int lanes = 1) { return DataType(kFloat, bits, lanes); }
  static DataType BFloat(int bits, int lanes = 1) { return DataType(kBFloat, bits, lanes); }
  static DataType Bool(int lanes = 1, bool is_scalable = false) {
    return DataType(kBool, 8, lanes, is_scalable);
  }
  static DataType Handle(int bits = 64, int lanes = 1) { return DataType(kHandle, bits, lanes); }
  static constexpr DataType Void() { return DataType(); }
  static DataType Float8E3M4(int lanes = 1) { return DataType(kFloat8_e3m4, 8, lanes); }
  static DataType Float8E4M3(int lanes = 1) { return DataType(kFloat8_e4m3, 8, lanes); }
  static DataType Float8E4M3B11FNUZ(int lanes = 1) {
    return DataType(kFloat8_e4m3b11fnuz, 8, lanes);
  }
  static DataType Float8E4M3FN(int lanes = 1) { return DataType(kFloat8_e4m3fn, 8, lanes); }
  static DataType Float8E4M3FNUZ(int lanes = 1) { return DataType(kFloat8_e4m3fnuz, 8, lanes); }
  static DataType Float8E5M2(int lanes = 1) { return DataType(kFloat8_e5m2, 8, lanes); }
  static DataType Float8E5M2FNUZ(int lanes = 1) { return DataType(kFloat8_e5m2fnuz, 8, lanes); }
  static DataType Float8E8M0FNU(int lanes = 1) { return DataType(kFloat8_e8m0fnu, 8, lanes); }
  static DataType Float6E2M3FN(int lanes = 1) { return DataType(kFloat6_e2m3fn, 6, lanes); }
  static DataType Float6E3M2FN(int lanes = 1) { return DataType(kFloat6_e3m2fn, 6, lanes); }
  static DataType Float4E2M1FN(int lanes = 1) { return DataType(kFloat4_e2m1fn, 4, lanes); }
  /// Type of an element of a shape in the runtime's arguments.
  static DataType ShapeIndex() { return Int(64); }

  std::string ToString() const {
    ffi::String s = ffi::DLDataTypeToString(data_);
    return std::string(s.data(), s.size());
  }

 private:
  DLDataType data_;
};

inline std::ostream& operator<<(std::ostream& os, const DataType& dtype) {
  return os << dtype.ToString();
}

/// Bytes that one vector value of a type takes, sub-byte lanes packed.
inline int64_t GetVectorBytes(DataType dtype) {
  return (static_cast<int64_t>(dtype.bits()) * dtype.lanes() + 7) / 8;
}
/// True if the type has this code and width, with any number of lanes.
inline bool TypeMatch(DLDataType t, int code, int bits) { return t.code == code && t.bits == bits; }

}  // namespace runtime

using runtime::DataType;

namespace ffi {

template <>
inline constexpr bool use_default_type_traits_v<runtime::DataType> = false;

/// A DataType travels as the ABI's DataType, and may be given as a string.
template <>
struct TypeTraits<runtime::DataType> : public TypeTraitsBase {
  using Base = TypeTraits<DLDataType>;
  static constexpr int32_t field_static_type_index = TypeIndex::kTVMFFIDataType;

  TVM_FFI_INLINE static void CopyToAnyView(const runtime::DataType& src, TVMFFIAny* result) {
    Base::CopyToAnyView(src, result);
  }
  TVM_FFI_INLINE static void MoveToAny(runtime::DataType src, TVMFFIAny* result) {
    Base::MoveToAny(src, result);
  }
  TVM_FFI_INLINE static bool CheckAnyStrict(const TVMFFIAny* src) {
    return Base::CheckAnyStrict(src);
  }
  TVM_FFI_INLINE static runtime::DataType CopyFromAnyViewAfterCheck(const TVMFFIAny* src) {
    return runtime::DataType(Base::CopyFromAnyViewAfterCheck(src));
  }
  TVM_FFI_INLINE static runtime::DataType MoveFromAnyAfterCheck(TVMFFIAny* src) {
    return runtime::DataType(Base::MoveFromAnyAfterCheck(src));
  }
  TVM_FFI_INLINE static std::optional<runtime::DataType> TryCastFromAnyView(const TVMFFIAny* src) {
    if (auto opt = Base::TryCastFromAnyView(src)) return runtime::DataType(*opt);
    return std::nullopt;
  }
  TVM_FFI_INLINE static std::string TypeStr() { return Base::TypeStr(); }
  TVM_FFI_INLINE static std::string TypeSchema() { return Base::TypeSchema(); }
};

}  // namespace ffi
}  // namespace tvm

namespace std {
template <>
struct hash<::tvm::runtime::DataType> {
  std::size_t operator()(const ::tvm::runtime::DataType& t) const {
    return static_cast<std::size_t>(t.code()) | static_cast<std::size_t>(t.bits()) << 8 |
           static_cast<std::size_t>(static_cast<uint16_t>(t.raw_lanes())) << 16;
  }
};
}  // namespace std

#endif  // TVM_RUNTIME_DATA_TYPE_H_
