# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Where candidates are compiled: an interface, and a process of this machine.

A candidate may bring the compiler down, or keep it busy for ever. So none is compiled by the
process that compiles the model.
"""

from __future__ import annotations

import abc
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

from .process import Closeable, Ended, Kept


class BuildError(Exception):
    """A candidate does not compile; the text says why."""


@dataclass(frozen=True)
class Form:
    """A group of operators, and how its rule is to emit it.

    Attributes:
        group: The group as JSON.
        rule: Kernel rule that takes it.
        knobs: Integers in place of what the rule would choose.
    """

    group: str
    rule: str
    knobs: dict[str, int] = field(default_factory=dict)


class Builder(Closeable, abc.ABC):
    """Compiles forms somewhere. Use it as a context, or call :py:meth:`close` at the end."""

    @abc.abstractmethod
    def content(self, form: Form, target) -> str:
        """What a form is, once its rule has emitted it: equal texts, equal kernels.

        Raises:
            BuildError: The rule does not emit it.
            RuntimeError: Nothing can be compiled there at all.
        """

    @abc.abstractmethod
    def build(self, forms: Sequence[Form], target, library: str) -> None:
        """Compile forms into a library, as functions ``c0``, ``c1``, ...

        Args:
            forms: What to compile.
            target: Target to compile for.
            library: Path of the shared library.

        Raises:
            BuildError: One of them does not compile; which one is not told.
            RuntimeError: Nothing can be compiled there at all.
        """


class LocalBuilder(Builder):
    """Compiles in a process of this machine.

    Args:
        patience: Seconds that the compiler may take for one message.
        start_patience: Seconds that the process may take to start.
        command: Command of the process; for tests.
    """

    def __init__(
        self,
        *,
        patience: float = 120.0,
        start_patience: float = 120.0,
        command: Sequence[str] | None = None,
    ) -> None:
        self._patience = patience
        self._kept = Kept(
            "compiles candidates",
            command or (sys.executable, "-m", "tvm.tune.build_worker"),
            runtime_only=False,
            patience=start_patience,
        )
        self._groups: dict[str, int] = {}
        self._sent: set[str] = set()  # those that the process has

    def content(self, form: Form, target) -> str:
        """See :py:meth:`Builder.content`."""
        return self._ask({"content": self._short(form), **_context(target)}, [form])["content"]

    def build(self, forms: Sequence[Form], target, library: str) -> None:
        """See :py:meth:`Builder.build`."""
        short = [self._short(form) for form in forms]
        self._ask({"build": short, "library": library, **_context(target)}, forms)

    def close(self) -> None:
        """End the process."""
        self._groups.clear()
        self._kept.close()

    def _short(self, form: Form) -> dict:
        """A form with the number of its group: groups are long, and come often."""
        number = self._groups.setdefault(form.group, len(self._groups))
        return {"group": number, "rule": form.rule, "knobs": form.knobs}

    def _ask(self, message: dict, forms: Sequence[Form]) -> dict:
        if self._kept.worker is None:
            self._sent.clear()
        try:
            worker = self._kept.started()
            news = {form.group for form in forms} - self._sent
            self._sent |= news
            worker.send({**message, "groups": {self._groups[text]: text for text in news}})
            answer = worker.receive(self._patience)
        except Ended as ended:
            self._kept.forget()
            raise BuildError(str(ended)) from None
        except BaseException:
            self.close()
            raise
        if "error" in answer:
            raise BuildError(str(answer["error"]))
        return answer


def _context(target) -> dict:
    """What a compilation depends on besides its input."""
    from tvm.transform import PassContext

    context = PassContext.current()
    plain = {str(k): v for k, v in context.config.items() if isinstance(v, (bool, int, float, str))}
    return {"target": str(target), "opt_level": int(context.opt_level), "config": plain}
