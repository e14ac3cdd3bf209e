"""A place that is not configured is named, together with those that are; it is never swapped for another in silence."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from lessor.domain.errors import FieldError, Invalid
from lessor.domain.people import Person
from lessor.domain.request import Limits
from lessor.gateway import Choices, PlaceChoice
from lessor.intake import Draft, parse_request_text

US = PlaceChoice("research-us", "US", "aws", ("us-east-1",))
EU = PlaceChoice("eu", "Europe", "aws", ("eu-central-1",))


def read(text: str, *places: PlaceChoice) -> Draft:
    names = tuple(place.name for place in places)
    choices = Choices(Person("U1"), (), places, (), Limits(("research",), names))
    return parse_request_text(text, "UTC", datetime(2026, 11, 27, 9, tzinfo=UTC), choices)


@pytest.mark.parametrize("word", ["aws-mars", "eu-west-9", "reserch-us", "mars"])
def test_a_place_that_is_not_configured_is_named(word: str) -> None:
    draft = read(f'2 x L4 8h notebook in {word} "look at it"', US, EU)
    said = FieldError("place", f"'{word}' is not configured; choose one of: research-us, eu")
    assert [problem for problem in draft.problems if problem.field == "place"] == [said]
    assert "place" not in draft.missing


@pytest.mark.parametrize(("word", "refused"), [("aws-mars", True), ("eu-west-9", True), ("parallel", False)])
def test_the_only_place_is_not_taken_for_another_one(word: str, refused: bool) -> None:
    draft = read(f"2 x L4 8h notebook evaluate prompts in {word}", US)
    assert any(problem.field == "place" for problem in draft.problems) is refused
    assert f"in {word}" in draft.purpose


def test_an_unclear_word_says_nothing_against_a_place_that_is_named() -> None:
    draft = read("2 x L4 8h notebook in order to look in aws-mars in eu", US, EU)
    assert draft.place is not None
    assert draft.place.name == "eu"
    assert [problem for problem in draft.problems if problem.field == "place"] == []


def test_a_missing_place_lists_those_that_can_be_chosen() -> None:
    with pytest.raises(Invalid) as refused:
        read('2 x L4 8h notebook "look at it"', US, EU).request("U1", "i")
    said = FieldError("place", "say where, such as in research-us; configured: research-us, eu")
    assert said in refused.value.errors
