"""What is leased in a cluster: a namespace or a workspace, by a word or an option, and never by a purpose's words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from lessor.domain.errors import FieldError, Invalid
from lessor.domain.people import Person
from lessor.domain.request import LeaseKind, Limits, Need, Place, validate
from lessor.gateway import Choices, PlaceChoice
from lessor.intake import Draft, parse_request_text
from lessor.ports import Team
from tests.builders import ASKED, a_request

NAMESPACE, WORKSPACE, MACHINE = LeaseKind.NAMESPACE, LeaseKind.WORKSPACE, LeaseKind.MACHINE
LAB = PlaceChoice("lab", "The cluster", "kubernetes", kinds=(NAMESPACE, WORKSPACE))
US = PlaceChoice("us", "US", "aws", ("us-east-1",))
POOL = PlaceChoice("pool", "Machines", "machines")


def read(text: str, *places: PlaceChoice) -> Draft:
    offered = places or (LAB, US, POOL)
    limits = Limits(("research",), tuple(place.name for place in offered))
    choices = Choices(Person("U1"), (Team("research"),), offered, (), limits)
    return parse_request_text(text, "UTC", datetime(2026, 11, 27, 9, tzinfo=UTC), choices)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('namespace 4 x a100 80gb 3d training in lab "rank"', NAMESPACE),
        ('4 x a100 80gb for 3 days as a workspace in lab training "rank"', WORKSPACE),
        ('4 x a100 80gb 3d training "rank" in a namespace, in lab', NAMESPACE),
        ('4 x a100 80gb 3d training in lab kind:workspace "rank"', WORKSPACE),
        ('4 x a100 80gb 3d training in lab --kind Namespace "rank"', NAMESPACE),
        ('4 x a100 80gb 3d training in pool as machine "rank"', MACHINE),
        ('4 x a100 80gb 3d training in lab "rank"', None),
    ],
)
def test_the_kind_is_said_by_a_word_or_an_option(text: str, kind: LeaseKind | None) -> None:
    draft = read(text)
    assert draft.complete, draft.problems or draft.missing
    assert (draft.kind, draft.purpose, draft.need) == (kind, "rank", Need("A100-80GB", 4))
    assert draft.request("U1", "i").kind is kind


def test_a_place_without_regions_is_found_by_its_name() -> None:
    assert read('2 x a100 80gb 3d training "rank" in lab').place == Place("kubernetes", "lab")
    assert read('2 x a100 80gb 3d training "rank" in pool').place == Place("machines", "pool")
    assert read('2 x a100 80gb 3d training "rank"', LAB).place == Place("kubernetes", "lab")


@pytest.mark.parametrize(
    "text",
    [
        "4 x a100 80gb 3d training in lab clean up the namespace names",
        "4 x a100 80gb 3d training in lab look at our workspace",
        '4 x a100 80gb 3d training in lab "namespace"',
        "4 x a100 80gb 3d training in lab fix machine translation",
    ],
)
def test_words_of_a_purpose_are_no_kind(text: str) -> None:
    assert read(text).kind is None


def test_where_no_place_has_kinds_the_words_belong_to_the_purpose() -> None:
    draft = read("4 x a100 80gb 3d training namespace workspace", US)
    assert (draft.kind, draft.purpose) == (None, "namespace workspace")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind:cluster", "'cluster' is none of: machine, namespace, workspace"),
        ("kind:workspace kind:namespace", "both 'workspace' and 'namespace' are given; choose one"),
    ],
)
def test_an_unknown_kind_and_two_kinds_are_told(text: str, message: str) -> None:
    assert FieldError("kind", message) in read(f"4 x a100 80gb 3d training in lab {text}").problems


@pytest.mark.parametrize(
    ("text", "need"),
    [
        ('2 x nvidia.com/mig-1g.10gb 3d training in lab "rank"', Need("", 2, instance_type="nvidia.com/mig-1g.10gb")),
        ('type:amd.com/gpu gpus:4 3d training in lab "rank"', Need("", 4, instance_type="amd.com/gpu")),
        ('type:amd.com/gpu 3d training in lab "rank"', Need("", 1, instance_type="amd.com/gpu")),
        ('type:g5.xlarge 3d training in us "rank"', Need(instance_type="g5.xlarge")),
    ],
)
def test_a_resource_of_a_cluster_may_be_named(text: str, need: Need) -> None:
    draft = read(text)
    assert (draft.need, draft.problems) == (need, ())


def test_an_address_in_a_purpose_is_no_resource() -> None:
    assert read("1 x a100 80gb 3d training in lab see example.test/2").purpose == "see example.test/2"


def test_a_kind_that_the_place_does_not_have_is_refused_with_those_that_it_has() -> None:
    limits = Limits(("ml",), ("lab", "us"), kinds={"lab": (NAMESPACE, WORKSPACE), "us": (MACHINE,)})
    request = a_request(place=Place("kubernetes", "lab"), kind=MACHINE, duration=timedelta(hours=8))
    with pytest.raises(Invalid) as caught:
        validate(request, limits, ASKED)
    assert caught.value.errors == (
        FieldError(
            "kind", "there are no leases of kind machine in lab; ask for a namespace or workspace, or elsewhere"
        ),
    )
    for kind in (None, NAMESPACE, WORKSPACE):
        validate(a_request(place=Place("kubernetes", "lab"), kind=kind), limits, ASKED)
