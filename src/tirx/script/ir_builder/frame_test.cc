// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <gtest/gtest.h>
#include <tvm/ir/scalar_op.h>
#include <tvm/tirx/ir_builder.h>

namespace tvm::tirx::ir_builder {
namespace {

class FrameTest : public ::testing::Test {
 protected:
  void SetUp() override { builder_.Enter(); }
  void TearDown() override { builder_.Exit(); }

  template <typename T>
  T Result() const {
    return builder_->result.value().as<T>().value();
  }

  IRBuilder builder_ = IRBuilder::Create();
};

TEST_F(FrameTest, StatementsJoinInOrder) {
  EXPECT_NE(AsStmt({}).as<EvaluateNode>(), nullptr);
  Stmt one = Evaluate(1), two = Evaluate(2);
  EXPECT_TRUE(AsStmt({one}).same_as(one));
  EXPECT_EQ(AsStmt({one, two}).as<SeqStmtNode>()->size(), 2u);
}

TEST_F(FrameTest, FunctionTakesItsNameAsSymbolUnlessPrivate) {
  PrimFuncFrame frame(ffi::make_object<PrimFuncFrameNode>());
  frame->name = ffi::String("f");
  frame->EnterWithScope();
  AddToParent(Evaluate(1));
  frame->ExitWithScope();
  EXPECT_EQ(Result<PrimFunc>()->GetAttr<ffi::String>("global_symbol").value(), "f");
}

TEST_F(FrameTest, RootBlockSurroundsBlocks) {
  PrimFuncFrame frame(ffi::make_object<PrimFuncFrameNode>());
  frame->is_private = true;
  frame->s_tir = true;
  frame->EnterWithScope();
  SBlockFrame block(ffi::make_object<SBlockFrameNode>());
  block->name = "b";
  block->iter_vars = {IterVar(Range(0, 4), Var("v"), IterVarType::kDataPar)};
  block->iter_values = {PrimExpr(1)};
  block->EnterWithScope();
  AddToParent(Evaluate(1));
  block->ExitWithScope();
  frame->ExitWithScope();
  PrimFunc func = Result<PrimFunc>();
  const auto* root = func->body.as<SBlockRealizeNode>();
  ASSERT_NE(root, nullptr);
  EXPECT_EQ(root->block->name_hint, "root");
  EXPECT_FALSE(func->GetAttr<ffi::String>("global_symbol").has_value());
  EXPECT_TRUE(func->HasNonzeroAttr("s_tir"));
}

TEST_F(FrameTest, BranchesBelongToAnIf) {
  IfFrame branch(ffi::make_object<IfFrameNode>());
  branch->condition = Var("c", DataType::Bool()).as<PrimExpr>().value();
  ElseFrame orelse(ffi::make_object<ElseFrameNode>());
  EXPECT_THROW(orelse->EnterWithScope(), ffi::Error);
  branch->EnterWithScope();
  EXPECT_THROW(orelse->EnterWithScope(), ffi::Error);  // no then yet
  ThenFrame then(ffi::make_object<ThenFrameNode>());
  then->EnterWithScope();
  then->ExitWithScope();
  orelse->EnterWithScope();
  orelse->ExitWithScope();
  branch->ExitWithScope();
  EXPECT_TRUE(Result<IfThenElse>()->else_case.has_value());
}

TEST_F(FrameTest, StoresConvertLiteralsAndValues) {
  EXPECT_EQ(ConvertTo(DataType::Float(32), PrimExpr(1), "test").dtype(), DataType::Float(32));
  PrimExpr n = Var("n").as<PrimExpr>().value();
  EXPECT_NE(ConvertTo(DataType::Int(64), n, "test").as<CastNode>(), nullptr);
  EXPECT_TRUE(ConvertTo(DataType::Int(32), n, "test").same_as(n));
  EXPECT_THROW(ConvertTo(DataType::Int(32, 4), n, "test"), ffi::Error);
  EXPECT_THROW(ConvertTo(DataType::Int(32), StringImm("text"), "test"), ffi::Error);
}

}  // namespace
}  // namespace tvm::tirx::ir_builder
