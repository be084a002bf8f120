// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Feeds arbitrary bytes to the reader of tuning records: it must say what they are without
/// raising, and what it reads must be written and read again.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "tune/record.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using tvm::tune::ReadRecord;
  using tvm::tune::ReadResult;
  tvm::tune::TuneRecord record;
  std::string why;
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  const ReadResult result = ReadRecord(line, &record, &why);
  if (result != ReadResult::kRecord) {
    if (why.empty()) std::abort();
    return 0;
  }
  std::string again = tvm::tune::WriteRecord(record);
  again.pop_back();
  if (ReadRecord(again, &record, &why) != ReadResult::kRecord) std::abort();
  return 0;
}
