// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// What CPU names and feature names stand for. Sources: the vendors' architecture manuals (Intel
/// SDM volume 1, AMD64 volume 3, Arm ARM) and LLVM's names for their products.
#include <array>
#include <string_view>

#include "target/cpu_host.h"

namespace tvm {

namespace {

enum Level : int {
  kNone,
  kSSE42,
  kAVX,
  kAVX2,     // with FMA and F16C
  kAVX512,   // F, BW, DQ, VL
  kVNNI,     // + VNNI
  kBF16,     // + BF16
  kSPR,      // + FP16 and AMX
  kZen4,     // AVX-512 with VNNI and BF16, no AMX
  kAlder,    // AVX2 with AVX-VNNI
  kNEON,     // Armv8.0
  kDotProd,  // Armv8.2 with dot product and half precision
  kI8MM,     // + int8 and bfloat16 matrix products
  kSVEI8MM,  // + SVE
};

struct CpuRow {
  std::string_view name;
  Level level;
};

constexpr std::array<CpuRow, 76> kCpus = {{
    {"x86-64", kNone},
    {"x86-64-v2", kSSE42},
    {"x86-64-v3", kAVX2},
    {"x86-64-v4", kAVX512},
    {"nehalem", kSSE42},
    {"westmere", kSSE42},
    {"corei7", kSSE42},
    {"silvermont", kSSE42},
    {"goldmont", kSSE42},
    {"tremont", kSSE42},
    {"sandybridge", kAVX},
    {"corei7-avx", kAVX},
    {"ivybridge", kAVX},
    {"core-avx-i", kAVX},
    {"haswell", kAVX2},
    {"core-avx2", kAVX2},
    {"broadwell", kAVX2},
    {"skylake", kAVX2},
    {"skylake-avx512", kAVX512},
    {"skx", kAVX512},
    {"cannonlake", kAVX512},
    {"cascadelake", kVNNI},
    {"cooperlake", kBF16},
    {"icelake-client", kVNNI},
    {"icelake-server", kVNNI},
    {"tigerlake", kVNNI},
    {"rocketlake", kVNNI},
    {"sapphirerapids", kSPR},
    {"emeraldrapids", kSPR},
    {"graniterapids", kSPR},
    {"graniterapids-d", kSPR},
    {"diamondrapids", kSPR},
    {"alderlake", kAlder},
    {"raptorlake", kAlder},
    {"meteorlake", kAlder},
    {"gracemont", kAlder},
    {"sierraforest", kAlder},
    {"arrowlake", kAlder},
    {"lunarlake", kAlder},
    {"bdver1", kAVX},
    {"bdver2", kAVX},
    {"btver2", kAVX},
    {"bdver4", kAVX2},
    {"znver1", kAVX2},
    {"znver2", kAVX2},
    {"znver3", kAVX2},
    {"znver4", kZen4},
    {"znver5", kZen4},
    {"cortex-a35", kNEON},
    {"cortex-a53", kNEON},
    {"cortex-a57", kNEON},
    {"cortex-a72", kNEON},
    {"cortex-a73", kNEON},
    {"cortex-a55", kDotProd},
    {"cortex-a75", kDotProd},
    {"cortex-a76", kDotProd},
    {"cortex-a77", kDotProd},
    {"cortex-a78", kDotProd},
    {"cortex-x1", kDotProd},
    {"cortex-a510", kSVEI8MM},
    {"cortex-a710", kSVEI8MM},
    {"cortex-x2", kSVEI8MM},
    {"cortex-x3", kSVEI8MM},
    {"cortex-x4", kSVEI8MM},
    {"neoverse-n1", kDotProd},
    {"neoverse-n2", kSVEI8MM},
    {"neoverse-v1", kSVEI8MM},
    {"neoverse-v2", kSVEI8MM},
    {"ampere1", kI8MM},
    {"thunderx", kNEON},
    {"thunderx2t99", kNEON},
    {"a64fx", kNEON},
    {"apple-m1", kDotProd},
    {"apple-m2", kI8MM},
    {"apple-m3", kI8MM},
    {"apple-m4", kI8MM},
}};

void EnableNames(std::initializer_list<const char*> names, CpuFeatures* features) {
  for (const char* name : names) ApplyFeatureName(name, true, features);
}

}  // namespace

bool ApplyCpuName(const std::string& name, CpuFeatures* features) {
  for (const CpuRow& row : kCpus) {
    if (row.name != name) continue;
    switch (row.level) {
      case kNone:
        break;
      case kSSE42:
        EnableNames({"sse4.2"}, features);
        break;
      case kAVX:
        EnableNames({"avx"}, features);
        break;
      case kAVX2:
        EnableNames({"avx2", "fma", "f16c"}, features);
        break;
      case kAVX512:
        EnableNames({"avx512bw", "avx512dq", "avx512vl", "fma", "f16c"}, features);
        break;
      case kVNNI:
        EnableNames({"avx512bw", "avx512dq", "avx512vl", "avx512vnni", "fma", "f16c"}, features);
        break;
      case kBF16:
      case kZen4:
        EnableNames({"avx512bw", "avx512dq", "avx512vl", "avx512vnni", "avx512bf16", "fma", "f16c"},
                    features);
        break;
      case kSPR:
        EnableNames({"avx512bw", "avx512dq", "avx512vl", "avx512vnni", "avx512bf16", "avx512fp16",
                     "avxvnni", "amx-tile", "amx-int8", "amx-bf16", "fma", "f16c"},
                    features);
        break;
      case kAlder:
        EnableNames({"avx2", "fma", "f16c", "avxvnni"}, features);
        break;
      case kNEON:
        EnableNames({"neon"}, features);
        break;
      case kDotProd:
        EnableNames({"neon", "dotprod", "fullfp16"}, features);
        break;
      case kI8MM:
        EnableNames({"neon", "dotprod", "fullfp16", "i8mm", "bf16"}, features);
        break;
      case kSVEI8MM:
        EnableNames({"neon", "dotprod", "fullfp16", "i8mm", "bf16", "sve"}, features);
        break;
    }
    return true;
  }
  return false;
}

bool ApplyFeatureName(const std::string& name, bool enable, CpuFeatures* f) {
  struct Row {
    std::string_view name;
    bool CpuFeatures::* flag;
    std::string_view base;  // implied when enabled
  };
  static constexpr std::array<Row, 26> kRows = {{
      {"sse4.1", &CpuFeatures::sse41, ""},
      {"sse4.2", &CpuFeatures::sse41, ""},
      {"avx", &CpuFeatures::avx, "sse4.1"},
      {"avx2", &CpuFeatures::avx2, "avx"},
      {"fma", &CpuFeatures::fma, "avx"},
      {"f16c", &CpuFeatures::f16c, "avx"},
      {"avx512f", &CpuFeatures::avx512f, "avx2"},
      {"avx512bw", &CpuFeatures::avx512bw, "avx512f"},
      {"avx512dq", &CpuFeatures::avx512dq, "avx512f"},
      {"avx512vl", &CpuFeatures::avx512vl, "avx512f"},
      {"avx512vnni", &CpuFeatures::avx512vnni, "avx512f"},
      {"avx512bf16", &CpuFeatures::avx512bf16, "avx512bw"},
      {"avx512fp16", &CpuFeatures::avx512fp16, "avx512bw"},
      {"avxvnni", &CpuFeatures::avxvnni, "avx2"},
      {"amx-tile", &CpuFeatures::amx_tile, ""},
      {"amx-int8", &CpuFeatures::amx_int8, "amx-tile"},
      {"amx-bf16", &CpuFeatures::amx_bf16, "amx-tile"},
      {"neon", &CpuFeatures::neon, ""},
      {"dotprod", &CpuFeatures::dotprod, "neon"},
      {"i8mm", &CpuFeatures::i8mm, "neon"},
      {"bf16", &CpuFeatures::bf16, "neon"},
      {"fullfp16", &CpuFeatures::fp16, "neon"},
      {"sve", &CpuFeatures::sve, "fullfp16"},
      {"sve2", &CpuFeatures::sve, "fullfp16"},
      {"sme", &CpuFeatures::sme, "neon"},
      {"v", &CpuFeatures::rvv, ""},
  }};
  for (const Row& row : kRows) {
    if (row.name != name) continue;
    f->*row.flag = enable;
    if (enable) {
      if (!row.base.empty()) ApplyFeatureName(std::string(row.base), true, f);
    } else {
      // What is built on a feature goes with it.
      for (const Row& other : kRows) {
        if (other.base == name && f->*other.flag) {
          ApplyFeatureName(std::string(other.name), false, f);
        }
      }
    }
    return true;
  }
  return false;
}

void DeriveVectorShape(CpuFeatures* f) {
  if (f->avx512f) {
    f->vector_bits = 512;
    f->num_vector_registers = 32;
  } else if (f->avx) {
    f->vector_bits = 256;
    f->num_vector_registers = 16;
  } else if (f->arch == "aarch64" || f->arch == "arm64" || f->neon) {
    f->vector_bits = 128;
    f->num_vector_registers = 32;
  } else if (f->rvv) {
    f->vector_bits = 128;
    f->num_vector_registers = 32;
  } else {
    f->vector_bits = 128;
    f->num_vector_registers = 16;
  }
}

}  // namespace tvm
