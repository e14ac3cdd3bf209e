"""How long people wait for the command line: `lessor --help`, and `lessor up` until it is ready."""

from __future__ import annotations

import asyncio
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from bench.result import Result
from lessor.sandbox.portplan import free

HELPS = 5
LESSOR = Path(sys.executable).parent / "lessor"
LONGEST_SECONDS = 120


async def run(scale: float) -> list[Result]:
    """`scale` changes nothing."""
    times = [await asyncio.to_thread(_help) for _ in range(HELPS)]
    return [
        Result("CPU of lessor --help", median(times), "s", 0.5),
        Result("lessor up until ready", await asyncio.to_thread(_up), "s", 15.0),
    ]


def _help() -> float:
    """CPU seconds, user and system."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([LESSOR, "--help"], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def _up() -> float:
    """Seconds on the clock in a fresh data directory, until the table of links is printed."""
    with tempfile.TemporaryDirectory(prefix="lessor-bench-") as directory:
        command = [str(LESSOR), "up", "--port-base", str(free().base), "--data", directory]
        started = time.monotonic()
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert process.stdout is not None
        try:
            for line in process.stdout:
                if line.startswith("Ready"):
                    return time.monotonic() - started
            raise RuntimeError("`lessor up` stopped before it was ready")
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=LONGEST_SECONDS)
