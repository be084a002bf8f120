// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <gtest/gtest.h>
#include <tvm/ffi/extra/visit_error_context.h>
#include <tvm/ir/module.h>
#include <tvm/ir/scalar_op.h>
#include <tvm/ir/transform.h>
#include <tvm/script/printer/config.h>
#include <tvm/tirx/function.h>
#include <tvm/tirx/stmt.h>

#include <string>

namespace tvm::tirx {
namespace {

PrimFunc Sample() {
  Var i("i"), x("x");
  Buffer a = decl_buffer({16}, DataType::Float(32), "A");
  Stmt store = BufferStore(a, BufferLoad(a, {PrimExpr(i)}) + PrimExpr(1.0f), {PrimExpr(i)});
  Stmt loop = For(i, 0, 16, ForKind::kSerial, store);
  return WithAttr(PrimFunc({a, x}, SeqStmt({loop, Evaluate(PrimExpr(x) + 1)})), "global_symbol",
                  ffi::String("main"));
}

TEST(TIRxPrinter, PrintsThroughTheTextHook) {
  EXPECT_EQ(std::string(DebugText(Sample())),
            "# from tvm.script import tirx as T\n"
            "# from tvm.tirx.layout import Axis\n\n"
            "@T.prim_func\n"
            "def main(A: T.Buffer((16,), \"float32\", layout=None), x: T.int32):\n"
            "    for i in range(16):\n"
            "        A[i] = A[i] + T.float32(1.0)\n"
            "    T.evaluate(x + 1)");
  EXPECT_EQ(std::string(DebugText(PrimExpr(Var("x")) + 1)), "x + 1");
}

TEST(TIRxPrinter, ShowsThePlaceOfAnErrorInAPass) {
  IRModule mod = IRModule::FromExpr(Sample());
  transform::Pass failing = transform::CreateModulePass(
      [](IRModule m, const transform::PassContext&) -> IRModule {
        PrimFunc func = Downcast<PrimFunc>(m->Lookup("main"));
        const auto* seq = func->body.as<SeqStmtNode>();
        PrimExpr sum = PrimExpr(seq->seq[1].as<EvaluateNode>()->value);
        TVM_FFI_VISIT_THROW(ValueError, sum) << "no good";
        return m;
      },
      0, "Failing");
  try {
    failing(mod);
    FAIL();
  } catch (const ffi::Error& error) {
    std::string message(error.message());
    EXPECT_EQ(
        message.find("no good\n\nError in pass: Failing\nLocation (TVMScript):\nAccess path: "), 0u)
        << message;
    EXPECT_NE(message.find("        T.evaluate(x + 1)\n                   ^^^^^"),
              std::string::npos)
        << message;
  }
}

TEST(TIRxPrinter, DeepNestingIsAnError) {
  PrimExpr sum = Var("x");
  for (int i = 0; i < 1000000; ++i) sum = Add(sum, IntImm::Int32(1));
  EXPECT_THROW(script::printer::Script(sum), ffi::Error);
  EXPECT_EQ(std::string(DebugText(sum)), "tirx.Add(...)");
}

}  // namespace
}  // namespace tvm::tirx
