# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""The process that compiles candidates; see :py:class:`tvm.tune.LocalBuilder`.

Each message is answered by one; FORM is ``{"group": number, "rule": name, "knobs": {...}}``:

    {"content": FORM, ...}                     {"content": text}
    {"build": [FORM, ...], "library": path}    {}
    either, when that fails                    {"error": text}

A message also holds ``target``, ``opt_level`` and ``config``, and in ``groups`` the groups that come
for the first time, by number.
"""

from __future__ import annotations

from .process import serve


class _Compiler:
    """Forms emitted so far are kept: what is asked for is mostly built as well."""

    def __init__(self) -> None:
        self._groups: dict[int, object] = {}
        self._emitted: dict[str, object] = {}

    def answer(self, message: dict) -> dict:
        import tvm

        for number, text in message["groups"].items():
            self._groups[int(number)] = tvm.ir.load_json(text)
        target = tvm.target.Target(message["target"])
        options = {"opt_level": message["opt_level"], "config": message["config"]}
        with tvm.transform.PassContext(**options):
            if "content" in message:
                return {"content": self._content(message["content"], target)}
            self._build(message["build"], target, message["library"])
            return {}

    def _emit(self, form: dict, target):
        from . import _ffi_api

        key = repr((form, str(target)))
        if key not in self._emitted:
            group, knobs = self._groups[form["group"]], form["knobs"]
            self._emitted[key] = _ffi_api.Emit(group, target, form["rule"], knobs)
        return self._emitted[key]

    def _content(self, form: dict, target) -> str:
        from . import _ffi_api

        return str(_ffi_api.KernelKey(self._emit(form, target), target))

    def _build(self, forms: list[dict], target, library: str) -> None:
        from tvm.driver import build_prim_funcs
        from tvm.ir import GlobalVar, IRModule

        functions = {}
        for index, form in enumerate(forms):
            name = f"c{index}"
            func = self._emit(form, target).with_attr("global_symbol", name)
            functions[GlobalVar(name)] = func
        self._emitted.clear()  # the next visit asks for other ones
        build_prim_funcs(IRModule(functions), target).export_library(library)


def _load() -> None:
    """Importing takes its time, which is not the first candidate's."""
    import tvm  # noqa: F401


def main() -> None:
    """Serve messages until standard input ends."""
    send, messages = serve(_load)
    compiler = _Compiler()
    for message in messages:
        try:
            answer = compiler.answer(message)
        except Exception as err:
            answer = {"error": f"{type(err).__name__}: {err}"}
        send(answer)


if __name__ == "__main__":
    main()
