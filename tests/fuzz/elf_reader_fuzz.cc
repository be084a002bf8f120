// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Feeds arbitrary bytes to the ELF reader: it must answer with an image or an error.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

// The reader is private to the runtime library, so its source is part of this program.
#include "runtime/elf_reader.cc"  // NOLINT(build/include)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  tvm::runtime::ElfImage image;
  std::string error;
  if (!tvm::runtime::ElfImage::Parse(bytes, &image, &error)) {
    if (error.empty()) std::abort();
    return 0;
  }
  for (const tvm::runtime::ElfSymbol& s : image.symbols()) {
    std::string_view content;
    if (s.defined && image.BytesAt(s.value, &content) && !content.empty()) {
      volatile char last = content.back();
      (void)last;
    }
  }
  (void)image.ComputeDigest();
  return 0;
}
