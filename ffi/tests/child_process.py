# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""What tests need to start another interpreter. The conftest files put this folder on the path."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def python_environment(*first: str | Path, **extra: str) -> dict[str, str]:
    """Environment in which an interpreter finds the packages that this one finds.

    Args:
        first: Folders that are searched before all others.
        extra: Further variables.
    """
    paths = [*map(str, first), *(path for path in sys.path if path)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **extra}
