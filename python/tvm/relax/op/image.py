# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Operators ``relax.image.*``, made from the operator table."""

from ._table import make_getattr

__getattr__, __dir__ = make_getattr("image.", globals())
