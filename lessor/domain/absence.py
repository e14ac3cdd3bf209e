"""Who is away, and who decides for them meanwhile."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta

from lessor.domain.errors import Refused, instant
from lessor.domain.people import Person, StandIn
from lessor.domain.request import spell

LONGEST = timedelta(days=366)

AWAY_EMOJI = frozenset(
    {"palm_tree", "desert_island", "beach_with_umbrella", "airplane_departure", "face_with_thermometer"}
)
"""What people set as their status when they are on leave or ill; the first is what Slack itself suggests."""

AWAY_WORDS = re.compile(
    r"out of (the )?office|\booo\b|\booto\b|vacation|holiday|\bpto\b|on leave|(annual|parental|sick) leave|"
    r"\b(out|off|am) sick\b|abwesend|urlaub|elternzeit|krank|cong[eé]s|vacances|vacaciones|\bferie|f[eé]rias|\burlop",
    re.IGNORECASE,
)
NOT_AWAY = re.compile(r"\b(back from|no|not|before|after|planning|zurück aus)\b[^,.;]*", re.IGNORECASE)
"""What speaks of an absence that is none now."""


@dataclass(frozen=True)
class Absence:
    """Somebody does not decide between two instants. `person` and `delegate` are primary ids; `source` says who knew
    of it: the person's own word (`lessor`), or their status in Slack (`slack`).
    """

    person: str
    since: datetime
    until: datetime
    delegate: str = ""
    source: str = "lessor"


def announced(person: Person, until: datetime, delegate: Person | None, now: datetime) -> Absence:
    """The absence that `person` announces. Raises `Refused`: inactive, end-passed, too-long, own-delegate,
    inactive-delegate, delegate-away.
    """
    until = instant("until", until)
    if not person.active:
        raise Refused("inactive", "this account is deactivated; nobody asks it for decisions")
    if until <= now:
        raise Refused("end-passed", "the end of the absence has passed already; nothing was changed, give a later one")
    if until - now > LONGEST:
        raise Refused(
            "too-long", f"an absence lasts at most {spell(LONGEST)}; nothing was changed, give an earlier end"
        )
    if delegate is not None:
        _require_stand_in(person, delegate, until)
    return Absence(person.id, now, until, delegate.id if delegate else "")


def out_of_office(text: str, emoji: str) -> bool:
    """Whether a status in Slack says that somebody is away; words that speak of it otherwise count for more than the
    picture.
    """
    said = NOT_AWAY.sub("", text)
    if said != text:
        return bool(AWAY_WORDS.search(said))
    return bool(AWAY_WORDS.search(text)) or emoji.strip(":") in AWAY_EMOJI


def is_away(person: Person, now: datetime) -> bool:
    return person.away_until is not None and person.away_until > now


def stands_in(away: Person, refs: frozenset[str] | None = None) -> StandIn:
    """What somebody may decide for `away`: all that they may, or only what `refs` mean."""
    return StandIn(away.id, tuple(sorted(away.all_ids)), tuple(sorted(away.refs if refs is None else refs)))


def _require_stand_in(person: Person, delegate: Person, until: datetime) -> None:
    name = delegate.name or delegate.id
    if delegate.is_same(person.all_ids):
        raise Refused("own-delegate", "you cannot stand in for yourself; nothing was changed, name somebody else")
    if not delegate.active:
        raise Refused("inactive-delegate", f"{name} is deactivated; nothing was changed, name somebody else")
    if delegate.away_until is not None and delegate.away_until >= until:
        raise Refused("delegate-away", f"{name} is away at that time as well; nothing was changed, name somebody else")
