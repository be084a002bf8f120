# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Frames of graph-level functions."""

from __future__ import annotations

from tvm.script.ir_builder.base import IRBuilderFrame
from tvm_ffi import register_object


@register_object("script.ir_builder.relax.RelaxFrame")
class RelaxFrame(IRBuilderFrame):
    """Base of the frames of this dialect."""


@register_object("script.ir_builder.relax.SeqExprFrame")
class SeqExprFrame(RelaxFrame):
    """Blocks and a result; ``result`` is the SeqExpr once the frame is left."""


@register_object("script.ir_builder.relax.FunctionFrame")
class FunctionFrame(SeqExprFrame):
    """A function; ``result`` is the Function once the frame is left."""


@register_object("script.ir_builder.relax.BindingBlockFrame")
class BindingBlockFrame(RelaxFrame):
    """A block of bindings; ``output_vars`` are the variables that live on after it."""


@register_object("script.ir_builder.relax.IfFrame")
class IfFrame(RelaxFrame):
    """A choice; ``var`` is bound to it once the frame is left."""


@register_object("script.ir_builder.relax.ThenFrame")
class ThenFrame(SeqExprFrame):
    """Branch taken if the condition is true."""


@register_object("script.ir_builder.relax.ElseFrame")
class ElseFrame(SeqExprFrame):
    """Branch taken if the condition is false."""
