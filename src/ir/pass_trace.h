// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Environment switches around every pass:
///   TVM_DUMP=dir        numbered program text after each pass that changed something
///   TVM_TIME_PASSES=1   time per pass, printed when the outermost pass ends
///   TVM_VERIFY=each     registered verifiers run after each pass
#ifndef TVM_SRC_IR_PASS_TRACE_H_
#define TVM_SRC_IR_PASS_TRACE_H_

#include <tvm/ir/transform.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace tvm::transform {

/// Time of one pass and of the passes that ran inside it.
struct PassProfile {
  using Clock = std::chrono::steady_clock;
  std::string name;
  Clock::time_point start = Clock::now();
  Clock::time_point end = start;
  std::vector<std::unique_ptr<PassProfile>> children;

  double Micros() const { return std::chrono::duration<double, std::micro>(end - start).count(); }
};

/// One line a pass, tab-indented: `name: {us}us [{self}us] ({of total}%; {of parent}%)`.
std::string RenderProfiles(const std::vector<std::unique_ptr<PassProfile>>& profiles);

/// Lives while one pass runs.
class PassTrace {
 public:
  PassTrace(const PassInfo& info, bool is_sequence);
  ~PassTrace();
  PassTrace(const PassTrace&) = delete;
  PassTrace& operator=(const PassTrace&) = delete;
  /// After the pass succeeded.
  void Finish(const IRModule& before, const IRModule& after);

 private:
  const PassInfo& info_;
  bool is_sequence_;
  bool timed_ = false;
};

bool VerifyEachPass();

}  // namespace tvm::transform
#endif  // TVM_SRC_IR_PASS_TRACE_H_
