// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// How a primitive refuses: it throws a ScheduleFailure, which the schedule turns into the user's
/// ScheduleError after it has taken back what the primitive changed so far.
#ifndef TVM_SRC_S_TIR_SCHEDULE_FAILURE_H_
#define TVM_SRC_S_TIR_SCHEDULE_FAILURE_H_

#include <tvm/s_tir/schedule/state.h>

#include <exception>
#include <string>
#include <utility>

namespace tvm {
namespace s_tir {

enum class ErrorRenderLevel : int32_t { kDetail = 0, kFast = 1, kNone = 2 };

/// `message` refers to the i-th location as {i}.
class ScheduleFailure : public std::exception {
 public:
  ScheduleFailure(ffi::Array<ffi::ObjectRef> locations, std::string message)
      : locations_(std::move(locations)), message_(std::move(message)) {}
  const ffi::Array<ffi::ObjectRef>& locations() const { return locations_; }
  const std::string& message() const { return message_; }
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  ffi::Array<ffi::ObjectRef> locations_;
  std::string message_;
};

/// Collects a message and throws at the end of the full expression.
class FailureBuilder {
 public:
  explicit FailureBuilder(ffi::Array<ffi::ObjectRef> locations)
      : locations_(std::move(locations)) {}
  [[noreturn]] ~FailureBuilder() noexcept(false) {
    throw ScheduleFailure(std::move(locations_), stream_.TakeString());
  }
  std::ostream& stream() { return stream_; }

 private:
  ffi::Array<ffi::ObjectRef> locations_;
  ffi::detail::StringStream stream_;
};

/// Statement of a reference, as a location.
inline ffi::ObjectRef At(const StmtSRef& sref) { return sref->stmt.value(); }
inline ffi::ObjectRef At(const tirx::StmtNode* stmt) { return ffi::GetRef<ffi::ObjectRef>(stmt); }
inline ffi::ObjectRef At(ffi::ObjectRef node) { return node; }

template <typename... Nodes>
ffi::Array<ffi::ObjectRef> Locations(const Nodes&... nodes) {
  return {At(nodes)...};
}

/// SCHEDULE_CHECK(cond, locations...) << "message with {0}";
#define SCHEDULE_CHECK(cond, ...) \
  if (cond) {                     \
  } else /* NOLINT */             \
    ::tvm::s_tir::FailureBuilder(::tvm::s_tir::Locations(__VA_ARGS__)).stream()

#define SCHEDULE_FAIL(...) \
  ::tvm::s_tir::FailureBuilder(::tvm::s_tir::Locations(__VA_ARGS__)).stream()

/// Text of the user's error.
std::string RenderFailure(const ScheduleFailure& failure, const std::string& primitive,
                          const IRModule& mod, ErrorRenderLevel level);

}  // namespace s_tir
}  // namespace tvm

#endif  // TVM_SRC_S_TIR_SCHEDULE_FAILURE_H_
