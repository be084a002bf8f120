// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
// What the machine can do: multiply-adds in single precision, of bytes and of bfloat16, and bytes
// read a second.
//
//   cc -O3 -march=native -ffp-contract=fast -pthread peaks.c -o peaks
//
// Reads lines "KIND SECONDS THREADS [MIB]" and answers each with one number, the best of several
// short runs on all threads: fma, vnni and bf16 in G multiply-adds and additions a second (0: the
// processor has no such instruction), read in GB/s over MIB. gemm.py starts it beside
// the engines, so that a rate and its peak come from the same moments.
#define _GNU_SOURCE
#if defined(__AVX512VNNI__) || defined(__AVX512BF16__)
#include <immintrin.h>
#endif
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#if defined(__AVX512F__)
#define LANES 16
#define CHAINS 24
#elif defined(__AVX__)
#define LANES 8
#define CHAINS 12
#else
#define LANES 4
#define CHAINS 12
#endif
typedef float Vec __attribute__((vector_size(4 * LANES)));

static double Now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

typedef struct {
  double seconds, rate;
  const float* data;
  size_t count;  // floats of this thread
} Job;

#if defined(__x86_64__)
#define KEEP(V) __asm__ volatile("" : "+v"(V))  // in a register, not known to the compiler
#elif defined(__aarch64__)
#define KEEP(V) __asm__ volatile("" : "+w"(V))
#else
#define KEEP(V) __asm__ volatile("" : "+m"(V))
#endif
#define TWELVE(F, P) \
  F(P##0) F(P##1) F(P##2) F(P##3) F(P##4) F(P##5) F(P##6) F(P##7) F(P##8) F(P##9) F(P##a) F(P##b)
#if CHAINS == 24
#define EACH(F) TWELVE(F, s) TWELVE(F, r)
#else
#define EACH(F) TWELVE(F, s)
#endif
#define DECLARE(V) Vec V = {0};
#define STEP(V)  \
  V = V * x + y; \
  KEEP(V);
#define ADD(V) sink += V[0];

// Independent chains hide the latency of a multiply-add; none of them touches memory.
static void* Fma(void* arg) {
  Job* job = (Job*)arg;
  EACH(DECLARE)
  Vec x = (Vec){0} + 0.5f, y = (Vec){0} + 1.0f;
  KEEP(x);
  KEEP(y);
  const long steps = 200000;
  job->rate = 0;
  for (double end = Now() + job->seconds; Now() < end;) {
    double t = Now();
    for (long k = 0; k < steps; ++k) {
      EACH(STEP)
    }
    double rate = 2.0 * LANES * CHAINS * (double)steps / (Now() - t) * 1e-9;
    if (rate > job->rate) job->rate = rate;
  }
  volatile float sink = 0;
  EACH(ADD)
  return NULL;
}

// The same chains of an instruction that multiplies narrow elements into 16 sums of 32 bits.
#define DECLARE_DOT(V) Sum V = zero;
#define DOT_STEP(V) \
  V = DOT(V, x, y); \
  KEEP(V);
#define DEFINE_DOT(NAME, MACS, SUM, OPERAND)                                    \
  static void* NAME(void* arg) {                                                \
    typedef SUM Sum;                                                            \
    Job* job = (Job*)arg;                                                       \
    const Sum zero = {0};                                                       \
    OPERAND x = {0}, y = {0};                                                   \
    KEEP(x);                                                                    \
    KEEP(y);                                                                    \
    EACH(DECLARE_DOT)                                                           \
    const long steps = 200000;                                                  \
    job->rate = 0;                                                              \
    for (double end = Now() + job->seconds; Now() < end;) {                     \
      double t = Now();                                                         \
      for (long k = 0; k < steps; ++k) {                                        \
        EACH(DOT_STEP)                                                          \
      }                                                                         \
      double rate = 2.0 * (MACS) * CHAINS * (double)steps / (Now() - t) * 1e-9; \
      if (rate > job->rate) job->rate = rate;                                   \
    }                                                                           \
    return NULL;                                                                \
  }
#ifdef __AVX512VNNI__
#define DOT _mm512_dpbusd_epi32
DEFINE_DOT(Vnni, 64, __m512i, __m512i)
#undef DOT
#else
#define Vnni NULL
#endif
#ifdef __AVX512BF16__
#define DOT _mm512_dpbf16_ps
DEFINE_DOT(Bf16, 32, __m512, __m512bh)
#undef DOT
#else
#define Bf16 NULL
#endif

static void* Read(void* arg) {
  Job* job = (Job*)arg;
  enum { kStreams = 8, kStep = kStreams * LANES };
  job->rate = 0;
  for (double end = Now() + job->seconds; Now() < end;) {
    Vec sum[kStreams];
    for (int i = 0; i < kStreams; ++i) sum[i] = (Vec){0};
    double t = Now();
    for (size_t at = 0; at + kStep <= job->count; at += kStep) {
#pragma GCC unroll 8
      for (int i = 0; i < kStreams; ++i) sum[i] += *(const Vec*)(job->data + at + i * LANES);
    }
    double rate = 4.0 * (double)job->count / (Now() - t) * 1e-9;
    if (rate > job->rate) job->rate = rate;
    volatile float sink = 0;
    for (int i = 0; i < kStreams; ++i) sink += sum[i][0];
  }
  return NULL;
}

static double RunAll(void* (*body)(void*), double seconds, int threads, const float* data,
                     size_t count) {
  enum { kMost = 256 };
  pthread_t ids[kMost];
  Job jobs[kMost];
  if (threads > kMost) threads = kMost;
  for (int i = 0; i < threads; ++i) {
    size_t part = count / (size_t)threads / 1024 * 1024;
    jobs[i] = (Job){seconds, 0, data == NULL ? NULL : data + part * (size_t)i, part};
    if (i > 0) pthread_create(&ids[i], NULL, body, &jobs[i]);
  }
  body(&jobs[0]);
  double rate = jobs[0].rate;
  for (int i = 1; i < threads; ++i) {
    pthread_join(ids[i], NULL);
    rate += jobs[i].rate;
  }
  return rate;
}

int main(void) {
  char line[128], what[16];
  float* data = NULL;
  size_t count = 0;
  while (fgets(line, sizeof(line), stdin) != NULL) {
    double seconds = 0;
    int threads = 1, mib = 256;
    if (sscanf(line, "%15s %lf %d %d", what, &seconds, &threads, &mib) < 2) return 1;
    if (threads < 1 || mib < 1) return 1;
    double rate = 0;
    if (strcmp(what, "fma") == 0) {
      rate = RunAll(Fma, seconds, threads, NULL, 0);
    } else if (strcmp(what, "vnni") == 0 || strcmp(what, "bf16") == 0) {
      void* (*body)(void*) = what[0] == 'v' ? Vnni : Bf16;
      if (body != NULL) rate = RunAll(body, seconds, threads, NULL, 0);
    } else if (strcmp(what, "read") == 0) {
      size_t wanted = ((size_t)mib + 1) / 2 * 2 * 262144;
      if (wanted != count) {
        free(data);
        enum { kHugePage = 1 << 21 };
        data = (float*)aligned_alloc(kHugePage, wanted * sizeof(float));
        if (data == NULL) return 1;
#ifdef MADV_HUGEPAGE
        madvise(data, wanted * sizeof(float), MADV_HUGEPAGE);  // as allocators of engines do
#endif
        count = wanted;
        for (size_t i = 0; i < count; ++i) data[i] = 1.0f;
      }
      rate = RunAll(Read, seconds, threads, data, count);
    } else {
      return 1;
    }
    printf("%.3f\n", rate);
    fflush(stdout);
  }
  free(data);
  return 0;
}
