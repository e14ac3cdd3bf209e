"""How many GPUs a team may hold at once. The numbers come from the ledger, in the transaction that reserves."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from lessor.domain.errors import Refused


@dataclass(frozen=True)
class Quota:
    """A ceiling for one team; an empty `model` counts GPUs of all models together."""

    team: str
    gpus: int
    model: str = ""


@dataclass(frozen=True)
class Reservation:
    """GPUs that one open lease counts for its team."""

    lease_id: str
    team: str
    model: str
    gpus: int


@dataclass(frozen=True)
class Headroom:
    """One quota with what is used of it now."""

    quota: Quota
    used: int

    @property
    def free(self) -> int:
        return self.quota.gpus - self.used


def headroom(quotas: Iterable[Quota], held: Iterable[Reservation], team: str, model: str) -> tuple[Headroom, ...]:
    """The quotas that a lease of `team` and `model` counts against, with their use; `held` are open reservations."""
    mine = [r for r in held if r.team == team]
    return tuple(
        Headroom(quota, sum(r.gpus for r in mine if quota.model in ("", r.model)))
        for quota in quotas
        if quota.team == team and quota.model in ("", model)
    )


def check(wanted: Reservation, quotas: Iterable[Quota], held: Iterable[Reservation]) -> None:
    """Raise `Refused` ("quota") with the numbers when `wanted` does not fit beside what others hold."""
    others = [r for r in held if r.lease_id != wanted.lease_id]
    for room in headroom(quotas, others, wanted.team, wanted.model):
        if wanted.gpus > room.free:
            what = f"{room.quota.model} GPUs" if room.quota.model else "GPUs"
            raise Refused(
                "quota",
                f"team {wanted.team} may hold {room.quota.gpus} {what} and holds {room.used}; "
                f"{wanted.gpus} more do not fit. Release a lease of the team or ask an administrator for more quota.",
            )
