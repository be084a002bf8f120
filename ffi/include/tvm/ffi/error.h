// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

/// Errors that cross language borders, and the macros that raise and check.
///
/// C++ code throws `Error`; at a C boundary it is parked in a thread-local slot and the call
/// returns -1 (TVM_FFI_SAFE_CALL_BEGIN/END), the caller rethrows (TVM_FFI_CHECK_SAFE_CALL).
#ifndef TVM_FFI_ERROR_H_
#define TVM_FFI_ERROR_H_

#include <tvm/ffi/base_detail.h>
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/object.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <ostream>
#include <streambuf>
#include <string>
#include <string_view>
#include <utility>

/// When 1, every TVM_FFI_THROW also prints; for hosts that lose exceptions.
#ifndef TVM_FFI_ALWAYS_LOG_BEFORE_THROW
#define TVM_FFI_ALWAYS_LOG_BEFORE_THROW 0
#endif

namespace tvm {
namespace ffi {

class ErrorObj : public Object, public TVMFFIErrorCell {
 public:
  ErrorObj() : TVMFFIErrorCell{} {}
  ~ErrorObj() noexcept {
    detail::ObjectUnsafe::DecRefObjectHandle(cause_chain);
    detail::ObjectUnsafe::DecRefObjectHandle(extra_context);
  }

  static constexpr int32_t _type_index = TypeIndex::kTVMFFIError;
  TVM_FFI_DECLARE_OBJECT_INFO_STATIC(StaticTypeKey::kTVMFFIError, ErrorObj, Object);
};

/// Exception and object in one. `kind` is the name of a Python exception class.
class TVM_FFI_DLL_EXPORT Error : public ObjectRef, public std::exception {
 public:
  Error(std::string kind, std::string message, std::string backtrace)
      : Error(kind, message, backtrace, std::nullopt, std::nullopt) {}
  Error(std::string kind, std::string message, const TVMFFIByteArray* backtrace)
      : Error(kind, message, std::string_view(backtrace->data, backtrace->size), nullptr, nullptr) {
  }
  /// `cause_chain` is the error that led to this one; `extra_context` is free for the thrower.
  Error(std::string kind, std::string message, std::string backtrace,
        std::optional<Error> cause_chain, std::optional<ObjectRef> extra_context)
      : Error(kind, message, backtrace, Release(std::move(cause_chain)),
              Release(std::move(extra_context))) {}

  std::string kind() const { return ToString(get()->kind); }
  std::string message() const { return ToString(get()->message); }
  std::optional<Error> cause_chain() const {
    if (get()->cause_chain == nullptr) return std::nullopt;
    return FromHandle<Error>(get()->cause_chain);
  }
  std::optional<ObjectRef> extra_context() const {
    if (get()->extra_context == nullptr) return std::nullopt;
    return FromHandle<ObjectRef>(get()->extra_context);
  }
  /// Frames, most recent call first.
  std::string backtrace() const { return ToString(get()->backtrace); }
  /// Frames in Python's order.
  std::string TracebackMostRecentCallLast() const {
    std::string_view rest(get()->backtrace.data, get()->backtrace.size);
    std::string reversed;
    reversed.reserve(rest.size() + 1);
    while (!rest.empty()) {
      if (rest.back() == '\n') rest.remove_suffix(1);
      const size_t cut = rest.rfind('\n');
      const size_t begin = cut == std::string_view::npos ? 0 : cut + 1;
      reversed.append(rest.substr(begin)).push_back('\n');
      rest = rest.substr(0, begin);
    }
    return reversed;
  }
  /// `update_mode` is a TVMFFIBacktraceUpdateMode. Changes the shared object.
  void UpdateBacktrace(const TVMFFIByteArray* backtrace_str, int32_t update_mode) {
    auto* node = static_cast<ErrorObj*>(get_mutable());
    node->update_backtrace(detail::ObjectUnsafe::GetHeader(node), backtrace_str, update_mode);
  }
  /// Traceback, kind and message, as Python prints an uncaught exception.
  std::string FullMessage() const {
    std::string text = "Traceback (most recent call last):\n";
    text.append(TracebackMostRecentCallLast());
    text.append(get()->kind.data, get()->kind.size).append(": ");
    text.append(get()->message.data, get()->message.size).push_back('\n');
    return text;
  }
  const char* what() const noexcept(true) override { return get()->message.data; }

  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(Error, ObjectRef, ErrorObj);

 private:
  Error(std::string_view kind, std::string_view message, std::string_view backtrace,
        TVMFFIObjectHandle cause, TVMFFIObjectHandle context)
      : ObjectRef(UnsafeInit{}) {
    TVMFFIByteArray parts[3] = {{kind.data(), kind.size()},
                                {message.data(), message.size()},
                                {backtrace.data(), backtrace.size()}};
    TVMFFIObjectHandle handle = nullptr;
    const int status = TVMFFIErrorCreateWithCauseAndExtraContext(&parts[0], &parts[1], &parts[2],
                                                                 cause, context, &handle);
    // The callee holds its own references now.
    detail::ObjectUnsafe::DecRefObjectHandle(cause);
    detail::ObjectUnsafe::DecRefObjectHandle(context);
    if (status != 0) std::terminate();  // out of memory while reporting an error
    data_ = detail::ObjectUnsafe::ObjectPtrFromOwned<Object>(static_cast<TVMFFIObject*>(handle));
  }

  template <typename RefType>
  static TVMFFIObjectHandle Release(std::optional<RefType>&& ref) {
    if (!ref.has_value()) return nullptr;
    return detail::ObjectUnsafe::MoveObjectRefToTVMFFIObjectPtr(*std::move(ref));
  }
  template <typename RefType>
  static RefType FromHandle(TVMFFIObjectHandle handle) {
    return detail::ObjectUnsafe::ObjectRefFromObjectPtr<RefType>(
        detail::ObjectUnsafe::ObjectPtrFromUnowned<Object>(static_cast<TVMFFIObject*>(handle)));
  }
  static std::string ToString(const TVMFFIByteArray& bytes) {
    return std::string(bytes.data, bytes.size);
  }
};

/// Thrown to say: the host language already holds the real error; pass control back to it.
inline Error EnvErrorAlreadySet() { return Error("EnvErrorAlreadySet", "", ""); }

namespace detail {

/// Takes the error a failed C call left behind.
inline Error MoveFromSafeCallRaised() {
  TVMFFIObjectHandle handle = nullptr;
  TVMFFIErrorMoveFromRaised(&handle);
  if (handle == nullptr) {
    return Error("InternalError", "a C call failed without setting an error", "");
  }
  return ObjectUnsafe::ObjectRefFromObjectPtr<Error>(
      ObjectUnsafe::ObjectPtrFromOwned<Object>(static_cast<TVMFFIObject*>(handle)));
}

inline void SetSafeCallRaised(const Error& error) {
  TVMFFIErrorSetRaised(ObjectUnsafe::TVMFFIObjectPtrFromObjectRef(error));
}

TVM_FFI_COLD_CODE TVM_FFI_NO_INLINE inline int SetSafeCallRaisedFromError(
    const Error& error) noexcept {
  SetSafeCallRaised(error);
  return -1;
}

/// Turns the exception in flight into the raised error; for use in a catch-all handler.
TVM_FFI_COLD_CODE TVM_FFI_NO_INLINE inline int SetSafeCallRaisedFromCurrentException() noexcept {
  try {
    throw;
  } catch (const Error& error) {
    SetSafeCallRaised(error);
  } catch (const std::exception& error) {
    TVMFFIErrorSetRaisedFromCStr("InternalError", error.what());
  } catch (...) {
    TVMFFIErrorSetRaisedFromCStr("InternalError", "unknown C++ exception");
  }
  return -1;
}

[[noreturn]] TVM_FFI_COLD_CODE TVM_FFI_NO_INLINE inline void ThrowSafeCallError(int status) {
  if (status == -2) throw EnvErrorAlreadySet();
  throw MoveFromSafeCallRaised();
}

/// Output stream into a string; lighter than <sstream>.
class StringStream : private std::streambuf, public std::ostream {
 public:
  StringStream() : std::ostream(static_cast<std::streambuf*>(this)) {}
  const std::string& str() const { return text_; }
  std::string TakeString() { return std::move(text_); }

 protected:
  std::streambuf::int_type overflow(std::streambuf::int_type c) override {
    if (!std::char_traits<char>::eq_int_type(c, std::char_traits<char>::eof())) {
      text_.push_back(std::char_traits<char>::to_char_type(c));
    }
    return std::char_traits<char>::not_eof(c);
  }
  std::streamsize xsputn(const char* data, std::streamsize count) override {
    text_.append(data, static_cast<size_t>(count));
    return count;
  }

 private:
  std::string text_;
};

TVM_FFI_COLD_CODE inline void PrintError(const Error& error) {
  const std::string text = error.FullMessage();
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

/// Collects a message and throws when the full expression ends.
class ErrorBuilder {
 public:
  ErrorBuilder(std::string kind, std::string backtrace, bool log_before_throw)
      : kind_(std::move(kind)),
        backtrace_(std::move(backtrace)),
        log_before_throw_(log_before_throw) {}
  ErrorBuilder(std::string kind, const TVMFFIByteArray* backtrace, bool log_before_throw)
      : ErrorBuilder(std::move(kind), std::string(backtrace->data, backtrace->size),
                     log_before_throw) {}
  ErrorBuilder(std::string kind, const TVMFFIByteArray* backtrace, bool log_before_throw,
               std::optional<Error> cause_chain, std::optional<ObjectRef> extra_context)
      : ErrorBuilder(std::move(kind), backtrace, log_before_throw) {
    cause_chain_ = std::move(cause_chain);
    extra_context_ = std::move(extra_context);
  }
  /// Records the caller's frames.
  TVM_FFI_COLD_CODE TVM_FFI_NO_INLINE ErrorBuilder(const char* kind, const char* file, int line,
                                                   const char* function, bool log_before_throw)
      : ErrorBuilder(std::string(kind), TVMFFIBacktrace(file, line, function, 0),
                     log_before_throw) {}

  [[noreturn]] TVM_FFI_COLD_CODE TVM_FFI_NO_INLINE ~ErrorBuilder() noexcept(false) {
    throw MakeError();
  }

  std::ostream& stream() { return stream_; }

 protected:
  /// The error is made in place as the exception, so that unwinding has nothing to clean up here.
  TVM_FFI_COLD_CODE TVM_FFI_NO_INLINE Error MakeError() {
    Error error(std::move(kind_), stream_.TakeString(), std::move(backtrace_),
                std::move(cause_chain_), std::move(extra_context_));
    if (log_before_throw_) PrintError(error);
    return error;
  }

  std::string kind_;
  StringStream stream_;
  std::string backtrace_;
  bool log_before_throw_;
  std::optional<Error> cause_chain_;
  std::optional<ObjectRef> extra_context_;
};

template <typename T, typename = void>
inline constexpr bool is_streamable_v = false;
template <typename T>
inline constexpr bool is_streamable_v<
    T, std::void_t<decltype(std::declval<std::ostream&>() << std::declval<const T&>())>> = true;

/// Prints an operand of a failed check; values without operator<< show as their number or `?`.
template <typename T>
void PrintCheckOperand(std::ostream& os, const T& value) {
  if constexpr (std::is_same_v<T, std::nullptr_t>) {
    os << "nullptr";
  } else if constexpr (is_streamable_v<T>) {
    os << value;
  } else if constexpr (std::is_enum_v<T>) {
    os << static_cast<int64_t>(value);
  } else {
    os << '?';
  }
}

/// ` (a vs. b) `, the operands of a failed comparison.
template <typename X, typename Y>
TVM_FFI_COLD_CODE TVM_FFI_NO_INLINE std::string LogCheckFormat(const X& x, const Y& y) {
  StringStream os;
  os << " (";
  PrintCheckOperand(os, x);
  os << " vs. ";
  PrintCheckOperand(os, y);
  os << ") ";
  return os.TakeString();
}

#define TVM_FFI_CHECK_FUNC(name, op)                                                 \
  template <typename X, typename Y>                                                  \
  TVM_FFI_INLINE std::optional<std::string> LogCheck##name(const X& x, const Y& y) { \
    if (TVM_FFI_PREDICT_TRUE(x op y)) return std::nullopt;                           \
    return LogCheckFormat(x, y);                                                     \
  }                                                                                  \
  TVM_FFI_INLINE std::optional<std::string> LogCheck##name(int x, int y) {           \
    return LogCheck##name<int, int>(x, y);                                           \
  }

#if defined(__GNUC__) || defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-compare"
#endif
TVM_FFI_CHECK_FUNC(_LT, <)
TVM_FFI_CHECK_FUNC(_GT, >)
TVM_FFI_CHECK_FUNC(_LE, <=)
TVM_FFI_CHECK_FUNC(_GE, >=)
TVM_FFI_CHECK_FUNC(_EQ, ==)
TVM_FFI_CHECK_FUNC(_NE, !=)
#if defined(__GNUC__) || defined(__clang__)
#pragma GCC diagnostic pop
#endif

/// An lvalue comes back as itself, a temporary by value.
template <typename T>
TVM_FFI_INLINE T CheckNotNull(T&& value, const char* kind, const char* text, const char* file,
                              int line, const char* function, bool log_before_throw) {
  if (TVM_FFI_PREDICT_FALSE(value == nullptr)) {
    ErrorBuilder(kind, file, line, function, log_before_throw).stream()
        << "Check not null: " << text << ' ';
  }
  return std::forward<T>(value);
}

}  // namespace detail
}  // namespace ffi
}  // namespace tvm

/// Wraps the body of a C function so that no exception leaves it.
#define TVM_FFI_SAFE_CALL_BEGIN() \
  try {                           \
  (void)0
#define TVM_FFI_SAFE_CALL_END()                                         \
  return 0;                                                             \
  }                                                                     \
  catch (const ::tvm::ffi::Error& error) {                              \
    return ::tvm::ffi::detail::SetSafeCallRaisedFromError(error);       \
  }                                                                     \
  catch (...) {                                                         \
    return ::tvm::ffi::detail::SetSafeCallRaisedFromCurrentException(); \
  }                                                                     \
  TVM_FFI_UNREACHABLE()

/// Rethrows the error behind a failed C call.
#define TVM_FFI_CHECK_SAFE_CALL(func)                           \
  {                                                             \
    const int ffi_call_status_ = (func);                        \
    if (TVM_FFI_PREDICT_FALSE(ffi_call_status_ != 0)) {         \
      ::tvm::ffi::detail::ThrowSafeCallError(ffi_call_status_); \
    }                                                           \
  }

/// For initialisers without a caller to catch: print and end the process.
#define TVM_FFI_LOG_EXCEPTION_CALL_BEGIN() \
  try {                                    \
  (void)0
#define TVM_FFI_LOG_EXCEPTION_CALL_END(Name)                                      \
  }                                                                               \
  catch (const std::exception& err) {                                             \
    std::fprintf(stderr, "Exception caught during %s:\n%s\n", #Name, err.what()); \
    std::exit(-1);                                                                \
  }

/// `TVM_FFI_THROW(ValueError) << "text" << value;`
#define TVM_FFI_THROW(ErrorKind)                                                     \
  ::tvm::ffi::detail::ErrorBuilder(#ErrorKind, __FILE__, __LINE__, TVM_FFI_FUNC_SIG, \
                                   TVM_FFI_ALWAYS_LOG_BEFORE_THROW)                  \
      .stream()
/// Also prints, for places where the exception may never reach a handler.
#define TVM_FFI_LOG_AND_THROW(ErrorKind) \
  ::tvm::ffi::detail::ErrorBuilder(#ErrorKind, __FILE__, __LINE__, TVM_FFI_FUNC_SIG, true).stream()

/// `TVM_FFI_CHECK(size > 0, ValueError) << "text";` A loop that ends by the exception: with `if`,
/// an `else` after the check would belong to the check.
#define TVM_FFI_CHECK(cond, ErrorKind)   \
  while (TVM_FFI_PREDICT_FALSE(!(cond))) \
  TVM_FFI_THROW(ErrorKind) << "Check failed: (" #cond << ") is false: "

#define TVM_FFI_CHECK_BINARY_OP(name, op, x, y, ErrorKind)                \
  while (auto ffi_check_text_ = ::tvm::ffi::detail::LogCheck##name(x, y)) \
  TVM_FFI_THROW(ErrorKind) << "Check failed: " << #x " " #op " " #y << *ffi_check_text_ << ": "

#define TVM_FFI_CHECK_LT(x, y, ErrorKind) TVM_FFI_CHECK_BINARY_OP(_LT, <, x, y, ErrorKind)
#define TVM_FFI_CHECK_GT(x, y, ErrorKind) TVM_FFI_CHECK_BINARY_OP(_GT, >, x, y, ErrorKind)
#define TVM_FFI_CHECK_LE(x, y, ErrorKind) TVM_FFI_CHECK_BINARY_OP(_LE, <=, x, y, ErrorKind)
#define TVM_FFI_CHECK_GE(x, y, ErrorKind) TVM_FFI_CHECK_BINARY_OP(_GE, >=, x, y, ErrorKind)
#define TVM_FFI_CHECK_EQ(x, y, ErrorKind) TVM_FFI_CHECK_BINARY_OP(_EQ, ==, x, y, ErrorKind)
#define TVM_FFI_CHECK_NE(x, y, ErrorKind) TVM_FFI_CHECK_BINARY_OP(_NE, !=, x, y, ErrorKind)
/// Yields `x`, which is evaluated once.
#define TVM_FFI_CHECK_NOTNULL(x, ErrorKind)                                                   \
  ::tvm::ffi::detail::CheckNotNull((x), #ErrorKind, #x, __FILE__, __LINE__, TVM_FFI_FUNC_SIG, \
                                   TVM_FFI_ALWAYS_LOG_BEFORE_THROW)

#define TVM_FFI_ICHECK(x) TVM_FFI_CHECK(x, InternalError)
#define TVM_FFI_ICHECK_LT(x, y) TVM_FFI_CHECK_LT(x, y, InternalError)
#define TVM_FFI_ICHECK_GT(x, y) TVM_FFI_CHECK_GT(x, y, InternalError)
#define TVM_FFI_ICHECK_LE(x, y) TVM_FFI_CHECK_LE(x, y, InternalError)
#define TVM_FFI_ICHECK_GE(x, y) TVM_FFI_CHECK_GE(x, y, InternalError)
#define TVM_FFI_ICHECK_EQ(x, y) TVM_FFI_CHECK_EQ(x, y, InternalError)
#define TVM_FFI_ICHECK_NE(x, y) TVM_FFI_CHECK_NE(x, y, InternalError)
#define TVM_FFI_ICHECK_NOTNULL(x) TVM_FFI_CHECK_NOTNULL(x, InternalError)

/// Debug builds only; the expressions still have to compile.
#ifndef NDEBUG
#define TVM_FFI_DCHECK(x) TVM_FFI_ICHECK(x)
#define TVM_FFI_DCHECK_LT(x, y) TVM_FFI_ICHECK_LT(x, y)
#define TVM_FFI_DCHECK_GT(x, y) TVM_FFI_ICHECK_GT(x, y)
#define TVM_FFI_DCHECK_LE(x, y) TVM_FFI_ICHECK_LE(x, y)
#define TVM_FFI_DCHECK_GE(x, y) TVM_FFI_ICHECK_GE(x, y)
#define TVM_FFI_DCHECK_EQ(x, y) TVM_FFI_ICHECK_EQ(x, y)
#define TVM_FFI_DCHECK_NE(x, y) TVM_FFI_ICHECK_NE(x, y)
#define TVM_FFI_DCHECK_NOTNULL(x) TVM_FFI_ICHECK_NOTNULL(x)
#else
#define TVM_FFI_DCHECK(x) \
  while (false) TVM_FFI_ICHECK(x)
#define TVM_FFI_DCHECK_LT(x, y) \
  while (false) TVM_FFI_ICHECK_LT(x, y)
#define TVM_FFI_DCHECK_GT(x, y) \
  while (false) TVM_FFI_ICHECK_GT(x, y)
#define TVM_FFI_DCHECK_LE(x, y) \
  while (false) TVM_FFI_ICHECK_LE(x, y)
#define TVM_FFI_DCHECK_GE(x, y) \
  while (false) TVM_FFI_ICHECK_GE(x, y)
#define TVM_FFI_DCHECK_EQ(x, y) \
  while (false) TVM_FFI_ICHECK_EQ(x, y)
#define TVM_FFI_DCHECK_NE(x, y) \
  while (false) TVM_FFI_ICHECK_NE(x, y)
#define TVM_FFI_DCHECK_NOTNULL(x) (x)
#endif

namespace tvm {
namespace ffi {
namespace detail {

[[noreturn]] TVM_FFI_COLD_CODE TVM_FFI_NO_INLINE inline void ThrowNullReferenceTo(
    const char* type_key) {
  TVM_FFI_THROW(TypeError) << "expected an object of type `" << type_key << "`, got None";
  TVM_FFI_UNREACHABLE();
}

template <typename TObject>
[[noreturn]] TVM_FFI_COLD_CODE TVM_FFI_NO_INLINE void ThrowNullReference() {
  ThrowNullReferenceTo(TObject::_type_key);
}

}  // namespace detail
}  // namespace ffi
}  // namespace tvm

#endif  // TVM_FFI_ERROR_H_
