// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Docs to text.
#ifndef TVM_SCRIPT_PRINTER_DOC_PRINTER_H_
#define TVM_SCRIPT_PRINTER_DOC_PRINTER_H_

#include <tvm/script/printer/config.h>
#include <tvm/script/printer/doc.h>

#include <string>

namespace tvm::script::printer {

/// Python text of a doc, without a line break at the end. Parentheses are printed only where
/// Python's precedence asks for them. Docs at an underlined path get a line of `^` below. `head` is
/// printed as it is before the doc.
TVM_DLL std::string DocToPythonScript(const Doc& doc, const PrinterConfig& config,
                                      std::string head = "");

/// A Python string literal, quoted and escaped.
TVM_DLL std::string PythonString(const ffi::String& value);
/// A float literal that reads back as the same number; inf and nan are quoted strings.
TVM_DLL std::string PythonFloat(double value);

}  // namespace tvm::script::printer
#endif  // TVM_SCRIPT_PRINTER_DOC_PRINTER_H_
