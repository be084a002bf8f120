// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

/// Immutable `String` and `Bytes`. Up to 7 bytes live in the 16-byte value itself, longer
/// content in a shared object; both forms are always NUL terminated.
#ifndef TVM_FFI_STRING_H_
#define TVM_FFI_STRING_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/base_detail.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/memory.h>
#include <tvm/ffi/object.h>
#include <tvm/ffi/type_traits.h>

#include <cstring>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace tvm {
namespace ffi {
namespace detail {

/// Content cell behind the header; the characters usually follow inline.
class BytesObjBase : public Object, public TVMFFIByteArray {
 public:
  BytesObjBase() : TVMFFIByteArray{nullptr, 0} {}
};

}  // namespace detail

class BytesObj : public detail::BytesObjBase {
 public:
  static constexpr uint32_t _type_index = TypeIndex::kTVMFFIBytes;
  static constexpr bool _type_final = true;
  TVM_FFI_DECLARE_OBJECT_INFO_STATIC(StaticTypeKey::kTVMFFIBytes, BytesObj, Object);
};

class StringObj : public detail::BytesObjBase {
 public:
  static constexpr uint32_t _type_index = TypeIndex::kTVMFFIStr;
  static constexpr bool _type_final = true;
  TVM_FFI_DECLARE_OBJECT_INFO_STATIC(StaticTypeKey::kTVMFFIStr, StringObj, Object);
};

namespace detail {

/// Storage shared by String and Bytes, bit for bit an Any. Never None.
template <typename ObjType, int32_t kSmallIndex>
class BytesCell {
 public:
  static constexpr int32_t kLargeIndex = static_cast<int32_t>(ObjType::_type_index);
  static constexpr size_t kMaxSmallSize = sizeof(int64_t) - 1;

  BytesCell() { SetEmpty(); }
  BytesCell(const BytesCell& other) : data_(other.data_) {
    if (!IsSmall()) ObjectUnsafe::IncRefObjectHandle(data_.v_obj);
  }
  BytesCell(BytesCell&& other) noexcept : data_(other.data_) { other.SetEmpty(); }
  BytesCell& operator=(const BytesCell& other) {
    BytesCell(other).swap(*this);
    return *this;
  }
  BytesCell& operator=(BytesCell&& other) noexcept {
    BytesCell(std::move(other)).swap(*this);
    return *this;
  }
  ~BytesCell() {
    if (!IsSmall()) ObjectUnsafe::DecRefObjectHandle(data_.v_obj);
  }
  BytesCell(const char* data, size_t size) : BytesCell(data, size, size <= kMaxSmallSize) {}
  BytesCell(const char* data, size_t size, bool small) {
    char* target = InitSpace(size, small);
    if (size != 0) std::memcpy(target, data, size);
  }

  void swap(BytesCell& other) noexcept { std::swap(data_, other.data_); }
  TVM_FFI_INLINE bool IsSmall() const { return data_.type_index == kSmallIndex; }
  TVM_FFI_INLINE const char* data() const noexcept {
    return IsSmall() ? data_.v_bytes : TVMFFIBytesGetByteArrayPtr(data_.v_obj)->data;
  }
  TVM_FFI_INLINE size_t size() const noexcept {
    return IsSmall() ? data_.small_str_len : TVMFFIBytesGetByteArrayPtr(data_.v_obj)->size;
  }
  std::string_view view() const noexcept { return std::string_view(data(), size()); }

  /// Room for `size` characters to fill in; NUL is already behind them. Only for a fresh cell.
  char* InitSpace(size_t size, bool small) {
    SetEmpty();
    if (small) {
      data_.small_str_len = static_cast<uint32_t>(size);
      return data_.v_bytes;
    }
    ObjectPtr<ObjType> object = make_inplace_array_object<ObjType, char>(size + 1);
    char* chars = reinterpret_cast<char*>(object.get()) + sizeof(ObjType);
    chars[size] = '\0';
    object->data = chars;
    object->size = size;
    data_.type_index = kLargeIndex;
    data_.zero_padding = 0;
    data_.v_int64 = 0;
    data_.v_obj = ObjectUnsafe::MoveObjectPtrToTVMFFIObjectPtr<ObjType>(std::move(object));
    return chars;
  }

  const TVMFFIAny& raw() const { return data_; }
  TVMFFIAny Release() {
    TVMFFIAny raw = data_;
    SetEmpty();
    return raw;
  }
  /// The caller vouches for the type.
  static BytesCell Share(const TVMFFIAny* src) {
    BytesCell cell;
    cell.data_ = *src;
    if (!cell.IsSmall()) ObjectUnsafe::IncRefObjectHandle(cell.data_.v_obj);
    return cell;
  }
  static BytesCell Adopt(TVMFFIAny* src) {
    BytesCell cell;
    cell.data_ = *src;
    SetNone(src);
    return cell;
  }

 private:
  void SetEmpty() {
    data_.type_index = kSmallIndex;
    data_.small_str_len = 0;
    data_.v_int64 = 0;
  }

  TVMFFIAny data_;
};

/// Content of an STL string becomes a heap object even when short; the source ends up empty.
template <typename Cell>
Cell CellFromStd(std::string&& source) {
  Cell cell(source.data(), source.size(), false);
  source = std::string();
  return cell;
}

}  // namespace detail

/// Immutable byte buffer.
class Bytes {
 public:
  Bytes() = default;
  Bytes(const char* data, size_t size) : cell_(data, size) {}
  Bytes(TVMFFIByteArray bytes)  // NOLINT(google-explicit-constructor)
      : cell_(bytes.data, bytes.size) {}
  Bytes(const std::string& other)  // NOLINT(google-explicit-constructor)
      : cell_(other.data(), other.size()) {}
  Bytes(std::string&& other)  // NOLINT(google-explicit-constructor)
      : cell_(detail::CellFromStd<Cell>(std::move(other))) {}

  void swap(Bytes& other) noexcept { cell_.swap(other.cell_); }
  template <typename T, typename = std::enable_if_t<!std::is_same_v<detail::RemoveCvRef<T>, Bytes>>>
  Bytes& operator=(T&& other) {
    Bytes(std::forward<T>(other)).swap(*this);
    return *this;
  }

  size_t size() const { return cell_.size(); }
  const char* data() const { return cell_.data(); }
  operator std::string() const {  // NOLINT(google-explicit-constructor)
    return std::string(data(), size());
  }

  /// Lexicographic order of two byte ranges: negative, 0 or positive.
  static int memncmp(const char* lhs, const char* rhs, size_t lhs_count, size_t rhs_count) {
    return std::string_view(lhs, lhs_count).compare(std::string_view(rhs, rhs_count));
  }
  static bool memequal(const void* lhs, const void* rhs, size_t lhs_count, size_t rhs_count) {
    return lhs_count == rhs_count &&
           (lhs == rhs || lhs_count == 0 || std::memcmp(lhs, rhs, lhs_count) == 0);
  }

 private:
  using Cell = detail::BytesCell<BytesObj, TypeIndex::kTVMFFISmallBytes>;
  explicit Bytes(Cell cell) : cell_(std::move(cell)) {}

  Cell cell_;
  friend struct TypeTraits<Bytes>;
};

/// Immutable text, UTF-8 by convention.
class String {
 public:
  String() = default;
  String(std::nullptr_t) = delete;
  String(const String&) = default;
  String(String&&) noexcept = default;
  String& operator=(const String&) = default;
  String& operator=(String&&) noexcept = default;
  String(const char* data, size_t size) : cell_(data, size) {}
  String(const char* other)  // NOLINT(google-explicit-constructor)
      : cell_(other, std::char_traits<char>::length(other)) {}
  String(const std::string& other)  // NOLINT(google-explicit-constructor)
      : cell_(other.data(), other.size()) {}
  String(std::string&& other)  // NOLINT(google-explicit-constructor)
      : cell_(detail::CellFromStd<Cell>(std::move(other))) {}
  explicit String(std::string_view other) : cell_(other.data(), other.size()) {}
  String(TVMFFIByteArray other)  // NOLINT(google-explicit-constructor)
      : cell_(other.data, other.size) {}
  String& operator=(const std::string& other) { return *this = String(other); }
  String& operator=(std::string&& other) { return *this = String(std::move(other)); }
  String& operator=(const char* other) { return *this = String(other); }

  void swap(String& other) noexcept { cell_.swap(other.cell_); }
  const char* data() const noexcept { return cell_.data(); }
  const char* c_str() const noexcept { return cell_.data(); }
  size_t size() const noexcept { return cell_.size(); }
  size_t length() const { return size(); }
  bool empty() const { return size() == 0; }
  char at(size_t pos) const {
    if (pos < size()) return data()[pos];
    throw std::out_of_range("tvm::ffi::String index out of bounds");
  }

  int compare(const String& other) const { return view().compare(other.view()); }
  int compare(const std::string& other) const { return view().compare(other); }
  int compare(const char* other) const { return view().compare(other); }
  int compare(const TVMFFIByteArray& other) const {
    return view().compare(std::string_view(other.data, other.size));
  }

  static constexpr size_t npos = static_cast<size_t>(-1);
  size_t find(const String& str, size_t pos = 0) const { return view().find(str.view(), pos); }
  size_t find(const char* str, size_t pos = 0) const { return view().find(str, pos); }
  size_t find(const char* str, size_t pos, size_t count) const {
    return view().find(str, pos, count);
  }
  String substr(size_t pos = 0, size_t count = npos) const {
    if (pos > size()) throw std::out_of_range("tvm::ffi::String substr index out of bounds");
    return String(view().substr(pos, count));
  }
  bool starts_with(const String& prefix) const { return starts_with(prefix.view()); }
  bool starts_with(std::string_view prefix) const {
    return view().substr(0, prefix.size()) == prefix;
  }
  bool starts_with(const char* prefix) const { return starts_with(std::string_view(prefix)); }
  bool starts_with(const char* prefix, size_t count) const {
    return starts_with(std::string_view(prefix, count));
  }
  bool ends_with(const String& suffix) const { return ends_with(suffix.view()); }
  bool ends_with(std::string_view suffix) const {
    return size() >= suffix.size() && view().substr(size() - suffix.size()) == suffix;
  }
  bool ends_with(const char* suffix) const { return ends_with(std::string_view(suffix)); }
  bool ends_with(const char* suffix, size_t count) const {
    return ends_with(std::string_view(suffix, count));
  }
  /// Pieces between delimiters, views into this string; always at least one.
  std::vector<std::string_view> Split(char delim) const {
    std::vector<std::string_view> pieces;
    std::string_view rest = view();
    for (size_t cut; (cut = rest.find(delim)) != std::string_view::npos;) {
      pieces.push_back(rest.substr(0, cut));
      rest.remove_prefix(cut + 1);
    }
    pieces.push_back(rest);
    return pieces;
  }

  operator std::string() const {  // NOLINT(google-explicit-constructor)
    return std::string(data(), size());
  }
  explicit operator std::string_view() const { return view(); }
  std::string_view view() const noexcept { return cell_.view(); }

 private:
  using Cell = detail::BytesCell<StringObj, TypeIndex::kTVMFFISmallStr>;
  explicit String(Cell cell) : cell_(std::move(cell)) {}
  static String Concat(std::string_view lhs, std::string_view rhs) {
    Cell cell;
    const size_t size = lhs.size() + rhs.size();
    char* target = cell.InitSpace(size, size <= Cell::kMaxSmallSize);
    if (!lhs.empty()) std::memcpy(target, lhs.data(), lhs.size());
    if (!rhs.empty()) std::memcpy(target + lhs.size(), rhs.data(), rhs.size());
    return String(std::move(cell));
  }

  Cell cell_;
  friend struct TypeTraits<String>;
  friend String operator+(const String& lhs, const String& rhs);
  friend String operator+(const String& lhs, const std::string& rhs);
  friend String operator+(const std::string& lhs, const String& rhs);
  friend String operator+(const char* lhs, const String& rhs);
  friend String operator+(const String& lhs, const char* rhs);
};

static_assert(sizeof(String) == sizeof(TVMFFIAny) && sizeof(Bytes) == sizeof(TVMFFIAny),
              "strings share the layout of Any");

namespace detail {

inline constexpr char kHexDigits[] = "0123456789abcdef";

/// The letter of a two-character escape, or NUL.
inline char ShortEscape(char c) {
  switch (c) {
    case '\n':
      return 'n';
    case '\r':
      return 'r';
    case '\t':
      return 't';
    default:
      return '\0';
  }
}

inline void AppendHex(std::string* out, uint32_t value, int num_digits) {
  for (int i = num_digits; i-- > 0;) out->push_back(kHexDigits[(value >> (4 * i)) & 15]);
}

/// Length of the well-formed UTF-8 sequence at `pos`, 0 if there is none.
inline size_t Utf8Length(std::string_view text, size_t pos) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[pos + i]); };
  const uint8_t lead = byte(0);
  size_t length;
  uint8_t low = 0x80, high = 0xBF;  // bounds of the second byte
  if (lead < 0x80) {
    return 1;
  } else if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3;
    if (lead == 0xE0) low = 0xA0;   // overlong
    if (lead == 0xED) high = 0x9F;  // surrogates
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4;
    if (lead == 0xF0) low = 0x90;   // overlong
    if (lead == 0xF4) high = 0x8F;  // beyond U+10FFFF
  } else {
    return 0;
  }
  if (pos + length > text.size() || byte(1) < low || byte(1) > high) return 0;
  for (size_t i = 2; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  return length;
}

}  // namespace detail

/// Double-quoted JSON text; `/` and control characters are escaped, UTF-8 is kept.
inline String EscapeStringJSON(const String& value) {
  std::string out = "\"";
  out.reserve(value.size() + 2);
  for (char c : value.view()) {
    if (c == '"' || c == '\\' || c == '/') {
      out.push_back('\\');
      out.push_back(c);
    } else if (char letter = c == '\b' ? 'b' : c == '\f' ? 'f' : detail::ShortEscape(c)) {
      out.push_back('\\');
      out.push_back(letter);
    } else if (static_cast<uint8_t>(c) < 0x20 || c == 0x7F) {
      out.append("\\u00");
      detail::AppendHex(&out, static_cast<uint8_t>(c), 2);
    } else {
      out.push_back(c);
    }
  }
  out.push_back('"');
  return String(out);
}
/// Double-quoted ASCII Python text: \uXXXX for other characters, \xNN for bytes that are not
/// UTF-8.
inline String EscapedStringPy(const String& value) {
  const std::string_view text = value.view();
  std::string out = "\"";
  out.reserve(text.size() + 2);
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    const size_t length = detail::Utf8Length(text, i);
    if (length > 1) {
      uint32_t code_point = static_cast<uint8_t>(c) & (0x7F >> length);
      for (size_t k = 1; k < length; ++k) code_point = code_point << 6 | (text[i + k] & 0x3F);
      out.append(code_point > 0xFFFF ? "\\U" : "\\u");
      detail::AppendHex(&out, code_point, code_point > 0xFFFF ? 8 : 4);
      i += length;
      continue;
    }
    if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(c);
    } else if (char letter = detail::ShortEscape(c)) {
      out.push_back('\\');
      out.push_back(letter);
    } else if (length == 0 || static_cast<uint8_t>(c) < 0x20 || c == 0x7F) {
      out.append("\\x");
      detail::AppendHex(&out, static_cast<uint8_t>(c), 2);
    } else {
      out.push_back(c);
    }
    ++i;
  }
  out.push_back('"');
  return String(out);
}
/// Older name of EscapeStringJSON.
inline String EscapeString(const String& value) { return EscapeStringJSON(value); }

inline std::string_view ToStringView(TVMFFIByteArray str) {
  return std::string_view(str.data, str.size);
}

inline String operator+(const String& lhs, const String& rhs) {
  return String::Concat(lhs.view(), rhs.view());
}
inline String operator+(const String& lhs, const std::string& rhs) {
  return String::Concat(lhs.view(), rhs);
}
inline String operator+(const std::string& lhs, const String& rhs) {
  return String::Concat(lhs, rhs.view());
}
inline String operator+(const char* lhs, const String& rhs) {
  return String::Concat(lhs, rhs.view());
}
inline String operator+(const String& lhs, const char* rhs) {
  return String::Concat(lhs.view(), rhs);
}

#define TVM_FFI_DEFINE_STRING_COMPARE_(op)                                                       \
  inline bool operator op(std::nullptr_t, const String& rhs) = delete;                           \
  inline bool operator op(const String& lhs, std::nullptr_t) = delete;                           \
  inline bool operator op(const String& lhs, const String& rhs) {                                \
    return lhs.view() op rhs.view();                                                             \
  }                                                                                              \
  inline bool operator op(const String& lhs, const std::string& rhs) {                           \
    return lhs.view() op std::string_view(rhs);                                                  \
  }                                                                                              \
  inline bool operator op(const std::string& lhs, const String& rhs) {                           \
    return std::string_view(lhs) op rhs.view();                                                  \
  }                                                                                              \
  inline bool operator op(const String& lhs, const char* rhs) {                                  \
    return lhs.view() op std::string_view(rhs);                                                  \
  }                                                                                              \
  inline bool operator op(const char* lhs, const String& rhs) {                                  \
    return std::string_view(lhs) op rhs.view();                                                  \
  }                                                                                              \
  inline bool operator op(const Bytes& lhs, const Bytes& rhs) {                                  \
    return std::string_view(lhs.data(), lhs.size()) op std::string_view(rhs.data(), rhs.size()); \
  }

TVM_FFI_DEFINE_STRING_COMPARE_(<)
TVM_FFI_DEFINE_STRING_COMPARE_(>)
TVM_FFI_DEFINE_STRING_COMPARE_(<=)
TVM_FFI_DEFINE_STRING_COMPARE_(>=)
TVM_FFI_DEFINE_STRING_COMPARE_(==)
TVM_FFI_DEFINE_STRING_COMPARE_(!=)
#undef TVM_FFI_DEFINE_STRING_COMPARE_

inline std::ostream& operator<<(std::ostream& out, const String& input) {
  return out.write(input.data(), static_cast<std::streamsize>(input.size()));
}

// The static field type stays Any: a value may be in either of two forms.
template <>
struct TypeTraits<Bytes> : public TypeTraitsBase {
  TVM_FFI_INLINE static void CopyToAnyView(const Bytes& src, TVMFFIAny* result) {
    *result = src.cell_.raw();
  }
  TVM_FFI_INLINE static void MoveToAny(Bytes src, TVMFFIAny* result) {
    *result = src.cell_.Release();
  }
  TVM_FFI_INLINE static bool CheckAnyStrict(const TVMFFIAny* src) {
    return detail::IsBytesIndex(src->type_index);
  }
  TVM_FFI_INLINE static Bytes CopyFromAnyViewAfterCheck(const TVMFFIAny* src) {
    return Bytes(Bytes::Cell::Share(src));
  }
  TVM_FFI_INLINE static Bytes MoveFromAnyAfterCheck(TVMFFIAny* src) {
    return Bytes(Bytes::Cell::Adopt(src));
  }
  TVM_FFI_INLINE static std::optional<Bytes> TryCastFromAnyView(const TVMFFIAny* src) {
    if (CheckAnyStrict(src)) return CopyFromAnyViewAfterCheck(src);
    if (src->type_index == TypeIndex::kTVMFFIByteArrayPtr) {
      return Bytes(*static_cast<const TVMFFIByteArray*>(src->v_ptr));
    }
    return std::nullopt;
  }
  TVM_FFI_INLINE static std::string TypeStr() { return "bytes"; }
  TVM_FFI_INLINE static std::string TypeSchema() {
    return detail::SimpleTypeSchema(StaticTypeKey::kTVMFFIBytes);
  }
};

template <>
struct TypeTraits<String> : public TypeTraitsBase {
  TVM_FFI_INLINE static void CopyToAnyView(const String& src, TVMFFIAny* result) {
    *result = src.cell_.raw();
  }
  TVM_FFI_INLINE static void MoveToAny(String src, TVMFFIAny* result) {
    *result = src.cell_.Release();
  }
  TVM_FFI_INLINE static bool CheckAnyStrict(const TVMFFIAny* src) {
    return detail::IsStringIndex(src->type_index);
  }
  TVM_FFI_INLINE static String CopyFromAnyViewAfterCheck(const TVMFFIAny* src) {
    return String(String::Cell::Share(src));
  }
  TVM_FFI_INLINE static String MoveFromAnyAfterCheck(TVMFFIAny* src) {
    return String(String::Cell::Adopt(src));
  }
  TVM_FFI_INLINE static std::optional<String> TryCastFromAnyView(const TVMFFIAny* src) {
    if (CheckAnyStrict(src)) return CopyFromAnyViewAfterCheck(src);
    if (src->type_index == TypeIndex::kTVMFFIRawStr) return String(src->v_c_str);
    return std::nullopt;
  }
  TVM_FFI_INLINE static std::string TypeStr() { return "str"; }
  TVM_FFI_INLINE static std::string TypeSchema() {
    return detail::SimpleTypeSchema(StaticTypeKey::kTVMFFIStr);
  }
};

namespace detail {

/// C string types: a pointer in views, a String once owned.
struct RawStrTraitsBase : public TypeTraitsBase {
  static constexpr bool storage_enabled = false;

  TVM_FFI_INLINE static void CopyToAnyView(const char* src, TVMFFIAny* result) {
    result->type_index = TypeIndex::kTVMFFIRawStr;
    result->zero_padding = 0;
    TVM_FFI_CLEAR_PTR_PADDING_IN_FFI_ANY(result);
    result->v_c_str = src;
  }
  TVM_FFI_INLINE static void MoveToAny(const char* src, TVMFFIAny* result) {
    TypeTraits<String>::MoveToAny(String(src), result);
  }
};

}  // namespace detail

template <int N>
struct TypeTraits<char[N]> : public detail::RawStrTraitsBase {};

template <>
struct TypeTraits<const char*> : public detail::RawStrTraitsBase {
  TVM_FFI_INLINE static std::optional<const char*> TryCastFromAnyView(const TVMFFIAny* src) {
    if (src->type_index == TypeIndex::kTVMFFIRawStr) return src->v_c_str;
    return std::nullopt;
  }
  TVM_FFI_INLINE static std::string TypeStr() { return StaticTypeKey::kTVMFFIRawStr; }
  TVM_FFI_INLINE static std::string TypeSchema() {
    return detail::SimpleTypeSchema(StaticTypeKey::kTVMFFIRawStr);
  }
};

template <>
struct TypeTraits<TVMFFIByteArray*> : public TypeTraitsBase {
  static constexpr int32_t field_static_type_index = TypeIndex::kTVMFFIByteArrayPtr;
  static constexpr bool storage_enabled = false;

  TVM_FFI_INLINE static void CopyToAnyView(TVMFFIByteArray* src, TVMFFIAny* result) {
    result->type_index = TypeIndex::kTVMFFIByteArrayPtr;
    result->zero_padding = 0;
    TVM_FFI_CLEAR_PTR_PADDING_IN_FFI_ANY(result);
    result->v_ptr = src;
  }
  TVM_FFI_INLINE static void MoveToAny(TVMFFIByteArray* src, TVMFFIAny* result) {
    TypeTraits<Bytes>::MoveToAny(Bytes(*src), result);
  }
  TVM_FFI_INLINE static std::optional<TVMFFIByteArray*> TryCastFromAnyView(const TVMFFIAny* src) {
    if (src->type_index == TypeIndex::kTVMFFIByteArrayPtr) {
      return static_cast<TVMFFIByteArray*>(src->v_ptr);
    }
    return std::nullopt;
  }
  TVM_FFI_INLINE static std::string TypeStr() { return StaticTypeKey::kTVMFFIByteArrayPtr; }
  TVM_FFI_INLINE static std::string TypeSchema() {
    return detail::SimpleTypeSchema(StaticTypeKey::kTVMFFIByteArrayPtr);
  }
};

template <>
struct TypeTraits<std::string>
    : public FallbackOnlyTraitsBase<std::string, const char*, TVMFFIByteArray*, Bytes, String> {
  TVM_FFI_INLINE static void CopyToAnyView(const std::string& src, TVMFFIAny* result) {
    // A c_str view: embedded NULs are lost, as for every C string argument.
    detail::RawStrTraitsBase::CopyToAnyView(src.c_str(), result);
  }
  TVM_FFI_INLINE static void MoveToAny(std::string src, TVMFFIAny* result) {
    TypeTraits<String>::MoveToAny(String(std::move(src)), result);
  }
  TVM_FFI_INLINE static std::string TypeStr() { return "std::string"; }
  TVM_FFI_INLINE static std::string TypeSchema() { return detail::SimpleTypeSchema("std::string"); }
  TVM_FFI_INLINE static std::string ConvertFallbackValue(const char* src) { return src; }
  TVM_FFI_INLINE static std::string ConvertFallbackValue(TVMFFIByteArray* src) {
    return std::string(src->data, src->size);
  }
  TVM_FFI_INLINE static std::string ConvertFallbackValue(Bytes src) { return src; }
  TVM_FFI_INLINE static std::string ConvertFallbackValue(String src) { return src; }
};

}  // namespace ffi
}  // namespace tvm

template <>
struct std::hash<::tvm::ffi::Bytes> {
  std::size_t operator()(const ::tvm::ffi::Bytes& bytes) const {
    return std::hash<std::string_view>()(std::string_view(bytes.data(), bytes.size()));
  }
};

template <>
struct std::hash<::tvm::ffi::String> {
  std::size_t operator()(const ::tvm::ffi::String& str) const {
    return std::hash<std::string_view>()(str.view());
  }
};

#endif  // TVM_FFI_STRING_H_
