// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "codegen/llvm/llvm_module.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <tvm/ffi/error.h>

#include <cstdlib>
#include <fstream>

#include "codegen/testing.h"
#include "codegen/object_writer.h"

namespace tvm {
namespace codegen {
namespace testing {
namespace {

const DataType kInt = DataType::Int(32);

/// C[i] += step.
PrimFunc AddStep(const std::string& name, int step) {
  Buffer C = Vector("C", kInt, 4);
  Var i("i", kInt);
  return Packed(name, {C}, Loop(i, 4, BufferStore(C, BufferLoad(C, {PrimExpr(i)}) + step, {PrimExpr(i)})));
}

int RunStep(const ffi::Function& f) {
  std::vector<int32_t> c = {0, 0, 0, 0};
  f(static_cast<DLTensor*>(Tensor1D<int32_t>(&c, kInt)));
  return c[3];
}

TEST(LLVMModule, Surface) {
  ffi::Module module = BuildFor({AddStep("one", 1), AddStep("two", 2)});
  EXPECT_STREQ(module->kind(), "llvm");
  EXPECT_EQ(module->GetPropertyMask(), 6);
  EXPECT_TRUE(module->ImplementsFunction("one"));
  EXPECT_FALSE(module->ImplementsFunction("three"));
  EXPECT_FALSE(module->GetFunction("three").has_value());
  EXPECT_EQ(RunStep(*module->GetFunction("one")), 1);
  EXPECT_EQ(RunStep(*module->GetFunction("two")), 2);
  auto names = (*module->GetFunction("get_func_names"))().cast<ffi::Array<ffi::String>>();
  EXPECT_EQ(names.size(), 2u);
  EXPECT_FALSE((*module->GetFunction("__tvm_is_system_module"))().cast<bool>());
  EXPECT_THROW(module->InspectSource("cuda"), ffi::Error);
  EXPECT_THROW(module->SaveToBytes(), ffi::Error);
}

TEST(LLVMModule, FunctionOutlivesModule) {
  ffi::Function f = *BuildFor({AddStep("one", 1)})->GetFunction("one");
  EXPECT_EQ(RunStep(f), 1);
}

TEST(LLVMModule, EqualBodiesShareCode) {
  IRModule mod = ModuleOf({AddStep("a", 5), AddStep("b", 5), AddStep("c", 6)});
  CompilePlan plan = PlanCompilation(mod);
  size_t units = 0;
  for (const FunctionBatch& batch : plan.batches) units += batch.size();
  EXPECT_EQ(units, 2u);
  ffi::Module module = Build(mod, Target("llvm"));
  EXPECT_EQ(RunStep(*module->GetFunction("a")), 5);
  EXPECT_EQ(RunStep(*module->GetFunction("b")), 5);
  EXPECT_EQ(RunStep(*module->GetFunction("c")), 6);
}

TEST(LLVMModule, DuplicateSymbolNamesBoth) {
  IRModule mod = ModuleOf({AddStep("a", 5)});
  mod.CopyOnWrite()->Add(GlobalVar("other"), AddStep("a", 6));
  try {
    Build(mod, Target("llvm"));
    FAIL() << "no error";
  } catch (const ffi::Error& error) {
    EXPECT_EQ(error.kind(), "InternalError");
    EXPECT_NE(std::string(error.message()).find("other"), std::string::npos);
  }
}

TEST(LLVMModule, TextAndFiles) {
  ffi::Module module = BuildFor({AddStep("one", 1)});
  const std::string ll(module->InspectSource("ll")), assembly(module->InspectSource("s"));
  EXPECT_NE(ll.find("define"), std::string::npos);
  EXPECT_NE(ll.find("@__tvm_ffi_one("), std::string::npos);
  EXPECT_NE(assembly.find("__tvm_ffi_one:"), std::string::npos);
  const std::string folder = ::testing::TempDir();
  for (const char* format : {"ll", "bc"}) {
    const std::string path = folder + "/codegen_module_test." + format;
    module->WriteToFile(path, format);
    ffi::Module loaded = GetLLVMHooks().load_ir(path);
    EXPECT_EQ(RunStep(*loaded->GetFunction("one")), 1) << format;
  }
  EXPECT_THROW(module->WriteToFile(folder + "/x.elf", "elf"), ffi::Error);
}

TEST(LLVMModule, ObjectFileLinksIntoALibrary) {
  // Many batches, so that the object is a union.
  std::vector<PrimFunc> funcs;
  for (int i = 0; i < 60; ++i) funcs.push_back(AddStep("f" + std::to_string(i), i));
  EXPECT_GT(PlanCompilation(ModuleOf(funcs)).batches.size(), 1u);
  ffi::Module module = BuildFor(funcs);
  const std::string base = ::testing::TempDir() + "/codegen_object_test";
  module->WriteToFile(base + ".o", "o");
  const std::string command = "cc -shared -o " + base + ".so " + base + ".o";
  ASSERT_EQ(std::system(command.c_str()), 0);
  ffi::Module library = ffi::Module::LoadFromFile(base + ".so");
  for (int i : {0, 17, 59}) EXPECT_EQ(RunStep(*library->GetFunction("f" + std::to_string(i))), i);
}

TEST(LLVMModule, CrossCompilesForAnotherProcessor) {
  const char* target = "{\"kind\": \"llvm\", \"mtriple\": \"aarch64-linux-gnu\", \"mcpu\": \"cortex-a72\"}";
  ffi::Module module = BuildFor({AddStep("one", 1)}, target);
  const std::string object((*module->GetFunction("__tvm_merged_object"))().cast<ffi::Bytes>());
  EXPECT_EQ(ObjectMachine::FromObject(object).machine, 183);
  EXPECT_THROW(module->GetFunction("one"), ffi::Error);
}

TEST(LLVMModule, ExplicitProcessorIsPortable) {
  const char* target = "{\"kind\": \"llvm\", \"mcpu\": \"x86-64\"}";
  ffi::Module module = BuildFor({AddStep("one", 1)}, target);
  EXPECT_EQ(std::string(module->InspectSource("s")).find("zmm"), std::string::npos);
  EXPECT_EQ(RunStep(*module->GetFunction("one")), 1);
}

}  // namespace
}  // namespace testing
}  // namespace codegen
}  // namespace tvm
