"""`guard` in lessor.yaml: what holds if nothing is said, and what contradicts itself."""

from __future__ import annotations

from datetime import timedelta

import pytest

from lessor.config import ConfigError, loads
from lessor.domain.guarding import GuardTerms
from tests.config.sample import VALID


def test_nothing_has_to_be_said() -> None:
    assert loads(VALID).guard.terms() == GuardTerms()


def test_what_is_said_holds() -> None:
    said = loads(
        f"{VALID}guard: {{every: 1min, tell_after: 5min, tolerance: 1h, notice: 20min, unread: 5, "
        "brake: {share: 0.1, least: 10}}\n"
    )
    minute = timedelta(minutes=1)
    assert said.guard.terms() == GuardTerms(minute, 5 * minute, 60 * minute, 20 * minute, 0.1, 10, 5)


@pytest.mark.parametrize(
    ("section", "problem"),
    [
        ("{every: 5s}", "guard.every: is 5 s; allowed: 10 s to 1 h"),
        ("{every: 2h}", "guard.every: is 2 h; allowed: 10 s to 1 h"),
        (
            "{tell_after: 0s, notice: 1min, tolerance: 9min}",
            "guard.tolerance: is 9 min; it has to be 10 min at least, or a clock that is fast by less ends",
        ),
        ("{notice: 30s}", "guard.notice: is 30 s; people need 1 min at least"),
        (
            "{tolerance: 44min}",
            "guard.tolerance: is 44 min, and people are told 15 min after the end and 30 min before the stop; it has "
            "to be 45 min at least",
        ),
        ("{brake: {least: 1}}", "guard.brake.least"),
        ("{brake: {share: 2}}", "guard.brake.share"),
        ("{tolerence: 2h}", "guard.tolerence"),
    ],
)
def test_what_makes_no_sense_is_told_with_its_key(section: str, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        loads(f"{VALID}guard: {section}\n")
    assert problem in str(caught.value)
