"""From `lessor.yaml` and the environment to channels; a secret that is missing is told by the name of its variable."""

from __future__ import annotations

from pathlib import Path

import pytest

from lessor.config import Config, loads
from lessor.contracts import Notice
from lessor.ledger import SqlLedger
from lessor.notify import MailServer, SmtpSender
from lessor.notify.opening import Opened, open_channels
from lessor.settings import Settings, SettingsError, named_secret, read_settings
from tests.config.sample import VALID, refusal

EMAIL = "  email: {host: smtp.example.com, from: 'lessor <gpu@example.com>', always_for: [warning]%s}\n"
WEBHOOK = "  webhook: {url: 'https://events.example.com/lessor', notices: [ready]%s}\n"


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LESSOR_SMTP_PASSWORD", "LESSOR_WEBHOOK_SECRET", "LESSOR_SMTP_URL", "LESSOR_WEBHOOK_URL"):
        monkeypatch.delenv(name, raising=False)


def configured(email: str | None = None, webhook: str | None = None) -> Config:
    parts = [EMAIL % email if email is not None else "", WEBHOOK % webhook if webhook is not None else ""]
    return loads(f"{VALID}notifications:\n{''.join(parts)}" if any(parts) else VALID)


def server_of(opened: Opened) -> MailServer:
    assert opened.mail
    sender = opened.mail._sender
    assert isinstance(sender, SmtpSender)
    return sender._server


def test_nothing_configured_is_nothing_opened(book: SqlLedger) -> None:
    assert open_channels(Settings(), configured(), book) == Opened()


def test_a_server_is_spoken_to_as_it_is_configured(book: SqlLedger, monkeypatch: pytest.MonkeyPatch) -> None:
    always = frozenset({Notice.WARNING})
    sender = "lessor <gpu@example.com>"
    plain = server_of(open_channels(Settings(), configured(""), book))
    assert plain == MailServer("smtp.example.com", 587, sender, always_for=always)
    monkeypatch.setenv("MAIL_WORD", "confidential")
    with_login = configured(", port: 465, username: lessor, password_env: MAIL_WORD")
    assert server_of(open_channels(Settings(), with_login, book)) == MailServer(
        "smtp.example.com", 465, sender, False, True, "lessor", "confidential", always
    )


def test_another_server_of_the_environment_is_spoken_to_in_the_clear_without_a_login(
    book: SqlLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LESSOR_SMTP_URL", "smtp://127.0.0.1:7414")
    monkeypatch.setenv("LESSOR_WEBHOOK_URL", "http://127.0.0.1:7415/webhook")
    monkeypatch.setenv("LESSOR_WEBHOOK_SECRET", "word")
    opened = open_channels(read_settings(), configured(", username: lessor", ""), book)
    server = server_of(opened)
    assert (server.host, server.port, server.starttls, server.tls) == ("127.0.0.1", 7414, False, False)
    assert (server.username, server.password) == ("", "")
    assert opened.hook
    assert opened.hook.url == "http://127.0.0.1:7415/webhook"


def test_a_webhook_says_where_it_comes_from_and_hears_what_it_wants(
    book: SqlLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LESSOR_WEBHOOK_SECRET", "word")
    hook = open_channels(Settings(), configured(webhook=""), book).hook
    assert hook
    assert (hook.url, hook.source) == ("https://events.example.com/lessor", "/lessor/Example")
    assert hook.wants(Notice.READY)
    assert not hook.wants(Notice.CLOSED)


@pytest.mark.parametrize(
    ("email", "webhook", "told"),
    [
        (
            ", username: lessor",
            None,
            "LESSOR_SMTP_PASSWORD: is not set; it is the password of lessor at smtp.example.com, as lessor.yaml says",
        ),
        (
            None,
            ", secret_env: HOOK_WORD",
            "HOOK_WORD: is not set; it is the secret with which events are signed, as lessor.yaml says",
        ),
    ],
)
def test_a_missing_secret_is_told_by_its_name(
    book: SqlLedger, email: str | None, webhook: str | None, told: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        open_channels(Settings(), configured(email, webhook), book)
    assert str(caught.value) == told


def test_a_secret_that_cannot_be_one_is_told_without_it(book: SqlLedger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LESSOR_WEBHOOK_SECRET", "whsec_not!base64")
    with pytest.raises(SettingsError) as caught:
        open_channels(Settings(), configured(webhook=""), book)
    assert str(caught.value) == (
        "LESSOR_WEBHOOK_SECRET: has a form that does not fit; a secret that begins with whsec_ is base64 behind it"
    )


def test_a_secret_may_stand_in_a_file_of_the_platform(tmp_path: Path) -> None:
    (tmp_path / "hook_word").write_text("from a file\n")
    assert named_secret("HOOK_WORD", "a test", tmp_path) == "from a file"


@pytest.mark.parametrize("name", ["LESSOR_SMTP_URL", "LESSOR_WEBHOOK_URL", "LESSOR_PROMETHEUS_URL"])
def test_addresses_of_the_environment_are_checked(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "mailto:confidential@example.com")
    with pytest.raises(SettingsError) as caught:
        read_settings()
    assert str(caught.value).startswith(f"{name}: has a form that does not fit; it is ")
    assert "confidential" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (EMAIL % ", port: 0", "notifications.email.port: is 0; allowed: 1 or more"),
        (EMAIL % ", always_for: [nope]", "notifications.email.always_for"),
        (EMAIL % ", starttls: false, username: lessor", "notifications.email.username: would send the password"),
        (EMAIL.replace("'lessor <gpu@example.com>'", "gpu") % "", "notifications.email.from: 'gpu' is no sender"),
        (EMAIL.replace("smtp.example.com", "'smtp://example.com'") % "", "allowed: a host's name or address"),
        (WEBHOOK.replace("https", "http") % "", "notifications.webhook.url: is not encrypted; write https"),
        (WEBHOOK.replace("https://", "ftp://") % "", "notifications.webhook.url: is no web address"),
        (WEBHOOK % ", secret_env: word", "notifications.webhook.secret_env: is 'word'; allowed: the name of an"),
        (WEBHOOK % ", secret: word", "notifications.webhook.secret: unknown key; did you mean 'secret_env'?"),
        (EMAIL % ", sender: x", "notifications.email.sender: unknown key"),
    ],
)
def test_what_does_not_fit_is_told_with_its_key(text: str, told: str) -> None:
    assert told in "\n".join(refusal(f"{VALID}notifications:\n{text}"))


def test_mail_in_the_clear_is_for_this_machine(book: SqlLedger) -> None:
    text = f"{VALID}notifications:\n  email: {{host: 127.0.0.1, starttls: false, username: x, from: a@example.com}}\n"
    assert loads(text).notifications.email
    assert loads(f"{VALID}notifications:\n  webhook: {{url: 'http://[::1]:80/x'}}\n").notifications.webhook
