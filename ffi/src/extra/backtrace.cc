// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Backtraces in the form `  File "f", line n, in fn`, most recent call first.
///
/// Names come from the dynamic symbol table; frames of functions it does not list are left out.
#include <cxxabi.h>
#include <dlfcn.h>
#include <tvm/ffi/c_api.h>
#include <unwind.h>

#include <cerrno>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace tvm {
namespace ffi {
namespace {

int FrameLimit() {
  static const int limit = [] {
    constexpr int kDefault = 512;
    const char* text = std::getenv("TVM_TRACEBACK_LIMIT");
    if (text == nullptr || *text < '0' || *text > '9') return kDefault;
    errno = 0;
    char* end = nullptr;
    const long value = std::strtol(text, &end, 10);
    if (errno != 0 || *end != '\0' || value > std::numeric_limits<int32_t>::max()) return kDefault;
    return static_cast<int>(value);
  }();
  return limit;
}

std::string Demangled(const char* name) {
  int status = 0;
  char* text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  std::string result = status == 0 && text != nullptr ? text : name;
  std::free(text);
  return result;
}

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

/// C entry points through which one language calls another.
bool IsBoundary(std::string_view name) { return name == "TVMFFIFunctionCall"; }

/// Plumbing that says nothing about the failure.
bool IsNoise(std::string_view name) {
  return StartsWith(name, "TVMFFI") || StartsWith(name, "tvm::ffi::FunctionObj") ||
         StartsWith(name, "tvm::ffi::Function::") || StartsWith(name, "tvm::ffi::detail::") ||
         StartsWith(name, "void tvm::ffi::detail::") || StartsWith(name, "_Py") ||
         StartsWith(name, "Py") || StartsWith(name, "__pyx_") || StartsWith(name, "ffi_call") ||
         StartsWith(name, "__libc_start") || name == "_start";
}

struct Walk {
  std::string* text;
  bool cross_boundary;
  int left;
  int skip;  ///< frames of this file
};

void AppendFrame(std::string* text, std::string_view file, int line, std::string_view function) {
  text->append("  File \"").append(file).append("\", line ").append(std::to_string(line));
  text->append(", in ").append(function).append("\n");
}

_Unwind_Reason_Code VisitFrame(_Unwind_Context* context, void* data) {
  auto* walk = static_cast<Walk*>(data);
  if (walk->skip > 0) {
    --walk->skip;
    return _URC_NO_REASON;
  }
  if (walk->left <= 0) return _URC_END_OF_STACK;
  // The return address may already belong to the next function; look inside the call.
  const uintptr_t address = _Unwind_GetIP(context);
  if (address == 0) return _URC_END_OF_STACK;
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(address - 1), &info) == 0 || info.dli_sname == nullptr) {
    return _URC_NO_REASON;
  }
  const std::string name = Demangled(info.dli_sname);
  if (!walk->cross_boundary && IsBoundary(name)) return _URC_END_OF_STACK;
  if (IsNoise(name)) return _URC_NO_REASON;
  AppendFrame(walk->text, "<unknown>", 0, name);
  --walk->left;
  return _URC_NO_REASON;
}

}  // namespace
}  // namespace ffi
}  // namespace tvm

const TVMFFIByteArray* TVMFFIBacktrace(const char* filename, int lineno, const char* func,
                                       int cross_ffi_boundary) {
  static thread_local std::string text;
  static thread_local TVMFFIByteArray view;
  text.clear();
  tvm::ffi::Walk walk{&text, cross_ffi_boundary != 0, tvm::ffi::FrameLimit(), 1};
  if (filename != nullptr && func != nullptr && walk.left > 0) {
    tvm::ffi::AppendFrame(&text, filename, lineno, func);
    --walk.left;
    ++walk.skip;  // the caller is the frame just written
  }
  _Unwind_Backtrace(tvm::ffi::VisitFrame, &walk);
  view = TVMFFIByteArray{text.data(), text.size()};
  return &view;
}
