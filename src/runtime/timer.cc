// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file timer.cc
/// Timers, and the evaluator that repeats a function until the measurement is long enough.
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/runtime/device_api.h>
#include <tvm/runtime/logging.h>
#include <tvm/runtime/tensor.h>
#include <tvm/runtime/timer.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace tvm {
namespace runtime {

namespace {

using Clock = std::chrono::steady_clock;

int64_t NanosBetween(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(end - begin).count();
}

class CPUTimerNode final : public TimerNode {
 public:
  void Start() final { begin_ = Clock::now(); }
  void Stop() final { elapsed_ = NanosBetween(begin_, Clock::now()); }
  int64_t SyncAndGetElapsedNanos() final { return elapsed_; }

 private:
  Clock::time_point begin_;
  int64_t elapsed_ = 0;
};

/// Host time around work that a stream must finish.
class StreamSyncTimerNode final : public TimerNode {
 public:
  explicit StreamSyncTimerNode(Device dev) : dev_(dev) {}
  void Start() final {
    Sync();
    begin_ = Clock::now();
  }
  void Stop() final {
    Sync();
    elapsed_ = NanosBetween(begin_, Clock::now());
  }
  int64_t SyncAndGetElapsedNanos() final { return elapsed_; }

 private:
  void Sync() {
    DeviceAPI* api = DeviceAPI::Get(dev_);
    api->StreamSync(dev_, api->GetCurrentStream(dev_));
  }
  Device dev_;
  Clock::time_point begin_;
  int64_t elapsed_ = 0;
};

/// Reads and writes a region as large as the caches.
void FlushCache(std::vector<int64_t>* region) {
  for (int64_t& cell : *region) ++cell;
}

struct EvaluatorOptions {
  Device dev;
  int number;
  int repeat;
  int min_repeat_ms;
  int limit_zero_time_iterations;
  int cooldown_interval_ms;
  int repeats_to_cooldown;
  int64_t cache_flush_bytes;
};

void Evaluate(const EvaluatorOptions& opt, const ffi::Function& f, const ffi::Function& preproc,
              ffi::PackedArgs args, ffi::Any* rv) {
  ffi::Any ignored;
  f.CallPacked(args.data(), args.size(), &ignored);
  DeviceAPI* api = DeviceAPI::Get(opt.dev);
  api->StreamSync(opt.dev, api->GetCurrentStream(opt.dev));
  std::vector<int64_t> flush(static_cast<size_t>(opt.cache_flush_bytes) / sizeof(int64_t));
  std::string out;
  int64_t number = opt.number;
  for (int i = 0; i < opt.repeat; ++i) {
    if (preproc != nullptr) preproc.CallPacked(args.data(), args.size(), &ignored);
    double nanos = 0;
    int zero_runs = 0;
    for (;;) {
      FlushCache(&flush);
      Timer timer = Timer::Start(opt.dev);
      for (int64_t k = 0; k < number; ++k) f.CallPacked(args.data(), args.size(), &ignored);
      timer->Stop();
      nanos = static_cast<double>(timer->SyncAndGetElapsedNanos());
      double ms = nanos / 1e6;
      if (ms >= opt.min_repeat_ms) break;
      // A clock that cannot see the work must not make this loop endless.
      if (nanos == 0 && ++zero_runs >= opt.limit_zero_time_iterations) break;
      double per_call = ms / static_cast<double>(number);
      double wanted = per_call > 0 ? opt.min_repeat_ms / per_call + 1 : 0;
      double next = std::max(wanted, static_cast<double>(number) * 1.618);
      number = static_cast<int64_t>(std::min(std::ceil(next), 1e12));
    }
    double seconds = nanos / 1e9 / static_cast<double>(number);
    out.append(reinterpret_cast<const char*>(&seconds), sizeof(seconds));
    if (opt.cooldown_interval_ms > 0 && opt.repeats_to_cooldown > 0 &&
        i % opt.repeats_to_cooldown == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(opt.cooldown_interval_ms));
    }
  }
  *rv = ffi::Bytes(std::move(out));
}

/// Streams through memory so that the arguments after the first leave the caches.
void FlushNonFirstArgs(ffi::PackedArgs args, ffi::Any* rv) {
#if defined(__x86_64__)
  for (int i = 1; i < args.size(); ++i) {
    if (args[i].type_index() != ffi::TypeIndex::kTVMFFITensor) continue;
    const DLTensor* t = args[i].cast<DLTensor*>();
    if (t->device.device_type != kDLCPU) continue;
    auto* p = static_cast<char*>(t->data) + t->byte_offset;
    size_t n = ffi::GetDataSize(*t);
    for (size_t k = 0; k < n; k += 64) __builtin_ia32_clflush(p + k);
  }
  __builtin_ia32_mfence();
#else
  TVM_FFI_THROW(RuntimeError) << "cache_flush_cpu_non_first_arg is available on x86 only";
#endif
}

}  // namespace

Timer Timer::Start(Device dev) {
  auto factory = ffi::Function::GetGlobal("runtime.timer." + DeviceTypeName(dev.device_type));
  if (factory.has_value()) {
    auto timer = (*factory)(dev).cast<Timer>();
    timer->Start();
    return timer;
  }
  static std::atomic<uint64_t> warned{0};
  uint64_t bit = uint64_t{1} << (static_cast<unsigned>(dev.device_type) % 64);
  if ((warned.fetch_or(bit) & bit) == 0) {
    LOG(WARNING) << "no timer for " << DeviceTypeName(dev.device_type)
                 << "; measuring with stream synchronization, which adds its own cost";
  }
  Timer timer(ffi::ObjectPtr<TimerNode>(ffi::make_object<StreamSyncTimerNode>(dev)));
  timer->Start();
  return timer;
}

ffi::Function WrapTimeEvaluator(ffi::Function f, Device dev, int number, int repeat,
                                int min_repeat_ms, int limit_zero_time_iterations,
                                int cooldown_interval_ms, int repeats_to_cooldown,
                                int64_t cache_flush_bytes, ffi::Function f_preproc) {
  TVM_REQUIRE(f != nullptr, ValueError) << "the time evaluator needs a function";
  TVM_REQUIRE(number > 0 && repeat > 0 && min_repeat_ms >= 0 && cache_flush_bytes >= 0, ValueError)
      << "the time evaluator needs positive number and repeat, got " << number << " and " << repeat;
  EvaluatorOptions opt{dev,
                       number,
                       repeat,
                       min_repeat_ms,
                       limit_zero_time_iterations,
                       cooldown_interval_ms,
                       repeats_to_cooldown,
                       cache_flush_bytes};
  return ffi::Function::FromPacked(
      [opt, f = std::move(f), f_preproc = std::move(f_preproc)](
          ffi::PackedArgs args, ffi::Any* rv) { Evaluate(opt, f, f_preproc, args, rv); });
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::ObjectDef<TimerNode>(refl::init(false));
  refl::GlobalDef()
      .def("runtime.timer.cpu",
           [](Device dev) {
             return Timer(ffi::ObjectPtr<TimerNode>(ffi::make_object<CPUTimerNode>()));
           })
      .def_packed("cache_flush_cpu_non_first_arg", FlushNonFirstArgs)
      .def("runtime.RPCTimeEvaluator",
           [](ffi::Optional<ffi::Module> mod, const ffi::String& name, int device_type,
              int device_id, int number, int repeat, int min_repeat_ms,
              int limit_zero_time_iterations, int cooldown_interval_ms, int repeats_to_cooldown,
              int64_t cache_flush_bytes, const ffi::String& f_preproc_name) {
             Device dev{static_cast<DLDeviceType>(device_type), device_id};
             ffi::Function f(nullptr), preproc(nullptr);
             if (mod.has_value()) {
               auto found = mod.value()->GetFunction(name, false);
               TVM_REQUIRE(found.has_value(), AttributeError)
                   << "Module has no function '" << name << "'";
               f = *found;
             } else {
               f = ffi::Function::GetGlobalRequired(name);
             }
             if (!f_preproc_name.empty()) {
               preproc = ffi::Function::GetGlobalRequired(f_preproc_name);
             }
             return WrapTimeEvaluator(f, dev, number, repeat, min_repeat_ms,
                                      limit_zero_time_iterations, cooldown_interval_ms,
                                      repeats_to_cooldown, cache_flush_bytes, preproc);
           });
}

}  // namespace runtime
}  // namespace tvm
