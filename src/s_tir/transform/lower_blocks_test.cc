// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Block lowering passes, one by one and together, against the interpreter.
#include <gtest/gtest.h>
#include <tvm/s_tir/transform.h>
#include <tvm/target/target.h>
#include <tvm/te/create_prim_func.h>

#include <vector>

#include "tirx/testing/interpreter.h"
#include "tirx/testing/run_pass.h"

namespace tvm {
namespace s_tir {
namespace {

using namespace tirx;  // NOLINT(build/namespaces)
using tirx::testing::CountNodes;
using tirx::testing::Interpreter;
using tirx::testing::Pattern;
using tirx::testing::RunPass;

Buffer VectorOf(int64_t n, const char* name) {
  return decl_buffer({IntImm::Int32(n)}, DataType::Float(32), name);
}

PrimFunc Matmul() {
  te::Tensor a = te::placeholder({4, 5}, DataType::Float(32), "A");
  te::Tensor b = te::placeholder({5, 6}, DataType::Float(32), "B");
  IterVar k = te::reduce_axis(Range::FromMinExtent(0, 5), "k");
  te::Tensor c =
      te::compute({4, 6}, [&](Var i, Var j) { return te::sum(a(i, k) * b(k, j), {k}); }, "C");
  te::Tensor d = te::compute({4, 6}, [&](Var i, Var j) { return c(i, j) + 1.0f; }, "D");
  return te::CreatePrimFunc({a, b, d});
}

void ExpectSame(const PrimFunc& before, const PrimFunc& after, const std::vector<size_t>& sizes) {
  std::vector<Interpreter::MemoryPtr> lhs, rhs;
  for (size_t i = 0; i < sizes.size(); ++i) {
    lhs.push_back(Pattern(sizes[i], static_cast<int>(i) + 1));
    rhs.push_back(Pattern(sizes[i], static_cast<int>(i) + 1));
  }
  Interpreter().Run(before, lhs);
  Interpreter().Run(after, rhs);
  for (size_t i = 0; i < sizes.size(); ++i) {
    EXPECT_EQ(lhs[i]->f, rhs[i]->f) << "argument " << i << "\n" << DebugText(after->body);
  }
}

TEST(LowerBlocks, EachStepKeepsTheResult) {
  PrimFunc original = Matmul();
  PrimFunc func = original;
  for (const tvm::transform::Pass& pass :
       {transform::CanonicalizeLoop(), transform::LowerInitBlock(),
        transform::PlanAndUpdateBufferAllocationLocation(), transform::ConvertBlocksToOpaque(),
        transform::CompactBufferAllocation(), transform::LowerMatchBuffer(),
        transform::LowerOpaqueBlock(), tirx::transform::FlattenBuffer(),
        tirx::transform::StmtSimplify(), tirx::transform::RemoveNoOp()}) {
    PrimFunc next = RunPass(pass, func);
    ExpectSame(original, next, {20, 30, 24});
    // A second run finds nothing to do.
    EXPECT_TRUE(RunPass(pass, next)->body.same_as(next->body)) << pass.Info()->name;
    func = next;
  }
  EXPECT_EQ(CountNodes<SBlockNode>(func), 0);
  EXPECT_EQ(CountNodes<AllocBufferNode>(func), 1);
}

TEST(CanonicalizeLoop, MinAndStep) {
  Buffer a = VectorOf(16, "A");
  Var i("i");
  Stmt body = BufferStore(a, cast(DataType::Float(32), i), {i});
  PrimFunc func({a}, For(i, 2, 11, ForKind::kSerial, body, std::nullopt, {}, PrimExpr(3)));
  PrimFunc after = RunPass(transform::CanonicalizeLoop(), func);
  const auto* loop = after->body.as<ForNode>();
  EXPECT_TRUE(is_zero(loop->min));
  EXPECT_TRUE(is_const_int(loop->extent, 4));
  EXPECT_FALSE(loop->step.has_value());
  ExpectSame(func, after, {16});
}

TEST(LowerInitBlock, GuardsAllReductionAxes) {
  PrimFunc after = RunPass(transform::LowerInitBlock(), Matmul());
  EXPECT_EQ(tirx::testing::Count(after,
                                 [](const ffi::ObjectRef& n) {
                                   const auto* b = n.as<SBlockNode>();
                                   return b != nullptr && b->init.has_value();
                                 }),
            0);
  EXPECT_EQ(CountNodes<IfThenElseNode>(after), 1);
}

TEST(LowerInitBlock, NeutralElementWithoutIterations) {
  Var n("n");
  te::Tensor a = te::placeholder({4, n}, DataType::Float(32), "A");
  IterVar k = te::reduce_axis(Range::FromMinExtent(0, n), "k");
  te::Tensor c = te::compute({4}, [&](Var i) { return te::sum(a(i, k), {k}); }, "C");
  PrimFunc func = te::CreatePrimFuncFromArgs({a, c, n});
  PrimFunc after = RunPass(transform::LowerInitBlock(), func);
  for (int64_t extent : {0, 3}) {
    auto in = Pattern(4 * extent), out = Pattern(4, 2);
    Interpreter().Run(after, {in, out}, {extent});
    for (int64_t i = 0; i < 4; ++i) {
      double want = 0;
      for (int64_t x = 0; x < extent; ++x) want += in->f[i * extent + x];
      EXPECT_EQ(out->f[i], want);
    }
  }
}

TEST(PlanBufferAllocation, MovesToTheLoopAroundAllAccesses) {
  Buffer a = VectorOf(8, "A"), t = VectorOf(8, "T");
  Var i("i"), v1("v1"), v2("v2");
  auto block = [&](const char* name, Var v, Buffer from, Buffer to) {
    SBlock b({IterVar(Range::FromMinExtent(0, 8), v, kDataPar)},
             {BufferRegion::FromPoint(from, {v})}, {BufferRegion::FromPoint(to, {v})}, name,
             BufferStore(to, BufferLoad(from, {v}) * 2.0f, {v}));
    return SBlockRealize({i}, Bool(true), b);
  };
  Stmt nest = For(i, 0, 8, ForKind::kSerial, SeqStmt({block("x", v1, a, t), block("y", v2, t, a)}));
  PrimFunc func({a},
                SBlockRealize({}, Bool(true), SBlock({}, {}, {}, "root", nest, std::nullopt, {t})));
  PrimFunc after = RunPass(transform::PlanAndUpdateBufferAllocationLocation(), func);
  const SBlock& root = after->body.as<SBlockRealizeNode>()->block;
  EXPECT_TRUE(root->alloc_buffers.empty());
  const auto* inner = root->body.as<ForNode>()->body.as<SBlockRealizeNode>();
  ASSERT_NE(inner, nullptr);
  EXPECT_EQ(inner->block->alloc_buffers.size(), 1u);
  ExpectSame(func, after, {8});

  // The allocation then shrinks to the element one iteration touches.
  PrimFunc opaque = RunPass(transform::ConvertBlocksToOpaque(), after);
  PrimFunc compact = RunPass(transform::CompactBufferAllocation(), opaque);
  bool found = false;
  PostOrderVisit(compact->body, [&](const ffi::ObjectRef& n) {
    const auto* b = n.as<SBlockNode>();
    if (b == nullptr || b->alloc_buffers.empty()) return;
    found = true;
    EXPECT_TRUE(is_one(b->alloc_buffers[0].shape()[0])) << b->alloc_buffers[0].shape()[0];
  });
  EXPECT_TRUE(found);
  ExpectSame(func, compact, {8});
}

TEST(ConvertBlocksToOpaque, PredicateOnBlockVariableIsAnError) {
  Buffer a = VectorOf(8, "A");
  Var i("i"), v("v");
  SBlock block({IterVar(Range::FromMinExtent(0, 8), v, kDataPar)}, {}, {}, "b",
               BufferStore(a, PrimExpr(1.0f), {v}));
  Stmt nest = For(i, 0, 8, ForKind::kSerial, SBlockRealize({i}, v < 4, block));
  PrimFunc func({a}, SBlockRealize({}, Bool(true), SBlock({}, {}, {}, "root", nest)));
  EXPECT_THROW(RunPass(transform::ConvertBlocksToOpaque(), func), ffi::Error);
}

TEST(LowerMatchBuffer, AccessesGoToTheSource) {
  Buffer a = decl_buffer({4, 8}, DataType::Float(32), "A");
  Var i("i"), k("k"), s("s"), off("off");
  Buffer view("S", BufferType(DataType::Float(32), {8}, {s}, off, "global", 64, 1));
  SBlock block({}, {}, {}, "b",
               For(k, 0, 8, ForKind::kSerial,
                   BufferStore(view, BufferLoad(view, {k}) + cast(DataType::Float(32), s), {k})),
               std::nullopt, {},
               {MatchBufferRegion(view, BufferRegion(a, {Range::FromMinExtent(i, 1),
                                                         Range::FromMinExtent(0, 8)}))});
  Stmt nest = For(i, 0, 4, ForKind::kSerial, SBlockRealize({}, Bool(true), block));
  PrimFunc func({a}, SBlockRealize({}, Bool(true), SBlock({}, {}, {}, "root", nest)));
  PrimFunc after = RunPass(transform::LowerMatchBuffer(), func);
  auto got = Pattern(32), before = Pattern(32);
  Interpreter().Run(after, {got});
  for (int x = 0; x < 32; ++x) EXPECT_EQ(got->f[x], before->f[x] + 1);  // s is 1
}

TEST(LowerOpaqueBlock, UnitLoopsPredicatesAndPragmas) {
  Buffer a = VectorOf(8, "A"), t = VectorOf(2, "T");
  Var i("i"), u("u");
  SBlock block({}, {}, {}, "b", BufferStore(a, PrimExpr(1.0f), {i + u}), std::nullopt, {t});
  Stmt inner = For(u, 3, 1, ForKind::kSerial, SBlockRealize({}, i < 4, block));
  Stmt nest = For(i, 0, 5, ForKind::kSerial, inner, std::nullopt,
                  {{"pragma_auto_unroll_max_step", 16}, {"keep", 1}});
  PrimFunc func({a}, SBlockRealize({}, Bool(true), SBlock({}, {}, {}, "root", nest)));
  PrimFunc after = RunPass(transform::LowerOpaqueBlock(), func);
  EXPECT_EQ(CountNodes<ForNode>(after), 1);
  EXPECT_EQ(CountNodes<IfThenElseNode>(after), 1);
  EXPECT_EQ(CountNodes<AllocBufferNode>(after), 1);
  const auto* pragma = after->body.as<AttrStmtNode>();
  ASSERT_NE(pragma, nullptr);
  EXPECT_EQ(pragma->attr_key, "pragma_auto_unroll_max_step");
  EXPECT_EQ(pragma->body.as<ForNode>()->annotations.size(), 1u);
  ExpectSame(func, after, {8});
}

TEST(Pipeline, BlocksToPackedFunction) {
  PrimFunc func = WithAttr(Matmul(), "target", Target("llvm"));
  IRModule mod = transform::LowerCpu()(IRModule::FromExpr(func));
  PrimFunc packed = mod->Lookup(mod->GetGlobalVars()[0]).as<PrimFunc>().value();
  EXPECT_EQ(packed->GetAttr<ffi::String>("global_symbol").value(), "__tvm_ffi_main");
  EXPECT_EQ(packed->params.size(), 4u);
  EXPECT_EQ(CountNodes<SBlockNode>(packed), 0);
}

}  // namespace
}  // namespace s_tir
}  // namespace tvm
