# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Paths and fixtures that all Python tests share."""

import os
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = [str(ROOT / "python"), str(ROOT / "ffi" / "python")]
for folder in (str(ROOT / "bench"), *reversed(PACKAGES)):
    if folder not in sys.path:
        sys.path.insert(0, folder)
os.environ.setdefault("TVM_LIBRARY_PATH", str(ROOT / "build" / "lib"))
# A test means the code as it is now; tests of the cache choose a folder of their own.
os.environ["TVM_CACHE_DIR"] = "off"


@pytest.fixture(scope="session")
def root():
    """The top folder of the repository."""
    return ROOT


@pytest.fixture(scope="session")
def child_env():
    """Function that makes the environment of a child process, which finds the packages of this one.

    Keywords are further variables; None takes one out.
    """

    def make(**changes):
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(PACKAGES)}
        for name, value in changes.items():
            env.pop(name, None)
            if value is not None:
                env[name] = str(value)
        return env

    return make


@pytest.fixture(scope="session")
def code_blocks():
    """Function that lists the code blocks of a Markdown file as (language, file name, code)."""

    def read(path):
        text = Path(path).read_text(encoding="utf8")
        fence = re.compile(r"^```(\w+)(?: +(\S+))?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
        return fence.findall(text)

    return read


@pytest.fixture(scope="session")
def model_folder():
    """Folder with the ONNX models of the benchmarks; made at the first use."""
    import models

    folder = ROOT / "out" / "models"
    models.make_models(str(folder), str(ROOT / ".cache" / "wheels"))
    return folder
