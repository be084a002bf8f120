// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
// What the machine can do: multiply-adds in single precision, of bytes and of bfloat16, and bytes
// read a second.
//
//   cc -O3 -march=native -ffp-contract=fast -pthread peaks.c -o peaks
//
// Reads lines "KIND SECONDS THREADS [MIB KIB]" and answers each with one number: fma, vnni and bf16
// in G multiply-adds and additions a second on all threads, the best of several short runs (0: the
// processor has no such instruction); read in GB/s over MIB, in pieces of KIB. gemm.py starts it
// beside the engines, so that a rate and its peak come from the same moments.
#define _GNU_SOURCE
#if defined(__AVX512VNNI__) || defined(__AVX512BF16__)
#include <immintrin.h>
#endif
#include <pthread.h>
#include <stdatomic.h>
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
  int threads;
  size_t piece;  // floats that are read at once
  int stop;
  atomic_int arrived, round;
} Team;

typedef struct {
  double seconds, rate;
  int index;
  Team* team;
  const float* data;
  size_t count;
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

// Where all threads wait for each other, without sleeping.
static void Meet(Team* team) {
  const int round = atomic_load(&team->round);
  if (atomic_fetch_add(&team->arrived, 1) == team->threads - 1) {
    atomic_store(&team->arrived, 0);
    atomic_fetch_add(&team->round, 1);
  } else {
    while (atomic_load(&team->round) == round) {
    }
  }
}

static int Less(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

// A piece after the other, as matrix-vector products read their weights: threads share out each
// piece and wait for each other after it. The rate is that of the piece in the middle: one of the
// slow ones may be a neighbour's doing, one of the fast ones luck.
static void* Read(void* arg) {
  Job* job = (Job*)arg;
  Team* team = job->team;
  enum { kStreams = 8, kStep = kStreams * LANES, kMostPieces = 1 << 16 };
  static double times[kMostPieces];  // of the first thread
  const size_t pieces = job->count / team->piece;
  const size_t share = team->piece / (size_t)team->threads / kStep * kStep;
  const float* own = job->data + share * (size_t)job->index;
  const double end = Now() + job->seconds;
  int done = 0;
  Meet(team);
  for (;; ++done) {
    if (job->index == 0) team->stop = done == kMostPieces || (done > 0 && Now() > end);
    Meet(team);
    if (team->stop) break;
    const double t = Now();
    const float* data = own + team->piece * ((size_t)done % pieces);
    Vec sum[kStreams];
#pragma GCC unroll 8
    for (int i = 0; i < kStreams; ++i) sum[i] = (Vec){0};
    for (size_t at = 0; at < share; at += kStep) {
#pragma GCC unroll 8
      for (int i = 0; i < kStreams; ++i) sum[i] += *(const Vec*)(data + at + i * LANES);
    }
#pragma GCC unroll 8
    for (int i = 0; i < kStreams; ++i) KEEP(sum[i]);
    Meet(team);
    if (job->index == 0) times[done] = Now() - t;
  }
  job->rate = 0;
  if (job->index == 0) {
    qsort(times, (size_t)done, sizeof(times[0]), Less);
    job->rate = 4.0 * (double)(share * (size_t)team->threads) / times[done / 2] * 1e-9;
  }
  return NULL;
}

static double RunAll(void* (*body)(void*), double seconds, Team* team, const float* data,
                     size_t count) {
  enum { kMost = 256 };
  pthread_t ids[kMost];
  Job jobs[kMost];
  if (team->threads > kMost) team->threads = kMost;
  for (int i = 0; i < team->threads; ++i) {
    jobs[i] = (Job){seconds, 0, i, team, data, count};
    if (i > 0) pthread_create(&ids[i], NULL, body, &jobs[i]);
  }
  body(&jobs[0]);
  double rate = jobs[0].rate;
  for (int i = 1; i < team->threads; ++i) {
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
    int threads = 1, mib = 256, kib = 4096;
    if (sscanf(line, "%15s %lf %d %d %d", what, &seconds, &threads, &mib, &kib) < 2) return 1;
    if (threads < 1 || mib < 1 || kib < 64 * threads || kib / 1024 > mib) return 1;
    Team team = {threads, (size_t)kib * 256, 0, 0, 0};
    double rate = 0;
    if (strcmp(what, "fma") == 0) {
      rate = RunAll(Fma, seconds, &team, NULL, 0);
    } else if (strcmp(what, "vnni") == 0 || strcmp(what, "bf16") == 0) {
      void* (*body)(void*) = what[0] == 'v' ? Vnni : Bf16;
      if (body != NULL) rate = RunAll(body, seconds, &team, NULL, 0);
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
      rate = RunAll(Read, seconds, &team, data, count);
    } else {
      return 1;
    }
    printf("%.3f\n", rate);
    fflush(stdout);
  }
  free(data);
  return 0;
}
