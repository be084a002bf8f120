// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
// Tests over all rows of the operator table, and of inference errors.
#include <gtest/gtest.h>
#include <tvm/relax/analysis.h>
#include <tvm/relax/op_row.h>
#include <tvm/te/operation.h>

#include <sstream>

#include "relax/ir/utils.h"
#include "relax/op/common.h"
#include "relax/op/lower.h"
#include "relax/op/samples.h"

namespace tvm {
namespace relax {
namespace {

TEST(OpTable, EveryRowIsRegistered) {
  ASSERT_GT(AllOpRows().size(), 150u);
  for (const OpRow* row : AllOpRows()) {
    Op op = Op::TryGet(String(std::string("relax.") + row->name));
    ASSERT_TRUE(op.defined()) << row->name;
    EXPECT_EQ(FindOpRow(op), row);
    EXPECT_NE(row->infer, nullptr) << row->name;
    EXPECT_NE(std::string(row->doc), "") << row->name;
  }
}

TEST(OpTable, AttributeNamesAreFields) {
  for (const OpRow* row : AllOpRows()) {
    if (row->attrs_key == nullptr) continue;
    OpSignature sig = OpSignature::Parse(row->args, row->attrs);
    EXPECT_NO_THROW(sig.FieldTypes(row->attrs_key)) << row->name;
    const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(ffi::TypeKeyToIndex(row->attrs_key));
    EXPECT_EQ(static_cast<size_t>(info->num_fields), sig.attrs.size()) << row->name;
  }
}

/// The lowered tensors have the inferred shapes and types.
TEST(OpTable, LoweringAgreesWithInference) {
  int checked = 0;
  for (const OpRow* row : AllOpRows()) {
    for (const Sample& sample : SamplesOf(*row)) {
      BlockBuilder bb = BlockBuilder::Create();
      bb->BeginBindingBlock();
      Call call = Downcast<Call>(bb->Normalize(MakeSampleCall(*row, sample)));
      if (row->lower == nullptr) continue;
      LowerArgs a;
      a.call = call.get();
      a.row = row;
      a.target = Target("llvm");
      auto tensor = [](const Expr& e) {
        const auto* t = e->ty.as<TensorTypeNode>();
        return te::placeholder(t->GetShape().value(), t->ElementType(), "x");
      };
      for (const Expr& arg : call->args) {
        std::vector<te::Tensor> ts;
        if (const auto* tuple = arg.as<TupleNode>()) {
          for (const Expr& f : tuple->fields) ts.push_back(tensor(f));
        } else if (arg->ty.as<TensorTypeNode>()) {
          ts.push_back(tensor(arg));
        }
        a.tensors.push_back(ts);
      }
      ASSERT_NO_THROW(row->lower(a)) << row->name << ": " << sample.text;
      for (size_t i = 0; i < a.out.size(); ++i) {
        const TensorTypeNode* want = a.OutType(static_cast<int>(i));
        EXPECT_EQ(a.out[i].dtype(), want->ElementType()) << row->name << ": " << sample.text;
        auto got = AsInts(a.out[i].shape()), shape = AsInts(want->GetShape().value());
        ASSERT_TRUE(got && shape) << row->name;
        EXPECT_EQ(*got, *shape) << row->name << ": " << sample.text;
      }
      ++checked;
    }
  }
  EXPECT_GT(checked, 100);
}

Var TensorVar(const char* name, std::vector<int64_t> shape, DataType dtype = DataType::Float(32)) {
  return Var(name, TensorType(Dims(shape), dtype));
}
Type Infer(const Expr& e) {
  BlockBuilder bb = BlockBuilder::Create();
  bb->BeginBindingBlock();
  return bb->Normalize(e)->ty;
}
std::string KindOfError(const std::function<void()>& f) {
  try {
    f();
  } catch (const ffi::Error& e) {
    return std::string(e.kind());
  }
  return "none";
}
std::vector<int64_t> Shape(const Type& ty) {
  Array<int64_t> s = ty.as<TensorTypeNode>()->GetStaticShape().value();
  return std::vector<int64_t>(s.begin(), s.end());
}

TEST(Inference, BroadcastingAndItsErrors) {
  EXPECT_EQ(Shape(Infer(MakeOp("add", {TensorVar("x", {2, 1, 3}), TensorVar("y", {4, 1})}))),
            (std::vector<int64_t>{2, 4, 3}));
  EXPECT_EQ(
      KindOfError([] { Infer(MakeOp("add", {TensorVar("x", {2, 3}), TensorVar("y", {2, 4})})); }),
      "ValueError");
  EXPECT_EQ(KindOfError([] {
              Infer(MakeOp("add", {TensorVar("x", {2}), TensorVar("y", {2}, DataType::Int(32))}));
            }),
            "TypeError");
  EXPECT_EQ(KindOfError([] { Infer(MakeOp("exp", {TensorVar("x", {2}, DataType::Int(32))})); }),
            "TypeError");
  EXPECT_EQ(KindOfError([] { MakeOp("exp", {}); }), "ValueError");
}

TEST(Inference, ProductsWithLowBits) {
  auto infer = [&](int64_t bits, int64_t block, std::vector<int64_t> weight,
                   std::vector<int64_t> scale, DataType zero = DataType::UInt(8)) {
    return Infer(MakeOp("nn.low_bit_matmul",
                        {TensorVar("x", {2, 3, 20}), TensorVar("w", weight, DataType::UInt(8)),
                         TensorVar("s", scale), TensorVar("z", {}, zero)},
                        {{"bits", bits}, {"block_size", block}}));
  };
  EXPECT_EQ(Shape(infer(4, 16, {12, 5}, {2, 5})), (std::vector<int64_t>{2, 3, 5}));
  EXPECT_EQ(Shape(infer(8, 20, {20, 5}, {})), (std::vector<int64_t>{2, 3, 5}));
  EXPECT_EQ(KindOfError([&] { infer(3, 16, {12, 5}, {2, 5}); }), "ValueError");
  EXPECT_EQ(KindOfError([&] { infer(4, 12, {12, 5}, {2, 5}); }), "ValueError");
  EXPECT_EQ(KindOfError([&] { infer(4, 16, {10, 5}, {2, 5}); }), "ValueError");
  EXPECT_EQ(KindOfError([&] { infer(4, 16, {12, 5}, {3, 5}); }), "ValueError");
  EXPECT_EQ(KindOfError([&] { infer(4, 16, {12, 5}, {2}); }), "ValueError");
  EXPECT_EQ(KindOfError([&] { infer(4, 16, {12, 5}, {2, 5}, DataType::Int(8)); }), "TypeError");
}

TEST(Inference, SymbolicDimensions) {
  Var n("n", DataType::Int(64)), m("m", DataType::Int(64));
  PrimExpr pn = Downcast<PrimExpr>(n), pm = Downcast<PrimExpr>(m);
  Var x("x", TensorType({pn, Int64(4)}, DataType::Float(32)));
  Var y("y", TensorType({pn, Int64(4)}, DataType::Float(32)));
  Type same = Infer(MakeOp("add", {x, y}));
  ASSERT_TRUE(same.as<TensorTypeNode>()->GetShape().has_value());
  Var z("z", TensorType({pm, Int64(4)}, DataType::Float(32)));
  Type unknown = Infer(MakeOp("add", {x, z}));
  EXPECT_FALSE(unknown.as<TensorTypeNode>()->GetShape().has_value());
  EXPECT_EQ(unknown.as<TensorTypeNode>()->ndim, 2);
}

TEST(Inference, ReshapeResolvesPlaceholders) {
  Expr r = MakeOp("reshape", {TensorVar("x", {2, 3, 4}), ShapeExpr({Int64(0), Int64(-1)})});
  EXPECT_EQ(Shape(Infer(r)), (std::vector<int64_t>{2, 12}));
  EXPECT_EQ(KindOfError(
                [] { Infer(MakeOp("reshape", {TensorVar("x", {2, 3}), ShapeExpr({Int64(7)})})); }),
            "ValueError");
}

TEST(Inference, SlicesClampAsNumpy) {
  EXPECT_EQ(ResolveSlice(10, 2, 100, 3).length, 3);
  EXPECT_EQ(ResolveSlice(10, -3, 100, 1).begin, 7);
  SliceBounds r = ResolveSlice(4, -1, -100, -1);
  EXPECT_EQ(r.begin, 3);
  EXPECT_EQ(r.length, 4);
  EXPECT_EQ(ResolveSlice(4, 2, 2, -1).length, 0);
}

TEST(Inference, ConvolutionShapes) {
  Expr c = MakeOp("nn.conv2d", {TensorVar("x", {1, 3, 224, 224}), TensorVar("w", {64, 3, 7, 7})},
                  {{"strides", Ints{2}}, {"padding", Ints{3}}});
  EXPECT_EQ(Shape(Infer(c)), (std::vector<int64_t>{1, 64, 112, 112}));
  EXPECT_EQ(
      KindOfError([] {
        Infer(MakeOp("nn.conv2d", {TensorVar("x", {1, 4, 8, 8}), TensorVar("w", {6, 3, 3, 3})}));
      }),
      "ValueError");
}

}  // namespace
}  // namespace relax
}  // namespace tvm
