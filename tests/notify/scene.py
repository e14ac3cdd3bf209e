"""All channels over the sandbox's Slack and mail, and what tests do with them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import timedelta

from bot.channels import Channels
from bot.notifier import SlackNotifier
from lessor.contracts import Delivery, Notice
from lessor.domain.lease import Lease
from lessor.notify import LetterWriter, Mailer, SmtpSender, Webhook
from lessor.sandbox.mail import MailServer as Sink
from tests.bot.world import SETTINGS, World
from tests.notify.sending import to

HALF_AN_HOUR = timedelta(minutes=30)
WRITER = LetterWriter("Sandbox")


@dataclass
class Scene:
    """All channels over the sandbox's Slack and mail."""

    world: World
    sink: Sink
    webhook: Webhook | None = None
    always: frozenset[Notice] = field(default_factory=frozenset)

    def __post_init__(self) -> None:
        async def at_once(_: float) -> None:
            await asyncio.sleep(0)

        world = self.world
        world.client._sleep = at_once
        mail = Mailer(SmtpSender(to(self.sink)), WRITER, world.ledger, self.always)
        by_slack = SlackNotifier(world.client, world.profiles, world.ledger, SETTINGS, None, mail)
        self.channels = Channels(by_slack, self.webhook)

    async def warn(self, lease: Lease, before: timedelta = HALF_AN_HOUR, *, patient: bool = True) -> Delivery:
        """Warned when it is due."""
        now = lease.runs_until - before if lease.runs_until else self.world.clock()
        return await self.channels.notify(lease, Notice.WARNING, before, now, revision=lease.revision, patient=patient)

    async def gone(self, *names: str) -> None:
        """Their accounts are switched off in Slack."""
        for name in names:
            await self.world.slack.change_person(name, deleted=True)
        self.world.forget_profiles()

    async def slack_is_down(self) -> None:
        for method in ("conversations.open", "chat.postMessage", "chat.update", "conversations.list"):
            await self.world.slack.add_fault("error", method, times=None, error="internal_error")

    def mailed(self) -> list[tuple[str, str]]:
        """To whom and about what, in order."""
        found = [(mail.recipients[0], str(mail.message["Subject"])) for mail in self.sink.postbox.mails]
        return found[::-1]


async def running(world: World) -> Lease:
    return await world.running(await world.ask(duration=timedelta(hours=8)))
