# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Operators ``relax.nn.*``, made from the operator table."""

from ._special import attention, relu6  # noqa: F401
from ._table import make_getattr

__getattr__, __dir__ = make_getattr("nn.", globals())
