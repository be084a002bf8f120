// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Entry points of the printer, and the hooks through which lower layers reach it.
#include <tvm/ffi/extra/dataclass.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ir/error_context.h>
#include <tvm/ir/function.h>
#include <tvm/ir/module.h>
#include <tvm/script/printer/config.h>
#include <tvm/script/printer/doc_printer.h>
#include <tvm/script/printer/ir_docsifier.h>

#include <string>
#include <utility>
#include <vector>

namespace tvm::script::printer {

using ffi::Any;
using ffi::Array;
using ffi::Map;
using ffi::String;

namespace {

/// Import lines, as comments so that the text can be pasted anywhere.
std::string HeaderText(const IRDocsifier& d) {
  std::string text;
  for (const auto& [rank, line] : d.header()) text += line + "\n";
  return text;
}

/// The line (or lines) that define `metadata`.
std::string MetadataText(const IRDocsifier& d, bool show) {
  if (!show) {
    return "# Metadata omitted. Use show_meta=True in script() method to show it.";
  }
  Map<String, Array<Any>> metadata;
  for (const auto& [key, values] : d.metadata()) {
    metadata.Set(String(key), Array<Any>(values.begin(), values.end()));
  }
  // Backslashes and quotes in the JSON must survive a Python string literal.
  std::string json(SaveJSON(metadata)), escaped;
  for (char c : json) {
    if (c == '\\' || c == '"') escaped += '\\';
    escaped += c;
  }
  return "metadata = tvm.ir.load_json(\"\"\"" + escaped + "\"\"\")";
}

/// What a document consists of besides the text of the value itself.
Doc Assemble(const Any& value, IRDocsifier& d) {
  FrameScope root(d, "", {}, /*takes_free_vars=*/true);
  AccessPath path = AccessPath::Root();
  Doc doc = d.AsDoc(value, path);
  const bool is_stmt = doc->IsInstance<StmtDocNode>();
  // An expression alone is most readable: its variables are declared only on request.
  if (!is_stmt && (root->stmts.empty() || !d.cfg->verbose_expr)) return doc;
  Array<StmtDoc> stmts;
  for (const auto& [name, stmt] : d.preamble()) stmts.push_back(stmt);
  for (const StmtDoc& stmt : root->stmts) stmts.push_back(stmt);
  if (stmts.empty()) return doc;
  if (const auto* block = doc.as<StmtBlockDocNode>()) {
    for (const StmtDoc& stmt : block->stmts) stmts.push_back(stmt);
  } else if (is_stmt) {
    stmts.push_back(Downcast<StmtDoc>(doc));
  } else {
    stmts.push_back(ExprStmtDoc(Downcast<ExprDoc>(doc)));
  }
  StmtBlockDoc all(stmts);
  if (doc->IsInstance<StmtBlockDocNode>()) all->source_paths = doc->source_paths;
  return all;
}

/// A copy of the configuration that also underlines `paths`.
PrinterConfig WithUnderlined(const PrinterConfig& config, const std::vector<AccessPath>& paths) {
  auto node = ffi::make_object<PrinterConfigNode>(*config.get());
  for (const AccessPath& path : paths) node->path_to_underline.push_back(path);
  return PrinterConfig(std::move(node));
}

bool IsProgram(const Any& value) {
  const auto* object = value.as<ffi::Object>();
  return object != nullptr &&
         (object->IsInstance<BaseFuncNode>() || object->IsInstance<IRModuleNode>());
}

}  // namespace

String Script(const Any& value, const PrinterConfig& config) {
  IRDocsifier d(config);
  Doc doc = Assemble(value, d);
  PrinterConfig shown = config;
  if (!d.found_paths().empty()) shown = WithUnderlined(config, d.found_paths());
  std::string head;
  if (!d.metadata().empty() && config->show_meta) head = MetadataText(d, true) + "\n";
  const bool program = IsProgram(value);
  if (program && !d.header().empty()) head += HeaderText(d) + "\n";
  std::string text = DocToPythonScript(doc, shown, head);
  if (!d.metadata().empty() && !config->show_meta) {
    text += (program ? "\n\n" : "\n") + MetadataText(d, false);
  }
  return text;
}

String ReprText(const ffi::ObjectRef& node) {
  try {
    return Script(node);
  } catch (const ffi::Error&) {
    return String(node.GetTypeKey() + "(...)");
  }
}

namespace {

/// Text for messages and repr: never throws, whatever the value.
String TextForMessages(const Any& value) {
  try {
    return Script(value);
  } catch (const ffi::Error&) {
    // Nested too deeply, or malformed: the generic listing is bounded and checks nothing.
    return ffi::ReprPrint(value);
  }
}

String RenderErrorLocation(const ffi::ObjectRef& root, const Any& paths) {
  Map<String, Any> options = {{"num_context_lines", 10}, {"path_to_underline", paths}};
  return Script(root, PrinterConfig(options));
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  SetTextPrinter(TextForMessages);
  SetErrorLocationRenderer(RenderErrorLocation);
  ffi::reflection::GlobalDef()
      .def("node.TVMScriptPrinterScript",
           [](const Any& value, const ffi::Optional<PrinterConfig>& config) {
             return Script(value, config.value_or(PrinterConfig::Default()));
           })
      .def("script.printer.Text", TextForMessages);
}

}  // namespace tvm::script::printer
