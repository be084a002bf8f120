// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/runtime/device_api.h>
#include <tvm/runtime/library_note.h>
#include <tvm/runtime/vm/vm.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "runtime/vm/test_builder.h"

namespace tvm {
namespace runtime {
namespace vm {
namespace {

using B = TestBuilder;
constexpr Device kCPU{kDLCPU, 0};
constexpr DLDataType kF32{kDLFloat, 32, 1};

float* Data(const ffi::Tensor& t) {
  return static_cast<float*>(const_cast<void*>(t.GetDLTensorPtr()->data));
}
ffi::Tensor Filled(std::vector<int64_t> shape, float value) {
  Tensor t = Tensor::Empty(ffi::Shape(shape.begin(), shape.end()), kF32, kCPU);
  int64_t n = 1;
  for (int64_t d : shape) n *= d;
  for (int64_t i = 0; i < n; ++i) Data(t)[i] = value;
  return t;
}

/// out = a + b, as a kernel in destination-passing style.
int AddKernel(void*, const TVMFFIAny* args, int32_t n, TVMFFIAny*) {
  if (n != 3) {
    TVMFFIErrorSetRaisedFromCStr("TypeError", "add expects 3 arguments");
    return -1;
  }
  const DLTensor* t[3];
  for (int i = 0; i < 3; ++i) t[i] = TVMFFITensorGetDLTensorPtr(args[i].v_obj);
  int64_t count = 1;
  for (int i = 0; i < t[0]->ndim; ++i) count *= t[0]->shape[i];
  for (int64_t i = 0; i < count; ++i) {
    static_cast<float*>(t[2]->data)[i] =
        static_cast<float*>(t[0]->data)[i] + static_cast<float*>(t[1]->data)[i];
  }
  return 0;
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::GlobalDef()
      .def("test.vm.fail", [](int64_t v) -> int64_t { TVM_FFI_THROW(KeyError) << "no key " << v; })
      .def("test.vm.dec", [](int64_t v) { return v - 1; })
      .def("test.vm.add_int", [](int64_t a, int64_t b) { return a + b; })
      .def("test.vm.positive", [](int64_t v) { return v > 0; });
  ffi::Function::SetGlobal("test.vm.add", ffi::Function::FromExternC(nullptr, AddKernel, nullptr));
}

/// main(x): y = x + x in a storage; z = y + x in another; returns (z, y) or z.
ffi::ObjectPtr<VMExecutable> AddTwice(int64_t n, bool tuple) {
  B b;
  int64_t bytes = n * 4;
  auto size = b.Const(ffi::Shape{bytes});
  auto shape = b.Const(ffi::Shape{n});
  auto f32 = b.Const(kF32);
  auto u8 = b.Const(DLDataType{kDLUInt, 8, 1});
  auto scope = b.Const(ffi::String("global"));
  auto ctx = b.Const(ffi::String("main x"));
  b.Begin("main", 1, 8);
  b.Call("vm.builtin.check_tensor_info", {B::R(0), B::I(1), f32, ctx});
  b.Call("vm.builtin.alloc_storage", {B::VM(), size, B::I(0), u8, scope}, 1);
  b.Call("vm.builtin.alloc_tensor", {B::R(1), B::I(0), shape, f32}, 2);
  b.Call("test.vm.add", {B::R(0), B::R(0), B::R(2)});
  b.Call("vm.builtin.alloc_storage", {B::VM(), size, B::I(0), u8, scope}, 3);
  b.Call("vm.builtin.alloc_tensor", {B::R(3), B::I(0), shape, f32}, 4);
  b.Call("vm.builtin.null_value", {}, 1);
  b.Call("vm.builtin.null_value", {}, 3);
  b.Call("test.vm.add", {B::R(2), B::R(0), B::R(4)});
  if (tuple) {
    b.Call("vm.builtin.make_tuple", {B::R(4), B::R(2)}, 5);
    b.Ret(5);
  } else {
    b.Ret(4);
  }
  b.End();
  return b.Finish();
}

TEST(VMTest, RunsAndKeepsOutputsApart) {
  for (AllocatorType type : {memory::kPooled, memory::kNaive}) {
    ffi::Module vm = MakeMachine(AddTwice(5, false), type);
    ffi::Function main = *vm->GetFunction("main", false);
    std::vector<ffi::Tensor> outputs;
    for (int i = 0; i < 6; ++i) {
      outputs.push_back(main(Filled({5}, static_cast<float>(i))).cast<ffi::Tensor>());
    }
    for (int i = 0; i < 6; ++i) {
      for (int k = 0; k < 5; ++k) EXPECT_EQ(Data(outputs[i])[k], 3.0f * i);
    }
  }
}

TEST(VMTest, OutputSurvivesTheMachine) {
  ffi::Tensor out;
  {
    ffi::Module vm = MakeMachine(AddTwice(1000, false));
    out = (*vm->GetFunction("main", false))(Filled({1000}, 2)).cast<ffi::Tensor>();
  }
  EXPECT_EQ(Data(out)[999], 6.0f);
}

TEST(VMTest, TupleOutputsAreNotOverwritten) {
  ffi::Module vm = MakeMachine(AddTwice(4, true));
  ffi::Function main = *vm->GetFunction("main", false);
  std::vector<ffi::Array<ffi::Any>> kept;
  ffi::Tensor first_of_dropped;
  for (int i = 0; i < 6; ++i) {
    auto out = main(Filled({4}, static_cast<float>(i))).cast<ffi::Array<ffi::Any>>();
    if (i == 1) {
      // Keeps an element of a tuple that is itself dropped.
      first_of_dropped = out[0].cast<ffi::Tensor>();
    } else {
      kept.push_back(out);
    }
  }
  EXPECT_EQ(Data(first_of_dropped)[0], 3.0f);
  int expected[] = {0, 2, 3, 4, 5};
  for (int k = 0; k < 5; ++k) {
    EXPECT_EQ(Data(kept[k][0].cast<ffi::Tensor>())[3], 3.0f * expected[k]);
    EXPECT_EQ(Data(kept[k][1].cast<ffi::Tensor>())[3], 2.0f * expected[k]);
  }
}

TEST(VMTest, ThreadsShareAMachine) {
  ffi::Module vm = MakeMachine(AddTwice(64, false));
  ffi::Function main = *vm->GetFunction("main", false);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      ffi::Tensor in = Filled({64}, static_cast<float>(t + 1));
      for (int i = 0; i < 500; ++i) {
        auto out = main(in).cast<ffi::Tensor>();
        for (int k = 0; k < 64; ++k) wrong += Data(out)[k] != 3.0f * static_cast<float>(t + 1);
      }
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(wrong.load(), 0);
}

/// Steady calls make no heap or map call. Needs tests/runtime/alloc_counter.c preloaded.
TEST(VMTest, SteadyCallsAllocateNothing) {
  using BeginFn = void (*)();
  using EndFn = void (*)(long*);  // NOLINT(runtime/int)
  auto begin = reinterpret_cast<BeginFn>(dlsym(RTLD_DEFAULT, "alloc_counter_begin"));
  auto end = reinterpret_cast<EndFn>(dlsym(RTLD_DEFAULT, "alloc_counter_end"));
  if (begin == nullptr || end == nullptr) GTEST_SKIP() << "the allocation counter is not preloaded";
  // The counter does count.
  long check[4] = {};  // NOLINT(runtime/int)
  begin();
  void* volatile block = std::malloc(100);
  std::free(block);
  end(check);
  EXPECT_EQ(check[0], 1);
  EXPECT_EQ(check[1], 1);
  for (bool tuple : {false, true}) {
    ffi::Module vm = MakeMachine(AddTwice(1024, tuple));
    ffi::Function main = *vm->GetFunction("main", false);
    ffi::Tensor in = Filled({1024}, 1);
    ffi::Any out;
    for (int i = 0; i < 5; ++i) out = main(in);
    long counts[4] = {};  // NOLINT(runtime/int)
    begin();
    for (int i = 0; i < 100; ++i) out = main(in);
    end(counts);
    EXPECT_EQ(counts[0], 0) << "malloc";
    EXPECT_EQ(counts[1], 0) << "free";
    EXPECT_EQ(counts[2], 0) << "mmap";
    EXPECT_EQ(counts[3], 0) << "munmap";
  }
}

TEST(VMTest, ArgumentsFromOutsideAreMadeCompact) {
  ffi::Module vm = MakeMachine(AddTwice(3, false));
  ffi::Function main = *vm->GetFunction("main", false);
  float backing[16];
  for (int i = 0; i < 16; ++i) backing[i] = static_cast<float>(i);
  int64_t shape[1] = {3}, strides[1] = {4};
  DLTensor view{};
  view.data = backing;
  view.device = kCPU;
  view.ndim = 1;
  view.dtype = kF32;
  view.shape = shape;
  view.strides = strides;
  view.byte_offset = 4;
  auto out = main(&view).cast<ffi::Tensor>();
  EXPECT_EQ(Data(out)[0], 3.0f);
  EXPECT_EQ(Data(out)[1], 15.0f);
  EXPECT_EQ(Data(out)[2], 27.0f);
}

TEST(VMTest, ErrorsNameTheProblem) {
  ffi::Module vm = MakeMachine(AddTwice(3, false));
  ffi::Function main = *vm->GetFunction("main", false);
  auto message = [&](auto&&... args) -> std::string {
    try {
      main(args...);
    } catch (const ffi::Error& e) {
      return std::string(e.kind().data(), e.kind().size()) + ": " + e.what();
    }
    return "";
  };
  EXPECT_EQ(message(),
            "InternalError: Invoking function main expects 1 arguments (p0), but 0 "
            "arguments were provided.");
  EXPECT_EQ(message(3), "TypeError: main x expect a Tensor but get int");
  EXPECT_EQ(message(Filled({3, 1}, 0)), "ValueError: main x expect Tensor with ndim 1 but get 2");
  EXPECT_FALSE(vm->GetFunction("nothing", false).has_value());
  // The machine still works after errors.
  EXPECT_EQ(Data(main(Filled({3}, 1)).cast<ffi::Tensor>())[0], 3.0f);
}

TEST(VMTest, CalleeErrorKeepsKindAndTellsWhere) {
  B b;
  b.Begin("inner", 1, 2);
  b.Call("test.vm.fail", {B::R(0)}, 1);
  b.Ret(1);
  b.End();
  b.Begin("main", 1, 2);
  b.Call("inner", {B::R(0)}, 1);
  b.Ret(1);
  b.End();
  ffi::Module vm = MakeMachine(b.Finish());
  try {
    (*vm->GetFunction("main", false))(7);
    FAIL() << "no error";
  } catch (const ffi::Error& e) {
    EXPECT_EQ(std::string(e.kind().data(), e.kind().size()), "KeyError");
    EXPECT_STREQ(e.what(), "no key 7");
    std::string trace(e.backtrace().data(), e.backtrace().size());
    EXPECT_NE(trace.find("in inner calling test.vm.fail"), std::string::npos) << trace;
  }
}

/// sum(n) = n > 0 ? n + sum(n - 1) : 0
ffi::ObjectPtr<VMExecutable> RecursiveSum() {
  B b;
  b.Begin("sum", 1, 4);
  b.Call("test.vm.positive", {B::R(0)}, 1);
  b.Call("vm.builtin.read_if_cond", {B::R(1)}, 1);
  b.If(1, 5);
  b.Call("test.vm.dec", {B::R(0)}, 2);
  b.Call("sum", {B::R(2)}, 2);
  b.Call("test.vm.add_int", {B::R(0), B::R(2)}, 3);
  b.Goto(2);
  b.Call("vm.builtin.copy", {B::I(0)}, 3);
  b.Ret(3);
  b.End();
  return b.Finish();
}

TEST(VMTest, BranchesAndRecursion) {
  ffi::Module vm = MakeMachine(RecursiveSum());
  ffi::Function sum = *vm->GetFunction("sum", false);
  EXPECT_EQ(sum(0).cast<int64_t>(), 0);
  EXPECT_EQ(sum(10).cast<int64_t>(), 55);
  EXPECT_EQ(sum(20000).cast<int64_t>(), 200010000);
  try {
    sum(1000000);
    FAIL() << "no error";
  } catch (const ffi::Error& e) {
    EXPECT_EQ(std::string(e.kind().data(), e.kind().size()), "RecursionError");
  }
  EXPECT_EQ(sum(10).cast<int64_t>(), 55);
}

TEST(VMTest, ClosuresAndDynamicShapes) {
  B b;
  auto f32 = b.Const(kF32);
  auto ctx = b.Const(ffi::String("x"));
  // body(x, k): an addition of integers
  b.Begin("body", 2, 3);
  b.Call("test.vm.add_int", {B::R(0), B::R(1)}, 2);
  b.Ret(2);
  b.End();
  b.Begin("main", 1, 4);
  b.Call("vm.builtin.make_closure", {Instruction::Arg::FuncIdx(b.Func("body")), B::I(40)}, 1);
  b.Call("vm.builtin.invoke_closure", {B::VM(), B::R(1), B::R(0)}, 2);
  b.Ret(2);
  b.End();
  // dyn(x): allocates (n, n) for x of shape (n,) and returns that shape
  b.Begin("dyn", 1, 8);
  b.Call("vm.builtin.alloc_shape_heap", {B::VM(), B::I(2)}, 1);
  b.Call("vm.builtin.match_shape", {B::R(0), B::R(1), B::I(1), B::I(1), B::I(0), ctx});
  b.Call("vm.builtin.make_shape", {B::R(1), B::I(2), B::I(1), B::I(0), B::I(1), B::I(0)}, 2);
  b.Call("vm.builtin.alloc_storage", {B::VM(), B::R(2), B::I(0), f32}, 3);
  b.Call("vm.builtin.alloc_tensor", {B::R(3), B::I(0), B::R(2), f32}, 4);
  b.Call("vm.builtin.shape_of", {B::R(4)}, 5);
  b.Ret(5);
  b.End();
  ffi::Module vm = MakeMachine(b.Finish());
  EXPECT_EQ((*vm->GetFunction("main", false))(2).cast<int64_t>(), 42);
  ffi::Function dyn = *vm->GetFunction("dyn", false);
  for (int64_t n : {3, 3, 5, 1, 3}) {
    auto shape = dyn(Filled({n}, 0)).cast<ffi::Shape>();
    ASSERT_EQ(shape.size(), 2u);
    EXPECT_EQ(shape[0], n);
    EXPECT_EQ(shape[1], n);
  }
}

TEST(VMTest, MatchShapeErrors) {
  auto match = ffi::Function::GetGlobalRequired("vm.builtin.match_shape");
  auto message = [&](auto&&... args) -> std::string {
    try {
      match(args...);
    } catch (const ffi::Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(message(ffi::Shape{2, 3}, nullptr, 2, 0, 2, 2, 0, "ctx"), "");
  EXPECT_NE(message(ffi::Shape{2, 3}, nullptr, 2, 0, 2, 0, 4, "ctx")
                .find("ctx match_cast error,  shape[1] mismatch to specified constant."),
            std::string::npos);
  EXPECT_NE(
      message(ffi::Shape{2}, nullptr, 2, 0, 2, 0, 4, "ctx").find("match_cast shape size mismatch."),
      std::string::npos);
  Tensor heap = Tensor::Empty(ffi::Shape{1}, DLDataType{kDLInt, 64, 1}, kCPU);
  EXPECT_EQ(message(ffi::Shape{7, 7}, ffi::Tensor(heap), 2, 1, 0, 3, 0, "c"), "");
  EXPECT_NE(message(ffi::Shape{7, 8}, ffi::Tensor(heap), 2, 1, 0, 3, 0, "c")
                .find("mismatch to a previous populated value."),
            std::string::npos);
  // A heap index that a damaged program names is an error, not a write.
  EXPECT_NE(message(ffi::Shape{7}, ffi::Tensor(heap), 1, 1, 1000000, "c"), "");
}

TEST(VMTest, StatefulInterface) {
  ffi::Module vm = MakeMachine(AddTwice(2, true));
  auto call = [&](const char* name, auto&&... args) {
    return (*vm->GetFunction(name, false))(args...);
  };
  EXPECT_THROW(call("set_input", "nothing", Filled({2}, 1)), ffi::Error);
  EXPECT_THROW(call("invoke_stateful", "main"), ffi::Error);
  EXPECT_THROW(call("get_output", "main"), ffi::Error);
  call("set_input", "main", Filled({2}, 5));
  call("invoke_stateful", "main");
  EXPECT_EQ(call("get_output_arity", "main").cast<int64_t>(), 2);
  EXPECT_EQ(call("get_output_arity", "main", 0).cast<int64_t>(), -1);
  EXPECT_EQ(Data(call("get_output", "main", 0).cast<ffi::Tensor>())[1], 15.0f);
  EXPECT_THROW(call("get_output", "main", 2), ffi::Error);
  EXPECT_EQ(call("get_function_arity", "main").cast<int64_t>(), 1);
  EXPECT_EQ(call("get_function_param_name", "main", 0).cast<ffi::String>(), "p0");
  call("save_function", "main", "saved", true, Filled({2}, 4));
  auto saved = call("saved").cast<ffi::Array<ffi::Any>>();
  EXPECT_EQ(Data(saved[0].cast<ffi::Tensor>())[0], 12.0f);
}

TEST(VMTest, InstrumentSeesAndSkips) {
  ffi::Module vm = MakeMachine(AddTwice(2, false));
  ffi::Function main = *vm->GetFunction("main", false);
  std::vector<std::string> before;
  int after = 0;
  bool skip = false;
  ffi::Function instrument = ffi::Function::FromPacked([&](ffi::PackedArgs args, ffi::Any* rv) {
    auto name = args[1].cast<ffi::String>();
    if (args[2].cast<bool>()) {
      before.emplace_back(name.data(), name.size());
      if (skip && name == "test.vm.add") *rv = 1;
    } else {
      ++after;
    }
  });
  (*vm->GetFunction("set_instrument", false))(instrument);
  EXPECT_EQ(Data(main(Filled({2}, 1)).cast<ffi::Tensor>())[0], 3.0f);
  EXPECT_EQ(before.size(), 9u);
  EXPECT_EQ(after, 9);
  EXPECT_EQ(before[0], "vm.builtin.check_tensor_info");
  skip = true;
  after = 0;
  main(Filled({2}, 1));
  EXPECT_EQ(after, 7);
  (*vm->GetFunction("set_instrument", false))(nullptr);
  std::string report;
  auto text = (*vm->GetFunction("profile", false))("main", Filled({2}, 1)).cast<ffi::String>();
  report.assign(text.data(), text.size());
  EXPECT_NE(report.find("test.vm.add"), std::string::npos);
  EXPECT_NE(report.find("float32[2]"), std::string::npos) << report;
}

TEST(VMTest, NativeFunctions) {
  // Doubles register 0 into register 1, the one after its arguments.
  ffi::Function::SetGlobal("__vmtir__twice",
                           ffi::Function::FromTyped([](void*, void* regs, void*, void*) {
                             auto* r = static_cast<TVMFFIAny*>(regs);
                             r[1] = r[0];
                             r[1].v_int64 = 2 * r[0].v_int64;
                           }),
                           true);
  B b;
  Index twice = b.Func("twice");
  VMFuncInfo& info = b.exec()->func_table[static_cast<size_t>(twice)];
  info.kind = VMFuncInfo::FuncKind::kVMTIRFunc;
  info.num_args = 1;
  info.register_file_size = 2;
  b.Begin("main", 1, 2);
  b.Call("twice", {B::R(0)}, 1);
  b.Call("twice", {B::R(1)}, 1);
  b.Ret(1);
  b.End();
  ffi::Module vm = MakeMachine(b.Finish());
  EXPECT_EQ((*vm->GetFunction("twice", false))(4).cast<int64_t>(), 8);
  EXPECT_EQ((*vm->GetFunction("main", false))(4).cast<int64_t>(), 16);
}

TEST(VMTest, UnknownPackedFunctionIsNamed) {
  B b;
  b.Begin("main", 0, 1);
  b.Call("test.vm.no_such_function", {}, 0);
  b.Ret(0);
  b.End();
  try {
    MakeMachine(b.Finish());
    FAIL() << "no error";
  } catch (const ffi::Error& e) {
    EXPECT_NE(std::string(e.what()).find("Cannot find ffi::Function test.vm.no_such_function"),
              std::string::npos);
  }
}

// ---- executable ------------------------------------------------------------------------------

ffi::ObjectPtr<VMExecutable> WithConstants() {
  B b;
  b.Const(ffi::Any(int64_t{1} << 60));
  b.Const(ffi::Any(1.5));
  b.Const(ffi::Any(ffi::String("hello, world")));
  b.Const(ffi::Any(ffi::String("s")));
  b.Const(ffi::Any(ffi::Shape{1, 2, 3}));
  b.Const(ffi::Any(kF32));
  b.Const(ffi::Any(nullptr));
  auto t = b.Const(ffi::Any(Filled({2, 2}, 7)));
  b.exec()->memory_scopes[7] = "global";
  b.Begin("main", 0, 1);
  b.Call("vm.builtin.copy", {t}, 0);
  b.Ret(0);
  b.End();
  return b.Finish();
}

TEST(VMExecutableTest, RoundTrip) {
  auto exec = WithConstants();
  ffi::Bytes bytes = exec->SaveToBytes();
  ffi::Module loaded = VMExecutable::LoadFromBytes(bytes);
  auto* copy = static_cast<VMExecutable*>(const_cast<ffi::ModuleObj*>(loaded.get()));
  EXPECT_EQ(std::string(copy->AsText().c_str()), exec->AsText().c_str());
  EXPECT_EQ(std::string(copy->Stats().c_str()), exec->Stats().c_str());
  ffi::Bytes again = copy->SaveToBytes();
  EXPECT_TRUE(bytes == again);
  EXPECT_EQ(copy->constants[0].cast<int64_t>(), int64_t{1} << 60);
  EXPECT_EQ(copy->constants[4].cast<ffi::Shape>()[2], 3);
  ffi::Module vm = MakeMachine(ffi::GetObjectPtr<VMExecutable>(copy));
  EXPECT_EQ(Data((*vm->GetFunction("main", false))().cast<ffi::Tensor>())[3], 7.0f);
}

TEST(VMExecutableTest, TextForm) {
  auto exec = AddTwice(4, false);
  std::string text(exec->AsText().c_str());
  EXPECT_NE(text.find("@main:\n"), std::string::npos);
  EXPECT_NE(text.find("@test.vm.add packed_func;\n"), std::string::npos);
  EXPECT_NE(text.find("%vm, c[0], i0, c[3], c[4] dst: %1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  ret   %4\n"), std::string::npos) << text;
  std::string sum(RecursiveSum()->AsText().c_str());
  EXPECT_NE(sum.find("  goto  2\n"), std::string::npos) << sum;
  EXPECT_NE(sum.find("  If    %1, 5\n"), std::string::npos) << sum;
}

TEST(VMExecutableTest, DamagedBytesAreErrors) {
  ffi::Bytes bytes = WithConstants()->SaveToBytes();
  std::string good(bytes.data(), bytes.size());
  auto load = [](const std::string& s) -> std::string {
    try {
      VMExecutable::LoadFromBytes(ffi::Bytes(s));
    } catch (const ffi::Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(load(good), "");
  for (size_t n = 0; n < good.size(); ++n) {
    std::string message = load(good.substr(0, n));
    EXPECT_NE(message.find("Invalid VM file format in the "), std::string::npos)
        << "cut to " << n << ": " << message;
  }
  EXPECT_NE(load(good + "x").find("in the code section"), std::string::npos);
  std::mt19937 rng(3);
  for (int round = 0; round < 20000; ++round) {
    std::string copy = good;
    for (int k = 0; k <= round % 4; ++k) copy[rng() % copy.size()] = static_cast<char>(rng());
    load(copy);  // an answer either way, no crash
  }
}

TEST(VMExecutableTest, ConstantsInALibraryBlob) {
  auto exec = WithConstants();
  uint64_t total = 0;
  auto placed = exec->PlaceConstantsInBlob(16, &total);
  ASSERT_EQ(placed.size(), 1u);
  EXPECT_EQ(placed[0].first % 64, 0u);
  // The blob that a library would carry.
  void* memory = nullptr;
  ASSERT_EQ(posix_memalign(&memory, 64, total), 0);
  auto* blob = static_cast<char*>(memory);
  ConstBlobHeader header{kConstBlobMagic, total, 1, {}};
  std::memcpy(blob, &header, sizeof(header));
  std::memcpy(blob + placed[0].first, Data(placed[0].second), 16);
  ffi::Bytes bytes = exec->SaveToBytes();
  exec->ClearBlobPlacement();
  EXPECT_GT(exec->SaveToBytes().size(), bytes.size());

  class BlobModule final : public ffi::ModuleObj {
   public:
    explicit BlobModule(void* base) : base_(base) {}
    const char* kind() const final { return "test_blob"; }
    ffi::Optional<ffi::Function> GetFunction(const ffi::String& name) final {
      if (name != kConstBaseFunction) return std::nullopt;
      void* base = base_;
      return ffi::Function::FromTyped([base]() { return base; });
    }

   private:
    void* base_;
  };
  auto load = [&] {
    ffi::Module mod = VMExecutable::LoadFromBytes(bytes);
    mod->ImportModule(ffi::Module(ffi::make_object<BlobModule>(blob)));
    return mod;
  };
  auto machine = [](const ffi::Module& mod) {
    auto* e = static_cast<VMExecutable*>(const_cast<ffi::ModuleObj*>(mod.get()));
    return MakeMachine(ffi::GetObjectPtr<VMExecutable>(e));
  };
  ffi::Module mod = load();
  auto out = (*machine(mod)->GetFunction("main", false))().cast<ffi::Tensor>();
  EXPECT_EQ(static_cast<void*>(Data(out)), static_cast<void*>(blob + placed[0].first));
  EXPECT_EQ(Data(out)[2], 7.0f);
  // A blob that is shorter than the constant says is refused.
  header.nbytes = placed[0].first + 8;
  std::memcpy(blob, &header, sizeof(header));
  EXPECT_THROW(machine(load()), ffi::Error);
  EXPECT_THROW(machine(VMExecutable::LoadFromBytes(bytes)), ffi::Error);
  out = ffi::Tensor();
  std::free(blob);
}

}  // namespace
}  // namespace vm
}  // namespace runtime
}  // namespace tvm
