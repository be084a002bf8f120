# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Targets: what to compile for."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping

from tvm_ffi import Device, Object, register_object

from . import _ffi_api


@register_object("target.TargetKind")
class TargetKind(Object):
    """Kind of a target, e.g. ``llvm``."""

    @property
    def options(self):
        """Options of the kind: name -> type."""
        return dict(_ffi_api.ListTargetKindOptions(self).items())

    @staticmethod
    def options_from_name(kind_name: str):
        """Options of a kind given by name."""
        return dict(_ffi_api.ListTargetKindOptionsFromName(kind_name).items())


class TargetFeatures:
    """Features of a target as attributes; one that is not set is None."""

    def __init__(self, target: Target) -> None:
        self._target = target

    def __getattr__(self, name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        return _ffi_api.TargetGetFeature(self._target, name)


@register_object("target.Target")
class Target(Object):
    """What to compile for.

    Args:
        target: Kind name, tag, JSON text, dict with ``kind`` and options, or a Target.
        host: Target of the host code.

    Raises:
        ValueError: The kind or an option is unknown.

    Example:
        >>> Target({"kind": "llvm", "mcpu": "native"})
    """

    def __init__(self, target, host=None) -> None:
        if host is not None and not isinstance(host, (Mapping, str, Target)):
            raise ValueError(f"target host has to be a string, dictionary or Target, got {host!r}")
        if host is not None:
            self.__init_handle_by_constructor__(_ffi_api.Target, Target(target), Target(host))
            return
        if isinstance(target, Mapping):
            target = _plain(target)
        if not isinstance(target, (dict, str, Target)):
            raise ValueError(f"target has to be a string, dictionary or Target, got {target!r}")
        self.__init_handle_by_constructor__(_ffi_api.Target, target, None)

    def __enter__(self) -> Target:
        _ffi_api.EnterTargetScope(self)
        return self

    def __exit__(self, *exc_info) -> None:
        _ffi_api.ExitTargetScope(self)

    def __eq__(self, other):
        if not isinstance(other, Target):
            return NotImplemented
        return self.same_as(other) or str(self) == str(other)

    def __ne__(self, other):
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    def __hash__(self):
        return hash(str(self))

    def __str__(self) -> str:
        return str(_ffi_api.TargetStr(self))

    def __repr__(self) -> str:
        return f"Target({str(self)})"

    def __reduce__(self):
        return (Target, (json.loads(str(self)),))

    def export(self):
        """Complete configuration as a dict; ``Target(t.export()) == t``."""
        return _ffi_api.TargetExport(self)

    def with_host(self, host=None) -> Target:
        """Copy with a target for the host code."""
        return _ffi_api.WithHost(self, host if isinstance(host, Target) else Target(host))

    @staticmethod
    def current(allow_none: bool = True) -> Target | None:
        """Innermost target of this thread.

        Raises:
            ValueError: There is none and `allow_none` is false.
        """
        found = _ffi_api.TargetCurrent(True)
        if found is None and not allow_none:
            raise ValueError("there is no current target; enter one: with Target(...):")
        return found

    @property
    def features(self) -> TargetFeatures:
        """Features, e.g. ``target.features.has_sve``."""
        return TargetFeatures(self)

    def get_kind_attr(self, attr_name: str):
        """Attribute of the kind."""
        return _ffi_api.TargetKindGetAttr(self.kind, attr_name)

    def get_target_device_type(self) -> int:
        """DLPack type of the device that runs the code."""
        return _ffi_api.TargetGetDeviceType(self)

    def __getattr__(self, name: str):
        if name.startswith("_"):
            raise AttributeError(name)
        attrs = self.attrs
        key = name if name in attrs else name.replace("_", "-")
        if key in attrs:
            return attrs[key]
        if name in _OPTIONAL:
            return _OPTIONAL[name]
        raise AttributeError(f"target {self.kind.name} has no attribute {name!r}")

    @staticmethod
    def list_kinds() -> list[str]:
        """Names of the known kinds."""
        return list(_ffi_api.ListTargetKinds())

    @staticmethod
    def target_or_current(target) -> Target:
        """The target, or the current one if it is None."""
        if target is None:
            target = Target.current()
        if target is None:
            raise ValueError("Target is not set in env or passed as argument.")
        return target if isinstance(target, Target) else Target(target)

    @staticmethod
    def from_device(device) -> Target:
        """Target that fits a device of this machine."""
        from tvm.runtime import device as make

        return _ffi_api.TargetFromDevice(device if isinstance(device, Device) else make(device))

    @staticmethod
    def canon_target_and_host(target, host=None):
        """Target that has a host, and the host."""
        if target is None:
            return None, None
        target = Target(target) if host is None else Target(target, host)
        return target, target.host

    @staticmethod
    def canon_target(target) -> Target | None:
        """Target of what makes one."""
        return None if target is None else Target(target)


# Attributes that every target answers, with the value of those that do not set them.
_OPTIONAL: dict = {
    "model": "unknown",
    "mcpu": "",
    "mattr": (),
    "mtriple": "",
    "arch": "",
    "max_num_threads": 1,
    "max_threads_per_block": 1,
    "max_block_size_x": 1,
    "max_block_size_y": 1,
    "thread_warp_size": 1,
    "max_shared_memory_per_block": 0,
    "libs": (),
    "supports_cooperative_matrix": False,
}


def _plain(value):
    """Config with nested targets as dicts and sequences as lists."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


def tag_list():
    """Names and targets of the registered tags."""
    return _ffi_api.TargetTagListTags()


list_tags = tag_list


def register_tag(name: str, config: dict, override: bool = False) -> Target:
    """Make a configuration known by a name."""
    return _ffi_api.TargetTagAddTag(name, _plain(config), override)


def create(target) -> Target:
    """Older name of the constructor."""
    warnings.warn("tvm.target.create() is replaced by tvm.target.Target()", stacklevel=2)
    return Target(target)
