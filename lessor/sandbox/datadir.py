"""The sandbox's data directory: one program at a time, everything that survives a restart in one place."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path


class DataDirectoryError(Exception):
    """The directory cannot be used; the text says why and what to do. Nothing was started."""


@dataclass(frozen=True)
class DataDirectory:
    """`root` is absolute. Temporal's and the ledger's files, the configuration, logs and a home for the children."""

    root: Path

    @property
    def temporal(self) -> Path:
        return self.root / "temporal.db"

    @property
    def ledger_url(self) -> str:
        return f"sqlite:///{self.root / 'lessor.db'}"

    @property
    def config(self) -> Path:
        return self.root / "lessor.yaml"

    @property
    def exports(self) -> Path:
        return self.root / "env.sh"

    @property
    def cluster(self) -> Path:
        """What the simulated cluster keeps: what exists in it, its certificates, ways in."""
        return self.root / "cluster"

    @property
    def kubeconfig(self) -> Path:
        return self.cluster / "kubeconfig"

    @property
    def notebook(self) -> Path:
        """What the guard remembers."""
        return self.root / "guard.json"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def home(self) -> Path:
        return self.root / "home"


@contextlib.contextmanager
def claimed(root: Path, policy: str) -> Iterator[DataDirectory]:
    """Hold the directory for this process, made and filled where needed; `policy` names the configuration to lay there.

    A `lessor.yaml` that is there already is kept: people edit it. Raises `DataDirectoryError` when another program has
    the directory or it cannot be written.
    """
    data = DataDirectory(root.expanduser().absolute())
    try:
        for folder in (data.root, data.logs, data.home):
            folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(data.root / "up.lock", os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise DataDirectoryError(
            f"the data directory {data.root} cannot be used ({error.strerror}); nothing was started. "
            "Choose another one with --data"
        ) from error
    try:
        _hold(lock, data.root)
        if not data.config.exists():
            with resources.as_file(resources.files(__package__) / policy) as shipped:
                shutil.copyfile(shipped, data.config)
        yield data
    finally:
        os.close(lock)


def _hold(lock: int, root: Path) -> None:
    """The kernel lets go of the lock when this process ends, however it ends: a stale file locks nobody out."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        holder = os.pread(lock, 32, 0).decode(errors="replace").strip() or "unknown"
        raise DataDirectoryError(
            f"the data directory {root} is in use by another sandbox (process {holder}); nothing was started. "
            "Stop that one with Ctrl-C in its terminal, or choose another directory with --data"
        ) from error
    os.ftruncate(lock, 0)
    os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
