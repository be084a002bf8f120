// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Change of the type in which a function computes its indices.
#ifndef TVM_SRC_TIRX_TRANSFORM_INDEX_DTYPE_H_
#define TVM_SRC_TIRX_TRANSFORM_INDEX_DTYPE_H_

#include <tvm/tirx/function.h>

namespace tvm {
namespace tirx {

/// Gives loop variables, block variables, buffer shapes and the index arithmetic over them the
/// dtype `dtype` (int32 or int64). Values that are stored keep their type.
PrimFunc ConvertIndexDtype(PrimFunc func, DataType dtype);

}  // namespace tirx
}  // namespace tvm

#endif  // TVM_SRC_TIRX_TRANSFORM_INDEX_DTYPE_H_
