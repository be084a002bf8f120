// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <tvm/ffi/error.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/target/cpu_features.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <thread>

#include "target/cpu_host.h"
#include "target/target_parser.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif
#if defined(__linux__)
#include <sched.h>
#endif

namespace tvm {

namespace {

int CountCores() {
#if defined(__linux__)
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
#endif
  return std::max(1u, std::thread::hardware_concurrency());
}

void ReadCacheSizes(CpuFeatures* features) {
#if defined(_SC_LEVEL1_DCACHE_SIZE)
  auto read = [](int name, int64_t* out) {
    long size = sysconf(name);  // NOLINT(runtime/int): the type sysconf returns
    if (size > 0) *out = size;
  };
  read(_SC_LEVEL1_DCACHE_SIZE, &features->l1d);
  read(_SC_LEVEL2_CACHE_SIZE, &features->l2);
  read(_SC_LEVEL3_CACHE_SIZE, &features->l3);
#endif
}

#if defined(__x86_64__) || defined(__i386__)

/// Register state that the operating system saves on a context switch.
uint64_t EnabledStates() {
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (uint64_t{high} << 32) | low;
}

void DetectInstructions(CpuFeatures* f) {
  f->arch = "x86_64";
  uint32_t a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return;
  auto bit = [](uint32_t word, int index) { return ((word >> index) & 1) != 0; };
  f->sse41 = bit(c, 19);
  const bool has_xsave = bit(c, 27);
  const uint64_t states = has_xsave ? EnabledStates() : 0;
  const bool ymm = (states & 0x6) == 0x6, zmm = (states & 0xE6) == 0xE6;
  const bool tiles = (states & 0x60000) == 0x60000;
  f->avx = ymm && bit(c, 28);
  f->fma = ymm && bit(c, 12);
  f->f16c = ymm && bit(c, 29);
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return;
  const uint32_t max_subleaf = a;
  f->avx2 = ymm && bit(b, 5);
  f->avx512f = zmm && bit(b, 16);
  f->avx512dq = zmm && bit(b, 17);
  f->avx512bw = zmm && bit(b, 30);
  f->avx512vl = zmm && bit(b, 31);
  f->avx512vnni = zmm && bit(c, 11);
  f->avx512fp16 = zmm && bit(d, 23);
  f->amx_bf16 = tiles && bit(d, 22);
  f->amx_tile = tiles && bit(d, 24);
  f->amx_int8 = tiles && bit(d, 25);
  if (max_subleaf >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d)) {
    f->avxvnni = ymm && bit(a, 4);
    f->avx512bf16 = zmm && bit(a, 5);
  }
}

#elif defined(__aarch64__)

void DetectInstructions(CpuFeatures* f) {
  f->arch = "aarch64";
  f->neon = true;
#if defined(__linux__)
  const unsigned long caps = getauxval(AT_HWCAP);    // NOLINT(runtime/int)
  const unsigned long caps2 = getauxval(AT_HWCAP2);  // NOLINT(runtime/int)
  f->dotprod = (caps & HWCAP_ASIMDDP) != 0;
  f->fp16 = (caps & HWCAP_ASIMDHP) != 0;
  f->sve = (caps & HWCAP_SVE) != 0;
  f->i8mm = (caps2 & HWCAP2_I8MM) != 0;
  f->bf16 = (caps2 & HWCAP2_BF16) != 0;
#endif
}

#else

void DetectInstructions(CpuFeatures* f) {
#if defined(__riscv)
  f->arch = "riscv64";
#endif
}

#endif

CpuFeatures DetectHost() {
  CpuFeatures features;
  DetectInstructions(&features);
  ReadCacheSizes(&features);
  features.num_cores = CountCores();
  DeriveVectorShape(&features);
  return features;
}

/// The oldest CPU name whose features this machine has; used only without LLVM's own detection.
std::string NameFromFeatures(const CpuFeatures& f) {
  if (f.arch == "x86_64") {
    if (f.amx_tile && f.avx512fp16) return "sapphirerapids";
    if (f.avx512bf16) return "cooperlake";
    if (f.avx512vnni) return "cascadelake";
    if (f.avx512f && f.avx512bw && f.avx512dq && f.avx512vl) return "skylake-avx512";
    if (f.avx2 && f.fma) return "haswell";
    if (f.avx) return "sandybridge";
    return "x86-64";
  }
  if (f.arch == "aarch64") return f.dotprod ? "neoverse-n1" : "generic";
  return "generic";
}

std::string ArchOfTriple(const std::string& triple) {
  std::string arch = triple.substr(0, triple.find('-'));
  if (arch == "arm64") return "aarch64";
  if (arch == "amd64") return "x86_64";
  return arch;
}

}  // namespace

const CpuFeatures& HostCpuFeatures() {
  static const CpuFeatures features = DetectHost();
  return features;
}

const std::string& HostCpuName() {
  static const std::string name = [] {
    const TargetHooks& hooks = GetTargetHooks();
    std::string detected = hooks.host_cpu != nullptr ? hooks.host_cpu() : "";
    return detected.empty() ? NameFromFeatures(HostCpuFeatures()) : detected;
  }();
  return name;
}

CpuFeatures CpuFeaturesOf(const Target& target) {
  TVM_FFI_CHECK(target.defined(), ValueError) << "CPU features of an undefined target";
  std::string mcpu(target->GetAttr<ffi::String>("mcpu").value_or(ffi::String("")));
  ffi::Array<ffi::String> mattr =
      target->GetAttr<ffi::Array<ffi::String>>("mattr").value_or(ffi::Array<ffi::String>());
  std::string triple(target->GetAttr<ffi::String>("mtriple").value_or(ffi::String("")));
  if (triple.empty()) triple = DefaultTargetTriple();
  const std::string arch = ArchOfTriple(triple);
  const bool host_arch = arch == HostCpuFeatures().arch;

  CpuFeatures features;
  const bool is_host = host_arch && (mcpu == "native" || (mcpu.empty() && mattr.empty()));
  if (is_host || (host_arch && mcpu == HostCpuName())) {
    features = HostCpuFeatures();
  } else {
    features.arch = arch;
    features.neon = arch == "aarch64";
    features.l1d = HostCpuFeatures().l1d;
    features.l2 = HostCpuFeatures().l2;
    features.l3 = host_arch ? HostCpuFeatures().l3 : 0;
    features.num_cores = HostCpuFeatures().num_cores;
    if (!mcpu.empty()) ApplyCpuName(mcpu.substr(0, mcpu.find('+')), &features);
  }
  for (const ffi::String& attr : mattr) {
    std::string name(attr);
    if (name.empty()) continue;
    const bool enable = name[0] != '-';
    if (name[0] == '+' || name[0] == '-') name.erase(0, 1);
    ApplyFeatureName(name, enable, &features);
  }
  DeriveVectorShape(&features);
  if (auto width = target->GetAttr<int64_t>("vector-width"); width.has_value()) {
    features.vector_bits = static_cast<int>(width.value());
  }
  if (target->kind->name == "c") features.vector_bits = 0;
  if (auto cores = target->GetAttr<int64_t>("num-cores"); cores.has_value()) {
    features.num_cores = static_cast<int>(cores.value());
  }
  return features;
}

std::vector<std::string> LLVMFeatureNames(const CpuFeatures& f) {
  std::vector<std::string> names;
  auto add = [&](bool on, const char* name) {
    if (on) names.push_back(std::string("+") + name);
  };
  if (f.arch == "x86_64") {
    add(f.sse41, "sse4.1");
    add(f.avx, "avx");
    add(f.avx2, "avx2");
    add(f.fma, "fma");
    add(f.f16c, "f16c");
    add(f.avx512f, "avx512f");
    add(f.avx512bw, "avx512bw");
    add(f.avx512dq, "avx512dq");
    add(f.avx512vl, "avx512vl");
    add(f.avx512vnni, "avx512vnni");
    add(f.avx512bf16, "avx512bf16");
    add(f.avx512fp16, "avx512fp16");
    add(f.avxvnni, "avxvnni");
    add(f.amx_tile, "amx-tile");
    add(f.amx_int8, "amx-int8");
    add(f.amx_bf16, "amx-bf16");
  } else if (f.arch == "aarch64") {
    add(f.neon, "neon");
    add(f.dotprod, "dotprod");
    add(f.fp16, "fullfp16");
    add(f.i8mm, "i8mm");
    add(f.bf16, "bf16");
    add(f.sve, "sve");
    add(f.sme, "sme");
  } else {
    add(f.rvv, "v");
  }
  return names;
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = ffi::reflection;
  refl::GlobalDef()
      .def("target.HostCpuName", []() { return ffi::String(HostCpuName()); })
      .def("target.CpuFeatures", [](const Target& target) {
        CpuFeatures f = CpuFeaturesOf(target);
        ffi::Map<ffi::String, ffi::Any> result;
        result.Set("arch", ffi::String(f.arch));
        result.Set("vector_bits", f.vector_bits);
        result.Set("num_vector_registers", f.num_vector_registers);
        result.Set("l1d", f.l1d);
        result.Set("l2", f.l2);
        result.Set("l3", f.l3);
        result.Set("num_cores", f.num_cores);
        ffi::Array<ffi::String> names;
        for (const std::string& name : LLVMFeatureNames(f)) names.push_back(name);
        result.Set("features", names);
        return result;
      });
}

}  // namespace tvm
