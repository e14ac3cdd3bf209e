"""How many GPUs of a pool are whose: by the record for what is in use, by the reading for what is coming and going.

While a lease is made or taken down, record and place change one after the other. What the place shows of it then is
what it has: counted by the record alone, the same GPUs would be free and leased at once, or nobody's for a while.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lessor.domain.lease import Lease
from lessor.domain.pools import Census, Holder, Pool
from lessor.domain.resting import rests_since
from lessor.domain.states import State

RIGHTS = frozenset({State.PROVISIONING, State.ACTIVE, State.ENDING})
"""While a lease is in one of these, its GPUs are nobody else's, whether anything runs on them or not."""

PASSING = frozenset({State.PROVISIONING, State.ENDING, State.DELETING, State.BLOCKED})
"""States in which a lease gets its GPUs or gives them back, at a moment that only its place knows."""


@dataclass(frozen=True)
class Claim:
    """What a lease has of a model: `right` by the record besides what it holds of others, `held` as was seen."""

    lease: Lease
    right: int
    held: int

    @property
    def unheld(self) -> int:
        return max(self.right - self.held, 0)


def claims(leases: Sequence[Lease], pool: Pool, held: Iterable[Holder]) -> tuple[Claim, ...]:
    """Of each lease, in the order of `leases`."""
    seen = list(held)
    return tuple(_claim(one, pool.model, [h for h in seen if h.lease == one.id]) for one in leases)


def leased(found: Sequence[Claim], pool: Pool, census: Census) -> int:
    """How many leases have a right to, or still hold.

    A place that says what it has promised knows what leases in passing have: no more than it promises beyond what those
    in use may still take. Elsewhere, and where a place was not read whole, the record is all there is.
    """
    holding = sum(one.held for one in found)
    in_use = sum(one.unheld for one in found if one.lease.state not in PASSING)
    if not census.complete or pool.promised is None:
        return holding + sum(one.unheld for one in found)
    passing = sum(max(one.lease.gpus - one.held, 0) for one in found if _passes(one, pool))
    return holding + in_use + min(max(pool.promised - in_use, 0), passing)


def _passes(one: Claim, pool: Pool) -> bool:
    return one.lease.state in PASSING and one.lease.model == pool.model


def _claim(lease: Lease, model: str, holders: Sequence[Holder]) -> Claim:
    got = sum(one.units for one in holders if one.model == model)
    others = sum(one.units for one in holders) - got
    right = lease.gpus if lease.model == model and lease.state in RIGHTS and not rests_since(lease) else 0
    return Claim(lease, max(right - others, 0), got)
