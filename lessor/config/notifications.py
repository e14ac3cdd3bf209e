"""How people are told besides by Slack: `notifications` in `lessor.yaml`, and what contradicts itself there."""

from collections.abc import Iterator
from email.utils import parseaddr
from ipaddress import ip_address
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import Field

from lessor.config.problems import KeyPath
from lessor.config.section import Section
from lessor.contracts import Notice

ENVIRONMENT_NAME = r"^([A-Z][A-Z0-9_]*)$"
HOST = r"^[A-Za-z0-9.:-]+$"
TLS_PORT = 465
"""Where mail servers want TLS from the first byte, instead of STARTTLS."""

EnvironmentName = Annotated[str, Field(pattern=ENVIRONMENT_NAME, max_length=100)]


class EmailConfig(Section):
    """A mail server that reaches people whom Slack does not reach."""

    host: Annotated[str, Field(pattern=HOST, max_length=253)]
    """The mail server's name or address."""
    port: Annotated[int, Field(ge=1, le=65_535)] = 587
    """The mail server's port; on 465 the connection begins with TLS, whatever starttls says."""
    starttls: bool = True
    """Turn to TLS before anything is sent, or send nothing. Set to false only for a server on this machine."""
    sender: Annotated[str, Field(alias="from", min_length=3, max_length=320)]
    """The sender, such as `lessor <gpu@example.com>`."""
    username: Annotated[str, Field(max_length=200)] = ""
    """The user to log in as; no login if empty."""
    password_env: EnvironmentName = "LESSOR_SMTP_PASSWORD"  # noqa: S105 - a name, not a secret
    """The NAME of the environment variable that holds the password of username."""
    always_for: tuple[Notice, ...] = ()
    """Notices that are mailed besides, also when Slack delivers them; other mail goes out only where Slack does not."""


class WebhookConfig(Section):
    """A program of yours that hears of notices as CloudEvents 1.0."""

    url: Annotated[str, Field(min_length=1, max_length=2_000)]
    """Where events are posted: an https address, or http on this machine. Redirects are not followed."""
    secret_env: EnvironmentName = "LESSOR_WEBHOOK_SECRET"  # noqa: S105 - a name, not a secret
    """The NAME of the environment variable that holds the secret with which events are signed."""
    notices: tuple[Notice, ...] = ()
    """Which notices are posted; all if empty."""


class NotificationsConfig(Section):
    """How people are told besides by Slack."""

    email: EmailConfig | None = None
    """A mail server that reaches people whom Slack does not reach."""
    webhook: WebhookConfig | None = None
    """A program of yours that hears of notices as CloudEvents 1.0."""


def check_notifications(notifications: NotificationsConfig) -> Iterator[tuple[KeyPath, str]]:
    """`(key path, message)` for what one value alone cannot show."""
    if notifications.email:
        yield from _email(notifications.email)
    if notifications.webhook:
        problem = webhook_problem(notifications.webhook.url)
        if problem:
            yield ("notifications", "webhook", "url"), problem


def webhook_problem(url: str) -> str:
    """Why events cannot be posted to `url`, empty when they can; without the address, which may be a secret."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return "is no web address such as https://example.com/lessor"
    if not host or parts.scheme not in ("http", "https") or not url.isprintable() or " " in url:
        return "is no web address such as https://example.com/lessor"
    if parts.username or parts.password:
        return "holds a user or password; receivers know lessor by the signature, so leave it out"
    if parts.scheme == "http" and not is_loopback(host):
        return "is not encrypted; write https (http is allowed on this machine only)"
    return ""


def is_loopback(host: str) -> bool:
    """Whether `host` is this machine."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _email(email: EmailConfig) -> Iterator[tuple[KeyPath, str]]:
    path: KeyPath = ("notifications", "email")
    if not email.sender.isprintable() or "@" not in parseaddr(email.sender)[1].strip("@"):
        yield (*path, "from"), f"'{email.sender[:60]}' is no sender such as: lessor <gpu@example.com>"
    if email.username and not email.starttls and email.port != TLS_PORT and not is_loopback(email.host):
        yield (*path, "username"), "would send the password readable for everybody on the way; set starttls to true"
