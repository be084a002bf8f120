// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// The text being printed, and which parts of it are underlined.
#ifndef TVM_SCRIPT_PRINTER_TEXT_WRITER_H_
#define TVM_SCRIPT_PRINTER_TEXT_WRITER_H_

#include <tvm/script/printer/config.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace tvm::script::printer {

/// Half-open range of bytes of the text.
struct TextSpan {
  size_t begin;
  size_t end;
};

/// One path to underline: the deepest docs seen so far that show it or a parent of it.
struct UnderlineTarget {
  AccessPath path;
  /// Depth of the path those docs stand for; -1 = nothing seen.
  int32_t depth = -1;
  std::vector<TextSpan> spans;
};

/// Collects text and spans; Finish() puts underlines, line numbers and cuts into it.
class TextWriter {
 public:
  explicit TextWriter(const PrinterConfigNode* config);

  std::string text;

  void NewLine() {
    text += '\n';
    text.append(indent_, ' ');
  }
  void Indent() { indent_ += config_->indent_spaces; }
  void Dedent() { indent_ -= config_->indent_spaces; }
  /// Text in [begin, text.size()) is never underlined.
  void Exempt(size_t begin) { exempt_.push_back({begin, text.size()}); }
  bool tracks() const { return !targets_.empty(); }
  /// The text from `begin` on shows the value at `path`.
  void Shows(const AccessPath& path, size_t begin);

  std::string Finish();

 private:
  std::vector<TextSpan> Underlined() const;
  std::string Header() const;

  const PrinterConfigNode* config_;
  size_t indent_ = 0;
  std::vector<UnderlineTarget> targets_;
  std::vector<TextSpan> exempt_;
};

}  // namespace tvm::script::printer
#endif  // TVM_SCRIPT_PRINTER_TEXT_WRITER_H_
