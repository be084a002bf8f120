# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Lock between processes."""

from __future__ import annotations

import os
import sys
import time


class FileLock:
    """Exclusive lock on a file; freed by the system if the process dies.

    Args:
        lock_file_path: File to lock; made if missing, never removed.
    """

    def __init__(self, lock_file_path):
        self.lock_file_path = os.fspath(lock_file_path)
        self._descriptor = None

    def acquire(self) -> bool:
        """Take the lock if it is free.

        Returns:
            True if this object now holds the lock.
        """
        if self._descriptor is not None:
            return True
        descriptor = os.open(self.lock_file_path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            if sys.platform == "win32":
                import msvcrt

                msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
            else:
                import fcntl

                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            return False
        self._descriptor = descriptor
        return True

    def blocking_acquire(self, timeout: float | None = None, poll_interval: float = 0.05) -> bool:
        """Wait for the lock.

        Args:
            timeout: Seconds to wait; None waits forever.
            poll_interval: Seconds between tries.

        Raises:
            TimeoutError: The lock stayed taken.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while not self.acquire():
            if deadline is not None and time.monotonic() >= deadline:
                raise TimeoutError(f"lock {self.lock_file_path} not free within {timeout} seconds")
            time.sleep(poll_interval)
        return True

    def release(self) -> None:
        """Free the lock."""
        if self._descriptor is None:
            return
        descriptor, self._descriptor = self._descriptor, None
        if sys.platform == "win32":
            import msvcrt

            os.lseek(descriptor, 0, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
        os.close(descriptor)

    def __enter__(self):
        self.blocking_acquire()
        return self

    def __exit__(self, *exc_info):
        self.release()
