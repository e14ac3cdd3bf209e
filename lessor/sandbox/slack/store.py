"""What has been said: messages and direct conversations, and a count of changes to wait on."""

from __future__ import annotations

import asyncio
import itertools
from dataclasses import asdict, dataclass, field
from typing import Any

from lessor.sandbox.slack.clock import Clock
from lessor.sandbox.slack.workspace import Workspace

Json = dict[str, Any]

ACCOUNT = ("deleted", "status", "status_emoji", "status_expiration")
"""What people and admins change of an account while the sandbox runs."""


@dataclass
class Post:
    """One message. `visible_to` is the only reader of an ephemeral one; `user` is the author's id."""

    channel: str
    ts: str
    user: str
    text: str
    blocks: list[Json] = field(default_factory=list)
    attachments: list[Json] = field(default_factory=list)
    thread_ts: str = ""
    broadcast: bool = False
    edited_ts: str = ""
    visible_to: str = ""
    reactions: list[Json] = field(default_factory=list)
    files: list[Json] = field(default_factory=list)
    metadata: Json | None = None
    username: str = ""
    state: Json = field(default_factory=dict)


@dataclass
class Direct:
    """A direct conversation between two or more ids, the app's bot user included."""

    id: str
    members: tuple[str, ...]


class Store:
    """Messages by channel, and `revision`, which grows with everything a person could see change."""

    def __init__(self, workspace: Workspace, clock: Clock) -> None:
        self.workspace = workspace
        self.clock = clock
        self.posts: dict[str, list[Post]] = {}
        self.directs: dict[str, Direct] = {}
        self.read: dict[str, str] = {}
        self.revision = 0
        self._last_ts = 0
        self._numbers = itertools.count(1)
        self._waiters: set[asyncio.Future[None]] = set()

    def touch(self) -> None:
        """Something visible changed: wake whoever waits."""
        self.revision += 1
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)
        self._waiters.clear()

    async def changed(self, since: int, seconds: float) -> int:
        """The revision, at once if it is not `since`, else when it changes or after so many real seconds."""
        if self.revision == since and seconds > 0:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.add(waiter)
            await asyncio.wait({waiter}, timeout=seconds)
            self._waiters.discard(waiter)
        return self.revision

    def next_ts(self) -> str:
        """A message timestamp: seconds and microseconds, never the same twice, never going back."""
        self._last_ts = max(self._last_ts + 1, int(self.clock.now() * 1_000_000))
        return f"{self._last_ts // 1_000_000}.{self._last_ts % 1_000_000:06d}"

    def number(self) -> int:
        return next(self._numbers)

    def add(self, channel: str, user: str, text: str, **parts: Any) -> Post:
        post = Post(channel, self.next_ts(), user, text, **parts)
        self.posts.setdefault(channel, []).append(post)
        self.touch()
        return post

    def find(self, channel: str, ts: str) -> Post | None:
        return next((post for post in self.posts.get(channel, ()) if post.ts == ts), None)

    def remove(self, post: Post) -> None:
        self.posts[post.channel].remove(post)
        self.touch()

    def replies(self, channel: str, ts: str) -> list[Post]:
        return [post for post in self.posts.get(channel, ()) if post.thread_ts == ts and post.ts != ts]

    def direct(self, *members: str) -> Direct:
        """The direct conversation of exactly these ids, opened if it does not exist yet."""
        found = self.find_direct(*members)
        if found is not None:
            return found
        others = sorted(set(members) - {self.workspace.app.bot_user_id})
        suffix = "AND".join(member[2:] for member in others)
        prefix = "D0" if len(set(members)) <= 2 else "G0"
        if self.workspace.app.bot_user_id not in members:
            prefix = f"{prefix}P"
        opened = Direct(f"{prefix}{suffix}", tuple(sorted(set(members))))
        self.directs[opened.id] = opened
        self.touch()
        return opened

    def find_direct(self, *members: str) -> Direct | None:
        wanted = tuple(sorted(set(members)))
        return next((direct for direct in self.directs.values() if direct.members == wanted), None)

    def message(self, post: Post) -> Json:
        """The message as Slack describes it to the app."""
        app = self.workspace.app
        described: Json = {"type": "message", "user": post.user, "text": post.text, "ts": post.ts}
        described["team"] = self.workspace.team_id
        if post.user == app.bot_user_id:
            described |= {"bot_id": app.bot_id, "app_id": app.id}
        if post.blocks:
            described["blocks"] = post.blocks
        if post.thread_ts:
            described["thread_ts"] = post.thread_ts
        if post.edited_ts:
            described["edited"] = {"user": post.user, "ts": post.edited_ts}
        for key in ("attachments", "reactions", "files", "metadata"):
            if getattr(post, key):
                described[key] = getattr(post, key)
        replies = [] if post.visible_to else self.replies(post.channel, post.ts)
        if replies:
            described |= {"thread_ts": post.ts, "reply_count": len(replies), "latest_reply": replies[-1].ts}
            described["reply_users"] = list(dict.fromkeys(reply.user for reply in replies))
        return described

    def dump(self) -> Json:
        """Everything said and what became of accounts, as plain data; open screens are not kept."""
        return {
            "posts": {channel: [asdict(post) for post in posts] for channel, posts in self.posts.items()},
            "directs": [asdict(direct) for direct in self.directs.values()],
            "read": self.read,
            "last_ts": self._last_ts,
            "accounts": {
                person.id: {name: getattr(person, name) for name in ACCOUNT} for person in self.workspace.people
            },
        }

    def load(self, data: Json) -> None:
        """Take over what `dump` gave."""
        self.posts = {channel: [Post(**post) for post in posts] for channel, posts in data["posts"].items()}
        self.directs = {one["id"]: Direct(one["id"], tuple(one["members"])) for one in data["directs"]}
        self.read = dict(data["read"])
        self._last_ts = int(data["last_ts"])
        for person, account in data.get("accounts", {}).items():
            if self.workspace.person(person) is not None:
                self.workspace.change_person(person, **account)
        self.touch()
