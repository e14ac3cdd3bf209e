"""Runs an executable of the organisation's: an argument vector, a JSON request on its input, and limits on everything.

No shell reads anything, so that what people write (a purpose, a name) can never become a command. What the executable
started and left behind ends with it.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from time import monotonic, sleep
from typing import IO, Any

OUTPUT_LIMIT = 4 * 1024 * 1024
"""Bytes of output; more is taken for a mistake."""

WORDS_LIMIT = 2_000
"""Bytes of what is said on the error output that are kept, the last ones."""

CHUNK = 65_536
TICK = 0.05
BEAT_SECONDS = 5.0
DRAIN_SECONDS = 1.0

PASSED = ("PATH", "HOME", "USER", "LANG", "LC_ALL", "TZ", "TMPDIR", "SSH_AUTH_SOCK")
"""Variables that an executable gets, besides those that begin like this: none of ours, which may be secret."""

PASSED_PREFIX = "LESSOR_HOOK_"


@dataclass(frozen=True)
class Ran:
    """What came of it. `code` is its exit code, `None` when it did not end by itself; then `problem` says why."""

    code: int | None
    output: bytes = b""
    words: str = ""
    problem: str = ""
    started: bool = True


def run(
    command: Sequence[str],
    request: Mapping[str, Any],
    timeout: timedelta,
    beat: Callable[[], None],
    folder: str = "/",
) -> Ran:
    """Run `command` in `folder` with `request` on its input until it ends or `timeout` has passed.

    `beat` is called every few seconds; when it raises, the executable is ended and the error goes on.
    """
    try:
        process = subprocess.Popen(  # noqa: S603 - configured by the organisation, never by whoever asks for GPUs
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            cwd=folder,
            env=environment(),
        )
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        return Ran(None, problem=f"{command[0]} cannot be started: {why}", started=False)
    with _Pipes(process, json.dumps(request).encode()) as pipes:
        try:
            problem = _wait(process, pipes, timeout, beat)
        finally:
            _end(process, pipes)
    words = _readable(bytes(pipes.words))
    if problem:
        return Ran(None, words=words, problem=problem)
    return Ran(process.returncode, bytes(pipes.output), words)


def environment() -> dict[str, str]:
    """What an executable finds in its environment."""
    return {name: value for name, value in os.environ.items() if name in PASSED or name.startswith(PASSED_PREFIX)}


@dataclass
class _Pipes:
    """The three pipes of a process, none of which is ever waited for."""

    process: subprocess.Popen[bytes]
    request: bytes
    output: bytearray = field(default_factory=bytearray)
    words: bytearray = field(default_factory=bytearray)

    def __enter__(self) -> _Pipes:
        self._selector = selectors.DefaultSelector()
        streams: tuple[tuple[IO[bytes] | None, int, Callable[[int], bool]], ...] = (
            (self.process.stdin, selectors.EVENT_WRITE, self._write),
            (self.process.stdout, selectors.EVENT_READ, self._read),
            (self.process.stderr, selectors.EVENT_READ, self._listen),
        )
        for stream, event, turn in streams:
            if stream is not None:
                os.set_blocking(stream.fileno(), False)
                self._selector.register(stream, event, turn)
        return self

    def __exit__(self, *_: object) -> None:
        self._selector.close()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                with suppress(OSError):
                    stream.close()

    @property
    def open(self) -> bool:
        return bool(self._selector.get_map())

    @property
    def full(self) -> bool:
        return len(self.output) > OUTPUT_LIMIT

    def pump(self, seconds: float) -> None:
        """Move what can be moved, waiting so long for it at most."""
        for key, _ in self._selector.select(seconds):
            stream: Any = key.fileobj
            try:
                goes_on = key.data(key.fd)
            except BlockingIOError:
                continue
            except OSError:
                goes_on = False
            if not goes_on:
                self._selector.unregister(stream)
                with suppress(OSError):
                    stream.close()

    def _write(self, number: int) -> bool:
        self.request = self.request[os.write(number, self.request[:CHUNK]) :]
        return bool(self.request)

    def _read(self, number: int) -> bool:
        found = os.read(number, CHUNK)
        self.output += found
        return bool(found) and not self.full

    def _listen(self, number: int) -> bool:
        found = os.read(number, CHUNK)
        self.words = (self.words + found)[-WORDS_LIMIT:]
        return bool(found)


def _wait(process: subprocess.Popen[bytes], pipes: _Pipes, timeout: timedelta, beat: Callable[[], None]) -> str:
    """Until it has ended; why it has to be ended instead, in words."""
    begun = last_beat = monotonic()
    while not _has_ended(process):
        if pipes.open:
            pipes.pump(TICK)
        else:
            sleep(TICK)
        now = monotonic()
        if pipes.full:
            return f"it wrote more than {OUTPUT_LIMIT // 1024 // 1024} MiB"
        if now - begun >= timeout.total_seconds():
            return f"it did not end within {timeout.total_seconds():g} s"
        if now - last_beat >= BEAT_SECONDS:
            last_beat = now
            beat()
    return ""


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    # It is looked at without being collected: its number, and that of its group, cannot be anybody else's until then.
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _end(process: subprocess.Popen[bytes], pipes: _Pipes) -> None:
    """End it with all that it has started, and take what it has said until then."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    give_up = monotonic() + DRAIN_SECONDS
    # A child that left the group may hold the pipes open for ever.
    while pipes.open and not pipes.full and monotonic() < give_up:
        pipes.pump(TICK)


def _readable(raw: bytes) -> str:
    """One line of what was said, without what a terminal or a message would take for more than text."""
    text = raw.decode("utf-8", "replace")
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[-500:]
