# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Generator of type stubs from the FFI registries; see ``cli.py``."""
