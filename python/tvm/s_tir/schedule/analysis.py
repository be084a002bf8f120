# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Questions about schedules."""

from __future__ import annotations

from tvm.tirx import Buffer, IndexMap, PrimFunc
from tvm_ffi import Object, register_object

from . import _ffi_api
from .schedule import SBlockRV, Schedule


def suggest_index_map(buffer: Buffer, indices, loops, predicate) -> IndexMap | None:
    """A layout in which the loops walk through a buffer in order.

    Args:
        buffer: The buffer.
        indices: Where it is accessed.
        loops: The loops around, outermost first.
        predicate: The predicate of the access.

    Returns:
        The map from old to new indices; None if there is no such layout.
    """
    return _ffi_api.SuggestIndexMap(buffer, list(indices), list(loops), predicate)


@register_object("s_tir.TensorizeInfo")
class TensorizeInfo(Object):
    """Which loops of a block pair with those of an intrinsic.

    Attributes:
        loop_map: StmtSRef of a loop -> loop of the description.
        desc_loop_indexer: Loop of the description -> its position.
        block_iter_paddings: Padding that makes the domains divide, or None.
    """


@register_object("s_tir.AutoTensorizeMappingInfo")
class AutoTensorizeMappingInfo(Object):
    """How the variables of a block can be fused and split to fit an intrinsic.

    Attributes:
        mappings: Index maps of the block's variables.
        lhs_buffer_map, rhs_buffer_indices, lhs_iters, rhs_iters: The access patterns compared.
    """


def get_tensorize_loop_mapping(
    sch: Schedule, block: SBlockRV, desc_func: PrimFunc, allow_padding: bool = False
) -> TensorizeInfo | None:
    """Pair the loops of a block with those of an intrinsic; None if they do not fit.

    Args:
        sch: The schedule.
        block: The block.
        desc_func: Description of the intrinsic.
        allow_padding: Whether the extents may have to be padded.
    """
    return _ffi_api.GetTensorizeLoopMapping(sch, block, desc_func, allow_padding)


def get_auto_tensorize_mapping_info(
    sch: Schedule, block: SBlockRV, desc_func: PrimFunc
) -> AutoTensorizeMappingInfo | None:
    """Find index maps that make a block fit an intrinsic; None if there are none."""
    return _ffi_api.GetAutoTensorizeMappingInfo(sch, block, desc_func)


def has_block(sch: Schedule, block_name: str) -> bool:
    """Whether the schedule's function has a block of that name."""
    return bool(_ffi_api.HasBlock(sch, block_name))


def is_output_block(sch: Schedule, block: SBlockRV) -> bool:
    """Whether a block writes a buffer that its scope does not allocate."""
    return bool(_ffi_api.IsOutputBlock(sch, block))
