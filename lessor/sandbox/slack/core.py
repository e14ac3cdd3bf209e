"""The sandbox's one shared state: who exists, what was said, what is open, what goes wrong."""

from __future__ import annotations

import secrets
from collections import deque
from dataclasses import dataclass, replace
from typing import Any

from lessor.sandbox.slack import limits
from lessor.sandbox.slack.blockkit import BlockNames, check_message_blocks, check_view
from lessor.sandbox.slack.clock import Clock
from lessor.sandbox.slack.delivery import Deliveries
from lessor.sandbox.slack.errors import PersonError, SlackError
from lessor.sandbox.slack.faults import Faults
from lessor.sandbox.slack.files import Files
from lessor.sandbox.slack.mrkdwn import normalise
from lessor.sandbox.slack.ratelimits import RateLimits
from lessor.sandbox.slack.screens import Screens, initial_state
from lessor.sandbox.slack.sockets import Sockets
from lessor.sandbox.slack.store import Direct, Post, Store
from lessor.sandbox.slack.workspace import Channel, Person, Workspace

Json = dict[str, Any]


@dataclass
class ResponseUrl:
    """A `response_url`: five uses in half an hour, about one place and maybe one message."""

    channel: str
    person: str
    expires: float
    message_ts: str = ""
    thread_ts: str = ""
    uses: int = 0


@dataclass
class Switches:
    """Behaviour that is no fault: the second shape of trigger refusals; interactions that carry another team's id
    or the W-form of people's ids; how long after its upload a file can be shown."""

    trigger_refusal_shape: str = "code"
    interaction_team_id: str = ""
    enterprise_ids: bool = False
    file_seconds: float = 0.5


class Core:
    """Parts that the Web API, the people API and the deliveries share."""

    def __init__(self, workspace: Workspace, clock: Clock, base_url: str = "") -> None:
        workspace = replace(workspace)
        self.workspace = workspace
        self.clock = clock
        self.base_url = base_url
        self.store = Store(workspace, clock)
        self.files = Files(clock, base_url)
        self.names = BlockNames()
        self.screens = Screens(workspace, clock, self.names)
        self.faults = Faults()
        self.rate_limits = RateLimits(clock)
        self.switches = Switches()
        self.sockets = Sockets(workspace.app.id, clock)
        self.deliveries = Deliveries(clock, self.faults, self.sockets, self.store.touch)
        self.calls: deque[Json] = deque(maxlen=5000)
        self.offered: dict[str, list[Json]] = {}
        self.response_urls: dict[str, ResponseUrl] = {}

    def person(self, key: str) -> Person:
        """The person a client acts for; raises PersonError for nobody and for deactivated accounts."""
        found = self.workspace.person(key)
        if found is None:
            raise PersonError(f"nobody is called `{key}`; people: {[one.name for one in self.workspace.people]}", 404)
        if found.deleted:
            raise PersonError(f"the account of `{found.name}` is deactivated", 403)
        return found

    def place(self, person: Person, key: str) -> Channel | Direct:
        """A channel or direct conversation that `person` takes part in."""
        channel = self.workspace.channel(key)
        if channel is not None:
            if person.id not in channel.members:
                raise PersonError(f"{person.name} is not in #{channel.name}", 403)
            return channel
        direct = self.store.directs.get(key)
        if direct is None:
            other = self.workspace.person(key.removeprefix("@"))
            app = self.workspace.app
            if other is None and key.removeprefix("@") not in (app.name, app.bot_user_id):
                raise PersonError(f"no channel or person is called `{key}`", 404)
            return self.store.direct(person.id, other.id if other else app.bot_user_id)
        if person.id not in direct.members:
            raise PersonError("this conversation is not yours", 403)
        return direct

    def place_name(self, place: Channel | Direct) -> str:
        return place.name if isinstance(place, Channel) else "directmessage"

    def check_blocks(self, blocks: Any) -> None:
        """Raise SlackError when Slack would refuse them in a message: their form, or an image that is not there."""
        check_message_blocks(blocks)
        unseen = list(self.files.problems(blocks, "/blocks"))
        if unseen:
            raise SlackError("invalid_blocks", unseen)

    def check_view(self, view: Any, kind: str) -> None:
        """The same of a modal or App Home, as `kind` says."""
        check_view(view, kind)
        unseen = list(self.files.problems(view["blocks"], "/view/blocks"))
        if unseen:
            raise SlackError("invalid_arguments", unseen)

    def post(self, channel: str, user: str, text: str, blocks: list[Json] | None = None, **parts: Any) -> Post:
        """Store a message the way Slack does: text cut and normalised, ids filled in."""
        text = normalise(text[: limits.MESSAGE_TEXT])
        filled = self.names.fill(blocks or [])
        return self.store.add(channel, user, text, blocks=filled, state=initial_state(filled), **parts)

    def tell(self, person: str, channel: str, content: Json, thread_ts: str = "") -> Post:
        """Post what an acknowledgement or a response url carried; raises SlackError when Slack would refuse it."""
        blocks = content.get("blocks") or []
        self.check_blocks(blocks)
        if not blocks and not content.get("text") and not content.get("attachments"):
            raise SlackError("no_text")
        ephemeral = content.get("response_type", "ephemeral") != "in_channel"
        return self.post(
            channel,
            self.workspace.app.bot_user_id,
            content.get("text") or "",
            blocks,
            attachments=content.get("attachments") or [],
            thread_ts=content.get("thread_ts") or thread_ts,
            visible_to=person if ephemeral else "",
        )

    def from_slackbot(self, person: str, channel: str, text: str) -> Post:
        return self.post(channel, "USLACKBOT", text, visible_to=person)

    def new_response_url(self, channel: str, person: str, message_ts: str = "", thread_ts: str = "") -> str:
        key = secrets.token_hex(12)
        expires = self.clock.now() + limits.RESPONSE_URL_SECONDS
        self.response_urls[key] = ResponseUrl(channel, person, expires, message_ts, thread_ts)
        return f"{self.base_url}/hooks/{self.workspace.team_id}/{key}"
