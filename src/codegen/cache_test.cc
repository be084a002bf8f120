// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "codegen/cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

namespace tvm {
namespace codegen {
namespace {

namespace fs = std::filesystem;
constexpr char kKind[] = "obj";

CacheKey KeyOf(int number) {
  CacheKey key{};
  key[0] = static_cast<uint8_t>(number);
  key[31] = static_cast<uint8_t>(number >> 8);
  return key;
}

class CacheTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "tvm-cache-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
    folder_ = root_ + "/a/b";
  }
  void TearDown() override { fs::remove_all(root_); }

  std::shared_ptr<CompileCache> Open(uint64_t limit = 1 << 20) {
    return CompileCache::Open(folder_, limit, &why_);
  }
  std::string OnlyFile() {
    for (const auto& item : fs::directory_iterator(folder_)) return item.path().string();
    return "";
  }
  size_t FileCount() {
    const fs::directory_iterator items(folder_);
    return static_cast<size_t>(std::distance(fs::begin(items), fs::end(items)));
  }
  std::string root_, folder_, why_;
};

TEST_F(CacheTest, StoresAndFindsByKeyAndKind) {
  const CacheStats before = CompileCache::Stats();
  auto cache = Open();
  ASSERT_NE(cache, nullptr) << why_;
  EXPECT_EQ(cache->Lookup(KeyOf(1), kKind), nullptr);
  const std::string payload(1000, 'x');
  cache->Store(KeyOf(1), kKind, {std::string_view("head"), std::string_view(payload)});
  auto entry = cache->Lookup(KeyOf(1), kKind);
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->bytes(), "head" + payload);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(entry->bytes().data()) % 64, 0u);
  EXPECT_EQ(cache->Lookup(KeyOf(2), kKind), nullptr);
  EXPECT_EQ(cache->Lookup(KeyOf(1), "exe"), nullptr);
  // Another process sees it too.
  EXPECT_NE(Open()->Lookup(KeyOf(1), kKind), nullptr);
  const CacheStats after = CompileCache::Stats();
  EXPECT_EQ(after.hits - before.hits, 2);
  EXPECT_EQ(after.misses - before.misses, 3);
  EXPECT_EQ(after.stores - before.stores, 1);
}

TEST_F(CacheTest, EveryDamagedByteIsNoticedAndTheEntryReplaced) {
  auto cache = Open();
  const std::string payload = "the code of a kernel";
  cache->Store(KeyOf(1), kKind, payload);
  const std::string path = OnlyFile();
  const auto size = static_cast<int>(fs::file_size(path));
  ASSERT_EQ(size, 128 + static_cast<int>(payload.size()));
  for (int at = 0; at < size; ++at) {
    cache->Store(KeyOf(1), kKind, payload);
    {
      std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
      file.seekg(at);
      const char old = static_cast<char>(file.get());
      file.seekp(at);
      file.put(static_cast<char>(old ^ 0x10));
    }
    EXPECT_EQ(cache->Lookup(KeyOf(1), kKind), nullptr) << "byte " << at;
    EXPECT_FALSE(fs::exists(path)) << "byte " << at;
  }
  cache->Store(KeyOf(1), kKind, payload);
  ASSERT_NE(cache->Lookup(KeyOf(1), kKind), nullptr);
}

TEST_F(CacheTest, EveryTruncationIsNoticed) {
  auto cache = Open();
  const std::string payload = "the code of a kernel";
  for (uintmax_t size = 0; size < 128 + payload.size(); ++size) {
    cache->Store(KeyOf(1), kKind, payload);
    const std::string path = OnlyFile();
    fs::resize_file(path, size);
    EXPECT_EQ(cache->Lookup(KeyOf(1), kKind), nullptr) << size << " bytes";
  }
}

TEST_F(CacheTest, AnEntryUnderAnotherNameIsRefused) {
  auto cache = Open();
  cache->Store(KeyOf(1), kKind, "code");
  const std::string one = OnlyFile();
  cache->Store(KeyOf(2), kKind, "other");
  fs::path two;
  for (const auto& item : fs::directory_iterator(folder_)) {
    if (item.path() != one) two = item.path();
  }
  fs::copy_file(one, two, fs::copy_options::overwrite_existing);
  EXPECT_EQ(cache->Lookup(KeyOf(2), kKind), nullptr);
  // A link is followed nowhere.
  fs::create_symlink(one, two);
  EXPECT_EQ(cache->Lookup(KeyOf(2), kKind), nullptr);
  EXPECT_NE(cache->Lookup(KeyOf(1), kKind), nullptr);
}

TEST_F(CacheTest, FoldersOfOthersAreRefused) {
  ASSERT_NE(Open(), nullptr);
  EXPECT_EQ(fs::status(folder_).permissions(), fs::perms::owner_all);
  for (fs::perms open : {fs::perms::others_write, fs::perms::group_write}) {
    fs::permissions(folder_, open, fs::perm_options::add);
    EXPECT_EQ(Open(), nullptr);
    EXPECT_NE(why_.find("can be written by other users"), std::string::npos) << why_;
    fs::permissions(folder_, open, fs::perm_options::remove);
  }
  ASSERT_NE(Open(), nullptr);
  std::string foreign = folder_;
  if (geteuid() == 0) {
    ASSERT_EQ(chown(folder_.c_str(), 1, 1), 0);
  } else {
    foreign = "/usr";
  }
  EXPECT_EQ(CompileCache::Open(foreign, 1 << 20, &why_), nullptr);
  EXPECT_NE(why_.find("belongs to another user"), std::string::npos) << why_;
  EXPECT_EQ(CompileCache::Open("cache", 1 << 20, &why_), nullptr);
  EXPECT_NE(why_.find("no absolute path"), std::string::npos) << why_;
  std::ofstream(root_ + "/file") << "x";
  EXPECT_EQ(CompileCache::Open(root_ + "/file", 1 << 20, &why_), nullptr);
  fs::create_directory_symlink(root_ + "/a", root_ + "/link");
  EXPECT_EQ(CompileCache::Open(root_ + "/link", 1 << 20, &why_), nullptr);
}

TEST_F(CacheTest, TheLimitEvictsWhatWasUsedLongestAgo) {
  constexpr size_t kPayload = 1000;
  auto cache = Open(/*limit=*/8 * (kPayload + 128));
  const CacheStats before = CompileCache::Stats();
  const std::string payload(kPayload, 'p');
  auto pause = [] { std::this_thread::sleep_for(std::chrono::milliseconds(12)); };
  for (int i = 0; i < 8; ++i) {
    cache->Store(KeyOf(i), kKind, payload);
    pause();
  }
  EXPECT_EQ(FileCount(), 8u);
  ASSERT_NE(cache->Lookup(KeyOf(0), kKind), nullptr);  // now the one used last
  pause();
  cache->Store(KeyOf(8), kKind, payload);
  EXPECT_NE(cache->Lookup(KeyOf(0), kKind), nullptr);
  EXPECT_NE(cache->Lookup(KeyOf(8), kKind), nullptr);
  EXPECT_EQ(cache->Lookup(KeyOf(1), kKind), nullptr);
  EXPECT_GT(CompileCache::Stats().evictions, before.evictions);
  EXPECT_LE(FileCount(), 8u);
  cache->Store(KeyOf(9), kKind, std::string(8 * (kPayload + 128), 'q'));  // more than all
  EXPECT_EQ(cache->Lookup(KeyOf(9), kKind), nullptr);
}

TEST_F(CacheTest, FilesOfOthersAreLeftAlone) {
  auto cache = Open(/*limit=*/300);
  std::ofstream(folder_ + "/notes.txt") << std::string(500, 'n');
  for (int i = 0; i < 4; ++i) cache->Store(KeyOf(i), kKind, std::string(100, 'p'));
  EXPECT_TRUE(fs::exists(folder_ + "/notes.txt"));
}

TEST_F(CacheTest, ProcessesAndThreadsAtOnce) {
  auto cache = Open();
  auto payload = [](int key) {
    return std::string(3000 + 100 * key, static_cast<char>('a' + key));
  };
  // Writers of equal keys, readers, and one that removes: nobody may see another's bytes.
  auto work = [&](unsigned seed) {
    auto mine = CompileCache::Open(folder_, 1 << 20, &why_);
    for (int i = 0; i < 300; ++i) {
      const int key = static_cast<int>(rand_r(&seed) % 5);
      if (rand_r(&seed) % 3 == 0) mine->Store(KeyOf(key), kKind, payload(key));
      if (rand_r(&seed) % 50 == 0) mine->Discard(KeyOf(key), kKind);
      auto entry = mine->Lookup(KeyOf(key), kKind);
      if (entry != nullptr && entry->bytes() != payload(key)) return false;
    }
    return true;
  };
  const int64_t damaged = CompileCache::Stats().damaged;
  std::vector<pid_t> children;
  for (unsigned c = 0; c < 3; ++c) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) _exit(work(100 + c) ? 0 : 1);
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  std::vector<int> fine(3, 0);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 3; ++t) threads.emplace_back([&, t] { fine[t] = work(t) ? 1 : 0; });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(fine, std::vector<int>(3, 1));
  EXPECT_GE(CompileCache::Stats().damaged, damaged);
  for (const auto& item : fs::directory_iterator(folder_)) {
    EXPECT_EQ(item.path().filename().string()[0] == '.', false) << "a temporary file was left";
  }
}

TEST_F(CacheTest, TheEnvironmentChooses) {
  const char* old = std::getenv("TVM_CACHE_DIR");
  const std::string saved = old != nullptr ? old : "";
  setenv("TVM_CACHE_DIR", folder_.c_str(), 1);
  auto cache = CompileCache::Current();
  ASSERT_NE(cache, nullptr);
  EXPECT_EQ(cache->folder(), folder_);
  EXPECT_EQ(CompileCache::Current(), cache);
  for (const char* off : {"", "off", "relative/folder"}) {
    setenv("TVM_CACHE_DIR", off, 1);
    EXPECT_EQ(CompileCache::Current(), nullptr) << off;
  }
  if (old != nullptr) {
    setenv("TVM_CACHE_DIR", saved.c_str(), 1);
  } else {
    unsetenv("TVM_CACHE_DIR");
  }
}

}  // namespace
}  // namespace codegen
}  // namespace tvm
