# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Global functions ``script.ir_builder.tirx.*``."""

from tvm._lazy import FFINamespace

_api = FFINamespace("script.ir_builder.tirx")


def __getattr__(name):
    return getattr(_api, name)
