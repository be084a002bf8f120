// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
//
// For src/kernels/cross_testing.h: the main program around one compiled function on another
// processor. Reads tensors from a file, calls the function on all of them, writes their data.
//
//   cross_main IN OUT
//   IN: int64 count; each: int64 ndim, code and bits of the elements, extents[ndim]; data
//   OUT: the data of each
#include <dlpack/dlpack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tvm/ffi/c_api.h>

int __tvm_ffi_main(void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result);

// What the argument checks need of libtvm_ffi.
static void Fail(const char* kind, const char* message) {
  fprintf(stderr, "%s: %s\n", kind, message);
  exit(1);
}
void TVMFFIErrorSetRaisedFromCStr(const char* kind, const char* message) { Fail(kind, message); }
void TVMFFIErrorSetRaisedFromCStrParts(const char* kind, const char** parts, int32_t count) {
  for (int32_t i = 0; i < count; ++i) fprintf(stderr, "%s", parts[i] ? parts[i] : "");
  Fail(kind, "");
}

int TVMFFIObjectDecRef(TVMFFIObjectHandle object) { return 0; }
int TVMFFIEnvModLookupFromImports(TVMFFIObjectHandle context, const char* name,
                                  TVMFFIObjectHandle* out) {
  Fail("RuntimeError", name);
  return -1;
}

enum { kMostArgs = 16, kMostDims = 8 };

static void Move(int ok) {
  if (!ok) Fail("IOError", "short read or write");
}

int main(int argc, char** argv) {
  if (argc != 3) Fail("ValueError", "expected an input and an output file");
  static DLTensor tensors[kMostArgs];
  static int64_t shapes[kMostArgs][kMostDims];
  static size_t sizes[kMostArgs];
  static TVMFFIAny args[kMostArgs];
  FILE* file = fopen(argv[1], "rb");
  int64_t count = 0;
  Move(file != NULL && fread(&count, sizeof count, 1, file) == 1 && count <= kMostArgs);
  for (int64_t i = 0; i < count; ++i) {
    int64_t head[3];  // dimensions, code and bits
    Move(fread(head, sizeof *head, 3, file) == 3 && head[0] <= kMostDims);
    const size_t ndim = (size_t)head[0];
    Move(fread(shapes[i], sizeof(int64_t), ndim, file) == ndim);
    sizes[i] = (size_t)head[2] / 8;
    for (size_t d = 0; d < ndim; ++d) sizes[i] *= (size_t)shapes[i][d];
    tensors[i].data = aligned_alloc(64, (sizes[i] + 127) / 64 * 64);
    Move(fread(tensors[i].data, 1, sizes[i], file) == sizes[i]);
    tensors[i].device.device_type = kDLCPU;
    tensors[i].ndim = (int32_t)ndim;
    tensors[i].dtype = (DLDataType){(uint8_t)head[1], (uint8_t)head[2], 1};
    tensors[i].shape = shapes[i];
    args[i].type_index = kTVMFFIDLTensorPtr;
    args[i].v_ptr = &tensors[i];
  }
  fclose(file);
  TVMFFIAny result;
  memset(&result, 0, sizeof result);
  if (__tvm_ffi_main(NULL, args, (int32_t)count, &result) != 0) Fail("RuntimeError", "call failed");
  file = fopen(argv[2], "wb");
  Move(file != NULL);
  for (int64_t i = 0; i < count; ++i) {
    Move(fwrite(tensors[i].data, 1, sizes[i], file) == sizes[i]);
  }
  return fclose(file) != 0;
}
