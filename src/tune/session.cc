// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "tune/session.h"

#include <tvm/ffi/container/array.h>
#include <tvm/ir/function.h>
#include <tvm/runtime/threading_backend.h>
#include <tvm/support/hash.h>
#include <tvm/target/cpu_features.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <utility>
#include <vector>

#include "codegen/cache.h"
#include "codegen/content_key.h"
#include "tune/database.h"

namespace tvm {
namespace tune {
namespace {

std::vector<Session>& Sessions() {
  thread_local std::vector<Session> sessions;
  return sessions;
}

/// The target as it counts for a measurement: all spellings of this machine are one.
std::string TargetText(const Target& target) {
  bool host = target->kind->name == "llvm" && CpuFeaturesOf(target).arch == HostCpuFeatures().arch;
  for (const auto& [name, value] : target->attrs) {
    auto text = value.as<ffi::String>();
    const bool same = name == "mtriple" || (name == "mcpu" && text.has_value() &&
                                            (*text == "native" || *text == HostCpuName()));
    host = host && same;
  }
  return host ? "llvm on this machine" : std::string(target.WithoutHost()->str());
}

using Task = ffi::Map<ffi::String, ffi::Any>;

/// One task a distinct kernel, its calls added up, in the order of first occurrence.
ffi::Array<Task> TasksOf(const std::vector<kernels::KernelGroup>& groups,
                         const std::vector<std::string>& keys) {
  std::map<std::string, int64_t> calls;
  for (size_t i = 0; i < groups.size(); ++i) calls[keys[i]] += groups[i].calls;
  ffi::Array<Task> tasks;
  std::set<std::string> seen;
  for (size_t i = 0; i < groups.size(); ++i) {
    if (keys[i].empty() || !seen.insert(keys[i]).second) continue;
    tasks.push_back(Task{{"name", ffi::String(groups[i].name)},
                         {"key", ffi::String(keys[i])},
                         {"func", groups[i].func},
                         {"calls", calls[keys[i]]}});
  }
  return tasks;
}

std::vector<kernels::KernelChoice> Choose(const std::vector<kernels::KernelGroup>& groups,
                                          const Target& target) {
  std::vector<kernels::KernelChoice> choices(groups.size());
  const ffi::Function measure =
      Sessions().empty() ? ffi::Function(nullptr) : Sessions().back().measure;
  const std::string path = DatabasePath();
  if (path.empty()) return choices;
  std::shared_ptr<const Database> database = Database::Read(path);
  if (measure == nullptr && database->size() == 0) return choices;
  std::vector<std::string> keys;
  for (const kernels::KernelGroup& group : groups) keys.push_back(KernelKey(group.func, target));
  if (measure != nullptr) {
    measure(TasksOf(groups, keys), target);
    database = Database::Read(path);
  }
  for (size_t i = 0; i < groups.size(); ++i) {
    const TuneRecord* record = database->Find(keys[i]);
    if (record != nullptr) choices[i] = {record->rule, record->knobs};
  }
  return choices;
}

constexpr const char* kFormKnob = "form";

/// Of one choice between forms of an anchor; empty when the content of one cannot be told.
std::string FormsKey(const std::vector<kernels::AnchorForm>& forms, const Target& target) {
  support::Sha256 digest;
  digest.Update("forms\n");
  for (const kernels::AnchorForm& form : forms) {
    const std::string key = KernelKey(form.func, target);
    if (key.empty()) return "";
    digest.Update(form.rule + " " + key + "\n");
  }
  return support::ToHex(digest.Finish());
}

/// What the file says of a choice, nullopt when it says nothing of these forms.
std::optional<size_t> KnownForm(const std::string& path, const std::string& key,
                                const std::vector<kernels::AnchorForm>& forms) {
  const auto database = Database::Read(path);
  const TuneRecord* record = database->Find(key);
  if (record == nullptr) return std::nullopt;
  const int64_t form = kernels::Knob(record->knobs, kFormKnob, 0);
  if (form < 0 || form >= static_cast<int64_t>(forms.size()) ||
      forms[static_cast<size_t>(form)].rule != record->rule) {
    return std::nullopt;
  }
  return static_cast<size_t>(form);
}

size_t ChooseForm(const kernels::FormMaker& make, const Target& target) {
  const ffi::Function measure =
      Sessions().empty() ? ffi::Function(nullptr) : Sessions().back().measure;
  const std::string path = DatabasePath();
  if (path.empty() || (measure == nullptr && Database::Read(path)->size() == 0)) return 0;
  const std::vector<kernels::AnchorForm> forms = make();
  const std::string key = FormsKey(forms, target);
  if (key.empty()) return 0;
  std::optional<size_t> known = KnownForm(path, key, forms);
  if (!known && measure != nullptr) {
    ffi::Array<ffi::Map<ffi::String, ffi::Any>> list;
    for (const kernels::AnchorForm& form : forms) {
      list.push_back({{"rule", ffi::String(form.rule)}, {"func", form.func}});
    }
    measure(ffi::Array<Task>{Task{{"key", ffi::String(key)}, {"forms", list}}}, target);
    known = KnownForm(path, key, forms);
  }
  return known.value_or(0);
}

const bool kHookInstalled = [] {
  kernels::SetKnobChooser(Choose);
  kernels::SetFormChooser(ChooseForm);
  return true;
}();

}  // namespace

SessionScope::SessionScope(Session session) { Sessions().push_back(std::move(session)); }
SessionScope::~SessionScope() { Sessions().pop_back(); }

bool IsMeasuring() { return !Sessions().empty() && Sessions().back().measure != nullptr; }

std::string DatabasePath() {
  if (!Sessions().empty() && Sessions().back().database) return *Sessions().back().database;
  if (const char* path = std::getenv("TVM_TUNE_DB")) {
    const std::string text(path);
    return text == "off" ? "" : text;
  }
  auto cache = codegen::CompileCache::Current();
  return cache == nullptr ? "" : cache->folder() + "/tune.jsonl";
}

std::string DatabaseDigest() {
  const std::string path = DatabasePath();
  return path.empty() ? "" : Database::Read(path)->Digest();
}

const std::string& CpuModel() {
  static const auto* model = new std::string([] {
    std::ifstream file("/proc/cpuinfo");
    std::string line;
    while (std::getline(file, line)) {
      const size_t colon = line.find(": ");
      if (line.rfind("model name", 0) == 0 && colon != std::string::npos) {
        return line.substr(colon + 2, 200);
      }
    }
    return HostCpuName();
  }());
  return *model;
}

std::string KernelKey(const tirx::PrimFunc& group, const Target& target) {
  support::Sha256 digest;
  digest.Update("kernel " + std::to_string(kRecordVersion) + "\n" + TargetText(target) + "\n" +
                CpuModel() + "\n" + std::to_string(runtime::threading::MaxConcurrency()) + "\n");
  std::vector<std::string> globals;
  const tirx::PrimFunc plain = WithoutAttr(group, tvm::attr::kGlobalSymbol);
  if (!codegen::AddContent(plain, &digest, &globals) || !globals.empty()) return "";
  return support::ToHex(digest.Finish());
}

}  // namespace tune
}  // namespace tvm
