# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Traces: the recorded steps of a schedule."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tvm_ffi import Map, Object, register_object

from . import _ffi_api
from .instruction import Instruction

if TYPE_CHECKING:
    from .schedule import Schedule


@register_object("s_tir.Trace")
class Trace(Object):
    """Instructions in order, and what those that sample decided.

    Args:
        insts: Instructions.
        decisions: Instruction -> decision.
    """

    def __init__(self, insts: list[Instruction], decisions: dict[Instruction, Any]) -> None:
        self.__init_handle_by_constructor__(
            _ffi_api.Trace, list(insts), Map(list(decisions.items()))
        )

    def get_decision(self, inst: Instruction) -> Any | None:
        """The decision of an instruction, or None."""
        return _ffi_api.TraceGetDecision(self, inst)

    def append(self, inst: Instruction, decision: Any | None = None) -> None:
        """Add an instruction at the end."""
        _ffi_api.TraceAppend(self, inst, decision)

    def pop(self) -> Instruction | None:
        """Remove and return the last instruction; None if there is none."""
        return _ffi_api.TracePop(self)

    def apply_to_schedule(
        self,
        sch: Schedule,
        remove_postproc: bool,
        decision_provider: Callable[[Instruction, list, list, Any], Any] | None = None,
    ) -> None:
        """Run all instructions on a schedule.

        Args:
            sch: The schedule.
            remove_postproc: Stop at the marker of post-processing.
            decision_provider: ``fn(inst, inputs, attrs, recorded decision)`` giving the decision.
        """
        _ffi_api.TraceApplyToSchedule(self, sch, remove_postproc, decision_provider)

    def as_json(self, remove_postproc: bool = False) -> Any:
        """Lists, strings and numbers that apply_json_to_schedule reads."""
        return _ffi_api.TraceAsJSON(self, remove_postproc)

    def as_python(self, remove_postproc: bool = False) -> list[str]:
        """One line of Python an instruction."""
        return [str(line) for line in _ffi_api.TraceAsPython(self, remove_postproc)]

    def with_decision(self, inst: Instruction, decision: Any, remove_postproc: bool) -> Trace:
        """Copy with another decision."""
        return _ffi_api.TraceWithDecision(self, inst, decision, remove_postproc)

    def simplified(self, remove_postproc: bool) -> Trace:
        """Copy without pure instructions whose results are not used."""
        return _ffi_api.TraceSimplified(self, remove_postproc)

    @staticmethod
    def apply_json_to_schedule(json_obj: Any, sch: Schedule) -> None:
        """Run a trace given as JSON on a schedule.

        Raises:
            ValueError: It is no trace.
        """
        _ffi_api.TraceApplyJSONToSchedule(json_obj, sch)

    def __str__(self) -> str:
        lines = ["# from tvm import s_tir", "def apply_trace(sch: s_tir.Schedule) -> None:"]
        body = self.as_python() or ["pass"]
        return "\n".join(lines + ["  " + line for line in body])

    def __repr__(self) -> str:
        return str(self)

    def show(self, style: str | None = None, black_format: bool = False) -> None:
        """Print it."""
        print(self)
