"""Requests for several machines at once: no part of one is taken for all of it."""

from __future__ import annotations

import pytest

from lessor.domain.request import Need
from tests.intake.test_kinds import read

REST = '3d training in pool "rank"'
EIGHT = Need("A100-80GB", 8)


@pytest.mark.parametrize(
    "text",
    [
        "2 machines x 8 a100 80gb",
        "2 machines of 8 x a100 80gb",
        "2 nodes with 8 a100 80gb each",
        "two servers with 8 x nvidia a100 80 gb each",
        "2 boxes 8 a100-80gb",
        "2 x 8 x a100 80gb",
        "2 x 8 a100 80gb",
        "2x8xa100-80gb",
    ],
)
def test_a_request_is_for_gpus_not_for_machines(text: str) -> None:
    draft = read(f"{text} {REST}")
    message = (
        f"'{text}' asks for 2 machines, and a request is for GPUs: ask for 16 x A100-80GB, which a cloud or a "
        "namespace can have on several machines; where a lease is one machine, send 2 requests for 8 x A100-80GB"
    )
    assert [(one.field, one.message) for one in draft.problems] == [("need", message)]
    assert (draft.need, draft.purpose) == (EIGHT, "rank")


def test_gpus_over_several_machines_are_not_multiplied() -> None:
    draft = read(f"16 a100 80gb on 2 machines {REST}")
    (problem,) = draft.problems
    assert problem.message == (
        "'16 a100 80gb on 2 machines' asks for 2 machines, and a request is for GPUs: ask for 16 x A100-80GB, which a "
        "cloud or a namespace can have on several machines; where a lease is one machine, send 2 requests for what "
        "each is to have"
    )
    assert (draft.need, draft.purpose) == (Need("A100-80GB", 16), "rank")


def test_without_a_model_it_is_told_as_well() -> None:
    (problem,) = read(f"2 servers 8 gpus each {REST}").problems
    assert "ask for 16 x any GPU, which" in problem.message
    assert problem.message.endswith("send 2 requests for 8 x any GPU")


@pytest.mark.parametrize(
    ("text", "need", "purpose"),
    [
        ("1 machine x 8 a100 80gb", EIGHT, "rank"),
        ("one machine with 8 a100 80gb", EIGHT, "rank"),
        ("8 a100 80gb on one machine", EIGHT, "rank"),
        ("2 x 80 gb", Need("", 2, 80), "rank"),
        ("2 x a100 80gb", Need("A100-80GB", 2), "rank"),
        ("8 x a100 80gb, keep 2 machines busy", EIGHT, "keep 2 machines busy rank"),
        ("8 x dgx-1", Need("dgx-1", 8), "rank"),
    ],
)
def test_one_machine_is_one_machine_and_other_words_stay_what_they_are(text: str, need: Need, purpose: str) -> None:
    draft = read(f"{text} {REST}")
    assert (draft.need, draft.purpose, draft.problems) == (need, purpose, ())


@pytest.mark.parametrize("text", ["0 machines x 8 a100 80gb", "2 x 0 x a100 80gb", "8 a100 80gb on 0 machines"])
def test_no_machines_are_no_gpus_as_in_any_request(text: str) -> None:
    draft = read(f"{text} {REST}")
    assert (draft.need, draft.problems) == (Need("A100-80GB", 0), ())
