# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""One node as a converter sees it, and the table of converters."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

REQUIRED = object()
# (domain, operator) -> [(first version, converter)], versions ascending.
_CONVERTERS: dict[tuple[str, str], list[tuple[int, Callable]]] = {}


def onnx_op(*names: str, since: int = 1, domain: str = ""):
    """Register a converter ``fn(node) -> value or list of values`` for operators.

    Args:
        names: Operator names.
        since: First operator-set version the converter is written for.
        domain: Operator domain; ``""`` is ai.onnx.
    """

    def register(fn: Callable) -> Callable:
        for name in names:
            entries = _CONVERTERS.setdefault((domain, name), [])
            entries.append((since, fn))
            entries.sort(key=lambda e: e[0])
        return fn

    return register


def find_converter(domain: str, name: str, version: int) -> Callable | None:
    """The converter of the highest version not above ``version``; ``None`` when there is none."""
    entries = _CONVERTERS.get(("" if domain == "ai.onnx" else domain, name), [])
    fitting = [fn for since, fn in entries if since <= version]
    return fitting[-1] if fitting else None


class Node:
    """Inputs, attributes and builder of the node that is being converted.

    Attributes:
        op: Operator name.
        version: Operator-set version of its domain in the model.
        inputs: Values by position: numpy arrays for what is known while importing, expressions
            for the rest, ``None`` for an omitted optional input.
    """

    def __init__(self, proto, inputs, version, graph) -> None:
        self.proto, self.op, self.version = proto, proto.op_type, version
        self.inputs, self.graph = inputs, graph
        self.domain = "" if proto.domain == "ai.onnx" else proto.domain
        self._attrs = {a.name: a for a in proto.attribute}
        self._used: set[str] = set()

    @property
    def label(self) -> str:
        """Name for messages."""
        out = next((o for o in self.proto.output if o), "")
        return f"{self.op} node {self.proto.name or out!r}"

    def fail(self, message: str, kind: type[Exception] = ValueError):
        """Raise an error that names the node."""
        raise kind(f"{self.label}: {message}")

    # ---- attributes ----
    def attr(self, name: str, default=REQUIRED):
        """Value of an attribute; bytes are decoded, repeated ones are lists."""
        import onnx

        self._used.add(name)
        if name not in self._attrs:
            if default is REQUIRED:
                self.fail(f"the attribute {name!r} is missing")
            return default
        value = onnx.helper.get_attribute_value(self._attrs[name])
        if isinstance(value, bytes):
            return value.decode("utf8", "replace")
        if isinstance(value, onnx.TensorProto):
            return self.graph.array(value)
        if isinstance(value, (int, float, str)) or not _is_list(value):
            return value
        return [v.decode("utf8", "replace") if isinstance(v, bytes) else v for v in value]

    def ignore(self, *names: str) -> None:
        """Attributes that have no meaning for inference."""
        self._used.update(names)

    def expect(self, name: str, allowed, default) -> None:
        """An attribute of which only some values are supported."""
        value = self.attr(name, default)
        if value not in allowed:
            self.fail(
                f"{name}={value!r} is not supported; supported: {list(allowed)}", _not_implemented()
            )

    def check_consumed(self) -> None:
        """Refuse attributes that the converter did not read."""
        left = sorted(set(self._attrs) - self._used)
        if left:
            self.fail(f"attributes not understood: {left}", _not_implemented())

    # ---- inputs ----
    def __len__(self) -> int:
        return len(self.inputs)

    def has(self, index: int) -> bool:
        """Whether an optional input is given."""
        return index < len(self.inputs) and self.inputs[index] is not None

    def value(self, index: int):
        """Input as it is: an array or an expression."""
        if not self.has(index):
            self.fail(f"input {index} is missing")
        return self.inputs[index]

    def expr(self, index: int):
        """Input as an expression."""
        return self.graph.as_expr(self.value(index))

    def const(self, index: int, default=REQUIRED) -> np.ndarray:
        """Input that must be known while importing."""
        if not self.has(index):
            if default is REQUIRED:
                self.fail(f"input {index} is missing")
            return default
        value = self.inputs[index]
        if not isinstance(value, np.ndarray):
            self.fail(
                f"input {index} ({self.proto.input[index]!r}) must be known while importing, "
                "but it is computed at run time",
                _not_implemented(),
            )
        return value

    def ints(self, index: int, default=REQUIRED) -> list[int]:
        """Constant integer input as a list."""
        value = self.const(index, default)
        return [int(v) for v in np.asarray(value).reshape(-1)] if value is not None else None

    def shape(self, index: int) -> list[int]:
        """Static extents of an input."""
        return self.graph.static_shape(self.value(index), self)

    def ndim(self, index: int) -> int:
        """Rank of an input."""
        value = self.value(index)
        return value.ndim if isinstance(value, np.ndarray) else int(value.ty.ndim)

    def dtype(self, index: int) -> str:
        """Element type of an input."""
        value = self.value(index)
        return str(value.dtype) if isinstance(value, np.ndarray) else self.graph.dtype_of(value)

    def dtype_or_none(self, index: int) -> str | None:
        """Element type of an input; None where it is not known."""
        value = self.inputs[index]
        if isinstance(value, np.ndarray):
            return str(value.dtype)
        found = getattr(value.ty, "dtype", None)
        return None if found is None else self.graph.dtype_of(value)

    def scalar(self, index: int):
        """Constant input of one element, as a python number.

        Raises:
            ValueError: It has more or fewer.
        """
        value = self.const(index)
        if value.size != 1:
            self.fail(f"input {index} must hold one number, found the shape {list(value.shape)}")
        return value.reshape(-1)[0].item()

    def positive(self, name: str, default=REQUIRED) -> int:
        """Integer attribute of at least 1."""
        value = self.attr(name, default)
        if value < 1:
            self.fail(f"{name} must be at least 1, found {value}")
        return value

    def rank(self, index: int, least: int, most: int | None = None) -> int:
        """Rank of an input, checked."""
        found = self.ndim(index)
        if found < least or (most is not None and found > most):
            wanted = str(least) if most == least else f"{least} or more"
            self.fail(f"input {index} must have rank {wanted}, found {found}")
        return found

    def axis(self, value: int, rank: int) -> int:
        """A non-negative axis.

        Raises:
            ValueError: It is out of range.
        """
        if not -rank <= value < rank:
            self.fail(f"axis {value} is out of range for rank {rank}")
        return value % rank

    # ---- results ----
    def emit(self, expr):
        """Bind an expression; its type is known afterwards."""
        return self.graph.emit(expr)

    def full(self, value, like: int) -> np.ndarray:
        """Scalar constant of an input's type."""
        return np.array(value, self.dtype(like))


def _is_list(value) -> bool:
    return hasattr(value, "__iter__") and hasattr(value, "__len__")


def _not_implemented():
    from tvm.error import OpNotImplemented

    return OpNotImplemented


def plain(extent) -> str:
    """An extent as a person writes it: ``3``, ``n``, ``n * 2``."""
    if isinstance(extent, int):
        return str(extent)
    name = getattr(extent, "name_hint", None) or getattr(extent, "name", None)
    if isinstance(name, str):
        return str(name)
    if hasattr(extent, "value"):
        return str(extent.value)
    sign = _SIGNS.get(type(extent).__name__)
    if sign is not None:
        return f"({plain(extent.a)} {sign} {plain(extent.b)})"
    return "?"


_SIGNS = {"Add": "+", "Sub": "-", "Mul": "*", "FloorDiv": "//", "FloorMod": "%"}
_SIGNS |= {"Min": "min", "Max": "max"}
