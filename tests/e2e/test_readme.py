# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""The README's Python and C++ examples do what they say."""

import re
import subprocess
import sys


def test_python_and_cpp_examples(root, tmp_path, code_blocks, child_env):
    text = (root / "README.md").read_text(encoding="utf8")
    (code,) = (
        code for language, _, code in code_blocks(root / "README.md") if language == "python"
    )
    script = tmp_path / "example.py"
    script.write_text(code, encoding="utf8")
    done = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, env=child_env(), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == "[[0. 0. 1.] [2. 0. 4.]]".split()
    (command,) = re.findall(r"^build/bin/(run_model .*)$", text, re.MULTILINE)
    program, *arguments = command.split()
    done = subprocess.run(
        [root / "build" / "bin" / program, *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "float32" in done.stdout and "2, 3" in done.stdout
