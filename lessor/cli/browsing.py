"""`lessor list` and `lessor show`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lessor.asjson import event_facts
from lessor.cli import leases
from lessor.cli.output import Column, pairs, print_json, table, tell
from lessor.cli.session import DONE, Session
from lessor.domain.errors import Refused
from lessor.domain.identity import parse_lease_id
from lessor.domain.people import Person
from lessor.listing import states
from lessor.ports import LeaseQuery, StoredEvent
from lessor.when import local

if TYPE_CHECKING:
    from lessor.gateway import Gateway


EVENT_COLUMNS = (Column("When"), Column("What"), Column("Who"), Column("Details"))


@dataclass(frozen=True)
class Filter:
    """What to list; empty fields do not filter."""

    everybody: bool = False
    teams: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    closed: bool = False
    limit: int = 100
    after: str = ""


async def list_leases(session: Session, gateway: Gateway, person: Person, wanted: Filter) -> int:
    """One page of leases; says how to go on when it is full."""
    mine = not (wanted.everybody or wanted.teams)
    query = LeaseQuery(
        owner_ids=tuple(sorted(person.all_ids)) if mine else (),
        teams=wanted.teams,
        states=states(wanted.states, closed=wanted.closed),
        after=lease_id(wanted.after) if wanted.after else "",
        limit=wanted.limit,
    )
    found = await gateway.leases(query)
    now = session.now()
    if session.as_json:
        print_json([leases.facts(lease, now, person) for lease in found])
        return DONE
    if not found:
        tell(False, {}, "No leases." if not mine else "You have no leases; see everybody's with --all.")
        return DONE
    table("", leases.columns(mine), [leases.row(lease, now, person.tz) for lease in found])
    tell(False, {}, f"Times are on the clock of {person.tz}.")
    if len(found) == wanted.limit:
        tell(False, {}, f"There may be more: lessor list --after {found[-1].id}")
    return DONE


async def show_lease(session: Session, gateway: Gateway, person: Person, text: str, with_events: bool) -> int:
    """One lease, with everything on record about it if asked."""
    lease = await gateway.lease(lease_id(text))
    events = await gateway.events(lease.id) if with_events else ()
    eligible = await gateway.eligible(lease)
    now = session.now()
    if session.as_json:
        shown = leases.facts(lease, now, person) | {"can_decide": [one.id for one in eligible]}
        print_json(shown | ({"events": [event_facts(one) for one in events]} if with_events else {}))
        return DONE
    pairs(leases.details(lease, eligible, now, person))
    if with_events:
        table("\nEvents", EVENT_COLUMNS, [_event_row(one, person.tz) for one in events])
    return DONE


def lease_id(text: str) -> str:
    """The id that was typed. Raises `Refused` ("no-lease-id")."""
    found = parse_lease_id(text)
    if found is None:
        raise Refused("no-lease-id", f"'{text[:40]}' is no lease id; it looks like gpu-7k3qxa2m, see `lessor list`")
    return found


def _event_row(stored: StoredEvent, zone: str) -> tuple[str, ...]:
    event = stored.event
    data = ", ".join(f"{name}: {value}" for name, value in event.data.items() if value)
    return local(event.at, zone), event.type, event.actor, data
