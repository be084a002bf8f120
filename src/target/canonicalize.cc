// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "target/canonicalize.h"

#include <tvm/ffi/error.h>
#include <tvm/ffi/function.h>
#include <tvm/runtime/logging.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace tvm {

namespace {

std::string TextOption(const TargetConfig& config, const char* key) {
  auto value = config.Get(ffi::String(key));
  if (!value.has_value()) return "";
  auto text = value->try_cast<ffi::String>();
  return text.has_value() ? std::string(*text) : "";
}

std::vector<std::string> ListOption(const TargetConfig& config, const char* key) {
  std::vector<std::string> items;
  auto value = config.Get(ffi::String(key));
  if (!value.has_value()) return items;
  if (auto list = value->try_cast<ffi::Array<ffi::String>>()) {
    for (const ffi::String& item : *list) items.emplace_back(item);
  }
  return items;
}

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

bool Contains(const std::vector<std::string>& items, std::string_view item) {
  return std::find(items.begin(), items.end(), item) != items.end();
}

/// Puts keys in front of the ones that are there.
void PrependKeys(TargetConfig* config, std::initializer_list<const char*> front) {
  ffi::Array<ffi::String> keys;
  for (const char* key : front) keys.push_back(key);
  for (const std::string& key : ListOption(*config, "keys")) {
    if (std::find(keys.begin(), keys.end(), ffi::String(key)) == keys.end()) keys.push_back(key);
  }
  config->Set("keys", keys);
}

// Cortex-M cores and the extensions that they have unless a "+no" attribute takes them away.
struct MProfileCpu {
  std::string_view prefix;
  bool dsp;
  bool mve;
};
constexpr std::array<MProfileCpu, 8> kMProfile = {{
    {"cortex-m0", false, false},
    {"cortex-m33", true, false},
    {"cortex-m35p", true, false},
    {"cortex-m3", false, false},
    {"cortex-m4", true, false},
    {"cortex-m55", true, true},
    {"cortex-m7", true, false},
    {"cortex-m85", true, true},
}};

const MProfileCpu* FindMProfile(const std::string& mcpu) {
  for (const MProfileCpu& cpu : kMProfile) {
    if (StartsWith(mcpu, cpu.prefix)) return &cpu;
  }
  return nullptr;
}

/// mattr or a "+feature" suffix of mcpu.
bool HasAttr(const TargetConfig& config, const std::string& name) {
  return Contains(ListOption(config, "mattr"), "+" + name) ||
         TextOption(config, "mcpu").find("+" + name) != std::string::npos;
}

void AddArmFeatures(TargetConfig* config) {
  std::string mcpu = TextOption(*config, "mcpu"), triple = TextOption(*config, "mtriple");
  if (const MProfileCpu* cpu = FindMProfile(mcpu)) {
    config->Set("feature.has_dsp", cpu->dsp && !HasAttr(*config, "nodsp"));
    config->Set("feature.has_mve", cpu->mve && !HasAttr(*config, "nomve"));
    PrependKeys(config, {"arm_cpu", "cpu"});
    return;
  }
  const bool aarch64 = StartsWith(triple, "aarch64") || StartsWith(triple, "arm64");
  const bool arm = StartsWith(triple, "arm") && !StartsWith(triple, "arm64");
  if (!aarch64 && !arm) return;
  auto has = [&](const char* name) { return HasAttr(*config, name); };
  const bool v9 = has("v9a") || has("v9.2a");
  config->Set("feature.is_aarch64", aarch64);
  config->Set("feature.has_asimd", aarch64 || has("neon"));
  config->Set("feature.has_sve", has("sve") || has("sve2") || v9);
  config->Set("feature.has_dotprod", has("dotprod") || has("v8.4a") || has("v8.6a") || v9);
  config->Set("feature.has_matmul_i8", has("i8mm") || has("v8.6a"));
  config->Set("feature.has_fp16_simd", has("fullfp16") || has("sve") || v9);
  config->Set("feature.has_sme", has("sme") || has("sme2"));
  PrependKeys(config, {"arm_cpu", "cpu"});
}

}  // namespace

TargetConfig CanonicalizeLLVM(TargetConfig config) {
  if (TextOption(config, "mtriple").empty() && TextOption(config, "mcpu").empty()) {
    config.Set("mtriple", ffi::String(DefaultTargetTriple()));
  }
  AddArmFeatures(&config);
  return config;
}

TargetConfig CanonicalizeC(TargetConfig config) {
  AddArmFeatures(&config);
  return config;
}

TargetConfig CanonicalizeCUDA(TargetConfig config) {
  std::string arch = TextOption(config, "arch");
  if (!arch.empty()) {
    TVM_FFI_CHECK(StartsWith(arch, "sm_"), ValueError)
        << "CUDA target gets an invalid CUDA arch: " << arch;
    return config;
  }
  // A device runtime, when it is loaded, answers with e.g. "8.6".
  if (auto query = ffi::Function::GetGlobal("target.detect_cuda_arch"); query.has_value()) {
    auto version = query.value()().try_cast<ffi::String>();
    if (version.has_value() && !version->empty()) {
      std::string digits;
      for (char c : std::string(*version)) {
        if (c != '.') digits += c;
      }
      if (std::atoi(digits.c_str()) >= 90) digits += "a";
      config.Set("arch", ffi::String("sm_" + digits));
      return config;
    }
  }
  LOG(WARNING) << "Unable to detect CUDA version, default to \"-arch=sm_50\" instead";
  config.Set("arch", ffi::String("sm_50"));
  return config;
}

TargetConfig CanonicalizeNVPTX(TargetConfig config) {
  if (TextOption(config, "mtriple").empty()) {
    config.Set("mtriple", ffi::String("nvptx64-nvidia-cuda"));
  }
  std::string mcpu = TextOption(config, "mcpu");
  if (mcpu.empty()) {
    LOG(WARNING) << "Unable to detect CUDA version, default to \"-mcpu=sm_50\" instead";
    config.Set("mcpu", ffi::String("sm_50"));
  } else {
    TVM_FFI_CHECK(StartsWith(mcpu, "sm_"), ValueError)
        << "NVPTX target gets an invalid CUDA arch: -mcpu=" << mcpu;
  }
  return config;
}

TargetConfig CanonicalizeROCm(TargetConfig config) {
  if (TextOption(config, "mtriple").empty()) {
    config.Set("mtriple", ffi::String("amdgcn-amd-amdhsa-hcc"));
  }
  std::string mcpu = TextOption(config, "mcpu");
  if (mcpu.empty()) {
    mcpu = "gfx900";
    if (auto query = ffi::Function::GetGlobal("tvm_callback_rocm_get_arch"); query.has_value()) {
      mcpu = std::string(query.value()().cast<ffi::String>());
    }
    config.Set("mcpu", ffi::String(mcpu));
  } else {
    TVM_FFI_CHECK(StartsWith(mcpu, "gfx"), ValueError)
        << "ROCm target gets an invalid GFX version: -mcpu=" << mcpu;
  }
  return config;
}

TargetConfig CanonicalizeWebGPU(TargetConfig config) {
  auto subgroups = config.Get("supports_subgroups");
  const bool has_subgroups = subgroups.has_value() && subgroups->cast<bool>();
  auto warp = config.Get("thread_warp_size");
  if (has_subgroups) {
    config.Set("thread_warp_size", int64_t{32});
  } else if (warp.has_value()) {
    TVM_FFI_CHECK(warp->cast<int64_t>() <= 1, ValueError)
        << "WebGPU target with thread_warp_size=" << warp->cast<int64_t>()
        << " requires supports_subgroups=true";
  }
  return config;
}

TargetConfig CanonicalizeTest(TargetConfig config) {
  config.Set("feature.is_test", true);
  return config;
}

}  // namespace tvm
