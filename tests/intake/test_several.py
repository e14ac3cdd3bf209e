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
def test_one_request_is_for_one_machine(text: str) -> None:
    draft = read(f"{text} {REST}")
    message = (
        f"'{text}' asks for 2 machines; one request is for one machine, or for a namespace of a cluster: send 2 "
        "requests for 8 x A100-80GB, or ask for 16 x A100-80GB where one machine or a namespace has so many"
    )
    assert [(one.field, one.message) for one in draft.problems] == [("need", message)]
    assert (draft.need, draft.purpose) == (EIGHT, "rank")


def test_gpus_over_several_machines_are_not_multiplied() -> None:
    draft = read(f"16 a100 80gb on 2 machines {REST}")
    (problem,) = draft.problems
    assert problem.message == (
        "'16 a100 80gb on 2 machines' asks for 2 machines; one request is for one machine, or for a namespace of a "
        "cluster: send 2 requests, each for what one machine is to have, or ask for 16 x A100-80GB where one machine "
        "or a namespace has so many"
    )
    assert (draft.need, draft.purpose) == (Need("A100-80GB", 16), "rank")


def test_without_a_model_it_is_told_as_well() -> None:
    (problem,) = read(f"2 servers 8 gpus each {REST}").problems
    assert "send 2 requests for 8 x any GPU, or ask for 16 x any GPU where" in problem.message


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
