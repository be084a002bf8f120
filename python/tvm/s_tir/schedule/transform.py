# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Transformations made of several primitives."""

from __future__ import annotations

from . import _ffi_api
from .schedule import LoopRV, SBlockRV, Schedule


def tile_with_tensor_intrin(
    sch: Schedule, block: SBlockRV, intrin_name: str, allow_padding: bool = False
) -> LoopRV | None:
    """Split and reorder the loops of a block so that the inner ones fit an intrinsic.

    Args:
        sch: The schedule.
        block: The block.
        intrin_name: Name of the intrinsic.
        allow_padding: Whether the extents may have to be padded.

    Returns:
        The outermost loop of those to tensorize; None if the block does not fit.
    """
    return _ffi_api.TileWithTensorIntrin(sch, block, intrin_name, allow_padding)
