"""A Slack in memory for directories: users and user groups, calls counted, failures on demand."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_slack_response import AsyncSlackResponse

TEAM, ENTERPRISE = "T0HOME", "E0HOME"


def user(id: str, **changes: Any) -> dict[str, Any]:
    """A user object of the Web API; `profile` is merged into an empty one, the rest replaces fields."""
    profile = {"display_name": "", "email": "", "status_text": "", "status_emoji": "", "status_expiration": 0}
    profile |= changes.pop("profile", {})
    return {"id": id, "team_id": TEAM, "name": id.lower(), "deleted": False, "tz": "UTC", "profile": profile} | changes


@dataclass
class FakeSlack:
    """`fail[method]` is what every call of the method raises until it is taken away: an error word or an exception."""

    users: dict[str, dict[str, Any]] = field(default_factory=dict)
    groups: dict[str, tuple[str, list[str]]] = field(default_factory=dict)
    fail: dict[str, str | Exception] = field(default_factory=dict)
    calls: Counter[str] = field(default_factory=Counter)
    page: int = 2

    def add(self, *users: dict[str, Any]) -> None:
        self.users |= {one["id"]: one for one in users}

    async def auth_test(self) -> dict[str, Any]:
        self._enter("auth.test")
        return {"team_id": TEAM, "enterprise_id": ENTERPRISE}

    async def users_info(self, *, user: str) -> dict[str, Any]:
        self._enter("users.info")
        if user not in self.users:
            raise refusal("users.info", "user_not_found")
        return {"user": self.users[user]}

    async def users_list(self, *, limit: int, cursor: str) -> dict[str, Any]:
        self._enter("users.list")
        begin = int(cursor or 0)
        rest = list(self.users.values())[begin:]
        following = str(begin + self.page) if len(rest) > self.page else ""
        return {"members": rest[: self.page], "response_metadata": {"next_cursor": following}}

    async def usergroups_list(self, *, include_disabled: bool) -> dict[str, Any]:
        self._enter("usergroups.list")
        return {"usergroups": [{"id": id, "handle": handle} for id, (handle, _) in self.groups.items()]}

    async def usergroups_users_list(self, *, usergroup: str) -> dict[str, Any]:
        self._enter("usergroups.users.list")
        if usergroup not in self.groups:
            raise refusal("usergroups.users.list", "no_such_subteam")
        return {"users": list(self.groups[usergroup][1])}

    def _enter(self, method: str) -> None:
        self.calls[method] += 1
        problem = self.fail.get(method)
        if isinstance(problem, Exception):
            raise problem
        if problem:
            raise refusal(method, problem)


def refusal(method: str, word: str) -> SlackApiError:
    answer = AsyncSlackResponse(
        client=None,
        http_verb="POST",
        api_url=f"https://slack.test/api/{method}",
        req_args={},
        data={"ok": False, "error": word},
        headers={},
        status_code=200,
    )
    return SlackApiError(f"{method}: {word}", answer)
