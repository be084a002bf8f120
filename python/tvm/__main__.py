# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""``python -m tvm``: the command line."""

import sys

from tvm.cli import main

sys.exit(main())
