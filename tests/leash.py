"""Servers for tests that end with the test run, however it ends: also when it is killed."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# The shell ends the server when its standard input closes, so that a killed test run leaves no server behind.
LEASH = """
signal=$1 patience=$2; shift 2
exec 3<&0
"$@" 3<&- & server=$!
(read -r _ <&3; kill "-$signal" "$server"
 [ "$patience" = 0 ] || { sleep "$patience"; kill -KILL "$server" 2>/dev/null; }) & watcher=$!
wait "$server"; kill "$watcher" 2>/dev/null
"""


def leashed(
    command: Sequence[str | Path], home: Path, log: Path, signal: str = "INT", patience: int = 0, **account: Any
) -> subprocess.Popen[bytes]:
    """The command, running in `home`, with all that it says in `log`; it gets `signal` when its input is closed.

    One that has not ended so many seconds of `patience` later is killed; 0 waits for it.
    """
    with log.open("wb") as said:
        return subprocess.Popen(
            ["/bin/sh", "-c", LEASH, "leash", signal, str(patience), *map(str, command)],
            cwd=home,
            stdin=subprocess.PIPE,
            stdout=said,
            stderr=said,
            start_new_session=True,
            **account,
        )
