# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Schedules: changes to how a function of blocks runs that keep what it computes."""

from tvm._lazy import attach as _attach
from tvm.s_tir.sblock_scope import Dependency, DepKind, SBlockScope, StmtSRef

from .instruction import Instruction, InstructionKind
from .reducer import register_reducer
from .schedule import ExprRV, LoopRV, SBlockRV, Schedule, ScheduleError
from .state import ScheduleDebugMask, ScheduleState
from .trace import Trace

__getattr__, __dir__ = _attach(__name__, globals(), modules=("analysis", "transform"))

__all__ = [
    "DepKind",
    "Dependency",
    "ExprRV",
    "Instruction",
    "InstructionKind",
    "LoopRV",
    "SBlockRV",
    "SBlockScope",
    "Schedule",
    "ScheduleDebugMask",
    "ScheduleError",
    "ScheduleState",
    "StmtSRef",
    "Trace",
    "register_reducer",
]
