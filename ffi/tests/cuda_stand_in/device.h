// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Two pretended GPUs behind the declarations of cuda.h and cuda_runtime.h of this folder.
///
/// A binary is the text "KERNELS name:shared-bytes name:shared-bytes ..", a launch runs nothing but
/// writes down what it was given. Names and values are those of the CUDA toolkit.
#ifndef TVM_FFI_TESTS_CUDA_STAND_IN_DEVICE_H_
#define TVM_FFI_TESTS_CUDA_STAND_IN_DEVICE_H_

#include <cstring>
#include <map>
#include <set>
#include <sstream>
#include <string>

namespace stand_in {

constexpr int kNumDevices = 2;
constexpr int kSuccess = 0, kInvalidDevice = 101, kInvalidImage = 200, kNotFound = 500;
/// Shared memory of a block that each device allows.
constexpr int kSharedMemory[kNumDevices] = {100000, 200000};

struct Kernel {
  std::string name;
  int shared_bytes;
  std::map<int, int> dynamic_bytes;  ///< by device, what was asked for
  bool large_clusters = false;
};

struct Library {
  std::map<std::string, Kernel> kernels;
};

struct State {
  int current_device = 0;
  int last_error = kSuccess;
  bool driver_started = false;
  std::set<Library*> loaded;
  std::string log;
};

inline State& Now() {
  static State state;
  return state;
}

inline int Fail(int status) {
  Now().last_error = status;
  return status;
}

inline int Load(Library** out, const void* image) {
  std::istringstream text(static_cast<const char*>(image));
  std::string word;
  if (!(text >> word) || word != "KERNELS") return Fail(kInvalidImage);
  auto* library = new Library();
  while (text >> word) {
    const size_t colon = word.find(':');
    const std::string name = word.substr(0, colon);
    library->kernels[name] = Kernel{name, std::stoi(word.substr(colon + 1)), {}, false};
  }
  Now().loaded.insert(library);
  *out = library;
  return kSuccess;
}

inline int Unload(Library* library) {
  Now().loaded.erase(library);
  delete library;
  return kSuccess;
}

inline int Find(Kernel** out, Library* library, const char* name) {
  auto found = library->kernels.find(name);
  if (found == library->kernels.end()) return Fail(kNotFound);
  *out = &found->second;
  return kSuccess;
}

inline const char* NameOf(int status) {
  return status == kInvalidDevice  ? "INVALID_DEVICE"
         : status == kInvalidImage ? "INVALID_IMAGE"
         : status == kNotFound     ? "NOT_FOUND"
                                   : "SUCCESS";
}

template <typename Dim>
void WriteDim(std::ostream& os, const Dim& dim) {
  os << dim.x << ',' << dim.y << ',' << dim.z;
}

/// The one argument of every kernel is an int64.
template <typename Dim>
int Launch(const Kernel* kernel, const Dim& grid, const Dim& block, void** args, size_t shared,
           void* stream, unsigned cluster = 1) {
  std::ostringstream os;
  os << kernel->name << '(' << *static_cast<long*>(args[0]) << ") grid ";
  WriteDim(os, grid);
  os << " block ";
  WriteDim(os, block);
  os << " shared " << shared << " stream " << reinterpret_cast<size_t>(stream) << " device "
     << Now().current_device << " cluster " << cluster;
  Now().log = os.str();
  return kSuccess;
}

}  // namespace stand_in
#endif  // TVM_FFI_TESTS_CUDA_STAND_IN_DEVICE_H_
