// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <gtest/gtest.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/function.h>
#include <tvm/runtime/library_note.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

namespace tvm {
namespace runtime {
namespace {

std::string ReadAll(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
}
void WriteAll(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

/// The message of the error that a check raises, or "" if it passes.
std::string CheckMessage(const std::string& path) {
  try {
    ffi::Function::GetGlobalRequired("ffi.Module.check_library")(ffi::String(path));
  } catch (const ffi::Error& e) {
    return e.what();
  }
  return "";
}

/// Builds small libraries with the C compiler of the machine.
class ElfReaderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/elf_reader_test_XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    dir_ = name;
  }
  void TearDown() override {
    if (!dir_.empty()) ASSERT_EQ(std::system(("rm -rf " + dir_).c_str()), 0);
  }

  std::string Compile(const std::string& name, const std::string& source,
                      const std::string& flags = "") {
    WriteAll(dir_ + "/" + name + ".c", source);
    std::string out = dir_ + "/" + name + ".so";
    std::string cmd =
        "cc -shared -fPIC -nostdlib " + flags + " -o " + out + " " + dir_ + "/" + name + ".c";
    EXPECT_EQ(std::system(cmd.c_str()), 0) << cmd;
    return out;
  }

  static std::string NoteSource(const std::string& features) {
    std::string note = BuildLibraryNote(features, "llvm -mcpu=test");
    std::string out =
        "__attribute__((section(\".note.opentvm\"), aligned(4), used)) "
        "const unsigned char opentvm_note[] = {";
    for (unsigned char c : note) out += std::to_string(c) + ",";
    return out +
           "};\nint __tvm_ffi_add(void* s, void* a, int n, void* r) { return 0; }\n"
           "int table[64] = {1, 2, 3};\n";
  }

  std::string dir_;
};

TEST_F(ElfReaderTest, ForeignLibraries) {
  EXPECT_EQ(CheckMessage(Compile("ext", "int __tvm_ffi_f(void) { return 0; }")), "");
  std::string message = CheckMessage(Compile("plain", "int f(void) { return 0; }"));
  EXPECT_NE(message.find("expected a library that this compiler exported"), std::string::npos)
      << message;
  WriteAll(dir_ + "/text.so", "#!/bin/sh\necho not a library, but long enough to be one, really\n");
  EXPECT_NE(CheckMessage(dir_ + "/text.so").find("expected an ELF file"), std::string::npos);
  WriteAll(dir_ + "/empty.so", "");
  EXPECT_NE(CheckMessage(dir_ + "/empty.so").find("found a file of 0 bytes"), std::string::npos);
  EXPECT_NE(CheckMessage(dir_ + "/none.so").find("No such file"), std::string::npos);
  EXPECT_NE(CheckMessage(dir_).find("cannot read"), std::string::npos);
}

TEST_F(ElfReaderTest, NoteFeaturesAndDigest) {
  std::string path = Compile("ok", NoteSource(""));
  // Without a digest the note alone is checked.
  EXPECT_EQ(CheckMessage(path), "");
  SealLibrary(path);
  EXPECT_EQ(CheckMessage(path), "");
  std::string sealed = ReadAll(path);
  // Sealing twice changes nothing.
  SealLibrary(path);
  EXPECT_EQ(ReadAll(path), sealed);
  // A changed constant is found.
  std::string damaged = sealed;
  int32_t pattern[3] = {1, 2, 3};
  size_t at = damaged.find(std::string(reinterpret_cast<char*>(pattern), sizeof(pattern)));
  ASSERT_NE(at, std::string::npos);
  damaged[at] ^= 1;
  WriteAll(path, damaged);
  EXPECT_NE(CheckMessage(path).find("does not match the digest"), std::string::npos);

  std::string missing = CheckMessage(Compile("missing", NoteSource("sse2,no-such-feature")));
#if defined(__x86_64__)
  EXPECT_NE(missing.find("this CPU lacks no-such-feature,"), std::string::npos) << missing;
#endif
}

TEST_F(ElfReaderTest, StripKeepsDigest) {
  std::string path = Compile("strip", NoteSource(""), "-g");
  SealLibrary(path);
  ASSERT_EQ(std::system(("strip " + path).c_str()), 0);
  EXPECT_EQ(CheckMessage(path), "");
}

TEST_F(ElfReaderTest, WrongMachineAndType) {
  std::string bytes = ReadAll(Compile("base", NoteSource("")));
  auto patched = [&](size_t at, char value) {
    std::string copy = bytes;
    copy[at] = value;
    WriteAll(dir_ + "/patched.so", copy);
    return CheckMessage(dir_ + "/patched.so");
  };
  EXPECT_NE(patched(18, 40).find("it is for arm"), std::string::npos);
  EXPECT_NE(patched(4, 1).find("64-bit"), std::string::npos);
  EXPECT_NE(patched(5, 2).find("little-endian"), std::string::npos);
  EXPECT_NE(patched(16, 2).find("expected a shared library"), std::string::npos);
}

TEST_F(ElfReaderTest, TruncatedAndRandomBytes) {
  std::string path = Compile("fuzz", NoteSource(""));
  SealLibrary(path);
  std::string bytes = ReadAll(path);
  std::string target = dir_ + "/mutated.so";
  // Cut before the end of the last segment, every file must be refused.
  for (size_t n = 0; n < bytes.size() / 4; n += 37) {
    WriteAll(target, bytes.substr(0, n));
    EXPECT_NE(CheckMessage(target), "") << "cut to " << n << " bytes";
  }
  std::mt19937 rng(7);
  for (int round = 0; round < 600; ++round) {
    std::string copy = bytes;
    for (int k = 0; k < 1 + round % 8; ++k) {
      size_t limit = round % 2 == 0 ? 1024 : copy.size();
      copy[rng() % limit] = static_cast<char>(rng());
    }
    WriteAll(target, copy);
    CheckMessage(target);  // an answer either way, no crash
  }
}

TEST_F(ElfReaderTest, Inspect) {
  std::string path = Compile("inspect", NoteSource("sse2"));
  auto inspect = ffi::Function::GetGlobalRequired("runtime.InspectLibrary");
  auto info = inspect(ffi::String(path)).cast<ffi::Map<ffi::String, ffi::Any>>();
  EXPECT_EQ(info["target"].cast<ffi::String>(), "llvm -mcpu=test");
  EXPECT_TRUE(info["digest_ok"] == nullptr);
  auto functions = info["functions"].cast<ffi::Array<ffi::String>>();
  ASSERT_EQ(functions.size(), 1u);
  EXPECT_EQ(functions[0], "add");
  SealLibrary(path);
  info = inspect(ffi::String(path)).cast<ffi::Map<ffi::String, ffi::Any>>();
  EXPECT_TRUE(info["digest_ok"].cast<bool>());
}

}  // namespace
}  // namespace runtime
}  // namespace tvm
