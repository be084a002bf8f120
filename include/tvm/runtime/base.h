// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file base.h
/// Export macros and constants shared by the runtime and the compiler.
#ifndef TVM_RUNTIME_BASE_H_
#define TVM_RUNTIME_BASE_H_

#include <tvm/ffi/c_api.h>

#include <cstddef>
#include <cstdint>

#if defined(__EMSCRIPTEN__)
#include <emscripten/emscripten.h>
#define TVM_DLL_EXPORT EMSCRIPTEN_KEEPALIVE
#define TVM_DLL EMSCRIPTEN_KEEPALIVE
#define TVM_RUNTIME_DLL_EXPORT EMSCRIPTEN_KEEPALIVE
#define TVM_RUNTIME_DLL EMSCRIPTEN_KEEPALIVE
#elif defined(_MSC_VER)
#define TVM_DLL_EXPORT __declspec(dllexport)
#define TVM_RUNTIME_DLL_EXPORT __declspec(dllexport)
#ifdef TVM_EXPORTS
#define TVM_DLL __declspec(dllexport)
#else
#define TVM_DLL __declspec(dllimport)
#endif
#ifdef TVM_RUNTIME_EXPORTS
#define TVM_RUNTIME_DLL __declspec(dllexport)
#else
#define TVM_RUNTIME_DLL __declspec(dllimport)
#endif
#else
#define TVM_DLL_EXPORT __attribute__((visibility("default")))
#define TVM_DLL __attribute__((visibility("default")))
#define TVM_RUNTIME_DLL_EXPORT __attribute__((visibility("default")))
#define TVM_RUNTIME_DLL __attribute__((visibility("default")))
#endif

/// Version of the compiler and of its runtime.
#define TVM_VERSION "0.1.0"

namespace tvm {

using Device = DLDevice;
/// Opaque handle of a device's command stream; null is the default stream.
using TVMStreamHandle = void*;

namespace runtime {

/// Alignment of every buffer that the runtime hands out, in bytes.
inline constexpr int kAllocAlignment = 64;
/// Alignment of temporaries inside generated code, in bytes.
inline constexpr int kTempAllocaAlignment = 64;
/// Largest temporary that generated code may keep on the stack, in bytes.
inline constexpr int kMaxStackAlloca = 1024;

}  // namespace runtime
}  // namespace tvm

#endif  // TVM_RUNTIME_BASE_H_
