// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "tune/database.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <tvm/ffi/error.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>
#include <vector>

namespace tvm {
namespace tune {
namespace {

TuneRecord Sample(char digit, int64_t rows = 8) {
  TuneRecord record;
  record.key = std::string(64, digit);
  record.target = "llvm -mcpu=\"x\"";
  record.cpu = "A CPU \xc3\xa9\\ @ 2 GHz";
  record.threads = 2;
  record.rule = "contraction";
  if (rows != 0) record.knobs = {{"rows", rows}, {"prefetch", 0}};
  record.seconds = 1.25e-5;
  record.untuned = 1.5e-5;
  record.tried = 7;
  record.date = "2026-01-02T03:04:05Z";
  return record;
}

class DatabaseTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string folder = testing::TempDir() + "tune_database_XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    folder_ = folder;
    path_ = folder + "/tune.jsonl";
  }
  void TearDown() override {
    std::remove(path_.c_str());
    rmdir(folder_.c_str());
  }
  std::string Text() const {
    std::ostringstream text;
    text << std::ifstream(path_).rdbuf();
    return text.str();
  }
  std::string folder_, path_;
};

void ExpectEqual(const TuneRecord& a, const TuneRecord& b) {
  EXPECT_EQ(a.key, b.key);
  EXPECT_EQ(a.target, b.target);
  EXPECT_EQ(a.cpu, b.cpu);
  EXPECT_EQ(a.threads, b.threads);
  EXPECT_EQ(a.rule, b.rule);
  EXPECT_EQ(kernels::KnobsText(a.knobs), kernels::KnobsText(b.knobs));
  EXPECT_EQ(a.seconds, b.seconds);
  EXPECT_EQ(a.untuned, b.untuned);
  EXPECT_EQ(a.tried, b.tried);
  EXPECT_EQ(a.error, b.error);
  EXPECT_EQ(a.date, b.date);
}

TEST_F(DatabaseTest, RoundTripAndLastLineCounts) {
  EXPECT_EQ(Database::Read(path_)->size(), 0u);  // no file yet
  AppendRecord(path_, Sample('a', 8));
  AppendRecord(path_, Sample('b', 0));
  ExpectEqual(*Database::Read(path_)->Find(std::string(64, 'a')), Sample('a', 8));
  AppendRecord(path_, Sample('a', 12));
  const auto database = Database::Read(path_);
  EXPECT_EQ(database->size(), 2u);
  ExpectEqual(*database->Find(std::string(64, 'a')), Sample('a', 12));
  ExpectEqual(*database->Find(std::string(64, 'b')), Sample('b', 0));
  EXPECT_EQ(database->Find(std::string(64, 'c')), nullptr);
}

TEST_F(DatabaseTest, DigestIsOfTheChoices) {
  EXPECT_EQ(Database::FromText("", "t").Digest(), "");
  const std::string own = WriteRecord(Sample('a', 0)), eight = WriteRecord(Sample('a', 8));
  EXPECT_EQ(Database::FromText(own, "t").Digest(), "");  // compiles as without a file
  const std::string digest = Database::FromText(eight, "t").Digest();
  EXPECT_EQ(digest.size(), 64u);
  EXPECT_NE(Database::FromText(WriteRecord(Sample('a', 9)), "t").Digest(), digest);
  EXPECT_NE(Database::FromText(WriteRecord(Sample('b', 8)), "t").Digest(), digest);
  TuneRecord other = Sample('a', 8);
  other.seconds = 1;
  EXPECT_EQ(Database::FromText(WriteRecord(other), "t").Digest(), digest);
}

TEST_F(DatabaseTest, FailuresAreApart) {
  TuneRecord failure = Sample('a', 9);
  failure.error = "ended by signal SIGSEGV";
  const Database database =
      Database::FromText(WriteRecord(Sample('a', 8)) + WriteRecord(failure), "t");
  EXPECT_EQ(database.Find(failure.key)->knobs.at("rows"), 8);
  EXPECT_EQ(database.Failed(failure.key), std::set<std::string>{"prefetch=0 rows=9"});
  EXPECT_TRUE(database.Failed(std::string(64, 'b')).empty());
}

TEST_F(DatabaseTest, DamageIsNamedAndSkippedAndKept) {
  const std::string good = WriteRecord(Sample('a')), next = WriteRecord(Sample('b'));
  std::string future = good;
  future.replace(future.find("\"version\":1"), 11, "\"version\":9");
  const std::string text =
      good + "not json\n" + future + good.substr(0, 40) + "\n[1]\n\n" + next + good.substr(0, 25);
  std::ofstream(path_) << text;
  testing::internal::CaptureStderr();
  const auto database = Database::Read(path_);
  const std::string shown = testing::internal::GetCapturedStderr();
  EXPECT_EQ(database->size(), 2u);
  EXPECT_EQ(database->damaged(), 4u);
  EXPECT_EQ(database->other_versions(), 1u);
  for (const char* line : {":2: ", ":4: ", ":5: ", ":8: ", "another version"}) {
    EXPECT_NE(shown.find(path_), std::string::npos);
    EXPECT_NE(shown.find(line), std::string::npos) << line << " in " << shown;
  }
  // A new record does not merge with the half line at the end, and nothing is lost.
  AppendRecord(path_, Sample('c'));
  EXPECT_EQ(Text(), text + "\n" + WriteRecord(Sample('c')));
  EXPECT_NE(Database::Read(path_)->Find(std::string(64, 'c')), nullptr);
}

TEST_F(DatabaseTest, FieldsAreChecked) {
  const std::string good = WriteRecord(Sample('a'));
  auto damaged = [&](const std::string& from, const std::string& to) {
    std::string line = good.substr(0, good.size() - 1);
    const size_t at = line.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    line.replace(at, from.size(), to);
    TuneRecord record;
    std::string why;
    EXPECT_EQ(ReadRecord(line, &record, &why), ReadResult::kDamaged) << line;
    return why;
  };
  EXPECT_NE(damaged("\"key\":\"a", "\"key\":\"A").find("key"), std::string::npos);
  EXPECT_NE(damaged("\"threads\":2", "\"threads\":0").find("threads"), std::string::npos);
  EXPECT_NE(damaged("\"threads\":2", "\"threads\":2.5").find("threads"), std::string::npos);
  EXPECT_NE(damaged("\"rows\":8", "\"rows\":\"8\"").find("knobs"), std::string::npos);
  EXPECT_NE(damaged("\"rows\":8", "\"rows\":1e300").find("knobs"), std::string::npos);
  EXPECT_NE(damaged("\"tried\":7", "\"tried\":-7").find("tried"), std::string::npos);
  EXPECT_NE(damaged("\"rule\"", "\"role\"").find("rule"), std::string::npos);
  EXPECT_NE(damaged("\"version\":1", "\"version\":true").find("version"), std::string::npos);
  TuneRecord infinite = Sample('a');
  infinite.seconds = INFINITY;
  EXPECT_THROW(WriteRecord(infinite), ffi::Error);
}

TEST_F(DatabaseTest, AnyBytesAreReadOrRefused) {
  std::mt19937 rng(0);
  const std::string good = WriteRecord(Sample('a'));
  auto any = [&](size_t below) { return std::uniform_int_distribution<size_t>(0, below - 1)(rng); };
  for (int round = 0; round < 3000; ++round) {
    std::string line = good.substr(0, good.size() - 1);
    for (size_t change = any(6) + 1; change > 0; --change) {
      const size_t at = any(line.size());
      switch (any(3)) {
        case 0:
          line[at] = static_cast<char>(any(256));
          break;
        case 1:
          line.erase(at, any(20));
          break;
        default:
          line.insert(at, good.substr(any(good.size()), any(30)));
      }
      if (line.empty()) line = "x";
    }
    TuneRecord record;
    std::string why;
    if (ReadRecord(line, &record, &why) == ReadResult::kRecord) {
      TuneRecord again;
      const std::string written = WriteRecord(record);
      ASSERT_EQ(ReadRecord(written.substr(0, written.size() - 1), &again, &why),
                ReadResult::kRecord)
          << line;
      ExpectEqual(record, again);
    } else {
      EXPECT_FALSE(why.empty()) << line;
    }
  }
}

TEST_F(DatabaseTest, LongLinesAndNestingAreDamage) {
  TuneRecord record;
  std::string why;
  EXPECT_EQ(ReadRecord(std::string(kMaxLine + 1, ' '), &record, &why), ReadResult::kDamaged);
  EXPECT_EQ(ReadRecord(std::string(kMaxLine, '['), &record, &why), ReadResult::kDamaged);
}

TEST_F(DatabaseTest, WritersOfSeveralProcessesAndThreads) {
  constexpr int kProcesses = 4, kThreads = 2, kRecords = 50;
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p) {
    const pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      std::vector<std::thread> threads;
      for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([this, p, t] {
          const char* digits = "0123456789abcdef";
          for (int i = 0; i < kRecords; ++i) {
            AppendRecord(path_, Sample(digits[p * kThreads + t], i + 1));
          }
        });
      }
      for (std::thread& thread : threads) thread.join();
      _exit(0);
    }
    children.push_back(pid);
  }
  for (pid_t pid : children) {
    int status = 0;
    waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
  }
  const auto database = Database::Read(path_);
  EXPECT_EQ(database->damaged(), 0u);
  EXPECT_EQ(database->size(), static_cast<size_t>(kProcesses * kThreads));
  // Each writer's last record counts, and none is lost.
  for (int w = 0; w < kProcesses * kThreads; ++w) {
    EXPECT_EQ(database->Find(std::string(64, "0123456789abcdef"[w]))->knobs.at("rows"), kRecords);
  }
  const std::string text = Text();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), kProcesses * kThreads * kRecords);
}

TEST_F(DatabaseTest, WhatIsNoFileIsRefused) {
  EXPECT_THROW(Database::Read(folder_), ffi::Error);
  EXPECT_THROW(AppendRecord(folder_, Sample('a')), ffi::Error);
  EXPECT_THROW(AppendRecord(folder_ + "/no/file", Sample('a')), ffi::Error);
  // Must not wait for the other end.
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_THROW(Database::Read(path_), ffi::Error);
  EXPECT_THROW(AppendRecord(path_, Sample('a')), ffi::Error);
}

}  // namespace
}  // namespace tune
}  // namespace tvm
