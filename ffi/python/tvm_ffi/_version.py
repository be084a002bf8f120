# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Version of the package, equal to the C ABI version in c_api.h."""

__version__ = "0.1.16"
__version_tuple__ = (0, 1, 16)
