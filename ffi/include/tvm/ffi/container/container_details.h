// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

/// Old spelling of container_detail.h.
#ifndef TVM_FFI_CONTAINER_CONTAINER_DETAILS_H_
#define TVM_FFI_CONTAINER_CONTAINER_DETAILS_H_

#include <tvm/ffi/container/container_detail.h>

#endif  // TVM_FFI_CONTAINER_CONTAINER_DETAILS_H_
