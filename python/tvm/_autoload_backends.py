# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Another name of :py:mod:`tvm.backend._autoload_backends`."""

import sys

from tvm.backend import _autoload_backends

sys.modules[__name__] = _autoload_backends
