"""The shipped example rules decide as the shipped example tests say."""

from __future__ import annotations

from pathlib import Path

import pytest

from lessor.config import loads
from lessor.policyfile import compile_policy
from lessor.policyfile.suite import run_suite

EXAMPLES = Path(__file__).parents[2] / "examples"
TEXT = (EXAMPLES / "lessor.yaml").read_text(encoding="utf-8")


def failing(text: str) -> list[str]:
    config = loads(text)
    results = run_suite(EXAMPLES / "policy-tests.yaml", config, compile_policy(config))
    assert len(results) == 21
    return [one.name for one in results if one.differences]


def test_the_shipped_suite_passes() -> None:
    assert failing(TEXT) == []


@pytest.mark.parametrize(
    ("old", "new", "names"),
    [
        ("quote.total <= 50 &&", "quote.total < 50 &&", ["to the cent, 50 is cheap"]),
        ("max: 3d", "max: 4d", ["and for longer it is not, also by extensions"]),
        (
            'request.workload == "realtime-inference" && request.market == "spot"',
            'request.workload == "realtime-inference"',
            [],
        ),
        (
            "similar.count >= 2",
            "similar.count >= 1 && similar.count < 2",
            ["a third lease of its kind is shown to the lead"],
        ),
    ],
)
def test_the_shipped_suite_notices_a_change_of_the_rules(old: str, new: str, names: list[str]) -> None:
    assert TEXT.count(old) == 1
    assert failing(TEXT.replace(old, new)) == names
