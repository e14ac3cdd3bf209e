"""Starts Python programs by forking, so that what one of them has loaded is there for the next.

Each program of the sandbox loads for seconds, and most of it is the same in all of them. This process loads what it is
asked for and forks; the fork runs the program as `python -m` would. It reads a line for each request, with modules to
`load` and a program to `run`, if any, and says on a line what came of the program: `{"started": PID}` or
`{"failed": WHY}`, in the order of the requests, and `{"ended": PID, "code": N}` as `Popen.returncode` counts. It never
has a thread: a fork would have none of the locks' holders.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import runpy
import select
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from setproctitle import setproctitle

TO_STOP = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
READ_BYTES = 65_536


@dataclass(frozen=True)
class Request:
    """A module to run in a process group of its own. `environment` is all that it sees; its output goes to `log`."""

    module: str
    arguments: Sequence[str]
    environment: Mapping[str, str]
    directory: str
    log: str


class _StopError(BaseException):
    """Somebody wants the fork server to end; nothing that is being loaded may catch it."""


def main() -> None:
    """Serve; where this has become a program, run it, and end as it ends."""
    request = _Server().serve()
    if request is not None:
        become(request)
        runpy.run_module(request.module, run_name="__main__", alter_sys=True)


class _Server:
    """Speaks over what standard input and output were; whatever a module prints while it is loaded goes to stderr."""

    def __init__(self) -> None:
        self._running: set[int] = set()
        self._requests, self._answers = os.dup(0), os.dup(1)
        redirect(os.devnull, os.O_RDONLY, 0)
        os.dup2(2, 1)
        self._woken, self._wake = os.pipe()
        os.set_blocking(self._wake, False)

    def serve(self) -> Request | None:
        """`None` when it shall end, with all that was started told to stop. In a fork: what that shall be."""
        gc.disable()
        signal.set_wakeup_fd(self._wake)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, _stop)
        with contextlib.suppress(_StopError, BrokenPipeError):
            for asked in self._asked():
                load(asked)
                if "run" in asked and self._fork() == 0:
                    return Request(**asked["run"])
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        for pid in self._running:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGTERM)
        return None

    def _asked(self) -> Iterator[dict[str, Any]]:
        """Requests until there are no more; tells of programs that have ended meanwhile."""
        left = b""
        while True:
            ready, _, _ = select.select([self._requests, self._woken], [], [])
            if self._woken in ready:
                os.read(self._woken, READ_BYTES)
            self._reap()
            if self._requests not in ready:
                continue
            read = os.read(self._requests, READ_BYTES)
            if not read:
                return
            *lines, left = (left + read).split(b"\n")
            for line in lines:
                yield json.loads(line)
                self._reap()

    def _fork(self) -> int:
        """As `os.fork`, or -1. Signals to stop wait until this is told, and in the fork until it is its program."""
        signal.pthread_sigmask(signal.SIG_BLOCK, TO_STOP)
        gc.freeze()
        try:
            pid = os.fork()
        except OSError as error:
            pid = -1
            self._say({"failed": str(error)})
        if pid == 0:
            os.setpgid(0, 0)
            signal.set_wakeup_fd(-1)
            for own in (self._requests, self._answers, self._woken, self._wake):
                os.close(own)
            return pid
        if pid > 0:
            with contextlib.suppress(OSError):
                os.setpgid(pid, pid)
            self._running.add(pid)
            self._say({"started": pid})
        signal.pthread_sigmask(signal.SIG_UNBLOCK, TO_STOP)
        return pid

    def _reap(self) -> None:
        while self._running:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            self._running.discard(pid)
            self._say({"ended": pid, "code": os.waitstatus_to_exitcode(status)})

    def _say(self, what: Mapping[str, int | str]) -> None:
        os.write(self._answers, f"{json.dumps(what)}\n".encode())


def _stop(*_: object) -> None:
    raise _StopError


def load(asked: Mapping[str, Any]) -> None:
    """Import what is asked for. What goes wrong here goes wrong in the program, and in its log."""
    for module in asked["load"]:
        with contextlib.suppress(Exception):
            importlib.import_module(module)
    for module in asked["programs"]:
        with contextlib.suppress(Exception):
            found = find_spec(module)
            entry = f"{module}.__main__" if found and found.submodule_search_locations else module
            importlib.import_module(entry)
            # It is run under another name, and must not be found half run under this one.
            del sys.modules[entry]


def become(request: Request) -> None:
    """Turn this fork into what a new interpreter would be that was told to run the module."""
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    sys.argv = [request.module, *request.arguments]
    # Before the environment is touched, beside which the title lies in memory.
    setproctitle(" ".join((sys.executable, "-m", *sys.argv)))
    os.environ.clear()
    os.environ.update(request.environment)
    time.tzset()
    os.chdir(request.directory)
    redirect(request.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 1, 2)
    gc.enable()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, TO_STOP)


def redirect(path: str, flags: int, *descriptors: int) -> None:
    """Have these standard streams lead to the file."""
    opened = os.open(path, flags, 0o644)
    for one in descriptors:
        os.dup2(opened, one)
    os.close(opened)


if __name__ == "__main__":
    main()
