// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file timer.h
/// Timers of device work and the repeated measurement of a function.
#ifndef TVM_RUNTIME_TIMER_H_
#define TVM_RUNTIME_TIMER_H_

#include <tvm/ffi/function.h>
#include <tvm/ffi/object.h>
#include <tvm/runtime/base.h>

#include <string>

namespace tvm {
namespace runtime {

/// One measurement; a device registers `runtime.timer.<device>(dev)` to offer its own.
class TimerNode : public ffi::Object {
 public:
  virtual ~TimerNode() = default;
  virtual void Start() = 0;
  virtual void Stop() = 0;
  /// Waits for the device if needed.
  virtual int64_t SyncAndGetElapsedNanos() = 0;

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO("runtime.TimerNode", TimerNode, ffi::Object);
};

class Timer : public ffi::ObjectRef {
 public:
  /// Creates and starts a timer; devices without one are measured with stream synchronization.
  TVM_RUNTIME_DLL static Timer Start(Device dev);
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Timer, ffi::ObjectRef, TimerNode);
};

/// Function with f's arguments that returns Bytes of `repeat` doubles: seconds per call.
TVM_RUNTIME_DLL ffi::Function WrapTimeEvaluator(ffi::Function f, Device dev, int number, int repeat,
                                                int min_repeat_ms, int limit_zero_time_iterations,
                                                int cooldown_interval_ms, int repeats_to_cooldown,
                                                int64_t cache_flush_bytes = 0,
                                                ffi::Function f_preproc = nullptr);

}  // namespace runtime
}  // namespace tvm

#endif  // TVM_RUNTIME_TIMER_H_
