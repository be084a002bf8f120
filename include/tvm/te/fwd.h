// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#ifndef TVM_TE_FWD_H_
#define TVM_TE_FWD_H_

namespace tvm {
namespace te {

class OperationNode;
class Operation;
class TensorNode;
class Tensor;

}  // namespace te
}  // namespace tvm

#endif  // TVM_TE_FWD_H_
