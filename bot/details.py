"""Everything about one lease in a view: the whole purpose, why policy said so, what happened so far."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from slack_sdk.models.blocks import Block

from bot.blocks.message import compose, sections
from bot.facts import facts
from lessor.domain.authority import may_enter
from lessor.domain.lease import Lease
from lessor.domain.people import Person
from lessor.ports import StoredEvent
from lessor.rendering import Renderer, mrkdwn

EVENTS_MOST = 60
_BLOCKS_MOST = 100


def details(
    wording: Renderer,
    lease: Lease,
    events: Sequence[StoredEvent],
    deciders: Sequence[Person],
    now: datetime,
    viewer: Person,
) -> list[Block]:
    """Blocks for a view, at most as many as Slack takes; the newest events are kept."""
    values = {**facts(lease, now, deciders), "zone": viewer.tz, "may_enter": may_enter(lease, viewer)}
    shown = list(events)[-EVENTS_MOST:]
    values |= {"events": [one.event for one in shown], "earlier": len(events) - len(shown)}
    parts = wording.parts("details.j2", **values)
    blocks = [
        *compose({name: text for name, text in parts.items() if name != "body_events"}).blocks,
        *sections(f"*Purpose*\n{mrkdwn(lease.request.purpose)}"),
        *sections(parts.get("body_events", "")),
    ]
    return blocks[:_BLOCKS_MOST]
