# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Schedulable TIR: functions made of blocks."""

from tvm._lazy import attach as _attach

__getattr__, __dir__ = _attach(__name__, globals(), modules=("transform",))
