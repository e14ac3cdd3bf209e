"""Whether a lease does nothing or was stopped for it, and what was said to that, as the command line shows it."""

from __future__ import annotations

from datetime import datetime

from lessor.domain import rungs, unheld
from lessor.domain.lease import Lease
from lessor.when import local


def rows(lease: Lease, now: datetime, zone: str) -> list[tuple[str, str]]:
    """The same in words, where something of it is so."""
    return [("Idle", _idle(lease, now, zone)), ("Stopped", _paused(lease, zone)), ("Spared", _spared(lease, zone))]


def _idle(lease: Lease, now: datetime, zone: str) -> str:
    ladder = lease.idle
    if ladder is None or lease.pause:
        return ""
    seen = ladder.evidence
    since = f"{seen.verdict.value} since {local(seen.since, zone)}"
    said = unheld.words(seen, local(seen.unheld_since, zone)) if seen.unheld_since else ""
    since += f"; {said}" if said else ""
    if seen.active_at:
        since += f"; last activity {local(seen.active_at, zone)} ({seen.active_kind})"
    return f"{since}; {_follows(lease, now, zone)}"


def _follows(lease: Lease, now: datetime, zone: str) -> str:
    if lease.disputed:
        return f"not believed until {local(lease.disputed.until, zone)}: {lease.disputed.reason}"
    if lease.snooze and lease.snooze.until > now:
        return f"left alone until {local(lease.snooze.until, zone)} by {lease.snooze.by}: {lease.snooze.reason}"
    against, stops = rungs.barred(lease, now), rungs.stops_at(lease, now)
    if against:
        return f"not stopped: {against}"
    return f"stopped {local(stops, zone)} unless it works before" if stops else "nothing is stopped now"


def _paused(lease: Lease, zone: str) -> str:
    pause = lease.pause
    return f"since {local(pause.at, zone)}: {pause.words}; start it with lessor start {lease.id}" if pause else ""


def _spared(lease: Lease, zone: str) -> str:
    spared = lease.spared
    if spared is None:
        return ""
    until = f"until {local(spared.until, zone)}" if spared.until else "until its end"
    return f"{until}, by {spared.by}: {spared.reason}"
