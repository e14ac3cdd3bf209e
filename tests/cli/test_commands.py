"""Every command: what it does, what it prints, and the exit code that scripts rely on."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import Result

from lessor.contracts import Answer, Verb
from lessor.domain.errors import FieldError, Invalid, Refused
from lessor.domain.lease import OPEN, State
from lessor.domain.request import Need, Place, Request, Workload
from lessor.gateway import Submitted
from lessor.ports import LeaseQuery, LedgerUnavailableError
from tests.builders import LEASE_ID, a_lease
from tests.cli.conftest import NOW, FakeGateway

Lessor = Callable[..., Result]
COMPLETE = ("2", "x", "a100", "80gb", "for", "8h", "training", "fine-tune the ranking model")


def test_a_typed_request_is_sent_as_the_acting_person(lessor: Lessor, gateway: FakeGateway) -> None:
    result = lessor("request", *COMPLETE, "--key", "nightly")
    assert (result.exit_code, result.stderr) == (0, "")
    assert gateway.requests == [
        (
            Request(
                requester="U0REQUESTER",
                team="research",
                purpose="fine-tune the ranking model",
                workload=Workload.TRAINING,
                need=Need("A100-80GB", 2),
                place=Place("aws", "research-us", "us-east-1"),
                duration=timedelta(hours=8),
                interaction="cli:U0REQUESTER:nightly",
            ),
            False,
        )
    ]
    assert "8 h from when it is usable; if that were now, until Wednesday 3 June 2026 23:11 CEST" in result.stdout
    assert "98.32 USD an hour, 786.56 USD in total (catalogue 2026-11-01)" in result.stdout
    assert result.stdout.endswith("gpu-7k3qxa2m is on its way; follow it with: lessor show gpu-7k3qxa2m\n")


def test_options_say_the_same_as_text(lessor: Lessor, gateway: FakeGateway) -> None:
    lessor("request", *COMPLETE, "--key", "a")
    lessor("request", "2 x a100 80gb", "--until", "8h", "--workload", "training", "--purpose",
           "fine-tune the ranking model", "--team", "research", "--place", "research-us", "--key", "a")  # fmt: skip
    lessor(
        "request", "a100", "80gb", "gpus:2", "for 8h", "training", "purpose:fine-tune the ranking model", "--key", "a"
    )
    assert gateway.requests[0] == gateway.requests[1] == gateway.requests[2]


def test_without_a_key_every_request_is_another(lessor: Lessor, gateway: FakeGateway) -> None:
    lessor("request", *COMPLETE)
    lessor("request", *COMPLETE, "--anyway")
    (first, _), (second, anyway) = gateway.requests
    assert first.interaction != second.interaction
    assert anyway


def test_what_is_missing_is_one_line_each_and_nothing_is_sent(lessor: Lessor, gateway: FakeGateway) -> None:
    result = lessor("request", "8h")
    assert (result.exit_code, gateway.requests) == (1, [])
    assert result.stderr.splitlines() == [
        "lessor: need: say which GPUs, such as 2 x a100 80gb or g5.xlarge",
        "lessor: workload: say what for: training, fine-tuning, batch-inference, realtime-inference, notebook, "
        "experiment",
        'lessor: purpose: say why, such as "fine-tune the ranking model"',
    ]


def test_a_request_is_confirmed_where_somebody_can_be_asked(lessor: Lessor, gateway: FakeGateway) -> None:
    refused = lessor("request", *COMPLETE, answers="n\n")
    assert (refused.exit_code, refused.stderr, gateway.requests) == (1, "lessor: nothing was done\n", [])
    assert lessor("request", *COMPLETE, answers="y\n").exit_code == 0
    assert lessor("request", *COMPLETE, "--yes", answers="").exit_code == 0
    assert len(gateway.requests) == 2


@pytest.mark.parametrize(
    ("submitted", "code", "text"),
    [
        (Submitted("gpu-1", existing=True), 0, "gpu-1 was made with this key before; nothing new was sent"),
        (
            Submitted("gpu-1", recorded_only=True),
            0,
            "gpu-1 is recorded; it starts by itself as soon as Temporal can be reached",
        ),
        (
            Submitted("", similar=("gpu-1", "gpu-2")),
            1,
            "lessor: gpu-1, gpu-2 asks for the same already; nothing was sent, add --anyway to make another",
        ),
    ],
)
def test_what_came_of_a_request(
    lessor: Lessor, gateway: FakeGateway, submitted: Submitted, code: int, text: str
) -> None:
    gateway.submitted = submitted
    result = lessor("request", *COMPLETE)
    assert result.exit_code == code
    assert text in (result.stderr if code else result.stdout)


def test_the_answer_as_json(lessor: Lessor) -> None:
    result = lessor("request", *COMPLETE, "--json")
    expected = {"ok": True, "lease_id": "gpu-7k3qxa2m", "existing": False, "recorded_only": False}
    assert json.loads(result.stdout) == expected


def test_list_shows_ones_own_open_leases(lessor: Lessor, gateway: FakeGateway) -> None:
    gateway.leases_ = {LEASE_ID: a_lease()}
    result = lessor("list")
    states = tuple(state.value for state in State if state in OPEN)
    assert gateway.queries == [LeaseQuery(owner_ids=("U0REQUESTER", "requester@example.com"), states=states)]
    assert LEASE_ID in result.stdout
    assert "Friday 27 November 2026 18:15 CET" in result.stdout


@pytest.mark.parametrize(
    ("words", "query"),
    [
        (("--all", "--closed", "--limit", "5", "--after", "7k3qxa2m"), LeaseQuery(after=LEASE_ID, limit=5)),
        (("--team", "research", "--state", "active"), LeaseQuery(teams=("research",), states=("active",))),
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
    ("words", "verb", "reason"),
    [
        (("approve", LEASE_ID, "--reason", "go"), Verb.APPROVE, "go"),
        (("deny", LEASE_ID, "--reason", "too big"), Verb.DENY, "too big"),
        (("release", LEASE_ID, "--yes"), Verb.RELEASE, ""),
        (("withdraw", LEASE_ID, "-y"), Verb.WITHDRAW, ""),
    ],
)
def test_acts(lessor: Lessor, gateway: FakeGateway, words: tuple[str, ...], verb: Verb, reason: str) -> None:
    result = lessor(*words, actor="Manager@Example.com")
    assert (result.exit_code, result.stdout) == (0, "gpu-7k3qxa2m is approved\n")
    [(lease, act)] = gateway.acts
    assert (lease, act.verb, act.by, act.reason) == (LEASE_ID, verb, "U0MANAGER", reason)


def test_a_denial_needs_a_reason(lessor: Lessor, gateway: FakeGateway) -> None:
    assert lessor("deny", LEASE_ID).exit_code == 2
    assert gateway.acts == []


@pytest.mark.parametrize("verb", ["release", "withdraw"])
def test_what_takes_something_away_is_confirmed(lessor: Lessor, gateway: FakeGateway, verb: str) -> None:
    alone = lessor(verb, LEASE_ID)
    assert (alone.exit_code, gateway.acts) == (1, [])
    assert alone.stderr == "lessor: nothing was done; nobody can be asked here, so add --yes to confirm\n"
    assert lessor(verb, LEASE_ID, answers="n\n").exit_code == 1
    assert gateway.acts == []
    assert lessor(verb, LEASE_ID, answers="y\n").exit_code == 0
    assert len(gateway.acts) == 1


@pytest.mark.parametrize(
    ("words", "until", "reason"),
    [
        (("2h",), "2026-11-27T19:15:00+00:00", ""),
        (("1", "day", "the data came late"), "2026-11-28T17:15:00+00:00", "the data came late"),
        (("2026-12-24 18:00", "--reason", "late"), "2026-12-24T17:00:00+00:00", "late"),
    ],
)
def test_extend_counts_lengths_from_the_present_end(
    lessor: Lessor, gateway: FakeGateway, words: tuple[str, ...], until: str, reason: str
) -> None:
    gateway.leases_ = {LEASE_ID: a_lease()}
    assert lessor("extend", LEASE_ID, *words).exit_code == 0
    [(_, act)] = gateway.acts
    assert (act.verb, act.until, act.reason) == (Verb.EXTEND, datetime.fromisoformat(until), reason)


def test_restore_counts_lengths_from_now(lessor: Lessor, gateway: FakeGateway) -> None:
    gateway.leases_ = {LEASE_ID: a_lease(State.STOPPED)}
    assert lessor("restore", LEASE_ID, "8h", "one more run").exit_code == 0
    [(_, act)] = gateway.acts
    assert (act.verb, act.until, act.reason) == (Verb.RESTORE, NOW + timedelta(hours=8), "one more run")


def test_extend_refuses_an_end_that_is_not_clear(lessor: Lessor, gateway: FakeGateway) -> None:
    gateway.leases_ = {LEASE_ID: a_lease()}
    result = lessor("extend", LEASE_ID, "next friday")
    assert (result.exit_code, gateway.acts) == (1, [])
    assert result.stderr == ("lessor: 'next friday' may mean two days; do you mean '2026-06-05' or '2026-06-12'?\n")


def test_a_refused_act_is_told_and_fails(lessor: Lessor, gateway: FakeGateway) -> None:
    gateway.answer = Answer(False, "own-request", "this is your own request", LEASE_ID, "awaiting-approval")
    result = lessor("approve", LEASE_ID)
    assert (result.exit_code, result.stderr) == (1, "lessor: this is your own request\n")


def test_an_act_that_is_only_recorded_says_so(lessor: Lessor, gateway: FakeGateway) -> None:
    gateway.answer = Answer(True, "recorded", "", LEASE_ID, "active", recorded_only=True)
    result = lessor("approve", LEASE_ID)
    assert (result.exit_code, result.stdout) == (
        0,
        f"{LEASE_ID} is active; it is recorded and takes effect as soon as the worker is back\n",
    )


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (Refused("unreachable", "Temporal does not answer"), 3, "lessor: Temporal does not answer"),
        (
            LedgerUnavailableError("the ledger cannot be reached"),
            3,
            "lessor: the ledger cannot be reached; nothing was changed, check LESSOR_DATABASE_URL and try again",
        ),
        (Invalid((FieldError("end", "is in the past"),)), 1, "lessor: end: is in the past"),
    ],
)
def test_failures_have_one_line_and_their_exit_code(
    lessor: Lessor, gateway: FakeGateway, error: Exception, code: int, line: str
) -> None:
    gateway.refusal = error
    result = lessor("list")
    assert (result.exit_code, result.stderr.splitlines()) == (code, [line])
    assert json.loads(lessor("list", "--json").stdout)["ok"] is False


def test_somebody_has_to_act(lessor: Lessor) -> None:
    nobody = lessor("list", actor="")
    assert (nobody.exit_code, nobody.stderr) == (
        2,
        "lessor: say who you are: --as ID or LESSOR_USER, with an id or e-mail address of lessor.yaml\n",
    )
    stranger = lessor("list", "--as", "U0STRANGER")
    assert (stranger.exit_code, stranger.stderr) == (
        1,
        "lessor: nobody is 'U0STRANGER'; use an id or e-mail address that stands in lessor.yaml under "
        "organisation.people\n",
    )


def test_config_check(lessor: Lessor, tmp_path: Path) -> None:
    good = lessor("config", "check")
    assert good.exit_code == 0
    assert good.stdout.startswith(f"{tmp_path}/lessor.yaml is valid: 4 people, 1 teams, 1 places, 2 rules; version ")
    broken = tmp_path / "broken.yaml"
    broken.write_text((tmp_path / "lessor.yaml").read_text().replace("grace: 7d", "grase: 7d"))
    bad = lessor("config", "check", "--config", str(broken))
    assert bad.exit_code == 2
    assert bad.stderr.startswith("lessor: broken.yaml:16: lease.grase: unknown key; did you mean 'grace'?")
    as_json = json.loads(lessor("config", "check", "--config", str(broken), "--json").stdout)
    assert (as_json["ok"], as_json["problems"][0]["line"], as_json["problems"][0]["key"]) == (False, 16, "lease.grase")


def test_a_broken_configuration_stops_every_command(lessor: Lessor, tmp_path: Path) -> None:
    (tmp_path / "lessor.yaml").write_text("a: 1\n")
    assert lessor("list").exit_code == 2


def test_config_schema_is_the_published_one(lessor: Lessor) -> None:
    published = Path(__file__).parents[2] / "docs" / "lessor.schema.json"
    assert lessor("config", "schema").stdout == published.read_text(encoding="utf-8")


@pytest.mark.parametrize("words", [("nonsense",), ("show",), ("list", "--limit", "0"), ("up", "--port-base", "1")])
def test_wrong_usage(lessor: Lessor, words: tuple[str, ...]) -> None:
    assert lessor(*words).exit_code == 2
