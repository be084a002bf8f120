// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Surroundings of a call: streams and tensor allocators per thread, host signals.
#include <tvm/ffi/any.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/object.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tvm {
namespace ffi {
namespace {

/// Current stream of each device that has had one set on this thread.
class StreamTable {
 public:
  static StreamTable* ThisThread() {
    static thread_local StreamTable table;
    return &table;
  }

  TVMFFIStreamHandle Set(int32_t device_type, int32_t device_id, TVMFFIStreamHandle stream) {
    Entry* entry = Find(device_type, device_id);
    if (entry == nullptr) {
      entries_.push_back(Entry{device_type, device_id, nullptr});
      entry = &entries_.back();
    }
    return std::exchange(entry->stream, stream);
  }

  TVMFFIStreamHandle Get(int32_t device_type, int32_t device_id) {
    const Entry* entry = Find(device_type, device_id);
    return entry == nullptr ? nullptr : entry->stream;
  }

 private:
  struct Entry {
    int32_t device_type;
    int32_t device_id;
    TVMFFIStreamHandle stream;
  };

  Entry* Find(int32_t device_type, int32_t device_id) {
    auto it = std::find_if(entries_.begin(), entries_.end(), [=](const Entry& entry) {
      return entry.device_type == device_type && entry.device_id == device_id;
    });
    return it == entries_.end() ? nullptr : &*it;
  }

  std::vector<Entry> entries_;  // few devices: a scan beats hashing
};

std::atomic<DLPackManagedTensorAllocator> global_allocator{nullptr};
thread_local DLPackManagedTensorAllocator thread_allocator = nullptr;

/// What the allocator reports before it returns a failure.
struct AllocatorError {
  std::string kind = "RuntimeError";
  std::string message;

  static void Set(void* context, const char* kind, const char* message) {
    auto* self = static_cast<AllocatorError*>(context);
    if (kind != nullptr) self->kind = kind;
    if (message != nullptr) self->message = message;
  }
};

void AllocateTensor(DLTensor* prototype, TVMFFIObjectHandle* out) {
  const DLPackManagedTensorAllocator allocator = TVMFFIEnvGetDLPackManagedTensorAllocator();
  if (allocator == nullptr) {
    TVM_FFI_THROW(RuntimeError) << "TVMFFIEnvTensorAlloc: no allocator; a framework must set one "
                                   "with TVMFFIEnvSetDLPackManagedTensorAllocator";
  }
  AllocatorError error;
  DLManagedTensorVersioned* managed = nullptr;
  if (allocator(prototype, &managed, &error, &AllocatorError::Set) != 0) {
    if (error.message.empty()) error.message = "TVMFFIEnvTensorAlloc: the allocator failed";
    throw Error(error.kind, error.message, std::string());
  }
  TVM_FFI_CHECK_SAFE_CALL(TVMFFITensorFromDLPackVersioned(managed, 0, 0, out));
}

/// Python entry points, given by the binding so that this library links no interpreter.
struct HostSignals {
  std::atomic<int (*)()> check_signals{nullptr};
  std::atomic<int (*)()> gil_ensure{nullptr};
  std::atomic<void (*)(int)> gil_release{nullptr};

  static HostSignals* Global() {
    static auto* signals = new HostSignals();
    return signals;
  }

  void Register(std::string_view name, void* symbol) {
    if (name == "PyErr_CheckSignals") {
      check_signals = reinterpret_cast<int (*)()>(symbol);
    } else if (name == "PyGILState_Ensure") {
      gil_ensure = reinterpret_cast<int (*)()>(symbol);
    } else if (name == "PyGILState_Release") {
      gil_release = reinterpret_cast<void (*)(int)>(symbol);
    } else {
      TVM_FFI_THROW(ValueError) << "Unknown host API `" << std::string(name)
                                << "`: expected PyErr_CheckSignals, PyGILState_Ensure or "
                                   "PyGILState_Release";
    }
  }

  /// Non-zero when a signal handler has raised.
  int Check() {
    auto* check = check_signals.load();
    if (check == nullptr) return 0;
    auto* ensure = gil_ensure.load();
    auto* release = gil_release.load();
    if (ensure == nullptr || release == nullptr) return check();
    const int state = ensure();  // PyGILState_STATE, an enum
    const int status = check();
    release(state);
    return status;
  }
};

}  // namespace
}  // namespace ffi
}  // namespace tvm

int TVMFFIEnvSetStream(int32_t device_type, int32_t device_id, TVMFFIStreamHandle stream,
                       TVMFFIStreamHandle* opt_out_original_stream) {
  TVM_FFI_SAFE_CALL_BEGIN();
  TVMFFIStreamHandle old = tvm::ffi::StreamTable::ThisThread()->Set(device_type, device_id, stream);
  if (opt_out_original_stream != nullptr) *opt_out_original_stream = old;
  TVM_FFI_SAFE_CALL_END();
}

TVMFFIStreamHandle TVMFFIEnvGetStream(int32_t device_type, int32_t device_id) {
  return tvm::ffi::StreamTable::ThisThread()->Get(device_type, device_id);
}

int TVMFFIEnvSetDLPackManagedTensorAllocator(
    DLPackManagedTensorAllocator allocator, int write_to_global_context,
    DLPackManagedTensorAllocator* opt_out_original_allocator) {
  TVM_FFI_SAFE_CALL_BEGIN();
  DLPackManagedTensorAllocator old = tvm::ffi::thread_allocator;
  if (write_to_global_context != 0) {
    old = tvm::ffi::global_allocator.exchange(allocator);
  } else {
    tvm::ffi::thread_allocator = allocator;
  }
  if (opt_out_original_allocator != nullptr) *opt_out_original_allocator = old;
  TVM_FFI_SAFE_CALL_END();
}

DLPackManagedTensorAllocator TVMFFIEnvGetDLPackManagedTensorAllocator(void) {
  DLPackManagedTensorAllocator own = tvm::ffi::thread_allocator;
  return own != nullptr ? own : tvm::ffi::global_allocator.load();
}

int TVMFFIEnvTensorAlloc(DLTensor* prototype, TVMFFIObjectHandle* out) {
  TVM_FFI_SAFE_CALL_BEGIN();
  tvm::ffi::AllocateTensor(prototype, out);
  TVM_FFI_SAFE_CALL_END();
}

int TVMFFIEnvCheckSignals(void) {
  TVM_FFI_SAFE_CALL_BEGIN();
  if (tvm::ffi::HostSignals::Global()->Check() != 0) throw tvm::ffi::EnvErrorAlreadySet();
  TVM_FFI_SAFE_CALL_END();
}

int TVMFFIEnvRegisterCAPI(const char* name, void* symbol) {
  TVM_FFI_SAFE_CALL_BEGIN();
  tvm::ffi::HostSignals::Global()->Register(name, symbol);
  TVM_FFI_SAFE_CALL_END();
}
