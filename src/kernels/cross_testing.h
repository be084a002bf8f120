// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// For tests: functions compiled for aarch64, run under qemu.
#ifndef TVM_KERNELS_CROSS_TESTING_H_
#define TVM_KERNELS_CROSS_TESTING_H_

#include <gtest/gtest.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/module.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

namespace tvm {
namespace kernels {
namespace testing {

inline std::string Found(std::initializer_list<const char*> programs) {
  for (const char* name : programs) {
    const std::string probe = std::string("command -v ") + name + " >/dev/null 2>&1";
    if (std::system(probe.c_str()) == 0) return name;
  }
  return "";
}

constexpr const char* kSysroot = "/usr/aarch64-linux-gnu";

/// Compiles for aarch64 and runs there.
class CrossRunner {
 public:
  /// What is missing on this machine, or empty.
  std::string Missing() {
    if (Found({"qemu-aarch64"}).empty()) return "qemu-aarch64 (package qemu-user)";
    clang_ = Found({"clang-22", "clang-19", "clang"});
    if (clang_.empty()) return "clang";
    if (!std::filesystem::exists(std::string(kSysroot) + "/lib/libc.a")) {
      return "a C library for aarch64 (packages libc6-dev-arm64-cross, libgcc-12-dev-arm64-cross)";
    }
    folder_ = std::filesystem::path(::testing::TempDir()) /
              ("isa_test_" + std::to_string(std::random_device()()));
    std::filesystem::create_directories(folder_);
    return "";
  }
  ~CrossRunner() {
    std::error_code ignored;
    if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
  }

  /// Calls the module's function on tensors in host memory.
  void Run(const ffi::Module& module, const std::vector<DLTensor*>& args) {
    module->WriteToFile(Path("kernel.o"), "o");
    if (support_.empty()) CompileSupport();
    Execute(clang_ + Flags() + support_ + " " + Path("kernel.o") + " -lm -o " + Path("program"));
    Write(args);
    Execute("qemu-aarch64 -cpu max " + Path("program") + " " + Path("in") + " " + Path("out"));
    Read(args);
  }

 private:
  std::string Path(const char* name) const { return (folder_ / name).string(); }
  static std::string Flags() {
    return std::string(" --target=aarch64-linux-gnu -static -fuse-ld=lld -L ") + kSysroot + "/lib ";
  }
  static void Execute(const std::string& command) {
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
  }
  void CompileSupport() {
    const std::string root =
        std::filesystem::path(__FILE__).parent_path().parent_path().parent_path().string();
    for (const char* source : {"tests/kernels/cross_main.c", "src/codegen/argcheck/unit.c"}) {
      const std::string object = Path("support") + std::to_string(support_.size()) + ".o";
      Execute(clang_ + " --target=aarch64-linux-gnu -O1 -c -isystem " + kSysroot + "/include -I" +
              root + "/include -I" + root + "/src -I" + root + "/ffi/include -I" + root +
              "/ffi/3rdparty/dlpack/include " + root + "/" + source + " -o " + object);
      support_ += " " + object;
    }
  }
  static std::streamsize BytesOf(const DLTensor& t) {
    int64_t count = 1;
    for (int d = 0; d < t.ndim; ++d) count *= t.shape[d];
    return count * t.dtype.bits / 8;
  }
  void Write(const std::vector<DLTensor*>& args) const {
    std::ofstream file(Path("in"), std::ios::binary);
    auto number = [&](int64_t value) {
      file.write(reinterpret_cast<const char*>(&value), sizeof value);
    };
    number(static_cast<int64_t>(args.size()));
    for (const DLTensor* arg : args) {
      number(arg->ndim);
      number(arg->dtype.code);
      number(arg->dtype.bits);
      for (int d = 0; d < arg->ndim; ++d) number(arg->shape[d]);
      file.write(static_cast<const char*>(arg->data), BytesOf(*arg));
    }
  }
  void Read(const std::vector<DLTensor*>& args) const {
    std::ifstream file(Path("out"), std::ios::binary);
    for (const DLTensor* arg : args) file.read(static_cast<char*>(arg->data), BytesOf(*arg));
    ASSERT_TRUE(file.good()) << "the program wrote too little";
  }

  std::string clang_, support_;
  std::filesystem::path folder_;
};

}  // namespace testing
}  // namespace kernels
}  // namespace tvm

#endif  // TVM_KERNELS_CROSS_TESTING_H_
