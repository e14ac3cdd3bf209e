"""What an organisation says of its meter."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

from lessor.domain.braking import BrakeTerms

KEEP = timedelta(days=14)


@dataclass(frozen=True)
class MeterSettings:
    """How long a tick is, how long its rows are kept, and how much may be stopped at once."""

    every: timedelta = timedelta(minutes=1)
    keep: timedelta = KEEP
    brake: BrakeTerms = field(default_factory=BrakeTerms)
