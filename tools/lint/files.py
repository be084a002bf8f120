# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Check every tracked source file: SPDX header, length, machine paths, registry hosts, READMEs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = {".cc", ".h", ".c", ".py", ".pyx", ".pxi", ".pxd", ".rs", ".ts", ".cmake", ".sh", ".toml"}
# Sources that no suffix tells.
NAMES = {"CMakeLists.txt", "dev", "run"}
MAX_LINES = 1000
MAX_README_LINES = 40
HEADER = ("SPDX-License-Identifier: Apache-2.0", "SPDX-FileCopyrightText: ")
# Built from pieces so that this file does not match itself.
BANNED = re.compile(
    "|".join(
        [
            "/" + "root/",
            "/" + "work/",
            "/" + "home/[a-z]",
            "pypi" + r"\.org",
            "python" + r"hosted\.org",
        ]
        + [
            "crates" + r"\.io/",
            "registry" + r"\.npmjs",
            "deb" + r"\.debian\.org",
            "maven" + r"\.org",
        ]
    )
)


def tracked() -> list[Path]:
    listing = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return [ROOT / line for line in listing.stdout.splitlines() if (ROOT / line).is_file()]


def check(path: Path) -> list[str]:
    name = path.relative_to(ROOT)
    try:
        text = path.read_text(encoding="utf8")
    except UnicodeDecodeError:
        return []
    errors = [
        f"{name}:{i}: path of a machine or host of a registry: {m[0]!r}"
        for i, line in enumerate(text.splitlines(), 1)
        if (m := BANNED.search(line))
    ]
    lines = text.count("\n")
    if (path.suffix in SOURCES or path.name in NAMES) and text.strip():
        head = text.splitlines()[:6]
        for line in HEADER:
            if not any(line in text for text in head):
                errors.append(f"{name}: the first lines lack '{line}'")
        if lines > MAX_LINES and not re.search(r"generated|_gen\.", str(name)):
            errors.append(f"{name}: {lines} lines; at most {MAX_LINES}")
    if path.name == "README.md" and path.parent != ROOT and lines > MAX_README_LINES:
        errors.append(f"{name}: {lines} lines; a folder's README has at most {MAX_README_LINES}")
    return errors


def main() -> int:
    errors = [error for path in tracked() for error in check(path)]
    for error in errors:
        print(error, file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
