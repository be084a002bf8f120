# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Global functions ``ffi.*`` as attributes, looked up on first use."""

from . import core


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    function = core.get_global_func(f"ffi.{name}", True)
    if function is None:
        raise AttributeError(f"there is no global function ffi.{name}")
    globals()[name] = function
    return function
