# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Importers: models of other systems as Relax modules."""

from .common import detach_params

__all__ = ["detach_params"]
