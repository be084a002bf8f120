# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Argument parsing and error handling of the command.

Exit codes: 0 done, 2 the input or an argument is wrong (the message says what was expected and what
was found), 130 interrupted, 141 the reader of the output has gone. Everything else is a defect and
shows its traceback.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys

from .output import Output


class UserError(Exception):
    """Something the user gave cannot be used; the text says why."""


def parser() -> argparse.ArgumentParser:
    """Build the argument parser of ``tvm``."""
    top = argparse.ArgumentParser(prog="tvm", description="Compile, run and inspect models.")
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
    p.add_argument(
        "--precision",
        choices=["float32", "bf16"],
        default="float32",
        help="of the operands of products; bf16 is faster and less exact (default float32)",
    )
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
    p.add_argument("--threads", type=int, help="worker threads")
    p.add_argument("--repeat", type=int, default=5, help="runs to take the best of (default 5)")
    p.add_argument("--peak", type=float, metavar="GFLOPS", help="instead of measuring it")
    p.add_argument("--bandwidth", type=float, metavar="GB/S", help="instead of measuring it")
    p.add_argument("--html", metavar="FILE", help="also write one self-contained page")
    p.add_argument("--tune-db", metavar="FILE", help=tune_db)
    p = command("inspect", "Show what is in a model, library or object file, without loading it.")
    p.add_argument("file")
    return top


def main(argv: list[str] | None = None) -> int:
    """Run the command with ``argv`` (default: the process's) and return its exit code."""
    args = parser().parse_args(argv)
    out = Output(json_mode=args.json)
    try:
        if args.command == "compile":
            from .compile import run
        elif args.command == "inspect":
            from .inspect import run
        elif args.command == "explain":
            from .explain import run
        else:
            from .execute import bench, run

            run = bench if args.command == "bench" else run
        run(args, out)
        if sys.stdout is None:
            raise OSError("standard output is closed: the result cannot be printed")
        sys.stdout.flush()
        return 0
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever read the output has gone, as with `tvm inspect x | head`; nothing is left to say.
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except (UserError, OSError, ValueError, TypeError, NotImplementedError, RuntimeError) as err:
        # Library errors name their kind; an InternalError is ours and keeps its traceback.
        kind = type(err).__name__
        if kind == "InternalError":
            import traceback

            traceback.print_exc()
        out.error(str(err) if isinstance(err, UserError) else f"{kind}: {err}")
        return 2


if __name__ == "__main__":
    sys.exit(main())
