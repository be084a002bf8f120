// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Compact text of scalar expressions, in the operators of the script. Used in messages while no
/// script printer is installed.
#ifndef TVM_SRC_IR_EXPR_TEXT_H_
#define TVM_SRC_IR_EXPR_TEXT_H_

#include <tvm/ir/expr.h>

#include <string>

namespace tvm {

std::string ExprText(const Expr& expr);
std::string TypeText(const Type& type);

}  // namespace tvm
#endif  // TVM_SRC_IR_EXPR_TEXT_H_
