# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Global functions ``tune.*``."""

from tvm._lazy import FFINamespace

_api = FFINamespace("tune")


def __getattr__(name):
    return getattr(_api, name)
