"""Approvers, delegates and budget owners: what may stand in a configuration, and what is told of the rest."""

from __future__ import annotations

import pytest

from lessor.config import loads
from lessor.directory import ConfigDirectory
from tests.config.sample import changed, refusal

STEP = 'approvers: ["group:finance"]'
TEAM = "members: [U0REQUESTER], cost_center: 4711}"
OWNED = "members: [U0REQUESTER], cost_center: 4711, budget_owner: finance@example.com}"


def asked(ref: str, text: str) -> str:
    return text.replace(STEP, f'approvers: ["{ref}"]')


@pytest.mark.parametrize(
    "ref",
    ["slack-group:ml-leads", "slack-group:@ml-leads", "slack-group:S0LEADS", "budget-owner", "budget-owner:research"],
)
def test_references_of_this_kind_are_approvers(ref: str) -> None:
    config = loads(asked(ref, changed(TEAM, OWNED)))
    named = (ref.partition(":")[2],) if ref.startswith("slack-group:") else ()
    assert config.slack_groups == named


@pytest.mark.parametrize(
    ("ref", "told"),
    [
        ("slack-group:", "'slack-group:' names no user group; write slack-group:HANDLE"),
        ("slack-group:two words", "'slack-group:two words' names no user group; write slack-group:HANDLE"),
        ("budget-owner:nothing", "'budget-owner:nothing' does not exist; there are: research"),
        ("budget-owner:research", "nobody active stands behind 'budget-owner:research'"),
        ("budget-owner", "asks for the team's budget owner, but these teams have no active one: research"),
        ("team:research", "'team:research' is no approver; allowed: lead, lead:TEAM, budget-owner, budget-owner:TEAM, "
         "group:NAME, slack-group:HANDLE, person:ID, admins"),
    ],
)  # fmt: skip
def test_what_is_no_approver_is_told_with_its_line(ref: str, told: str) -> None:
    assert f"lessor.yaml:29: policy.rules[1].then.require[1]: {told}" in refusal(asked(ref, changed(STEP, STEP)))


def test_nobody_counts_how_many_are_in_a_group_of_slack() -> None:
    loads(changed(STEP, 'approvers: ["slack-group:ml-leads"], quorum: 3'))


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            "{id: U0FINANCE, email: finance@example.com}",
            "{id: U0FINANCE, email: finance@example.com, delegate: U0FINANSE}",
            "lessor.yaml:6: organisation.people[2].delegate: nobody is 'U0FINANSE'; did you mean 'u0finance'?; "
            "add them to organisation.people",
        ),
        (
            "{id: U0FINANCE, email: finance@example.com}",
            "{id: U0FINANCE, email: finance@example.com, delegate: Finance@Example.com}",
            "lessor.yaml:6: organisation.people[2].delegate: 'Finance@Example.com' is the person they would stand in "
            "for; name somebody else",
        ),
        (
            TEAM,
            "members: [U0REQUESTER], cost_center: 4711, delegate: boss@example.com}",
            "lessor.yaml:9: organisation.teams.research.delegate: 'boss@example.com' is the person they would stand "
            "in for; name somebody else",
        ),
        (
            "{id: U0ADMIN, email: admin@example.com}",
            "{id: U0ADMIN, email: admin@example.com}\n    - {id: U0LEFT, active: false, delegate: U0LEFT}",
            "lessor.yaml:8: organisation.people[4].delegate: 'U0LEFT' is the person they would stand in for; "
            "name somebody else",
        ),
    ],
)
def test_stand_ins_are_somebody_else_who_is_known(old: str, new: str, told: str) -> None:
    assert told in refusal(changed(old, new))


def test_who_left_stands_in_for_nobody() -> None:
    text = changed("{id: U0FINANCE, email: finance@example.com}", "{id: U0FINANCE, active: false}")
    text = text.replace(TEAM, "members: [U0REQUESTER], cost_center: 4711, budget_owner: U0FINANCE}")
    assert (
        "lessor.yaml:9: organisation.teams.research.budget_owner: 'U0FINANCE' is not active any more; "
        "name somebody else" in refusal(text)
    )


async def test_the_directory_knows_stand_ins_and_budget_owners() -> None:
    text = changed(TEAM, "members: [U0REQUESTER], delegate: U0ADMIN, budget_owner: finance@example.com}")
    text = text.replace("aliases: [W0MANAGER,", "delegate: finance@example.com, aliases: [W0MANAGER,")
    directory = ConfigDirectory(loads(text))
    manager, finance = await directory.person("U0MANAGER"), await directory.person("U0FINANCE")
    assert manager is not None
    assert finance is not None
    assert (manager.delegate, finance.budgets) == ("U0FINANCE", ("research",))
    assert "budget-owner:research" in finance.refs
    assert [p.id for p in await directory.members("budget-owner:research")] == ["U0FINANCE"]
    assert [p.id for p in await directory.members("team:research")] == ["U0MANAGER", "U0REQUESTER"]
    team = directory.team("research")
    assert team is not None
    assert (team.delegate, team.budget_owner) == ("U0ADMIN", "U0FINANCE")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("people_sweep_every: 2d", "lease.people_sweep_every: is 2 d; allowed: 10 s to 1 d"),
        ("offer_after: 0s", "lease.offer_after: is 0; it must be longer than that"),
    ],
)
def test_those_who_left_are_found_within_a_day_and_their_leases_offered_for_a_while(line: str, told: str) -> None:
    assert any(told in one for one in refusal(changed("grace: 7d", f"grace: 7d\n  {line}")))


def test_a_lease_takes_with_it_how_long_it_is_offered() -> None:
    config = loads(changed("grace: 7d", "grace: 7d\n  offer_after: 4h"))
    assert config.terms().offer_after.total_seconds() == 4 * 3_600
