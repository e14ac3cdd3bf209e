"""What the ledger keeps besides leases: submissions, the audit chain, intents and where messages stand."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from lessor.domain.lease import Event
from lessor.domain.request import Place, Request
from lessor.domain.resource import Resource

FLEET = "fleet"
"""The subject of what is on record about all leases at once; no lease has this id."""


@dataclass(frozen=True)
class Submission:
    """A request that was accepted from a person, before and after its workflow was started."""

    interaction: str
    lease_id: str
    request: Request
    at: datetime
    started: bool = False


@dataclass(frozen=True)
class StoredEvent:
    """An event with its place in the chain: `seq` has no gaps, `hash` covers everything and the previous hash.

    `revision` and `position` are the lease's revision and the event's place in it; `snapshot_hash` is the digest of the
    lease as it was recorded together with the event.
    """

    seq: int
    lease_id: str
    event: Event
    prev_hash: str
    hash: str
    revision: int = 0
    position: int = 0
    snapshot_hash: str = ""


@dataclass(frozen=True)
class AuditReport:
    """The result of reading the whole chain. `problems` names the first wrong entries; `head` is the last hash."""

    events: int
    head: str
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class LeaseQuery:
    """A page of leases. Empty fields do not filter; `after` is the last id of the page before, `but` one left out.

    `ids` are the only ones that are looked for, `places` names of places.
    """

    owner_ids: tuple[str, ...] = ()
    teams: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    after: str = ""
    limit: int = 100
    but: str = ""
    ids: tuple[str, ...] = ()
    places: tuple[str, ...] = ()


@dataclass(frozen=True)
class MessageRef:
    """Where a message stands; `ts` is empty while it is only intended. `key` is lease/notice/recipient."""

    key: str
    lease_id: str
    channel: str = ""
    ts: str = ""


@dataclass(frozen=True)
class Intent:
    """Something that is about to be created: stored before the call, confirmed with what came of it after."""

    lease_id: str
    token: str
    place: Place
    what: str
    at: datetime
    resources: tuple[Resource, ...] = field(default=())
    confirmed: bool = False


@dataclass(frozen=True)
class Ended:
    """A lease's workflow that is not open: whether somebody ended it on purpose, and how it ended, in words."""

    on_purpose: bool
    why: str
