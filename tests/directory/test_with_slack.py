"""The directory in front of the Slack sandbox: the calls and fields are those that Slack has."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from bot.directory import SlackDirectory
from bot.slack_client import SlackClient
from lessor.absences import AbsenceAware
from lessor.domain.people import Person, Presence
from lessor.ports import Team
from lessor.sandbox.slack import running_slack_sandbox
from tests.builders import a_person
from tests.fakes import FakeAbsences, FakeDirectory

MANAGER = a_person("U0MANAGER", leads=("ml",), delegate="U0FINANCE")
PEOPLE = (MANAGER, a_person("U0MANAGER2"), a_person("U0FINANCE"), a_person("U0REQUESTER"))


async def test_groups_statuses_and_closed_accounts_as_slack_tells_them() -> None:
    async with running_slack_sandbox() as slack:
        api = SlackClient(slack.bot_token, base_url=slack.api_url)
        configured = FakeDirectory(PEOPLE, (Team("ml", lead="U0MANAGER"),))
        known = SlackDirectory(configured, api, groups=lambda: ("gpu-approvers",))
        directory = AbsenceAware(known, FakeAbsences(), lambda: datetime.now(UTC))

        async def person(id: str) -> Person:
            found = await directory.person(id)
            assert found is not None
            return found

        assert [p.id for p in await directory.members("slack-group:gpu-approvers")] == ["U0FINANCE", "U0MANAGER2"]
        assert (await person("U0FINANCE")).slack_groups == ("gpu-approvers",)
        assert (await person("U0FINANCE")).stands_in == ()

        ends = datetime.now(UTC).replace(microsecond=0) + timedelta(days=3)
        await slack.change_person(
            "manager",
            status="Vacationing",
            status_emoji=":palm_tree:",
            status_expiration=int(ends.timestamp()),
        )
        await slack.change_person("requester", deleted=True)
        known.forget()
        assert (await person("U0MANAGER")).away_until == ends
        [lent] = (await person("U0FINANCE")).stands_in
        assert (lent.id, "lead:ml" in lent.refs) == ("U0MANAGER", True)
        assert await directory.presences(["U0REQUESTER", "U0MANAGER"]) == {
            "U0REQUESTER": Presence.GONE,
            "U0MANAGER": Presence.HERE,
        }
