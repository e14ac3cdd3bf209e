"""How late is too late: `guard` in `lessor.yaml`, and what contradicts itself there."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Annotated

from pydantic import Field

from lessor.config.durations import Duration
from lessor.config.problems import KeyPath
from lessor.config.section import Section
from lessor.domain.guarding import GuardTerms
from lessor.domain.request import spell

DEFAULTS = GuardTerms()
SOONEST, LATEST = timedelta(seconds=10), timedelta(hours=1)
"""How often the guard may look: more often would throttle the provider, less often would come too late."""

LEAST_NOTICE = timedelta(minutes=1)
LEAST_TOLERANCE = timedelta(minutes=10)
"""So far may the clock of the guard's host be ahead without a stop before the true end (case E27)."""


class GuardBrakeConfig(Section):
    """When so much would be stopped that it looks like a mistake: then nothing is, and administrators are told."""

    share: Annotated[float, Field(ge=0, le=1)] = DEFAULTS.share
    """No more than this share of the leases that run is stopped within an hour, 0 to 1."""
    least: Annotated[int, Field(ge=2, le=10_000)] = DEFAULTS.least
    """Fewer leases than this are never too many, however small the fleet."""


class GuardConfig(Section):
    """The second enforcer, which stops what runs past its end while nothing else works; see docs/guard.md."""

    every: Duration = DEFAULTS.every
    """How often every place is read."""
    tell_after: Duration = DEFAULTS.tell_after
    """So long after the end that stands on a machine people are told that it runs still."""
    tolerance: Duration = DEFAULTS.tolerance
    """So long after its end a machine is stopped, at the soonest; leases that are ended as usual never get there."""
    notice: Duration = DEFAULTS.notice
    """The least time between telling people and the stop."""
    unread: Annotated[int, Field(ge=1, le=1_000)] = DEFAULTS.unread
    """After so many looks in a row that did not read a place whole people are told."""
    brake: GuardBrakeConfig = Field(default_factory=GuardBrakeConfig)
    """When so much would be stopped that it looks like a mistake."""

    def terms(self) -> GuardTerms:
        """As the domain takes them."""
        brake = self.brake
        return GuardTerms(
            self.every, self.tell_after, self.tolerance, self.notice, brake.share, brake.least, self.unread
        )


def check_guard(guard: GuardConfig) -> Iterator[tuple[KeyPath, str]]:
    """`(key path, message)` for what one value alone cannot show."""
    if not SOONEST <= guard.every <= LATEST:
        yield ("guard", "every"), f"is {spell(guard.every)}; allowed: {spell(SOONEST)} to {spell(LATEST)}"
    if guard.notice < LEAST_NOTICE:
        yield ("guard", "notice"), f"is {spell(guard.notice)}; people need {spell(LEAST_NOTICE)} at least"
    if guard.tolerance < LEAST_TOLERANCE:
        yield (
            ("guard", "tolerance"),
            f"is {spell(guard.tolerance)}; it has to be {spell(LEAST_TOLERANCE)} at least, or a clock that is fast by "
            "less ends leases early",
        )
    if guard.tolerance < guard.tell_after + guard.notice:
        yield (
            ("guard", "tolerance"),
            f"is {spell(guard.tolerance)}, and people are told {spell(guard.tell_after)} after the end and "
            f"{spell(guard.notice)} before the stop; it has to be {spell(guard.tell_after + guard.notice)} at least",
        )
