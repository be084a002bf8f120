# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Values of a script that make a binding of their own kind when they are assigned."""

from __future__ import annotations


class MatchCastPair:
    """A value to be checked against a type; assigning it makes a MatchCast."""

    def __init__(self, value, ty) -> None:
        self.value = value
        self.ty = ty


def match_cast(value, ty) -> MatchCastPair:
    """Check at run time that a value is of a type; symbols new in the type are defined by it.

    Args:
        value: The value.
        ty: The type.

    Raises:
        TypeError: One of the two is missing.
    """
    if value is None:
        raise TypeError("value of match_cast cannot be None")
    if ty is None:
        raise TypeError("ty of match_cast cannot be None")
    return MatchCastPair(value, ty)
