# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Primitive functions and what goes with them."""

from __future__ import annotations

import inspect

import tvm_ffi
from tvm.ir import BaseFunc, DictAttrs, Range, TupleType, Var
from tvm.runtime.scriptable import Scriptable
from tvm_ffi import Object, register_object

from . import _ffi_api


@register_object("tirx.PrimFunc")
class PrimFunc(BaseFunc, Scriptable):
    """Function on scalars, pointers and buffers.

    Args:
        params: Parameters; a buffer parameter is a variable of buffer type.
        body: Body.
        ret_type: Type of the result; None means void.
        attrs: Attributes.
    """

    def __init__(self, params, body, ret_type=None, buffer_map=None, attrs=None, span=None):
        if buffer_map:
            params = [buffer_map.get(param, param) for param in params]
        if ret_type is None:
            ret_type = TupleType([])
        if attrs is not None and not isinstance(attrs, DictAttrs):
            attrs = DictAttrs(attrs)
        self.__init_handle_by_constructor__(
            _ffi_api.PrimFunc, list(params), body, ret_type, attrs, span
        )

    @property
    def buffer_map(self) -> dict:
        """Buffer parameters, each mapped to itself; older code looks buffers up here."""
        from .buffer import is_buffer

        return {param: param for param in self.params if is_buffer(param)}

    def with_body(self, new_body, span=None) -> PrimFunc:
        """Copy with another body."""
        return _ffi_api.PrimFuncWithBody(self, new_body)

    def specialize(self, param_map) -> PrimFunc:
        """Copy with some parameters fixed.

        Args:
            param_map: Parameter -> expression or buffer.

        Raises:
            ValueError: A buffer does not fit the parameter.
        """
        return _ffi_api.Specialize(self, tvm_ffi.Map(list(param_map.items())))


@register_object("tirx.TensorIntrin")
class TensorIntrin(Object):
    """What a hardware instruction computes, and how to emit it.

    Args:
        desc: Function that describes the computation.
        impl: Function that runs it.
    """

    def __init__(self, desc: PrimFunc, impl: PrimFunc) -> None:
        self.__init_handle_by_constructor__(_ffi_api.TensorIntrin, desc, impl)

    @staticmethod
    def register(name: str, desc: PrimFunc, impl: PrimFunc, override: bool = False) -> None:
        """Make it known by name."""
        _ffi_api.TensorIntrinRegister(name, TensorIntrin(desc, impl), override)

    @staticmethod
    def get(name: str, allow_missing: bool = False) -> TensorIntrin | None:
        """Look up by name."""
        return _ffi_api.TensorIntrinGet(name, allow_missing)


@register_object("tirx.IndexMap")
class IndexMap(Object, Scriptable):
    """Rule that turns indices into other indices.

    Args:
        initial_indices: Variables.
        final_indices: Expressions of them.
        inverse_index_map: Rule back, if it cannot be derived.
    """

    AXIS_SEPARATOR = "axis_separator"

    def __init__(self, initial_indices, final_indices, inverse_index_map=None) -> None:
        self.__init_handle_by_constructor__(
            _ffi_api.IndexMap, list(initial_indices), list(final_indices), inverse_index_map
        )

    @staticmethod
    def from_func(
        mapping_function, ndim=None, inverse_index_map=None, *, index_dtype="int64"
    ) -> IndexMap:
        """Make a map of a Python function on indices.

        Args:
            mapping_function: ``fn(i, j, ..) -> list of indices``.
            ndim: Number of indices, if the function takes ``*args``.
            inverse_index_map: Function or map back.
            index_dtype: Data type of the indices.
        """
        params = inspect.signature(mapping_function).parameters
        names = []
        variadic = None
        for name, param in params.items():
            if param.kind in (param.POSITIONAL_ONLY, param.POSITIONAL_OR_KEYWORD):
                names.append(name)
            elif param.kind is param.VAR_POSITIONAL:
                variadic = name
            else:
                raise ValueError("transform_layout mapping may not have *args, **kwargs keywords")
        if variadic is not None:
            if ndim is None:
                raise ValueError("ndim must be specified when *args is used")
            names += [f"{variadic}_{i}" for i in range(ndim - len(names))]
        variables = [Var(name, index_dtype) for name in names]
        result = mapping_function(*variables)
        if not isinstance(result, (list, tuple)) and type(result).__name__ != "Array":
            result = [result]
        if callable(inverse_index_map) and not isinstance(inverse_index_map, IndexMap):
            inverse_index_map = IndexMap.from_func(inverse_index_map, index_dtype=index_dtype)
        return IndexMap(variables, list(result), inverse_index_map)

    def is_equivalent_to(self, other_map: IndexMap, analyzer=None) -> bool:
        """True if both map every index alike."""
        if len(self.initial_indices) != len(other_map.initial_indices):
            return False
        if len(self.final_indices) != len(other_map.final_indices):
            return False
        from tvm.arith import Analyzer

        analyzer = analyzer or Analyzer()
        mapped = other_map.map_indices(list(self.initial_indices), analyzer)
        return all(
            analyzer.can_prove_equal(mine, theirs)
            for mine, theirs in zip(self.final_indices, mapped)
        )

    def map_indices(self, indices, analyzer=None):
        """Indices after the map."""
        return _ffi_api.IndexMapMapIndices(self, list(indices), analyzer)

    def map_shape(self, shape, analyzer=None):
        """Extents after the map."""
        return _ffi_api.IndexMapMapShape(self, list(shape), analyzer)

    def map_tensor(self, arr_src):
        """Tensor with its elements moved."""
        return _ffi_api.IndexMapMapTensor(self, arr_src)

    def inverse(self, shape, analyzer=None) -> IndexMap:
        """Map back, for indices of a shape.

        Raises:
            ValueError: The map is no bijection.
        """
        return _ffi_api.IndexMapInverse(self, _ranges(shape), analyzer)

    def non_surjective_inverse(self, shape, analyzer=None):
        """Map back and the condition that an index comes from somewhere."""
        return tuple(_ffi_api.IndexMapNonSurjectiveInverse(self, _ranges(shape), analyzer))


def _ranges(shape) -> list:
    return [dim if isinstance(dim, Range) else Range(0, dim) for dim in shape]
