# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Frames of primitive functions and statements."""

from __future__ import annotations

from tvm_ffi import register_object

from ..base import IRBuilderFrame


@register_object("script.ir_builder.tirx.TIRFrame")
class TIRFrame(IRBuilderFrame):
    """A scope that collects statements."""


@register_object("script.ir_builder.tirx.PrimFuncFrame")
class PrimFuncFrame(TIRFrame):
    """A primitive function."""


@register_object("script.ir_builder.tirx.SSBlockFrame")
class SBlockFrame(TIRFrame):
    """A block of the schedulable dialect."""


@register_object("script.ir_builder.tirx.SBlockInitFrame")
class SBlockInitFrame(TIRFrame):
    """What a block runs before its first reduction step."""


@register_object("script.ir_builder.tirx.ForFrame")
class ForFrame(TIRFrame):
    """Loops; entering gives the loop variable, or the list of them."""

    def __enter__(self):
        super().__enter__()
        return self.vars if len(self.vars) > 1 else self.vars[0]


@register_object("script.ir_builder.tirx.AssertFrame")
class AssertFrame(TIRFrame):
    """An assertion and what follows it."""


@register_object("script.ir_builder.tirx.LaunchThreadFrame")
class LaunchThreadFrame(TIRFrame):
    """Statements of a thread axis; entering gives its variable."""

    def __enter__(self):
        super().__enter__()
        return self.iter_var.var


@register_object("script.ir_builder.tirx.AttrFrame")
class AttrFrame(TIRFrame):
    """Statements under attributes."""


@register_object("script.ir_builder.tirx.HintFrame")
class HintFrame(TIRFrame):
    """Statements under a hint."""


@register_object("script.ir_builder.tirx.WhileFrame")
class WhileFrame(TIRFrame):
    """Body of a while loop."""


@register_object("script.ir_builder.tirx.IfFrame")
class IfFrame(TIRFrame):
    """A branch: holds Then and Else."""


@register_object("script.ir_builder.tirx.ThenFrame")
class ThenFrame(TIRFrame):
    """What runs if the condition holds."""


@register_object("script.ir_builder.tirx.ElseFrame")
class ElseFrame(TIRFrame):
    """What runs if the condition does not hold."""


@register_object("script.ir_builder.tirx.DeclBufferFrame")
class DeclBufferFrame(TIRFrame):
    """Statements that use a declared buffer; entering gives the buffer."""

    def __enter__(self):
        super().__enter__()
        return self.buffer


@register_object("script.ir_builder.tirx.AllocBufferFrame")
class AllocBufferFrame(TIRFrame):
    """Statements that use an allocated buffer; entering gives the buffer."""

    def __enter__(self):
        super().__enter__()
        return self.buffer


@register_object("script.ir_builder.tirx.ComposeOpFrame")
class ComposeOpFrame(TIRFrame):
    """Statements that form one tile primitive."""


__all__ = [
    "AllocBufferFrame", "AssertFrame", "AttrFrame", "ComposeOpFrame", "DeclBufferFrame",
    "ElseFrame", "ForFrame", "HintFrame", "IfFrame", "LaunchThreadFrame", "PrimFuncFrame",
    "SBlockFrame", "SBlockInitFrame", "TIRFrame", "ThenFrame", "WhileFrame",
]  # fmt: skip
