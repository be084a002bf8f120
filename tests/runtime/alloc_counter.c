// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
// LD_PRELOAD library that counts heap and map calls between two marker calls.
//
//   cc -shared -fPIC -O1 -o liballoc_counter.so alloc_counter.c -ldl
//
// The program under test finds the markers with dlsym(RTLD_DEFAULT, ...) and does without them when
// the library is not preloaded:
//
//   void alloc_counter_begin(void);            starts counting on all threads, from zero
//   void alloc_counter_end(long counts[4]);    stops; malloc-like, free, mmap, munmap calls
//
// With ALLOC_COUNTER_TRAP=1 in the environment the first counted call aborts, to show its stack in
// a debugger.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

extern void* __libc_malloc(size_t);
extern void __libc_free(void*);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);

static atomic_int counting;
static atomic_int trap;
static atomic_long counts[4];

static void Count(int kind) {
  if (!atomic_load_explicit(&counting, memory_order_relaxed)) return;
  atomic_fetch_add_explicit(&counts[kind], 1, memory_order_relaxed);
  if (atomic_load_explicit(&trap, memory_order_relaxed)) __builtin_trap();
}

__attribute__((visibility("default"))) void alloc_counter_begin(void) {
  const char* value = getenv("ALLOC_COUNTER_TRAP");
  atomic_store(&trap, value != NULL && strcmp(value, "1") == 0);
  for (int i = 0; i < 4; ++i) atomic_store(&counts[i], 0);
  atomic_store(&counting, 1);
}

__attribute__((visibility("default"))) void alloc_counter_end(long out[4]) {
  atomic_store(&counting, 0);
  for (int i = 0; i < 4; ++i) out[i] = atomic_load(&counts[i]);
}

void* malloc(size_t size) {
  Count(0);
  return __libc_malloc(size);
}
void* calloc(size_t n, size_t size) {
  Count(0);
  return __libc_calloc(n, size);
}
void* realloc(void* ptr, size_t size) {
  Count(0);
  return __libc_realloc(ptr, size);
}
void* memalign(size_t alignment, size_t size) {
  Count(0);
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  Count(0);
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** out, size_t alignment, size_t size) {
  Count(0);
  void* ptr = __libc_memalign(alignment, size);
  if (ptr == NULL) return 12;  // ENOMEM
  *out = ptr;
  return 0;
}
void free(void* ptr) {
  if (ptr != NULL) Count(1);
  __libc_free(ptr);
}
void* mmap(void* addr, size_t length, int prot, int flags, int fd, off_t offset) {
  static void* (*real)(void*, size_t, int, int, int, off_t);
  if (real == NULL) real = (void* (*)(void*, size_t, int, int, int, off_t))dlsym(RTLD_NEXT, "mmap");
  Count(2);
  return real(addr, length, prot, flags, fd, offset);
}
int munmap(void* addr, size_t length) {
  static int (*real)(void*, size_t);
  if (real == NULL) real = (int (*)(void*, size_t))dlsym(RTLD_NEXT, "munmap");
  Count(3);
  return real(addr, length);
}
