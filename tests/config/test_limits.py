"""Limits, cohorts and alerts of `lessor.yaml`: made into ceilings, or refused with line and remedy."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path

import pytest

from lessor.config import loads
from lessor.domain.quota import Ceiling, Cohort, Kind, QuotaPlan, Then
from tests.builders import a_quota
from tests.config.sample import VALID, changed, refusal

QUOTAS = "    research: {all: 16, A100-80GB: 8}\n"


def limited(*lines: str) -> str:
    """The sample with `organisation.limits` from line 15 on, one line each."""
    return changed(QUOTAS, QUOTAS + "  limits:\n" + "".join(f"    - {line}\n" for line in lines))


def beside(*lines: str) -> str:
    """The sample with more keys of the organisation from line 15 on."""
    return changed(QUOTAS, QUOTAS + "".join(f"  {line}\n" for line in lines))


def test_every_line_becomes_a_ceiling_and_quotas_are_short_for_some() -> None:
    config = loads(
        limited(
            "{scope: team:research, gpu_hours: 5000}",
            "{scope: 'team:*', gpus: 4, hard: false}",
            "{scope: project:llm, money: 1250.50, model: H100}",
            "{scope: person:BOSS@example.com, gpus: 2}",
        )
    )
    assert config.quota_plan.ceilings == (
        a_quota("research", 16),
        a_quota("research", 8, "A100-80GB"),
        Ceiling("team:research", Decimal(5000), Kind.GPU_HOURS),
        a_quota("*", 4, hard=False),
        Ceiling("project:llm", Decimal("1250.5"), Kind.MONEY, "H100", then=Then.FREEZE),
        Ceiling("person:U0MANAGER", Decimal(2)),
    )
    assert config.quota_plan.account("research", "", "W0Manager").person == "U0MANAGER"


@pytest.mark.parametrize(
    ("line", "follows"),
    [
        ("{scope: team:research, money: 100}", Then.FREEZE),
        ("{scope: team:research, money: 100, hard: false}", Then.ALERT),
        ("{scope: team:research, money: 100, then: alert}", Then.ALERT),
        ("{scope: team:research, money: 100, hard: false, then: freeze}", Then.FREEZE),
        ("{scope: team:research, money: 100, then: end}", Then.END),
        ("{scope: team:research, gpu_hours: 100}", Then.ALERT),
        ("{scope: project:llm, gpus: 100}", Then.ALERT),
    ],
)
def test_what_follows_when_a_limit_is_used_up(line: str, follows: Then) -> None:
    assert loads(limited(line)).quota_plan.ceilings[-1].then is follows


@pytest.mark.parametrize("what", ["gpus", "gpu_hours"])
def test_only_money_can_be_used_up_with_consequences(what: str) -> None:
    [text] = refusal(limited("{scope: project:llm, " + what + ": 8, then: end}"))
    why = "has `then`, which is for limits of money only; leave it out, or limit money"
    assert text == f"lessor.yaml:16: organisation.limits[0]: {why}"


def test_an_unknown_consequence_is_refused_with_what_is_allowed() -> None:
    [text] = refusal(limited("{scope: team:research, money: 8, then: explode}"))
    assert text == "lessor.yaml:16: organisation.limits[0].then: is 'explode'; allowed: alert, freeze or end"


def test_the_rest_of_the_plan() -> None:
    plan = loads(VALID).quota_plan
    assert (plan.currency, plan.tz, plan.thresholds, plan.cohorts) == ("USD", "UTC", (50, 80, 100), ())
    two = changed("  groups:", "    vision: {lead: U0ADMIN}\n  groups:").replace(
        QUOTAS,
        QUOTAS + "    vision: {all: 4}\n  tz: Asia/Kathmandu\n  alerts: [90, 75, 90]\n  currency: EUR\n"
        "  cohorts:\n    both: {teams: [research, vision], borrow: {vision: 3}}\n",
    )
    plan = loads(two).quota_plan
    assert (plan.currency, plan.tz, plan.thresholds) == ("EUR", "Asia/Kathmandu", (75, 90))
    assert plan.cohorts == (Cohort("both", ("research", "vision"), {"vision": 3}),)
    assert QuotaPlan().of(plan.account("research", "", "U1")) == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            limited("{scope: team:reserch, gpus: 1}"),
            "lessor.yaml:16: organisation.limits[0].scope: there is no team 'reserch'; did you mean 'research'?; "
            "teams: research",
        ),
        (
            limited("{scope: team:research, money: 5}", "{scope: person:U0NOBODY, money: 5}"),
            "lessor.yaml:17: organisation.limits[1].scope: nobody is 'U0NOBODY'; add them to organisation.people",
        ),
        (
            limited("{scope: project:The LLM, money: 5}"),
            "lessor.yaml:16: organisation.limits[0].scope: is 'project:The LLM'; allowed: team:KEY, project:KEY or "
            "person:ID, or * for each of them, such as team:*",
        ),
        (
            limited("{scope: project:LLM, money: 5}"),
            "lessor.yaml:16: organisation.limits[0].scope: 'LLM' is no project; allowed: 1 to 40 lower-case letters, "
            "digits and hyphens",
        ),
        (
            limited("{scope: team:research}"),
            "lessor.yaml:16: organisation.limits[0]: needs exactly one of gpus, gpu_hours and money; write a line for "
            "each",
        ),
        (
            limited("{scope: team:research, gpu_hours: 5, money: 5}"),
            "lessor.yaml:16: organisation.limits[0]: needs exactly one of gpus, gpu_hours and money; write a line for "
            "each",
        ),
        (
            limited("{scope: team:research, money: -1}"),
            "lessor.yaml:16: organisation.limits[0].money: is -1; allowed: 0 or more",
        ),
        (
            limited("{scope: team:research, gpus: 8, model: a100 80gb}"),
            "lessor.yaml:16: organisation.limits[0].model: 'a100 80gb' is no GPU model of the catalogue; write "
            "'A100-80GB'",
        ),
        (
            limited("{scope: team:research, gpus: 8, model: A100-80GB}"),
            "lessor.yaml:16: organisation.limits[0]: limits gpus of team:research for A100-80GB a second time, first "
            "on line 14; keep one of them",
        ),
        (
            limited("{scope: person:U0MANAGER, money: 5}", "{scope: person:manager@example.com, money: 6}"),
            "lessor.yaml:17: organisation.limits[1]: limits money of person:U0MANAGER a second time, first on line 16; "
            "keep one of them",
        ),
        (
            beside("tz: Berlin"),
            "lessor.yaml:15: organisation.tz: 'Berlin' is no time zone; did you mean 'Europe/Berlin'?",
        ),
        (
            beside("alerts: [0, 50]"),
            "lessor.yaml:15: organisation.alerts[0]: is 0; allowed: 1 or more",
        ),
        (
            beside("cohorts: {both: {teams: [research, vision]}}"),
            "lessor.yaml:15: organisation.cohorts.both.teams[1]: there is no team 'vision'; teams: research",
        ),
        (
            beside("cohorts: {both: {teams: [research, research]}}"),
            "lessor.yaml:15: organisation.cohorts.both.teams[1]: 'research' is in it twice; a team lends in one cohort "
            "only",
        ),
        (
            beside("cohorts: {both: {teams: [research, research], borrow: {vision: 1}}}"),
            "lessor.yaml:15: organisation.cohorts.both.borrow.vision: 'vision' is not among the teams of this cohort: "
            "research, research",
        ),
        (
            changed("  quotas:\n" + QUOTAS, "  cohorts: {both: {teams: [research, research]}}\n"),
            "lessor.yaml:13: organisation.cohorts.both.teams[0]: 'research' has no hard limit of GPUs at once, so that "
            "nobody knows what it has to lend",
        ),
    ],
)
def test_what_is_wrong_is_told_with_line_and_remedy(text: str, expected: str) -> None:
    assert expected in refusal(text)


def test_what_the_guide_shows_can_be_used() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "quota.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```yaml\n(.*?)```", guide, re.DOTALL)
    shown = [block.removeprefix("organisation:\n") for block in blocks if block.startswith("organisation:\n")]
    [place] = [block for block in blocks if block not in (f"organisation:\n{one}" for one in shown)]
    assert len(shown) == 2
    two = changed("  groups:", "    vision: {lead: U0ADMIN}\n  groups:").replace("  quotas:\n" + QUOTAS, "{}")
    first, second = (loads(two.replace("{}", block)).quota_plan for block in shown)
    assert (first.tz, len(first.ceilings), first.thresholds) == ("Europe/Berlin", 9, (50, 80, 100))
    assert [one.then for one in first.ceilings if one.scope == "team:vision"] == [Then.END]
    assert second.cohorts == (Cohort("ml", ("research", "vision"), {"research": 4}),)
    before, _, after = VALID.partition("places:\n")
    rest = re.sub(r"\A(?: .*\n)+", "", after)
    disks = loads(before + place + rest).places[0].disks
    assert disks is not None
    assert disks.gib_month == Decimal("0.076")
