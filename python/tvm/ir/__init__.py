# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Types, expressions, modules, operators and passes that all dialects share."""

from tvm_ffi import Array, Map

from . import instrument, transform
from .attrs import Attrs, DictAttrs
from .base import (
    EnvFunc,
    Node,
    SequentialSpan,
    Source,
    SourceMap,
    SourceName,
    Span,
    assert_structural_equal,
    get_first_structural_mismatch,
    load_json,
    make_node,
    save_json,
    structural_equal,
    structural_hash,
)
from .expr import (
    Call,
    Expr,
    ExprOp,
    FloatImm,
    GlobalVar,
    IntImm,
    PrimExpr,
    PrimExprConvertible,
    Range,
    RelaxExpr,
    Var,
    is_prim_expr,
)
from .function import BaseFunc, CallingConv
from .global_info import DummyGlobalInfo, GlobalInfo, VDevice
from .module import IRModule
from .op import (
    ArgumentInfo,
    Op,
    register_intrin_lowering,
    register_op,
    register_op_attr,
)
from .supply import NameSupply, UniqueNameSupply
from .type import (
    FuncType,
    PointerType,
    PrimType,
    TensorMapType,
    TupleType,
    Type,
    TypeIsMissing,
    TypeMissing,
)
