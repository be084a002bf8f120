# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""What the importers share."""

from __future__ import annotations


def detach_params(mod):
    """Take the weights that an importer attached to functions off the module.

    Args:
        mod: Module whose functions may have the attribute ``params`` (a list of tensors).

    Returns:
        The module without them, and ``{function name: [Tensor]}``.
    """
    params = {}
    for gvar, func in list(mod.functions_items()):
        if func.attrs is not None and "params" in func.attrs:
            params[gvar.name_hint] = list(func.attrs["params"])
            mod[gvar] = func.without_attr("params")
    return mod, params
