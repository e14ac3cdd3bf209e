"""What a verdict is made of: the GPUs that were seen, those that were not, and those that nothing holds."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from math import ceil

from lessor.domain import hostwork, tracking, unheld
from lessor.domain.hostwork import Hosts
from lessor.domain.idle import IdleTerms, Track, Verdict
from lessor.domain.unheld import Promise


@dataclass(frozen=True, slots=True)
class Weighed:
    """All GPUs of a lease after a tick; `absent` ones are its own, held as far as is known, and have no series."""

    tracks: tuple[Track, ...]
    hosts: Hosts
    absent: int
    terms: IdleTerms
    at: datetime
    start: datetime | None
    promise: Promise

    @property
    def gpus(self) -> int:
        return max(len(self.tracks) + self.absent, len(self.promise.slots))

    @property
    def needed(self) -> int:
        """How many GPUs have to work for the lease to be busy."""
        return max(1, ceil(round(self.terms.fraction * self.gpus, 6)))

    @property
    def quiet(self) -> tuple[Track, ...]:
        """GPUs that did nothing for a whole window."""
        if self.warming:
            return ()
        full = self.at - self.terms.window
        return tuple(one for one in self.tracks if one.marks and tracking.quiet_since(one, self.at) <= full)

    @property
    def free_since(self) -> tuple[datetime, ...]:
        """Since when, of GPUs that no pod held for a whole window."""
        return () if self.warming else unheld.free_since(self.promise.slots, self.at - self.terms.window)

    @property
    def idle_gpus(self) -> int:
        """How many did nothing for a whole window, held or not."""
        return len(self.quiet) + len(self.free_since)

    @property
    def warming(self) -> bool:
        start = self.start
        if start is None:
            start = min((one.since for one in self.tracks if one.marks), default=self.hosts.run.since)
        return self.at - start < self.terms.warm_up

    @property
    def verdict(self) -> Verdict:
        recent = self.at - self.terms.window
        worked = (tracking.worked_at(one, self.at) for one in self.tracks)
        busy = sum(1 for at in (*worked, *self.promise.let_go) if at is not None and at > recent)
        hosts = self.hosts
        if busy >= self.needed or (hosts.active_at is not None and hosts.active_at > recent):
            return Verdict.BUSY
        if self.warming:
            return Verdict.WARMING_UP
        known = (self.tracks or hosts.sources or self.promise.slots) and hostwork.quiet_since(hosts) <= recent
        if not known or self.gpus - self.idle_gpus >= self.needed:
            return Verdict.UNKNOWN
        return Verdict.HELD if any(one.held for one in self.quiet) else Verdict.IDLE

    @property
    def quiet_since(self) -> datetime:
        """Since when too few GPUs work, and nothing else; only for what is quiet."""
        quiet = [tracking.quiet_since(one, self.at) for one in self.tracks]
        latest = sorted([*quiet, *self.free_since], reverse=True)
        place = self.needed - 1 - (self.gpus - len(latest))
        hosts = hostwork.quiet_since(self.hosts)
        return max(latest[place], hosts) if place < len(latest) else hosts
