"""Starts Python programs by forking, so that what one of them has loaded is there for the next.

Each program of the sandbox loads for seconds, and most of it is the same in all of them. This process loads what it is
asked for and forks; the fork runs the program as `python -m` would. It reads a line for each request, with modules to
`load` and a program to `run`, if any, and says what came of the program: `{"started": PID}`, in the order of the
requests, and `{"ended": PID, "code": N}` as `Popen.returncode` counts. It never has a thread: a fork would have none of
the locks' holders.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import runpy
import signal
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec

from setproctitle import setproctitle

TO_STOP = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class Request:
    """A module to run in a process group of its own. `environment` is all that it sees; its output goes to `log`."""

    module: str
    arguments: Sequence[str]
    environment: Mapping[str, str]
    directory: str
    log: str


def main() -> None:
    """Serve; where this has become a program, run it, and end as it ends."""
    request = _Server().serve(sys.stdin)
    if request is not None:
        become(request)
        runpy.run_module(request.module, run_name="__main__", alter_sys=True)


class _Server:
    def __init__(self) -> None:
        self._running: set[int] = set()

    def serve(self, lines: Iterable[str]) -> Request | None:
        """`None` when there are no more requests, with all that was started told to stop. In a fork: its request."""
        gc.disable()
        for number in TO_STOP:
            signal.signal(number, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, lambda *_: self._reap())
        try:
            for line in lines:
                asked = json.loads(line)
                for module in asked["load"]:
                    load(module)
                if "run" in asked and self._fork() == 0:
                    return Request(**asked["run"])
        except BrokenPipeError:
            # Whoever asked is gone without a word.
            pass
        for pid in tuple(self._running):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGTERM)
        return None

    def _fork(self) -> int:
        # Neither the end of a program may be told before its start, nor may the program see the handler.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
        gc.freeze()
        pid = os.fork()
        if pid:
            os.setpgid(pid, pid)
            self._running.add(pid)
            _say({"started": pid})
        else:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
        return pid

    def _reap(self) -> None:
        while self._running:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            self._running.discard(pid)
            _say({"ended": pid, "code": os.waitstatus_to_exitcode(status)})


def load(module: str) -> None:
    """Import what running the module will import. What goes wrong here goes wrong in the program, and in its log."""
    with contextlib.suppress(Exception):
        found = find_spec(module)
        entry = f"{module}.__main__" if found and found.submodule_search_locations else module
        importlib.import_module(entry)
        # It is run under another name, and must not be found half run under this one.
        del sys.modules[entry]


def become(request: Request) -> None:
    """Turn this fork into what a new interpreter would be that was told to run the module."""
    for number in TO_STOP:
        signal.signal(number, signal.default_int_handler if number is signal.SIGINT else signal.SIG_DFL)
    sys.argv = [request.module, *request.arguments]
    # Before the environment is touched, beside which the title lies in memory.
    setproctitle(" ".join((sys.executable, "-m", *sys.argv)))
    os.environ.clear()
    os.environ.update(request.environment)
    time.tzset()
    os.chdir(request.directory)
    for path, flags, taken in (
        (os.devnull, os.O_RDONLY, (0,)),
        (request.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, (1, 2)),
    ):
        opened = os.open(path, flags, 0o644)
        for descriptor in taken:
            os.dup2(opened, descriptor)
        os.close(opened)
    gc.enable()


def _say(what: Mapping[str, int]) -> None:
    os.write(1, f"{json.dumps(what)}\n".encode())


if __name__ == "__main__":
    main()
