// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "tune/record.h"

#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/json.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace tvm {
namespace tune {
namespace {

namespace json = ffi::json;

constexpr size_t kKeyDigits = 64;
constexpr size_t kMaxKnobs = 32;
constexpr int64_t kMaxKnob = int64_t{1} << 40;

/// Takes fields out of a JSON object; keeps the first complaint.
class FieldReader {
 public:
  FieldReader(const json::Object& object, std::string* why) : object_(object), why_(why) {}

  std::string Text(const char* name) {
    auto value = Find(name);
    auto text = value ? value->try_cast<ffi::String>() : std::nullopt;
    if (!text) Complain(name, "text");
    return text ? std::string(*text) : "";
  }
  int64_t Int(const char* name, int64_t low, int64_t high) {
    auto value = Find(name);
    auto number = value ? value->as<int64_t>() : std::nullopt;
    if (!number || *number < low || *number > high) {
      Complain(name, "a whole number from " + std::to_string(low) + " to " + std::to_string(high));
      return low;
    }
    return *number;
  }
  double Seconds(const char* name) {
    auto value = Find(name);
    auto number = value ? value->try_cast<double>() : std::nullopt;
    if (!number || !std::isfinite(*number) || *number < 0) {
      Complain(name, "seconds");
      return 0;
    }
    return *number;
  }
  kernels::KernelKnobs Knobs(const char* name) {
    kernels::KernelKnobs knobs;
    auto value = Find(name);
    auto object = value ? value->try_cast<json::Object>() : std::nullopt;
    bool good = object && object->size() <= kMaxKnobs;
    for (const auto& [key, item] : good ? *object : json::Object()) {
      auto text = key.try_cast<ffi::String>();
      auto number = item.as<int64_t>();
      good = good && text && number && *number >= -kMaxKnob && *number <= kMaxKnob;
      if (good) knobs.Set(*text, *number);
    }
    if (!good) Complain(name, "an object of whole numbers");
    return knobs;
  }
  bool Has(const char* name) const { return object_.count(ffi::String(name)) != 0; }
  bool good() const { return good_; }
  void Complain(const char* name, const std::string& expected) {
    if (good_) *why_ = std::string("field `") + name + "` is not " + expected;
    good_ = false;
  }

 private:
  std::optional<ffi::Any> Find(const char* name) const {
    auto it = object_.find(ffi::String(name));
    if (it == object_.end()) return std::nullopt;
    return (*it).second;
  }

  const json::Object& object_;
  std::string* why_;
  bool good_ = true;
};

bool IsKey(const std::string& text) {
  return text.size() == kKeyDigits && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

ReadResult ReadFields(const json::Object& object, TuneRecord* record, std::string* why) {
  FieldReader fields(object, why);
  record->key = fields.Text("key");
  if (fields.good() && !IsKey(record->key)) fields.Complain("key", "64 hexadecimal digits");
  record->target = fields.Text("target");
  record->cpu = fields.Text("cpu");
  record->threads = fields.Int("threads", 1, 1 << 16);
  record->rule = fields.Text("rule");
  record->knobs = fields.Knobs("knobs");
  record->date = fields.Text("date");
  record->error = fields.Has("error") ? fields.Text("error") : "";
  if (record->error.empty()) {
    record->seconds = fields.Seconds("seconds");
    record->untuned = fields.Seconds("untuned_seconds");
    record->tried = fields.Int("tried", 0, int64_t{1} << 32);
  }
  return fields.good() ? ReadResult::kRecord : ReadResult::kDamaged;
}

}  // namespace

ReadResult ReadRecord(std::string_view line, TuneRecord* record, std::string* why) {
  if (line.size() > kMaxLine) {
    *why = "longer than " + std::to_string(kMaxLine) + " bytes";
    return ReadResult::kDamaged;
  }
  ffi::String problem;
  ffi::Any parsed = json::Parse(ffi::String(line.data(), line.size()), &problem);
  if (!problem.empty()) {
    *why = "no JSON: " + std::string(problem);
    return ReadResult::kDamaged;
  }
  auto object = parsed.try_cast<json::Object>();
  if (!object) {
    *why = "no JSON object";
    return ReadResult::kDamaged;
  }
  FieldReader fields(*object, why);
  const int64_t version = fields.Int("version", 1, INT64_MAX);
  if (!fields.good()) return ReadResult::kDamaged;
  if (version != kRecordVersion) {
    *why = "version " + std::to_string(version);
    return ReadResult::kOtherVersion;
  }
  return ReadFields(*object, record, why);
}

std::string WriteRecord(const TuneRecord& record) {
  json::Object object;
  auto set = [&](const char* name, ffi::Any value) {
    object.Set(ffi::String(name), std::move(value));
  };
  set("version", kRecordVersion);
  set("key", ffi::String(record.key));
  set("target", ffi::String(record.target));
  set("cpu", ffi::String(record.cpu));
  set("threads", record.threads);
  set("rule", ffi::String(record.rule));
  json::Object knobs;
  for (const auto& [name, value] : record.knobs) knobs.Set(name, value);
  set("knobs", knobs);
  if (record.error.empty()) {
    set("seconds", record.seconds);
    set("untuned_seconds", record.untuned);
    set("tried", record.tried);
  } else {
    set("error", ffi::String(record.error));
  }
  set("date", ffi::String(record.date));
  const std::string line = json::Stringify(object);
  TuneRecord again;
  std::string why;
  TVM_FFI_CHECK(ReadRecord(line, &again, &why) == ReadResult::kRecord, ValueError)
      << "this is no record of a measurement: " << why;
  return line + "\n";
}

}  // namespace tune
}  // namespace tvm
