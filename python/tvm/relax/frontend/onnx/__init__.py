# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""ONNX models as Relax modules.

``from_onnx`` maps each node to rows of the operator table by domain, operator and version. Nothing is
guessed: unsupported operators are named in one error before anything is built, and an attribute that
a converter did not look at is an error too.
"""

from .importer import from_onnx

__all__ = ["from_onnx"]
