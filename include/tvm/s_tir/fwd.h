// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#ifndef TVM_S_TIR_FWD_H_
#define TVM_S_TIR_FWD_H_

#include <tvm/tirx/fwd.h>

#endif  // TVM_S_TIR_FWD_H_
