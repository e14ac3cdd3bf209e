"""Handing leases on, going away, and looks that are started by hand, on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime

import pytest
from typer.testing import Result

from lessor.contracts import PeopleReport, PlaceReport, RunsReport, SweepOutcome, Verb
from lessor.domain.absence import Absence
from lessor.domain.errors import Refused
from lessor.domain.request import Place
from tests.builders import LEASE_ID
from tests.cli.conftest import NOW, FakeGateway

Lessor = Callable[..., Result]
FRIDAY = datetime.fromisoformat("2026-06-05T16:00:00+00:00")


@pytest.mark.parametrize(
    ("words", "verb", "to", "team"),
    [
        (("transfer", LEASE_ID, "manager@example.com"), Verb.TRANSFER, "U0MANAGER", ""),
        (("transfer", "7k3qxa2m", "boss", "--team", "vision"), Verb.TRANSFER, "U0MANAGER", "vision"),
        (("share", LEASE_ID, "<@U0FINANCE>"), Verb.SHARE, "U0FINANCE", ""),
        (("share", LEASE_ID, "team"), Verb.SHARE, "team", ""),
        (("unshare", LEASE_ID, "U0FINANCE"), Verb.UNSHARE, "U0FINANCE", ""),
        (("take", LEASE_ID), Verb.TAKE, "", ""),
        (("take", LEASE_ID, "--team", "vision"), Verb.TAKE, "", "vision"),
    ],
)
def test_handing_on(
    lessor: Lessor, gateway: FakeGateway, words: tuple[str, ...], verb: Verb, to: str, team: str
) -> None:
    result = lessor(*words)
    assert (result.exit_code, result.stderr) == (0, "")
    [(lease, act)] = gateway.acts
    assert (lease, act.verb, act.by, act.to, act.team, act.via) == (LEASE_ID, verb, "U0REQUESTER", to, team, "cli")


def test_nobody_is_guessed(lessor: Lessor, gateway: FakeGateway) -> None:
    result = lessor("transfer", LEASE_ID, "somebody")
    assert (result.exit_code, gateway.acts) == (1, [])
    assert result.stderr == "lessor: nobody is 'somebody'; give an id or e-mail address of lessor.yaml\n"


def test_away_until_friday_with_somebody_who_decides_meanwhile(lessor: Lessor, gateway: FakeGateway) -> None:
    """Times are read in the person's own zone."""
    result = lessor("away", "until", "friday 18:00", "--delegate", "boss")
    assert (result.exit_code, result.stdout) == (
        0,
        "you are away until Friday 5 June 2026 18:00 CEST; U0MANAGER decides for you meanwhile\n",
    )
    assert gateway.absences.absences(NOW) == (Absence("U0REQUESTER", NOW, FRIDAY, "U0MANAGER"),)
    again = lessor("away", "friday", "18:00", "--json")
    assert json.loads(again.stdout) == {"person": "U0REQUESTER", "until": FRIDAY.isoformat(), "delegate": None}
    assert (lessor("back").stdout, gateway.absences.kept) == ("you are back\n", {})


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("away", "friday 18:00", "boss"), "'boss' is not part of a time; name who stands in with --delegate"),
        (
            ("away", "friday 18:00", "--delegate", "U0REQUESTER"),
            "you cannot stand in for yourself; nothing was changed",
        ),
        (("away", "next friday"), "'next friday' may mean two days"),
    ],
)
def test_an_absence_that_is_not_clear_is_asked_about(
    lessor: Lessor, gateway: FakeGateway, words: tuple[str, ...], told: str
) -> None:
    result = lessor(*words)
    assert (result.exit_code, gateway.absences.kept) == (1, {})
    assert result.stderr.startswith(f"lessor: {told}")


def test_a_look_over_places_is_told_line_by_line(lessor: Lessor, gateway: FakeGateway) -> None:
    place = Place("aws", "research", "us-east-1")
    gateway.places = SweepOutcome((PlaceReport(place, True, resources=3, leases=1),), RunsReport(leases=1))
    result = lessor("sweep", "--once")
    assert (result.exit_code, result.stdout.splitlines()) == (
        0,
        [
            "aws/research/us-east-1: 3 resources, 1 open leases, 0 told",
            "1 workflows looked at; taken down: none",
        ],
    )
    gateway.places = SweepOutcome((PlaceReport(place, False, problem="throttled"),), RunsReport())
    result = lessor("sweep", "--once", "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["places"][0]["problem"] == "throttled"


def test_a_look_for_people_is_told_and_fails_when_somebody_is_unknown(lessor: Lessor, gateway: FakeGateway) -> None:
    gateway.people = PeopleReport(3, 2, 0, (LEASE_ID,))
    result = lessor("sweep", "--once", "--people")
    assert (result.exit_code, result.stdout.splitlines()) == (
        0,
        [
            "3 open leases of 2 owners, 0 of them unknown",
            f"owner has left: {LEASE_ID}",
            "approvers changed: none",
        ],
    )
    gateway.people = PeopleReport(3, 2, 1)
    assert lessor("sweep", "--once", "--people").exit_code == 1


def test_a_look_needs_once_and_the_right_to_it(lessor: Lessor, gateway: FakeGateway) -> None:
    assert lessor("sweep").exit_code == 2
    gateway.refusal = Refused("not-admin", "only administrators start a look")
    assert lessor("sweep", "--once").exit_code == 1
