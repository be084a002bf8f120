# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Text form of IR."""

from __future__ import annotations

import sys

from tvm.runtime import _ffi_node_api
from tvm_ffi import Object, core

_CONFIG_KEY = "node.PrinterConfig"

_DEFAULTS: dict = {
    "binding_names": (),
    "show_meta": False,
    "ir_prefix": "I",
    "module_alias": "cls",
    "buffer_dtype": "float32",
    "int_dtype": "int32",
    "float_dtype": "void",
    "verbose_expr": False,
    "indent_spaces": 4,
    "print_line_numbers": False,
    "num_context_lines": -1,
    "syntax_sugar": True,
    "show_object_address": False,
    "render_invisible_path_info": True,
    "path_to_underline": (),
    "path_to_annotate": None,
    "obj_to_underline": (),
    "obj_to_annotate": None,
    "extra_config": None,
}


class PrinterConfig(Object):
    """Options of the printer.

    Args:
        name: Name given to the printed object.
        options: Any of ``binding_names``, ``show_meta``, ``ir_prefix``, ``module_alias``,
            ``buffer_dtype``, ``int_dtype``, ``float_dtype``, ``verbose_expr``, ``indent_spaces``,
            ``print_line_numbers``, ``num_context_lines``, ``syntax_sugar``,
            ``show_object_address``, ``render_invisible_path_info``, ``path_to_underline``,
            ``path_to_annotate``, ``obj_to_underline``, ``obj_to_annotate``, ``extra_config``, and
            the older ``tir_prefix``, ``relax_prefix``, ``show_all_ty``.

    Raises:
        TypeError: An option is unknown.
    """

    def __init__(self, *, name: str | None = None, **options) -> None:
        config = dict(_DEFAULTS)
        extra = dict(options.pop("extra_config", None) or {})
        for old, new in (
            ("tir_prefix", "tirx.prefix"),
            ("tirx_prefix", "tirx.prefix"),
            ("relax_prefix", "relax.prefix"),
            ("show_all_ty", "relax.show_all_ty"),
            ("show_all_struct_info", "relax.show_all_ty"),
        ):
            if old in options:
                extra[new] = options.pop(old)
        extra.setdefault("script.use_pep695", sys.version_info >= (3, 12))
        unknown = sorted(set(options) - set(config))
        if unknown:
            raise TypeError(f"unknown printer options {unknown}; known are {sorted(config)}")
        config.update(options)
        if name is not None:
            config["binding_names"] = [name]
        if config["num_context_lines"] is None:
            config["num_context_lines"] = -1
        for key in ("path_to_annotate", "obj_to_annotate"):
            config[key] = config[key] or {}
        for key in ("binding_names", "path_to_underline", "obj_to_underline"):
            config[key] = list(config[key] or ())
        config["extra_config"] = extra
        self.__init_handle_by_constructor__(_ffi_node_api.PrinterConfig, config)


_index = core._object_type_key_to_index(_CONFIG_KEY)
if _index is not None:
    core._register_object_by_index(_index, PrinterConfig, False)


def script(obj, **options) -> str:
    """Text of an object; see :py:class:`PrinterConfig` for the options."""
    return _ffi_node_api.TVMScriptPrinterScript(obj, PrinterConfig(**options))
