// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// A whole exported library by hand: note, kernel, constants blob and list of modules, compiled
/// with the machine's C compiler, then checked, listed, opened and run.
#include <gtest/gtest.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/function.h>
#include <tvm/runtime/library_note.h>
#include <tvm/support/byte_io.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "runtime/vm/test_builder.h"

namespace tvm {
namespace runtime {
namespace {

using B = vm::TestBuilder;
constexpr Device kCPU{kDLCPU, 0};
constexpr DLDataType kF32{kDLFloat, 32, 1};

std::string ByteArray(const std::string& name, const std::string& bytes, const char* attributes) {
  std::string out =
      "__attribute__((" + std::string(attributes) + ")) const unsigned char " + name + "[] = {";
  for (unsigned char c : bytes) out += std::to_string(c) + ",";
  return out + "};\n";
}

// The kernel adds the first two arguments into the third. Structures as in the C ABI.
constexpr char kKernelSource[] = R"(
#include <stdint.h>
typedef struct { int32_t type_index; uint32_t pad; union { int64_t i; void* p; char* obj; } v; } Any;
typedef struct { void* data; int64_t device; int32_t ndim; int32_t dtype; int64_t* shape; } Dl;
int __tvm_ffi_add(void* self, const Any* args, int32_t n, Any* ret) {
  Dl* t[3];
  for (int i = 0; i < 3; ++i) t[i] = (Dl*)(args[i].v.obj + 24);
  for (int64_t i = 0; i < t[0]->shape[0]; ++i)
    ((float*)t[2]->data)[i] = ((float*)t[0]->data)[i] + ((float*)t[1]->data)[i];
  return 0;
}
int __tvm_ffi___tvm_const_base(void* self, const Any* args, int32_t n, Any* ret) {
  ret->type_index = 4;
  ret->v.p = (void*)opentvm_constants;
  return 0;
}
)";

class LibraryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/library_test_XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    dir_ = name;
  }
  void TearDown() override {
    if (!dir_.empty()) ASSERT_EQ(std::system(("rm -rf " + dir_).c_str()), 0);
  }

  /// main(x) = x + weight, the weight in the library.
  std::string Build(int64_t n) {
    B b;
    Tensor weight = Tensor::Empty(ffi::Shape{n}, kF32, kCPU);
    for (int64_t i = 0; i < n; ++i) static_cast<float*>(weight->data)[i] = static_cast<float>(i);
    auto w = b.Const(ffi::Any(static_cast<ffi::Tensor>(weight)));
    auto size = b.Const(ffi::Shape{4 * n});
    auto shape = b.Const(ffi::Shape{n});
    auto f32 = b.Const(kF32);
    auto u8 = b.Const(DLDataType{kDLUInt, 8, 1});
    b.Begin("main", 1, 4);
    b.Call("vm.builtin.alloc_storage", {B::VM(), size, B::I(0), u8}, 1);
    b.Call("vm.builtin.alloc_tensor", {B::R(1), B::I(0), shape, f32}, 2);
    b.Call("add", {B::R(0), w, B::R(2)});
    b.Ret(2);
    b.End();
    auto exec = b.Finish();
    uint64_t total = 0;
    auto placed = exec->PlaceConstantsInBlob(64, &total);
    EXPECT_EQ(placed.size(), 1u);
    std::string blob(total, '\0');
    ConstBlobHeader header{kConstBlobMagic, total, placed.size(), {}};
    std::memcpy(blob.data(), &header, sizeof(header));
    std::memcpy(blob.data() + placed[0].first, placed[0].second.data_ptr(),
                static_cast<size_t>(4 * n));
    ffi::Bytes exec_bytes = exec->SaveToBytes();

    std::string body;
    support::ByteWriter w2(&body);
    w2.WriteVector(std::vector<uint64_t>{0, 1, 1});
    w2.WriteVector(std::vector<uint64_t>{1});
    w2.WriteString("relax.VMExecutable");
    w2.WriteString(std::string_view(exec_bytes.data(), exec_bytes.size()));
    w2.WriteString("_lib");
    std::string bin;
    support::ByteWriter(&bin).WriteString(body);

    std::string source =
        ByteArray("opentvm_note", BuildLibraryNote("", "llvm"),
                  "section(\".note.opentvm\"), aligned(4), used") +
        ByteArray("opentvm_constants", blob, "aligned(64), used, visibility(\"hidden\")") +
        ByteArray("__tvm_ffi__library_bin", bin, "aligned(8), used") + kKernelSource;
    std::ofstream(dir_ + "/lib.c") << source;
    std::string path = dir_ + "/lib.so";
    EXPECT_EQ(std::system(("cc -shared -fPIC -O1 -o " + path + " " + dir_ + "/lib.c").c_str()), 0);
    SealLibrary(path);
    // For trying the example program by hand.
    if (const char* keep = std::getenv("OPENTVM_TEST_KEEP_LIBRARY")) {
      EXPECT_EQ(std::system(("cp " + path + " " + keep).c_str()), 0);
    }
    return path;
  }

  std::string dir_;
};

TEST_F(LibraryTest, InspectThenRunWithConstantsInPlace) {
  std::string path = Build(100);
  auto info = ffi::Function::GetGlobalRequired("runtime.InspectLibrary")(ffi::String(path))
                  .cast<ffi::Map<ffi::String, ffi::Any>>();
  EXPECT_TRUE(info["digest_ok"].cast<bool>());
  auto modules = info["modules"].cast<ffi::Array<ffi::String>>();
  ASSERT_EQ(modules.size(), 2u);
  EXPECT_EQ(modules[0], "relax.VMExecutable");
  auto functions = info["vm_functions"].cast<ffi::Array<ffi::Map<ffi::String, ffi::Any>>>();
  ASSERT_EQ(functions.size(), 1u);
  EXPECT_EQ(functions[0]["name"].cast<ffi::String>(), "main");
  auto constants = info["constants"].cast<ffi::Array<ffi::Map<ffi::String, ffi::Any>>>();
  ASSERT_EQ(constants.size(), 1u);
  EXPECT_TRUE(constants[0]["in_library"].cast<bool>());
  EXPECT_EQ(constants[0]["nbytes"].cast<int64_t>(), 400);

  ffi::Module mod = ffi::Module::LoadFromFile(ffi::String(path));
  EXPECT_STREQ(mod->kind(), "relax.VMExecutable");
  auto machine = (*mod->GetFunction("vm_load_executable", false))().cast<ffi::Module>();
  (*machine->GetFunction("vm_initialization", false))(1, 0, 2);
  Tensor x = Tensor::Empty(ffi::Shape{100}, kF32, kCPU);
  for (int i = 0; i < 100; ++i) static_cast<float*>(x->data)[i] = 0.5f;
  auto out =
      (*machine->GetFunction("main", false))(static_cast<ffi::Tensor>(x)).cast<ffi::Tensor>();
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(static_cast<float*>(Tensor(out)->data)[i], 0.5f + static_cast<float>(i));
  }
}

TEST_F(LibraryTest, DamagedLibraryIsNotOpened) {
  std::string path = Build(100);
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(0, std::ios::end);
  auto size = static_cast<int64_t>(file.tellg());
  std::string bytes(static_cast<size_t>(size), '\0');
  file.seekg(0);
  file.read(bytes.data(), size);
  float nine = 9, ten = 10;
  std::string pattern(reinterpret_cast<char*>(&nine), 4);
  pattern.append(reinterpret_cast<char*>(&ten), 4);
  size_t at = bytes.find(pattern);
  ASSERT_NE(at, std::string::npos);
  file.seekp(static_cast<std::streamoff>(at));
  file.put('\x7f');
  file.close();
  try {
    ffi::Module::LoadFromFile(ffi::String(path));
    FAIL() << "no error";
  } catch (const ffi::Error& e) {
    EXPECT_NE(std::string(e.what()).find("does not match the digest"), std::string::npos);
  }
}

}  // namespace
}  // namespace runtime
}  // namespace tvm
