# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Registry of tensor intrinsics: what an instruction computes, and how it is written.

>>> from tvm.s_tir import tensor_intrin
>>> tensor_intrin.get("no such intrinsic", allow_missing=True) is None
True
"""

from tvm.tirx import TensorIntrin

register = TensorIntrin.register
get = TensorIntrin.get

__all__ = ["TensorIntrin", "get", "register"]
