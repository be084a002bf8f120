// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
// Exceptions through frames of JIT code, and errors made by it.
#include <tvm/ffi/tvm_ffi.h>

#include <stdexcept>
#include <string>

namespace ffi = tvm::ffi;

namespace {

struct OwnException {
  int64_t value;
};

struct Guard {
  explicit Guard(int64_t* count) : count(count) {}
  ~Guard() { ++*count; }
  int64_t* count;
};

[[gnu::noinline]] void Throw(int64_t depth, int64_t* unwound) {
  Guard guard(unwound);
  if (depth == 0) throw OwnException{7};
  Throw(depth - 1, unwound);
}

int64_t CatchOwn(int64_t depth) {
  int64_t unwound = 0;
  try {
    Throw(depth, &unwound);
  } catch (const OwnException& error) {
    return unwound * 100 + error.value;
  }
  return -1;
}

}  // namespace

#ifdef SECOND
TVM_FFI_DLL_EXPORT_TYPED_FUNC(catch_own_again, CatchOwn);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(throw_error_again,
                              [](const std::string& text) { TVM_FFI_THROW(IndexError) << text; });
#else
TVM_FFI_DLL_EXPORT_TYPED_FUNC(catch_own, CatchOwn);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(throw_standard, [] { throw std::out_of_range("too far"); });
TVM_FFI_DLL_EXPORT_TYPED_FUNC(throw_error,
                              [](const std::string& text) { TVM_FFI_THROW(IndexError) << text; });
TVM_FFI_DLL_EXPORT_TYPED_FUNC(call_back, [](const ffi::Function& function, int64_t x) {
  return function(x).cast<int64_t>();
});
TVM_FFI_DLL_EXPORT_TYPED_FUNC(catch_from, [](const ffi::Function& function) {
  try {
    function();
  } catch (const ffi::Error& error) {
    return error.kind() + ": " + error.message();
  }
  return std::string("nothing");
});
TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_array, [](int64_t n) {
  ffi::Array<ffi::Any> out;
  for (int64_t i = 0; i < n; ++i) out.push_back(ffi::String("element " + std::to_string(i)));
  return out;
});
#endif
