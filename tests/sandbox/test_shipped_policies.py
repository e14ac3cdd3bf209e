"""The configurations of `lessor up` and `lessor demo` fit the workspace that the sandbox starts with."""

from __future__ import annotations

from datetime import timedelta
from importlib import resources

import pytest

from lessor.config import Config, loads
from lessor.domain.request import Workload
from lessor.sandbox.demo import POLICY as DEMO
from lessor.sandbox.slack import Workspace
from lessor.sandbox.up import POLICY as UP

SLACK_GROUP = "slack-group:"


def shipped(name: str) -> Config:
    return loads((resources.files("lessor.sandbox") / name).read_text())


def approvers(config: Config) -> set[str]:
    steps = [step for rule in config.policy.rules for step in rule.then.require or ()]
    return {ref for step in (*steps, *config.policy.default.require) for ref in step.approvers}


@pytest.mark.parametrize("name", [UP, DEMO])
def test_people_groups_and_channels_exist_in_the_workspace(name: str) -> None:
    config, workspace = shipped(name), Workspace.default()
    configured = {(one.id, one.name, one.email) for one in config.organisation.people}
    assert configured == {(one.id, one.name, one.email) for one in workspace.people}
    channels = {config.slack.approvals_channel, config.slack.requests_channel, config.slack.admins_channel}
    channels |= {team.channel for team in config.organisation.teams.values()}
    assert {channel for channel in channels if workspace.channel(channel) is None} == set()
    groups = {ref.removeprefix(SLACK_GROUP) for ref in approvers(config) if ref.startswith(SLACK_GROUP)}
    assert groups <= {group.handle for group in workspace.usergroups}


@pytest.mark.parametrize("name", [UP, DEMO])
def test_two_people_decide_on_what_is_dear_and_the_lead_has_a_stand_in(name: str) -> None:
    config = shipped(name)
    assert {"lead", "group:finance"} <= approvers(config)
    assert config.terms().step_up is not None
    assert {one.id: one.delegate for one in config.organisation.people}["U0MANAGER"] == "U0MANAGER2"


def test_what_lessor_up_offers_to_try() -> None:
    config = shipped(UP)
    suggested = [rule.name for rule in config.policy.rules if rule.then.suggest]
    assert suggested == ["spot-for-training"]
    assert any(ref.startswith(SLACK_GROUP) for ref in approvers(config))
    assert {limit.scope for limit in config.organisation.limits} == {"team:research", "team:platform", "person:*"}
    assert set(config.schedules) == {"office", "workshop"}


def test_only_notebooks_and_experiments_are_spared_in_working_hours() -> None:
    thresholds = shipped(UP).idle
    assert {kind: level.spare for kind, level in thresholds.workloads.items()} == {
        Workload.NOTEBOOK: timedelta(minutes=10),
        Workload.EXPERIMENT: timedelta(minutes=10),
    }
    assert (thresholds.stop, thresholds.spare) == (timedelta(minutes=6), None)


def test_everything_that_a_lease_in_the_cluster_costs_has_a_price() -> None:
    """One workspace of an unknown price makes its team's budget unknown, and then finance is asked about everything."""
    [cluster] = [place.kubernetes for place in shipped(UP).places if place.kubernetes is not None]
    assert cluster.disks is not None
    assert cluster.disks.gib_month > 0
