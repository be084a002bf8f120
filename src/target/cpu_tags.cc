// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Tags of CPU products and boards.
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/function.h>

#include <initializer_list>
#include <string>

#include "target/cpu_host.h"

namespace tvm {

namespace {

struct CpuTag {
  const char* name;
  const char* triple;
  const char* mcpu;
  std::initializer_list<const char*> mattr;
  int num_cores;
  const char* model = "";
  const char* device = "";
  const char* mabi = "";
};

constexpr const char* kArm32 = "armv7l-linux-gnueabihf";
constexpr const char* kArm64 = "aarch64-linux-gnu";
constexpr const char* kAndroid64 = "arm64-linux-android";

const CpuTag kTags[] = {
    {"raspberry-pi/4b-aarch64", "aarch64-linux-gnu", "cortex-a72", {"+neon"}, 4},
    {"arm/pixel2", kAndroid64, "", {"+neon"}, 0, "snapdragon835", "arm_cpu"},
    {"arm/mate10", kAndroid64, "", {"+neon"}, 0, "kirin970", "arm_cpu"},
    {"arm/rasp3b", kArm32, "", {"+neon"}, 0, "bcm2837", "arm_cpu"},
    {"arm/rasp4b", "armv8l-linux-gnueabihf", "", {"+neon"}, 0, "bcm2711", "arm_cpu"},
    {"arm/rasp4b64", kArm64, "", {"+neon"}, 0, "bcm2711", "arm_cpu"},
    {"arm/rk3399", kArm64, "", {"+neon"}, 0, "rk3399", "arm_cpu"},
    {"arm/pynq", kArm32, "", {"+vfp3-d16", "+neon"}, 0, "pynq", "arm_cpu"},
    {"arm/ultra96", kArm64, "", {"+neon"}, 0, "ultra96", "arm_cpu"},
    {"arm/beagleai", kArm32, "", {"+neon", "+vfp4", "+thumb2"}, 0, "beagleai", "arm_cpu"},
    {"arm/stm32mp1", kArm32, "", {"+neon", "+vfp4", "+thumb2"}, 0, "stm32mp1", "arm_cpu"},
    {"arm/thunderx", kArm64, "", {"+neon", "+crc", "+lse"}, 0, "thunderx", "arm_cpu"},
    {"aws/cpu/c5.large", "", "skylake-avx512", {}, 1},
    {"aws/cpu/c5.xlarge", "", "skylake-avx512", {}, 2},
    {"aws/cpu/c5.2xlarge", "", "skylake-avx512", {}, 4},
    {"aws/cpu/c5.4xlarge", "", "skylake-avx512", {}, 8},
    {"aws/cpu/c5.9xlarge", "", "skylake-avx512", {}, 18},
    {"aws/cpu/c5.12xlarge", "", "cascadelake", {}, 24},
    {"aws/cpu/c5.18xlarge", "", "skylake-avx512", {}, 36},
    {"aws/cpu/c5.24xlarge", "", "cascadelake", {}, 48},
    {"riscv/sifive-e31", "riscv32-unknown-linux-gnu", "sifive-e31", {}, 0, "", "", "ilp32"},
    {"riscv/sifive-e76", "riscv32-unknown-linux-gnu", "sifive-e76", {}, 0, "", "", "ilp32"},
    {"riscv/sifive-u54", "riscv64-unknown-linux-gnu", "sifive-u54", {}, 0, "", "", "lp64d"},
    {"riscv/sifive-u74", "riscv64-unknown-linux-gnu", "sifive-u74", {}, 0, "", "", "lp64d"},
    {"riscv/licheepi3a", "riscv64-unknown-linux-gnu", "spacemit-x60", {}, 8, "", "", "lp64d"},
    {"riscv/spacemit-k3", "riscv64-unknown-linux-gnu", "spacemit-x60", {"+v"}, 8, "", "", "lp64d"},
};

/// GPU products; the memory and thread limits are those of their compute capability.
struct NvidiaTag {
  const char* name;
  const char* arch;
  int64_t l2;
};

const NvidiaTag kNvidiaTags[] = {
    {"nvidia/nvidia-a100", "sm_80", 41943040},
    {"nvidia/nvidia-h100", "sm_90a", 52428800},
    {"nvidia/nvidia-b100", "sm_100a", 52428800},
    {"nvidia/nvidia-v100", "sm_70", 0},
    {"nvidia/nvidia-t4", "sm_75", 0},
};

TVM_FFI_STATIC_INIT_BLOCK() {
  for (const CpuTag& tag : kTags) {
    TargetConfig config{{"kind", ffi::String("llvm")}};
    auto set = [&](const char* key, const char* value) {
      if (*value != '\0') config.Set(key, ffi::String(value));
    };
    set("mtriple", tag.triple);
    set("mcpu", tag.mcpu);
    set("model", tag.model);
    set("device", tag.device);
    set("mabi", tag.mabi);
    if (tag.mattr.size() != 0) {
      ffi::Array<ffi::String> mattr;
      for (const char* attr : tag.mattr) mattr.push_back(attr);
      config.Set("mattr", mattr);
    }
    if (tag.num_cores > 0) config.Set("num-cores", int64_t{tag.num_cores});
    if (std::string(tag.name) == "raspberry-pi/4b-aarch64") {
      config.Set("host", TargetConfig{{"kind", ffi::String("llvm")},
                                      {"mtriple", ffi::String(tag.triple)},
                                      {"mcpu", ffi::String(tag.mcpu)},
                                      {"mattr", ffi::Array<ffi::String>{"+neon"}},
                                      {"num-cores", int64_t{4}}});
    }
    RegisterTagConfig(tag.name, std::move(config), false);
  }
  for (const NvidiaTag& tag : kNvidiaTags) {
    TargetConfig config{{"kind", ffi::String("cuda")},
                        {"arch", ffi::String(tag.arch)},
                        {"max_shared_memory_per_block", int64_t{49152}},
                        {"max_threads_per_block", int64_t{1024}},
                        {"thread_warp_size", int64_t{32}},
                        {"registers_per_block", int64_t{65536}}};
    if (tag.l2 > 0) config.Set("l2_cache_size_bytes", tag.l2);
    RegisterTagConfig(tag.name, std::move(config), false);
  }
}

}  // namespace
}  // namespace tvm
