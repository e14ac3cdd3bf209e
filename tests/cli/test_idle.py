"""`lessor idle` and `lessor policy replay --idle`, for people and for programs."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from lessor.config import loads
from lessor.domain.idle import Standing, Verdict
from lessor.domain.judging import advance
from lessor.domain.ladder import Dispute, Snooze, Spared
from lessor.domain.lease import Event, Lease, Span
from lessor.domain.usage import GpuUse, HostUse, Observation, Subject
from lessor.ledger import SqlLedger, open_ledger
from tests.builders import HOURLY, a_lease, a_need, a_quote, a_request, an_offer
from tests.cli.conftest import NOW, Terminal
from tests.config.sample import VALID
from tests.metering import running

FIVE = timedelta(minutes=5)
HOUR = timedelta(hours=1)
QUIET = HostUse(cpu=1.0, machine="i-0aaa")
STRICTER = f"{VALID}\nidle:\n  warm_up: 0s\n  window: 30min\n  warn: 30min\n  final: 45min\n  stop: 1h\n"


@pytest.fixture
def ledger(lessor: Terminal) -> SqlLedger:
    return open_ledger(f"sqlite:///{lessor.folder}/ledger.db")


def recorded(ledger: SqlLedger, *events: Event, since: datetime = NOW - 4 * HOUR, **changes: object) -> Lease:
    """A lease of one GPU at 98.32 USD an hour that runs since then, with these events."""
    request = a_request(
        team="research", need=a_need(count=1), **{name: changes.pop(name) for name in ("workload",) if name in changes}
    )
    lease = a_lease(request=request, quote=a_quote(offer=an_offer(gpu_count=1, hourly=HOURLY)))
    lease = replace(lease, ready_at=since, spans=(Span(since, None, HOURLY),), ends_at=NOW + 24 * HOUR)
    lease = replace(lease, **changes)  # type: ignore[arg-type]
    ledger.record(lease, [Event("provisioned", since, "lessor", {}), *events])
    return lease


def metered(
    ledger: SqlLedger,
    lease: Lease,
    engines: Sequence[float],
    host: HostUse = QUIET,
    gpus: int = 1,
    every: timedelta = FIVE,
) -> Standing:
    """Ticks up to now, each with this activity of the first GPU."""
    standing = None
    plan = loads(VALID).idle_plan
    subject = Subject(lease.id, gpus, ("i-0aaa",), ready_at=lease.ready_at)
    for index, engine in enumerate(engines):
        at = NOW - (len(engines) - 1 - index) * every
        uses = (GpuUse("0", "i-0aaa", engine=engine), *(GpuUse(str(n), "i-0aaa", engine=0.0) for n in range(1, gpus)))
        seen = Observation(lease.id, at, at, uses, (host,), sources=("prometheus i-0aaa cpu",))
        standing = advance(standing, seen, plan.terms(lease), subject, every)
        assert ledger.meter(at, [(seen, standing)])
    assert standing
    return standing


def counted(asked: list[str], name: str, real: Callable[..., Any]) -> Callable[..., Any]:
    """The same method, with each call noted."""

    def call(*arguments: Any) -> Any:
        asked.append(name)
        return real(*arguments)

    return call


def stricter(folder: Path) -> str:
    path = folder / "stricter.yaml"
    path.write_text(STRICTER)
    return str(path)


def test_every_threshold_is_shown_with_the_level_that_set_it(lessor: Terminal, ledger: SqlLedger) -> None:
    recorded(ledger)
    said = f"{VALID}\nidle:\n  final: 100min\n  cpu: ignore\n  teams: {{research: {{snoozes: 5}}}}\n"
    (lessor.folder / "lessor.yaml").write_text(said)
    result = lessor("idle", "policy", "7k3qxa2m")
    assert result.exit_code == 0, result.output
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert lines[0] == "gpu-7k3qxa2m, training of team research"
    for line in (
        "window 1 h built in",
        "final 1 h 40 min organisation",
        "cpu ignored organisation",
        "snoozes 5 team research",
        "review_after never built in for training",
        "stops yes built in",
        "engine 0.02 built in",
        "util 5 % built in",
        "network 1,000,000 B/s built in",
        "requests 0/s built in",
    ):
        assert line in lines
    assert not any(line.startswith("Not stopped") for line in lines)


def test_the_policy_for_programs_and_what_stands_against_a_stop(lessor: Terminal, ledger: SqlLedger) -> None:
    recorded(ledger, spared=Spared("U0ADMIN", NOW, "a demo on Friday"))
    found = json.loads(lessor("idle", "policy", "gpu-7k3qxa2m", "--json").stdout)
    assert found["terms"]["stop"] == {"value": 7200.0, "origin": "built in"}
    assert found["terms"]["stops"] == {"value": False, "origin": "lease (spared by U0ADMIN)"}
    assert found["not_stopped"] == "an administrator spares it: a demo on Friday"


@pytest.mark.usefixtures("empty_ledger")
def test_the_policy_of_a_lease_that_is_not_there(lessor: Terminal) -> None:
    result = lessor("idle", "policy", "gpu-00000000")
    assert (result.exit_code, result.stderr) == (
        1,
        "lessor: there is no lease gpu-00000000; see yours with: lessor list\n",
    )


def test_idle_leases_are_listed_with_since_when(lessor: Terminal, ledger: SqlLedger) -> None:
    lease = recorded(ledger)
    metered(ledger, lease, [0.9] + [0.0] * 20)
    (found,) = json.loads(lessor("idle", "list", "--json").stdout)["leases"]
    began = (NOW - 20 * FIVE).isoformat()
    assert (found["verdict"], found["since"], found["idle_gpus"]) == ("idle", began, 1)
    assert (found["active_at"], found["active_kind"], found["notes"]) == (began, "gpu", [])
    shown = lessor("idle", "list").stdout
    assert "As of Wednesday 3 June 2026 15:11 CEST" in shown
    assert "Wednesday 3 June 2026 13:31 CEST (gpu)" in shown
    elsewhere = lessor("idle", "list", "--as", "U0ADMIN").stdout
    assert "As of Wednesday 3 June 2026 13:11 UTC" in elsewhere
    nobody = lessor("idle", "list", "--as", "U0NOBODY")
    assert (nobody.exit_code, nobody.stderr.startswith("lessor: nobody is 'U0NOBODY'; use an id")) == (1, True)


def test_what_people_said_to_a_verdict_stands_beside_it(lessor: Terminal, ledger: SqlLedger) -> None:
    answers = {
        "snooze": Snooze(NOW + HOUR, "U0REQUESTER", NOW, "a demo"),
        "disputed": Dispute(NOW + 2 * HOUR, "U0MANAGER", NOW, "it loads data"),
        "spared": Spared("U0ADMIN", NOW, "it serves"),
    }
    metered(ledger, recorded(ledger, **answers), [0.9] + [0.0] * 20)
    said = " ".join(lessor("idle", "list", width="400").stdout.split())
    assert "left alone until Wednesday 3 June 2026 16:11 CEST, by U0REQUESTER: a demo; " in said
    assert "called wrong by U0MANAGER, not believed until Wednesday 3 June 2026 17:11 CEST: it loads data; " in said
    assert "spared until its end, by U0ADMIN: it serves" in said
    (found,) = json.loads(lessor("idle", "list", "--json").stdout)["leases"]
    assert found["snoozed"] == {
        "until": (NOW + HOUR).isoformat(),
        "by": "U0REQUESTER",
        "at": NOW.isoformat(),
        "reason": "a demo",
    }
    assert (found["disputed"]["reason"], found["spared"]["until"]) == ("it loads data", None)
    assert found["notes"] == []


def test_a_list_reads_all_leases_together(lessor: Terminal, ledger: SqlLedger, monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = [running(number) for number in range(1, 41)]
    found = []
    for lease in fleet:
        ledger.record(lease, [Event("ready", NOW, "lessor", {})])
        seen = Observation(lease.id, NOW, NOW, (GpuUse("0", engine=0.0),), ())
        found.append((seen, Standing(lease.id, NOW, Verdict.IDLE, NOW - HOUR, idle_gpus=1, gpus=1)))
    assert ledger.meter(NOW, found)
    asked: list[str] = []
    for name in ("lease", "leases"):
        monkeypatch.setattr(SqlLedger, name, counted(asked, name, getattr(SqlLedger, name)))
    assert len(json.loads(lessor("idle", "list", "--json").stdout)["leases"]) == 40
    assert asked == ["leases"]


def test_what_works_is_left_out_unless_everything_is_wanted(lessor: Terminal, ledger: SqlLedger) -> None:
    metered(ledger, recorded(ledger), [0.9] * 20)
    assert lessor("idle", "list").stdout == "no lease is idle as of Wednesday 3 June 2026 15:11 CEST\n"
    (found,) = json.loads(lessor("idle", "list", "--all", "--json").stdout)["leases"]
    assert found["verdict"] == "busy"


def test_partly_idle_and_unknown_leases_say_why(lessor: Terminal, ledger: SqlLedger) -> None:
    lease = recorded(ledger)
    metered(ledger, lease, [0.9] * 20, gpus=8)
    (found,) = json.loads(lessor("idle", "list", "--json").stdout)["leases"]
    assert (found["verdict"], found["notes"]) == ("busy", ["7 of 8 GPUs did nothing for 1 h"])


def test_promised_gpus_that_no_pod_holds_are_told_with_since_when(lessor: Terminal, ledger: SqlLedger) -> None:
    lease = recorded(ledger)
    standing, plan = None, loads(VALID).idle_plan
    for minutes in range(120, -1, -5):
        seen = Observation(lease.id, NOW - timedelta(minutes=minutes), held=1 if minutes > 90 else 0)
        standing = advance(standing, seen, plan.terms(lease), Subject(lease.id, 4, ready_at=lease.ready_at), FIVE)
        assert ledger.meter(seen.at, [(seen, standing)])
    (found,) = json.loads(lessor("idle", "list", "--json").stdout)["leases"]
    assert (found["verdict"], found["since"]) == ("idle", (NOW - timedelta(minutes=95)).isoformat())
    assert found["notes"] == ["0 of 4 promised GPUs held by any pod since Wednesday 3 June 2026 13:36 CEST"]


def test_a_lease_that_something_kept_from_being_idle_for_a_week_is_listed(lessor: Terminal, ledger: SqlLedger) -> None:
    lease = recorded(ledger, since=NOW - timedelta(days=8))
    kept = metered(ledger, lease, [0.0] * (48 * 7 + 3), replace(QUIET, cpu=50.0), every=HOUR / 2)
    assert kept.verdict == "busy"
    ledger.roll_up(NOW)
    (found,) = json.loads(lessor("idle", "list", "--json").stdout)["leases"]
    assert found["notes"] == ["never idle for 7 d, though its GPUs did nothing: cpu kept it up"]


@pytest.mark.usefixtures("empty_ledger")
def test_without_any_tick_it_is_said_what_to_do(lessor: Terminal) -> None:
    result = lessor("idle", "list")
    assert (result.exit_code, result.stdout) == (
        0,
        "nothing is metered yet: name a source under telemetry in lessor.yaml, see docs/telemetry.md\n",
    )


WRONG = Event(
    "verdict-disputed",
    NOW - HOUR,
    "U0REQUESTER",
    {"reason": "it waits for the queue", "verdict": "idle", "told": "1"}
    | {"peak_util": "3.0", "peak_memory": "0.000244140625", "peak_cpu": "12.5"},
)


def test_verdicts_that_people_called_wrong_are_listed_with_what_they_rested_on(
    lessor: Terminal, ledger: SqlLedger
) -> None:
    recorded(ledger, WRONG)
    (found,) = json.loads(lessor("idle", "disputes", "--json").stdout)
    assert (found["id"], found["by"], found["reason"]) == ("gpu-7k3qxa2m", "U0REQUESTER", "it waits for the queue")
    shown = " ".join(lessor("idle", "disputes").stdout.split())
    assert "it waits for the queue util 3, memory 0, cpu 12.5" in shown
    recorded(ledger)


def test_without_disputes_it_is_said_so(lessor: Terminal, ledger: SqlLedger) -> None:
    recorded(ledger, replace(WRONG, at=NOW - timedelta(days=31)))
    assert lessor("idle", "disputes").stdout == "nobody called a verdict wrong in the last 30 days\n"
    assert "it waits for the queue" in lessor("idle", "disputes", "--days", "32").stdout


def test_replaying_thresholds_lists_what_would_have_been_stopped_and_saved(lessor: Terminal, ledger: SqlLedger) -> None:
    lease = recorded(ledger, WRONG)
    metered(ledger, lease, [0.9] * 3 + [0.0] * 24 + [0.9] * 2)
    result = lessor("policy", "replay", "--idle", stricter(lessor.folder), "--days", "1")
    assert result.exit_code == 0, result.output
    assert "gpu-7k3qxa2m" in result.stdout
    assert result.stdout.splitlines()[-3:] == [
        "Of one lease 1 would have been warned and 1 stopped, of which 1 worked again later",
        "Saved: 1 h 5 min of machine time, 106.51 USD; disks cost the same when stopped",
        "Called wrong by their people: gpu-7k3qxa2m",
    ]
    facts = json.loads(lessor("policy", "replay", "--idle", stricter(lessor.folder), "--days", "1", "--json").stdout)
    (found,) = facts["differences"]
    stopped = NOW - 14 * FIVE
    assert found["stops"] == [{"since": stopped.isoformat(), "until": (NOW - FIVE).isoformat(), "worked_again": True}]
    assert (found["warned"], found["saved_money"], found["called_wrong"]) == (2, "106.51", ["it waits for the queue"])
    assert facts["saved_money"] == {"USD": "106.51"}
    assert (facts["leases"], facts["unknown_price"]) == (1, 0)


def test_replaying_the_thresholds_in_force_finds_nothing(lessor: Terminal, ledger: SqlLedger) -> None:
    metered(ledger, recorded(ledger), [0.9] * 20)
    config = str(lessor.folder / "lessor.yaml")
    shown = lessor("policy", "replay", "--idle", config).stdout
    assert shown == "Of one lease 0 would have been warned and 0 stopped, of which 0 worked again later\n"


@pytest.mark.usefixtures("empty_ledger")
def test_replaying_nothing_says_that_nothing_can_be_said(lessor: Terminal) -> None:
    shown = lessor("policy", "replay", "--idle", stricter(lessor.folder), "--days", "3").stdout
    assert shown == "nothing was seen in the last 3 days, so nothing can be said\n"


@pytest.mark.parametrize("option", ["--idle", "--policy"])
def test_a_file_that_is_not_there_is_told_with_the_option_that_named_it(lessor: Terminal, option: str) -> None:
    result = lessor("policy", "replay", option, "nope.yaml")
    assert (result.exit_code, result.stderr) == (
        2,
        f"lessor: nope.yaml: does not exist; give {option} the path of a file laid out like lessor.yaml\n",
    )


def test_a_replay_is_of_rules_or_of_thresholds(lessor: Terminal) -> None:
    for words in ((), ("--policy", "a.yaml", "--idle", "b.yaml")):
        result = lessor("policy", "replay", *words)
        assert result.exit_code == 2
        assert "give either --policy FILE or --idle FILE" in result.stderr
