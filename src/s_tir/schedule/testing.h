// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Programs and comparisons for tests of schedules. Test code only.
#ifndef TVM_SRC_S_TIR_SCHEDULE_TESTING_H_
#define TVM_SRC_S_TIR_SCHEDULE_TESTING_H_

#include <gtest/gtest.h>
#include <tvm/s_tir/schedule/schedule.h>
#include <tvm/tirx/analysis.h>

#include <string>
#include <vector>

#include "tirx/testing/interpreter.h"

namespace tvm {
namespace s_tir {
namespace testing {

using tirx::PrimFunc;
using tirx::Var;
using tirx::testing::Interpreter;
using tirx::testing::Pattern;

/// A function with the sizes of its buffers and its scalar arguments.
struct Program {
  std::string name;
  PrimFunc func;
  std::vector<size_t> sizes;
  std::vector<int64_t> scalars;
};

// The programs (programs_test.cc).

/// D = A x B + 1
Program Matmul(int n, int m, int depth);
/// Matmul with symbolic rows.
Program SymbolicMatmul(int64_t n);
/// Two stencils and a maximum along rows: producers whose readers overlap.
Program Stencil(int n);
/// Element-wise chain with a transposition, good for inlining.
Program Chain(int n, int m);
/// Padding, then a convolution along one axis.
Program PaddedConv(int n);

inline IRModule ModuleOf(const Program& program) {
  return IRModule(ffi::Map<GlobalVar, BaseFunc>{{GlobalVar("main"), program.func}});
}

inline PrimFunc MainOf(const IRModule& mod) { return mod->Lookup("main").as<PrimFunc>().value(); }

/// Runs the iterations of loops that may run at once from the last to the first, which shows when
/// their order matters.
class ParallelReverser final : public tirx::StmtExprMutator {
 public:
  static PrimFunc Apply(PrimFunc func) {
    tirx::Stmt body = ParallelReverser().VisitStmt(func->body);
    func.CopyOnWrite()->body = body;
    return func;
  }

 private:
  tirx::Stmt VisitStmt_(const tirx::ForNode* op) final {
    tirx::Stmt visited = StmtExprMutator::VisitStmt_(op);
    if (op->kind == tirx::ForKind::kSerial || op->kind == tirx::ForKind::kUnrolled) return visited;
    tirx::For loop = visited.as<tirx::For>().value();
    PrimExpr last = loop->min + loop->min + loop->extent - 1;
    tirx::Stmt body =
        tirx::Substitute(loop->body, ffi::Map<Var, Expr>{{loop->loop_var, last - loop->loop_var}});
    loop.CopyOnWrite()->body = body;
    return loop;
  }
};

inline std::vector<Interpreter::MemoryPtr> RunProgram(const Program& program,
                                                      const PrimFunc& func) {
  std::vector<Interpreter::MemoryPtr> memory;
  for (size_t i = 0; i < program.sizes.size(); ++i) {
    memory.push_back(Pattern(program.sizes[i], static_cast<int>(i) + 3));
  }
  // The output starts as nonsense, so that elements never written show.
  for (double& v : memory.back()->f) v = std::nan("");
  Interpreter().Run(ParallelReverser::Apply(func), memory, program.scalars);
  return memory;
}

/// What is wrong with the module: it is not well-formed, breaks down, or computes something else
/// than the program; empty if nothing is.
inline std::string FindDifference(const Program& program, const IRModule& mod) {
  PrimFunc func = MainOf(mod);
  try {
    tirx::VerifyWellFormed(func, true);
    auto want = RunProgram(program, program.func);
    auto got = RunProgram(program, func);
    for (size_t i = 0; i < want.size(); ++i) {
      for (size_t e = 0; e < want[i]->f.size(); ++e) {
        if (want[i]->f[e] == got[i]->f[e]) continue;
        return "element " + std::to_string(e) + " of argument " + std::to_string(i) + " is " +
               std::to_string(got[i]->f[e]) + ", not " + std::to_string(want[i]->f[e]);
      }
    }
  } catch (const ffi::Error& error) {
    return error.kind() + ": " + error.message();
  }
  return "";
}

inline void ExpectSameResult(const Program& program, const IRModule& mod) {
  EXPECT_EQ(FindDifference(program, mod), "") << program.name << "\n" << DebugText(mod);
}

/// Runs `edit`, which has to fail with a ScheduleError that says `text` and changes nothing.
template <typename Edit>
void ExpectRefused(const Schedule& sch, const std::string& text, const Edit& edit) {
  const ffi::Object* before = sch->mod().get();
  const size_t steps = sch->trace().value()->insts.size();
  try {
    edit();
    FAIL() << "expected a ScheduleError with: " << text;
  } catch (const ffi::Error& error) {
    EXPECT_EQ(error.kind(), "ScheduleError") << error.message();
    EXPECT_NE(error.message().find(text), std::string::npos) << error.message();
  }
  EXPECT_EQ(sch->mod().get(), before);
  EXPECT_EQ(sch->trace().value()->insts.size(), steps);
  sch->state()->DebugVerify();
}

}  // namespace testing
}  // namespace s_tir
}  // namespace tvm

#endif  // TVM_SRC_S_TIR_SCHEDULE_TESTING_H_
