"""A program that leaves at once still says everything, with the code it was given."""

from __future__ import annotations

import os
import subprocess
import sys


def test_output_is_flushed_and_nothing_runs_afterwards() -> None:
    code = (
        "import atexit, logging, sys; from lessor.leaving import leave\n"
        "atexit.register(print, 'taken apart')\n"
        "logging.basicConfig(stream=sys.stderr); logging.warning('logged')\n"
        "sys.stdout.write('said'); leave(3)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (3, "said", "WARNING:root:logged\n")


def test_a_reader_that_has_gone_away_is_no_error() -> None:
    code = "import sys; from lessor.leaving import leave; sys.stdin.read(); sys.stdout.write('x'); leave(0)"
    buffered = {**os.environ, "PYTHONUNBUFFERED": ""}
    command = [sys.executable, "-c", code]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=buffered)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdout.close()
    process.stdin.close()
    assert process.wait(30) == 0
