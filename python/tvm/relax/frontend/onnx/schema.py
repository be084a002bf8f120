# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""What ONNX's own operator table says of a node: how many operands, their types, its attributes."""

from __future__ import annotations

import functools
from typing import NamedTuple

_TENSOR = "tensor({})"
_TYPE_NAMES = {"float16": "float16", "float32": "float", "float64": "double"}


class Operand(NamedTuple):
    """A formal operand: its name, its type variable and the element types it takes."""

    name: str
    variable: str
    types: frozenset[str]


class Signature(NamedTuple):
    """What may be checked before a node is converted."""

    inputs: tuple[Operand, ...]
    least: int
    most: int
    outputs: int
    variadic: bool
    heterogeneous: bool
    attributes: dict[str, int]


@functools.cache
def signature(op: str, version: int, domain: str) -> Signature | None:
    """Signature of an operator; None where ONNX has none, as for operators of other domains."""
    import onnx

    try:
        schema = onnx.defs.get_schema(op, version, domain)
    except onnx.defs.SchemaError:
        return None
    inputs = tuple(Operand(i.name, i.type_str, frozenset(i.types)) for i in schema.inputs)
    last = schema.inputs[-1] if schema.inputs else None
    variadic = last is not None and last.option == onnx.defs.OpSchema.FormalParameterOption.Variadic
    return Signature(
        inputs,
        schema.min_input,
        schema.max_input,
        schema.max_output,
        variadic,
        variadic and not last.is_homogeneous,
        {name: int(a.type.value) for name, a in schema.attributes.items()},
    )


def type_name(dtype: str) -> str:
    """ONNX's name for a tensor of an element type."""
    return _TENSOR.format(_TYPE_NAMES.get(dtype, dtype))


def problem(node) -> str | None:
    """What is wrong with a node's operands or attributes; None when nothing is.

    Args:
        node: The :class:`Node`, its inputs converted.
    """
    known = signature(node.op, node.version, node.domain)
    if known is None:
        return None
    count = len(node.inputs)
    while count and node.inputs[count - 1] is None:
        count -= 1
    if not known.least <= count <= known.most:
        wanted = str(known.least)
        if known.most != known.least:
            wanted += " or more" if known.variadic else f" to {known.most}"
        return f"expected {wanted} inputs, found {count}"
    if len(node.proto.output) > known.outputs:
        return f"expected at most {known.outputs} outputs, found {len(node.proto.output)}"
    return _attribute_problem(node, known) or _type_problem(node, known)


def _attribute_problem(node, known: Signature) -> str | None:
    from onnx import AttributeProto

    seen = set()
    for attribute in node.proto.attribute:
        if attribute.name in seen:
            return f"the attribute {attribute.name!r} is given twice"
        seen.add(attribute.name)
        wanted = known.attributes.get(attribute.name)
        if wanted is None or attribute.type == wanted or attribute.ref_attr_name:
            continue
        names = AttributeProto.AttributeType.Name
        found = names(attribute.type)
        return f"the attribute {attribute.name!r} must be of type {names(wanted)}, found {found}"
    return None


def _type_problem(node, known: Signature) -> str | None:
    bound: dict[str, tuple[int, str]] = {}
    for i, value in enumerate(node.inputs):
        if value is None:
            continue
        formal = known.inputs[min(i, len(known.inputs) - 1)]
        dtype = node.dtype_or_none(i)
        if dtype is None:
            continue
        found = type_name(dtype)
        if formal.types and found not in formal.types:
            takes = ", ".join(sorted(t for t in formal.types if t.startswith("tensor(")))
            return f"input {i} ({formal.name}) must be one of {takes}; found {found}"
        if known.heterogeneous and i >= len(known.inputs) - 1:
            continue
        first = bound.setdefault(formal.variable, (i, found))
        if first[1] != found:
            return f"inputs {first[0]} and {i} must have one type, found {first[1]} and {found}"
    return None
