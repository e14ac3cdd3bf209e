"""Whatever people type is read without an error and in time, and nothing of it is lost."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lessor.domain.errors import Invalid
from lessor.domain.request import Market, Need, Workload
from lessor.intake import Draft
from lessor.when import End
from tests.intake.typed import BERLIN, WHOLE, read


def test_what_is_missing_is_told_field_by_field() -> None:
    with pytest.raises(Invalid) as caught:
        read("8h").request("U0REQUESTER", "slack:1")
    assert [error.field for error in caught.value.errors] == ["need", "team", "workload", "purpose", "place"]


@settings(max_examples=300, deadline=None)
@given(
    st.text(max_size=80)
    | st.lists(
        st.sampled_from(
            [*WHOLE.split(), "team:", "x", "2", '"', "’", "for", "in", "3d", "0", "--team", "{{7*7}}", "<!x>"]
        ),
        max_size=14,
    ).map(" ".join)
)
def test_no_text_raises_and_every_ordinary_word_is_somewhere(text: str) -> None:
    draft = read(text)
    assert isinstance(draft, Draft)
    if draft.complete:
        assert draft.request("U0REQUESTER", "x").purpose == draft.purpose


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text("bcdghjklmnpqrstvwz", min_size=4, max_size=9), max_size=12))
def test_words_that_mean_nothing_else_are_the_purpose_in_their_order(words: list[str]) -> None:
    text = " ".join(words)
    assert read(f"a100 8h {text}").purpose == text


ENDS = st.builds(timedelta, minutes=st.integers(15, 30 * 1_440))


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(["A100-80GB", "H100", "L4", "RTX-PRO-6000", "T4"]),
    st.integers(1, 64),
    ENDS,
    st.sampled_from(list(Workload)),
    st.sampled_from(list(Market)),
    st.text("abc XYZ:{}<>&$'’.,/-", min_size=3, max_size=40).filter(lambda t: t.strip() == t and "  " not in t),
)
def test_what_is_written_out_reads_back_the_same(
    model: str, count: int, length: timedelta, workload: Workload, market: Market, purpose: str
) -> None:
    end = End(duration=length, zone=BERLIN)
    text = f'{count} x {model} {end.text} {workload.value} {market.value} "{purpose}" team:platform in eu'
    draft = read(text)
    assert (draft.need, draft.end, draft.workload, draft.market) == (Need(model, count), end, workload, market)
    assert (draft.purpose, draft.team, draft.problems) == (purpose.strip(" ,;"), "platform", ())


def test_a_very_long_text_is_read_in_time_and_whole() -> None:
    text = " ".join(f"{number} monday" for number in range(900))
    assert read(f"{text} team:research").team == "research"
