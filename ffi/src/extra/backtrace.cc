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
#include <utility>
#include <vector>

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
  return name == "TVMFFIFunctionCall" || StartsWith(name, "Py") || StartsWith(name, "_Py") ||
         StartsWith(name, "tvm_ffi_py::FunctionVectorcall") ||
         (StartsWith(name, "tvm::ffi::detail::FunctionObjImpl<") &&
          name.find(">::SafeCall(") != std::string_view::npos);
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
  /// True if what was found out before is void.
  bool Refresh() {
    const uint64_t unloads = CountUnloads();
    if (unloads == unloads_) return false;
    frames_.clear();
    unloads_ = unloads;
    return true;
  }

 private:
  static constexpr size_t kMaxFrames = 4096;
  std::unordered_map<uintptr_t, Frame> frames_;
  uint64_t unloads_ = 0;
};

/// A walk up the stack that may come again: a loop that fails at the same place each time calls
/// from the same depth. The walk is the same if all return addresses are where they were.
class KnownWalk {
 public:
  /// From the frame of TVMFFIBacktrace, its return address and what else decides the text.
  void Start(const void* frame, const void* caller, int flags) {
    frame_ = frame;
    caller_ = caller;
    flags_ = flags;
    slots_.clear();
    usable_ = true;
  }
  void Visit(_Unwind_Context* context, uintptr_t address) {
    const auto* slot = reinterpret_cast<const uintptr_t*>(_Unwind_GetCFA(context)) - 1;
    // Other architectures keep return addresses elsewhere.
    usable_ = usable_ && slots_.size() < kMaxFrames && Read(slot) == address;
    if (usable_) slots_.push_back({slot, address});
  }
  void Finish(std::string_view text) {
    text_ = text;
    if (!usable_) Forget();
  }
  void Forget() { frame_ = nullptr; }

  bool Matches(const void* frame, const void* caller, int flags) const {
    if (frame_ != frame || caller_ != caller || flags_ != flags) return false;
    for (const auto& [slot, address] : slots_) {  // upwards: each one says that the next exists
      if (Read(slot) != address) return false;
    }
    return true;
  }
  const std::string& text() const { return text_; }

 private:
  /// A word of the stack that is no variable, which sanitizers would not let pass.
  __attribute__((no_sanitize("address"))) static uintptr_t Read(const uintptr_t* slot) {
    return *slot;
  }

  static constexpr size_t kMaxFrames = 64;
  const void* frame_ = nullptr;
  const void* caller_ = nullptr;
  int flags_ = 0;
  bool usable_ = false;
  std::vector<std::pair<const uintptr_t*, uintptr_t>> slots_;
  std::string text_;
};

struct Walk {
  FrameCache* cache;
  KnownWalk* known;
  std::string* text;
  bool cross_boundary;
  int left;
  int skip;            ///< frames of this file and the one that is named
  bool inside = true;  ///< the return address of the walk itself is next
};

_Unwind_Reason_Code VisitFrame(_Unwind_Context* context, void* data) {
  auto* walk = static_cast<Walk*>(data);
  if (!std::exchange(walk->inside, false)) walk->known->Visit(context, _Unwind_GetIP(context));
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
  using namespace tvm::ffi;  // NOLINT(build/namespaces): the function is outside for its C name
  static thread_local std::string text;
  static thread_local TVMFFIByteArray view;
  static thread_local FrameCache cache;
  static thread_local KnownWalk known_walks[8];
  text.clear();
  if (cache.Refresh()) {
    for (KnownWalk& known : known_walks) known.Forget();
  }
  int left = FrameLimit();
  const bool named = filename != nullptr && func != nullptr && left > 0;
  if (named) {
    AppendFrame(&text, filename, lineno, func);
    --left;
  }
  const void* frame = __builtin_frame_address(0);
  const void* caller = __builtin_return_address(0);
  const int flags = (named ? 1 : 0) | (cross_ffi_boundary != 0 ? 2 : 0);
  KnownWalk& known = known_walks[reinterpret_cast<uintptr_t>(caller) / 8 % 8];
  if (known.Matches(frame, caller, flags)) {
    text.append(known.text());
  } else {
    const size_t begin = text.size();
    known.Start(frame, caller, flags);
    // The caller is the frame written above.
    Walk walk{&cache, &known, &text, cross_ffi_boundary != 0, left, named ? 2 : 1};
    _Unwind_Backtrace(VisitFrame, &walk);
    known.Finish(std::string_view(text).substr(begin));
  }
  view = TVMFFIByteArray{text.data(), text.size()};
  return &view;
}
