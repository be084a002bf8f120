// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file logging.h
/// Log macros (LOG, DLOG, VLOG), their environment variable TVM_LOG_DEBUG, and the short
/// spellings of the check macros of tvm/ffi/error.h.
#ifndef TVM_RUNTIME_LOGGING_H_
#define TVM_RUNTIME_LOGGING_H_

#include <tvm/ffi/error.h>
#include <tvm/runtime/base.h>

#include <sstream>
#include <string>
#include <string_view>
#include <unordered_map>

// ---- checks: ICHECK* and CHECK* raise InternalError ------------------------------------------
#ifndef ICHECK
#define ICHECK(x) TVM_FFI_ICHECK(x)
#define ICHECK_EQ(x, y) TVM_FFI_ICHECK_EQ(x, y)
#define ICHECK_NE(x, y) TVM_FFI_ICHECK_NE(x, y)
#define ICHECK_LT(x, y) TVM_FFI_ICHECK_LT(x, y)
#define ICHECK_GT(x, y) TVM_FFI_ICHECK_GT(x, y)
#define ICHECK_LE(x, y) TVM_FFI_ICHECK_LE(x, y)
#define ICHECK_GE(x, y) TVM_FFI_ICHECK_GE(x, y)
#define ICHECK_NOTNULL(x) TVM_FFI_ICHECK_NOTNULL(x)
#endif
#ifndef CHECK
#define CHECK(x) TVM_FFI_ICHECK(x)
#define CHECK_EQ(x, y) TVM_FFI_ICHECK_EQ(x, y)
#define CHECK_NE(x, y) TVM_FFI_ICHECK_NE(x, y)
#define CHECK_LT(x, y) TVM_FFI_ICHECK_LT(x, y)
#define CHECK_GT(x, y) TVM_FFI_ICHECK_GT(x, y)
#define CHECK_LE(x, y) TVM_FFI_ICHECK_LE(x, y)
#define CHECK_GE(x, y) TVM_FFI_ICHECK_GE(x, y)
#define CHECK_NOTNULL(x) TVM_FFI_ICHECK_NOTNULL(x)
#endif
#ifndef DCHECK
#if TVM_LOG_DEBUG
#define DCHECK(x) TVM_FFI_ICHECK(x)
#define DCHECK_EQ(x, y) TVM_FFI_ICHECK_EQ(x, y)
#define DCHECK_NE(x, y) TVM_FFI_ICHECK_NE(x, y)
#define DCHECK_LT(x, y) TVM_FFI_ICHECK_LT(x, y)
#define DCHECK_GT(x, y) TVM_FFI_ICHECK_GT(x, y)
#define DCHECK_LE(x, y) TVM_FFI_ICHECK_LE(x, y)
#define DCHECK_GE(x, y) TVM_FFI_ICHECK_GE(x, y)
#else
#define DCHECK(x) \
  while (false) TVM_FFI_ICHECK(x)
#define DCHECK_EQ(x, y) \
  while (false) TVM_FFI_ICHECK_EQ(x, y)
#define DCHECK_NE(x, y) \
  while (false) TVM_FFI_ICHECK_NE(x, y)
#define DCHECK_LT(x, y) \
  while (false) TVM_FFI_ICHECK_LT(x, y)
#define DCHECK_GT(x, y) \
  while (false) TVM_FFI_ICHECK_GT(x, y)
#define DCHECK_LE(x, y) \
  while (false) TVM_FFI_ICHECK_LE(x, y)
#define DCHECK_GE(x, y) \
  while (false) TVM_FFI_ICHECK_GE(x, y)
#endif
#endif

/// Raises an error with exactly the streamed message, without the text of the condition: for errors
/// that the user is to read.
#define TVM_REQUIRE(cond, ErrorKind)   \
  if (__builtin_expect(!!(cond), 1)) { \
  } else /* NOLINT(*) */               \
    TVM_FFI_THROW(ErrorKind)

// ---- logs ------------------------------------------------------------------------------------
#define TVM_LOG_LEVEL_DEBUG 0
#define TVM_LOG_LEVEL_INFO 1
#define TVM_LOG_LEVEL_WARNING 2
#define TVM_LOG_LEVEL_ERROR 3
#define TVM_LOG_LEVEL_FATAL 4

#define LOG_DEBUG \
  ::tvm::runtime::detail::LogMessage(__FILE__, __LINE__, TVM_LOG_LEVEL_DEBUG).stream()
#define LOG_INFO ::tvm::runtime::detail::LogMessage(__FILE__, __LINE__, TVM_LOG_LEVEL_INFO).stream()
#define LOG_WARNING \
  ::tvm::runtime::detail::LogMessage(__FILE__, __LINE__, TVM_LOG_LEVEL_WARNING).stream()
#define LOG_ERROR \
  ::tvm::runtime::detail::LogMessage(__FILE__, __LINE__, TVM_LOG_LEVEL_ERROR).stream()
#define LOG_FATAL ::tvm::runtime::detail::LogFatal(__FILE__, __LINE__).stream()
#if TVM_LOG_DEBUG
#define LOG_DFATAL LOG_FATAL
#else
#define LOG_DFATAL LOG_ERROR
#endif

#define LOG(level) LOG_##level
#define LOG_IF(level, condition) \
  !(condition) ? (void)0 : ::tvm::runtime::detail::LogVoidify() & LOG(level)

#if TVM_LOG_DEBUG
#define TVM_LOG_DLOG_ENABLED ::tvm::runtime::detail::DebugLoggingEnabled()
#define TVM_LOG_VLOG_ENABLED(level) ::tvm::runtime::detail::VerboseLoggingEnabled(__FILE__, level)
#define TVM_LOG_CONCAT_(a, b) a##b
#define TVM_LOG_CONCAT(a, b) TVM_LOG_CONCAT_(a, b)
#define VLOG_CONTEXT                                                                      \
  ::tvm::runtime::detail::ThreadLocalVLogContext TVM_LOG_CONCAT(vlog_context_, __LINE__); \
  TVM_LOG_CONCAT(vlog_context_, __LINE__).stream()
#else
#define TVM_LOG_DLOG_ENABLED false
#define TVM_LOG_VLOG_ENABLED(level) false
#define VLOG_CONTEXT \
  while (false) std::ostringstream()
#endif

#define DLOG(level) LOG_IF(level, TVM_LOG_DLOG_ENABLED)
#define DLOG_IF(level, condition) LOG_IF(level, TVM_LOG_DLOG_ENABLED && (condition))
/// Logs if TVM_LOG_DEBUG gives this file, or DEFAULT, at least this level.
#define VLOG(level)                                                                           \
  !TVM_LOG_VLOG_ENABLED(level)                                                                \
      ? (void)0                                                                               \
      : ::tvm::runtime::detail::LogVoidify() &                                                \
            ::tvm::runtime::detail::LogMessage(__FILE__, __LINE__, TVM_LOG_LEVEL_DEBUG, true) \
                .stream()

namespace tvm {
namespace runtime {
namespace detail {

/// Called for LOG(FATAL). With TVM_LOG_CUSTOMIZE the application defines both functions.
[[noreturn]] TVM_RUNTIME_DLL void LogFatalImpl(const std::string& file, int line,
                                               const std::string& message);
TVM_RUNTIME_DLL void LogMessageImpl(const std::string& file, int line, int level,
                                    const std::string& message);
/// Prefix made of the calling thread's VLOG_CONTEXT entries.
TVM_RUNTIME_DLL std::string VLogContextPrefix();
TVM_RUNTIME_DLL void PushVLogContext(std::ostringstream* stream);
TVM_RUNTIME_DLL void PopVLogContext();

class LogFatal {
 public:
  LogFatal(const char* file, int line) : file_(file), line_(line) {}
#ifdef _MSC_VER
#pragma warning(disable : 4722)
#endif
  [[noreturn]] ~LogFatal() noexcept(false) { LogFatalImpl(file_, line_, stream_.str()); }
  std::ostringstream& stream() { return stream_; }

 private:
  const char* file_;
  int line_;
  std::ostringstream stream_;
};

class LogMessage {
 public:
  LogMessage(const char* file, int line, int level, bool verbose = false)
      : file_(file), line_(line), level_(level) {
    if (verbose) stream_ << VLogContextPrefix();
  }
  ~LogMessage() { LogMessageImpl(file_, line_, level_, stream_.str()); }
  std::ostringstream& stream() { return stream_; }

 private:
  const char* file_;
  int line_;
  int level_;
  std::ostringstream stream_;
};

/// Turns a streamed expression into void, for the conditional macros.
class LogVoidify {
 public:
  void operator&(std::ostream&) {}  // NOLINT(*)
};

/// One entry of the thread's stack of VLOG contexts.
class ThreadLocalVLogContext {
 public:
  ThreadLocalVLogContext() { PushVLogContext(&stream_); }
  ~ThreadLocalVLogContext() { PopVLogContext(); }
  ThreadLocalVLogContext(const ThreadLocalVLogContext&) = delete;
  ThreadLocalVLogContext& operator=(const ThreadLocalVLogContext&) = delete;
  std::ostringstream& stream() { return stream_; }

 private:
  std::ostringstream stream_;
};

/// Parsed value of TVM_LOG_DEBUG.
class TvmLogDebugSettings {
 public:
  /// Raises InternalError if the specification is not well formed; null means off.
  TVM_RUNTIME_DLL static TvmLogDebugSettings ParseSpec(const char* spec);
  /// The settings of the environment, read once.
  TVM_RUNTIME_DLL static const TvmLogDebugSettings& FromEnv();

  bool dlog_enabled() const { return dlog_enabled_; }
  TVM_RUNTIME_DLL bool VerboseEnabledImpl(std::string_view filename, int level) const;
  bool VerboseEnabled(std::string_view filename, int level) const {
    return dlog_enabled_ && !levels_.empty() && VerboseEnabledImpl(filename, level);
  }

 private:
  bool dlog_enabled_ = false;
  std::unordered_map<std::string, int> levels_;
};

inline bool DebugLoggingEnabled() { return TvmLogDebugSettings::FromEnv().dlog_enabled(); }
inline bool VerboseLoggingEnabled(const char* file, int level) {
  return TvmLogDebugSettings::FromEnv().VerboseEnabled(file, level);
}

}  // namespace detail
}  // namespace runtime
}  // namespace tvm

#endif  // TVM_RUNTIME_LOGGING_H_
