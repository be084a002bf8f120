# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Error classes; each is also an error kind of the C++ side."""

from tvm_ffi import register_error

__all__ = [
    "DiagnosticError",
    "InternalError",
    "OpAttributeInvalid",
    "OpAttributeRequired",
    "OpAttributeUnImplemented",
    "OpError",
    "OpNotImplemented",
    "RPCError",
    "RPCSessionTimeoutError",
    "register_error",
]


@register_error
class InternalError(RuntimeError):
    """A check inside the compiler or runtime failed: a bug on our side."""


@register_error
class RPCError(RuntimeError):
    """A remote call failed."""


@register_error
class RPCSessionTimeoutError(RPCError, TimeoutError):
    """A remote session passed its time limit."""


@register_error
class OpError(RuntimeError):
    """An operator of a model cannot be handled."""


@register_error
class OpNotImplemented(OpError, NotImplementedError):
    """An operator is not supported."""


@register_error
class OpAttributeRequired(OpError, AttributeError):
    """An operator lacks a required attribute."""


@register_error
class OpAttributeInvalid(OpError, AttributeError):
    """An operator's attribute has a value it cannot have."""


@register_error
class OpAttributeUnImplemented(OpError, NotImplementedError):
    """An operator's attribute has a value that is not supported."""


@register_error
class DiagnosticError(RuntimeError):
    """Source text was refused; the message shows where."""
