// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Backtraces in the form `  File "f", line n, in fn`, most recent call first.
///
/// Where errors are part of normal work, the same few call sites throw again and again, so what an
/// address stands for is found out once per thread and kept.
#include <cxxabi.h>
#include <tvm/ffi/c_api.h>
#include <unwind.h>

#include <cerrno>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>

#include "debug_info.h"

#ifdef __linux__
#include <link.h>
#endif

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

/// Where another language called: the C entries, or the interpreter, whose frames a Python
/// traceback shows better.
bool IsBoundary(std::string_view name) {
  return name == "TVMFFIFunctionCall" || StartsWith(name, "tvm::ffi::detail::SafeCallThroughCpp") ||
         StartsWith(name, "tvm_ffi_py::FunctionVectorcall") || StartsWith(name, "Py") ||
         StartsWith(name, "_Py");
}

/// Plumbing that says nothing about the failure.
bool IsNoise(std::string_view name) {
  return StartsWith(name, "TVMFFI") || StartsWith(name, "tvm::ffi::FunctionObj") ||
         StartsWith(name, "tvm::ffi::Function::") || StartsWith(name, "tvm::ffi::detail::") ||
         StartsWith(name, "void tvm::ffi::detail::") || StartsWith(name, "tvm_ffi_py::") ||
         StartsWith(name, "_Py") || StartsWith(name, "Py") || StartsWith(name, "__pyx_") ||
         StartsWith(name, "__Pyx_") || StartsWith(name, "ffi_call") ||
         StartsWith(name, "__libc_start") || name == "_start";
}

void AppendFrame(std::string* text, std::string_view file, int line, std::string_view function) {
  text->append("  File \"").append(file).append("\", line ").append(std::to_string(line));
  text->append(", in ").append(function).append("\n");
}

/// What one return address contributes.
struct Frame {
  bool boundary = false;
  std::string text;  ///< empty: nothing to show
};

Frame MakeFrame(uintptr_t address) {
  Frame frame;
  // The return address may already belong to the next function; look inside the call.
  const CodeLocation location = FindCodeLocation(address - 1);
  if (location.function.empty()) return frame;
  const std::string name = Demangled(location.function.c_str());
  frame.boundary = IsBoundary(name);
  if (IsNoise(name)) return frame;
  const bool known = !location.file.empty();
  AppendFrame(&frame.text, known ? std::string_view(location.file) : "<unknown>", location.line,
              name);
  return frame;
}

/// Number of unloaded libraries: addresses may have got another meaning when it changes.
uint64_t CountUnloads() {
#ifdef __linux__
  uint64_t unloads = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* out) {
        *static_cast<uint64_t*>(out) = static_cast<uint64_t>(info->dlpi_subs);
        return 1;  // the count is the same in every entry
      },
      &unloads);
  return unloads;
#else
  return 0;
#endif
}

class FrameCache {
 public:
  const Frame& Find(uintptr_t address) {
    auto found = frames_.find(address);
    if (found != frames_.end()) return found->second;
    if (frames_.size() >= kMaxFrames) frames_.clear();
    return frames_.emplace(address, MakeFrame(address)).first->second;
  }
  void Refresh() {
    const uint64_t unloads = CountUnloads();
    if (unloads != unloads_) frames_.clear();
    unloads_ = unloads;
  }

 private:
  static constexpr size_t kMaxFrames = 4096;
  std::unordered_map<uintptr_t, Frame> frames_;
  uint64_t unloads_ = 0;
};

struct Walk {
  FrameCache* cache;
  std::string* text;
  bool cross_boundary;
  int left;
  int skip;  ///< frames of this file
};

_Unwind_Reason_Code VisitFrame(_Unwind_Context* context, void* data) {
  auto* walk = static_cast<Walk*>(data);
  if (walk->skip > 0) {
    --walk->skip;
    return _URC_NO_REASON;
  }
  if (walk->left <= 0) return _URC_END_OF_STACK;
  const uintptr_t address = _Unwind_GetIP(context);
  if (address == 0) return _URC_END_OF_STACK;
  const Frame& frame = walk->cache->Find(address);
  if (!walk->cross_boundary && frame.boundary) return _URC_END_OF_STACK;
  if (frame.text.empty()) return _URC_NO_REASON;
  walk->text->append(frame.text);
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
  static thread_local tvm::ffi::FrameCache cache;
  text.clear();
  cache.Refresh();
  tvm::ffi::Walk walk{&cache, &text, cross_ffi_boundary != 0, tvm::ffi::FrameLimit(), 1};
  if (filename != nullptr && func != nullptr && walk.left > 0) {
    tvm::ffi::AppendFrame(&text, filename, lineno, func);
    --walk.left;
    ++walk.skip;  // the caller is the frame just written
  }
  _Unwind_Backtrace(tvm::ffi::VisitFrame, &walk);
  view = TVMFFIByteArray{text.data(), text.size()};
  return &view;
}
