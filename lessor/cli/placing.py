"""`lessor places`: what every place lets lessor do and what it does not, and what only people can see there."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from lessor.checkups import check_places
from lessor.cli.browsing import lease_id
from lessor.cli.output import tell
from lessor.cli.session import DONE, REFUSED, Session, refusals
from lessor.config import load
from lessor.domain.checkup import Checkup
from lessor.domain.people import Person
from lessor.domain.request import Place
from lessor.reload import LiveConfig
from lessor.settings import read_settings
from lessor.wiring import open_parts

if TYPE_CHECKING:
    from lessor.gateway import Gateway

VIA = "cli"


def check_configured_places(path: Path | None, as_json: bool) -> int:
    """0 when all is as it should be, else 1 and what is missing by place. Changes nothing."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    with refusals(as_json):
        settings = read_settings()
        parts = open_parts(settings, LiveConfig(load(path or settings.lessor_config)))
        try:
            places = [Place(place.provider, place.name) for place in parts.config.places]
            found = asyncio.run(check_places(parts.providers, parts.watches, places))
        finally:
            parts.ledger.close()
        tell(as_json, {"places": [_facts(one) for one in found]}, *_lines(found))
    return DONE if all(one.fine for one in found) else REFUSED


async def confirm_closed(
    session: Session, gateway: Gateway, person: Person, text: str, reason: str, *, yes: bool
) -> int:
    """An administrator's word that nobody gets in any more, asked once more before it is believed."""
    lease = lease_id(text)
    session.confirm(f"Can really nobody get into the machines of {lease} any more?", yes=yes, needed=True)
    closed = await gateway.entering.confirm_closed(lease, person.id, reason, VIA)
    words = f"{', '.join(closed)}: it is on record that nobody gets in for {lease}; it goes on with its next try"
    tell(session.as_json, {"id": lease, "closed": list(closed), "reason": reason}, words)
    return DONE


def _lines(found: tuple[Checkup, ...]) -> Iterator[str]:
    for one in found:
        if one.fine:
            yield f"{one.place}: fine"
        elif one.problem:
            yield f"{one.place}: {one.problem}"
        else:
            yield from (f"{one.place}: lessor may not {words}" for words in one.missing)


def _facts(one: Checkup) -> dict[str, object]:
    return {"place": one.place, "fine": one.fine, "missing": list(one.missing), "problem": one.problem or None}
