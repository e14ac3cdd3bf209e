"""`lessor list` and `lessor show`."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest
from typer.testing import Result

from lessor.domain import life
from lessor.domain.billing import Span, Storage
from lessor.domain.lease import OPEN, Lease, State
from lessor.ports import LeaseQuery
from lessor.when import local
from tests.builders import ACCESS, LAUNCHED, LEASE_ID, a_lease, usd
from tests.cli.conftest import NOW, FakeGateway

Lessor = Callable[..., Result]


def test_list_shows_ones_own_open_leases(lessor: Lessor, gateway: FakeGateway) -> None:
    gateway.leases_ = {LEASE_ID: a_lease()}
    result = lessor("list")
    states = tuple(state.value for state in State if state in OPEN)
    assert gateway.queries == [LeaseQuery(owner_ids=("U0REQUESTER", "requester@example.com"), states=states)]
    assert LEASE_ID in result.stdout
    assert result.stdout.splitlines()[1].split("  ")[-3:] == ["27 Nov 18:15", "0.00 USD", "train the ranking model"]
    assert result.stdout.endswith("\nTimes are on the clock of Europe/Berlin.\n")


@pytest.mark.parametrize(
    ("words", "query"),
    [
        (("--all", "--closed", "--limit", "5", "--after", "7k3qxa2m"), LeaseQuery(after=LEASE_ID, limit=5)),
        (("--team", "research", "--state", "active"), LeaseQuery(teams=("research",), states=("active",))),
        (("--all", "--state", "awaiting approval"), LeaseQuery(states=("awaiting-approval",))),
    ],
)
def test_list_filters(lessor: Lessor, gateway: FakeGateway, words: tuple[str, ...], query: LeaseQuery) -> None:
    assert lessor("list", *words).exit_code == 0
    assert gateway.queries == [query]


def test_an_empty_list_says_so(lessor: Lessor) -> None:
    assert lessor("list").stdout == "You have no leases; see everybody's with --all.\n"
    assert lessor("list", "--json").stdout == "[]\n"


def test_an_unknown_state_is_refused_with_those_there_are(lessor: Lessor) -> None:
    result = lessor("list", "--state", "running")
    assert result.exit_code == 1
    assert result.stderr.startswith("lessor: 'running' is no state; there are: requested, awaiting-approval, ")


def test_show_as_json_and_in_words(lessor: Lessor, gateway: FakeGateway) -> None:
    purpose = "train <!channel> \x1b[31mred [bold]x[/bold]"
    lease = a_lease(State.AWAITING_APPROVAL)
    gateway.leases_ = {LEASE_ID: replace(lease, request=replace(lease.request, purpose=purpose))}
    shown = json.loads(lessor("show", LEASE_ID, "--json", "--events").stdout)
    assert (shown["id"], shown["state"], shown["can_decide"]) == (LEASE_ID, "awaiting-approval", ["U0MANAGER"])
    assert (shown["hourly"], shown["gpus"], shown["ends_at"]) == ("98.32", 8, None)
    assert shown["events"][0]["type"] == "approved"
    text = lessor("show", "7K3QXA2M", "--events").stdout
    assert "train <!channel> [31mred [bold]x[/bold]" in text
    assert "\x1b" not in text


def test_an_id_that_is_none_and_a_lease_that_is_not_there(lessor: Lessor) -> None:
    wrong = lessor("show", "what")
    assert (wrong.exit_code, wrong.stderr) == (
        1,
        "lessor: 'what' is no lease id; it looks like gpu-7k3qxa2m, see `lessor list`\n",
    )
    missing = lessor("show", LEASE_ID, "--json")
    assert (missing.exit_code, json.loads(missing.stdout)) == (
        1,
        {"ok": False, "code": "not-found", "message": f"there is no lease {LEASE_ID}", "errors": []},
    )


@pytest.mark.parametrize(
    ("words", "columns"), [((), "ID State Team GPUs Ends Cost Purpose"), (("--all",), "ID State Owner GPUs Ends Cost")]
)
def test_a_narrow_list_breaks_no_id_and_leaves_out_what_matters_least(
    lessor: Lessor, gateway: FakeGateway, words: tuple[str, ...], columns: str
) -> None:
    gateway.leases_ = {"gpu-aaaaaaa2": replace(waiting(), id="gpu-aaaaaaa2"), LEASE_ID: a_lease()}
    told = lessor("list", *words, width="80").stdout.splitlines()
    assert told[0].split() == columns.split()
    assert max(map(len, told)) <= 80
    for whole in ("gpu-aaaaaaa2", LEASE_ID, "8 x A100-80GB", "8 h once ready", "27 Nov 18:15"):
        assert [line for line in told if whole in line]


def test_a_list_for_another_year_says_so(lessor: Lessor, gateway: FakeGateway) -> None:
    gateway.leases_ = {LEASE_ID: replace(a_lease(), ends_at=NOW + timedelta(days=365, seconds=2))}
    assert "  3 Jun 2027 15:11  " in lessor("list").stdout


def test_a_lease_that_waits_for_capacity_shows_what_was_tried_and_when_it_goes_on(
    lessor: Lessor, gateway: FakeGateway
) -> None:
    gateway.leases_ = {LEASE_ID: waiting()}
    shown = json.loads(lessor("show", LEASE_ID, "--json").stdout)
    assert (shown["tries"], shown["tried"], shown["next_try"]) == (
        1,
        ["us-east-1a", "us-east-1b"],
        "2026-11-27T10:12:00+00:00",
    )
    told = [" ".join(line.split()) for line in lessor("show", LEASE_ID).stdout.splitlines()]
    assert "Tried once, without capacity in us-east-1a, us-east-1b" in told
    assert "Next try Friday 27 November 2026 11:12 CET" in told


@pytest.mark.parametrize("actor", ["U0REQUESTER", "U0MANAGER", "U0ADMIN"])
def test_who_may_act_on_a_lease_is_told_how_to_get_in(lessor: Lessor, gateway: FakeGateway, actor: str) -> None:
    gateway.leases_ = {LEASE_ID: of_research()}
    assert ACCESS in lessor("show", LEASE_ID, actor=actor).stdout
    assert json.loads(lessor("show", LEASE_ID, "--json", actor=actor).stdout)["access"] == ACCESS


def test_nobody_else_is_told_how_to_get_in(lessor: Lessor, gateway: FakeGateway) -> None:
    gateway.leases_ = {LEASE_ID: of_research()}
    for words in (("show", LEASE_ID), ("show", LEASE_ID, "--json"), ("list", "--all", "--json")):
        told = lessor(*words, actor="U0FINANCE")
        assert (told.exit_code, ACCESS in told.stdout) == (0, False)


def of_research() -> Lease:
    lease = a_lease()
    return replace(lease, request=replace(lease.request, team="research"))


def waiting() -> Lease:
    return life.wait_for_capacity(a_lease(State.PROVISIONING), ("us-east-1a", "us-east-1b"), LAUNCHED).lease


def test_show_tells_what_machines_and_disks_cost_and_how_far_the_cap_is(lessor: Lessor, gateway: FakeGateway) -> None:
    """June has 720 hours: 7,200 GiB at 0.10 USD are 1 USD an hour, beside machines at 99."""
    since = NOW - timedelta(hours=2)
    lease = replace(
        a_lease(),
        request=replace(a_lease().request, cap=usd("500")),
        spans=(Span(since, None, usd("99")),),
        storage=(Storage(since, None, 7_200, usd("0.10")),),
        ends_at=NOW + timedelta(hours=9),
        volatile=True,
    )
    gateway.leases_ = {LEASE_ID: lease}
    shown = json.loads(lessor("show", LEASE_ID, "--json").stdout)
    assert (shown["cost"], shown["compute_cost"], shown["storage_cost"]) == ("200.00", "198.00", "2.00")
    assert (shown["cap"], shown["volatile"]) == ("500", True)
    words = " ".join(lessor("show", LEASE_ID).stdout.split())
    assert "Cost so far 200.00 USD (machines 198.00 USD, disks 2.00 USD)" in words
    reached = local(NOW + timedelta(hours=3), "Europe/Berlin")
    assert f"At most 500.00 USD; used: 200.00 USD; at this rate it is reached {reached}" in words
    unpriced = replace(lease, storage=(Storage(since, None, 7_200, None),))
    gateway.leases_ = {LEASE_ID: unpriced}
    words = " ".join(lessor("show", LEASE_ID).stdout.split())
    assert "Cost so far unknown (machines 198.00 USD, disks unknown)" in words
    assert "used: at least 198.00 USD" in words


def test_show_names_each_disk_that_people_added_with_size_since_when_and_cost(
    lessor: Lessor, gateway: FakeGateway
) -> None:
    since, day = NOW - timedelta(hours=48), NOW - timedelta(hours=24)
    ours = Storage(since, None, 150, usd("0.10"))
    theirs = Storage(day, None, Decimal("300.5"), usd("0.10"), "volume:pv-1@1", f"{LEASE_ID}/data")
    gone = Storage(since, day, 600, usd("0.10"), "volume:pv-2@2", f"{LEASE_ID}/old")
    unpriced = Storage(day, None, 50, None, "volume:pv-3@3", f"{LEASE_ID}/raw")
    lease = replace(a_lease(), spans=(), storage=(ours, theirs, gone))
    gateway.leases_ = {LEASE_ID: lease}
    begun = local(day, "Europe/Berlin")
    words = " ".join(lessor("show", LEASE_ID).stdout.split())
    assert "Cost so far 4.00 USD (machines 0.00 USD, disks 4.00 USD, of which 3.00 USD for added ones)" in words
    named = f"{LEASE_ID}/data, 300.5 GiB, 30.05 USD a month, 1.00 USD so far since {begun}; 1 that is gone"
    assert f"Added disks {named}" in words
    shown = json.loads(lessor("show", LEASE_ID, "--json").stdout)
    assert (shown["storage_cost"], shown["added_storage_cost"]) == ("4.00", "3.00")
    assert [(one["name"], one["added"], one["gib"], one["cost"]) for one in shown["disks"]] == [
        (None, False, "150", "1.00"),
        (f"{LEASE_ID}/data", True, "300.5", "1.00"),
        (f"{LEASE_ID}/old", True, "600", "2.00"),
    ]
    times = [(one["since"], one["until"]) for one in shown["disks"]]
    assert times == [(since.isoformat(), None), (day.isoformat(), None), (since.isoformat(), day.isoformat())]
    gateway.leases_ = {LEASE_ID: replace(lease, storage=(unpriced,))}
    words = " ".join(lessor("show", LEASE_ID).stdout.split())
    assert "(machines 0.00 USD, disks unknown, of which unknown for added ones)" in words
    assert f"{LEASE_ID}/raw, 50 GiB, at an unknown price since {begun}" in words
    [disk] = json.loads(lessor("show", LEASE_ID, "--json").stdout)["disks"]
    assert (disk["gib_month"], disk["cost"]) == (None, None)
