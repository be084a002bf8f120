// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file npy.h
/// Reader of NumPy's .npy files (format 1 to 3) into tensors.
#ifndef OPENTVM_EXAMPLES_CPP_NPY_H_
#define OPENTVM_EXAMPLES_CPP_NPY_H_

#include <tvm/runtime/tensor.h>

#include <string>

/// Raises ValueError for anything but a little-endian, C-ordered array of a plain type.
tvm::runtime::Tensor LoadNpy(const std::string& path);

#endif  // OPENTVM_EXAMPLES_CPP_NPY_H_
