// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
// Reports each step of its life to the global function orcjit_test.log.
#include <tvm/ffi/c_api.h>

#include <cstdlib>
#include <string>

namespace {

void Log(const std::string& text) {
  TVMFFIByteArray name{"orcjit_test.log", 15};
  TVMFFIByteArray bytes{text.data(), text.size()};
  TVMFFIObjectHandle log = nullptr;
  TVMFFIAny arg{}, result{};
  if (TVMFFIFunctionGetGlobal(&name, &log) != 0 || log == nullptr) return;
  if (TVMFFIStringFromByteArray(&bytes, &arg) == 0) TVMFFIFunctionCall(log, &arg, 1, &result);
  if (arg.type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectDecRef(arg.v_obj);
  TVMFFIObjectDecRef(log);
}

struct Tracer {
  explicit Tracer(const char* name) : name(name) { Log("+" + this->name); }
  ~Tracer() { Log("-" + name); }
  std::string name;
};

__attribute__((init_priority(200))) Tracer second("second");
__attribute__((init_priority(150))) Tracer first("first");
Tracer plain("plain");

__attribute__((constructor(101))) void EarlyConstructor() { Log("constructor 101"); }
__attribute__((constructor)) void Constructor() { Log("constructor"); }
__attribute__((destructor)) void Destructor() { Log("destructor"); }
__attribute__((destructor(101))) void LateDestructor() { Log("destructor 101"); }

}  // namespace

extern "C" TVM_FFI_DLL_EXPORT int __tvm_ffi_touch(void*, const TVMFFIAny*, int32_t,
                                                  TVMFFIAny* result) {
  static Tracer lazy("lazy");
  static const int registered = std::atexit([] { Log("atexit"); });
  result->type_index = kTVMFFIInt;
  result->v_int64 = registered;
  return 0;
}
