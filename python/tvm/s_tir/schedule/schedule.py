# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""The schedule of a module.

The file is long because a schedule has one method for each of its primitives.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable

from tvm.ir import FloatImm, GlobalVar, IntImm, IRModule, PrimExpr
from tvm.s_tir.sblock_scope import StmtSRef
from tvm.tirx import Buffer, For, IndexMap, PrimFunc, SBlock
from tvm.tirx import const as _const
from tvm_ffi import Object, register_error, register_object

from . import _ffi_api
from ._type_check import type_checked
from .state import ScheduleState, parse_debug_mask, parse_mod
from .trace import Trace


@register_error
class ScheduleError(RuntimeError):
    """A primitive cannot be applied: what it demands does not hold. The program is unchanged."""


@register_object("s_tir.LoopRV")
class LoopRV(Object):
    """A name for a loop of a schedule's program."""

    def __init__(self) -> None:
        self.__init_handle_by_constructor__(_ffi_api.LoopRV)


@register_object("s_tir.SBlockRV")
class SBlockRV(Object):
    """A name for a block of a schedule's program."""

    def __init__(self) -> None:
        self.__init_handle_by_constructor__(_ffi_api.SBlockRV)


# An integer: a literal, a variable that sampling made, or an expression of those.
ExprRV = PrimExpr

BlockOrName = SBlockRV | str
BlockOrLoop = SBlockRV | LoopRV
Factor = int | PrimExpr | None
Scalar = str | int | float | PrimExpr
AnnotationValue = Scalar | list[Scalar] | dict[str, Scalar | list[Scalar]]
BufferIndex = int | str | Buffer
BufferOfBlock = tuple[str, int] | str | Buffer
IndexMapLike = IndexMap | Callable

_RENDER_LEVELS = {"detail": 0, "fast": 1, "none": 2}
_ACCESS_KINDS = {"read": 0, "write": 1}


@register_object("s_tir.Schedule")
class Schedule(Object):
    """Changes how a module runs, never what it computes.

    Every primitive that cannot be applied raises ScheduleError, and leaves the program as it was.
    Blocks may be given by name.

    Args:
        mod: A module, or one function.
        seed: Seed of sampling, 1 .. 2**31 - 1; None takes a random one.
        debug_mask: What to verify after each rewrite: "all", "none" or bits of ScheduleDebugMask.
        error_render_level: "detail" (with the program), "fast" (one line) or "none".
        enable_check: Whether primitives check what may be skipped.

    Raises:
        ValueError: The seed is out of range, or an option is unknown.
    """

    def __init__(
        self,
        mod: PrimFunc | IRModule,
        *,
        seed: int | None = None,
        debug_mask: str | int = "none",
        error_render_level: str = "detail",
        enable_check: bool = True,
    ) -> None:
        if error_render_level not in _RENDER_LEVELS:
            raise ValueError(
                f"error_render_level has to be one of {list(_RENDER_LEVELS)}, "
                f"but is {error_render_level!r}"
            )
        self.__init_handle_by_constructor__(
            _ffi_api.TracedSchedule,
            parse_mod(mod),
            _checked_seed(seed),
            parse_debug_mask(debug_mask),
            _RENDER_LEVELS[error_render_level],
            enable_check,
        )

    # ---- the program ----

    @property
    def mod(self) -> IRModule:
        """The module now."""
        return _ffi_api.ScheduleGetMod(self)

    @property
    def state(self) -> ScheduleState:
        """The program with the tree of its loops and blocks."""
        return _ffi_api.ScheduleGetState(self)

    @property
    def trace(self) -> Trace | None:
        """The steps so far."""
        return _ffi_api.ScheduleGetTrace(self)

    @property
    def func_working_on(self) -> GlobalVar | None:
        """The function in which blocks are looked up; None if that is not decided."""
        return _ffi_api.ScheduleGetFuncWorkingOn(self)

    def work_on(self, func_name: str) -> None:
        """Look blocks up in a function from now on.

        Raises:
            ValueError: There is no such function.
        """
        _ffi_api.ScheduleWorkOn(self, func_name)

    def copy(self) -> Schedule:
        """An independent schedule in the same state; random variables work in both."""
        return _ffi_api.ScheduleCopy(self)

    @type_checked
    def seed(self, seed: int) -> None:
        """Seed the sampling.

        Raises:
            ValueError: It is not in 1 .. 2**31 - 1.
        """
        _ffi_api.ScheduleSeed(self, _checked_seed(seed))

    def fork_seed(self) -> int:
        """A seed for another schedule."""
        return int(_ffi_api.ScheduleForkSeed(self))

    def show(self, *args, **kwargs) -> None:
        """Print the module and the trace."""
        self.mod.show(*args, **kwargs)
        if self.trace is not None:
            self.trace.show()

    # ---- random variables ----

    @type_checked
    def get(
        self, rand_var_or_sref: PrimExpr | SBlockRV | LoopRV | StmtSRef
    ) -> int | SBlock | For | None:
        """What a random variable stands for: a block, a loop or an integer.

        Raises:
            IndexError: The variable is unknown to this schedule.
            ValueError: The block or loop is not part of the program any more.
        """
        if isinstance(rand_var_or_sref, StmtSRef):
            return rand_var_or_sref.stmt
        return _ffi_api.ScheduleGet(self, rand_var_or_sref)

    @type_checked
    def get_sref(self, rand_var_or_stmt: SBlockRV | LoopRV | SBlock | For) -> StmtSRef | None:
        """The reference of a block or loop; None for a statement that is not in the program."""
        return _ffi_api.ScheduleGetSRef(self, rand_var_or_stmt)

    @type_checked
    def remove_rv(self, rand_var: PrimExpr | SBlockRV | LoopRV) -> None:
        """Forget a random variable.

        Raises:
            IndexError: It is unknown to this schedule.
        """
        _ffi_api.ScheduleRemoveRV(self, rand_var)

    # ---- sampling ----

    @type_checked
    def sample_categorical(
        self, candidates: list[int], probs: list[float], decision: int | None = None
    ) -> PrimExpr:
        """Sample an integer.

        Args:
            candidates: Values.
            probs: Probability of each.
            decision: Index of the value to take.
        """
        return _ffi_api.ScheduleSampleCategorical(
            self, [int(value) for value in candidates], [float(p) for p in probs], decision
        )

    @type_checked
    def sample_perfect_tile(
        self,
        loop: LoopRV,
        n: int,
        max_innermost_factor: int = 16,
        decision: list[int] | None = None,
    ) -> list[PrimExpr]:
        """Sample factors of a loop whose product is its extent.

        Args:
            loop: The loop.
            n: Number of factors.
            max_innermost_factor: Limit of the last one.
            decision: The factors to take.

        Returns:
            n variables; for a symbolic extent the first is -1 (infer it), the others 1.
        """
        return list(
            _ffi_api.ScheduleSamplePerfectTile(self, loop, n, max_innermost_factor, decision)
        )

    @type_checked
    def sample_partitioned_tile(
        self,
        loop: LoopRV,
        n: int,
        partition_pos: int = 0,
        innerpart_factor: int = 1,
        decision: list[int] | None = None,
    ) -> list[PrimExpr]:
        """Sample factors like sample_perfect_tile, the inner ones of a product that divides.

        Args:
            loop: The loop.
            n: Number of factors.
            partition_pos: Where the inner factors begin.
            innerpart_factor: Their product is a multiple of it.
            decision: The factors to take.
        """
        return list(
            _ffi_api.ScheduleSamplePartitionedTile(
                self, loop, n, partition_pos, innerpart_factor, decision
            )
        )

    @type_checked
    def sample_compute_location(self, block: BlockOrName, decision: int | None = None) -> LoopRV:
        """Sample a loop at which a block can be computed.

        Args:
            block: The block.
            decision: Index of the loop; -1 means inline, -2 the root.
        """
        return _ffi_api.ScheduleSampleComputeLocation(self, self._block(block), decision)

    # ---- blocks and loops ----

    @type_checked
    def get_sblock(self, name: str, func_name: str | None = None) -> SBlockRV:
        """Look up a block by name.

        Args:
            name: Name of the block.
            func_name: Name of the function; by default the one worked on.

        Raises:
            ScheduleError: There is no such block, or several.
            ValueError: It is not clear in which function to look.
        """
        return _ffi_api.ScheduleGetSBlock(self, name, func_name)

    @type_checked
    def get_loops(self, block: BlockOrName) -> list[LoopRV]:
        """Loops above a block up to the enclosing block, outermost first."""
        return list(_ffi_api.ScheduleGetLoops(self, self._block(block)))

    @type_checked
    def get_child_blocks(self, block_or_loop: BlockOrLoop) -> list[SBlockRV]:
        """Blocks directly inside of a block or loop."""
        return list(_ffi_api.ScheduleGetChildBlocks(self, block_or_loop))

    @type_checked
    def get_producers(self, block: BlockOrName) -> list[SBlockRV]:
        """Blocks of the same scope that write what a block reads."""
        return list(_ffi_api.ScheduleGetProducers(self, self._block(block)))

    @type_checked
    def get_consumers(self, block: BlockOrName) -> list[SBlockRV]:
        """Blocks of the same scope that read what a block writes."""
        return list(_ffi_api.ScheduleGetConsumers(self, self._block(block)))

    @type_checked
    def get_output_blocks(self, scope_block: BlockOrName) -> list[SBlockRV]:
        """Blocks inside of a block that write a buffer it does not allocate."""
        return list(_ffi_api.ScheduleGetOutputBlocks(self, self._block(scope_block)))

    # ---- loops ----

    @type_checked
    def merge(self, *loops: LoopRV) -> LoopRV:
        """Run the bodies of equal loops in one loop."""
        return _ffi_api.ScheduleMerge(self, list(loops))

    @type_checked
    def fuse(self, *loops: LoopRV, preserve_unit_iters: bool = True) -> LoopRV:
        """Make a chain of loops one loop.

        Args:
            loops: Outermost first, each the only statement of the one before.
            preserve_unit_iters: Whether loops of one iteration stay in the bindings.
        """
        return _ffi_api.ScheduleFuse(self, list(loops), preserve_unit_iters)

    @type_checked
    def split(
        self,
        loop: LoopRV,
        factors: list[Factor],
        preserve_unit_iters: bool = True,
        disable_predication: bool = False,
    ) -> list[LoopRV]:
        """Split a loop into a nest.

        Args:
            loop: The loop.
            factors: Extents, outermost first; one may be None, which is inferred.
            preserve_unit_iters: Whether loops of one iteration stay in the bindings.
            disable_predication: Do not guard iterations past the end. The caller answers for them.
        """
        return list(
            _ffi_api.ScheduleSplit(
                self, loop, list(factors), preserve_unit_iters, disable_predication
            )
        )

    @type_checked
    def loop_partition(
        self, loop: LoopRV, factors: list[Factor], preserve_unit_iters: bool = True
    ) -> list[LoopRV]:
        """Cut the range of a loop into parts, each a loop of its own.

        Args:
            loop: The loop.
            factors: Lengths of the parts; one may be None, which is inferred.
            preserve_unit_iters: Whether loops of one iteration stay in the bindings.
        """
        return list(_ffi_api.ScheduleLoopPartition(self, loop, list(factors), preserve_unit_iters))

    @type_checked
    def reorder(self, *ordered_loops: LoopRV) -> None:
        """Put loops of one chain in the given order."""
        _ffi_api.ScheduleReorder(self, list(ordered_loops))

    @type_checked
    def reorder_block_iter_var(self, block: BlockOrName, new_order: list[int]) -> None:
        """Permute the iteration variables of a block."""
        _ffi_api.ScheduleReorderBlockIterVar(self, self._block(block), list(new_order))

    @type_checked
    def add_unit_loop(self, block_or_loop: BlockOrLoop) -> LoopRV:
        """Put a loop of one iteration around a block or loop."""
        return _ffi_api.ScheduleAddUnitLoop(self, block_or_loop)

    @type_checked
    def parallel(self, loop: LoopRV) -> None:
        """Run the iterations of a loop on several threads."""
        _ffi_api.ScheduleParallel(self, loop)

    @type_checked
    def vectorize(self, loop: LoopRV) -> None:
        """Run the iterations of a loop as lanes of vectors."""
        _ffi_api.ScheduleVectorize(self, loop)

    @type_checked
    def bind(self, loop: LoopRV, thread_axis: str) -> None:
        """Run the iterations of a loop on the threads of an axis, such as "blockIdx.x"."""
        _ffi_api.ScheduleBind(self, loop, thread_axis)

    @type_checked
    def unroll(self, loop: LoopRV) -> None:
        """Write the iterations of a loop out."""
        _ffi_api.ScheduleUnroll(self, loop)

    # ---- copies of buffers ----

    @type_checked
    def cache_read(
        self,
        block: BlockOrName,
        read_buffer_index: BufferIndex,
        storage_scope: str,
        consumer_blocks: list[BlockOrName] | None = None,
    ) -> SBlockRV:
        """Let blocks read a copy of a buffer.

        Args:
            block: A block that reads the buffer.
            read_buffer_index: The buffer: its position among the reads, its name, or itself.
            storage_scope: Where the copy lives.
            consumer_blocks: Blocks that read the copy; by default all that read the buffer.

        Returns:
            The block that copies.
        """
        block = self._block(block)
        index = self._buffer_index(block, read_buffer_index, "read")
        consumers = [self._block(consumer) for consumer in consumer_blocks or []]
        return _ffi_api.ScheduleCacheRead(self, block, index, storage_scope, consumers)

    @type_checked
    def cache_write(
        self,
        block: BlockOrName,
        write_buffer_index: BufferIndex,
        storage_scope: str,
        consumer_blocks: list[BlockOrName] | None = None,
    ) -> SBlockRV:
        """Let a block write a copy of a buffer, which is then copied out.

        Args:
            block: The block that writes the buffer.
            write_buffer_index: The buffer: its position among the writes, its name, or itself.
            storage_scope: Where the copy lives.
            consumer_blocks: Blocks that read the copy, too.

        Returns:
            The block that copies.
        """
        block = self._block(block)
        index = self._buffer_index(block, write_buffer_index, "write")
        consumers = [self._block(consumer) for consumer in consumer_blocks or []]
        return _ffi_api.ScheduleCacheWrite(self, block, index, storage_scope, consumers)

    @type_checked
    def reindex_cache_read(
        self,
        block: BlockOrName,
        read_buffer_index: int,
        storage_scope: str,
        index_map: IndexMapLike,
    ) -> SBlockRV:
        """Let a block read a copy whose layout is a map of the block's variables."""
        block = self._block(block)
        index_map = _index_map(index_map, len(self.get(block).iter_vars))
        return _ffi_api.ScheduleReindexCacheRead(
            self, block, read_buffer_index, storage_scope, index_map
        )

    @type_checked
    def reindex_cache_write(
        self,
        block: BlockOrName,
        write_buffer_index: int,
        storage_scope: str,
        index_map: IndexMapLike,
    ) -> SBlockRV:
        """Let a block write a copy whose layout is a map of the block's variables."""
        block = self._block(block)
        index_map = _index_map(index_map, len(self.get(block).iter_vars))
        return _ffi_api.ScheduleReindexCacheWrite(
            self, block, write_buffer_index, storage_scope, index_map
        )

    @type_checked
    def cache_inplace(
        self, block: BlockOrName, read_buffer_index: BufferIndex, storage_scope: str
    ) -> list[SBlockRV]:
        """Let a block read and write a copy of a buffer that it both reads and writes.

        Returns:
            The blocks that copy in and out.
        """
        block = self._block(block)
        index = self._buffer_index(block, read_buffer_index, "read")
        return list(_ffi_api.ScheduleCacheInplace(self, block, index, storage_scope))

    @type_checked
    def cache_index(
        self, block: BlockOrName, storage_scope: str, cse_thresh: int = 0
    ) -> list[SBlockRV]:
        """Compute the indices of a block's accesses beforehand.

        Args:
            block: The block.
            storage_scope: Where the indices live.
            cse_thresh: Also cache parts of indices that occur more often than that; 0 does not.

        Returns:
            The blocks that compute indices.
        """
        return list(
            _ffi_api.ScheduleCacheIndex(self, self._block(block), storage_scope, cse_thresh)
        )

    @type_checked
    def reindex(self, block: BlockOrName, buffer: BufferOfBlock) -> SBlockRV:
        """Let a block access a copy of a buffer whose axes are the block's variables."""
        block = self._block(block)
        index, kind = self._buffer_of_block(block, buffer)
        return _ffi_api.ScheduleReIndex(self, block, index, kind)

    @type_checked
    def read_at(
        self, loop: LoopRV, block: BlockOrName, read_buffer_index: int, storage_scope: str
    ) -> SBlockRV:
        """Copy what an iteration of a loop reads of a buffer at its start."""
        return _ffi_api.ScheduleReadAt(
            self, loop, self._block(block), read_buffer_index, storage_scope
        )

    @type_checked
    def write_at(
        self, loop: LoopRV, block: BlockOrName, write_buffer_index: int, storage_scope: str
    ) -> SBlockRV:
        """Copy what an iteration of a loop writes of a buffer at its end."""
        return _ffi_api.ScheduleWriteAt(
            self, loop, self._block(block), write_buffer_index, storage_scope
        )

    # ---- where blocks are computed ----

    @type_checked
    def compute_at(
        self,
        block: BlockOrName,
        loop: LoopRV,
        preserve_unit_loops: bool = False,
        index: int = -1,
    ) -> None:
        """Move a block into a loop of its consumers.

        Args:
            block: The block.
            loop: The loop.
            preserve_unit_loops: Whether to make loops of one iteration.
            index: Position in the loop's body; -1 is the last possible, -2 the first.
        """
        _ffi_api.ScheduleComputeAt(self, self._block(block), loop, preserve_unit_loops, index)

    @type_checked
    def reverse_compute_at(
        self,
        block: BlockOrName,
        loop: LoopRV,
        preserve_unit_loops: bool = False,
        index: int = -1,
    ) -> None:
        """Move a block into a loop of its producers; arguments as of compute_at."""
        _ffi_api.ScheduleReverseComputeAt(
            self, self._block(block), loop, preserve_unit_loops, index
        )

    @type_checked
    def compute_inline(self, block: BlockOrName) -> None:
        """Put what a block computes into its consumers."""
        _ffi_api.ScheduleComputeInline(self, self._block(block))

    @type_checked
    def reverse_compute_inline(self, block: BlockOrName) -> None:
        """Put what a block computes into its only producer."""
        _ffi_api.ScheduleReverseComputeInline(self, self._block(block))

    @type_checked
    def fuse_reduction_epilogue(
        self, reduction_block: BlockOrName, epilogue_block: BlockOrName
    ) -> None:
        """Put an element-wise block into the reduction before it.

        A bias goes into the init. A maximum or clip is applied in every step of the reduction,
        which gives other results than applying it at the end.
        """
        _ffi_api.ScheduleFuseReductionEpilogue(
            self, self._block(reduction_block), self._block(epilogue_block)
        )

    # ---- reductions ----

    @type_checked
    def decompose_reduction(self, block: BlockOrName, loop: LoopRV) -> SBlockRV:
        """Make the init of a reduction a block of its own, before a loop; returns that block."""
        return _ffi_api.ScheduleDecomposeReduction(self, self._block(block), loop)

    @type_checked
    def rfactor(self, loop: LoopRV, factor_axis: int) -> SBlockRV:
        """Keep one partial result for each iteration of a reduction loop.

        Args:
            loop: The loop.
            factor_axis: Position of the new axis in the buffer of partial results.

        Returns:
            The block that computes partial results.
        """
        return _ffi_api.ScheduleRFactor(self, loop, factor_axis)

    # ---- buffers ----

    @type_checked
    def storage_align(
        self, block: BlockOrName, buffer_index: int, axis: int, factor: int, offset: int
    ) -> None:
        """Make the stride of an axis of a written buffer factor * k + offset."""
        _ffi_api.ScheduleStorageAlign(self, self._block(block), buffer_index, axis, factor, offset)

    @type_checked
    def set_scope(self, block: BlockOrName, buffer_index: BufferIndex, storage_scope: str) -> None:
        """Change the storage scope of a buffer that a block writes."""
        block = self._block(block)
        index = self._buffer_index(block, buffer_index, "write")
        _ffi_api.ScheduleSetScope(self, block, index, storage_scope)

    @type_checked
    def unsafe_set_dtype(self, block: BlockOrName, buffer_index: int, dtype: str) -> None:
        """Change the element type of a buffer that a block writes; results may lose precision."""
        _ffi_api.ScheduleUnsafeSetDType(self, self._block(block), buffer_index, dtype)

    @type_checked
    def transform_layout(
        self,
        block: BlockOrName,
        buffer: BufferOfBlock,
        index_map: IndexMapLike,
        pad_value: int | float | PrimExpr | IndexMap | Callable | None = None,
        *,
        assume_injective_transform: bool = False,
    ) -> None:
        """Change the layout of a buffer everywhere.

        Args:
            block: A block that accesses the buffer.
            buffer: The buffer: ("read" or "write", position), its name, or itself.
            index_map: Old indices -> new ones.
            pad_value: Value of elements that have no old index, or a function of the new indices.
                A parameter is taken to be padded so by the caller.
            assume_injective_transform: Do not check that elements stay apart.
        """
        block = self._block(block)
        index, kind = self._buffer_of_block(block, buffer)
        region = (self.get(block).writes if kind else self.get(block).reads)[index]
        index_map = _index_map(index_map, len(region.buffer.shape))
        pad = _pad_value(pad_value, index_map, region.buffer.dtype)
        _ffi_api.ScheduleTransformLayout(
            self, block, index, kind, index_map, pad, assume_injective_transform
        )

    @type_checked
    def transform_block_layout(self, block: BlockOrName, index_map: IndexMapLike) -> None:
        """Replace the iteration variables of a block, and its loops, by a map of them."""
        block = self._block(block)
        index_map = _index_map(index_map, len(self.get(block).iter_vars))
        _ffi_api.ScheduleTransformBlockLayout(self, block, index_map)

    # ---- tensor instructions ----

    @type_checked
    def blockize(
        self, target: LoopRV | list[SBlockRV], preserve_unit_iters: bool = True
    ) -> SBlockRV:
        """Make a loop, or blocks that follow each other, one block."""
        if not isinstance(target, LoopRV):
            target = list(target)
        return _ffi_api.ScheduleBlockize(self, target, preserve_unit_iters)

    @type_checked
    def tensorize(
        self,
        block_or_loop: SBlockRV | LoopRV | str,
        tensor_intrin: str,
        preserve_unit_iters: bool = True,
    ) -> None:
        """Replace a block, or a loop made one, by an intrinsic that computes the same."""
        if isinstance(block_or_loop, str):
            block_or_loop = self.get_sblock(block_or_loop)
        _ffi_api.ScheduleTensorize(self, block_or_loop, tensor_intrin, preserve_unit_iters)

    # ---- annotations ----

    @type_checked
    def annotate(self, block_or_loop: BlockOrLoop, ann_key: str, ann_val: AnnotationValue) -> None:
        """Mark a block or loop."""
        _ffi_api.ScheduleAnnotate(self, block_or_loop, ann_key, _plain(ann_val))

    @type_checked
    def unannotate(self, block_or_loop: BlockOrLoop, ann_key: str) -> None:
        """Take a mark away."""
        _ffi_api.ScheduleUnannotate(self, block_or_loop, ann_key)

    # ---- padding ----

    @type_checked
    def decompose_padding(self, block: BlockOrName, loop: LoopRV) -> SBlockRV:
        """Fill a padded buffer with the pad value before a loop, then copy only what is inside.

        Returns:
            The block that fills.
        """
        return _ffi_api.ScheduleDecomposePadding(self, self._block(block), loop)

    @type_checked
    def can_decompose_padding(self, block: BlockOrName, loop: LoopRV) -> bool:
        """Whether decompose_padding can be applied."""
        return bool(_ffi_api.CanDecomposePadding(self, self._block(block), loop))

    @type_checked
    def pad_einsum(self, block: BlockOrName, padding: list[int]) -> None:
        """Pad the domains of an einsum to multiples.

        Args:
            block: The block.
            padding: Multiple for each iteration variable.
        """
        _ffi_api.SchedulePadEinsum(self, self._block(block), list(padding))

    @type_checked
    def rolling_buffer(self, block: BlockOrName, write_buffer_index: int) -> None:
        """Keep what neighbouring iterations share of a buffer instead of computing it again."""
        _ffi_api.ScheduleRollingBuffer(self, self._block(block), write_buffer_index)

    # ---- others ----

    def enter_postproc(self) -> None:
        """Mark in the trace where post-processing begins."""
        _ffi_api.ScheduleEnterPostproc(self)

    @type_checked
    def unsafe_hide_buffer_access(
        self, block: BlockOrName, buf_type: str, buf_index_array: list[int]
    ) -> None:
        """Take regions out of what a block states to read or write.

        Args:
            block: The block.
            buf_type: "read" or "write".
            buf_index_array: Positions of the regions.
        """
        _ffi_api.ScheduleUnsafeHideBufferAccess(
            self, self._block(block), buf_type, list(buf_index_array)
        )

    @type_checked
    def annotate_buffer_access(
        self, block: BlockOrName, buffer_index: int, buf_type: str, gen_new_ranges: Callable
    ) -> None:
        """Replace a region that a block states to read or write.

        Args:
            block: The block.
            buffer_index: Position of the region.
            buf_type: "read" or "write".
            gen_new_ranges: Function of the block's variables giving one (begin, end) or index for
                each axis.
        """
        block = self._block(block)
        if buf_type not in _ACCESS_KINDS:
            raise ValueError(f'buf_type has to be "read" or "write", but is "{buf_type}"')
        iter_vars = self.get(block).iter_vars
        names = [str(iter_var.var.name) for iter_var in iter_vars]
        variables = [
            type(iter_var.var)(name, iter_var.var.dtype) for name, iter_var in zip(names, iter_vars)
        ]
        bounds = []
        for index in gen_new_ranges(*variables):
            begin, end = index if isinstance(index, (tuple, list)) else (index, index + 1)
            bounds += [begin, end]
        index_map = IndexMap(variables, [_as_expr(bound) for bound in bounds])
        _ffi_api.ScheduleAnnotateBufferAccess(
            self, block, buffer_index, _ACCESS_KINDS[buf_type], index_map
        )

    # ---- helpers ----

    def _block(self, block: BlockOrName) -> SBlockRV:
        return self.get_sblock(block) if isinstance(block, str) else block

    def _buffer_index(self, block: SBlockRV, buffer: BufferIndex, kind: str) -> int:
        if isinstance(buffer, int):
            return buffer
        node = self.get(block)
        regions = node.writes if kind == "write" else node.reads
        found = [i for i, region in enumerate(regions) if _is_buffer(region.buffer, buffer)]
        if len(found) != 1:
            raise ValueError(
                f"expected one buffer {buffer} that the block {node.name_hint} {kind}s, "
                f"but found {len(found)}"
            )
        return found[0]

    def _buffer_of_block(self, block: SBlockRV, buffer: BufferOfBlock) -> tuple[int, int]:
        if isinstance(buffer, tuple):
            kind, index = buffer
            if kind not in _ACCESS_KINDS:
                raise ValueError(f'expected "read" or "write", but got "{kind}"')
            return index, _ACCESS_KINDS[kind]
        node = self.get(block)
        for kind, regions in ((0, node.reads), (1, node.writes)):
            for index, region in enumerate(regions):
                if _is_buffer(region.buffer, buffer):
                    return index, kind
        raise ValueError(f"the block {node.name_hint} does not access a buffer {buffer}")


def _checked_seed(seed: int | None) -> int:
    if seed is None:
        return -1
    if not isinstance(seed, int) or isinstance(seed, bool):
        raise TypeError(f"seed has to be an integer, but is {type(seed).__name__}")
    if not 1 <= seed <= 2**31 - 1:
        raise ValueError(f"seed has to be in [1, 2147483647], but is {seed}")
    return seed


def _is_buffer(buffer: Buffer, wanted: str | Buffer) -> bool:
    return str(buffer.name) == wanted if isinstance(wanted, str) else buffer.same_as(wanted)


def _index_map(index_map: IndexMapLike, ndim: int) -> IndexMap:
    if isinstance(index_map, IndexMap):
        return index_map
    return IndexMap.from_func(index_map, ndim, index_dtype="int32")


def _pad_value(value, index_map: IndexMap, dtype: str) -> IndexMap | None:
    if value is None or isinstance(value, IndexMap):
        return value
    ndim = len(index_map.final_indices)
    if callable(value) and not isinstance(value, Object):
        if any(
            parameter.kind is inspect.Parameter.VAR_POSITIONAL
            for parameter in inspect.signature(value).parameters.values()
        ):
            return IndexMap.from_func(value, ndim, index_dtype="int32")
        return IndexMap.from_func(value, index_dtype="int32")
    if isinstance(value, (int, float)):
        if isinstance(value, float) and "int" in str(dtype):
            raise TypeError(f"pad_value is a float, but the buffer holds {dtype}")
        value = _const(value, dtype)
    return IndexMap.from_func(lambda *indices: [value], ndim, index_dtype="int32")


def _as_expr(value):
    return _const(value, "int32") if isinstance(value, int) else value


def _plain(value):
    """Lists and dicts as they are; floats stay floats."""
    if isinstance(value, (IntImm, FloatImm)):
        return value
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    return value
