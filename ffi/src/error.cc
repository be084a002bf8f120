// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

/// Error objects and the per-thread slot that carries them across C calls.
#include <tvm/ffi/error.h>
#include <tvm/ffi/memory.h>

#include <string>

namespace tvm {
namespace ffi {
namespace {

std::string ToString(const TVMFFIByteArray* text) {
  return text == nullptr || text->size == 0 ? std::string() : std::string(text->data, text->size);
}

/// Error with its texts in C++ strings.
class StringErrorObj : public ErrorObj {
 public:
  StringErrorObj(std::string kind, std::string message, std::string backtrace)
      : kind_(std::move(kind)), message_(std::move(message)), backtrace_(std::move(backtrace)) {
    this->kind = TVMFFIByteArray{kind_.data(), kind_.size()};
    this->message = TVMFFIByteArray{message_.data(), message_.size()};
    this->backtrace = TVMFFIByteArray{backtrace_.data(), backtrace_.size()};
    this->update_backtrace = UpdateBacktrace;
  }

 private:
  static void UpdateBacktrace(TVMFFIObjectHandle handle, const TVMFFIByteArray* text,
                              int32_t update_mode) {
    auto* self = static_cast<StringErrorObj*>(static_cast<Object*>(handle));
    if (update_mode == kTVMFFIBacktraceUpdateModeReplace) self->backtrace_.clear();
    self->backtrace_.append(text->data, text->size);
    self->backtrace = TVMFFIByteArray{self->backtrace_.data(), self->backtrace_.size()};
  }

  std::string kind_;
  std::string message_;
  std::string backtrace_;
};

ObjectPtr<ErrorObj> MakeError(std::string kind, std::string message, std::string backtrace) {
  return make_object<StringErrorObj>(std::move(kind), std::move(message), std::move(backtrace));
}

ObjectPtr<Object>& RaisedSlot() {
  static thread_local ObjectPtr<Object> raised;
  return raised;
}

void SetRaised(ObjectPtr<Object> error) { RaisedSlot() = std::move(error); }

TVMFFIObjectHandle Retained(TVMFFIObjectHandle handle) {
  detail::ObjectUnsafe::IncRefObjectHandle(handle);
  return handle;
}

}  // namespace
}  // namespace ffi
}  // namespace tvm

using tvm::ffi::Object;
using tvm::ffi::ObjectPtr;
using tvm::ffi::detail::ObjectUnsafe;

void TVMFFIErrorMoveFromRaised(TVMFFIObjectHandle* result) {
  *result = ObjectUnsafe::MoveObjectPtrToTVMFFIObjectPtr(std::move(tvm::ffi::RaisedSlot()));
}

void TVMFFIErrorSetRaised(TVMFFIObjectHandle error) {
  tvm::ffi::SetRaised(
      ObjectUnsafe::ObjectPtrFromUnowned<Object>(static_cast<TVMFFIObject*>(error)));
}

void TVMFFIErrorSetRaisedFromCStr(const char* kind, const char* message) {
  const char* parts[] = {message};
  TVMFFIErrorSetRaisedFromCStrParts(kind, parts, 1);
}

void TVMFFIErrorSetRaisedFromCStrParts(const char* kind, const char** message_parts,
                                       int32_t num_parts) {
  std::string message;
  for (int32_t i = 0; i < num_parts; ++i) {
    if (message_parts[i] != nullptr) message.append(message_parts[i]);
  }
  const TVMFFIByteArray* backtrace = TVMFFIBacktrace(nullptr, 0, nullptr, 0);
  tvm::ffi::SetRaised(tvm::ffi::MakeError(kind, std::move(message), tvm::ffi::ToString(backtrace)));
}

int TVMFFIErrorCreate(const TVMFFIByteArray* kind, const TVMFFIByteArray* message,
                      const TVMFFIByteArray* backtrace, TVMFFIObjectHandle* out) {
  return TVMFFIErrorCreateWithCauseAndExtraContext(kind, message, backtrace, nullptr, nullptr, out);
}

int TVMFFIErrorCreateWithCauseAndExtraContext(
    const TVMFFIByteArray* kind, const TVMFFIByteArray* message, const TVMFFIByteArray* backtrace,
    TVMFFIObjectHandle cause_chain, TVMFFIObjectHandle extra_context, TVMFFIObjectHandle* out) {
  // No TVM_FFI_SAFE_CALL here: reporting a failure would create an error again.
  try {
    ObjectPtr<tvm::ffi::ErrorObj> error = tvm::ffi::MakeError(
        tvm::ffi::ToString(kind), tvm::ffi::ToString(message), tvm::ffi::ToString(backtrace));
    error->cause_chain = tvm::ffi::Retained(cause_chain);
    error->extra_context = tvm::ffi::Retained(extra_context);
    *out = ObjectUnsafe::MoveObjectPtrToTVMFFIObjectPtr(std::move(error));
    return 0;
  } catch (const std::exception&) {
    return -1;
  }
}
