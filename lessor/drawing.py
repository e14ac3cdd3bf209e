"""Draws charts in a process of its own: a renderer that hangs, crashes or eats memory takes nothing down with it.

vl-convert holds Python's lock while it works, half a second the first time, and nothing can interrupt it from inside.
The process starts with the first chart, since altair alone takes seconds to load, and ends when nobody asks for a while
or whoever asks is gone. It gets none of our environment but the way to Python.
"""

from __future__ import annotations

import asyncio
import json
import os
import select
import struct
import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import IO

from lessor.charts import Figures

SECONDS = 20.0
"""How long one chart may take, with the start of the process and those before it."""

REST_SECONDS = 300.0
PNG_MOST = 2_000_000
DRAWN, FAILED = b"+", b"-"

_HEAD = struct.Struct("!cI")
_PASSED_ON = ("PATH", "PYTHONPATH", "HOME", "LANG", "SYSTEMROOT", "LD_LIBRARY_PATH")
_COMMAND = (sys.executable, "-m", "lessor.drawing")


class DrawingError(Exception):
    """There is no picture, and why; whatever it was for goes on without."""


class Drawer:
    """One chart after the other. `command` is what draws them."""

    def __init__(self, *, seconds: float = SECONDS, command: Sequence[str] = _COMMAND) -> None:
        self._seconds = seconds
        self._command = tuple(command)
        self._child: subprocess.Popen[bytes] | None = None
        self._thread: ThreadPoolExecutor | None = None
        self._turn = asyncio.Lock()

    @property
    def pid(self) -> int:
        """The process that drew the latest chart; 0 where there is none."""
        return self._child.pid if self._child else 0

    async def png(self, shown: Figures) -> bytes:
        """The chart as a picture for Slack. Raises `DrawingError` in time, whatever happens to the renderer."""
        return await self.draw(shown, "png")

    async def draw(self, shown: Figures, kind: str) -> bytes:
        """The chart as one of `charts.KINDS`. Raises `DrawingError` in time, whatever happens to the renderer."""
        try:
            async with asyncio.timeout(self._seconds), self._turn:
                return await self._drawn(json.dumps({"kind": kind, "shown": shown}).encode())
        except TimeoutError:
            raise DrawingError(f"no chart within {self._seconds:g} s") from None
        except (OSError, ValueError) as error:
            raise DrawingError(f"the renderer could not be used: {error}") from error

    async def close(self) -> None:
        """End the process, if there is one."""
        await asyncio.to_thread(self._end)
        if self._thread:
            self._thread.shutdown(wait=False)
            self._thread = None

    async def _drawn(self, sent: bytes) -> bytes:
        self._thread = self._thread or ThreadPoolExecutor(1, thread_name_prefix="drawing")
        given_up = threading.Event()
        asked = asyncio.get_running_loop().run_in_executor(self._thread, self._exchange, sent, given_up)
        try:
            return await asyncio.shield(asked)
        except BaseException:
            # The thread waits for the process: it is free again as soon as that is gone.
            given_up.set()
            if not asked.done() and self._child:
                self._child.kill()
                asked.add_done_callback(lambda done: done.cancelled() or done.exception())
            raise

    def _exchange(self, sent: bytes, given_up: threading.Event) -> bytes:
        """Ask and read the answer; a process that turns out to have ended before is replaced once."""
        try:
            return self._asked(sent)
        except (EOFError, BrokenPipeError):
            if given_up.is_set():
                raise DrawingError("nobody waits for the chart any more") from None
        try:
            return self._asked(sent)
        except (EOFError, BrokenPipeError):
            raise DrawingError("the renderer ended") from None

    def _asked(self, sent: bytes) -> bytes:
        source, sink = self._pipes()
        try:
            sink.write(sent + b"\n")
            sink.flush()
            word, length = _HEAD.unpack(_exactly(source, _HEAD.size))
            if length > PNG_MOST:
                raise DrawingError(f"the chart has {length} bytes; {PNG_MOST} are allowed")
            answer = _exactly(source, length)
        except BaseException:
            # What it says next would be taken for the answer to the next question.
            self._end()
            raise
        if word != DRAWN:
            raise DrawingError(answer.decode(errors="replace")[:300])
        return answer

    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        """What the process says and what it hears; one that has rested too long is replaced."""
        if self._child is None or self._child.poll() is not None:
            self._end()
            kept = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
            self._child = subprocess.Popen(  # noqa: S603 - our own module, in our own interpreter
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=kept
            )
        source, sink = self._child.stdout, self._child.stdin
        if source is None or sink is None:
            raise DrawingError("the renderer has no pipes")
        return source, sink

    def _end(self) -> None:
        child, self._child = self._child, None
        if child is None:
            return
        child.kill()
        child.wait()
        for pipe in (child.stdin, child.stdout):
            if pipe:
                try:
                    pipe.close()
                except BrokenPipeError:
                    continue


def serve(source: IO[bytes], sink: IO[bytes], rest: float = REST_SECONDS) -> None:
    """Draw what is asked for, one JSON document a line, until nobody is there any more or nothing is asked for."""
    from lessor.charts import draw

    while select.select([source], [], [], rest)[0]:
        line = source.readline()
        if not line:
            return
        try:
            asked = json.loads(line)
            word, answer = DRAWN, draw(asked["shown"], asked["kind"])
        except Exception as error:
            word, answer = FAILED, f"{type(error).__name__}: {error}".encode()
        sink.write(_HEAD.pack(word, len(answer)) + answer)
        sink.flush()


def _exactly(source: IO[bytes], count: int) -> bytes:
    """So many bytes. Raises `EOFError` when the other side is gone before."""
    data = source.read(count)
    if len(data) < count:
        raise EOFError
    return data


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer)
