"""Programs that a benchmark starts and that say one line on their standard output when they are ready.

The rest of what they say is drained: core writes its warnings there, and a pipe that nobody reads stops a worker.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from pathlib import Path


def start(command: list[str], log: Path) -> subprocess.Popen[bytes]:
    """Start it with its errors in `log`; its output is for `first_line`.

    It may keep its compiled modules, as an installation does: else the sandbox compiles them for each workflow.
    """
    log.parent.mkdir(exist_ok=True)
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with log.open("ab") as errors:
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, env=kept)


def first_line(process: subprocess.Popen[bytes], log: Path) -> str:
    """Its first line, empty when it ended without one; what comes after goes to `log` until it ends. Blocks."""
    assert process.stdout is not None
    line = process.stdout.readline().decode().strip()
    threading.Thread(target=_drain, args=(process, log), daemon=True).start()
    return line


def _drain(process: subprocess.Popen[bytes], log: Path) -> None:
    assert process.stdout is not None
    with log.open("ab") as rest:
        shutil.copyfileobj(process.stdout, rest)
