# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Wrappers made from the operator table."""

from __future__ import annotations

import functools

from tvm_ffi import get_global_func

# Public names that differ from the row's, or whose operands have defaults.
_OPERAND_DEFAULTS = {
    "eye": {"m": "n", "k": "0"},
    "eye_like": {"k": "0"},
    "unique": {
        "sorted": "True",
        "return_index": "False",
        "return_inverse": "False",
        "return_counts": "False",
        "axis": "None",
    },
}
_MODULES = ("nn", "image", "builtin", "memory", "vm")


@functools.cache
def rows() -> dict:
    """Rows of the table by name: (operands, attributes, doc)."""
    listing = get_global_func("relax.op_table.ListRows")()
    return {str(r[0]): tuple(r) for r in listing}


def _split(text: str) -> list[str]:
    """Split at commas outside of brackets and quotes."""
    parts, depth, quoted, start = [], 0, False, 0
    for i, c in enumerate(text):
        if c == "'":
            quoted = not quoted
        if quoted:
            continue
        depth += c in "(["
        depth -= c in ")]"
        if c == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    last = text[start:].strip()
    return [*parts, last] if last else parts


def make_wrapper(name: str):
    """Python function that builds a call of the row."""
    row = rows()[name]
    defaults = _OPERAND_DEFAULTS.get(name, {})
    params, passed = [], []
    for part in _split(str(row[1])):
        optional = part.endswith("?")
        operand = part.rstrip("?").split(":")[0]
        if optional:
            params.append(f"{operand}=None")
        elif operand in defaults:
            value = defaults[operand]
            params.append(f"{operand}=None" if value == "n" else f"{operand}={value}")
        else:
            params.append(operand)
        passed.append("n if m is None else m" if defaults.get(operand) == "n" else operand)
    seen_default = any("=" in p for p in params)
    for part in _split(str(row[2])):
        attr = part.split("=")[0]
        if seen_default and "=" not in part:
            part = f"{attr}=None"
        seen_default = seen_default or "=" in part
        params.append(part)
        passed.append(attr)
    short = name.rsplit(".", 1)[-1]
    source = f"def {short}({', '.join(params)}):\n    return _make({', '.join(passed)})\n"
    scope = {"_make": get_global_func(f"relax.op.{name}")}
    exec(compile(source, f"<operator {name}>", "exec"), scope)  # noqa: S102 - text from our table
    wrapper = scope[short]
    wrapper.__doc__ = f"{row[5]}\n\nOperator ``relax.{name}``."
    wrapper.__module__ = "tvm.relax.op" + (f".{name.rsplit('.', 1)[0]}" if "." in name else "")
    return wrapper


def make_getattr(prefix: str, namespace: dict):
    """``__getattr__`` and ``__dir__`` of the module for rows ``prefix.*``."""

    def lookup(name):
        if name.startswith("__"):
            raise AttributeError(name)
        if not prefix and name in _MODULES:
            import importlib

            value = importlib.import_module(f"tvm.relax.op.{name}")
        elif prefix + name in rows():
            value = make_wrapper(prefix + name)
        else:
            raise AttributeError(f"module 'tvm.relax.op' has no operator {prefix + name!r}")
        namespace[name] = value
        return value

    def listing():
        names = {r[len(prefix) :] for r in rows() if r.startswith(prefix)}
        return sorted({*namespace, *(n for n in names if "." not in n)})

    return lookup, listing
