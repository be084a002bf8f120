// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file static_library.cc
/// Module of kind "static_library": an object file or archive that an export links in.
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/runtime/logging.h>
#include <tvm/support/byte_io.h>

#include <string>
#include <utility>
#include <vector>

#include "runtime/file_util.h"

namespace tvm {
namespace runtime {

namespace {

class StaticLibrary final : public ffi::ModuleObj {
 public:
  StaticLibrary(std::string data, std::vector<std::string> names)
      : data_(std::move(data)), names_(std::move(names)) {}

  const char* kind() const final { return "static_library"; }
  int GetPropertyMask() const final {
    return ffi::Module::kBinarySerializable | ffi::Module::kCompilationExportable;
  }
  ffi::Optional<ffi::Function> GetFunction(const ffi::String& name) final {
    if (name != "get_func_names") return std::nullopt;
    ffi::Array<ffi::String> names;
    for (const std::string& n : names_) names.push_back(n);
    return ffi::Function::FromTyped([names] { return names; });
  }
  bool ImplementsFunction(const ffi::String& name) final {
    for (const std::string& n : names_) {
      if (name == n) return true;
    }
    return false;
  }
  ffi::Array<ffi::String> GetWriteFormats() const final { return {"o"}; }
  void WriteToFile(const ffi::String& file_name, const ffi::String&) const final {
    WriteFile(std::string(file_name.data(), file_name.size()), data_);
  }
  ffi::Bytes SaveToBytes() const final {
    std::string out;
    support::ByteWriter w(&out);
    w.WriteString(data_);
    w.WriteStrings(names_);
    return ffi::Bytes(std::move(out));
  }
  static ffi::Module LoadFromBytes(const ffi::Bytes& bytes) {
    support::ByteReader r(std::string_view(bytes.data(), bytes.size()));
    std::string data;
    std::vector<std::string> names;
    TVM_REQUIRE(r.ReadString(&data) && r.ReadStrings(&names) && r.AtEnd(), RuntimeError)
        << "the bytes of a static library are damaged";
    return ffi::Module(ffi::make_object<StaticLibrary>(std::move(data), std::move(names)));
  }

 private:
  std::string data_;
  std::vector<std::string> names_;
};

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::GlobalDef()
      .def("runtime.ModuleLoadStaticLibrary",
           [](const ffi::String& path, const ffi::Array<ffi::String>& names) {
             std::vector<std::string> list;
             for (const ffi::String& n : names) list.emplace_back(n.data(), n.size());
             return ffi::Module(ffi::make_object<StaticLibrary>(
                 ReadFile(std::string(path.data(), path.size())), std::move(list)));
           })
      .def("ffi.Module.load_from_bytes.static_library", StaticLibrary::LoadFromBytes);
}

}  // namespace runtime
}  // namespace tvm
