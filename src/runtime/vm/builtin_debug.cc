// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file builtin_debug.cc
/// Builtins that print, and the registry of host-language functions that a program calls by name.
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/extra/dataclass.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/runtime/logging.h>

#include <cstdio>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

namespace tvm {
namespace runtime {
namespace vm {

namespace {

class PyFuncRegistry {
 public:
  static PyFuncRegistry* Global() {
    // Never destroyed: its functions belong to a host that may be gone by then.
    static auto* inst = new PyFuncRegistry();
    return inst;
  }
  void Set(const ffi::String& name, ffi::Function func) {
    std::lock_guard<std::mutex> lock(mu_);
    funcs_.insert_or_assign(Key(name), std::move(func));
  }
  ffi::Function Get(const ffi::String& name) {
    std::lock_guard<std::mutex> lock(mu_);
    auto it = funcs_.find(Key(name));
    TVM_REQUIRE(it != funcs_.end(), ValueError)
        << "Python function '" << name << "' not found in the registry";
    return it->second;
  }
  void Clear() {
    std::unordered_map<std::string, ffi::Function> old;
    std::lock_guard<std::mutex> lock(mu_);
    old.swap(funcs_);
  }

 private:
  static std::string Key(const ffi::String& name) { return std::string(name.data(), name.size()); }
  std::mutex mu_;
  std::unordered_map<std::string, ffi::Function> funcs_;
};

/// call_py_func(name, args): args is a tuple.
void CallPyFunc(ffi::PackedArgs args, ffi::Any* rv) {
  TVM_REQUIRE(args.size() == 2, TypeError)
      << "vm.builtin.call_py_func expects a name and a tuple, got " << args.size() << " arguments";
  ffi::Function func = PyFuncRegistry::Global()->Get(args[0].cast<ffi::String>());
  auto tuple = args[1].cast<ffi::Array<ffi::Any>>();
  std::vector<ffi::AnyView> all(tuple.begin(), tuple.end());
  func.CallPacked(all.data(), static_cast<int32_t>(all.size()), rv);
}

void DebugPrint(ffi::PackedArgs args, ffi::Any* rv) {
  std::string line;
  for (int i = 0; i < args.size(); ++i) {
    ffi::String text = ffi::ReprPrint(ffi::Any(args[i]));
    line += (i != 0 ? " " : "") + std::string(text.data(), text.size());
  }
  line += "\n";
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::GlobalDef()
      .def_packed("vm.builtin.debug_print", DebugPrint)
      .def("vm.builtin.register_py_func",
           [](const ffi::String& name, ffi::Function func) {
             PyFuncRegistry::Global()->Set(name, std::move(func));
           })
      .def("vm.builtin.get_py_func",
           [](const ffi::String& name) { return PyFuncRegistry::Global()->Get(name); })
      .def_packed("vm.builtin.call_py_func", CallPyFunc)
      .def("vm.builtin.clear_py_func_registry", [] { PyFuncRegistry::Global()->Clear(); });
}

}  // namespace vm
}  // namespace runtime
}  // namespace tvm
