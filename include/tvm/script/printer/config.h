// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Options of the script printer.
#ifndef TVM_SCRIPT_PRINTER_CONFIG_H_
#define TVM_SCRIPT_PRINTER_CONFIG_H_

#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/object.h>
#include <tvm/ffi/reflection/access_path.h>
#include <tvm/ffi/string.h>
#include <tvm/runtime/base.h>
#include <tvm/runtime/data_type.h>

namespace tvm::script::printer {

using ffi::reflection::AccessPath;

class PrinterConfigNode : public ffi::Object {
 public:
  /// Names for the printed objects, first to last; the first names a printed function or module.
  ffi::Array<ffi::String> binding_names;
  /// Print the metadata section, without which objects kept there cannot be read back.
  bool show_meta = false;
  /// Name of the module `tvm.script.ir` in the text.
  ffi::String ir_prefix = "I";
  /// Name through which a function refers to its module.
  ffi::String module_alias = "cls";
  /// Element type of buffers that need not be printed.
  DataType buffer_dtype = DataType::Float(32);
  /// Types of bare integer and float literals; void = none is bare.
  DataType int_dtype = DataType::Int(32);
  DataType float_dtype = DataType::Void();
  /// Print implied constructs (types of call results, ...).
  bool verbose_expr = false;
  int indent_spaces = 4;
  bool print_line_numbers = false;
  /// Lines kept around underlined text; negative keeps all.
  int num_context_lines = -1;
  /// Use short forms (T.grid, A: T.Buffer(...), x: T.float32, ...).
  bool syntax_sugar = true;
  /// Append the address of an object to the names of variables.
  bool show_object_address = false;
  /// Say so when an underlined path is not visible in the text.
  bool render_invisible_path_info = true;
  ffi::Array<AccessPath> path_to_underline;
  ffi::Map<AccessPath, ffi::String> path_to_annotate;
  ffi::Array<ffi::ObjectRef> obj_to_underline;
  ffi::Map<ffi::ObjectRef, ffi::String> obj_to_annotate;
  /// Options of the dialects: "tirx.prefix", "relax.prefix", "relax.show_all_ty", ...
  ffi::Map<ffi::String, ffi::Any> extra_config;

  /// Value of a dialect's option.
  template <typename T>
  T GetExtra(const ffi::String& key, T default_value) const {
    auto it = extra_config.find(key);
    return it == extra_config.end() ? default_value : (*it).second.template cast<T>();
  }
  /// Whether anything asks where in the object a text comes from.
  bool TracksPaths() const {
    return !path_to_underline.empty() || !path_to_annotate.empty() || !obj_to_underline.empty() ||
           !obj_to_annotate.empty();
  }

  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("node.PrinterConfig", PrinterConfigNode, ffi::Object);
};

class PrinterConfig : public ffi::ObjectRef {
 public:
  /// Unknown keys are a TypeError, prefixes that are no identifiers a ValueError.
  TVM_DLL explicit PrinterConfig(const ffi::Map<ffi::String, ffi::Any>& options);
  static PrinterConfig Default() { return PrinterConfig(ffi::Map<ffi::String, ffi::Any>()); }
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(PrinterConfig, ffi::ObjectRef, PrinterConfigNode);
};

/// TVMScript of any value; objects that no dialect knows print as their repr.
/// RuntimeError when the value is nested too deeply.
TVM_DLL ffi::String Script(const ffi::Any& value,
                           const PrinterConfig& config = PrinterConfig::Default());

}  // namespace tvm::script::printer
#endif  // TVM_SCRIPT_PRINTER_CONFIG_H_
