# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Parts of the script ``dev`` that need no build."""

import re
import subprocess

import pytest


@pytest.fixture
def part(root):
    """Function that runs shell code after some functions of the script."""
    text = (root / "dev").read_text()

    def run(names, code, cwd=root):
        functions = [re.search(rf"^{name}\(\) \{{.*?^\}}", text, re.M | re.S)[0] for name in names]
        script = "\n".join(["set -euo pipefail", *functions, code])
        return subprocess.run(
            ["bash", "-c", script], cwd=cwd, capture_output=True, text=True, timeout=60
        )

    return run


@pytest.mark.parametrize("argv", [[], ["nonsense"], ["--help"], ["test2"]])
def test_usage(root, argv):
    done = subprocess.run([root / "dev", *argv], capture_output=True, text=True)
    assert done.returncode == 2 and "usage: ./dev setup|build|test|demo" in done.stderr


def test_every_command_is_listed_once(root):
    text = (root / "dev").read_text()
    commands = set(re.findall(r"^cmd_(\w+)\(\)", text, re.M))
    (accepted,) = re.findall(r"^  (setup[ |\w]*)\) \"cmd_", text, re.M)
    assert set(accepted.replace(" ", "").split("|")) == commands
    (usage,) = re.findall(r"usage: ./dev ([\w|]+)", text)
    assert set(usage.split("|")) == commands
    readme = (root / "README.md").read_text()
    for command in commands:
        assert re.search(rf"`(\./dev )?{command}\b", readme) or f"./dev {command}" in readme


def test_quietly_shows_output_of_failures_only(part):
    names = ["quietly", "watch_log"]
    fine = part(names, "quietly sh -c 'echo hidden; exit 0'; echo after")
    assert (fine.returncode, fine.stdout, fine.stderr) == (0, "after\n", "")
    bad = part(names, "quietly sh -c 'echo shown; exit 7'; echo after")
    assert (bad.returncode, bad.stdout, bad.stderr) == (7, "", "shown\n")
    caught = part(names, "if quietly false; then echo yes; else echo no; fi")
    assert (caught.returncode, caught.stdout) == (0, "no\n")


def test_files_for_the_formatter(part, tmp_path):
    """New files are among them, deleted ones and those of others are not."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    for name in ("new file.cc", "a.h", "gone.cc", "3rdparty/x.cc", "src/generated/y.cc", "z.py"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    subprocess.run(["git", "-C", str(tmp_path), "add", "gone.cc"], check=True)
    (tmp_path / "sub" / "3rdparty").mkdir(parents=True)
    (tmp_path / "sub" / "3rdparty" / "x.cc").write_text("")
    (tmp_path / "gone.cc").unlink()
    done = part(["cpp_files"], "cpp_files", cwd=tmp_path)
    assert set(done.stdout.split("\0")) - {""} == {"new file.cc", "a.h", "3rdparty/x.cc"}
