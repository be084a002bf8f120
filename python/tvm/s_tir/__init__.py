# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Schedulable TIR: functions made of blocks, and their schedules."""

from tvm._lazy import attach as _attach

__getattr__, __dir__ = _attach(
    __name__,
    globals(),
    modules=("analysis", "sblock_scope", "schedule", "tensor_intrin", "transform"),
    names={
        "Dependency": "sblock_scope",
        "DepKind": "sblock_scope",
        "SBlockDependenceInfo": "sblock_scope",
        "SBlockScope": "sblock_scope",
        "StmtSRef": "sblock_scope",
        "Schedule": "schedule",
        "ScheduleError": "schedule",
        "ScheduleState": "schedule",
        "Trace": "schedule",
        "MatchBufferRegion": "stmt",
        "SBlock": "stmt",
        "SBlockRealize": "stmt",
        "TensorIntrin": "stmt",
    },
)
