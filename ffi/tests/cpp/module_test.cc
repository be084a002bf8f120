// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Modules: imports, lookups, the system library and the library_bin decoder.
#include <gtest/gtest.h>
#include <tvm/ffi/cast.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/memory.h>
#include <tvm/ffi/reflection/registry.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "../../src/extra/library_bin.h"

namespace {

using namespace tvm::ffi;

class TableModuleObj final : public ModuleObj {
 public:
  explicit TableModuleObj(std::string name, int value = 0)
      : name_(std::move(name)), value_(value) {}
  const char* kind() const final { return "test_table"; }
  Optional<Function> GetFunction(const String& name) final {
    if (std::string(name) != name_) return std::nullopt;
    return Function::FromTyped([value = value_] { return value; });
  }

 private:
  std::string name_;
  int value_;
};

Module Table(const char* name, int value = 0) {
  return Module(make_object<TableModuleObj>(name, value));
}

std::string MessageOf(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& err) {
    return err.kind() + ": " + err.message();
  }
  return "no error";
}

TEST(Module, LayoutMatchesTheAbi) {
  EXPECT_EQ(sizeof(ModuleObj), 8U + 40U);
  Module module = Table("f");
  auto* header =
      reinterpret_cast<char*>(const_cast<Object*>(static_cast<const Object*>(module.get())));
  EXPECT_EQ(header - reinterpret_cast<char*>(const_cast<ModuleObj*>(module.get())), 8);
  EXPECT_EQ(reinterpret_cast<const char*>(&module->imports()) - header, 24);
}

TEST(Module, LooksFunctionsUpThroughImports) {
  Module root = Table("root");
  Module middle = Table("middle");
  Module leaf = Table("leaf", 7);
  middle->ImportModule(leaf);
  root->ImportModule(middle);
  root->ImportModule(leaf);  // diamond
  EXPECT_FALSE(root->GetFunction("leaf", false).has_value());
  EXPECT_EQ((*root->GetFunction("leaf", true))().cast<int>(), 7);
  EXPECT_TRUE(root->ImplementsFunction("middle", true));
  EXPECT_FALSE(root->ImplementsFunction("nothing", true));
  EXPECT_EQ(MessageOf([&] { leaf->ImportModule(root); }),
            "RuntimeError: Cyclic dependency detected during import");
  EXPECT_EQ(MessageOf([&] { root->ImportModule(root); }),
            "RuntimeError: Cyclic dependency detected during import");
  root->ClearImports();
  EXPECT_EQ(root->imports().size(), 0U);
}

TEST(Module, UnsupportedOperationsSayWhichModule) {
  Module module = Table("f");
  EXPECT_EQ(MessageOf([&] { module->WriteToFile("a", "b"); }),
            "RuntimeError: Module[test_table] does not support WriteToFile");
  EXPECT_EQ(MessageOf([&] { module->SaveToBytes(); }),
            "RuntimeError: Module[test_table] does not support SaveToBytes");
  EXPECT_EQ(module->GetPropertyMask(), 0);
}

TEST(Module, GeneratedCodeLooksUpFromItsContext) {
  Module root = Table("root");
  root->ImportModule(Table("callee", 5));
  void* ctx = const_cast<ModuleObj*>(root.get());
  TVMFFIObjectHandle first = nullptr;
  TVMFFIObjectHandle second = nullptr;
  ASSERT_EQ(TVMFFIEnvModLookupFromImports(ctx, "callee", &first), 0);
  ASSERT_EQ(TVMFFIEnvModLookupFromImports(ctx, "callee", &second), 0);
  EXPECT_EQ(first, second);
  TVMFFIAny result{};
  ASSERT_EQ(TVMFFIFunctionCall(first, nullptr, 0, &result), 0);
  EXPECT_EQ(result.v_int64, 5);
  EXPECT_EQ(TVMFFIEnvModLookupFromImports(ctx, "ffi.ReprPrint", &first), 0);  // a global
  EXPECT_EQ(MessageOf([&] {
              TVM_FFI_CHECK_SAFE_CALL(TVMFFIEnvModLookupFromImports(ctx, "absent", &first));
            }),
            "RuntimeError: Cannot find function `absent` in the imported modules or the global "
            "registry");
}

TEST(Module, LoadingReportsTheReason) {
  EXPECT_NE(MessageOf([] { Module::LoadFromFile("dir.d/name"); }).find("has no extension"),
            std::string::npos);
  EXPECT_NE(MessageOf([] {
              Module::LoadFromFile("a.unknownext");
            }).find("ffi.Module.load_from_file.unknownext"),
            std::string::npos);
  EXPECT_NE(MessageOf([] {
              Module::LoadFromFile("/no/such/file.so");
            }).find("RuntimeError: Failed to load dynamic shared library /no/such/file.so"),
            std::string::npos);
}

TEST(Module, CheckLibraryHookMayRefuseAFile) {
  std::string checked;
  Function::SetGlobal("ffi.Module.check_library", Function::FromTyped([&](const String& path) {
                        checked = std::string(path);
                        TVM_FFI_THROW(ValueError) << "refused";
                      }));
  EXPECT_EQ(MessageOf([] { Module::LoadFromFile("/no/such/file.so"); }), "ValueError: refused");
  EXPECT_EQ(checked, "/no/such/file.so");
  Function::RemoveGlobal("ffi.Module.check_library");
}

int AddOne(void*, const TVMFFIAny* args, int32_t, TVMFFIAny* result) {
  result->type_index = kTVMFFIInt;
  result->v_int64 = args[0].v_int64 + 1;
  return 0;
}

int AddTwo(void*, const TVMFFIAny* args, int32_t, TVMFFIAny* result) {
  result->type_index = kTVMFFIInt;
  result->v_int64 = args[0].v_int64 + 2;
  return 0;
}

TEST(Module, SystemLibPrefersThePrefix) {
  TVMFFIEnvModRegisterSystemLibSymbol("__tvm_ffi_sys_f", reinterpret_cast<void*>(AddOne));
  TVMFFIEnvModRegisterSystemLibSymbol("__tvm_ffi_pre_sys_f", reinterpret_cast<void*>(AddTwo));
  Function system_lib = Function::GetGlobalRequired("ffi.SystemLib");
  Module plain = system_lib().cast<Module>();
  Module prefixed = system_lib("pre_").cast<Module>();
  EXPECT_EQ((*plain->GetFunction("sys_f"))(1).cast<int>(), 2);
  EXPECT_EQ((*prefixed->GetFunction("sys_f"))(1).cast<int>(), 3);
  EXPECT_TRUE(prefixed.same_as(system_lib("pre_").cast<Module>()));
  EXPECT_FALSE(plain->GetFunction("sys_g").has_value());
  EXPECT_EQ(std::string(plain->kind()), "library");
  EXPECT_EQ(plain->GetPropertyMask(), 3);
}

TEST(Module, ContextSymbols) {
  static int marker = 0;
  TVMFFIEnvModRegisterContextSymbol("__test_context_symbol", &marker);
  void* found = nullptr;
  Module::VisitContextSymbols(TypedFunction<void(String, void*)>([&](String name, void* symbol) {
    if (std::string(name) == "__test_context_symbol") found = symbol;
  }));
  EXPECT_EQ(found, &marker);
}

// ------------------------------------------------------------------------------------------
// library_bin
// ------------------------------------------------------------------------------------------

class BlobBuilder {
 public:
  BlobBuilder& Word(uint64_t word) {
    for (int i = 0; i < 8; ++i) bytes += static_cast<char>(word >> (8 * i));
    return *this;
  }
  BlobBuilder& Words(const std::vector<uint64_t>& words) {
    Word(words.size());
    for (uint64_t word : words) Word(word);
    return *this;
  }
  BlobBuilder& Text(const std::string& text) {
    Word(text.size());
    bytes += text;
    return *this;
  }
  std::string bytes;
};

/// Module 0 of kind test_blob imports the library and a second test_blob.
std::string GoodBlob() {
  BlobBuilder blob;
  blob.Words({0, 2, 2, 2}).Words({1, 2});
  blob.Text("test_blob").Text("root").Text("_lib").Text("test_blob").Text("leaf");
  return blob.bytes;
}

TEST(LibraryBin, DecodesTheImportTree) {
  LibraryBin bin;
  std::string error;
  const std::string blob = GoodBlob();
  ASSERT_TRUE(ParseLibraryBin(blob, &bin, &error)) << error;
  ASSERT_EQ(bin.modules.size(), 3U);
  EXPECT_EQ(bin.modules[0].body, "root");
  EXPECT_EQ(bin.modules[1].kind, "_lib");
  EXPECT_EQ(bin.modules[2].body, "leaf");
  EXPECT_EQ(bin.import_indices, (std::vector<uint64_t>{1, 2}));
}

TEST(LibraryBin, EveryTruncationIsAnErrorWithItsOffset) {
  const std::string blob = GoodBlob();
  for (size_t size = 0; size < blob.size(); ++size) {
    LibraryBin bin;
    std::string error;
    EXPECT_FALSE(ParseLibraryBin(std::string_view(blob).substr(0, size), &bin, &error)) << size;
    EXPECT_NE(error.find(" at byte "), std::string::npos) << error;
  }
}

TEST(LibraryBin, HostileLengthsAreErrors) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {BlobBuilder().Word(UINT64_MAX).bytes,
       "length of the import row bounds is 18446744073709551615"},
      {BlobBuilder().Word(UINT64_MAX / 8 + 2).Word(0).bytes, "length of the import row bounds"},
      {BlobBuilder().Words({0, 1}).Words({1}).Text("a").Text("b").bytes, "expected less than 1"},
      {BlobBuilder().Words({0, 2}).Words({0}).Text("a").Text("b").bytes, "import row bound 1 is 2"},
      {BlobBuilder().Words({1, 1}).Words({0}).Text("a").Text("b").bytes, "import row bound 0 is 1"},
      {BlobBuilder().Words({0}).Words({}).bytes, "describe no module"},
      {BlobBuilder().Words({0, 0}).Words({}).Word(UINT64_MAX).bytes, "length of a module kind"},
      {BlobBuilder().Words({0, 0}).Words({}).Text("a").Text("b").bytes + "x", "unexpected bytes"},
  };
  for (const auto& [blob, expected] : cases) {
    LibraryBin bin;
    std::string error;
    EXPECT_FALSE(ParseLibraryBin(blob, &bin, &error));
    EXPECT_NE(error.find(expected), std::string::npos) << error;
  }
}

TEST(LibraryBin, RandomDamageNeverCrashes) {
  std::mt19937 random(7);
  const std::string good = GoodBlob();
  for (int round = 0; round < 20000; ++round) {
    std::string blob = good;
    for (int edits = 0; edits < 3; ++edits)
      blob[random() % blob.size()] = static_cast<char>(random());
    LibraryBin bin;
    std::string error;
    const bool parsed = ParseLibraryBin(blob, &bin, &error);
    EXPECT_EQ(parsed, error.empty());
  }
}

Module LoadTestBlob(const Bytes& body) {
  return Table(std::string(body.data(), body.size()).c_str(), 11);
}

TEST(LibraryBin, LoaderLinksTheModules) {
  tvm::ffi::reflection::GlobalDef().def("ffi.Module.load_from_bytes.test_blob", LoadTestBlob);
  static std::string blob;
  const std::string content = GoodBlob();
  blob = BlobBuilder().Word(content.size()).bytes + content;
  static void* context = nullptr;
  TVMFFIEnvModRegisterSystemLibSymbol("__tvm_ffi_linked_f", reinterpret_cast<void*>(AddOne));
  TVMFFIEnvModRegisterSystemLibSymbol("__tvm_ffi_linked__library_bin", blob.data());
  TVMFFIEnvModRegisterSystemLibSymbol("__tvm_ffi_linked__library_ctx", &context);
  Module root = Function::GetGlobalRequired("ffi.SystemLib")("linked_").cast<Module>();
  EXPECT_EQ(std::string(root->kind()), "test_table");
  EXPECT_EQ((*root->GetFunction("leaf", true))().cast<int>(), 11);
  EXPECT_EQ((*root->GetFunction("f", true))(4).cast<int>(), 5);
  // The library's code looks up from the root, though the root is not its own module.
  TVMFFIObjectHandle callee = nullptr;
  ASSERT_EQ(TVMFFIEnvModLookupFromImports(context, "leaf", &callee), 0);
  EXPECT_EQ(MessageOf([&] {
              TVM_FFI_CHECK_SAFE_CALL(TVMFFIEnvModLookupFromImports(context, "root", &callee));
            }),
            "RuntimeError: Cannot find function `root` in the imported modules or the global "
            "registry");
}

int Called(void* context, const char* name) {
  TVMFFIObjectHandle callee = nullptr;
  TVM_FFI_CHECK_SAFE_CALL(TVMFFIEnvModLookupFromImports(context, name, &callee));
  TVMFFIAny result{};
  TVM_FFI_CHECK_SAFE_CALL(TVMFFIFunctionCall(callee, nullptr, 0, &result));
  return static_cast<int>(result.v_int64);
}

TEST(LibraryBin, ContextsOutliveTheRoot) {
  Module self = Table("own", 1);
  self->ImportModule(Table("below", 2));
  ObjectPtr<ModuleObj> root = GetObjectPtr<ModuleObj>(Table("root", 3).get());
  root->ImportModule(self);
  root->ImportModule(Table("beside", 4));
  int asked = 0;
  Function find_own = Function::FromTyped([&](const String& name) -> Optional<Function> {
    ++asked;
    if (std::string(name) != "own") return std::nullopt;
    return Function::FromTyped([] { return 5; });
  });
  Module context =
      Function::GetGlobalRequired("ffi.ModuleNewLibraryContext")(Module(root), self, find_own)
          .cast<Module>();
  void* raw = const_cast<ModuleObj*>(context.get());
  EXPECT_EQ(Called(raw, "own"), 5) << "not the function that keeps the module";
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(Called(raw, "below"), 2);
  EXPECT_EQ(Called(raw, "beside"), 4);
  WeakObjectPtr<ModuleObj> watch(root);
  root = nullptr;
  EXPECT_TRUE(watch.expired()) << "the context does not keep the root";
  EXPECT_EQ(Called(raw, "beside"), 4) << "cached";
  EXPECT_EQ(Called(raw, "below"), 2);
  self->ImportModule(Table("late", 6));
  EXPECT_EQ(Called(raw, "late"), 6);
  self = Table("other");
  EXPECT_NE(MessageOf([&] { Called(raw, "gone"); }).find("Cannot find function `gone`"),
            std::string::npos);
}

}  // namespace
