// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Globals `tune.*`, by which python/tvm/tune measures candidates.
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ir/transform.h>
#include <tvm/kernels/rule.h>
#include <tvm/runtime/threading_backend.h>
#include <tvm/tirx/function.h>
#include <tvm/tirx/op.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tune/database.h"
#include "tune/session.h"

namespace tvm {
namespace tune {
namespace {

using ffi::Array;
using ffi::Map;
using ffi::String;

/// Sessions that Python entered, innermost last.
std::vector<std::unique_ptr<SessionScope>>& Entered() {
  thread_local std::vector<std::unique_ptr<SessionScope>> scopes;
  return scopes;
}

void EnterSession(ffi::Optional<String> database, ffi::Optional<ffi::Function> measure) {
  Session session;
  if (database.has_value()) session.database = std::string(*database);
  if (measure.has_value()) session.measure = *measure;
  Entered().push_back(std::make_unique<SessionScope>(std::move(session)));
}

void ExitSession() {
  TVM_FFI_CHECK(!Entered().empty(), RuntimeError) << "there is no tuning session on this thread";
  Entered().pop_back();
}

/// {"rule", "knobs": [{name: value}]}, the rule's own choice first; at most `limit` of them.
Map<String, ffi::Any> ListCandidates(tirx::PrimFunc group, Target target, int64_t limit) {
  const kernels::KernelCandidates all = kernels::Candidates(group, target);
  Array<kernels::KernelKnobs> knobs;
  for (const kernels::KernelCandidate& each : all.list) {
    if (static_cast<int64_t>(knobs.size()) >= limit) break;
    knobs.push_back(each.knobs);
  }
  return {{"rule", String(all.rule)}, {"knobs", knobs}};
}

/// [[dtype, [extents]]] of the parameters; null when one is no tensor of a known size.
ffi::Any Arguments(tirx::PrimFunc group) {
  Array<Array<ffi::Any>> result;
  for (const Var& param : group->params) {
    if (param->ty.as<tirx::BufferTypeNode>() == nullptr) return nullptr;
    const tirx::Buffer buffer = Downcast<tirx::Buffer>(param);
    Array<int64_t> shape;
    for (const PrimExpr& extent : buffer.shape()) {
      const int64_t* known = as_const_int(extent);
      if (known == nullptr) return nullptr;
      shape.push_back(*known);
    }
    result.push_back({String(buffer.dtype().ToString()), shape});
  }
  return result;
}

Map<String, ffi::Any> AsMap(const TuneRecord& record) {
  return {{"rule", String(record.rule)}, {"knobs", record.knobs},
          {"seconds", record.seconds},   {"untuned_seconds", record.untuned},
          {"tried", record.tried},       {"text", String(kernels::KnobsText(record.knobs))},
          {"date", String(record.date)}};
}

ffi::Optional<Map<String, ffi::Any>> Find(String path, String key) {
  const TuneRecord* record = nullptr;
  const auto database = Database::Read(path);
  record = database->Find(key);
  if (record == nullptr) return std::nullopt;
  return AsMap(*record);
}

/// Adds a measurement of a kernel on this machine; `result` has what is measured: rule, knobs,
/// seconds, untuned_seconds and tried, or rule, knobs and error; and date.
void Append(String path, String key, Target target, Map<String, ffi::Any> result) {
  TuneRecord record;
  record.key = key;
  record.target = target->str();
  record.cpu = CpuModel();
  record.threads = runtime::threading::MaxConcurrency();
  record.rule = result.at("rule").cast<String>();
  record.knobs = result.at("knobs").cast<kernels::KernelKnobs>();
  record.date = result.at("date").cast<String>();
  if (result.count("error") != 0) {
    record.error = result.at("error").cast<String>();
  } else {
    record.seconds = result.at("seconds").cast<double>();
    record.untuned = result.at("untuned_seconds").cast<double>();
    record.tried = result.at("tried").cast<int64_t>();
  }
  AppendRecord(path, record);
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = ffi::reflection;
  refl::GlobalDef()
      .def("tune.EnterSession", EnterSession)
      .def("tune.ExitSession", ExitSession)
      .def("tune.DatabasePath", [] { return String(DatabasePath()); })
      .def("tune.KernelKey",
           [](tirx::PrimFunc group, Target target) { return String(KernelKey(group, target)); })
      .def("tune.Candidates", ListCandidates)
      .def("tune.Emit",
           [](tirx::PrimFunc group, Target target, String rule, kernels::KernelKnobs knobs) {
             return kernels::EmitWith(group, target, rule, knobs);
           })
      .def("tune.KnobsText",
           [](kernels::KernelKnobs knobs) { return String(kernels::KnobsText(knobs)); })
      .def("tune.Arguments", Arguments)
      .def("tune.Find", Find)
      .def("tune.Failed",
           [](String path, String key) {
             Array<String> texts;
             const auto database = Database::Read(path);
             for (const std::string& text : database->Failed(key)) texts.push_back(text);
             return texts;
           })
      .def("tune.Append", Append);
}

}  // namespace tune
}  // namespace tvm
