# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Tensors defined by a formula."""

from __future__ import annotations

from tvm.ir.expr import ExprOp
from tvm.tirx import DataProducer
from tvm_ffi import Object, register_object

from . import _ffi_api


class TensorSlice(ExprOp):
    """Tensor with some indices given; behaves as an element once all are.

    Args:
        tensor: The tensor.
        indices: The indices so far.
    """

    def __init__(self, tensor: Tensor, indices) -> None:
        self.tensor = tensor
        self.indices = tuple(indices) if isinstance(indices, tuple) else (indices,)

    # Else Python would ask for the elements 0, 1, 2 .. without end.
    __iter__ = None

    def __getitem__(self, indices):
        more = indices if isinstance(indices, tuple) else (indices,)
        return TensorSlice(self.tensor, self.indices + more)

    def asobject(self):
        """The element as an expression."""
        return self.tensor(*self.indices)

    __tvm_ffi_value__ = asobject

    @property
    def dtype(self):
        """Element type."""
        return self.tensor.dtype


def _through_expression(name: str):
    def operator(self, *args):
        plain = [arg.asobject() if isinstance(arg, TensorSlice) else arg for arg in args]
        return getattr(self.asobject(), name)(*plain)

    operator.__name__ = name
    return operator


for _name, _function in list(vars(ExprOp).items()):
    if callable(_function) and _name not in ("__bool__", "__nonzero__"):
        setattr(TensorSlice, _name, _through_expression(_name))


@register_object("te.Tensor")
class Tensor(DataProducer):
    """Tensor: output of an operation."""

    def __call__(self, *indices):
        """Element at an index; axes left out of the back need none."""
        if len(indices) != self.ndim:
            raise ValueError(
                f"Need to provide {self.ndim} index in tensor but {len(indices)} was provided"
            )
        from tvm.tirx import IterVar

        values = [i.var if isinstance(i, IterVar) else i for i in indices]
        values = [i.asobject() if isinstance(i, TensorSlice) else i for i in values]
        return _ffi_api.TensorLoad(self, values)

    # Else Python would ask for the elements 0, 1, 2 .. without end.
    __iter__ = None

    def __getitem__(self, indices) -> TensorSlice:
        return TensorSlice(self, indices)

    def __hash__(self):
        return _ffi_api.TensorHash(self)

    def __eq__(self, other):
        if not isinstance(other, Tensor):
            return NotImplemented
        if self.ndim == 0 and other.ndim == 0:
            raise ValueError(
                "Equal == comparison among rank-0 tensor is ambiguous, use Tensor.equal for "
                "content expression equvalence, use Tensor.same_as for exact reference comparison"
            )
        return bool(_ffi_api.TensorEqual(self, other))

    def __ne__(self, other):
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def name(self) -> str:
        """Name of the operation; with the output's number if it has several."""
        op = self.op
        if op.num_outputs == 1:
            return op.name
        return f"{op.name}.v{self.value_index}"

    def __repr__(self) -> str:
        return f"Tensor(shape={list(self.shape)}, op.name={self.op.name})"

    __str__ = __repr__


@register_object("te.Operation")
class Operation(Object):
    """What computes tensors."""

    def output(self, index: int) -> Tensor:
        """One of the tensors it computes."""
        return _ffi_api.OpGetOutput(self, index)

    @property
    def num_outputs(self) -> int:
        """Number of tensors it computes."""
        return _ffi_api.OpNumOutputs(self)

    @property
    def input_tensors(self):
        """Tensors it reads."""
        return _ffi_api.OpInputTensors(self)


@register_object("te.PlaceholderOp")
class PlaceholderOp(Operation):
    """Tensor given from outside."""


@register_object("te.BaseComputeOp")
class BaseComputeOp(Operation):
    """Base of operations over axes."""


@register_object("te.ComputeOp")
class ComputeOp(BaseComputeOp):
    """Formula per element."""


@register_object("te.ScanOp")
class ScanOp(Operation):
    """Recurrence along an axis."""


@register_object("te.ExternOp")
class ExternOp(Operation):
    """Tensors computed by a statement."""
