"""`python -m bench [NAME ...] [--scale X]`: run the benchmarks, print the table, write `bench/out/results.json`."""

from __future__ import annotations

import argparse
import asyncio
import importlib
import sys
import time

from bench.result import Result, table, write
from lessor.leaving import leave

NAMES = {
    "startup": "`lessor --help` and `lessor up`",
    "history": "events of a 30-day lease",
    "policy": "deciding a request by 100 rules",
    "updates": "round trip of approve and extend",
    "lifecycle": "CPU per lease, leases per second",
    "acks": "acknowledging slash commands while everything behind hangs",
    "memory": "worker memory per cached lease",
    "cache": "worker memory with many more open leases than the cache holds",
    "quota": "quota reservations a second while everybody wants the same team's GPUs and money",
    "meter": "a tick over 2,000 leases",
    "crowd": "many leases ending at once; SIGKILL of the worker",
}


def main() -> int:
    """0 when every target was met, 1 when one was missed."""
    described = "; ".join(f"{name}: {what}" for name, what in NAMES.items())
    parser = argparse.ArgumentParser(prog="python -m bench", description=f"Benchmarks. {described}.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which (default: all of {', '.join(NAMES)})")
    parser.add_argument("--scale", type=float, default=1.0, help="a fraction makes smaller, less exact runs")
    wanted = parser.parse_args()
    unknown = [name for name in wanted.names if name not in NAMES]
    if unknown:
        parser.error(f"unknown benchmark {unknown[0]!r}; known are {', '.join(NAMES)}")
    results: list[Result] = []
    for name in wanted.names or NAMES:
        results += _run(name, wanted.scale)
        path = write(results)
    table(results)
    print(f"written to {path}")
    return 1 if any(result.holds is False for result in results) else 0


def _run(name: str, scale: float) -> list[Result]:
    started = time.monotonic()
    print(f"{name}: {NAMES[name]} ...", file=sys.stderr, flush=True)
    found: list[Result] = asyncio.run(importlib.import_module(f"bench.{name}").run(scale))
    print(f"{name}: done in {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
    return found


if __name__ == "__main__":
    leave(main())
