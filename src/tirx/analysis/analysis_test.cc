// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <gtest/gtest.h>
#include <tvm/tirx/analysis.h>
#include <tvm/tirx/op.h>

#include <string>

namespace tvm {
namespace tirx {
namespace {

Buffer VectorOf(int64_t n, const char* name) {
  return decl_buffer({IntImm::Int32(n)}, DataType::Float(32), name);
}

std::string ErrorOf(const PrimFunc& func) {
  EXPECT_FALSE(VerifyWellFormed(func, /*assert_mode=*/false));
  try {
    VerifyWellFormed(func, true);
  } catch (const ffi::Error& error) {
    return error.what();
  }
  return "";
}

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(VerifyWellFormed, UndefinedAndOutOfScope) {
  Buffer a = VectorOf(8, "A");
  Var v("v"), c("c", DataType::Bool());
  Stmt use = BufferStore(a, PrimExpr(1.0f), {v});
  EXPECT_TRUE(
      Contains(ErrorOf(PrimFunc({a}, use)), "Invalid use of undefined variable v at <root>.body."));
  Stmt inner = SeqStmt({Bind(v, IntImm::Int32(1)), use});
  std::string text = ErrorOf(PrimFunc({a, c}, SeqStmt({IfThenElse(c, inner), use})));
  EXPECT_TRUE(Contains(text, "<root>.body.seq[1]")) << text;
  EXPECT_TRUE(Contains(text, "previously defined at <root>.body.seq[0].then_case.seq[0]")) << text;
  EXPECT_TRUE(VerifyWellFormed(PrimFunc({a, c}, IfThenElse(c, inner)), true));
}

TEST(VerifyWellFormed, DefinitionsAreUnique) {
  Buffer a = VectorOf(8, "A");
  Var i("i");
  Stmt store = BufferStore(a, PrimExpr(1.0f), {i});
  Stmt loop = For(i, 0, 8, ForKind::kSerial, store);
  std::string nested = ErrorOf(PrimFunc({a}, For(i, 0, 2, ForKind::kSerial, loop)));
  EXPECT_TRUE(Contains(nested, "multiple nested definitions of variable i")) << nested;
  std::string later = ErrorOf(PrimFunc({a}, SeqStmt({loop, loop})));
  EXPECT_TRUE(Contains(later, "and was later re-defined at <root>.body.seq[1]")) << later;
}

TEST(VerifyWellFormed, BuffersNeedADeclaration) {
  Buffer a = VectorOf(8, "A"), b = VectorOf(8, "B");
  Stmt store = BufferStore(b, PrimExpr(1.0f), {0});
  EXPECT_TRUE(Contains(ErrorOf(PrimFunc({a}, store)),
                       "TIR is ill-formed: buffer B is used at <root>.body without a prior"));
  EXPECT_TRUE(VerifyWellFormed(PrimFunc({a}, SeqStmt({AllocBuffer(b), store})), true));
}

TEST(VerifyWellFormed, BlocksUseTheirOwnVariables) {
  Buffer a = VectorOf(8, "A");
  Var i("i"), v("v");
  auto func = [&](PrimExpr index) {
    SBlock block({IterVar(Range::FromMinExtent(0, 8), v, kDataPar)}, {}, {}, "b",
                 BufferStore(a, PrimExpr(1.0f), {index}));
    Stmt nest = For(i, 0, 8, ForKind::kSerial, SBlockRealize({i}, Bool(true), block));
    return PrimFunc({a}, SBlockRealize({}, Bool(true), SBlock({}, {}, {}, "root", nest)));
  };
  EXPECT_TRUE(VerifyWellFormed(func(v), true));
  EXPECT_TRUE(Contains(ErrorOf(func(i)),
                       "Loop iterator var i is defined outside of any block, but is used inside "
                       "the non-opaque current block \"b\"."));
}

TEST(VerifyWellFormed, SymbolicShapesDefineTheirVariables) {
  Var n("n");
  Buffer a = decl_buffer({n}, DataType::Float(32), "A");
  EXPECT_TRUE(VerifyWellFormed(PrimFunc({a}, BufferStore(a, PrimExpr(1.0f), {n - 1})), true));
}

TEST(VerifySSA, FindsRepeatedLoops) {
  Buffer a = VectorOf(8, "A");
  Var i("i");
  Stmt loop = For(i, 0, 8, ForKind::kSerial, BufferStore(a, PrimExpr(1.0f), {i}));
  EXPECT_TRUE(VerifySSA(PrimFunc({a}, loop)));
  EXPECT_FALSE(VerifySSA(PrimFunc({a}, SeqStmt({loop, loop}))));
}

TEST(UndefinedVars, InOrderOfUse) {
  Buffer a = VectorOf(8, "A");
  Var i("i"), n("n"), m("m");
  Stmt body = For(i, 0, n, ForKind::kSerial, BufferStore(a, PrimExpr(1.0f), {i + m}));
  ffi::Array<Var> vars = UndefinedVars(body, {m});
  ASSERT_EQ(vars.size(), 2u);
  EXPECT_TRUE(vars[0].same_as(n));
  EXPECT_TRUE(vars[1].same_as(a));
  EXPECT_TRUE(StmtUsesVar(body, [&](const VarNode* v) { return v == m.get(); }));
  EXPECT_FALSE(StmtUsesVar(body, [](const VarNode* v) { return v->name == "zz"; }));
}

TEST(AccessRegion, RelaxesInnerLoops) {
  Buffer a = VectorOf(64, "A"), b = VectorOf(8, "B"),
         idx = decl_buffer({8}, DataType::Int(32), "I");
  Var v("v"), k("k");
  Stmt body = For(
      k, 0, 4, ForKind::kSerial,
      BufferStore(b, BufferLoad(a, {PrimExpr(v) * 4 + k}) + BufferLoad(a, {BufferLoad(idx, {k})}),
                  {v}));
  SBlock block({IterVar(Range::FromMinExtent(0, 8), v, kDataPar)}, {}, {}, "b", body);
  auto regions = GetSBlockAccessRegion(block);
  ASSERT_EQ(regions[0].size(), 2u);  // A and the index buffer
  ASSERT_EQ(regions[1].size(), 1u);
  // A data-dependent index may go anywhere.
  EXPECT_TRUE(is_const_int(regions[0][0]->region[0]->extent, 64));
  EXPECT_TRUE(is_const_int(regions[0][1]->region[0]->extent, 4));
  EXPECT_TRUE(regions[1][0]->region[0]->min.same_as(v));
  EXPECT_TRUE(is_const_int(regions[1][0]->region[0]->extent, 1));
}

TEST(BufferAccessLca, InnermostCommonScope) {
  Buffer a = VectorOf(8, "A"), t = VectorOf(8, "T"), u = VectorOf(8, "U");
  Var i("i"), j("j"), k("k");
  Stmt inner_j = For(j, 0, 8, ForKind::kSerial, BufferStore(t, PrimExpr(1.0f), {j}));
  Stmt inner_k =
      For(k, 0, 8, ForKind::kSerial, BufferStore(u, BufferLoad(t, {k}) + BufferLoad(a, {i}), {k}));
  Stmt outer = For(i, 0, 8, ForKind::kSerial, SeqStmt({inner_j, inner_k}));
  PrimFunc func(
      {a}, SBlockRealize({}, Bool(true), SBlock({}, {}, {}, "root", outer, std::nullopt, {t, u})));
  auto lca = DetectBufferAccessLCA(func);
  EXPECT_FALSE(lca[a].has_value());
  EXPECT_EQ(lca[t].value().as<ForNode>()->loop_var->name, "i");
  EXPECT_EQ(lca[u].value().as<ForNode>()->loop_var->name, "k");
}

}  // namespace
}  // namespace tirx
}  // namespace tvm
