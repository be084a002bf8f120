# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Global functions ``script.printer.*``."""

from tvm._lazy import FFINamespace

_api = FFINamespace("script.printer")


def __getattr__(name):
    return getattr(_api, name)
