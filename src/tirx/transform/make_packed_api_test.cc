// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// MakePackedAPI and LowerTVMBuiltin. What the check program means is tested with its interpreter
/// (codegen/argcheck); here it is that the right program is written.
#include <gtest/gtest.h>
#include <tvm/support/argcheck.h>
#include <tvm/target/target.h>
#include <tvm/tirx/builtin.h>
#include <tvm/tirx/op.h>
#include <tvm/tirx/transform.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tirx/testing/run_pass.h"
#include "tirx/transform/arg_check_program.h"

namespace tvm {
namespace tirx {
namespace {

using testing::Count;
using testing::CountNodes;
using testing::RunPass;

bool Calls(const ffi::ObjectRef& node, const Op& op) {
  const auto* call = node.as<CallNode>();
  return call != nullptr && call->op.same_as(op);
}
int CountCalls(const PrimFunc& func, const Op& op) {
  return Count(func, [&](const ffi::ObjectRef& node) { return Calls(node, op); });
}

struct Example {
  Var m{"m", DataType::Int(64)};
  Var n{"n"};
  Buffer a = decl_buffer({PrimExpr(m), IntImm::Int64(4)}, DataType::Float(32), "A");
  Buffer b = decl_buffer({PrimExpr(m)}, DataType::Float(32), "B");

  PrimFunc Func() const {
    Var i("i", DataType::Int(64));
    Stmt body =
        For(i, 0, m, ForKind::kSerial, BufferStore(b, BufferLoad(a, {i, IntImm::Int64(0)}), {i}));
    PrimFunc func({a, b, n}, body);
    func = WithAttr(func, "target", Target("llvm"));
    return WithAttr(func, "global_symbol", ffi::String("f"));
  }
};

TEST(ArgCheckProgram, SignatureReadsLikeSource) {
  Example e;
  EXPECT_EQ(SignatureText(e.Func(), "f"),
            "f(A: Tensor([m, 4], float32), B: Tensor([m], float32), n: int32)");
}

TEST(ArgCheckProgram, BindsSymbolOnceAndMatchesItAfterwards) {
  Example e;
  ArgCheckProgram program(e.Func(), "f", 1);
  ASSERT_EQ(program.symbols().size(), 1u);
  EXPECT_TRUE(program.symbols()[0].first.same_as(e.m));
  std::vector<int64_t> words;
  std::vector<std::string> texts;
  for (const Expr& arg : program.CallArgs()) {
    if (const auto* imm = arg.as<IntImmNode>()) words.push_back(imm->value);
    if (const auto* text = arg.as<StringImmNode>()) texts.emplace_back(text->value);
  }
  EXPECT_EQ(words[0], kArgCheckCount);
  EXPECT_EQ(words[1], 3);
  EXPECT_EQ(words.back(), kArgCheckEnd);
  EXPECT_NE(std::find(texts.begin(), texts.end(), "to match A.shape[0]"), texts.end());
  EXPECT_EQ(texts[0], SignatureText(e.Func(), "f"));
  EXPECT_GE(program.params()[0].data, 0);
  EXPECT_EQ(program.params()[2].data, -1);
}

TEST(ArgCheckProgram, SymbolWithoutDefinitionIsAnError) {
  Var m("m");
  Buffer a = decl_buffer({m * 2}, DataType::Float(32), "A");
  PrimFunc func({a}, Evaluate(0));
  EXPECT_THROW(ArgCheckProgram(func, "f", 1), ffi::Error);
}

TEST(MakePackedAPI, ParametersAreUnpacked) {
  PrimFunc packed = RunPass(transform::MakePackedAPI(), Example().Func());
  ASSERT_EQ(packed->params.size(), 4u);
  EXPECT_EQ(packed->params[0]->name, "self_handle");
  EXPECT_EQ(packed->params[2]->dtype(), DataType::Int(32));
  EXPECT_EQ(packed->GetAttr<ffi::String>("global_symbol").value(), "__tvm_ffi_f");
  EXPECT_EQ(packed->GetAttr<int64_t>("calling_conv").value(), 1);
  EXPECT_EQ(CountCalls(packed, builtin::check_args()), 1);
  EXPECT_EQ(CountNodes<DeclBufferNode>(packed), 2);
  EXPECT_EQ(CountNodes<ReturnNode>(packed), 1);
  int scopes = Count(packed, [](const ffi::ObjectRef& node) {
    const auto* attr_stmt = node.as<AttrStmtNode>();
    return attr_stmt != nullptr && attr_stmt->attr_key == "compute_scope" &&
           attr_stmt->value.as<StringImmNode>()->value == "f_compute_";
  });
  EXPECT_EQ(scopes, 1);
  // It has the convention now: a second run leaves it alone.
  EXPECT_TRUE(RunPass(transform::MakePackedAPI(), packed).same_as(packed));
}

TEST(MakePackedAPI, NoCheckReadsTheArgumentsDirectly) {
  PrimFunc func = WithAttr(Example().Func(), "tirx.no_arg_check", true);
  PrimFunc packed = RunPass(transform::MakePackedAPI(), func);
  EXPECT_EQ(CountCalls(packed, builtin::check_args()), 0);
  EXPECT_EQ(CountNodes<AllocBufferNode>(packed), 0);
  EXPECT_EQ(CountNodes<DeclBufferNode>(packed), 2);
}

TEST(MakePackedAPI, ReturnedValueGoesToTheResult) {
  Var n("n");
  PrimFunc func({n}, Return(PrimExpr(n) + 1), PrimType(DataType::Int(32)));
  func = WithAttr(func, "target", Target("llvm"));
  PrimFunc packed = RunPass(transform::MakePackedAPI(), func);
  EXPECT_EQ(CountCalls(packed, builtin::tvm_struct_set()), 3);
  Var i("i");
  PrimFunc bad({n}, For(i, 0, 4, ForKind::kParallel, Return(n)), PrimType(DataType::Int(32)));
  EXPECT_THROW(RunPass(transform::MakePackedAPI(), WithAttr(bad, "target", Target("llvm"))),
               ffi::Error);
}

TEST(MakePackedAPI, NeedsATarget) {
  PrimFunc func({Var("n")}, Evaluate(0));
  EXPECT_THROW(RunPass(transform::MakePackedAPI(), func), ffi::Error);
}

TEST(LowerTVMBuiltin, LargeAllocationsComeFromTheWorkspace) {
  auto lower = [](int64_t elements, const char* scope) {
    Buffer t = decl_buffer({IntImm::Int64(elements)}, DataType::Float(32), "T", scope);
    PrimFunc func({},
                  SeqStmt({AllocBuffer(t), BufferStore(t, PrimExpr(1.0f), {IntImm::Int64(0)})}));
    return RunPass(transform::LowerTVMBuiltin(), func);
  };
  EXPECT_EQ(CountNodes<AllocBufferNode>(lower(255, "global")), 1);
  EXPECT_EQ(CountNodes<AllocBufferNode>(lower(1024, "local")), 1);
  for (PrimFunc func : {lower(256, "global"), lower(1 << 20, "local")}) {
    EXPECT_EQ(CountNodes<AllocBufferNode>(func), 0);
    EXPECT_EQ(CountCalls(func, builtin::TVMBackendAllocWorkspace()), 1);
    EXPECT_EQ(CountCalls(func, builtin::TVMBackendFreeWorkspace()), 1);
  }
}

TEST(LowerTVMBuiltin, ReturnFreesWhatIsAlive) {
  Buffer t = decl_buffer({IntImm::Int64(4096)}, DataType::Float(32), "T");
  Var n("n");
  Stmt early = IfThenElse(n > 3, Return(IntImm::Int32(0)));
  PrimFunc func({n}, SeqStmt({AllocBuffer(t), BufferStore(t, PrimExpr(1.0f), {IntImm::Int64(0)}),
                              early, BufferStore(t, PrimExpr(2.0f), {IntImm::Int64(1)})}));
  PrimFunc after = RunPass(transform::LowerTVMBuiltin(), func);
  EXPECT_EQ(CountCalls(after, builtin::TVMBackendFreeWorkspace()), 2);
}

TEST(LowerTVMBuiltin, PackedCallsShareOneStack) {
  Var x("x", DataType::Float(32)), p("p", HandleType());
  auto call = [&](ffi::Array<Expr> args) {
    return Evaluate(Call(DataType::Int(32), builtin::tvm_call_packed(), args));
  };
  PrimFunc func({x, p}, SeqStmt({call({StringImm("g"), IntImm::Int32(1), x}),
                                 call({StringImm("h"), p, StringImm("text"), Bool(true)})}));
  PrimFunc after = RunPass(transform::LowerTVMBuiltin(), func);
  EXPECT_EQ(CountCalls(after, builtin::tvm_call_packed_lowered()), 2);
  EXPECT_EQ(CountCalls(after, builtin::tvm_stack_alloca()), 1);
  const auto* seq = after->body.as<SeqStmtNode>();
  ASSERT_NE(seq, nullptr);
  const auto* stack = seq->seq[0].as<BindNode>();
  ASSERT_NE(stack, nullptr);
  EXPECT_TRUE(is_const_int(stack->value.as<CallNode>()->args[1], 4));  // 3 arguments, 1 result
  EXPECT_EQ(CountCalls(after, builtin::tvm_struct_set()), 5 * 3);
}

}  // namespace
}  // namespace tirx
}  // namespace tvm
