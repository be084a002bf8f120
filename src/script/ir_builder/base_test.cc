// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <gtest/gtest.h>
#include <tvm/script/ir_builder/ir.h>

namespace tvm::script::ir_builder {
namespace {

TEST(IRBuilder, IsCurrentBetweenEnterAndExit) {
  EXPECT_FALSE(IRBuilder::IsInScope());
  EXPECT_THROW(IRBuilder::Current(), ffi::Error);
  IRBuilder outer = IRBuilder::Create(), inner = IRBuilder::Create();
  outer.Enter();
  inner.Enter();
  EXPECT_TRUE(IRBuilder::Current().same_as(inner));
  EXPECT_THROW(outer.Exit(), ffi::Error);  // not the innermost one
  inner.Exit();
  EXPECT_TRUE(IRBuilder::Current().same_as(outer));
  outer.Exit();
  EXPECT_FALSE(IRBuilder::IsInScope());
}

TEST(IRBuilder, FramesAreLeftInOrder) {
  IRBuilder builder = IRBuilder::Create();
  builder.Enter();
  IRModuleFrame first = IRModule(), second = IRModule();
  first->EnterWithScope();
  second->EnterWithScope();
  EXPECT_TRUE(builder->LastFrame<IRModuleFrame>().same_as(second));
  EXPECT_THROW(first->ExitWithScope(), ffi::Error);
  second->ExitWithScope();
  EXPECT_TRUE(builder->result.value().as<IRModuleNode>() != nullptr);
  EXPECT_THROW(first->ExitWithScope(), ffi::Error);  // there is a result already
  builder.Exit();
}

TEST(IRBuilder, CallbacksRunLastFirst) {
  IRBuilder builder = IRBuilder::Create();
  builder.Enter();
  IRModuleFrame frame = IRModule();
  EXPECT_THROW(frame->AddCallback([] {}), ffi::Error);
  frame->EnterWithScope();
  std::vector<int> seen;
  frame->AddCallback([&] { seen.push_back(1); });
  frame->AddCallback([&] { seen.push_back(2); });
  frame->ExitWithScope();
  EXPECT_EQ(seen, (std::vector<int>{2, 1}));
  builder.Exit();
}

TEST(IRBuilder, NamesVariablesAndArrays) {
  Var x("v"), y("v"), z("v");
  IRBuilder::Name("x", x);
  EXPECT_EQ(x->name, "x");
  IRBuilder::NameObject("k", ffi::Array<Var>{y, z});
  EXPECT_EQ(y->name, "k_0");
  EXPECT_EQ(z->name, "k_1");
  IRBuilder::NameObject("n", 3);  // what has no name is left alone
}

TEST(IRModuleFrame, FunctionsAreDeclaredThenDefined) {
  IRBuilder builder = IRBuilder::Create();
  builder.Enter();
  EXPECT_THROW(RequireModuleFrame("test"), ffi::Error);
  IRModuleFrame frame = IRModule();
  frame->EnterWithScope();
  BaseFunc func(ffi::make_object<BaseFuncNode>());
  EXPECT_THROW(DefFunction("f", func), ffi::Error);
  GlobalVar var = DeclFunction("f", func);
  EXPECT_EQ(var->name_hint, "f");
  EXPECT_THROW(DeclFunction("f", func), ffi::Error);
  EXPECT_THROW(frame->ExitWithScope(), ffi::Error);  // no body yet
  builder.Exit();
}

}  // namespace
}  // namespace tvm::script::ir_builder
