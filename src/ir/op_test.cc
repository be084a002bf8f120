// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <gtest/gtest.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/serialization.h>
#include <tvm/ir/op.h>
#include <tvm/ir/scalar_op.h>

#include <string>

namespace tvm {
namespace {

TVM_REGISTER_OP("test.op_a").describe("for tests").set_num_inputs(2).add_argument("x", "Expr", "d");

TEST(Op, RegistryAndAttributes) {
  Op op = Op::Get("test.op_a");
  EXPECT_TRUE(op.same_as(Op::Get("test.op_a")));
  EXPECT_EQ(op->num_inputs, 2);
  EXPECT_EQ(op->arguments.size(), 1u);
  try {
    Op::Get("test.none");
    FAIL();
  } catch (const ffi::Error& error) {
    EXPECT_EQ(std::string(error.kind()), "AttributeError");
    EXPECT_NE(std::string(error.message()).find("Operator test.none is not registered"),
              std::string::npos);
  }
}

TEST(Op, HigherLevelOverrides) {
  OpRegEntry& entry = OpRegEntry::RegisterOrGet("test.op_levels");
  entry.set_attr<int>("test.attr", 1, 10);
  auto map = Op::GetAttrMap<int>("test.attr");
  Op op = entry.op();
  EXPECT_EQ(map[op], 1);
  entry.set_attr<int>("test.attr", 2, 5);
  EXPECT_EQ(map[op], 1);
  entry.set_attr<int>("test.attr", 3, 11);
  EXPECT_EQ(map[op], 3);
  try {
    entry.set_attr<int>("test.attr", 4, 11);
    FAIL();
  } catch (const ffi::Error& error) {
    EXPECT_EQ(std::string(error.kind()), "InternalError");
    EXPECT_NE(std::string(error.message()).find("is already registered with same plevel=11"),
              std::string::npos);
  }
  entry.reset_attr("test.attr");
  EXPECT_FALSE(map.count(op));
}

TEST(Op, JsonIsTheName) {
  ffi::String json = ffi::ToJSONGraphString(ffi::Any(Op::Get("tirx.exp")));
  EXPECT_TRUE(ffi::FromJSONGraphString(json).cast<Op>().same_as(Op::Get("tirx.exp")));
}

TEST(Op, SideEffect) {
  Var x("x", DataType::Float(32));
  EXPECT_EQ(SideEffect(exp(x)), CallEffectKind::kPure);
  EXPECT_EQ(SideEffect(likely(x < 1.0f)), CallEffectKind::kPure);
  EXPECT_EQ(SideEffect(Call(DataType::Int(32), GlobalVar("f"), {x})), CallEffectKind::kOpaque);
}

}  // namespace
}  // namespace tvm
