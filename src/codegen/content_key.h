// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// A digest of everything that an IR value says, for keys of the compile cache.
///
/// The graph of objects is written out as it is, through reflection: each object once, with the
/// name of its type and all fields but those that structural equality leaves out; later uses by
/// number. Structural hashes have 64 bits and are made for tables; these must not collide.
#ifndef TVM_CODEGEN_CONTENT_KEY_H_
#define TVM_CODEGEN_CONTENT_KEY_H_

#include <tvm/ffi/any.h>
#include <tvm/runtime/base.h>
#include <tvm/support/hash.h>

#include <optional>
#include <string>
#include <vector>

namespace tvm {
namespace codegen {

/// Adds `value` to a digest. False when it holds something that has no content to be compared by
/// (functions, modules, opaque objects); the digest is then of no use. Names of the global
/// variables met are appended to `*globals`.
TVM_DLL bool AddContent(const ffi::Any& value, support::Sha256* digest,
                        std::vector<std::string>* globals);

/// What every key starts with: the content of the compiler's libraries, the version of LLVM, this
/// machine's processor, and the environment variables that may change what is compiled.
TVM_DLL const std::string& CompilerIdentity();
/// The `TVM_*` variables of the environment that may change what is compiled.
TVM_DLL std::string RelevantEnvironment();

}  // namespace codegen
}  // namespace tvm
#endif  // TVM_CODEGEN_CONTENT_KEY_H_
