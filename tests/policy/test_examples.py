"""The shipped example rules decide as the shipped example tests say."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import lru_cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lessor.config import loads
from lessor.policyfile import CompiledPolicy, compile_policy
from lessor.policyfile.facts import documented
from lessor.policyfile.suite import run_suite

EXAMPLES = Path(__file__).parents[2] / "examples"
TEXT = (EXAMPLES / "lessor.yaml").read_text(encoding="utf-8")


def failing(text: str) -> list[str]:
    config = loads(text)
    results = run_suite(EXAMPLES / "policy-tests.yaml", config, compile_policy(config))
    assert len(results) == 23
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


LINES = TEXT.splitlines(keepends=True)
BEGIN = LINES.index("  rules:\n") + 1
END = next(at for at in range(BEGIN, len(LINES)) if LINES[at][0] not in " \n")
WRITTEN = re.split(r"^(?=    - name: )", "".join(LINES[BEGIN:END]), flags=re.MULTILINE)[1:]
FACTS = {
    "request.count": st.sampled_from([None, 1, 2, 8, 16]),
    "request.hours": st.sampled_from([Decimal(8), Decimal(80)]),
    "request.workload": st.sampled_from([None, "training", "notebook", "realtime-inference"]),
    "request.market": st.sampled_from(["spot", "on-demand"]),
    "request.checkpoints": st.booleans(),
    "quote.known": st.booleans(),
    "quote.total": st.sampled_from([None, Decimal(50), Decimal(5_000)]),
    "team.limited": st.sampled_from([None, False]),
    "similar.count": st.integers(0, 3),
    "time.weekend": st.sampled_from([None, True, False]),
    "place.encrypted": st.sampled_from([None, True, False]),
}


@lru_cache(maxsize=64)
def compiled(order: tuple[int, ...]) -> CompiledPolicy:
    rules = (WRITTEN[at] for at in order)
    return compile_policy(loads("".join([*LINES[:BEGIN], *rules, *LINES[END:]])))


@settings(max_examples=15, deadline=None)
@given(st.permutations(range(len(WRITTEN))).map(tuple), st.lists(st.fixed_dictionaries(FACTS), min_size=1, max_size=5))
def test_the_order_of_the_rules_never_matters(order: tuple[int, ...], cases: list[dict[str, object]]) -> None:
    """Not even to the version, which says whether the same rules decided."""
    for case in cases:
        known = dict.fromkeys(documented()) | case
        assert compiled(order).decide(known) == compiled(tuple(range(len(WRITTEN)))).decide(known)
