// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// What this machine attains: multiply-adds of each type that has instructions of its own, and
/// reading memory. Bounds for `tvm explain`.
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace tvm {
namespace driver {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int64_t kRounds = 1 << 16;

/// Multiply-adds in registers, enough of them at a time to hide their latency; returns the
/// operations done.
using Burn = double (*)();
/// Reads memory once; returns the bytes read.
using Read = double (*)(const char* data, size_t size);

#if defined(__x86_64__)
// Assembler, as the rate must not depend on how this file is compiled.
#define TVM_FMA(w, v, d) "vfmadd231ps %%" w v ", %%" w v ", %%" w #d "\n"
#define TVM_DOT_BF16(w, v, d) "vdpbf16ps %%" w v ", %%" w v ", %%" w #d "\n"
#define TVM_DOT_INT8(w, v, d) "vpdpbusd %%" w v ", %%" w v ", %%" w #d "\n"
#define TVM_DOT_INT8_VEX(w, v, d) "%{vex%} vpdpbusd %%" w v ", %%" w v ", %%" w #d "\n"
// Pairs of bytes, then pairs of words, then the sum.
#define TVM_DOT_INT8_STEPS(w, v, d)                                                 \
  "vpmaddubsw %%" w v ", %%" w v ", %%" w "14\nvpmaddwd %%" w v ", %%" w "14, %%" w \
  "14\nvpaddd %%" w "14, %%" w #d ", %%" w #d "\n"
#define TVM_BURN(op, w, v)                                                                     \
  asm volatile("vxorps %%xmm" v ", %%xmm" v ", %%xmm" v                                        \
               "\n"                                                                            \
               "1:\n" op(w, v, 0) op(w, v, 1) op(w, v, 2) op(w, v, 3) op(w, v, 4) op(w, v, 5)  \
                   op(w, v, 6) op(w, v, 7) op(w, v, 8) op(w, v, 9) "dec %0\njnz 1b\n"          \
               : "+r"(rounds)                                                                  \
               :                                                                               \
               : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", \
                 "xmm9", "xmm14", "xmm15")
#define TVM_READ(w, o0, o1, o2, o3)                                         \
  asm volatile("1:\nvmovups " o0 "(%0), %%" w "0\nvmovups " o1 "(%0), %%" w \
               "1\n"                                                        \
               "vmovups " o2 "(%0), %%" w "2\nvmovups " o3 "(%0), %%" w     \
               "3\n"                                                        \
               "add %2, %0\ncmp %1, %0\njb 1b\n"                            \
               : "+r"(data)                                                 \
               : "r"(end), "r"(step)                                        \
               : "cc", "memory", "xmm0", "xmm1", "xmm2", "xmm3")

__attribute__((target("avx2,fma"))) double BurnAvx2() {
  int64_t rounds = kRounds;
  TVM_BURN(TVM_FMA, "ymm", "15");
  return 2.0 * kRounds * 10 * 8;
}
__attribute__((target("avx512f"))) double BurnAvx512() {
  int64_t rounds = kRounds;
  TVM_BURN(TVM_FMA, "zmm", "15");
  return 2.0 * kRounds * 10 * 16;
}
__attribute__((target("avx512f"))) double BurnBf16() {
  int64_t rounds = kRounds;
  TVM_BURN(TVM_DOT_BF16, "zmm", "15");
  return 2.0 * kRounds * 10 * 32;
}
__attribute__((target("avx512f"))) double BurnInt8Avx512() {
  int64_t rounds = kRounds;
  TVM_BURN(TVM_DOT_INT8, "zmm", "15");
  return 2.0 * kRounds * 10 * 64;
}
__attribute__((target("avx2"))) double BurnInt8Vnni() {
  int64_t rounds = kRounds;
  TVM_BURN(TVM_DOT_INT8_VEX, "ymm", "15");
  return 2.0 * kRounds * 10 * 32;
}
__attribute__((target("avx2"))) double BurnInt8Avx2() {
  int64_t rounds = kRounds;
  TVM_BURN(TVM_DOT_INT8_STEPS, "ymm", "15");
  return 2.0 * kRounds * 10 * 32;
}
__attribute__((target("avx2"))) double ReadAvx2(const char* data, size_t size) {
  constexpr size_t step = 128;
  const char* end = data + size / step * step;
  TVM_READ("ymm", "0", "32", "64", "96");
  return static_cast<double>(size / step * step);
}
__attribute__((target("avx512f"))) double ReadAvx512(const char* data, size_t size) {
  constexpr size_t step = 256;
  const char* end = data + size / step * step;
  TVM_READ("zmm", "0", "64", "128", "192");
  return static_cast<double>(size / step * step);
}
#undef TVM_FMA
#undef TVM_DOT_BF16
#undef TVM_DOT_INT8
#undef TVM_DOT_INT8_VEX
#undef TVM_DOT_INT8_STEPS
#undef TVM_BURN
#undef TVM_READ
#endif

using Vector4 = float __attribute__((vector_size(16)));

double BurnPortable() {
  constexpr int kSums = 16;
  volatile float start = 0.25f;
  Vector4 sums[kSums] = {};
  const Vector4 scale = {0.5f, 0.5f, 0.5f, 0.5f}, add = {start, start, start, start};
  for (int64_t r = 0; r < kRounds; ++r) {
    for (Vector4& sum : sums) sum = sum * scale + add;
  }
  for (const Vector4& sum : sums) start = start + sum[0];
  return 2.0 * kRounds * kSums * 4;
}

double ReadPortable(const char* data, size_t size) {
  const auto* words = reinterpret_cast<const uint64_t*>(data);
  const size_t count = size / sizeof(uint64_t) / 4 * 4;
  // Several sums, so that loads and not additions set the pace.
  uint64_t a = 0, b = 0, c = 0, d = 0;
  for (size_t i = 0; i < count; i += 4) {
    a ^= words[i];
    b ^= words[i + 1];
    c ^= words[i + 2];
    d ^= words[i + 3];
  }
  volatile uint64_t sink = a ^ b ^ c ^ d;
  (void)sink;
  return static_cast<double>(count * sizeof(uint64_t));
}

struct Probes {
  Burn burn = BurnPortable;
  /// Null where there is no instruction for them; float32 may still be faster.
  Burn bf16 = nullptr;
  Burn int8 = nullptr;
  Read read = ReadPortable;
};

Probes BestProbes() {
  Probes probes;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    probes = {BurnAvx2, nullptr, BurnInt8Avx2, ReadAvx2};
    if (__builtin_cpu_supports("avxvnni")) probes.int8 = BurnInt8Vnni;
  }
  if (__builtin_cpu_supports("avx512f")) {
    probes.burn = BurnAvx512;
    probes.read = ReadAvx512;
    if (__builtin_cpu_supports("avx512bf16")) probes.bf16 = BurnBf16;
    if (__builtin_cpu_supports("avx512vnni")) probes.int8 = BurnInt8Avx512;
  }
#endif
  return probes;
}

/// Runs `work(thread)` on several threads until the time is over; the sum of what each did in a
/// second of its own, in the best of the rounds.
double Rate(int threads, double seconds, const std::function<double(int)>& work) {
  double best = 0;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  do {
    std::vector<double> rates(static_cast<size_t>(threads));
    auto timed = [&](int t) {
      const auto start = Clock::now();
      const double done = work(t);
      rates[static_cast<size_t>(t)] =
          done / std::chrono::duration<double>(Clock::now() - start).count();
    };
    std::vector<std::thread> pool;
    for (int t = 1; t < threads; ++t) pool.emplace_back(timed, t);
    timed(0);
    for (std::thread& thread : pool) thread.join();
    double sum = 0;
    for (double rate : rates) sum += rate;
    best = std::max(best, sum);
  } while (Clock::now() < end);
  return best;
}

/// What `threads` threads attain in a second: bytes read as "bandwidth", and under the name of each
/// type the operations on operands of it.
ffi::Map<ffi::String, double> MeasureMachine(int64_t threads, int64_t buffer_bytes,
                                             double seconds) {
  TVM_FFI_CHECK(threads >= 1 && threads <= 1024, ValueError)
      << "threads must be in 1..1024, got " << threads;
  TVM_FFI_CHECK(buffer_bytes >= 4096 && buffer_bytes <= (int64_t{1} << 34), ValueError)
      << "the buffer must have 4 KiB to 16 GiB, got " << buffer_bytes << " bytes";
  TVM_FFI_CHECK(seconds > 0 && seconds <= 60, ValueError)
      << "seconds must be above 0 and at most 60, got " << seconds;
  const int count = static_cast<int>(threads);
  const Probes probes = BestProbes();
  auto attained = [&](Burn burn) {
    return Rate(count, seconds, [&](int) {
      double done = 0;
      for (int i = 0; i < 8; ++i) done += burn();
      return done;
    });
  };
  const double wide = attained(probes.burn);
  ffi::Map<ffi::String, double> rates{{"float32", wide}};
  rates.Set("bfloat16", probes.bf16 == nullptr ? wide : std::max(wide, attained(probes.bf16)));
  rates.Set("int8", probes.int8 == nullptr ? wide : std::max(wide, attained(probes.int8)));
  const size_t part = static_cast<size_t>(buffer_bytes) / static_cast<size_t>(count) / 64 * 64;
  std::vector<char> data(part * static_cast<size_t>(count), 3);
  const double bandwidth = Rate(count, seconds, [&](int t) {
    return probes.read(data.data() + part * static_cast<size_t>(t), part);
  });
  rates.Set("bandwidth", bandwidth);
  return rates;
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = ffi::reflection;
  refl::GlobalDef().def("driver.MeasureMachine", MeasureMachine);
}

}  // namespace driver
}  // namespace tvm
