"""Starts and stops `lessor up` as a program of its own, as a person would."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import psutil

from lessor.sandbox.datadir import DataDirectory
from lessor.sandbox.portplan import Ports, free
from lessor.sandbox.programs import Sandbox

LESSOR = str(Path(sys.executable).with_name("lessor"))
READY_SECONDS = 60


@dataclass(frozen=True)
class Running(Sandbox):
    """A sandbox that runs: its addresses, its process and what it has printed."""

    process: subprocess.Popen[bytes]
    output: Path

    def child(self, name: str) -> psutil.Process:
        """The process of one of its programs, by the module or program that it runs."""
        for child in psutil.Process(self.process.pid).children(recursive=True):
            # A forked program's command is one text, with nothing after it up to the length of the fork server's.
            if name in " ".join(child.cmdline()).split()[1:3] or Path(child.exe()).name == name:
                return child
        raise LookupError(f"{name} does not run:\n{self.output.read_text()}")

    def stop(self) -> int:
        """Ctrl-C; the exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(60)


def demo_policy(
    data: Path, changes: Mapping[str, str] | None = None, policy: str = "", **sections: Mapping[str, str]
) -> None:
    """Lay the demo's configuration into the data directory, with lines of its `lease` section changed.

    `policy` replaces its section of that name; the others change lines of the sections of their names.
    """
    data.mkdir(parents=True, exist_ok=True)
    text = (resources.files("lessor.sandbox") / "demo.yaml").read_text()
    for section, changed in {"lease": changes or {}, **sections}.items():
        for key, value in changed.items():
            line = re.search(rf"^{section}:\n(?:[ #].*\n)*?  {key}: (.*)", text, flags=re.MULTILINE)
            assert line, f"{section} of the demo says nothing of {key}"
            text = f"{text[: line.start(1)]}{value}{text[line.end(1) :]}"
    if policy:
        text, replaced = re.subn(r"^policy:\n(?:[ #].*\n|\n)*", f"policy:\n{policy}\n", text, flags=re.MULTILINE)
        assert replaced == 1
    (data / "lessor.yaml").write_text(text)


@contextmanager
def running(data: Path) -> Iterator[Running]:
    """`lessor up` on free ports until the block ends; it must stop in order."""
    ports = free()
    output = data.parent / "up.log"
    with output.open("ab") as written:
        # A session of its own: a Ctrl-C in the tests' terminal must not reach it twice.
        process = subprocess.Popen(
            [LESSOR, "up", "--port-base", str(ports.base), "--data", str(data)],
            stdout=written,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
    started = Running(DataDirectory(data), Ports(ports.base), process, output)
    try:
        _await_ready(started, len(output.read_text()))
        yield started
        if process.poll() is None:
            assert started.stop() == 0, output.read_text()
    finally:
        process.kill()
        process.wait()


def _await_ready(started: Running, since: int) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while "Ready." not in started.output.read_text()[since:]:
        assert started.process.poll() is None, started.output.read_text()
        assert time.monotonic() < deadline, started.output.read_text()
        time.sleep(0.05)
