// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

/// `Expected<T>`: a value or an Error, for code that must not throw.
#ifndef TVM_FFI_EXPECTED_H_
#define TVM_FFI_EXPECTED_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/string.h>

#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace tvm {
namespace ffi {

template <typename T>
class Expected;

/// Marks an error on its way into an Expected.
template <typename E = Error>
class Unexpected {
  static_assert(std::is_base_of_v<Error, std::remove_cv_t<E>>, "only errors are unexpected");

 public:
  explicit Unexpected(E error) : error_(std::move(error)) {}
  const E& error() const& noexcept { return error_; }
  E& error() & noexcept { return error_; }
  const E&& error() const&& noexcept { return std::move(error_); }
  E&& error() && noexcept { return std::move(error_); }

 private:
  E error_;
};
template <typename E>
Unexpected(E) -> Unexpected<E>;

template <typename T>
inline constexpr bool is_expected_v = false;
template <typename T>
inline constexpr bool is_expected_v<Expected<T>> = true;
template <typename T>
inline constexpr bool is_unexpected_v = false;
template <typename E>
inline constexpr bool is_unexpected_v<Unexpected<E>> = true;

namespace detail {

struct ExpectedUnsafe;

/// The part that does not depend on the value type: one Any, an Error when failed.
class ExpectedBase {
 public:
  int32_t type_index() const noexcept { return data_.type_index(); }
  bool is_ok() const noexcept { return !is_err(); }
  bool is_err() const noexcept { return data_.as<ErrorObj>() != nullptr; }
  bool has_value() const noexcept { return is_ok(); }

  /// Throws RuntimeError when there is a value instead.
  Error error() const& {
    if (!is_err()) ThrowNoError();
    return AnyUnsafe::CopyFromAnyViewAfterCheck<Error>(data_);
  }
  Error error() && {
    if (!is_err()) ThrowNoError();
    return AnyUnsafe::MoveFromAnyAfterCheck<Error>(std::move(data_));
  }

 protected:
  ExpectedBase() = default;
  explicit ExpectedBase(Any data) : data_(std::move(data)) {}
  void ThrowIfError() const {
    if (TVM_FFI_PREDICT_FALSE(is_err())) throw error();
  }

  Any data_;
  friend struct ExpectedUnsafe;

 private:
  [[noreturn]] TVM_FFI_COLD_CODE TVM_FFI_NO_INLINE static void ThrowNoError() {
    TVM_FFI_THROW(RuntimeError) << "Bad expected access: no error present";
    TVM_FFI_UNREACHABLE();
  }
};

template <typename T, typename U>
inline constexpr bool expected_takes_value_v =
    std::is_convertible_v<U, T> && !std::is_same_v<RemoveCvRef<U>, T> &&
    !is_expected_v<RemoveCvRef<U>> && !is_unexpected_v<RemoveCvRef<U>> &&
    !std::is_base_of_v<Error, RemoveCvRef<U>>;

}  // namespace detail

template <typename T>
class Expected : public detail::ExpectedBase {
  static_assert(!std::is_same_v<T, Error>, "an Error value could not be told from a failure");

 public:
  using value_type = T;
  Expected(T value) : ExpectedBase(Any(std::move(value))) {}  // NOLINT
  template <typename U, typename = std::enable_if_t<detail::expected_takes_value_v<T, U>>>
  Expected(U&& value)  // NOLINT(google-explicit-constructor)
      : ExpectedBase(Any(static_cast<T>(std::forward<U>(value)))) {}
  template <typename U,
            typename = std::enable_if_t<!std::is_same_v<U, T> && std::is_convertible_v<U, T>>,
            int = 0>
  Expected(Expected<U> other)  // NOLINT(google-explicit-constructor)
      : ExpectedBase(other.is_err() ? Any(std::move(other).error())
                                    : Any(static_cast<T>(std::move(other).value()))) {}
  Expected(Error error) : ExpectedBase(Any(std::move(error))) {}  // NOLINT
  template <typename E>
  Expected(Unexpected<E> unexpected)  // NOLINT(google-explicit-constructor)
      : ExpectedBase(Any(Error(std::move(unexpected).error()))) {}

  /// The value; rethrows the error.
  T value() const& {
    ThrowIfError();
    return detail::AnyUnsafe::CopyFromAnyViewAfterCheck<T>(data_);
  }
  T value() && {
    ThrowIfError();
    return detail::AnyUnsafe::MoveFromAnyAfterCheck<T>(std::move(data_));
  }
  template <typename U = std::remove_cv_t<T>>
  T value_or(U&& default_value) const& {
    return is_ok() ? value() : static_cast<T>(std::forward<U>(default_value));
  }
  template <typename U = std::remove_cv_t<T>>
  T value_or(U&& default_value) && {
    return is_ok() ? std::move(*this).value() : static_cast<T>(std::forward<U>(default_value));
  }
  /// Narrows the value to U; a TypeError result when it is something else.
  template <typename U, typename = std::enable_if_t<detail::storage_enabled_v<U>>>
  Expected<U> as_or_error() const& {
    return Expected<T>(*this).template Narrow<U>();
  }
  template <typename U, typename = std::enable_if_t<detail::storage_enabled_v<U>>>
  Expected<U> as_or_error() && {
    return Narrow<U>();
  }

 private:
  explicit Expected(Any data, UnsafeInit) : ExpectedBase(std::move(data)) {}

  template <typename U>
  Expected<U> Narrow();

  friend struct detail::ExpectedUnsafe;
};

template <>
class Expected<void> : public detail::ExpectedBase {
 public:
  using value_type = void;
  Expected() = default;
  Expected(Error error) : ExpectedBase(Any(std::move(error))) {}  // NOLINT
  template <typename E>
  Expected(Unexpected<E> unexpected)  // NOLINT(google-explicit-constructor)
      : ExpectedBase(Any(Error(std::move(unexpected).error()))) {}

  /// Rethrows the error, if any.
  void value() const { ThrowIfError(); }

 private:
  explicit Expected(Any data, UnsafeInit) : ExpectedBase(std::move(data)) {}
  friend struct detail::ExpectedUnsafe;
};

static_assert(sizeof(Expected<int>) == sizeof(TVMFFIAny), "Expected is an Any");

namespace detail {

/// `  File "f", line n, in fn`.
TVM_FFI_COLD_CODE inline std::string FormatFrame(const char* file, int line, const char* function) {
  return std::string("  File \"") + file + "\", line " + std::to_string(line) + ", in " + function +
         "\n";
}

struct ExpectedUnsafe {
  template <typename T>
  static Expected<T> MoveFromTVMFFIAny(TVMFFIAny raw) {
    return Expected<T>(AnyUnsafe::MoveTVMFFIAnyRawToAny(raw), UnsafeInit{});
  }
  template <typename T>
  static TVMFFIAny MoveToTVMFFIAny(Expected<T>&& result) {
    return AnyUnsafe::MoveAnyToTVMFFIAny(std::move(result.data_));
  }
  template <typename T>
  static Any&& GetData(Expected<T>& result) noexcept {
    return std::move(result.data_);
  }
  template <typename T>
  static const Any& GetData(const Expected<T>& result) noexcept {
    return result.data_;
  }
  /// The caller vouches for a value of type T.
  template <typename T, typename U>
  static T ValueAs(const Expected<U>& result) {
    return AnyUnsafe::CopyFromAnyViewAfterCheck<T>(result.data_);
  }
  template <typename T>
  static Expected<T> FromAny(Any data) {
    return Expected<T>(std::move(data), UnsafeInit{});
  }
};

/// Collects a message and becomes a failed Expected of any type.
class UnexpectedBuilder {
 public:
  UnexpectedBuilder(const char* kind, const char* file, int line, const char* function)
      : kind_(kind), backtrace_(FormatFrame(file, line, function)) {}

  template <typename T>
  UnexpectedBuilder&& operator<<(T&& value) && {
    stream_ << std::forward<T>(value);
    return std::move(*this);
  }
  UnexpectedBuilder&& operator<<(std::ostream& (*manipulator)(std::ostream&)) && {
    stream_ << manipulator;
    return std::move(*this);
  }
  operator Unexpected<Error>() && {  // NOLINT(google-explicit-constructor)
    return Unexpected<Error>(Finish());
  }
  template <typename T>
  operator Expected<T>() && {  // NOLINT(google-explicit-constructor)
    return Expected<T>(Finish());
  }

 private:
  Error Finish() { return Error(kind_, stream_.TakeString(), backtrace_); }

  const char* kind_;
  std::string backtrace_;
  StringStream stream_;
};

}  // namespace detail

template <typename T>
template <typename U>
Expected<U> Expected<T>::Narrow() {
  if (is_err() || detail::AnyUnsafe::CheckAnyStrict<U>(data_)) {
    return detail::ExpectedUnsafe::FromAny<U>(std::move(data_));
  }
  return Error("TypeError",
               "Cannot treat type `" + detail::AnyUnsafe::GetMismatchTypeInfo<U>(data_) +
                   "` as type `" + detail::Type2Str<U>::v() + "`",
               detail::FormatFrame(__FILE__, __LINE__, TVM_FFI_FUNC_SIG));
}

template <typename T>
inline constexpr bool use_default_type_traits_v<Expected<T>> = false;

template <typename T>
struct TypeTraits<Expected<T>> : public TypeTraitsBase {
  TVM_FFI_INLINE static void CopyToAnyView(const Expected<T>& src, TVMFFIAny* result) {
    *result = AnyView(detail::ExpectedUnsafe::GetData(src)).CopyToTVMFFIAny();
  }
  TVM_FFI_INLINE static void MoveToAny(Expected<T> src, TVMFFIAny* result) {
    *result = detail::ExpectedUnsafe::MoveToTVMFFIAny(std::move(src));
  }
  TVM_FFI_INLINE static bool CheckAnyStrict(const TVMFFIAny* src) {
    return IsError(src) || CheckValue(src);
  }
  TVM_FFI_INLINE static Expected<T> CopyFromAnyViewAfterCheck(const TVMFFIAny* src) {
    return detail::ExpectedUnsafe::FromAny<T>(Any(AnyView::CopyFromTVMFFIAny(*src)));
  }
  TVM_FFI_INLINE static Expected<T> MoveFromAnyAfterCheck(TVMFFIAny* src) {
    return detail::ExpectedUnsafe::FromAny<T>(detail::AnyUnsafe::MoveTVMFFIAnyToAny(src));
  }
  TVM_FFI_INLINE static std::optional<Expected<T>> TryCastFromAnyView(const TVMFFIAny* src) {
    if (CheckAnyStrict(src)) return CopyFromAnyViewAfterCheck(src);
    if constexpr (!std::is_void_v<T> && !std::is_same_v<T, Any>) {
      if (std::optional<T> value = TypeTraits<T>::TryCastFromAnyView(src)) {
        return Expected<T>(*std::move(value));
      }
    }
    return std::nullopt;
  }
  TVM_FFI_INLINE static std::string TypeStr() {
    return "Expected<" + detail::Type2Str<T>::v() + ">";
  }
  TVM_FFI_INLINE static std::string TypeSchema() {
    return detail::CompoundTypeSchema<T, Error>("Expected");
  }

 private:
  static bool IsError(const TVMFFIAny* src) {
    return detail::AsObjectPtr<ErrorObj>(src) != nullptr;
  }
  static bool CheckValue(const TVMFFIAny* src) {
    if constexpr (std::is_void_v<T>) {
      return src->type_index == TypeIndex::kTVMFFINone;
    } else if constexpr (std::is_same_v<T, Any>) {
      return true;
    } else {
      return TypeTraits<T>::CheckAnyStrict(src);
    }
  }
};

}  // namespace ffi
}  // namespace tvm

/// `return TVM_FFI_UNEXPECTED(ValueError) << "text";` in a function that returns an Expected.
#define TVM_FFI_UNEXPECTED(ErrorKind) \
  ::tvm::ffi::detail::UnexpectedBuilder(#ErrorKind, __FILE__, __LINE__, TVM_FFI_FUNC_SIG)

#define TVM_FFI_RET_CHECK(cond, ErrorKind) \
  while (TVM_FFI_PREDICT_FALSE(!(cond)))   \
  return TVM_FFI_UNEXPECTED(ErrorKind) << "Check failed: (" #cond << ") is false: "

#define TVM_FFI_RET_CHECK_BINARY_OP(name, op, x, y, ErrorKind)            \
  while (auto ffi_check_text_ = ::tvm::ffi::detail::LogCheck##name(x, y)) \
  return TVM_FFI_UNEXPECTED(ErrorKind)                                    \
         << "Check failed: " << #x " " #op " " #y << *ffi_check_text_ << ": "

#define TVM_FFI_RET_CHECK_LT(x, y, ErrorKind) TVM_FFI_RET_CHECK_BINARY_OP(_LT, <, x, y, ErrorKind)
#define TVM_FFI_RET_CHECK_GT(x, y, ErrorKind) TVM_FFI_RET_CHECK_BINARY_OP(_GT, >, x, y, ErrorKind)
#define TVM_FFI_RET_CHECK_LE(x, y, ErrorKind) TVM_FFI_RET_CHECK_BINARY_OP(_LE, <=, x, y, ErrorKind)
#define TVM_FFI_RET_CHECK_GE(x, y, ErrorKind) TVM_FFI_RET_CHECK_BINARY_OP(_GE, >=, x, y, ErrorKind)
#define TVM_FFI_RET_CHECK_EQ(x, y, ErrorKind) TVM_FFI_RET_CHECK_BINARY_OP(_EQ, ==, x, y, ErrorKind)
#define TVM_FFI_RET_CHECK_NE(x, y, ErrorKind) TVM_FFI_RET_CHECK_BINARY_OP(_NE, !=, x, y, ErrorKind)
#define TVM_FFI_RET_ICHECK(x) TVM_FFI_RET_CHECK(x, InternalError)
#define TVM_FFI_RET_ICHECK_LT(x, y) TVM_FFI_RET_CHECK_LT(x, y, InternalError)
#define TVM_FFI_RET_ICHECK_GT(x, y) TVM_FFI_RET_CHECK_GT(x, y, InternalError)
#define TVM_FFI_RET_ICHECK_LE(x, y) TVM_FFI_RET_CHECK_LE(x, y, InternalError)
#define TVM_FFI_RET_ICHECK_GE(x, y) TVM_FFI_RET_CHECK_GE(x, y, InternalError)
#define TVM_FFI_RET_ICHECK_EQ(x, y) TVM_FFI_RET_CHECK_EQ(x, y, InternalError)
#define TVM_FFI_RET_ICHECK_NE(x, y) TVM_FFI_RET_CHECK_NE(x, y, InternalError)

#endif  // TVM_FFI_EXPECTED_H_
