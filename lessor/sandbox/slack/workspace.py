"""The people, channels, groups and app of a pretended workspace, built from plain data."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import yaml

from lessor.sandbox.slack import scopes
from lessor.sandbox.slack.default_workspace import DEFAULT


@dataclass(frozen=True)
class Person:
    """Somebody with an account. `role` is what the page shows; ids look like Slack's (`U0REQUESTER`).

    `enterprise_id` is the W-form of the same person; `team_id` differs for people of another organisation. A status
    (its text, its emoji) is gone at `status_expiration`, in seconds since the epoch; 0 is never.
    """

    id: str
    name: str
    role: str
    email: str = ""
    tz: str = "Etc/UTC"
    is_admin: bool = False
    deleted: bool = False
    is_bot: bool = False
    status: str = ""
    status_emoji: str = ""
    status_expiration: int = 0
    enterprise_id: str = ""
    team_id: str = ""


@dataclass(frozen=True)
class Channel:
    """A channel; `members` are person ids, `app_in` says whether the app has joined."""

    id: str
    name: str
    members: tuple[str, ...] = ()
    topic: str = ""
    is_private: bool = False
    is_archived: bool = False
    app_in: bool = True


@dataclass(frozen=True)
class Usergroup:
    """People who are mentioned as one; `disabled` since then, in seconds since the epoch, 0 while it is in use."""

    id: str
    handle: str
    name: str
    members: tuple[str, ...] = ()
    description: str = ""
    disabled: int = 0


Record = TypeVar("Record", Person, Channel, Usergroup)


@dataclass(frozen=True)
class Command:
    """A slash command as the app's manifest registers it, and lines offered while somebody types it."""

    command: str
    description: str = ""
    usage_hint: str = ""
    should_escape: bool = True
    suggestions: tuple[str, ...] = ()


@dataclass(frozen=True)
class Shortcut:
    callback_id: str
    name: str
    type: str = "global"
    description: str = ""


@dataclass(frozen=True)
class App:
    """The app under test: ids, tokens, what its manifest registers and which scopes it was installed with."""

    id: str = "A0LESSOR"
    name: str = "lessor"
    bot_id: str = "B0LESSOR"
    bot_user_id: str = "U0LESSOR"
    bot_token: str = "xoxb-sandbox-bot"  # noqa: S105 - opens nothing but this sandbox
    app_token: str = "xapp-1-sandbox-app"  # noqa: S105
    signing_secret: str = "sandbox-signing-secret"  # noqa: S105
    commands: tuple[Command, ...] = ()
    shortcuts: tuple[Shortcut, ...] = ()
    events: tuple[str, ...] = ("app_home_opened", "app_mention", "message.im")
    scopes: tuple[str, ...] = scopes.ALL


@dataclass
class Workspace:
    """Everything that is there before anybody says a word; people and channels can be changed later."""

    people: tuple[Person, ...]
    channels: tuple[Channel, ...]
    usergroups: tuple[Usergroup, ...] = ()
    app: App = field(default_factory=App)
    team_id: str = "T0SANDBOX"
    team_name: str = "Sandbox"
    team_domain: str = "sandbox"
    enterprise_id: str = ""

    @classmethod
    def default(cls) -> Workspace:
        """The four roles, a second manager, and the channels lessor speaks in."""
        return cls.from_data(DEFAULT)

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Workspace:
        """Build from the shape of `DEFAULT`; raises ValueError naming the part that does not fit."""
        try:
            people = tuple(Person(**entry) for entry in data["people"])
            names = {name: person.id for person in people for name in (person.name, person.id)}
            channels = tuple(_channel(entry, names) for entry in data["channels"])
            groups = tuple(_usergroup(entry, names) for entry in data.get("usergroups", ()))
            app = _app(data.get("app", {}))
        except KeyError as missing:
            raise ValueError(f"workspace: {missing} is missing, or names somebody who is not in `people`") from missing
        except TypeError as wrong:
            raise ValueError(f"workspace: {wrong}") from wrong
        plain = {key: data[key] for key in ("team_id", "team_name", "team_domain", "enterprise_id") if key in data}
        return cls(people, channels, groups, app, **plain)

    @classmethod
    def from_file(cls, path: Path) -> Workspace:
        """Read JSON or YAML of the shape of `DEFAULT`."""
        loaded = yaml.safe_load(path.read_text(encoding="utf-8"))
        if not isinstance(loaded, dict):
            raise ValueError(f"{path}: a workspace file is a mapping with `people` and `channels`")
        return cls.from_data(loaded)

    def with_manifest(self, manifest: Mapping[str, Any]) -> Workspace:
        """The same workspace whose app has the commands, shortcuts, events and scopes of a Slack app manifest."""
        features = manifest.get("features", {})
        known = {command.command: command for command in self.app.commands}
        commands = tuple(_manifest_command(entry, known) for entry in features.get("slash_commands", ()))
        shortcuts = tuple(Shortcut(**entry) for entry in features.get("shortcuts", ()))
        subscribed = manifest.get("settings", {}).get("event_subscriptions", {}).get("bot_events", self.app.events)
        name = manifest.get("display_information", {}).get("name", self.app.name)
        granted = manifest.get("oauth_config", {}).get("scopes", {}).get("bot", self.app.scopes)
        app = replace(self.app, name=name, commands=commands, shortcuts=shortcuts, events=tuple(subscribed))
        return replace(self, app=replace(app, scopes=tuple(granted)))

    def with_manifest_file(self, path: Path) -> Workspace:
        """`with_manifest` of a JSON or YAML file."""
        loaded: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
        return self.with_manifest(loaded)

    def person(self, key: str) -> Person | None:
        """Find by id (either form), name or e-mail address."""
        for person in self.people:
            if key and key in (person.id, person.name, person.enterprise_id, person.email):
                return person
        return None

    def channel(self, key: str) -> Channel | None:
        """Find by id or name, with or without `#`."""
        wanted = key.removeprefix("#")
        return next((channel for channel in self.channels if wanted in (channel.id, channel.name)), None)

    def change_person(self, key: str, **fields: Any) -> Person:
        """Give a person other fields (`deleted=True` deactivates); raises ValueError for nobody or a wrong field."""
        person = self.person(key)
        if person is None:
            raise ValueError(f"nobody is called `{key}`")
        changed = _with(person, fields)
        self.people = tuple(changed if one.id == person.id else one for one in self.people)
        return changed

    def change_channel(self, key: str, **fields: Any) -> Channel:
        """Give a channel other fields (`is_archived`, `app_in`, `members`); raises ValueError like `change_person`."""
        channel = self.channel(key)
        if channel is None:
            raise ValueError(f"no channel is called `{key}`")
        if "members" in fields:
            fields = {**fields, "members": self._ids(fields["members"])}
        changed = _with(channel, fields)
        self.channels = tuple(changed if one.id == channel.id else one for one in self.channels)
        return changed

    def change_usergroup(self, key: str, **fields: Any) -> Usergroup:
        """Give a user group (by id or handle) other fields (`members`, `disabled`); raises ValueError."""
        group = next((one for one in self.usergroups if key.removeprefix("@") in (one.id, one.handle)), None)
        if group is None:
            raise ValueError(f"no user group is called `{key}`")
        if "members" in fields:
            fields = {**fields, "members": self._ids(fields["members"])}
        changed = _with(group, fields)
        self.usergroups = tuple(changed if one.id == group.id else one for one in self.usergroups)
        return changed

    def to_data(self) -> dict[str, Any]:
        """Plain data of the shape `from_data` takes."""
        return dict(json.loads(json.dumps(self, default=vars)))

    def _ids(self, names: Iterable[str]) -> tuple[str, ...]:
        return tuple(person.id for person in map(self.person, names) if person is not None)


def _with(record: Record, fields: Mapping[str, Any]) -> Record:
    unknown = set(fields) - set(vars(record)) | {"id"} & set(fields)
    if unknown:
        raise ValueError(f"cannot change {sorted(unknown)}; fields: {sorted(vars(record))}")
    return replace(record, **fields)


def _channel(entry: Mapping[str, Any], names: Mapping[str, str]) -> Channel:
    members = tuple(names[member] for member in entry.get("members", ()))
    return Channel(**{**entry, "members": members})


def _usergroup(entry: Mapping[str, Any], names: Mapping[str, str]) -> Usergroup:
    return Usergroup(**{**entry, "members": tuple(names[member] for member in entry.get("members", ()))})


def _app(entry: Mapping[str, Any]) -> App:
    commands = tuple(
        Command(**{**one, "suggestions": tuple(one.get("suggestions", ()))}) for one in entry.get("commands", ())
    )
    shortcuts = tuple(Shortcut(**one) for one in entry.get("shortcuts", ()))
    named = {name: tuple(entry[name]) for name in ("events", "scopes") if name in entry}
    return App(**{**entry, "commands": commands, "shortcuts": shortcuts, **named})


def _manifest_command(entry: Mapping[str, Any], known: Mapping[str, Command]) -> Command:
    name = entry["command"]
    return Command(
        command=name,
        description=entry.get("description", ""),
        usage_hint=entry.get("usage_hint", ""),
        should_escape=bool(entry.get("should_escape", False)),
        suggestions=known[name].suggestions if name in known else (),
    )
