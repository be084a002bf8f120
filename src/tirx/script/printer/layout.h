// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#ifndef TVM_TIRX_SCRIPT_PRINTER_LAYOUT_H_
#define TVM_TIRX_SCRIPT_PRINTER_LAYOUT_H_

#include <tvm/ir/expr.h>

namespace tvm::script::printer {

/// Whether a layout is the plain row-major order of a shape.
bool IsRowMajorLayout(const ffi::ObjectRef& layout, const ffi::Array<PrimExpr>& shape);

}  // namespace tvm::script::printer
#endif  // TVM_TIRX_SCRIPT_PRINTER_LAYOUT_H_
