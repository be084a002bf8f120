# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Object graphs as JSON text."""

from __future__ import annotations

from . import _ffi_api


def to_json_graph_str(obj, metadata: dict | None = None) -> str:
    """Write an object and everything it reaches as JSON.

    Args:
        obj: Any FFI value.
        metadata: Stored beside the graph.
    """
    return _ffi_api.ToJSONGraphString(obj, metadata)


def from_json_graph_str(json_str: str):
    """Read what :py:func:`to_json_graph_str` wrote."""
    return _ffi_api.FromJSONGraphString(json_str)
