// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
//
// For src/kernels/isa_test.cc: the main program around one compiled function on another processor.
// Reads float tensors from a file, calls the function on all of them, writes them back.
//
//   cross_main IN OUT; a file is: int64 count; each: int64 ndim, int64 extents[ndim], float data[]
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
  static int64_t counts[kMostArgs];
  static TVMFFIAny args[kMostArgs];
  FILE* file = fopen(argv[1], "rb");
  int64_t count = 0;
  Move(file != NULL && fread(&count, sizeof count, 1, file) == 1 && count <= kMostArgs);
  for (int64_t i = 0; i < count; ++i) {
    int64_t ndim;
    Move(fread(&ndim, sizeof ndim, 1, file) == 1 && ndim <= kMostDims);
    Move(fread(shapes[i], sizeof(int64_t), (size_t)ndim, file) == (size_t)ndim);
    counts[i] = 1;
    for (int64_t d = 0; d < ndim; ++d) counts[i] *= shapes[i][d];
    size_t bytes = (size_t)counts[i] * sizeof(float);
    tensors[i].data = aligned_alloc(64, (bytes + 127) / 64 * 64);
    Move(fread(tensors[i].data, sizeof(float), (size_t)counts[i], file) == (size_t)counts[i]);
    tensors[i].device.device_type = kDLCPU;
    tensors[i].ndim = (int32_t)ndim;
    tensors[i].dtype = (DLDataType){kDLFloat, 32, 1};
    tensors[i].shape = shapes[i];
    args[i].type_index = kTVMFFIDLTensorPtr;
    args[i].v_ptr = &tensors[i];
  }
  fclose(file);
  TVMFFIAny result;
  memset(&result, 0, sizeof result);
  if (__tvm_ffi_main(NULL, args, (int32_t)count, &result) != 0) Fail("RuntimeError", "call failed");
  file = fopen(argv[2], "wb");
  Move(file != NULL && fwrite(&count, sizeof count, 1, file) == 1);
  for (int64_t i = 0; i < count; ++i) {
    int64_t ndim = tensors[i].ndim;
    Move(fwrite(&ndim, sizeof ndim, 1, file) == 1);
    Move(fwrite(shapes[i], sizeof(int64_t), (size_t)ndim, file) == (size_t)ndim);
    Move(fwrite(tensors[i].data, sizeof(float), (size_t)counts[i], file) == (size_t)counts[i]);
  }
  return fclose(file) != 0;
}
