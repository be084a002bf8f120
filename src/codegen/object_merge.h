// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Joins relocatable ELF64 objects into one, as `ld -r` would, without a linker.
///
/// Functions are compiled in parallel into separate objects; a user who asks for "the object file"
/// of a module gets their union. Sections are kept apart (linkers accept equal names), symbol
/// tables are united: a strong definition beats a weak one, a definition beats a reference, the
/// most constraining visibility wins.
#ifndef TVM_CODEGEN_OBJECT_MERGE_H_
#define TVM_CODEGEN_OBJECT_MERGE_H_

#include <tvm/runtime/base.h>

#include <string>
#include <string_view>
#include <vector>

namespace tvm {
namespace codegen {

/// Union of the objects. ValueError on malformed input, mixed processors or two strong definitions.
TVM_DLL std::string MergeObjects(const std::vector<std::string_view>& objects);

}  // namespace codegen
}  // namespace tvm
#endif  // TVM_CODEGEN_OBJECT_MERGE_H_
