// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <tvm/ffi/error.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ir/source_map.h>

#include <algorithm>
#include <mutex>
#include <sstream>
#include <string>
#include <unordered_map>

namespace tvm {

void SourceNameNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<SourceNameNode>().def_ro("name", &SourceNameNode::name);
}

void SpanNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<SpanNode>()
      .def_ro("source_name", &SpanNode::source_name)
      .def_ro("line", &SpanNode::line)
      .def_ro("column", &SpanNode::column)
      .def_ro("end_line", &SpanNode::end_line)
      .def_ro("end_column", &SpanNode::end_column);
}

void SequentialSpanNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<SequentialSpanNode>().def_ro("spans", &SequentialSpanNode::spans);
}

void SourceNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<SourceNode>()
      .def_ro("source_name", &SourceNode::source_name)
      .def_ro("source", &SourceNode::source);
}

void SourceMapNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<SourceMapNode>().def_ro("source_map", &SourceMapNode::source_map);
}

SourceName SourceName::Get(const ffi::String& name) {
  static auto* mutex = new std::mutex;
  static auto* names = new std::unordered_map<std::string, SourceName>;
  std::lock_guard<std::mutex> lock(*mutex);
  SourceName& entry = (*names)[std::string(name)];
  if (!entry.defined()) {
    auto node = ffi::make_object<SourceNameNode>();
    node->name = name;
    entry = SourceName(std::move(node));
  }
  return entry;
}

Span::Span(SourceName source_name, int line, int end_line, int column, int end_column) {
  auto node = ffi::make_object<SpanNode>();
  node->source_name = std::move(source_name);
  node->line = line;
  node->end_line = end_line;
  node->column = column;
  node->end_column = end_column;
  data_ = std::move(node);
}

Span Span::Merge(const Span& other) const {
  if (!defined()) return other;
  if (!other.defined()) return *this;
  const SpanNode* a = get();
  const SpanNode* b = other.get();
  TVM_FFI_CHECK(a->source_name.same_as(b->source_name), ValueError)
      << "cannot merge spans of different sources";
  auto begin = std::min(std::pair(a->line, a->column), std::pair(b->line, b->column));
  auto end = std::max(std::pair(a->end_line, a->end_column), std::pair(b->end_line, b->end_column));
  return Span(a->source_name, begin.first, end.first, begin.second, end.second);
}

SequentialSpan::SequentialSpan(const ffi::Array<Span>& spans) {
  auto node = ffi::make_object<SequentialSpanNode>();
  for (const Span& span : spans) {
    if (!span.defined()) continue;
    if (const auto* nested = span.as<SequentialSpanNode>()) {
      for (const Span& inner : nested->spans) node->spans.push_back(inner);
    } else {
      node->spans.push_back(span);
    }
  }
  // The own position is that of the first span, so that readers unaware of sequences work.
  if (!node->spans.empty()) {
    const SpanNode* first = node->spans[0].get();
    node->source_name = first->source_name;
    node->line = first->line;
    node->column = first->column;
    node->end_line = first->end_line;
    node->end_column = first->end_column;
  }
  data_ = std::move(node);
}

Source::Source(SourceName source_name, ffi::String source) {
  auto node = ffi::make_object<SourceNode>();
  node->source_name = std::move(source_name);
  node->source = std::move(source);
  data_ = std::move(node);
}

SourceMap::SourceMap(ffi::Map<SourceName, Source> source_map) {
  auto node = ffi::make_object<SourceMapNode>();
  node->source_map = std::move(source_map);
  data_ = std::move(node);
}

void SourceMap::Add(const Source& source) {
  if (!defined()) *this = SourceMap(ffi::Map<SourceName, Source>());
  CopyOnWrite()->source_map.Set(source->source_name, source);
}

namespace {

ffi::String SpanText(const SpanNode* span) {
  std::ostringstream os;
  os << "Span(SourceName("
     << (span->source_name.defined() ? std::string(span->source_name->name) : "") << ", "
     << static_cast<const void*>(span->source_name.get()) << "), " << span->line << ", "
     << span->end_line << ", " << span->column << ", " << span->end_column << ")";
  return os.str();
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = ffi::reflection;
  SourceNameNode::RegisterReflection();
  SpanNode::RegisterReflection();
  SequentialSpanNode::RegisterReflection();
  SourceNode::RegisterReflection();
  SourceMapNode::RegisterReflection();
  refl::TypeAttrDef<SpanNode>().def(
      "__ffi_repr__",
      [](const Span& span, const ffi::Function&) -> ffi::String { return SpanText(span.get()); });
  // Names are interned: a loaded graph refers to the one object of that name.
  refl::TypeAttrDef<SourceNameNode>()
      .def("__data_to_json__", [](const SourceName& name) { return name->name; })
      .def("__data_from_json__", [](const ffi::String& name) { return SourceName::Get(name); });
  refl::GlobalDef()
      .def("ir.SourceName", [](ffi::String name) { return SourceName::Get(name); })
      .def("ir.Span",
           [](SourceName source_name, int line, int end_line, int column, int end_column) {
             return Span(source_name, line, end_line, column, end_column);
           })
      .def("ir.SequentialSpan", [](ffi::Array<Span> spans) { return SequentialSpan(spans); })
      .def("ir.Source", [](SourceName name,
                           ffi::String text) { return Source(std::move(name), std::move(text)); })
      .def("ir.SourceMap", [](ffi::Map<SourceName, Source> map) { return SourceMap(map); })
      .def("ir.SourceMapAdd", [](SourceMap map, ffi::String name, ffi::String content) {
        SourceName source_name = SourceName::Get(name);
        map.Add(Source(source_name, std::move(content)));
        return source_name;
      });
}

}  // namespace tvm
