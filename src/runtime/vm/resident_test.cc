// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <gtest/gtest.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/reflection/registry.h>

#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "runtime/vm/test_builder.h"

namespace tvm {
namespace runtime {
namespace vm {
namespace {

using B = TestBuilder;
constexpr DLDataType kF32{kDLFloat, 32, 1};
constexpr DLDataType kU8{kDLUInt, 8, 1};

/// What the callee `test.resident.see` was given, and what it keeps.
struct Seen {
  std::vector<const void*> objects;
  std::vector<ffi::Tensor> kept;
  bool keep = false;
};
Seen seen;

float* Data(const ffi::Tensor& t) { return static_cast<float*>(t.GetDLTensorPtr()->data); }

ffi::Tensor Filled(int64_t n, float value) {
  Tensor t = Tensor::Empty(ffi::Shape{n}, kF32, Device{kDLCPU, 0});
  for (int64_t i = 0; i < n; ++i) static_cast<float*>(t->data)[i] = value;
  return t;
}

/// out[i] = a[i] + b[i] over the elements of out.
void Add(ffi::Tensor a, ffi::Tensor b, ffi::Tensor out) {
  for (int64_t i = 0; i < out.numel(); ++i) Data(out)[i] = Data(a)[i] + Data(b)[i];
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::GlobalDef()
      .def("test.resident.add", Add)
      .def("test.resident.positive", [](ffi::Tensor x) { return Data(x)[0] > 0; })
      .def("test.resident.see", [](ffi::Tensor x) {
        seen.objects.push_back(x.get());
        if (seen.keep) seen.kept.push_back(x);
      });
}

/// main(x) = x + x + x, by way of a planned tensor of 4 elements and a view of it.
ffi::ObjectPtr<VMExecutable> Planned(int64_t offset = 64) {
  B b;
  auto size = b.Const(ffi::Shape{256});
  auto flat = b.Const(ffi::Shape{4});
  auto square = b.Const(ffi::Shape{2, 2});
  auto f32 = b.Const(kF32);
  auto u8 = b.Const(kU8);
  b.Begin("main", 1, 8);
  b.Call("vm.builtin.alloc_storage", {B::VM(), size, B::I(0), u8}, 1);
  b.Call("vm.builtin.alloc_tensor", {B::R(1), B::I(offset), flat, f32}, 2);
  b.Call("vm.builtin.reshape", {B::R(2), square}, 3);
  b.Call("test.resident.add", {B::R(0), B::R(0), B::R(2)});
  b.Call("test.resident.see", {B::R(3)});
  b.Call("vm.builtin.alloc_storage", {B::VM(), size, B::I(0), u8}, 4);
  b.Call("vm.builtin.alloc_tensor", {B::R(4), B::I(0), flat, f32}, 5);
  b.Call("test.resident.add", {B::R(2), B::R(0), B::R(5)});
  b.Ret(5);
  b.End();
  return b.Finish();
}

float Answer(const ffi::Function& main, float value) {
  auto out = main(Filled(4, value)).cast<ffi::Tensor>();
  for (int i = 1; i < 4; ++i) EXPECT_EQ(Data(out)[i], Data(out)[0]);
  return Data(out)[0];
}

TEST(ResidentTest, PlannedTensorsAreMadeOnce) {
  seen = Seen();
  ffi::Module vm = MakeMachine(Planned());
  ffi::Function main = *vm->GetFunction("main", false);
  std::vector<ffi::Tensor> outputs;
  for (int i = 1; i < 5; ++i) {
    outputs.push_back(main(Filled(4, static_cast<float>(i))).cast<ffi::Tensor>());
  }
  // Results are apart while the view that the kernel saw is always the same object.
  for (int i = 1; i < 5; ++i) {
    EXPECT_EQ(Data(outputs[static_cast<size_t>(i) - 1])[3], 3.0f * static_cast<float>(i));
  }
  ASSERT_EQ(seen.objects.size(), 4u);
  for (const void* object : seen.objects) EXPECT_EQ(object, seen.objects[0]);
}

TEST(ResidentTest, WhatACalleeKeepsIsNotOverwritten) {
  seen = Seen();
  ffi::Module vm = MakeMachine(Planned());
  ffi::Function main = *vm->GetFunction("main", false);
  EXPECT_EQ(Answer(main, 1), 3);
  seen.keep = true;
  for (int i = 2; i < 6; ++i) EXPECT_EQ(Answer(main, static_cast<float>(i)), 3 * i);
  seen.keep = false;
  for (int i = 6; i < 9; ++i) EXPECT_EQ(Answer(main, static_cast<float>(i)), 3 * i);
  ASSERT_EQ(seen.kept.size(), 4u);
  for (int i = 2; i < 6; ++i) {
    EXPECT_EQ(Data(seen.kept[static_cast<size_t>(i) - 2])[0], 2.0f * static_cast<float>(i));
  }
  // Once it is let go of, the tensors stay the same again.
  seen.kept.clear();
  EXPECT_EQ(Answer(main, 9), 27);
  EXPECT_EQ(Answer(main, 10), 30);
  EXPECT_EQ(seen.objects.back(), seen.objects[seen.objects.size() - 2]);
}

TEST(ResidentTest, NaiveAllocatorsKeepNothing) {
  seen = Seen();
  ffi::Module vm = MakeMachine(Planned(), memory::kNaive);
  ffi::Function main = *vm->GetFunction("main", false);
  for (int i = 1; i < 5; ++i) EXPECT_EQ(Answer(main, static_cast<float>(i)), 3 * i);
}

TEST(ResidentTest, AnErrorWhileTheyAreMadeComesAgain) {
  seen = Seen();
  ffi::Module vm = MakeMachine(Planned(/*offset=*/1 << 20));
  ffi::Function main = *vm->GetFunction("main", false);
  for (int i = 0; i < 3; ++i) {
    try {
      Answer(main, 1);
      FAIL() << "no error";
    } catch (const ffi::Error& e) {
      EXPECT_NE(std::string(e.what()).find("at offset 1048576 in region"), std::string::npos)
          << e.what();
      std::string trace(e.backtrace().data(), e.backtrace().size());
      EXPECT_NE(trace.find("in main calling vm.builtin.alloc_tensor"), std::string::npos) << trace;
    }
  }
  EXPECT_TRUE(seen.objects.empty());
}

TEST(ResidentTest, AnInstrumentSeesEveryCall) {
  seen = Seen();
  ffi::Module vm = MakeMachine(Planned());
  ffi::Function main = *vm->GetFunction("main", false);
  EXPECT_EQ(Answer(main, 1), 3);
  std::map<std::string, int> calls;
  auto set = *vm->GetFunction("set_instrument", false);
  set(ffi::Function::FromPacked([&](ffi::PackedArgs args, ffi::Any*) {
    auto name = args[1].cast<ffi::String>();
    if (args[2].cast<bool>()) ++calls[std::string(name.data(), name.size())];
  }));
  for (int i = 2; i < 4; ++i) EXPECT_EQ(Answer(main, static_cast<float>(i)), 3 * i);
  EXPECT_EQ(calls["vm.builtin.alloc_storage"], 4);
  EXPECT_EQ(calls["vm.builtin.alloc_tensor"], 4);
  EXPECT_EQ(calls["vm.builtin.reshape"], 2);
  EXPECT_EQ(calls["test.resident.add"], 4);
  set(nullptr);
  for (int i = 4; i < 7; ++i) EXPECT_EQ(Answer(main, static_cast<float>(i)), 3 * i);
}

TEST(ResidentTest, AProfileLeavesOutWhatIsMade) {
  seen = Seen();
  ffi::Module vm = MakeMachine(Planned());
  auto profile = *vm->GetFunction("profile", false);
  auto text = [&] {
    auto json = profile("main", Filled(4, 1)).cast<ffi::String>();
    return std::string(json.data(), json.size());
  };
  EXPECT_NE(text().find("vm.builtin.reshape"), std::string::npos);
  const std::string second = text();
  EXPECT_EQ(second.find("vm.builtin.reshape"), std::string::npos) << second;
  EXPECT_NE(second.find("test.resident.add"), std::string::npos) << second;
}

/// main(x): x > 0 ? x + x : x + (x + x), each branch with a tensor of the storage they share.
ffi::ObjectPtr<VMExecutable> Branches() {
  B b;
  auto size = b.Const(ffi::Shape{256});
  auto flat = b.Const(ffi::Shape{4});
  auto f32 = b.Const(kF32);
  auto u8 = b.Const(kU8);
  b.Begin("main", 1, 10);
  b.Call("vm.builtin.alloc_storage", {B::VM(), size, B::I(0), u8}, 1);
  b.Call("vm.builtin.alloc_storage", {B::VM(), size, B::I(0), u8}, 2);
  b.Call("vm.builtin.alloc_tensor", {B::R(2), B::I(0), flat, f32}, 3);
  b.Call("test.resident.positive", {B::R(0)}, 4);
  b.Call("vm.builtin.read_if_cond", {B::R(4)}, 5);
  b.If(5, 5);
  b.Call("vm.builtin.alloc_tensor", {B::R(1), B::I(0), flat, f32}, 6);
  b.Call("test.resident.add", {B::R(0), B::R(0), B::R(6)});
  b.Call("test.resident.add", {B::R(0), B::R(6), B::R(3)});
  b.Goto(4);
  b.Call("vm.builtin.alloc_tensor", {B::R(1), B::I(64), flat, f32}, 7);
  b.Call("test.resident.see", {B::R(7)});
  b.Call("test.resident.add", {B::R(0), B::R(0), B::R(3)});
  b.Ret(3);
  b.End();
  return b.Finish();
}

TEST(ResidentTest, BranchesMakeTheirOwn) {
  seen = Seen();
  ffi::Module vm = MakeMachine(Branches());
  ffi::Function main = *vm->GetFunction("main", false);
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(Answer(main, 2), 6);
    EXPECT_EQ(Answer(main, -2), -4);
    EXPECT_EQ(Answer(main, -3), -6);
  }
  ASSERT_EQ(seen.objects.size(), 6u);
  for (const void* object : seen.objects) EXPECT_EQ(object, seen.objects[0]);
}

TEST(ResidentTest, ThreadsHaveTheirOwn) {
  seen = Seen();
  ffi::Module vm = MakeMachine(Branches());
  ffi::Function main = *vm->GetFunction("main", false);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 1; t < 5; ++t) {
    threads.emplace_back([&, t] {
      ffi::Tensor in = Filled(4, static_cast<float>(t));
      for (int i = 0; i < 500; ++i) {
        wrong += Data(main(in).cast<ffi::Tensor>())[3] != 3.0f * static_cast<float>(t);
      }
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(wrong.load(), 0);
}

}  // namespace
}  // namespace vm
}  // namespace runtime
}  // namespace tvm
