"""Ends the sandbox's children when the program that started them is gone, even when it was killed without warning.

Runs as a process of its own, in its own session, with the standard library alone. It reads `hold GROUP` and
`free GROUP` lines; when the other end of the pipe closes, however that came about, every process group still held is
ended. Unlike `PR_SET_PDEATHSIG` this works on macOS too, reaches grandchildren, and lets children shut down in order.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from types import TracebackType

GRACE_SECONDS = 3.0


class Leash:
    """The parent's end. Closing it, or dying, ends the groups that are still held."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - this very file, nothing from outside
            [sys.executable, "-I", "-S", __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def __enter__(self) -> Leash:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with contextlib.suppress(BrokenPipeError):
            self._process.communicate()

    @property
    def pid(self) -> int:
        return self._process.pid

    def hold(self, group: int) -> None:
        self._tell(f"hold {group}")

    def free(self, group: int) -> None:
        self._tell(f"free {group}")

    def _tell(self, line: str) -> None:
        pipe = self._process.stdin
        # A leash that somebody killed must not take the sandbox down with it: the children are only less protected.
        with contextlib.suppress(BrokenPipeError):
            if pipe is not None:
                pipe.write(f"{line}\n".encode())
                pipe.flush()


def end_group(group: int, number: int) -> bool:
    """Signal every process of `group`; false when none is left. Number 0 only asks."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def main() -> None:
    """Wait for the pipe to close, then end what is held: ask first, kill what has not gone after the grace."""
    # The parent decides when to stop: a signal to the whole terminal must not let go of the children.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    held: set[int] = set()
    for line in sys.stdin:
        word, group = line.split()
        if word == "hold":
            held.add(int(group))
        else:
            held.discard(int(group))
    left = {group for group in held if end_group(group, signal.SIGTERM)}
    deadline = time.monotonic() + GRACE_SECONDS
    while left and time.monotonic() < deadline:
        time.sleep(0.05)
        left = {group for group in left if end_group(group, 0)}
    for group in left:
        end_group(group, signal.SIGKILL)


if __name__ == "__main__":
    main()
