# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Every code block of the documentation runs; docs/README.md says how."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
LANGUAGES = {"bash", "c", "cpp", "python", "rust", "text"}
COMMANDS = {"tvm-ffi-config": "tvm_ffi.config", "tvm-ffi-stubgen": "tvm_ffi.stub.cli"}

pytestmark = pytest.mark.skipif(shutil.which("c++") is None, reason="needs a C++ compiler")


@pytest.fixture(scope="session")
def environment(child_env, tmp_path_factory):
    """Environment in which the pages are run: our packages, and their commands on the path."""
    tools = tmp_path_factory.mktemp("tools")
    for command, module in COMMANDS.items():
        script = tools / command
        script.write_text(
            f"#!/bin/sh\nexec '{sys.executable}' -c "
            f"'import sys, {module} as m; sys.exit(m.__main__())' \"$@\"\n"
        )
        script.chmod(0o755)
    return child_env(
        PATH=os.pathsep.join([str(tools), os.environ["PATH"]]),
        TVM_FFI_CACHE_DIR=tmp_path_factory.mktemp("cache"),
    )


def run(command, folder, environment):
    """Run a command; its output is the message of a failure."""
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}{done.stderr[-6000:]}"


def run_program(code, language, folder, environment):
    """Compile the unnamed blocks of a page and run them."""
    source, program = folder / f"page.{language}", folder / "page"
    source.write_text(code, encoding="utf8")
    compiler, flags = ("c++", "--cxxflags") if language == "cpp" else ("cc", "--cflags")
    script = (
        f"{compiler} $(tvm-ffi-config {flags}) {source.name} -o {program.name} "
        "$(tvm-ffi-config --ldflags --libs | tr '\\n' ' ') "
        '-Wl,-rpath,"$(tvm-ffi-config --libdir)"'
    )
    run(["bash", "-euc", script], folder, environment)
    run([str(program)], folder, environment)


@pytest.mark.parametrize("page", PAGES)
def test_page(page, root, tmp_path, environment, code_blocks):
    blocks = code_blocks(DOCS / page)
    assert {language for language, _, _ in blocks} <= LANGUAGES
    joined = lambda wanted: "\n".join(  # noqa: E731
        code for language, name, code in blocks if language == wanted and not name
    )
    for _, name, code in blocks:
        if name:
            with (tmp_path / name).open("a", encoding="utf8") as file:
                file.write(code + "\n")
    # The Rust page builds a crate of this tree; the others need no more than an installed package.
    folder = root if "rust" in {language for language, _, _ in blocks} else tmp_path
    if folder == root and shutil.which("cargo") is None:
        pytest.skip("cargo is not installed")
    for language, name, code in blocks:
        if language == "bash" and not name:
            run(["bash", "-euo", "pipefail", "-c", code], folder, environment)
    for language in ("cpp", "c"):
        if code := joined(language):
            run_program(code, language, tmp_path, environment)
    if code := joined("python"):
        script = tmp_path / "page.py"
        script.write_text(code, encoding="utf8")
        run([sys.executable, str(script)], folder, environment)


def test_rust_blocks_are_doc_tests(root, code_blocks):
    """Blocks in Rust are run by cargo, which reads the page as documentation of the crate."""
    included = re.findall(
        r'include_str!\("(?:\.\./)*docs/(.*?)"\)', (root / "rust/tvm-ffi/src/lib.rs").read_text()
    )
    assert included == [
        page
        for page in PAGES
        if any(language == "rust" for language, _, _ in code_blocks(DOCS / page))
    ]


def test_links_lead_somewhere():
    for page in PAGES:
        text = re.sub(
            r"^```.*?^```$",
            "",
            (DOCS / page).read_text(encoding="utf8"),
            flags=re.DOTALL | re.MULTILINE,
        )
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
            assert ((DOCS / page).parent / target).exists(), f"{page}: {target}"
    index = (DOCS / "README.md").read_text(encoding="utf8")
    assert all(f"({page})" in index for page in PAGES if page != "README.md")
