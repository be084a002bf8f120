# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""The virtual machine that runs compiled Relax modules."""

from __future__ import annotations

import json
from enum import IntEnum

import tvm_ffi

from ._tensor import tensor
from .device import Device
from .executable import Executable
from .module import BenchmarkResult, Module


class VMExecutable(Executable):
    """Compiled Relax module: bytecode, constants and kernels."""

    def stats(self) -> str:
        """Counts of functions, instructions and constants."""
        return self.mod["stats"]()

    def as_text(self) -> str:
        """Bytecode as readable text."""
        return self.mod["as_text"]()

    def as_python(self) -> str:
        """Bytecode as Python code that would build it."""
        return self.mod["as_python"]()


class VMInstrumentReturnKind(IntEnum):
    """What an instrument may answer before a call."""

    NO_OP = 0
    SKIP_RUN = 1


class VirtualMachine:
    """Runs the functions of a compiled module on devices.

    Args:
        rt_mod: Executable or its module, or one loaded from a library.
        device: Device, or one device per slot; the CPU is added last for shape work.
        memory_cfg: Allocator per device: ``"naive"`` or ``"pooled"`` for all, or a dict.
        profile: Use the profiling machine.
    """

    NAIVE_ALLOCATOR = 1
    POOLED_ALLOCATOR = 2

    def __init__(
        self,
        rt_mod: Module | Executable,
        device: Device | list[Device],
        memory_cfg: str | dict[Device, str] | None = None,
        profile: bool = False,
    ) -> None:
        if isinstance(rt_mod, Executable):
            rt_mod = rt_mod.jit()
        loader = "vm_profiler_load_executable" if profile else "vm_load_executable"
        if not rt_mod.implements_function(loader, True):
            raise ValueError(
                f"expected a compiled Relax module with {loader}, got one of kind {rt_mod.kind!r}"
            )
        self.module = rt_mod.get_function(loader, True)()
        self._set_input = self.module["set_input"]
        self._invoke_stateful = self.module["invoke_stateful"]
        self._get_output = self.module["get_output"]
        self._get_output_arity = self.module["get_output_arity"]
        self._save_function = self.module["save_function"]
        self._set_instrument = self.module["set_instrument"]
        self._invoke_closure = self.module["invoke_closure"]
        self._setup_device(device, memory_cfg)

    def _setup_device(self, device, memory_cfg) -> None:
        devices = [device] if isinstance(device, tvm_ffi.Device) else list(device)
        if not devices:
            raise ValueError("expected at least one device")
        for entry in devices:
            if not isinstance(entry, tvm_ffi.Device):
                raise TypeError(f"expected a Device, got {type(entry).__name__}")
        if devices[-1].type != "cpu":
            devices.append(Device("cpu", 0))
        default = self.POOLED_ALLOCATOR
        per_device: dict = {}
        if isinstance(memory_cfg, str):
            default = self._allocator(memory_cfg)
        elif isinstance(memory_cfg, dict):
            per_device = {dev: self._allocator(kind) for dev, kind in memory_cfg.items()}
        elif memory_cfg is not None:
            raise TypeError(f"memory_cfg must be a str or dict, got {type(memory_cfg).__name__}")
        args: list = []
        for dev in devices:
            args += [dev.dlpack_device_type(), dev.index, per_device.get(dev, default)]
        self.module["vm_initialization"](*args)

    def _allocator(self, name: str) -> int:
        kinds = {"naive": self.NAIVE_ALLOCATOR, "pooled": self.POOLED_ALLOCATOR}
        if name not in kinds:
            raise ValueError(f"unknown allocator {name!r}; expected one of {sorted(kinds)}")
        return kinds[name]

    def __getitem__(self, key: str):
        return self.module[key]

    def invoke_closure(self, closure, *args):
        """Call a closure that the module returned."""
        return self._invoke_closure(closure, *args)

    def save_function(
        self, func_name: str, saved_name: str, *args, include_return: bool = True, **kwargs
    ) -> None:
        """Bind arguments to a function; ``vm[saved_name]()`` then runs it.

        Args:
            func_name: The function.
            saved_name: New name.
            args: Its arguments.
            include_return: Keep the result; timing leaves it out.
            kwargs: Arguments by parameter name.
        """
        values = self._convert_args(func_name, args, kwargs)
        self._save_function(func_name, saved_name, int(include_return), *values)

    def _convert_args(self, func_name: str, args, kwargs) -> list:
        values = list(args)
        if kwargs:
            names = self._get_function_params(func_name)
            for name in names[len(args) :]:
                if name not in kwargs:
                    raise TypeError(f"{func_name}() missing the argument {name!r}")
                values.append(kwargs.pop(name))
            if kwargs:
                raise TypeError(f"{func_name}() got unexpected arguments {sorted(kwargs)}")
        return [self._convert(value) for value in values]

    def _get_function_params(self, func_name: str) -> list[str]:
        arity = self.module["get_function_arity"](func_name)
        name_of = self.module["get_function_param_name"]
        return [name_of(func_name, i) for i in range(arity)]

    def _convert(self, value):
        if isinstance(value, (list, tuple)):
            return [self._convert(item) for item in value]
        if hasattr(value, "__array__") and not isinstance(value, tvm_ffi.Tensor):
            return tensor(value)
        return value

    def set_input(self, func_name: str, *args, **kwargs) -> None:
        """Set the arguments of a stateful call."""
        self._set_input(func_name, *self._convert_args(func_name, args, kwargs))

    def invoke_stateful(self, func_name: str) -> None:
        """Run a function with the arguments set before."""
        self._invoke_stateful(func_name)

    def get_outputs(self, func_name: str):
        """Result of the last stateful call; tuples come as Python tuples."""
        return self._outputs(func_name)

    def _outputs(self, func_name: str, *path: int):
        arity = self._get_output_arity(func_name, *path)
        if arity < 0:
            return self._get_output(func_name, *path)
        return tuple(self._outputs(func_name, *path, i) for i in range(arity))

    def set_instrument(self, instrument) -> None:
        """Call a function around every kernel call.

        Args:
            instrument: ``fn(func, name, before_run, ret_value, *args)``, or its global name.
        """
        self._set_instrument(instrument)

    def time_evaluator(self, func_name: str, dev: Device, **options):
        """Make a function that times one of the machine's functions.

        Options are those of :py:meth:`tvm.runtime.Module.time_evaluator`.
        """
        return self.module.time_evaluator(func_name, dev, **options)

    def profile(self, func_name: str, *args) -> list[tuple[str, int, float]]:
        """Run a function once and report the time of each kernel.

        Args:
            func_name: The function.
            args: Its arguments.

        Returns:
            ``[(kernel, calls, seconds)]``, call sites of one kernel added up, largest time first.
        """
        text = self.module["profile"](func_name, *[self._convert(value) for value in args])
        totals: dict[str, list[float]] = {}
        for site in json.loads(str(text))["sites"]:
            entry = totals.setdefault(site["callee"], [0, 0.0])
            entry[0] += site["calls"]
            entry[1] += site["ns"] * 1e-9
        rows = [(name, int(calls), seconds) for name, (calls, seconds) in totals.items()]
        return sorted(rows, key=lambda row: -row[2])


__all__ = ["BenchmarkResult", "VMExecutable", "VMInstrumentReturnKind", "VirtualMachine"]
