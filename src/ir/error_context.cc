// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/visit_error_context.h>
#include <tvm/ir/error_context.h>
#include <tvm/ir/expr.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tvm {

namespace {

using ffi::reflection::AccessPath;

std::atomic<ErrorLocationRenderer> location_renderer{nullptr};

/// A statement that occurs in more places than this is shown in the first of them.
constexpr size_t kMaxPlaces = 3;
/// A place that spans more lines, e.g. a large loop, is cut.
constexpr size_t kMaxLines = 80;
constexpr size_t kMaxColumns = 200;

/// Objects below `root`. No path: only the function is known.
struct Place {
  ffi::ObjectRef root;
  ffi::Array<AccessPath> paths;
};

/// What was being visited, outermost first.
struct Visited {
  std::vector<ffi::ObjectRef> objects;
  /// Name of the function; empty when it is not known.
  std::string function;
};

/// Each object is listed once in a row: an analysis that runs inside the visit of a statement
/// starts with that statement again. A function pass lists the name of its function outermost.
Visited VisitedObjects(const IRModule& mod, const ffi::VisitErrorContext& context) {
  const auto& reverse = context->reverse_visit_pattern;
  Visited visited;
  for (size_t i = reverse.size(); i-- > 0;) {
    ffi::ObjectRef object = reverse[i];
    if (object.get() == nullptr) continue;  // the visit of a missing operand
    const auto* name = object.as<GlobalVarNode>();
    if (name != nullptr && visited.objects.empty()) {
      visited.function = name->name_hint;
      auto it = mod->functions.find(ffi::GetRef<GlobalVar>(name));
      if (it == mod->functions.end() || i == 0) continue;
      object = (*it).second;
    }
    if (visited.objects.empty() || !visited.objects.back().same_as(object)) {
      visited.objects.push_back(std::move(object));
    }
  }
  return visited;
}

ffi::Array<AccessPath> PathsTo(const ffi::ObjectRef& root,
                               const std::vector<ffi::ObjectRef>& objects, size_t begin) {
  ffi::VisitErrorContext context;
  for (size_t i = objects.size(); i-- > begin;) {
    context->reverse_visit_pattern.push_back(objects[i]);
  }
  ffi::Array<AccessPath> found =
      ffi::VisitErrorContext::FindAccessPaths(root, context, /*allow_prefix=*/true);
  while (found.size() > kMaxPlaces) found.pop_back();
  return found;
}

bool IsWhole(const ffi::ObjectRef& object) {
  return object->IsInstance<IRModuleNode>() || object->IsInstance<BaseFuncNode>();
}

/// Where the visit failed: in the program that the step got if it is there, else in the program
/// that the step had made of it by then.
Place FindPlace(const IRModule& mod, const std::vector<ffi::ObjectRef>& objects) {
  if (objects.empty()) return {mod, {}};
  // functions, name: longer paths lead into a function.
  constexpr int32_t kFunctionDepth = 2;
  const int32_t depth = IsWhole(objects.back()) ? kFunctionDepth : kFunctionDepth + 1;
  for (size_t begin : {size_t{0}, objects.size() - 1}) {
    ffi::Array<AccessPath> paths = PathsTo(mod, objects, begin);
    if (!paths.empty() && paths[0]->depth >= depth) return {mod, paths};
  }
  auto inner = std::find_if_not(objects.begin(), objects.end(), IsWhole);
  if (inner == objects.end()) return {mod, {}};
  return {*inner, PathsTo(*inner, objects, static_cast<size_t>(inner - objects.begin()))};
}

/// Without a script printer: the paths, and the text of the innermost object.
std::string PlainLocation(const Place& place, const ffi::ObjectRef& innermost) {
  std::string text;
  for (const AccessPath& path : place.paths) text += "  at " + std::string(DebugText(path)) + "\n";
  std::string object(DebugText(ffi::Any(innermost)));
  constexpr size_t kMaxText = 2000;
  if (object.size() > kMaxText) object = object.substr(0, kMaxText) + "...";
  return text + object;
}

/// Cuts many lines, and long lines that hold nothing underlined.
std::string CutText(const std::string& text) {
  std::vector<std::string_view> lines;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(std::string_view(text).substr(begin, end - begin));
    begin = end + 1;
  }
  std::string result;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i != 0) result += '\n';
    if (i == kMaxLines) {
      return result + "(... " + std::to_string(lines.size() - i) + " more lines)";
    }
    const std::string_view next = i + 1 < lines.size() ? lines[i + 1] : std::string_view();
    const bool marked = next.find('^') != std::string_view::npos &&
                        next.find_first_not_of(" ^") == std::string_view::npos;
    const bool cut = lines[i].size() > kMaxColumns && !marked;
    result += lines[i].substr(0, cut ? kMaxColumns : lines[i].size());
    if (cut) result += " ...";
  }
  return result;
}

/// `heading` and the place; empty when nothing is known of the place.
std::string Description(const IRModule& mod, const Visited& visited, const std::string& heading) {
  const Place place = FindPlace(mod, visited.objects);
  if (place.paths.empty()) {
    return visited.function.empty() ? "" : "\n\n" + heading + "\nFunction: " + visited.function;
  }
  std::string text = "\n\n" + heading + "\nLocation (TVMScript):\n";
  if (!place.root.same_as(mod)) {
    text +=
        "# " +
        (visited.function.empty() ? std::string("a function") : "function " + visited.function) +
        ", as rewritten by then\n";
  }
  ErrorLocationRenderer renderer = location_renderer.load();
  return text + CutText(renderer != nullptr ? std::string(renderer(place.root, place.paths))
                                            : PlainLocation(place, visited.objects.back()));
}

/// True for an error that is kind, message and backtrace and nothing else. One that another
/// language raised also holds that language's exception, which a copy would lose.
bool IsPlainError(const ffi::Error& error) {
  auto deleter = [](const ffi::Error& e) {
    return ffi::detail::ObjectUnsafe::GetHeader(e.get())->deleter;
  };
  static const auto plain = deleter(ffi::Error("Error", "", ""));
  return deleter(error) == plain;
}

ffi::Error Enrich(const ffi::Error& error, const IRModule& mod, const std::string& heading) {
  std::optional<ffi::ObjectRef> extra = error.extra_context();
  if (!extra.has_value() || mod.get() == nullptr || !IsPlainError(error)) return error;
  auto context = extra->as<ffi::VisitErrorContext>();
  if (!context.has_value()) return error;
  std::string description;
  try {
    description = Description(mod, VisitedObjects(mod, *context), heading);
  } catch (const ffi::Error&) {
    // The first error is the one to report; a place that cannot be shown must not hide it.
    return error;
  }
  if (description.empty()) return error;
  // The context is consumed: an outer pass must not add it again.
  std::optional<ffi::ObjectRef> rest;
  if ((*context)->prev_error_context.has_value()) rest = (*context)->prev_error_context.value();
  return ffi::Error(error.kind(), error.message() + description, error.backtrace(),
                    error.cause_chain(), rest);
}

}  // namespace

void SetErrorLocationRenderer(ErrorLocationRenderer renderer) { location_renderer.store(renderer); }

ffi::Error EnrichPassErrorWithContext(const ffi::Error& error, const IRModule& mod,
                                      const ffi::String& pass_name) {
  return Enrich(error, mod, "Error in pass: " + std::string(pass_name));
}

ffi::Error EnrichFunctionErrorWithContext(const ffi::Error& error, const GlobalVar& var,
                                          const BaseFunc& func, const ffi::String& step) {
  ffi::ExtendVisitErrorContext(error, var);
  return Enrich(error, IRModule({{var, func}}), "Error in " + std::string(step));
}

}  // namespace tvm
