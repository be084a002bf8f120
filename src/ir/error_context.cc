// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/visit_error_context.h>
#include <tvm/ir/error_context.h>
#include <tvm/ir/expr.h>

#include <atomic>
#include <optional>
#include <string>

namespace tvm {

namespace {

std::atomic<ErrorLocationRenderer> location_renderer{nullptr};

/// Without a script printer: the paths, and the text of the innermost object.
std::string PlainLocation(const ffi::VisitErrorContext& context,
                          const ffi::Array<ffi::reflection::AccessPath>& paths) {
  std::string text;
  for (const ffi::reflection::AccessPath& path : paths) {
    text += "  at " + std::string(DebugText(path)) + "\n";
  }
  const auto& objects = context->reverse_visit_pattern;
  if (!objects.empty()) {
    std::string innermost(DebugText(ffi::Any(objects[0])));
    constexpr size_t kMaxText = 2000;
    if (innermost.size() > kMaxText) innermost = innermost.substr(0, kMaxText) + "...";
    text += innermost;
  }
  return text;
}

}  // namespace

void SetErrorLocationRenderer(ErrorLocationRenderer renderer) { location_renderer.store(renderer); }

ffi::Error EnrichPassErrorWithContext(const ffi::Error& error, const IRModule& mod,
                                      const ffi::String& pass_name) {
  std::optional<ffi::ObjectRef> extra = error.extra_context();
  if (!extra.has_value()) return error;
  auto context = extra->as<ffi::VisitErrorContext>();
  if (!context.has_value() || mod.get() == nullptr) return error;
  std::string location;
  try {
    ffi::Array<ffi::reflection::AccessPath> paths =
        ffi::VisitErrorContext::FindAccessPaths(mod, *context, /*allow_prefix=*/true);
    ErrorLocationRenderer renderer = location_renderer.load();
    location =
        renderer != nullptr ? std::string(renderer(mod, paths)) : PlainLocation(*context, paths);
  } catch (const ffi::Error&) {
    // The first error is the one to report; a place that cannot be shown must not hide it.
    return error;
  }
  std::string message = std::string(error.message()) +
                        "\n\nError in pass: " + std::string(pass_name) +
                        "\nLocation (TVMScript):\n" + location;
  // The context is consumed: an outer pass must not add it again.
  std::optional<ffi::ObjectRef> rest;
  if ((*context)->prev_error_context.has_value()) rest = (*context)->prev_error_context.value();
  return ffi::Error(error.kind(), message, error.backtrace(), error.cause_chain(), rest);
}

}  // namespace tvm
