# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""The parser, free of dialects: source, names, evaluation, dispatch, diagnostics."""

from . import diagnostics, dispatch, entry, evaluator, parser, scope, source
