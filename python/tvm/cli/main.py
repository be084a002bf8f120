# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Argument parsing and error handling of the command.

Exit codes: 0 done, 2 failed (the message says what was expected and what was found; a defect of the
compiler calls itself one), 130 interrupted, 141 the reader of the output has gone. Tracebacks are
shown with ``TVM_BACKTRACE=1``.
"""

from __future__ import annotations

import argparse
import os
import sys

from .output import Output, UserError

# Commands that need the compiler's library.
_COMPILING = ("compile", "explain")


def parser(out: Output) -> argparse.ArgumentParser:
    """Build the argument parser of ``tvm``.

    Args:
        out: Where it reports wrong arguments.
    """

    class Parser(argparse.ArgumentParser):
        def error(self, message):
            self.print_usage(sys.stderr)
            out.error(message)
            sys.exit(2)

    from tvm.libinfo import __version__

    top = Parser(prog="tvm", description="Compile, run and inspect models.")
    top.add_argument("--version", action="version", version=f"tvm {__version__}")
    sub = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, text: str) -> argparse.ArgumentParser:
        p = sub.add_parser(name, help=text, description=text)
        p.add_argument("--json", action="store_true", help="print one JSON object")
        return p

    p = command("compile", "Compile an ONNX model to a shared library.")
    p.add_argument("model", metavar="MODEL.onnx")
    p.add_argument("-o", "--output", required=True, metavar="LIB.so")
    p.add_argument("--target", help="kind, tag or JSON; default: this machine's CPU")
    p.add_argument(
        "--shape",
        action="append",
        default=[],
        metavar="NAME=D0,D1,..",
        help="extents of an input; needed where the model leaves them open",
    )
    p.add_argument(
        "--exec-mode",
        choices=["bytecode", "compiled"],
        default="bytecode",
        help="how the library runs the model: interpreted or as native code (default bytecode)",
    )
    precision = {
        "choices": ["float32", "bf16"],
        "default": "float32",
        "help": "of the operands of products; bf16 is faster and less exact (default float32)",
    }
    p.add_argument("--precision", **precision)
    p.add_argument(
        "--tune",
        type=float,
        metavar="SECONDS",
        help="measure other forms of the kernels for so long, and use the best",
    )
    tune_db = "file of measurements, `off` for none; default: TVM_TUNE_DB or one in the cache"
    p.add_argument("--tune-db", metavar="FILE", help=tune_db)
    p = command("run", "Run a compiled model once.")
    p.add_argument("library", metavar="LIB.so")
    p.add_argument(
        "--input", action="append", default=[], metavar="[NAME=]FILE", help=".npy, or .npz by name"
    )
    p.add_argument("--output", metavar="FILE.npz", help="write all outputs")
    p.add_argument("--threads", type=int, help="worker threads")
    p = command("bench", "Measure the latency of a compiled model on random inputs.")
    p.add_argument("library", metavar="LIB.so")
    p.add_argument("--threads", type=int, help="worker threads")
    p.add_argument("--seconds", type=float, default=2.0, help="how long to measure (default 2)")
    p.add_argument("--profile", action="store_true", help="show the time of each kernel")
    p = command("explain", "Show where a model's time goes, and what the machine would allow.")
    p.add_argument("model", metavar="MODEL.onnx")
    p.add_argument(
        "--shape", action="append", default=[], metavar="NAME=D0,D1,..", help="extents of an input"
    )
    p.add_argument("--precision", **precision)
    p.add_argument("--threads", type=int, help="worker threads")
    p.add_argument("--repeat", type=int, default=5, help="runs to take the best of (default 5)")
    p.add_argument("--peak", type=float, metavar="GFLOPS", help="instead of measuring it")
    p.add_argument("--bandwidth", type=float, metavar="GB/S", help="instead of measuring it")
    p.add_argument("--html", metavar="FILE", help="also write one self-contained page")
    p.add_argument("--tune-db", metavar="FILE", help=tune_db)
    p = command("inspect", "Show what is in a model, library or object file, without loading it.")
    p.add_argument("file")
    return top


def check_compiler(command: str) -> None:
    """Refuse a command for which the process lacks the compiler.

    Raises:
        UserError: There is only the runtime.
    """
    from tvm import base

    if command in _COMPILING and base._RUNTIME_ONLY:
        wish = os.environ.get("TVM_USE_RUNTIME_LIB") == "1"
        why = "TVM_USE_RUNTIME_LIB=1 is set" if wish else "its library is missing"
        raise UserError(f"`tvm {command}` needs the compiler, which is not loaded: {why}")


def execute(args, out: Output) -> None:
    """Run the command that was asked for."""
    check_compiler(args.command)
    if args.command == "compile":
        from .compile import run
    elif args.command == "inspect":
        from .inspect import run
    elif args.command == "explain":
        from .explain import run
    elif args.command == "bench":
        from .execute import bench as run
    else:
        from .execute import run
    run(args, out)
    if sys.stdout is None:
        raise UserError("standard output is closed: the result cannot be printed")
    sys.stdout.flush()


def explain_error(err: Exception) -> str:
    """The message for an error that ends the command."""
    if isinstance(err, UserError):
        return str(err)
    if isinstance(err, UnicodeEncodeError):
        return f"{err.object!r} is not UTF-8, which paths and names have to be"
    if isinstance(err, MemoryError):
        return f"out of memory: {err}" if str(err) else "out of memory"
    kind = type(err).__name__
    if isinstance(err, OSError):
        named = "" if err.filename is None else f"{err.filename}: "
        return f"{named}{err.strerror or err}"
    # Errors of the libraries name their kind.
    wrong_input = isinstance(err, (ValueError, TypeError, NotImplementedError, RuntimeError))
    if wrong_input and kind != "InternalError":
        return f"{kind}: {err}"
    return f"{kind}: {err}\nThis is a defect of tvm; TVM_BACKTRACE=1 shows where it happened"


def main(argv: list[str] | None = None) -> int:
    """Run the command with ``argv`` (default: the process's) and return its exit code."""
    argv = sys.argv[1:] if argv is None else argv
    out = Output(json_mode="--json" in argv)
    try:
        execute(parser(out).parse_args(argv), out)
        return 0
    except KeyboardInterrupt:
        out.error("interrupted")
        return 130
    except BrokenPipeError:
        # Whoever read the output has gone, as with `tvm inspect x | head`; nothing is left to say.
        out.drop_stdout()
        return 141
    except Exception as err:
        if os.environ.get("TVM_BACKTRACE", "0") not in ("", "0") and sys.stderr is not None:
            import traceback

            traceback.print_exc()
        out.error(explain_error(err))
        if isinstance(err, OSError):  # perhaps of stdout itself
            out.drop_stdout()
        return 2


if __name__ == "__main__":
    sys.exit(main())
