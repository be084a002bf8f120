# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Puts a GPU binary into an object file that uses ``TVM_FFI_EMBED_CUBIN``."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path


def embed_cubin(
    cubin_path: Path, input_obj_path: Path, output_obj_path: Path, name: str, verbose: bool = False
) -> None:
    """Merge a GPU binary into an object file.

    Args:
        cubin_path: The binary.
        input_obj_path: Object file with ``TVM_FFI_EMBED_CUBIN(name)``.
        output_obj_path: Object file to write.
        name: The name in that macro.
        verbose: Print the commands.

    Raises:
        FileNotFoundError: An input is missing.
        RuntimeError: A tool of binutils is missing or fails.
    """
    for path in (cubin_path, input_obj_path):
        if not Path(path).is_file():
            raise FileNotFoundError(f"{path} does not exist")
    symbol = f"__tvm_ffi__cubin_{name}"
    with tempfile.TemporaryDirectory() as folder:
        # The linker names the symbols after the file as given, so it gets a plain name.
        (Path(folder) / "blob").write_bytes(Path(cubin_path).read_bytes())
        _run(["ld", "-r", "-b", "binary", "-o", "blob.o", "blob"], folder, verbose)
        rename = [
            "objcopy",
            "--rename-section",
            ".data=.rodata,alloc,load,readonly,data,contents",
            "--redefine-sym",
            f"_binary_blob_start={symbol}",
            "--redefine-sym",
            f"_binary_blob_end={symbol}_end",
            "--strip-symbol",
            "_binary_blob_size",
            "--set-section-alignment",
            ".data=64",
            "blob.o",
            "named.o",
        ]
        _run(rename, folder, verbose)
        merge = ["ld", "-r", "-o", "merged.o", str(Path(input_obj_path).resolve()), "named.o"]
        _run(merge, folder, verbose)
        hide = ["objcopy", "--localize-symbol", symbol, "--localize-symbol", f"{symbol}_end"]
        _run([*hide, "merged.o", str(Path(output_obj_path).resolve())], folder, verbose)


def _run(command: list[str], folder: str, verbose: bool) -> None:
    if verbose:
        print(" ".join(command))
    try:
        done = subprocess.run(command, check=False, cwd=folder, capture_output=True, text=True)
    except FileNotFoundError:
        raise RuntimeError(f"{command[0]} of GNU binutils is needed but not in PATH") from None
    if verbose and done.stdout:
        print(done.stdout)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr}")


def main() -> int:
    """Command line of this module."""
    parser = argparse.ArgumentParser(
        prog="python -m tvm_ffi.utils.embed_cubin", description=__doc__
    )
    parser.add_argument("--output-obj", required=True, metavar="PATH", help="object to write")
    parser.add_argument(
        "--input-obj", required=True, metavar="PATH", help="object that uses the macro"
    )
    parser.add_argument("--cubin", required=True, metavar="PATH", help="GPU binary")
    parser.add_argument("--name", required=True, help="name given to the macro")
    parser.add_argument("-v", "--verbose", action="store_true", help="print the commands")
    args = parser.parse_args()
    try:
        embed_cubin(
            Path(args.cubin), Path(args.input_obj), Path(args.output_obj), args.name, args.verbose
        )
    except (OSError, RuntimeError) as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
