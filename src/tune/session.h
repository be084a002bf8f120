// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// What a compilation on this thread knows from measurements, and whether it measures.
///
///   SessionScope scope({"tune.jsonl", measure});   // measure: may be null
///   driver::Compile(...)                           // groups -> measure, then -> the file's knobs
///
/// Without a session the file that DatabasePath finds is used all the same.
#ifndef TVM_TUNE_SESSION_H_
#define TVM_TUNE_SESSION_H_

#include <tvm/ffi/function.h>
#include <tvm/kernels/rule.h>

#include <optional>
#include <string>

namespace tvm {
namespace tune {

struct Session {
  /// File of measurements; empty: none. Left out: what DatabasePath finds.
  std::optional<std::string> database;
  /// (tasks: [{"name", "key", "func", "calls"}], target) -> None. Called with the distinct kernels
  /// of a module before they are emitted; it adds to the file. Before that, called with one task
  /// {"key", "forms": [{"rule", "func"}]} for each choice between forms of an anchor. May be null.
  ffi::Function measure;
};

/// Makes a session the one of this thread for the life of this object.
class TVM_DLL SessionScope {
 public:
  explicit SessionScope(Session session);
  ~SessionScope();
  SessionScope(const SessionScope&) = delete;
};

/// Whether the session of this thread measures: then nothing is taken as compiled already.
TVM_DLL bool IsMeasuring();

/// The file in use: the session's; `TVM_TUNE_DB`, where `off` and the empty text mean none; else
/// `tune.jsonl` in the compile cache's folder. Empty for none.
TVM_DLL std::string DatabasePath();

/// Database::Digest of that file.
TVM_DLL std::string DatabaseDigest();

/// What a measurement is of: content of the group, target, this machine's CPU, number of threads.
/// Empty for a group whose content cannot be told.
TVM_DLL std::string KernelKey(const tirx::PrimFunc& group, const Target& target);

/// Name of this machine's CPU model.
TVM_DLL const std::string& CpuModel();

}  // namespace tune
}  // namespace tvm

#endif  // TVM_TUNE_SESSION_H_
