# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""The peers' Python environment, made at the first use. Peers are measured, never called."""

import filecmp
import os
import shutil
import subprocess
import sys
import venv

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)


def peers_python():
    """Interpreter of the environment with `requirements-peers.txt`; TVM_PEERS_VENV may name it."""
    folder = os.environ.get("TVM_PEERS_VENV")
    if folder:
        return os.path.join(folder, "bin", "python")
    folder = os.path.join(ROOT, ".cache", "peers")
    python = os.path.join(folder, "bin", "python")
    wanted = os.path.join(HERE, "requirements-peers.txt")
    stamp = os.path.join(folder, "requirements.stamp")
    if not (os.path.exists(stamp) and filecmp.cmp(stamp, wanted, shallow=False)):
        print("installing the peers' environment", file=sys.stderr, flush=True)
        venv.create(folder, with_pip=True, clear=True)
        pip = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        subprocess.run([*pip, "-r", wanted], check=True, stdout=sys.stderr)
        shutil.copy(wanted, stamp)
    return python
