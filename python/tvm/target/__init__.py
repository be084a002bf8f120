# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Targets: what to compile for."""

from tvm._lazy import attach as _attach

from .target import Target, TargetKind, create, list_tags, register_tag, tag_list

__getattr__, __dir__ = _attach(
    __name__,
    globals(),
    modules=("detect_target", "virtual_device"),
    names={"VirtualDevice": "virtual_device"},
)
