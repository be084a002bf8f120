// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// One measurement of a kernel, as a line of the database (format: README.md).
#ifndef TVM_TUNE_RECORD_H_
#define TVM_TUNE_RECORD_H_

#include <tvm/kernels/rule.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace tvm {
namespace tune {

inline constexpr int64_t kRecordVersion = 1;
/// Longest line that is read, in bytes.
inline constexpr size_t kMaxLine = size_t{64} << 10;

struct TuneRecord {
  /// SHA-256 of the group, target, CPU and threads; 64 hexadecimal digits.
  std::string key;
  /// For people; the key says it all.
  std::string target, cpu;
  int64_t threads = 1;
  std::string rule;
  /// Empty: the rule's own choice is the best so far.
  kernels::KernelKnobs knobs;
  /// Of one call: with these knobs, and with the rule's own choice.
  double seconds = 0, untuned = 0;
  /// Candidates of the ranked list measured so far, the rule's own choice included.
  int64_t tried = 0;
  /// Not empty: the candidate with these knobs fails, for this reason; times and `tried` are 0.
  std::string error;
  /// UTC, ISO 8601.
  std::string date;
};

enum class ReadResult { kRecord, kOtherVersion, kDamaged };

/// Reads a line without its end. `*why` says what is wrong when it is damaged, or which version it
/// has. Never throws, whatever the bytes.
TVM_DLL ReadResult ReadRecord(std::string_view line, TuneRecord* record, std::string* why);

/// The line, with its end. ValueError for a record that could not be read again.
TVM_DLL std::string WriteRecord(const TuneRecord& record);

}  // namespace tune
}  // namespace tvm

#endif  // TVM_TUNE_RECORD_H_
