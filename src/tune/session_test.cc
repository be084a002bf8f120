// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "tune/session.h"

#include <gtest/gtest.h>
#include <tvm/ffi/container/array.h>
#include <tvm/kernels/rule.h>
#include <tvm/te/create_prim_func.h>
#include <tvm/tirx/op.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "tune/database.h"

namespace tvm {
namespace tune {
namespace {

using ffi::Array;

PrimExpr I(int64_t value) { return IntImm(DataType::Int(64), value); }

/// A matrix product of these extents, as the graph compiler gives it to the rules.
tirx::PrimFunc Product(int64_t m, int64_t n, int64_t k) {
  te::Tensor a = te::placeholder({I(m), I(k)}, DataType::Float(32), "A");
  te::Tensor b = te::placeholder({I(k), I(n)}, DataType::Float(32), "B");
  tirx::IterVar r = te::reduce_axis(Range::FromMinExtent(I(0), I(k)), "k");
  te::Tensor c = te::compute(
      {I(m), I(n)}, te::FCompute([&](const Array<Var>& i) {
        return te::sum(a(i[0], r->var) * b(r->var, i[1]), {r});
      }),
      "C", "", ffi::Map<ffi::String, ffi::Any>{{kernels::kTileOp, ffi::String("gemm")}});
  return te::CreatePrimFunc({a, b, c});
}

TuneRecord RecordOf(const std::string& key, const kernels::KernelKnobs& knobs) {
  TuneRecord record;
  record.key = key;
  record.rule = "contraction";
  record.knobs = knobs;
  record.seconds = record.untuned = 1;
  return record;
}

class SessionTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = testing::TempDir() + "tune_session_" + std::to_string(getpid()) + ".jsonl";
    std::remove(path_.c_str());
    unsetenv("TVM_TUNE_DB");
    setenv("TVM_CACHE_DIR", "off", 1);
  }
  void TearDown() override { std::remove(path_.c_str()); }
  std::string path_;
  const Target target_{"llvm"};
};

TEST_F(SessionTest, KeysTellWhatMatters) {
  const tirx::PrimFunc group = Product(4, 32, 8);
  const std::string key = KernelKey(group, target_);
  EXPECT_EQ(key.size(), 64u);
  EXPECT_EQ(KernelKey(Product(4, 32, 8), target_), key);
  EXPECT_EQ(KernelKey(WithAttr(group, "global_symbol", ffi::String("f")), target_), key);
  EXPECT_NE(KernelKey(Product(4, 32, 9), target_), key);
  EXPECT_NE(KernelKey(group, Target("{\"kind\": \"llvm\", \"mcpu\": \"x86-64-v3\"}")), key);
  // Spellings of this machine.
  EXPECT_EQ(KernelKey(group, Target("{\"kind\": \"llvm\", \"mcpu\": \"native\"}")), key);
}

TEST_F(SessionTest, PathFromSessionThenEnvironment) {
  EXPECT_EQ(DatabasePath(), "");  // no cache, no file
  setenv("TVM_TUNE_DB", path_.c_str(), 1);
  EXPECT_EQ(DatabasePath(), path_);
  {
    SessionScope scope({"other.jsonl", ffi::Function(nullptr)});
    EXPECT_EQ(DatabasePath(), "other.jsonl");
    SessionScope inner({std::nullopt, ffi::Function(nullptr)});
    EXPECT_EQ(DatabasePath(), path_);
  }
  setenv("TVM_TUNE_DB", "off", 1);
  EXPECT_EQ(DatabasePath(), "");
}

TEST_F(SessionTest, TheFileChooses) {
  const tirx::PrimFunc group = Product(64, 70, 33);
  const auto list = kernels::Candidates(group, target_).list;
  ASSERT_GT(list.size(), 1u);
  auto choose = [&] { return kernels::ChooseKnobs({{"f", group}}, target_)[0]; };
  setenv("TVM_TUNE_DB", path_.c_str(), 1);
  EXPECT_TRUE(choose().knobs.empty());
  EXPECT_EQ(DatabaseDigest(), "");
  AppendRecord(path_, RecordOf(KernelKey(group, target_), list[1].knobs));
  EXPECT_EQ(choose().rule, "contraction");
  EXPECT_EQ(kernels::KnobsText(choose().knobs), kernels::KnobsText(list[1].knobs));
  EXPECT_NE(DatabaseDigest(), "");
  SessionScope off({"", ffi::Function(nullptr)});
  EXPECT_TRUE(choose().knobs.empty());
  EXPECT_EQ(DatabaseDigest(), "");
}

TEST_F(SessionTest, EqualKernelsAreMeasuredOnceBeforeTheFileIsRead) {
  const tirx::PrimFunc group = Product(64, 70, 33), other = Product(64, 70, 34);
  const auto list = kernels::Candidates(group, target_).list;
  std::vector<std::pair<std::string, int64_t>> seen;
  ffi::Function measure =
      ffi::Function::FromTyped([&](Array<ffi::Map<ffi::String, ffi::Any>> tasks, Target) {
        for (const auto& task : tasks) {
          seen.emplace_back(task.at("name").cast<ffi::String>(), task.at("calls").cast<int64_t>());
        }
        const auto key = tasks[0].at("key").cast<ffi::String>();
        AppendRecord(path_, RecordOf(key, list[1].knobs));
      });
  EXPECT_FALSE(IsMeasuring());
  SessionScope scope({path_, measure});
  EXPECT_TRUE(IsMeasuring());
  const auto choices = kernels::ChooseKnobs(
      {{"a", group, 2}, {"b", other, 1}, {"c", Product(64, 70, 33), 3}}, target_);
  using Seen = std::vector<std::pair<std::string, int64_t>>;
  EXPECT_EQ(seen, (Seen{{"a", 5}, {"b", 1}}));
  EXPECT_FALSE(choices[0].knobs.empty());
  EXPECT_TRUE(choices[1].knobs.empty());
  EXPECT_EQ(kernels::KnobsText(choices[2].knobs), kernels::KnobsText(choices[0].knobs));
}

TEST_F(SessionTest, FormsAreChosenByTheFileOnceTheyWereMeasured) {
  const std::vector<kernels::AnchorForm> forms{{"winograd", Product(4, 32, 8)},
                                               {"contraction", Product(4, 32, 9)}};
  int made = 0, measured = 0;
  std::string key;
  auto make = [&] {
    ++made;
    return forms;
  };
  TuneRecord record = RecordOf("", {{"form", 1}});
  auto measure =
      ffi::Function::FromTyped([&](Array<ffi::Map<ffi::String, ffi::Any>> tasks, Target) {
        ++measured;
        ASSERT_EQ(tasks.size(), 1u);
        auto list = tasks[0].at("forms").cast<Array<ffi::Map<ffi::String, ffi::Any>>>();
        ASSERT_EQ(list.size(), 2u);
        EXPECT_EQ(list[0].at("rule").cast<ffi::String>(), "winograd");
        EXPECT_TRUE(list[1].at("func").cast<tirx::PrimFunc>().same_as(forms[1].func));
        key = record.key = tasks[0].at("key").cast<ffi::String>();
        AppendRecord(path_, record);
      });
  // Without a file nothing is known, and no form is made.
  EXPECT_EQ(kernels::ChooseForm(make, target_), 0u);
  EXPECT_EQ(made, 0);
  {
    SessionScope scope({path_, measure});
    EXPECT_EQ(kernels::ChooseForm(make, target_), 1u);
    EXPECT_EQ(kernels::ChooseForm(make, target_), 1u);
    EXPECT_EQ(measured, 1);
  }
  SessionScope scope({path_, ffi::Function(nullptr)});
  EXPECT_EQ(kernels::ChooseForm(make, target_), 1u);
  // A line whose rule or position does not fit says nothing.
  for (const auto& [rule, form] : {std::pair{"winograd", 1}, {"contraction", 2}, {"window", 0}}) {
    record.rule = rule;
    record.knobs = {{"form", form}};
    AppendRecord(path_, record);
    EXPECT_EQ(kernels::ChooseForm(make, target_), 0u) << rule << " " << form;
  }
}

}  // namespace
}  // namespace tune
}  // namespace tvm
