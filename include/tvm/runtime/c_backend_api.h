// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file c_backend_api.h
/// C functions that compiled code calls. A library that exports a writable pointer variable
/// `__<name>` receives the function's address when it is loaded.
#ifndef TVM_RUNTIME_C_BACKEND_API_H_
#define TVM_RUNTIME_C_BACKEND_API_H_

#include <tvm/runtime/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Scratch memory of the calling thread, aligned to 64 bytes; null on failure.
TVM_RUNTIME_DLL void* TVMBackendAllocWorkspace(int device_type, int device_id, uint64_t nbytes,
                                               int dtype_code_hint, int dtype_bits_hint);
/// Returns 0, or -1 with the error raised.
TVM_RUNTIME_DLL int TVMBackendFreeWorkspace(int device_type, int device_id, void* ptr);

/// What the tasks of one launch share.
typedef struct {
  void* sync_handle;
  int32_t num_task;
} TVMParallelGroupEnv;

typedef int (*FTVMParallelLambda)(int task_id, TVMParallelGroupEnv* penv, void* cdata);

/// Runs flambda for each task id; num_task 0 stands for as many tasks as there are workers. Returns
/// when all are done: 0, or -1 with the first failed task's error raised.
TVM_RUNTIME_DLL int TVMBackendParallelLaunch(FTVMParallelLambda flambda, void* cdata, int num_task);
/// Waits until every task of the launch got here.
TVM_RUNTIME_DLL int TVMBackendParallelBarrier(int task_id, TVMParallelGroupEnv* penv);

#ifdef __cplusplus
}  // extern "C"
#endif
#endif  // TVM_RUNTIME_C_BACKEND_API_H_
