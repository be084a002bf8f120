// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "ir/pass_trace.h"

#include <tvm/ir/expr.h>
#include <tvm/runtime/logging.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>

namespace tvm::transform {

namespace {

std::string EnvText(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Read once: the passes of one compilation must agree.
struct Switches {
  std::string dump_dir = EnvText("TVM_DUMP");
  bool time = !EnvText("TVM_TIME_PASSES").empty() && EnvText("TVM_TIME_PASSES") != "0";
  bool verify = EnvText("TVM_VERIFY") == "each" || EnvText("TVM_VERIFY") == "1";

  static const Switches& Get() {
    static const Switches switches;
    return switches;
  }
};

struct TimingStack {
  std::vector<PassProfile*> open;
  std::vector<std::unique_ptr<PassProfile>> roots;

  static TimingStack& Local() {
    static thread_local TimingStack stack;
    return stack;
  }
};

void RenderInto(std::string* out, const PassProfile& profile, int depth, double total,
                double parent) {
  double time = profile.Micros(), inside = 0;
  for (const auto& child : profile.children) inside += child->Micros();
  char line[512];
  std::snprintf(line, sizeof(line), "%s: %.0fus [%.0fus] (%.2f%%; %.2f%%)\n", profile.name.c_str(),
                time, time - inside, total > 0 ? time / total * 100 : 0,
                parent > 0 ? time / parent * 100 : 0);
  out->append(depth, '\t').append(line);
  for (const auto& child : profile.children) RenderInto(out, *child, depth + 1, total, time);
}

void WriteDump(const std::string& dir, const std::string& pass, const IRModule& mod) {
  static std::mutex mutex;
  static std::string last_text;
  static int index = 0;
  std::string text(DebugText(mod));
  std::lock_guard<std::mutex> lock(mutex);
  if (text == last_text) return;
  std::error_code error;
  std::filesystem::create_directories(dir, error);
  char number[16];
  std::snprintf(number, sizeof(number), "%03d_", index);
  std::string name = pass;
  for (char& c : name) {
    if (c == '/' || c == '\\') c = '_';
  }
  std::filesystem::path path = std::filesystem::path(dir) / (number + name + ".txt");
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  if (!text.empty() && text.back() != '\n') file << '\n';
  if (!file) {
    LOG(WARNING) << "TVM_DUMP: cannot write " << path.string();
    return;
  }
  ++index;
  last_text = std::move(text);
}

}  // namespace

std::string RenderProfiles(const std::vector<std::unique_ptr<PassProfile>>& profiles) {
  double total = 0;
  for (const auto& profile : profiles) total += profile->Micros();
  std::string out;
  for (const auto& profile : profiles) RenderInto(&out, *profile, 0, total, total);
  return out;
}

bool VerifyEachPass() { return Switches::Get().verify; }

PassTrace::PassTrace(const PassInfo& info, bool is_sequence)
    : info_(info), is_sequence_(is_sequence) {
  if (!Switches::Get().time) return;
  timed_ = true;
  TimingStack& stack = TimingStack::Local();
  auto profile = std::make_unique<PassProfile>();
  profile->name = std::string(info->name);
  PassProfile* raw = profile.get();
  auto& siblings = stack.open.empty() ? stack.roots : stack.open.back()->children;
  siblings.push_back(std::move(profile));
  stack.open.push_back(raw);
}

PassTrace::~PassTrace() {
  if (!timed_) return;
  TimingStack& stack = TimingStack::Local();
  stack.open.back()->end = PassProfile::Clock::now();
  stack.open.pop_back();
  if (stack.open.empty()) {
    std::string text = RenderProfiles(stack.roots);
    stack.roots.clear();
    std::fputs(text.c_str(), stderr);
  }
}

void PassTrace::Finish(const IRModule& before, const IRModule& after) {
  const std::string& dir = Switches::Get().dump_dir;
  if (dir.empty() || is_sequence_) return;
  if (before.same_as(after)) return;
  WriteDump(dir, std::string(info_->name), after);
}

}  // namespace tvm::transform
