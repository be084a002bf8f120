// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Buffers: their declarations, accesses and regions.
#include <tvm/arith/analyzer.h>
#include <tvm/ir/expr_functor.h>
#include <tvm/ir/scalar_op.h>

#include "tirx/script/printer/layout.h"
#include "tirx/script/printer/utils.h"

namespace tvm::script::printer {

using namespace tirx;  // NOLINT(build/namespaces): the scalar nodes

namespace {

constexpr int kDefaultAlign = 64;

/// The offset a buffer gets when none is written: 0 of the widest type of its shape.
bool IsDefaultOffset(const BufferTypeNode* type) {
  const auto* imm = type->elem_offset.as<IntImmNode>();
  if (imm == nullptr || imm->value != 0) return false;
  DataType dtype = DataType::Int(64);
  for (size_t i = 0; i < type->shape.size(); ++i) {
    DataType dim = type->shape[i].dtype();
    if (i == 0 || dim.bits() > dtype.bits()) dtype = dim;
  }
  return imm->dtype() == dtype;
}

}  // namespace

bool InSTir(IRDocsifier& d) {
  Frame* frame = d.FindFrame<PrimFuncNode>();
  return frame != nullptr && frame->s_tir;
}

bool HasDefaultLayout(const BufferTypeNode* type, IRDocsifier& d) {
  if (!type->layout.has_value()) {
    return InSTir(d) || d.FindFrame<PrimFuncNode>() == nullptr;
  }
  return !InSTir(d) && IsRowMajorLayout(*type->layout, type->shape);
}

bool IsPlainBuffer(const BufferTypeNode* type, IRDocsifier& d) {
  return type->strides.empty() && IsDefaultOffset(type) && type->data_alignment == kDefaultAlign &&
         type->offset_factor == 1 && type->allocated_addr.empty() && HasDefaultLayout(type, d);
}

ExprDoc BufferCall(const ExprDoc& callee, Array<ExprDoc> leading, const BufferTypeNode* type,
                   const AccessPath& path, const BufferStyle& style, IRDocsifier& d, Kwargs extra) {
  auto index = [&](const PrimExpr& value, const AccessPath& p) {
    return style.index != nullptr ? style.index(value, p) : d.AsExpr(value, p);
  };
  auto tuple = [&](const Array<PrimExpr>& values, const AccessPath& p) {
    Array<ExprDoc> docs;
    for (size_t i = 0; i < values.size(); ++i) {
      docs.push_back(index(values[i], p->ArrayItem(static_cast<int64_t>(i))));
    }
    return TupleDoc(docs);
  };
  leading.push_back(tuple(type->shape, path->Attr("shape")));
  if (style.always_dtype || type->dtype != d.cfg->buffer_dtype) {
    leading.push_back(LiteralDoc::DType(type->dtype, path->Attr("dtype")));
  }
  Kwargs kwargs;
  if (style.data.has_value()) kwargs.Add("data", *style.data);
  if (!type->strides.empty()) kwargs.Add("strides", tuple(type->strides, path->Attr("strides")));
  if (!IsDefaultOffset(type)) {
    kwargs.Add("elem_offset", index(type->elem_offset, path->Attr("elem_offset")));
  }
  if (type->storage_scope != "global" && !style.scope_in_name) {
    kwargs.Add("scope", LiteralDoc::Str(type->storage_scope, path->Attr("storage_scope")));
  }
  if (type->data_alignment != kDefaultAlign) {
    kwargs.Add("align", LiteralDoc::Int(type->data_alignment, path->Attr("data_alignment")));
  }
  if (type->offset_factor != 1) {
    kwargs.Add("offset_factor", LiteralDoc::Int(type->offset_factor, path->Attr("offset_factor")));
  }
  if (!HasDefaultLayout(type, d)) {
    AccessPath layout_path = path->Attr("layout");
    kwargs.Add("layout", type->layout.has_value() ? d.AsExpr(*type->layout, layout_path)
                                                  : LiteralDoc::None(layout_path));
  }
  if (!type->allocated_addr.empty()) {
    kwargs.Add("allocated_addr",
               ListDoc(d.AsExprs(type->allocated_addr, path->Attr("allocated_addr"))));
  }
  for (size_t i = 0; i < extra.keys.size(); ++i) {
    kwargs.keys.push_back(extra.keys[i]);
    kwargs.values.push_back(extra.values[i]);
  }
  return callee.Call(leading, kwargs.keys, kwargs.values);
}

IdDoc DefineBuffer(const Buffer& buffer, IRDocsifier& d) {
  return d.Define(buffer, std::string_view(buffer.name()));
}

IdDoc DefineScalar(const Buffer& buffer, IRDocsifier& d) {
  IdDoc name(d.FreshName(std::string_view(buffer.name())));
  ffi::String text = name->name;
  d.DefineAs(buffer, [text] { return IdDoc(text).Attr("buffer"); });
  return name;
}

Optional<ExprDoc> ScalarDoc(const Buffer& buffer, IRDocsifier& d) {
  Optional<ExprDoc> doc = d.VarDoc(buffer);
  if (!doc.has_value()) return std::nullopt;
  const auto* attr = doc.value().as<AttrAccessDocNode>();
  if (attr == nullptr || attr->name != "buffer") return std::nullopt;
  return attr->value;
}

namespace {

/// `start:stop:step` of a vector index, if it reads back as the same Ramp.
Optional<Doc> SliceOf(const RampNode* ramp, const AccessPath& path, IRDocsifier& d) {
  const auto* lanes = ramp->lanes.as<IntImmNode>();
  const auto* stride = ramp->stride.as<IntImmNode>();
  if (lanes == nullptr || stride == nullptr || stride->value <= 0 || d.in_region) {
    return std::nullopt;
  }
  PrimExpr length = make_const(ramp->base.dtype(), lanes->value * stride->value);
  PrimExpr stop = ramp->base + length;
  // A start that folds into the stop is harder to subtract again.
  const auto* sum = stop.as<AddNode>();
  bool exact = ramp->base.as<IntImmNode>() != nullptr ||
               (stride->value == 1 && sum != nullptr && sum->a.same_as(ramp->base));
  if (!exact) return std::nullopt;
  Optional<ExprDoc> step;
  if (stride->value != 1) step = LiteralDoc::Int(stride->value, path->Attr("stride"));
  SliceDoc slice(d.AsExpr(ramp->base, path->Attr("base")), d.AsExpr(stop, path->Attr("lanes")),
                 step);
  slice->source_paths.push_back(path);
  return slice;
}

Doc IndexDocOf(const PrimExpr& index, const AccessPath& path, IRDocsifier& d) {
  if (const auto* ramp = index.as<RampNode>()) {
    if (auto slice = SliceOf(ramp, path, d)) return *slice;
  }
  return d.AsExpr(index, path);
}

Doc PrintBufferLoad(const BufferLoadNode* node, const AccessPath& path, IRDocsifier& d) {
  AccessPath indices_path = path->Attr("indices");
  if (auto scalar = ScalarDoc(node->buffer, d)) {
    if (node->indices.size() == 1 && is_zero(node->indices[0]) && !node->predicate.has_value()) {
      return *scalar;
    }
  }
  ExprDoc buffer = d.AsExpr(node->buffer, path->Attr("buffer"));
  if (node->predicate.has_value()) {
    ExprDoc indices = ListDoc(d.AsExprs(node->indices, indices_path));
    return buffer.Attr("vload").Call({indices}, {"predicate"},
                                     {d.AsExpr(*node->predicate, path->Attr("predicate"))});
  }
  return buffer[IndicesDoc(node->indices, indices_path, d)];
}

Doc PrintBufferStore(const BufferStoreNode* node, const AccessPath& path, IRDocsifier& d) {
  AccessPath indices_path = path->Attr("indices");
  ExprDoc value = d.AsExpr(node->value, path->Attr("value"));
  if (auto scalar = ScalarDoc(node->buffer, d)) {
    if (node->indices.size() == 1 && is_zero(node->indices[0]) && !node->predicate.has_value()) {
      return AssignDoc(*scalar, value);
    }
  }
  ExprDoc buffer = d.AsExpr(node->buffer, path->Attr("buffer"));
  if (node->predicate.has_value()) {
    ExprDoc indices = ListDoc(d.AsExprs(node->indices, indices_path));
    return ExprStmtDoc(buffer.Attr("vstore").Call(
        {indices, value}, {"predicate"}, {d.AsExpr(*node->predicate, path->Attr("predicate"))}));
  }
  return AssignDoc(buffer[IndicesDoc(node->indices, indices_path, d)], value);
}

Doc PrintBufferType(const BufferTypeNode* node, const AccessPath& path, IRDocsifier& d) {
  BufferStyle style;
  style.always_dtype = true;
  return BufferCall(T(d, "Buffer"), {}, node, path, style, d);
}

Doc PrintBufferRegion(const BufferRegionNode* node, const AccessPath& path, IRDocsifier& d) {
  return RegionDoc(ffi::GetRef<BufferRegion>(node), path, d);
}

Doc PrintMatchBufferRegion(const MatchBufferRegionNode* node, const AccessPath& path,
                           IRDocsifier& d) {
  ExprDoc source = RegionDoc(node->source, path->Attr("source"), d);
  AccessPath buffer_path = path->Attr("buffer");
  ExprDoc call = BufferCall(T(d, "match_buffer"), {source}, node->buffer.type(),
                            buffer_path->Attr("ty"), {}, d);
  return AssignDoc(DefineBuffer(node->buffer, d), call);
}

}  // namespace

Array<Doc> IndicesDoc(const Array<PrimExpr>& indices, const AccessPath& path, IRDocsifier& d) {
  Array<Doc> docs;
  for (size_t i = 0; i < indices.size(); ++i) {
    docs.push_back(IndexDocOf(indices[i], path->ArrayItem(static_cast<int64_t>(i)), d));
  }
  return docs;
}

ExprDoc RegionDoc(const BufferRegion& region, const AccessPath& path, IRDocsifier& d) {
  const bool was_region = std::exchange(d.in_region, true);
  ExprDoc buffer = d.AsExpr(region->buffer, path->Attr("buffer"));
  AccessPath region_path = path->Attr("region");
  Array<Doc> docs;
  for (size_t i = 0; i < region->region.size(); ++i) {
    const Range& range = region->region[i];
    AccessPath p = region_path->ArrayItem(static_cast<int64_t>(i));
    ExprDoc start = d.AsExpr(range->min, p->Attr("min"));
    start->source_paths.push_back(p);
    if (is_one(range->extent) && range->extent.dtype() == range->min.dtype()) {
      docs.push_back(start);
    } else {
      docs.push_back(SliceDoc(start, d.AsExpr(range->min + range->extent, p->Attr("extent"))));
    }
  }
  d.in_region = was_region;
  return buffer[docs];
}

TVM_FFI_STATIC_INIT_BLOCK() {
  RegisterPrinterAndRepr<BufferLoadNode, PrintBufferLoad>("");
  RegisterPrinter<BufferStoreNode, PrintBufferStore>("");
  RegisterPrinter<BufferTypeNode, PrintBufferType>("");
  RegisterPrinterAndRepr<BufferRegionNode, PrintBufferRegion>("");
  RegisterPrinter<MatchBufferRegionNode, PrintMatchBufferRegion>("");
}

}  // namespace tvm::script::printer
