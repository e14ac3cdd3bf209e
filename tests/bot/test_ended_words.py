"""An end that is past is never told as one that is to come."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from bot.facts import facts
from lessor.cli import leases
from lessor.domain import life
from lessor.domain.lease import Lease, State
from lessor.rendering import slack_renderer
from lessor.when import local
from tests.builders import ENDS, READY, REQUESTER, a_lease
from workflows.details import details

WORDING = slack_renderer()
HOUR = timedelta(hours=1)


def released() -> Lease:
    """Given back one hour after it was ready, and seen stopped one hour later."""
    ending = life.release(a_lease(), "U0REQUESTER", READY + HOUR).lease
    return life.stopped(ending, READY + HOUR, READY + 2 * HOUR).lease


def clock(at: datetime) -> str:
    return f"{at:%A %d %B %Y %H:%M} UTC"


def said(template: str, lease: Lease, now: datetime = ENDS + HOUR) -> dict[str, str]:
    besides = {"zone": "UTC", "may_enter": False, "owns": True, "before": HOUR, "events": ()}
    besides |= {"refused": (), "earlier": 0}
    return WORDING.parts(f"{template}.j2", **(facts(lease, now) | besides))


@pytest.mark.parametrize("template", ["details", "card"])
def test_the_field_of_the_end_says_when_it_was_over(template: str) -> None:
    assert said(template, a_lease())["field_end"] == f"*End*\n{clock(ENDS)}"
    assert said(template, released())["field_end"] == f"*Ended*\n{clock(READY + 2 * HOUR)}"


def test_a_list_says_when_what_is_being_deleted_ended() -> None:
    going = life.start_deleting(released(), READY + timedelta(days=8)).lease
    words = said("line", going)["title"].partition("\n")[2]
    assert words == f"ended {clock(READY + 2 * HOUR)}, 103.24 USD so far"


@pytest.mark.parametrize("template", ["transferred", "shared"])
def test_messages_name_no_end_of_what_is_over(template: str) -> None:
    assert f"ends {clock(ENDS)}" in said(template, a_lease())["body"]
    assert "ends" not in said(template, released())["body"]


def test_the_command_line_and_the_record_say_ended() -> None:
    rows = dict(leases.details(released(), (), ENDS + HOUR, REQUESTER))
    assert "Ends" not in rows
    assert rows["Ended"] == local(READY + 2 * HOUR, REQUESTER.tz)
    assert "| ended | 2026-11-27 11:15:00 UTC, extended 0 times |" in details(released(), ENDS + HOUR)


def test_a_denied_request_is_not_said_to_end() -> None:
    denied = a_lease(State.DENIED)
    values = {**facts(denied, ENDS), "lease_id": denied.id, "recorded_only": False, "zone": "UTC"}
    assert "body_end" not in {name for name, text in WORDING.parts("submitted.j2", **values).items() if text}
    asked = a_lease(State.AWAITING_APPROVAL)
    values |= facts(asked, ENDS)
    assert "It ends 8 h after it is ready" in WORDING.parts("submitted.j2", **values)["body_end"]


def test_a_warning_that_could_not_come_in_time_names_an_end_that_still_comes() -> None:
    late = replace(a_lease(), warned=())
    assert said("warning", late)["body"].startswith(f"It ends {clock(ENDS + HOUR + late.terms.notice)}. ")
    assert said("warning", a_lease(), ENDS - HOUR)["body"].startswith(f"It ends {clock(ENDS)}. ")


@pytest.mark.parametrize(
    ("state", "told", "typed"),
    [
        (State.SUSPENDED, "*suspended* (stopped for now); owner", "suspended: it is stopped for now; `/gpu start "),
        (State.STOPPED, "*stopped* (its end has come); owner", "stopped: its end has come; `/gpu restore "),
        (State.ACTIVE, "*active*; owner", "active"),
    ],
)
def test_a_lease_that_is_stopped_for_now_is_told_from_one_whose_end_has_come(
    state: State, told: str, typed: str
) -> None:
    assert told in said("details", a_lease(state))["title"]
    assert dict(leases.details(a_lease(state), (), ENDS, REQUESTER))["State"].startswith(typed)


def test_a_list_of_the_command_line_says_since_when_it_is_over() -> None:
    assert leases.short_end(a_lease(), ENDS, "UTC") == "27 Nov 17:15"
    assert leases.short_end(released(), ENDS, "UTC") == "ended 27 Nov 11:15"
    assert leases.short_end(a_lease(State.AWAITING_APPROVAL), ENDS, "UTC") == "8 h once ready"


def test_each_way_in_is_a_line_that_can_be_copied_by_itself() -> None:
    lease = replace(a_lease(), access="lessor access x\nkubectl get pods")
    rows = leases.details(lease, (), ENDS, REQUESTER)
    at = rows.index(("Access", "lessor access x"))
    assert rows[at + 1] == ("", "kubectl get pods")
