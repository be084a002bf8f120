// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <gtest/gtest.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/structural_equal.h>
#include <tvm/ir/buffer.h>
#include <tvm/ir/expr_functor.h>
#include <tvm/ir/module.h>
#include <tvm/ir/scalar_op.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>

namespace tvm {
namespace {

using namespace tirx;  // NOLINT(build/namespaces): the scalar nodes

/// Message of the error of that kind; fails the test when none is thrown.
std::string ErrorOf(const char* kind, const std::function<void()>& body) {
  try {
    body();
  } catch (const ffi::Error& error) {
    EXPECT_EQ(std::string(error.kind()), kind) << error.message();
    return std::string(error.message());
  }
  ADD_FAILURE() << "expected " << kind;
  return "";
}

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(IRType, PrimTypeIsSharedAndRefusesHandles) {
  EXPECT_TRUE(PrimType(DataType::Int(32)).same_as(PrimType(DataType::Int(32))));
  EXPECT_TRUE(PrimType(DataType::Float(32, 4)).same_as(PrimType(DataType::Float(32, 4))));
  EXPECT_FALSE(PrimType(DataType::Int(32)).same_as(PrimType(DataType::Int(64))));
  std::string message = ErrorOf("TypeError", [] { PrimType type(DataType::Handle()); });
  EXPECT_TRUE(Contains(message, "PrimType cannot represent an opaque pointer"));
  EXPECT_TRUE(Type::Missing().IsMissing());
  EXPECT_TRUE(Type().IsMissing());
  EXPECT_FALSE(Type(PrimType(DataType::Int(8))).IsMissing());
}

TEST(IRExpr, IntImmRange) {
  EXPECT_EQ(IntImm(DataType::Int(8), -128)->value, -128);
  EXPECT_TRUE(Contains(ErrorOf("ValueError", [] { IntImm imm(DataType::Int(8), 128); }),
                       "Literal value 128 exceeds maximum of int8"));
  EXPECT_TRUE(Contains(ErrorOf("ValueError", [] { IntImm imm(DataType::Int(8), -129); }),
                       "Literal value -129 exceeds minimum of int8"));
  EXPECT_TRUE(Contains(ErrorOf("ValueError", [] { IntImm imm(DataType::UInt(8), -1); }),
                       "Literal value -1 is negative for unsigned integer type uint8"));
  EXPECT_TRUE(Contains(ErrorOf("ValueError", [] { IntImm imm(DataType::Bool(), 2); }),
                       "2 exceeds range of bool"));
  EXPECT_TRUE(Contains(ErrorOf("ValueError", [] { IntImm imm(DataType::Int(32, 4), 2); }),
                       "IntImm can only take scalar"));
  EXPECT_TRUE(Contains(ErrorOf("ValueError", [] { IntImm imm(DataType::Float(32), 2); }),
                       "IntImm supports only int or uint or bool type"));
}

TEST(IRExpr, FloatImmRange) {
  EXPECT_TRUE(Contains(ErrorOf("ValueError", [] { FloatImm imm(DataType::Float(16), 65505); }),
                       "exceeds maximum of float16"));
  EXPECT_TRUE(std::isinf(FloatImm(DataType::Float(16), INFINITY)->value));
  EXPECT_TRUE(std::isnan(FloatImm(DataType::BFloat(16), NAN)->value));
}

TEST(IRExpr, PrimExprIsACategory) {
  Var i("i"), p("p", PointerType(PrimType(DataType::Float(32))));
  PrimExpr e = i;
  EXPECT_EQ(e.dtype(), DataType::Int(32));
  EXPECT_TRUE(Expr(i).as<PrimExpr>().has_value());
  EXPECT_FALSE(Expr(p).as<PrimExpr>().has_value());
  ErrorOf("TypeError", [&] { PrimExpr bad = p; });
  Buffer buffer = decl_buffer({IntImm::Int32(4)}, DataType::Float(32), "A");
  EXPECT_TRUE(Expr(buffer).as<Buffer>().has_value());
  EXPECT_FALSE(Expr(i).as<Buffer>().has_value());
  // From other languages: numbers, text.
  EXPECT_EQ(ffi::Any(3).cast<PrimExpr>().dtype(), DataType::Int(32));
  EXPECT_EQ(ffi::Any(int64_t{1} << 40).cast<PrimExpr>().dtype(), DataType::Int(64));
  EXPECT_EQ(ffi::Any(true).cast<PrimExpr>().dtype(), DataType::Bool());
  EXPECT_EQ(ffi::Any(1.5).cast<PrimExpr>().dtype(), DataType::Float(32));
  EXPECT_TRUE(ffi::Any(ffi::String("x")).cast<PrimExpr>().as<StringImmNode>() != nullptr);
}

TEST(IRExpr, BinaryNeedsEqualTypes) {
  Var i("i"), x("x", DataType::Float(32));
  EXPECT_TRUE(
      Contains(ErrorOf("TypeError", [&] { Add(i, x); }), "mismatched types. int32 vs. float32"));
  ErrorOf("TypeError", [&] { And(i, i); });
  ErrorOf("ValueError", [&] { Add(PrimExpr(), i); });
}

TEST(ScalarOp, Promotion) {
  Var i8("a", DataType::Int(8)), i32("b"), i64("c", DataType::Int(64));
  Var f16("d", DataType::Float(16)), f32("e", DataType::Float(32)), u32("f", DataType::UInt(32));
  EXPECT_EQ((i8 + 1).dtype(), DataType::Int(8));
  EXPECT_EQ((i8 + 1000).dtype(), DataType::Int(32));
  EXPECT_EQ((i32 + i64).dtype(), DataType::Int(64));
  EXPECT_EQ((i32 + f32).dtype(), DataType::Float(32));
  EXPECT_EQ((f16 + 1.5).dtype(), DataType::Float(16));
  EXPECT_EQ((f16 + f32).dtype(), DataType::Float(32));
  EXPECT_EQ((i32 + u32).dtype(), DataType::Int(32));
  PrimExpr ramp = Ramp(i32, IntImm::Int32(1), IntImm::Int32(4));
  EXPECT_EQ((ramp + 1).dtype(), DataType::Int(32, 4));
  EXPECT_EQ((ramp < i32).dtype(), DataType::Bool(4));
  ErrorOf("TypeError", [&] { i32 / i32; });
}

TEST(ConstFold, IntegersWrapAtTheirWidth) {
  PrimExpr a = IntImm(DataType::Int(8), 100);
  EXPECT_EQ(*as_const_int(a + a), -56);
  EXPECT_EQ((a + a).dtype(), DataType::Int(8));
  EXPECT_EQ(*as_const_int(floordiv(IntImm::Int32(-7), 2)), -4);
  EXPECT_EQ(*as_const_int(floormod(IntImm::Int32(-7), 2)), 1);
  EXPECT_EQ(*as_const_int(truncdiv(IntImm::Int32(-7), 2)), -3);
  EXPECT_EQ(*as_const_int(truncmod(IntImm::Int32(-7), 2)), -1);
  const int64_t low = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(*as_const_int(floordiv(IntImm::Int64(low), IntImm::Int64(-1))), low);
  Var i("i");
  ErrorOf("ValueError", [&] { floordiv(i, 0); });
  ErrorOf("ValueError", [&] { floormod(IntImm::Int32(5), 0); });
  // A uint64 result above 2^63 stays an operation.
  PrimExpr big = IntImm(DataType::UInt(64), std::numeric_limits<int64_t>::max());
  EXPECT_TRUE((big + big).as<AddNode>() != nullptr);
}

TEST(ConstFold, FloatsKeepNaNAndPrecision) {
  PrimExpr nan = FloatImm(DataType::Float(32), NAN), one = FloatImm(DataType::Float(32), 1);
  for (PrimExpr value : {max(nan, one), max(one, nan), min(nan, one), min(one, nan)}) {
    EXPECT_TRUE(std::isnan(value.as<FloatImmNode>()->value));
  }
  EXPECT_TRUE(is_zero(nan == nan));
  EXPECT_TRUE(is_one(nan != nan));
  Var x("x", DataType::Float(32));
  EXPECT_TRUE((PrimExpr(x) - x).as<SubNode>() != nullptr);
  EXPECT_TRUE((PrimExpr(x) == PrimExpr(x)).as<EQNode>() != nullptr);
  EXPECT_TRUE((x * 0.0).as<MulNode>() != nullptr);
  // In single precision 2^24 + 1 is 2^24.
  PrimExpr sum = FloatImm(DataType::Float(32), 16777216.0) + one;
  EXPECT_EQ(sum.as<FloatImmNode>()->value, 16777216.0);
  // In half precision 2049 is 2048.
  PrimExpr half = cast(DataType::Float(16), IntImm::Int32(2049));
  EXPECT_EQ(half.as<FloatImmNode>()->value, 2048.0);
  EXPECT_EQ(*as_const_int(cast(DataType::Int(8), FloatImm(DataType::Float(32), 300.0))), 127);
  EXPECT_EQ(*as_const_int(cast(DataType::Int(32), nan)), 0);
}

TEST(StructuralEqual, LetAndFreeVariables) {
  auto let = [](const char* name) {
    Var x(name);
    return Let(x, IntImm::Int32(3), PrimExpr(x) + 1);
  };
  EXPECT_TRUE(ffi::StructuralEqual()(let("x"), let("y")));
  Var a("a"), b("a");
  EXPECT_FALSE(ffi::StructuralEqual()(a + 1, b + 1));
  EXPECT_TRUE(ffi::StructuralEqual::Equal(a + 1, b + 1, /*map_free_vars=*/true));
  EXPECT_FALSE(ffi::StructuralEqual()(PrimExpr(IntImm::Int32(1)), PrimExpr(IntImm::Int64(1))));
}

TEST(ExprUtil, DeepNestingIsNoCrash) {
  Var x("x");
  PrimExpr e = x;
  // Alternating kinds, so that no builder folds.
  for (int i = 0; i < 200000; ++i) e = i % 2 == 0 ? PrimExpr(Add(e, x)) : PrimExpr(Max(e, x));
  int count = 0;
  PostOrderVisitExpr(e, [&](const Expr&) { ++count; });
  EXPECT_EQ(count, 200001);
  EXPECT_TRUE(UsesVar(e, x));
  EXPECT_EQ(FreeVars(e).size(), 1u);
  EXPECT_TRUE(ExprDeepEqual()(e, e));
  // A recursive walk says so instead of overflowing the stack.
  struct Identity final : ExprMutator {};
  try {
    Identity()(e);
  } catch (const ffi::Error& error) {
    EXPECT_TRUE(Contains(std::string(error.message()), "nested too deeply"));
  }
}

TEST(ExprUtil, SubstituteAndCompare) {
  Var x("x"), y("y");
  PrimExpr e = x * 2 + floordiv(y, 3);
  PrimExpr s = Substitute(e, ffi::Map<Var, PrimExpr>{{x, y}});
  EXPECT_TRUE(ExprDeepEqual()(s, y * 2 + floordiv(y, 3)));
  EXPECT_FALSE(ExprDeepEqual()(s, e));
  EXPECT_EQ(ExprDeepHash()(s), ExprDeepHash()(y * 2 + floordiv(y, 3)));
  EXPECT_TRUE(Substitute(e, ffi::Map<Var, PrimExpr>{{Var("z"), y}}).same_as(e));
  ErrorOf("TypeError", [&] { Substitute(e, ffi::Map<Var, PrimExpr>{{x, IntImm::Int64(1)}}); });
}

TEST(Buffer, OffsetsAndLoads) {
  Buffer a = decl_buffer({IntImm::Int32(4), IntImm::Int32(8)}, DataType::Float(32), "A");
  Var i("i"), j("j");
  EXPECT_TRUE(ExprDeepEqual()(a.ElemOffset({i, j}), i * 8 + j));
  EXPECT_EQ(BufferLoad(a, {i, j}).dtype(), DataType::Float(32));
  PrimExpr lane = Ramp(j, IntImm::Int32(1), IntImm::Int32(4));
  EXPECT_EQ(BufferLoad(a, {i, lane}).dtype(), DataType::Float(32, 4));
  ErrorOf("ValueError", [&] { BufferLoad(a, {i}); });
  ErrorOf("ValueError", [&] { BufferLoad(a, {lane, i}); });
  EXPECT_EQ(buffer_data(a)->ty.as<PointerTypeNode>()->storage_scope, "global");
}

TEST(SaveJSON, RoundTripAndUpgrade) {
  Var x("x");
  PrimExpr e = Let(x, IntImm::Int32(3), exp(cast(DataType::Float(32), PrimExpr(x) * 2)));
  ffi::Any loaded = LoadJSON(SaveJSON(e));
  EXPECT_TRUE(ffi::StructuralEqual()(ffi::Any(e), loaded));
  std::string text(SaveJSON(x));
  auto replace = [&](const std::string& from, const std::string& to) {
    size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << text;
    text.replace(at, from.size(), to);
  };
  replace("\"ir.Var\"", "\"tirx.Var\"");
  replace("\"name\"", "\"name_hint\"");
  EXPECT_EQ(LoadJSON(text).cast<Var>()->name, "x");
  ErrorOf("ValueError", [] { LoadJSON("{\"version\": 1}"); });
  ErrorOf("ValueError", [] { LoadJSON("[1, 2"); });
}

}  // namespace
}  // namespace tvm
