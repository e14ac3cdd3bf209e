"""What people read of a lease: what happened stays in view, and a wait for capacity says what was tried."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from bot.around import NOTHING
from bot.details import EVENTS_MOST, details, history
from bot.facts import facts
from lessor.domain.lease import Event, State
from lessor.ports import StoredEvent
from lessor.rendering import slack_renderer
from lessor.when import local
from tests.builders import (
    ASKED,
    MANAGER,
    MORNINGS,
    READY,
    REQUESTER,
    a_lease,
    a_quote,
    a_request,
    a_story,
    an_offer,
)


def stored(*events: Event) -> list[StoredEvent]:
    return [StoredEvent(number, "gpu-7k3qxa2m", event, "", "") for number, event in enumerate(events, start=1)]


def attempt(verb: str, code: str, minutes: int = 0) -> Event:
    return Event("refused", ASKED + timedelta(minutes=minutes), "U0STRANGER", {"verb": verb, "code": code, "why": "no"})


def test_refusals_never_push_the_history_out_of_view() -> None:
    lease, happened = a_story(State.ACTIVE)
    many = [attempt("release", "not-owner", minutes) for minutes in range(500)]
    said = history(stored(*happened, *many, attempt("approve", "own-request", 501)))
    assert said["events"] == list(happened)
    assert said["earlier"] == 0
    blocks = details(slack_renderer(), lease, stored(*happened, *many), NOTHING, READY, MANAGER)
    text = "\n".join(str(block.to_dict()) for block in blocks)
    assert "ready, lessor" in text
    assert "Refused and without effect: release (not-owner) 500 times; the last Friday 27 November 2026 17:19" in text
    assert text.count("not-owner") == 1


def test_kinds_of_refusals_are_counted_and_the_rarest_summed_up() -> None:
    refused = [attempt(f"verb{n}", "code") for n in range(12)] + [attempt("verb3", "code")]
    said = history(stored(*refused))
    counted = said["refused"]
    assert isinstance(counted, list)
    assert counted[0] == {"verb": "verb3", "code": "code", "count": 2}
    assert len(counted) == 10
    values = {**facts(a_lease(), READY), "zone": "UTC", "may_enter": False, **said}
    told = slack_renderer().parts("details.j2", **values)["body_events"]
    assert "verb3 (code) 2 times, verb0 (code), " in told
    assert " and 2 other kinds; the last Friday 27 November 2026 09:00 UTC" in told


def test_of_very_long_histories_the_newest_are_shown() -> None:
    said = history(stored(*[Event("extended", ASKED, "U1", {}) for _ in range(EVENTS_MOST + 5)]))
    assert said["earlier"] == 5


def test_a_lease_that_waits_for_capacity_says_what_was_tried_and_when_it_goes_on() -> None:
    lease = a_lease(State.WAITING_FOR_CAPACITY)
    blocks = details(slack_renderer(), lease, (), NOTHING, READY, REQUESTER)
    text = "\n".join(str(block.to_dict()) for block in blocks)
    assert (
        "*No capacity yet:* tried 1 time: p4de.24xlarge in us-east-1a (on-demand).\\n"
        "Next try: Friday 27 November 2026 10:15 UTC. Nothing is billed while it waits."
    ) in text
    line = slack_renderer().parts("line.j2", zone="UTC", **facts(lease, READY))["title"]
    assert line.endswith(
        "\nno capacity yet, next try Friday 27 November 2026 10:15 UTC; tried: p4de.24xlarge in us-east-1a (on-demand)"
    )


def test_a_line_of_a_list_says_what_comes_next() -> None:
    reserved = a_lease(State.APPROVED, request=a_request(start=READY))
    stopped = a_lease(State.STOPPED)
    assert stopped.stopped_at is not None
    deleted = stopped.stopped_at + stopped.terms.grace
    resting = replace(a_lease(State.SUSPENDED), schedule=MORNINGS)
    for lease, told in (
        (reserved, f"starts {local(READY, 'UTC')}"),
        (stopped, f"deleted {local(deleted, 'UTC')} unless it is restored, "),
        (resting, f"runs again {local(READY, 'UTC')}, ends "),
    ):
        line = slack_renderer().parts("line.j2", zone="UTC", **facts(lease, READY))["title"]
        assert line.split("\n")[1].startswith(told)


def test_offers_of_several_regions_are_told_apart() -> None:
    offers = tuple(an_offer(instance_type="g5.xlarge", region=region) for region in ("us-east-1", "us-west-2", ""))
    lease = a_lease(quote=a_quote(alternatives=offers))
    text = "\n".join(str(one.to_dict()) for one in details(slack_renderer(), lease, (), NOTHING, READY, REQUESTER))
    price = "98.32 USD an hour"
    gpus = f"{offers[0].gpu_count} x {offers[0].gpu_model}"
    shown = [f"g5.xlarge ({gpus}){where}, {price}" for where in (" in us-east-1", " in us-west-2", "")]
    assert "\\n".join(f"• {one}" for one in shown) in text


def test_working_hours_that_cost_local_disks_say_so_before_and_after_the_stop() -> None:
    night = replace(a_lease(State.SUSPENDED), volatile=True)
    told = slack_renderer().parts("suspended.j2", zone="UTC", **facts(night, READY))["body"]
    assert told.startswith("What was on its local disks is lost. Its other disks are kept.")
    working = replace(a_lease(State.ACTIVE, schedule=MORNINGS), volatile=True)
    day = {**facts(working, READY), "suspends_at": READY}
    before = slack_renderer().parts("suspending.j2", zone="UTC", **day)["body"]
    assert before.startswith("*What is on its local disks is lost for good.* Its other disks are kept")
    kept = slack_renderer().parts("suspended.j2", zone="UTC", **facts(replace(night, volatile=False), READY))["body"]
    assert kept.startswith("Its disks are kept.")
