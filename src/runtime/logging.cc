// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file logging.cc
/// Log output and the parser of TVM_LOG_DEBUG.
#include <tvm/runtime/logging.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

namespace tvm {
namespace runtime {
namespace detail {

namespace {

std::vector<std::ostringstream*>& VLogContexts() {
  static thread_local std::vector<std::ostringstream*> stack;
  return stack;
}

/// The part of a path after its last `/src/`, or after a leading `src/`.
std::string_view LogFileKey(std::string_view path) {
  constexpr std::string_view kSrc = "/src/";
  size_t pos = path.rfind(kSrc);
  if (pos != std::string_view::npos) return path.substr(pos + kSrc.size());
  if (path.substr(0, 4) == "src/") return path.substr(4);
  return path;
}

[[noreturn]] void IllFormed(size_t position, const std::string& what) {
  TVM_FFI_THROW(InternalError) << "TVM_LOG_DEBUG ill-formed at position " << position << ": "
                               << what;
  __builtin_unreachable();
}

}  // namespace

void PushVLogContext(std::ostringstream* stream) { VLogContexts().push_back(stream); }
void PopVLogContext() { VLogContexts().pop_back(); }
std::string VLogContextPrefix() {
  std::string out;
  for (std::ostringstream* stream : VLogContexts()) out += stream->str() + ": ";
  return out;
}

TvmLogDebugSettings TvmLogDebugSettings::ParseSpec(const char* opt_spec) {
  TvmLogDebugSettings settings;
  std::string_view spec = opt_spec == nullptr ? "" : opt_spec;
  if (spec.empty() || spec == "0") return settings;
  settings.dlog_enabled_ = true;
  if (spec == "1") return settings;
  size_t pos = 0;
  while (pos <= spec.size()) {
    size_t comma = spec.find(',', pos);
    size_t end = comma == std::string_view::npos ? spec.size() : comma;
    std::string_view entry = spec.substr(pos, end - pos);
    size_t eq = entry.find('=');
    std::string name(entry.substr(0, eq));
    if (name.empty()) IllFormed(pos, "empty filename");
    if (eq == std::string_view::npos) {
      IllFormed(pos + name.size(), "expecting \"=<level>\" after \"" + name + "\"");
    }
    std::string_view text = entry.substr(eq + 1);
    if (text.empty()) IllFormed(pos + eq + 1, "empty level after \"" + name + "\"");
    int level = 0;
    auto [last, ec] = std::from_chars(text.data(), text.data() + text.size(), level);
    if (ec != std::errc() || last != text.data() + text.size()) {
      IllFormed(pos + eq + 1, "invalid level: \"" + std::string(text) + "\"");
    }
    settings
        .levels_[std::string(name == "DEFAULT" ? std::string_view("DEFAULT") : LogFileKey(name))] =
        level;
    pos = end + 1;
    // A single comma may end the list.
    if (comma != std::string_view::npos && pos == spec.size()) break;
  }
  return settings;
}

const TvmLogDebugSettings& TvmLogDebugSettings::FromEnv() {
  static const TvmLogDebugSettings settings = ParseSpec(std::getenv("TVM_LOG_DEBUG"));
  return settings;
}

bool TvmLogDebugSettings::VerboseEnabledImpl(std::string_view filename, int level) const {
  auto it = levels_.find(std::string(LogFileKey(filename)));
  if (it == levels_.end()) it = levels_.find("DEFAULT");
  return it != levels_.end() && it->second >= 0 && level <= it->second;
}

#ifndef TVM_LOG_CUSTOMIZE

void LogFatalImpl(const std::string& file, int line, const std::string& message) {
  // The backtrace starts at the caller's line, as that of a failed check does.
  const TVMFFIByteArray* frames = TVMFFIBacktrace(file.c_str(), line, "", 0);
  throw ffi::Error("InternalError", message, std::string(frames->data, frames->size));
}

void LogMessageImpl(const std::string& file, int line, int level, const std::string& message) {
  static constexpr const char* kPrefix[] = {"Debug: ", "", "Warning: ", "Error: ", "Fatal: "};
  std::time_t now = std::time(nullptr);
  std::tm tm{};
#ifdef _WIN32
  localtime_s(&tm, &now);
#else
  localtime_r(&now, &tm);
#endif
  char stamp[16];
  std::strftime(stamp, sizeof(stamp), "%H:%M:%S", &tm);
  // One write a message, so that messages of different threads do not interleave.
  std::string text = std::string("[") + stamp + "] " + file + ":" + std::to_string(line) + ": " +
                     kPrefix[level] + message + "\n";
  std::fwrite(text.data(), 1, text.size(), stderr);
}

#endif  // TVM_LOG_CUSTOMIZE

}  // namespace detail
}  // namespace runtime
}  // namespace tvm
