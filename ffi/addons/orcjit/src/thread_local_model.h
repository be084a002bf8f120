// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// The local-dynamic model of thread-local variables, which LLVM's linker lacks: compilers choose
/// it for variables that an object keeps to itself.
#ifndef TVM_FFI_ORCJIT_THREAD_LOCAL_MODEL_H_
#define TVM_FFI_ORCJIT_THREAD_LOCAL_MODEL_H_

#include <llvm/ADT/ArrayRef.h>

#include <cstdint>
#include <string>

namespace tvm {
namespace ffi {
namespace orcjit {

/// True for the sections whose content each thread gets a copy of.
bool IsThreadLocalSection(llvm::StringRef name);

/// Places the thread-local sections of one object behind each other. They come by name, here and
/// when the object is linked, so that distances between their variables are known beforehand.
class ThreadLocalLayout {
 public:
  /// Offset of the next section.
  uint64_t Add(uint64_t size, uint64_t alignment) {
    const uint64_t offset = (size_ + alignment - 1) / alignment * alignment;
    size_ = offset + size;
    if (alignment > alignment_) alignment_ = alignment;
    return offset;
  }
  uint64_t size() const { return size_; }
  uint64_t alignment() const { return alignment_; }

 private:
  uint64_t size_ = 0;
  uint64_t alignment_ = 1;
};

/// Turns accesses of the local-dynamic model into accesses of the general one: the base of all is a
/// variable of the object, and distances from it are written into the code. `object` has passed
/// CheckObject. Returns what cannot be done, or nothing.
std::string RewriteLocalDynamic(llvm::MutableArrayRef<char> object);

}  // namespace orcjit
}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_ORCJIT_THREAD_LOCAL_MODEL_H_
