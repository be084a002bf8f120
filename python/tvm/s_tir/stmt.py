# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Blocks, under the name of this dialect."""

from tvm.tirx import MatchBufferRegion, SBlock, SBlockRealize, TensorIntrin

__all__ = ["MatchBufferRegion", "SBlock", "SBlockRealize", "TensorIntrin"]
