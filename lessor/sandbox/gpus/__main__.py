"""`python -m lessor.sandbox.gpus --aws http://127.0.0.1:7412 --port N`: the GPUs as a program of its own."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from lessor.catalog import load_catalogue
from lessor.sandbox.aws.client import SimulatorClient
from lessor.sandbox.gpus.server import keep_sampling, keep_seeing, listening, sources
from lessor.sandbox.gpus.simulation import Simulation
from lessor.sandbox.kubernetes.client import ClusterClient
from lessor.sandbox.serving import kept_going, told_to_stop


def main(arguments: list[str] | None = None) -> int:
    """Run until stopped; 2 with one line of reason when it cannot start."""
    parser = argparse.ArgumentParser(prog="python -m lessor.sandbox.gpus", description=__doc__)
    parser.add_argument("--aws", required=True, help="address of the AWS simulator, whose machines have the GPUs")
    parser.add_argument("--cluster", default="", help="address of the simulated cluster's page, whose pods have GPUs")
    parser.add_argument("--pools", type=Path, help="a lessor.yaml whose pools of machines have GPUs as well")
    parser.add_argument("--port", type=int, default=0, help="port to listen on (default: a free one)")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--every", type=float, default=0.5, help="seconds between two samples")
    parser.add_argument("--state", type=Path, help="keep what machines do in this file across restarts")
    chosen = parser.parse_args(arguments)
    try:
        asyncio.run(_serve(Simulation(chosen.state), chosen))
    except (OSError, ValueError) as wrong:
        sys.stderr.write(f"simulated GPUs: {wrong}\n")
        return 2
    return 0


async def _serve(simulation: Simulation, chosen: argparse.Namespace) -> None:
    stop = told_to_stop()
    aws = SimulatorClient(chosen.aws, timeout=2.0)
    cluster = ClusterClient(chosen.cluster, timeout=2.0) if chosen.cluster else None
    seen = sources(aws, cluster, load_catalogue(), chosen.pools)
    keepers = [
        asyncio.create_task(keep_seeing(simulation, seen, 2 * chosen.every)),
        asyncio.create_task(keep_sampling(simulation, chosen.every)),
    ]
    async with listening(simulation, chosen.port, chosen.host) as url:
        print(f"simulated GPUs: {url}/", flush=True)  # noqa: T201
        await kept_going(stop, keepers)


if __name__ == "__main__":
    sys.exit(main())
