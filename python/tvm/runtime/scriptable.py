# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Text form of IR objects."""

from __future__ import annotations

from tvm_ffi import core


class Scriptable:
    """Mixin of objects that print as TVMScript."""

    __slots__ = ()

    def __init_subclass__(cls, **kwargs) -> None:
        super().__init_subclass__(**kwargs)
        # The base class of objects often comes first and brings its own.
        if cls.__repr__ == core.Object.__repr__:
            cls.__repr__ = Scriptable.__repr__

    def script(self, **options) -> str:
        """TVMScript of this object.

        Args:
            options: Fields of :py:class:`tvm.script.printer.PrinterConfig`, e.g. ``indent_spaces``,
                ``verbose_expr``, ``show_meta``.
        """
        from tvm.script.printer import script

        return script(self, **options)

    def show(self, style: str | None = None, black_format: bool | None = None, **options) -> None:
        """Print the script, highlighted where the terminal can.

        Args:
            style: ``"light"``, ``"dark"`` or ``"ansi"``.
            black_format: Run the text through black.
            options: As in :py:meth:`script`.
        """
        from tvm.script.highlight import cprint

        cprint(self.script(**options), style=style, black_format=black_format)

    def __str__(self) -> str:
        return _text(self)

    def __repr__(self) -> str:
        return _text(self)


def _text(obj) -> str:
    """Script of an object; its fields where no printer is built in, or it cannot be printed."""
    if isinstance(obj, core.CObject) and obj.__chandle__() == 0:
        return f"{type(obj).__name__}(chandle=None)"
    printer = core.get_global_func("script.printer.Text", True)
    return core.object_repr(obj) if printer is None else printer(obj)
