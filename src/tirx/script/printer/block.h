// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#ifndef TVM_TIRX_SCRIPT_PRINTER_BLOCK_H_
#define TVM_TIRX_SCRIPT_PRINTER_BLOCK_H_

#include <tvm/script/printer/ir_docsifier.h>
#include <tvm/tirx/function.h>
#include <tvm/tirx/sblock.h>

namespace tvm::script::printer {

/// The root block of a function if it says nothing that a reader would not add by itself, so that
/// its body can stand directly in the function; null otherwise.
const tirx::SBlockRealizeNode* ImplicitRoot(const tirx::PrimFuncNode* func);
/// Whether the body is one block without axes, written out or implicit. Only such functions can be
/// written with `s_tir=True`.
bool HasRootBlock(const tirx::PrimFuncNode* func);
/// Emits the content of an implicit root block.
void EmitImplicitRoot(const tirx::SBlockRealizeNode* realize, const AccessPath& path,
                      IRDocsifier& d);

}  // namespace tvm::script::printer
#endif  // TVM_TIRX_SCRIPT_PRINTER_BLOCK_H_
