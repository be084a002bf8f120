# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Names: those visible where a program is defined, and those its statements bind."""

from __future__ import annotations

import builtins
import inspect
import types
from contextlib import contextmanager
from typing import Any

_MISSING = object()


class VarTable:
    """Names bound by a program, as a stack of scopes.

    Args:
        frames: Scopes to start from, outermost first; they are shared, not copied, so that names
            bound there later are seen.
    """

    def __init__(self, frames: list[dict[str, Any]] | None = None) -> None:
        self.frames: list[dict[str, Any]] = list(frames or [])

    @contextmanager
    def with_frame(self):
        """Open a scope; its names end with it."""
        self.frames.append({})
        depth = len(self.frames)
        try:
            yield
        finally:
            del self.frames[depth - 1 :]

    def add(self, var: str, value: Any, allow_shadowing: bool = True) -> None:
        """Bind a name in the innermost scope.

        Raises:
            ValueError: That scope has the name, and `allow_shadowing` is false.
        """
        frame = self.frames[-1]
        if not allow_shadowing and var in frame:
            raise ValueError(f"Variable {var} already defined in current scope")
        frame[var] = value

    def lookup(self, name: str, default: Any = _MISSING) -> Any:
        """Value of a name, innermost scope first, then Python's builtins.

        Raises:
            UndefinedVariable: There is none, and no default.
        """
        for frame in reversed(self.frames):
            if name in frame:
                return frame[name]
        value = getattr(builtins, name, default)
        if value is _MISSING:
            raise UndefinedVariable(name)
        return value

    def get(self) -> dict[str, Any]:
        """All names with their values."""
        merged: dict[str, Any] = {}
        for frame in self.frames:
            merged.update(frame)
        return merged

    def exist(self, value: Any) -> bool:
        """True if some name is bound to this very object."""
        return any(item is value for frame in self.frames for item in frame.values())


class UndefinedVariable(NameError):
    """A name that no scope binds; reported at the statement that uses it."""

    def __init__(self, name: str) -> None:
        super().__init__(f"Undefined variable: {name}")


def capture(program: Any, frame: types.FrameType | None) -> dict[str, Any]:
    """Names that Python sees where a function or class is defined.

    What a function's body reads is looked up as Python does: cells, then globals. Annotations may
    be text (PEP 563), so that Python does not capture what they name; the local variables of the
    functions around the definition, which are still running, give those.

    Args:
        program: The function or class.
        frame: Frame that defines it; None if it is not known.
    """
    functions = _functions_of(program)
    names: dict[str, Any] = {}
    if frame is not None:
        names.update(frame.f_globals)
    for function in functions:
        names.update(function.__globals__)
    for outer in reversed(_enclosing_frames(program, frame)):
        names.update(outer.f_locals)
    for function in functions:
        closure = function.__closure__ or ()
        for name, cell in zip(function.__code__.co_freevars, closure):
            try:
                names[name] = cell.cell_contents
            except ValueError:  # not assigned yet
                names.pop(name, None)
    return names


def require_function(func: Any) -> None:
    """Refuse to decorate what is no Python function.

    Raises:
        TypeError: It is none.
    """
    if not inspect.isfunction(func):
        raise TypeError(f"Expect a function, but got: {func}")


def _functions_of(program: Any) -> list[types.FunctionType]:
    if inspect.isfunction(program):
        return [program]
    return [value for value in vars(program).values() if inspect.isfunction(value)]


def _enclosing_frames(program: Any, frame: types.FrameType | None) -> list[types.FrameType]:
    """Running frames of the functions (and classes) a definition stands in, innermost first."""
    if frame is None:
        return []
    scopes = [part for part in program.__qualname__.split(".")[:-1] if part != "<locals>"]
    found = []
    while frame is not None and scopes:
        if frame.f_code.co_name == scopes[-1]:
            found.append(frame)
            scopes.pop()
        frame = frame.f_back
    return found


def is_in_module_class(frame: types.FrameType) -> bool:
    """Tell whether a frame runs the body of a class that becomes an IRModule.

    A decorator of a function in such a body leaves the function alone: the class is parsed as one.
    """
    if "__qualname__" not in frame.f_locals or "__module__" not in frame.f_locals:
        return False
    outer = frame.f_back
    if outer is None:
        return False
    import ast
    import linecache

    lines = linecache.getlines(frame.f_code.co_filename, frame.f_globals)
    first = frame.f_code.co_firstlineno
    header = []
    for text in lines[first - 1 : first + 63]:
        header.append(text)
        if text.lstrip().startswith("class "):
            break
    indent = len(header[0]) - len(header[0].lstrip()) if header else 0
    for end in ("\n    pass", ""):
        try:
            tree = ast.parse("".join(line[indent:] for line in header).rstrip() + end)
        except SyntaxError:
            continue
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                return any(_is_module_decorator(item, outer) for item in node.decorator_list)
    return False


def _is_module_decorator(node: Any, frame: types.FrameType) -> bool:
    import ast

    if isinstance(node, ast.Call):
        node = node.func
    try:
        code = compile(ast.Expression(node), "<decorator>", "eval")
        value = eval(code, frame.f_globals, frame.f_locals)  # Python evaluates it a moment later
    except Exception:
        return False
    return getattr(value, "dispatch_token", None) == "ir"
