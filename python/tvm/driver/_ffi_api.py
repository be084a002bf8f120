# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Global functions ``driver.*``."""

from tvm._lazy import FFINamespace

_api = FFINamespace("driver")


def __getattr__(name):
    return getattr(_api, name)
