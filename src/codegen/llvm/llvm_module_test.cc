// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "codegen/llvm/llvm_module.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/c_env_api.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>
#include <vector>

#include "codegen/llvm/compile.h"
#include "codegen/object_writer.h"
#include "codegen/testing.h"

namespace tvm {
namespace codegen {
namespace testing {
namespace {

const DataType kInt = DataType::Int(32);

/// C[i] += step.
PrimFunc AddStep(const std::string& name, int step) {
  Buffer C = Vector("C", kInt, 4);
  Var i("i", kInt);
  return Packed(name, {C},
                Loop(i, 4, BufferStore(C, BufferLoad(C, {PrimExpr(i)}) + step, {PrimExpr(i)})));
}

int RunStep(const ffi::Function& f) {
  std::vector<int32_t> c = {0, 0, 0, 0};
  f(static_cast<DLTensor*>(Tensor1D<int32_t>(&c, kInt)));
  return c[3];
}

TEST(ParallelCompile, RunsEachOnceAndStopsAtASignal) {
  std::vector<std::atomic<int>> runs(100);
  ParallelCompile(runs.size(), [&](size_t i) { ++runs[i]; });
  for (const auto& count : runs) EXPECT_EQ(count, 1);

  TVMFFIEnvRegisterCAPI("PyErr_CheckSignals", reinterpret_cast<void*>(+[]() -> int { return -1; }));
  std::atomic<size_t> done{0};
  try {
    // The other threads wait for the caller's first piece, or they might take all of them.
    const std::thread::id caller = std::this_thread::get_id();
    std::atomic<bool> started{false};
    ParallelCompile(1000, [&](size_t) {
      if (std::this_thread::get_id() == caller) started = true;
      while (!started) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      ++done;
    });
    ADD_FAILURE() << "expected an error";
  } catch (const ffi::Error& error) {
    EXPECT_EQ(std::string(error.kind()), "EnvErrorAlreadySet");
  }
  EXPECT_LT(done, 1000u);
  TVMFFIEnvRegisterCAPI("PyErr_CheckSignals", nullptr);
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

TEST(LLVMModule, SystemLibraryRegistersItselfWhenLoaded) {
  IRModule mod = WithAttr(ModuleOf({AddStep("step", 3)}), tvm::attr::kSystemLibPrefix,
                          ffi::String("codegen_test_"));
  ffi::Module module = Build(mod, Target("llvm"));
  EXPECT_TRUE((*module->GetFunction("__tvm_is_system_module"))().cast<bool>());
  const std::string base = ::testing::TempDir() + "/codegen_system_test";
  module->WriteToFile(base + ".o", "o");
  const std::string command = "cc -shared -o " + base + ".so " + base + ".o";
  ASSERT_EQ(std::system(command.c_str()), 0);
  ASSERT_NE(dlopen((base + ".so").c_str(), RTLD_NOW | RTLD_LOCAL), nullptr) << dlerror();
  ffi::Module library =
      ffi::Function::GetGlobalRequired("ffi.SystemLib")("codegen_test_").cast<ffi::Module>();
  EXPECT_EQ(RunStep(*library->GetFunction("step")), 3);
}

TEST(LLVMModule, OptLevelsAndFastMath) {
  const DataType f32 = DataType::Float(32);
  Buffer A = Vector("A", f32, 1000), C = Vector("C", f32, 1);
  Var i("i", kInt);
  // A float sum in order: only reassociation may vectorize it.
  PrimExpr zero(0);
  Stmt sum =
      Loop(i, 1000, BufferStore(C, BufferLoad(C, {zero}) + BufferLoad(A, {PrimExpr(i)}), {zero}));
  std::vector<float> a(1000);
  float in_order = 0;
  for (int k = 0; k < 1000; ++k) in_order += a[k] = 1.f / static_cast<float>(k + 1);
  const std::string cpu = "\"mcpu\": \"skylake-avx512\"";
  for (const char* extra : {"", ", \"opt-level\": 0", ", \"opt-level\": 1", ", \"opt-level\": 3",
                            ", \"fast-math\": true"}) {
    const std::string target = "{\"kind\": \"llvm\", " + cpu + extra + "}";
    ffi::Module module = BuildFor({Packed("sum", {A, C}, sum)}, target.c_str());
    const bool vectorized =
        std::string(module->InspectSource("ll")).find("fadd") != std::string::npos &&
        std::string(module->InspectSource("ll")).find(" x float>") != std::string::npos;
    EXPECT_EQ(vectorized, std::string(extra).find("fast-math") != std::string::npos) << target;
    std::vector<float> c = {0};
    (*module->GetFunction("sum"))(static_cast<DLTensor*>(Tensor1D<float>(&a, f32)),
                                  static_cast<DLTensor*>(Tensor1D<float>(&c, f32)));
    if (vectorized) {
      EXPECT_NEAR(c[0], in_order, 1e-4f);
    } else {
      EXPECT_EQ(c[0], in_order) << target;
    }
  }
}

int64_t ResidentKiB() {
  std::ifstream file("/proc/self/statm");
  int64_t total = 0, resident = 0;
  file >> total >> resident;
  return resident * 4;
}

TEST(LLVMModule, RepeatedBuildsKeepMemoryFlat) {
  auto build = [](int step) {
    EXPECT_EQ(RunStep(*BuildFor({AddStep("one", step)})->GetFunction("one")), step);
  };
  for (int k = 0; k < 50; ++k) build(k);
  const int64_t before = ResidentKiB();
  for (int k = 0; k < 200; ++k) build(k);
  EXPECT_LT(ResidentKiB() - before, 4096);
}

TEST(LLVMModule, CrossCompilesForAnotherProcessor) {
  const char* target =
      "{\"kind\": \"llvm\", \"mtriple\": \"aarch64-linux-gnu\", \"mcpu\": \"cortex-a72\"}";
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
