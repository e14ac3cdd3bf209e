"""Everything about one lease in a view: the whole purpose, why policy said so, what happened so far."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from slack_sdk.models.blocks import Block

from bot.around import Around
from bot.blocks.message import compose, sections
from bot.evidence import in_force
from bot.facts import facts
from lessor.domain.authority import may_enter
from lessor.domain.idle import IdleTerms
from lessor.domain.lease import Lease
from lessor.domain.people import Person
from lessor.ports import StoredEvent
from lessor.rendering import Renderer, mrkdwn

EVENTS_MOST = 60
REFUSALS_MOST = 10
REFUSED = "refused"
_BLOCKS_MOST = 100


def details(
    wording: Renderer,
    lease: Lease,
    events: Sequence[StoredEvent],
    around: Around,
    now: datetime,
    viewer: Person,
    terms: IdleTerms | None = None,
) -> list[Block]:
    """Blocks for a view, at most as many as Slack takes; the newest events are kept."""
    values = {**facts(lease, now, around), "zone": viewer.tz, "may_enter": may_enter(lease, viewer)}
    values |= {**history(events), **in_force(terms, lease)}
    parts = wording.parts("details.j2", **values)
    blocks = [
        *compose({name: text for name, text in parts.items() if name != "body_events"}).blocks,
        *sections(f"*Purpose*\n{mrkdwn(lease.request.purpose)}"),
        *sections(parts.get("body_events", "")),
    ]
    return blocks[:_BLOCKS_MOST]


def history(events: Sequence[StoredEvent], most: int = EVENTS_MOST) -> dict[str, object]:
    """What happened, with all refused acts counted in one line, so that nobody can push the rest out of view."""
    happened = [one.event for one in events if one.event.type != REFUSED]
    refused = [one.event for one in events if one.event.type == REFUSED]
    shown = happened[-most:]
    kinds = Counter((event.data.get("verb", ""), event.data.get("code", "")) for event in refused)
    counted = [{"verb": verb, "code": code, "count": n} for (verb, code), n in kinds.most_common(REFUSALS_MOST)]
    return {
        "events": shown,
        "earlier": len(happened) - len(shown),
        "refused": counted,
        "refused_kinds": len(kinds),
        "refused_at": refused[-1].at if refused else None,
    }
