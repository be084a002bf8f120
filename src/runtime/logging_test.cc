// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <gtest/gtest.h>
#include <tvm/runtime/data_type.h>
#include <tvm/runtime/logging.h>
#include <tvm/runtime/storage_rank.h>

#include <string>

namespace tvm {
namespace runtime {
namespace {

using detail::TvmLogDebugSettings;

std::string ParseError(const char* spec) {
  try {
    TvmLogDebugSettings::ParseSpec(spec);
  } catch (const ffi::Error& e) {
    return e.what();
  }
  return "";
}

TEST(LoggingTest, SpecSettings) {
  for (const char* off : {static_cast<const char*>(nullptr), "", "0"}) {
    EXPECT_FALSE(TvmLogDebugSettings::ParseSpec(off).dlog_enabled());
  }
  auto on = TvmLogDebugSettings::ParseSpec("1");
  EXPECT_TRUE(on.dlog_enabled());
  EXPECT_FALSE(on.VerboseEnabled("src/a.cc", 0));
  auto s = TvmLogDebugSettings::ParseSpec("src/foo/bar.cc=3,DEFAULT=1,off.cc=-1");
  EXPECT_TRUE(s.VerboseEnabled("tree/x/src/foo/bar.cc", 3));
  EXPECT_FALSE(s.VerboseEnabled("tree/x/src/foo/bar.cc", 4));
  EXPECT_TRUE(s.VerboseEnabled("foo/bar.cc", 2));
  EXPECT_TRUE(s.VerboseEnabled("src/other.cc", 1));
  EXPECT_FALSE(s.VerboseEnabled("src/other.cc", 2));
  EXPECT_FALSE(s.VerboseEnabled("my/src/off.cc", 0));
}

TEST(LoggingTest, SpecErrors) {
  EXPECT_EQ(ParseError("foo"),
            "TVM_LOG_DEBUG ill-formed at position 3: expecting \"=<level>\" after \"foo\"");
  EXPECT_EQ(ParseError("=1"), "TVM_LOG_DEBUG ill-formed at position 0: empty filename");
  EXPECT_EQ(ParseError("foo="),
            "TVM_LOG_DEBUG ill-formed at position 4: empty level after \"foo\"");
  EXPECT_EQ(ParseError("foo=x"), "TVM_LOG_DEBUG ill-formed at position 4: invalid level: \"x\"");
}

TEST(LoggingTest, MessageAndFatal) {
  testing::internal::CaptureStderr();
  LOG(WARNING) << "careful " << 1;
  std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("logging_test.cc:"), std::string::npos);
  EXPECT_NE(text.find(": Warning: careful 1\n"), std::string::npos) << text;
  try {
    LOG(FATAL) << "stop " << 2;
    FAIL() << "no error";
  } catch (const ffi::Error& e) {
    EXPECT_STREQ(e.what(), "stop 2");
    EXPECT_EQ(std::string(e.kind().data(), e.kind().size()), "InternalError");
  }
  bool evaluated = false;
  auto touch = [&] { return evaluated = true; };
  LOG_IF(INFO, false) << touch();
  EXPECT_FALSE(evaluated);
}

TEST(DataTypeTest, QueriesAndText) {
  EXPECT_EQ(DataType::Float(32, 4).ToString(), "float32x4");
  EXPECT_EQ(DataType("int8"), DataType::Int(8));
  EXPECT_TRUE(DataType::Bool().is_bool());
  EXPECT_TRUE(DataType::Void().is_void());
  EXPECT_FALSE(DataType::Handle().is_void());
  EXPECT_TRUE(DataType::Float4E2M1FN().is_any_float());
  DataType s = DataType::Float(32).with_scalable_vscale_factor(4);
  EXPECT_TRUE(s.is_scalable_vector());
  EXPECT_EQ(s.vscale_factor(), 4);
  EXPECT_EQ(s.raw_lanes(), -4);
  EXPECT_THROW(s.lanes(), ffi::Error);
  EXPECT_EQ(s.element_of(), DataType::Float(32));
  EXPECT_THROW(DataType(0, 300, 1), ffi::Error);
  ffi::Any any = DataType::Int(16, 2);
  EXPECT_EQ(any.cast<DataType>(), DataType::Int(16, 2));
  EXPECT_EQ(ffi::Any(ffi::String("uint8")).cast<DataType>(), DataType::UInt(8));
}

TEST(StorageScopeTest, Names) {
  EXPECT_EQ(StorageScope::Create("shared.dyn").rank, StorageRank::kShared);
  EXPECT_EQ(StorageScope::Create("shared.dyn").tag, ".dyn");
  EXPECT_EQ(StorageScope::Create("").to_string(), "global");
  EXPECT_EQ(StorageScope::Create("wmma.matrix_a").rank, StorageRank::kWMMAMatrixA);
  EXPECT_EQ(StorageScope::Create("m16n8k8.matrixB").to_string(), "m16n8k8.matrixB");
  EXPECT_THROW(StorageScope::Create("nowhere"), ffi::Error);
}

}  // namespace
}  // namespace runtime
}  // namespace tvm
