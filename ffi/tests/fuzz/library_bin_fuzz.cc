// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Feeds arbitrary bytes to the reader of the blob in which a library carries its imports: it must
/// answer with an import tree whose parts lie within the blob, or with an error.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

// The reader is private to the library, so its source is part of this program.
#include "src/extra/library_bin.cc"  // NOLINT(build/include)

namespace {

void CheckWithin(std::string_view blob, std::string_view part) {
  if (part.empty()) return;
  if (part.data() < blob.data() || part.data() + part.size() > blob.data() + blob.size()) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view blob(reinterpret_cast<const char*>(data), size);
  tvm::ffi::LibraryBin bin;
  std::string error;
  if (!tvm::ffi::ParseLibraryBin(blob, &bin, &error)) {
    if (error.empty()) std::abort();
    return 0;
  }
  const size_t count = bin.modules.size();
  if (count == 0 || bin.import_indptr.size() != count + 1) std::abort();
  for (size_t i = 0; i < count; ++i) {
    CheckWithin(blob, bin.modules[i].kind);
    CheckWithin(blob, bin.modules[i].body);
    if (bin.import_indptr[i] > bin.import_indptr[i + 1]) std::abort();
  }
  if (bin.import_indptr[count] != bin.import_indices.size()) std::abort();
  for (uint64_t child : bin.import_indices) {
    if (child >= count) std::abort();
  }
  return 0;
}
