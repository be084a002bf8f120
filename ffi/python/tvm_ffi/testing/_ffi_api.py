# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Global functions ``testing.*``."""

from ..registry import init_ffi_api

init_ffi_api("testing", __name__)
