// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// The file of measurements: JSON lines, only ever appended to.
#ifndef TVM_TUNE_DATABASE_H_
#define TVM_TUNE_DATABASE_H_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include "tune/record.h"

namespace tvm {
namespace tune {

/// What a file says. Lines that cannot be used are left out, with a warning that names them.
class TVM_DLL Database {
 public:
  /// Reads a file; one that is not there is empty. The last file read is kept until it changes.
  /// RuntimeError when there is something that cannot be read, or no regular file.
  static std::shared_ptr<const Database> Read(const std::string& path);
  /// The same from memory; `name` is for warnings.
  static Database FromText(std::string_view text, const std::string& name);

  /// The last measurement of a kernel, null when there is none.
  const TuneRecord* Find(const std::string& key) const;
  /// KnobsText of the candidates of a kernel that fail.
  const std::set<std::string>& Failed(const std::string& key) const;
  /// Of all that changes what is compiled: which kernels get which knobs. Empty for nothing.
  std::string Digest() const;
  size_t size() const { return records_.size(); }
  /// Lines left out.
  size_t damaged() const { return damaged_; }
  size_t other_versions() const { return other_versions_; }

 private:
  std::map<std::string, TuneRecord> records_;
  std::unordered_map<std::string, std::set<std::string>> failed_;
  size_t damaged_ = 0, other_versions_ = 0;
};

/// Adds a record at the end of the file, which is made if need be. Safe between threads and
/// processes: a reader sees the whole line or nothing. RuntimeError when it cannot be written.
TVM_DLL void AppendRecord(const std::string& path, const TuneRecord& record);

}  // namespace tune
}  // namespace tvm

#endif  // TVM_TUNE_DATABASE_H_
