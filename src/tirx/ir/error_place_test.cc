// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
// Errors in functors and passes name the function, the pass and the place.
#include <gtest/gtest.h>
#include <tvm/ffi/extra/visit_error_context.h>
#include <tvm/ir/error_context.h>
#include <tvm/tirx/op.h>
#include <tvm/tirx/stmt_functor.h>
#include <tvm/tirx/transform.h>

#include <algorithm>
#include <functional>
#include <string>

namespace tvm {
namespace tirx {
namespace {

/// Fails at the integer `bad`; with `inside` also looks at each statement with a second visitor.
class Picky final : public StmtExprVisitor {
 public:
  explicit Picky(int64_t bad, bool inside = false) : bad_(bad), inside_(inside) {}

 private:
  void VisitStmt(const Stmt& stmt) final {
    if (inside_ && stmt.as<BufferStoreNode>()) Picky{bad_}(stmt);
    StmtExprVisitor::VisitStmt(stmt);
  }
  void VisitExpr_(const IntImmNode* op) final {
    if (op->value == bad_) TVM_FFI_THROW(ValueError) << "no good: " << op->value;
  }

  int64_t bad_;
  bool inside_;
};

class AddOne final : public StmtExprMutator {
  Expr VisitExpr_(const IntImmNode* op) final { return IntImm(op->dtype(), op->value + 1); }
};

/// for i in range(16): A[i] = 1.0; then B[k] = 2.0 for k below `count`
IRModule Program(int count) {
  Buffer a = decl_buffer({16}, DataType::Float(32), "A");
  Buffer b = decl_buffer({1000}, DataType::Float(32), "B");
  Var i("i");
  ffi::Array<Stmt> seq{For(i, 0, 16, ForKind::kSerial, BufferStore(a, PrimExpr(1.0f), {i}))};
  for (int k = 0; k < count; ++k) seq.push_back(BufferStore(b, PrimExpr(2.0f), {IntImm::Int32(k)}));
  IRModule mod;
  mod.CopyOnWrite()->Add(GlobalVar("other"), PrimFunc({a}, seq[0]));
  mod.CopyOnWrite()->Add(GlobalVar("target"), PrimFunc({a, b}, SeqStmt(seq)));
  return mod;
}

std::string MessageOf(const IRModule& mod, std::function<PrimFunc(PrimFunc)> run) {
  auto wrapped = [run = std::move(run)](PrimFunc func, const IRModule&,
                                        const transform::PassContext&) { return run(func); };
  try {
    transform::CreatePrimFuncPass(wrapped, 0, "test.Pass")(mod);
    ADD_FAILURE() << "no error";
  } catch (const ffi::Error& error) {
    return error.message();
  }
  return "";
}

std::string VisitMessage(const IRModule& mod, int64_t bad, bool inside = false) {
  return MessageOf(mod, [=](PrimFunc func) {
    Picky(bad, inside)(func->body);
    return func;
  });
}

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(ErrorPlace, TheStatementIsUnderlined) {
  const std::string text = VisitMessage(Program(3), 2);
  EXPECT_EQ(text.find("no good: 2\n\nError in pass: test.Pass\nLocation (TVMScript):\n"
                      "Access path: <root>.functions[I.GlobalVar(\"target\")].body.seq[3]."
                      "indices[0]\n"),
            0u)
      << text;
  EXPECT_TRUE(Contains(text, "B[2] = T.float32(2.0)\n          ^")) << text;
  EXPECT_FALSE(Contains(text, "B[1] = T.float32(2.0)\n          ^")) << text;
}

TEST(ErrorPlace, AnAnalysisInsideAVisitShowsTheSamePlace) {
  EXPECT_EQ(VisitMessage(Program(3), 2, /*inside=*/true), VisitMessage(Program(3), 2));
}

TEST(ErrorPlace, OnlyLinesAroundThePlaceAreShown) {
  const std::string text = VisitMessage(Program(500), 300);
  EXPECT_TRUE(Contains(text, "lines skipped ...)"));
  EXPECT_TRUE(Contains(text, "B[305] = "));
  EXPECT_FALSE(Contains(text, "B[330] = "));
  EXPECT_LT(text.size(), 3000u);
}

TEST(ErrorPlace, ALargeStatementIsCut) {
  IRModule mod = Program(500);
  const std::string text = MessageOf(mod, [](PrimFunc func) {
    if (func->params.size() == 2) TVM_FFI_VISIT_THROW(ValueError, func->body) << "too long";
    return func;
  });
  EXPECT_TRUE(Contains(text, "too long\n\nError in pass: test.Pass")) << text;
  EXPECT_TRUE(Contains(text, " more lines)")) << text;
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 100);
}

TEST(ErrorPlace, ARewrittenProgramIsShownAsItWasThen) {
  const std::string text = MessageOf(Program(3), [](PrimFunc func) {
    Picky(1003)(AddOne()(For(Var("t"), 1000, 1002, ForKind::kSerial, func->body)));
    return func;
  });
  EXPECT_TRUE(Contains(text,
                       "no good: 1003\n\nError in pass: test.Pass\nLocation (TVMScript):\n"
                       "# function target, as rewritten by then\n") ||
              Contains(text, "# function other, as rewritten by then\n"))
      << text;
  EXPECT_TRUE(Contains(text, "1003")) << text;
}

TEST(ErrorPlace, WithoutAPlaceTheFunctionIsNamed) {
  const std::string text = MessageOf(Program(1), [](PrimFunc func) {
    if (func->params.size() != 1) TVM_FFI_THROW(TypeError) << "one parameter, please";
    return func;
  });
  EXPECT_EQ(text, "one parameter, please\n\nError in pass: test.Pass\nFunction: target");
}

TEST(ErrorPlace, ANestedPassAddsOnlyItsOwn) {
  auto inner = [](PrimFunc func, const IRModule&, const transform::PassContext&) {
    Picky(0)(func->body);
    return func;
  };
  transform::Pass pass = transform::CreatePrimFuncPass(inner, 0, "test.Inner");
  try {
    tvm::transform::Sequential({pass}, "test.Outer")(Program(1));
    FAIL();
  } catch (const ffi::Error& error) {
    EXPECT_TRUE(Contains(error.message(), "Error in pass: test.Inner"));
    EXPECT_FALSE(Contains(error.message(), "test.Outer"));
    EXPECT_FALSE(error.extra_context().has_value());
  }
}

TEST(ErrorPlace, SharedStatementsAreShownInAFewPlaces) {
  Buffer a = decl_buffer({16}, DataType::Float(32), "A");
  Stmt store = BufferStore(a, PrimExpr(1.0f), {7});
  ffi::Array<Stmt> seq;
  for (int k = 0; k < 40; ++k) seq.push_back(IfThenElse(Bool(true), store));
  IRModule mod;
  mod.CopyOnWrite()->Add(GlobalVar("f"), PrimFunc({a}, SeqStmt(seq)));
  const std::string text = VisitMessage(mod, 7);
  size_t paths = 0;
  for (size_t at = text.find("Access path"); at != std::string::npos;
       at = text.find("Access path", at + 1)) {
    ++paths;
  }
  EXPECT_EQ(paths, 1u) << text;  // the visit went through one IfThenElse
}

TEST(ErrorPlace, DeepNestingKeepsItsOwnError) {
  PrimExpr sum = Var("x");
  for (int i = 0; i < 1000000; ++i) sum = Add(sum, IntImm::Int32(1));
  IRModule mod;
  mod.CopyOnWrite()->Add(GlobalVar("f"), PrimFunc(ffi::Array<Var>(), Evaluate(sum)));
  const std::string text = VisitMessage(mod, 7);
  EXPECT_EQ(text.find("expression or statement is nested too deeply"), 0u) << text.substr(0, 500);
  EXPECT_LT(text.size(), 20000u);
}

TEST(ErrorPlace, StepsOnOneFunctionAreNamedToo) {
  PrimFunc func = Downcast<PrimFunc>(Program(3)->Lookup("target"));
  try {
    Picky(2)(func->body);
    FAIL();
  } catch (const ffi::Error& error) {
    const std::string text =
        EnrichFunctionErrorWithContext(error, GlobalVar("target"), func, "code generation: test")
            .message();
    EXPECT_TRUE(Contains(text, "\n\nError in code generation: test\nLocation (TVMScript):\n"));
    EXPECT_TRUE(Contains(text, "B[2] = T.float32(2.0)\n          ^")) << text;
  }
}

}  // namespace
}  // namespace tirx
}  // namespace tvm
