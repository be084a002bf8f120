// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <gtest/gtest.h>
#include <tvm/ffi/function.h>
#include <tvm/target/target.h>
#include <tvm/tirx/analysis.h>
#include <tvm/tirx/op.h>
#include <tvm/tirx/tile_primitive.h>
#include <tvm/tirx/transform.h>

#include <string>
#include <vector>

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

TEST(VerifyWellFormed, OuterLoopsInBlocksAreInternalErrorsWithAPlace) {
  Buffer a = VectorOf(8, "A");
  Var i("i"), v("v");
  SBlock block({IterVar(Range::FromMinExtent(0, 8), v, kDataPar)}, {}, {}, "b",
               BufferStore(a, PrimExpr(1.0f), {i}));
  Stmt nest = For(i, 0, 8, ForKind::kSerial, SBlockRealize({i}, Bool(true), block));
  try {
    VerifyWellFormed(PrimFunc({a}, SBlockRealize({}, Bool(true), SBlock({}, {}, {}, "root", nest))),
                     true);
    FAIL();
  } catch (const ffi::Error& error) {
    EXPECT_EQ(error.kind(), "InternalError");
    EXPECT_TRUE(Contains(error.what(), "It is used at <root>.body.block.body.body.block.body."))
        << error.what();
  }
}

TEST(VerifyWellFormed, BuffersEndWithTheirScope) {
  Buffer a = VectorOf(8, "A"), b = VectorOf(8, "B");
  Var c("c", DataType::Bool());
  Stmt store = BufferStore(b, PrimExpr(1.0f), {0});
  Stmt inner = IfThenElse(c, SeqStmt({AllocBuffer(b), store}));
  std::string text = ErrorOf(PrimFunc({a, c}, SeqStmt({inner, store})));
  EXPECT_TRUE(Contains(text,
                       "buffer B is used at <root>.body.seq[1] out of the scope of its declaration "
                       "at <root>.body.seq[0].then_case.seq[0]"))
      << text;
}

TEST(VerifyWellFormed, ThreadVariablesMayBeDefinedAgain) {
  Buffer a = VectorOf(8, "A");
  IterVar tx(Range::FromMinExtent(0, 8), Var("threadIdx.x"), kThreadIndex, "threadIdx.x");
  Stmt store = BufferStore(a, PrimExpr(1.0f), {tx->var});
  Stmt region = AttrStmt(tx, attr::thread_extent, IntImm::Int32(8), store);
  EXPECT_TRUE(VerifyWellFormed(PrimFunc({a}, SeqStmt({region, region})), true));
  EXPECT_TRUE(VerifyWellFormed(
      PrimFunc({a}, AttrStmt(tx, attr::thread_extent, IntImm::Int32(8), region)), true));
  std::string text = ErrorOf(PrimFunc({a}, SeqStmt({region, store})));
  EXPECT_TRUE(Contains(text, "undefined variable threadIdx.x at <root>.body.seq[1]")) << text;
}

TEST(VerifyWellFormed, ParametersAndLetsAreDefinitionsToo) {
  Buffer a = VectorOf(8, "A");
  Var n("n"), x("x");
  Stmt store = BufferStore(a, PrimExpr(1.0f), {n});
  std::string twice = ErrorOf(PrimFunc({a, n, n}, store));
  EXPECT_TRUE(
      Contains(twice, "definitions of variable n. It was first defined at <root>.params[1]"))
      << twice;
  Stmt let = Evaluate(Let(x, PrimExpr(n) + 1, PrimExpr(x) * 2));
  EXPECT_TRUE(VerifyWellFormed(PrimFunc({a, n}, SeqStmt({let, store})), true));
  std::string after = ErrorOf(PrimFunc({a, n}, SeqStmt({let, Evaluate(PrimExpr(x))})));
  EXPECT_TRUE(Contains(after, "undefined variable x at <root>.body.seq[1]")) << after;
}

TEST(VerifyWellFormed, NamesTheFunctionOfAModule) {
  Buffer a = VectorOf(8, "A");
  Var v("v");
  IRModule mod;
  mod.CopyOnWrite()->Add(GlobalVar("bad"), PrimFunc({a}, BufferStore(a, PrimExpr(1.0f), {v})));
  mod.CopyOnWrite()->Add(GlobalVar("good"), PrimFunc({a}, BufferStore(a, PrimExpr(1.0f), {0})));
  EXPECT_FALSE(VerifyWellFormed(mod, /*assert_mode=*/false));
  try {
    VerifyWellFormed(mod, true);
    FAIL();
  } catch (const ffi::Error& error) {
    EXPECT_TRUE(Contains(error.what(), "v at <root>.functions[I.GlobalVar(\"bad\")].body."))
        << error.what();
  }
}

/// Message of the verifier of the tile dialect; empty when it is content.
std::string TileErrorOf(const ffi::ObjectRef& program, bool device_func = false) {
  auto verify = ffi::Function::GetGlobalRequired("tirx.analysis.VerifyTIRxWellFormed");
  bool ok = verify(program, false, device_func).cast<bool>();
  try {
    verify(program, true, device_func);
    EXPECT_TRUE(ok);
  } catch (const ffi::Error& error) {
    EXPECT_FALSE(ok);
    EXPECT_EQ(error.kind(), "ValueError");
    return error.what();
  }
  return "";
}

Stmt ScopeIds(std::vector<int> extents, ScopeBinding scope) {
  ffi::Array<Var> ids;
  ffi::Array<PrimExpr> sizes;
  for (int extent : extents) {
    ids.push_back(Var("id" + std::to_string(ids.size())));
    sizes.push_back(IntImm::Int32(extent));
  }
  return ScopeIdDefStmt(ScopeIdDef(ids, sizes, scope));
}

TEST(VerifyTIRxWellFormed, BlocksAreForSchedules) {
  Buffer a = VectorOf(8, "A");
  Stmt block = SBlockRealize({}, Bool(true),
                             SBlock({}, {}, {}, "root", BufferStore(a, PrimExpr(1.0f), {0})));
  PrimFunc func({a}, SeqStmt({Evaluate(0), IfThenElse(Bool(true), block)}));
  EXPECT_EQ(TileErrorOf(func),
            "TIRxError: SBlock is not allowed in tirx=True mode at <root>.body.seq[1].then_case");
  EXPECT_EQ(TileErrorOf(WithAttr(func, attr::kSTir, true)), "");
  IRModule mod;
  mod.CopyOnWrite()->Add(GlobalVar("f"), func);
  EXPECT_TRUE(Contains(TileErrorOf(mod), "at <root>.functions[I.GlobalVar(\"f\")].body.seq[1]"));
}

TEST(VerifyTIRxWellFormed, TilePrimitiveCallsCallTilePrimitives) {
  Buffer a = VectorOf(8, "A");
  auto call = [&](const char* op) {
    return PrimFunc({a}, TilePrimitiveCall(Op::Get(op), {a}, {}, {}, std::nullopt,
                                           ExecScope(ScopeKind::kThread)));
  };
  EXPECT_EQ(TileErrorOf(call("tirx.exp")),
            "TIRxError: op tirx.exp of the TilePrimitiveCall at <root>.body is no tile primitive");
  OpRegEntry::RegisterOrGet("tirx.tile.test_fill")
      .set_attr<ffi::String>("TIRxOpCategory", "tile_primitive");
  EXPECT_EQ(TileErrorOf(call("tirx.tile.test_fill")), "");
}

TEST(VerifyTIRxWellFormed, ScopeIds) {
  auto func = [](Stmt body) { return PrimFunc(ffi::Array<Var>(), std::move(body)); };
  EXPECT_EQ(TileErrorOf(func(ScopeIds({64, 2}, ScopeBinding::kCtaThread))), "");
  EXPECT_EQ(TileErrorOf(func(ScopeIds({64, 0}, ScopeBinding::kCtaThread))),
            "TIRxError: kernel at <root>.body has a non-positive thread count: an extent is 0");
  EXPECT_EQ(TileErrorOf(func(ScopeIds({-1}, ScopeBinding::kKernelCta))),
            "TIRxError: invalid scope_id_def at <root>.body: an extent is -1, expected a positive "
            "number");
  Stmt damaged = ScopeIds({2}, ScopeBinding::kKernelCta);  // as a damaged file would hold it
  const_cast<ScopeIdDefNode*>(damaged.as<ScopeIdDefStmtNode>()->def.get())->extents =
      ffi::Array<PrimExpr>{2, 2};
  EXPECT_EQ(TileErrorOf(func(SeqStmt({Evaluate(0), damaged}))),
            "TIRxError: invalid scope_id_def at <root>.body.seq[1]: 1 ids for 2 extents");
}

TEST(VerifyTIRxWellFormed, WarpsAreWhole) {
  auto kernel = [](std::vector<int> threads, ScopeBinding finer) {
    Stmt body =
        SeqStmt({ScopeIds(threads, ScopeBinding::kCtaThread), ScopeIds({2}, finer), Evaluate(0)});
    Stmt entry = AttrStmt(IntImm::Int32(0), attr::device_entry, Bool(true), body);
    return PrimFunc(ffi::Array<Var>(), SeqStmt({Evaluate(0), entry}));
  };
  EXPECT_EQ(TileErrorOf(kernel({16, 4}, ScopeBinding::kCtaWarp)), "");
  EXPECT_EQ(TileErrorOf(kernel({48}, ScopeBinding::kKernelCta)), "");
  PrimFunc uneven = kernel({24, 2}, ScopeBinding::kCtaWarp);
  EXPECT_EQ(TileErrorOf(uneven),
            "TIRxError: kernel at <root>.body.seq[1] uses warp-granular bindings but has thread "
            "count 48 not a multiple of 32");
  EXPECT_EQ(TileErrorOf(uneven, /*device_func=*/true), "");
}

/// A function for a device that its caller reaches on the host side.
PrimFunc DeviceFunc(const Buffer& a, Stmt body) {
  return WithAttr(PrimFunc({a}, std::move(body)), tvm::attr::kTarget,
                  Target("{\"kind\": \"cuda\", \"arch\": \"sm_80\"}"));
}

TEST(VerifyMemory, DeviceMemoryIsForDeviceCode) {
  Buffer a = VectorOf(8, "A"), t = VectorOf(8, "T");
  IterVar tx(Range::FromMinExtent(0, 8), Var("threadIdx.x"), kThreadIndex, "threadIdx.x");
  Stmt store = BufferStore(a, PrimExpr(1.0f), {0});
  Stmt region = AttrStmt(tx, attr::thread_extent, IntImm::Int32(8), store);
  EXPECT_TRUE(VerifyMemoryErrors(DeviceFunc(a, region)).empty());
  EXPECT_TRUE(VerifyMemoryErrors(PrimFunc({a}, store)).empty());  // no device
  Stmt loop = For(Var("i"), 0, 8, ForKind::kThreadBinding, store, tx);
  EXPECT_TRUE(VerifyMemoryErrors(DeviceFunc(a, loop)).empty());
  ffi::Array<ffi::String> errors = VerifyMemoryErrors(DeviceFunc(a, SeqStmt({region, store})));
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_TRUE(Contains(std::string(errors[0]), "Variable `A` is directly accessed by host memory"));
  IRModule mod;
  mod.CopyOnWrite()->Add(GlobalVar("f"), DeviceFunc(a, SeqStmt({region, store})));
  try {
    transform::VerifyMemory()(mod);
    FAIL();
  } catch (const ffi::Error& error) {
    EXPECT_EQ(error.kind(), "RuntimeError");
    EXPECT_TRUE(Contains(error.what(), "Memory verification failed with the following errors:"));
    EXPECT_TRUE(Contains(error.what(), "Did you forget to bind?"));
    EXPECT_TRUE(Contains(error.what(), "Function: f")) << error.what();
  }
}

TEST(VerifySSA, ThePassNamesTheFunction) {
  Buffer a = VectorOf(8, "A");
  Var i("i");
  Stmt loop = For(i, 0, 8, ForKind::kSerial, BufferStore(a, PrimExpr(1.0f), {i}));
  IRModule mod;
  mod.CopyOnWrite()->Add(GlobalVar("f"), PrimFunc({a}, SeqStmt({loop, loop})));
  try {
    transform::VerifySSA()(mod);
    FAIL();
  } catch (const ffi::Error& error) {
    EXPECT_EQ(error.kind(), "RuntimeError");
    EXPECT_EQ(std::string(error.what()),
              "IR is not in SSA form\n\nError in pass: tirx.VerifySSA\nFunction: f");
  }
}

TEST(VerifyWellFormed, SymbolicShapesDefineTheirVariables) {
  Var n("n");
  Buffer a = decl_buffer({n}, DataType::Float(32), "A");
  EXPECT_TRUE(VerifyWellFormed(PrimFunc({a}, BufferStore(a, PrimExpr(1.0f), {n - 1})), true));
  Buffer doubled = decl_buffer({n * 2}, DataType::Float(32), "D");
  Stmt copy = BufferStore(a, BufferLoad(doubled, {n}), {0});
  EXPECT_TRUE(VerifyWellFormed(PrimFunc({doubled, a}, copy), true));
  std::string text = ErrorOf(PrimFunc({doubled}, Evaluate(BufferLoad(doubled, {0}))));
  EXPECT_TRUE(Contains(text, "undefined variable n at <root>.params[0]")) << text;
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
