# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Newer name of :py:mod:`tvm.arith`."""

import sys

from . import arith

sys.modules[__name__] = arith
