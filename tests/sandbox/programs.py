"""The simulators as programs: started, believed by the one line that they say, and stopped."""

from __future__ import annotations

import asyncio
import re
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

URL = r"(http://127\.0\.0\.1:\d+)"


@asynccontextmanager
async def started(module: str, *options: str, says: str) -> AsyncIterator[tuple[Process, str]]:
    """The program and its address: the first group of `says`, which its first line has to match. Killed at last."""
    program = await asyncio.create_subprocess_exec(sys.executable, "-m", module, *options, stdout=PIPE)
    assert program.stdout is not None
    try:
        found = re.fullmatch(says, (await program.stdout.readline()).decode().rstrip("\n"))
        assert found is not None
        yield program, found[1]
    finally:
        if program.returncode is None:
            program.kill()
            await program.wait()


@asynccontextmanager
async def interrupted(module: str, *options: str, says: str) -> AsyncIterator[str]:
    """The address of a program that is interrupted when the block ends, and has to end well then."""
    async with started(module, *options, says=says) as (program, url):
        yield url
        program.send_signal(signal.SIGINT)
        assert await asyncio.wait_for(program.wait(), 60) == 0


async def refused(module: str, *options: str) -> tuple[int | None, str, str]:
    """Code, output and complaint of a program that does not start."""
    program = await asyncio.create_subprocess_exec(sys.executable, "-m", module, *options, stdout=PIPE, stderr=PIPE)
    said, complained = await program.communicate()
    return program.returncode, said.decode(), complained.decode()
