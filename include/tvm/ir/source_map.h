// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Source positions carried by IR nodes. They never take part in equality or hashing.
#ifndef TVM_IR_SOURCE_MAP_H_
#define TVM_IR_SOURCE_MAP_H_

#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/object.h>
#include <tvm/ffi/string.h>
#include <tvm/ir/cow.h>
#include <tvm/runtime/base.h>

namespace tvm {

/// Name of a source text; one object per distinct name (see SourceName::Get).
class SourceNameNode : public ffi::Object {
 public:
  ffi::String name;

  static void RegisterReflection();
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("ir.SourceName", SourceNameNode, ffi::Object);
};

class SourceName : public ffi::ObjectRef {
 public:
  /// Returns the interned object of that name.
  TVM_DLL static SourceName Get(const ffi::String& name);
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(SourceName, ffi::ObjectRef, SourceNameNode);
};

/// A range of one source text; lines and columns are 1-based as in diagnostics.
class SpanNode : public ffi::Object {
 public:
  SourceName source_name;
  int line = 0;
  int column = 0;
  int end_line = 0;
  int end_column = 0;

  static void RegisterReflection();
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  static constexpr uint32_t _type_child_slots = 2;
  TVM_FFI_DECLARE_OBJECT_INFO("ir.Span", SpanNode, ffi::Object);
};

class Span : public ffi::ObjectRef {
 public:
  TVM_DLL Span(SourceName source_name, int line, int end_line, int column, int end_column);
  /// Smallest span that covers both; they must name the same source.
  TVM_DLL Span Merge(const Span& other) const;
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Span, ffi::ObjectRef, SpanNode);
};

/// Several spans that led to one node, e.g. a call site and the inlined definition.
class SequentialSpanNode : public SpanNode {
 public:
  ffi::Array<Span> spans;

  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("ir.SequentialSpan", SequentialSpanNode, SpanNode);
};

class SequentialSpan : public Span {
 public:
  /// Nested sequential spans are flattened.
  TVM_DLL explicit SequentialSpan(const ffi::Array<Span>& spans);
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(SequentialSpan, Span, SequentialSpanNode);
};

class SourceNode : public ffi::Object {
 public:
  SourceName source_name;
  ffi::String source;

  static void RegisterReflection();
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("ir.Source", SourceNode, ffi::Object);
};

class Source : public ffi::ObjectRef {
 public:
  TVM_DLL Source(SourceName source_name, ffi::String source);
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Source, ffi::ObjectRef, SourceNode);
};

class SourceMapNode : public ffi::Object {
 public:
  ffi::Map<SourceName, Source> source_map;

  static void RegisterReflection();
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("ir.SourceMap", SourceMapNode, ffi::Object);
};

class SourceMap : public ffi::ObjectRef {
 public:
  TVM_DLL explicit SourceMap(ffi::Map<SourceName, Source> source_map);
  /// Adds (or replaces) the text of `source->source_name`.
  TVM_DLL void Add(const Source& source);
  TVM_DEFINE_OBJECT_REF_COW_METHOD(SourceMapNode);
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(SourceMap, ffi::ObjectRef, SourceMapNode);
};

}  // namespace tvm
#endif  // TVM_IR_SOURCE_MAP_H_
