"""What a requester can take instead by one click: a rule's suggestion, or another offer that has capacity.

A button carries the lease's id and the proposal's key. The key is made from what is proposed, so that a click on an
old message never takes something else than what stood beside the button.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from lessor.domain.lease import Lease
from lessor.domain.money import Money
from lessor.domain.pending import Changes
from lessor.domain.quote import Offer
from lessor.domain.request import Market

KEY_LENGTH = 12


@dataclass(frozen=True)
class Proposal:
    """`text` says why, in the policy's words; an offer has none. `hourly` is `None` where the price is unknown."""

    key: str
    changes: Changes
    text: str = ""
    instance_type: str = ""
    gpus: str = ""
    market: str = ""
    hourly: Money | None = None


def suggestions(lease: Lease) -> tuple[Proposal, ...]:
    """What the policy proposes; only what says in what the request would be different."""
    found = []
    for one in lease.decision.suggestions if lease.decision else ():
        market = _market(one.market)
        changes = Changes(count=one.count or None, instance_type=one.instance_type, market=market)
        if changes != Changes():
            key = _key(one.rule, one.market, one.instance_type, str(one.count))
            found.append(Proposal(key, changes, one.text, one.instance_type, market=one.market))
    return tuple(found)


def alternatives(lease: Lease) -> tuple[Proposal, ...]:
    """Other offers for the same need where it was asked for, cheapest first, unknown prices last."""
    quote = lease.quote
    if quote is None:
        return ()
    known = (lease.capacity.alternatives if lease.capacity else ()) or quote.alternatives
    here = [offer for offer in known if offer.region in ("", quote.offer.region)]
    offers = [offer for offer in here if _tells(offer) != _tells(quote.offer)]
    return tuple(_offered(offer) for offer in offers)


def find(lease: Lease, key: str) -> Proposal | None:
    """The proposal with this key, if it still holds."""
    return next((one for one in (*suggestions(lease), *alternatives(lease)) if one.key == key), None)


def _offered(offer: Offer) -> Proposal:
    changes = Changes(instance_type=offer.instance_type, market=offer.market)
    gpus = f"{offer.gpu_count} x {offer.gpu_model}"
    return Proposal(_key(*_tells(offer)), changes, "", offer.instance_type, gpus, offer.market.value, offer.hourly)


def _tells(offer: Offer) -> tuple[str, str, str]:
    return offer.instance_type, offer.market.value, offer.region


def _market(name: str) -> Market | None:
    return Market(name) if name in {market.value for market in Market} else None


def _key(*parts: str) -> str:
    return hashlib.sha256("\x00".join(parts).encode()).hexdigest()[:KEY_LENGTH]
