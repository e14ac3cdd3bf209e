"""`lessor fleet`, and what is free where a request is made."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from fractions import Fraction

import pytest
from typer.testing import Result

from lessor.config import loads
from lessor.domain.fleet import Fleet, Line, PlaceFleet, Tenant
from lessor.domain.lease import State
from lessor.domain.pools import Holder
from lessor.domain.request import LeaseKind, Place
from lessor.domain.vacancy import Vacancy
from tests.builders import a_lease, a_quote, a_request, an_offer, usd
from tests.cli.conftest import NOW, FakeGateway
from tests.config.sample import VALID

Lessor = Callable[..., Result]
LAB, US = Place("kubernetes", "lab"), Place("aws", "us")
LEASE = replace(
    a_lease(
        State.ACTIVE,
        id="gpu-aaaaaaaa",
        request=a_request(place=LAB, kind=LeaseKind.NAMESPACE, purpose="rank \x1b[31mthem"),
        quote=a_quote(offer=an_offer(gpu_count=4)),
    ),
    ends_at=NOW + timedelta(hours=5),
)
TENANT = Tenant(LEASE, "idle", NOW - timedelta(hours=2), usd("98.32"), 3, ("held, never ran",))
STRAY = Holder(
    LAB,
    "default/train-0",
    "A100-80GB",
    2,
    who="somebody",
    since=NOW - timedelta(days=1),
    flag="Pending",
    cost=usd("9.50"),
)
LINES = (
    Line("A100-80GB", total=16, leased=4, ownerless=2, free=5, unhealthy=2, unknown=3, largest=4, queued=7),
    Line("A100-80GB-1g.10gb", "slice", Fraction(1, 7), 14, 0, 0, 14, 0, 0),
)
WHOLE = PlaceFleet(LAB, NOW, LINES, (TENANT,), (STRAY,), notes=("a quota is not enforced since 2026-06-03 13:00 UTC",))
CLOUD = PlaceFleet(US, NOW, (Line("A100-80GB", leased=8, unknown=0, on_demand=True),), on_demand=True)
BLIND = PlaceFleet(Place("kubernetes", "dark"), NOW, (Line("H100-80GB", leased=1),), problem="403 Forbidden")


@pytest.fixture(autouse=True)
def fleet(gateway: FakeGateway) -> None:
    gateway.fleet.fleet = Fleet(NOW, (WHOLE, CLOUD, BLIND))


def shown(result: Result) -> list[str]:
    return [" ".join(line.split()) for line in result.stdout.splitlines() if line.strip()]


def test_every_place_with_its_gpus_its_leases_and_what_has_none(lessor: Lessor) -> None:
    result = lessor("fleet", width="300")
    assert shown(result) == [
        "Place GPUs Total Leased Ownerless Free Unhealthy Unknown Largest block Reserved Queued",
        "lab A100-80GB 16 4 2 5 2 3 4 7",
        "lab A100-80GB-1g.10gb (slices of 1/7 GPU) 14 0 0 14 0 0",
        "us A100-80GB on demand 8 not looked for on demand on demand 0",
        "dark H100-80GB unknown 1 unknown unknown unknown unknown",
        "Leases",
        "Lease Place GPUs Owner Team Does Ends Cost Purpose",
        "gpu-aaaaaaaa lab 4 x A100-80GB, namespace U0REQUESTER ml idle; held, never ran 3 Jun 20:11 98.32 USD rank "
        "[31mthem",
        "Without a lease",
        "What Place GPUs Who Since Cost What is known",
        "default/train-0 lab 2 x A100-80GB somebody Tuesday 2 June 2026 15:11 CEST 9.50 USD Pending",
        "lab: a quota is not enforced since Wednesday 3 June 2026 15:00 CEST",
        "dark could not be read whole: 403 Forbidden; what was not read is unknown",
        "Times are on the clock of Europe/Berlin.",
    ]
    assert result.exit_code == 1, "a place that could not be read is a failure, after all others were shown"


def test_one_place_that_was_read_whole_is_no_failure(lessor: Lessor, gateway: FakeGateway) -> None:
    assert lessor("fleet", "lab").exit_code == 0
    assert gateway.fleet.asked == ["lab"]


def test_a_place_with_nothing_in_it_is_named_all_the_same(lessor: Lessor, gateway: FakeGateway) -> None:
    empty = (PlaceFleet(US, NOW, on_demand=True), PlaceFleet(LAB, NOW))
    gateway.fleet.fleet = Fleet(NOW, empty)
    assert shown(lessor("fleet"))[1:3] == [
        "us: machines are made on demand, and none is leased now",
        "lab: no GPUs were seen, and none are leased",
    ]


def test_what_is_neither_a_place_nor_a_model_is_refused(lessor: Lessor) -> None:
    result = lessor("fleet", "mars")
    assert result.exit_code == 1
    assert "'mars' is no place and no GPU model here; places: lab, us, dark" in result.stderr


def test_long_lists_say_how_to_see_the_rest(lessor: Lessor, gateway: FakeGateway) -> None:
    gateway.fleet.fleet = Fleet(NOW, (replace(WHOLE, tenants=(TENANT,) * 3, ownerless=(STRAY,) * 2),))
    rows = shown(lessor("fleet", "--limit", "1"))
    assert sum(row.startswith("gpu-aaaaaaaa") for row in rows) == 1
    assert "lab has 2 more with a lease: lessor fleet lab --limit 3" in rows
    assert "lab has 1 more without a lease: lessor fleet lab --limit 2" in rows


def test_as_json_unknown_is_null_and_never_zero(lessor: Lessor) -> None:
    result = lessor("fleet", "--json")
    assert result.exit_code == 1
    lab, us, dark = json.loads(result.stdout)["places"]
    assert lab["gpus"][1] == {
        "model": "A100-80GB-1g.10gb",
        "unit": "slice",
        "share": "1/7",
        "total": 14,
        "total_whole_gpus": "2",
        "leased": 0,
        "ownerless": 0,
        "free": 14,
        "unhealthy": 0,
        "unknown": 0,
        "reserved": None,
        "largest": None,
        "queued": None,
        "an_hour": None,
    }
    assert (lab["ownerless"][0]["who"], lab["ownerless"][0]["cost"]) == ("somebody", "9.50")
    assert (us["on_demand"], us["gpus"][0]["total"], us["gpus"][0]["free"]) == (True, None, None)
    assert (dark["problem"], dark["gpus"][0]["free"], dark["gpus"][0]["leased"]) == ("403 Forbidden", None, 1)


def test_as_json_a_lease_shows_all_that_is_known_of_it(lessor: Lessor) -> None:
    lab = json.loads(lessor("fleet", "--json").stdout)["places"][0]
    assert lab["leases"] == [
        {
            "id": "gpu-aaaaaaaa",
            "state": "active",
            "kind": "namespace",
            "owner": "U0REQUESTER",
            "team": "ml",
            "purpose": "rank \x1b[31mthem",
            "model": "A100-80GB",
            "gpus": 4,
            "held": 3,
            "holds": [],
            "ends_at": "2026-06-03T18:11:00+00:00",
            "verdict": "idle",
            "since": "2026-06-03T11:11:00+00:00",
            "cost": "98.32",
            "currency": "USD",
            "flags": ["held, never ran"],
        }
    ]


WANTED = ("2 x a100 80gb for 8h training 'rank them'", "--place", "research-us")


@pytest.mark.parametrize(
    ("vacancy", "words"),
    [
        (Vacancy(LAB, "A", total=16, free=9, largest=8, queued=0), "9 of 16 free now, at most 8 on one node"),
        (
            Vacancy(LAB, "A", total=16, free=9, largest=4, queued=2),
            "9 of 16 free now, at most 4 on one node, 2 wait in the queue, not all on one node",
        ),
        (
            Vacancy(LAB, "A", "slice", Fraction(1, 7), 14, 3, 3),
            "3 of 14 slices of 1/7 GPU free now, at most 3 on one node, fewer than are asked for, so it would wait",
        ),
        (Vacancy(LAB, "A", problem="lab did not answer within 2 s"), "unknown: lab did not answer within 2 s"),
    ],
)
def test_a_request_shows_what_is_free_before_it_is_sent(
    lessor: Lessor, gateway: FakeGateway, vacancy: Vacancy, words: str
) -> None:
    gateway.fleet.vacancies["research-us"] = vacancy
    assert f"Free {words}" in shown(lessor("request", *WANTED))


def test_where_machines_are_made_on_demand_nothing_is_said_to_be_free(lessor: Lessor) -> None:
    assert not [row for row in shown(lessor("request", *WANTED)) if row.startswith(("Free", "Kind"))]


CLUSTER = "places:\n  - {name: lab, provider: kubernetes, kubernetes: {context: lab, kinds: [workspace, namespace]}}\n"


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (("in lab",), "workspace"),
        (("in lab", "--kind", "namespace"), "namespace"),
        (("as namespace in lab",), "namespace"),
    ],
)
def test_a_request_shows_and_sends_the_kind_that_is_meant(
    lessor: Lessor, gateway: FakeGateway, words: tuple[str, ...], kind: str
) -> None:
    gateway.config = loads(VALID.partition("places:")[0] + CLUSTER)
    text, *options = words
    result = lessor("request", f"2 x a100 80gb for 8h training 'rank them' {text}", *options)
    assert f"Kind {kind}" in shown(result)
    [(sent, _)] = gateway.requests
    assert sent.place == LAB
    assert sent.kind is (None if text == "in lab" and not options else LeaseKind(kind))
