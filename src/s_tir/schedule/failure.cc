// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "s_tir/schedule/failure.h"

#include <tvm/ffi/function.h>

namespace tvm {
namespace s_tir {

namespace {

std::string LocationName(const ffi::ObjectRef& node, size_t i) {
  return std::string(node->GetTypeKey()) + "#" + std::to_string(i);
}

/// The message with {i} replaced by the name of the i-th location.
std::string Expand(const ScheduleFailure& failure) {
  std::string text = failure.message();
  for (size_t i = 0; i < failure.locations().size(); ++i) {
    const std::string slot = "{" + std::to_string(i) + "}";
    const std::string name = LocationName(failure.locations()[i], i);
    for (size_t at = text.find(slot); at != std::string::npos; at = text.find(slot, at)) {
      text.replace(at, slot.size(), name);
      at += name.size();
    }
  }
  return text;
}

/// The program with the locations underlined; without the script printer the generic text, followed
/// by the text of each location.
std::string ProgramText(const IRModule& mod, const ffi::Array<ffi::ObjectRef>& locations) {
  auto script = ffi::Function::GetGlobal("node.TVMScriptPrinterScript");
  auto config = ffi::Function::GetGlobal("node.PrinterConfig");
  if (script.has_value() && config.has_value()) {
    // Short forms would put several loops, or a loop and a block, on one line.
    ffi::Map<ffi::String, ffi::Any> options{{"obj_to_underline", locations},
                                            {"syntax_sugar", false}};
    ffi::Map<ffi::ObjectRef, ffi::String> names;
    for (size_t i = 0; i < locations.size(); ++i) {
      names.Set(locations[i], LocationName(locations[i], i));
    }
    options.Set("obj_to_annotate", names);
    return std::string((*script)(mod, (*config)(options)).cast<ffi::String>());
  }
  std::string text(DebugText(mod));
  for (size_t i = 0; i < locations.size(); ++i) {
    text += "\n" + LocationName(locations[i], i) + ":\n" + std::string(DebugText(locations[i]));
  }
  return text;
}

}  // namespace

std::string RenderFailure(const ScheduleFailure& failure, const std::string& primitive,
                          const IRModule& mod, ErrorRenderLevel level) {
  switch (level) {
    case ErrorRenderLevel::kNone:
      return "ScheduleError: (not rendered)";
    case ErrorRenderLevel::kFast:
      return "ScheduleError: " + Expand(failure);
    case ErrorRenderLevel::kDetail:
      break;
  }
  std::string text =
      "ScheduleError: An error occurred in the schedule primitive '" + primitive + "'.\n";
  // A program that cannot be printed must not hide what went wrong.
  try {
    text += "The IR with diagnostic is:\n" + ProgramText(mod, failure.locations()) + "\n";
  } catch (const ffi::Error& error) {
    text += "(the program cannot be printed: " + error.message() + ")\n";
  }
  return text + "Error message: " + Expand(failure);
}

}  // namespace s_tir
}  // namespace tvm
