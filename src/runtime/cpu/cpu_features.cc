// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file cpu_features.cc
/// Feature tests through the compiler's run-time support on x86 and the kernel elsewhere.
#include "runtime/cpu/cpu_features.h"

#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

namespace tvm {
namespace runtime {

#if defined(__x86_64__) || defined(__i386__)

std::optional<bool> HostHasCpuFeature(std::string_view name) {
  __builtin_cpu_init();
#define TVM_CPU_FEATURE(llvm_name, test_name) \
  if (name == llvm_name) return __builtin_cpu_supports(test_name) != 0
  TVM_CPU_FEATURE("sse2", "sse2");
  TVM_CPU_FEATURE("sse3", "sse3");
  TVM_CPU_FEATURE("ssse3", "ssse3");
  TVM_CPU_FEATURE("sse4.1", "sse4.1");
  TVM_CPU_FEATURE("sse4.2", "sse4.2");
  TVM_CPU_FEATURE("popcnt", "popcnt");
  TVM_CPU_FEATURE("aes", "aes");
  TVM_CPU_FEATURE("pclmul", "pclmul");
  TVM_CPU_FEATURE("avx", "avx");
  TVM_CPU_FEATURE("f16c", "f16c");
  TVM_CPU_FEATURE("fma", "fma");
  TVM_CPU_FEATURE("avx2", "avx2");
  TVM_CPU_FEATURE("bmi", "bmi");
  TVM_CPU_FEATURE("bmi2", "bmi2");
  TVM_CPU_FEATURE("lzcnt", "lzcnt");
  TVM_CPU_FEATURE("movbe", "movbe");
  TVM_CPU_FEATURE("gfni", "gfni");
  TVM_CPU_FEATURE("vaes", "vaes");
  TVM_CPU_FEATURE("vpclmulqdq", "vpclmulqdq");
  TVM_CPU_FEATURE("avx512f", "avx512f");
  TVM_CPU_FEATURE("avx512cd", "avx512cd");
  TVM_CPU_FEATURE("avx512bw", "avx512bw");
  TVM_CPU_FEATURE("avx512dq", "avx512dq");
  TVM_CPU_FEATURE("avx512vl", "avx512vl");
  TVM_CPU_FEATURE("avx512ifma", "avx512ifma");
  TVM_CPU_FEATURE("avx512vbmi", "avx512vbmi");
  TVM_CPU_FEATURE("avx512vbmi2", "avx512vbmi2");
  TVM_CPU_FEATURE("avx512vnni", "avx512vnni");
  TVM_CPU_FEATURE("avx512bitalg", "avx512bitalg");
  TVM_CPU_FEATURE("avx512vpopcntdq", "avx512vpopcntdq");
  TVM_CPU_FEATURE("avx512bf16", "avx512bf16");
  TVM_CPU_FEATURE("avx512vp2intersect", "avx512vp2intersect");
  TVM_CPU_FEATURE("avx512fp16", "avx512fp16");
  TVM_CPU_FEATURE("avxvnni", "avxvnni");
#if defined(__clang__) || __GNUC__ >= 13  // g++ 12 cannot ask for these; they then count as missing
  TVM_CPU_FEATURE("avxvnniint8", "avxvnniint8");
  TVM_CPU_FEATURE("avxifma", "avxifma");
#endif
  TVM_CPU_FEATURE("amx-tile", "amx-tile");
  TVM_CPU_FEATURE("amx-int8", "amx-int8");
  TVM_CPU_FEATURE("amx-bf16", "amx-bf16");
#undef TVM_CPU_FEATURE
  return std::nullopt;
}

#elif defined(__aarch64__) && defined(__linux__)

std::optional<bool> HostHasCpuFeature(std::string_view name) {
  // Bits of the kernel's AT_HWCAP and AT_HWCAP2 words.
  unsigned long hwcap = getauxval(16), hwcap2 = getauxval(26);                // NOLINT(runtime/int)
  auto bit = [](unsigned long word, int n) { return (word >> n & 1) != 0; };  // NOLINT(runtime/int)
  if (name == "neon") return bit(hwcap, 1);
  if (name == "fullfp16") return bit(hwcap, 10);
  if (name == "dotprod") return bit(hwcap, 20);
  if (name == "sve") return bit(hwcap, 22);
  if (name == "sve2") return bit(hwcap2, 1);
  if (name == "i8mm") return bit(hwcap2, 13);
  if (name == "bf16") return bit(hwcap2, 14);
  if (name == "sme") return bit(hwcap2, 23);
  return std::nullopt;
}

#else

std::optional<bool> HostHasCpuFeature(std::string_view name) { return std::nullopt; }

#endif

}  // namespace runtime
}  // namespace tvm
