"""users.*, and who the app itself is."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from lessor.sandbox.slack import scopes
from lessor.sandbox.slack.api import Args, Method
from lessor.sandbox.slack.api_conversations import page_of
from lessor.sandbox.slack.core import Core
from lessor.sandbox.slack.errors import SlackError
from lessor.sandbox.slack.workspace import Person

Json = dict[str, Any]


async def auth_test(core: Core, args: Args) -> Json:
    workspace, app = core.workspace, core.workspace.app
    who = {"user": app.name, "team_id": workspace.team_id, "user_id": app.bot_user_id, "bot_id": app.bot_id}
    return {"url": f"{core.base_url}/", "team": workspace.team_name, **who, "is_enterprise_install": False}


async def users_info(core: Core, args: Args) -> Json:
    app = core.workspace.app
    wanted = args.required("user", "user_not_found")
    if wanted == app.bot_user_id:
        return {"user": described(core, _bot(core))}
    return {"user": described(core, _by_id(core, wanted))}


async def users_list(core: Core, args: Args) -> Json:
    everybody = [described(core, person) for person in (*core.workspace.people, _bot(core))]
    page, following = page_of(everybody, args)
    return {"members": page, "cache_ts": int(core.clock.now()), "response_metadata": {"next_cursor": following}}


async def lookup_by_email(core: Core, args: Args) -> Json:
    email = args.required("email", "users_not_found").lower()
    for person in core.workspace.people:
        if person.email.lower() == email and not person.deleted:
            return {"user": described(core, person)}
    raise SlackError("users_not_found")


async def profile_get(core: Core, args: Args) -> Json:
    return {"profile": described(core, _by_id(core, args.text("user")))["profile"]}


async def team_info(core: Core, args: Args) -> Json:
    workspace = core.workspace
    team = {"id": workspace.team_id, "name": workspace.team_name, "domain": workspace.team_domain}
    return {"team": {**team, "enterprise_id": workspace.enterprise_id} if workspace.enterprise_id else team}


async def bots_info(core: Core, args: Args) -> Json:
    app = core.workspace.app
    if args.text("bot") not in ("", app.bot_id):
        raise SlackError("bot_not_found")
    return {"bot": {"id": app.bot_id, "app_id": app.id, "user_id": app.bot_user_id, "name": app.name, "deleted": False}}


METHODS: dict[str, Method] = {
    "auth.test": auth_test,
    "users.info": users_info,
    "users.list": users_list,
    "users.lookupByEmail": lookup_by_email,
    "users.profile.get": profile_get,
    "team.info": team_info,
    "bots.info": bots_info,
}


def described(core: Core, person: Person) -> Json:
    """A user object; the address is in it only when the app was granted it."""
    now = datetime.fromtimestamp(core.clock.now(), UTC).astimezone(ZoneInfo(person.tz))
    offset = now.utcoffset()
    team_id = person.team_id or core.workspace.team_id
    profile = {
        "real_name": person.role,
        "display_name": person.name,
        "team": team_id,
        **_status(core, person),
        **({"email": person.email} if scopes.EMAIL in core.workspace.app.scopes else {}),
    }
    user: Json = {
        "id": person.id,
        "team_id": team_id,
        "name": person.name,
        "deleted": person.deleted,
        "real_name": person.role,
        "tz": person.tz,
        "tz_label": now.tzname(),
        "tz_offset": int(offset.total_seconds()) if offset else 0,
        "profile": profile,
        "is_admin": person.is_admin,
        "is_owner": False,
        "is_bot": person.is_bot,
        "is_app_user": False,
        "is_stranger": bool(person.team_id),
    }
    if person.enterprise_id:
        user["enterprise_user"] = {"id": person.enterprise_id, "enterprise_id": core.workspace.enterprise_id}
    return user


def _status(core: Core, person: Person) -> Json:
    if person.status_expiration and person.status_expiration <= core.clock.now():
        return {"status_text": "", "status_emoji": "", "status_expiration": 0}
    return {
        "status_text": person.status,
        "status_emoji": person.status_emoji,
        "status_expiration": person.status_expiration,
    }


def _by_id(core: Core, wanted: str) -> Person:
    person = core.workspace.person(wanted)
    if person is None or wanted not in (person.id, person.enterprise_id):
        raise SlackError("user_not_found")
    return person


def _bot(core: Core) -> Person:
    app = core.workspace.app
    return Person(app.bot_user_id, app.name, app.name, is_bot=True)
