// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "tirx/script/printer/layout.h"

#include <tvm/ffi/reflection/accessor.h>
#include <tvm/ir/expr_functor.h>
#include <tvm/ir/scalar_op.h>

namespace tvm::script::printer {

namespace {

/// A field of a layout object; layouts are looked at through their reflected fields only.
ffi::Any Field(const ffi::ObjectRef& object, const char* name) {
  return ffi::reflection::FieldGetter(object.GetTypeKey(), name)(object);
}

}  // namespace

bool IsRowMajorLayout(const ffi::ObjectRef& layout, const ffi::Array<PrimExpr>& shape) {
  if (layout.GetTypeKey() != "tirx.TileLayout") return false;
  auto shard = Field(layout, "shard").cast<ffi::Array<ffi::ObjectRef>>();
  auto replica = Field(layout, "replica").cast<ffi::Array<ffi::Any>>();
  auto offset = Field(layout, "offset").cast<ffi::Map<ffi::Any, ffi::Any>>();
  if (!replica.empty() || !offset.empty() || shard.size() != shape.size()) return false;
  static const ExprDeepEqual same;
  PrimExpr stride;
  for (size_t i = shape.size(); i-- > 0;) {
    PrimExpr extent = Field(shard[i], "extent").cast<PrimExpr>();
    if (!stride.defined()) stride = make_const(extent.dtype(), 1);
    auto axis = Field(shard[i], "axis").cast<ffi::ObjectRef>();
    if (Field(axis, "name").cast<ffi::String>() != "m" || !same(extent, shape[i])) return false;
    if (!same(Field(shard[i], "stride").cast<PrimExpr>(), stride)) return false;
    stride = stride * extent;
  }
  return true;
}

}  // namespace tvm::script::printer
