// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <gtest/gtest.h>
#include <tvm/te/create_prim_func.h>
#include <tvm/tirx/analysis.h>

#include <string>
#include <vector>

#include "tirx/testing/interpreter.h"
#include "tirx/testing/run_pass.h"

namespace tvm {
namespace te {
namespace {

using tirx::BufferLoadNode;
using tirx::PrimFunc;
using tirx::SBlockNode;
using tirx::testing::Floats;
using tirx::testing::Interpreter;
using tirx::testing::Pattern;

std::vector<tirx::SBlock> Blocks(const PrimFunc& func) {
  std::vector<tirx::SBlock> blocks;
  tirx::PreOrderVisit(func->body, [&](const ffi::ObjectRef& node) {
    if (const auto* block = node.as<SBlockNode>())
      blocks.push_back(ffi::GetRef<tirx::SBlock>(block));
    return true;
  });
  return blocks;
}

IterVar Reduce(int64_t extent, const char* name = "k") {
  return reduce_axis(Range::FromMinExtent(0, IntImm::Int32(extent)), name);
}

TEST(CreatePrimFunc, MatmulComputesWhatLoopsCompute) {
  Tensor a = placeholder({4, 5}, DataType::Float(32), "A");
  Tensor b = placeholder({5, 3}, DataType::Float(32), "B");
  IterVar k = Reduce(5);
  Tensor c = compute({4, 3}, [&](Var i, Var j) { return sum(a(i, k) * b(k, j), {k}); }, "C");
  PrimFunc func = CreatePrimFunc({a, b, c});

  auto blocks = Blocks(func);
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_EQ(blocks[0]->name_hint, "root");
  tirx::SBlock block = blocks[1];
  EXPECT_EQ(block->name_hint, "C");
  ASSERT_EQ(block->iter_vars.size(), 3u);
  EXPECT_EQ(block->iter_vars[2]->iter_type, tirx::kCommReduce);
  EXPECT_TRUE(block->init.has_value());
  ASSERT_EQ(block->reads.size(), 2u);  // not C itself
  ASSERT_EQ(block->writes.size(), 1u);
  EXPECT_EQ(block->writes[0]->buffer->name, "C");
  EXPECT_EQ(func->GetAttr<ffi::String>("global_symbol").value(), "main");
  EXPECT_TRUE(func->HasNonzeroAttr("s_tir"));
  EXPECT_TRUE(func->HasNonzeroAttr("tirx.noalias"));

  auto ma = Pattern(20), mb = Pattern(15, 2), mc = Pattern(12);
  Interpreter().Run(func, {ma, mb, mc});
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 3; ++j) {
      double want = 0;
      for (int x = 0; x < 5; ++x) want += ma->f[i * 5 + x] * mb->f[x * 3 + j];
      EXPECT_EQ(mc->f[i * 3 + j], want);
    }
  }
}

TEST(CreatePrimFunc, IntermediatesAreAllocatedInTheRoot) {
  Tensor a = placeholder({8}, DataType::Float(32), "A");
  Tensor b = compute({8}, [&](Var i) { return a(i) + 1.0f; }, "B");
  Tensor c = compute({8}, [&](Var i) { return b(i) * b(7 - i); }, "C");
  PrimFunc func = CreatePrimFunc({a, c});
  auto blocks = Blocks(func);
  ASSERT_EQ(blocks.size(), 3u);
  ASSERT_EQ(blocks[0]->alloc_buffers.size(), 1u);
  EXPECT_EQ(blocks[0]->alloc_buffers[0]->name, "B");
  // Two reads of one buffer at different places are one region.
  ASSERT_EQ(blocks[2]->reads.size(), 1u);
  auto ma = Pattern(8), mc = Pattern(8);
  Interpreter().Run(func, {ma, mc});
  for (int i = 0; i < 8; ++i) EXPECT_EQ(mc->f[i], (ma->f[i] + 1) * (ma->f[7 - i] + 1));
}

TEST(CreatePrimFunc, NamesAreUnique) {
  Tensor a = placeholder({8}, DataType::Float(32), "A");
  Tensor b = compute({8}, [&](Var i) { return a(i) + 1.0f; }, "T");
  Tensor c = compute({8}, [&](Var i) { return b(i) + 2.0f; }, "T");
  Tensor d = compute({8}, [&](Var i) { return c(i) + 3.0f; }, "T");
  auto blocks = Blocks(CreatePrimFunc({a, d}));
  EXPECT_EQ(blocks[1]->name_hint, "T");
  EXPECT_EQ(blocks[2]->name_hint, "T_1");
  EXPECT_EQ(blocks[3]->name_hint, "T_2");
}

TEST(CreatePrimFunc, AttrsBecomeAnnotations) {
  Tensor a = placeholder({8}, DataType::Float(32), "A");
  Tensor b = compute(
      {8}, [&](Var i) { return a(i) + 1.0f; }, "B", "",
      {{"tile_op", ffi::String("map")}, {"layout_free_placeholders", ffi::Array<Tensor>{a}}});
  PrimFunc func = CreatePrimFunc({a, b});
  tirx::SBlock block = Blocks(func)[1];
  EXPECT_EQ(block->annotations["tile_op"].cast<ffi::String>(), "map");
  EXPECT_EQ(block->annotations.size(), 1u);
  EXPECT_EQ(func->GetAttr<ffi::Array<int64_t>>("layout_free_buffers").value()[0], 0);
}

TEST(CreatePrimFunc, ArgmaxKeepsBothAccumulators) {
  Tensor a = placeholder({3, 6}, DataType::Float(32), "A");
  IterVar k = Reduce(6);
  auto combine = [](const ffi::Array<Var>& x, const ffi::Array<Var>& y) -> ffi::Array<PrimExpr> {
    PrimExpr keep = x[1] >= PrimExpr(y[1]);
    return {tirx::Select(keep, x[0], y[0]), tirx::Select(keep, x[1], y[1])};
  };
  auto identity = [](const ffi::Array<DataType>& t) -> ffi::Array<PrimExpr> {
    return {make_const(t[0], -1), min_value(t[1])};
  };
  ffi::Array<Tensor> out =
      compute({3}, FBatchCompute([&](const ffi::Array<Var>& i) {
                return comm_reduce(combine, identity, {PrimExpr(k->var), a(i[0], k)}, {k});
              }),
              "argmax");
  PrimFunc func = CreatePrimFunc({a, out[0], out[1]});
  auto index = tirx::testing::Ints(DataType::Int(32), {0, 0, 0});
  auto value = Floats({0, 0, 0});
  Interpreter().Run(
      func, {Floats({1, 9, 2, 9, 0, 0, -5, -4, -3, -2, -1, -6, 7, 1, 1, 1, 1, 1}), index, value});
  EXPECT_EQ(index->i, (std::vector<int64_t>{1, 4, 0}));
  EXPECT_EQ(value->f, (std::vector<double>{9, -1, 7}));
}

TEST(CreatePrimFunc, EmptyReductionGivesTheIdentity) {
  Tensor a = placeholder({2, 0}, DataType::Float(32), "A");
  IterVar k = Reduce(0);
  Tensor c = compute({2}, [&](Var i) { return sum(a(i, k), {k}); }, "C");
  PrimFunc func = CreatePrimFunc({a, c});
  auto out = Floats({7, 7});
  Interpreter().Run(func, {Floats({}), out});
  EXPECT_EQ(out->f, (std::vector<double>{0, 0}));
}

TEST(CreatePrimFunc, ScalarsAndSymbolicShapes) {
  Var n("n", DataType::Int(64));
  Tensor a = placeholder({n}, DataType::Float(32), "A");
  Tensor s = placeholder(ffi::Array<PrimExpr>(), DataType::Float(32), "S");
  Tensor b = compute({n}, [&](Var i) { return a(i) * s(ffi::Array<PrimExpr>()); }, "B");
  PrimFunc func = CreatePrimFunc({a, s, b});
  EXPECT_EQ(Blocks(func)[1]->iter_vars[0]->var->dtype(), DataType::Int(64));
  EXPECT_TRUE(tirx::Buffer(func->params[2]).shape()[0].same_as(n));
}

TEST(CreatePrimFunc, IndexDtypeOverride) {
  Tensor a = placeholder({IntImm::Int64(4)}, DataType::Float(32), "A");
  Tensor b = compute(
      {IntImm::Int64(4)}, [&](Var i) { return a(3 - PrimExpr(i)) + cast(DataType::Float(32), i); },
      "B");
  PrimFunc func = CreatePrimFunc({a, b}, DataType::Int(32));
  tirx::PostOrderVisit(func->body, [](const ffi::ObjectRef& node) {
    if (const auto* load = node.as<BufferLoadNode>()) {
      EXPECT_EQ(load->indices[0].dtype(), DataType::Int(32));
    }
    if (const auto* loop = node.as<tirx::ForNode>()) {
      EXPECT_EQ(loop->loop_var->dtype(), DataType::Int(32));
    }
  });
  auto out = Floats({0, 0, 0, 0});
  Interpreter().Run(func, {Floats({1, 2, 3, 4}), out});
  EXPECT_EQ(out->f, (std::vector<double>{4, 4, 4, 4}));
}

TEST(CreatePrimFunc, ReportsWhatIsMissing) {
  Tensor a = placeholder({8}, DataType::Float(32), "A");
  Tensor b = compute({8}, [&](Var i) { return a(i) + 1.0f; }, "B");
  try {
    CreatePrimFunc(ffi::Array<Tensor>{b});
    FAIL();
  } catch (const ffi::Error& error) {
    EXPECT_EQ(error.kind(), "ValueError");
    EXPECT_NE(std::string(error.what()).find("placeholder A"), std::string::npos);
  }
  EXPECT_THROW(CreatePrimFunc(ffi::Array<Tensor>{a, b, b}), ffi::Error);
}

TEST(Compute, RejectsNestedReductions) {
  Tensor a = placeholder({4, 4}, DataType::Float(32), "A");
  IterVar k = Reduce(4);
  EXPECT_THROW(compute({4}, [&](Var i) { return sum(a(i, k), {k}) + 1.0f; }, "C"), ffi::Error);
}

TEST(Graph, OrderReplacementAndInlining) {
  Tensor a = placeholder({8}, DataType::Float(32), "A");
  Tensor other = placeholder({8}, DataType::Float(32), "O");
  Tensor b = compute({8}, [&](Var i) { return a(i) + 1.0f; }, "B");
  Tensor c = compute({8}, [&](Var i) { return b(i) * a(i); }, "C");
  ffi::Array<Operation> order = PostDFSOrder({c});
  ASSERT_EQ(order.size(), 3u);
  EXPECT_TRUE(order[0].same_as(a->op));
  EXPECT_TRUE(order[2].same_as(c->op));
  EXPECT_TRUE(ReplaceInputs(b->op, {{c, other}}).same_as(b->op));
  Operation replaced = ReplaceInputs(c->op, {{a, other}});
  EXPECT_EQ(replaced->InputTensors().size(), 2u);
  const auto* compute_c = c->op.as<ComputeOpNode>();
  PrimExpr inlined = InlineInto(compute_c->body[0], b->op);
  int reads = 0;
  PostOrderVisitExpr(inlined, [&](const Expr& e) {
    if (const auto* load = e.as<tirx::ProducerLoadNode>()) {
      ++reads;
      EXPECT_TRUE(Downcast<Tensor>(load->producer) == a);
    }
  });
  EXPECT_EQ(reads, 2);
}

TEST(Graph, DeepChainsNeedNoStack) {
  Tensor t = placeholder({1}, DataType::Float(32), "A");
  for (int i = 0; i < 20000; ++i) {
    t = compute({1}, [&](Var v) { return t(v) + 1.0f; }, "T");
  }
  EXPECT_EQ(PostDFSOrder({t}).size(), 20001u);
}

}  // namespace
}  // namespace te
}  // namespace tvm
