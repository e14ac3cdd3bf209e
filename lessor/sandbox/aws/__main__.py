"""`python -m lessor.sandbox.aws --port N`: the simulated AWS as a program of its own."""

from __future__ import annotations

import argparse
import signal
import threading
from pathlib import Path

from moto.moto_api._internal import mock_random

from lessor.sandbox.aws.identity import HOME_ACCOUNT, administrator_key
from lessor.sandbox.aws.persistence import StateFile
from lessor.sandbox.aws.server import running_aws_simulator

# Slow enough to be seen on the page, quick enough not to bore.
REALISTIC_DELAYS = {"pending": 4.0, "stopping": 5.0, "shutting_down": 6.0}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m lessor.sandbox.aws", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="port to listen on (default: a free one)")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--instant", action="store_true", help="no delays between instance states")
    parser.add_argument("--state", type=Path, help="keep what exists in this file, so that machines survive a restart")
    chosen = parser.parse_args(arguments)
    # Where it was loaded before this process was forked, each run would give the ids of the last.
    mock_random.seed()
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    kept = StateFile(chosen.state) if chosen.state else None
    with running_aws_simulator(chosen.port, chosen.host, kept) as simulator:
        if not chosen.instant:
            simulator.controls.set_delays(**REALISTIC_DELAYS)
        print(f"simulated AWS: {simulator.url}  (page: {simulator.page})", flush=True)  # noqa: T201
        print(  # noqa: T201
            f"{simulator.beginning}\n"
            f"Account {HOME_ACCOUNT}; any access key is lessor's role, {administrator_key()} its administrator's.",
            flush=True,
        )
        stop.wait()


if __name__ == "__main__":
    main()
