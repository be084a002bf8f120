// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

/// Global functions `testing.*` and exported symbols that language bindings test against.
#define TVM_FFI_DLL_EXPORT_INCLUDE_METADATA 1
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/tvm_ffi.h>

#include <chrono>
#include <thread>

namespace tvm {
namespace ffi {
namespace {

namespace refl = reflection;

int AddOneSymbol(void*, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  TVM_FFI_SAFE_CALL_BEGIN();
  TVM_FFI_CHECK_EQ(num_args, 1, TypeError) << "add_one takes one argument";
  reinterpret_cast<Any*>(result)->operator=(
      reinterpret_cast<const AnyView*>(args)[0].cast<int64_t>() + 1);
  TVM_FFI_SAFE_CALL_END();
}

/// The calling convention of MLIR's packed wrappers: pointers to every argument, then to the
/// result.
void AddOneMlirSymbol(void** packed) {
  void* handle = *static_cast<void**>(packed[0]);
  const TVMFFIAny* args = *static_cast<const TVMFFIAny**>(packed[1]);
  const int32_t num_args = *static_cast<int32_t*>(packed[2]);
  TVMFFIAny* result = *static_cast<TVMFFIAny**>(packed[3]);
  *static_cast<int*>(packed[4]) = AddOneSymbol(handle, args, num_args, result);
}

/// Waits while asking the host for signals, so that Ctrl-C arrives.
void RunCheckSignal(int seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  do {
    if (TVMFFIEnvCheckSignals() != 0) throw EnvErrorAlreadySet();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  } while (std::chrono::steady_clock::now() < end);
}

/// Apart from its caller, so that nothing there waits to be destroyed when the error flies.
TVM_FFI_NO_INLINE Error MakeTestError(const String& kind, const String& message,
                                      const TVMFFIByteArray* backtrace) {
  return Error(std::string(kind), std::string(message), backtrace);
}

void RegisterBasics() {
  refl::GlobalDef()
      .def("testing.test_raise_error",
           [](const String& kind, const String& message) {
             throw MakeTestError(
                 kind, message,
                 TVMFFIBacktrace(__FILE__, __LINE__, "tvm::ffi::testing::TestRaiseError", 0));
           })
      .def("testing.add_one", [](int64_t x) { return x + 1; })
      .def_packed("testing.nop", [](PackedArgs, Any*) {})
      .def_packed("testing.echo", [](PackedArgs args, Any* result) { *result = Any(args[0]); })
      .def_packed("testing.apply",
                  [](PackedArgs args, Any* result) {
                    TVM_FFI_CHECK_GE(args.size(), 1, TypeError) << "testing.apply needs a function";
                    args[0].cast<Function>().CallPacked(args.Slice(1), result);
                  })
      .def("testing.run_check_signal", RunCheckSignal)
      .def("testing.object_use_count", [](const Object* obj) { return obj->use_count(); })
      .def("testing.get_add_one_c_symbol",
           []() { return reinterpret_cast<int64_t>(&AddOneSymbol); })
      .def("testing.get_mlir_add_one_c_symbol",
           []() { return reinterpret_cast<int64_t>(&AddOneMlirSymbol); })
      .def("testing.optional_tensor_view_has_value",
           [](Optional<TensorView> view) { return view.has_value(); });
}

void RegisterContainersWithTensor() {
  refl::GlobalDef()
      .def("testing.make_array_with_tensor", [](Tensor t) { return Array<Any>{t}; })
      .def("testing.make_array_with_mixed",
           [](Tensor t, int64_t n) { return Array<Any>{t, n, String("hello")}; })
      .def("testing.make_list_with_tensor", [](Tensor t, int64_t n) { return List<Any>{t, n}; })
      .def("testing.make_map_with_tensor",
           [](Tensor t) {
             return Map<String, Any>{{"tensor", t}, {"value", 42}, {"name", String("test")}};
           })
      .def("testing.make_dict_with_tensor",
           [](Tensor t) { return Dict<String, Any>{{"tensor", t}, {"value", 42}}; })
      .def("testing.make_nested_array_with_tensor",
           [](Tensor t) { return Array<Any>{Array<Any>{t, 42}, t}; })
      .def("testing.make_nested_map_with_tensor",
           [](Tensor a, Tensor b) {
             return Map<String, Any>{
                 {"array", Array<Any>{a, b}}, {"map", Map<String, Any>{{"t", a}}}, {"scalar", 99}};
           })
      .def("testing.make_empty_array_with_tensor_input", [](Tensor) { return Array<Any>(); });
}

TVM_FFI_STATIC_INIT_BLOCK() {
  RegisterBasics();
  RegisterContainersWithTensor();
  TVMFFIEnvModRegisterSystemLibSymbol("__tvm_ffi_testing.add_one",
                                      reinterpret_cast<void*>(&AddOneSymbol));
}

}  // namespace
}  // namespace ffi
}  // namespace tvm

TVM_FFI_DLL_EXPORT_TYPED_FUNC(testing_dll_schema_id_int, [](int64_t x) { return x; });
TVM_FFI_DLL_EXPORT_TYPED_FUNC(testing_dll_test_add_with_docstring,
                              [](int64_t a, int64_t b) { return a + b; });
TVM_FFI_DLL_EXPORT_TYPED_FUNC_DOC(testing_dll_test_add_with_docstring,
                                  "Add two integers and return the sum.\n"
                                  "\n"
                                  "Parameters\n"
                                  "----------\n"
                                  "a : int\n"
                                  "    First integer\n"
                                  "b : int\n"
                                  "    Second integer\n"
                                  "\n"
                                  "Returns\n"
                                  "-------\n"
                                  "result : int\n"
                                  "    Sum of a and b");

/// Bindings that are linked to this library call it to keep the link alive.
extern "C" TVM_FFI_DLL_EXPORT int TVMFFITestingDummyTarget() { return 0; }
