// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "driver/subprocess.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <tvm/ffi/error.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

extern char** environ;

namespace tvm {
namespace driver {
namespace {

std::string ReadAll(int fd) {
  std::string text;
  char chunk[4096];
  for (;;) {
    const ssize_t n = ::read(fd, chunk, sizeof(chunk));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return text;
    text.append(chunk, static_cast<size_t>(n));
  }
}

std::string Joined(const std::vector<std::string>& command) {
  std::string text;
  for (const std::string& word : command) text += (text.empty() ? "" : " ") + word;
  return text;
}

}  // namespace

void RunTool(const std::vector<std::string>& command) {
  int pipe_fds[2];
  TVM_FFI_CHECK(::pipe2(pipe_fds, O_CLOEXEC) == 0, RuntimeError)
      << "cannot create a pipe: " << strerror(errno);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipe_fds[1], 1);
  posix_spawn_file_actions_adddup2(&actions, pipe_fds[1], 2);
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(pipe_fds[1]);
  const std::string output = error == 0 ? ReadAll(pipe_fds[0]) : std::string(strerror(error));
  ::close(pipe_fds[0]);
  int status = -1;
  if (error == 0) {
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
  }
  if (error != 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    TVM_FFI_THROW(RuntimeError) << "Compilation error:\n"
                                << output << "\nCommand line: " << Joined(command);
  }
}

std::string FindTool(const std::vector<std::string>& names) {
  const char* path = std::getenv("PATH");
  for (const std::string& name : names) {
    if (name.empty()) continue;
    if (name.find('/') != std::string::npos) {
      if (::access(name.c_str(), X_OK) == 0) return name;
      continue;
    }
    std::string rest = path != nullptr ? path : "";
    while (!rest.empty()) {
      const size_t colon = rest.find(':');
      const std::string folder = rest.substr(0, colon);
      if (!folder.empty() && ::access((folder + "/" + name).c_str(), X_OK) == 0) {
        return folder + "/" + name;
      }
      rest = colon == std::string::npos ? "" : rest.substr(colon + 1);
    }
  }
  return "";
}

TemporaryFolder::TemporaryFolder() {
  std::error_code error;
  const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
  TVM_FFI_CHECK(!error, RuntimeError)
      << "there is no folder for temporary files: " << error.message() << "; set TMPDIR";
  std::string pattern = (parent / "tvm-export-XXXXXX").string();
  TVM_FFI_CHECK(::mkdtemp(pattern.data()) != nullptr, RuntimeError)
      << "cannot create a temporary folder " << pattern << ": " << strerror(errno)
      << "; set TMPDIR";
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace driver
}  // namespace tvm
