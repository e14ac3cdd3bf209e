"""The workspace a newcomer finds: four roles, a second manager, and the channels lessor speaks in."""

from __future__ import annotations

from typing import Any, Final

_EVERYBODY: Final = ["requester", "manager", "manager-2", "finance", "admin"]

DEFAULT: Final[dict[str, Any]] = {
    "team_name": "Workspace",
    "people": [
        {
            "id": "U0REQUESTER",
            "name": "requester",
            "role": "Requester",
            "email": "requester@example.com",
            "tz": "Europe/Berlin",
        },
        {
            "id": "U0MANAGER",
            "name": "manager",
            "role": "Manager",
            "email": "manager@example.com",
            "tz": "America/New_York",
        },
        {
            "id": "U0MANAGER2",
            "name": "manager-2",
            "role": "Second manager",
            "email": "manager-2@example.com",
            "tz": "Asia/Tokyo",
        },
        {
            "id": "U0FINANCE",
            "name": "finance",
            "role": "Finance",
            "email": "finance@example.com",
            "tz": "Europe/London",
        },
        {
            "id": "U0ADMIN",
            "name": "admin",
            "role": "Admin",
            "email": "admin@example.com",
            "tz": "Etc/UTC",
            "is_admin": True,
        },
    ],
    "channels": [
        {
            "id": "C0GPUREQUESTS",
            "name": "gpu-requests",
            "members": _EVERYBODY,
            "topic": "Ask for GPUs with /gpu request",
        },
        {
            "id": "C0GPUAPPROVALS",
            "name": "gpu-approvals",
            "members": ["manager", "manager-2", "finance", "admin"],
            "topic": "Requests that wait for a decision",
        },
        {
            "id": "C0GPUFLEET",
            "name": "gpu-fleet",
            "members": _EVERYBODY,
            "topic": "What runs, what ends, what it costs",
        },
        {
            "id": "C0GPUADMINS",
            "name": "gpu-admins",
            "members": ["admin", "manager"],
            "topic": "Things that need hands",
            "is_private": True,
        },
        {
            "id": "C0TEAMRESEARCH",
            "name": "team-research",
            "members": ["requester", "manager"],
            "topic": "Team research",
        },
    ],
    "usergroups": [
        {"id": "S0GPUMANAGERS", "handle": "gpu-managers", "name": "GPU managers", "members": ["manager", "manager-2"]},
        {
            "id": "S0GPUAPPROVERS",
            "handle": "gpu-approvers",
            "name": "GPU approvers",
            "description": "Decide on costly requests",
            "members": ["finance", "manager-2"],
        },
        {"id": "S0GPUADMINS", "handle": "gpu-admins", "name": "GPU admins", "members": ["admin"]},
    ],
    "app": {
        "commands": [
            {
                "command": "/gpu",
                "description": "Ask for GPUs, extend and release them",
                "usage_hint": "[request | list | show | extend | shorten | release | snooze | stop | start | transfer"
                " | share | away | quota | fleet | access | help]",
                "suggestions": [
                    "request [what and until when]",
                    "list",
                    "show ID",
                    "extend ID WHEN [reason]",
                    "shorten ID WHEN",
                    "restore ID WHEN [reason]",
                    "release ID",
                    "snooze ID WHEN REASON",
                    "dispute ID WHAT IT DID",
                    "stop ID",
                    "start ID",
                    "consent ID",
                    "transfer ID @PERSON [team:KEY]",
                    "take ID",
                    "share ID @PERSON",
                    "unshare ID @PERSON",
                    "exempt ID WHEN REASON",
                    "away until WHEN [@PERSON]",
                    "back",
                    "quota",
                    "fleet [PLACE or MODEL]",
                    "access ID",
                    "admin brake on REASON",
                    "admin brake off REASON",
                    "admin meter",
                    "admin verdicts",
                    "admin spare ID [WHEN] REASON",
                ],
            }
        ],
        "shortcuts": [
            {
                "name": "Request GPUs",
                "type": "global",
                "callback_id": "request-gpus",
                "description": "Open the form that asks for GPUs",
            }
        ],
        "scopes": [
            "app_mentions:read",
            "channels:history",
            "channels:read",
            "chat:write",
            "commands",
            "files:read",
            "files:write",
            "groups:history",
            "groups:read",
            "im:history",
            "im:read",
            "im:write",
            "metadata.message:read",
            "usergroups:read",
            "users:read",
            "users:read.email",
        ],
    },
}
