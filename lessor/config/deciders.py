"""Who stands behind the approvers of a step, and the people that people and teams name; checked before anybody asks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from lessor.config.configuration import Config
from lessor.config.model import TeamConfig
from lessor.config.problems import KeyPath
from lessor.config.wording import nearest

ALLOWED = "lead, lead:TEAM, budget-owner, budget-owner:TEAM, group:NAME, slack-group:HANDLE, person:ID, admins"
SLACK_GROUP = re.compile(r"@?[\w.-]{1,80}")
OF_A_TEAM = {"lead": "lead", "budget-owner": "budget owner"}
"""References to a person of a team: the request's own, or with `:TEAM` a certain one's."""


def approver(config: Config, ref: str) -> tuple[set[str], str]:
    """Who stands behind an approver reference, and what is wrong with it. Groups of Slack are known to Slack only."""
    organisation = config.organisation
    kind, _, name = ref.partition(":")
    if ref == "admins":
        return active(config, organisation.admins), ""
    if ref in OF_A_TEAM:
        without = [key for key, team in organisation.teams.items() if not active(config, [_of(team, ref)])]
        what = f"asks for the team's {OF_A_TEAM[ref]}, but these teams have no active one: {', '.join(without)}"
        return set(), what if without else ""
    if kind == "slack-group":
        return set(), "" if SLACK_GROUP.fullmatch(name) else f"'{ref}' names no user group; write slack-group:HANDLE"
    known = {"group": list(organisation.groups), **{key: list(organisation.teams) for key in OF_A_TEAM}}
    if name and kind in known and name not in known[kind]:
        there = ", ".join(known[kind]) or "none"
        return set(), f"'{ref}' does not exist{nearest(name, known[kind])}; there are: {there}"
    if not name or kind not in (*known, "person"):
        return set(), f"'{ref}' is no approver; allowed: {ALLOWED}"
    people = active(config, _named(config, kind, name))
    return people, "" if people else f"nobody active stands behind '{ref}'"


def varies(approvers: Iterable[str]) -> bool:
    """Whether it depends on the request or on Slack how many people these are."""
    return any(ref in OF_A_TEAM or ref.startswith("slack-group:") for ref in approvers)


def active(config: Config, refs: Iterable[str]) -> set[str]:
    """The ids of those behind `refs` whom the configuration has as active."""
    there = {person.id for person in config.organisation.people if person.active}
    return {found for ref in refs if (found := config.person_id(ref)) in there and found}


def check_stand_ins(config: Config) -> Iterator[tuple[KeyPath, str]]:
    """Delegates and budget owners: known, active, and never the person for whom they stand in."""
    organisation = config.organisation
    for index, person in enumerate(organisation.people):
        path: KeyPath = ("organisation", "people", index, "delegate")
        yield from _stand_in(config, person.delegate, path, person.id)
    for key, team in organisation.teams.items():
        lead = config.person_id(team.lead) or ""
        yield from _stand_in(config, team.delegate, ("organisation", "teams", key, "delegate"), lead)
        yield from _stand_in(config, team.budget_owner, ("organisation", "teams", key, "budget_owner"), "")


def _stand_in(config: Config, ref: str, path: KeyPath, whose: str) -> Iterator[tuple[KeyPath, str]]:
    if not ref:
        return
    found = config.person_id(ref)
    if found is None:
        yield path, f"nobody is '{ref}'{nearest(ref, list(config.primary_ids))}; add them to organisation.people"
    elif found == whose:
        yield path, f"'{ref}' is the person they would stand in for; name somebody else"
    elif not active(config, [ref]):
        yield path, f"'{ref}' is not active any more; name somebody else"


def _named(config: Config, kind: str, name: str) -> tuple[str, ...]:
    if kind == "person":
        return (name,)
    if kind == "group":
        return config.organisation.groups[name]
    return (_of(config.organisation.teams[name], kind),)


def _of(team: TeamConfig, kind: str) -> str:
    return team.lead if kind == "lead" else team.budget_owner
