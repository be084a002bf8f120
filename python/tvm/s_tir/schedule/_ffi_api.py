# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Global functions ``s_tir.schedule.*``."""

from tvm._lazy import FFINamespace

_api = FFINamespace("s_tir.schedule")


def __getattr__(name):
    return getattr(_api, name)
