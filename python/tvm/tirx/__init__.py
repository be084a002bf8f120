# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Primitive functions: loops, buffers and scalar arithmetic."""

from tvm._lazy import attach as _attach
from tvm.ir import (
    Call,
    FloatImm,
    GlobalVar,
    IntImm,
    PointerType,
    PrimExpr,
    PrimType,
    Range,
    Var,
)
from tvm.ir.expr import EqualOp

from .buffer import Buffer, BufferType, decl_buffer, is_buffer
from .expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    BinaryOpExpr,
    Broadcast,
    BufferLoad,
    Cast,
    CmpExpr,
    CommReducer,
    DataProducer,
    Div,
    ExprWithOp,
    FloorDiv,
    FloorMod,
    IterVar,
    IterVarType,
    Let,
    LogicalExpr,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    ProducerLoad,
    Ramp,
    Reduce,
    Select,
    Shuffle,
    SizeVar,
    StringImm,
    Sub,
    convert,
)
from .function import IndexMap, PrimFunc, TensorIntrin
from .op import *
from .op import const
from .stmt import (
    AllocBuffer,
    AssertStmt,
    AttrStmt,
    Bind,
    Break,
    BufferRegion,
    BufferStore,
    Continue,
    DeclBuffer,
    Evaluate,
    ExecScope,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    MatchBufferRegion,
    Return,
    SBlock,
    SBlockRealize,
    ScopeIdDef,
    ScopeIdDefStmt,
    SeqStmt,
    Stmt,
    TilePrimitiveCall,
    While,
    stmt_list,
    stmt_seq,
)

__getattr__, __dir__ = _attach(
    __name__,
    globals(),
    modules=("analysis", "functor", "stmt_functor", "transform", "stmt", "expr", "op", "buffer"),
    names={"build": "_build"},
)
