"""People as Slack knows them: user groups, statuses, closed accounts; and what an unanswered call means (law 1)."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bot.directory import SlackDirectory
from lessor.config import loads
from lessor.directory import ConfigDirectory
from lessor.domain.people import Person, Presence
from lessor.ports import DirectoryUnavailableError
from tests.config.sample import VALID
from tests.directory.slack import ENTERPRISE, FakeSlack, user

NOW = datetime(2026, 6, 3, 12, 0, tzinfo=UTC)
OUTAGES = ("fatal_error", "missing_scope", "ratelimited", TimeoutError(), OSError("no route"))


@dataclass
class Desk:
    """The directory over the sample configuration; `passed` are seconds, `names` the groups that it uses."""

    slack: FakeSlack = field(default_factory=FakeSlack)
    names: list[str] = field(default_factory=list)
    now: datetime = NOW
    passed: float = 0.0

    def __post_init__(self) -> None:
        self.directory = SlackDirectory(
            ConfigDirectory(loads(VALID)),
            self.slack,  # type: ignore[arg-type]
            lambda: self.passed,
            groups=lambda: self.names,
            clock=lambda: self.now,
        )

    async def person(self, any_id: str) -> Person:
        found = await self.directory.person(any_id)
        assert found is not None
        return found

    async def ids(self, ref: str) -> list[str]:
        return [person.id for person in await self.directory.members(ref)]


@pytest.fixture
def desk() -> Desk:
    made = Desk()
    made.slack.add(*(user(one) for one in ("U0REQUESTER", "U0MANAGER", "U0FINANCE", "U0ADMIN")))
    made.slack.groups = {"S0LEADS": ("ml-leads", ["U0MANAGER", "U0FINANCE", "U0NOBODY"])}
    return made


@pytest.mark.parametrize("name", ["ml-leads", "@ml-leads", "ML-Leads", "S0LEADS", "s0leads"])
async def test_the_members_of_a_user_group_are_the_configured_people_in_it(desk: Desk, name: str) -> None:
    desk.names = [name]
    assert await desk.ids(f"slack-group:{name}") == ["U0MANAGER", "U0FINANCE"]
    manager = await desk.person("U0MANAGER")
    assert manager.slack_groups == (name,)
    assert f"slack-group:{name}" in manager.refs
    assert (await desk.person("U0REQUESTER")).slack_groups == ()


async def test_groups_that_the_configuration_does_not_name_are_never_asked_for(desk: Desk) -> None:
    await desk.person("U0MANAGER")
    assert desk.slack.calls["usergroups.list"] == 0


async def test_a_group_is_read_again_after_five_minutes_and_not_before(desk: Desk) -> None:
    desk.names = ["ml-leads"]
    for _ in range(3):
        await desk.person("U0MANAGER")
    assert (desk.slack.calls["usergroups.list"], desk.slack.calls["usergroups.users.list"]) == (1, 1)
    desk.slack.groups["S0LEADS"] = ("ml-leads", ["U0FINANCE"])
    desk.passed = 299
    assert (await desk.person("U0MANAGER")).slack_groups == ("ml-leads",)
    desk.passed = 301
    assert (await desk.person("U0MANAGER")).slack_groups == ()
    assert await desk.ids("slack-group:ml-leads") == ["U0FINANCE"]


@pytest.mark.parametrize("outage", OUTAGES)
@pytest.mark.parametrize("method", ["usergroups.list", "usergroups.users.list"])
async def test_a_group_that_cannot_be_read_is_as_it_was(desk: Desk, method: str, outage: str | Exception) -> None:
    desk.names = ["ml-leads"]
    assert await desk.ids("slack-group:ml-leads") == ["U0MANAGER", "U0FINANCE"]
    desk.slack.fail[method] = outage
    desk.passed = 10_000
    desk.directory.forget()
    assert await desk.ids("slack-group:ml-leads") == ["U0MANAGER", "U0FINANCE"]
    assert (await desk.person("U0MANAGER")).slack_groups == ("ml-leads",)


@pytest.mark.parametrize("outage", OUTAGES)
@pytest.mark.parametrize("method", ["usergroups.list", "usergroups.users.list"])
async def test_a_group_that_was_never_read_is_unknown_and_not_empty(
    desk: Desk, method: str, outage: str | Exception
) -> None:
    desk.names = ["ml-leads"]
    desk.slack.fail[method] = outage
    with pytest.raises(DirectoryUnavailableError, match="ml-leads could not be read"):
        await desk.directory.members("slack-group:ml-leads")
    assert (await desk.person("U0MANAGER")).slack_groups == ()
    del desk.slack.fail[method]
    assert await desk.ids("slack-group:ml-leads") == ["U0MANAGER", "U0FINANCE"]


async def test_a_group_that_does_not_exist_has_nobody(desk: Desk) -> None:
    assert await desk.ids("slack-group:no-such-group") == []


async def test_a28_members_are_found_under_either_form_of_their_id(desk: Desk) -> None:
    """U- and W-forms of one person are one person, also in a group, and count once."""
    grid = {"id": "W0GRID", "enterprise_id": ENTERPRISE}
    desk.slack.add(user("U0MANAGER", enterprise_user=grid), user("W0GRID", profile={"email": "manager@example.com"}))
    desk.names = ["ml-leads"]
    desk.slack.groups = {"S0LEADS": ("ml-leads", ["W0GRID", "U0MANAGER", "W0MANAGER"])}
    assert await desk.ids("slack-group:ml-leads") == ["U0MANAGER"]
    manager = await desk.person("U0MANAGER")
    assert (manager.slack_groups, "W0GRID" in manager.all_ids) == (("ml-leads",), True)
    by_grid = await desk.person("W0GRID")
    assert (by_grid.id, by_grid.slack_groups) == ("U0MANAGER", ("ml-leads",))


async def test_a28_people_of_another_organisation_are_nobody_in_a_group_too(desk: Desk) -> None:
    desk.slack.add(user("U0OUTSIDE", team_id="T0ELSEWHERE", profile={"email": "manager@example.com"}))
    desk.slack.groups = {"S0LEADS": ("ml-leads", ["U0OUTSIDE"])}
    assert await desk.ids("slack-group:ml-leads") == []


def status(**fields: Any) -> dict[str, Any]:
    return {"profile": {f"status_{key}": value for key, value in fields.items()}}


async def test_a_status_says_who_is_away_until_it_ends(desk: Desk) -> None:
    ends = NOW + timedelta(days=2)
    desk.slack.add(
        user("U0MANAGER", **status(text="Vacationing", emoji=":palm_tree:", expiration=int(ends.timestamp())))
    )
    assert (await desk.person("U0MANAGER")).away_until == ends
    assert [p.away_until for p in await desk.directory.members("lead:research")] == [ends]
    desk.now = ends
    assert (await desk.person("U0MANAGER")).away_until is None


async def test_a_status_without_an_end_holds_for_as_long_as_it_stands(desk: Desk) -> None:
    desk.slack.add(user("U0MANAGER", **status(text="im Urlaub")))
    assert (await desk.person("U0MANAGER")).away_until == NOW + timedelta(days=1)
    desk.slack.add(user("U0MANAGER", **status(text="In a meeting")))
    desk.passed = 301
    assert (await desk.person("U0MANAGER")).away_until is None


async def test_who_has_left_is_whom_slack_or_the_configuration_calls_deactivated(desk: Desk) -> None:
    desk.slack.add(user("U0MANAGER", deleted=True), user("U0EXTERNAL", team_id="T0ELSEWHERE", deleted=True))
    del desk.slack.users["U0FINANCE"]
    wanted = ["U0REQUESTER", "U0MANAGER", "W0MANAGER", "U0FINANCE", "U0EXTERNAL", "U0NEVER", "somebody@example.com"]
    assert await desk.directory.presences(wanted) == {
        "U0REQUESTER": Presence.HERE,
        "U0MANAGER": Presence.GONE,
        "W0MANAGER": Presence.GONE,
        "U0FINANCE": Presence.UNKNOWN,
        "U0EXTERNAL": Presence.UNKNOWN,
        "U0NEVER": Presence.UNKNOWN,
        "somebody@example.com": Presence.UNKNOWN,
    }
    manager = await desk.person("U0MANAGER")
    assert (manager.active, manager.listed) == (False, True)


async def test_whether_somebody_has_left_is_asked_anew_each_time_and_unknown_when_nobody_answers(desk: Desk) -> None:
    """What was true yesterday offers nobody's lease to others today."""
    await desk.person("U0MANAGER")
    desk.slack.add(user("U0MANAGER", deleted=True))
    assert (await desk.person("U0MANAGER")).active
    assert await desk.directory.presences(["U0MANAGER"]) == {"U0MANAGER": Presence.GONE}
    assert not (await desk.person("U0MANAGER")).active
    desk.slack.fail = {"users.info": "fatal_error"}
    assert await desk.directory.presences(["U0MANAGER"]) == {"U0MANAGER": Presence.UNKNOWN}
    assert not (await desk.person("U0MANAGER")).active


async def test_somebody_taken_out_of_the_configuration_has_left_when_slack_says_so(desk: Desk) -> None:
    desk.slack.add(user("U0FORMER", deleted=True), user("U0STILL"))
    seen = await desk.directory.presences(["U0FORMER", "U0STILL"])
    assert seen == {"U0FORMER": Presence.GONE, "U0STILL": Presence.HERE}


@pytest.mark.parametrize("outage", OUTAGES)
async def test_what_slack_does_not_say_of_an_account_is_unknown(desk: Desk, outage: str | Exception) -> None:
    desk.slack.fail = {"users.info": outage, "users.list": outage}
    assert await desk.directory.presences(["U0REQUESTER"]) == {"U0REQUESTER": Presence.UNKNOWN}
    assert (await desk.person("U0REQUESTER")).active


async def test_many_accounts_are_read_from_the_list_page_by_page(desk: Desk) -> None:
    many = [f"U0OWNER{n:02d}" for n in range(30)]
    desk.slack.add(*(user(one, deleted=one.endswith("7")) for one in many))
    seen = await desk.directory.presences(many)
    assert [one for one in many if seen[one] is Presence.GONE] == ["U0OWNER07", "U0OWNER17", "U0OWNER27"]
    assert (desk.slack.calls["users.info"], desk.slack.calls["users.list"]) == (0, 17)


async def test_a_list_that_fails_is_made_up_for_one_by_one(desk: Desk) -> None:
    many = [f"U0OWNER{n:02d}" for n in range(30)]
    desk.slack.add(*(user(one) for one in many))
    desk.slack.fail["users.list"] = "fatal_error"
    assert set((await desk.directory.presences(many)).values()) == {Presence.HERE}
    assert desk.slack.calls["users.info"] == 30
