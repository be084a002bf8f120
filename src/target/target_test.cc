// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <gtest/gtest.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/serialization.h>
#include <tvm/ffi/extra/structural_equal.h>
#include <tvm/target/cpu_features.h>
#include <tvm/target/target_tag.h>

#include <functional>
#include <string>

namespace tvm {
namespace {

/// Message of the ValueError that the body throws.
std::string ValueErrorOf(const std::function<void()>& body) {
  try {
    body();
  } catch (const ffi::Error& error) {
    EXPECT_EQ(std::string(error.kind()), "ValueError") << error.message();
    return std::string(error.message());
  }
  ADD_FAILURE() << "expected ValueError";
  return "";
}

void ExpectIn(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(Target, FromKindNameAndJson) {
  Target llvm("llvm");
  EXPECT_EQ(llvm->kind->name, "llvm");
  EXPECT_EQ(llvm->keys[0], "cpu");
  EXPECT_TRUE(llvm->GetAttr<ffi::String>("mtriple").has_value());
  EXPECT_EQ(llvm->GetTargetDeviceType(), static_cast<int>(kDLCPU));
  Target cuda("{\"kind\": \"cuda\", \"arch\": \"sm_80\", \"max_num_threads\": 512}");
  EXPECT_EQ(cuda->GetAttr<int64_t>("max_num_threads").value(), 512);
  EXPECT_EQ(cuda->GetAttr<int64_t>("thread_warp_size").value(), 32);
  EXPECT_TRUE(cuda->HasKey("gpu"));
}

TEST(Target, ExportRoundTrips) {
  for (const char* text :
       {"llvm", "c", "ext_dev", "test",
        "{\"kind\": \"llvm\", \"mcpu\": \"skylake-avx512\", "
        "\"mattr\": [\"+avx2\"], \"num-cores\": 4}",
        "{\"kind\": \"cuda\", \"arch\": \"sm_90a\", \"host\": {\"kind\": \"llvm\"}}",
        "{\"kind\": \"llvm\", \"device\": \"arm_cpu\", \"mtriple\": \"aarch64-linux-gnu\"}"}) {
    Target target(text);
    Target again(target->Export());
    EXPECT_EQ(target->str(), again->str());
    EXPECT_EQ(Target(ffi::String(target->str()))->str(), target->str());
    EXPECT_TRUE(ffi::StructuralEqual()(target, again));
    Target loaded =
        ffi::FromJSONGraphString(ffi::ToJSONGraphString(ffi::Any(target))).cast<Target>();
    EXPECT_EQ(loaded->str(), target->str());
    EXPECT_EQ(target->str().find("{\"kind\""), 0u) << target->str();
  }
}

TEST(Target, Errors) {
  std::string message = ValueErrorOf([] { Target target("no_such"); });
  ExpectIn(message,
           "Target kind \"no_such\" is not defined. Target creation from string failed: no_such");
  ExpectIn(ValueErrorOf([] { Target target("llvm -mcpu=x"); }),
           "Target creation from string failed");
  ExpectIn(ValueErrorOf([] { Target target("{\"kind\": "); }),
           "Failed to parse target JSON config: ");
  ExpectIn(ValueErrorOf([] { Target target(TargetConfig{{"mcpu", ffi::String("x")}}); }),
           "Field \"kind\" is not found");
  message =
      ValueErrorOf([] { Target target(TargetConfig{{"kind", ffi::String("c")}, {"bogus", 1}}); });
  ExpectIn(message, "Unknown config option 'bogus'. Known options: 'kind', ");
  ExpectIn(message, "'march'");
  ExpectIn(message, "Target creation from config dict failed");
  ExpectIn(
      ValueErrorOf([] { Target target(TargetConfig{{"kind", ffi::String("llvm")}, {"mcpu", 3}}); }),
      "Option 'mcpu': expected type 'str' but got 'int'");
  ExpectIn(ValueErrorOf([] { Target target(TargetConfig{{"tag", ffi::String("no/tag")}}); }),
           "Unknown target tag: no/tag");
  ExpectIn(ValueErrorOf([] {
             Target target(TargetConfig{{"kind", ffi::String("cuda")}, {"arch", ffi::String("x")}});
           }),
           "invalid CUDA arch");
}

TEST(Target, TagsOverlayAndKeys) {
  Target tag("aws/cpu/c5.large");
  EXPECT_EQ(tag->tag, "aws/cpu/c5.large");
  EXPECT_EQ(tag->GetAttr<ffi::String>("mcpu").value(), "skylake-avx512");
  Target more(TargetConfig{{"tag", ffi::String("aws/cpu/c5.large")}, {"num-cores", int64_t{9}}});
  EXPECT_EQ(more->GetAttr<int64_t>("num-cores").value(), 9);
  Target board("arm/rk3399");
  EXPECT_TRUE(board->HasKey("arm_cpu"));
  EXPECT_TRUE(board->GetFeature<bool>("is_aarch64").value());
  EXPECT_TRUE(board->GetFeature<bool>("has_asimd").value());
  Target with_host("raspberry-pi/4b-aarch64");
  EXPECT_TRUE(with_host->GetHost().has_value());
  EXPECT_THROW(TargetTag::AddTag("aws/cpu/c5.large", {{"kind", ffi::String("llvm")}}, false),
               ffi::Error);
  EXPECT_GE(TargetTag::ListTags().size(), 25u);
}

TEST(Target, Features) {
  EXPECT_TRUE(Target("test")->GetFeature<bool>("is_test").value());
  Target m55(TargetConfig{{"kind", ffi::String("c")}, {"mcpu", ffi::String("cortex-m55")}});
  EXPECT_TRUE(m55->GetFeature<bool>("has_dsp").value());
  EXPECT_TRUE(m55->GetFeature<bool>("has_mve").value());
  Target nomve(TargetConfig{{"kind", ffi::String("llvm")},
                            {"mcpu", ffi::String("cortex-m55")},
                            {"mattr", ffi::Array<ffi::String>{"+nomve"}}});
  EXPECT_FALSE(nomve->GetFeature<bool>("has_mve").value());
}

TEST(Target, ScopeIsAStack) {
  EXPECT_FALSE(Target::Current().defined());
  EXPECT_THROW(Target::Current(false), ffi::Error);
  Target a("llvm"), b("c");
  {
    TargetScope outer(a);
    EXPECT_TRUE(Target::Current().same_as(a));
    {
      TargetScope inner(b);
      EXPECT_TRUE(Target::Current().same_as(b));
    }
    EXPECT_TRUE(Target::Current().same_as(a));
  }
  EXPECT_FALSE(Target::Current().defined());
}

TEST(CpuFeatures, FromNamesAndAttributes) {
  auto of = [](const char* mcpu, ffi::Array<ffi::String> mattr = {}) {
    TargetConfig config{{"kind", ffi::String("llvm")},
                        {"mtriple", ffi::String("x86_64-unknown-linux-gnu")},
                        {"mcpu", ffi::String(mcpu)}};
    if (!mattr.empty()) config.Set("mattr", mattr);
    return CpuFeaturesOf(Target(config));
  };
  CpuFeatures skx = of("skylake-avx512");
  EXPECT_TRUE(skx.avx512f && skx.avx512bw && skx.fma && skx.avx2);
  EXPECT_FALSE(skx.avx512vnni);
  EXPECT_EQ(skx.vector_bits, 512);
  EXPECT_EQ(skx.num_vector_registers, 32);
  CpuFeatures hsw = of("haswell");
  EXPECT_TRUE(hsw.avx2 && hsw.fma);
  EXPECT_EQ(hsw.vector_bits, 256);
  EXPECT_EQ(of("x86-64").vector_bits, 128);
  EXPECT_TRUE(of("haswell", {"+avx512vnni"}).avx512f);
  CpuFeatures cut = of("sapphirerapids", {"-avx512f"});
  EXPECT_FALSE(cut.avx512f || cut.avx512vnni || cut.avx512bf16 || cut.avx512fp16);
  EXPECT_TRUE(cut.avx2);
  EXPECT_EQ(cut.vector_bits, 256);
  CpuFeatures arm = CpuFeaturesOf(Target(TargetConfig{{"kind", ffi::String("llvm")},
                                                      {"mtriple", ffi::String("aarch64-linux-gnu")},
                                                      {"mcpu", ffi::String("neoverse-n1")}}));
  EXPECT_TRUE(arm.neon && arm.dotprod && !arm.avx2);
  EXPECT_EQ(arm.num_vector_registers, 32);
}

TEST(CpuFeatures, CSourceHasScalarsOnly) { EXPECT_EQ(CpuFeaturesOf(Target("c")).vector_bits, 0); }

TEST(CpuFeatures, PlainTargetIsThisMachine) {
  CpuFeatures here = CpuFeaturesOf(Target("llvm"));
  EXPECT_EQ(here.arch, HostCpuFeatures().arch);
  EXPECT_EQ(here.vector_bits, HostCpuFeatures().vector_bits);
  EXPECT_GE(here.num_cores, 1);
  EXPECT_GE(here.l1d, 1024);
#if defined(__x86_64__)
  EXPECT_EQ(here.avx2, __builtin_cpu_supports("avx2") != 0);
  EXPECT_EQ(here.avx512f, __builtin_cpu_supports("avx512f") != 0);
#endif
  EXPECT_FALSE(HostCpuName().empty());
}

}  // namespace
}  // namespace tvm
