"""What a child of the sandbox is: a program, its environment, and how one sees that it works."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

KEPT_FROM_THE_SHELL = ("PATH", "LANG", "LC_ALL", "PYTHONPATH", "TMPDIR")


@dataclass(frozen=True)
class Started:
    """One run of a child, as its readiness probe sees it: `at` is UTC, `log` is where its output goes."""

    pid: int
    at: datetime
    log: Path


Probe = Callable[[Started], bool]
"""Whether this run of the child works now. Called in a thread, again and again; must return within about a second."""


@dataclass(frozen=True)
class Child:
    """A program the supervisor keeps running. `after` names the children that must be ready before it starts.

    `environment` is all that the child sees of the environment: nothing is inherited. `patience` is how many seconds it
    may take to become ready, `grace` how many it may take to stop before it is killed. `also_loads` are modules that it
    imports only when it runs; where programs are forked, they are loaded for all.
    """

    name: str
    title: str
    argv: tuple[str, ...]
    environment: Mapping[str, str]
    ready: Probe
    after: tuple[str, ...] = ()
    patience: float = 60.0
    grace: float = 10.0
    also_loads: tuple[str, ...] = ()


@dataclass(frozen=True)
class Happening:
    """Something the supervisor did or saw, for whoever shows it. `what` is one of the words below."""

    child: Child
    what: str
    text: str = ""
    log_tail: tuple[str, ...] = field(default=())


STARTING = "starting"
READY = "ready"
CRASHED = "crashed"
STOPPED = "stopped"
KILLED = "killed"


class ChildFailedError(Exception):
    """A child could not be brought up, or kept crashing. The text is for people and ends with where the log is."""

    def __init__(self, message: str, log: Path, log_tail: Sequence[str] = ()) -> None:
        super().__init__(f"{message}; its log: {log}")
        self.log = log
        self.log_tail = tuple(log_tail)


def bare_environment(shell: Mapping[str, str], home: Path, extra: Mapping[str, str]) -> dict[str, str]:
    """`extra` on top of the few variables that programs need to run at all.

    Credentials, profiles, proxies and `LESSOR_*` settings of the user's shell stay out, and `home` stands in for the
    user's home directory: the sandbox never reads `~/.aws` or a Temporal profile and never reaches a real account.
    """
    kept = {name: shell[name] for name in KEPT_FROM_THE_SHELL if name in shell}
    return {**kept, "HOME": str(home), "TZ": "UTC", "PYTHONUNBUFFERED": "1", **extra}


def waves(children: Sequence[Child]) -> list[list[Child]]:
    """The children in groups that may start together. Raises ValueError for names that are unknown or go in circles."""
    known = {child.name for child in children}
    placed: set[str] = set()
    left, result = list(children), []
    while left:
        wave = [child for child in left if placed.issuperset(child.after)]
        if not wave:
            stuck = ", ".join(f"{child.name} after {'+'.join(child.after)}" for child in left)
            raise ValueError(f"no order in which these can start: {stuck} (known: {', '.join(sorted(known))})")
        result.append(wave)
        placed.update(child.name for child in wave)
        left = [child for child in left if child not in wave]
    return result
