// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <tvm/ffi/error.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/script/printer/config.h>
#include <tvm/script/printer/ir_docsifier.h>

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace tvm::script::printer {

using ffi::Any;
using ffi::Map;
using ffi::String;

void PrinterConfigNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<PrinterConfigNode>()
      .def_ro("binding_names", &PrinterConfigNode::binding_names)
      .def_ro("show_meta", &PrinterConfigNode::show_meta)
      .def_ro("ir_prefix", &PrinterConfigNode::ir_prefix)
      .def_ro("module_alias", &PrinterConfigNode::module_alias)
      .def_ro("buffer_dtype", &PrinterConfigNode::buffer_dtype)
      .def_ro("int_dtype", &PrinterConfigNode::int_dtype)
      .def_ro("float_dtype", &PrinterConfigNode::float_dtype)
      .def_ro("verbose_expr", &PrinterConfigNode::verbose_expr)
      .def_ro("indent_spaces", &PrinterConfigNode::indent_spaces)
      .def_ro("print_line_numbers", &PrinterConfigNode::print_line_numbers)
      .def_ro("num_context_lines", &PrinterConfigNode::num_context_lines)
      .def_ro("syntax_sugar", &PrinterConfigNode::syntax_sugar)
      .def_ro("show_object_address", &PrinterConfigNode::show_object_address)
      .def_ro("render_invisible_path_info", &PrinterConfigNode::render_invisible_path_info)
      .def_ro("path_to_underline", &PrinterConfigNode::path_to_underline)
      .def_ro("path_to_annotate", &PrinterConfigNode::path_to_annotate)
      .def_ro("obj_to_underline", &PrinterConfigNode::obj_to_underline)
      .def_ro("obj_to_annotate", &PrinterConfigNode::obj_to_annotate)
      .def_ro("extra_config", &PrinterConfigNode::extra_config);
}

namespace {

using Setter = std::function<void(PrinterConfigNode*, const Any&)>;

template <auto member>
Setter Set() {
  return [](PrinterConfigNode* node, const Any& value) {
    using Field = std::decay_t<decltype(node->*member)>;
    if constexpr (std::is_same_v<Field, DataType>) {
      node->*member = DataType(value.cast<DLDataType>());
    } else {
      // None stands for "nothing" of a container.
      if (value == nullptr) return;
      node->*member = value.cast<Field>();
    }
  };
}

const std::unordered_map<std::string_view, Setter>& Setters() {
  using Node = PrinterConfigNode;
  static const std::unordered_map<std::string_view, Setter> setters = {
      {"binding_names", Set<&Node::binding_names>()},
      {"show_meta", Set<&Node::show_meta>()},
      {"ir_prefix", Set<&Node::ir_prefix>()},
      {"module_alias", Set<&Node::module_alias>()},
      {"buffer_dtype", Set<&Node::buffer_dtype>()},
      {"int_dtype", Set<&Node::int_dtype>()},
      {"float_dtype", Set<&Node::float_dtype>()},
      {"verbose_expr", Set<&Node::verbose_expr>()},
      {"indent_spaces", Set<&Node::indent_spaces>()},
      {"print_line_numbers", Set<&Node::print_line_numbers>()},
      {"num_context_lines", Set<&Node::num_context_lines>()},
      {"syntax_sugar", Set<&Node::syntax_sugar>()},
      {"show_object_address", Set<&Node::show_object_address>()},
      {"render_invisible_path_info", Set<&Node::render_invisible_path_info>()},
      {"path_to_underline", Set<&Node::path_to_underline>()},
      {"path_to_annotate", Set<&Node::path_to_annotate>()},
      {"obj_to_underline", Set<&Node::obj_to_underline>()},
      {"obj_to_annotate", Set<&Node::obj_to_annotate>()},
      {"extra_config", Set<&Node::extra_config>()},
  };
  return setters;
}

void CheckIdentifier(const char* option, const String& value) {
  TVM_FFI_CHECK(IsIdentifier(std::string_view(value)), ValueError)
      << "Invalid `" << option << "`: " << value;
}

}  // namespace

PrinterConfig::PrinterConfig(const Map<String, Any>& options) {
  auto node = ffi::make_object<PrinterConfigNode>();
  for (const auto& [key, value] : options) {
    auto it = Setters().find(std::string_view(key));
    if (it != Setters().end()) {
      it->second(node.get(), value);
    } else if (key == String("name")) {
      node->binding_names = {value.cast<String>()};
    } else {
      TVM_FFI_THROW(TypeError) << "unknown option of the script printer: " << key;
    }
  }
  CheckIdentifier("ir_prefix", node->ir_prefix);
  // Without an alias, functions use the module's own name.
  if (!node->module_alias.empty()) CheckIdentifier("module_alias", node->module_alias);
  for (const char* key : {"tirx.prefix", "relax.prefix"}) {
    CheckIdentifier(key, node->GetExtra<String>(key, "x"));
  }
  TVM_FFI_CHECK(node->indent_spaces > 0 && node->indent_spaces <= 32, ValueError)
      << "Invalid `indent_spaces`: " << node->indent_spaces << ", expected 1 to 32";
  data_ = std::move(node);
}

TVM_FFI_STATIC_INIT_BLOCK() {
  PrinterConfigNode::RegisterReflection();
  ffi::reflection::GlobalDef().def(
      "node.PrinterConfig", [](const Map<String, Any>& options) { return PrinterConfig(options); });
}

}  // namespace tvm::script::printer
