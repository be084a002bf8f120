// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

/// Storage of integers beyond int64 and how Any compares and hashes them.
#include <tvm/ffi/big_int.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/memory.h>
#include <tvm/ffi/reflection/registry.h>

#include <cstring>

#include "src/library_init.h"

namespace tvm {
namespace ffi {
namespace {

Any HashHook(const BigIntObj* value) {
  return static_cast<int64_t>(
      detail::StableHashBytes(value->data(), value->size() * sizeof(int64_t)));
}

TVMFFIAny HashNative(const Any& value) noexcept {
  return detail::AnyUnsafe::MoveAnyToTVMFFIAny(HashHook(value.as<BigIntObj>()));
}

TVMFFIAny EqualNative(const Any& lhs, const Any& rhs) noexcept {
  const auto* a = lhs.as<BigIntObj>();
  const auto* b = rhs.as<BigIntObj>();
  const bool equal =
      a->size() == b->size() && std::memcmp(a->data(), b->data(), a->size() * sizeof(int64_t)) == 0;
  return detail::AnyUnsafe::MoveAnyToTVMFFIAny(Any(equal));
}

void RegisterAttr(const char* name, void* hook) {
  const TVMFFIByteArray key{name, std::strlen(name)};
  const TVMFFIAny value = AnyView(hook).CopyToTVMFFIAny();
  TVM_FFI_CHECK_SAFE_CALL(TVMFFITypeRegisterAttr(TypeIndex::kTVMFFIBigInt, &key, &value));
}

TVM_FFI_LIBRARY_INIT_BLOCK() {
  RegisterAttr("__any_hash__", reinterpret_cast<void*>(HashNative));
  RegisterAttr("__any_equal__", reinterpret_cast<void*>(EqualNative));
}

}  // namespace
}  // namespace ffi
}  // namespace tvm

int TVMFFIBigIntFromByteArray(const TVMFFIByteArray* input, TVMFFIAny* out) {
  TVM_FFI_SAFE_CALL_BEGIN();
  if (input->size % sizeof(int64_t) != 0) {
    TVM_FFI_THROW(ValueError) << "BigInt content must contain whole 64-bit words";
  }
  size_t count = input->size / sizeof(int64_t);
  const auto word = [&](size_t i) {
    int64_t value;
    std::memcpy(&value, input->data + i * sizeof(int64_t), sizeof(int64_t));
    return value;
  };
  // A top word that only repeats the sign of the one below carries nothing.
  while (count > 1 && word(count - 1) == (word(count - 2) < 0 ? -1 : 0)) --count;
  tvm::ffi::detail::SetNone(out);
  if (count <= 1) {
    out->type_index = kTVMFFIInt;
    out->v_int64 = count == 0 ? 0 : word(0);
    return 0;
  }
  auto object = tvm::ffi::make_inplace_array_object<tvm::ffi::BigIntObj, int64_t>(count, count);
  std::memcpy(const_cast<int64_t*>(object->data()), input->data, count * sizeof(int64_t));
  tvm::ffi::detail::StoreObject(
      tvm::ffi::detail::ObjectUnsafe::MoveObjectPtrToTVMFFIObjectPtr(std::move(object)), out);
  TVM_FFI_SAFE_CALL_END();
}

TVMFFIByteArray TVMFFIBigIntGetContentByteArray(const TVMFFIAny* value) {
  if (value->type_index == kTVMFFIBigInt) {
    const auto* node =
        tvm::ffi::detail::ObjectUnsafe::RawObjectPtrFromUnowned<tvm::ffi::BigIntObj>(value->v_obj);
    return TVMFFIByteArray{reinterpret_cast<const char*>(node->data()),
                           node->size() * sizeof(int64_t)};
  }
  return TVMFFIByteArray{reinterpret_cast<const char*>(&value->v_int64), sizeof(int64_t)};
}
