"""What a form says of GPUs that somebody is about to ask for: none is said of what was read and is not there only."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from lessor.domain.fleet_words import vacancy_words
from lessor.domain.pools import Census, Pool
from lessor.domain.request import Place
from lessor.domain.vacancy import vacancy

LAB = Place("kubernetes", "lab")


def census(*pools: Pool, problem: str = "") -> Census:
    return Census(LAB, datetime(2026, 11, 28, tzinfo=UTC), pools, problem=problem)


def test_machines_of_the_organisation_s_own_are_no_nodes() -> None:
    pool = Place("machines", "pool")
    read = Census(pool, datetime(2026, 11, 28, tzinfo=UTC), (Pool(pool, "L4", total=24, free=16, largest=8),))
    assert vacancy_words(vacancy(read, "L4"), 1) == "16 of 24 free now, at most 8 on one machine"
    assert vacancy_words(vacancy(read, "L4"), 16) == (
        "16 of 24 free now, at most 8 on one machine, not all on one machine"
    )


@pytest.mark.parametrize(
    ("read", "words"),
    [
        (census(Pool(LAB, "H100", total=8, free=3, largest=2)), "none: there is no L4 here"),
        (census(Pool(LAB, "H100", total=8), problem="pods are forbidden"), "unknown: pods are forbidden"),
        (census(Pool(LAB, "", total=4)), "unknown: not all GPUs there say what model they are"),
        (
            census(Pool(LAB, "L4", total=4, free=3, largest=2), Pool(LAB, "", total=4)),
            "3 of 4 free now, at most 2 on one node",
        ),
    ],
    ids=["read and not there", "unread", "nameless", "there beside nameless"],
)
def test_none_is_only_said_of_what_cannot_be_there(read: Census, words: str) -> None:
    assert vacancy_words(vacancy(read, "L4"), 1) == words
