"""Machines survive a restart of the sandbox, as they would survive a restart of lessor in the real AWS.

moto lives in memory, but its objects pickle well: the whole state is some tens of kilobytes. The file is trusted like
the rest of the sandbox's data directory (unpickling runs code): never load one that somebody else wrote.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import moto
from moto.ec2.models import ec2_backends

from lessor.sandbox.aws.cloud import SimulatedCloud

# moto's objects refer to each other in long chains: instance, interface, subnet, backend, next instance.
_RECURSION = 50_000


class StateFile:
    """Where the simulated AWS is kept between runs."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def save(self, cloud: SimulatedCloud) -> None:
        """Write everything that exists, all or nothing."""
        with cloud.lock, _deep_recursion():
            backends = {
                (account, region): b for account, regions in ec2_backends.items() for region, b in regions.items()
            }
            content = pickle.dumps((_versions(), backends, cloud.state))
        self.path.parent.mkdir(parents=True, exist_ok=True)
        part = self.path.with_suffix(".part")
        part.write_bytes(content)
        os.replace(part, self.path)

    def load(self, cloud: SimulatedCloud) -> str:
        """Bring back what was saved; returns one line that says what happened. An unreadable file is set aside."""
        if not self.path.exists():
            return f"It begins empty; what you launch is kept in {self.path}."
        try:
            with cloud.lock, _deep_recursion():
                versions, backends, state = pickle.loads(self.path.read_bytes())  # noqa: S301
                if versions != _versions():
                    raise ValueError(f"written by {versions}, this is {_versions()}")
                cloud.resume(state, backends)
        except Exception as error:
            aside = self.path.with_suffix(".unreadable")
            os.replace(self.path, aside)
            return f"It begins empty: {self.path} could not be read ({error}); it was kept as {aside}."
        return f"It goes on from {self.path} with {len(cloud.state.fleet.records)} remembered machines."


@contextmanager
def _deep_recursion() -> Iterator[None]:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _RECURSION))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def _versions() -> str:
    return f"moto {moto.__version__} on Python {sys.version_info.major}.{sys.version_info.minor}, layout 1"
