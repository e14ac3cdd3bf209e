"""usergroups.*"""

from __future__ import annotations

from typing import Any

from lessor.sandbox.slack.api import Args, Method
from lessor.sandbox.slack.core import Core
from lessor.sandbox.slack.errors import SlackError
from lessor.sandbox.slack.workspace import Usergroup

Json = dict[str, Any]


async def list_usergroups(core: Core, args: Args) -> Json:
    groups = [group for group in core.workspace.usergroups if args.flag("include_disabled") or not group.disabled]
    return {"usergroups": [_described(core, group, args) for group in groups]}


async def list_users(core: Core, args: Args) -> Json:
    wanted = args.required("usergroup", "no_such_subteam")
    for group in core.workspace.usergroups:
        if group.id == wanted and (args.flag("include_disabled") or not group.disabled):
            return {"users": list(group.members)}
    raise SlackError("no_such_subteam")


METHODS: dict[str, Method] = {
    "usergroups.list": list_usergroups,
    "usergroups.users.list": list_users,
}


def _described(core: Core, group: Usergroup, args: Args) -> Json:
    described: Json = {
        "id": group.id,
        "team_id": core.workspace.team_id,
        "is_usergroup": True,
        "is_external": False,
        "handle": group.handle,
        "name": group.name,
        "description": group.description,
        "auto_type": None,
        "date_create": 0,
        "date_update": group.disabled,
        "date_delete": group.disabled,
        "created_by": "USLACKBOT",
        "updated_by": "USLACKBOT",
        "deleted_by": "USLACKBOT" if group.disabled else None,
        "prefs": {"channels": [], "groups": []},
    }
    if args.flag("include_users"):
        described["users"] = list(group.members)
    if args.flag("include_count"):
        # Text in Slack's answers, although it is a number.
        described["user_count"] = str(len(group.members))
    return described
