// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Random sequences of primitives: whatever is accepted must not change the result.
#include <tvm/ffi/extra/structural_equal.h>
#include <tvm/support/test_rounds.h>

#include <algorithm>
#include <random>

#include "s_tir/schedule/testing.h"

namespace tvm {
namespace s_tir {
namespace testing {
namespace {

using tirx::IndexMap;

class RandomScheduler {
 public:
  RandomScheduler(const Program& program, uint32_t seed)
      : program_(program),
        sch_(Schedule::Traced(ModuleOf(program), 1, kVerifySRefTree | kVerifyCachedFlags, 1)),
        random_(seed) {}

  /// Tries `steps` primitives; returns how many were accepted.
  int Run(int steps) {
    int accepted = 0;
    for (int i = 0; i < steps; ++i) {
      try {
        const IRModule before = sch_->mod();
        Step();
        ++accepted;
        if (sch_->mod().same_as(before)) continue;
        const std::string difference = FindDifference(program_, sch_->mod());
        if (difference.empty()) continue;
        ADD_FAILURE() << program_.name << ": " << difference << "\n"
                      << Text() << "before the last step:\n"
                      << DebugText(before) << "\nafter it:\n"
                      << DebugText(sch_->mod());
        return accepted;
      } catch (const ffi::Error& error) {
        // Refusals are fine, breakdowns are not.
        if (error.kind() != "ScheduleError") {
          ADD_FAILURE() << error.kind() << ": " << error.message() << "\n"
                        << error.TracebackMostRecentCallLast() << "\n"
                        << Text();
          return accepted;
        }
      }
    }
    return accepted;
  }

  const Schedule& schedule() const { return sch_; }
  std::string Text() const {
    std::string text;
    for (const ffi::String& line : sch_->trace().value()->Simplified(false)->AsPython(false)) {
      text += std::string(line) + "\n";
    }
    return text;
  }

 private:
  size_t Pick(size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random_); }
  bool Coin() { return Pick(2) == 0; }

  SBlockRV AnyBlock() {
    ffi::Array<SBlockRV> blocks = sch_->GetChildBlocks(sch_->GetSBlock("root"));
    SBlockRV block = blocks[Pick(blocks.size())];
    // Now and then a block inside of another.
    ffi::Array<SBlockRV> inner = sch_->GetChildBlocks(block);
    return !inner.empty() && Coin() ? inner[Pick(inner.size())] : block;
  }
  LoopRV LoopOf(const SBlockRV& block) {
    ffi::Array<LoopRV> loops = sch_->GetLoops(block);
    if (loops.empty()) Refuse();
    return loops[Pick(loops.size())];
  }
  LoopRV AnyLoop() { return LoopOf(AnyBlock()); }
  [[noreturn]] static void Refuse() { throw ffi::Error("ScheduleError", "nothing to do", ""); }
  int64_t Index(size_t n) {
    if (n == 0) Refuse();
    return static_cast<int64_t>(Pick(n));
  }

  void Step() {
    const char* scopes[] = {"local", "global", "shared"};
    const ffi::String scope = scopes[Pick(3)];
    switch (Pick(24)) {
      case 0:
      case 1: {
        const int factors[] = {1, 2, 3, 4, 7};
        ffi::Optional<ExprRV> open;
        ExprRV factor = factors[Pick(5)];
        if (Coin()) {
          sch_->Split(AnyLoop(), {open, factor}, Coin());
        } else {
          sch_->Split(AnyLoop(), {factor, open}, Coin());
        }
        return;
      }
      case 2: {
        ffi::Array<LoopRV> loops = sch_->GetLoops(AnyBlock());
        if (loops.size() < 2) Refuse();
        size_t at = Pick(loops.size() - 1);
        sch_->Fuse({loops[at], loops[at + 1]}, Coin());
        return;
      }
      case 3:
      case 4: {
        ffi::Array<LoopRV> loops = sch_->GetLoops(AnyBlock());
        if (loops.size() < 2) Refuse();
        size_t a = Pick(loops.size()), b = Pick(loops.size());
        if (a == b) Refuse();
        sch_->Reorder({loops[a], loops[b]});
        return;
      }
      case 5:
        return Coin() ? sch_->Parallel(AnyLoop()) : sch_->Vectorize(AnyLoop());
      case 6:
        return sch_->Unroll(AnyLoop());
      case 7:
        return sch_->ComputeInline(AnyBlock());
      case 8:
        return sch_->ReverseComputeInline(AnyBlock());
      case 9:
      case 10:
        return sch_->ComputeAt(AnyBlock(), AnyLoop(), Coin(), Coin() ? -1 : -2);
      case 11:
      case 12:
        return sch_->ReverseComputeAt(AnyBlock(), AnyLoop(), Coin(), Coin() ? -1 : -2);
      case 13: {
        SBlockRV block = AnyBlock();
        sch_->CacheRead(block, Index(sch_->Get(block)->reads.size()), scope);
        return;
      }
      case 14: {
        SBlockRV block = AnyBlock();
        sch_->CacheWrite(block, Index(sch_->Get(block)->writes.size()), scope);
        return;
      }
      case 15: {
        SBlockRV block = AnyBlock();
        sch_->DecomposeReduction(block, LoopOf(block));
        return;
      }
      case 16: {
        LoopRV loop = AnyLoop();
        sch_->RFactor(loop, static_cast<int64_t>(Pick(4)) - 1);
        return;
      }
      case 17: {
        sch_->AddUnitLoop(AnyLoop());
        return;
      }
      case 18: {
        sch_->Blockize(AnyLoop(), Coin());
        return;
      }
      default:
        return More();
    }
  }

  void More() {
    SBlockRV block = AnyBlock();
    const tirx::SBlock node = sch_->Get(block);
    switch (Pick(13)) {
      case 0: {
        const bool write = Coin();
        int64_t index = Index(write ? node->writes.size() : node->reads.size());
        sch_->ReIndex(block, index, write);
        return;
      }
      case 1: {
        // Only buffers inside: the signature must stay.
        int64_t index = Index(node->writes.size());
        const size_t ndim = node->writes[index]->buffer.ndim();
        if (ndim != 2) Refuse();
        IndexMap map = IndexMap::FromFunc(
            2,
            [&](ffi::Array<Var> i) -> ffi::Array<PrimExpr> {
              if (Coin()) return {i[1], i[0]};
              return {floordiv(i[0], 2), i[1], floormod(i[0], 2)};
            },
            std::nullopt, DataType::Int(32));
        if (sch_->mod()->Lookup("main").as<PrimFunc>().value()->params.size() == 0) Refuse();
        for (const Var& param : MainOf(sch_->mod())->params) {
          if (param.same_as(node->writes[index]->buffer)) Refuse();
        }
        ffi::Optional<IndexMap> pad;
        if (Coin()) {
          pad = IndexMap::FromFunc(
              static_cast<int>(map->final_indices.size()),
              [](ffi::Array<Var>) { return ffi::Array<PrimExpr>{0.5f}; }, std::nullopt,
              DataType::Int(32));
        }
        sch_->TransformLayout(block, index, true, map, pad);
        return;
      }
      case 2: {
        const size_t n = node->iter_vars.size();
        if (n < 2) Refuse();
        IndexMap map = IndexMap::FromFunc(
            static_cast<int>(n),
            [&](ffi::Array<Var> i) {
              ffi::Array<PrimExpr> result(i.begin(), i.end());
              result.Set(0, i[1]);
              result.Set(1, i[0]);
              return result;
            },
            std::nullopt, DataType::Int(32));
        sch_->TransformBlockLayout(block, map);
        return;
      }
      case 3: {
        const size_t n = node->iter_vars.size();
        if (n < 2) Refuse();
        ffi::Array<int64_t> order;
        for (size_t i = 0; i < n; ++i) order.push_back(static_cast<int64_t>(n - 1 - i));
        sch_->ReorderBlockIterVar(block, order);
        return;
      }
      case 4: {
        ffi::Optional<ExprRV> open;
        sch_->LoopPartition(LoopOf(block), {ExprRV(static_cast<int>(Pick(4)) + 1), open}, Coin());
        return;
      }
      case 5: {
        sch_->Merge({AnyLoop(), AnyLoop()});
        return;
      }
      case 6: {
        sch_->DecomposePadding(block, LoopOf(block));
        return;
      }
      case 7: {
        if (Coin()) {
          sch_->ReadAt(LoopOf(block), block, Index(node->reads.size()), "global");
        } else {
          sch_->WriteAt(LoopOf(block), block, Index(node->writes.size()), "global");
        }
        return;
      }
      case 8: {
        sch_->CacheInplace(block, Index(node->reads.size()), "global");
        return;
      }
      case 9: {
        sch_->CacheIndex(block, "global", static_cast<int64_t>(Pick(2)));
        return;
      }
      case 10:
      case 11:
        return sch_->RollingBuffer(block, Index(node->writes.size()));
      default: {
        ffi::Array<int64_t> padding;
        for (size_t i = 0; i < node->iter_vars.size(); ++i) {
          padding.push_back(static_cast<int64_t>(Pick(4)) + 1);
        }
        sch_->PadEinsum(block, padding);
        return;
      }
    }
  }

  Program program_;
  Schedule sch_;
  std::mt19937 random_;
};

class RandomSchedules : public ::testing::TestWithParam<int> {};

TEST_P(RandomSchedules, KeepTheResult) {
  const std::vector<Program> programs{
      Matmul(6, 8, 10), Matmul(5, 7, 3), Matmul(1, 4, 1), Chain(6, 7),       Chain(1, 4),
      Stencil(9),       PaddedConv(10),  Stencil(1),      SymbolicMatmul(5), SymbolicMatmul(0),
  };
  int accepted = 0;
  for (size_t p = 0; p < programs.size(); ++p) {
    const uint32_t seed = static_cast<uint32_t>(GetParam()) * 1000 + static_cast<uint32_t>(p);
    RandomScheduler scheduler(programs[p], seed);
    accepted += scheduler.Run(25);
    const Schedule& sch = scheduler.schedule();
    if (HasFailure()) {
      ADD_FAILURE() << "seed " << seed;
      return;
    }

    // The trace, through JSON, leads to the same program.
    Schedule again = Schedule::Traced(ModuleOf(programs[p]), 1);
    TraceNode::ApplyJSONToSchedule(sch->trace().value()->AsJSON(false), again);
    EXPECT_TRUE(ffi::StructuralEqual()(sch->mod(), again->mod()))
        << "replay of seed " << seed << "\n"
        << scheduler.Text();
  }
  EXPECT_GT(accepted, 20);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomSchedules, ::testing::Range(0, TestRounds(20)));
// Seeds that once gave wrong results.
INSTANTIATE_TEST_SUITE_P(Found, RandomSchedules, ::testing::Values(207, 279, 324, 377));

}  // namespace
}  // namespace testing
}  // namespace s_tir
}  // namespace tvm
