# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Statement nodes. Bind, AllocBuffer and DeclBuffer are flat: they hold for their siblings."""

from __future__ import annotations

from enum import IntEnum

from tvm.ir import Range
from tvm.runtime.scriptable import Scriptable
from tvm_ffi import Object, register_object

from . import _ffi_api
from .expr import IterVar, StringImm, convert


@register_object("tirx.Stmt")
class Stmt(Object, Scriptable):
    """Base of statements."""


class ForKind(IntEnum):
    """How a loop runs."""

    SERIAL = 0
    PARALLEL = 1
    VECTORIZED = 2
    UNROLLED = 3
    THREAD_BINDING = 4


def _flat(node: Stmt, body):
    """The node itself, or the sequence of it and a body given in the older nested form."""
    return node if body is None else SeqStmt([node, body])


class _FlatMeta(type(Stmt)):
    """Lets ``Node(.., body=stmt)`` build the sequence of node and body."""

    def __call__(cls, *args, body=None, **kwargs):
        limit = cls._max_args
        if body is None and len(args) == limit + 1 and isinstance(args[-1], Stmt):
            *args, body = args
        return _flat(super().__call__(*args, **kwargs), body)


@register_object("tirx.Bind")
class Bind(Stmt, metaclass=_FlatMeta):
    """Binds a variable to a value for the statements that follow.

    Args:
        var: The variable.
        value: Its value.
    """

    _max_args = 2

    def __init__(self, var, value, span=None) -> None:
        self.__init_handle_by_constructor__(_ffi_api.Bind, var, convert(value), span)


LetStmt = Bind


@register_object("tirx.AttrStmt")
class AttrStmt(Stmt):
    """Attribute that holds inside `body`.

    Args:
        node: What it is about.
        attr_key: Name.
        value: Value.
        body: Where it holds.
    """

    def __init__(self, node, attr_key: str, value, body, span=None) -> None:
        self.__init_handle_by_constructor__(
            _ffi_api.AttrStmt, node, attr_key, convert(value), body, span
        )


@register_object("tirx.AssertStmt")
class AssertStmt(Stmt):
    """Raises an error unless a condition holds.

    Args:
        condition: The condition.
        error_kind: Kind of the error, or the message alone.
        message_parts: Pieces of the message.
    """

    def __init__(self, condition, error_kind, message_parts=None, span=None) -> None:
        if message_parts is None:
            error_kind, message_parts = "RuntimeError", [error_kind]
        if isinstance(message_parts, (str, StringImm)):
            message_parts = [message_parts]
        self.__init_handle_by_constructor__(
            _ffi_api.AssertStmt,
            condition,
            _string(error_kind),
            [_string(part) for part in message_parts],
            span,
        )


def _string(text):
    return StringImm(text) if isinstance(text, str) else text


@register_object("tirx.BufferStore")
class BufferStore(Stmt):
    """Writes an element of a buffer.

    Args:
        buffer: The buffer.
        value: The value.
        indices: Index per axis.
        predicate: Lanes to store.
    """

    def __init__(self, buffer, value, indices, predicate=None, span=None) -> None:
        self.__init_handle_by_constructor__(
            _ffi_api.BufferStore, buffer, value, list(indices), predicate, span
        )


@register_object("tirx.AllocBuffer")
class AllocBuffer(Stmt, metaclass=_FlatMeta):
    """Allocates a buffer for the statements that follow.

    Args:
        buffer: The buffer.
        annotations: Hints.
    """

    _max_args = 2

    def __init__(self, buffer, annotations=None, span=None) -> None:
        self.__init_handle_by_constructor__(_ffi_api.AllocBuffer, buffer, annotations or {}, span)


@register_object("tirx.DeclBuffer")
class DeclBuffer(Stmt, metaclass=_FlatMeta):
    """Declares a buffer over existing memory for the statements that follow.

    Args:
        buffer: The buffer.
        data: Pointer to its memory.
    """

    _max_args = 2

    def __init__(self, buffer, data=None, span=None) -> None:
        self.__init_handle_by_constructor__(_ffi_api.DeclBuffer, buffer, data, span)


@register_object("tirx.SeqStmt")
class SeqStmt(Stmt):
    """Statements in order.

    Args:
        seq: The statements.
    """

    def __init__(self, seq, span=None) -> None:
        self.__init_handle_by_constructor__(_ffi_api.SeqStmt, list(seq), span)

    def __getitem__(self, i):
        return self.seq[i]

    def __len__(self) -> int:
        return len(self.seq)

    def __iter__(self):
        return iter(self.seq)


@register_object("tirx.Evaluate")
class Evaluate(Stmt):
    """Evaluates an expression for its effect."""

    def __init__(self, value, span=None) -> None:
        self.__init_handle_by_constructor__(_ffi_api.Evaluate, convert(value), span)


@register_object("tirx.IfThenElse")
class IfThenElse(Stmt):
    """Branch.

    Args:
        condition: Scalar condition.
        then_case: Where it is true.
        else_case: Where it is false; may be None.
    """

    def __init__(self, condition, then_case, else_case=None, span=None) -> None:
        self.__init_handle_by_constructor__(
            _ffi_api.IfThenElse, condition, then_case, else_case, span
        )


@register_object("tirx.For")
class For(Stmt):
    """Loop over ``min, min + step, ..`` below ``min + extent``.

    Args:
        loop_var: Variable.
        min: First value.
        extent: Length of the interval.
        kind: ForKind.
        body: Body.
        thread_binding: Thread axis of a bound loop.
        annotations: Hints.
        step: Step; 1 if left out.
    """

    def __init__(
        self,
        loop_var,
        min,
        extent,
        kind,
        body,
        thread_binding: IterVar | None = None,
        annotations=None,
        step=None,
        span=None,
    ) -> None:
        self.__init_handle_by_constructor__(
            _ffi_api.For,
            loop_var,
            min,
            extent,
            int(kind),
            body,
            thread_binding,
            annotations or {},
            step,
            span,
        )


@register_object("tirx.While")
class While(Stmt):
    """Loop while a condition holds."""

    def __init__(self, condition, body, span=None) -> None:
        self.__init_handle_by_constructor__(_ffi_api.While, condition, body, span)


@register_object("tirx.Return")
class Return(Stmt):
    """Leaves the function with a value."""

    def __init__(self, value, span=None) -> None:
        self.__init_handle_by_constructor__(_ffi_api.Return, convert(value), span)


@register_object("tirx.Break")
class Break(Stmt):
    """Leaves the innermost loop."""

    def __init__(self, span=None) -> None:
        self.__init_handle_by_constructor__(_ffi_api.Break, span)


@register_object("tirx.Continue")
class Continue(Stmt):
    """Goes on with the next iteration."""

    def __init__(self, span=None) -> None:
        self.__init_handle_by_constructor__(_ffi_api.Continue, span)


@register_object("tirx.BufferRegion")
class BufferRegion(Object, Scriptable):
    """Box of a buffer.

    Args:
        buffer: The buffer.
        region: Range per axis.
    """

    def __init__(self, buffer, region) -> None:
        self.__init_handle_by_constructor__(_ffi_api.BufferRegion, buffer, list(region))

    # Else Python would ask for the elements 0, 1, 2 .. without end.
    __iter__ = None

    def __getitem__(self, indices):
        """Sub-box, with indices relative to this one."""
        if not isinstance(indices, tuple):
            indices = (indices,)
        region = []
        for axis, outer in enumerate(self.region):
            index = indices[axis] if axis < len(indices) else slice(None)
            if isinstance(index, slice):
                if index.step not in (None, 1):
                    raise ValueError("a region cannot have a step")
                start = 0 if index.start is None else index.start
                stop = outer.extent if index.stop is None else index.stop
                region.append(Range.from_min_extent(outer.min + start, stop - start))
            else:
                region.append(Range.from_min_extent(outer.min + index, 1))
        return BufferRegion(self.buffer, region)


@register_object("tirx.MatchBufferRegion")
class MatchBufferRegion(Object, Scriptable):
    """Buffer that stands for a region of another one."""

    def __init__(self, buffer, source: BufferRegion) -> None:
        self.__init_handle_by_constructor__(_ffi_api.MatchBufferRegion, buffer, source)


@register_object("tirx.SBlock")
class SBlock(Stmt):
    """Block of the schedulable dialect: a piece of computation with its iteration domain.

    Args:
        iter_vars: Iteration variables.
        reads: Regions read.
        writes: Regions written.
        name_hint: Name.
        body: Body.
        init: Statement before the first reduction step.
        alloc_buffers: Buffers allocated in the block.
        match_buffers: Buffers matched to regions.
        annotations: Hints.
    """

    def __init__(
        self,
        iter_vars,
        reads,
        writes,
        name_hint,
        body,
        init=None,
        alloc_buffers=None,
        match_buffers=None,
        annotations=None,
        span=None,
    ) -> None:
        self.__init_handle_by_constructor__(
            _ffi_api.SBlock,
            list(iter_vars),
            list(reads),
            list(writes),
            name_hint,
            body,
            init,
            list(alloc_buffers or []),
            list(match_buffers or []),
            annotations or {},
            span,
        )


@register_object("tirx.SBlockRealize")
class SBlockRealize(Stmt):
    """Runs a block for one value of each iteration variable.

    Args:
        iter_values: The values.
        predicate: Whether to run at all.
        block: The block.
    """

    def __init__(self, iter_values, predicate, block: SBlock, span=None) -> None:
        if isinstance(predicate, bool):
            from tvm.ir import IntImm

            predicate = IntImm("bool", predicate)
        self.__init_handle_by_constructor__(
            _ffi_api.SBlockRealize, list(iter_values), predicate, block, span
        )


@register_object("tirx.ExecScope")
class ExecScope(Object):
    """Set of threads that run a statement together.

    Args:
        name: ``cluster``, ``cta``, ``warpgroup``, ``warp`` or ``thread``.
    """

    def __init__(self, name: str) -> None:
        self.__init_handle_by_constructor__(_ffi_api.ExecScope, name)


@register_object("tirx.ScopeIdDef")
class ScopeIdDef(Object):
    """Variables that number the instances of an execution scope."""

    def __init__(self, def_ids, extents, scope: int, preferred_extents=None) -> None:
        self.__init_handle_by_constructor__(
            _ffi_api.ScopeIdDef, list(def_ids), extents, int(scope), preferred_extents
        )


@register_object("tirx.ScopeIdDefStmt")
class ScopeIdDefStmt(Stmt):
    """Defines scope ids for the statements that follow."""

    def __init__(self, scope_id_def: ScopeIdDef, span=None) -> None:
        self.__init_handle_by_constructor__(_ffi_api.ScopeIdDefStmt, scope_id_def, span)


@register_object("tirx.TilePrimitiveCall")
class TilePrimitiveCall(Stmt):
    """Operation on tiles that a dispatch rule lowers.

    Args:
        args: Operands.
        op: Operator.
        workspace: Named scratch buffers.
        config: Options.
        dispatch: Variant to use.
        scope: Threads that take part.
    """

    def __init__(
        self, *args, op, workspace=None, config=None, dispatch=None, scope="thread", span=None
    ) -> None:
        if isinstance(op, str):
            from tvm.ir import Op

            op = Op.get(op)
        if isinstance(scope, str):
            scope = ExecScope(scope)
        self.__init_handle_by_constructor__(
            _ffi_api.TilePrimitiveCall,
            op,
            list(args),
            workspace or {},
            config or {},
            dispatch,
            scope,
            span,
        )


def stmt_seq(*args) -> Stmt:
    """Sequence of statements; expressions are evaluated."""
    statements = []
    for value in args:
        if not isinstance(value, Stmt):
            value = Evaluate(value)
        statements.append(value)
    return statements[0] if len(statements) == 1 else SeqStmt(statements)


def stmt_list(stmt: Stmt) -> list[Stmt]:
    """Statements of a sequence, flattened."""
    if isinstance(stmt, SeqStmt):
        return [part for entry in stmt for part in stmt_list(entry)]
    return [stmt]
