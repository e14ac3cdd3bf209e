"""`python -m lessor.sandbox.kubernetes --port N --page-port M --data DIRECTORY`: the cluster as a program."""

from __future__ import annotations

import argparse
import asyncio
import sys
from dataclasses import dataclass
from pathlib import Path

from lessor.sandbox.kubernetes import nodes
from lessor.sandbox.kubernetes.certificates import certificates
from lessor.sandbox.kubernetes.cluster import SimulatedCluster
from lessor.sandbox.kubernetes.control_api import make_page
from lessor.sandbox.kubernetes.kinds import kind
from lessor.sandbox.kubernetes.kubeconfigs import kubeconfig, lay
from lessor.sandbox.kubernetes.running import ACCOUNT, manifests
from lessor.sandbox.kubernetes.server import keep_stepping, listening, make_application
from lessor.sandbox.kubernetes.statefile import StateFile
from lessor.sandbox.serving import kept_going, told_to_stop

CONTEXT = "lab"
_RENEWED = 5.0
"""Seconds between two tokens for lessor, so that a refused one is soon followed by another."""


@dataclass(frozen=True)
class Files:
    """What the program keeps in its directory."""

    root: Path

    @property
    def state(self) -> Path:
        return self.root / "state.json"

    @property
    def token(self) -> Path:
        return self.root / "token"

    @property
    def kubeconfig(self) -> Path:
        """lessor's own way in: its service account, by a token file that is renewed."""
        return self.root / "kubeconfig"

    @property
    def admin(self) -> Path:
        """For people who want to look around with kubectl."""
        return self.root / "admin.kubeconfig"


def main(arguments: list[str] | None = None) -> int:
    """Run until stopped; 2 with one line of reason when it cannot start."""
    parser = argparse.ArgumentParser(prog="python -m lessor.sandbox.kubernetes", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="port of the API (default: a free one)")
    parser.add_argument("--page-port", type=int, default=0, help="port of the page (default: a free one)")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--data", type=Path, required=True, help="directory for what exists, kubeconfigs, certificates")
    chosen = parser.parse_args(arguments)
    try:
        asyncio.run(_serve(Files(chosen.data), chosen.host, chosen.port, chosen.page_port))
    except (OSError, ValueError) as wrong:
        sys.stderr.write(f"simulated cluster: {wrong}\n")
        return 2
    return 0


def prepared(state: StateFile) -> SimulatedCluster:
    """A cluster that goes on where the last run ended, or begins; every change is written down."""
    cluster = SimulatedCluster()
    if not state.load(cluster):
        cluster.begin(nodes.lab())
    cluster.install(manifests())
    cluster.on_change = lambda: state.save(cluster)
    cluster.on_change()
    return cluster


async def _serve(files: Files, host: str, port: int, page_port: int) -> None:
    stop = told_to_stop()
    cluster = prepared(StateFile(files.state))
    authority, tls = certificates(files.root / "pki")
    async with (
        listening(make_application(cluster), host, port, tls) as address,
        listening(make_page(cluster), host, page_port, None) as page,
    ):
        lay(files.token, _token(cluster))
        lay(files.kubeconfig, kubeconfig(address, CONTEXT, token_file=files.token, authority=authority))
        lay(files.admin, kubeconfig(address, CONTEXT, token=cluster.accounts.admin(), authority=authority))
        print(f"simulated cluster: {page}/  (API: {address})", flush=True)  # noqa: T201
        keepers = [asyncio.create_task(keep_stepping(cluster)), asyncio.create_task(_keep_renewing(cluster, files))]
        await kept_going(stop, keepers)


async def _keep_renewing(cluster: SimulatedCluster, files: Files) -> None:
    while True:
        await asyncio.sleep(_RENEWED)
        lay(files.token, _token(cluster))


def _token(cluster: SimulatedCluster) -> str:
    with cluster.lock:
        return cluster.accounts.issue(cluster.registry.get(kind("ServiceAccount"), *ACCOUNT), 3600)[0]


if __name__ == "__main__":
    sys.exit(main())
