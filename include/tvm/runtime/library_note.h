// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file library_note.h
/// Formats that exported shared libraries carry: the ELF note `.note.opentvm` that is checked
/// before a library is opened, and the header of the constants blob that is used in place.
///
/// The note (section `.note.opentvm`, type SHT_NOTE, flags SHF_ALLOC, alignment 4, thus in a
/// PT_NOTE segment), every number little-endian:
///
///     u32 namesz = 8, u32 descsz, u32 type = kLibraryNoteType, char name[8] = "OpenTVM\0"
///     desc (descsz bytes, then padded to 4):
///       u32 format_version = kLibraryNoteVersion
///       u32 abi_version    = kLibraryAbiVersion
///       u8  digest[16]     all zero until SealLibrary fills it
///       u32 features_size, u32 target_size
///       char features[]    required CPU features, comma-separated LLVM names, e.g. "avx2,fma"
///       char target[]      text of the target, for people
///
/// The digest covers, for each PT_LOAD segment in file order, its u64 virtual address, u64
/// size in memory, u32 flags and file bytes, where the first 64 bytes of the file (the ELF header,
/// which `strip` rewrites) and the digest itself count as zeros.
#ifndef TVM_RUNTIME_LIBRARY_NOTE_H_
#define TVM_RUNTIME_LIBRARY_NOTE_H_

#include <tvm/runtime/base.h>

#include <cstring>
#include <string>
#include <string_view>

namespace tvm {
namespace runtime {

inline constexpr char kLibraryNoteSection[] = ".note.opentvm";
inline constexpr char kLibraryNoteName[8] = {'O', 'p', 'e', 'n', 'T', 'V', 'M', '\0'};
inline constexpr uint32_t kLibraryNoteType = 1;
inline constexpr uint32_t kLibraryNoteVersion = 1;
/// Raised when code that an older compiler exported can no longer run on this runtime.
inline constexpr uint32_t kLibraryAbiVersion = 1;
inline constexpr size_t kLibraryDigestSize = 16;
/// Offset of the digest from the start of desc.
inline constexpr size_t kLibraryNoteDigestOffset = 8;
/// Bytes of desc before the two texts.
inline constexpr size_t kLibraryNoteFixedSize = 32;

/// The whole content of section `.note.opentvm`, digest still zero.
inline std::string BuildLibraryNote(std::string_view features, std::string_view target) {
  std::string out;
  auto put = [&out](uint32_t v) { out.append(reinterpret_cast<const char*>(&v), sizeof(v)); };
  put(sizeof(kLibraryNoteName));
  put(static_cast<uint32_t>(kLibraryNoteFixedSize + features.size() + target.size()));
  put(kLibraryNoteType);
  out.append(kLibraryNoteName, sizeof(kLibraryNoteName));
  put(kLibraryNoteVersion);
  put(kLibraryAbiVersion);
  out.append(kLibraryDigestSize, '\0');
  put(static_cast<uint32_t>(features.size()));
  put(static_cast<uint32_t>(target.size()));
  out.append(features);
  out.append(target);
  out.append((4 - out.size() % 4) % 4, '\0');
  return out;
}

/// First 64 bytes of a constants blob, which itself is aligned to 64 bytes. A library (or a
/// JIT module) with a blob offers the packed function `__tvm_const_base()` (symbol
/// `__tvm_ffi___tvm_const_base`), which returns the blob's address as an OpaquePtr. Offsets in
/// the executable's constant pool count from the start of this header.
struct ConstBlobHeader {
  uint64_t magic;
  /// Bytes of the blob, this header included.
  uint64_t nbytes;
  uint64_t num_constants;
  uint64_t reserved[5];
};
static_assert(sizeof(ConstBlobHeader) == 64);
inline constexpr uint64_t kConstBlobMagic = 0x424F4C4254534E43ULL;
inline constexpr char kConstBaseFunction[] = "__tvm_const_base";

/// Fills in the digest of a linked library; call it once, after the link. Raises RuntimeError if
/// the file is not a library with a note.
TVM_RUNTIME_DLL void SealLibrary(const std::string& path);

}  // namespace runtime
}  // namespace tvm

#endif  // TVM_RUNTIME_LIBRARY_NOTE_H_
