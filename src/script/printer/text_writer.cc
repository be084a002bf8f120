// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "script/printer/text_writer.h"

#include <tvm/ffi/extra/dataclass.h>

#include <algorithm>
#include <string_view>

namespace tvm::script::printer {

namespace {

/// A line of the text and the `^` marks below it (empty: none).
struct Line {
  std::string_view text;
  std::string marks;
};

/// Sorted and without overlap.
std::vector<TextSpan> Merge(std::vector<TextSpan> spans) {
  std::sort(spans.begin(), spans.end(),
            [](const TextSpan& a, const TextSpan& b) { return a.begin < b.begin; });
  std::vector<TextSpan> merged;
  for (const TextSpan& span : spans) {
    if (span.begin >= span.end) continue;
    if (!merged.empty() && span.begin <= merged.back().end) {
      merged.back().end = std::max(merged.back().end, span.end);
    } else {
      merged.push_back(span);
    }
  }
  return merged;
}

/// Columns that a byte range of UTF-8 text takes: continuation bytes take none.
size_t Columns(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; });
}

std::vector<Line> SplitLines(const std::string& text, const std::vector<TextSpan>& spans) {
  std::vector<Line> lines;
  size_t next_span = 0;
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = text.find('\n', begin);
    if (end == std::string::npos) end = text.size();
    Line line{std::string_view(text).substr(begin, end - begin), ""};
    size_t first = text.find_first_not_of(' ', begin);
    while (next_span < spans.size() && spans[next_span].begin < end) {
      size_t from = std::max({spans[next_span].begin, begin, first});
      size_t to = std::min(spans[next_span].end, end);
      if (from < to) {
        std::string_view all(text);
        line.marks.append(Columns(all.substr(begin, from - begin)) - line.marks.size(), ' ');
        line.marks.append(Columns(all.substr(from, to - from)), '^');
      }
      if (spans[next_span].end > end) break;
      ++next_span;
    }
    lines.push_back(std::move(line));
    begin = end + 1;
  }
  return lines;
}

/// Which lines stay when only `context` lines around the marked ones are wanted.
std::vector<bool> Kept(const std::vector<Line>& lines, int context) {
  std::vector<bool> kept(lines.size(), context < 0);
  bool any = false;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].marks.empty()) continue;
    any = true;
    if (context < 0) break;
    size_t reach = static_cast<size_t>(context);
    size_t from = i > reach ? i - reach : 0, to = std::min(lines.size(), i + reach + 1);
    std::fill(kept.begin() + from, kept.begin() + to, true);
  }
  if (!any) kept.assign(lines.size(), true);
  // A note about one missing line would be as long as the line.
  for (size_t i = 0; i < lines.size(); ++i) {
    bool alone = !kept[i] && (i == 0 || kept[i - 1]) && (i + 1 == lines.size() || kept[i + 1]);
    if (alone) kept[i] = true;
  }
  return kept;
}

}  // namespace

TextWriter::TextWriter(const PrinterConfigNode* config) : config_(config) {
  for (const AccessPath& path : config->path_to_underline) targets_.push_back({path, -1, {}});
}

void TextWriter::Shows(const AccessPath& path, size_t begin) {
  for (UnderlineTarget& target : targets_) {
    if (path->depth < target.depth || path->depth > target.path->depth) continue;
    if (!path->IsPrefixOf(target.path)) continue;
    if (path->depth > target.depth) {
      target.depth = path->depth;
      target.spans.clear();
    }
    target.spans.push_back({begin, text.size()});
  }
}

std::vector<TextSpan> TextWriter::Underlined() const {
  std::vector<TextSpan> spans;
  for (const UnderlineTarget& target : targets_) {
    spans.insert(spans.end(), target.spans.begin(), target.spans.end());
  }
  spans = Merge(std::move(spans));
  std::vector<TextSpan> exempt = Merge(exempt_);
  std::vector<TextSpan> result;
  size_t e = 0;
  for (TextSpan span : spans) {
    while (e < exempt.size() && exempt[e].end <= span.begin) ++e;
    for (size_t k = e; k < exempt.size() && exempt[k].begin < span.end; ++k) {
      if (exempt[k].begin > span.begin) result.push_back({span.begin, exempt[k].begin});
      span.begin = std::max(span.begin, exempt[k].end);
    }
    if (span.begin < span.end) result.push_back(span);
  }
  return result;
}

std::string TextWriter::Header() const {
  if (!config_->render_invisible_path_info) return "";
  std::string header;
  for (const UnderlineTarget& target : targets_) {
    header += "Access path: " + std::string(ffi::ReprPrint(target.path)) + "\n";
    if (target.depth < 0) {
      header += "Note: No visible object for this path is rendered in TVMScript.\n";
    } else if (target.depth < target.path->depth) {
      header += "Note: The underlined object is the nearest visible parent of this path.\n";
    }
  }
  if (!header.empty()) header += "\n";
  return header;
}

std::string TextWriter::Finish() {
  bool plain = targets_.empty() && !config_->print_line_numbers;
  if (plain) return std::move(text);
  std::vector<Line> lines = SplitLines(text, Underlined());
  std::vector<bool> kept = Kept(lines, config_->num_context_lines);
  size_t width = config_->print_line_numbers ? std::to_string(lines.size()).size() + 1 : 0;
  std::string result;
  for (size_t i = 0; i < lines.size();) {
    if (!kept[i]) {
      size_t end = i;
      while (end < lines.size() && !kept[end]) ++end;
      result += "(... " + std::to_string(end - i) + " lines skipped ...)\n";
      i = end;
      continue;
    }
    if (width != 0) {
      std::string number = std::to_string(i + 1);
      result.append(width - 1 - number.size(), ' ');
      result += number + " ";
    }
    result += std::string(lines[i].text) + "\n";
    if (!lines[i].marks.empty()) {
      result.append(width, ' ');
      result += lines[i].marks + "\n";
    }
    ++i;
  }
  if (!result.empty()) result.pop_back();
  return Header() + result;
}

}  // namespace tvm::script::printer
