"""The sandbox's ports: all beside each other from one base, and checked before anything starts."""

from __future__ import annotations

import random
import socket
from dataclasses import dataclass

HOST = "127.0.0.1"
DEFAULT_BASE = 7410
LOWEST, HIGHEST = 1024, 65_526
"""Ten ports fit behind a base."""

# Free bases are looked for below the ports that systems hand to outgoing connections, which come and go.
_FREE_FROM, _FREE_TO, _SPACING = 20_000, 32_000, 10


class PortsError(Exception):
    """The ports cannot be used; the text says which, what for and what to do. Nothing was started."""


@dataclass(frozen=True)
class Ports:
    """Where each part of one sandbox listens."""

    base: int

    @property
    def slack(self) -> int:
        return self.base

    @property
    def temporal_ui(self) -> int:
        return self.base + 1

    @property
    def aws(self) -> int:
        return self.base + 2

    @property
    def temporal(self) -> int:
        return self.base + 3

    @property
    def smtp(self) -> int:
        return self.base + 4

    @property
    def mail(self) -> int:
        return self.base + 5

    @property
    def gpus(self) -> int:
        return self.base + 6

    @property
    def web(self) -> int:
        return self.base + 7

    @property
    def cluster(self) -> int:
        return self.base + 8

    @property
    def cluster_page(self) -> int:
        return self.base + 9

    @property
    def purposes(self) -> dict[int, str]:
        return {
            self.slack: "Slack sandbox",
            self.temporal_ui: "Temporal UI",
            self.aws: "AWS simulator",
            self.temporal: "Temporal server",
            self.smtp: "mail server",
            self.mail: "sandbox mail",
            self.gpus: "simulated GPUs",
            self.web: "dashboard",
            self.cluster: "simulated cluster",
            self.cluster_page: "page of the cluster",
        }


def checked(base: int) -> Ports:
    """The ports from `base` on. Raises `PortsError` for a base out of range and for ports that are taken."""
    if not LOWEST <= base <= HIGHEST:
        raise PortsError(
            f"--port-base {base} is out of range; {LOWEST} to {HIGHEST:,} are allowed; nothing was started"
        )
    ports = Ports(base)
    taken = [f"{port} ({purpose})" for port, purpose in ports.purposes.items() if is_taken(port)]
    if taken:
        what = f"port {taken[0]} is" if len(taken) == 1 else f"ports {', '.join(taken)} are"
        raise PortsError(
            f"{what} in use by another program; nothing was started. Stop that program, "
            f"or move all ports: lessor up --port-base {(other := free().base)}, or make up PORT_BASE={other}"
        )
    return ports


def free() -> Ports:
    """Ports of which none is taken now."""
    for base in random.sample(range(_FREE_FROM, _FREE_TO, _SPACING), 200):
        ports = Ports(base)
        if not any(is_taken(port) for port in ports.purposes):
            return ports
    raise PortsError(f"no free ports beside each other between {_FREE_FROM:,} and {_FREE_TO:,}")


def is_taken(port: int) -> bool:
    """Whether a program listens on the port, or holds it so that we could not."""
    with socket.socket() as asking:
        asking.settimeout(0.5)
        if asking.connect_ex((HOST, port)) == 0:
            return True
    with socket.socket() as holding:
        # As servers do it: a port that only waits for old connections to fade is free.
        holding.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            holding.bind((HOST, port))
        except OSError:
            return True
    return False
