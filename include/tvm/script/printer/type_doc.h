// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Forms that types and literals take in different places of a script.
#ifndef TVM_SCRIPT_PRINTER_TYPE_DOC_H_
#define TVM_SCRIPT_PRINTER_TYPE_DOC_H_

#include <tvm/ir/type.h>
#include <tvm/script/printer/ir_docsifier.h>

namespace tvm::script::printer {

/// `T.float32`; `T.void`, `T.handle`.
TVM_DLL ExprDoc DTypeDoc(DataType dtype, IRDocsifier& d);
/// A type as an argument of a call: `"float32"`, `"handle"`, `"void"`, else
/// `T.handle("float32", "global").ty` for pointers and the annotation form for other types.
TVM_DLL ExprDoc TypeArgDoc(const Type& type, const AccessPath& path, IRDocsifier& d);
/// The value a free variable of that type is declared with: `T.int32()`, `T.handle("float32",
/// "global")`. Null for types that have none.
TVM_DLL ExprDoc TypeDeclDoc(const Type& type, const AccessPath& path, IRDocsifier& d);
/// An integer of the given type: `3` if the type is the default one, else `T.int64(3)`.
TVM_DLL ExprDoc IntDoc(int64_t value, DataType dtype, IRDocsifier& d);

}  // namespace tvm::script::printer
#endif  // TVM_SCRIPT_PRINTER_TYPE_DOC_H_
