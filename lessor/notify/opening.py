"""The channels as `lessor.yaml` and the environment describe them; called by entry points only."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import quote, urlsplit

from lessor.config import Config
from lessor.config.notifications import TLS_PORT, EmailConfig, WebhookConfig
from lessor.notify.letters import LetterWriter
from lessor.notify.mailer import Mailer
from lessor.notify.servers import Hook, MailServer
from lessor.notify.signature import signed
from lessor.notify.smtp import SmtpSender
from lessor.ports import MessageBook
from lessor.settings import Settings, SettingsError, named_secret


@dataclass(frozen=True)
class Opened:
    """What there is besides Slack; `None` is not configured."""

    mail: Mailer | None = None
    hook: Hook | None = None


def open_channels(settings: Settings, config: Config, book: MessageBook) -> Opened:
    """Mail and webhook with their secrets; nothing is connected yet. Raises `SettingsError`."""
    email, webhook = config.notifications.email, config.notifications.webhook
    mail = None
    if email:
        server = _mail_server(email, settings.lessor_smtp_url or "")
        writer = LetterWriter(config.organisation.name, settings.lessor_templates)
        mail = Mailer(SmtpSender(server), writer, book, server.always_for)
    source = f"/lessor/{quote(config.organisation.name, safe='')}"
    hook = _hook(webhook, settings.lessor_webhook_url or "", source) if webhook else None
    return Opened(mail, hook)


def _mail_server(email: EmailConfig, url: str) -> MailServer:
    """The configured server, or the one at `url`, which is spoken to without TLS and login."""
    always = frozenset(email.always_for)
    if url:
        there = urlsplit(url)
        return MailServer(there.hostname or "", there.port or 0, email.sender, starttls=False, always_for=always)
    purpose = f"the password of {email.username} at {email.host}"
    password = named_secret(email.password_env, purpose) if email.username else ""
    tls = email.port == TLS_PORT
    starttls = email.starttls and not tls
    return MailServer(email.host, email.port, email.sender, starttls, tls, email.username, password, always)


def _hook(webhook: WebhookConfig, url: str, source: str) -> Hook:
    secret = named_secret(webhook.secret_env, "the secret with which events are signed")
    try:
        signed(secret, "", b"", datetime.now(UTC))
    except ValueError as error:
        raise SettingsError(f"{webhook.secret_env}: has a form that does not fit; {error}") from None
    return Hook(url or webhook.url, secret, source, frozenset(webhook.notices))
