# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Recorded uses of primitives."""

from __future__ import annotations

from typing import Any

from tvm_ffi import Object, register_object

from . import _ffi_api


@register_object("s_tir.InstructionKind")
class InstructionKind(Object):
    """A primitive by its CamelCase name."""

    @property
    def is_pure(self) -> bool:
        """It changes nothing: unused ones may be dropped from a trace."""
        return bool(self._is_pure)

    @staticmethod
    def get(name: str) -> InstructionKind:
        """Look one up.

        Raises:
            ValueError: There is no such primitive.
        """
        return _ffi_api.InstructionKindGet(name)


@register_object("s_tir.Instruction")
class Instruction(Object):
    """One recorded use of a primitive.

    Args:
        kind: The primitive.
        inputs: Random variables, expressions, strings, lists, dicts or None.
        attrs: Constants.
        outputs: Random variables it made.
    """

    def __init__(
        self, kind: InstructionKind, inputs: list[Any], attrs: list[Any], outputs: list[Any]
    ) -> None:
        self.__init_handle_by_constructor__(
            _ffi_api.Instruction, kind, list(inputs), list(attrs), list(outputs)
        )
