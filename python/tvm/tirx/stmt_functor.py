# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Older home of the traversals; see :py:mod:`tvm.tirx.functor`."""

from .functor import ir_transform, post_order_visit, pre_order_visit, renew_defs, substitute

__all__ = ["ir_transform", "post_order_visit", "pre_order_visit", "renew_defs", "substitute"]
