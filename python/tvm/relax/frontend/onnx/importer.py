# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Walks an ONNX graph and builds the Relax function."""

from __future__ import annotations

import math
import operator
import os
import re

import numpy as np

from . import convert_math, convert_nn, convert_quant, convert_reduce, convert_shape  # noqa: F401
from .fold import fold
from .mapped import MappedModel
from .node import Node, _not_implemented, find_converter, plain
from .schema import problem


def from_onnx(
    model,
    shape_dict: dict | None = None,
    dtype_dict: str | dict = "float32",
    opset: int | None = None,
    keep_params_in_input: bool = False,
    sanitize_input_names: bool = True,
):
    """Import an ONNX model.

    Args:
        model: ``onnx.ModelProto``, or the path of a file, whose weights then stay in it until they
            are packed. Such a file must not be shortened while the result is in use.
        shape_dict: Extents by input name; they replace what the model says.
        dtype_dict: Element type of inputs that state none, for all or by name.
        opset: Version of the default domain; by default the model's.
        keep_params_in_input: Keep the weights as parameters of ``main``; their values go to its
            attribute ``params`` (see ``relax.frontend.detach_params``).
        sanitize_input_names: Make input names valid identifiers.

    Returns:
        IRModule with the function ``main``; its attributes tell ``num_input`` and ``output_names``.

    Raises:
        tvm.error.OpNotImplemented: Operators, attributes or values that are not supported; all
            unsupported operators are named at once.
        ValueError: The model is inconsistent, or an argument does not fit it.
    """
    mapped = None
    if isinstance(model, (str, os.PathLike)):
        model = MappedModel(model)
    if isinstance(model, MappedModel):
        mapped, model = model, model.proto
    if not hasattr(model, "graph") or not hasattr(model, "opset_import"):
        raise TypeError(
            f"from_onnx expects an onnx.ModelProto or a path, got {type(model).__name__}"
        )
    if model.ir_version and model.ir_version < 3:
        raise ValueError(f"ONNX IR version {model.ir_version} is too old; 3 or newer is expected")
    if not model.graph.output:
        raise ValueError("the model's graph has no outputs")
    versions = {("" if o.domain == "ai.onnx" else o.domain): o.version for o in model.opset_import}
    if opset is not None:
        versions[""] = opset
    _check_version(versions.get("", 1))
    if model.functions:
        raise _unsupported([f"{f.domain}.{f.name} (model-local function)" for f in model.functions])
    missing = sorted(_unsupported_ops(model.graph, versions))
    if missing:
        raise _unsupported(missing)
    importer = GraphImporter(versions, keep_params_in_input, mapped)
    return importer.build(model.graph, shape_dict or {}, dtype_dict, sanitize_input_names)


def _unsupported(names):
    from tvm.error import OpNotImplemented

    return OpNotImplemented(
        "The following operators are not supported for frontend ONNX: " + ", ".join(names)
    )


def _unsupported_ops(graph, versions) -> set[str]:
    found = set()
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                found |= _unsupported_ops(attribute.g, versions)
        domain = "" if node.domain == "ai.onnx" else node.domain
        name = f"{domain}.{node.op_type}" if domain else node.op_type
        if domain not in versions:
            if domain:
                found.add(name)
                continue
            versions.setdefault("", 1)
        known = node.op_type in ("If", "Constant") and not domain
        if not known and find_converter(domain, node.op_type, versions[domain]) is None:
            found.add(name)
    return found


class GraphImporter:
    """Builds ``main`` out of a graph, subgraphs included.

    Values are numpy arrays as long as they are known, so that shapes computed from shapes and
    constants cost nothing in the compiled model.
    """

    def __init__(self, versions: dict[str, int], keep_params: bool, mapped=None) -> None:
        from tvm import relax

        self.relax = relax
        self.versions = versions
        self.keep_params = keep_params
        self.mapped = mapped
        self.bb = relax.BlockBuilder()
        self.env: dict[str, object] = {}
        self._exprs: dict[int, tuple] = {}  # constants made expressions once, by identity

    # ---- values ----
    def array(self, tensor) -> np.ndarray:
        """Numpy array of a TensorProto.

        Raises:
            ValueError: The data is external, or its size does not fit the shape.
        """
        from onnx import TensorProto, numpy_helper

        if tensor.data_location == TensorProto.EXTERNAL:
            raise ValueError(
                f"tensor {tensor.name!r} has its data outside of the model; load it with onnx.load"
            )
        if any(e < 0 for e in tensor.dims):
            raise ValueError(f"tensor {tensor.name!r} has the shape {list(tensor.dims)}")
        if tensor.data_type == TensorProto.STRING:
            raise ValueError(f"tensor {tensor.name!r} holds strings, which are not supported")
        try:
            return numpy_helper.to_array(tensor)
        except Exception as err:
            raise ValueError(
                f"tensor {tensor.name!r} of shape {list(tensor.dims)} is damaged: {err}"
            ) from None

    def as_expr(self, value):
        """A value as an expression."""
        if not isinstance(value, np.ndarray):
            return value
        found = self._exprs.get(id(value))
        if found is None:
            tensor = self.mapped.tensor(value) if self.mapped is not None else None
            if tensor is None:
                tensor = np.ascontiguousarray(value).reshape(value.shape)
            found = (value, self.relax.const(tensor))
            self._exprs[id(value)] = found
        return found[1]

    def dtype_of(self, expr) -> str:
        return str(expr.ty.dtype.dtype)

    def static_shape(self, value, node) -> list[int]:
        if isinstance(value, np.ndarray):
            return list(value.shape)
        extents = self.extents(value)
        if extents is None or any(not isinstance(e, int) for e in extents):
            shown = "unknown" if extents is None else ", ".join(map(plain, extents))
            node.fail(
                f"needs static extents, but an input has the shape ({shown}); "
                "give them by shape_dict",
                _not_implemented(),
            )
        return extents

    def extents(self, expr) -> list | None:
        """Extents of an expression: ints, or scalar expressions for open ones."""
        shape = getattr(expr.ty, "shape", None)
        values = getattr(shape, "values", None)
        if values is None:
            return None
        return [int(v.value) if hasattr(v, "value") else v for v in values]

    def emit(self, expr):
        return self.bb.emit(expr)

    # ---- graph ----
    def build(self, graph, shape_dict, dtype_dict, sanitize):
        weights = {t.name: t for t in graph.initializer}
        if len(weights) != len(graph.initializer):
            raise ValueError("the graph has two initializers of the same name")
        inputs = [i for i in graph.input if i.name not in weights]
        unknown = sorted(set(shape_dict) - {i.name for i in graph.input})
        if unknown:
            raise ValueError(
                f"shape_dict names {unknown}; the model's inputs are {[i.name for i in inputs]}"
            )
        params, symbols = [], {}
        for info in inputs:
            if info.name in self.env:
                raise ValueError(f"the graph has two inputs called {info.name!r}")
            var = self.input_var(info, shape_dict, dtype_dict, sanitize, symbols, params)
            self.env[info.name] = var
            params.append(var)
        num_input, kept = len(params), []
        for index, tensor in enumerate(graph.initializer):
            value = self.mapped.initializer(index) if self.mapped is not None else None
            if value is None:
                value = self.array(tensor)
            if self.keep_params:
                ty = self.relax.TensorType(list(value.shape), str(value.dtype))
                var = self.relax.Var(_identifier(tensor.name, sanitize), ty)
                params.append(var)
                kept.append(value)
                self.env[tensor.name] = var
            else:
                self.env[tensor.name] = value
        attrs = {"num_input": num_input, "output_names": [o.name for o in graph.output]}
        if self.keep_params:
            import tvm

            attrs["params"] = [tvm.runtime.tensor(np.ascontiguousarray(v)) for v in kept]
        with self.bb.function("main", params, attrs=attrs):
            if any(n.op_type == "If" for n in graph.node):
                self.run_nodes(graph.node)
                result = self.result(graph, lambda e: self.bb.emit(e))
            else:
                with self.bb.dataflow():
                    self.run_nodes(graph.node)
                    result = self.result(graph, lambda e: self.bb.emit_output(e))
            self.bb.emit_func_output(result)
        return self.bb.get()

    def result(self, graph, emit):
        values = []
        for info in graph.output:
            if info.name not in self.env:
                raise ValueError(f"the graph's output {info.name!r} is computed by no node")
            values.append(emit(self.as_expr(self.env[info.name])))
        return values[0] if len(values) == 1 else self.relax.Tuple(values)

    def input_var(self, info, shape_dict, dtype_dict, sanitize, symbols, taken):

        if info.type.WhichOneof("value") != "tensor_type":
            raise _unsupported([f"input {info.name!r} of kind {info.type.WhichOneof('value')}"])
        tensor = info.type.tensor_type
        if tensor.elem_type:
            dtype = _element_type(info.name, tensor.elem_type)
        else:
            dtype = dtype_dict if isinstance(dtype_dict, str) else dtype_dict.get(info.name)
        name = _identifier(info.name, sanitize)
        while any(p.name == name for p in taken):
            name += "_"
        if info.name in shape_dict:
            given = _given_shape(info.name, shape_dict[info.name])
            if tensor.HasField("shape") and len(given) != len(tensor.shape.dim):
                raise ValueError(
                    f"input {info.name!r} has rank {len(tensor.shape.dim)}, "
                    f"but shape_dict gives {given}"
                )
            for extent, dim in zip(given, tensor.shape.dim):
                fixed = dim.HasField("dim_value") and dim.dim_value > 0
                if fixed and isinstance(extent, int) and extent != dim.dim_value:
                    raise ValueError(
                        f"input {info.name!r}: shape_dict gives {given}, but the model fixes "
                        f"{[d.dim_value or d.dim_param for d in tensor.shape.dim]}"
                    )
            extents = given
        elif tensor.HasField("shape"):
            if any(d.dim_value < -1 for d in tensor.shape.dim):
                found = [d.dim_param or d.dim_value for d in tensor.shape.dim]
                raise ValueError(
                    f"input {info.name!r}: expected extents of at least 0, or -1 for an open one, "
                    f"found {found}"
                )
            extents = [self.extent(d, symbols) for d in tensor.shape.dim]
        else:
            raise ValueError(f"input {info.name!r} states no shape; give it by shape_dict")
        return self.relax.Var(name, self.relax.TensorType(extents, dtype))

    def extent(self, dim, symbols):
        if dim.HasField("dim_value") and dim.dim_value >= 0:
            return dim.dim_value
        from tvm import tirx

        if dim.dim_param in ("", "?"):  # unlike all others
            return symbols.setdefault(len(symbols), tirx.Var(f"d{len(symbols)}", "int64"))
        name = re.sub(r"\W", "_", dim.dim_param)
        return symbols.setdefault(dim.dim_param, tirx.Var(name, "int64"))

    def run_nodes(self, nodes) -> None:
        for proto in nodes:
            try:
                self.run_node(proto)
            except Exception as err:
                named = _named(err, proto)
                if named is err:
                    raise
                raise named from err

    def run_node(self, proto) -> None:
        inputs = []
        for name in proto.input:
            if name and name not in self.env:
                raise ValueError(f"reads {name!r}, which no node before it computes")
            inputs.append(self.env[name] if name else None)
        domain = "" if proto.domain == "ai.onnx" else proto.domain
        node = Node(proto, inputs, self.versions[domain], self)
        if (wrong := problem(node)) is not None:
            node.fail(wrong)
        if proto.op_type == "If" and not domain:
            outputs = self.convert_if(node)
        elif proto.op_type == "Constant" and not domain:
            outputs = [_constant(node)]
        else:
            outputs = (
                fold(node) if all(v is None or isinstance(v, np.ndarray) for v in inputs) else None
            )
            if outputs is None:
                converter = find_converter(domain, proto.op_type, self.versions[domain])
                outputs = converter(node)
        node.check_consumed()
        if not isinstance(outputs, (list, tuple)):
            outputs = [outputs]
        wanted = [o for o in proto.output if o]
        if len(outputs) < len(wanted):
            node.fail(
                f"{len(wanted)} outputs are read, only {len(outputs)} are supported",
                _not_implemented(),
            )
        for name, value in zip(proto.output, outputs):
            if name in self.env and name:
                node.fail(f"its output {name!r} is the name of another value")
            if name:
                self.env[name] = value if isinstance(value, np.ndarray) else self.named(value)
                self.check_size(node, self.env[name])

    def check_size(self, node: Node, value) -> None:
        """Refuse results that no memory can hold before something multiplies their extents."""
        extents = value.shape if isinstance(value, np.ndarray) else self.extents(value)
        known = [e for e in extents or () if isinstance(e, int)]
        shape = f"its result would have the shape ({', '.join(map(plain, extents or ()))})"
        if any(e < 0 for e in known):
            node.fail(f"{shape}, but an extent is at least 0")
        if math.prod(e for e in known if e) >= 1 << 60:
            node.fail(f"{shape}, which no memory can hold")

    def named(self, expr):
        return expr if isinstance(expr, self.relax.Var) else self.bb.emit(expr)

    # ---- control flow ----
    def convert_if(self, node: Node):
        condition = node.value(0)
        then_graph, else_graph = node.attr("then_branch"), node.attr("else_branch")
        if isinstance(condition, np.ndarray):
            chosen = then_graph if bool(condition.reshape(-1)[0]) else else_graph
            return self.inline(chosen)
        if self.static_shape(condition, node):
            condition = self.bb.emit(self.relax.op.reshape(condition, []))
        branches = [self.branch(then_graph), self.branch(else_graph)]
        count = len(then_graph.output)
        result = self.bb.emit(self.relax.If(condition, *branches))
        if count == 1:
            return [result]
        return [self.bb.emit(self.relax.TupleGetItem(result, i)) for i in range(count)]

    def inline(self, graph):
        saved = dict(self.env)
        for tensor in graph.initializer:
            self.env[tensor.name] = self.array(tensor)
        self.run_nodes(graph.node)
        outputs = [self.env[o.name] for o in graph.output]
        self.env = saved
        return outputs

    def branch(self, graph):
        api = self.relax._ffi_api
        api.BlockBuilderBeginInnerScope(self.bb)
        api.BlockBuilderBeginBindingBlock(self.bb)
        outputs = [self.bb.emit(self.as_expr(v)) for v in self.inline(graph)]
        result = outputs[0] if len(outputs) == 1 else self.bb.emit(self.relax.Tuple(outputs))
        block = api.BlockBuilderEndBlock(self.bb)
        api.BlockBuilderEndScope(self.bb)
        return self.relax.SeqExpr([block], result)


def _constant(node: Node):
    for name, dtype in (
        ("value", None),
        ("value_float", np.float32),
        ("value_floats", np.float32),
        ("value_int", np.int64),
        ("value_ints", np.int64),
    ):
        value = node.attr(name, None)
        if value is not None:
            return np.asarray(value, dtype)
    node.fail("only dense numeric values are supported", _not_implemented())


def _given_shape(name: str, shape) -> list:
    """Extents that the caller gave: integers of at least 0, or scalar expressions."""
    from tvm.ir import Expr

    try:
        extents = [e if isinstance(e, Expr) else operator.index(e) for e in shape]
    except TypeError:
        raise TypeError(
            f"input {name!r}: expected a list of integers in shape_dict, got {shape!r}"
        ) from None
    if any(not isinstance(e, Expr) and not 0 <= e < 1 << 63 for e in extents):
        raise ValueError(f"input {name!r}: expected extents of at least 0, got {shape!r}")
    return extents


def _identifier(name: str, sanitize: bool) -> str:
    if not sanitize:
        return name
    clean = re.sub(r"\W", "_", name)
    return clean if re.match(r"[A-Za-z_]", clean) else "input_" + clean


def _named(err: Exception, proto) -> Exception:
    """The error with a text that names the node, of the same kind.

    What a malformed node makes python itself complain of (a missing key, a division by zero, a
    number that does not fit) is a wrong value.
    """
    if getattr(err, "onnx_node", None) is not None:
        return err
    lapse = isinstance(err, (LookupError, ArithmeticError, AttributeError))
    kind = ValueError if lapse or isinstance(err, UnicodeError) else type(err)
    out = next((o for o in proto.output if o), "")
    label = f"{proto.op_type} node {proto.name or out!r}"
    text = str(err)
    if kind is type(err) and text.startswith(label):
        err.onnx_node = label
        return err
    try:
        named = kind(text if text.startswith(label) else f"{label}: {text}")
    except Exception:  # a kind with a constructor of its own
        return err
    named.onnx_node = label
    return named


def _check_version(version: int) -> None:
    """Refuse versions of the standard operators that cannot be interpreted."""
    import onnx

    newest = onnx.defs.onnx_opset_version()
    if not 1 <= version <= newest:
        raise ValueError(
            f"opset {version} is not known; expected 1 to {newest}, the newest of the installed "
            "onnx package"
        )


def _element_type(name: str, number: int) -> str:
    """Element type of an input, by its number in the file."""
    import onnx

    names = onnx.TensorProto.DataType
    if number not in names.values():
        raise ValueError(f"input {name!r} has the element type {number}, which does not exist")
    dtype = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(number))
    if dtype.hasobject or dtype.kind == "c":
        raise _unsupported([f"input {name!r} of the element type {names.Name(number)}"])
    return str(dtype)
