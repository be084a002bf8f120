// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
// Runtime module of kind "c": source text that an export compiles.
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ir/error_context.h>
#include <tvm/ir/module.h>
#include <tvm/target/target.h>

#include <fstream>

#include "codegen/c/codegen_c.h"

namespace tvm {
namespace codegen {
namespace {

class CSourceModuleObj final : public ffi::ModuleObj {
 public:
  CSourceModuleObj(std::string code, std::string format, ffi::Array<ffi::String> names)
      : code_(std::move(code)), format_(std::move(format)), names_(std::move(names)) {}

  const char* kind() const final { return "c"; }
  int GetPropertyMask() const final {
    return ffi::Module::kBinarySerializable | ffi::Module::kCompilationExportable;
  }
  ffi::Optional<ffi::Function> GetFunction(const ffi::String& name) final {
    if (name == "get_func_names") {
      return ffi::Function::FromTyped([names = names_] { return names; });
    }
    if (name == "get_const_vars") {
      return ffi::Function::FromTyped([] { return ffi::Array<ffi::String>(); });
    }
    return std::nullopt;
  }
  bool ImplementsFunction(const ffi::String& name) final {
    for (const ffi::String& known : names_) {
      if (known == name) return true;
    }
    return false;
  }
  ffi::String InspectSource(const ffi::String&) const final { return code_; }
  ffi::Array<ffi::String> GetWriteFormats() const final { return {ffi::String(format_)}; }
  void WriteToFile(const ffi::String& file_name, const ffi::String& format) const final {
    TVM_FFI_CHECK(format.empty() || format == "c" || format == "cc" || format == "cpp", ValueError)
        << "cannot write a C source module in format `" << format << "`; expected c, cc or cpp";
    std::ofstream file(std::string(file_name), std::ios::binary | std::ios::trunc);
    file << code_;
    file.close();
    TVM_FFI_CHECK(file.good(), RuntimeError) << "cannot write `" << file_name << "`";
  }
  ffi::Bytes SaveToBytes() const final {
    std::string bytes;
    auto put = [&](const std::string& text) {
      const uint64_t size = text.size();
      bytes.append(reinterpret_cast<const char*>(&size), sizeof(size));
      bytes += text;
    };
    put(code_);
    put(format_);
    const uint64_t count = names_.size();
    bytes.append(reinterpret_cast<const char*>(&count), sizeof(count));
    for (const ffi::String& name : names_) put(name);
    return ffi::Bytes(std::move(bytes));
  }
  static ffi::Module LoadFromBytes(const ffi::Bytes& bytes) {
    size_t at = 0;
    auto number = [&] {
      TVM_FFI_CHECK(bytes.size() - at >= sizeof(uint64_t), ValueError)
          << "C source module is cut short at byte " << at;
      uint64_t value;
      memcpy(&value, bytes.data() + at, sizeof(value));
      at += sizeof(value);
      return value;
    };
    auto text = [&] {
      const uint64_t size = number();
      TVM_FFI_CHECK(size <= bytes.size() - at, ValueError)
          << "C source module is cut short at byte " << at;
      std::string value(bytes.data() + at, size);
      at += size;
      return value;
    };
    std::string code = text();
    std::string format = text();
    ffi::Array<ffi::String> names;
    for (uint64_t count = number(); count > 0; --count) names.push_back(text());
    return ffi::Module(
        ffi::make_object<CSourceModuleObj>(std::move(code), std::move(format), std::move(names)));
  }

 private:
  std::string code_;
  std::string format_;
  ffi::Array<ffi::String> names_;
};

constexpr char kPackedPrefix[] = "__tvm_ffi_";

/// Errors of `generate` name the function and show the place in it.
template <typename F>
void Named(const GlobalVar& var, const BaseFunc& func, F&& generate) {
  try {
    generate();
  } catch (const ffi::Error& error) {
    throw EnrichFunctionErrorWithContext(error, var, func, "code generation: c");
  }
}

ffi::Module BuildC(IRModule mod, Target target) {
  CodeGenC generator;
  ffi::Array<ffi::String> names;
  const auto functions = mod->SortedFunctions();
  for (const auto& [var, base] : functions) {
    auto func = base.as<tirx::PrimFunc>();
    TVM_FFI_CHECK(func.has_value(), ValueError)
        << "function `" << var->name_hint
        << "` cannot be compiled by the C target; expected a PrimFunc";
    auto global = (*func)->GetAttr<ffi::String>(attr::kGlobalSymbol);
    std::string symbol =
        global.has_value() ? std::string(*global) : "_internal_" + std::string(var->name_hint);
    const int64_t convention = (*func)->GetAttr<int64_t>(attr::kCallingConv).value_or(0);
    if (global.has_value() && convention == static_cast<int64_t>(CallingConv::kCPackedFunc)) {
      if (symbol.rfind(kPackedPrefix, 0) != 0) symbol = kPackedPrefix + symbol;
      names.push_back(symbol.substr(sizeof(kPackedPrefix) - 1));
    }
    Named(var, base, [&] { generator.Declare(var, *func, symbol, global.has_value()); });
  }
  for (const auto& [var, base] : functions) {
    Named(var, base, [&] { generator.Define(var); });
  }
  return ffi::Module(
      ffi::make_object<CSourceModuleObj>(generator.Finish(target->str()), "c", std::move(names)));
}

ffi::Module CreateC(ffi::String code, ffi::String format, ffi::Array<ffi::String> names) {
  return ffi::Module(
      ffi::make_object<CSourceModuleObj>(std::string(code), std::string(format), std::move(names)));
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = ffi::reflection;
  refl::GlobalDef()
      .def("target.build.c", BuildC)
      .def("runtime.CSourceModuleCreate",
           [](ffi::String code, ffi::String format, ffi::Array<ffi::String> names,
              ffi::Optional<ffi::Array<ffi::String>>) {
             return CreateC(std::move(code), std::move(format), std::move(names));
           })
      .def("ffi.Module.load_from_bytes.c", CSourceModuleObj::LoadFromBytes);
}

}  // namespace codegen
}  // namespace tvm
