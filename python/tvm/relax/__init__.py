# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Graph level: functions over tensors, their operators, passes and compilation."""

from tvm._lazy import attach
from tvm.ir import Call, GlobalVar, PrimType, TupleType, VDevice
from tvm.runtime.vm import VirtualMachine, VMExecutable, VMInstrumentReturnKind

from . import op
from .block_builder import BlockBuilder
from .expr import (
    Binding,
    BindingBlock,
    Constant,
    DataflowBlock,
    DataflowVar,
    DataTypeImm,
    Expr,
    ExternFunc,
    Function,
    If,
    MatchCast,
    PrimValue,
    SeqExpr,
    ShapeExpr,
    StringImm,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
    _install_operators,
    const,
    extern,
    get_shape_of,
    prim_value,
    te_tensor,
)
from .pipeline import get_default_pipeline, get_pipeline, register_pipeline
from .ty import (
    AnyType,
    FuncType,
    ObjectType,
    PackedFuncType,
    ShapeType,
    TensorType,
)
from .vm_build import build

_install_operators()


__getattr__, __dir__ = attach(
    __name__,
    globals(),
    modules=(
        "analysis",
        "backend",
        "dpl",
        "expr_functor",
        "frontend",
        "testing",
        "training",
        "transform",
        "exec_builder",
    ),
    names={
        "ExecBuilder": "exec_builder",
        "PyExprVisitor": "expr_functor",
        "PyExprMutator": "expr_functor",
    },
)
