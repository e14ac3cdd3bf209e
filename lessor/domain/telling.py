"""What a lease has heard of what it is judged to do. It is kept, so that what was not heard is told again.

What a lease has to hear next depends on what it heard last, not on the tick before: whoever told it may have died.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from lessor.domain.idle import Standing, Verdict
from lessor.domain.judging import QUIET, changed


@dataclass(frozen=True)
class Heard:
    """The standing that a lease was told last, without what only the next tick needs; `terms` stands for thresholds."""

    standing: Standing
    terms: str


def due(heard: Heard | None, now: Standing, terms: str) -> bool:
    """Whether it has to hear where it stands now: it says something else, or its people go by other thresholds."""
    if changed(heard.standing if heard else None, now):
        return True
    return heard is not None and now.verdict in QUIET and heard.terms != terms


def kept(now: Standing, terms: str) -> Heard | None:
    """What is kept of what was told; `None` where that is the same as never having heard anything."""
    if now.verdict is Verdict.BUSY and not now.idle_gpus and not now.faulty:
        return None
    return Heard(replace(now, tracks=(), sources=(), promised=()), terms)
