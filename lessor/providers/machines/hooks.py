"""How people are let into machines, locked out, and how it is seen who can get in: by the organisation's executables.

What an executable does not say is not known: an answer that leaves a lease out does not mean that nobody can get in.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from lessor.domain.bookings import Booking
from lessor.domain.machines import Fitness, Machine
from lessor.ports import Heartbeat, PermanentError, RetryableError
from lessor.providers.machines.pool import Pool
from lessor.providers.machines.running import Ran, run

VERSION = 1
TRY_LATER = 75
NEVER = range(64, 79)
"""Exit codes as in sysexits.h: these say that trying again does not help, except the one for later."""

Runner = Callable[[Sequence[str], Mapping[str, Any], timedelta, Callable[[], None], str], Ran]


@dataclass(frozen=True)
class Who:
    """Somebody who is let in. `email` may be empty; `name` is what an answer calls them by."""

    id: str
    email: str = ""

    @property
    def name(self) -> str:
        return self.email or self.id


@dataclass(frozen=True)
class Access:
    """Who can get in: people by lease, by machine. What is not here was not said, which is not the same as nobody."""

    machines: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    problem: str = ""

    def people(self, machine: str, lease_id: str) -> tuple[str, ...] | None:
        """Who gets into the machine for the lease; nobody is `()`, and `None` is unknown."""
        leases = self.machines.get(machine)
        return None if leases is None else leases.get(lease_id)

    def leases(self, machine: str) -> Mapping[str, tuple[str, ...]]:
        """People by lease of those leases for which anybody gets into the machine, as far as is known."""
        return {lease: people for lease, people in self.machines.get(machine, {}).items() if people}


class Hooks:
    """The executables of pools. Each may be called again with the same request and does the same then."""

    def __init__(self, runner: Runner = run) -> None:
        self._run = runner

    def grant(
        self, pool: Pool, machine: Machine, booking: Booking, people: Sequence[Who], heartbeat: Heartbeat
    ) -> None:
        """Let exactly these people in for the lease, until its end. Raises `ProviderError`."""
        told = {"people": [{"id": one.id, "email": one.email, "name": one.name} for one in people]}
        request = {**_request(pool, machine, booking, "grant"), **told}
        self._change(pool.commands.grant, request, pool, machine, heartbeat)

    def revoke(self, pool: Pool, machine: Machine, booking: Booking, heartbeat: Heartbeat) -> None:
        """Let nobody in for the lease any more. Raises `ProviderError`."""
        self._change(pool.commands.revoke, _request(pool, machine, booking, "revoke"), pool, machine, heartbeat)

    def verify(
        self, pool: Pool, machines: Iterable[Machine], leases: Mapping[str, Sequence[str]], heartbeat: Heartbeat
    ) -> Access:
        """Who can get into the machines; `leases` are those that have to be spoken of, by machine.

        With a problem nothing is known. Raises only what `heartbeat` raises.
        """
        asked = [{**_machine(one), "leases": list(leases.get(one.name, ()))} for one in machines]
        request = {"version": VERSION, "action": "verify", "place": pool.name, "machines": asked}
        limit, folder = pool.commands.timeout, pool.commands.folder
        ran = self._run(pool.commands.verify, request, limit, lambda: heartbeat("asking who gets in"), folder)
        if ran.code != 0:
            return Access(problem=f"who can get into machines of {pool.name} could not be seen: {_why(ran)}")
        try:
            return Access(_answer(ran.output))
        except ValueError as error:
            return Access(problem=f"what verify of {pool.name} says makes no sense: {error}")

    def health(self, pool: Pool, machine: Machine, heartbeat: Heartbeat) -> tuple[Fitness, str]:
        """Whether the machine is fit for use, and what is wrong with it; unknown when it could not be looked at."""
        if not pool.commands.health:
            return Fitness.FIT, ""
        request = {"version": VERSION, "action": "health", "place": pool.name, "machine": _machine(machine)}
        what = f"checking {machine.name}"
        limit, folder = pool.commands.timeout, pool.commands.folder
        ran = self._run(pool.commands.health, request, limit, lambda: heartbeat(what), folder)
        if ran.code == 0:
            return Fitness.FIT, ""
        said = ran.words if ran.code is not None else ""
        return (Fitness.UNFIT if ran.started else Fitness.UNKNOWN), said or _why(ran)

    def _change(
        self, command: Sequence[str], request: Mapping[str, Any], pool: Pool, machine: Machine, heartbeat: Heartbeat
    ) -> None:
        what = f"{request['action']} on {machine.name}"
        heartbeat(what)
        ran = self._run(command, request, pool.commands.timeout, lambda: heartbeat(what), pool.commands.folder)
        if ran.code == 0:
            return
        words = f"{what} did not succeed: {_why(ran)}"
        if not ran.started or (ran.code in NEVER and ran.code != TRY_LATER):
            raise PermanentError(f"{words}. Mend it at the hooks of {pool.name}; it is tried again then", "hook-failed")
        raise RetryableError(words, "hook-failed")


def _request(pool: Pool, machine: Machine, booking: Booking, action: str) -> dict[str, Any]:
    return {
        "version": VERSION,
        "action": action,
        "place": pool.name,
        "machine": _machine(machine),
        "lease": booking.lease_id,
        "gpus": list(booking.gpus),
        "team": booking.team,
        "cost_center": booking.cost_center,
        "ends": _iso(booking.open_until or booking.ends),
    }


def _machine(machine: Machine) -> dict[str, Any]:
    return {
        "name": machine.name,
        "address": machine.address or machine.name,
        "room": machine.room,
        "model": machine.model,
        "gpus": machine.gpus,
    }


def _answer(raw: bytes) -> dict[str, dict[str, tuple[str, ...]]]:
    """Raises ValueError for anything but `{"machines": {NAME: {LEASE: [PERSON, ...]}}}`."""
    try:
        machines = json.loads(raw, object_pairs_hook=_said_once)["machines"]
        return {name: {lease: _named(people) for lease, people in leases.items()} for name, leases in machines.items()}
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"it is not of the form that docs/machines.md gives ({type(error).__name__})") from error


def _said_once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Of two answers about one machine or lease neither is believed: the last would hide who is in the first."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("it says something twice")
    return found


def _named(people: Any) -> tuple[str, ...]:
    if not isinstance(people, list):
        raise ValueError("people are a list")
    if not all(isinstance(one, str) for one in people):
        raise ValueError("people are named by text")
    return tuple(people)


def _why(ran: Ran) -> str:
    ended = ran.problem or f"it ended with {ran.code}"
    return f"{ended}; it said: {ran.words}" if ran.words else ended


def _iso(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
