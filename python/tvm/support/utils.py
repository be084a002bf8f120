# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Temporary folders and locks."""

from __future__ import annotations

import atexit
import contextlib
import datetime
import os
import shutil
import tempfile
import threading


class DirectoryCreatedPastAtExit(Exception):
    """A temporary folder was asked for while the program ends."""


class TempDirectory:
    """Folder that is removed with the object, or when the program ends.

    Args:
        custom_path: Folder to use; it is made if missing.
        keep_for_debug: Do not remove it.
    """

    # Set while the program ends: what is made now would stay.
    _at_exit = False
    _counter = 0
    _debug_parent: str | None = None
    _keep_by_default = False
    _live: set[str] = set()
    _lock = threading.Lock()

    def __init__(self, custom_path=None, keep_for_debug: bool | None = None) -> None:
        if TempDirectory._at_exit:
            raise DirectoryCreatedPastAtExit()
        keep = TempDirectory._keep_by_default if keep_for_debug is None else keep_for_debug
        self._created_with_keep_for_debug = keep
        if custom_path:
            os.makedirs(custom_path, exist_ok=True)
            self.temp_dir = os.fspath(custom_path)
        elif keep:
            with TempDirectory._lock:
                if TempDirectory._debug_parent is None:
                    stamp = datetime.datetime.now().strftime("%Y-%m-%dT%H-%M-%S___")
                    TempDirectory._debug_parent = tempfile.mkdtemp(
                        prefix=f"tvm-debug-mode-tempdirs-{stamp}"
                    )
                number = TempDirectory._counter
                TempDirectory._counter += 1
            self.temp_dir = os.path.join(TempDirectory._debug_parent, f"{number:05d}")
            os.mkdir(self.temp_dir)
        else:
            self.temp_dir = tempfile.mkdtemp()
        if not keep:
            TempDirectory._live.add(self.temp_dir)

    @classmethod
    @contextlib.contextmanager
    def set_keep_for_debug(cls, set_to: bool = True):
        """Keep folders made inside the ``with`` block."""
        old = cls._keep_by_default
        cls._keep_by_default = set_to
        try:
            yield
        finally:
            cls._keep_by_default = old

    @property
    def path(self):
        """The folder as a Path."""
        from pathlib import Path

        return Path(self.temp_dir)

    def remove(self) -> None:
        """Remove the folder."""
        if self.temp_dir and not self._created_with_keep_for_debug:
            shutil.rmtree(self.temp_dir, ignore_errors=True)
            TempDirectory._live.discard(self.temp_dir)
            self.temp_dir = None

    def relpath(self, name: str) -> str:
        """Path of a file in the folder."""
        return os.path.join(self.temp_dir, name)

    def listdir(self) -> list[str]:
        """Names in the folder."""
        return os.listdir(self.temp_dir)

    def __truediv__(self, other):
        return self.path / other

    def __enter__(self) -> TempDirectory:
        return self

    def __exit__(self, *exc_info) -> None:
        self.remove()

    def __del__(self) -> None:
        if getattr(self, "temp_dir", None) and not TempDirectory._at_exit:
            self.remove()


@atexit.register
def _remove_all() -> None:
    TempDirectory._at_exit = True
    for path in list(TempDirectory._live):
        shutil.rmtree(path, ignore_errors=True)


def tempdir(custom_path=None, keep_for_debug: bool | None = None) -> TempDirectory:
    """Make a temporary folder."""
    return TempDirectory(custom_path=custom_path, keep_for_debug=keep_for_debug)


class FileLock:
    """Lock between processes, held while the object is open.

    Args:
        path: File to lock.
    """

    def __init__(self, path) -> None:
        import fcntl

        self.lock_file = open(path, "w", encoding="utf-8")  # noqa: SIM115 - closed by release
        fcntl.lockf(self.lock_file, fcntl.LOCK_EX)

    def release(self) -> None:
        """Free the lock."""
        if self.lock_file:
            import fcntl

            fcntl.lockf(self.lock_file, fcntl.LOCK_UN)
            self.lock_file.close()
            self.lock_file = None

    def __enter__(self) -> FileLock:
        return self

    def __exit__(self, *exc_info) -> None:
        self.release()


def filelock(path) -> FileLock:
    """Take the lock of a file."""
    return FileLock(path)


def is_source_path(path) -> bool:
    """Tell whether a text is a path of an existing file rather than source text."""
    try:
        return os.path.exists(path)
    except (OSError, ValueError):
        return False


def which(exec_name: str) -> str | None:
    """Path of a program, or None."""
    return shutil.which(exec_name)
